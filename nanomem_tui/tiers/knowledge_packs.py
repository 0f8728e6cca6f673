"""Reference packs: a folder, a .zip or a .tar archive with text, Markdown and HTML in it, read where it lies.

Nothing is unpacked onto the disk. Members that would leave the pack, links, devices and archives that grow beyond all
measure are refused. A file `manifest.json` at its root may say the pack's title and source, and those of its files:
`{"title": …, "source": …, "files": {"path": {"title": …, "source": …}}}`.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import lzma
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple, cast

from nanomem_tui.errors import BadInput, NanomemError, NotFound, Problem
from nanomem_tui.store.knowledge_values import Document
from nanomem_tui.text import counted
from nanomem_tui.tiers.knowledge_files import (
    LARGEST,
    MARKDOWN,
    MOST_FILES,
    PAGES,
    TEXT,
    Found,
    document_of,
    refuse_address,
)
from nanomem_tui.tiers.knowledge_layer import Tell, quiet

LARGEST_PACK = 512 * 2**20
"""Bytes of an archive."""

MOST_UNPACKED = 256 * 2**20
"""Bytes of all that is read of a pack; of a .tar what is skipped counts too: it is unpacked to get to what follows."""

MOST_MEMBERS = 20_000
"""Members of an archive, with those that are not read."""

MANIFEST = "manifest.json"
_ENDINGS = (*MARKDOWN, *PAGES, *TEXT)


_UNREADABLE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    NotImplementedError,
    RuntimeError,
)
_UNPACKING: Mapping[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
"""How a .tar is packed, by its first bytes."""


class Member(NamedTuple):
    """A file of a pack: its path in it, and its bytes; or why it is not read."""

    name: str
    data: bytes
    problem: str = ""


def added(path: Path, tell: Tell = quiet) -> Found:
    """The documents of a pack. Raises NotFound, and BadInput for what is no pack or would harm."""
    refuse_address(str(path))
    whole = Path(os.path.abspath(path))
    if not whole.exists():
        raise NotFound("no such pack", str(path))
    manifest: dict[str, Any] = {}
    members: list[Member] = []
    size = 0
    for member in _members(whole):
        tell("Reading the pack", len(members), 0)
        size += len(member.data)
        if size > MOST_UNPACKED:
            raise _too_large(whole)
        if member.name == MANIFEST and not member.problem:
            manifest = _manifest(member.data, str(whole))
        else:
            members.append(member)
        if len(members) > MOST_FILES:
            raise BadInput(f"more than {counted(MOST_FILES, 'file')}", str(whole), "nothing was added")
    found = Found([], [])
    for member in members:
        try:
            if member.problem:
                raise BadInput(member.problem, member.name)
            found.documents.append(_document(member, manifest, whole))
        except NanomemError as error:
            found.problems.append(Problem(error.what, f"{whole.name}: {member.name}", severity="warning"))
    if not found.documents:
        raise BadInput("nothing to read in that pack", str(whole), "Markdown, text and HTML are read")
    return found


def _document(member: Member, manifest: dict[str, Any], pack: Path) -> Document:
    said = manifest.get("files", {}).get(member.name, {})
    source = said.get("source") or (f"{manifest['source']}: {member.name}" if "source" in manifest else "")
    meta = {"of": str(pack), "member": member.name}
    if "title" in manifest:
        meta["pack"] = manifest["title"]
    return document_of(
        member.data, member.name, "pack", source or f"{pack}: {member.name}", meta, said.get("title", "")
    )


def _manifest(data: bytes, where: str) -> dict[str, Any]:
    """What a manifest says, of which only texts are taken. Raises BadInput for one that is no JSON object."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"its {MANIFEST} is no JSON", where) from error
    if not isinstance(body, dict):
        raise BadInput(f"its {MANIFEST} is no JSON object", where)
    files = body.get("files")
    known = {
        str(name): _texts(said)
        for name, said in (files.items() if isinstance(files, dict) else ())
        if isinstance(said, dict)
    }
    return {**_texts(body), "files": known}


def _texts(body: dict[str, Any]) -> dict[str, Any]:
    return {name: body[name][:400] for name in ("title", "source") if isinstance(body.get(name), str) and body[name]}


def _members(path: Path) -> Iterator[Member]:
    if path.is_dir():
        yield from _of_folder(path)
        return
    if not stat.S_ISREG(path.stat().st_mode):
        raise BadInput("neither a folder nor an archive", str(path))
    if path.stat().st_size > LARGEST_PACK:
        raise BadInput(f"larger than {LARGEST_PACK // 2**20} MB", str(path))
    try:
        if zipfile.is_zipfile(path):
            yield from _of_zip(path)
        else:
            yield from _of_tar(path)
    except _UNREADABLE as error:
        raise BadInput(f"an archive that cannot be read ({error})", str(path)) from error
    except OSError as error:
        raise BadInput(f"an archive that cannot be read ({error.strerror or error})", str(path)) from error


def _of_folder(folder: Path) -> Iterator[Member]:
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(at) / name
            inside = path.relative_to(folder).as_posix()
            if not _wanted(inside):
                continue
            if path.is_symlink() or not path.is_file():
                yield Member(inside, b"", "a link, which is not followed")
            elif path.stat().st_size > LARGEST:
                yield _large(inside)
            else:
                yield Member(inside, path.read_bytes())


def _of_zip(path: Path) -> Iterator[Member]:
    with zipfile.ZipFile(path) as archive:
        if len(archive.infolist()) > MOST_MEMBERS:
            raise _too_many(path)
        for entry in archive.infolist():
            if entry.is_dir():
                continue
            _refuse_outside(entry.filename, path)
            if stat.S_ISLNK(entry.external_attr >> 16):
                raise BadInput("a pack with a link in it", f"{path}: {entry.filename}", "nothing was added")
            if not _wanted(entry.filename):
                continue
            if entry.flag_bits & 1:
                yield Member(entry.filename, b"", "locked with a password")
                continue
            if entry.file_size > LARGEST:
                yield _large(entry.filename)
                continue
            with archive.open(entry) as file:
                yield Member(str(PurePosixPath(entry.filename)), file.read())


def _of_tar(path: Path) -> Iterator[Member]:
    with contextlib.ExitStack() as stack:
        packed = stack.enter_context(path.open("rb"))
        begins = packed.read(6)
        packed.seek(0)
        unpack = next((unpack for magic, unpack in _UNPACKING.items() if begins.startswith(magic)), None)
        whole = stack.enter_context(unpack(packed)) if unpack else packed
        bounded = cast("IO[bytes]", _Bounded(whole, path))
        try:
            archive = stack.enter_context(tarfile.open(fileobj=bounded, mode="r:"))
        except tarfile.ReadError as error:
            raise BadInput("neither a folder, a .zip nor a .tar archive", str(path)) from error
        for number, entry in enumerate(archive):
            if number >= MOST_MEMBERS:
                raise _too_many(path)
            if (member := _of_entry(archive, entry, path)) is not None:
                yield member


def _of_entry(archive: tarfile.TarFile, entry: tarfile.TarInfo, path: Path) -> Member | None:
    """The file of an entry; None for a folder, and for what is not read. Raises BadInput for what would harm."""
    _refuse_outside(entry.name, path)
    if entry.issym() or entry.islnk():
        raise BadInput("a pack with a link in it", f"{path}: {entry.name}", "nothing was added")
    if entry.isdir():
        return None
    if not entry.isreg():
        raise BadInput("a pack with something in it that is no file", f"{path}: {entry.name}", "nothing was added")
    if not _wanted(entry.name):
        return None
    if entry.size > LARGEST:
        return _large(entry.name)
    file = archive.extractfile(entry)
    return Member(str(PurePosixPath(entry.name)), file.read() if file else b"")


class _Bounded:
    """What a .tar holds, unpacked, as far as a pack may reach: headers and what is skipped count as what is read."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self._file = file
        self._path = path

    def tell(self) -> int:
        return self._file.tell()

    def seek(self, place: int, whence: int = io.SEEK_SET) -> int:
        self._refuse_beyond(place)
        return self._file.seek(place, whence)

    def read(self, size: int) -> bytes:
        self._refuse_beyond(self._file.tell() + size)
        return self._file.read(size)

    def _refuse_beyond(self, place: int) -> None:
        if place > MOST_UNPACKED:
            raise _too_large(self._path)


def _large(name: str) -> Member:
    return Member(name, b"", f"larger than {LARGEST // 2**20} MB")


def _too_large(pack: Path) -> BadInput:
    return BadInput(f"unpacked it is larger than {MOST_UNPACKED // 2**20} MB", str(pack), "nothing was added")


def _too_many(pack: Path) -> BadInput:
    return BadInput(f"more than {counted(MOST_MEMBERS, 'member')}", str(pack), "nothing was added")


def _refuse_outside(name: str, pack: Path) -> None:
    """Raise BadInput for a member that would lie outside of the pack."""
    parts = name.replace("\\", "/").split("/")
    if name.startswith(("/", "\\")) or ".." in parts or (len(parts[0]) > 1 and parts[0][1] == ":"):
        raise BadInput("a pack with a path that leads out of it", f"{pack}: {name[:80]}", "nothing was added")


def _wanted(name: str) -> bool:
    path = PurePosixPath(name)
    hidden = any(part.startswith(".") for part in path.parts)
    return not hidden and (str(path) == MANIFEST or path.suffix.lower() in _ENDINGS)
