"""Which commit wrote each line of a versioned file; and, behind one that brought a line back, which one wrote it first.

Walks from a commit along first parents, as the log does, and hands every line on that the version before has too, by
the same difference that is shown to a person. Renamed files are not followed: the memory files keep their names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.store import merge
from nanomem_tui.store.git_values import DamagedGit

if TYPE_CHECKING:
    from nanomem_tui.store.git_history import GitHistory
    from nanomem_tui.store.git_values import Commit


class Written(NamedTuple):
    """The commit that wrote a line, and the one that wrote it before that brought it back; mostly the same."""

    by: str
    first: str


def blame(git: GitHistory, sha: str, path: str, brings_back: Callable[[Commit], bool]) -> list[Written]:
    """Who wrote each line of `path` as of the commit `sha`.

    A line that comes from a version that cannot be read is given to the commit behind it; one that `brings_back` says
    was only brought back (an undo, a revert), and that stands in no version before, to that commit. Raises DamagedGit
    for `sha` itself.
    """
    blob = git.blob_id(sha, path)
    lines = _lines(git, blob)
    written: list[Written | None] = [None] * len(lines)
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
        for ends, came_from in zip(held, places(older, lines), strict=True):
            if came_from is not None:
                passed[came_from] += ends
        for number, line in enumerate(older):
            passed[number] += sought.pop(line, ())
        handed_on = {place for ends in passed for place in ends}
        back = brings_back(commit)
        for line, ends in zip(lines, held, strict=True):
            for place in (end for end in ends if end not in handed_on):
                written[place] = Written((written[place] or Written(sha, sha)).by, sha)
                if back and line.strip():
                    sought.setdefault(line, []).append(place)
        if parent is None:
            break
        sha, blob, lines, held = parent, before, older, passed
    return [one or Written(sha, sha) for one in written]


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


def places(old: Sequence[str], new: Sequence[str]) -> list[int | None]:
    """For each line of `new` its place in `old`, None for one that is new."""
    found: list[int | None] = []
    at = 0
    for edit in merge.edits(old, new):
        found += range(at, edit.start)
        found += [None] * (edit.new_stop - edit.new_start)
        at = edit.stop
    return [*found, *range(at, len(old))]
