"""A line table over more rows than are in memory: they come in pages, those that are looked at first.

Owns which pages are kept and what stands in place of a row that is not read yet. Where pages are read from is for the
screen: it is told which ones are missing, and gives them with `put`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar, Generic, NamedTuple, TypeAlias, TypeVar, overload

from textual.binding import BindingType

from nanomem_tui.widgets import table
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.key_queue import widget_bindings
from nanomem_tui.widgets.table import LineTable, Marks, TableMessage

Row = TypeVar("Row")

PAGE = 200
"""Rows of a page."""
KEPT = 40
"""Pages in memory."""
MOST_SELECTED = 1_000
"""Rows that are selected at once; a list that is no longer is read whole."""
UNREAD = "\0"
"""What the id of a row that is not read yet begins with."""


class PagedRows(Sequence[Row], Generic[Row]):
    """`total` rows, some pages of them in memory. `unread(index)` makes what stands in place of a row; `missing(page)`
    is called when a page is looked at that is not there."""

    def __init__(self, total: int, unread: Callable[[int], Row], missing: Callable[[int], None]) -> None:
        self._total = total
        self._unread = unread
        self._missing = missing
        self._pages: dict[int, Sequence[Row]] = {}

    def __len__(self) -> int:
        return self._total

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...

    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        """A row, or what stands in its place; several of them."""
        if isinstance(index, slice):
            return [self[one] for one in range(*index.indices(self._total))]
        if index < 0:
            index += self._total
        if not 0 <= index < self._total:
            raise IndexError(index)
        number, place = divmod(index, PAGE)
        page = self._pages.get(number)
        if page is None:
            self._missing(number)
        return page[place] if page is not None and place < len(page) else self._unread(index)

    def put(self, number: int, rows: Sequence[Row]) -> None:
        """Take in a page; the one furthest from it goes when there are too many."""
        self._pages[number] = rows
        if len(self._pages) > KEPT:
            del self._pages[max(self._pages, key=lambda other: abs(other - number))]

    @property
    def pages(self) -> frozenset[int]:
        """The pages in memory."""
        return frozenset(self._pages)

    def read(self) -> Iterator[tuple[int, Row]]:
        """The rows in memory, each with its index."""
        for number, page in self._pages.items():
            for place, row in enumerate(page):
                yield number * PAGE + place, row


class PagedTable(LineTable[Row], Generic[Row]):
    """A `LineTable` of `PagedRows`, or of rows that are all there."""

    TooMany: TypeAlias = table.TooMany

    _anchor_at = 0

    def is_read(self, row_id: str | None) -> bool:
        """Whether that is the id of a row, and not of one to come."""
        return row_id is not None and not row_id.startswith(UNREAD)

    def rows_came(self) -> None:
        """Pages that were missing are there now."""
        if self._rows:
            self._cursor_id = self._row_id(self._rows[self._cursor])
        if self._anchor is not None:
            self._stretch_range(self._cursor)
        self._refresh_what_differs()
        self._tell_highlight()

    def _find(self, row_id: str, near: int) -> int | None:
        """Only among the rows in memory."""
        if not isinstance(self._rows, PagedRows):
            return super()._find(row_id, near)
        return next((index for index, row in self._rows.read() if self._row_id(row) == row_id), None)

    # Selecting

    def action_select_range(self) -> None:
        """Start a range at the cursor, or end it."""
        self._anchor_at = self._cursor
        super().action_select_range()

    def _stretch_range(self, old: int) -> None:
        assert self._anchor is not None
        found = self._find(self._anchor, old)
        low, high = sorted((self._anchor_at if found is None else found, self._cursor))
        if high - low >= MOST_SELECTED:
            self.post_message(self.TooMany(self, MOST_SELECTED))
        else:
            self._set_selected(self._before_range | {self._row_id(row) for row in self._rows[low : high + 1]})

    def action_select_all(self) -> None:
        """Select every row of a list that is not too long; when they all are, none of them."""
        if len(self._rows) > MOST_SELECTED:
            self.post_message(self.TooMany(self, MOST_SELECTED))
        else:
            super().action_select_all()

    def _set_selected(self, ids: set[str]) -> None:
        super()._set_selected({one for one in ids if self.is_read(one)})


# A line table whose rows are leaves under headings that fold: what is below a folded heading costs nothing.


class Node(NamedTuple):
    """A heading: its own id, how deep it stands, its name, the ids of the leaves below it that are wanted, how many
    there are below it in all, and the heading that it stands under ("" for none)."""

    id: str
    depth: int
    name: str
    ids: tuple[str, ...]
    total: int
    is_folded: bool
    under: str = ""


class Turned(TableMessage):
    """A person wants a row unfolded, or folded."""

    def __init__(self, table: TreeTable[Row], row_id: str, unfold: bool) -> None:
        super().__init__(table)
        self.row_id = row_id
        self.unfold = unfold


class TreeTable(LineTable[Row], Generic[Row]):
    """A `LineTable` of leaves and `Node`s. Only leaves are ever selected."""

    BINDINGS: ClassVar[list[BindingType]] = [*widget_bindings("scroll_left", "scroll_right")]

    def __init__(
        self,
        columns: Sequence[Column[Row]],
        row_id: Callable[[Row], str],
        leaves: Callable[[], Sequence[str]],
        *,
        sign: Callable[[Row], str] | None = None,
        dimmed: Callable[[Row], bool] | None = None,
        id: str | None = None,
    ) -> None:
        """`leaves`: the ids of all leaves that are wanted, also of those under a folded heading."""
        super().__init__(columns, row_id, sign=sign, dimmed=dimmed, id=id)
        self._leaves = leaves
        self._headings: Mapping[str, Node] = {}

    def set_nodes(self, nodes: Mapping[str, Node]) -> None:
        """The headings among the rows that come next, by id."""
        self._headings = nodes

    @property
    def leaves(self) -> Sequence[str]:
        """The ids of all leaves that are wanted."""
        return self._leaves()

    def action_scroll_left(self) -> None:
        """Fold."""
        self._turn(unfold=False)

    def action_scroll_right(self) -> None:
        """Unfold."""
        self._turn(unfold=True)

    def _turn(self, *, unfold: bool) -> None:
        if self.cursor_id is not None:
            self.post_message(Turned(self, self.cursor_id, unfold))

    # Selecting

    def action_select(self) -> None:
        """Select the row, or all below the heading, or not; and move on."""
        node = self._headings.get(self.cursor_id or "")
        if node is None:
            super().action_select()
            return
        below = set(node.ids)
        self.select_ids(self._selected - below if below <= self._selected else self._selected | below)
        self.move_cursor(self._cursor + 1)

    def action_select_all(self) -> None:
        """Select every leaf that is wanted; when they all are, none of them."""
        shown = set(self._leaves())
        self.select_ids(self._selected - shown if shown <= self._selected else self._selected | shown)

    def _set_selected(self, ids: set[str]) -> None:
        """Of headings only folded ones count: they stand for what is below them."""
        headings = [self._headings[one] for one in ids if one in self._headings]
        below = {leaf for node in headings if node.is_folded for leaf in node.ids}
        super()._set_selected((ids - self._headings.keys()) | below if headings else ids)

    # Drawing

    def _marks(self, row: Row, index: int) -> Marks:
        marks = super()._marks(row, index)
        node = self._headings.get(self._row_id(row))
        if node is None:
            return marks
        chosen = bool(self._selected) and all(one in self._selected for one in node.ids)
        return marks._replace(selected=chosen, style=marks.style or "header")
