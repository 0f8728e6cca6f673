"""The rows behind a list: all of them, the filter, the order, and the view that comes of them.

Pure data, safe to work on in a thread: a view that was overtaken by a newer wish is dropped. It knows no widget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Generic, TypeVar

from nanomem_tui.memory.filters import Filter, Found, Kind, Search, fold, parse, ranked, unknown_value

Row = TypeVar("Row")

STEP = 10_000  # rows looked at between two looks at whether the wish has changed
FIRST_ROWS = 100  # found rows that are shown before the search is done
AT_ONCE = 2_000  # rows looked at while a key waits: a few milliseconds


@dataclass(frozen=True)
class View(Generic[Row]):
    """Rows to show for the wish of `turn`; `done` is False when more are being looked for.

    `hint` is why there are none, where a field was asked for a value that no row has.
    """

    turn: int
    rows: Sequence[Row]
    found: Found
    done: bool
    hint: str = ""


class Listing(Generic[Row]):
    """All rows of a list and what is wanted of them. Only `views` may run in a thread."""

    def __init__(
        self,
        row_id: Callable[[Row], str],
        text: Callable[[Row], str],
        field: Callable[[Row, str], Any],
        fields: Mapping[str, Kind],
    ) -> None:
        self._row_id = row_id
        self._text = text
        self._field = field
        self._fields = fields
        self._data: tuple[Sequence[Row], list[str]] = ((), [])  # the rows, and their folded texts as far as made
        self._folding = Lock()
        self.filter = Filter()
        self.sorted_by = ""
        self.fuzzy = False
        self._sort: Callable[[Row], Any] | None = None
        self._descending = False
        self._turn = 0
        self._shown_turn = 0
        self._last: Found | None = None

    @property
    def rows(self) -> Sequence[Row]:
        """All rows, in the order they came."""
        return self._data[0]

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Other rows, or the same ones read again."""
        self._data = (rows, [])
        self._last = None

    def set_query(self, query: str) -> bool:
        """Another filter; False when it is the one already set."""
        if query == self.filter.source:
            return False
        self.filter = parse(query, self._fields)
        return True

    def set_order(self, key: str, sort: Callable[[Row], Any] | None, descending: bool) -> None:
        """Another order; `key` names it, None as `sort` means the order they came in."""
        self.sorted_by, self._sort, self._descending = key, sort, descending

    def next_turn(self) -> int:
        """A new wish: views of earlier turns are no longer of interest."""
        self._turn += 1
        return self._turn

    def accept(self, view: View[Row]) -> bool:
        """Take a view that is still wanted, and remember it for narrowing; False when it was overtaken."""
        if view.turn != self._turn:
            return False
        self.fuzzy = view.found.fuzzy and bool(view.rows)
        if view.done:
            self._last, self._shown_turn = view.found, view.turn
        return True

    @property
    def view_to_come(self) -> bool:
        """Whether the rows that are wanted are still looked for."""
        return self._shown_turn != self._turn

    def fold(self) -> None:
        """Make the texts that words are searched in, so that the first letter of a filter need not wait for them."""
        self._folded(self._data, self._turn, whole=True)

    def first_view(self, turn: int) -> View[Row] | None:
        """What can be shown for `turn` while the key waits: all, or the first rows; None where that is not known yet,
        `views` finds out."""
        (rows, texts), wanted = self._data, self.filter
        if self._sort is not None:
            return None
        if not wanted:
            return View(turn, rows, Found(wanted, range(len(rows))), True)
        last = self._last
        if len(texts) < len(rows):
            texts, last = [fold(self._text(row)) for row in rows[:AT_ONCE]], None
        search = self._search(rows, texts, last, guess=False)
        is_all = search.step(AT_ONCE) and len(texts) == len(rows)
        found = search.found
        if is_all and found.indexes:
            return View(turn, [rows[index] for index in ranked(texts, found)], found, True)
        if len(found.indexes) < FIRST_ROWS:
            return None
        return View(turn, [rows[index] for index in found.indexes], found, False)

    def _search(self, rows: Sequence[Row], texts: list[str], last: Found | None, *, guess: bool = True) -> Search:
        field_of = self.filter.predicate(self._field)
        accept = None if field_of is None else lambda index: field_of(rows[index])
        return Search(texts, self.filter, accept, last, fuzzy=guess)

    def _folded(self, data: tuple[Sequence[Row], list[str]], turn: int, *, whole: bool = False) -> bool:
        """Make the folded texts of all rows; False when the wish changed meanwhile and they are not `whole`."""
        rows, texts = data
        with self._folding:
            while len(texts) < len(rows):
                if (turn != self._turn and not whole) or data is not self._data:
                    return False
                texts.extend([fold(self._text(row)) for row in rows[len(texts) : len(texts) + STEP]])
        return True

    def views(self, turn: int) -> Iterator[View[Row]]:
        """The rows to show for `turn`: perhaps the first ones early, then all. Stops when the wish has changed."""
        data, wanted, last = self._data, self.filter, self._last
        rows, texts = data
        sort, descending = self._sort, self._descending
        if not wanted:
            yield View(turn, _ordered(rows, sort, descending), Found(wanted, range(len(rows))), True)
            return
        if not self._folded(data, turn):
            return
        search = self._search(rows, texts, last)
        early = False
        while not search.step(STEP):
            if turn != self._turn:
                return
            if early:
                continue
            so_far = search.found
            if search.guessing or (sort is None and len(so_far.indexes) >= FIRST_ROWS):
                early = True
                yield View(turn, [rows[index] for index in so_far.indexes], so_far, False)
        found = search.found
        order = found.indexes if sort is not None else ranked(texts, found)
        hint = "" if order else unknown_value(wanted, rows, self._field)
        yield View(turn, _ordered([rows[index] for index in order], sort, descending), found, True, hint)


def _ordered(rows: Sequence[Row], sort: Callable[[Row], Any] | None, descending: bool) -> Sequence[Row]:
    return rows if sort is None else sorted(rows, key=sort, reverse=descending)
