"""Every version of the memory files: their texts as of a commit or now, what each changed, and how long what Dreams
wrote lasted.

Owns reading them in order, and the count of survival as long as nothing changes. Reads only.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal, NamedTuple

from nanomem_tui.agents.git import Commit, DamagedGit
from nanomem_tui.agents.git_history import GitHistory, covers
from nanomem_tui.core import clock, merge
from nanomem_tui.core import files as core_files
from nanomem_tui.core.paths import TRACKED_FILES
from nanomem_tui.dreams.blame import is_statement
from nanomem_tui.dreams.log import Who, required, who_made
from nanomem_tui.store.files.layer import FileLayer

# How long what Dreams wrote lasts: of the lines that each Dream added, those that stand after every later version.


class Version(NamedTuple):
    """One version of the memory files, and the texts of those files that it changed (None: no file from then on).

    `sha` is its commit, "" for the files as they are now; `at` is UTC ISO.
    """

    sha: str
    at: str
    is_dream: bool
    files: Mapping[str, str | None]


class Fate(NamedTuple):
    """A line that a Dream added, and the version that took it away: None while it stands, "" for an edit of today."""

    text: str
    gone: str | None


@dataclass(frozen=True, slots=True)
class Lasting:
    """What became of the lines of one Dream.

    `number` is its place among all versions, from 0; `versions` is how many there are. `steps` are (number of a
    version, lines that stand from it on), the first that of the Dream itself.
    """

    sha: str
    at: str
    number: int
    versions: int
    added: int
    steps: tuple[tuple[int, int], ...]
    lines: tuple[Fate, ...]

    @property
    def standing(self) -> int:
        """How many of its lines stand today."""
        return self.steps[-1][1]

    @property
    def share(self) -> float:
        """How much of it stands today, 0 to 1; nothing was added: 1."""
        return self.standing / self.added if self.added else 1.0

    def to_json(self) -> dict[str, Any]:
        """The fields as a JSON object, a line as `text` and the version that took it away."""
        names = ("sha", "at", "added", "standing", "share", "number", "versions")
        return {
            **{name: getattr(self, name) for name in names},
            "steps": [list(step) for step in self.steps],
            "lines": [fate._asdict() for fate in self.lines],
        }

    def curve(self) -> list[float]:
        """The share that stands after the Dream itself and after each later version, 0 to 1."""
        shares: list[float] = []
        ends = [number for number, _ in self.steps[1:]] + [self.versions]
        for (start, standing), end in zip(self.steps, ends, strict=True):
            shares += [standing / self.added if self.added else 1.0] * (end - start)
        return shares


def survival(versions: Iterable[Version]) -> list[Lasting]:
    """What became of each Dream among `versions` (the oldest first), in their order."""
    files: dict[str, Counter[str]] = {}
    counts: Counter[str] = Counter()
    dreams: list[_Dream] = []
    writers: dict[str, list[_Dream]] = {}
    number = -1
    for number, version in enumerate(versions):
        touched = _touched(files, counts, version)
        for text, (before, after) in touched.items():
            for dream in writers.get(text, ()):
                dream.changed(text, before, after, number, version.sha)
        if version.is_dream:
            added = {text: after - before for text, (before, after) in touched.items() if after > before}
            dreams.append(_Dream(version, number, added))
            for text in added:
                writers.setdefault(text, []).append(dreams[-1])
    return [dream.lasting(number + 1) for dream in dreams]


def _touched(files: dict[str, Counter[str]], counts: Counter[str], version: Version) -> dict[str, tuple[int, int]]:
    """How often each line that the version changed was there before and is now; brings `files`, `counts` up to it.

    Lines are compared whole and as they stand, so that only those that differ are looked into.
    """
    moved: Counter[str] = Counter()
    for name, text in version.files.items():
        now, before = Counter((text or "").split("\n")), files.get(name, Counter())
        files[name] = now
        differ = {line for line, _ in now.items() ^ before.items()}
        for line in (*now, *(before.keys() - now.keys())):  # in the order of the file
            if line in differ and is_statement(line):
                moved[line.strip()] += now[line] - before[line]
    touched = {text: (counts[text], counts[text] + step) for text, step in moved.items() if step}
    for text, (_, after) in touched.items():
        counts[text] = after
    return touched


class _Dream:
    """One Dream while the versions after it are gone through."""

    def __init__(self, version: Version, number: int, added: Mapping[str, int]) -> None:
        self._version = version
        self._number = number
        self._added = added
        self._steps = [(number, sum(added.values()))]
        self._gone: dict[str, str] = {}

    def changed(self, text: str, before: int, after: int, number: int, sha: str) -> None:
        """A later version holds `text` another number of times."""
        own = self._added[text]
        step = min(own, after) - min(own, before)
        if not step:
            return
        if step < 0:
            self._gone[text] = sha
        elif after >= own:
            self._gone.pop(text, None)
        last, standing = self._steps[-1]
        if last == number:
            self._steps.pop()
        self._steps.append((number, standing + step))

    def lasting(self, versions: int) -> Lasting:
        """What became of it, of so many versions."""
        return Lasting(
            sha=self._version.sha,
            at=self._version.at,
            number=self._number,
            versions=versions,
            added=sum(self._added.values()),
            steps=tuple(self._steps),
            lines=tuple(Fate(text, self._gone.get(text)) for text in self._added),
        )


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
        self._counting = Lock()
        self._counted: tuple[tuple[str, str], list[Lasting]] | None = None

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
    """The texts of the memory files that a commit changed, those that can be read."""
    texts: dict[str, str | None] = {}
    for path, (_, blob) in _blobs(git, commit).items():
        with suppress(DamagedGit):
            texts[path] = None if blob is None else core_files.decode(git.blob(blob), "replace")
    return texts


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
