"""Which commit wrote each line of a versioned file, as `git blame` says; and, behind one that brought a line back,
which one wrote it first.

Walks from a commit to its parents and hands every line on that the parent has too; whole blobs that did not change cost
one look at two trees. Renamed files are not followed: the memory files keep their names. Knows commits and blobs, not
Dreams, operations or caches; what a caller knows already of an older commit ends the walk there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.store.git_diff import Span, lines_of, spans
from nanomem_tui.store.git_objects import DamagedGit

if TYPE_CHECKING:
    from nanomem_tui.store.git_history import GitHistory
    from nanomem_tui.store.git_objects import CommitObject

Known = Mapping[str, Sequence[str]]
"""By commit: the writer of each line of the file as of that commit."""

_ABSENT = -1


class _Version(NamedTuple):
    """A file as of some commits."""

    data: bytes
    lines: list[bytes]


class Blame(NamedTuple):
    """The commit of each line (None for one that was not asked for), and how many commits were looked at."""

    writers: list[str | None]
    looked_at: int


def blame(
    git: GitHistory, sha: str, path: str, *, wanted: Collection[int] | None = None, known: Known | None = None
) -> Blame:
    """Who wrote each line of `path` as of the commit `sha`; `wanted`: only of the lines of these places (from 0).

    A line that comes from a commit that cannot be read is given to its child. Raises DamagedGit for `sha` itself.
    """
    return _Walk(git, path, known or {}).run(sha, wanted)


class _Walk:
    def __init__(self, git: GitHistory, path: str, known: Known) -> None:
        self._git = git
        self._path = path
        self._known = known
        self._versions: dict[str, _Version] = {}
        self._waiting: dict[str, list[list[int]]] = {}  # by commit: for each of its lines, the place it ends up at
        self._writers: list[str | None] = []

    def run(self, sha: str, wanted: Collection[int] | None) -> Blame:
        blob = self._git.blob_id(sha, self._path)
        if blob is None:
            return Blame([], 1)
        count = len(self._version(blob).lines)
        self._writers = [None] * count
        places = list(range(count))
        if wanted is not None:
            places = [place if place in wanted else _ABSENT for place in places]
        self._hand_on(sha, places)
        looked_at = 0
        while self._waiting:
            sha = next(iter(self._waiting)) if len(self._waiting) == 1 else max(self._waiting, key=self._time)
            looked_at += 1
            for track in self._waiting.pop(sha):
                self._settle(sha, track)
        return Blame(self._writers, looked_at)

    def _time(self, sha: str) -> str:
        return self._git.raw(sha).at

    def _hand_on(self, sha: str, track: list[int]) -> None:
        if any(place != _ABSENT for place in track):
            self._waiting.setdefault(sha, []).append(track)

    def _settle(self, sha: str, track: list[int]) -> None:
        """Give the lines of `track` to the parents that have them; the rest was written by `sha`."""
        known = self._known.get(sha)
        if known is not None and len(known) == len(track):
            for line, place in enumerate(track):
                if place != _ABSENT:
                    self._writers[place] = known[line]
            return
        blob = self._git.blob_id(sha, self._path)
        parents = [(parent, found) for parent in self._git.raw(sha).parents if (found := self._blob_in(parent))]
        same = next((parent for parent, found in parents if found == blob), None)
        if same is not None:
            self._waiting.setdefault(same, []).append(track)
            return
        for parent, found in parents:
            passed, track = self._compare(found, blob or "", track)
            self._hand_on(parent, passed)
        for place in track:
            if place != _ABSENT:
                self._writers[place] = sha

    def _blob_in(self, parent: str) -> str | None:
        try:
            found = self._git.blob_id(parent, self._path)
            if found is not None:
                self._version(found)
            return found
        except DamagedGit:
            return None  # a shallow or damaged repository: nobody older can be named

    def _compare(self, old: str, new: str, track: list[int]) -> tuple[list[int], list[int]]:
        """(the lines of `track` that the old version has, by its own numbers; those that it does not have)."""
        before, after = self._version(old), self._version(new)
        self._versions = {old: before, new: after}
        passed: list[int] = []
        left = [_ABSENT] * len(track)
        at = 0
        for span in spans(before.data, after.data, before.lines, after.lines):
            passed += track[at : span.new_start]
            passed += [_ABSENT] * (span.stop - span.start)
            left[span.new_start : span.new_stop] = track[span.new_start : span.new_stop]
            at = span.new_stop
        passed += track[at:]
        return passed, left

    def _version(self, blob: str) -> _Version:
        found = self._versions.get(blob)
        if found is None:
            data = self._git.blob(blob)
            found = self._versions[blob] = _Version(data, lines_of(data))
        return found


def uncommitted(committed: bytes, now: bytes) -> list[int | None]:
    """For each line of the file as it is now: its place in the committed version, None for one that is in none."""
    places: list[int | None] = []
    at = 0
    for span in [*spans(committed, now), _end_of(committed, now)]:
        places += range(at, span.start)
        places += [None] * (span.new_stop - span.new_start)
        at = span.stop
    return places


def _end_of(old: bytes, new: bytes) -> Span:
    end, new_end = len(lines_of(old)), len(lines_of(new))
    return Span(end, end, new_end, new_end)


def first_writers(
    git: GitHistory,
    path: str,
    lines: Sequence[bytes],
    writers: Sequence[str],
    brings_back: Callable[[CommitObject], bool],
) -> list[str]:
    """`writers`, where each that only brought lines back (an undo, a revert) gives way to who wrote them before.

    A line that stands in no version before it was written by the one who brought it back.
    """
    result = list(writers)
    settled: set[tuple[str, int]] = set()
    while True:
        waiting: dict[str, list[int]] = {}
        for place, sha in enumerate(result):
            if (sha, place) not in settled and lines[place].strip() and brings_back(git.raw(sha)):
                settled.add((sha, place))
                waiting.setdefault(sha, []).append(place)
        if not waiting:
            return result
        for sha, places in waiting.items():
            for place, writer in _before(git, path, sha, {place: lines[place] for place in places}).items():
                result[place] = writer


def _before(git: GitHistory, path: str, sha: str, wanted: dict[int, bytes]) -> dict[int, str]:
    """By place: who had written the lines that stood in the newest version before the commit `sha` that had them."""
    found: dict[int, str] = {}
    last = git.blob_id(sha, path)
    try:
        parents = git.raw(sha).parents
        while parents and wanted:
            sha = parents[0]
            blob = git.blob_id(sha, path)
            if blob is not None and blob != last:
                here = {line: number for number, line in reversed(list(enumerate(lines_of(git.blob(blob)))))}
                numbers = {place: here[line] for place, line in wanted.items() if line in here}
                if numbers:
                    writers = blame(git, sha, path, wanted=set(numbers.values())).writers
                    found |= {place: writers[number] or sha for place, number in numbers.items()}
                    wanted = {place: line for place, line in wanted.items() if place not in numbers}
            last = blob
            parents = git.raw(sha).parents
    except DamagedGit:
        return found
    return found
