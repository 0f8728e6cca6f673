"""What in the folder of a repository names objects: refs, HEAD and its kin, reflogs and staging areas, also those of
linked worktrees; and the words that stand beside them.

Reads where they point, and points them elsewhere. Must not know what objects hold.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from nanomem_tui import regular
from nanomem_tui.errors import Refused
from nanomem_tui.store import atomic, git_index, git_refs
from nanomem_tui.store.git_objects import DamagedGit, is_sha

Kind = Literal["ids", "log", "index", "words"]
State = dict[Path, tuple[Kind, bytes]]
"""The files that name objects, what each is, and its bytes."""

_KIN = re.compile(r"[A-Z][A-Z_]*")
_WORDS = re.compile(r"[A-Z_]+MSG")
_FIRST = re.compile(rb"(?m)^(\^?)([0-9a-f]{40})(?=\s|$)")
_LOGGED = re.compile(rb"(?m)^([0-9a-f]{40}) ([0-9a-f]{40})( [^\t\n]*\t?)([^\n]*)$")


def folders(git_dir: Path) -> list[Path]:
    """The repository's folder, and that of each linked worktree in it. Raises OSError."""
    found = [git_dir]
    with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(git_dir / "worktrees") as entries:
        found += sorted(Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False))
    return found


def state(git_dir: Path) -> State:
    """Every file that names objects. Links, and what is no file, are not followed. Raises OSError."""
    found: State = {}
    for folder in folders(git_dir):
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.is_file(follow_symlinks=False))
        kinds: dict[Path, Kind] = {folder / name: kind for name in names if (kind := _kind(name)) is not None}
        kinds |= dict.fromkeys(_below(folder / "refs"), "ids")
        kinds |= dict.fromkeys(_below(folder / "logs"), "log")
        found |= {path: (kind, regular.read(path)) for path, kind in kinds.items()}
    return found


def _kind(name: str) -> Kind | None:
    if name == "index":
        return "index"
    if _WORDS.fullmatch(name):
        return "words"
    return "ids" if name == "packed-refs" or _KIN.fullmatch(name) else None


def _below(folder: Path) -> list[Path]:
    walked = (Path(at, name) for at, _, names in os.walk(folder) for name in names if not name.endswith(".lock"))
    return sorted(path for path in walked if path.is_file() and not path.is_symlink())


def checkouts(git_dir: Path) -> list[Path]:
    """The folders of the linked worktrees that are there. Raises OSError."""
    found = []
    for folder in folders(git_dir)[1:]:
        with contextlib.suppress(FileNotFoundError):
            said = os.fsdecode(regular.read(folder / "gitdir")).rstrip("\n")
            found.append(Path(os.path.normpath(folder / said)).parent)
    return [path for path in found if path.is_dir()]


def _is_ref(name: str) -> bool:
    return name == "refs/stash" or git_refs.is_safe(name)


def refs(git_dir: Path, found: State) -> dict[str, str]:
    """The object of each ref that all worktrees share, and of HEAD. Raises DamagedGit for one that cannot be read."""
    named: dict[str, str] = {}
    packed = found.get(git_dir / "packed-refs", ("ids", b""))[1]
    for line in packed.decode("utf-8", "replace").split("\n"):
        sha, _, name = line.partition(" ")
        if is_sha(sha) and _is_ref(name.strip()):
            named[name.strip()] = sha
    for path, (kind, data) in found.items():
        name = path.relative_to(git_dir).as_posix()
        said = data.decode("utf-8", "replace").strip()
        if kind != "ids" or not _is_ref(name) or said.startswith("ref:"):
            continue
        if not is_sha(said):
            raise DamagedGit("a git branch that cannot be read", name)
        named[name] = said
    head = git_refs.read_head(git_dir).sha
    return named | ({"HEAD": head} if head is not None else {})


def kin(git_dir: Path, found: State) -> dict[str, str]:
    """The objects that HEAD of a linked worktree, its own refs, ORIG_HEAD and the like name, by path."""
    named: dict[str, str] = {}
    for path, (kind, data) in found.items():
        name = path.relative_to(git_dir).as_posix()
        if kind == "ids" and name not in ("HEAD", "packed-refs") and not name.startswith("refs/"):
            ids = [match[2].decode() for match in _FIRST.finditer(data)]
            named |= {name if not number else f"{name}-{number}": sha for number, sha in enumerate(ids)}
    return named


def stashed(git_dir: Path, found: State) -> list[str]:
    """The commits of the stash, `stash@{0}` first."""
    lines = _LOGGED.findall(found.get(git_dir / "logs" / "refs" / "stash", ("log", b""))[1])
    return [line[1].decode() for line in reversed(lines)]


def notes(git_dir: Path, found: State) -> set[str]:
    """The commits of notes, now and by their reflogs."""
    ids = {sha for name, sha in refs(git_dir, found).items() if name.startswith("refs/notes/")}
    for path, (kind, data) in found.items():
        if kind == "log" and path.is_relative_to(git_dir / "logs" / "refs" / "notes"):
            ids |= {sha.decode() for line in _LOGGED.findall(data) for sha in line[:2]}
    return ids


def every(found: State) -> set[str]:
    """All ids that these files name."""
    ids: set[str] = set()
    for kind, data in found.values():
        if kind == "ids":
            ids |= {match[2].decode() for match in _FIRST.finditer(data)}
        elif kind == "log":
            ids |= {sha.decode() for line in _LOGGED.findall(data) for sha in line[:2]}
        elif kind == "index":
            ids |= set(git_index.ids(data) or ())
    return ids


def words(found: State) -> Iterator[tuple[str, bytes]]:
    """(name of the file, text) of each message that is kept beside the objects."""
    for path, (kind, data) in found.items():
        if kind == "log":
            yield from ((path.name, line[3]) for line in _LOGGED.findall(data))
        elif kind == "words":
            yield path.name, data


def renewed(found: State, new: Mapping[str, str], message: Callable[[bytes], bytes]) -> dict[Path, bytes]:
    """What is to stand in the files that change: the new ids, each message as `message` makes it. Raises Refused."""

    def now(sha: bytes) -> bytes:
        return new.get(sha.decode(), sha.decode()).encode()

    changed = {}
    for path, (kind, data) in found.items():
        if kind == "ids":
            then = _FIRST.sub(lambda match: match[1] + now(match[2]), data)
        elif kind == "log":
            then = _LOGGED.sub(lambda line: b"%s %s%s%s" % (
                now(line[1]), now(line[2]), line[3], message(line[4]).replace(b"\n", b" ")), data)  # fmt: skip
        elif kind == "words":
            then = message(data)
        else:
            then = _index(path, data, new)
        if then != data:
            changed[path] = then
    return changed


def _index(path: Path, data: bytes, new: Mapping[str, str]) -> bytes:
    then = git_index.renamed(data, new)
    if then is None:
        raise Refused(INDEX, str(path), INDEX_FIX)
    return then


INDEX = "the staging area of the git repository is split, sparse or damaged"
INDEX_FIX = "`git update-index --no-split-index` or `git sparse-checkout reapply --no-sparse-index` makes it whole"


@contextlib.contextmanager
def held(git_dir: Path, found: State) -> Iterator[None]:
    """Hold git's locks of all that is to move. Raises Refused where another program has one, or where anything is no
    longer as it was found."""
    fixed = [folder / name for folder in folders(git_dir) for name in ("HEAD", "index")]
    loose = [path for path, (kind, _) in found.items() if kind == "ids" and "refs" in path.relative_to(git_dir).parts]
    with contextlib.ExitStack() as stack:
        mark = stack.enter_context(git_refs.marked(git_dir))
        os.fsync(mark.handle)
        for path in dict.fromkeys((*fixed, git_dir / "packed-refs", *loose)):
            stack.enter_context(git_refs.lock(path, mark))
        if state(git_dir) != found:
            raise Refused("the git history changed meanwhile", str(git_dir), "try again when no git command runs")
        yield


def move(changed: Mapping[Path, bytes]) -> None:
    """Write the files anew; HEAD and refs come last. Raises the errors of `from_os_error`."""
    for path in sorted(changed, key=lambda one: ("refs" in one.parts and "logs" not in one.parts, one)):
        atomic.write_atomic(path, changed[path], mode=0o644)
