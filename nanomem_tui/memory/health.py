"""The doctor's report: what is wrong with any file or table of a workspace, why, and what to do. Changes nothing.

Owns the checks of the agent's own files; repository, databases and our folder are looked at by `health_store`.
"""

from __future__ import annotations

import os
import shlex
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from nanomem_tui.agents import databases
from nanomem_tui.agents import layout as agents_layout
from nanomem_tui.agents.archive import parse_cursor, parse_history
from nanomem_tui.agents.git_history import GitHistory
from nanomem_tui.agents.jsonl import mendable
from nanomem_tui.agents.layout import Layout, agent_settings, session_folders
from nanomem_tui.agents.markdown import WIDE_FIX, decode
from nanomem_tui.agents.snapshot_files import parse_audit, parse_lessons, parse_snapshot
from nanomem_tui.agents.transcripts import CHECKPOINT_SUFFIX, SUFFIX
from nanomem_tui.core.atomic import KEPT
from nanomem_tui.core.errors import NanomemError, Problem
from nanomem_tui.core.files import chunks, read_log, regular_files
from nanomem_tui.core.operations import Operation
from nanomem_tui.core.paths import Paths, workspace_id
from nanomem_tui.core.text import counted
from nanomem_tui.memory import health_store, session_rescue
from nanomem_tui.memory.health_fixes import with_fix
from nanomem_tui.memory.history import History
from nanomem_tui.memory.long_archive import is_long, long_archive
from nanomem_tui.memory.notes import Notes
from nanomem_tui.memory.session_files import NO_METADATA, key_of
from nanomem_tui.memory.sessions import SessionInfo, Sessions
from nanomem_tui.memory.wal import WalStates, may_go_on
from nanomem_tui.store import backup, purge_marker
from nanomem_tui.store.backup import folder_of
from nanomem_tui.store.files.presence import Presence, look, since

LARGE_DOCUMENT = 100_000
FATAL_DOCUMENT = 400_000
"""Bytes of SOUL, USER or MEMORY: all of it goes into every prompt, and at the second size every turn fails."""

REACHED = 1_000_000
"""How far ahead of the archive its counter may be, and entries be lost: each of them was an answer of a model."""

NAMED = 20
"""Files that others can write which are named one by one."""

LEFT_BEHIND = 3600.0
"""Seconds after which a temporary file belongs to a write that was interrupted."""


def examine(
    paths: Paths,
    layout: Layout,
    known: Iterable[Problem] = (),
    agent: Presence | None = None,
    wal: Callable[[], WalStates] | None = None,
    more: Sequence[Callable[[], Iterable[Problem]]] = (),
    server: object = None,
) -> list[Problem]:
    """Every problem of the workspace, errors first, `known` ones among them and none twice. Reads only.

    `agent` is whether one runs now (looked up when None): a turn or a lock in use is no problem then. `wal`: the turn
    logs as the workspace knows them, with what was recovered. `more`: checks that need more than the files. `server`:
    where the rows lie, if that is no file.
    """
    if agent is None:
        agent = look(paths, layout.sessions_dir)
    checks: tuple[Callable[[], Iterable[Problem]], ...] = (
        lambda: _documents(paths),
        lambda: _history(paths),
        lambda: _cursors(paths),
        lambda: _ram_first(paths),
        lambda: filter(None, [agents_layout.not_read(layout)]),
        lambda: identity(paths, layout),
        lambda: _sessions(paths, layout),
        lambda: _checkpoints(paths, layout, agent),
        lambda: _turns(paths, agent, wal() if wal is not None else WalStates(paths)),
        lambda: _questions(paths),
        lambda: _token_log(paths),
        lambda: _open_to_others(paths, layout),
        lambda: Notes(paths).problems(),
        lambda: agent_settings(paths)[1],
        lambda: left_behind(paths, layout),
        lambda: health_store.repository(paths, agent),
        lambda: health_store.databases(paths, server),
        lambda: health_store.own_folder(paths),
        lambda: backup.problems(paths),
        lambda: filter(None, [purge_marker.problem(paths)]),
        lambda: health_store.unwritable(paths, layout),
        lambda: health_store.full_disk(paths),
        *more,
    )
    found = list(known)
    for check in checks:
        try:
            found.extend(check())
        except NanomemError as error:
            found.append(Problem(error.what, paths.relative(Path(error.where)), fix=error.fix))
        except OSError as error:
            found.append(Problem(error.strerror or str(error), paths.relative(Path(error.filename or paths.workspace))))
    told = (with_fix(_placed(problem, paths)) for problem in found)
    return sorted(dict.fromkeys(told), key=lambda problem: problem.severity != "error")


def _placed(problem: Problem, paths: Paths) -> Problem:
    """The problem with its place as a person would name it."""
    absolute = problem.where.startswith("/")
    return problem._replace(where=paths.relative(Path(problem.where))) if absolute else problem


def _documents(paths: Paths) -> Iterator[Problem]:
    for path in (paths.soul, paths.user, paths.memory_md):
        where = paths.relative(path)
        inside = os.path.realpath(paths.workspace)
        if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(inside):
            what = "a link that leads out of the workspace: it can be neither shown nor edited here"
            yield Problem(what, where, None, "replace it by a file", "warning")
        elif path.is_symlink() and not path.exists():
            yield Problem("a link that leads to nothing, or to itself", where, None, "replace it by a file")
        try:
            data = _data(path)
        except NanomemError as error:
            yield Problem(error.what, where, fix=error.fix)
            continue
        for problem in decode(data, where)[1]:
            fatal = problem.fix == WIDE_FIX
            yield problem._replace(severity="error", fix="`nanomem doctor --fix` makes it UTF-8") if fatal else problem
        if len(data) > LARGE_DOCUMENT:
            fatal = len(data) > FATAL_DOCUMENT
            what = "so large that every turn fails" if fatal else "large, and every turn sends all of it to the model"
            severity: Literal["error", "warning"] = "error" if fatal else "warning"
            yield Problem(f"{len(data) // 1000} kB, {what}", where, None, "move or remove what is not needed", severity)


def _history(paths: Paths) -> Iterator[Problem]:
    yield from History(paths).problems()
    try:
        for data in chunks(paths.history) if paths.history.exists() else ():
            data.decode("utf-8")
    except UnicodeDecodeError:
        what = "holds a byte that is not UTF-8: the agent can neither append nor dream until it is gone"
        yield Problem(what, paths.relative(paths.history), None, "set that line aside; no other line is harmed")


def _cursors(paths: Paths) -> Iterator[Problem]:
    entries, latest = _entries(paths)
    where = paths.relative(paths.cursor)
    given = _cursor(paths.cursor)
    if given is None and paths.cursor.exists():
        yield Problem("not a number: the agent scans the whole history for the last one", where, None, "", "warning")
    elif given is not None and entries and given < latest:
        what = f"{given} is behind the history, which goes to {latest}"
        yield Problem(what, where, None, "the agent goes on from the history", "warning")
    elif given is not None and given > latest + REACHED:
        what = f"{str(given)[:20]} is beyond the last entry ({latest}): no archive ever reached that"
        yield Problem(what, where, None, "`nanomem doctor --fix` sets it to the last entry, while no agent runs")
        given = latest
    elif given is not None and given > latest:
        what = f"{given} is ahead of the history, which ends at {latest}: the entries between are lost"
        yield Problem(what, where, None, "look for a torn last line, and for a backup", "warning")
    yield from _dream_cursor(paths, entries, max(latest, given or 0))


def _entries(paths: Paths) -> tuple[int, int]:
    """How many entries the archive has, and the highest cursor."""
    if is_long(paths.history):
        long = long_archive(paths.history, paths.relative(paths.history))
        return long.count, long.highest
    entries, _ = parse_history(_data(paths.history), "")
    return len(entries), max((entry.cursor for entry in entries), default=0)


def _dream_cursor(paths: Paths, entries: int, latest: int) -> Iterator[Problem]:
    if not paths.dream_cursor.exists():
        return
    where = paths.relative(paths.dream_cursor)
    dreamt = _cursor(paths.dream_cursor)
    if dreamt is None and entries:
        again = counted(entries, "entry", "entries")
        if not _data(paths.dream_cursor) and not _has_dreamt(paths):  # so the agent makes it, with its repository
            yield Problem(
                f"empty: no Dream has read what is there yet ({again})",
                where,
                None,
                "nothing: the first one reads it",
                "note",
            )
            return
        what = f"empty or not a number: the next Dream reads {again} again, and pays for that"
        yield Problem(what, where, None, "write the number of the last entry that was read")
    elif dreamt is not None and dreamt > latest:
        ahead = dreamt - latest
        missed = "the entry" if ahead == 1 else f"the {ahead:,} entries"
        what = f"{dreamt} is {ahead:,} ahead of the history, which ends at {latest}: no Dream reads {missed} to come"
        yield Problem(what, where, None, "write the last entry that a Dream has read there: see `nanomem dream status`")
    elif dreamt is not None and dreamt < 0:
        yield Problem(f"{dreamt} is below 0; agents take it as it is", where, None, "set it to 0", "warning")


def _has_dreamt(paths: Paths) -> bool:
    """Whether a Dream has left a version; also where the versions cannot be read."""
    try:
        history = GitHistory.open(paths)
        return history is not None and any(commit.is_dream for commit in history.walk())
    except NanomemError:
        return True


def _ram_first(paths: Paths) -> Iterator[Problem]:
    if snapshot := _data(paths.ltm_snapshot):
        yield from parse_snapshot(snapshot, paths.relative(paths.ltm_snapshot)).problems
    elif paths.ltm_snapshot.exists():
        yield Problem("empty", paths.relative(paths.ltm_snapshot), None, "the agent starts without its items")
    yield from parse_lessons(_data(paths.lessons), paths.relative(paths.lessons)).problems
    for log in (paths.ltm_audit, paths.lessons_audit):
        yield from mendable(parse_audit(_data(log), paths.relative(log))[1])


def identity(paths: Paths, layout: Layout) -> Iterator[Problem]:
    """The id by which the agent finds its sessions: what is wrong with it."""
    kept, where = agents_layout.workspace_id(paths), paths.relative(paths.workspace_id_file)
    comes = "the agent makes a new one at its next start, and finds none of its sessions"
    if layout.workspace_id is not None and kept != layout.workspace_id:
        what = f"the id of the workspace is gone: {comes}" if kept is None else "no sessions lie under this id"
        yield Problem(what, where, fix=f"with the agent stopped, put {layout.workspace_id} there: they lie under that")
    elif (missing := agents_layout.missing_sessions(layout)) is not None:
        yield missing
    elif layout.unclaimed:
        what = f"the id of the workspace is gone; its sessions may be {_named(layout.unclaimed)}: none is shown"
        yield Problem(what, where, fix="with the agent stopped, put the name of the right one there")
    elif kept is None and os.path.lexists(paths.workspace_id_file):
        yield Problem(f"no id of 32 hex digits: {comes}", where, fix="put the name of the folder in `sessions/` there")


def _named(folders: Sequence[Path]) -> str:
    """Folders of sessions as a sentence names them."""
    return " or ".join(f"sessions/{folder.name}" for folder in folders)


def _sessions(paths: Paths, layout: Layout) -> Iterator[Problem]:
    sessions = Sessions(paths, lambda: layout, _never, Presence)
    said = sessions.problems()
    yield from said
    unreadable = {(problem.where, problem.what) for problem in said}
    left = {
        str(file.path): session_rescue.never(file, summary, key_of(file.path.name, summary.header), layout)
        for file, summary, _ in sessions.summaries()
    }
    for info in sessions.list():
        where = paths.relative(Path(info.path))
        if (where, info.hidden_reason) not in unreadable:
            yield from _session(info, where, left.get(info.path, ""))


def _session(info: SessionInfo, where: str, left: str) -> Iterator[Problem]:
    """`left`: why it cannot be brought back."""
    if info.hidden_reason and NO_METADATA not in info.hidden_reason:
        what = f"the agent does not find session {info.key}: {info.hidden_reason}"
        fix = "`nanomem session rescue` brings it back"
        if left:
            way = session_rescue.SAY.format(Path(info.path).name)
            fix = way if left == session_rescue.NOBODYS else "`nanomem session rescue` leaves it where it is"
            what += f"; {left}"
        yield Problem(what, where, None, f"{fix}; it can be read here", "warning")
    if info.other_keys:
        others = ", ".join(info.other_keys)
        what = f"may hold messages of {others} too: an old release gave both keys this file"
        yield Problem(what, where, None, "read it with both in mind", "warning")


def _checkpoints(paths: Paths, layout: Layout, agent: Presence) -> Iterator[Problem]:
    if agent.running:
        return
    for folder in session_folders(paths, layout):
        for name, at in regular_files(folder, CHECKPOINT_SUFFIX):
            transcript = folder / (name.removesuffix(CHECKPOINT_SUFFIX) + SUFFIX)
            where = paths.relative(folder / name)
            if not transcript.exists():
                yield Problem("a turn in flight without its session", where, None, "it can be removed", "warning")
            elif transcript.stat().st_mtime_ns > at.st_mtime_ns:
                what = "a turn in flight, older than its session: the agent throws it away"
                yield Problem(what, where, None, "it can be removed", "warning")
            else:
                what = "a turn was in flight when the agent stopped"
                yield Problem(what, where, None, "the agent goes on with it at its next start", "warning")


def _turns(paths: Paths, agent: Presence, wal: WalStates) -> Iterator[Problem]:
    """What is broken in the turn logs, and the turns that never ended; those that an agent began which runs now may go
    on, any number of them in one chat."""
    yield from wal.problems()
    lost, recovered = wal.check(), wal.recovered()
    if agent.running and lost:
        began = since(paths, agent)
        lost = [turn for turn in lost if not may_go_on(turn, began)]
    for info in wal.list():
        key = info.session_key
        begun = [turn for turn in lost if turn.session_key == key]
        if begun:
            what = f"{counted(len(begun), 'turn')} of {key} began and never ended: no answer is known"
            fix = f"`nanomem wal recover {key}` makes them pending items, `nanomem wal show {key}` tells what was asked"
            yield Problem(what, begun[0].path, begun[0].line, fix, "warning")
        known = [turn for turn in recovered if turn.session_key == key]
        if known:
            were, items = ("was", "a pending item") if len(known) == 1 else ("were", "pending items")
            what = f"{counted(len(known), 'turn')} of {key} began and never ended, and {were} recovered into {items}"
            yield Problem(what, known[0].path, None, f"`nanomem wal show {key}` tells what was asked", "note")


def _questions(paths: Paths) -> Iterator[Problem]:
    from nanomem_tui.memory import regressions  # few homes have saved questions

    yield from regressions.problems(regressions.saved_file(paths.data, workspace_id(paths)))


def _token_log(paths: Paths) -> Iterable[Problem]:
    path = paths.token_log
    return databases.read_llm_usage(path, paths.relative(path)).problems if path is not None else ()


def _open_to_others(paths: Paths, layout: Layout) -> Iterator[Problem]:
    """What the agent remembers by and anybody on the machine can write, or replace in its folder: so they tell it what
    to believe. A group that may write is left to its owner."""
    folders = [paths.workspace, paths.memory, *session_folders(paths, layout)]
    files = [paths.soul, paths.user, paths.memory_md, paths.history, paths.ltm_snapshot, paths.lessons]
    files += [folder / name for folder in folders[2:] for name, _ in regular_files(folder, SUFFIX)]
    found = [path for path in dict.fromkeys([*folders, *files]) if _others_write(path)]
    for path in found[:NAMED]:
        do = "put files of theirs in the place of those here" if path.is_dir() else "write what the agent remembers"
        what = f"mode {stat.S_IMODE(path.stat().st_mode):04o}: other users can {do}"
        yield Problem(what, paths.relative(path), None, f"`chmod o-w {shlex.quote(str(path))}`", "warning")
    if len(found) > NAMED:
        fix = f"`chmod -R o-w {shlex.quote(str(paths.home or paths.workspace))}`"
        what = f"{counted(len(found) - NAMED, 'more file')} like these"
        yield Problem(what, paths.relative(found[NAMED]), None, fix, "warning")


def _others_write(path: Path) -> bool:
    try:
        found = path.stat().st_mode
    except OSError:  # told where it is read
        return False
    sticky = stat.S_ISDIR(found) and bool(found & stat.S_ISVTX)  # where each removes only what is his own
    return bool(found & stat.S_IWOTH) and not sticky


def left_behind(paths: Paths, layout: Layout) -> Iterator[Problem]:
    since = time.time() - LEFT_BEHIND
    for folder in (paths.workspace, paths.memory, paths.data, folder_of(paths), *session_folders(paths, layout)):
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            temporary = entry.name.endswith((".nanomem-tmp", ".jsonl.tmp", ".json.tmp")) or (
                entry.name.startswith(".") and entry.name.endswith(".tmp")
            )
            if entry.name.endswith(KEPT):
                what = "set aside, because several programs wrote that file in one moment"
                yield Problem(what, paths.relative(Path(entry.path)), None, "add what is missing by hand", "warning")
            if temporary and entry.stat(follow_symlinks=False).st_mtime < since:
                what = "left behind by a write that was interrupted"
                yield Problem(what, paths.relative(Path(entry.path)), None, "it can be removed", "warning")


def _data(path: Path) -> bytes:
    """The bytes of a file, none when it is absent. Raises the errors of `from_os_error`."""
    return read_log(path.resolve()) if path.exists() else b""


def _cursor(path: Path) -> int | None:
    return parse_cursor(_data(path))


def _never(operation: Operation) -> Operation:
    raise AssertionError(f"the doctor changes nothing: {operation.label}")
