"""The versions of SOUL, USER and MEMORY in a git repository: read them, add commits, and find who wrote each line.

Works on dulwich's objects and refs only, so nothing that the repository plants (hooks, filters, fsmonitor, includes,
attributes, signing) ever runs, and a held `index.lock` stops nothing. A commit is built on the tree of HEAD: blobs,
trees and the commit are written and fsynced, then the branch moves by compare-and-swap, durable when `commit_files`
returns.

The staging area is not needed for that. The agent stages its four files itself before each of its commits, so it never
takes our change back; but a person's `git status` would show our change as staged in reverse. Therefore the entries of
the files that we committed are brought up to date afterwards: only where they were what they had been before, and given
up quietly when another program holds the lock.

Must not know Dreams as edits, the log of operations, or how a file is written.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.agents import git
from nanomem_tui.agents.archive import decode_short_id
from nanomem_tui.agents.git import (
    Commit,
    DamagedGit,
    DamagedPack,
    ElsewhereHead,
    FileDiff,
    FileStat,
    Head,
    Staged,
    cursor_of,
    id_of_blob,
    read_head,
)
from nanomem_tui.core import atomic, clock, merge
from nanomem_tui.core import files as core_files
from nanomem_tui.core.errors import (
    AccessDenied,
    Conflict,
    NanomemError,
    NotFound,
    Problem,
    Refused,
    from_os_error,
    shown_error,
)
from nanomem_tui.core.paths import DREAM_CURSOR, TRACKED_FILES, Paths

if TYPE_CHECKING:
    from dulwich.object_store import DiskObjectStore
    from dulwich.objects import ShaFile


AUTHOR = "nanomem <nanomem@localhost>"
VERSIONED = (*TRACKED_FILES, DREAM_CURSOR)
"""The files that an agent versions, as paths in the workspace."""

_AGENT = "nanobot <nanobot@dream>"
INIT_MESSAGE = "init: nanobot memory store"
MENDING = "`git fsck` in the workspace says what is lost; bring .git back from a copy, or move it away to begin anew"
FILE_MODE = 0o100644
FOLDER_MODE = 0o40000
_KINDS = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
_OBJECT_WAIT = 2.0  # seconds, for who writes the same object
_MAX_DIFF = 4 * 1024 * 1024
_OURS = 50  # commits of ours in a row that are looked at for what they left undone


Contents = Mapping[str, bytes | None]
"""New bytes by path; None takes the file away."""

BlobChange = tuple[str, str | None, str | None]
"""A path and the ids of its blobs before and after, None where it was absent."""


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


def covers(changed: str, path: str) -> bool:
    """Return whether a changed path is this file, or a folder around it that cannot be read."""
    return changed == path or (changed.endswith("/") and path.startswith(changed))


class Repository(NamedTuple):
    """What was found: a readable history or none, and why one that is there cannot be read or is not used.

    `why_none` says why the repository of a folder above the workspace keeps no versions of the memory files.
    """

    history: GitHistory | None
    problems: tuple[Problem, ...] = ()
    why_none: str = ""


def find_repository(paths: Paths) -> Repository:
    """Look for the repository of the workspace, else of `memory/`, else of a folder above the workspace.

    One above counts only when it tracks a memory file. Reads only; never raises for what it finds.
    """
    for git_dir in paths.git_dirs:
        if not os.path.lexists(git_dir):
            continue
        where = paths.relative(git_dir)
        try:
            if reason := git.why_unused(git_dir, paths.workspace):
                return Repository(None, (Problem(reason[0], where, fix=reason[1]),))
            if not (git_dir / "objects").is_dir():
                raise DamagedGit("not a git repository: it has no objects")
            history = GitHistory(git_dir, "memory/" if git_dir.parent == paths.memory else "")
            history.check()
            return Repository(history)
        except (NanomemError, OSError) as error:
            said = shown_error(error, "reading the git repository")
            fix = said.fix if isinstance(said, AccessDenied | ElsewhereHead) else MENDING
            return Repository(None, (Problem(said.what, where, fix=fix),))
    return _probe_outer(paths)


def _probe_outer(paths: Paths) -> Repository:
    git_dir = paths.outer_git_dir
    if git_dir is None:
        return Repository(None)
    root = git_dir.parent
    try:
        if not (reason := git.why_outer_unused(git_dir, paths.workspace)):
            history = GitHistory(git_dir, inside=f"{paths.workspace.relative_to(root).as_posix()}/")
            history.check()
            head = history.head()
            if head is not None and any(history.blob_id(head, name) for name in TRACKED_FILES):
                return Repository(history)
            reason = "it tracks none of SOUL.md, USER.md and memory/MEMORY.md"
    except (NanomemError, OSError) as error:
        reason = shown_error(error, "reading the git repository").what
    return Repository(None, why_none=f"the workspace lies in the git repository {root} ({reason})")


class GitHistory:
    """The commits of one repository, and the way to add one. File names are relative to the workspace."""

    def __init__(self, git_dir: Path, prefix: str = "", inside: str = "") -> None:
        """`prefix` is the folder of the workspace that the repository holds, `inside` (ending in a slash) the folder of
        the repository that the workspace is: then it is somebody's own, and only VERSIONED files in it are ours.
        """
        self.git_dir = git_dir
        self.prefix = prefix
        self.inside = inside
        self._commits: dict[str, Commit] = {}
        self._trees: dict[str, dict[str, TreeEntry]] = {}
        self.cut = ""
        """Why the last walk ended before the first commit; "" where it did not."""

    @classmethod
    def open(cls, paths: Paths) -> GitHistory | None:
        """The history of the workspace, None when there is none that can be read (`probe` says why)."""
        return find_repository(paths).history

    def check(self) -> None:
        """Raise DamagedGit unless HEAD leads to a commit, or to a branch where none has commits yet."""
        branch, head = read_head(self.git_dir)
        if head is None:
            others = sorted(name for name in git.refs(self.git_dir) if name.startswith("refs/heads/"))
            if others:
                fix = f"`git symbolic-ref HEAD {others[0]}` goes back to it"
                raise ElsewhereHead(f"HEAD names {branch}, which has no commit, while {others[0]} has", "", fix)
        if head is not None:
            tree = self.read(head).tree
            try:
                top = self.tree(tree)
            except DamagedPack:
                raise
            except DamagedGit:
                return  # what needs the newest files says so; all that came before can be read
            if self.prefix and "MEMORY.md" not in top and any(n in top for n in ("SOUL.md", "USER.md", "memory")):
                self.prefix = ""  # a repository in memory/ whose tree is that of the workspace

    # Objects

    @cached_property
    def _store(self) -> DiskObjectStore:
        from dulwich.object_store import DiskObjectStore

        store = DiskObjectStore(os.fspath(self.git_dir / "objects"), fsync_object_files=True)
        weakref.finalize(self, store.close)
        return store

    def close(self) -> None:
        """Let go of open packs."""
        if "_store" in self.__dict__:
            self._store.close()

    def ids(self) -> set[str]:
        """Every object that is there, reachable or not. Raises DamagedGit."""
        try:
            return {sha.decode() for sha in self._store}
        except Exception as error:  # whatever a damaged index of a pack makes of it
            raise DamagedPack(self._damaged_packs, "", "run `git fsck` in the workspace") from error

    def raw(self, sha: str) -> tuple[str, bytes]:
        """The kind and the bytes of an object. Raises DamagedGit and the errors of `from_os_error`."""
        from dulwich.objects import ObjectID

        try:
            git.refuse_misplaced(self._loose(sha))
            number, data = self._store.get_raw(ObjectID(sha.encode()))
            return _checked(sha, number, data)
        except KeyError as error:
            raise DamagedGit("a git object is missing", sha, "run `git fsck` in the workspace") from error
        except PermissionError as error:
            raise from_os_error(error, "reading the git history") from error
        except Exception as error:  # whatever a damaged file makes of it
            if (found := self._second_copy(sha)) is not None:
                return found
            if os.path.lexists(self._loose(sha)):
                raise DamagedGit("a git object that cannot be read", sha) from error
            raise DamagedPack(self._damaged_packs, sha, "run `git fsck` in the workspace") from error

    def _second_copy(self, sha: str) -> tuple[str, bytes] | None:
        """The object from a file of its own or a pack that can be read, where another cannot."""
        from dulwich.objects import ObjectID, ShaFile

        with contextlib.suppress(Exception):
            git.refuse_misplaced(self._loose(sha))
            loose = ShaFile.from_path(os.fspath(self._loose(sha)))
            return _checked(sha, loose.type_num, loose.as_raw_string())
        with contextlib.suppress(OSError):  # the folder of the packs is none
            for pack in self._store.packs:
                with contextlib.suppress(Exception):
                    return _checked(sha, *pack.get_raw(ObjectID(sha.encode())))
        return None

    def _loose(self, sha: str) -> Path:
        """Where an object lies that is a file of its own."""
        return self.git_dir / "objects" / sha[:2] / sha[2:]

    @cached_property
    def _damaged_packs(self) -> str:
        """What to say when an object that lies in a pack cannot be read: which files do not end in their own hash."""
        cut = []
        folder = self.git_dir / "objects" / "pack"
        for path in sorted((*folder.glob("*.pack"), *folder.glob("*.idx"))):
            with contextlib.suppress(OSError):
                data = core_files.read(path)
                if data[-20:] != hashlib.sha1(data[:-20], usedforsecurity=False).digest():
                    cut.append(f"objects/pack/{path.name}")
        return ": ".join(filter(None, ("a git pack that cannot be read", ", ".join(cut[:3]))))

    def _data(self, sha: str, kind: str) -> bytes:
        found, data = self.raw(sha)
        if found != kind:
            raise DamagedGit(f"a git object that should be a {kind}", sha)
        return data

    def blob(self, sha: str) -> bytes:
        """The bytes of the blob `sha`. Raises DamagedGit."""
        return self._data(sha, "blob")

    def tree(self, sha: str) -> dict[str, TreeEntry]:
        """The entries of the tree `sha` by name; not to be changed by the caller. Raises DamagedGit."""
        found = self._trees.get(sha)
        if found is None:
            from dulwich.objects import Tree

            data = self._data(sha, "tree")
            try:
                rows = Tree.from_string(data).iteritems()
                found = {os.fsdecode(name): TreeEntry(mode, inner.decode()) for name, mode, inner in rows}
            except Exception as error:  # whatever a damaged one makes of it
                raise DamagedGit("a git tree that cannot be read", sha) from error
            self._trees[sha] = found
        return found

    def read(self, sha: str) -> Commit:
        """The commit `sha`; where a shallow clone ends, without parents. Raises DamagedGit."""
        found = self._commits.get(sha)
        if found is None:
            from dulwich import objects

            data = self._data(sha, "commit")
            try:
                raw = objects.Commit.from_string(data)
                at = datetime.fromtimestamp(raw.commit_time, UTC).isoformat()
                author, message = raw.author.decode("utf-8", "replace"), _decoded(raw.message, raw.encoding)
                tree, parents = raw.tree.decode(), tuple(parent.decode() for parent in raw.parents)
            except Exception as error:  # whatever a damaged one makes of it
                raise DamagedGit("a git commit that cannot be read", sha) from error
            parents = () if sha in self._shallow else parents
            found = self._commits[sha] = Commit(self, sha, tree, parents, author, at, message)
        return found

    @cached_property
    def _shallow(self) -> frozenset[str]:
        """The commits whose parents a shallow clone does not hold."""
        try:
            return frozenset(core_files.read(self.git_dir / "shallow").decode("ascii").split())
        except (OSError, ValueError):
            return frozenset()

    def missing(self) -> Iterator[tuple[str, str, str]]:
        """Yield (name, what is wrong, fix) for each ref or worktree HEAD without its object. Raises DamagedGit."""
        for name, sha in git.refs(self.git_dir).items():
            try:
                self.raw(sha)
            except DamagedGit:
                begin = "look for it in a bundle or a backup (`git fetch FILE 'refs/*:refs/old/*'`)"
                if name.startswith("worktrees/"):
                    what, fix = "a linked worktree", "`git worktree remove --force` lets go of it"
                else:
                    what = "the stash" if name == "refs/stash" else "a ref"
                    fix = "`git update-ref -d` lets go of it"
                yield name, f"{what} leads to a git object that is missing", f"{begin}; {fix}"

    # Commits

    def head(self) -> str | None:
        """The id of the newest commit, None when there is none yet. Raises DamagedGit."""
        return read_head(self.git_dir).sha

    def _walk(self) -> Iterator[Commit]:
        sha, seen = self.head(), set[str]()
        self.cut = ""
        while sha is not None and sha not in seen:
            seen.add(sha)
            try:
                commit = self.read(sha)
            except NanomemError as error:
                self.cut = error.line()  # what can be read is shown
                return
            yield commit
            sha = commit.parents[0] if commit.parents else None

    def commits(self, limit: int | None = None) -> list[Commit]:
        """The newest `limit` commits (None: all), newest first, along first parents; statistics come when asked."""
        return list(islice(self.walk(), limit))

    def walk(self) -> Iterator[Commit]:
        """The commits, newest first, each read when it is asked for; of a repository above the workspace those that
        changed a memory file, and those of which that cannot be told."""
        return (commit for commit in self._walk() if not self.inside or self._may_change_ours(commit))

    def _may_change_ours(self, commit: Commit) -> bool:
        try:
            return bool(self.changed(commit.sha))
        except NanomemError:
            return True

    def commit(self, prefix: str) -> Commit:
        """The one commit whose id starts with `prefix`, also in the form of old releases. Raises NotFound."""
        wanted = prefix.strip().lower()
        for digits in dict.fromkeys((wanted, decode_short_id(wanted))):
            if len(digits) < 4 or not all(c in "0123456789abcdef" for c in digits):
                continue
            found = [commit for commit in self.commits() if commit.sha.startswith(digits)]
            dreams = [commit for commit in found if commit.is_dream]
            if len(found) == 1 or len(dreams) == 1:
                return (dreams if len(dreams) == 1 else found)[0]
            if found:
                ids = ", ".join(commit.short for commit in found[:5])
                raise NotFound(f"{len(found)} commits start with {prefix}", ids, "give more digits")
        raise NotFound("no such commit", prefix, "list them with `nanomem dream log`")

    def file_at(self, sha: str, path: str) -> bytes | None:
        """The bytes of a file as of a commit; None when it had none. Raises DamagedGit."""
        blob = self.blob_id(sha, path)
        return self.blob(blob) if blob is not None else None

    def blob_id(self, sha: str, path: str) -> str | None:
        """The id of a file's blob as of a commit; None when it had none. Raises DamagedGit."""
        return self._blob_in(self.read(sha).tree, path)

    def tracks(self, path: str) -> bool:
        """Whether a change of `path` belongs into a commit: an agent's own files, and whatever HEAD holds as a file.

        In a repository above the workspace: those of VERSIONED that HEAD holds. Raises DamagedGit.
        """
        if self.local(path) is None or (self.inside and path not in VERSIONED):
            return False
        head = self.head()
        entry = self._entry(self.read(head).tree, path) if head else None
        if self.inside:
            return entry is not None and entry.is_file and not self._is_encoded(entry.sha)
        return entry.is_file if entry is not None else path in VERSIONED

    def takes(self, path: str, *, new: bool) -> bool:
        """Whether the next commit is to hold `path`: it is tracked, or `new` and nothing says that git ignores it."""
        if self.tracks(path):
            return True
        if not self.inside or not new or path not in VERSIONED:
            return False
        head = self.head()
        if head is None or self._entry(self.read(head).tree, path) is not None:
            return False
        return not git.is_ignored(self.git_dir, self.inside + path)

    def _is_encoded(self, blob: str) -> bool:
        """Whether a filter made the blob of the file (git-crypt, LFS): its plain text must not go where that lies. Also
        one that cannot be read may be so."""
        try:
            return self.blob(blob).startswith((b"\0GITCRYPT\0", b"version https://git-lfs"))
        except NanomemError:
            return True

    def unversioned(self) -> tuple[str, ...]:
        """The memory files that no commit here will hold; none where that cannot be told."""
        root = self.git_dir.parent / self.inside
        try:
            return tuple(n for n in TRACKED_FILES if not self.takes(n, new=not os.path.lexists(root / n)))
        except DamagedGit:
            return ()

    def local(self, path: str) -> str | None:
        """The path in the repository of a file of the workspace; None for one outside of it."""
        if self.inside:
            return self.inside + path
        return path.removeprefix(self.prefix) if path.startswith(self.prefix) else None

    def name(self, local: str) -> str:
        """The file of the workspace that has the path `local` in the repository."""
        return local.removeprefix(self.inside) if self.inside else self.prefix + local

    def _entry(self, tree: str, path: str) -> TreeEntry | None:
        local = self.local(path)
        entry: TreeEntry | None = TreeEntry(FOLDER_MODE, tree)
        for part in (local or "").split("/"):
            if entry is None or not entry.is_folder:
                return None
            entry = self.tree(entry.sha).get(part)
        return entry

    def changed(self, sha: str) -> list[BlobChange]:
        """The files that the commit changed against its first parent, by path; above the workspace only VERSIONED.

        A folder below the top that cannot be read stands for all in it: its path ends in a slash (above the workspace:
        it is that of each of our files in it), both of its ids are that of the object that cannot be read.
        """
        commit = self.read(sha)
        before = self.read(commit.parents[0]).tree if commit.parents else None
        if self.inside:
            found, errors = list[BlobChange](), list[DamagedGit]()
            for name in sorted(VERSIONED):
                try:
                    old, new = self._blob_in(before, name), self._blob_in(commit.tree, name)
                except DamagedGit as error:
                    errors.append(error)
                    found.append((name, error.where, error.where))
                else:
                    found += [(name, old, new)] if old != new else []
            if len(errors) == len(VERSIONED):
                raise errors[0]
            return found
        return [(self.prefix + path, old, new) for path, old, new in self._tree_changes(before, commit.tree, "")]

    def _blob_in(self, tree: str | None, path: str) -> str | None:
        entry = self._entry(tree, path) if tree else None
        return entry.sha if entry is not None and entry.is_file else None

    def _tree_changes(self, old: str | None, new: str | None, base: str) -> Iterator[BlobChange]:
        if old == new:
            return
        before = self.tree(old) if old else {}
        after = self.tree(new) if new else {}
        for name in sorted(before.keys() | after.keys()):
            one, two = before.get(name), after.get(name)
            if one == two:
                continue
            folders = [e.sha if e is not None and e.is_folder else None for e in (one, two)]
            files = [e.sha if e is not None and e.is_file else None for e in (one, two)]
            if any(folders):
                try:
                    yield from list(self._tree_changes(folders[0], folders[1], f"{base}{name}/"))
                except DamagedGit as error:
                    yield f"{base}{name}/", error.where, error.where
            if files[0] != files[1]:
                yield f"{base}{name}", files[0], files[1]

    def counted(self, sha: str) -> tuple[tuple[FileStat, ...], str]:
        """Lines added and removed in each file of a commit, and why some could not be counted ("": all were)."""
        try:
            diffs = self.diff(sha)
        except NanomemError as error:
            return (), error.line()
        read = (diff for diff in diffs if not diff.path.endswith("/"))
        rows = [FileStat(one.path, *merge.count_changes(one.before or "", one.after or "")) for one in read]
        return tuple(rows), "; ".join(f"{diff.path}: {diff.damage}" for diff in diffs if diff.damage)

    def doubt(self, sha: str, path: str) -> str:
        """Return why the version of a file before this commit cannot be read, "" where it can."""
        try:
            for changed, old, _ in self.changed(sha):
                if old is not None and covers(changed, path):
                    self.blob(old)
        except NanomemError as error:
            return error.line()
        return ""

    def lost(self) -> Iterator[tuple[str, str, str]]:
        """Yield (what, object, needed for) of each object that the versions need and that cannot be read."""
        seen = set[str | None]()
        for commit in self._walk():
            try:
                changed = self.changed(commit.sha)
            except NanomemError as error:
                changed = []
                if error.where not in seen:
                    yield error.what, error.where, f"the files of commit {commit.sha[:8]}"
                seen.add(error.where)
            for path, *blobs in changed:
                for blob in blobs:
                    if blob and blob not in seen:
                        seen.add(blob)
                        try:
                            self.blob(blob)
                        except NanomemError as error:
                            yield error.what, blob, f"{path} in commit {commit.sha[:8]}"
        if self.cut:
            yield self.cut, "", "all commits before it"

    def diff(self, sha: str) -> list[FileDiff]:
        """The files that a commit changed, as text before and after. Raises NotFound, DamagedGit."""
        full = sha if len(sha) == 40 else self.commit(sha).sha
        return [self._file_diff(path, old, new) for path, old, new in self.changed(full)]

    def _file_diff(self, path: str, old: str | None, new: str | None) -> FileDiff:
        try:
            return FileDiff(path, self.text(old), self.text(new))
        except NanomemError as error:
            return FileDiff(path, "", "", error.line())

    def diff_between(self, first: str, second: str, paths: Iterable[str]) -> list[FileDiff]:
        """Return the files of `paths` that differ between two commits."""
        pairs = ((path, self.blob_id(first, path), self.blob_id(second, path)) for path in paths)
        return [self._file_diff(path, old, new) for path, old, new in pairs if old != new]

    def text(self, blob: str | None) -> str | None:
        """A blob as text to compare: "" for one that is no text or too large. Raises DamagedGit."""
        if blob is None:
            return None
        data = self.blob(blob)
        no_text = b"\0" in data[:8000] and not core_files.is_wide(data)
        return "" if no_text or len(data) > _MAX_DIFF else core_files.decode(data, "replace")

    def cursor_at(self, sha: str) -> int | None:
        """The Dream cursor that a commit's tree carries; None when it carries none, or none that can be read."""
        try:
            return cursor_of(self.file_at(sha, DREAM_CURSOR))
        except NanomemError:
            return None

    def commit_files(self, files: Contents, message: str, *, author: str = AUTHOR) -> str | None:
        """Commit new contents (None: removed) on top of HEAD and return the id; all other files stay as they are.

        When HEAD moves meanwhile, the commit goes on top of the new one if that left `files` alone, else Conflict is
        raised. Nothing to change: HEAD is returned.
        Raises Refused while another program holds the branch, and the errors of `from_os_error`.
        """
        paths = {local: data for path, data in files.items() if (local := self.local(path)) is not None}
        base = None
        for _ in range(20):
            head = read_head(self.git_dir)
            if base is not None and head.sha != base:
                self._check_untouched(base, head.sha, files)
            base = head.sha
            sha = self._commit_on(head, paths, message, author)
            if sha is not None or (head.sha is None and not any(d is not None for d in paths.values())):
                return sha
        raise Refused("the git branch keeps moving", str(self.git_dir), "try again when the agent is idle")

    def _commit_on(self, head: Head, files: Contents, message: str, author: str) -> str | None:
        """The commit of `files` on top of `head`; None when the branch moved meanwhile, or there is nothing at all."""
        from dulwich import objects

        old_tree = self.read(head.sha).tree if head.sha else None
        made: list[ShaFile] = []
        tree = self._new_tree(old_tree, files, made)
        if tree is None or tree == old_tree:
            with contextlib.suppress(DamagedGit):
                self.tidy()  # a process killed after its commit may have left the index behind
            return head.sha
        commit = objects.Commit()
        commit.tree = objects.ObjectID(tree.encode())
        commit.parents = [objects.ObjectID(head.sha.encode())] if head.sha else []
        commit.author = commit.committer = author.encode()
        commit.author_time = commit.commit_time = int(clock.now().timestamp())
        commit.author_timezone = commit.commit_timezone = 0
        commit.message = (message if message.endswith("\n") else message + "\n").encode("utf-8", "replace")
        new = commit.id.decode()
        try:
            self._write([*made, commit])
            if not git.move_branch(self.git_dir, head, new):
                return None
        except OSError as error:
            raise from_os_error(error, "writing the git history") from error
        reason = ("commit: " if head.sha else "commit (initial): ") + message.split("\n", 1)[0]
        git.log_move(self.git_dir, head, new, f"{author} {commit.commit_time} +0000", reason)
        git.stage(self.git_dir, self._staged(old_tree, tree, files))
        return new

    def _write(self, made: Iterable[ShaFile]) -> None:
        """Store objects, each fsynced, and the folders that name them. Raises OSError."""
        folder = self.git_dir / "objects"
        folders = {folder}
        for one in made:
            path = self._loose(one.id.decode())
            self._add(one, path)
            for new, around in ((path.parent, folder), (path, path.parent)):
                atomic.give_to_folder_owner(new, around)
            folders.add(path.parent)
        for path in folders:
            atomic.sync_folder(path)

    def _add(self, one: ShaFile, path: Path) -> None:
        with (
            contextlib.suppress(FileNotFoundError),
            core_files.opened(path) as file,
        ):  # who wrote it may not have fsynced
            if os.fstat(file.fileno()).st_size:
                os.fsync(file.fileno())
            else:  # as a power cut leaves one
                path.unlink()
        try:
            git.when_free(lambda: self._store.add_object(one), _OBJECT_WAIT)
        except Refused:  # left by a process that was killed: who would still write it, writes the same bytes
            path.with_name(path.name + ".lock").unlink(missing_ok=True)
            self._store.add_object(one)

    def _new_tree(self, old: str | None, files: Contents, made: list[ShaFile]) -> str | None:
        """The id of the tree `old` with `files` put in; new objects are appended to `made`. None: an empty tree."""
        from dulwich.objects import Blob, ObjectID, Tree

        entries = self.tree(old) if old else {}
        tree = Tree.from_string(self._data(old, "tree")) if old else Tree()
        folders: dict[str, dict[str, bytes | None]] = {}
        for path, data in files.items():
            name, slash, rest = path.partition("/")
            kept = entries.get(name)
            if slash:
                folders.setdefault(name, {})[rest] = data
            elif data is not None:
                made.append(Blob.from_string(data))
                tree[os.fsencode(name)] = (kept.mode if kept and kept.is_file else FILE_MODE, made[-1].id)
            elif kept is not None:
                del tree[os.fsencode(name)]
        for name, inner in folders.items():
            kept = entries.get(name)
            sha = self._new_tree(kept.sha if kept and kept.is_folder else None, inner, made)
            if sha is not None:
                tree[os.fsencode(name)] = (FOLDER_MODE, ObjectID(sha.encode()))
            elif kept is not None:
                del tree[os.fsencode(name)]
        if not len(tree):
            return None
        made.append(tree)
        return tree.id.decode()

    def _check_untouched(self, base: str, head: str | None, files: Contents) -> None:
        tree = self.read(head).tree if head else ""
        for path in files:
            before = self._entry(self.read(base).tree, path)
            if before != (self._entry(tree, path) if tree else None):
                raise Conflict("another commit changed the file meanwhile", path, "look at it again and repeat it")

    def _staged(self, old_tree: str | None, tree: str, files: Contents) -> dict[str, Staged]:
        """What the index is to hold of `files`, and what it held."""
        rows = {}
        for local in files:
            before = self._entry(old_tree, self.name(local)) if old_tree else None
            after = self._entry(tree, self.name(local))
            mode = (after or before or TreeEntry(FILE_MODE, "")).mode
            rows[local] = Staged(before.sha if before else None, after.sha if after else None, mode)
        return rows

    # What commits of ours left undone

    def tidy(self) -> tuple[str, ...]:
        """Bring the staging area up to date; return the files that it still shows as they were. Raises DamagedGit."""
        rows = self.behind()
        return () if not rows or git.stage(self.git_dir, rows) else tuple(map(self.name, rows))

    def behind(self) -> dict[str, Staged]:
        """The entries of the staging area that hold what one of our newest commits replaced, by repository path.

        A process that is killed behind its commit, or that finds `index.lock` held, leaves them so: a plain `git
        commit` would take our commits back. Reads only. Raises DamagedGit.
        """
        held, head = git.staged(self.git_dir), self.head()
        ours = self._ours() if held is not None and head is not None else []
        rows: dict[str, Staged] = {}
        if not ours or held is None or head is None:
            return rows
        for name in VERSIONED:
            if (local := self.local(name)) is None:
                continue
            entry, now = held.get(local), self.blob_id(head, name)
            if entry == now or self._on_disk(local) == entry:  # a person brought both back, or takes the file away
                continue
            if any(self._replaced(commit, name) == entry for commit in ours):
                rows[local] = Staged(entry, now, FILE_MODE)
        return rows

    def _ours(self) -> list[Commit]:
        """The newest commits, as far as they are ours."""
        found = []
        for commit in islice(self.walk(), _OURS):
            if commit.author != AUTHOR and (commit.parent or commit.subject != INIT_MESSAGE):
                break
            found.append(commit)
        return found

    def _on_disk(self, local: str) -> str | None:
        try:
            return id_of_blob(core_files.read(self.git_dir.parent / local))
        except OSError:
            return None

    def _replaced(self, commit: Commit, name: str) -> str | None:
        try:
            return self.blob_id(commit.parent, name) if commit.parent else None
        except DamagedGit:
            return ""  # not known, and no entry's

    @classmethod
    def init(cls, paths: Paths) -> GitHistory | None:
        """Make the repository as the agent would: branch master, `.gitignore` merged, the files in a first commit.

        One that exists is opened. None when a folder above the workspace is a repository that keeps no versions of the
        memory files: nested ones are never made.
        """
        if paths.is_versioned:
            return cls.open(paths)
        try:
            git.make_repository(paths.workspace / ".git")
            ignore = git.merged_ignore(paths.workspace / ".gitignore")
            files: dict[str, bytes | None] = {".gitignore": ignore}
            for name in VERSIONED:
                path = paths.workspace / name
                if path.is_file() and not path.is_symlink():
                    files[name] = core_files.read(path)
        except OSError as error:
            raise from_os_error(error, "making the git repository") from error
        history = cls(paths.workspace / ".git")
        history.commit_files(files, INIT_MESSAGE, author=_AGENT)
        return history


def _checked(sha: str, number: int, data: bytes) -> tuple[str, bytes]:
    """The kind and the bytes of an object that is what its id says. Raises ValueError."""
    kind = _KINDS[number]
    if hashlib.sha1(b"%s %d\0" % (kind.encode(), len(data)) + data, usedforsecurity=False).hexdigest() != sha:
        raise ValueError(sha)
    return kind, data


def _decoded(message: bytes, charset: bytes | None) -> str:
    try:
        return message.decode((charset or b"utf-8").decode("ascii", "replace"), "replace")
    except LookupError:
        return message.decode("utf-8", "replace")


# Which commit wrote each line of a versioned file; and, behind one that brought a line back, which one wrote it
# first.


class LineOrigin(NamedTuple):
    """The commit that wrote a line, and the one that wrote it before that brought it back; mostly the same."""

    by: str
    first: str


def blame(git: GitHistory, sha: str, path: str, brings_back: Callable[[Commit], bool]) -> list[LineOrigin]:
    """Who wrote each line of `path` as of the commit `sha`.

    A line that comes from a version that cannot be read is given to the commit behind it; one that `brings_back` says
    was only brought back (an undo, a revert), and that stands in no version before, to that commit. Raises DamagedGit
    for `sha` itself.
    """
    blob = git.blob_id(sha, path)
    lines = _lines(git, blob)
    written: list[LineOrigin | None] = [None] * len(lines)
    held = [[place] for place in range(len(lines))]  # for each line of the version that is looked at, where it ends up
    sought: dict[str, list[int]] = {}  # lines that were brought back, and that an older version may have
    while sought or any(held):
        commit = git.read(sha)
        parent, before = _before(git, commit, path)
        if parent is not None and before == blob:
            sha = parent
            continue
        older = _lines(git, before)
        passed: list[list[int]] = [[] for _ in older]
        for ends, came_from in zip(held, line_places(older, lines), strict=True):
            if came_from is not None:
                passed[came_from] += ends
        for number, line in enumerate(older):
            passed[number] += sought.pop(line, ())
        handed_on = {place for ends in passed for place in ends}
        back = brings_back(commit)
        for line, ends in zip(lines, held, strict=True):
            for place in (end for end in ends if end not in handed_on):
                written[place] = LineOrigin((written[place] or LineOrigin(sha, sha)).by, sha)
                if back and line.strip():
                    sought.setdefault(line, []).append(place)
        if parent is None:
            break
        sha, blob, lines, held = parent, before, older, passed
    return [one or LineOrigin(sha, sha) for one in written]


def _before(git: GitHistory, commit: Commit, path: str) -> tuple[str | None, str | None]:
    """The parent of a commit and its blob of the file; None for a parent, or a version, that cannot be read."""
    try:
        if commit.parent is None:
            return None, None
        blob = git.blob_id(commit.parent, path)
        _lines(git, blob)
        return commit.parent, blob
    except DamagedGit:
        return None, None


def _lines(git: GitHistory, blob: str | None) -> list[str]:
    return merge.split_lines(git.text(blob) or "")


def line_places(old: Sequence[str], new: Sequence[str]) -> list[int | None]:
    """For each line of `new` its place in `old`, None for one that is new."""
    found: list[int | None] = []
    at = 0
    for edit in merge.edits(old, new):
        found += range(at, edit.start)
        found += [None] * (edit.new_stop - edit.new_start)
        at = edit.stop
    return [*found, *range(at, len(old))]
