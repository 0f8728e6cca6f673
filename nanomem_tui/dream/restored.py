"""What a restore of a commit would do: the values of a preview, and what to say of them. Pure.

Owns telling whether a conflict is one: where nothing of what a commit wrote is left there is nothing to take back. And
what later changes lose when a person settles for the lines of before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from nanomem_tui.agents.git import Commit, FileDiff
from nanomem_tui.core.paths import TRACKED_FILES
from nanomem_tui.core.text import counted
from nanomem_tui.store.files import merge

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
        return not removed and not merge.alike(self.left, self.now)

    def to_json(self) -> dict[str, Any]:
        """The place, and both sides as lines."""
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
        """The fields as a JSON object."""
        return {"edit": self.number, "path": self.path, "removed": list(self.removed), "added": list(self.added)}


class Lost(NamedTuple):
    """What settling for the lines of before takes of later changes: how many lines, of which commits, and whether some
    are of an edit that no commit holds."""

    lines: int = 0
    commits: tuple[Commit, ...] = ()
    uncommitted: bool = False


NOTHING_LOST = Lost()


@dataclass(frozen=True, slots=True)
class RestorePreview:
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
    lost: Lost = NOTHING_LOST

    @property
    def loses_later(self) -> bool:
        """Whether all that came later is lost."""
        return self.whole or self.as_of

    def loses(self, commit: Commit) -> bool:
        """Whether something that this later commit did is lost."""
        return self.loses_later or commit.sha in {one.sha for one in self.lost.commits}

    @property
    def changes_anything(self) -> bool:
        """Whether a file or the cursor would change."""
        return bool(self.files) or self.cursor_now != self.cursor_after

    def to_json(self) -> dict[str, Any]:
        """The preview as a JSON object, with a unified diff for each file."""
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
    """Whether one of the lines that a commit left is `line`, reworded or with something added."""
    said = line.strip()
    return merge.alike(left, [line]) or any(said in other for other in left)


def lines_of(text: str | None) -> Counter[str]:
    """How often each filled line stands in a text."""
    return Counter(line.strip() for line in (text or "").split("\n") if line.strip())


def written_since(diff: FileDiff, file: RestoredFile) -> Counter[str]:
    """The lines of a file as it is now that came after the commit of `diff` and that a restore takes away."""
    now = lines_of(file.before)
    return (now - lines_of(diff.after)) & (now - lines_of(file.after))


def note(
    later: Sequence[Commit], everything_lost: bool, cursor: int, asked: int, rewound: int, lost: Lost = NOTHING_LOST
) -> str:
    """What becomes of later changes and of the cursor, in words; "" for nothing worth a word."""
    parts = []
    if lost.lines:
        of = [named(lost.commits)] if lost.commits else []
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


def named(commits: Sequence[Commit]) -> str:
    """How many later commits, and which: `2 later commits (a303f8f1, 51617caa)`."""
    more = [", …"] if len(commits) > _NAMED else []
    ids = ", ".join(commit.short for commit in commits[:_NAMED])
    return f"{counted(len(commits), 'later commit')} ({ids}{''.join(more)})"


def problem(
    commit: Commit, files: Sequence[RestoredFile], conflicts: Sequence[RestoreConflict], same_cursor: bool
) -> str:
    """Why nothing can be restored; "" when something can."""
    if conflicts:
        places = ", ".join(f"{conflict.path}:{conflict.line}" for conflict in conflicts)
        return f"later edits changed the same lines: {places}"
    if files or not same_cursor:
        return ""
    if any(stat.path in TRACKED_FILES for stat in commit.files):
        return "nothing of it is in force any more"
    return "it moved the cursor only: there is no line to take back"
