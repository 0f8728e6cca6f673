"""Every version of the memory files: their texts as of a commit or now, one of them brought back, and how long what
Dreams wrote lasted.

Owns reading them in order, the count of survival as long as nothing changes, and the operation that brings a file back
as it was. Must not write a file itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from threading import Lock

from nanomem_tui import clock
from nanomem_tui.dream.survival import Lasting, Version, survival
from nanomem_tui.errors import BadInput, NotFound, NothingToDo
from nanomem_tui.operations import Operation, Perform, new_operation
from nanomem_tui.paths import TRACKED_FILES
from nanomem_tui.store.files import FileLayer
from nanomem_tui.store.git_history import GitHistory
from nanomem_tui.store.git_objects import DamagedGit
from nanomem_tui.store.git_values import Commit

NOW = ""
"""In place of the id of a commit: the files as they are now."""


class Versions:
    """The versions of the memory files of one workspace."""

    def __init__(self, git: Callable[[], GitHistory | None], files: FileLayer, perform: Perform) -> None:
        self._git = git
        self._files = files
        self._perform = perform
        self._counting = Lock()
        self._counted: tuple[tuple[str, str], list[Lasting]] | None = None

    def text(self, sha: str, path: str) -> str | None:
        """A file as of a commit (`NOW`: as it is now), bytes that are no UTF-8 replaced; None when there was none.

        Raises NotFound for an unknown commit, DamagedGit.
        """
        if sha == NOW:
            return self._files.load(path).text
        data = self._data(sha, path)
        return None if data is None else data.decode("utf-8", "replace")

    def bring_back(self, sha: str, path: str) -> Operation:
        """Make a file as it was as of a commit, as one operation and one commit; other files stay as they are.

        Raises NotFound for an unknown commit or a file that was not there, BadInput when it held bytes that are no
        UTF-8, NothingToDo when it is so now.
        """
        data = self._data(sha, path)
        if data is None:
            raise NotFound("there was no such file then", path, "choose a later version")
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            raise BadInput("it held bytes that are no UTF-8", path, "take back the commit that wrote them") from None
        if data == self._files.load(path).data:
            raise NothingToDo("the file is as it was then", path)
        label = f"go back to {path} of {sha[:8]}"
        meta = {"commit": f"nanomem: {label}", "sha": sha}
        return self._perform(new_operation("dream.restore", label, [self._files.change(path, text)], meta=meta))

    def _data(self, sha: str, path: str) -> bytes | None:
        git = self._git()
        if git is None:
            raise NotFound("no versions of the memory files are kept here", sha, "a Dream begins to keep them")
        return git.file_at(sha if len(sha) == 40 else git.commit(sha).sha, path)

    def all(self) -> Iterator[Version]:
        """All of them, the oldest first; the last are the files as they are now, where a commit does not hold them."""
        git = self._git()
        head: dict[str, str | None] = dict.fromkeys(TRACKED_FILES)
        for commit in reversed(git.commits() if git else []):
            assert git is not None
            files = {path: text for path, text in _changed(git, commit).items() if head[path] != text}
            head |= files
            yield Version(commit.sha, commit.at, commit.is_dream, files)
        now = {path: self._files.load(path).text for path in TRACKED_FILES}
        differs = {path: text for path, text in now.items() if text != head[path]}
        if differs:
            yield Version(NOW, clock.iso(clock.now()), False, differs)

    def survival(self) -> list[Lasting]:
        """What became of the lines of each Dream, the newest Dream first. Counted once for each state of the files."""
        git = self._git()
        key = ((git.head() if git else None) or "", self._fingerprint())
        with self._counting:
            if self._counted is None or self._counted[0] != key:
                self._counted = (key, survival(self.all())[::-1])
            return self._counted[1]

    def _fingerprint(self) -> str:
        digest = hashlib.sha256()
        for path in TRACKED_FILES:
            digest.update((self._files.load(path).data or b"") + b"\0\0")
        return digest.hexdigest()


def _changed(git: GitHistory, commit: Commit) -> dict[str, str | None]:
    """The memory files that a commit changed; all that it holds where what came before cannot be read."""
    try:
        found = {path: new for path, _, new in git.changed(commit.sha)}
    except DamagedGit:  # the oldest commit of a shallow repository
        found = {path: git.blob_id(commit.sha, path) for path in TRACKED_FILES}
    return {
        path: None if blob is None else git.blob(blob).decode("utf-8", "replace")
        for path, blob in found.items()
        if path in TRACKED_FILES
    }
