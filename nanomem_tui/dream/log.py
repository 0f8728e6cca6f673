"""The log of Dreams: the commits that Dreams made, as runs. Reads only."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.errors import NotFound
from nanomem_tui.paths import DREAM_CURSOR, TRACKED_FILES

if TYPE_CHECKING:
    from nanomem_tui.store.git_history import GitHistory
    from nanomem_tui.store.git_values import Commit, FileDiff


class DreamRun(NamedTuple):
    """One Dream as it was committed. `at` is UTC ISO; the cursor file is not counted among `files`, `added`, `removed`.

    `entries` is how many history entries it went through, None where neither its message nor the cursor tells.
    """

    sha: str
    at: str
    actor: str
    author: str
    message: str
    files: tuple[str, ...]
    added: int
    removed: int
    entries: int | None

    @property
    def short(self) -> str:
        """The first 8 digits of the id, as agents print it."""
        return self.sha[:8]

    def to_json(self) -> dict[str, Any]:
        """The fields as a JSON object."""
        return {**self._asdict(), "files": list(self.files)}


def run_of(commit: Commit) -> DreamRun:
    """The Dream that made `commit`; counts its lines."""
    stats = [stat for stat in commit.files if stat.path != DREAM_CURSOR]
    return DreamRun(
        sha=commit.sha,
        at=commit.at,
        actor=commit.actor,
        author=commit.author,
        message=commit.subject,
        files=tuple(stat.path for stat in stats),
        added=sum(stat.added for stat in stats),
        removed=sum(stat.removed for stat in stats),
        entries=commit.entries,
    )


class DreamLog:
    """What Dreams did, newest first."""

    def __init__(self, git: Callable[[], GitHistory | None]) -> None:
        self._git = git

    def commits(self, limit: int | None = None) -> list[Commit]:
        """Every commit of the memory files, whoever made it; their statistics are counted when asked."""
        git = self._git()
        return git.commits(limit) if git else []

    def dreams(self) -> list[Commit]:
        """The commits that Dreams made."""
        return [commit for commit in self.commits() if commit.is_dream]

    def runs(self, limit: int | None = None) -> list[DreamRun]:
        """The newest Dreams with files, lines and entries counted."""
        return [run_of(commit) for commit in self.dreams()[:limit]]

    def show(self, sha: str) -> tuple[Commit, list[FileDiff]]:
        """A commit by the start of its id, and what it changed. Raises NotFound."""
        git = self._history(sha)
        commit = git.commit(sha)
        return commit, git.diff(commit.sha)

    def diff(self, first: str, second: str) -> list[FileDiff]:
        """The memory files as of one commit against another, those that differ. Raises NotFound."""
        from nanomem_tui.store.git_values import FileDiff

        git = self._history(first)
        old, new = git.commit(first).sha, git.commit(second).sha
        pairs = ((path, git.file_at(old, path), git.file_at(new, path)) for path in TRACKED_FILES)
        return [FileDiff(path, _text(one), _text(two)) for path, one, two in pairs if one != two]

    def _history(self, sha: str) -> GitHistory:
        git = self._git()
        if git is None:
            raise NotFound("no versions of the memory files are kept here", sha, "a Dream begins to keep them")
        return git


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")
