"""A dialog with a field and a list: typing narrows the list, the arrows move in it meanwhile, enter chooses.

Owns the keys and the choice. What is listed for what was typed, a subclass says.
"""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

from textual import on
from textual.binding import Binding, BindingType
from textual.widgets import Input

from nanomem_tui.widgets.dialog import Dialog
from nanomem_tui.widgets.filter_bar import LineInput
from nanomem_tui.widgets.line_table import LineTable

Row = TypeVar("Row")

PAGE_KEYS: list[BindingType] = [
    Binding("pagedown", "move(10)", "page down", show=False, priority=True),
    Binding("pageup", "move(-10)", "page up", show=False, priority=True),
]
"""For lists that are longer than a screen."""

ROW_KEYS = frozenset(
    ("enter", "down", "tab", "ctrl+n", "ctrl+j", "up", "shift+tab", "ctrl+p", "ctrl+k", "pagedown", "pageup")
)
"""The keys that mean a row of the list: they wait for the rows of what was typed before them."""


class ChoosingDialog(Dialog[Row | None], Generic[Row]):
    """A `LineInput` over a `LineTable`; the result is the row chosen, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "close", show=False, priority=True),
        Binding("down,tab,ctrl+n,ctrl+j", "move(1)", "down", show=False, priority=True),
        Binding("up,shift+tab,ctrl+p,ctrl+k", "move(-1)", "up", show=False, priority=True),
    ]

    def on_mount(self) -> None:
        """Type at once."""
        self.query_one(LineInput).focus()

    _in_list = False

    def pointed_at(self) -> LineTable[Row] | None:
        """The list, when the last key moved in it."""
        return self.table if self._in_list else None

    @on(Input.Changed)
    def _back_in_the_field(self) -> None:
        self._in_list = False

    @property
    def rows_to_come(self) -> bool:
        """Whether the list does not show yet what was typed. A subclass that looks for it in a thread says when."""
        return False

    @property
    def table(self) -> LineTable[Row]:
        """The list."""
        return self.query_one(LineTable)

    def choose(self, row: Row) -> None:
        """What enter on a row does."""
        self.dismiss(row)

    @on(Input.Submitted)
    @on(LineTable.RowActivated)
    def _entered(self, event: Input.Submitted | LineTable.RowActivated) -> None:
        event.stop()
        row = self.table.cursor_row
        if row is not None:
            self.choose(row)

    def action_move(self, rows: int) -> None:
        """Move the cursor of the list while typing goes on."""
        self._in_list = True
        self.table.move_by(rows)

    def action_close(self) -> None:
        """Back without a choice."""
        self.dismiss(None)
