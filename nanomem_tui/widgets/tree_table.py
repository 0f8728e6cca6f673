"""A line table whose rows are leaves under headings that fold: what is below a folded heading costs nothing.

Owns folding keys and what selecting a heading means: all that is below it. Which rows there are, and which headings
are folded, is for the screen: it is told with `Turned`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Generic, NamedTuple, TypeVar

from textual.binding import BindingType

from nanomem_tui.widgets.bindings import widget_bindings
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.line_table import LineTable
from nanomem_tui.widgets.table_messages import TableMessage
from nanomem_tui.widgets.table_paint import Marks

Row = TypeVar("Row")


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
