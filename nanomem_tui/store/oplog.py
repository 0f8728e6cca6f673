"""The log of operations as a person meets it: newest first, what is undone, what undo and redo take next. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from nanomem_tui.errors import NothingToDo
from nanomem_tui.operations import Operation
from nanomem_tui.text import counted

BOOKKEEPING = frozenset({"undo", "redo", "void"})
"""Kinds of operation that only say something about another one."""
FINAL = frozenset({"forget", "scrub"})
"""Kinds of operation that tell what was taken out of everything: nothing brings it back."""
MENDED = "doctor.fix"
"""The kind that tells what the doctor put right: the backup that it names in the free field `backup` takes it back."""
ASIDE = "aside"
"""The free field of one that changed nothing of what is remembered (permissions, a lock, half a file): no undo stops
at it."""
_LASTING = FINAL | {MENDED}
WINDOWS = (8, 50, 1_000, 50_000, 10_000_000)
"""How many of the newest operations are searched, step by step, for what undo and redo take next."""
OLDER = "`nanomem undo ID` for an older one; see `nanomem log`"
WITHHELD = "withheld"
"""The free field that says how many changes of an operation were taken out of it by one of those."""


class LogEntry(NamedTuple):
    """One operation and whether it is taken back at present; `position` grows with time."""

    operation: Operation
    undone: bool
    position: int

    def to_json(self, *, changes: bool = False) -> dict[str, Any]:
        """The entry as the command line prints it, with the values of what it touched when `changes`."""
        op = self.operation
        body: dict[str, Any] = {
            "id": op.id,
            "at": op.at,
            "actor": op.actor,
            "kind": op.kind,
            "label": op.label,
            "touched": len(op.changes),
            "undone": self.undone,
        }
        if op.undoes:
            body["undoes"] = op.undoes
        if op.redoes:
            body["redoes"] = op.redoes
        if changes:
            body["changes"] = [
                {"layer": c.layer, "key": c.key, "before": c.before, "after": c.after} for c in op.changes
            ]
        return body


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


def verdicts(operation: Operation, target_of: Callable[[str], Operation | None]) -> list[tuple[str, bool]]:
    """(id, undone) of the operations whose standing this one changes. A void undo or redo changes it back."""
    if operation.kind == "void" and operation.undoes:
        failed = target_of(operation.undoes)
        back = [(target, not undone) for target, undone in verdicts(failed, target_of)] if failed is not None else []
        return [(operation.undoes, True), *back]
    if operation.undoes and takes_back_all(operation):
        return [(operation.undoes, True)]
    return [(operation.redoes, False)] if operation.redoes else []


class Standing:
    """What is undone by the operations alone, told in the order in which they were written."""

    def __init__(self) -> None:
        self._undone: dict[str, bool] = {}
        self._speaking: dict[str, Operation] = {}

    def then(self, operation: Operation) -> None:
        """Take the next one; what it touched is not asked for."""
        if operation.undoes or operation.redoes:
            self._speaking[operation.id] = operation
            self._undone |= dict(verdicts(operation, self._speaking.get))

    def is_undone(self, op_id: str) -> bool:
        """Whether that one is taken back."""
        return self._undone.get(op_id, False)


def overlay(stored: Sequence[LogEntry], pending: Iterable[Operation]) -> list[LogEntry]:
    """The entries newest first once `pending` operations, oldest first, are on top of the stored ones: in the order in
    which they were made, which is not that in which their processes wrote them."""
    entries = {entry.operation.id: entry for entry in reversed(stored)}
    position = max((entry.position for entry in stored), default=0)
    fresh: set[str] = set()
    for operation in pending:
        if operation.id not in entries:
            position += 1
            entries[operation.id] = LogEntry(operation, False, position)
            fresh.add(operation.id)
    for entry in sorted(entries.values(), key=_when):
        operation = entry.operation
        for target, undone in verdicts(operation, lambda key: entries[key].operation if key in entries else None):
            # Who took back what another process had yet to write may have written that first.
            if target in entries and (operation.id in fresh or target in fresh):
                entries[target] = entries[target]._replace(undone=undone)
    return sorted(entries.values(), key=_when, reverse=True)


def _when(entry: LogEntry) -> tuple[str, int]:
    return entry.operation.place, entry.position


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


def mended(operation: Operation) -> NothingToDo:
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
    if last is not None and last.operation.kind == MENDED:
        return mended(last.operation)
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


def standing(entries: Iterable[LogEntry], operation: Operation) -> list[str]:
    """The keys of an operation that no partial undo has taken back, in its order; `entries`: all since it, newest
    first."""
    taken: set[str] = set()
    for entry in _oldest_first(entries):
        if entry.operation.undoes == operation.id:
            taken |= {change.key for change in entry.operation.changes}
        elif entry.operation.redoes == operation.id:
            taken -= {change.key for change in entry.operation.changes}
    return [key for key in dict.fromkeys(change.key for change in operation.changes) if key not in taken]


def newest_standing(entries: Sequence[LogEntry]) -> tuple[LogEntry, list[str]] | None:
    """What `undo` takes back next, and its keys that stand."""
    entry = undo_target(entries)
    return (entry, standing(entries, entry.operation)) if entry is not None else None


def standing_since(entries: Sequence[LogEntry], target: LogEntry) -> list[str] | None:
    """The keys of an operation that stand, once `entries` reach back to it."""
    if all(entry.operation.id != target.operation.id for entry in entries):
        return None
    return standing(entries, target.operation)


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


def made_and_undone(entries: Iterable[LogEntry], kind: str) -> frozenset[str]:
    """Return the ids of the things that operations of a kind made and that were undone with them: nobody deleted them
    one by one."""
    undone = [entry for entry in entries if entry.operation.kind == kind and entry.undone]
    return frozenset(change.key for entry in undone for change in entry.operation.changes if change.before is None)


def deleted(entries: Sequence[LogEntry], layer: str) -> frozenset[str]:
    """Return the things of a layer that somebody deleted and no operation brought back; `entries`: newest first."""
    gone: set[str] = set()
    for entry in reversed(entries):
        if not entry.undone and entry.operation.kind not in BOOKKEEPING:
            for change in entry.operation.changes:
                if change.layer == layer:
                    (gone.add if change.after is None else gone.discard)(change.key)
    return frozenset(gone)


def _oldest_first(entries: Iterable[LogEntry]) -> list[LogEntry]:
    """The entries in the order of time, without those that were recorded and then could not be done."""
    found = list(entries)
    void = {entry.operation.undoes for entry in found if entry.operation.kind == "void"}
    return [e for e in reversed(found) if e.operation.id not in void and e.operation.kind != "void"]
