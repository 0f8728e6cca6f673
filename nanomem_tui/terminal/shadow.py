"""A shadow of the terminal: what it shows, so that only what differs is written.

Owns the two pictures of a screen, the one that is wanted and the one that is shown. It must not write by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from nanomem_tui.terminal.cells import BLANK, UNSEEN, Cell, Piece, texts
from nanomem_tui.terminal.pen import PLAIN, Pen
from nanomem_tui.terminal.writing import Writing

Lines = list[list[Cell | None]]

MOVED_LINES = 3  # fewer lines are never worth a scroll
PART = 16  # cells by which lines are found again elsewhere
OFTEN = 6  # a part that stands in so many lines tells nothing


class Shadow:
    """The cells of one terminal, from the first frame on. After `forget` all of it is written again."""

    def __init__(self) -> None:
        self._size = (0, 0)
        self._wanted: Lines = []
        self._shown: Lines = []
        self._at: tuple[int, int] | None = None
        self._pen: Pen | None = None
        self._forgotten = False

    def forget(self) -> None:
        """Somebody else may have written to the terminal: nothing is known of it."""
        self._forgotten = True
        self._at = self._pen = None

    def draw(self, pieces: Iterable[Piece], size: tuple[int, int], cursor: tuple[int, int]) -> str:
        """What is to be written so that the terminal of `size` (columns, lines) shows `pieces` as well; the cursor
        goes to line and column `cursor`. Empty where the terminal shows all that already."""
        if size != self._size:
            self._begin(size)
        touched = self._put(pieces)
        if self._forgotten:
            self._forgotten = False
            self._shown = [[UNSEEN] * size[0] for _ in self._wanted]
            touched = set(range(size[1]))
        differ = sorted(y for y in touched if self._wanted[y] != self._shown[y])
        writing = self._written(differ)
        writing.move(*cursor)
        for y in differ:
            self._shown[y] = [
                old if new is None else new for new, old in zip(self._wanted[y], self._shown[y], strict=True)
            ]
        self._at, self._pen = writing.at, writing.pen
        return writing.data

    def _begin(self, size: tuple[int, int]) -> None:
        columns, lines = self._size = size
        self._wanted = [[None] * columns for _ in range(lines)]
        self.forget()

    def _put(self, pieces: Iterable[Piece]) -> set[int]:
        columns, lines = self._size
        touched: set[int] = set()
        for y, x, cells in pieces:
            if not (0 <= y < lines and 0 <= x < columns):
                continue
            line = self._wanted[y]
            end = min(x + len(cells), columns)
            _mend(line, x, end)
            line[x:end] = cells[: end - x]
            touched.add(y)
        return touched

    def _written(self, differ: list[int]) -> Writing:
        writing = Writing(self._size[0], self._at, self._pen)
        for y in differ:
            writing.line(y, self._wanted[y], self._shown[y])
        if len(differ) > MOVED_LINES:
            scrolled = self._scrolled(differ)
            if scrolled is not None and len(scrolled[0].data) < len(writing.data):
                writing, self._shown = scrolled
        return writing

    def _scrolled(self, differ: list[int]) -> tuple[Writing, Lines] | None:
        """The same with the lines that only moved scrolled, and what the terminal shows before the rest is written."""
        found = self._moved(differ)
        if found is None:
            return None
        top, bottom, lines = found
        columns, height = self._size
        writing = Writing(columns, self._at, self._pen)
        writing.scroll(top, bottom, height, lines)
        band = self._shown[top : bottom + 1]
        blank: Lines = [[BLANK] * columns for _ in range(abs(lines))]
        band = [*band[lines:], *blank] if lines > 0 else [*blank, *band[:lines]]
        shown = [*self._shown[:top], *band, *self._shown[bottom + 1 :]]
        for y in sorted({*differ, *range(top, bottom + 1)}):
            if self._wanted[y] != shown[y]:
                writing.line(y, self._wanted[y], shown[y])
                differ.append(y) if y not in differ else None
        return writing, shown

    def _moved(self, differ: list[int]) -> tuple[int, int, int] | None:
        """Which lines, first and last, have moved up by how many (down when negative), by most of their parts."""
        first, last = differ[0], differ[-1]
        places: dict[tuple[int, str], list[int]] = {}
        for y in range(first, last + 1):
            for at, part in _parts(self._shown[y]):
                places.setdefault((at, part), []).append(y)
        votes: Counter[int] = Counter()
        targets: dict[int, list[int]] = {}
        for y in differ:
            for key in _parts(self._wanted[y]):
                found = places.get(key, ())
                for old in found if len(found) < OFTEN else ():
                    votes[old - y] += 1
                    targets.setdefault(old - y, []).append(y)
        best = max(((count, lines) for lines, count in votes.items() if lines), default=(0, 0))
        lines = best[1]
        if best[0] < MOVED_LINES:
            return None
        ys = targets[lines]
        return min(*ys, *(y + lines for y in ys)), max(*ys, *(y + lines for y in ys)), lines


def _parts(line: list[Cell | None]) -> Iterable[tuple[int, str]]:
    for at in range(0, len(line), PART):
        part = texts(line[at : at + PART])
        if part.strip():
            yield at, part


def _mend(line: list[Cell | None], start: int, end: int) -> None:
    """Take away what is left of a wide cell of which one half is about to be overwritten."""
    at = start
    while at < len(line) and at > 0 and (cell := line[at]) is not None and not cell[0]:
        at -= 1
    for index in range(at, start):
        line[index] = _emptied(line[index])
    while end < len(line) and (cell := line[end]) is not None and not cell[0]:
        line[end] = _emptied(cell)
        end += 1


def _emptied(cell: Cell | None) -> Cell:
    pen = PLAIN if cell is None else cell[1]
    return " ", pen if pen.on_blanks else Pen(paper=pen.paper)
