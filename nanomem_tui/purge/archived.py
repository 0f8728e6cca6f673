"""What backups and the objects of git histories hold, bundles of these too. Changes nothing."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nanomem_tui import regular
from nanomem_tui.purge import any_database, raw_bytes
from nanomem_tui.purge.of_session import is_session
from nanomem_tui.purge.packed import GZIP, unpacked
from nanomem_tui.purge.texts import Found, Sought, in_bytes
from nanomem_tui.purge.wanted_words import Words
from nanomem_tui.store import backup_files
from nanomem_tui.store.backup_archive import SUFFIX, Archive

if TYPE_CHECKING:
    from nanomem_tui.paths import Paths

GONE = b"[a database that held what was taken out]\n"
"""What stands in a git history where such a database was."""
GONE_PACKED = b"[a packed file that held what was taken out]\n"
"""The same of what was packed."""


def archives(paths: Paths) -> list[Path]:
    """The backups, and the bundles of old git histories."""
    folder = backup_files.folder_of(paths)
    return sorted((*folder.glob(f"*{SUFFIX}"), *folder.glob("*.bundle")))


def in_archive(path: Path, sought: Sought) -> Found:
    """What a backup, or a bundle of a git history, holds. Raises BadInput where it cannot be read."""
    found: Found = Counter()
    if path.suffix == ".bundle":
        for data in _packed(path):
            in_history(data, sought, found)
        return found
    with Archive(path) as archive:
        for entry in archive.manifest.entries:
            data = b"".join(archive.data(entry))
            if data.startswith(raw_bytes.SQLITE):
                found.update(any_database.in_bytes_of(data, sought))
            elif "/.git/" in f"/{entry.path}":
                found.update(_object(data, sought))
            elif isinstance(sought, Words) and is_session(Path(entry.path).name, data, sought.marks):
                found["file"] += 1
            else:
                in_bytes(unpacked(data) or data, sought.at(entry.path), found)
    return found


def in_history(data: bytes, sought: Sought, found: Found) -> bytes:
    """An object of a git history, which says no name, without what is sought; a database that holds it goes whole, as
    does a conversation that is forgotten."""
    if data.startswith(raw_bytes.SQLITE):
        here = any_database.in_bytes_of(data, sought)
        found.update(here)
        return GONE if here else data
    if isinstance(sought, Words) and sought.marks.sessions and is_session("", data, sought.marks):
        found["file"] += 1
        return b""
    inner = unpacked(data) if data.startswith(GZIP) else None
    if inner is not None:
        mine: Found = Counter()
        in_bytes(inner, sought, mine)
        found.update(mine)
        return GONE_PACKED if mine else data
    return in_bytes(data, sought.at("history.jsonl" if data[:1] == b"{" else "document.md"), found)


def _object(data: bytes, sought: Sought) -> Found:
    found: Found = Counter()
    try:
        in_history(zlib.decompress(data).partition(b"\0")[2], sought, found)
    except zlib.error:
        in_history(data, sought, found)
    return found


def _packed(path: Path) -> Iterator[bytes]:
    """What the objects of a bundle of ours hold, which are not differences of each other."""
    data = regular.read(path, regular.MOST_OF_A_LOG)
    data = data[data.index(b"PACK") + 12 : -20]
    while data:
        end = next(at for at, byte in enumerate(data) if not byte & 0x80) + 1
        reader = zlib.decompressobj()
        yield reader.decompress(data[end:])
        data = reader.unused_data
