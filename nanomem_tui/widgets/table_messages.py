"""What a line table tells its screen. Handle these with ``@on(LineTable.RowHighlighted)`` and the like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.message import Message

if TYPE_CHECKING:
    from nanomem_tui.widgets.line_table import LineTable


class TableMessage(Message):
    """Something happened in `table`."""

    def __init__(self, table: LineTable[Any]) -> None:
        super().__init__()
        self.table = table

    @property
    def control(self) -> LineTable[Any]:
        """The table."""
        return self.table


class RowHighlighted(TableMessage):
    """The cursor is on another row; several in a row become one. `index` is None when there is no row."""

    def __init__(self, table: LineTable[Any], row_id: str | None, index: int | None) -> None:
        super().__init__(table)
        self.row_id = row_id
        self.index = index

    def can_replace(self, message: Message) -> bool:
        """A later highlight of the same table makes this one moot."""
        return isinstance(message, RowHighlighted) and message.table is self.table


class RowActivated(TableMessage):
    """Enter, or a second click, on a row."""

    def __init__(self, table: LineTable[Any], row_id: str, index: int) -> None:
        super().__init__(table)
        self.row_id = row_id
        self.index = index


class SelectionChanged(TableMessage):
    """Rows were selected or not; `count` are selected now, shown or not."""

    def __init__(self, table: LineTable[Any], count: int) -> None:
        super().__init__(table)
        self.count = count


class RowGone(TableMessage):
    """The row under the cursor is no longer among the rows; the cursor stands where it was."""

    def __init__(self, table: LineTable[Any], row_id: str) -> None:
        super().__init__(table)
        self.row_id = row_id


class TooMany(TableMessage):
    """More rows were to be selected than can be at once: `most`."""

    def __init__(self, table: LineTable[Any], most: int) -> None:
        super().__init__(table)
        self.most = most
