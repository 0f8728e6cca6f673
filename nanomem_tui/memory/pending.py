"""Pending items that outlive the process: unfinished turns that somebody recovered after a crash.

Owns one small file of ours, and the layer `pending` of operations over it, so that a recovery is undone like any other
change. What a running agent still has to do is in RAM (`working`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nanomem_tui.core import atomic, files
from nanomem_tui.core.errors import BadInput, Conflict, NothingToDo, from_os_error
from nanomem_tui.core.operations import Actor, Change, Operation, Perform, Value, new_operation
from nanomem_tui.core.text import counted
from nanomem_tui.memory.wal import OpenTurn
from nanomem_tui.memory.working import same_words


class Recovered(NamedTuple):
    """A turn that began and never ended: when (UTC ISO) and what was asked. `done`: the agent has answered it since.
    `turn`: its id, empty for turns of others."""

    at: str
    text: str
    done: bool = False
    turn: str = ""

    def is_of(self, at: str, turn: str) -> bool:
        """Whether it is the turn that is meant: by its id where both have one, else by when it began."""
        return self.turn == turn if self.turn and turn else self.at == at


class Pending:
    """The recovered turns of each session, and the layer that changes them.

    A value is `{"items": [[at, text], …]}`; `[at, text, true]` is one that was answered since, and stays known as
    recovered; a fourth value is the turn's id.
    """

    name = "pending"

    def __init__(self, file: Path) -> None:
        self._file = file
        self._read: tuple[tuple[int, int, int] | None, dict[str, Any]] = (None, {})

    def of(self, session_key: str) -> tuple[Recovered, ...]:
        """What waits in a session, oldest first."""
        return tuple(item for item in self.known(session_key) if not item.done)

    def known(self, session_key: str) -> tuple[Recovered, ...]:
        """Every turn of a session that was recovered, those that were answered since too; oldest first."""
        return _items(self._table().get(session_key))

    def all(self) -> dict[str, tuple[Recovered, ...]]:
        """What waits, by session."""
        return {key: waiting for key in self._table() if (waiting := self.of(key))}

    def finished(self, session_key: str, done_actions: Sequence[str], turn: str = "") -> list[Change]:
        """The change that marks what the agent says to have done, and the turn `turn`, which ended after all; none
        where nothing of it waits."""
        before = self.known(session_key) if done_actions or turn else ()
        after = [
            item._replace(done=item.done or bool(turn and item.turn == turn) or _is_told(item.text, done_actions))
            for item in before
        ]
        return [change_of(session_key, before, after)] if tuple(after) != before else []

    def told(self, session_key: str, done_action: str) -> bool:
        """Whether something that was recovered in a session is what an agent says to have done."""
        return any(_is_told(item.text, [done_action]) for item in self.known(session_key))

    def recover(
        self,
        turns: Sequence[OpenTurn],
        perform: Perform,
        *,
        beside: Sequence[Change] = (),
        also: str = "",
        actor: Actor = "human",
    ) -> Operation:
        """Put unfinished turns among the pending items of their sessions, as one operation. Raises NothingToDo.

        `beside`: changes that belong to it; `also` tells of them.
        """
        by_session: dict[str, list[Recovered]] = {}
        for turn in sorted(turns, key=lambda turn: turn.at):
            known = (*self.known(turn.session_key), *by_session.get(turn.session_key, ()))
            if not any(item.is_of(turn.at, turn.id) for item in known):
                item = Recovered(turn.at, turn.user, turn=turn.id)
                by_session.setdefault(turn.session_key, []).append(item)
        if not by_session:
            raise NothingToDo("nothing to recover", "", "every turn was finished, or is recovered already")
        changes = [change_of(key, self.known(key), (*self.known(key), *items)) for key, items in by_session.items()]
        label = f"recover {counted(sum(map(len, by_session.values())), 'unfinished turn')}{also}"
        return perform(new_operation("wal.recover", label, [*changes, *beside], actor=actor))

    def check(self, changes: Sequence[Change]) -> None:
        """Raise Conflict unless each `before` is what is there now."""
        table = self._table()
        for change in changes:
            if _items(table.get(change.key)) != _items(change.before):
                raise Conflict("the pending items changed since", change.key, "look at them again")

    def begun(self, changes: Sequence[Change]) -> bool:
        """Whether any `after` is true already."""
        table = self._table()
        return any(_items(table.get(change.key)) == _items(change.after) for change in changes)

    def apply(self, operation: Operation, changes: Sequence[Change]) -> None:
        """Make every `after` true: the file is replaced whole, under a lock."""
        try:
            atomic.make_folder(self._file.parent)
            with atomic.locked(self._file.with_name(f"{self._file.name}.lock")):
                table = dict(self._table())
                for change in changes:
                    table.pop(change.key, None)
                    if _items(change.after):
                        table[change.key] = dict(change.after or {})
                atomic.write_atomic(self._file, json.dumps(table, ensure_ascii=False, indent=1).encode())
        except OSError as error:
            raise from_os_error(error, "writing the pending items") from error

    def _table(self) -> Mapping[str, Any]:
        try:
            found = self._file.stat()
            stamp = (found.st_ino, found.st_size, found.st_mtime_ns)
            if self._read[0] != stamp:
                value = files.loads(files.read(self._file))
                self._read = (stamp, value if isinstance(value, dict) else {})
        except FileNotFoundError:
            self._read = (None, {})
        except OSError as error:
            raise from_os_error(error, "reading the pending items") from error
        except ValueError as error:
            raise BadInput(f"the pending items cannot be read ({error})", str(self._file), "remove the file") from error
        return self._read[1]


def change_of(session_key: str, before: Sequence[Recovered], after: Sequence[Recovered]) -> Change:
    """The change of a session's recovered turns from `before` to `after`; none at all is no value."""
    return Change("pending", session_key, _value(before), _value(after))


def _is_told(text: str, done_actions: Sequence[str]) -> bool:
    """Whether a recovered question is among what was done, in its own words or as a block shows it."""
    words = same_words(text)
    told = map(same_words, done_actions)
    return bool(words) and any(done == words or done.startswith(f"{words} (asked ") for done in told)


def _value(items: Sequence[Recovered]) -> Value | None:
    rows = [[*item] if item.turn else [*item[:3]] if item.done else [item.at, item.text] for item in items]
    return {"items": rows} if rows else None


def _items(value: Any) -> tuple[Recovered, ...]:
    """The items of a value, whatever somebody wrote into the file."""
    found = value.get("items") if isinstance(value, Mapping) else None
    rows = found if isinstance(found, list | tuple) else ()
    return tuple(
        Recovered(str(row[0]), str(row[1]), len(row) > 2 and row[2] is True, str(row[3]) if len(row) > 3 else "")
        for row in rows
        if isinstance(row, list | tuple) and len(row) in (2, 3, 4)
    )
