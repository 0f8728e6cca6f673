"""Backups of a whole memory: made while everything runs, listed, checked and pruned; and what the doctor says of them.

`restore` brings them back; the form of the file stands below. Ledgers of the first edition are read before
databases: what is moved meanwhile is in both, never in neither. References of a git repository come before its objects.
Databases are copied by SQLite, what is rewritten in place is read until it stands still. Links, pipes, sockets and
devices are named and left out. What lies on a server stands in a backup as the file that it would be, of one moment: it
can be brought back into a file, and the other way round.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import secrets
import sqlite3
import stat
import struct
import tarfile
import tempfile
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

from sqlalchemy import Table, update

from nanomem_tui.agents.databases import open_read_only
from nanomem_tui.agents.releases import Layout
from nanomem_tui.core import atomic, clock, config
from nanomem_tui.core import files as core_files
from nanomem_tui.core.errors import BadInput, DiskFull, NanomemError, NotFound, Problem, Refused, from_os_error
from nanomem_tui.core.paths import Paths, user_settings, workspace_id
from nanomem_tui.core.settings import without_password
from nanomem_tui.store import processes, transactions
from nanomem_tui.store.database import bookkeeping, full_text, models, reading
from nanomem_tui.store.database.engine import SqliteDatabase, fold_wal
from nanomem_tui.store.first_edition import contents as first_edition_contents
from nanomem_tui.store.first_edition import takeover
from nanomem_tui.store.first_edition.contents import Ledgers
from nanomem_tui.store.moving import migrate_store
from nanomem_tui.store.server_storage import ServerStorage
from nanomem_tui.store.work import models as work_models
from nanomem_tui.store.work.work_store import WorkStore

# The file of a backup: a zip that holds each file as it was, and a manifest that names it with its SHA-256.

SUFFIX = ".nanomem-backup"
FORMAT = 3
"""Of the manifest. 1 and 2 are those of the first edition."""
PART = 1 << 20
"""Bytes of a file that are held at a time."""
_MANIFEST = "manifest.json"
_LARGEST_MANIFEST = 1 << 28
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, KeyError, TypeError, struct.error)
"""What reading a damaged zip raises."""


class Entry(NamedTuple):
    """One file: its path under the base, POSIX and relative; `mtime_ns` of the file, size in bytes."""

    path: str
    mode: int
    mtime_ns: int
    size: int
    sha256: str
    database: bool = False


class Manifest(NamedTuple):
    """What a backup holds. `workspace` is the workspace under the base ("" where it is the base), `place` the base,
    `reason` why nanomem made it by itself, `left_out` what was not taken and why; `base`: the archive that one of the
    first edition builds on."""

    made_at: str
    workspace: str
    workspace_id: str
    place: str
    entries: tuple[Entry, ...]
    base: str = ""
    reason: str = ""
    left_out: tuple[tuple[str, str], ...] = ()

    @property
    def size(self) -> int:
        return sum(entry.size for entry in self.entries)

    def to_bytes(self) -> bytes:
        entries = [entry._asdict() for entry in self.entries]
        return json.dumps({"format": FORMAT, **self._asdict(), "entries": entries}).encode()


class Writer:
    """Writes one archive, in a `with` block: it has its name once it is whole, durable and read back."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: list[Entry] = []
        atomic.make_folder(path.parent)
        self._temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}.nanomem-tmp")
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = os.fdopen(os.open(self._temporary, flags, atomic.PRIVATE_FILE), "w+b")
        self._zip = zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED, compresslevel=3)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave nothing behind of what did not come to its end."""
        with contextlib.suppress(OSError, ValueError):
            self._zip.close()
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            os.unlink(self._temporary)

    def add(self, path: str, found: os.stat_result, parts: Iterator[bytes], *, database: bool = False) -> None:
        """Write one file. What taking its parts raises leaves it out; OSError: the archive cannot be written."""
        digest, size = hashlib.sha256(), 0
        part = next(parts, b"")
        with self._zip.open(_member(path), "w", force_zip64=True) as member:
            while part:
                member.write(part)
                digest.update(part)
                size += len(part)
                part = next(parts, b"")
        mode, mtime = stat.S_IMODE(found.st_mode), found.st_mtime_ns
        self.entries.append(Entry(path, mode, mtime, size, digest.hexdigest(), database))

    def finish(self, manifest: Manifest) -> None:
        """Write the manifest, read everything back, and give the archive its name. Raises OSError, and BadInput where
        what was read is not what was written."""
        with self._zip.open(_MANIFEST, "w") as member:
            member.write(manifest.to_bytes())
        self._zip.close()
        self._file.flush()
        atomic.give_to_folder_owner(self._file.fileno(), self.path.parent)
        os.fsync(self._file.fileno())
        try:
            with Archive(self._temporary) as archive:
                for problem in archive.damage():
                    raise BadInput(problem.what, problem.where)
        except BadInput as error:
            fix = "try again: nothing of it is left"
            raise BadInput(f"the backup did not come out right: {error.what}", str(self.path), fix) from error
        os.replace(self._temporary, self.path)
        try:
            atomic.sync_folder(self.path.parent)
        except OSError:
            os.unlink(self.path)
            raise


class Archive:
    """One backup, opened to be read. Raises BadInput where it is torn or no backup, NotFound where there is none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with contextlib.ExitStack() as files:
            try:
                file = files.enter_context(os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb"))
                self._source = _Zip(path, file, files) if file.read(2) == b"PK" else Pieces(path, files)
                self.manifest = _manifest(self._source.manifest)
            except FileNotFoundError:
                fix = "`nanomem backup list` shows those that are there"
                raise NotFound("no such backup", str(path), fix) from None
            except OSError as error:
                raise from_os_error(error, f"reading {path.name}") from error
            except _DAMAGE as error:
                fix = "it was copied in part, or damaged; take another one (`nanomem backup list`)"
                raise BadInput("not a backup of nanomem, or a damaged one", str(path), fix) from error
            self._files = files.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close()

    def data(self, entry: Entry) -> Iterator[bytes]:
        """A file, part by part. Raises BadInput where it cannot be read, or is not what it was."""
        digest, size = hashlib.sha256(), 0
        try:
            for part in self._source.data(entry.path):
                digest.update(part)
                size += len(part)
                if size > entry.size:
                    break
                yield part
        except BadInput as error:
            raise BadInput(error.what, entry.path, "take another backup") from error
        except (*_DAMAGE, OSError) as error:
            raise BadInput("a file cannot be read", entry.path, "take another backup") from error
        if (digest.hexdigest(), size) != (entry.sha256, entry.size):
            raise BadInput("a file is not what it was", entry.path, "take another backup")

    @contextlib.contextmanager
    def taken_out(self, entry: Entry) -> Iterator[Path]:
        """A copy of a file under its own name, in a folder that goes at the end. Raises BadInput as `data`."""
        with tempfile.TemporaryDirectory(prefix="nanomem-") as folder:
            copy = Path(folder) / os.path.basename(entry.path)
            with copy.open("wb") as file:
                file.writelines(self.data(entry))
            yield copy

    def damage(self) -> Iterator[Problem]:
        """Read every file; yield what is wrong with it."""
        for entry in self.manifest.entries:
            try:
                for _ in self.data(entry):
                    pass
            except NanomemError as error:
                yield Problem(error.what, entry.path, None, error.fix)


class _Zip:
    """The manifest and the files of a zip, which nobody has looked at yet."""

    def __init__(self, path: Path, file: IO[bytes], files: contextlib.ExitStack) -> None:
        self._zip = files.enter_context(zipfile.ZipFile(file))
        with self._open(_MANIFEST) as member:
            self.manifest = core_files.loads(member.read(_LARGEST_MANIFEST))
        if self.manifest["format"] > FORMAT:
            raise BadInput("a backup of a newer nanomem", str(path), "install a newer nanomem")

    def data(self, path: str) -> Iterator[bytes]:
        """The file of that path, part by part."""
        with self._open(_member(path)) as member:
            while part := member.read(PART):
                yield part

    def _open(self, name: str) -> IO[bytes]:
        info = self._zip.getinfo(name)
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError("packed in another way")
        return self._zip.open(info)


def _member(path: str) -> str:
    """The name of a file in the zip, which is text: other bytes of a path are escaped."""
    escaped = path.replace("\\", "\\\\").encode("utf-8", "surrogateescape")
    return f"files/{escaped.decode('utf-8', 'backslashreplace')}"


def _manifest(value: dict[str, Any]) -> Manifest:
    """A manifest as it was read. Raises ValueError and the like where it is none that may be followed."""
    entries = []
    for one in value["entries"]:
        entry = Entry(*(one[name] for name in Entry._fields))
        parts = entry.path.split("/")
        if not all(parts) or {".", ".."} & set(parts) or "\0" in entry.path:
            raise ValueError("a path that leaves its place")
        if not all(isinstance(number, int) for number in (entry.mode, entry.mtime_ns, entry.size)):
            raise ValueError("no manifest")
        entries.append(entry)
    words = [value[name] for name in ("made_at", "workspace", "workspace_id", "place", "base", "reason")]
    if not all(isinstance(word, str) for word in words) or {"..", "."} & set(words[1].split("/")):
        raise ValueError("no manifest")
    left_out = tuple((str(path), str(why)) for path, why in value["left_out"])
    return Manifest(words[0], words[1], words[2], words[3], tuple(entries), words[4], words[5], left_out)


# -- archives of the first edition ------------------------------------------------------------------------------------

_LARGEST_PIECE = 512 * 1024


class Pieces:
    """One archive and those that it builds on, open until `files` is closed. Raises BadInput where one is damaged and
    NotFound where one is gone."""

    def __init__(self, path: Path, files: contextlib.ExitStack) -> None:
        self._files = files
        self._members: dict[str, tuple[tarfile.TarFile, tarfile.TarInfo]] = {}
        self.manifest = self._open(path, ())
        self._names = {entry["path"]: entry["pieces"] for entry in self.manifest["entries"]}

    def data(self, path: str) -> Iterator[bytes]:
        """The file of that path, piece by piece. Raises BadInput where a piece is gone or not what it was."""
        for name in self._names[path]:
            yield self._piece(name)

    def _open(self, path: Path, above: tuple[str, ...]) -> dict[str, Any]:
        """Open one archive, called for by those `above`, and what it builds on; return its manifest."""
        fix = "it was copied in part, or damaged; take another one (`nanomem backup list`)"
        needs = f"needs {path.name}, which is" if above else ""
        try:
            file = self._files.enter_context(os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb"))
            tar = self._files.enter_context(tarfile.TarFile(path, fileobj=file, mode="r"))
            members = tar.getmembers()
            if not members or members[-1].name != _MANIFEST or members[-1].size > _LARGEST_MANIFEST:
                raise ValueError("no manifest")
            manifest = _old_manifest(tar.extractfile(members[-1]).read())  # type: ignore[union-attr]
        except FileNotFoundError:
            raise NotFound(f"{needs} gone" if needs else "no such backup", str(path), fix) from None
        except (tarfile.TarError, ValueError, KeyError, TypeError, AttributeError, EOFError) as error:
            what = f"{needs} damaged" if needs else "not a backup of nanomem, or a damaged one"
            raise BadInput(what, str(path), fix) from error
        except OSError as error:
            raise from_os_error(error, f"reading {path.name}") from error
        for member in members[:-1]:
            self._members.setdefault(member.name[2:], (tar, member))
        if base := manifest["base"]:
            if base in (*above, path.name) or os.path.basename(base) != base:
                raise BadInput("a backup that builds on itself", str(path), fix)
            self._open(path.with_name(base), (*above, path.name))
        return manifest

    def _piece(self, name: str) -> bytes:
        if name not in self._members:
            raise BadInput("a piece is gone", name[:16])
        tar, member = self._members[name]
        inside = f", in {os.path.basename(str(tar.name))}"
        try:
            stream = tar.extractfile(member)
            data = stream.read() if stream is not None else b""
            if member.name.startswith("z/"):
                data = zlib.decompressobj().decompress(data, _LARGEST_PIECE)
        except (OSError, tarfile.TarError, zlib.error) as error:
            raise BadInput(f"a piece cannot be read{inside}", name[:16]) from error
        if atomic.sha256(data) != name:
            raise BadInput(f"a piece is not what it was{inside}", name[:16])
        return data


def _old_manifest(data: bytes) -> dict[str, Any]:
    """The manifest, which has a hash of its own but in the first format. Raises ValueError where it does not fit."""
    manifest: dict[str, Any] = core_files.loads(data)
    given = manifest.pop("sha256", None)
    if manifest["format"] not in (1, 2) or not isinstance(manifest["base"], str):
        raise ValueError("not a manifest")
    if manifest["format"] == 2 and given != atomic.sha256(json.dumps(manifest, sort_keys=True).encode()):
        raise ValueError("not the manifest that was written")
    return manifest


Progress = Callable[[int, int], None]
MARK = "restoring.json"


class Made(NamedTuple):
    """One backup in a list. `size` in bytes of what it holds, `stored` of its own file; `base`: what one of the first
    edition builds on, `reason`: why nanomem made it by itself."""

    path: Path
    made_at: str
    files: int
    size: int
    stored: int
    base: str
    reason: str
    left_out: tuple[tuple[str, str], ...]
    problem: str = ""


class Pruned(NamedTuple):
    """What a prune did, or would do: names of backups, the newest first. `unread` cannot be opened and `damaged` not be
    read whole (with why): they stay, and count for nothing. `freed`: bytes of what goes."""

    removed: tuple[str, ...]
    kept: tuple[str, ...]
    unread: tuple[str, ...]
    damaged: tuple[tuple[str, str], ...]
    freed: int


class Mark(NamedTuple):
    """A restore that did not come to its end: its backup, the one of what was there before, and when it began (UTC
    ISO; "" where it cannot be told)."""

    archive: str
    before: str
    at: str


def make_backup(
    paths: Paths, layout: Layout, folder: Path | None = None, *,
    everything: bool = False, reason: str = "", progress: Progress = lambda _done, _all: None,
) -> Made:  # fmt: skip
    """Write a backup, read it back, and return it. What cannot be read is left out and named.

    `folder`: where it goes, else beside the memory; `everything`: also what else lies in the workspace; `reason`: why
    nanomem makes it by itself. Raises NanomemError where it cannot be written; nothing of it is left then.
    """
    base, target = base_of(paths), folder or folder_of(paths)
    url = url_now(paths)
    left_out: list[tuple[str, str]] = []
    files = files_to_back_up(paths, layout, lambda *one: left_out.append(one), everything=everything, served=bool(url))
    files = [one for one in files if not one[1].is_relative_to(target)]
    path = _free(target)
    try:
        with Writer(path) as writer:
            for number, (name, file) in enumerate(files):
                progress(number, len(files))
                is_there = bool(url) and is_on_server(paths, file)
                try:
                    if is_there:
                        with as_file(paths, url, file) as rows:
                            if rows is not None:
                                _take(writer, name, rows)
                    else:
                        _take(writer, name, file)
                except NotFound:  # gone since it was listed
                    continue
                except NanomemError as error:
                    if is_there or isinstance(error, DiskFull):  # without the rows it would be no backup
                        raise
                    left_out.append((name, error.what))
            workspace = paths.workspace.relative_to(base).as_posix()
            writer.finish(
                Manifest(
                    clock.iso(clock.now()), "" if workspace == "." else workspace, workspace_id(paths), str(base),
                    tuple(writer.entries), "", reason, tuple(left_out),
                )
            )  # fmt: skip
    except OSError as error:
        raise from_os_error(error, "making a backup") from error
    return _made(path)


def files_to_back_up(
    paths: Paths, layout: Layout, left_out: LeftOut, *, everything: bool = False, served: bool
) -> list[tuple[str, Path]]:
    """(path in the archive, file) of what a backup holds, in the order in which it has to be read: without what belongs
    to a database beside it."""
    beside = [paths.quarantine / ASIDE, *(paths.store / name for name in OF_DATABASE)]
    found = all_files(paths, layout, left_out, everything=everything, served=served)
    names = {name for name, _ in found}
    sides = {name + side for name in names for side in SIDE_FILES} & names
    return [one for one in found if one[0] not in sides and not any(one[1].is_relative_to(path) for path in beside)]


def _take(writer: Writer, name: str, file: Path) -> None:
    """Write one file. Raises NanomemError where it cannot be read, OSError where the archive cannot be written."""
    with as_of_now(file) as (copy, found, is_database):
        writer.add(name, found, parts_of(copy), database=is_database)


def list_archives(folder: Path) -> list[Made]:
    """Every backup in a folder, the newest first; one that cannot be read says why."""
    try:
        files = sorted(folder.glob(f"*{SUFFIX}"), reverse=True)
    except OSError as error:
        raise from_os_error(error, "listing backups") from error
    return [_made(path) for path in files]


def find_archive(folder: Path, name: str) -> Path:
    """The backup that a person names: a path, a name in the folder, or `latest`, the newest that a person made.

    Raises NotFound.
    """
    if name == "latest":
        found = list_archives(folder)
        newest = next((one for one in found if not (one.problem or one.reason)), None)
        if newest is None:
            by_itself = next((one.path.name for one in found if one.reason), "")
            damaged = "; none that is there can be read" if found else ""
            yours = f"no backup that you made; nanomem itself made {by_itself}"
            what = yours if by_itself else f"no backup yet{damaged}"
            raise NotFound(what, str(folder), "`nanomem backup make` makes one")
        return newest.path
    inside = [folder / name, folder / f"{name}{SUFFIX}"] if os.path.basename(name) == name else []
    for path in (*inside, Path(name).expanduser()):
        if path.is_file():
            return path
    raise NotFound("no such backup", name, "`nanomem backup list` shows those that are there")


def unreadable_newer(folder: Path, path: Path) -> list[Made]:
    """The newer backups beside that one that cannot be read, the newest first."""
    return [one for one in list_archives(folder) if one.problem and one.path.name > path.name]


def check_archive(path: Path) -> tuple[Manifest, list[Problem]]:
    """What a backup holds, and what is wrong with it: every file is read, every database opened. Raises BadInput or
    NotFound when it cannot be opened at all."""
    with Archive(path) as archive:
        problems = list(archive.damage())
        harmed = {problem.where for problem in problems}
        for entry in archive.manifest.entries:
            if entry.database and entry.path not in harmed:
                with archive.taken_out(entry) as copy:
                    problems += _unsound(copy, entry)
        return archive.manifest, problems


def _free(folder: Path) -> Path:
    while True:
        path = folder / f"{f'{clock.now():%Y%m%d-%H%M%S-%f}'[:-3]}{SUFFIX}"
        if not os.path.lexists(path):
            return path
        time.sleep(0.001)


def _made(path: Path) -> Made:
    try:
        with Archive(path) as archive:
            found = archive.manifest
        stored = path.stat().st_size
        count = len(found.entries)
        return Made(path, found.made_at, count, found.size, stored, found.base, found.reason, found.left_out)
    except (NanomemError, OSError) as error:
        return Made(path, "", 0, 0, 0, "", "", (), getattr(error, "what", "") or str(error))


def _unsound(copy: Path, entry: Entry) -> Iterator[Problem]:
    try:
        with contextlib.closing(sqlite3.connect(f"{copy.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            [(told,)] = connection.execute("PRAGMA quick_check(1)").fetchall()
    except sqlite3.Error as error:
        told = str(error)
    if told != "ok":
        fix = "the database was damaged already when the backup was made; an older backup may be whole"
        yield Problem(f"the database is damaged: {told}", entry.path, None, fix)


def prune_plan(folder: Path, keep: int, days: int = 0, progress: Progress = lambda _done, _all: None) -> Pruned:
    """What a prune would remove: all but so many that a person made and so many that nanomem made by itself, `keep` of
    each, and those that are younger than `days`. Every one that is to stay is read whole; a damaged one counts for
    nothing. Raises BadInput for a `keep` below 1."""
    if keep < 1:
        raise BadInput("at least one backup has to stay", "--keep", "give 1 or more")
    try:
        since = clock.iso(clock.now() - timedelta(days=days)) if days else ""
    except OverflowError:
        since = "0"  # before any time
    mark, found = interrupted(folder), list_archives(folder)
    needed = {Path(mark.archive).name, mark.before} if mark is not None else set()
    bases = {one.path.name: one.base for one in found}
    counted, damaged = Counter[bool](), []
    for number, one in enumerate(found):
        progress(number, len(found))
        name = one.path.name
        young = bool(since) and one.made_at >= since
        if one.problem or not (young or name in needed or counted[bool(one.reason)] < keep):
            continue
        while name:  # one of the first edition stays with those that it builds on
            needed.add(name)
            name = bases.get(name, "")
        with Archive(one.path) as archive:
            problem = next(archive.damage(), None)
        if problem is not None:
            damaged.append((one.path.name, f"{problem.what}: {problem.where}"))
        else:
            counted[bool(one.reason)] += 1
    removed = [one for one in found if not one.problem and one.path.name not in needed]
    return Pruned(
        tuple(one.path.name for one in removed), tuple(name for name in bases if name in needed),
        tuple(one.path.name for one in found if one.problem), tuple(damaged), sum(one.stored for one in removed),
    )  # fmt: skip


def prune(folder: Path, plan: Pruned) -> None:
    """Remove what a plan says. Raises the errors of `from_os_error`."""
    try:
        for name in plan.removed:
            (folder / name).unlink(missing_ok=True)
        atomic.sync_folder(folder)
    except OSError as error:
        raise from_os_error(error, "removing old backups") from error


def interrupted(folder: Path) -> Mark | None:
    """The mark that a restore left beside the backups of a folder; None where there is none that can be read."""
    try:
        told = core_files.loads(core_files.read(folder / MARK))
        return Mark(str(told["archive"]), str(told["before"]), str(told.get("at", "")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def problems(paths: Paths) -> Iterator[Problem]:
    """What the doctor says: a restore that did not come to its end, with what to do, and a newest backup that could not
    be brought back. Changes nothing."""
    folder = folder_of(paths)
    if (mark := interrupted(folder)) is not None:
        day = clock.parse(mark.at)
        when = f" on {clock.local_minute(day)}" if day is not None else ""
        fix = (
            f"`nanomem backup restore {mark.archive}` finishes it, and sets back what was changed since (--dry-run "
            f"shows it); `nanomem backup restore {mark.before}` takes it back, and what was changed since"
        )
        what = f"a restore was interrupted{when}: some files may be of then, others of now"
        yield Problem(what, str(folder / MARK), None, fix)
    files = sorted(folder.glob(f"*{SUFFIX}"))
    told = _damage(tuple((path, (found := path.lstat()).st_mtime_ns, found.st_size) for path in files))
    if told:
        fix = "`nanomem backup make` makes another one; `nanomem backup check NAME` looks at an older one"
        yield Problem(f"the newest backup is damaged: {told}", str(files[-1]), None, fix)


@functools.lru_cache(maxsize=8)
def _damage(files: tuple[tuple[Path, int, int], ...]) -> str:
    """Why the last of these cannot be brought back, "" when it can. A console asks often, and nothing changed."""
    if not files:
        return ""
    try:
        _, found = check_archive(files[-1][0])
    except NanomemError as error:
        return error.what
    return next((f"{one.what} ({one.where})" for one in found if "the database is damaged" not in one.what), "")


# -- what belongs to a memory, and how each file of it is read --------------------------------------------------------

FOLDER = "nanomem-backups"
SETTINGS = "@user/config.toml"
"""Where the settings of the person lie in an archive: they are outside the base."""
_OF_HOME = ("config.json", "memory.db", "memory", "llm_usage.sqlite3")
_OF_WORKSPACE = (".gitignore", ".nanobot", "memory", "prompts", "skills", "cron", "sessions")
UNREADABLE = "it cannot be read"
_NO_MEMORY = {"media": "files that came with messages", "cli-apps": "programs of the agent"}
"""What lies in an agent's home beside the memory, and is in no backup."""
_BESIDE = "what else lies there: "
"""The beginning of the note on files of a workspace that belong to no memory."""
_NAMED = 3
LINK = "a link"
_ODD = "no regular file"
OUTSIDE = "it lies outside the agent's home"
SIDE_FILES = ("-wal", "-shm", "-journal")
_SMALL = 4 << 20
_OURS = ("nanomem.db", "work.db", "tiers.db")
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


def missing_parts(left_out: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Of what was left out, what belongs to the memory and could not be read."""
    known = {LINK, _ODD, OUTSIDE, *_NO_MEMORY.values()}
    return [one for one in left_out if one[1] not in known and not one[1].startswith(_BESIDE)]


def all_files(
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
            if _is_of_another(path, paths):
                continue
            taken.setdefault(path.relative_to(base).as_posix(), path)
    if os.path.isfile(user_settings()):
        taken[SETTINGS] = user_settings()
    own = paths.data.relative_to(base).as_posix()
    for database in (paths.database, paths.work_database) if served else ():
        name = database.relative_to(base).as_posix()
        taken = {path: file for path, file in taken.items() if not path.startswith(f"{name}-")} | {name: database}
    return sorted(taken.items(), key=lambda one: (_rank(one[0], own), one[0]))


def _is_of_another(path: Path, paths: Paths) -> bool:
    """Whether a file of ours is of another workspace of the home, which has backups of its own."""
    if not path.is_relative_to(paths.data):
        return False
    first, *inside = path.relative_to(paths.data).parts
    if first.startswith("workspace-") and inside:
        return not path.is_relative_to(paths.store)
    if first.startswith("work") and first.partition(".db")[1]:
        return not first.startswith(paths.work_database.name)
    return paths.store != paths.data and first.startswith(("nanomem.db", "operations.", "copies", "writers"))


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
    return name == FOLDER or name.endswith((".nanomem-tmp", ".lock"))


def files_below(top: Path, left_out: LeftOut) -> Iterator[Path]:
    """List the regular files below a folder, or the file itself; call `left_out` for anything else, and
    for what cannot be read."""
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
    """List the regular files in a folder, without those in its folders; call `left_out` where it cannot be read."""
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
            if isinstance(cause, sqlite3.Error) and reading.code_of(cause) == reading.FULL:
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


# -- a memory on a server, as files of a backup, and back from there --------------------------------------------------

META = models.META


def url_now(paths: Paths) -> str:
    """The address of the server where the rows lie; empty where they lie in a file."""
    return config.load(paths, forgiving=True).settings.database_url


def server_of(paths: Paths, archive: Archive, then: Mapping[str, Entry], *, with_user: bool) -> tuple[str, str]:
    """The server where the rows lie, empty for a file, and what is to be said of it; `then`: the entries of a backup,
    `with_user`: whether the user's own settings are replaced by those of then. Raises Refused where the settings would
    name another place after it."""
    url, of_user = url_now(paths), config.load(None, forgiving=True)
    named, source = of_user.settings.database_url, of_user.sources.get("database_url")
    theirs = _url_in(archive, then.get(SETTINGS), named if source == config.ENVIRONMENT else "")
    own = then.get(paths.settings.relative_to(base_of(paths)).as_posix())
    lay, after = _url_in(archive, own, theirs), _url_in(archive, own, theirs if with_user else named)
    places = [without_password(one) or "the file nanomem.db" for one in (lay, after, url)]
    if url != after:
        lies = f"lies in {places[2]} now" + ("" if lay == after else f", and would lie in {places[1]}")
        what = f"the memory lay in {places[0]} then, and {lies}"
        raise Refused(what, str(archive.path), "`nanomem migrate-store` moves it there first, or use --to FOLDER")
    if lay == url or SETTINGS not in then:
        return url, ""
    if not os.path.lexists(user_settings()):
        return url, f"the settings that come back name {places[0]}; what is brought back lies in {places[2]}"
    return url, f"the memory lay in {places[0]} then; it is brought back to where it lies now, {places[2]}"


def _url_in(archive: Archive, entry: Entry | None, otherwise: str) -> str:
    if entry is None:
        return otherwise
    import tomllib

    try:
        table = tomllib.loads(b"".join(archive.data(entry)).decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError):
        return otherwise
    return str(table.get("database_url", otherwise))


def is_on_server(paths: Paths, file: Path) -> bool:
    """Whether what a file of ours holds lies on the server, where there is one."""
    return file in (paths.database, paths.work_database)


@contextlib.contextmanager
def as_file(paths: Paths, url: str, file: Path) -> Iterator[Path | None]:
    """Give what lies on the server as the file of ours that would hold it, in a folder that goes at the end; None where
    nothing was ever written. Raises the errors of the server."""
    with _work_as_file(paths, url) if file == paths.work_database else _memory_as_file(paths, url) as made:
        yield made


@contextlib.contextmanager
def _work_as_file(paths: Paths, url: str) -> Iterator[Path | None]:
    with contextlib.closing(takeover.open_work(paths, workspace_id(paths), url)) as source:
        if not source.exists:
            yield None
            return
        with tempfile.TemporaryDirectory(prefix="nanomem-") as folder:
            file = Path(folder, paths.work_database.name)
            with contextlib.closing(_work_in(paths, file)) as target:
                migrate_store.copy_work(source, target)
            fold_wal(file)
            yield file


def _work_in(paths: Paths, file: Path) -> WorkStore:
    return WorkStore(SqliteDatabase(file), file, workspace_id(paths), 0.0)


@contextlib.contextmanager
def _memory_as_file(paths: Paths, url: str) -> Iterator[Path | None]:
    found = workspace_id(paths)
    with contextlib.ExitStack() as held:
        place = ServerStorage(paths, found, url)
        held.callback(place.server.close)
        if place.is_first_edition() or not place.server.exists():
            yield None
            return
        file = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="nanomem-")), paths.database.name)
        with contextlib.closing(SqliteDatabase(file)) as database:
            transactions.make_database(database, found)
            with place.server.reading() as old, database.writing(durable=True) as new:
                meta = bookkeeping.meta_of(old)
                migrate_store.copy_tables(old, new, models.METADATA.sorted_tables, place.where)
                bookkeeping.rename_for_storage(new, processes.make_home_id(paths), on_server=False)
                new.execute(update(META).values(revision=meta.revision))
                full_text.rebuild_index(new)
        fold_wal(file)
        yield file if meta.revision else None


def differs(paths: Paths, url: str, file: Path, archive: Archive, entry: Entry) -> bool:
    """Whether what lies on the server is not what a file in a backup holds."""
    with as_file(paths, url, file) as now, archive.taken_out(entry) as kept:
        if now is None:
            return True
        if file == paths.work_database:
            return _sums_of_work(paths, now) != _sums_of_work(paths, kept)
        with _of_now(paths, kept) as then:
            return _sums(now, models.METADATA.sorted_tables) != _sums(then, models.METADATA.sorted_tables)


def bring_back(paths: Paths, url: str, file: Path, archive: Archive, entry: Entry) -> None:
    """Make what lies on the server that of a file in a backup, in one transaction: all of it, or nothing. Raises the
    errors of the server."""
    with archive.taken_out(entry) as kept:
        if file != paths.work_database:
            _bring_memory_back(paths, url, kept)
            return
        with (
            contextlib.closing(_work_in(paths, kept)) as source,
            contextlib.closing(takeover.open_work(paths, workspace_id(paths), url)) as target,
        ):
            migrate_store.copy_work(source, target)


def _bring_memory_back(paths: Paths, url: str, file: Path) -> None:
    place = ServerStorage(paths, workspace_id(paths), url)
    with contextlib.closing(place.server) as server, _of_now(paths, file) as then:
        place.is_first_edition()  # is refused
        transactions.make_database(server, workspace_id(paths))
        with contextlib.closing(SqliteDatabase(then)) as database, database.reading() as old, server.making() as new:
            bookkeeping.wait_for_writers(new)
            new.exec_driver_sql("SET LOCAL statement_timeout TO 0")
            migrate_store.copy_tables(old, new, models.METADATA.sorted_tables, place.where)
            bookkeeping.rename_for_storage(new, processes.make_home_id(paths), on_server=True)
            revision = bookkeeping.meta_of(old).revision
            new.execute(update(META).values(revision=revision, epoch=secrets.token_hex(8), moved_to=""))
            full_text.rebuild_index(new)


@contextlib.contextmanager
def _of_now(paths: Paths, file: Path) -> Iterator[Path]:
    """The file of a backup; one that the first edition made, taken over into another."""
    if not first_edition_contents.is_first_edition(file):
        yield file
        return
    with tempfile.TemporaryDirectory(prefix="nanomem-") as folder:
        taken = Path(folder, file.name)
        takeover.make_from_first_edition(file, taken, Ledgers([], [], []), workspace_id(paths), ())
        yield taken


def _sums_of_work(paths: Paths, file: Path) -> dict[str, tuple[int, int]]:
    with contextlib.closing(_work_in(paths, file)) as found:
        return found.read(lambda connection: migrate_store.sum_tables(connection, work_models.METADATA.sorted_tables))


def _sums(file: Path, tables: Sequence[Table]) -> dict[str, tuple[int, int]]:
    with contextlib.closing(SqliteDatabase(file)) as database, database.reading() as connection:
        return migrate_store.sum_tables(connection, tables)
