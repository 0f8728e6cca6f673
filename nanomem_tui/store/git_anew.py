"""Every object of a repository as it is to be: blobs and messages cleaned, all that names them by its id written after
them. Notes, whose names are the ids of what they stand at, follow these.

Names of files, authors, times and the form of the history stay; signatures go, as they sign what is no more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from nanomem_tui.store.git_objects import (
    FOLDER_MODE,
    SUBMODULE_MODE,
    ObjectStore,
    TreeEntry,
    dump_tree,
    is_sha,
    object_id,
    parse_tree,
    tree_rows,
)

Clean = Callable[[bytes], bytes]
_AT_ONCE = 500
_NAMES = (b"tree", b"parent", b"object")
_SIGNATURE = re.compile(rb"(?m)^-----BEGIN (?:PGP SIGNATURE|PGP MESSAGE|SSH SIGNATURE|SIGNED MESSAGE)-----")
_FAN = re.compile(r"[0-9a-f]{2}")


def leads_to(kind: str, data: bytes) -> list[str]:
    """The objects that one needs; a submodule's commit lies elsewhere. Raises DamagedGit."""
    if kind == "tree":
        return [sha for mode, _, sha, _ in tree_rows(data) if mode != SUBMODULE_MODE]
    if kind == "blob":
        return []
    lines = (line.partition(b" ") for line in data.partition(b"\n\n")[0].split(b"\n"))
    ids = (value.decode("ascii", "replace") for name, _, value in lines if name in _NAMES)
    return [sha for sha in ids if is_sha(sha)]


def words(kind: str, data: bytes) -> list[bytes]:
    """The messages of a commit or a tag: its own, and that of a tag which it merged; without signatures."""
    head, _, said = data.partition(b"\n\n")
    merged = _split(head)[1]
    return [_unsigned(said) if kind == "tag" else said, *([merged] if merged else [])]


class Anew:
    """The new id of every object; written in portions.

    `ids`: the objects that are there; `notes`: commits of notes. What is missing keeps its id, and what leads to it is
    `broken`.
    """

    def __init__(self, objects: ObjectStore, ids: set[str], notes: set[str], clean: Clean, message: Clean) -> None:
        self._objects = objects
        self._ids = ids
        self._clean = clean
        self._message = message
        self._waiting: list[tuple[str, bytes]] = []
        self._notes = self._with_parents(notes)
        self.known: dict[str, str] = {}
        self.commits: set[str] = set()
        self.broken: set[str] = set()

    @property
    def gone(self) -> set[str]:
        """The objects that are no more."""
        return {old for old, new in self.known.items() if old != new} - set(self.known.values())

    def make(self) -> None:
        """Write all that changes. Raises DamagedGit for an object that cannot be read, and the store's errors."""
        for sha in sorted(self._ids):
            self._of(sha)
        self._flush()

    def _with_parents(self, tops: set[str]) -> set[str]:
        seen: set[str] = set()
        todo = [sha for sha in tops if sha in self._ids]
        while todo:
            sha = todo.pop()
            kind, data = self._objects.raw(sha)
            if sha not in seen and kind == "commit":
                seen.add(sha)
                todo += [one for one in leads_to(kind, data)[1:] if one in self._ids]
        return seen

    def _of(self, sha: str) -> None:
        """The new id of an object and, before it, of all that it leads to; parents first, without recursion, as a
        history is longer than a stack."""
        todo = [sha]
        while todo:
            one = todo[-1]
            if one in self.known:
                todo.pop()
                continue
            kind, data = self._objects.raw(one)
            inner = leads_to(kind, data)
            asked = [*inner, *(self._at(inner[0]) if one in self._notes and inner else ())]
            needed = [sha for sha in asked if sha in self._ids and sha not in self.known]
            if needed:
                todo += needed
                continue
            if any(sha not in self._ids or sha in self.broken for sha in inner):
                self.broken.add(one)
            self.known[one] = self._made(one, kind, data)
            todo.pop()

    def _made(self, sha: str, kind: str, data: bytes) -> str:
        if kind == "blob":
            new = self._clean(data)
        elif kind == "tree":
            new = _tree(data, self.known)
        else:
            self.commits.add(sha)
            new = self._headed(sha, kind, data)
        return sha if new == data else self._put(kind, new)

    def _put(self, kind: str, data: bytes) -> str:
        self._waiting.append((kind, data))
        if len(self._waiting) >= _AT_ONCE:
            self._flush()
        return object_id(kind, data)

    def _flush(self) -> None:
        self._objects.write(self._waiting)
        self._waiting = []

    def _headed(self, sha: str, kind: str, data: bytes) -> bytes:
        """A commit or a tag with the new ids and the new message; without its signature where anything changed."""
        head, gap, said = data.partition(b"\n\n")
        before, merged = _split(head)
        text = _unsigned(said) if kind == "tag" else said
        lines = [self._line(line, noted=sha in self._notes) for line in before]
        new = self._message(text)
        if lines == before and new == text and self._message(merged) == merged:
            return data
        return b"\n".join(lines) + gap + new

    def _line(self, line: bytes, *, noted: bool) -> bytes:
        name, _, value = line.partition(b" ")
        old = value.decode("ascii", "replace")
        if name not in _NAMES or not is_sha(old):
            return line
        new = self._noted(old) if noted and name == b"tree" and old in self._ids else self.known.get(old, old)
        return name + b" " + new.encode()

    def _at(self, tree: str) -> list[str]:
        """What the notes of a tree stand at."""
        return [path.replace("/", "") for path, _ in self._leaves(tree)] if tree in self._ids else []

    def _leaves(self, tree: str, above: str = "") -> Iterator[tuple[str, TreeEntry]]:
        """The notes by their paths, which are ids, cut by slashes where they are many; and what else is there."""
        for name, entry in parse_tree(self._objects.raw(tree)[1], tree).items():
            if entry.is_folder and _FAN.fullmatch(name) and entry.sha in self._ids and len(above) < 60:
                yield from self._leaves(entry.sha, f"{above}{name}/")
            else:
                yield above + name, entry

    def _noted(self, tree: str) -> str:
        """The tree of notes with each where its commit is now; two that meet become one, as `git notes append` does."""
        leaves = list(self._leaves(tree))
        if all(self._moved(path) == path for path, _ in leaves):
            return self.known[tree]
        found: dict[str, TreeEntry] = {}
        for path, entry in leaves:
            now = entry._replace(sha=self.known.get(entry.sha, entry.sha))
            other = found.get(self._moved(path))
            if other is not None and other.sha != now.sha and other.is_file and now.is_file:
                self._flush()
                texts = [self._objects.blob(one.sha).rstrip(b"\n") for one in (other, now)]
                now = now._replace(sha=self._put("blob", b"\n\n".join(texts) + b"\n"))
            found[self._moved(path)] = now
        return self._folded(found)

    def _moved(self, path: str) -> str:
        """The path of a note whose commit has a new id, cut at the same places."""
        old = path.replace("/", "")
        new = self.known.get(old, old) if is_sha(old) else old
        if new == old:
            return path
        digits = iter(new)
        return "".join("/" if sign == "/" else next(digits) for sign in path)

    def _folded(self, leaves: Mapping[str, TreeEntry]) -> str:
        entries: dict[str, TreeEntry] = {}
        inner: dict[str, dict[str, TreeEntry]] = {}
        for path, entry in leaves.items():
            name, slash, rest = path.partition("/")
            if slash:
                inner.setdefault(name, {})[rest] = entry
            else:
                entries[name] = entry
        for name, below in inner.items():
            entries[name] = TreeEntry(FOLDER_MODE, self._folded(below))
        return self._put("tree", dump_tree(entries))


def _tree(data: bytes, known: Mapping[str, str]) -> bytes:
    """A tree with the new ids, and every other byte as it is."""
    new = bytearray(data)
    for mode, _, sha, at in tree_rows(data):
        if mode != SUBMODULE_MODE and sha in known:
            new[at : at + 20] = bytes.fromhex(known[sha])
    return bytes(new)


def _split(head: bytes) -> tuple[list[bytes], bytes]:
    """The lines of a head without signatures and merged tags, and the message of these tags."""
    kept: list[bytes] = []
    merged: list[bytes] = []
    field = b""
    for line in head.split(b"\n"):
        if not line.startswith(b" "):
            field = line.partition(b" ")[0]
        if field == b"mergetag":
            merged.append(line[1:])
        elif field != b"gpgsig" and not field.startswith(b"gpgsig-"):
            kept.append(line)
    return kept, _unsigned(b"\n".join(merged).partition(b"\n\n")[2])


def _unsigned(said: bytes) -> bytes:
    """The message of a tag without the signature behind it."""
    begin = _SIGNATURE.search(said)
    return said[: begin.start()] if begin else said
