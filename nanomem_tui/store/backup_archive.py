"""The file of a backup: a zip that holds each file as it was, and a manifest that names it with its SHA-256.

Any program that reads zip files can take one out. The index of a zip is at its end: what was cut is seen at once, and
the manifest is read without the rest. Knows nothing of memory. Archives of the first edition are only read: a
tar of compressed pieces named by their SHA-256, which may build on another archive of the same folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

from nanomem_tui.core import atomic
from nanomem_tui.core import files as core_files
from nanomem_tui.core.errors import BadInput, NanomemError, NotFound, Problem, from_os_error

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
        atomic.inherit(self._file.fileno(), self.path.parent)
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
