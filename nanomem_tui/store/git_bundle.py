"""A repository in one file that `git clone` reads: every object that is there, under the names that it has, and what no
ref leads to under names of ours, so that git finds it again. Must not change the repository.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from nanomem_tui.store import atomic, git_refs
from nanomem_tui.store.git_anew import leads_to
from nanomem_tui.store.git_objects import TYPES, ObjectStore

KEPT = "refs/nanomem/kept"
_NUMBERS = {kind: number for number, kind in TYPES.items()}


def reachable(objects: ObjectStore, ids: set[str], tops: Iterable[str]) -> set[str]:
    """The objects of `ids` that one is led to. Raises DamagedGit."""
    seen: set[str] = set()
    todo = [sha for sha in tops if sha in ids]
    while todo:
        sha = todo.pop()
        if sha not in seen:
            seen.add(sha)
            todo += [inner for inner in leads_to(*objects.raw(sha)) if inner in ids]
    return seen


def names(
    objects: ObjectStore, ids: set[str], refs: Mapping[str, str], kin: Mapping[str, str], stashed: Iterable[str]
) -> dict[str, str]:
    """What is to stand in the head of the bundle: the refs, and names of ours for all that they do not lead to."""
    ours = {f"{KEPT}/{name}": sha for name, sha in kin.items() if git_refs.is_safe(f"{KEPT}/{name}")}
    ours |= {f"{KEPT}/stash/{number}": sha for number, sha in enumerate(stashed)}
    named = {name: sha for name, sha in {**refs, **ours}.items() if sha in ids}
    left = ids - reachable(objects, ids, named.values())
    tops = left - {inner for sha in left for inner in leads_to(*objects.raw(sha)) if inner != sha}
    return named | {f"{KEPT}/{number}": sha for number, sha in enumerate(sorted(tops), 1)}


def write(objects: ObjectStore, ids: set[str], heads: Mapping[str, str], folder: Path) -> Path:
    """Write the bundle, readable by its owner alone. Raises DamagedGit and the errors of `from_os_error`."""
    head = b"# v2 git bundle\n" + b"".join(f"{sha} {name}\n".encode() for name, sha in sorted(heads.items())) + b"\n"
    parts = [b"PACK" + (2).to_bytes(4, "big") + len(ids).to_bytes(4, "big")]
    for sha in sorted(ids):
        kind, data = objects.raw(sha)
        parts += [_header(_NUMBERS[kind], len(data)), zlib.compress(data, 6)]
    pack = b"".join(parts)
    pack += hashlib.sha1(pack, usedforsecurity=False).digest()
    path = folder / f"git-before-{hashlib.sha256(head + pack).hexdigest()[:12]}.bundle"
    atomic.make_folder(folder)
    atomic.write_atomic(path, head + pack)
    return path


def _header(number: int, size: int) -> bytes:
    """The head of an object in a pack: its type and its size, 4 bits and then 7 at a time."""
    found = bytearray([(number << 4) | (size & 15)])
    size >>= 4
    while size:
        found[-1] |= 0x80
        found.append(size & 0x7F)
        size >>= 7
    return bytes(found)
