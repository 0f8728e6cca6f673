"""What belongs to a memory, and how each file of it is read while an agent and other processes write.

Ledgers come first, databases after them: what is moved from one to the other meanwhile is in both, never in neither.
What is kept beside the database is taken in the moment of its copy, while nobody writes: more of it would be operations
that the database lost, less would not bring all of them back. References of a git repository come before its objects.
Databases are copied by SQLite, what is rewritten in place is read until it stands still. Links, pipes, sockets and
devices are named and left out. Changes nothing.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from nanomem_tui.errors import NanomemError, from_os_error
from nanomem_tui.formats.agent_home import Layout
from nanomem_tui.formats.foreign_databases import open_read_only
from nanomem_tui.paths import Paths, user_settings
from nanomem_tui.store import atomic
from nanomem_tui.store.backup_archive import PIECE, Entry
from nanomem_tui.store.copies import FOLDER as KEPT
from nanomem_tui.store.copies import SUFFIX
from nanomem_tui.store.reader import open_database
from nanomem_tui.store.source import held

FOLDER = "nanomem-backups"
SETTINGS = "@user/config.toml"
"""Where the settings of the person lie in an archive: they are outside the base."""
_OF_HOME = ("config.json", "memory.db", "memory", "llm_usage.sqlite3")
_OF_WORKSPACE = (".gitignore", ".nanobot", "memory", "prompts", "skills", "cron", "sessions")
UNREADABLE = "it cannot be read"
_NO_MEMORY = {"media": "files that came with messages", "cli-apps": "programs of the agent"}
"""What lies in an agent's home beside the memory, and is in no backup."""
_BESIDE = "what else lies there: "
"""Begins what is said of the files of a workspace that belong to no memory."""
_NAMED = 3
LINK = "a link"
_ODD = "no regular file"
OUTSIDE = "it lies outside the agent's home"
SIDE_FILES = ("-wal", "-shm", "-journal")
_SMALL = 4 << 20
_ATTEMPTS = 5
_WAIT = 10.0
"""Seconds that a backup waits for one who writes the database."""
LeftOut = Callable[[str, str], None]


def base_of(paths: Paths) -> Path:
    """What the paths in an archive are relative to: the agent's home, else the workspace."""
    return paths.home or paths.workspace


def folder_of(paths: Paths) -> Path:
    """Where backups go unless a person names a place."""
    return paths.data.with_name(FOLDER)


def lacking(left_out: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Of what was left out, what belongs to the memory and could not be read."""
    known = {LINK, _ODD, OUTSIDE, *_NO_MEMORY.values()}
    return [one for one in left_out if one[1] not in known and not one[1].startswith(_BESIDE)]


def found(
    paths: Paths, layout: Layout, left_out: LeftOut, *, everything: bool = False, served: bool = False
) -> list[tuple[str, Path]]:
    """(path in the archive, file) of all that belongs to the memory, in the order in which it has to be read.
    `everything`: also what else lies in the workspace; `served`: the rows lie on a server, and stand in the place of
    our databases whether these are there or not."""
    base = base_of(paths)
    tops = [paths.data, *(paths.workspace / name for name in _OF_WORKSPACE), *paths.git_dirs]
    if everything:
        tops.append(paths.workspace)
    elif paths.workspace.is_dir():
        tops += sorted(paths.workspace.glob("*.md"))
        _tell_beside(paths, tops, left_out)
    if paths.home is not None:
        tops += [paths.home / name for name in _OF_HOME]
        old = paths.home / "sessions"
        tops += sorted(old.glob("*.jsonl")) if os.path.isdir(old) else []
        for name, what in _NO_MEMORY.items():
            if os.path.isdir(paths.home / name):
                left_out(name, what)
    if layout.sessions_dir is not None:
        tops.append(layout.sessions_dir)
    if layout.unclaimed:
        names = " and ".join(folder.name for folder in layout.unclaimed)
        left_out("sessions", f"the id of the workspace is gone, and which of {names} is its own nobody can tell")
    taken: dict[str, Path] = {}
    for top in tops:
        if not top.is_relative_to(base):
            left_out(str(top), OUTSIDE)
            continue
        for path in files_below(top, left_out):
            taken.setdefault(path.relative_to(base).as_posix(), path)
    if os.path.isfile(user_settings()):
        taken[SETTINGS] = user_settings()
    own = paths.data.relative_to(base).as_posix()
    for database in (paths.database, paths.tiers_database) if served else ():
        name = f"{own}/{database.name}"
        taken = {path: file for path, file in taken.items() if not path.startswith(f"{name}-")} | {name: database}
    return sorted(taken.items(), key=lambda one: (_rank(one[0], own), one[0]))


def _tell_beside(paths: Paths, tops: Sequence[Path], left_out: LeftOut) -> None:
    """Tell how much else lies in the workspace, in one entry that names the first of it."""
    with contextlib.suppress(OSError):  # told where its files are read
        inside = sorted(path for path in paths.workspace.iterdir() if not _is_passing(path.name))
        names = [path.name for path in inside if not any(top.is_relative_to(path) for top in tops)]
        if names:
            more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
            said = f"{_BESIDE}{', '.join(names[:_NAMED])}{more}; --everything takes it"
            left_out(paths.workspace.name, said)


def _is_passing(name: str) -> bool:
    """Whether it is a backup, a lock or half a file, which are in no backup."""
    return name == FOLDER or name.endswith((".nanomem-tmp", ".lock"))


def files_below(top: Path, left_out: LeftOut) -> Iterator[Path]:
    """The regular files below a folder, or the file itself; what is none, or cannot be read, is told."""
    try:
        mode = os.lstat(top).st_mode
    except OSError:
        return
    if _is_passing(top.name):
        return
    if stat.S_ISREG(mode):
        yield top
    elif not stat.S_ISDIR(mode):
        left_out(str(top), LINK if stat.S_ISLNK(mode) else _ODD)
    else:
        try:
            names = sorted(os.listdir(top))
        except OSError as error:
            left_out(str(top), f"{UNREADABLE} ({error.strerror})")
            return
        for name in names:
            yield from files_below(top / name, left_out)


def files_in(folder: Path, left_out: LeftOut) -> Iterator[Path]:
    """The regular files in a folder, none of those in its folders; that it cannot be read is told."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    except OSError as error:
        left_out(str(folder), f"{UNREADABLE} ({error.strerror})")
        return
    yield from (Path(entry) for entry in entries if entry.is_file(follow_symlinks=False))


def _rank(path: str, own: str) -> int:
    if path.startswith(f"{own}/"):
        return 1 if path.endswith(".db") else 0
    if "/.git/" in f"/{path}":
        return 3 if "/objects/" in path else 2
    return 1 if path.endswith((".db", ".sqlite3")) else 2


def taken(path: Path, name: str, keep: Callable[[bytes], str]) -> Entry | None:
    """The entry of one file, whose pieces `keep` has got; None when it is gone, or is part of a database beside it.
    Raises what says why it cannot be read."""
    side = next((end for end in SIDE_FILES if name.endswith(end)), "")
    if side and path.with_name(path.name.removesuffix(side)).exists():
        return None
    try:
        found = os.lstat(path)
        if _is_database(path):
            with _database_copy(path) as copy:
                return _entry(copy, name, found, keep)._replace(database=True)
        return _entry(path, name, found, keep)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise from_os_error(error, f"reading {path.name}") from error


def is_kept_beside(path: Path, paths: Paths) -> bool:
    """Whether a file holds the operations that are kept beside the database."""
    return path.suffix == SUFFIX and path.parent.name == KEPT and path.is_relative_to(paths.ledger)


def of_one_moment(paths: Paths, keep: Callable[[bytes], str]) -> list[Entry]:
    """The entries of the database and of what is kept beside it. Raises what says why one of them cannot be read."""
    lock, database = paths.database.with_name("store.lock"), paths.database
    taken: list[tuple[Path, os.stat_result, Path, bool]] = []
    try:
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nanomem-")))
            with contextlib.nullcontext() if atomic.holds(lock) else held(lock, _WAIT):
                known = _is_database(database)
                copy = stack.enter_context(_database_copy(database)) if known else database
                taken.append((database, os.lstat(database), copy, known))
                for path in sorted(paths.ledger.glob(f"*/{KEPT}/*{SUFFIX}")):
                    if stat.S_ISREG((found := os.lstat(path)).st_mode):
                        copy = Path(shutil.copyfile(path, folder / f"{len(taken)}", follow_symlinks=False))
                        taken.append((path, found, copy, False))
            base = base_of(paths)
            return [
                _entry(copy, path.relative_to(base).as_posix(), found, keep)._replace(database=known)
                for path, found, copy, known in taken
            ]
    except OSError as error:
        raise from_os_error(error, "reading the database") from error


def _is_database(path: Path) -> bool:
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        return path.suffix in (".db", ".sqlite3", ".sqlite") and file.read(16) == b"SQLite format 3\0"


@contextlib.contextmanager
def _database_copy(path: Path) -> Iterator[Path]:
    """A consistent copy, page by page as they lie; of a damaged database its bytes."""
    with tempfile.TemporaryDirectory(prefix="nanomem-") as folder:
        copy = Path(folder) / path.name
        reading = open_database if path.name in ("nanomem.db", "tiers.db") else open_read_only
        try:
            with reading(path) as source, contextlib.closing(sqlite3.connect(copy)) as target:
                source.backup(target)
                target.execute("PRAGMA journal_mode").fetchall()
        except (NanomemError, sqlite3.Error):
            yield path
            return
        yield copy


def _entry(path: Path, name: str, found: os.stat_result, keep: Callable[[bytes], str]) -> Entry:
    from hashlib import sha256

    pieces: list[str] = []
    size, digest = 0, sha256()
    for data in _pieces(path):
        pieces.append(keep(data))
        digest.update(data)
        size += len(data)
    return Entry(name, stat.S_IMODE(found.st_mode), found.st_mtime_ns, size, digest.hexdigest(), tuple(pieces))


def _pieces(path: Path) -> Iterator[bytes]:
    """The file as it stood at one moment: a small one is read until it is still, a long one up to where it ended."""
    if os.lstat(path).st_size <= _SMALL:
        data = atomic.read_stable(path)
        yield from (data[start : start + PIECE] for start in range(0, len(data), PIECE))
        return
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        left = os.fstat(file.fileno()).st_size
        while left > 0 and (data := file.read(min(PIECE, left))):
            left -= len(data)
            yield data
