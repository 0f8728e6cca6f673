"""Frames: the cells of a screen, the smallest output that turns one frame into the next, and the guard that no cell
holds a control sequence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from rich.cells import cell_len, split_graphemes
from rich.color import ColorSystem
from textual import events
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.app import App
from textual.driver import Driver
from textual.screen import Screen
from textual.strip import Strip

if TYPE_CHECKING:
    from rich.console import RenderableType


# -- The pen that a terminal writes with, and the fewest bytes from one pen to the next -------------------------------

_OFF = {
    "1": "22", "2": "22", "3": "23", "4": "24", "5": "25", "6": "25", "7": "27", "8": "28", "9": "29", "21": "24",
    "51": "54", "52": "54", "53": "55",
}  # fmt: skip
_SEEN_ON_BLANKS = frozenset({"4", "5", "6", "7", "9", "21", "51", "52", "53"})


class Pen(NamedTuple):
    """How a cell is written: SGR codes of its ink, its paper and its marks (bold, reverse, …); "" is the terminal's."""

    ink: str = ""
    paper: str = ""
    marks: tuple[str, ...] = ()

    @property
    def on_blanks(self) -> bool:
        """Whether more than the paper is seen where nothing is written."""
        return not _SEEN_ON_BLANKS.isdisjoint(self.marks)


PLAIN = Pen()


@lru_cache(4096)
def pen_of(codes: str) -> Pen:
    """The pen of SGR codes as Textual and Rich put them, like "1;38;2;200;211;245;48;5;7"."""
    ink, paper = "", ""
    marks: list[str] = []
    parts = iter(codes.split(";") if codes else ())
    for code in parts:
        if code in {"38", "48"}:
            kind = next(parts)
            colour = ";".join((code, kind, *(next(parts) for _ in range(1 if kind == "5" else 3))))
            ink, paper = (colour, paper) if code == "38" else (ink, colour)
        elif code in _OFF:
            marks.append(code)
        elif code in {"39", "49"}:
            ink, paper = ("", paper) if code == "39" else (ink, "")
        elif (30 <= int(code) <= 37) or (90 <= int(code) <= 97):
            ink = code
        elif (40 <= int(code) <= 47) or (100 <= int(code) <= 107):
            paper = code
    return Pen(ink, paper, tuple(marks))


@lru_cache(4096)
def changed(old: Pen | None, new: Pen) -> str:
    """The shortest sequence from `old` (None: not known) to `new`; nothing where they are the same."""
    if old == new:
        return ""
    whole = ";".join(filter(None, (*new.marks, new.ink, new.paper)))
    afresh = f"\x1b[0;{whole}m" if whole else "\x1b[m"
    if old is None:
        return afresh
    off = {_OFF[mark] for mark in old.marks if mark not in new.marks}
    kept = {mark for mark in old.marks if mark in new.marks and _OFF[mark] not in off}
    codes = [*sorted(off), *(mark for mark in new.marks if mark not in kept)]
    if old.ink != new.ink:
        codes.append(new.ink or "39")
    if old.paper != new.paper:
        codes.append(new.paper or "49")
    return min(f"\x1b[{';'.join(codes)}m", afresh, key=len)


#: What stands there ("" for the second half of what is two cells wide) and the pen of it.
Cell: TypeAlias = tuple[str, Pen]
#: No cell at all looks like it: what the terminal shows there is not known.
UNSEEN: Cell = ("unseen", PLAIN)
BLANK: Cell = (" ", PLAIN)
REFUSED = "\ufffd"

# C0, DEL, C1, bidi controls, line separators: no cell of ours holds one, so it came from somewhere it should not.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
# Latin, Greek, Cyrillic, our own signs, kana, ideographs, Hangul: terminals agree how wide these are.
_AGREED = (
    ("\x20", "\x7e"),
    ("\xa1", "\xac"),
    ("\xae", "\u02ff"),
    ("\u0370", "\u0482"),
    ("\u2010", "\u2027"),
    ("\u2400", "\u2421"),
    ("\u2500", "\u25fc"),
    ("\u27e8", "\u27e9"),
    ("\u2800", "\u28ff"),
    ("\u3041", "\u3096"),
    ("\u30a1", "\u30fa"),
    ("\u3400", "\u9fff"),
    ("\uac00", "\ud7a3"),
    ("\uff01", "\uff5e"),
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
    return len(text) == 1 and any(first <= text <= last for first, last in _AGREED)


def texts(cells: Sequence[Cell | None]) -> str:
    """What stands in `cells`, in order."""
    return "".join([cell[0] if cell is not None else "\0" for cell in cells])


# Cells written to a terminal: where the cursor is, which pen it holds, and the fewest bytes to the next cell.

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


def full_frame(pieces: Iterable[Piece], width: int, cursor: tuple[int, int]) -> str:
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


# -- A shadow of the terminal: what it shows, so that only what differs is written ------------------------------------

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


# How an app's frames reach the terminal: whole, or thin: only what differs from what the terminal shows.

SYNC_BYTES = 512  # what is no longer than this comes in one piece: no need to tell the terminal when to paint
SYNC_START, SYNC_END = "\x1b[?2026h", "\x1b[?2026l"


def wants_thin(setting: str, environ: Mapping[str, str]) -> bool:
    """Whether output is thin: `setting` is "auto", "on" or "off"; auto is on where the terminal is reached by SSH."""
    if setting in {"on", "off"}:
        return setting == "on"
    return bool(environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"))


class Display(App[int]):
    """An app whose frames are written cell by cell."""

    _shadow: Shadow | None = None  # None: frames are written whole

    def write_thin(self, thin: bool) -> None:
        """Write only what differs from what the terminal shows, or each frame whole."""
        self._shadow = Shadow() if thin else None

    def forget_terminal(self) -> None:
        """Somebody else may have written to the terminal: the next frame writes all that is to be seen."""
        if self._shadow is not None:
            self._shadow.forget()

    def on_mount(self) -> None:
        """Paint the whole screen when the program goes on after a stop: the shell wrote over it."""
        self.app_resume_signal.subscribe(self, lambda _app: self.paint_anew())

    def paint_anew(self) -> None:
        """Write all that is to be seen once more, as where somebody else wrote over it."""
        self.forget_terminal()
        self.screen.refresh(layout=True)

    async def on_event(self, event: events.Event) -> None:
        """A terminal that was resized may show anything."""
        if isinstance(event, events.Resize):
            self.forget_terminal()
        await super().on_event(event)

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        driver = self._terminal_driver()
        if driver is None or not isinstance(renderable, LayoutUpdate | ChopsUpdate):
            if renderable is not None:
                self.forget_terminal()
            super()._display(screen, renderable)
            return
        try:
            if not self._batch_count:
                self._write_frame(driver, self._frame(renderable))
        except Exception as error:  # noqa: BLE001 - as Textual: a mistake in a frame ends the app, in order
            self._handle_exception(error)
        finally:
            self.post_display_hook()

    def _terminal_driver(self) -> Driver | None:
        """The driver of a terminal that is there to be written to."""
        driver = self._driver
        if driver is None or self.is_headless or driver.is_inline or not self._running or self._closed:
            return None
        return driver

    def _frame(self, update: LayoutUpdate | ChopsUpdate) -> str:
        size = self.screen.outer_size
        cursor = self._previous_cursor_position = size.clamp_offset(self.cursor_position)
        place = (cursor.y, cursor.x)
        pieces = pieces_of(update, self.console._color_system or ColorSystem.TRUECOLOR)
        if self._shadow is None:
            return full_frame(pieces, size.width, place)
        return self._shadow.draw(pieces, (size.width, size.height), place)

    def _write_frame(self, driver: Driver, data: str) -> None:
        if not data:
            return
        if self._sync_available and (self._shadow is None or len(data) > SYNC_BYTES):
            data = f"{SYNC_START}{data}{SYNC_END}"
        driver.write(data)
        driver.flush()
