"""The doctor's report: what is wrong with any file or table of a workspace, why, and what to do. Changes nothing.

`Workspace.doctor` makes the report: `examine` looks at the files of the agent and of the home, and it is given what the
parts found of themselves, damage of our database among it (`store/recovery.py`). `memory/repairs.py` repairs, and asks
the `find_…` functions here where a file is to be repaired.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import sqlite3
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from nanomem_tui.agents import databases as agents_databases
from nanomem_tui.agents import releases as agents_layout
from nanomem_tui.agents.archive import parse_cursor, parse_history
from nanomem_tui.agents.git_history import GitHistory, find_repository
from nanomem_tui.agents.jsonl import repairable
from nanomem_tui.agents.markdown import WIDE_FIX, decode
from nanomem_tui.agents.releases import Layout, agent_settings, session_folders
from nanomem_tui.agents.session_names import CHECKPOINT_SUFFIX, SUFFIX
from nanomem_tui.agents.snapshot_files import parse_audit, parse_lessons, parse_snapshot
from nanomem_tui.core import atomic
from nanomem_tui.core.errors import NanomemError, Problem, shown_error
from nanomem_tui.core.files import chunks, read_log, regular_files
from nanomem_tui.core.operations import Operation
from nanomem_tui.core.paths import Paths, workspace_id
from nanomem_tui.core.settings import Settings
from nanomem_tui.core.text import counted
from nanomem_tui.memory.notes import Notes
from nanomem_tui.memory.sessions.archive import History, is_long, long_archive
from nanomem_tui.memory.sessions.files import NO_METADATA, key_of
from nanomem_tui.memory.sessions.sessions import SessionInfo, Sessions
from nanomem_tui.memory.sessions.transcript_repair import NOBODYS, SAY, reason_unrescuable
from nanomem_tui.memory.transfer import foreign
from nanomem_tui.memory.turns.wal_states import WalStates, may_go_on
from nanomem_tui.store import forgotten
from nanomem_tui.store.files.presence import Presence, find_running_agent, running_since
from nanomem_tui.store.moving import backup
from nanomem_tui.store.moving.backup import folder_of

if TYPE_CHECKING:
    from nanomem_tui.memory.transfer.import_plan import ImportPlan
    from nanomem_tui.store.memory_store import MemoryStore


# What a person can do about each problem. Owns the words of the doctor's advice; reads nothing, changes nothing.

IN_AN_EDITOR = "correct or remove that line in an editor while no agent runs; every other line is read"
_ADVICE = (
    ("the database cannot be read", "with nanomem and the agent stopped, try `.recover` of sqlite3 on a copy"),
    ("permission", "check its owner and mode: `ls -l` shows them, `chmod u+rw` gives them back"),
    ("cannot be read", "check its owner, its mode and what it is: `ls -l` shows them"),
    ("lines end in CRLF", "nothing has to be done; an editor that saves LF line ends takes this away"),
    ("byte order mark", "nothing has to be done; an editor that saves UTF-8 without a mark takes this away"),
    ("no newline at the end", "add a newline at the end in an editor while no agent runs"),
    ("comes twice", "nothing is lost: both are read; remove one in an editor while no agent runs"),
    ("NUL bytes", "remove the NUL bytes in an editor while no agent runs; what stood there is lost"),
    ("not UTF-8", "replace those bytes in an editor while no agent runs"),
    ("no metadata line", "let the agent write to this session once: it then begins with one; or read it here"),
    ("not a number", "write the number of the last history entry into it"),
    ("message without a role", "nothing has to be done: the message is shown, and the agent leaves it out"),
    ("answer without its question", "nothing has to be done; the question was lost when the agent stopped"),
    ("belongs to no turn", "nothing has to be done, or remove that line in an editor while no agent runs"),
)
_CIRCULAR, _MENDS = "nanomem doctor", "nanomem doctor --fix"


def with_fix(problem: Problem) -> Problem:
    """Return the problem with something to do about it: its own advice, or the usual one."""
    own = "; ".join(part for part in problem.fix.split("; ") if _CIRCULAR not in part or _MENDS in part)
    if own and own == problem.fix:
        return problem
    advice = next((fix for sign, fix in _ADVICE if sign in problem.what), "")
    if not advice:
        advice = IN_AN_EDITOR if problem.line is not None else "look at it in an editor while no agent runs"
    return problem._replace(fix="; ".join(filter(None, (own, advice))))


# The doctor's look at the git repository, the databases and our own folder. Changes nothing, runs none of them.

STALE_LOCK = 60.0
"""Seconds after which no Dream holds the index any more."""

WAL_RESET_FIXED = ((3, 44, 6), (3, 50, 7), (3, 51, 3))
"""Releases of SQLite, each the first of its line, that do not lose a commit when a checkpoint meets a writer."""

LEAST_SPACE = 1_000_000
"""Bytes below which a disk counts as full."""

_OFFERED = 20


def repository(paths: Paths, agent: Presence) -> Iterator[Problem]:
    """Yield what is wrong with the git history of the memory files."""
    opened = find_repository(paths)
    problems = opened.problems
    yield from problems
    if opened.history is not None:
        with contextlib.closing(opened.history) as history:
            yield from _lost(history, paths)
            yield from _dangling(history, paths)
    for git in paths.git_dirs:
        yield from (problem for _, problem in find_git_locks(git, paths, agent))
        yield from _empty_objects(git, paths)


def _lost(history: GitHistory, paths: Paths) -> Iterator[Problem]:
    """Objects that versions of the memory files need and that are missing or cannot be read."""
    fix = "look for it in a clone or a backup (`git fetch`); `git fsck` lists all; other versions can be read"
    number = 0
    for what, sha, needed in history.lost():
        number += 1
        if number <= _OFFERED:
            where = f"{paths.relative(history.git_dir)}: {sha}".rstrip(": ")
            yield Problem(f"{what}; {needed} cannot be read", where, None, fix)
    if number > _OFFERED:
        what = f"{number - _OFFERED:,} more git objects cannot be read"
        yield Problem(what, paths.relative(history.git_dir), None, fix)


def _dangling(history: GitHistory, paths: Paths) -> Iterator[Problem]:
    """Refs, the stash and linked worktrees whose commit is gone: `git log --all` and `git gc` fail on them."""
    try:
        lost = list(history.missing())
    except (OSError, NanomemError) as error:
        said = shown_error(error, "reading the git repository")
        yield Problem(said.what, said.where or paths.relative(history.git_dir), None, "`git fsck` says what is lost")
        return
    for name, what, fix in lost[:_OFFERED]:
        yield Problem(what, f"{paths.relative(history.git_dir)}: {name}", None, fix)


def find_git_locks(git: Path, paths: Paths, agent: Presence) -> Iterator[tuple[Path, Problem]]:
    """Yield locks that keep a commit from being made; of the index only old ones: it is held for long now and then."""
    from nanomem_tui.agents import git as agents_git

    if agent.running and agent.dreaming:
        return
    try:
        branch = agents_git.read_head(git).name
    except NanomemError:  # told already
        branch = "HEAD"
    ours = agents_git.noted_lock(git)
    for name in dict.fromkeys(("index", "HEAD", branch, "packed-refs")):
        lock = git / f"{name}.lock"
        where = paths.relative(lock)
        try:
            age = time.time() - os.lstat(lock).st_mtime
        except OSError:
            continue
        if age > STALE_LOCK and lock == ours:
            what = "a lock that a killed process of nanomem left: every Dream fails to commit, and says nothing"
            yield lock, Problem(what, where, None, "the next commit of nanomem removes it")
        elif age > STALE_LOCK:
            what = "a lock that nobody holds: every Dream fails to commit, and says nothing"
            yield lock, Problem(what, where, None, "remove it when no git command is running")
        elif name != "index":
            what = "a lock of this minute: as long as it is there no Dream can commit"
            fix = "look again in a minute; if it is still there, remove it when no git command is running"
            yield lock, Problem(what, where, None, fix, "warning")


def _empty_objects(git: Path, paths: Paths) -> Iterator[Problem]:
    """Objects that a power cut left without content: git refuses them later, at the worst time."""
    found = []
    for folder, _, names in os.walk(git / "objects"):
        if len(os.path.basename(folder)) == 2:
            named = [Path(folder, name) for name in names if len(name) == 38]  # others never got their name
            found += [path for path in named if os.lstat(path).st_size == 0]
    for path in sorted(found)[:_OFFERED]:
        yield Problem("an empty git object, as a power cut leaves them", paths.relative(path), None, "run git fsck")


_MOVE = "see `nanomem migrate-store --help`: it moves them, or left them behind"


def foreign_databases(paths: Paths, server: object = None) -> Iterator[Problem]:
    """Yield problems of our file beside a server, and of databases of other systems in the home."""
    if server is not None:
        if paths.database.exists():
            what = "rows of before lie in this file, and database_url names a server: they are not shown"
            yield Problem(what, paths.relative(paths.database), None, _MOVE, "note")
    elif paths.database.exists():
        yield from _version(sqlite3.sqlite_version_info)
    for path in filter(None, (paths.longterm_db, paths.facts_db)):
        yield from _foreign_database(path, paths)


def _version(version: tuple[int, ...]) -> Iterator[Problem]:
    if version >= (3, 7, 0) and not has_wal_reset_fix(version):
        number = ".".join(str(part) for part in version[:3])
        what = f"SQLite {number} can lose a commit when two processes write and checkpoint (fixed in 3.51.3)"
        fix = "nanomem checkpoints under its own lock, so its data is safe; no other program should write this file"
        yield Problem(what, "nanomem.db", None, fix, "note")


def has_wal_reset_fix(version: tuple[int, ...]) -> bool:
    """Return whether this SQLite is free of the WAL-reset bug (3.7.0 to 3.51.2, but two older lines have it fixed)."""
    return version >= WAL_RESET_FIXED[-1] or any(
        fixed[:2] == version[:2] and version >= fixed for fixed in WAL_RESET_FIXED
    )


def _foreign_database(path: Path, paths: Paths) -> Iterator[Problem]:
    where = paths.relative(path)
    try:
        with agents_databases.open_read_only(path) as connection:
            yield from _checked(connection, where, "copy it while its agent is stopped, then try `.recover` of sqlite3")
    except NanomemError as error:
        yield Problem(error.what, where, None, error.fix)


def stored_secrets(store: MemoryStore) -> Iterator[Problem]:
    """Yield how many items and lessons hold a secret: a person may have typed it, so that is a note."""
    from nanomem_tui.language import secrets
    from nanomem_tui.language.secrets import signs as secret_signs

    rows = store.load("item")
    texts = (
        ("item", [row.text for row in rows.items.values() if not row.is_deleted]),
        ("lesson", [f"{row.trigger}\n{row.better_action}\n{row.bad_action}" for row in rows.lessons.values()
                    if not row.is_deleted]),
    )  # fmt: skip
    for one, known in texts:
        number = sum(1 for text in known if secret_signs.may_hold(text) and secrets.find(text))
        if number:
            what = f"{counted(number, one)} {'holds' if number == 1 else 'hold'} a secret, as it was typed"
            yield Problem(what, f"{one}s", None, "`nanomem scrub` names them, --mask takes them out", "note")


def named_source(paths: Paths, settings: Settings, preview: Callable[[Path], ImportPlan]) -> Iterator[Problem]:
    """Yield problems of the database that `memory.dbPath` names, and how many of its rows are not imported."""
    path = foreign.configured_database(paths, settings)
    if path is None or not os.path.lexists(path):
        return
    where = paths.relative(path)
    if agents_databases.identify_database(path) in ("scoped", "facts"):
        if not any(
            known is not None and foreign.same_file(path, known) for known in (paths.longterm_db, paths.facts_db)
        ):
            yield from _foreign_database(path, paths)
        coming = len(preview(path).todo)
        if coming:
            what = f"named by memory.dbPath, and {counted(coming, 'row')} of it not here"
            yield Problem(what, where, None, f"`nanomem memory import {path}` shows them and takes them in", "note")
        return
    with agents_databases.open_read_only(path):  # raises what is wrong with it
        pass
    yield Problem("named by memory.dbPath, and no database of a system that is known here", where, None,
                  "correct the path in config.json, or remove it", "warning")  # fmt: skip


def _checked(connection: sqlite3.Connection, where: str, fix: str) -> Iterator[Problem]:
    for (verdict,) in connection.execute(f"PRAGMA quick_check({_OFFERED})"):
        if verdict != "ok":
            yield Problem(f"damaged: {verdict}", where, None, fix)


def quarantined(paths: Paths) -> Iterator[Problem]:
    """Yield the files that could not be read whole when they were replaced, or were in the way, kept as they were."""
    for path in atomic.quarantined(paths.quarantine)[-_OFFERED:]:
        name, empty = atomic.original_name(path.name), not path.stat().st_size
        why = f"{name} was empty" if empty and not name.endswith(".lock") else atomic.why_kept(path.name)
        fix = "take what is missing from it, then remove it"
        if empty or name.endswith(".lock"):
            fix = "there is nothing in it that is missing: remove it"
        elif name.startswith(atomic.ANOTHERS):
            fix = "move it to where it belongs"
        yield Problem(f"{why}; it is kept here as it was", paths.relative(path), None, fix, "warning")


def full_disk(paths: Paths) -> Iterator[Problem]:
    """A disk with no room for a change."""
    folder = paths.data if paths.data.exists() else paths.workspace
    found = os.statvfs(folder)
    if found.f_bavail * found.f_frsize < LEAST_SPACE and not found.f_flag & os.ST_RDONLY:
        what = "its disk is full: no change can be recorded, and the agent cannot write either"
        yield Problem(what, paths.relative(folder), None, "free some space on that disk")


def unwritable(paths: Paths, layout: Layout) -> Iterator[Problem]:
    """Yield the folders that nanomem would write and may not: without ours no change can be kept at all."""
    ours = paths.data
    while not ours.exists():
        ours = ours.parent
    wanted = {
        ours: "not writable: no change can be recorded",
        paths.workspace: "not writable: SOUL.md and USER.md cannot be edited or restored",
        paths.memory: "not writable: the files that the agent reads cannot be written",
    }
    if layout.sessions_dir is not None:
        wanted.setdefault(layout.sessions_dir, "not writable: no session can be compacted")
    for folder, what in wanted.items():
        if folder.is_dir() and not os.access(folder, os.W_OK | os.X_OK):
            fix = "`chmod u+wx` it, run nanomem as its owner, or mount its disk for writing"
            yield Problem(what, paths.relative(folder), None, fix)


def own_folder(paths: Paths) -> Iterator[Problem]:
    """Files of ours that others can read, links where there should be none, and what lies in quarantine."""
    if not paths.data.exists():
        return
    yield from quarantined(paths)
    for path in find_misplaced(paths):
        ours = path != paths.quarantine
        fix = "`nanomem doctor --fix` moves it to the quarantine" if ours else "move it away"
        yield Problem(f"{MISPLACED}: no change can be recorded", paths.relative(path), None, fix)
    for path, kind in find_misplaced_locks(paths).items():
        fix = "`nanomem doctor --fix` moves it to the quarantine"
        yield Problem(f"a {kind} lies in the place of a lock: {BLOCKS}", paths.relative(path), None, fix)
    found = [problem for path, right in find_own_files(paths) for problem in _mode(path, right, paths)]
    yield from found[:_OFFERED]
    if len(found) > _OFFERED:
        what = f"{counted(len(found) - _OFFERED, 'more file')} like these"
        yield Problem(what, paths.relative(paths.data), None, "chmod -R go= nanomem", "warning")


def find_own_files(paths: Paths) -> Iterator[tuple[Path, int]]:
    """Yield our folders, files and links, each with the mode that it should have, but for what lies in a wrong place.

    What SQLite keeps beside a database has the mode of that."""
    wrong = {*find_misplaced(paths), *find_misplaced_locks(paths)}
    for folder, folders, names in os.walk(paths.data):
        folders[:] = [name for name in folders if Path(folder, name) not in wrong]
        files = [Path(folder, name) for name in names if not name.endswith(("-wal", "-shm"))]
        yield Path(folder), 0o700
        yield from ((path, 0o600) for path in files if path not in wrong)
        yield from ((Path(folder, name), 0o700) for name in folders if os.path.islink(Path(folder, name)))


def has_wrong_mode(mode: int, right: int) -> bool:
    """Return whether others may read it, or its owner may not write it."""
    return bool(mode & 0o077) or mode & right & 0o600 != 0o600


MISPLACED = "a file lies in the place of the folder"


def find_misplaced(paths: Paths) -> list[Path]:
    """Return the files that lie where a folder of ours has to be."""
    wanted = [paths.backups, paths.copies, paths.writers, paths.quarantine, paths.own_id.parent]
    return [path for path in wanted if stat.S_ISREG(_kind(path))]


BLOCKS = "what needs the lock fails"


def find_misplaced_locks(paths: Paths) -> dict[Path, str]:
    """Return what lies in the place of a lock of ours and is no file, with its kind; links are told as such."""
    found: dict[Path, str] = {}
    for folder, folders, names in os.walk(paths.data):
        folders[:] = [name for name in folders if Path(folder, name) != paths.quarantine]
        for name in (*folders, *names):
            path = Path(folder, name)
            if name.endswith(".lock") and (kind := atomic.kind_in_place_of_lock(path)) not in ("", "link"):
                found[path] = kind
    return found


def _kind(path: Path) -> int:
    """Return the mode of what lies there; 0 where there is nothing."""
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0


def _mode(path: Path, right: int, paths: Paths) -> Iterator[Problem]:
    mode = os.lstat(path).st_mode
    if stat.S_ISLNK(mode):
        yield _link(path, paths)
    elif mode & 0o077:
        what = f"mode {stat.S_IMODE(mode):04o}: other users can read what the agent remembers"
        if not mode & stat.S_IWUSR:
            what = f"mode {stat.S_IMODE(mode):04o}: it cannot be written, so changes are refused"
        yield Problem(what, paths.relative(path), None, f"chmod {right:04o} it", "warning")
    elif has_wrong_mode(mode, right):
        what = f"mode {stat.S_IMODE(mode):04o}: nanomem cannot write it"
        yield Problem(what, paths.relative(path), None, f"chmod {right:04o} it")


def _link(path: Path, paths: Paths) -> Problem:
    return Problem("a link in nanomem's own folder", paths.relative(path), None, "put the real file in its place")


LARGE_DOCUMENT = 100_000
FATAL_DOCUMENT = 400_000
"""Bytes of SOUL, USER or MEMORY: all of it goes into every prompt, and at the second size every turn fails."""

REACHED = 1_000_000
"""How far ahead of the archive its counter may be, and entries be lost: each of them was an answer of a model."""

NAMED = 20
"""Files that others can write which are named one by one."""


def examine(
    paths: Paths,
    layout: Layout,
    known: Iterable[Problem] = (),
    agent: Presence | None = None,
    wal: Callable[[], WalStates] | None = None,
    more: Sequence[Callable[[], Iterable[Problem]]] = (),
    server: object = None,
) -> list[Problem]:
    """Return every problem of the workspace, errors first, `known` ones among them and none twice. Reads only.

    `agent` is whether one runs now (looked up when None): a turn or a lock in use is no problem then. `wal`: the turn
    logs as the workspace knows them, with what was recovered. `more`: checks that need more than the files. `server`:
    where the rows lie, if that is no file.
    """
    if agent is None:
        agent = find_running_agent(paths, layout.sessions_dir)
    checks: tuple[Callable[[], Iterable[Problem]], ...] = (
        lambda: _documents(paths),
        lambda: _history(paths),
        lambda: _cursors(paths),
        lambda: _ram_first(paths),
        lambda: filter(None, [agents_layout.unsupported_agent(layout)]),
        lambda: identity(paths, layout),
        lambda: _sessions(paths, layout),
        lambda: _checkpoints(paths, layout, agent),
        lambda: _turns(paths, agent, wal() if wal is not None else WalStates(paths)),
        lambda: _questions(paths),
        lambda: _token_log(paths),
        lambda: _open_to_others(paths, layout),
        lambda: Notes(paths).problems(),
        lambda: agent_settings(paths)[1],
        lambda: _left_behind(paths, layout),
        lambda: repository(paths, agent),
        lambda: foreign_databases(paths, server),
        lambda: own_folder(paths),
        lambda: backup.problems(paths),
        lambda: filter(None, [forgotten.interrupted_problem(paths)]),
        lambda: unwritable(paths, layout),
        lambda: full_disk(paths),
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
            data = read_bytes(path)
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
    entries, latest = measure_archive(paths)
    where = paths.relative(paths.cursor)
    given = parse_cursor(read_bytes(paths.cursor))
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


def measure_archive(paths: Paths) -> tuple[int, int]:
    """Return how many entries the archive has, and the highest number among them."""
    if is_long(paths.history):
        long = long_archive(paths.history, paths.relative(paths.history))
        return long.count, long.highest
    entries, _ = parse_history(read_bytes(paths.history), "")
    return len(entries), max((entry.cursor for entry in entries), default=0)


def _dream_cursor(paths: Paths, entries: int, latest: int) -> Iterator[Problem]:
    if not paths.dream_cursor.exists():
        return
    where = paths.relative(paths.dream_cursor)
    dreamt = parse_cursor(read_bytes(paths.dream_cursor))
    if dreamt is None and entries:
        again = counted(entries, "entry", "entries")
        if not read_bytes(paths.dream_cursor) and not _has_dreamt(paths):  # so the agent makes it, with its repository
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
    """Return whether a Dream has left a version; also where the versions cannot be read."""
    try:
        history = GitHistory.open(paths)
        return history is not None and any(commit.is_dream for commit in history.walk())
    except NanomemError:
        return True


def _ram_first(paths: Paths) -> Iterator[Problem]:
    if snapshot := read_bytes(paths.ltm_snapshot):
        yield from parse_snapshot(snapshot, paths.relative(paths.ltm_snapshot)).problems
    elif paths.ltm_snapshot.exists():
        yield Problem("empty", paths.relative(paths.ltm_snapshot), None, "the agent starts without its items")
    yield from parse_lessons(read_bytes(paths.lessons), paths.relative(paths.lessons)).problems
    for log in (paths.ltm_audit, paths.lessons_audit):
        yield from repairable(parse_audit(read_bytes(log), paths.relative(log))[1])


def identity(paths: Paths, layout: Layout) -> Iterator[Problem]:
    """Yield the id by which the agent finds its sessions: what is wrong with it."""
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
    return " or ".join(f"sessions/{folder.name}" for folder in folders)


def _sessions(paths: Paths, layout: Layout) -> Iterator[Problem]:
    sessions = Sessions(paths, lambda: layout, _never, Presence)
    said = sessions.problems()
    yield from said
    unreadable = {(problem.where, problem.what) for problem in said}
    left = {
        str(file.path): reason_unrescuable(file, summary, key_of(file.path.name, summary.header), layout)
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
            way = SAY.format(Path(info.path).name)
            fix = way if left == NOBODYS else "`nanomem session rescue` leaves it where it is"
            what += f"; {left}"
        yield Problem(what, where, None, f"{fix}; it can be read here", "warning")
    if info.other_keys:
        others = ", ".join(info.other_keys)
        what = f"may hold messages of {others} too: an old release gave both keys this file"
        yield Problem(what, where, None, "read it with both in mind", "warning")


def _checkpoints(paths: Paths, layout: Layout, agent: Presence) -> Iterator[Problem]:
    if agent.running:
        return
    for path, why in find_checkpoints(paths, layout):
        where = paths.relative(path)
        if why:
            what = f"{why}: the agent throws it away" if why == OUTDATED else why
            yield Problem(what, where, None, "it can be removed", "warning")
        else:
            what = "a turn was in flight when the agent stopped"
            yield Problem(what, where, None, "the agent goes on with it at its next start", "warning")


OUTDATED = "a turn in flight, older than its session"


def find_checkpoints(paths: Paths, layout: Layout) -> Iterator[tuple[Path, str]]:
    """Yield the checkpoints of turns in flight, each with why it is of no use to the agent: "" when it is of use."""
    for folder in session_folders(paths, layout):
        for name, at in regular_files(folder, CHECKPOINT_SUFFIX):
            transcript = folder / (name.removesuffix(CHECKPOINT_SUFFIX) + SUFFIX)
            if not transcript.exists():
                yield folder / name, "a turn in flight without its session"
            else:
                yield folder / name, OUTDATED if transcript.stat().st_mtime_ns > at.st_mtime_ns else ""


def _turns(paths: Paths, agent: Presence, wal: WalStates) -> Iterator[Problem]:
    """Yield broken lines of turn logs and unfinished turns; a running agent may still end its own."""
    yield from wal.problems()
    lost, recovered = wal.check(), wal.recovered()
    if agent.running and lost:
        began = running_since(paths, agent)
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
    from nanomem_tui.memory.recall import regressions  # few homes have saved questions

    yield from regressions.problems(regressions.saved_file(paths.data, workspace_id(paths)))


def _token_log(paths: Paths) -> Iterable[Problem]:
    path = paths.token_log
    return agents_databases.read_llm_usage(path, paths.relative(path)).problems if path is not None else ()


def _open_to_others(paths: Paths, layout: Layout) -> Iterator[Problem]:
    """Yield what any user can write and the agent believes; a writable group is left to its owner."""
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


LEFT_BEHIND = "left behind by a write that was interrupted"
LEFT_AFTER = 3600.0
"""Seconds after which a temporary file belongs to a write that was interrupted."""


def _left_behind(paths: Paths, layout: Layout) -> Iterator[Problem]:
    for path in find_left_behind(paths, layout):
        yield Problem(LEFT_BEHIND, paths.relative(path), None, "it can be removed", "warning")


def find_left_behind(paths: Paths, layout: Layout) -> Iterator[Path]:
    """Yield the temporary files of writes that were interrupted."""
    since = time.time() - LEFT_AFTER
    for folder in (paths.workspace, paths.memory, paths.data, folder_of(paths), *session_folders(paths, layout)):
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            temporary = entry.name.endswith((".nanomem-tmp", ".jsonl.tmp", ".json.tmp")) or (
                entry.name.startswith(".") and entry.name.endswith(".tmp")
            )
            if temporary and entry.stat(follow_symlinks=False).st_mtime < since:
                yield Path(entry.path)


def read_bytes(path: Path) -> bytes:
    """Return the file whole, b"" where there is none. Raises the errors of `read_log`."""
    return read_log(path.resolve()) if path.exists() else b""


def _never(operation: Operation) -> Operation:
    raise AssertionError(f"the doctor changes nothing: {operation.label}")
