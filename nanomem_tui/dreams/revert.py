"""Revert a Dream: a three-way revert of one edit, hunk, file or the whole run, keeping every later edit.

Owns what a restore would do (`preview`) and the operation that does it. `whole` resets all files to before that commit
as the agent itself does; the preview lists the later edits that this loses. `as_of` restores one file as it was after
the commit. Must not write a file itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, TypedDict, Unpack

from nanomem_tui.agents.archive import clamp_cursor
from nanomem_tui.agents.git import Commit, DamagedGit, FileDiff
from nanomem_tui.agents.git_history import GitHistory, covers
from nanomem_tui.core import files as core_files
from nanomem_tui.core import merge
from nanomem_tui.core.errors import BadInput, Conflict, NotFound, NothingToDo, Refused
from nanomem_tui.core.operations import Change, Operation, Perform, new_operation
from nanomem_tui.core.paths import DREAM_CURSOR, TRACKED_FILES
from nanomem_tui.core.text import counted
from nanomem_tui.dreams import edits
from nanomem_tui.dreams.log import DreamQueue, full_name, require_history
from nanomem_tui.store.files.layer import FileLayer

# -- What a restore of a commit would do: the values of a preview, and what to say of them. Pure ----------------------

_NAMED = 3  # commits that a note names


@dataclass(frozen=True, slots=True)
class RestoredFile:
    """One file of a restore: its text now and after (None: no file)."""

    path: str
    before: str | None
    after: str | None

    @property
    def hunks(self) -> tuple[merge.Hunk, ...]:
        """What would change."""
        return merge.hunks(self.before or "", self.after or "")


@dataclass(frozen=True, slots=True)
class RestoreConflict:
    """Lines that a later edit changed as well: as they are now, as they were before the commit, and as it left them.

    `line` counts from 1 in the file as it is now.
    """

    path: str
    line: int
    now: tuple[str, ...]
    then: tuple[str, ...]
    left: tuple[str, ...] = ()

    @property
    def is_over(self) -> bool:
        """Whether nothing of what the commit did is left there: what it wrote is gone, and it took nothing away."""
        removed = any(not _came_of(line, self.left) for line in self.then if line.strip())
        return not removed and not merge.has_reworded_line(self.left, self.now)

    def to_json(self) -> dict[str, Any]:
        """Return the place, and both sides as lines."""
        sides = {"now": self.now, "then": self.then, "left": self.left}
        lines = {name: [line.removesuffix("\n") for line in side] for name, side in sides.items()}
        return {"path": self.path, "line": self.line, **lines}


@dataclass(frozen=True, slots=True)
class RestoreEdit:
    """One of the edits that a commit is made of, counted from 1 over all its files."""

    number: int
    path: str
    removed: tuple[str, ...]
    added: tuple[str, ...]

    @property
    def words(self) -> str:
        """What it did, in a line: `+ new`, `- old`, or `~ new` for a line that became another."""
        sign = "~" if self.removed and self.added else "+" if self.added else "-"
        return f"{sign} {' / '.join(self.added or self.removed)}"

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
        return {"edit": self.number, "path": self.path, "removed": list(self.removed), "added": list(self.added)}


class LostEdits(NamedTuple):
    """What settling for the lines of before takes of later changes: how many lines, of which commits, and whether some
    are of an edit that no commit holds."""

    lines: int = 0
    commits: tuple[Commit, ...] = ()
    uncommitted: bool = False


NOTHING_LOST = LostEdits()


@dataclass(frozen=True, slots=True)
class RevertPreview:
    """All that a restore would do. `rewound` is how many history entries a moved cursor would have Dream read again.

    `later_commits` came after the commit and touch the same files: kept, but for what is `lost`; lost when `whole` or
    `as_of`. `edits` are those of the commit. `problem` says why nothing can be restored, "" otherwise.
    """

    commit: Commit
    files: tuple[RestoredFile, ...]
    conflicts: tuple[RestoreConflict, ...]
    later_commits: tuple[Commit, ...]
    cursor_now: int
    cursor_after: int
    rewound: int
    whole: bool
    note: str
    problem: str = ""
    as_of: bool = False
    edits: tuple[RestoreEdit, ...] = ()
    lost: LostEdits = NOTHING_LOST

    @property
    def loses_later(self) -> bool:
        """Whether all that came later is lost."""
        return self.whole or self.as_of

    def loses(self, commit: Commit) -> bool:
        """Return whether something that this later commit did is lost."""
        return self.loses_later or commit.sha in {one.sha for one in self.lost.commits}

    @property
    def changes_anything(self) -> bool:
        """Whether a file or the cursor would change."""
        return bool(self.files) or self.cursor_now != self.cursor_after

    def to_json(self) -> dict[str, Any]:
        """Return the preview as a JSON object, with a unified diff for each file."""
        return {
            "sha": self.commit.sha,
            "files": [{"path": f.path, "diff": merge.unified(f.path, f.before, f.after)} for f in self.files],
            "conflicts": [conflict.to_json() for conflict in self.conflicts],
            "edits": [edit.to_json() for edit in self.edits],
            "later_commits": [commit.sha for commit in self.later_commits],
            "lost": {"lines": self.lost.lines, "commits": [commit.sha for commit in self.lost.commits],
                     "uncommitted": self.lost.uncommitted},
            "cursor": {"now": self.cursor_now, "after": self.cursor_after, "entries_again": self.rewound},
            "whole": self.whole,
            "as_of": self.as_of,
            "note": self.note,
            "problem": self.problem,
        }  # fmt: skip


def _came_of(line: str, left: Sequence[str]) -> bool:
    """Return whether one of the lines that a commit left is `line`, reworded or with something added."""
    said = line.strip()
    return merge.has_reworded_line(left, [line]) or any(said in other for other in left)


def lines_of(text: str | None) -> Counter[str]:
    """Return how often each filled line stands in a text."""
    return Counter(line.strip() for line in (text or "").split("\n") if line.strip())


def written_since(diff: FileDiff, file: RestoredFile) -> Counter[str]:
    """Return the lines of a file as it is now that came after the commit of `diff` and that a restore takes away."""
    now = lines_of(file.before)
    return (now - lines_of(diff.after)) & (now - lines_of(file.after))


def describe_later(
    later: Sequence[Commit],
    everything_lost: bool,
    cursor: int,
    asked: int,
    rewound: int,
    lost: LostEdits = NOTHING_LOST,
) -> str:
    """Return what becomes of later changes and of the cursor, in words; "" for nothing worth a word."""
    parts = []
    if lost.lines:
        of = [name_commits(lost.commits)] if lost.commits else []
        of += ["an edit that no commit holds yet"] if lost.uncommitted else []
        said = f"{counted(lost.lines, 'line')} that came later {'is' if lost.lines == 1 else 'are'} lost"
        parts.append(f"{said}, of {' and of '.join(of)}" if of else said)
    if left := len(later) - len(lost.commits):
        fate = f"{'is' if left == 1 else 'are'} {'lost' if everything_lost else 'kept'}"
        parts.append(f"{counted(left, 'other later commit' if lost.commits else 'later commit')} of these files {fate}")
    if asked > cursor:
        parts.append(f"the cursor stays at {cursor}: before that run it was at {asked}, and a restore skips no entry")
    elif asked < cursor:
        entries = f"{rewound} history {'entry is' if rewound == 1 else 'entries are'} dreamed again"
        parts.append(f"the cursor goes back from {cursor} to {asked}: {entries}")
    return "; ".join(parts)


def name_commits(commits: Sequence[Commit]) -> str:
    """Return how many later commits, and which: `2 later commits (a303f8f1, 51617caa)`."""
    more = [", …"] if len(commits) > _NAMED else []
    ids = ", ".join(commit.short for commit in commits[:_NAMED])
    return f"{counted(len(commits), 'later commit')} ({ids}{''.join(more)})"


def reason_impossible(
    commit: Commit, files: Sequence[RestoredFile], conflicts: Sequence[RestoreConflict], same_cursor: bool
) -> str:
    """Return why nothing can be restored; "" when something can."""
    if conflicts:
        places = ", ".join(f"{conflict.path}:{conflict.line}" for conflict in conflicts)
        return f"later edits changed the same lines: {places}"
    if files or not same_cursor:
        return ""
    if any(stat.path in TRACKED_FILES for stat in commit.files):
        return "nothing of it is in force any more"
    return "it moved the cursor only: there is no line to take back"


Side = Literal["now", "then"]
"""Of lines that a later edit changed as well: those that stand now, or those that stood before the commit."""

_SETTLED = {"now": "keeping lines changed since", "then": "also lines changed since"}
_ONLY_CHANGED = "nothing of it is left but lines that later edits changed"


class RevertOptions(TypedDict, total=False):
    """What to take back of a commit, and how. See `DreamRevert.preview`."""

    edit: int | None
    whole: bool
    rewind_cursor: bool | None
    settle: Side | None
    as_of: bool


class _Reverted(NamedTuple):
    """What a revert comes to: the files, the conflicts, and what it takes of later changes."""

    files: list[RestoredFile]
    conflicts: list[RestoreConflict]
    lost: LostEdits = NOTHING_LOST
    problem: str = ""


class DreamRevert:
    """Takes back what a commit did to the memory files."""

    def __init__(
        self,
        git: Callable[[], GitHistory | None],
        files: FileLayer,
        perform: Perform,
        queue: DreamQueue,
        owned: edits.Owned = edits.owns_none,
        why_none: Callable[[], str] = str,
    ) -> None:
        self._why_none = why_none
        self._owned = owned
        self._git = git
        self._files = files
        self._perform = perform
        self._queue = queue

    def preview(
        self,
        sha: str,
        file: str | None = None,
        hunk: int | None = None,
        *,
        edit: int | None = None,
        whole: bool = False,
        rewind_cursor: bool | None = None,
        settle: Side | None = None,
        as_of: bool = False,
    ) -> RevertPreview:
        """Return what taking back the commit `sha`, a `file` of it or a `hunk` of that file (from 0, of `places`) would
        do.

        `edit`: only that one of its edits (from 1, of the `edits` of a preview). Reads only. The cursor stays unless
        `rewind_cursor`; `whole` moves it unless that is False. It only ever goes back: entries that no
        Dream has read are not skipped. `settle` is the side to take of lines that a later edit changed as well: then
        nothing conflicts. `as_of`: not taken back, but the `file` as it was after the commit.
        Raises NotFound, Refused, BadInput for what does not go together.
        """
        git = self._history(sha)
        commit = git.commit(sha)
        if as_of:
            if file is None or (hunk, edit, settle) != (None, None, None) or whole or rewind_cursor:
                raise BadInput("one file is brought back as of a commit, and nothing else", "", "name only the file")
            return self._as_of(git, commit, full_name(file))
        if commit.parent is None:
            raise Refused("the first commit cannot be taken back", commit.short, "there is nothing before it here")
        if whole and (file, hunk, edit) != (None, None, None):
            raise Refused("a whole restore takes every file back", commit.short, "leave out the file")
        if hunk is not None and edit is not None:
            raise BadInput("a hunk and an edit of it", "", "name one of them")
        every = git.diff(commit.sha)
        diffs = [diff for diff in every if diff.path in TRACKED_FILES]
        hurt = [diff for diff in every if diff.damage and _concerns(diff, file)]
        if hurt and not whole:
            fix = "name with --file another file of it, or `git fsck` says what is lost"
            raise Refused(f"what it changed cannot be read: {hurt[0].damage}", hurt[0].path, fix)
        if whole:
            found = _Reverted(self._every_file(git, commit.parent), [])
        else:
            found = self._revert(git, commit, diffs, file, hunk, edit, settle)
        files, conflicts = found.files, found.conflicts
        queue = self._queue.queue()
        target = asked = queue.cursor
        if rewind_cursor or (whole and rewind_cursor is None):
            earlier = commit.cursor_before
            if earlier is not None:
                asked = clamp_cursor(earlier, queue.latest)
                target = min(asked, queue.cursor)
            elif rewind_cursor:
                raise Refused("the cursor of that time is not known", commit.short, "that commit does not carry it")
        rewound = self._queue.count_between(queue, target, queue.cursor)
        later = _later(git, commit, None if whole else {f.path for f in files} | {c.path for c in conflicts})
        return RevertPreview(
            commit=commit,
            files=tuple(files),
            conflicts=tuple(conflicts),
            later_commits=later,
            cursor_now=queue.cursor,
            cursor_after=target,
            rewound=rewound,
            whole=whole,
            note=describe_later(later, whole, queue.cursor, asked, rewound, found.lost),
            problem=found.problem or reason_impossible(commit, files, conflicts, queue.cursor == target),
            edits=tuple(edit for _, edit, _ in _edits(diffs)),
            lost=found.lost,
        )

    def revert(
        self,
        sha: str,
        file: str | None = None,
        hunk: int | None = None,
        **how: Unpack[RevertOptions],
    ) -> Operation:
        """Do what `preview` shows, as one operation and one commit.

        Raises Conflict, naming file and lines, where a later edit changed the same lines; NothingToDo when nothing of
        it is in force any more; Refused when the cursor is to move while a Dream runs.
        """
        preview = self.preview(sha, file, hunk, **how)
        commit = preview.commit
        edit, settle = how.get("edit"), how.get("settle")
        if preview.conflicts:
            first = preview.conflicts[0]
            lines = ", ".join(str(c.line) for c in preview.conflicts if c.path == first.path)
            one = "take back single edits (--edit), " if edit is None and len(preview.edits) > 1 else ""
            raise Conflict(
                f"later edits changed the same lines ({lines})",
                first.path,
                f"--dry-run shows both sides: {one}settle for one of them (--settle), or edit the file",
            )
        if not preview.changes_anything:
            raise NothingToDo(preview.problem, commit.short)
        changes = [Change("file", f.path, _value(f.before), _value(f.after)) for f in preview.files]
        if preview.cursor_after != preview.cursor_now:
            if self._queue.running():
                raise Refused("a Dream is running", "", "wait until it is done, or leave the cursor where it is")
            changes.append(self._files.change(DREAM_CURSOR, str(preview.cursor_after)))
        part = f", {file}" if file else ""
        part += f", hunk {hunk + 1}" if hunk is not None else ""
        part += f", edit {edit}" if edit is not None else ""
        part += f", {_SETTLED[settle]}" if settle else ""
        what = "go back to before" if preview.whole else "take back"
        label = f"{what} {'dream' if commit.is_dream else 'commit'} {commit.short}{part}"
        if preview.as_of:
            label = f"go back to {preview.files[0].path} of {commit.short}"
        meta = {"commit": f"nanomem: {label}\n\n{commit.subject}", "sha": commit.sha}
        return self._perform(new_operation("dream.restore", label, changes, meta=meta))

    def _as_of(self, git: GitHistory, commit: Commit, path: str) -> RevertPreview:
        data = git.file_at(commit.sha, path)
        if data is None:
            raise NotFound("there was no such file then", path, "choose a later version")
        try:
            then = core_files.decode(data)
        except UnicodeDecodeError:
            raise BadInput("it held bytes that are no UTF-8", path, "take back the commit that wrote them") from None
        now = self._files.load(path)
        same = now.data == data
        later = () if same else _later(git, commit, {path})
        head = git.head()
        committed = git.file_at(head, path) if head else None
        said = describe_later(later, True, 0, 0, 0)
        if not same and committed != now.data:
            said = "; ".join(filter(None, (said, "an edit that no commit holds yet is lost")))
        cursor = self._queue.queue().cursor
        return RevertPreview(
            commit=commit,
            files=() if same else (RestoredFile(path, now.text, then),),
            conflicts=(),
            later_commits=later,
            cursor_now=cursor,
            cursor_after=cursor,
            rewound=0,
            whole=False,
            note=said,
            problem="the file is as it was then" if same else "",
            as_of=True,
        )

    def _history(self, sha: str) -> GitHistory:
        return require_history(self._git, sha, self._why_none)

    def _every_file(self, git: GitHistory, parent: str) -> list[RestoredFile]:
        files = []
        for path in TRACKED_FILES:
            data = git.file_at(parent, path)
            if data is not None:  # what the commit did not have is left alone, as the agent does
                now, then = self._files.read(path), core_files.decode(data, "replace")
                if now != then:
                    files.append(RestoredFile(path, now, then))
        return files

    def _revert(
        self,
        git: GitHistory,
        commit: Commit,
        diffs: Sequence[FileDiff],
        file: str | None,
        hunk: int | None,
        edit: int | None,
        settle: Side | None,
    ) -> _Reverted:
        files: list[RestoredFile] = []
        conflicts: list[RestoreConflict] = []
        lost: list[tuple[FileDiff, RestoredFile]] = []
        kept_changes = False  # whether anything is left to take back beside the lines that later edits changed
        for diff, then in _wanted(diffs, file, hunk, edit):
            now = self._files.read(diff.path)
            base = diff.after or ""
            merged = merge.merge_lines(base, now or "", then, keep_both=True, theirs_win=settle == "then", by_line=True)
            found = [RestoreConflict(diff.path, c.line, c.ours, c.theirs, c.base) for c in merged.conflicts]
            conflicts += found
            text = merged.text if now in (None, base) else self._with_headings(diff.path, base, now or "", then, merged)
            gone = not text and diff.before is None and hunk is None and edit is None
            if text == (now or ""):
                continue
            kept_changes = True
            if not found or settle:
                files.append(RestoredFile(diff.path, now, None if gone else text))
                lost += [(diff, files[-1])] if settle == "then" else []
        if settle:
            over = conflicts and not files and not all(conflict.is_over for conflict in conflicts)
            return _Reverted(files, [], _lost(git, commit, lost), _ONLY_CHANGED if over else "")
        if conflicts and not kept_changes and all(conflict.is_over for conflict in conflicts):
            return _Reverted([], [])
        return _Reverted(files, conflicts)

    def _with_headings(self, path: str, base: str, now: str, then: str, merged: merge.Merged) -> str:
        text = edits.restore_headings(base, now, then, merged.text)
        return edits.drop_empty_headings(now, text, lambda: self._owned(path))


def _wanted(
    diffs: Sequence[FileDiff], file: str | None, hunk: int | None, edit: int | None
) -> list[tuple[FileDiff, str]]:
    """Return the files to take back, each with its text as if that part of the commit had not been. Raises NotFound."""
    named = [diff for diff in diffs if file is None or _is_named(diff, file)]
    if file is not None and not named:
        raise NotFound("that commit did not change the file", file, "see `nanomem dream show`")
    if edit is not None:
        every = _edits(diffs)
        found = [(diff, then) for diff, one, then in every if one.number == edit and diff in named]
        if not found:
            number = counted(len(every), "edit")
            raise NotFound("no such edit", f"{edit}", f"that commit has {number}; `--dry-run` lists them")
        return [(found[0][0], found[0][1]())]
    if hunk is None:
        return [(diff, diff.before or "") for diff in named]
    if len(named) != 1:
        raise NotFound("no such hunk", f"{hunk + 1}", "name the file and one of its hunks")
    count = len(restore_hunks(named[0]))
    if not 0 <= hunk < count:
        raise NotFound("no such hunk", f"{hunk + 1}", f"{named[0].path} has {counted(count, 'hunk')} in that commit")
    return [(named[0], merge.revert_hunk(named[0].before or "", named[0].after or "", hunk, 0))]


def _is_named(diff: FileDiff, file: str) -> bool:
    return file in (diff.path, diff.path.rsplit("/", 1)[-1])


def _concerns(diff: FileDiff, file: str | None) -> bool:
    """Return whether a diff is of the file that was named (None: any memory file), or of the folder that holds it."""
    names = TRACKED_FILES if file is None else [n for n in TRACKED_FILES if file in (n, n.rsplit("/", 1)[-1])]
    return any(covers(diff.path, name) for name in names)


def _edits(diffs: Sequence[FileDiff]) -> list[tuple[FileDiff, RestoreEdit, Callable[[], str]]]:
    """Return the edits that a commit is made of, in the order of its files, and what makes the file without each. A
    heading that came with lines is none."""
    found: list[tuple[FileDiff, RestoreEdit, Callable[[], str]]] = []
    for diff in diffs:
        before, after = diff.before or "", diff.after or ""
        for small in merge.small_edits(before, after):
            removed, added = merge.changed_lines(before, after, small)
            if not removed and all(line.startswith("#") for line in added):
                continue  # alone, it would leave the lines under it to the heading above
            one = RestoreEdit(len(found) + 1, diff.path, removed, added)
            found.append((diff, one, partial(merge.revert_edit, before, after, small)))
    return found


def _lost(git: GitHistory, commit: Commit, restored: Sequence[tuple[FileDiff, RestoredFile]]) -> LostEdits:
    """Return what such a restore takes of what came after the commit."""
    gone = {diff.path: lines for diff, file in restored if (lines := written_since(diff, file))}
    if not gone:
        return NOTHING_LOST
    unnamed = {path: set(lines) for path, lines in gone.items()}
    commits = []
    for later in _later(git, commit, set(gone)):
        own = False
        for diff in git.diff(later.sha):
            added = (lines_of(diff.after) - lines_of(diff.before)) & gone.get(diff.path, lines_of(None))
            own = own or bool(added)
            unnamed.get(diff.path, set()).difference_update(added)
        commits += [later] if own else []
    return LostEdits(sum(sum(lines.values()) for lines in gone.values()), tuple(commits), any(unnamed.values()))


def restore_hunks(diff: FileDiff) -> tuple[merge.Hunk, ...]:
    """Return the hunks of a restore: runs of changed lines, parted by at least one unchanged line."""
    return merge.hunks(diff.before or "", diff.after or "", 0)


def _value(text: str | None) -> dict[str, str] | None:
    return None if text is None else {"text": text}


def _later(git: GitHistory, commit: Commit, paths: set[str] | None) -> tuple[Commit, ...]:
    """Return the commits after `commit` that changed one of `paths` (None: any memory file), newest first."""
    wanted = set(TRACKED_FILES) if paths is None else paths
    found = []
    for later in git.commits():
        if later.sha == commit.sha:
            break
        try:
            changed = {path for path, _, _ in git.changed(later.sha)}
        except DamagedGit:  # it may have
            changed = wanted
        if any(covers(path, name) for path in changed for name in wanted):
            found.append(later)
    return tuple(found)


# Undos that set the cursor of Dreams back: what to say of one, and whether the last Dream was taken back by a person.
