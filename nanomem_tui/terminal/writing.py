"""Cells written to a terminal: where the cursor is, which pen it holds, and the fewest bytes to the next cell.

Owns the sequences that move, erase and scroll. It must not know what the terminal shows: the caller says what differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nanomem_tui.terminal.cells import BLANK, Cell, Piece, agreed
from nanomem_tui.terminal.pen import PLAIN, Pen, changed

GAP = 4  # unchanged cells that are written again rather than jumped over
ERASED = 5  # blanks from which on the rest of a line is erased instead


class Writing:
    """Bytes for a terminal of `width` columns, from a place and a pen (None: not known) on."""

    def __init__(self, width: int, at: tuple[int, int] | None = None, pen: Pen | None = None) -> None:
        self.width = width
        self.at = at
        self.pen = pen
        self._parts: list[str] = []

    @property
    def data(self) -> str:
        """All that is to be written."""
        return "".join(self._parts)

    def move(self, y: int, x: int) -> None:
        """Put the cursor to line `y`, column `x`, both from 0."""
        if self.at == (y, x):
            return
        move = f"\x1b[{y + 1};{x + 1}H" if x else f"\x1b[{y + 1}H"
        if self.at is not None and self.at[0] == y and self.at[1] < x:
            ahead = x - self.at[1]
            move = min(move, f"\x1b[{ahead}C" if ahead > 1 else "\x1b[C", key=len)
        self._parts.append(move)
        self.at = (y, x)

    def take(self, pen: Pen) -> None:
        """Write with `pen` from now on."""
        if pen is not self.pen:
            self._parts.append(changed(self.pen, pen))
            self.pen = pen

    def write(self, y: int, x: int, cells: Sequence[Cell]) -> None:
        """Write `cells` from line `y`, column `x` on. Emoji and the like are not trusted to move the cursor rightly."""
        self.move(y, x)
        parts, pen = self._parts, self.pen
        for index, (text, wanted) in enumerate(cells):
            if not text:
                continue
            if wanted is not pen and not (text == " " and _blank_alike(pen, wanted)):
                self.take(wanted if text != " " else _pen_ahead(cells, index, wanted))
                pen = self.pen
            parts.append(text)
            if text > "~" and not agreed(text):
                after = index + 1
                while after < len(cells) and not cells[after][0]:
                    after += 1
                self.at = None
                if after < len(cells):
                    self.move(y, x + after)
        end = x + len(cells)
        if self.at is not None:
            self.at = (y, end) if end < self.width else None

    def erase_to_end(self) -> None:
        """Make the rest of the line blank, on the terminal's own paper."""
        if self.pen is None or self.pen.paper or self.pen.on_blanks:
            self.take(PLAIN)
        self._parts.append("\x1b[K")

    def scroll(self, top: int, bottom: int, height: int, lines: int) -> None:
        """Move the lines `top` to `bottom` (with it) of `height` up by `lines`, down when negative; blanks come in."""
        self.take(PLAIN)  # some terminals fill with the paper of the pen
        within = (top, bottom) != (0, height - 1)
        count = "" if abs(lines) == 1 else str(abs(lines))
        self._parts.append(f"\x1b[{top + 1};{bottom + 1}r" if within else "")
        self._parts.append(f"\x1b[{top + 1}H\x1b[{count}{'M' if lines > 0 else 'L'}")
        self._parts.append("\x1b[r" if within else "")
        self.at = None  # terminals do not agree

    def line(self, y: int, wanted: Sequence[Cell | None], shown: Sequence[Cell | None]) -> None:
        """Write the cells of line `y` that are wanted and differ from those shown; None is wanted of nothing."""
        blanks_from = _blank_tail(wanted)
        for start, end in _runs(wanted, shown):
            stop = max(min(end, blanks_from), start)
            if end - stop < ERASED:
                stop = end
            self.write(y, start, [cell for cell in wanted[start:stop] if cell is not None])
            if stop < end:
                self.move(y, stop)
                self.erase_to_end()
                return


def whole(pieces: Iterable[Piece], width: int, cursor: tuple[int, int]) -> str:
    """`pieces` written whole, whatever the terminal shows; the cursor goes to line and column `cursor`."""
    writing = Writing(width)
    for y, x, cells in pieces:
        writing.write(y, x, cells)
    writing.take(PLAIN)
    writing.move(*cursor)
    return writing.data


def _blank_alike(pen: Pen | None, wanted: Pen) -> bool:
    """Whether a blank written with `pen` looks as one with `wanted`."""
    return pen is not None and pen.paper == wanted.paper and not pen.on_blanks and not wanted.on_blanks


def _pen_ahead(cells: Sequence[Cell], index: int, wanted: Pen) -> Pen:
    """The pen of the next text, where blanks look the same with it."""
    for text, pen in cells[index:]:
        if text != " ":
            return pen if _blank_alike(pen, wanted) else wanted
        if pen is not wanted:
            break
    return wanted


def _blank_tail(cells: Sequence[Cell | None]) -> int:
    """The column from which on there are only blanks on the terminal's own paper."""
    at = len(cells)
    while at and cells[at - 1] == BLANK:
        at -= 1
    return at


def _runs(wanted: Sequence[Cell | None], shown: Sequence[Cell | None]) -> list[tuple[int, int]]:
    """From where to where cells differ: short gaps are closed, and no half of a wide one is left over."""
    runs: list[list[int]] = []
    for at, (new, old) in enumerate(zip(wanted, shown, strict=True)):
        if new is None or new == old:
            continue
        if runs and (at == runs[-1][1] or _small(wanted, runs[-1][1], at)):
            runs[-1][1] = at + 1
        else:
            runs.append([at, at + 1])
    for run in runs:
        while run[0] and (_is_half(wanted[run[0]]) or _is_half(shown[run[0]])):
            run[0] -= 1
        while run[1] < len(wanted) and (_is_half(wanted[run[1]]) or _is_half(shown[run[1]])):
            run[1] += 1
    return _joined(runs)


def _joined(runs: list[list[int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in runs:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _small(cells: Sequence[Cell | None], start: int, end: int) -> bool:
    """Whether the gap from `start` to `end` is cheaper written than jumped over: short, and of the pen before it."""
    if end - start > GAP:
        return False
    before = cells[start - 1]
    return before is not None and all(cell is not None and _goes_with(before[1], cell) for cell in cells[start:end])


def _goes_with(pen: Pen, cell: Cell) -> bool:
    return cell[1] == pen or (cell[0] == " " and _blank_alike(pen, cell[1]))


def _is_half(cell: Cell | None) -> bool:
    return cell is not None and not cell[0]
