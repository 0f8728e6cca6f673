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
from hashlib import sha256
from pathlib import Path

from nanomem_tui.errors import DiskFull, NanomemError, NotFound, from_os_error
from nanomem_tui.formats.agent_home import Layout
from nanomem_tui.formats.foreign_databases import open_read_only
from nanomem_tui.paths import Paths, user_settings
from nanomem_tui.store import atomic, driver_errors
from nanomem_tui.store.backup_archive import PART
from nanomem_tui.store.copies import FOLDER as KEPT
from nanomem_tui.store.copies import SUFFIX
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
_OURS = ("nanomem.db", "tiers.db")
OF_DATABASE = ("operations.jsonl", "copies")
"""What lies beside our database and brings it back when it is damaged: it belongs to that file, and is in no backup."""
ASIDE = "before-restore"
"""The folder of the quarantine where that of a database lies which a restore replaced; in no backup either."""
WAIT = 10.0
"""Seconds that a backup or a restore waits for one who writes the database."""
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
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


Taken = tuple[Path, os.stat_result, bool]
"""What to read in the stead of a file, what the file is like, and whether it is a database."""


@contextlib.contextmanager
def as_of_now(path: Path) -> Iterator[Taken]:
    """A file as it stands now: of a database a consistent copy, page by page as they lie; of a damaged one its bytes.

    Raises NanomemError where it cannot be read, NotFound where it is gone.
    """
    with _reading(path), open(os.open(path, _READ | os.O_NONBLOCK), "rb") as file:
        found = os.fstat(file.fileno())
        is_database = path.suffix in (".db", ".sqlite3", ".sqlite") and file.read(16) == b"SQLite format 3\0"
    if not is_database:
        yield path, found, False
        return
    with tempfile.TemporaryDirectory(prefix="nanomem-") as folder:
        copy = Path(folder) / path.name
        try:
            with open_to_read(path) as source, contextlib.closing(sqlite3.connect(copy)) as target:
                source.backup(target)
        except (NanomemError, sqlite3.Error) as error:
            cause = error if isinstance(error, sqlite3.Error) else error.__cause__
            if isinstance(cause, sqlite3.Error) and driver_errors.code_of(cause) == driver_errors.FULL:
                raise DiskFull("no space left while copying a database", folder, "free some space there") from error
            copy = path
        yield copy, found, True


@contextlib.contextmanager
def open_to_read(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that reads a database beside those who write it: ours in place, another one as `open_read_only`.

    Raises NanomemError and sqlite3.Error.
    """
    if path.name in _OURS:
        flags = "mode=ro" if path.with_name(f"{path.name}-wal").exists() else "mode=ro&immutable=1"
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?{flags}", uri=True)) as connection:
            try:
                connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            except sqlite3.OperationalError:  # in a folder that we may not write to, SQLite makes no `-shm`
                pass
            else:
                yield connection
                return
    with open_read_only(path) as connection:
        yield connection


def contents(path: Path) -> bytes:
    """A digest of all rows of a database, whatever pages they lie in; not of its epoch, which each restore changes.

    Raises NanomemError and sqlite3.Error where it cannot be read.
    """
    digest = sha256()
    with open_to_read(path) as connection:
        connection.text_factory = bytes
        tables = "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND rootpage > 0 ORDER BY name"
        for name, schema in connection.execute(tables).fetchall():
            table = name.decode("utf-8", "replace")
            digest.update(schema or name)
            rows = connection.execute('SELECT * FROM "{}"'.format(table.replace('"', '""')))
            counted = [at for at, column in enumerate(rows.description) if (table, column[0]) != ("meta", "epoch")]
            for row in rows:
                digest.update(repr([row[at] for at in counted]).encode())
    return digest.digest()


def is_kept_beside(path: Path, paths: Paths) -> bool:
    """Whether a file holds the operations that are kept beside the database."""
    return path.suffix == SUFFIX and path.parent.name == KEPT and path.is_relative_to(paths.ledger)


@contextlib.contextmanager
def of_one_moment(paths: Paths) -> Iterator[dict[Path, Taken]]:
    """The database and what is kept beside it, taken while nobody writes. Raises NanomemError where one cannot be."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nanomem-")))
        lock = paths.database.with_name("store.lock")
        with contextlib.nullcontext() if atomic.holds(lock) else held(lock, WAIT):
            taken = {paths.database: stack.enter_context(as_of_now(paths.database))}
            for number, path in enumerate(sorted(paths.ledger.glob(f"*/{KEPT}/*{SUFFIX}"))):
                with _reading(path):
                    if stat.S_ISREG((found := os.lstat(path)).st_mode):
                        copy = shutil.copyfile(path, folder / str(number), follow_symlinks=False)
                        taken[path] = (Path(copy), found, False)
        yield taken


def parts_of(path: Path) -> Iterator[bytes]:
    """The file as it stood at one moment: a small one is read until it is still, a long one up to where it ended.

    Raises NanomemError where it cannot be read, NotFound where it is gone.
    """
    with _reading(path):
        if os.lstat(path).st_size <= _SMALL:
            yield atomic.read_stable(path)
            return
        with open(os.open(path, _READ), "rb") as file:
            left = os.fstat(file.fileno()).st_size
            while left > 0 and (data := file.read(min(PART, left))):
                left -= len(data)
                yield data


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise NotFound("the file is gone", str(path)) from None
    except OSError as error:
        raise from_os_error(error, f"reading {path.name}") from error
