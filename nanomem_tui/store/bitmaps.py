"""Common words as bitmaps: which rows hold enough of them to matter, found by a few operations on whole numbers.

Owns the bitmaps of the words that were asked for, kept current bit by bit, and the search for rows by what they hold at
least. Knows row numbers and upper bounds only: no score, no text, nothing of who sees what.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Collection, Container, Iterable, Sequence
from itertools import compress

LEAST_BYTES, A_ROW = 16_000_000, 100
"""What all bitmaps together may hold: that, or so many bytes for each row; the words not asked for the longest go
first."""
SPARSE = 40
"""Where less than this part of the rows is in a set, its bits are set one by one: quicker than to pack a byte for each
row."""


class Bitmap:
    """A set of row numbers as bits: `data` to look rows up, `number` to combine sets."""

    __slots__ = ("_number", "data")

    def __init__(self, places: Collection[int], count: int) -> None:
        """`count`: every place is below."""
        self._number: int | None = None
        if len(places) * SPARSE < count:
            self.data = data = bytearray((count + 7) >> 3)
            for place in places:
                data[place >> 3] |= 1 << (place & 7)
            return
        flags = bytearray(count)
        for place in places:
            flags[place] = 1
        self.data = bytearray(packed(flags).to_bytes((count + 7) >> 3, "little"))

    @property
    def number(self) -> int:
        """The set as a whole number: bit n is row n."""
        if self._number is None:
            self._number = int.from_bytes(self.data, "little")
        return self._number

    def add(self, places: Iterable[int]) -> None:
        """Put rows into the set; `reach` was called for them."""
        for place in places:
            self.data[place >> 3] |= 1 << (place & 7)
            self._number = None

    def discard(self, place: int) -> None:
        """Take a row out of the set."""
        if place >> 3 < len(self.data):
            self.data[place >> 3] &= ~(1 << (place & 7))
            self._number = None

    def reach(self, count: int) -> None:
        """Make room for rows below `count`."""
        missing = ((count + 7) >> 3) - len(self.data)
        if missing > 0:
            self.data.extend(bytes(missing))


class Held:
    """The rows that hold a word, and those of them that hold it more than once, as far as row `until`."""

    __slots__ = ("more", "rows", "until")

    def __init__(self, rows: Collection[int], times: Collection[int], until: int) -> None:
        self.rows = Bitmap(rows, until)
        self.more = Bitmap(times, until)
        self.until = until

    def catch_up(self, rows: Sequence[int], times: Container[int], count: int) -> None:
        """Take up the rows from `until` on; `rows`, in growing order, are all that hold the word."""
        fresh = rows[bisect_left(rows, self.until) :]
        for bitmap in (self.rows, self.more):
            bitmap.reach(count)
        self.rows.add(fresh)
        self.more.add(place for place in fresh if place in times)
        self.until = count


class Bitmaps:
    """The bitmaps of words that were asked for. New rows are taken up when a word is asked for again."""

    def __init__(self) -> None:
        self._held: dict[str, Held] = {}

    def of(self, word: str, rows: int | Sequence[int], times: Collection[int] | None, count: int) -> Held:
        """The bitmaps of a word that these of `count` rows hold, some of them several times."""
        every = (rows,) if isinstance(rows, int) else rows
        held = self._held.pop(word, None)
        if held is None:
            held = Held(every, times or (), count)
        elif held.until < count:
            held.catch_up(every, times or (), count)
        self._held[word] = held
        most = max(LEAST_BYTES, A_ROW * count) * 2 // (count + 1)
        while len(self._held) > max(8, most):
            del self._held[next(iter(self._held))]
        return held

    def discard(self, words: set[str], place: int) -> None:
        """A row no longer holds these words."""
        for word in self._held.keys() & words:
            self._held[word].rows.discard(place)
            self._held[word].more.discard(place)

    def clear(self) -> None:
        """Forget everything: rows have other numbers now."""
        self._held.clear()


def packed(flags: bytes | bytearray) -> int:
    """The whole number whose bit n is byte n, which is 0 or 1."""
    return sum(int.from_bytes(flags[bit::8], "little") << bit for bit in range(8))


def places_of(number: int) -> list[int]:
    """The set bits of a whole number, in no order."""
    if not number:
        return []
    count = (number.bit_length() + 63) >> 6
    parts = array("Q", number.to_bytes(count << 3, "little"))
    found = []
    for at in compress(range(count), parts):
        part, base = parts[at], at << 6
        while part:
            bit = part.bit_length() - 1
            found.append(base + bit)
            part ^= 1 << bit
    return found


class Bounds:
    """Words with what each is worth to a row at most: when it holds the word once, and when it holds it more often."""

    def __init__(self, held: Sequence[Held], once: Sequence[float], most: Sequence[float]) -> None:
        self._rows = [one.rows.number for one in held]
        self._more = [one.more.number for one in held]
        self._once, self._most = once, most
        self._rest = [0.0] * (len(held) + 1)
        for at in range(len(held) - 1, -1, -1):
            self._rest[at] = self._rest[at + 1] + most[at]

    def reaching(self, need: float, at: int = 0) -> int:
        """The rows that may be worth `need` (above zero) by the words from `at` on, as a whole number."""
        rest = self._rest
        if rest[at] < need:
            return 0
        after = at + 1
        left = rest[after]
        found = self.reaching(need, after) if left >= need else 0
        below = need - self._once[at]
        if below <= 0:
            found |= self._rows[at]
        elif left >= below:
            found |= self._rows[at] & self.reaching(below, after)
        if self._more[at]:
            below = need - self._most[at]
            if below <= 0:
                found |= self._more[at]
            elif left >= below:
                found |= self._more[at] & self.reaching(below, after)
        return found
