"""The doctor's look at the git repository, the databases and our own folder. Changes nothing, runs none of them."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nanomem_tui.agents import databases as agents_databases
from nanomem_tui.agents.layout import Layout
from nanomem_tui.core import atomic
from nanomem_tui.core.errors import NanomemError, Problem, in_words
from nanomem_tui.core.paths import Paths
from nanomem_tui.core.settings import Settings
from nanomem_tui.core.text import counted
from nanomem_tui.memory import foreign
from nanomem_tui.store.files.presence import Presence

if TYPE_CHECKING:
    from nanomem_tui.agents.git_history import GitHistory
    from nanomem_tui.memory.transfer.values import ImportPlan
    from nanomem_tui.store.memory_store import MemoryStore

STALE_LOCK = 60.0
"""Seconds after which no Dream holds the index any more."""

WAL_RESET_FIXED = ((3, 44, 6), (3, 50, 7), (3, 51, 3))
"""Releases of SQLite, each the first of its line, that do not lose a commit when a checkpoint meets a writer."""

LEAST_SPACE = 1_000_000
"""Bytes below which a disk counts as full."""

_OFFERED = 20


def repository(paths: Paths, agent: Presence) -> Iterator[Problem]:
    """What is wrong with the git history of the memory files."""
    from nanomem_tui.agents.git_history import probe

    opened = probe(paths)
    problems = opened.problems
    yield from problems
    if opened.history is not None:
        with contextlib.closing(opened.history) as history:
            yield from _lost(history, paths)
            yield from _dangling(history, paths)
    for git in paths.git_dirs:
        if not (agent.running and agent.dreaming):
            yield from _locks(git, paths)
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
        said = in_words(error, "reading the git repository")
        yield Problem(said.what, said.where or paths.relative(history.git_dir), None, "`git fsck` says what is lost")
        return
    for name, what, fix in lost[:_OFFERED]:
        yield Problem(what, f"{paths.relative(history.git_dir)}: {name}", None, fix)


def _locks(git: Path, paths: Paths) -> Iterator[Problem]:
    """Locks that keep a commit from being made; of the index only what is old: it is held for long now and then."""
    from nanomem_tui.agents import git as agents_git

    try:
        branch = agents_git.read_head(git).name
    except NanomemError:  # told already
        branch = "HEAD"
    ours = agents_git.noted_lock(git)
    for name in dict.fromkeys(("index", "HEAD", branch, "packed-refs")):
        lock = git / f"{name}.lock"
        try:
            age = time.time() - os.lstat(lock).st_mtime
        except OSError:
            continue
        if age > STALE_LOCK and lock == ours:
            what = "a lock that a killed process of nanomem left: every Dream fails to commit, and says nothing"
            yield Problem(what, paths.relative(lock), None, "the next commit of nanomem removes it")
        elif age > STALE_LOCK:
            what = "a lock that nobody holds: every Dream fails to commit, and says nothing"
            yield Problem(what, paths.relative(lock), None, "remove it when no git command is running")
        elif name != "index":
            what = "a lock of this minute: as long as it is there no Dream can commit"
            fix = "look again in a minute; if it is still there, remove it when no git command is running"
            yield Problem(what, paths.relative(lock), None, fix, "warning")


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


def databases(paths: Paths, server: object = None) -> Iterator[Problem]:
    """What is to be said of our file beside a server, and what is wrong with databases of other systems in the home."""
    if server is not None:
        if paths.database.exists():
            what = "rows of before lie in this file, and database_url names a server: they are not shown"
            yield Problem(what, paths.relative(paths.database), None, _MOVE, "note")
    elif paths.database.exists():
        yield from _version(sqlite3.sqlite_version_info)
    for path in _in_home(paths):
        yield from _foreign_database(path, paths)


def _in_home(paths: Paths) -> list[Path]:
    """The databases of other systems in the agent's home."""
    return [path for path in (paths.longterm_db, paths.facts_db) if path is not None]


def _version(version: tuple[int, ...]) -> Iterator[Problem]:
    if version >= (3, 7, 0) and not has_wal_reset_fix(version):
        number = ".".join(str(part) for part in version[:3])
        what = f"SQLite {number} can lose a commit when two processes write and checkpoint (fixed in 3.51.3)"
        fix = "nanomem checkpoints under its own lock, so its data is safe; no other program should write this file"
        yield Problem(what, "nanomem.db", None, fix, "note")


def has_wal_reset_fix(version: tuple[int, ...]) -> bool:
    """Whether this SQLite is free of the WAL-reset bug (3.7.0 to 3.51.2, but for later releases of two older lines)."""
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
    """How many items and lessons hold a secret: a person may have typed it, so that is a note."""
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
    """What is wrong with the database that the agent's settings name (`memory.dbPath`), and what of it is not here.

    `preview` says what an import of it would bring. Nothing is said of a database that is not there.
    """
    path = foreign.named(paths, settings)
    if path is None or not os.path.lexists(path):
        return
    where = paths.relative(path)
    if agents_databases.identify(path) in ("scoped", "facts"):
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
    """The files that could not be read whole when they were replaced, or were in the way, kept as they were."""
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
    """The folders that nanomem would write and may not: without ours no change can be kept at all."""
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
    wrong = misplaced(paths)
    for path in wrong:
        ours = path != paths.quarantine
        fix = "`nanomem doctor --fix` moves it to the quarantine" if ours else "move it away"
        yield Problem(f"{MISPLACED}: no change can be recorded", paths.relative(path), None, fix)
    locks = misplaced_locks(paths)
    for path, kind in locks.items():
        fix = "`nanomem doctor --fix` moves it to the quarantine"
        yield Problem(f"a {kind} lies in the place of a lock: {BLOCKS}", paths.relative(path), None, fix)
    wrong += locks
    found: list[Problem] = []
    for folder, folders, names in os.walk(paths.data):
        folders[:] = [name for name in folders if Path(folder, name) not in locks]
        for path, right in [(Path(folder), 0o700)] + [(Path(folder, name), 0o600) for name in own_names(names)]:
            found.extend(_mode(path, right, paths) if path not in wrong else ())
        links = [Path(folder, name) for name in folders if os.path.islink(Path(folder, name))]
        found.extend(_link(path, paths) for path in links)
    yield from found[:_OFFERED]
    if len(found) > _OFFERED:
        what = f"{counted(len(found) - _OFFERED, 'more file')} like these"
        yield Problem(what, paths.relative(paths.data), None, "chmod -R go= nanomem", "warning")


def own_names(names: Iterable[str]) -> list[str]:
    """Those of our files that are looked at: what SQLite keeps beside a database has the mode of that."""
    return [name for name in names if not name.endswith(("-wal", "-shm"))]


MISPLACED = "a file lies in the place of the folder"


def misplaced(paths: Paths) -> list[Path]:
    """The files that lie where a folder of ours has to be."""
    wanted = [paths.backups, paths.copies, paths.writers, paths.quarantine, paths.own_id.parent]
    return [path for path in wanted if stat.S_ISREG(_kind(path))]


BLOCKS = "what needs the lock fails"


def misplaced_locks(paths: Paths) -> dict[Path, str]:
    """What lies in the place of a lock of ours and is no file, with its kind; links are told as such."""
    found: dict[Path, str] = {}
    for folder, folders, names in os.walk(paths.data):
        folders[:] = [name for name in folders if Path(folder, name) != paths.quarantine]
        for name in (*folders, *names):
            path = Path(folder, name)
            if name.endswith(".lock") and (kind := atomic.misplaced(path)) not in ("", "link"):
                found[path] = kind
    return found


def _kind(path: Path) -> int:
    """The mode of what lies there; 0 where there is nothing."""
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0


def _mode(path: Path, right: int, paths: Paths) -> Iterator[Problem]:
    mode = os.lstat(path).st_mode
    if stat.S_ISLNK(mode):
        yield _link(path, paths)
    elif stat.S_IMODE(mode) & ~right & 0o077:
        what = f"mode {stat.S_IMODE(mode):04o}: other users can read what the agent remembers"
        if not mode & stat.S_IWUSR:
            what = f"mode {stat.S_IMODE(mode):04o}: it cannot be written, so changes are refused"
        yield Problem(what, paths.relative(path), None, f"chmod {right:04o} it", "warning")
    elif stat.S_IMODE(mode) & right & 0o600 != 0o600:
        what = f"mode {stat.S_IMODE(mode):04o}: nanomem cannot write it"
        yield Problem(what, paths.relative(path), None, f"chmod {right:04o} it")


def _link(path: Path, paths: Paths) -> Problem:
    return Problem("a link in nanomem's own folder", paths.relative(path), None, "put the real file in its place")
