"""The log of operations: list it newest first, and find what undo and redo take next.

Owns `LogEntry`, `Journal` (the log of one database) and `OwnChanges` (what a person did in one console). Reads only;
`bookkeeping` writes the tables. Must not import SQLAlchemy.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from nanomem_tui.core.errors import NothingToDo
from nanomem_tui.core.operations import Change, LaterChanges, Operation, failed_in
from nanomem_tui.core.text import counted
from nanomem_tui.store.database.reading import Reading, json_list, unescape_nul

# The log of operations as a person meets it: asked newest first, what is undone, what undo and redo take next.

T = TypeVar("T")

DONE, PLANNED, STUCK = "done", "planned", "stuck"
BOOKKEEPING = frozenset({"undo", "redo", "void"})
"""Kinds of operation that only say something about another one."""
FINAL = frozenset({"forget", "scrub"})
"""Kinds of operation that tell what was taken out of everything: nothing brings it back."""
REPAIRED = "doctor.fix"
"""The kind that tells what the doctor put right: the backup that it names in the free field `backup` takes it back."""
ASIDE = "aside"
"""The free field of one that changed nothing of what is remembered (permissions, a lock, half a file): no undo stops
at it."""
_LASTING = FINAL | {REPAIRED}
WINDOWS = (8, 50, 1_000, 50_000, 10_000_000)
"""How many of the newest operations are searched, step by step, for what undo and redo take next."""
OLDER = "`nanomem undo ID` for an older one; see `nanomem log`"
WITHHELD = "withheld"
"""The free field that says how many changes of an operation were taken out of it by one of those."""


class LogEntry(NamedTuple):
    """One operation and whether it is taken back at present; `position`: its place in the order of commits. `state`:
    whether its files are written; `writer`: the process that planned it, "" where there are no files of others."""

    operation: Operation
    undone: bool
    position: int
    state: str = DONE
    writer: str = ""


def entry_of(row: Sequence[Any], reading: Reading | None = None) -> LogEntry:
    """Make a value of a row of the log. `reading`: what reads the changes of a large operation, when somebody asks."""
    seq, op_id, at, actor, kind, label, state, writer, undoes, redoes, meta, touched, changed, undone = row
    changes = _later(reading, seq, touched) if changed is None and reading is not None else _changes(changed)
    operation = Operation(op_id, at, actor, kind, unescape_nul(label), changes, undoes, redoes, json.loads(meta))
    shown = bool(undone) and kind not in BOOKKEEPING  # an undo that was redone is nothing that was taken back
    return LogEntry(operation, shown, seq, state, writer)


def _later(reading: Reading, seq: int, count: int) -> LaterChanges:
    """The changes of a large operation; the keys from their own table."""
    return LaterChanges(
        count,
        load=lambda: _changes(reading.all("operation_changes", seq=seq)[0][0]),
        keys=lambda: [key for (key,) in reading.all("operation_keys", seq=seq)],
    )


def _changes(text: str) -> tuple[Change, ...]:
    try:
        return tuple(Change(layer, key, before, after) for layer, key, before, after in json.loads(text))
    except (ValueError, TypeError):  # harmed: it costs itself, and the doctor names it
        return ()


class Journal:
    """The operations of one workspace; empty where there is no database yet."""

    def __init__(self, reading: Callable[[], Reading]) -> None:
        """`reading`: gives the database, which a takeover replaces."""
        self._reading = reading

    def _all(self, name: str, **values: Any) -> list[tuple[Any, ...]]:
        reading = self._reading()
        return reading.all(name, **values) if reading.exists else []

    def _entries(self, name: str, **values: Any) -> list[LogEntry]:
        return [entry_of(row, self._reading()) for row in self._all(name, **values)]

    def log(self, limit: int, *, offset: int = 0, key: str | None = None) -> list[LogEntry]:
        """List the newest operations but the first `offset`. `key`: only those that touched that thing."""
        if key is None:
            return self._entries("log", limit=limit, offset=offset)
        return self._entries("log_of_key", key=key, limit=limit, offset=offset)

    def first_answer(self, search: Callable[[list[LogEntry]], T | None]) -> T | None:
        """Return the first answer of `search` among the newest operations, in windows that grow to all of them."""
        for limit in WINDOWS:
            entries = self.log(limit)
            answer = search(entries)
            if answer is not None or len(entries) < limit:
                return answer
        return None

    def find(self, op_id: str) -> LogEntry | None:
        """Find an operation by its id."""
        return next(iter(self._entries("operation", id=op_id)), None)

    def standing(self, entry: LogEntry) -> list[str]:
        """List the keys of an operation that are not taken back, in its order."""
        stands = {key for (key,) in self._all("operation_standing", seq=entry.position)}
        keys = entry.operation.keys()
        return [key for key in keys if key in stands]

    def after(self, seq: int) -> list[LogEntry]:
        """List what was committed after that place, oldest first, whole."""
        return self._entries("operations_after", seq=seq)

    def count(self, after: int = 0) -> int:
        """Count the operations, behind a place in the order of commits."""
        return sum(number for (number,) in self._all("operation_count", seq=after))

    def end(self) -> int:
        """Return the place of the newest operation, 0 when there is none."""
        newest = self.log(1)
        return newest[0].position if newest else 0

    def touching(self, keys: Sequence[str], actor: str) -> list[Operation]:
        """List the operations of an actor that touched one of these things, newest first."""
        return [entry.operation for entry in self._entries("log_touching", keys=json_list(keys), actor=actor)]

    def newest(self, kind: str, actor: str) -> LogEntry | None:
        """Find the newest operation of a kind by an actor."""
        return next(iter(self._entries("operation_newest", kind=kind, actor=actor)), None)

    def taken_back(self, kind: str) -> frozenset[str]:
        """Return the ids of the things that operations of a kind made and that were undone with them: nobody deleted
        them one by one. Of the newest thousand operations."""
        newest = self.log(1_000)
        failed = failed_in(entry.operation for entry in newest)
        undone = [e for e in newest if e.operation.kind == kind and e.undone and e.operation.id not in failed]
        return frozenset(change.key for entry in undone for change in entry.operation.changes if change.before is None)

    def is_taken_back(self, kind: str, key: str) -> bool:
        """Tell whether the last operation of a kind on a thing was undone. One whose files could not be written was
        not: nobody took it back. Of the newest thousand operations."""
        failed = failed_in(entry.operation for entry in self.log(1_000))
        did = (e for e in self.log(1_000, key=key) if e.operation.kind == kind and e.operation.id not in failed)
        return next((entry.undone for entry in did), False)

    def taken_away(self, layer: str) -> frozenset[str]:
        """Return the things of a layer that somebody deleted and no operation brought back. Of the newest thousand
        operations."""
        gone: set[str] = set()
        for entry in reversed(self.log(1_000)):
            if not entry.undone and entry.operation.kind not in BOOKKEEPING:
                for change in entry.operation.changes:
                    if change.layer == layer:
                        (gone.add if change.after is None else gone.discard)(change.key)
        return frozenset(gone)


def started_by_person(operation: Operation) -> bool:
    """Whether `undo` without an id may take this operation back."""
    person = operation.actor == "human" or operation.meta.get("started_by") == "human"
    return person and operation.kind not in BOOKKEEPING and not is_final(operation)


def is_final(operation: Operation) -> bool:
    """Whether there is nothing in it that could be taken back: it took texts out, or its own were taken out, or tells
    of what a backup takes back."""
    return operation.kind in _LASTING or (WITHHELD in operation.meta and not operation.changes)


def takes_back_all(operation: Operation) -> bool:
    """Whether after this undo nothing of its target stands: it covered every key, or the last that stood."""
    return "keys" not in operation.meta or bool(operation.meta.get("rest"))


def undo_target(entries: Iterable[LogEntry]) -> LogEntry | None:
    """The newest operation that a person started and of which something stands. None behind one that nothing undoes
    (`forget`, `scrub`, what the doctor put right of what is remembered): what is older has nothing to do with what he
    did last, and is named to be taken back."""
    last = _last_done(entries)
    return last if last is not None and not is_final(last.operation) else None


def _last_done(entries: Iterable[LogEntry]) -> LogEntry | None:
    """What a person did last and stands, be it final."""
    return next((e for e in entries if _lasts(e.operation) or (started_by_person(e.operation) and not e.undone)), None)


def _lasts(operation: Operation) -> bool:
    return operation.kind in _LASTING and not operation.meta.get(ASIDE)


def explain_repair(operation: Operation) -> NothingToDo:
    """Why what the doctor put right is not undone, what takes it back, and how what is older is."""
    if operation.meta.get(ASIDE):
        return NothingToDo("that changed nothing of what is remembered, and has no undo", operation.id, OLDER)
    backup = operation.meta.get("backup")
    back = f"`nanomem backup restore {backup}` takes it back, and all that was done since"
    fix = f"{OLDER}; {back if backup else 'what it replaced lies in the quarantine'}"
    return NothingToDo("what the doctor put right has no undo", operation.id, fix)


def nothing_to_undo(entries: Sequence[LogEntry]) -> NothingToDo:
    """Why there is nothing for `undo` to take back: what stands was done by an agent, and is named to be taken back."""
    last = _last_done(entries)
    if last is not None and last.operation.kind == REPAIRED:
        return explain_repair(last.operation)
    if last is not None and last.operation.kind in FINAL:
        what = f"the last change was a {last.operation.kind}, which nothing takes back"
        return NothingToDo(what, "", OLDER)
    others = [e for e in entries if e.operation.changes and e.operation.kind not in BOOKKEEPING and not e.undone]
    if not others:
        return NothingToDo("nothing to undo", "")
    who = {"agent": "the agent", "dream": "Dreams"}
    names = sorted({who.get(e.operation.actor, "nanomem itself") for e in others})
    stand = "stands" if len(others) == 1 else "stand"
    what = f"nothing of yours to undo; {counted(len(others), 'operation')} of {' and '.join(names)} {stand}"
    return NothingToDo(what, "", f"`nanomem undo {others[0].operation.id}` takes the last one back; see `nanomem log`")


def no_more_own() -> NothingToDo:
    """Say that nothing is left of what was changed here."""
    return NothingToDo("no more of your changes", "", "`nanomem undo ID` undoes one of others; see `nanomem log`")


def redo_target(entries: Iterable[LogEntry]) -> Operation | None:
    """The undo that a redo takes back: the last one not redone yet, unless a person did something new since."""
    undos: list[Operation] = []
    for entry in _oldest_first(entries):
        operation = entry.operation
        if operation.kind == "undo":
            undos += [] if is_final(operation) else [operation]
        elif operation.kind == "redo":
            undos = [undo for undo in undos if undo.id != operation.meta.get("undo")]
        elif started_by_person(operation):
            undos.clear()
    return undos[-1] if undos else None


def _oldest_first(entries: Iterable[LogEntry]) -> list[LogEntry]:
    """The entries in the order of time, without those that were recorded and then could not be done."""
    found = list(entries)
    failed = failed_in(entry.operation for entry in found)
    return [e for e in reversed(found) if e.operation.id not in failed and e.operation.kind != "void"]


# -- what one console or program changed ------------------------------------------------------------------------------

MOST = 10_000
"""Changes that are kept; older ones are undone by their id."""

Find = Callable[[str], LogEntry | None]
"""How an operation of the log is found by its id."""


class OwnChanges:
    """What a person did here, oldest first; what runs beside (schedules, an agent's turns) is not theirs.

    Holds no values: an operation is kept without what it touched. What others undid or redid since is asked of the log.
    """

    def __init__(self) -> None:
        self._done: deque[Operation] = deque(maxlen=MOST)
        self._lock = threading.Lock()

    def add(self, operation: Operation) -> None:
        """Keep an operation that was performed, unless it is nobody's."""
        if started_by_person(operation) or operation.kind in BOOKKEEPING:
            with self._lock:
                self._done.append(operation._replace(changes=()))

    def _newest_first(self) -> list[Operation]:
        with self._lock:
            return list(reversed(self._done))

    def next_undo(self, find: Find) -> LogEntry | None:
        """The newest change that stands."""
        ids = [operation.id for operation in self._newest_first() if operation.kind not in BOOKKEEPING]
        return next((entry for entry in map(find, ids) if entry is not None and not entry.undone), None)

    def next_redo(self, find: Find) -> Operation | None:
        """The newest undo made here, unless something was changed here since or somebody else redid it."""
        undo = redo_target(LogEntry(operation, False, 0) for operation in self._newest_first())
        target = find(undo.undoes) if undo is not None and undo.undoes else None
        if undo is None or target is None or (takes_back_all(undo) and not target.undone):
            return None
        recorded = find(undo.id)  # with what it touched
        return None if recorded is None else recorded.operation
