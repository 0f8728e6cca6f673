"""Operation: one recorded, labelled, reversible change. Values only; the ledger stores them, layers apply them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol

from nanomem_tui import clock

Actor = Literal["human", "agent", "dream", "compaction", "import"]
Value = Mapping[str, Any]

_counter = itertools.count(1)
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


class Operation(NamedTuple):
    """One change as a person understands it, by one actor at one time (UTC ISO), with all that it touched."""

    id: str
    at: str
    actor: Actor
    kind: str
    label: str
    changes: tuple[Change, ...]
    undoes: str | None = None
    redoes: str | None = None
    meta: Value = MappingProxyType({})

    def inverse(self) -> tuple[Change, ...]:
        """The changes that take this operation back, last first."""
        return tuple(change.inverse() for change in reversed(self.changes))

    def only(self, keys: Sequence[str]) -> Operation:
        """The same operation reduced to the changes of `keys`."""
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
    """An operation of now with an id unique to this process: `op_<ms>_<pid>_<n>`."""
    ms, at = clock.stamp()
    key = f"op_{ms}_{os.getpid()}_{next(_counter)}"
    return Operation(key, at, actor, kind, label, tuple(changes), undoes, redoes, meta or {})


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


class Layer(Protocol):
    """One kind of thing that operations change, and how such changes are checked and applied."""

    name: str

    def check(self, changes: Sequence[Change]) -> None:
        """Raise Conflict unless every `before` is what is there now."""

    def apply(self, operation: Operation, changes: Sequence[Change]) -> None:
        """Make every `after` true."""

    def begun(self, changes: Sequence[Change]) -> bool:
        """Whether any `after` is true already: what a process did that was killed in between."""
