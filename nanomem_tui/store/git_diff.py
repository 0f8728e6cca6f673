"""The lines that changed between two versions of a file, exactly as git pairs them: what a blame must agree on.

Where lines repeat (blank lines, rules, headings) there are many shortest differences. Git settles on one by Myers'
linear-space search over the lines that have a counterpart, and then slides each group of changed lines to where a
reader would put it. Both steps are done here as git does them, so that our blame names the commits that `git blame`
names. `merge.edits` remains the difference for reading and for merging. Pure functions over bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nanomem_tui.formats import encoding
from nanomem_tui.store.git_slide import Side, slide_groups

Lines = Sequence[bytes]

_TAIL = 1024  # bytes in which a common end is compared
_MOST_EQUAL = 1024  # a line that comes that often elsewhere says little
_WINDOW = 100  # lines around a frequent line that are looked at
_SNAKE = 20  # equal lines in a row that are worth a shortcut
_LONG_SEARCH = 256  # steps of a search after which shortcuts are taken
_FAR = 1 << 60
_FEW = 8  # lines that are quicker counted one by one


class Span(NamedTuple):
    """The lines [start, stop) of the old text became the lines [new_start, new_stop) of the new; counted from 0."""

    start: int
    stop: int
    new_start: int
    new_stop: int


def lines_of(data: bytes) -> list[bytes]:
    """The lines of a file with their line feeds, those of UTF-16 as UTF-8; only the last may be without one."""
    parts = encoding.plain(data).split(b"\n")
    last = parts.pop()
    lines = [part + b"\n" for part in parts]
    if last:
        lines.append(last)
    return lines


def spans(old: bytes, new: bytes, old_lines: Lines | None = None, new_lines: Lines | None = None) -> list[Span]:
    """The changes that make `new` of `old`, in order. The lines may be given when they are known already."""
    old, new = encoding.plain(old), encoding.plain(new)
    one = lines_of(old) if old_lines is None else old_lines
    two = lines_of(new) if new_lines is None else new_lines
    skipped = _common_tail(old, new)
    if skipped:
        one, two = one[: len(one) - skipped], two[: len(two) - skipped]
    top = common_start(one, two)
    if top == len(one) == len(two):
        return []
    left, right = _Text(one), _Text(two)
    _mark(left, right, top)
    slide_groups(left, right)
    slide_groups(right, left)
    return _script(left.changed, right.changed)


def _script(left: bytearray, right: bytearray) -> list[Span]:
    """The marks of both texts as changes."""
    found = []
    at, new_at = left.find(1), right.find(1)
    done, new_done = 0, 0
    while at >= 0 or new_at >= 0:
        # As many unchanged lines lie before a change on the one side as on the other.
        run = min(place - start for place, start in ((at, done), (new_at, new_done)) if place >= 0)
        span = Span(done + run, left.find(0, done + run), new_done + run, right.find(0, new_done + run))
        found.append(span)
        done, new_done = span.stop, span.new_stop
        at, new_at = left.find(1, done), right.find(1, new_done)
    return found


def _common_tail(old: bytes, new: bytes) -> int:
    """How many lines at the end git does not look at: those within whole equal blocks, but for the first of them."""
    most = min(len(old), len(new))
    size = 0
    while size + _TAIL <= most and _block(old, size) == _block(new, size):
        size += _TAIL
    if not size:
        return 0
    first = old.find(b"\n", len(old) - size) + 1
    if not first:
        return 0
    rest = old[first:]
    return rest.count(b"\n") + (bool(rest) and not rest.endswith(b"\n"))


def _block(data: bytes, from_end: int) -> bytes:
    end = len(data) - from_end
    return data[end - _TAIL : end]


def common_start(one: Sequence[object], two: Sequence[object]) -> int:
    """How many lines at the start are equal. Compares slices: that runs at the speed of C."""
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == two[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


class _Text(Side):
    """One of the two texts, and the lines of it that the search compares."""

    def __init__(self, lines: Lines) -> None:
        super().__init__(lines)
        self.kept: list[int] = []  # their places
        self.keys: list[bytes] = []


# Which lines changed


def _mark(left: _Text, right: _Text, top: int) -> None:
    """Mark the lines of both sides that a shortest difference changes."""
    end = common_start(left.lines[top:][::-1], right.lines[top:][::-1])
    for side, other in ((left, right), (right, left)):
        _choose(side, other, top, len(side.lines) - end)
    if left.keys or right.keys:
        _Search(left, right).run(0, len(left.keys), 0, len(right.keys), False)


def _choose(side: _Text, other: _Text, low: int, high: int) -> None:
    """Of the lines [low, high) mark those without a counterpart, and frequent ones amid such; the rest is compared."""
    limit = min(_root(len(side.lines)), _MOST_EQUAL)
    wanted = side.lines[low:high]
    counts: Mapping[bytes, int]
    if len(wanted) > _FEW:
        counts = Counter(other.lines)
    else:
        counts = {line: count for line in wanted if (count := other.lines.count(line))}
    frequent = {line for line, count in counts.items() if count >= limit}
    if frequent.isdisjoint(wanted):
        gone = [line not in counts for line in wanted]
    else:
        kinds = bytes(0 if line not in counts else 2 if line in frequent else 1 for line in wanted)
        gone = [not kind or (kind == 2 and _is_lost(kinds, at)) for at, kind in enumerate(kinds)]
    side.changed[low:high] = bytes(gone)
    side.kept = [at for at, lost in enumerate(gone, low) if not lost]
    side.keys = [side.lines[at] for at in side.kept]


def _root(number: int) -> int:
    """A power of two near the square root."""
    root = 1
    while number > 0:
        root *= 2
        number >>= 2
    return root


def _is_lost(kinds: bytes, at: int) -> bool:
    """Whether a frequent line stands amid lines that mostly have no counterpart."""
    single = frequent = 0
    for step, limit in ((-1, max(-1, at - _WINDOW - 1)), (1, min(len(kinds), at + _WINDOW + 1))):
        here = 0
        for place in range(at + step, limit, step):
            if kinds[place] == 1:
                break
            here += not kinds[place]
            frequent += kinds[place] == 2
        if not here:
            return False
        single += here
    return (frequent + 2) * 4 < frequent + 2 + single


class _Split(NamedTuple):
    """Where to cut a box in two, and whether each part is to be searched to the end."""

    one: int
    two: int
    minimal_low: bool
    minimal_high: bool


class _Search:
    """Myers' search in linear space: cut the box where the searches from both corners meet, then search the halves."""

    def __init__(self, left: _Text, right: _Text) -> None:
        self.left, self.right = left, right
        self.one, self.two = left.keys, right.keys
        size = len(self.one) + len(self.two) + 3
        self.forward = [0] * size  # by diagonal; negative ones count from the end, where none of the others reach
        self.backward = [0] * size
        self.most = max(_root(size), _LONG_SEARCH)

    def run(self, low1: int, high1: int, low2: int, high2: int, minimal: bool) -> None:
        """Mark what changed in the box."""
        one, two = self.one, self.two
        while low1 < high1 and low2 < high2 and one[low1] == two[low2]:
            low1, low2 = low1 + 1, low2 + 1
        while low1 < high1 and low2 < high2 and one[high1 - 1] == two[high2 - 1]:
            high1, high2 = high1 - 1, high2 - 1
        if low1 == high1:
            for place in range(low2, high2):
                self.right.changed[self.right.kept[place]] = 1
        elif low2 == high2:
            for place in range(low1, high1):
                self.left.changed[self.left.kept[place]] = 1
        else:
            cut = self._split(low1, high1, low2, high2, minimal)
            self.run(low1, cut.one, low2, cut.two, cut.minimal_low)
            self.run(cut.one, high1, cut.two, high2, cut.minimal_high)

    def _split(self, low1: int, high1: int, low2: int, high2: int, minimal: bool) -> _Split:
        one, two, ahead, back = self.one, self.two, self.forward, self.backward
        least, most = low1 - high2, high1 - low2
        ahead_mid, back_mid = low1 - low2, high1 - high2
        odd = (ahead_mid - back_mid) & 1
        ahead_low = ahead_high = ahead_mid
        back_low = back_high = back_mid
        ahead[ahead_mid], back[back_mid] = low1, high1
        for cost in range(1, _FAR):
            snake = False
            if ahead_low > least:
                ahead_low -= 1
                ahead[ahead_low - 1] = -1
            else:
                ahead_low += 1
            if ahead_high < most:
                ahead_high += 1
                ahead[ahead_high + 1] = -1
            else:
                ahead_high -= 1
            for diagonal in range(ahead_high, ahead_low - 1, -2):
                before, behind = ahead[diagonal - 1], ahead[diagonal + 1]
                at = started = before + 1 if before >= behind else behind
                other = at - diagonal
                while at < high1 and other < high2 and one[at] == two[other]:
                    at, other = at + 1, other + 1
                snake = snake or at - started > _SNAKE
                ahead[diagonal] = at
                if odd and back_low <= diagonal <= back_high and back[diagonal] <= at:
                    return _Split(at, other, True, True)
            if back_low > least:
                back_low -= 1
                back[back_low - 1] = _FAR
            else:
                back_low += 1
            if back_high < most:
                back_high += 1
                back[back_high + 1] = _FAR
            else:
                back_high -= 1
            for diagonal in range(back_high, back_low - 1, -2):
                before, behind = back[diagonal - 1], back[diagonal + 1]
                at = started = before if before < behind else behind - 1
                other = at - diagonal
                while at > low1 and other > low2 and one[at - 1] == two[other - 1]:
                    at, other = at - 1, other - 1
                snake = snake or started - at > _SNAKE
                back[diagonal] = at
                if not odd and ahead_low <= diagonal <= ahead_high and at <= ahead[diagonal]:
                    return _Split(at, other, True, True)
            if minimal:
                continue
            box = (low1, high1, low2, high2)
            ahead_range = range(ahead_high, ahead_low - 1, -2)
            back_range = range(back_high, back_low - 1, -2)
            if snake and cost > _LONG_SEARCH:
                cut = self._shortcut_ahead(box, ahead_range, cost) or self._shortcut_back(box, back_range, cost)
                if cut is not None:
                    return cut
            if cost >= self.most:
                return self._farthest(box, ahead_range, back_range)
        raise AssertionError("two searches that never meet")

    def _shortcut_ahead(self, box: tuple[int, int, int, int], diagonals: range, cost: int) -> _Split | None:
        """A place far ahead that ends a long run of equal lines."""
        low1, high1, low2, high2 = box
        best, cut = 0, None
        for diagonal in diagonals:
            at = self.forward[diagonal]
            other = at - diagonal
            gain = (at - low1) + (other - low2) - abs(diagonal - (low1 - low2))
            inside = low1 + _SNAKE <= at < high1 and low2 + _SNAKE <= other < high2
            if gain > 4 * cost and gain > best and inside:
                if self.one[at - _SNAKE : at] == self.two[other - _SNAKE : other]:
                    best, cut = gain, _Split(at, other, True, False)
        return cut

    def _shortcut_back(self, box: tuple[int, int, int, int], diagonals: range, cost: int) -> _Split | None:
        """A place far back that begins a long run of equal lines."""
        low1, high1, low2, high2 = box
        best, cut = 0, None
        for diagonal in diagonals:
            at = self.backward[diagonal]
            other = at - diagonal
            gain = (high1 - at) + (high2 - other) - abs(diagonal - (high1 - high2))
            inside = low1 < at <= high1 - _SNAKE and low2 < other <= high2 - _SNAKE
            if gain > 4 * cost and gain > best and inside:
                if self.one[at : at + _SNAKE] == self.two[other : other + _SNAKE]:
                    best, cut = gain, _Split(at, other, False, True)
        return cut

    def _farthest(self, box: tuple[int, int, int, int], ahead_range: range, back_range: range) -> _Split:
        """After too long a search: the place that one of the two searches came farthest to."""
        low1, high1, low2, high2 = box
        ahead_sum, ahead_at = -1, 0
        for diagonal in ahead_range:
            at = min(self.forward[diagonal], high1)
            other = at - diagonal
            if other > high2:
                at, other = high2 + diagonal, high2
            if at + other > ahead_sum:
                ahead_sum, ahead_at = at + other, at
        back_sum, back_at = _FAR, 0
        for diagonal in back_range:
            at = max(self.backward[diagonal], low1)
            other = at - diagonal
            if other < low2:
                at, other = low2 + diagonal, low2
            if at + other < back_sum:
                back_sum, back_at = at + other, at
        if high1 + high2 - back_sum < ahead_sum - (low1 + low2):
            return _Split(ahead_at, ahead_sum - ahead_at, True, False)
        return _Split(back_at, back_sum - back_at, False, True)
