"""The workspaces that a person knows, by name: those of the settings, the agent's own, those opened before.

Also what they hold together, and `Rehearsal`, a workspace for `--dry-run`. Listing looks at names and a few small files
and opens no workspace.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from heapq import nsmallest
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from nanomem_tui.core import config, paths
from nanomem_tui.core.errors import (
    AccessDenied,
    BadInput,
    NanomemError,
    NotFound,
    NothingToDo,
    Problem,
    Refused,
    shown_error,
)
from nanomem_tui.core.operations import Change, Operation
from nanomem_tui.core.paths import Paths, usual_name
from nanomem_tui.core.settings import named_path
from nanomem_tui.core.text import one_line
from nanomem_tui.language.times_asked import Span
from nanomem_tui.review.find import LIMIT, Found, Place, Places
from nanomem_tui.store import forgotten, snapshot
from nanomem_tui.store.database import operation_log
from nanomem_tui.store.database.operation_log import Journal, LogEntry
from nanomem_tui.store.files import user
from nanomem_tui.store.memory_store import CheckpointResult, agent_name
from nanomem_tui.store.values import ROW_LAYERS
from nanomem_tui.workspace import Workspace

Origin = Literal["settings", "agent", "remembered", "opened"]
SETTING = "workspaces"


class Known(NamedTuple):
    """One workspace: its name, the path as it was given, who says so, and where it lies or why it cannot be opened."""

    name: str
    path: str
    origin: Origin
    found: Paths | None
    error: NanomemError | None = None

    @property
    def folder(self) -> Path:
        """The folder itself; the path as it was given where there is none."""
        return self.found.workspace if self.found is not None else Path(self.path)

    def is_at(self, place: Path) -> bool:
        """Return whether it is the workspace that lies there."""
        return self.found is not None and self.found.workspace == place


class Listed(NamedTuple):
    """All that are known, each once, with names that differ, and what of the lists could not be read."""

    workspaces: tuple[Known, ...]
    problems: tuple[Problem, ...] = ()

    def at(self, place: Path) -> Known | None:
        """Return the one that lies there."""
        return next((one for one in self.workspaces if one.is_at(place)), None)

    def named(self, name: str) -> Known | None:
        """Return the one of that name."""
        return next((one for one in self.workspaces if one.name == name), None)


def list_workspaces(opened: Mapping[Path, str] | None = None) -> Listed:
    """Return every workspace that is known, in the order of the settings; `opened`: those of this process, and what
    they are called where nobody named them. Never raises."""
    loaded = config.load(None, forgiving=True)
    problems = [one for one in loaded.problems if SETTING in one.what or one.what.endswith(config.NOTHING_USED)]
    if loaded.settings.remember_workspaces:
        problems += user.opened_workspaces_problems()
    rows: list[Known] = []
    for name, path, origin in _listed(
        loaded.settings.workspaces, opened or {}, again=loaded.settings.remember_workspaces
    ):
        row = _row(name, path, origin)
        same = next((at for at, one in enumerate(rows) if one.folder == row.folder), None)
        if same is None:
            rows.append(row)
        elif name and not rows[same].name:
            rows[same] = rows[same]._replace(name=name)
    return Listed(tuple(_with_names(rows)), tuple(problems))


def _listed(entries: Sequence[str], opened: Mapping[Path, str], *, again: bool) -> Iterator[tuple[str, str, Origin]]:
    for entry in entries:
        name, path = named_path(entry)
        yield name, path, "settings"
    usual = paths.default_workspace()
    if os.path.lexists(usual):
        yield "", str(usual), "agent"
    for path in user.opened_workspaces() if again else ():
        yield "", path, "remembered"
    for place, called in opened.items():
        yield called, str(place), "opened"


def _row(name: str, path: str, origin: Origin) -> Known:
    try:
        return Known(name, path, origin, paths.find_workspace(path))
    except NanomemError as error:
        return Known(name, os.path.expanduser(path), origin, None, error)


def _with_names(rows: Sequence[Known]) -> Iterator[Known]:
    """Yield each with a name of its own: the one it was given, else that of its folder or its agent's home."""
    taken: set[str] = set()
    for row in sorted(rows, key=lambda one: not one.name):  # who was given a name keeps it
        name = next(name for name in _names(row) if name not in taken)
        taken.add(name)
        rows = [one._replace(name=name) if one is row else one for one in rows]
    yield from rows


def _names(row: Known) -> Iterator[str]:
    """Yield what it may be called, the best first; none of these looks like a path."""
    folder = row.folder
    usual = usual_name(row.found or Paths(folder, None, folder))
    around = [parent.name for parent in folder.parents if parent.name not in {"", usual} and parent.name[0] != "."]
    above = around[0] if around else ""
    name = one_line((row.name or usual).replace("/", "-"))
    yield name
    if above and not row.name:
        yield f"{one_line(above)}-{name}"
    number = 2
    while True:
        yield f"{name}-{number}"
        number += 1


def path_of(text: str) -> str:
    """Return the path that is meant by a path, or by the name of a workspace: a folder that is there comes first."""
    if "/" in text or text.startswith(("~", ".")) or os.path.lexists(text):
        return text
    found = list_workspaces().named(text)
    return text if found is None else os.path.expanduser(found.path)


# Changing the list of the settings


def add(path: str, name: str = "", *, dry_run: bool = False) -> Known:
    """Put a workspace into the user's settings, or give one that is there another name; what is known of it then.

    Raises the errors of a folder that is no workspace, and BadInput for a name that another one has.
    """
    found = paths.find_workspace(path)
    listed = list_workspaces()
    other = listed.named(name) if name else None
    if "/" in name or "=" in name:
        raise BadInput("no name", name, "give one without / and =")
    if other is not None and not other.is_at(found.workspace) and other.origin == "settings":
        raise BadInput(f"{name} is another workspace", other.path, f"see `nanomem workspaces forget {name}`")
    rest = [entry for entry in _entries() if not _is(entry, found.workspace)]
    if len(rest) < len(_entries()) and not name:
        there = listed.at(found.workspace)
        raise NothingToDo(f"it is known as {there.name if there else path}", str(found.workspace))
    _save([*rest, f"{name}={found.workspace}" if name else str(found.workspace)], dry_run=dry_run)
    row = Known(name, str(found.workspace), "settings", found)
    return row if name or dry_run else list_workspaces().at(found.workspace) or row


def forget(what: str, *, dry_run: bool = False) -> Known:
    """Take a workspace, by name or path, out of the lists; nothing of its memory changes. What was known of it.

    Raises NotFound, and Refused for the agent's own.
    """
    listed = list_workspaces()
    row = listed.named(what) or next((one for one in listed.workspaces if _same(one, what)), None)
    if row is None:
        raise NotFound("no workspace of that name or path", what, "see `nanomem workspaces list`")
    if row.origin == "agent":
        raise Refused("it is the workspace that the agent is configured for", row.path, "it is known without a list")
    if dry_run:
        return row
    if row.origin == "settings":
        _save([entry for entry in _entries() if not _is(entry, row.folder)], dry_run=False)
    if str(row.folder) in user.opened_workspaces():
        user.forget_workspace(str(row.folder))
    return row


def _entries() -> tuple[str, ...]:
    return config.load(None, forgiving=True).settings.workspaces


def _is(entry: str, place: Path) -> bool:
    return _row(*named_path(entry), "settings").folder == place


def _same(row: Known, text: str) -> bool:
    asked = Path(os.path.abspath(os.path.expanduser(text)))
    return row.path == text or row.folder in (asked, _row("", str(asked), "settings").folder)


def _save(entries: Sequence[str], *, dry_run: bool) -> None:
    user.save_setting(paths.user_settings(), SETTING, json.dumps(list(entries)), dry_run=dry_run)


# -- Several workspaces looked at together: how each of them is, and one search across all of them --------------------

MOST = 30
"""Workspaces that one search looks at: what is read of each is held until the search is closed."""

Opened = Mapping[Path, Callable[[], Workspace]]
"""Workspaces that are open already, by the folder: one process holds each of them once."""


class Summary(NamedTuple):
    """How one workspace is. A count that could not be read is None; `error` says why nothing could be."""

    known: Known
    agent: str = ""
    release: str = ""
    running: bool = False
    what: str = ""
    items: int | None = None
    lessons: int | None = None
    sessions: int | None = None
    inbox: int | None = None
    dirty: int | None = None
    saved_at: str = ""
    problems: int = 0
    error: NanomemError | None = None

    def to_json(self) -> dict[str, Any]:
        """As the command line prints it."""
        known, error = self.known, self.error
        home = known.found.home if known.found is not None else None
        told = {} if error is None else {"error": {"what": error.what, "where": error.where, "fix": error.fix}}
        return {
            "id": known.name, "path": str(known.folder), "origin": known.origin, "home": str(home) if home else None,
            "release": self.release,
            "agent": {"name": self.agent, "running": self.running, "what": self.what},
            "items": self.items, "lessons": self.lessons, "sessions": self.sessions, "inbox": self.inbox,
            "checkpoint": {"dirty": self.dirty, "last_at": self.saved_at or None}, "problems": self.problems, **told,
        }  # fmt: skip


def summary(known: Known, opened: Opened | None = None) -> Summary:
    """Return how a workspace is; why it cannot be told stands in it. Never raises."""
    try:
        if known.found is None:
            raise known.error or NanomemError("no workspace", known.path)
        already = (opened or {}).get(known.folder)
        if already is not None:
            return _together_told(known, already())
        ws = Workspace(known.found, config.load(known.found))
        try:
            return _together_told(known, ws)
        finally:
            ws.close()
    except Exception as error:  # noqa: BLE001 - one that is broken in any way takes no other down
        return Summary(known, error=shown_error(error, "reading the workspace"))


def _together_told(known: Known, ws: Workspace) -> Summary:
    found = ws.status()
    agent, saved = found["agent"], found["checkpoint"]
    wrong = sum(problem["severity"] != "note" for problem in found["problems"])
    return Summary(
        known, agent_name(ws.settings, ws.paths), found["release"], agent["running"], agent["what"],
        found["items"]["total"], found["lessons"]["total"], found["sessions"], found["inbox"], saved["dirty"],
        saved["last_at"] or "", wrong,
    )  # fmt: skip


class Hit(NamedTuple):
    """A place in one of several workspaces."""

    known: Known
    place: Place


class FoundTogether(NamedTuple):
    """What was found so far in all of them, the best first; of how many; what could not be read, by workspace."""

    hits: Sequence[Hit]
    total: int
    done: bool
    fuzzy: bool = False
    left_out: Mapping[str, str] = MappingProxyType({})


class Together:
    """One search across workspaces. Keeps what it read of them until `close`."""

    def __init__(self, workspaces: Callable[[], Sequence[Known]], opened: Opened | None = None) -> None:
        """`workspaces` is asked for them with the first question, in its thread."""
        self._ask = workspaces
        self._already = dict(opened or {})
        self._opened: dict[Path, Workspace] = {}
        self._places: dict[Path, Places] = {}
        self._lock = threading.Lock()
        self._closed = False
        self._wrong: dict[str, str] = {}

    @cached_property
    def _workspaces(self) -> Sequence[Known]:
        listed = self._ask()
        self._wrong.update((one.name, f"beyond the first {MOST}") for one in listed[MOST:])
        return listed[:MOST]

    def find(
        self,
        query: str,
        limit: int = LIMIT,
        stop: Callable[[], bool] = lambda: False,
        *,
        within: Span | None = None,
    ) -> Iterator[FoundTogether]:
        """Yield what `query` (as `Places.find` takes it, with `within`) means in any of them, better with each step;
        what is similar only where none of them holds the words. Ends early when `stop` says so."""
        for similar in (False, True):
            best: dict[str, Found] = {}
            for known in self._workspaces:
                for found in self._search_one(known, query, limit, stop, within, similar=similar):
                    best[known.name] = found
                    yield self._joined(best, limit, similar=similar)
                if stop():
                    return
            joined = self._joined(best, limit, similar=similar)
            if joined.total or similar:
                yield joined._replace(done=True)
                return

    def _search_one(
        self, known: Known, query: str, limit: int, stop: Callable[[], bool], within: Span | None, *, similar: bool
    ) -> Iterator[Found]:
        """Yield what is found in one; why nothing can be is remembered."""
        try:
            found: Found | None = None
            for found in self._places_of(known).find(query, limit, stop, similar=similar, within=within):
                if found.total or found.left_out:
                    yield found
            self._wrong.pop(known.name, None)
            if found is not None and found.left_out:
                self._wrong[known.name] = found.left_out
        except Exception as error:  # noqa: BLE001 - the rest is searched all the same
            self._wrong[known.name] = shown_error(error, "reading the workspace").line()

    def _places_of(self, known: Known) -> Places:
        if known.found is None:
            raise known.error or NanomemError("no workspace", known.path)
        with self._lock:  # a question that nobody waits for any more may still be at it
            if self._closed:
                raise NanomemError("the search is closed", known.path)
            if known.folder not in self._places:
                self._places[known.folder] = Places(self._already.get(known.folder) or self._open(known), {})
            return self._places[known.folder]

    def _open(self, known: Known) -> Callable[[], Workspace]:
        assert known.found is not None
        ws = self._opened[known.folder] = Workspace(known.found, config.load(known.found))
        return lambda: ws

    def _joined(self, best: Mapping[str, Found], limit: int, *, similar: bool) -> FoundTogether:
        """Return the best of all, each rank by turns: as many workspaces as hold it are seen at the top."""
        ranked = []
        for number, known in enumerate(self._workspaces):
            found = best.get(known.name, Found((), 0, True))
            for order, (place, rank) in enumerate(zip(found.places, found.ranks, strict=True)):
                ranked.append((rank, order, number, Hit(known, place)))
        hits = [one[-1] for one in nsmallest(limit, ranked, key=lambda one: one[:3])]
        total = sum(found.total for found in best.values())
        return FoundTogether(hits, total, False, similar, dict(self._wrong))

    def close(self) -> None:
        """Let go of the workspaces that it opened; nothing was changed in them."""
        with self._lock:
            self._closed = True
            for ws in self._opened.values():
                with suppress(NanomemError):
                    ws.close()
            self._opened.clear()
            self._places.clear()


# A workspace for `--dry-run`: changes are checked and seen as if they were made, and none is recorded or written.


class Rehearsal(Workspace):
    """One agent's memory, of which nothing is changed. Rows change in RAM, so that a second change meets the first."""

    def __init__(self, found: paths.Paths, loaded: config.Loaded) -> None:
        super().__init__(found, loaded)
        self.done: list[Operation] = []
        self.store.journal = _rehearsed(self.store.journal, self.done)

    def perform(self, operation: Operation, durable: bool = True) -> Operation:
        """Check an operation and make its rows true in RAM. Raises what the real one raises before it writes."""
        operation = forgotten.without_forgotten(self.paths, operation, forgotten.stamp(self.paths))
        by_layer: dict[str, list[Change]] = {}
        for change in operation.changes:
            self._register(change.layer)
            by_layer.setdefault(change.layer, []).append(change)
        if by_layer.keys() & set(ROW_LAYERS):
            self.store.load()
            snapshot.refuse_unaccepted(operation, list(by_layer.items()), self.store.snapshot)
        self._writable()
        for name, changes in by_layer.items():
            if name in ROW_LAYERS:
                self.store.layers[name].check(changes)
                self.store.layers[name].apply(operation, changes)
            else:
                self.store.layers[name].check(self._as_on_disk(changes))
        self.done.append(operation)
        return operation

    def _writable(self) -> None:
        """Raise AccessDenied where a change could not be written."""
        folder = self.paths.data
        while not folder.exists():
            folder = folder.parent
        if not os.access(folder, os.W_OK | os.X_OK):
            raise AccessDenied("no permission while recording a change", str(folder), "check its owner and mode")

    def _as_on_disk(self, changes: list[Change]) -> list[Change]:
        """Of changes to files those that begin with what lies there: not with what an earlier change would leave."""
        touched = {(change.layer, change.key) for operation in self.done for change in operation.changes}
        return [change for change in changes if (change.layer, change.key) not in touched]

    def flush(self) -> CheckpointResult:
        """Nothing waits: nothing was changed."""
        return CheckpointResult(0, 0, 0.0, ())


def _rehearsed(real: Journal, done: list[Operation]) -> Journal:
    """Return the log with the rehearsed operations on top."""

    class Rehearsed(type(real)):  # type: ignore[misc]
        def log(self, limit: int, *, offset: int = 0, key: str | None = None) -> list[LogEntry]:
            entries = _on_top(real.log(limit + offset, key=key), done)
            if key is not None:
                entries = [entry for entry in entries if entry.operation.changes_of(key)]
            return entries[offset : offset + limit]

        def standing(self, entry: LogEntry) -> list[str]:
            op_id = entry.operation.id
            stands = [*entry.operation.keys()] if any(one.id == op_id for one in done) else real.standing(entry)
            for one in done:
                touched = one.keys()
                if one.undoes == op_id:
                    stands = [key for key in stands if key not in touched]
                elif one.redoes == op_id:
                    stands += [key for key in touched if key not in stands]
            return stands

    made = Rehearsed.__new__(Rehearsed)
    made.__dict__.update(real.__dict__)  # it reads what the real one reads
    return made


def _on_top(stored: list[LogEntry], done: list[Operation]) -> list[LogEntry]:
    """Return the entries, newest first, with these operations on top, oldest first."""
    entries = {one.id: LogEntry(one, False, 0) for one in reversed(done)} | {e.operation.id: e for e in stored}
    for one in done:
        target = one.undoes if one.undoes and operation_log.takes_back_all(one) else one.redoes
        if target in entries:
            entries[target] = entries[target]._replace(undone=bool(one.undoes))
    return list(entries.values())
