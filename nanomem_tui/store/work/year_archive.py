"""An archive of a year: compressed lines, one record each, and a manifest beside them that says what is in them.

Owns the form of both files, how they are written, and how an archive is known to be whole. Must not know a database,
nor when an archive is made.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from nanomem_tui.core import atomic, files
from nanomem_tui.core.errors import Refused, StoreError, from_os_error
from nanomem_tui.store.work.kinds import KINDS
from nanomem_tui.store.work.values import TierRecord

FOLDER = "archive"
SUFFIX = ".jsonl.gz"
VERSION = 1
LONGEST = 20_000_000
"""Bytes of a line, beyond which it is none of ours."""
_PART = 1 << 20

State = Literal["made", "leaving", "archived", "returning", "restored"]
"""made: whole, and every record of it is still in long-term memory too."""


class Manifest(NamedTuple):
    """What an archive holds: records per kind, the first and the last time (UTC ISO), the SHA-256 of its file."""

    name: str
    year: int
    workspace_id: str
    state: State
    made_at: str
    records: int
    counts: dict[str, int]
    first: str
    last: str
    bytes: int
    sha256: str
    version: int = VERSION

    def to_json(self) -> dict[str, Any]:
        """The manifest as its file, and the command line, have it."""
        return self._asdict()


def line_of(record: TierRecord) -> bytes:
    """A record as a line."""
    named = {"kind": record.kind, "id": record.id, "fields": dict(record.fields)}
    rest = {"origin": record.origin, "stored_at": record.stored_at, "changed_at": record.changed_at}
    return json.dumps({**named, **rest}, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def record_of(line: bytes) -> TierRecord:
    """The record of a line. Raises KeyError, TypeError or ValueError for what is none."""
    body = json.loads(line.decode("utf-8", "surrogatepass"))
    kind = KINDS[body["kind"]]
    fields = {field.name: body["fields"].get(field.name) for field in kind.fields}
    return TierRecord(kind.name, body["id"], fields, "longterm", body["origin"], body["stored_at"], body["changed_at"])


def manifest_of(folder: Path, name: str) -> Manifest:
    """The manifest of an archive. Raises StoreError for one that cannot be read."""
    path = folder / f"{name}.json"
    try:
        body = json.loads(files.read(path))
        found = Manifest(**{field: body[field] for field in Manifest._fields})
    except OSError as error:
        raise from_os_error(error, "reading the manifest of an archive") from error
    except (ValueError, KeyError, TypeError, RecursionError):
        raise StoreError("the manifest of an archive cannot be read", str(path), "nothing was changed") from None
    if found.version > VERSION:
        raise StoreError(f"an archive of form {found.version}", str(path), "install a newer nanomem")
    return found


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write a manifest. Raises the errors of `from_os_error`."""
    text = json.dumps(manifest.to_json(), ensure_ascii=False, indent=2)
    atomic.write_atomic(folder / f"{manifest.name}.json", f"{text}\n".encode())


def names(folder: Path) -> list[str]:
    """The archives that have a manifest, oldest year and part first."""
    try:
        found = [path.stem for path in folder.glob("*.json")]
    except OSError:
        return []
    return sorted(found, key=lambda name: [int(part) if part.isdigit() else 0 for part in name.split("-")])


def free_name(folder: Path, year: int) -> str:
    """A name that no archive has: `2024`, then `2024-2`."""
    part = 1
    while True:
        name = f"{year}" if part == 1 else f"{year}-{part}"
        if not any((folder / f"{name}{suffix}").exists() for suffix in (SUFFIX, ".json")):
            return name
        part += 1


def write(
    folder: Path, name: str, year: int, workspace_id: str, made_at: str, records: Iterable[TierRecord]
) -> Manifest:
    """Write an archive of that name, read it back, and only then let it be there. Raises StoreError when what is read
    is not what was written, and the errors of `from_os_error`; there is no archive then."""
    temporary = folder / f".{name}{SUFFIX}.{os.urandom(6).hex()}.nanomem-tmp"
    try:
        atomic.make_folder(folder)
        digest, counts, times = _written(temporary, records)
        path = folder / f"{name}{SUFFIX}"
        sha256, read = _read_back(temporary)
        if read != digest:
            raise StoreError("the archive was not written as it should be", str(path), "the disk may be failing")
        size = temporary.stat().st_size
        first, last = (min(times), max(times)) if times else ("", "")
        total = sum(counts.values())
        made = Manifest(name, year, workspace_id, "made", made_at, total, dict(counts), first, last, size, sha256)
        write_manifest(folder, made)
        os.replace(temporary, path)
        atomic.sync_folder(folder)
    except OSError as error:
        raise from_os_error(error, "writing an archive") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
    return made


def _written(path: Path, records: Iterable[TierRecord]) -> tuple[str, Counter[str], tuple[str, ...]]:
    """The digest of the lines, how many of each kind there are, the first and the last time."""
    digest, counts, times = hashlib.sha256(), Counter[str](), ("", "")
    handle = atomic.open_owned(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    with open(handle, "wb") as file:
        with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0) as packed:
            for record in records:
                line = line_of(record)
                packed.write(line)
                digest.update(line)
                counts[record.kind] += 1
                times = (min(filter(None, (times[0], record.at))), max(times[1], record.at))
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest(), counts, times if counts else ()


def _read_back(path: Path) -> tuple[str, str]:
    digest = hashlib.sha256()
    try:
        with gzip.open(path) as packed:
            while part := packed.read(_PART):
                digest.update(part)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise StoreError(f"the archive cannot be read ({error})", str(path), "the disk may be failing") from error
    return file_digest(path), digest.hexdigest()


def file_digest(path: Path) -> str:
    """The SHA-256 of a file. Raises OSError."""
    with files.opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check(folder: Path, manifest: Manifest, *, whole: bool = True) -> None:
    """Raise Refused unless the file of an archive is, byte by byte, what its manifest says; not `whole`: unless it is
    as long."""
    path = folder / f"{manifest.name}{SUFFIX}"
    fix = f"nothing was changed; put back {path.name} from a backup"
    try:
        same = path.stat().st_size == manifest.bytes and (not whole or file_digest(path) == manifest.sha256)
    except FileNotFoundError:
        raise Refused("the archive is gone", str(path), fix) from None
    except OSError as error:
        raise from_os_error(error, "reading an archive") from error
    if not same:
        raise Refused("the archive is damaged", str(path), fix)


def lines(folder: Path, name: str) -> Iterator[TierRecord]:
    """The records of an archive, one at a time. Raises StoreError where it cannot be read on."""
    path = folder / f"{name}{SUFFIX}"
    try:
        with gzip.open(path) as packed:
            while line := packed.readline(LONGEST):
                yield record_of(line)
    except (EOFError, zlib.error, gzip.BadGzipFile, KeyError, TypeError, ValueError) as error:
        raise StoreError("the archive is damaged", str(path), "what comes before that place was read") from error
    except OSError as error:
        raise from_os_error(error, "reading an archive") from error


def remove(folder: Path, name: str) -> None:
    """Take away an archive that was made, and of which nothing ever left. Raises the errors of `from_os_error`."""
    try:
        (folder / f"{name}{SUFFIX}").unlink(missing_ok=True)
        (folder / f"{name}.json").unlink(missing_ok=True)
        atomic.sync_folder(folder)
    except OSError as error:
        raise from_os_error(error, "removing what was begun of an archive") from error
