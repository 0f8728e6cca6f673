"""The staging area (`.git/index`): the entries of files that we committed, brought up to date.

Our commits are built without it. It is patched afterwards only so that a person's `git status` is clean and a later
plain `git commit` does not take our change back. Best effort by design: an entry that somebody staged stays, a form we
do not know stays, a lock that is held stays, and the agent stages its files itself before it commits. `index.lock` is
held for one comparison and one rename. Must not know commits or refs.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from nanomem_tui import regular
from nanomem_tui.errors import Refused
from nanomem_tui.store import git_refs
from nanomem_tui.store.git_objects import SUBMODULE_MODE, Unnamed

_HEAD = struct.Struct(">4sLL")
_STAT = struct.Struct(">10L")
_EXTENDED = 0x4000
_WAIT = 0.2  # seconds, for who holds the lock


class _Entry(NamedTuple):
    name: bytes
    stage: int
    sha: str
    raw: bytes


class Staged(NamedTuple):
    """One file for the index: its blob before and after our commit (None: absent) and its mode."""

    before: str | None
    after: str | None
    mode: int


class Ready(NamedTuple):
    """An index that lies ready to take the place of `old`; no file when `old` is right."""

    file: Unnamed | None
    old: bytes


def prepared(git_dir: Path, files: Mapping[str, Staged]) -> Ready | None:
    """The index with the entries of `files` (by repository path) up to date where they are what they were before our
    commit, written beside it and not yet fsynced. None for a form that is not ours to write. Never raises."""
    path = git_dir / "index"
    try:
        old = regular.read(path) if path.exists() else b""
        new = patched(old, files)
        if new is None or new == old:
            return Ready(None, old) if new is not None else None
        return Ready(Unnamed.write(path.with_name(f"nanomem-{os.urandom(6).hex()}.tmp"), path, new), old)
    except OSError:
        return None


def update(
    git_dir: Path, files: Mapping[str, Staged], ready: Ready | None = None, mark: git_refs.Mark | None = None
) -> bool:
    """Put the index that lies `ready`, fsynced, in its place; without one, or when another program wrote the index
    meanwhile, it is made anew.

    `ready` is discarded here, `mark` is for the lock. Returns whether the index is now right; False leaves it
    untouched. Never raises for a busy or foreign index.
    """
    for attempt in range(3):
        if ready is None or attempt:
            ready = prepared(git_dir, files)
            if ready is not None and ready.file is not None:
                try:
                    os.fsync(ready.file.handle)
                except OSError:
                    ready.file.discard()
                    return False
        if ready is None or ready.file is None:
            return ready is not None
        try:
            if _replaced(ready.file, ready.old, mark):
                return True
        except (OSError, Refused):
            return False
        finally:
            ready.file.discard()
    return False


def _replaced(file: Unnamed, old: bytes, mark: git_refs.Mark | None) -> bool:
    """Give `file` its name, if the index is still `old`."""
    with git_refs.lock(file.path, mark, wait=_WAIT):
        if (regular.read(file.path) if file.path.exists() else b"") != old:
            return False
        os.replace(file.temporary, file.path)
    return True


def patched(data: bytes, files: Mapping[str, Staged]) -> bytes | None:
    """The index `data` with the entries of `files` replaced; None when it has a form that we do not write.

    Optional extensions (caches of trees and of untracked files) are left out: they describe the old entries.
    """
    entries = _parse(data) if data else []
    if entries is None:
        return None
    wanted = {name.encode("utf-8", "surrogateescape"): staged for name, staged in files.items()}
    kept = []
    seen = set()
    for entry in entries:
        staged = wanted.get(entry.name)
        seen.add(entry.name)
        if staged is None or entry.stage or entry.sha not in (staged.before, staged.after):
            kept.append(entry)
        elif staged.after is not None:
            kept.append(_Entry(entry.name, 0, staged.after, _dump(entry.name, staged)))
    for name, staged in wanted.items():
        # Absent although the commit before had it: a person took it out of the index, and it stays out.
        if name not in seen and staged.before is None and staged.after is not None:
            kept.append(_Entry(name, 0, staged.after, _dump(name, staged)))
    kept.sort(key=lambda entry: (entry.name, entry.stage))
    version = 3 if any(_flags(entry.raw) & _EXTENDED for entry in kept) else 2
    body = _HEAD.pack(b"DIRC", version, len(kept)) + b"".join(entry.raw for entry in kept)
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def ids(data: bytes) -> list[str] | None:
    """The blobs that an index holds, at whatever stage; None for a form that we do not read."""
    places = _places(data)
    return None if places is None else [data[at + 40 : at + 60].hex() for at in places[0]]


def renamed(data: bytes, new: Mapping[str, str]) -> bytes | None:
    """The index with each blob replaced as `new` says, whatever its stage; its flags stay. None for a form that we do
    not read: split, sparse, or damaged."""
    places = _places(data)
    if places is None:
        return None
    starts, end = places
    body, changed = bytearray(data[:end]), False
    for at in starts:
        old = data[at + 40 : at + 60].hex()
        if new.get(old, old) != old:
            body[at : at + 24] = bytes(24)  # without times and size git compares the contents
            body[at + 28 : at + 60] = bytes(12) + bytes.fromhex(new[old])
            changed = True
    if not changed and b"REUC" not in data[end:]:  # it names what was before a conflict was resolved
        return data
    return bytes(body) + hashlib.sha1(body, usedforsecurity=False).digest()


def held(git_dir: Path) -> dict[bytes, str] | None:
    """The blobs of the entries by name; None for an index that is not ours to write, or cannot be read."""
    path = git_dir / "index"
    try:
        data = regular.read(path) if path.exists() else b""
    except OSError:
        return None
    entries = _parse(data) if data else []
    return {entry.name: entry.sha for entry in entries if not entry.stage} if entries is not None else None


def _parse(data: bytes) -> list[_Entry] | None:
    """The entries of an index of version 2 or 3 without mandatory extensions; None for any other."""
    if len(data) < 32 or data[:4] != b"DIRC":
        return None
    _, version, count = _HEAD.unpack_from(data)
    if version not in (2, 3):
        return None
    entries = []
    at = _HEAD.size
    for _ in range(count):
        start = at
        if len(data) < at + 62 + 20:
            return None
        flags = _flags(data[at : at + 62])
        name_at = at + (64 if flags & _EXTENDED else 62)
        end = data.find(b"\0", name_at)
        if end < 0:
            return None
        at = start + (end - start) // 8 * 8 + 8
        entries.append(_Entry(data[name_at:end], flags >> 12 & 3, data[start + 40 : start + 60].hex(), data[start:at]))
    return entries if _only_caches(data, at) else None


def _places(data: bytes) -> tuple[list[int], int] | None:
    """Where each entry of a blob begins, in an index of version 2 to 4, and where the entries end; None as `_parse`."""
    if not data:
        return [], 0
    if len(data) < 32 or data[:4] != b"DIRC":
        return None
    _, version, count = _HEAD.unpack_from(data)
    starts = []
    at = _HEAD.size
    for _ in range(count if version in (2, 3, 4) else 0):
        if len(data) < at + 62 + 20:
            return None
        name_at = at + (64 if _flags(data[at : at + 62]) & _EXTENDED else 62)
        while version == 4 and data[name_at : name_at + 1] > b"\x7f":  # a number: what this name shares with the last
            name_at += 1
        end = data.find(b"\0", name_at + (version == 4))
        if end < 0:
            return None
        starts += [at] if int.from_bytes(data[at + 24 : at + 28], "big") != SUBMODULE_MODE else []
        at = end + 1 if version == 4 else at + (end - at) // 8 * 8 + 8
    return (starts, at) if version in (2, 3, 4) and _only_caches(data, at) else None


def _only_caches(data: bytes, at: int) -> bool:
    """Whether what stands behind the entries can be left out, as an upper-case name says, up to the sum at the end."""
    while at + 8 <= len(data) - 20 and data[at : at + 1].isupper():
        at += 8 + int(struct.unpack_from(">L", data, at + 4)[0])
    return at == len(data) - 20


def _flags(raw: bytes) -> int:
    return int(struct.unpack_from(">H", raw, 60)[0])


def _dump(name: bytes, staged: Staged) -> bytes:
    """One entry. Times and size are zero: git then compares contents and never trusts a file changed meanwhile."""
    fields = [0] * 10
    fields[6] = staged.mode
    head = _STAT.pack(*fields) + bytes.fromhex(staged.after or "")
    raw = head + struct.pack(">H", min(len(name), 0xFFF)) + name
    return raw + b"\0" * (8 - len(raw) % 8)
