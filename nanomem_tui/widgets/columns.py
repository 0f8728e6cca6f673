"""Columns of a list, and how they share the width of a screen. Pure values: the frame before Textual uses them too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from nanomem_tui.core import clock

Row = TypeVar("Row")


@dataclass(frozen=True)
class Column(Generic[Row]):
    """One column. `render` gives plain, untrusted text for a row; the table makes it safe and cuts it.

    `width` is fixed in cells, or 0 for a column that takes a share (`flex`) of what is left, at least `min_width`
    cells and the part `least` (0 to 1) of the list. On narrow screens the column with the highest `priority` goes
    first; 0 never goes. `tone` is one of the table's tones ("dim", "accent", "good", "warn", "bad"), or empty. `sort`
    gives the sort key of a row; None: not sortable. `written` gives what stands in an export, where that is another
    text than the one on the screen.
    """

    key: str
    title: str
    render: Callable[[Row], str]
    width: int = 0
    flex: int = 1
    min_width: int = 12
    least: float = 0
    priority: int = 0
    align: Literal["left", "right"] = "left"
    tone: str = ""
    sort: Callable[[Row], object] | None = None
    written: Callable[[Row], str] | None = None


def aged(title: str, at: Callable[[Row], str | None], **options: Any) -> Column[Row]:
    """The column "age": how long ago the ISO time `at` of a row was, and in an export that time. A text that is no time
    is shown as it is. `options` are those of `Column`."""

    def age(row: Row) -> str:
        text = at(row)
        moment = clock.parse(text)
        return text if text is not None and moment is None else clock.age_text(moment)

    return Column("age", title, age, **{"width": 6, **options}, written=lambda row: at(row) or "")


def fit(columns: Sequence[Column[Row]], width: int) -> list[tuple[Column[Row], int]]:
    """The columns that fit into `width` cells with one cell between them, each with its width, in their order."""
    shown = list(columns)
    while len(shown) > 1 and _needed(shown, width) > width:
        goes = max(shown, key=lambda column: column.priority)
        if not goes.priority:
            break
        shown.remove(goes)
    spare = width - _needed(shown, width)
    flexible = [column for column in shown if not column.width]
    weight = sum(column.flex for column in flexible)
    sizes: dict[str, int] = {}
    for column in shown:
        size = _least(column, width)
        if flexible and not column.width:
            size += spare * column.flex // weight
        sizes[column.key] = max(size, 1)
    if flexible and spare > 0:  # what integer division left over
        sizes[flexible[0].key] += width - sum(sizes.values()) - len(shown) + 1
    return [(column, sizes[column.key]) for column in shown]


def _needed(columns: Sequence[Column[Row]], width: int) -> int:
    return sum(_least(column, width) for column in columns) + len(columns) - 1


def _least(column: Column[Row], width: int) -> int:
    return column.width or max(column.min_width, int(column.least * width))
