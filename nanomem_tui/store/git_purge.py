"""The whole history of a repository without some of its text: every commit that a ref leads to is written anew, the
refs and the index follow, and what is left of the old objects is removed. Before that the old history goes into a
bundle, which `git clone` reads. For who has made sure that nobody else writes here.

Names of files, authors, times and the form of the history stay; signatures go, as they sign what is no more.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from nanomem_tui import regular
from nanomem_tui.errors import from_os_error
from nanomem_tui.store import atomic, git_index, git_refs
from nanomem_tui.store.git_objects import FILE_MODE, ObjectStore, dump_tree, is_sha, object_id, parse_tree

Clean = Callable[[bytes], bytes]
_TYPES = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}
_SUBMODULE = 0o160000
_AT_ONCE = 500


class Rewritten(NamedTuple):
    """How many commits got a new id, how many objects were removed, and the bundle of what was before."""

    commits: int
    removed: int
    bundle: Path | None


def texts(git_dir: Path) -> Iterator[tuple[str, str, bytes]]:
    """(kind, id, bytes) of every blob, and of every message, also of those that no ref leads to any more.
    Raises DamagedGit."""
    with contextlib.closing(ObjectStore(git_dir / "objects")) as objects:
        for sha in sorted(objects.ids()):
            kind, data = objects.raw(sha)
            if kind == "blob":
                yield kind, sha, data
            elif kind in ("commit", "tag"):
                yield kind, sha, data.partition(b"\n\n")[2]


def rewrite(git_dir: Path, clean: Clean, message: Clean, bundles: Path | None) -> Rewritten:
    """Write the history anew: `clean` makes each blob what it is to be, `message` each message. `bundles`: the folder
    for what was before; None where that is kept elsewhere.

    Killed at any step, either history is whole, and the next run goes on. Raises DamagedGit, Refused where a lock is
    held, and the errors of `from_os_error`.
    """
    try:
        with contextlib.closing(ObjectStore(git_dir / "objects")) as objects:
            refs = _refs(git_dir)
            new = _History(objects, clean, message)
            for sha in refs.values():
                new.of(sha)
            staged = _staged(git_dir, new)
            new.flush()
            reachable = _reachable(objects, {*map(new.of, refs.values()), *staged.values()})
            gone = objects.ids() - reachable
            moved = sum(1 for old, now in new.known.items() if old != now and old in new.commits)
            if not gone:
                return Rewritten(0, 0, None)
            bundle = _bundle(objects, refs, bundles) if refs and bundles else None
            _move(git_dir, {name: new.of(sha) for name, sha in refs.items()}, staged)
            objects.remove(gone)
            return Rewritten(moved, len(gone), bundle)
    except OSError as error:
        raise from_os_error(error, "rewriting the git history") from error


class _History:
    """The new id of every object, each made when it is asked for; written in portions."""

    def __init__(self, objects: ObjectStore, clean: Clean, message: Clean) -> None:
        self._objects = objects
        self._clean = clean
        self._message = message
        self._waiting: list[tuple[str, bytes]] = []
        self.known: dict[str, str] = {}
        self.commits: set[str] = set()

    def of(self, sha: str) -> str:
        """The new id of an object and, before it, of all that it leads to; parents first, without recursion, as a
        history is longer than a stack."""
        todo = [sha]
        while todo:
            one = todo[-1]
            if one in self.known:
                todo.pop()
                continue
            kind, data = self._objects.raw(one)
            needed = [inner for inner in _leads_to(kind, data) if inner not in self.known]
            if needed:
                todo += needed
                continue
            self.known[one] = self._made(one, kind, data)
            todo.pop()
        return self.known[sha]

    def _made(self, sha: str, kind: str, data: bytes) -> str:
        if kind == "blob":
            new = self._clean(data)
        elif kind == "tree":
            entries = parse_tree(data, sha)
            new = dump_tree({name: one._replace(sha=self.known.get(one.sha, one.sha)) for name, one in entries.items()})
            new = data if new == data else new
        else:
            self.commits.add(sha)
            new = self._headed(data)
        if new == data:
            return sha
        self._waiting.append((kind, new))
        if len(self._waiting) >= _AT_ONCE:
            self.flush()
        return object_id(kind, new)

    def _headed(self, data: bytes) -> bytes:
        """A commit or a tag with the new ids and the new message; without its signature where anything changed."""
        head, gap, said = data.partition(b"\n\n")
        lines: list[bytes] = []
        signed = False
        for line in head.split(b"\n"):
            name, _, value = line.partition(b" ")
            signed = name == b"gpgsig" or name.startswith(b"gpgsig-") or (signed and line.startswith(b" "))
            if signed:
                continue
            if name in (b"tree", b"parent", b"object"):
                old = value.decode("ascii", "replace")
                line = name + b" " + self.known.get(old, old).encode()  # noqa: PLW2901
            lines.append(line)
        new = b"\n".join(lines) + gap + self._message(said)
        same = [self.known.get(one, one) == one for one in _leads_to("commit", data)]
        return data if all(same) and self._message(said) == said else new

    def flush(self) -> None:
        """Write what is made so far."""
        self._objects.write(self._waiting)
        self._waiting = []


def _leads_to(kind: str, data: bytes) -> list[str]:
    """The objects that one needs; a submodule's commit lies elsewhere."""
    if kind == "tree":
        return [entry.sha for entry in parse_tree(data).values() if entry.mode != _SUBMODULE]
    if kind == "blob":
        return []
    found = []
    for line in data.partition(b"\n\n")[0].split(b"\n"):
        name, _, value = line.partition(b" ")
        if name in (b"tree", b"parent", b"object") and is_sha(value.decode("ascii", "replace")):
            found.append(value.decode())
    return found


def _refs(git_dir: Path) -> dict[str, str]:
    """Every ref with the object that it names; HEAD too where it names one itself."""
    found: dict[str, str] = {}
    with contextlib.suppress(FileNotFoundError):
        for line in regular.read(git_dir / "packed-refs").split(b"\n"):
            sha, _, name = line.decode("utf-8", "replace").partition(" ")
            if is_sha(sha) and git_refs.is_safe(name):
                found[name] = sha
    for folder, _, names in os.walk(git_dir / "refs"):
        for name in names:
            ref = Path(folder, name).relative_to(git_dir).as_posix()
            named = git_refs.read_ref(git_dir, ref) if git_refs.is_safe(ref) else None
            found |= {ref: named} if named is not None else {}
    head = git_refs.read_head(git_dir)
    if head.branch is None and head.sha is not None:
        found["HEAD"] = head.sha
    return found


def _staged(git_dir: Path, new: _History) -> dict[str, str]:
    """The blobs of the index as they are to be, by path."""
    held = git_index.held(git_dir) or {}
    return {name.decode("utf-8", "surrogateescape"): new.of(sha) for name, sha in held.items()}


def _reachable(objects: ObjectStore, tops: set[str]) -> set[str]:
    seen: set[str] = set()
    todo = list(tops)
    while todo:
        sha = todo.pop()
        if sha not in seen:
            seen.add(sha)
            todo += _leads_to(*objects.raw(sha))
    return seen


def _move(git_dir: Path, refs: Mapping[str, str], staged: Mapping[str, str]) -> None:
    """Point every ref and the index at what is new, and forget where they pointed before."""
    for name, sha in refs.items():
        path = git_dir / name
        atomic.make_folder(path.parent, 0o777)
        with git_refs.lock(path):
            atomic.write_atomic(path, sha.encode() + b"\n", mode=0o644)
    with git_refs.lock(git_dir / "packed-refs"):
        (git_dir / "packed-refs").unlink(missing_ok=True)
    rows = {}
    for entry, sha in (git_index.held(git_dir) or {}).items():
        told = entry.decode("utf-8", "surrogateescape")
        if staged.get(told, sha) != sha:
            rows[told] = git_index.Staged(sha, staged[told], FILE_MODE)
    git_index.update(git_dir, rows, git_index.prepared(git_dir, rows), None)
    for folder, _, names in os.walk(git_dir / "logs"):
        for name in names:
            Path(folder, name).unlink()
    for name in ("ORIG_HEAD", "FETCH_HEAD", "MERGE_HEAD", "AUTO_MERGE", "COMMIT_EDITMSG", "info/refs"):
        (git_dir / name).unlink(missing_ok=True)
    atomic.sync_folder(git_dir)


def _bundle(objects: ObjectStore, refs: Mapping[str, str], folder: Path) -> Path:
    """The history as it was, in one file that `git clone` reads; readable by its owner alone."""
    ids = sorted(_reachable(objects, set(refs.values())))
    head = b"# v2 git bundle\n" + b"".join(f"{sha} {name}\n".encode() for name, sha in sorted(refs.items())) + b"\n"
    parts = [b"PACK" + (2).to_bytes(4, "big") + len(ids).to_bytes(4, "big")]
    for sha in ids:
        kind, data = objects.raw(sha)
        parts += [_header(_TYPES[kind], len(data)), zlib.compress(data, 6)]
    pack = b"".join(parts)
    pack += hashlib.sha1(pack, usedforsecurity=False).digest()
    path = folder / f"git-before-{hashlib.sha256(pack).hexdigest()[:12]}.bundle"
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
