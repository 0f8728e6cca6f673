"""The frame before the app: a title and words at once, then the first rows, in the terminal's own colours.

Shows where the app will show the same, so that nothing jumps when it comes. Pure, and it must not import Textual.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nanomem_tui.store.values import Item

ENTER = "\x1b[?1049h\x1b[?25l\x1b[2J"
TITLE, KEYS = " 1 Items ", " ? help  q quit"
GUTTER = 4  # cells: cursor, selection, sign, space
WIDE = 100  # columns from which the app shows the detail beside the list


def words_frame(columns: int, lines: int, words: str) -> str:
    """Take the other screen and say `words` on it."""
    return (
        f"{ENTER}\x1b[H\x1b[1;7m{TITLE[:columns]}\x1b[0m" + _at(3, words[: columns - 3], 3) + _at(lines, KEYS[:columns])
    )


def rows_frame(columns: int, lines: int, items: Sequence[Item]) -> str:
    """The rows of the first page, where the list will be; safe text only."""
    from nanomem_tui.core.text import one_line, pad
    from nanomem_tui.screens.item_columns import item_columns, sign_of
    from nanomem_tui.widgets.table import fit

    width = columns if columns < WIDE else columns * 11 // 20
    fitted = fit(item_columns(), width - GUTTER - 1)
    titles = " ".join(pad(column.title, size, column.align) for column, size in fitted)
    parts = ["\x1b[0m", _at(3, " " * (columns - 3), 3), _at(2, f"{' ' * GUTTER}\x1b[1m{titles}\x1b[0m")]
    for number, item in enumerate(items[: max(lines - 4, 0)]):
        cells = [pad(one_line(column.render(item), size), size, column.align) for column, size in fitted]
        parts.append(_at(number + 3, f"  {pad(sign_of(item), 1)} {' '.join(cells)}"))
    return "".join(parts)


def _at(line: int, text: str, column: int = 1) -> str:
    return f"\x1b[{line};{column}H{text}"
