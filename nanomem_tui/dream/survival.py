"""How long what Dreams wrote lasts: of the lines that each Dream added, those that stand after every later version.

Owns the count, in one pass over what each version changed. A line is what it says: moved, also to another file, it
stands; taken away and brought back, it stands again; reworded, it is gone. Pure; knows no repository.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from nanomem_tui.dream.evidence import is_statement


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
