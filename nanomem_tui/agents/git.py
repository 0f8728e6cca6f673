"""The folder of a git repository: whether we use it, its refs, its staging area, how one is made; commits as values.

Reads and writes through dulwich's refs and index, never through its porcelain: no hook, filter or setting that the
repository names ever acts. `git_history` reads and writes objects.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeVar

from nanomem_tui.agents.archive import parse_cursor
from nanomem_tui.core import atomic
from nanomem_tui.core import files as core_files
from nanomem_tui.core.errors import NanomemError, Refused
from nanomem_tui.core.paths import DREAM_CURSOR

if TYPE_CHECKING:
    from dulwich.objects import ObjectID
    from dulwich.refs import DiskRefsContainer, Ref

    from nanomem_tui.core.merge import Hunk


# What the git history shows: a commit, its statistics, and the text of a file before and after. Values only.

CommitActor = Literal["dream", "human", "agent"]
_ENTRIES = re.compile(r"\b(\d+) entr(?:y|ies)\b")
_SHA = re.compile(r"[0-9a-f]{40}")


class DamagedGit(NanomemError):
    """An object or a ref of the repository that cannot be read."""


class DamagedPack(DamagedGit):
    """A file of many objects that cannot be read."""


class ElsewhereHead(DamagedGit):
    """HEAD leads to a branch without commits, while others have some."""


class FileStat(NamedTuple):
    """Lines added to and removed from one file."""

    path: str
    added: int
    removed: int


class FileDiff(NamedTuple):
    """One file of a commit as text; `before` or `after` is None where the file was absent.

    `damage` says why the texts cannot be read: then both are empty, and mean nothing.
    """

    path: str
    before: str | None
    after: str | None
    damage: str = ""

    @property
    def hunks(self) -> tuple[Hunk, ...]:
        """The differences, three lines of context."""
        from nanomem_tui.core import merge

        return merge.hunks(self.before or "", self.after or "")

    def unified(self) -> str:
        """The differences as a unified diff, or why there is none."""
        if self.damage:
            return f"{self.path} cannot be read: {self.damage}\n"
        from nanomem_tui.core import merge

        return merge.unified(self.path, self.before, self.after)


class History(Protocol):
    """What a commit asks of the history that it was read from."""

    def read(self, sha: str) -> Commit:
        """Read a commit. Raises DamagedGit."""

    def counted(self, sha: str) -> tuple[tuple[FileStat, ...], str]:
        """Count the lines that a commit added to and removed from each file; also why some cannot be counted."""

    def cursor_at(self, sha: str) -> int | None:
        """Return the Dream cursor in the tree of a commit, None where it was not kept."""


class Commit:
    """One commit: its ids are 40 hex digits, `at` is the committer's time in UTC ISO, `author` is `Name <mail>`.

    What costs reading more than the commit itself is computed at the first look.
    """

    def __init__(
        self, git: History, sha: str, tree: str, parents: tuple[str, ...], author: str, at: str, message: str
    ) -> None:
        self._git = git
        self.sha = sha
        self.tree = tree
        self.parents = parents
        self.author = author
        self.at = at
        self.message = message

    def __eq__(self, other: object) -> bool:
        """The same commit, wherever it was read."""
        return isinstance(other, Commit) and self.sha == other.sha

    def __hash__(self) -> int:
        """As `==` compares."""
        return hash(self.sha)

    @property
    def short(self) -> str:
        """The first 8 digits of the id, as agents print it."""
        return self.sha[:8]

    @property
    def subject(self) -> str:
        """The first line of the message."""
        return self.message.lstrip("\n").split("\n", 1)[0].rstrip()

    @property
    def parent(self) -> str | None:
        """The id of the first parent, None for the first commit."""
        return self.parents[0] if self.parents else None

    @property
    def is_dream(self) -> bool:
        """Whether a Dream made it: the prefix that the agent's own `/dream-log` looks for."""
        return self.message.startswith("dream:")

    @property
    def actor(self) -> CommitActor:
        """Who made it: a Dream, the agent otherwise (its first commit, its restores), or a person."""
        if self.is_dream:
            return "dream"
        return "agent" if "nanobot@dream" in self.author else "human"

    @cached_property
    def _counted(self) -> tuple[tuple[FileStat, ...], str]:
        return self._git.counted(self.sha)

    @property
    def files(self) -> tuple[FileStat, ...]:
        """The files it changed, with lines added and removed."""
        return self._counted[0]

    @property
    def damage(self) -> str:
        """Why the lines of some of its files cannot be counted, "" where all are."""
        return self._counted[1]

    @cached_property
    def cursor_before(self) -> int | None:
        """The Dream cursor in the parent's tree, None where it was not kept."""
        return self._git.cursor_at(self.parent) if self.parent else None

    @cached_property
    def cursor_after(self) -> int | None:
        """The Dream cursor in its own tree, None where it was not kept."""
        return self._git.cursor_at(self.sha)

    @cached_property
    def entries(self) -> int | None:
        """How many history entries a Dream went through, None when neither message nor cursor tell."""
        if not self.is_dream:
            return None
        if named := _ENTRIES.search(self.subject):
            return int(named[1])
        if self.cursor_after is None or not any(stat.path == DREAM_CURSOR for stat in self.files):
            return None
        if self.cursor_before is None and not self.is_first:  # no earlier commit kept it: its start is not known
            return None
        return max(0, self.cursor_after - (self.cursor_before or 0))

    @property
    def is_first(self) -> bool:
        """Whether only the commit that made the repository comes before it."""
        try:
            return self.parent is None or not self._git.read(self.parent).parents
        except NanomemError:  # the parent cannot be read
            return False


def is_sha(text: str) -> bool:
    """Whether `text` is a full id."""
    return _SHA.fullmatch(text) is not None


def id_of_blob(data: bytes) -> str:
    """The id that git gives to a file with these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def cursor_of(data: bytes | None) -> int | None:
    """The number in a cursor file, None when there is none or it is no number."""
    number = parse_cursor(data)
    return None if number is None else max(0, number)


_T = TypeVar("_T")
_MOST_OF_CONFIG = 1 << 20
_NO_DREAM = "no version is shown or kept, and no Dream runs,"
_FOLDER = f"{_NO_DREAM} until .git is a folder in the workspace, and holds what is in it"
_FORMAT = f"nothing is wrong with it; {_NO_DREAM} until the workspace has one in git's usual format, sha1 and files"
_FORMATS = (
    (rb'(?mi)^\s*objectformat\s*=\s*"?sha256\b', "its objects are named by SHA-256, which nanomem does not support"),
    (rb'(?mi)^\s*refstorage\s*=\s*"?reftable\b', "its branches are in a reftable, which nanomem does not support"),
)
_IN_PROGRESS = {
    "MERGE_HEAD": "a merge", "CHERRY_PICK_HEAD": "a cherry-pick", "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase", "rebase-apply": "a rebase", "sequencer": "a cherry-pick or revert",
    "BISECT_LOG": "a bisect", "BISECT_START": "a bisect", "NOTES_MERGE_PARTIAL": "a merge of notes",
}  # fmt: skip
_IGNORE = ("/*", "!memory/", "!SOUL.md", "!USER.md", "!memory/MEMORY.md", "!.gitignore")
_UNREADABLE = "the branches of the git repository cannot be read"
_NOWHERE = "HEAD of the git repository names nothing we can follow"
_INDEX_WAIT = 0.2  # seconds, for who holds the lock
_NOTE = "nanomem-locks"
_KILLED = 10.0  # seconds after its note in which a process of ours takes a lock, or was killed


# Whether it is one that we use


def why_unused(git_dir: Path, workspace: Path) -> tuple[str, str] | None:
    """Why a repository is not used, and what to do about it; None for one that is. Raises OSError."""
    if not git_dir.is_dir():
        return "a .git that is no folder (a worktree or a submodule) is not followed", _FOLDER
    inside = os.path.realpath(workspace)
    for part in (git_dir, git_dir / "objects", git_dir / "refs", git_dir / "HEAD", git_dir / "index"):
        if os.path.commonpath([os.path.realpath(part), inside]) != inside:
            return f"{part.name} of the git repository leads out of the workspace", _FOLDER
    config = git_dir / "config"
    if config.is_file():
        with core_files.opened(config) as file:
            said = file.read(_MOST_OF_CONFIG)
        for pattern, reason in _FORMATS:
            if re.search(pattern, said):
                return reason, _FORMAT
    return None


def why_outer_unused(git_dir: Path, workspace: Path) -> str:
    """Return why the repository of a folder above the workspace is not used, "" for one that is. Raises OSError."""
    if reason := why_unused(git_dir, git_dir.parent):
        return reason[0]
    if os.stat(git_dir).st_uid not in (os.geteuid(), os.stat(workspace).st_uid):
        return "it belongs to another account"
    return ""


def is_ignored(git_dir: Path, path: str) -> bool:
    """Return whether git would ignore the new file `path`, by the .gitignore files above it and info/exclude.

    True where one of them cannot be read: what might be ignored is not committed.
    """
    from dulwich.ignore import IgnoreFilter, IgnoreFilterManager

    root, *folders = "", *accumulate(f"{name}/" for name in path.split("/")[:-1])
    exclude = git_dir / "info" / "exclude"
    try:
        rules = [git_dir.parent / folder / ".gitignore" for folder in (root, *folders)]
        if not all(stat.S_ISREG(rule.lstat().st_mode) for rule in (*rules, exclude) if os.path.lexists(rule)):
            return True
        above = [IgnoreFilter.from_path(exclude)] if exclude.exists() else []
        manager = IgnoreFilterManager(str(git_dir.parent), above, False)
        return any(manager.is_ignored(part) for part in (*folders, path))
    except (OSError, ValueError, re.error):
        return True


def in_progress(git_dir: Path) -> str:
    """Return what git is in the midst of ("a merge"), "" where it is in nothing."""
    return next((what for name, what in _IN_PROGRESS.items() if os.path.lexists(git_dir / name)), "")


def refuse_misplaced(path: Path) -> None:
    """Raise DamagedGit where a pipe or a device lies in the place of a file: dulwich would wait for it for ever."""
    try:
        mode = path.stat().st_mode
    except OSError:  # nothing there, or who reads it says why it cannot be read
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise DamagedGit(f"a {core_files.kind_of(mode)} lies in the place of {path.name}", str(path), "move it away")


# Refs


class Head(NamedTuple):
    """Where HEAD points: the branch (None when detached) and the commit (None when the branch has none yet)."""

    branch: str | None
    sha: str | None

    @property
    def name(self) -> str:
        """The ref that a commit moves."""
        return self.branch or "HEAD"


def _container(git_dir: Path) -> DiskRefsContainer:
    """The refs, where one that cannot be read raises DamagedGit: dulwich takes an older one of `packed-refs` then."""
    from dulwich.refs import HEADREF, SYMREF, DiskRefsContainer

    class Refs(DiskRefsContainer):
        def read_loose_ref(self, name: Ref) -> bytes | None:
            path = git_dir / os.fsdecode(name)
            if name != HEADREF and not is_branch(os.fsdecode(name)):
                return None
            what = _NOWHERE if name == HEADREF else "a git branch that cannot be read"
            try:
                said = core_files.read(path).partition(b"\n")[0].rstrip(b"\r")
            except IsADirectoryError:  # of branches below it
                return None
            except OSError as error:
                if isinstance(error, FileNotFoundError) and not path.is_symlink():
                    return None
                raise DamagedGit(what, os.fsdecode(name)) from error
            if not said.startswith(SYMREF) and not is_sha(said.decode("utf-8", "replace")):
                raise DamagedGit(what, os.fsdecode(name))
            return said

        def get_packed_refs(self) -> dict[Ref, ObjectID]:
            refuse_misplaced(git_dir / "packed-refs")
            return super().get_packed_refs()

    return Refs(os.fspath(git_dir))


def read_head(git_dir: Path) -> Head:
    """HEAD of the repository. Raises DamagedGit."""
    from dulwich.refs import HEADREF

    if not (git_dir / "HEAD").is_file():
        raise DamagedGit("the git repository has no HEAD", str(git_dir))
    try:
        names, found = _container(git_dir).follow(HEADREF)
    except DamagedGit:
        raise
    except Exception as error:  # whatever a damaged file makes of it
        raise DamagedGit(_NOWHERE, str(git_dir)) from error
    name, sha = names[-1], None if found is None else found.decode("utf-8", "replace")
    if name == HEADREF:
        if sha is None or not is_sha(sha):
            raise DamagedGit(_NOWHERE, str(git_dir))
        return Head(None, sha)
    if not is_branch(os.fsdecode(name)):
        raise DamagedGit(_NOWHERE, str(git_dir))
    if sha is not None and not is_sha(sha):
        raise DamagedGit("a git branch that cannot be read", os.fsdecode(name))
    return Head(os.fsdecode(name), sha)


def is_branch(name: str) -> bool:
    """Whether it is the name of a ref, which never leads out of `refs/`."""
    from dulwich.refs import Ref, check_ref_format

    return name.startswith("refs/") and check_ref_format(Ref(os.fsencode(name)))


def refs(git_dir: Path) -> dict[str, str]:
    """The object of each ref, of HEAD, and of HEAD in each linked worktree. Raises DamagedGit."""
    try:
        named = _container(git_dir).as_dict()
        found = {os.fsdecode(name): sha.decode("ascii", "replace") for name, sha in named.items()}
    except DamagedGit:
        raise
    except Exception as error:  # whatever a damaged file makes of it
        raise DamagedGit(_UNREADABLE, str(git_dir)) from error
    for folder in worktrees(git_dir):
        with contextlib.suppress(OSError):  # a folder without a HEAD is no worktree
            said = core_files.read(folder / "HEAD").decode("utf-8", "replace").strip()
            found |= {(folder / "HEAD").relative_to(git_dir).as_posix(): said} if is_sha(said) else {}
    return found


def worktrees(git_dir: Path) -> list[Path]:
    """The folder of each linked worktree."""
    return sorted(path for path in (git_dir / "worktrees").glob("*") if path.is_dir() and not path.is_symlink())


def kept_messages(git_dir: Path) -> Iterator[tuple[Path, bytes]]:
    """Each message that is kept beside the objects, with its file: of reflogs, and what was typed for a commit.

    Raises OSError.
    """
    for folder in (git_dir, *worktrees(git_dir)):
        for path in sorted(folder.glob("*MSG")):
            if path.is_file() and not path.is_symlink():
                yield path, core_files.read(path)
        for path in sorted((folder / "logs").rglob("*")):
            if path.is_file() and not path.is_symlink():
                yield from ((path, line.partition(b"\t")[2]) for line in core_files.read(path).splitlines())


def move_branch(git_dir: Path, head: Head, new: str, wait: float = 2.0) -> bool:
    """Move the branch of `head` to the commit `new`, durable; False where HEAD, or the branch, is elsewhere by now.

    Raises Refused while another program holds git's lock longer than `wait` seconds, DamagedGit where the refs cannot
    be read, and OSError.
    """
    from dulwich.objects import ZERO_SHA, ObjectID
    from dulwich.refs import Ref

    name = Ref(os.fsencode(head.name))
    old = ObjectID(head.sha.encode()) if head.sha else ZERO_SHA
    container = _container(git_dir)
    with _noted(git_dir, head.name):
        if read_head(git_dir) != head:
            return False
        try:
            if not when_free(lambda: container.set_if_equals(name, old, ObjectID(new.encode())), wait):
                return False
        except (OSError, NanomemError):
            raise
        except Exception as error:  # whatever a damaged `packed-refs` makes of it
            raise DamagedGit(_UNREADABLE, str(git_dir)) from error
    path = git_dir / head.name
    atomic.give_to_folder_owner(path, path.parent)
    atomic.sync_folder(path.parent)
    return True


def log_move(git_dir: Path, head: Head, new: str, person: str, reason: str) -> None:
    """Note a move in the reflogs that exist; `person` is `Name <mail> seconds zone`. The commit stands without it."""
    line = f"{head.sha or '0' * 40} {new} {person}\t{reason}\n".encode("utf-8", "replace")
    for name in {head.name, "HEAD"}:
        with contextlib.suppress(OSError):
            handle = os.open(git_dir / "logs" / name, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK)
            with open(handle, "ab") as file:
                file.write(line)


@contextlib.contextmanager
def _noted(git_dir: Path, name: str) -> Iterator[None]:
    """Note that we take git's lock of `name`; one that a killed process of ours had noted, and left, is removed first.

    The note lies under a flock, which the kernel lets go of with the process.
    """
    with atomic.locked(git_dir / _NOTE) as note:
        if (left := noted_lock(git_dir)) is not None:
            with contextlib.suppress(OSError):
                left.unlink()
        os.ftruncate(note, 0)
        os.pwrite(note, os.fsencode(name), 0)
        try:
            yield
        finally:
            os.ftruncate(note, 0)


def noted_lock(git_dir: Path) -> Path | None:
    """The lock that a process of ours noted and holds, or left when it was killed; None where there is none.

    A lock that is older than the note is another program's, and so is one that came long after.
    """
    note = git_dir / _NOTE
    try:
        name = os.fsdecode(core_files.read(note, 4096))
        if name not in ("index", "HEAD") and not is_branch(name):
            return None
        lock, inside = git_dir / f"{name}.lock", os.path.realpath(git_dir)
        if os.path.commonpath([os.path.realpath(lock.parent), inside]) != inside:
            return None
        return lock if -0.1 < lock.lstat().st_mtime - note.stat().st_mtime < _KILLED else None
    except OSError:
        return None


def when_free(do: Callable[[], _T], wait: float) -> _T:
    """What `do` returns, once nobody holds git's lock any more. Raises Refused after `wait` seconds."""
    from dulwich.file import FileLocked

    deadline = time.monotonic() + wait
    while True:
        try:
            return do()
        except FileLocked as error:
            if time.monotonic() >= deadline:
                held = os.fsdecode(error.lockfilename)
                raise Refused("another program has locked the git history", held, "wait, or remove a stale lock") from (
                    error
                )
            time.sleep(0.005)


# The staging area


class Staged(NamedTuple):
    """One file for the index: its blob before and after our commit (None: absent) and its mode."""

    before: str | None
    after: str | None
    mode: int


def staged(git_dir: Path) -> dict[str, str] | None:
    """The blob of each entry by its path, "" for one in conflict; None for an index that cannot be read."""
    from dulwich.index import Index, IndexEntry

    try:
        refuse_misplaced(git_dir / "index")
        entries = Index(os.fspath(git_dir / "index")).items()
    except Exception:  # noqa: BLE001  whatever a damaged file makes of it
        return None
    return {os.fsdecode(name): one.sha.decode() if isinstance(one, IndexEntry) else "" for name, one in entries}


def stage(git_dir: Path, files: Mapping[str, Staged]) -> bool:
    """Bring the entries of files that we committed up to date; returns whether the index is now right.

    Our commits are built without it: this is only so that a person's `git status` is clean, and a plain `git commit`
    does not take our change back. An entry that somebody staged stays; an index that is locked or that we cannot read
    stays as it is. Never raises for these.
    """
    from dulwich.file import GitFile
    from dulwich.index import Index, IndexEntry, write_index_dict
    from dulwich.objects import ObjectID
    from dulwich.pack import SHA1Writer

    path = git_dir / "index"

    def update() -> None:
        # not by the index's own way to write, which keeps what it has of the file when it is interrupted
        with GitFile(os.fspath(path), "wb") as file:
            old = dict(Index(os.fspath(path)).items())
            new = dict(old)  # without the caches behind the entries, which describe the old ones
            for local, one in files.items():
                name = os.fsencode(local)
                held = old.get(name)
                sha = held.sha.decode() if isinstance(held, IndexEntry) else None
                if sha == one.after or sha != one.before or (held is not None and sha is None):
                    continue
                if one.after is None:
                    del new[name]
                else:  # times and size are zero: git then compares contents
                    new[name] = IndexEntry(0, 0, 0, 0, one.mode, 0, 0, 0, ObjectID(one.after.encode()))
            if new == old:
                file.abort()
                return
            writer = SHA1Writer(file)
            write_index_dict(writer, new)
            writer.write_sha()
        atomic.give_to_folder_owner(path, git_dir)

    try:
        refuse_misplaced(path)
        with _noted(git_dir, "index"):
            when_free(update, _INDEX_WAIT)
    except Exception:  # noqa: BLE001  locked, damaged, or of a form that is not ours to write
        return False
    return True


# How one is made


def make_repository(git_dir: Path) -> None:
    """An empty repository on the branch `master`, complete before it gets its name. Raises OSError."""
    from dulwich.repo import Repo

    with tempfile.TemporaryDirectory(prefix=".nanomem-", suffix="-tmp", dir=git_dir.parent) as folder:
        Repo.init(folder, default_branch=b"master").close()
        building = Path(folder, ".git")
        for name in ("logs/HEAD", "logs/refs/heads/master"):
            atomic.make_folder((building / name).parent, 0o777)
            (building / name).touch()
        for path in (building, *building.rglob("*")):
            atomic.give_to_folder_owner(path, git_dir.parent)
            (atomic.sync_folder if path.is_dir() else atomic.sync_file)(path)
        building.rename(git_dir)
    atomic.sync_folder(git_dir.parent)


def merged_ignore(path: Path) -> bytes:
    """Write the lines that the agent's `.gitignore` needs and that are missing; returns the whole content.

    Raises OSError and the errors of `from_os_error`.
    """
    old = core_files.read(path) if path.is_file() else b""
    held = {line.strip() for line in old.decode("utf-8", "replace").split("\n")}
    missing = [line for line in _IGNORE if line not in held]
    if not missing and old:
        return old
    guard = b"\n" if old and not old.endswith(b"\n") else b""
    data = old + guard + "\n".join(missing).encode() + b"\n"
    atomic.write_atomic(path, data, mode=0o644)
    return data
