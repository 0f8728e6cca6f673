"""Taking a Dream back: a three-way revert of one hunk, one file or the whole run, keeping every later edit.

Owns what a restore would do (`preview`) and the operation that does it. `whole` is the agent's own way: all files as
they were before that commit, everything later lost, which the preview lists; `as_of` brings one file back as it was
after it. Must not write a file itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from nanomem_tui.dream import headings
from nanomem_tui.dream.blamed import full_name
from nanomem_tui.dream.queue import DreamQueue
from nanomem_tui.errors import BadInput, Conflict, NotFound, NothingToDo, Refused
from nanomem_tui.formats.history import clamp_cursor
from nanomem_tui.operations import Change, Operation, Perform, new_operation
from nanomem_tui.paths import DREAM_CURSOR, TRACKED_FILES
from nanomem_tui.store import merge
from nanomem_tui.store.files import FileLayer
from nanomem_tui.store.git_history import GitHistory
from nanomem_tui.store.git_values import Commit, FileDiff
from nanomem_tui.text import counted

Side = Literal["now", "then"]
"""Of lines that a later edit changed as well: those that stand now, or those that stood before the commit."""

_SETTLED = {"now": "keeping lines changed since", "then": "also lines changed since"}


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
    """Lines that a later edit changed as well. `line` counts from 1 in the file as it is now."""

    path: str
    line: int
    now: tuple[str, ...]
    then: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RestorePreview:
    """All that a restore would do. `rewound` is how many history entries a moved cursor would have Dream read again.

    `later_commits` came after the commit and touch the same files: kept, or lost when `whole` or `as_of`. `problem`
    says why nothing can be restored, "" otherwise.
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

    @property
    def loses_later(self) -> bool:
        """Whether what came later is lost."""
        return self.whole or self.as_of

    @property
    def changes_anything(self) -> bool:
        """Whether a file or the cursor would change."""
        return bool(self.files) or self.cursor_now != self.cursor_after

    def to_json(self) -> dict[str, Any]:
        """The preview as a JSON object, with a unified diff for each file."""
        return {
            "sha": self.commit.sha,
            "files": [{"path": f.path, "diff": merge.unified(f.path, f.before, f.after)} for f in self.files],
            "conflicts": [{"path": c.path, "line": c.line} for c in self.conflicts],
            "later_commits": [commit.sha for commit in self.later_commits],
            "cursor": {"now": self.cursor_now, "after": self.cursor_after, "entries_again": self.rewound},
            "whole": self.whole,
            "as_of": self.as_of,
            "note": self.note,
            "problem": self.problem,
        }


class DreamRestore:
    """Takes back what a commit did to the memory files."""

    def __init__(
        self,
        git: Callable[[], GitHistory | None],
        files: FileLayer,
        perform: Perform,
        queue: DreamQueue,
        owned: headings.Owned = headings.nobodys,
    ) -> None:
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
        whole: bool = False,
        rewind_cursor: bool | None = None,
        settle: Side | None = None,
        as_of: bool = False,
    ) -> RestorePreview:
        """What taking back the commit `sha`, a `file` of it or a `hunk` of that file (from 0, of `places`) would do.

        Reads only. The cursor stays unless `rewind_cursor`; `whole` moves it unless that is False. It only ever goes
        back: entries that no Dream has read are not skipped. `settle` is the side to take of lines that a later edit
        changed as well: then nothing conflicts. `as_of`: not taken back, but the `file` as it was after the commit.
        Raises NotFound, Refused, BadInput for what does not go together.
        """
        git = self._history(sha)
        commit = git.commit(sha)
        if as_of:
            if file is None or hunk is not None or whole or settle is not None or rewind_cursor:
                raise BadInput("one file is brought back as of a commit, and nothing else", "", "name only the file")
            return self._as_of(git, commit, full_name(file))
        if commit.parent is None:
            raise Refused("the first commit cannot be taken back", commit.short, "there is nothing before it")
        if whole and (file is not None or hunk is not None):
            raise Refused("a whole restore takes every file back", commit.short, "leave out the file")
        files, conflicts = self._whole(git, commit.parent) if whole else self._revert(git, commit, file, hunk, settle)
        queue = self._queue.queue()
        target = asked = queue.cursor
        if rewind_cursor or (whole and rewind_cursor is None):
            earlier = commit.cursor_before
            if earlier is not None:
                asked = clamp_cursor(earlier, queue.latest)
                target = min(asked, queue.cursor)
            elif rewind_cursor:
                raise Refused("the cursor of that time is not known", commit.short, "that commit does not carry it")
        rewound = sum(1 for entry in queue.entries if target < entry.cursor <= queue.cursor)
        later = _later(git, commit, None if whole else {f.path for f in files} | {c.path for c in conflicts})
        return RestorePreview(
            commit=commit,
            files=tuple(files),
            conflicts=tuple(conflicts),
            later_commits=later,
            cursor_now=queue.cursor,
            cursor_after=target,
            rewound=rewound,
            whole=whole,
            note=_note(later, whole, queue.cursor, asked, rewound),
            problem=_problem(commit, files, conflicts, queue.cursor == target),
        )

    def restore(
        self,
        sha: str,
        file: str | None = None,
        hunk: int | None = None,
        *,
        whole: bool = False,
        rewind_cursor: bool | None = None,
        settle: Side | None = None,
        as_of: bool = False,
    ) -> Operation:
        """Do what `preview` shows, as one operation and one commit.

        Raises Conflict, naming file and lines, where a later edit changed the same lines; NothingToDo when nothing of
        it is in force any more; Refused when the cursor is to move while a Dream runs.
        """
        preview = self.preview(sha, file, hunk, whole=whole, rewind_cursor=rewind_cursor, settle=settle, as_of=as_of)
        commit = preview.commit
        if preview.conflicts:
            first = preview.conflicts[0]
            lines = ", ".join(str(c.line) for c in preview.conflicts if c.path == first.path)
            raise Conflict(
                f"later edits changed the same lines ({lines})",
                first.path,
                "take back one hunk, settle for a side (--settle), or edit the file",
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
        part += f", {_SETTLED[settle]}" if settle else ""
        what = "go back to before" if whole else "take back"
        label = f"{what} {'dream' if commit.is_dream else 'commit'} {commit.short}{part}"
        if as_of:
            label = f"go back to {preview.files[0].path} of {commit.short}"
        meta = {"commit": f"nanomem: {label}\n\n{commit.subject}", "sha": commit.sha}
        return self._perform(new_operation("dream.restore", label, changes, meta=meta))

    def _as_of(self, git: GitHistory, commit: Commit, path: str) -> RestorePreview:
        data = git.file_at(commit.sha, path)
        if data is None:
            raise NotFound("there was no such file then", path, "choose a later version")
        try:
            then = data.decode("utf-8")
        except UnicodeDecodeError:
            raise BadInput("it held bytes that are no UTF-8", path, "take back the commit that wrote them") from None
        now = self._files.load(path)
        same = now.data == data
        later = () if same else _later(git, commit, {path})
        head = git.head()
        committed = git.file_at(head, path) if head else None
        note = _note(later, True, 0, 0, 0)
        if not same and committed != now.data:
            note = "; ".join(filter(None, (note, "an edit that no commit holds yet is lost")))
        cursor = self._queue.queue().cursor
        return RestorePreview(
            commit=commit,
            files=() if same else (RestoredFile(path, now.text, then),),
            conflicts=(),
            later_commits=later,
            cursor_now=cursor,
            cursor_after=cursor,
            rewound=0,
            whole=False,
            note=note,
            problem="the file is as it was then" if same else "",
            as_of=True,
        )

    def _history(self, sha: str) -> GitHistory:
        git = self._git()
        if git is None:
            raise NotFound("no versions of the memory files are kept here", sha, "a Dream begins to keep them")
        return git

    def _whole(self, git: GitHistory, parent: str) -> tuple[list[RestoredFile], list[RestoreConflict]]:
        files = []
        for path in TRACKED_FILES:
            data = git.file_at(parent, path)
            if data is not None:  # what the commit did not have is left alone, as the agent does
                now, then = self._files.read(path), data.decode("utf-8", "replace")
                if now != then:
                    files.append(RestoredFile(path, now, then))
        return files, []

    def _revert(
        self, git: GitHistory, commit: Commit, file: str | None, hunk: int | None, settle: Side | None
    ) -> tuple[list[RestoredFile], list[RestoreConflict]]:
        diffs = [diff for diff in git.diff(commit.sha) if diff.path in TRACKED_FILES]
        if file is not None:
            diffs = [diff for diff in diffs if diff.path == file or diff.path.rsplit("/", 1)[-1] == file]
            if not diffs:
                raise NotFound("that commit did not change the file", file, "see `nanomem dream show`")
        if hunk is not None and len(diffs) != 1:
            raise NotFound("no such hunk", f"{hunk + 1}", "name the file and one of its hunks")
        count = len(places(diffs[0])) if hunk is not None else 0
        if hunk is not None and not 0 <= hunk < count:
            raise NotFound(
                "no such hunk", f"{hunk + 1}", f"{diffs[0].path} has {counted(count, 'hunk')} in that commit"
            )
        files: list[RestoredFile] = []
        conflicts: list[RestoreConflict] = []
        for diff in diffs:
            now = self._files.read(diff.path)
            base, then = diff.after or "", _wanted(diff, hunk)
            merged = merge.merge_lines(base, now or "", then, keep_both=True, theirs_win=settle == "then", by_line=True)
            found = () if settle else merged.conflicts
            conflicts += [RestoreConflict(diff.path, c.line, c.ours, c.theirs) for c in found]
            text = merged.text if now in (None, base) else self._with_headings(diff.path, base, now or "", then, merged)
            gone = not text and diff.before is None and hunk is None
            if not found and text != (now or ""):
                files.append(RestoredFile(diff.path, now, None if gone else text))
        return files, conflicts

    def _with_headings(self, path: str, base: str, now: str, then: str, merged: merge.Merged) -> str:
        text = headings.still_needed(base, now, then, merged.text)
        return headings.emptied(now, text, lambda: self._owned(path))


def _wanted(diff: FileDiff, hunk: int | None) -> str:
    if hunk is None:
        return diff.before or ""
    return merge.revert_hunk(diff.before or "", diff.after or "", hunk, 0)


def places(diff: FileDiff) -> tuple[merge.Hunk, ...]:
    """The hunks of a restore: the runs of changed lines, with at least one unchanged line between two of them."""
    return merge.hunks(diff.before or "", diff.after or "", 0)


def _value(text: str | None) -> dict[str, str] | None:
    return None if text is None else {"text": text}


def _later(git: GitHistory, commit: Commit, paths: set[str] | None) -> tuple[Commit, ...]:
    """The commits after `commit` that changed one of `paths` (None: any memory file), newest first."""
    wanted = set(TRACKED_FILES) if paths is None else paths
    found = []
    for later in git.commits():
        if later.sha == commit.sha:
            break
        if any(path in wanted for path, _, _ in git.changed(later.sha)):
            found.append(later)
    return tuple(found)


def _note(later: Sequence[Commit], lost: bool, cursor: int, asked: int, rewound: int) -> str:
    parts = []
    if later:
        many = len(later) > 1
        fate = f"{'are' if many else 'is'} {'lost' if lost else 'kept'}"
        parts.append(f"{len(later)} later commit{'s' if many else ''} of these files {fate}")
    if asked > cursor:
        parts.append(f"the cursor stays at {cursor}: before that run it was at {asked}, and a restore skips no entry")
    elif asked < cursor:
        entries = f"{rewound} history {'entry is' if rewound == 1 else 'entries are'} dreamed again"
        parts.append(f"the cursor goes back from {cursor} to {asked}: {entries}")
    return "; ".join(parts)


def _problem(
    commit: Commit, files: Sequence[RestoredFile], conflicts: Sequence[RestoreConflict], same_cursor: bool
) -> str:
    if conflicts:
        places = ", ".join(f"{conflict.path}:{conflict.line}" for conflict in conflicts)
        return f"later edits changed the same lines: {places}"
    if files or not same_cursor:
        return ""
    if any(stat.path in TRACKED_FILES for stat in commit.files):
        return "nothing of it is in force any more"
    return "it moved the cursor only: there is no line to take back"
