"""Objects of a git repository as values: read loose or packed, written loose and durable.

Loose objects are read and written here, with the standard library: opening a workspace must not pay for a git library.
Only an object that lies in a pack is read through dulwich, imported at that moment. Nothing here reads the repository's
configuration, so no hook, filter, attribute, include or alternate that it names can act. Must not know refs or files.
"""

from __future__ import annotations

import contextlib
import os
import re
import weakref
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from nanomem_tui import regular
from nanomem_tui.errors import NanomemError, from_os_error
from nanomem_tui.store import atomic, owners
from nanomem_tui.store.git_sync import sync_all

MAX_OBJECT = 64 * 1024 * 1024
FILE_MODE = 0o100644
FOLDER_MODE = 0o40000
SUBMODULE_MODE = 0o160000
TYPES = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
_SHA = re.compile(r"[0-9a-f]{40}")
_MODE = re.compile(rb"[0-7]{1,7}")
_PERSON = re.compile(r"(?P<who>.*?) ?(?P<when>-?\d+) (?P<zone>[+-]\d{4})$")


class DamagedGit(NanomemError):
    """An object or a ref of the repository that cannot be read."""


class DamagedPack(DamagedGit):
    """A file of many objects that cannot be read."""


class ElsewhereHead(DamagedGit):
    """HEAD leads to a branch without commits, while others have some."""


class TreeEntry(NamedTuple):
    """One name in a tree: its mode and the id of what it names."""

    mode: int
    sha: str

    @property
    def is_folder(self) -> bool:
        """A tree within the tree."""
        return self.mode == FOLDER_MODE

    @property
    def is_file(self) -> bool:
        """A regular file: neither a folder, a symlink nor a submodule."""
        return self.mode & 0o170000 == 0o100000


class CommitObject(NamedTuple):
    """A commit as stored. `at` is the committer's time in UTC ISO."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    author: str
    at: str
    message: str


def is_sha(text: str) -> bool:
    """Whether `text` is a full id."""
    return _SHA.fullmatch(text) is not None


def object_id(kind: str, data: bytes) -> str:
    """The id that git gives to an object of `kind` with `data`."""
    import hashlib  # 3 ms, and who only reads makes no ids

    return hashlib.sha1(b"%s %d\0" % (kind.encode(), len(data)) + data, usedforsecurity=False).hexdigest()


def tree_rows(data: bytes, sha: str = "") -> Iterator[tuple[int, bytes, str, int]]:
    """Each row of a tree: its mode, its name, the id that it names, and where that stands. Raises DamagedGit."""
    at = 0
    while at < len(data):
        space, end = data.find(b" ", at), data.find(b"\0", at)
        if space < 0 or end < space or len(data) < end + 21 or not _MODE.fullmatch(data, at, space):
            raise DamagedGit("a git tree that cannot be read", sha)
        yield int(data[at:space], 8), data[space + 1 : end], data[end + 1 : end + 21].hex(), end + 1
        at = end + 21


def parse_tree(data: bytes, sha: str = "") -> dict[str, TreeEntry]:
    """The entries of a tree by name; a name that is not UTF-8 keeps its bytes as surrogates. Raises DamagedGit."""
    rows = tree_rows(data, sha)
    return {name.decode("utf-8", "surrogateescape"): TreeEntry(mode, inner) for mode, name, inner, _ in rows}


def dump_tree(entries: Mapping[str, TreeEntry]) -> bytes:
    """The bytes of a tree, in git's order (a folder sorts as if its name ended in a slash)."""
    rows = [(name.encode("utf-8", "surrogateescape"), entry) for name, entry in entries.items()]
    rows.sort(key=lambda row: row[0] + b"/" if row[1].is_folder else row[0])
    return b"".join(b"%o %s\0%s" % (entry.mode, name, bytes.fromhex(entry.sha)) for name, entry in rows)


def parse_commit(data: bytes, sha: str) -> CommitObject:
    """The fields of a commit. Raises DamagedGit."""
    head, _, body = data.partition(b"\n\n")
    fields: dict[str, list[str]] = {}
    for line in head.decode("utf-8", "replace").split("\n"):
        name, _, value = line.partition(" ")
        fields.setdefault(name, []).append(value)
    try:
        tree = fields["tree"][0]
        author, committer = _PERSON.match(fields["author"][0]), _PERSON.match(fields["committer"][0])
        if author is None or committer is None or not is_sha(tree):
            raise ValueError(sha)
        at = datetime.fromtimestamp(int(committer["when"]), UTC).isoformat()
    except (KeyError, ValueError, OverflowError, OSError) as error:
        raise DamagedGit("a git commit that cannot be read", sha) from error
    parents = tuple(p for p in fields.get("parent", ()) if is_sha(p))
    encoding = fields.get("encoding", ["utf-8"])[0]
    return CommitObject(sha, tree, parents, author["who"], at, _decode(body, encoding))


def _decode(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding, "replace")
    except LookupError:
        return data.decode("utf-8", "replace")


def dump_commit(tree: str, parents: Iterable[str], author: str, seconds: int, message: str) -> bytes:
    """The bytes of a commit by `author` (`Name <mail>`) at `seconds` since the epoch, recorded in UTC."""
    person = f"{_one_line(author)} {seconds} +0000"
    lines = [f"tree {tree}", *(f"parent {p}" for p in parents), f"author {person}", f"committer {person}", ""]
    return "\n".join([*lines, message if message.endswith("\n") else message + "\n"]).encode("utf-8", "replace")


def _one_line(text: str) -> str:
    return " ".join(text.replace("\0", " ").split())


class ObjectStore:
    """The objects below one `objects` folder. Reads are cached for commits and trees, which never change."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._root = os.fspath(folder)
        self._packs: Any = None
        self._pack: Any = None  # the one that the last packed object came from: its neighbours are asked for next
        self._trees: dict[str, dict[str, TreeEntry]] = {}
        self._commits: dict[str, CommitObject] = {}

    def commit(self, sha: str) -> CommitObject:
        """The commit `sha`; where a shallow clone ends, without parents. Raises DamagedGit."""
        found = self._commits.get(sha)
        if found is None:
            found = parse_commit(self._read(sha, "commit"), sha)
            found = self._commits[sha] = found._replace(parents=()) if sha in self._shallow else found
        return found

    @cached_property
    def _shallow(self) -> frozenset[str]:
        """The commits whose parents a shallow clone does not hold."""
        try:
            return frozenset(regular.read(self._folder.parent / "shallow").decode("ascii").split())
        except (OSError, ValueError):
            return frozenset()

    def tree(self, sha: str) -> dict[str, TreeEntry]:
        """The entries of the tree `sha`; not to be changed by the caller. Raises DamagedGit."""
        found = self._trees.get(sha)
        if found is None:
            found = self._trees[sha] = parse_tree(self._read(sha, "tree"), sha)
        return found

    def blob(self, sha: str) -> bytes:
        """The bytes of the blob `sha`. Raises DamagedGit."""
        return self._read(sha, "blob")

    def raw(self, sha: str) -> tuple[str, bytes]:
        """The kind and the bytes of an object. Raises DamagedGit."""
        if (found := self._beside(sha)) is not None:
            return found
        try:
            return self._loose(sha) or self._packed(sha)
        except DamagedGit:
            with contextlib.suppress(DamagedGit):
                return self._packed(sha)  # a second copy, where the one of its own cannot be read
            raise

    def ids(self) -> set[str]:
        """Every object that is there, reachable or not. Raises DamagedGit."""
        loose = {
            folder.name + file.name
            for folder in self._folder.glob("[0-9a-f][0-9a-f]")
            for file in folder.iterdir()
            if is_sha(folder.name + file.name)
        }
        return loose.union(*(ids for _, ids in self.packs()))

    def packs(self) -> list[tuple[Path, set[str]]]:
        """Each pack with the objects in it. Raises DamagedGit."""
        try:
            return [(path, _named(path)) for path in sorted((self._folder / "pack").glob("*.pack"))]
        except (OSError, ValueError) as error:
            raise DamagedPack(self._damaged_packs, "", "run `git fsck` in the workspace") from error

    def remove(self, gone: set[str]) -> None:
        """Take objects away for good: of a pack that holds one, the others are written as files of their own first.
        Raises DamagedGit and the errors of `from_os_error`."""
        for path, ids in self.packs():
            if ids & gone:
                self.write([self.raw(sha) for sha in sorted(ids - gone)])
                self.close()
                for side in path.parent.glob(f"{path.stem}.*"):
                    side.unlink()
        for name in ("pack/multi-pack-index*", "info/commit-graph*", "info/commit-graphs/*", "info/packs"):
            for cache in [one for one in self._folder.glob(name) if not one.is_dir()]:
                cache.unlink()  # it names objects that are gone
        for sha in gone:
            self._folder.joinpath(sha[:2], sha[2:]).unlink(missing_ok=True)
        self._trees, self._commits = {}, {}

    def _read(self, sha: str, kind: str) -> bytes:
        found, data = self.raw(sha)
        if found != kind:
            raise DamagedGit(f"a git object that should be a {kind}", sha)
        return data

    def _loose(self, sha: str) -> tuple[str, bytes] | None:
        try:
            with regular.opened(f"{self._root}/{sha[:2]}/{sha[2:]}") as file:
                packed = file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise from_os_error(error, "reading the git history") from error
        inflater = zlib.decompressobj()
        try:
            raw = inflater.decompress(packed, MAX_OBJECT)
        except zlib.error as error:
            raise DamagedGit("a git object that cannot be read", sha) from error
        head, zero, data = raw.partition(b"\0")
        kind, _, size = head.partition(b" ")
        if not zero or not size.isdigit() or int(size) != len(data):
            raise DamagedGit("a git object that cannot be read", sha)
        return kind.decode("ascii", "replace"), data

    def _beside(self, sha: str) -> tuple[str, bytes] | None:
        """The object from the pack that the last one came from; None when it is not there, or cannot be read there."""
        if self._pack is None:
            return None
        try:
            number, data = self._pack.get_raw(sha.encode())
            return TYPES.get(number, "other"), bytes(data)
        except Exception:  # noqa: BLE001  whatever is wrong with the pack, `_packed` says it
            return None

    def _packed(self, sha: str) -> tuple[str, bytes]:
        try:
            if self._packs is None:
                from dulwich.object_store import DiskObjectStore

                self._packs = DiskObjectStore(self._root)
                weakref.finalize(self, self._packs.close)
            name = sha.encode()
            number, data = self._packs.get_raw(name)
            self._pack = next((pack for pack in self._packs.packs if name in pack), None)
            return TYPES.get(number, "other"), bytes(data)
        except KeyError as error:
            raise DamagedGit("a git object is missing", sha, "run `git fsck` in the workspace") from error
        except Exception as error:
            if (found := self._in_sound_packs(sha)) is not None:
                return found
            raise DamagedPack(self._damaged_packs, sha, "run `git fsck` in the workspace") from error

    def _in_sound_packs(self, sha: str) -> tuple[str, bytes] | None:
        """The object from a pack that can be read, where another one, or what objects are borrowed from, cannot."""
        for pack in self._packs.packs if self._packs is not None else ():
            with contextlib.suppress(Exception):
                number, data = pack.get_raw(sha.encode())
                return TYPES.get(number, "other"), bytes(data)
        return None

    @cached_property
    def _damaged_packs(self) -> str:
        """What to say when an object that lies in a pack cannot be read: which files do not end in their own hash."""
        import hashlib

        cut = []
        folder = self._folder / "pack"
        for path in sorted((*folder.glob("*.pack"), *folder.glob("*.idx"))):
            with contextlib.suppress(OSError):
                data = regular.read(path)
                if data[-20:] != hashlib.sha1(data[:-20], usedforsecurity=False).digest():
                    cut.append(f"objects/pack/{path.name}")
        return ": ".join(filter(None, ("a git pack that cannot be read", ", ".join(cut[:3]))))

    def close(self) -> None:
        """Let go of open packs."""
        packs, self._packs, self._pack = self._packs, None, None
        if packs is not None:
            packs.close()

    def keep(self, sha: str, entries: Mapping[str, TreeEntry]) -> None:
        """Know a tree that is about to be written."""
        self._trees[sha] = dict(entries)

    def write(self, objects: Iterable[tuple[str, bytes]], beside: Sequence[int] = ()) -> list[str]:
        """Store objects (kind, data), fsynced with the folders that name them; returns their ids.

        `beside` are open files that wait for their names: they reach the disk with the objects, and get none here.
        Returns only when a ref may point at the objects. Raises the errors of `from_os_error`.
        """
        ids = []
        waiting: list[Unnamed] = []
        folders: set[Path] = set()
        try:
            for kind, data in objects:
                sha = object_id(kind, data)
                ids.append(sha)
                self._prepare(sha, b"%s %d\0" % (kind.encode(), len(data)) + data, waiting, folders)
            sync_all([*(unnamed.handle for unnamed in waiting), *beside])
            while waiting:
                os.rename(waiting[-1].temporary, waiting[-1].path)
                os.close(waiting.pop().handle)
            _sync_folders(folders)
        except OSError as error:
            raise from_os_error(error, "writing the git history") from error
        finally:
            for unnamed in waiting:
                unnamed.discard()
        return ids

    def _prepare(self, sha: str, raw: bytes, waiting: list[Unnamed], folders: set[Path]) -> None:
        """Write one object beside the place that it is to have, and note what must reach the disk for it."""
        folder = self._folder / sha[:2]
        path = folder / sha[2:]
        folders.add(folder)
        if not folder.is_dir():
            with contextlib.suppress(FileExistsError):
                owners.make_folder(folder)
            folders.add(self._folder)
        if path.exists():
            # It may have been written without an fsync, and an old time makes it a candidate for `git gc`.
            _sync_existing(path)
            return
        temporary = folder / f"tmp_obj_{os.urandom(6).hex()}"
        waiting.append(Unnamed.write(temporary, path, zlib.compress(raw, 1), 0o444))


class Unnamed(NamedTuple):
    """A file that is written, not yet on the disk, and has no name yet."""

    handle: int
    temporary: Path
    path: Path

    @classmethod
    def write(cls, temporary: Path, path: Path, data: bytes, mode: int = 0o644) -> Unnamed:
        """Write `data` to the new file `temporary`, which is to become `path`, and belongs to whom that does.

        Raises OSError and leaves none then.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        unnamed = cls(os.open(temporary, flags, mode), temporary, path)
        try:
            atomic.write_all(unnamed.handle, data)
            if (old := owners.settle(unnamed.handle, path)) is not None:
                os.fchmod(unnamed.handle, old.st_mode & 0o7777)
        except OSError:
            unnamed.discard()
            raise
        return unnamed

    def discard(self) -> None:
        """Let go of the file, once, and remove it unless it got its name."""
        with contextlib.suppress(OSError):
            os.close(self.handle)
        with contextlib.suppress(OSError):
            os.unlink(self.temporary)


def _named(pack: Path) -> set[str]:
    """The objects of a pack, by its index (version 2: a table of 256 counts, then the ids in order)."""
    data = regular.read(pack.with_suffix(".idx"))
    if data[:8] != b"\xfftOc\0\0\0\2":
        raise ValueError("an index of another version")
    number = int.from_bytes(data[8 + 255 * 4 : 8 + 256 * 4], "big")
    names = data[8 + 256 * 4 :][: number * 20]
    if len(names) != number * 20:
        raise ValueError("an index that was cut off")
    return {names[at : at + 20].hex() for at in range(0, len(names), 20)}


def _sync_folders(folders: Iterable[Path]) -> None:
    with contextlib.ExitStack() as opened:
        handles = []
        for folder in folders:
            handles.append(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            opened.callback(os.close, handles[-1])
        sync_all(handles)


def _sync_existing(path: Path) -> None:
    with contextlib.suppress(PermissionError):
        os.utime(path)
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
