"""Every version of the memory files: their texts as of a commit or now, and what each changed.

Owns reading them in order. Reads only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Literal, NamedTuple

from nanomem_tui.agents.git import Commit, DamagedGit
from nanomem_tui.agents.git_history import GitHistory, covers
from nanomem_tui.core import files as core_files
from nanomem_tui.core import merge
from nanomem_tui.core.paths import TRACKED_FILES
from nanomem_tui.dreams.log import Who, required, who_made
from nanomem_tui.store.files.layer import FileLayer

NOW = ""
"""In place of the id of a commit: the files as they are now."""


Blobs = tuple[str | None, str | None]
"""The ids of a file's contents before and after, None where there was no file."""


class Saved(NamedTuple):
    """One version: its commit (`NOW`: the files as they are), the one before, who made it when (UTC ISO) and said what,
    and the memory files that it changed.
    """

    sha: str
    parent: str | None
    at: str
    who: Who | Literal["uncommitted"]
    subject: str
    files: Mapping[str, Blobs]


class Versions:
    """The versions of the memory files of one workspace."""

    def __init__(
        self, git: Callable[[], GitHistory | None], files: FileLayer, why_none: Callable[[], str] = str
    ) -> None:
        self._git = git
        self._why_none = why_none
        self._files = files
        self._line_counts: dict[Blobs, tuple[int, int]] = {}

    def text(self, sha: str, path: str) -> str | None:
        """A file as of a commit (`NOW`: as it is now), bytes that are no UTF-8 replaced; None when there was none.

        Raises NotFound for an unknown commit, DamagedGit.
        """
        if sha == NOW:
            return self._files.load(path).text
        git = required(self._git, sha, self._why_none)
        data = git.file_at(sha if len(sha) == 40 else git.commit(sha).sha, path)
        return None if data is None else core_files.decode(data, "replace")

    def newest_first(self) -> Iterator[Saved]:
        """All of them, the newest first; before them the files as they are now, where a commit does not hold them.

        Which files a version changed is told at once; how many lines `counts` tells, of the versions that are looked
        at.
        """
        git = self._git()
        head = git.head() if git else None
        if git is None or head is None:
            return
        differs: dict[str, Blobs] = {}
        for path in TRACKED_FILES:
            with suppress(DamagedGit):  # what cannot be read is not said to differ
                if self._files.load(path).data != git.file_at(head, path):
                    differs[path] = (None, None)
        if differs:
            yield Saved(NOW, head, "", "uncommitted", "not committed yet", differs)
        for commit in git.walk():
            files = _blobs(git, commit)
            yield Saved(commit.sha, commit.parent, commit.at, who_made(commit), commit.subject, files)

    def of(self, path: str) -> Iterator[Saved]:
        """Those that changed a file, the newest first."""
        return (saved for saved in self.newest_first() if path in saved.files)

    def counts(self, saved: Saved, path: str) -> tuple[int, int]:
        """How many lines a version added to a file and removed from it. Counted once for each pair of contents.

        Raises DamagedGit.
        """
        old, new = saved.files[path]
        if not saved.sha:
            return merge.count_changes(self.text(saved.parent or "", path) or "", self.text(NOW, path) or "")
        git = self._git()
        if git is None:
            return 0, 0
        found = self._line_counts.get((old, new))
        if found is None:
            found = merge.count_changes(git.text(old) or "", git.text(new) or "")
            self._line_counts[old, new] = found
        return found


def _blobs(git: GitHistory, commit: Commit) -> dict[str, Blobs]:
    """The memory files that a commit changed; all that it holds where what came before cannot be read."""
    try:
        changes = git.changed(commit.sha)
    except DamagedGit:
        changes = [("/", None, None)]
    found: dict[str, Blobs] = {}
    for name in TRACKED_FILES:
        change = next((change for change in changes if change[0] == "/" or covers(change[0], name)), None)
        if change is not None and change[0] == name:
            found[name] = change[1:]
        elif change is not None:  # what came before cannot be read
            with suppress(DamagedGit):
                found[name] = (None, git.blob_id(commit.sha, name))
    return found
