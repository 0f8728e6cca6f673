"""A table drawn line by line: 100,000 rows cost what the rows on the screen cost.

Owns the cursor, the selection and the drawing of rows. Cells are plain, untrusted text: the table makes them safe, so
no cell can be markup or reach the terminal's controls. It must not read, sort or filter rows: a screen does that and
calls `set_rows`. Cursor and selection are kept by row id, so they survive a refresh, a filter and a sort.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from nanomem_tui.core.text import one_line, pad, safe_text, wrap
from nanomem_tui.widgets.columns import Column, fit
from nanomem_tui.widgets.key_queue import Moves, widget_bindings
from nanomem_tui.widgets.theme import Glyphs, glyphs, joined

Row = TypeVar("Row")

# -- What a line table tells its screen. Handle these with ``@on(LineTable.RowHighlighted)`` and the like -------------


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


_RowHighlighted: TypeAlias = RowHighlighted  # a class cannot give them its own names of the same spelling
_RowActivated: TypeAlias = RowActivated
_SelectionChanged: TypeAlias = SelectionChanged
_RowGone: TypeAlias = RowGone


class TooMany(TableMessage):
    """More rows were to be selected than can be at once: `most`."""

    def __init__(self, table: LineTable[Any], most: int) -> None:
        super().__init__(table)
        self.most = most


# How a line table draws its lines: header, rows and what is said instead of rows. No widget, no state of the table.

Styles = Callable[[str], Style]  # a tone or part of the table, "" for plain → its style

GUTTER = 4  # cells: cursor, selection, sign of the row, space


class Marks(NamedTuple):
    """What is true of a row now, beside its cells."""

    cursor: bool
    selected: bool
    sign: str
    style: str


class Painter(Generic[Row]):
    """Draws lines of exactly `width` cells from columns; remembers only how they fitted the last width."""

    def __init__(self, columns: Sequence[Column[Row]]) -> None:
        self.columns = tuple(columns)
        self._fitted: tuple[int, list[tuple[Column[Row], int]]] = (-1, [])

    def layout(self, width: int) -> list[tuple[Column[Row], int]]:
        """The columns that fit, with their widths."""
        if self._fitted[0] != width:
            self._fitted = (width, fit(self.columns, width - GUTTER))
        return self._fitted[1]

    def header(self, width: int, sorted_by: tuple[str, bool], styles: Styles, signs: Glyphs) -> list[Segment]:
        """The line of titles; `sorted_by` is a column's key and whether it descends."""
        cells: list[str] = []
        for column, size in self.layout(width):
            mark = (signs.descending if sorted_by[1] else signs.ascending) if column.key == sorted_by[0] else ""
            cells.append(pad(pad(column.title, max(size - len(mark), 0)).rstrip() + mark, size, column.align))
        return [Segment(pad(" " * GUTTER + " ".join(cells), width), styles("header"))]

    def row(self, row: Row, marks: Marks, width: int, styles: Styles, signs: Glyphs) -> list[Segment]:
        """One row; a style of the whole row (cursor, selected, …) goes before the tones of its columns."""
        gutter = (signs.cursor if marks.cursor else " ") + (signs.selected if marks.selected else " ")
        base = styles(marks.style)
        parts: list[tuple[str, Style]] = [(gutter + pad(one_line(marks.sign, 1), 2), base)]
        for column, size in self.layout(width):
            cell = pad(one_line(column.render(row), size, signs.ellipsis), size, column.align)
            parts.append((cell + " ", base if marks.style or not column.tone else styles(column.tone)))
        return joined(parts, width, base)

    def message(self, said: Sequence[str], state: str, y: int, width: int, styles: Styles) -> list[Segment]:
        """Line `y` of a message: an error, that rows load, or that there are none."""
        first = "bad" if state == "error" else "dim"
        lines = [
            (part, "" if place else first)
            for place, text in enumerate(said)
            for part in wrap(safe_text(text), max(width - 4, 10))
        ]
        text, tone = lines[y - 1] if 0 < y <= len(lines) else ("", "")
        return [Segment(pad("  " + text, width), styles(tone))]


# Selecting rows of a table by keys: one by one, a range, or all shown. The selection is kept by row id.


class Selects(Generic[Row]):
    """Mix-in of `LineTable`: owns which rows are selected; the table owns rows, cursor and painting."""

    _rows: Sequence[Row]
    _row_id: Callable[[Row], str]
    _cursor: int
    _cursor_id: str | None

    def init_selection(self) -> None:
        """Start with nothing selected."""
        self._selected: set[str] = set()
        self._anchor: str | None = None
        self._before_range: set[str] = set()

    @property
    def cursor_id(self) -> str | None:
        """The id of the row under the cursor."""
        raise NotImplementedError

    def move_cursor(self, index: int) -> None:
        """Put the cursor on the row at `index`."""
        raise NotImplementedError

    def _find(self, row_id: str, near: int) -> int | None:
        raise NotImplementedError

    def _refresh_what_differs(self) -> None:
        raise NotImplementedError

    def _tell_selection(self, count: int) -> None:
        raise NotImplementedError

    @property
    def selected(self) -> frozenset[str]:
        """The ids of the selected rows, also of those that a filter hides."""
        return frozenset(self._selected)

    @property
    def target_ids(self) -> list[str]:
        """What an action means: the selected rows, else the row under the cursor."""
        if self._selected:
            return sorted(self._selected)
        return [self._cursor_id] if self.cursor_id is not None and self._cursor_id is not None else []

    def select_ids(self, ids: Iterable[str]) -> None:
        """Select exactly these rows."""
        self._anchor = None
        self._set_selected(set(ids))

    def clear_selection(self) -> bool:
        """Select nothing; False when nothing was selected."""
        had = bool(self._selected) or self._anchor is not None
        self.select_ids(())
        return had

    def keep_selected(self, existing: Callable[[str], bool]) -> None:
        """Drop ids from the selection that no longer exist at all (a filter only hides rows)."""
        self._set_selected({row_id for row_id in self._selected if existing(row_id)})

    def _set_selected(self, ids: set[str]) -> None:
        if ids != self._selected:
            self._selected = ids
            self._refresh_what_differs()
            self._tell_selection(len(ids))

    def _stretch_range(self, old: int) -> None:
        assert self._anchor is not None
        anchor = self._find(self._anchor, old)
        if anchor is None:
            self._anchor = None
            return
        low, high = sorted((anchor, self._cursor))
        self._set_selected(self._before_range | {self._row_id(row) for row in self._rows[low : high + 1]})

    def action_select(self) -> None:
        """Select the row or not, and move on."""
        if self.cursor_id is not None and self._cursor_id is not None:
            self._anchor = None
            self._set_selected(self._selected ^ {self._cursor_id})
            self.move_cursor(self._cursor + 1)

    def action_select_range(self) -> None:
        """Start a range at the cursor, or end it."""
        if self._anchor is not None:
            self._anchor = None
        elif self.cursor_id is not None and self._cursor_id is not None:
            self._anchor, self._before_range = self._cursor_id, set(self._selected)
            self._stretch_range(self._cursor)

    def action_select_all(self) -> None:
        """Select every row shown; when they all are, none of them."""
        shown = {self._row_id(row) for row in self._rows}
        self._anchor = None
        self._set_selected(self._selected - shown if shown <= self._selected else self._selected | shown)


State = Literal["rows", "empty", "loading", "error"]

HEADER = 1  # lines
FLASH_SECONDS = 0.8


class LineTable(Selects[Row], Moves, ScrollView, Generic[Row], can_focus=True):
    """A virtual table over any sequence of rows.

    `row_id(row)` names a row for good. `sign(row)` gives one character of state ("" for none), drawn in front of it;
    `dimmed(row)` says that a row is switched off. Before the first `set_rows` the table shows that it loads.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        *Moves.MOVE_BINDINGS,
        *widget_bindings("select", "select_range", "select_all", "open"),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"line-table--{name}"
        for name in (
            "header", "cursor", "cursor-blurred", "selected", "dimmed", "flash",
            "dim", "accent", "good", "warn", "bad",
        )
    }  # fmt: skip
    DEFAULT_CSS = """
    LineTable {
        height: 1fr;
        overflow-x: hidden;
        scrollbar-size-vertical: 1;
        background: $background;
        color: $foreground;
    }
    LineTable > .line-table--header { text-style: bold; color: $primary; }
    LineTable > .line-table--cursor { background: $block-cursor-background; color: $block-cursor-foreground; }
    LineTable > .line-table--cursor-blurred { text-style: bold; }
    LineTable > .line-table--selected { color: $accent; text-style: bold; }
    LineTable > .line-table--dimmed { color: $foreground 60%; text-style: dim; }
    LineTable > .line-table--flash { text-style: reverse; }
    LineTable > .line-table--dim { color: $foreground 60%; }
    LineTable > .line-table--accent { color: $accent; }
    LineTable > .line-table--good { color: $success; }
    LineTable > .line-table--warn { color: $warning; }
    LineTable > .line-table--bad { color: $error; text-style: bold; }
    LineTable:ansi > .line-table--dimmed, LineTable:ansi > .line-table--dim { color: ansi_default; text-style: dim; }
    LineTable:nocolor > .line-table--cursor { text-style: reverse; }
    LineTable:nocolor > .line-table--selected { text-style: bold; }
    """

    RowHighlighted: TypeAlias = _RowHighlighted
    RowActivated: TypeAlias = _RowActivated
    SelectionChanged: TypeAlias = _SelectionChanged
    RowGone: TypeAlias = _RowGone

    def __init__(
        self,
        columns: Sequence[Column[Row]],
        row_id: Callable[[Row], str],
        *,
        sign: Callable[[Row], str] | None = None,
        dimmed: Callable[[Row], bool] | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.init_selection()
        self._painter = Painter(columns)
        self._row_id = row_id
        self._sign = sign
        self._dimmed = dimmed
        self._rows: Sequence[Row] = ()
        self._cursor = 0
        self._cursor_id: str | None = None
        self._flashing: frozenset[str] = frozenset()
        self._sorted: tuple[str, bool] = ("", False)
        self._state: State = "loading"
        self.said: tuple[str, ...] = ("Loading …",)
        self._styles_by_name: dict[str, Style] = {}
        self._painted: dict[int, list[Segment]] = {}

    # What it shows

    @property
    def rows(self) -> Sequence[Row]:
        """The rows shown, in order."""
        return self._rows

    @property
    def state(self) -> State:
        """What the table shows: rows, or why there are none."""
        return self._state

    @property
    def cursor(self) -> int:
        """The index of the row under the cursor; 0 when there is none."""
        return self._cursor

    @property
    def cursor_id(self) -> str | None:
        """The id of the row under the cursor."""
        return self._cursor_id if self._rows else None

    @property
    def cursor_row(self) -> Row | None:
        """The row under the cursor."""
        return self._rows[self._cursor] if self._rows else None

    def set_columns(self, columns: Sequence[Column[Row]]) -> None:
        """Show other columns of the same rows."""
        self._painter = Painter(columns)
        self.refresh()

    def shows_column(self, key: str) -> bool:
        """Whether there is room for the column `key`."""
        return any(column.key == key for column, _ in self._painter.layout(self._line_width))

    def set_sorted(self, key: str, descending: bool) -> None:
        """Mark the column `key` as the one that the rows are sorted by."""
        if self._sorted != (key, descending):
            self._sorted = (key, descending)
            self.refresh(Region(0, 0, self._line_width, HEADER))

    def set_rows(
        self, rows: Sequence[Row], changed: Iterable[str] = (), empty: str = "Nothing here.", from_top: bool = False
    ) -> None:
        """Show `rows`. Rows with an id in `changed` flash once; `empty` is said when there are none.

        The cursor stays on its row, and a list that is at its top stays there, so that what is new on top is seen. When
        the row is gone, the cursor stays at its place and `RowGone` is posted. `from_top`: both go to the first row.
        Only lines that look different are painted again.
        """
        if from_top:
            self._cursor, self._cursor_id = 0, None
            self.scroll_to(y=0, animate=False, force=True)
        first = self._state != "rows"
        self._rows = rows
        self._state = "rows" if rows else "empty"
        self.said = (empty,)
        gone = self._follow_cursor()
        self._set_height()
        if first or not rows:
            self.refresh()
        else:
            self._refresh_what_differs()
        if changed:
            self.flash(changed)
        if gone is not None:
            self.post_message(self.RowGone(self, gone))
        self._tell_highlight()

    def show_loading(self, text: str = "Loading …") -> None:
        """Say that rows are on their way, with `text`; rows that are shown stay."""
        if not self._rows:
            self._say("loading", text)

    def show_error(self, what: str, where: str = "", fix: str = "") -> None:
        """Show an error instead of rows: what happened, where, and what to do."""
        self._rows = ()
        self._say("error", f"Error: {what}", where, fix)

    def refresh_rows(self) -> None:
        """The cells of the rows may be others: paint the lines that look different."""
        self._refresh_what_differs()

    def _set_height(self) -> None:
        # All lists that fit count as one line: another height means a layout of the screen, and they need none; nor
        # does the table need a scrollbar when it becomes smaller.
        height = len(self._rows) + HEADER
        self.virtual_size = Size(self._line_width, height if height > self.size.height else 1)

    def _say(self, state: State, *lines: str) -> None:
        self._state = state
        self.said = tuple(line for line in lines if line)
        self._set_height()
        self.refresh()
        self._tell_highlight()

    def flash(self, ids: Iterable[str]) -> None:
        """Let rows stand out once, for a moment; not where a person wants nothing to move by itself."""
        if getattr(self.app, "reduced_motion", False):
            return
        self._flashing = frozenset(ids)
        self._refresh_what_differs()
        self.set_timer(FLASH_SECONDS, self._end_flash)

    def _end_flash(self) -> None:
        self._flashing = frozenset()
        self._refresh_what_differs()

    # The cursor

    def move_cursor(self, index: int) -> None:
        """Put the cursor on the row at `index` (clamped) and bring it into view; repaints the two rows that change."""
        if not self._rows:
            return
        index = max(0, min(index, len(self._rows) - 1))
        old, self._cursor = self._cursor, index
        self._cursor_id = self._row_id(self._rows[index])
        if self._anchor is not None:
            self._stretch_range(old)
        if old != index:
            self._refresh_row(old)
            self._refresh_row(index)
            self._tell_highlight()
        self._bring_into_view()

    def move_to_id(self, row_id: str) -> bool:
        """Put the cursor on the row `row_id`; False when it isn't shown."""
        index = self._find(row_id, self._cursor)
        if index is None:
            return False
        self.move_cursor(index)
        return True

    def _follow_cursor(self) -> str | None:
        """Keep the cursor on its row after the rows changed; the id of the row when it is gone."""
        rows, wanted = self._rows, self._cursor_id
        if not rows:
            return None
        index = None if wanted is None else self._find(wanted, self._cursor)
        gone = wanted if index is None else None
        top, old = self._top, self._cursor
        self._cursor = min(self._cursor, len(rows) - 1) if index is None else index
        self._cursor_id = self._row_id(rows[self._cursor])
        if self._cursor != old and self.is_mounted:  # the row keeps its height on the screen
            self.call_after_refresh(self._restore_view, max(0, top + self._cursor - old) if top else 0)
        return gone

    def _restore_view(self, top: int) -> None:
        self.scroll_to(y=top, animate=False, force=True)
        self._bring_into_view()

    def _find(self, row_id: str, near: int) -> int | None:
        """The index of `row_id`, looked for from `near` outwards: rows mostly stay about where they were."""
        rows, name, count = self._rows, self._row_id, len(self._rows)
        for index in (near, near + 1, near - 1):
            if 0 <= index < count and name(rows[index]) == row_id:
                return index
        return next((index for index, row in enumerate(rows) if name(row) == row_id), None)

    @property
    def _top(self) -> int:
        return int(self.scroll_offset.y)

    @property
    def _line_width(self) -> int:
        return max(self.scrollable_content_region.width, 1)

    def _bring_into_view(self) -> None:
        """Scroll a few lines ahead of the cursor, so that not every key at the edge repaints the whole list."""
        page, top, cursor = self.page_lines(), self._top, self._cursor
        ahead = min(4, page // 4)
        if cursor < top:
            self.scroll_to(y=max(cursor - ahead, 0), animate=False, force=True)
        elif cursor >= top + page:
            self.scroll_to(y=min(cursor - page + 1 + ahead, len(self._rows) - page), animate=False, force=True)

    def _tell_highlight(self) -> None:
        index = self._cursor if self._rows else None
        self.post_message(self.RowHighlighted(self, self.cursor_id, index))

    def _tell_selection(self, count: int) -> None:
        self.post_message(self.SelectionChanged(self, count))

    # Keys and mouse

    def move_by(self, lines: int) -> None:
        """Move the cursor down by `lines`, up when negative."""
        self.move_cursor(self._cursor + lines)

    def move_to_edge(self, last: bool) -> None:
        """Move the cursor to the first or the last row."""
        self.move_cursor(len(self._rows) - 1 if last else 0)

    def page_lines(self) -> int:
        """The rows that are in view."""
        return max(self.size.height - HEADER, 1)

    def action_open(self) -> None:
        """Open the row under the cursor."""
        if self.cursor_id is not None and self._cursor_id is not None:
            self.post_message(self.RowActivated(self, self._cursor_id, self._cursor))

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor; a second one opens."""
        index = self._top + event.y - HEADER
        if event.y >= HEADER and 0 <= index < len(self._rows):
            self.move_cursor(index)
            if event.chain == 2:
                self.action_open()

    def on_resize(self) -> None:
        """Keep the cursor in view."""
        self._set_height()
        if self._rows:
            self._bring_into_view()

    def on_focus(self) -> None:
        """The cursor row looks different with the focus."""
        self._refresh_row(self._cursor)

    def on_blur(self) -> None:
        """The cursor row looks different without the focus."""
        self._refresh_row(self._cursor)

    # Drawing

    def notify_style_update(self) -> None:
        """Forget styles: the theme may have changed."""
        self._styles_by_name.clear()
        super().notify_style_update()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Repaint the rows, not the header, when the view moves."""
        if self.show_vertical_scrollbar:
            self.vertical_scrollbar.position = new_value
        if round(old_value) != round(new_value):
            self.refresh(Region(0, HEADER, self._line_width, self.page_lines()))

    def _refresh_row(self, index: int) -> None:
        y = index - self._top + HEADER
        if HEADER <= y < self.size.height:
            self.refresh(Region(0, y, self._line_width, 1))

    def _refresh_what_differs(self) -> None:
        if not self.is_mounted or not self.size:
            return
        for y in range(HEADER, self.size.height):
            if self._painted.get(y) != self._line(y):
                self.refresh(Region(0, y, self._line_width, 1))

    def _style(self, name: str) -> Style:
        style = self._styles_by_name.get(name)
        if style is None:
            base = self.rich_style
            style = base if not name else base + self.get_component_rich_style(f"line-table--{name}")
            self._styles_by_name[name] = style
        return style

    def render_line(self, y: int) -> Strip:
        """One line of the screen: the header, a row, or what is said instead of rows."""
        line = self._line(y)
        self._painted[y] = line
        return Strip(line)

    def _line(self, y: int) -> list[Segment]:
        width = self._line_width
        if self._state != "rows":
            return self._painter.message(self.said, self._state, y, width, self._style)
        if y < HEADER:
            return self._painter.header(width, self._sorted, self._style, glyphs(self))
        index = self._top + y - HEADER
        if index >= len(self._rows):
            return [Segment(" " * width, self._style(""))]
        row = self._rows[index]
        return self._painter.row(row, self._marks(row, index), width, self._style, glyphs(self))

    def _marks(self, row: Row, index: int) -> Marks:
        row_id = self._row_id(row)
        at_cursor, selected = index == self._cursor, row_id in self._selected
        sign = self._sign(row) if self._sign is not None else ""
        return Marks(at_cursor, selected, sign, self._row_style(row, row_id, at_cursor, selected))

    def _row_style(self, row: Row, row_id: str, at_cursor: bool, selected: bool) -> str:
        if row_id in self._flashing:
            return "flash"
        if at_cursor:
            return "cursor" if self.has_focus else "cursor-blurred"
        if selected:
            return "selected"
        return "dimmed" if self._dimmed is not None and self._dimmed(row) else ""
