"""The file of a backup: a tar of pieces named by their SHA-256, and a manifest of every file that they make.

A piece that the backup before has already is not written again: `base` names that file. The manifest is the last member
and lists all pieces, so that a torn archive is seen at once. Knows nothing of memory; opens nothing but archives.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import tarfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from nanomem_tui import json_text
from nanomem_tui.errors import BadInput, NotFound, from_os_error
from nanomem_tui.store import atomic, owners

SUFFIX = ".nanomem-backup"
PIECE = 512 * 1024
"""Bytes of a piece: of a database that changed little most are the same as before."""
FORMAT = 2
"""The manifest of 1 has no hash of its own."""
_MANIFEST = "manifest.json"
_LARGEST_MANIFEST = 1 << 30


class Entry(NamedTuple):
    """One file: its path under the base, POSIX and relative; `mtime_ns` of the file; `pieces` by name, in order."""

    path: str
    mode: int
    mtime_ns: int
    size: int
    sha256: str
    pieces: tuple[str, ...]
    database: bool = False


class Manifest(NamedTuple):
    """What a backup holds. `workspace` is the workspace under the base ("" where it is the base), `base` the name of
    the archive that the other pieces lie in, `reason` why nanomem made it by itself, `left_out` what was not taken and
    why."""

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

    def to_json(self) -> dict[str, Any]:
        body = {**self._asdict(), "format": FORMAT, "entries": [entry._asdict() for entry in self.entries]}
        return {**body, "sha256": _digest(body)}


class Writer:
    """Writes one archive beside others; it has its name once it is whole and durable."""

    def __init__(self, path: Path, known: frozenset[str] = frozenset()) -> None:
        self.path = path
        self.failure: OSError | None = None
        """Why something could not be written: no backup can be made then."""
        self._known = known
        self._written: set[str] = set()
        atomic.make_folder(path.parent)
        self._temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}.nanomem-tmp")
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            handle = os.open(self._temporary, flags, atomic.PRIVATE_FILE)
        except OSError as error:
            raise from_os_error(error, "making a backup") from error
        self._file = os.fdopen(handle, "w+b")
        self._tar = tarfile.TarFile(fileobj=self._file, mode="w", format=tarfile.PAX_FORMAT)

    def piece(self, data: bytes) -> str:
        """Keep one piece, and return its name."""
        name = atomic.sha256(data)
        if name not in self._known and name not in self._written:
            packed = zlib.compress(data, 3)
            smaller = len(packed) < len(data)
            self._add(f"z/{name}" if smaller else f"d/{name}", packed if smaller else data)
            self._written.add(name)
        return name

    def _add(self, name: str, data: bytes) -> None:
        member = tarfile.TarInfo(name)
        member.size, member.mode = len(data), atomic.PRIVATE_FILE
        try:
            self._tar.addfile(member, io.BytesIO(data))
        except OSError as error:
            self.failure = error
            raise

    def close(self, manifest: Manifest, *, replace: bool = False) -> None:
        """Write the manifest, make all of it durable and give it its name; `replace`: that of one that is there."""
        self._add(_MANIFEST, json.dumps(manifest.to_json(), ensure_ascii=False).encode("utf-8", "surrogateescape"))
        self._tar.close()
        self._file.flush()
        owners.inherit(self._file.fileno(), self.path.parent)
        os.fsync(self._file.fileno())
        self._file.close()
        if replace:
            os.replace(self._temporary, self.path)
            atomic.sync_folder(self.path.parent)
            return
        os.link(self._temporary, self.path)
        try:
            os.unlink(self._temporary)
            atomic.sync_folder(self.path.parent)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(self.path)
            raise

    def abandon(self) -> None:
        """Leave nothing behind."""
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            os.unlink(self._temporary)


class Archive:
    """One backup and those that it builds on, opened to be read. Raises BadInput where it is torn or no backup."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._files = contextlib.ExitStack()
        self._pieces: dict[str, tuple[tarfile.TarFile, tarfile.TarInfo]] = {}
        self.own: frozenset[str] = frozenset()
        """The pieces in its own file."""
        self.chain: tuple[str, ...] = ()
        """The archives that it builds on, the nearest first."""
        try:
            self.manifest = self._open(path, seen=())
        except BaseException:
            self._files.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close()

    def _open(self, path: Path, seen: Sequence[str]) -> Manifest:
        fix = "it was copied in part, or damaged; take another one (`nanomem backup list`)"
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            file = self._files.enter_context(os.fdopen(handle, "rb"))
            tar = self._files.enter_context(tarfile.TarFile(path, fileobj=file, mode="r"))
            members = tar.getmembers()
            if not members or members[-1].name != _MANIFEST or members[-1].size > _LARGEST_MANIFEST:
                raise BadInput(_needed(path, seen) or "a backup without its end", str(path), fix)
            stream = tar.extractfile(members[-1])
            manifest = _manifest(json_text.loads(stream.read()) if stream is not None else None)
        except FileNotFoundError:
            what = _needed(path, seen, "gone") or "no such backup"
            raise NotFound(what, str(path), "`nanomem backup list` shows those that are there") from None
        except (tarfile.TarError, ValueError, KeyError, TypeError, EOFError) as error:
            what = _needed(path, seen) or "not a backup of nanomem, or a damaged one"
            raise BadInput(what, str(path), fix) from error
        except OSError as error:
            raise from_os_error(error, f"reading {path.name}{', which it needs' if seen else ''}") from error
        for member in members[:-1]:
            self._pieces.setdefault(member.name[2:], (tar, member))
        if seen:
            self.chain += (path.name,)
        else:
            self.own = self.names
        if manifest.base:
            if manifest.base in (*seen, path.name) or os.path.basename(manifest.base) != manifest.base:
                raise BadInput("a backup that builds on itself", str(path), fix)
            self._open(path.with_name(manifest.base), (*seen, path.name))
        return manifest

    @property
    def names(self) -> frozenset[str]:
        """The pieces that are there."""
        return frozenset(self._pieces)

    def file_of(self, name: str) -> str:
        """The file that a piece lies in, "" where it is gone."""
        found = self._pieces.get(name)
        return os.path.basename(str(found[0].name)) if found is not None else ""

    def piece(self, name: str) -> bytes:
        """One piece. Raises BadInput where it is gone or is not what it was."""
        found = self._pieces.get(name)
        if found is None:
            raise BadInput("a piece is gone", name[:16])
        tar, member = found
        try:
            stream = tar.extractfile(member)
            data = stream.read() if stream is not None else b""
            if member.name.startswith("z/"):
                data = zlib.decompressobj().decompress(data, PIECE)  # no more than a piece can be, whatever it claims
        except (OSError, tarfile.TarError, zlib.error) as error:
            raise BadInput("a piece cannot be read", name[:16]) from error
        if atomic.sha256(data) != name:
            raise BadInput("a piece is not what it was", name[:16])
        return data

    def data(self, entry: Entry) -> Iterator[bytes]:
        """A file, piece by piece. Raises BadInput where anything of it is damaged."""
        for name in entry.pieces:
            try:
                yield self.piece(name)
            except BadInput as error:
                file = self.file_of(name)
                inside = "" if file in ("", self.path.name) else f", in {file}"
                raise BadInput(f"{error.what}{inside}", entry.path, "take another backup") from error


def _needed(path: Path, seen: Sequence[str], why: str = "damaged") -> str:
    """What is wrong with a backup by that of another one, which it needs; "" where it is itself the one."""
    return f"needs {path.name}, which is {why}" if seen else ""


def _digest(body: Mapping[str, Any]) -> str:
    """The hash of a manifest, whatever the order of its names."""
    return atomic.sha256(json.dumps(body, sort_keys=True).encode())


def _manifest(value: Any) -> Manifest:
    """A manifest as it was read. Raises ValueError where it is none that may be followed, or not what was written."""
    if not isinstance(value, dict) or value.get("format") not in (1, FORMAT):
        raise ValueError("no manifest")
    given = value.pop("sha256", None)
    if given != (_digest(value) if value["format"] == FORMAT else None):
        raise ValueError("not the manifest that was written")
    entries = []
    for one in value["entries"]:
        entry = Entry(**{**one, "pieces": tuple(one["pieces"])})
        parts = entry.path.split("/")
        if not all(parts) or {".", ".."} & set(parts) or "\0" in entry.path or not isinstance(entry.mode, int):
            raise ValueError("a path that leaves its place")
        entries.append(entry)
    names = ("made_at", "workspace", "workspace_id", "place", "base", "reason")
    said = {name: value[name] for name in names}
    if not all(isinstance(word, str) for word in said.values()) or {"..", "."} & set(said["workspace"].split("/")):
        raise ValueError("no manifest")
    left = tuple((str(path), str(why)) for path, why in value["left_out"])
    return Manifest(entries=tuple(entries), left_out=left, **said)
