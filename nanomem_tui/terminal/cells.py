"""The cells of a screen: what stands in each, and the guard that no cell holds anything that a terminal obeys.

Owns the way from what Textual's compositor gives (strips of styled text) to cells. It must not write to a terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len, split_graphemes
from rich.color import ColorSystem
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.strip import Strip

from nanomem_tui.terminal.pen import PLAIN, Pen, pen_of

#: What stands there ("" for the second half of what is two cells wide) and the pen of it.
Cell: TypeAlias = tuple[str, Pen]
#: No cell at all looks like it: what the terminal shows there is not known.
UNSEEN: Cell = ("unseen", PLAIN)
BLANK: Cell = (" ", PLAIN)
REFUSED = "\ufffd"

# C0, DEL, C1, bidi controls, line separators: no cell of ours holds one, so it came from somewhere it should not.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
# Latin, Greek, Cyrillic, our own signs, kana, ideographs, Hangul: terminals agree how wide these are.
_AGREED = re.compile(
    "[\x20-\x7e\xa1-\xac\xae-\u02ff\u0370-\u0482\u2010-\u2027\u2400-\u2421\u2500-\u25fc\u2800-\u28ff\u27e8\u27e9"
    "\u3041-\u3096\u30a1-\u30fa\u3400-\u9fff\uac00-\ud7a3\uff01-\uff5e]"
)


class Piece(NamedTuple):
    """Cells that are to stand in line `y` from column `x` on."""

    y: int
    x: int
    cells: list[Cell]


class _Made(dict[str, Cell]):
    """The cells of one pen by what stands in them, so that equal cells are the same object."""

    def __init__(self, pen: Pen) -> None:
        super().__init__()
        self._pen = pen
        self._blank = pen if pen.on_blanks else Pen(paper=pen.paper)

    def __missing__(self, text: str) -> Cell:
        cell = self[text] = (text, self._blank if text == " " else self._pen)
        return cell


@lru_cache(256)
def _made(pen: Pen) -> _Made:
    return _Made(pen)


def pieces_of(update: LayoutUpdate | ChopsUpdate, colours: ColorSystem) -> Iterator[Piece]:
    """What an update of the compositor puts where."""
    for y, x, strip in _strips_of(update):
        cells = cells_of(strip, colours)
        if cells:
            yield Piece(y, x, cells)


def _strips_of(update: LayoutUpdate | ChopsUpdate) -> Iterator[tuple[int, int, Strip]]:
    if isinstance(update, LayoutUpdate):
        for y, strips in enumerate(update.strips, update.region.y):
            x = update.region.x
            for strip in strips:
                yield y, x, strip
                x += strip.cell_length
        return
    for y, x1, x2 in update.spans:
        for end, (x, part) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
            if part is not None and x < x2 and end > x1:
                yield y, x, part if end <= x2 and x >= x1 else part.crop(0, min(end, x2) - x)


def cells_of(strip: Strip, colours: ColorSystem) -> list[Cell]:
    """One cell for each column of `strip`; control characters are refused, and links are left out."""
    cells: list[Cell] = []
    for text, style, control in strip:
        if control:
            continue
        codes = "" if style is None else style._ansi
        if codes is None:  # as Strip.render does it: the codes are kept with the style
            codes = Strip.render_ansi(style, colours)
        made = _made(pen_of(codes))
        if text.isascii() and text.isprintable():
            cells.extend(map(made.__getitem__, text))
        else:
            _add_wide(cells, without_controls(text), made)
    return cells if len(cells) == strip.cell_length else _fitted(cells, strip.cell_length)


def _fitted(cells: list[Cell], width: int) -> list[Cell]:
    """`cells` of just `width`: a family of joined emoji that was cut through may take more than it was laid out for."""
    if len(cells) > width > 0 and not cells[width][0]:
        head = next(at for at in range(width, -1, -1) if cells[at][0])
        cells[head:width] = [(" ", cells[head][1])] * (width - head)
    return cells[:width] + [BLANK] * (width - len(cells))


def without_controls(text: str) -> str:
    """`text` of the same width with nothing in it that a terminal obeys."""
    return _CONTROL.sub(lambda found: REFUSED * cell_len(found[0]), text)


def _add_wide(cells: list[Cell], text: str, made: _Made) -> None:
    if len(made) > 8192:
        made.clear()
    for start, end, width in split_graphemes(text)[0]:
        cluster = text[start:end]
        if width:
            cells.append(made[cluster])
            cells.extend([made[""]] * (width - 1))
        elif cells:  # a mark on what came before it
            at = next(index for index in range(len(cells) - 1, -1, -1) if cells[index][0] or not index)
            cells[at] = (cells[at][0] + cluster, cells[at][1])


@lru_cache(8192)
def agreed(text: str) -> bool:
    """Whether every terminal takes one cell of `text` for as wide as we do: no emoji, no marks, no joiners."""
    return _AGREED.fullmatch(text) is not None


def texts(cells: Sequence[Cell | None]) -> str:
    """What stands in `cells`, in order."""
    return "".join([cell[0] if cell is not None else "\0" for cell in cells])
