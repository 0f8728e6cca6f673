"""Operation: one recorded, labelled, reversible change. Values only; the store keeps them and writes rows, and layers
write files."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol, overload

from nanomem_tui.core import clock

Actor = Literal["human", "agent", "dream", "compaction", "import"]
Value = Mapping[str, Any]
SIGNED = "agent"
"""The free field that says which agent made an operation, where that was recorded."""

PLACE = "placed_at"
"""The free field that says behind which time an operation belongs, where a clock that was ahead says more than `at`."""

_counter = itertools.count(int.from_bytes(os.urandom(2), "big"))
_numbers: tuple[int, Iterator[int]] = (0, itertools.count())


class Change(NamedTuple):
    """One thing touched: its layer and key, and its value before and after (None: it was, or is, absent).

    For rows the values are patches that hold the changed fields only.
    """

    layer: str
    key: str
    before: Value | None
    after: Value | None

    def inverse(self) -> Change:
        """The change that takes this one back."""
        return Change(self.layer, self.key, self.after, self.before)


class LaterChanges(Sequence[Change]):
    """The changes of an operation that touched so much that they are read only when somebody asks for them.

    `load` reads all of them, `keys` the keys alone. Both raise what the reading does.
    """

    def __init__(self, count: int, load: Callable[[], Sequence[Change]], keys: Callable[[], Sequence[str]]) -> None:
        self._count = count
        self._load = load
        self._ask_keys = keys
        self._keys: tuple[str, ...] | None = None
        self._read: tuple[Change, ...] | None = None

    def keys(self) -> tuple[str, ...]:
        """The keys of the things, each once, read once."""
        if self._keys is None:
            self._keys = tuple(dict.fromkeys(self._ask_keys()))
        return self._keys

    def all(self) -> tuple[Change, ...]:
        """Every change, read once."""
        if self._read is None:
            self._read = tuple(self._load())
        return self._read

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> Change: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Change]: ...

    def __getitem__(self, at: int | slice) -> Change | Sequence[Change]:
        return self.all()[at]

    def __iter__(self) -> Iterator[Change]:
        return iter(self.all())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self.all() == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # as a list


class Operation(NamedTuple):
    """One change as a person understands it, by one actor at one time (UTC ISO), with all that it touched."""

    id: str
    at: str
    actor: Actor
    kind: str
    label: str
    changes: Sequence[Change]
    undoes: str | None = None
    redoes: str | None = None
    meta: Value = MappingProxyType({})

    @property
    def is_reversal(self) -> bool:
        """Whether it undoes or redoes another one."""
        return bool(self.undoes or self.redoes)

    @property
    def agent(self) -> str:
        """Which agent made it; "" where that is not recorded. Untrusted text."""
        return str(self.meta.get(SIGNED) or "")

    @property
    def who(self) -> str:
        """Who made it, in words: the actor, and which of several agents it was."""
        return f"{self.actor} {self.agent}".strip()

    def inverse(self) -> tuple[Change, ...]:
        """The changes that take this operation back, last first."""
        return tuple(change.inverse() for change in reversed(self.changes))

    def changes_of(self, key: str) -> Sequence[Change]:
        """The changes of the thing of that key."""
        return [change for change in self.changes if change.key == key]

    def keys(self) -> tuple[str, ...]:
        """The keys of the things that it touched, each once."""
        if isinstance(self.changes, LaterChanges):
            return self.changes.keys()
        return tuple(dict.fromkeys(change.key for change in self.changes))

    def only(self, keys: Sequence[str]) -> Operation:
        """The same operation reduced to the changes of `keys`."""
        if len(keys) == 1:
            return self._replace(changes=tuple(self.changes_of(keys[0])))
        wanted = set(keys)
        return self._replace(changes=tuple(c for c in self.changes if c.key in wanted))

    def to_json(self) -> dict[str, Any]:
        """The operation as a JSON object; `from_json` is its inverse."""
        body: dict[str, Any] = {
            "id": self.id,
            "at": self.at,
            "actor": self.actor,
            "kind": self.kind,
            "label": self.label,
            "changes": list(self.changes),
        }
        if self.undoes:
            body["undoes"] = self.undoes
        if self.redoes:
            body["redoes"] = self.redoes
        if self.meta:
            body["meta"] = dict(self.meta)
        return body

    @property
    def sort_time(self) -> str:
        """The time by which it is put in order with others: `at`, or later where the clock had been ahead before."""
        place = self.meta.get(PLACE)
        return max(place, self.at) if isinstance(place, str) else self.at

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Operation:
        """The operation that `to_json` wrote. Raises KeyError, TypeError or ValueError on another shape."""
        changes = tuple(Change(layer, key, before, after) for layer, key, before, after in body["changes"])
        return cls(
            id=str(body["id"]),
            at=str(body["at"]),
            actor=body["actor"],
            kind=str(body["kind"]),
            label=str(body["label"]),
            changes=changes,
            undoes=body.get("undoes"),
            redoes=body.get("redoes"),
            meta=body.get("meta", {}),
        )


def new_operation(
    kind: str,
    label: str,
    changes: Sequence[Change],
    *,
    actor: Actor = "human",
    undoes: str | None = None,
    redoes: str | None = None,
    meta: Value | None = None,
) -> Operation:
    """An operation of now with an id of its own: `op_<ms>_<pid>_<n>`.

    `n` counts on from a random number, as processes in containers may have one id.
    """
    ms, at = clock.stamp()
    key = f"op_{ms}_{os.getpid()}_{next(_counter)}"
    return Operation(key, at, actor, kind, label, tuple(changes), undoes, redoes, meta or {})


def failed_in(operations: Iterable[Operation]) -> set[str]:
    """The ids of the operations that were recorded and then could not be done: their files could not be written."""
    return {operation.undoes or "" for operation in operations if operation.kind == "void"}


def new_key(prefix: str) -> str:
    """An id of the form of the seeds, `<prefix>_<ms>_<n>`, that no other process makes in the same millisecond.

    `n` counts on from a random number, drawn anew after a fork.
    """
    global _numbers  # noqa: PLW0603  the one counter of the process
    if _numbers[0] != os.getpid():
        _numbers = (os.getpid(), itertools.count(int.from_bytes(os.urandom(4), "big") % 1_000_000))
    return f"{prefix}_{clock.now_ms()}_{next(_numbers[1])}"


Perform = Callable[[Operation], Operation]
"""How a service hands an operation over: checked against what is there, recorded, then applied."""


def plan_only(operation: Operation) -> Operation:
    """Return the operation as it is: given to a service as its `Perform`, the service plans and changes nothing."""
    return operation


class Layer(Protocol):
    """One kind of thing that operations change, and how such changes are checked and applied."""

    name: str

    def check(self, changes: Sequence[Change]) -> None:
        """Raise Conflict unless every `before` is what is there now."""

    def apply(self, operation: Operation, changes: Sequence[Change]) -> None:
        """Make every `after` true."""

    def begun(self, changes: Sequence[Change]) -> bool:
        """Whether any `after` is true already: what a process did that was killed in between."""
