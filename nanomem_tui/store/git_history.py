"""The versions of SOUL, USER and MEMORY in the workspace's git repository: read them, and add commits of our own.

Works on objects and refs only, so nothing that the repository plants (hooks, filters, fsmonitor, includes, attributes,
signing) ever runs, and a held `index.lock` stops nothing. A commit is built on the tree of HEAD: blobs, trees and the
commit are written and fsynced, then the branch moves by compare-and-swap, durable when `commit_files` returns.

The staging area is not needed for that. The agent stages its four files itself before each of its commits, so it never
takes our change back; but a person's `git status` would show our change as staged in reverse. Therefore the entries of
the files that we committed are brought up to date afterwards (see `git_index`): only where they were what they had been
before, under `index.lock` for well under a millisecond, given up quietly when another program holds it.

Must not know Dreams as edits, the ledger, or how a file is written.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui import clock, regular
from nanomem_tui.errors import (
    AccessDenied,
    Conflict,
    NanomemError,
    NotFound,
    Problem,
    Refused,
    from_os_error,
    in_words,
)
from nanomem_tui.formats import encoding
from nanomem_tui.formats.commit_ids import decode_short_id
from nanomem_tui.paths import DREAM_CURSOR, TRACKED_FILES, Paths
from nanomem_tui.store import git_foreign, git_refs
from nanomem_tui.store.git_objects import (
    FILE_MODE,
    FOLDER_MODE,
    CommitObject,
    DamagedGit,
    DamagedPack,
    ElsewhereHead,
    ObjectStore,
    TreeEntry,
    dump_commit,
    dump_tree,
    object_id,
)
from nanomem_tui.store.git_values import Commit, FileDiff, FileStat, cursor_of

if TYPE_CHECKING:
    from nanomem_tui.store.git_index import Staged

AUTHOR = "nanomem <nanomem@localhost>"
VERSIONED = (*TRACKED_FILES, DREAM_CURSOR)
"""The files that an agent versions, as paths in the workspace."""

_AGENT = "nanobot <nanobot@dream>"
INIT_MESSAGE = "init: nanobot memory store"
MENDING = "`git fsck` in the workspace says what is lost; bring .git back from a copy, or move it away to begin anew"
_MAX_DIFF = 4 * 1024 * 1024


Contents = Mapping[str, bytes | None]
"""New bytes by path; None takes the file away."""

BlobChange = tuple[str, str | None, str | None]
"""A path and the ids of its blobs before and after, None where it was absent."""


def covers(changed: str, path: str) -> bool:
    """Return whether a changed path is this file, or a folder around it that cannot be read."""
    return changed == path or (changed.endswith("/") and path.startswith(changed))


class Opened(NamedTuple):
    """What was found: a readable history or none, and why one that is there cannot be read or is not used.

    `why_none` says why the repository of a folder above the workspace keeps no versions of the memory files.
    """

    history: GitHistory | None
    problems: tuple[Problem, ...] = ()
    why_none: str = ""


def probe(paths: Paths) -> Opened:
    """Look for the repository of the workspace, else of `memory/`, else of a folder above the workspace.

    One above counts only when it tracks a memory file. Reads only; never raises for what it finds.
    """
    for git_dir in paths.git_dirs:
        if not os.path.lexists(git_dir):
            continue
        where = paths.relative(git_dir)
        try:
            if reason := git_foreign.why_not(git_dir, paths.workspace):
                return Opened(None, (Problem(reason[0], where, fix=reason[1]),))
            if not (git_dir / "objects").is_dir():
                raise DamagedGit("not a git repository: it has no objects")
            history = GitHistory(git_dir, "memory/" if git_dir.parent == paths.memory else "")
            history.check()
            return Opened(history)
        except (DamagedGit, OSError) as error:
            said = in_words(error, "reading the git repository")
            fix = said.fix if isinstance(said, AccessDenied | ElsewhereHead) else MENDING
            return Opened(None, (Problem(said.what, where, fix=fix),))
    return _probe_outer(paths)


def _probe_outer(paths: Paths) -> Opened:
    git_dir = paths.outer_git_dir
    if git_dir is None:
        return Opened(None)
    root = git_dir.parent
    try:
        if not (reason := git_foreign.why_not_outer(git_dir, paths.workspace)):
            history = GitHistory(git_dir, inside=f"{paths.workspace.relative_to(root).as_posix()}/")
            history.check()
            head = history.head()
            if head is not None and any(history.blob_id(head, name) for name in TRACKED_FILES):
                return Opened(history)
            reason = "it tracks none of SOUL.md, USER.md and memory/MEMORY.md"
    except (DamagedGit, OSError) as error:
        reason = in_words(error, "reading the git repository").what
    return Opened(None, why_none=f"the workspace lies in the git repository {root} ({reason})")


class GitHistory:
    """The commits of one repository, and the way to add one. File names are relative to the workspace."""

    def __init__(self, git_dir: Path, prefix: str = "", inside: str = "") -> None:
        """`prefix` is the folder of the workspace that the repository holds, `inside` (ending in a slash) the folder of
        the repository that the workspace is: then it is somebody's own, and only VERSIONED files in it are ours.
        """
        self.git_dir = git_dir
        self.prefix = prefix
        self.inside = inside
        self._objects = ObjectStore(git_dir / "objects")
        self._stats: dict[str, tuple[FileStat, ...]] = {}
        self._damage: dict[str, str] = {}
        self.cut = ""
        """Why the last walk ended before the first commit; "" where it did not."""

    @classmethod
    def open(cls, paths: Paths) -> GitHistory | None:
        """The history of the workspace, None when there is none that can be read (`probe` says why)."""
        return probe(paths).history

    def check(self) -> None:
        """Raise DamagedGit unless HEAD leads to a commit, or to a branch where none has commits yet."""
        branch, head = git_refs.read_head(self.git_dir)
        if head is None and (others := git_refs.branches(self.git_dir)):
            fix = f"`git symbolic-ref HEAD {others[0]}` goes back to it"
            raise ElsewhereHead(f"HEAD names {branch}, which has no commit, while {others[0]} has", "", fix)
        if head is not None:
            tree = self._objects.commit(head).tree
            try:
                top = self._objects.tree(tree)
            except DamagedPack:
                raise
            except DamagedGit:
                return  # what needs the newest files says so; all that came before can be read
            if self.prefix and "MEMORY.md" not in top and any(n in top for n in ("SOUL.md", "USER.md", "memory")):
                self.prefix = ""  # a repository in memory/ whose tree is that of the workspace

    def close(self) -> None:
        """Let go of open packs."""
        self._objects.close()

    def head(self) -> str | None:
        """The id of the newest commit, None when there is none yet. Raises DamagedGit."""
        return git_refs.read_head(self.git_dir).sha

    def _walk(self) -> Iterator[CommitObject]:
        sha, seen = self.head(), set[str]()
        self.cut = ""
        while sha is not None and sha not in seen:
            seen.add(sha)
            try:
                commit = self._objects.commit(sha)
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
        return (Commit(raw, self) for raw in self._walk() if not self.inside or self._may_change_ours(raw))

    def _may_change_ours(self, commit: CommitObject) -> bool:
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
        return self._objects.blob(blob) if blob is not None else None

    def blob_id(self, sha: str, path: str) -> str | None:
        """The id of a file's blob as of a commit; None when it had none. Raises DamagedGit."""
        return self._blob_in(self._objects.commit(sha).tree, path)

    def blob(self, blob: str) -> bytes:
        """The bytes of a blob. Raises DamagedGit."""
        return self._objects.blob(blob)

    def tracks(self, path: str) -> bool:
        """Whether a change of `path` belongs into a commit: an agent's own files, and whatever HEAD holds as a file.

        In a repository above the workspace: those of VERSIONED that HEAD holds. Raises DamagedGit.
        """
        if self.local(path) is None or (self.inside and path not in VERSIONED):
            return False
        head = self.head()
        entry = self._entry(self._objects.commit(head).tree, path) if head else None
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
        if head is None or self._entry(self._objects.commit(head).tree, path) is not None:
            return False
        return not git_foreign.is_ignored(self.git_dir, self.inside + path)

    def _is_encoded(self, blob: str) -> bool:
        """Whether a filter made the blob of the file (git-crypt, LFS): its plain text must not go where that lies. Also
        one that cannot be read may be so."""
        try:
            return self._objects.blob(blob).startswith((b"\0GITCRYPT\0", b"version https://git-lfs"))
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
            entry = self._objects.tree(entry.sha).get(part)
        return entry

    def changed(self, sha: str) -> list[BlobChange]:
        """The files that the commit changed against its first parent, by path; above the workspace only VERSIONED.

        A folder below the top that cannot be read stands for all in it: its path ends in a slash (above the workspace:
        it is that of each of our files in it), both of its ids are that of the object that cannot be read.
        """
        commit = self._objects.commit(sha)
        before = self._objects.commit(commit.parents[0]).tree if commit.parents else None
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
        before = self._objects.tree(old) if old else {}
        after = self._objects.tree(new) if new else {}
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

    def stats(self, sha: str) -> tuple[FileStat, ...]:
        """Lines added and removed in each file of a commit; counted once. `damage` says what could not be counted."""
        found = self._stats.get(sha)
        if found is None:
            from nanomem_tui.store import merge

            rows = []
            try:
                diffs = self.diff(sha)
            except NanomemError as error:
                diffs, self._damage[sha] = [], error.line()
            for diff in diffs:
                if not diff.path.endswith("/"):
                    rows.append(FileStat(diff.path, *merge.count_changes(diff.before or "", diff.after or "")))
                if diff.damage:
                    self._damage[sha] = f"{diff.path}: {diff.damage}"
            found = self._stats[sha] = tuple(rows)
        return found

    def damage(self, sha: str) -> str:
        """Return why the lines of a file of the commit cannot be counted, "" where all are."""
        self.stats(sha)
        return self._damage.get(sha, "")

    def doubt(self, sha: str, path: str) -> str:
        """Return why the version of a file before this commit cannot be read, "" where it can."""
        try:
            for changed, old, _ in self.changed(sha):
                if old is not None and covers(changed, path):
                    self._objects.blob(old)
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
                            self._objects.blob(blob)
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
        data = self._objects.blob(blob)
        no_text = b"\0" in data[:8000] and not encoding.is_wide(data)
        return "" if no_text or len(data) > _MAX_DIFF else encoding.decode(data, "replace")

    def cursor_at(self, sha: str) -> int | None:
        """The Dream cursor that a commit's tree carries; None when it carries none, or none that can be read."""
        try:
            return cursor_of(self.file_at(sha, DREAM_CURSOR))
        except NanomemError:
            return None

    def raw(self, sha: str) -> CommitObject:
        """The commit as stored. Raises DamagedGit."""
        return self._objects.commit(sha)

    def commit_files(self, files: Contents, message: str, *, author: str = AUTHOR) -> str | None:
        """Commit new contents (None: removed) on top of HEAD and return the id; all other files stay as they are.

        When HEAD moves meanwhile, the commit goes on top of the new one if that left `files` alone, else Conflict is
        raised. Nothing to change: HEAD is returned.
        Raises Refused while another program holds the branch, and the errors of `from_os_error`.
        """
        paths = {local: data for path, data in files.items() if (local := self.local(path)) is not None}
        base = None
        for _ in range(20):
            head = git_refs.read_head(self.git_dir)
            if base is not None and head.sha != base:
                self._check_untouched(base, head.sha, files)
            base = head.sha
            sha = self._commit_on(head, paths, message, author)
            if sha is not None or (head.sha is None and not any(d is not None for d in paths.values())):
                return sha
        raise Refused("the git branch keeps moving", str(self.git_dir), "try again when the agent is idle")

    def _commit_on(self, head: git_refs.Head, files: Contents, message: str, author: str) -> str | None:
        old_tree = self._objects.commit(head.sha).tree if head.sha else None
        objects: list[tuple[str, bytes]] = []
        tree = self._new_tree(old_tree, files, objects)
        if tree is None or tree == old_tree:
            if head.sha and old_tree:  # a process killed after its commit may have left the index behind
                from nanomem_tui.store import git_index

                with contextlib.suppress(DamagedGit):
                    parents = self._objects.commit(head.sha).parents
                    before = self._objects.commit(parents[0]).tree if parents else None
                    git_index.update(self.git_dir, self._staged(before, old_tree, files))
            return head.sha
        seconds = int(clock.now().timestamp())
        objects.append(("commit", dump_commit(tree, [head.sha] if head.sha else [], author, seconds, message)))
        reason = ("commit: " if head.sha else "commit (initial): ") + message.split("\n", 1)[0]
        return self._move(head, objects, self._staged(old_tree, tree, files), (f"{author} {seconds} +0000", reason))

    def _move(
        self, head: git_refs.Head, objects: list[tuple[str, bytes]], rows: Mapping[str, Staged], log: tuple[str, str]
    ) -> str | None:
        """Store the objects, the last of which is the commit, and move the branch; None when it moved meanwhile.

        The three waits for the disk: for all contents at once, those of the branch and the index among them; for the
        names of the objects; and, once the branch has moved, for its name.
        """
        from nanomem_tui.store import git_index

        new = object_id(*objects[-1])
        ready = index = None
        try:
            with git_refs.marked(self.git_dir) as mark:
                ready = git_refs.prepared(self.git_dir, head, new)
                index = git_index.prepared(self.git_dir, rows)
                staged = index.file if index else None
                self._objects.write(objects, [mark.handle, ready.handle, *([staged.handle] if staged else [])])
                if not git_refs.swap(self.git_dir, head, ready, mark, new, *log):
                    return None
                taken, index = index, None  # it is discarded there, once: its handle may be another file's afterwards
                git_index.update(self.git_dir, rows, taken, mark)
        except OSError as error:
            raise from_os_error(error, "moving the git branch") from error
        finally:
            for file in (ready, index.file if index else None):
                if file is not None:
                    file.discard()
        return new

    def _new_tree(self, old: str | None, files: Contents, objects: list[tuple[str, bytes]]) -> str | None:
        """The id of the tree `old` with `files` put in; new objects are appended. None: an empty tree."""
        entries = dict(self._objects.tree(old)) if old else {}
        folders: dict[str, dict[str, bytes | None]] = {}
        for path, data in files.items():
            name, slash, rest = path.partition("/")
            if slash:
                folders.setdefault(name, {})[rest] = data
            elif data is None:
                entries.pop(name, None)
            else:
                kept = entries.get(name)
                entries[name] = TreeEntry(kept.mode if kept and kept.is_file else FILE_MODE, object_id("blob", data))
                objects.append(("blob", data))
        for name, inner in folders.items():
            kept = entries.get(name)
            sha = self._new_tree(kept.sha if kept and kept.is_folder else None, inner, objects)
            if sha is None:
                entries.pop(name, None)
            else:
                entries[name] = TreeEntry(FOLDER_MODE, sha)
        if not entries:
            return None
        data = dump_tree(entries)
        objects.append(("tree", data))
        sha = object_id("tree", data)
        self._objects.keep(sha, entries)
        return sha

    def _check_untouched(self, base: str, head: str | None, files: Contents) -> None:
        tree = self._objects.commit(head).tree if head else ""
        for path in files:
            before = self._entry(self._objects.commit(base).tree, path)
            if before != (self._entry(tree, path) if tree else None):
                raise Conflict("another commit changed the file meanwhile", path, "look at it again and repeat it")

    def _staged(self, old_tree: str | None, tree: str, files: Contents) -> dict[str, Staged]:
        """What the index is to hold of `files`, and what it held."""
        from nanomem_tui.store.git_index import Staged

        rows = {}
        for local in files:
            before = self._entry(old_tree, self.name(local)) if old_tree else None
            after = self._entry(tree, self.name(local))
            mode = (after or before or TreeEntry(FILE_MODE, "")).mode
            rows[local] = Staged(before.sha if before else None, after.sha if after else None, mode)
        return rows

    @classmethod
    def init(cls, paths: Paths) -> GitHistory | None:
        """Make the repository as the agent would: branch master, `.gitignore` merged, the files in a first commit.

        One that exists is opened. None when a folder above the workspace is a repository that keeps no versions of the
        memory files: nested ones are never made.
        """
        if paths.is_versioned:
            return cls.open(paths)
        from nanomem_tui.store import git_init

        try:
            git_init.make_repository(paths.workspace / ".git")
            ignore = git_init.merged_ignore(paths.workspace / ".gitignore")
            files: dict[str, bytes | None] = {".gitignore": ignore}
            for name in VERSIONED:
                path = paths.workspace / name
                if path.is_file() and not path.is_symlink():
                    files[name] = regular.read(path)
        except OSError as error:
            raise from_os_error(error, "making the git repository") from error
        history = cls(paths.workspace / ".git")
        history.commit_files(files, INIT_MESSAGE, author=_AGENT)
        return history
