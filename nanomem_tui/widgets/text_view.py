"""A scrollable view of laid-out lines: the base of the detail pane and of the diff.

Owns scrolling, wrapping and drawing with tones. What the lines are is for the subclass, which implements `lay_out`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from nanomem_tui.core.text import cell_width, cut, one_line, pad, safe_text, wrap
from nanomem_tui.widgets.key_queue import Moves, widget_bindings
from nanomem_tui.widgets.theme import joined

# What a detail pane shows, as values: fields, headings and texts, and how they become lines of a width.

Span = tuple[str, str]  # safe text, tone
Line = tuple[Span, ...]

#: How much of one text is laid out; the rest is counted and said.
SHOWN_CHARACTERS = 100_000
#: How much of one unwrapped line is laid out.
LINE_CHARACTERS = 4_000
LABEL_WIDTH = 13


@dataclass(frozen=True, slots=True)
class Field:
    """A label and a value, the value wrapped beside its label."""

    label: str
    value: str
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of a section, with an empty line before it."""

    text: str


@dataclass(frozen=True, slots=True)
class Body:
    """A text of any length. `keep` leaves its lines as they are (tables, plots, code) even when the pane wraps."""

    text: str
    tone: str = ""
    indent: int = 0
    keep: bool = False


@dataclass(frozen=True, slots=True)
class Spans:
    """One line of parts with their own tones; wrapped at `indent` when it is too long."""

    parts: tuple[Span, ...]
    indent: int = 0


Block = Field | Heading | Body | Spans


@dataclass(frozen=True, slots=True)
class Document:
    """What one row has to tell. `copy` is what the copy key takes; empty: all texts of `blocks`."""

    blocks: tuple[Block, ...] = ()
    copy: str = ""

    def plain(self) -> str:
        """The whole as plain text, not cut, as the copy key takes it."""
        return self.copy or "\n".join(_plain(block) for block in self.blocks)


def _plain(block: Block) -> str:
    if isinstance(block, Field):
        return f"{block.label}: {block.value}"
    if isinstance(block, Spans):
        return "".join(text for text, _ in block.parts)
    return block.text


def lay_out(blocks: Iterable[Block], width: int, wrapped: bool = True) -> list[Line]:
    """The lines of `blocks` at `width` cells; not `wrapped`, lines may be longer than that."""
    lines: list[Line] = []
    for block in blocks:
        if isinstance(block, Heading):
            if lines:
                lines.append(())
            lines.append(((one_line(block.text), "heading"),))
        elif isinstance(block, Field):
            lines.extend(_field(block, width, wrapped))
        elif isinstance(block, Spans):
            lines.extend(
                wrap_spans(_safe(block.parts), width, block.indent) if wrapped else [tuple(_safe(block.parts))]
            )
        else:
            lines.extend(_body(block, width, wrapped))
    return lines


def _safe(parts: Iterable[Span]) -> list[Span]:
    return [(safe_text(text).replace("\n", " ").replace("\t", " "), tone) for text, tone in parts]


def _field(block: Field, width: int, wrapped: bool) -> list[Line]:
    label = pad(one_line(block.label), LABEL_WIDTH - 1) + " "
    shown, more = _shown(block.value)
    values = _lines(shown, max(width - LABEL_WIDTH, 10), wrapped)
    lines: list[Line] = [((label, "label"), (values[0], block.tone))]
    lines += [((" " * LABEL_WIDTH, ""), (value, block.tone)) for value in values[1:]]
    return lines + more


def _body(block: Body, width: int, wrapped: bool) -> list[Line]:
    shown, more = _shown(block.text)
    start = " " * block.indent
    lines: list[Line] = [
        ((start + line, block.tone),) for line in _lines(shown, width - block.indent, wrapped and not block.keep)
    ]
    return lines + more


def _shown(text: str) -> tuple[str, list[Line]]:
    """The part of a text that is laid out, and the line that says how much more there is."""
    if len(text) <= SHOWN_CHARACTERS:
        return safe_text(text), []
    more = f"… {len(text) - SHOWN_CHARACTERS:,} more of {len(text):,} characters"
    return safe_text(text[:SHOWN_CHARACTERS]), [((more, "warn"),)]


def _lines(text: str, width: int, wrapped: bool) -> list[str]:
    if wrapped:
        return wrap(text, width)
    return [cut(line.expandtabs(4), LINE_CHARACTERS) for line in text.split("\n")]


def wrap_spans(parts: Sequence[Span], width: int, indent: int = 0) -> list[Line]:
    """Safe parts of one line as lines of at most `width` cells, those after the first indented by `indent`."""
    text = "".join(part for part, _ in parts)
    if cell_width(text) <= width:
        return [tuple(parts)]
    first = wrap(text, width)[0]  # as wide as the pane; the indented lines after it are narrower
    rest = text[len(first) :].removeprefix(" ")
    pieces = [first, *wrap(rest, max(width - indent, 2))] if rest else [first]
    lines: list[Line] = []
    position = 0
    for piece in pieces:
        start = text.index(piece, position)
        position = start + len(piece)
        inside = _slice(parts, start, position)
        lines.append((((" " * indent), ""), *inside) if lines and indent else tuple(inside))
    return lines


def _slice(parts: Sequence[Span], start: int, end: int) -> list[Span]:
    found: list[Span] = []
    at = 0
    for text, tone in parts:
        low, high = max(start - at, 0), min(end - at, len(text))
        if low < high:
            found.append((text[low:high], tone))
        at += len(text)
    return found


TONES = (
    "heading", "label", "dim", "accent", "good", "warn", "bad",
    "added", "removed", "added-word", "removed-word", "cursor",
)  # fmt: skip


class TextView(Moves, ScrollView, can_focus=True):
    """Lines of text with tones; `w` wraps, arrows scroll sideways when it doesn't."""

    BINDINGS: ClassVar[list[BindingType]] = [*Moves.MOVE_BINDINGS, *widget_bindings("scroll_left", "scroll_right")]
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"text-view--{tone}" for tone in TONES}
    DEFAULT_CSS = """
    TextView {
        height: 1fr;
        overflow-x: hidden;
        scrollbar-size-vertical: 1;
        background: $background;
        color: $foreground;
    }
    TextView > .text-view--heading { color: $primary; text-style: bold; }
    TextView > .text-view--label { color: $foreground 60%; }
    TextView > .text-view--dim { color: $foreground 60%; }
    TextView > .text-view--accent { color: $accent; }
    TextView > .text-view--good { color: $success; }
    TextView > .text-view--warn { color: $warning; }
    TextView > .text-view--bad { color: $error; text-style: bold; }
    TextView > .text-view--added { color: $success; }
    TextView > .text-view--removed { color: $error; }
    TextView > .text-view--added-word { color: $success; text-style: bold underline; }
    TextView > .text-view--removed-word { color: $error; text-style: bold underline; }
    TextView > .text-view--cursor { background: $block-cursor-background; color: $block-cursor-foreground; }
    TextView:ansi > .text-view--label, TextView:ansi > .text-view--dim { color: ansi_default; text-style: dim; }
    TextView:nocolor > .text-view--cursor { text-style: reverse; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.wrapped = True
        self._lines: list[Line] = []
        self._laid_out_at = -1
        self._shift = 0
        self._styles_by_name: dict[str, Style] = {}
        self._painted: dict[int, list[Segment]] = {}

    @property
    def cursor_line(self) -> int:
        """The line of the view that the keys act on: its first, where it has no parts to point at."""
        return 0

    def lay_out(self, width: int, wrapped: bool) -> list[Line]:
        """The lines of what is shown, at `width` cells."""
        raise NotImplementedError

    def lay_out_again(self, keep_place: bool = False) -> None:
        """What is shown has changed: make its lines anew; without `keep_place` the view goes back to the top."""
        self._laid_out_at = -1
        if not keep_place:
            self.scroll_to(x=0, y=0, animate=False, force=True)
        self._lay_out()
        self._refresh_what_differs()

    def _refresh_what_differs(self) -> None:
        for y in range(self.size.height):
            if self._painted.get(y) != self._line(y):
                self.refresh(Region(0, y, self.scrollable_content_region.width, 1))

    def toggle_wrap(self) -> bool:
        """Wrap long lines or not; what it is now."""
        self.wrapped = not self.wrapped
        self.scroll_to(x=0, animate=False, force=True)
        self.lay_out_again(keep_place=True)
        return self.wrapped

    @property
    def lines(self) -> list[Line]:
        """The lines as they are laid out now."""
        return self._lines

    def _lay_out(self) -> None:
        width = self.scrollable_content_region.width
        if width <= 1:
            return
        if width != self._laid_out_at:
            self._laid_out_at = width
            self._lines = self.lay_out(width - 1, self.wrapped)
        # In a pane all texts that fit count as one line: another height means a layout of the screen, and they need
        # none; nor does the pane need a scrollbar when it becomes smaller. In a dialog the text makes the height.
        height = len(self._lines)
        counts = height > self.size.height or (self.styles.height is not None and self.styles.height.is_auto)
        self.virtual_size = Size(width, height if counts else 1)

    def on_resize(self) -> None:
        """Lay out for the new size."""
        self._lay_out()

    def page_lines(self) -> int:
        """The lines that are in view."""
        return max(self.size.height, 1)

    def move_by(self, lines: int) -> None:
        """Scroll down by `lines`, up when negative."""
        self.scroll_to(y=self.scroll_offset.y + lines, animate=False, force=True)

    def move_to_edge(self, last: bool) -> None:
        """Scroll to the top or the end."""
        self.scroll_to(y=self.max_scroll_y if last else 0, animate=False, force=True)

    def action_scroll_left(self) -> None:
        """Show what is to the left."""
        self._scroll_sideways(-8)

    def action_scroll_right(self) -> None:
        """Show what is to the right."""
        self._scroll_sideways(8)

    def _scroll_sideways(self, cells: int) -> None:
        if self.wrapped:
            return
        widest = max((sum(cell_width(text) for text, _ in line) for line in self._lines), default=0)
        self._shift = max(0, min(self._shift + cells, widest - 8))
        self.refresh()

    def notify_style_update(self) -> None:
        """Forget styles: the theme may have changed."""
        self._styles_by_name.clear()
        super().notify_style_update()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Repaint the text, not the scrollbar's column, when the view moves."""
        if self.show_vertical_scrollbar:
            self.vertical_scrollbar.position = new_value
        if round(old_value) != round(new_value):
            self.refresh(Region(0, 0, self.scrollable_content_region.width, self.size.height))

    def tone(self, name: str) -> Style:
        """The style of a tone."""
        style = self._styles_by_name.get(name)
        if style is None:
            base = self.rich_style
            style = base + self.get_component_rich_style(f"text-view--{name}") if name in TONES else base
            self._styles_by_name[name] = style
        return style

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        segments = self._line(y)
        self._painted[y] = segments
        return Strip(segments)

    def _line(self, y: int) -> list[Segment]:
        width = self.scrollable_content_region.width
        index = int(self.scroll_offset.y) + y
        line = self._lines[index] if index < len(self._lines) else ()
        parts = [(text, self.tone(tone)) for text, tone in line]
        if self.wrapped or not self._shift:
            return joined(parts, width, self.tone(""))
        whole = Strip([Segment(text, style) for text, style in parts])
        return list(whole.crop(self._shift, self._shift + width).adjust_cell_length(width, self.tone("")))


# -- The detail pane: fields, headings and texts of one row, read-only, scrollable, wrapped or not --------------------


class Preview(TextView):
    """Shows a `Document`. Texts are untrusted; long ones are cut at a stated size."""

    DEFAULT_CSS = "Preview { padding: 0 0 0 1; }"

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.document = Document()

    def show(self, document: Document, keep_place: bool = False) -> None:
        """Show `document`, from its top unless `keep_place`; nothing is painted when it is what is shown already."""
        if document != self.document:
            self.document = document
            self.lay_out_again(keep_place)

    def say(self, text: str) -> None:
        """Show one quiet sentence instead of a document."""
        self.show(Document((Body(text, "dim"),)))

    def lay_out(self, width: int, wrapped: bool) -> list[Line]:
        """The lines of the document."""
        return lay_out(self.document.blocks, width, wrapped)


# Two texts beside each other where there is room, below each other where there is not. Pure lines, no widget.

SIDE_BY_SIDE = 64  # cells from which two columns can be read


def side_by_side(left: Sequence[Block], right: Sequence[Block], width: int, separator: str) -> list[Line]:
    """The blocks of both sides: two columns from `SIDE_BY_SIDE` cells of `width` on, else the right below the left."""
    between = f" {separator} "
    if width < SIDE_BY_SIDE:
        return [*lay_out(left, width), *lay_out(right, width)]
    half = (width - len(between)) // 2
    lines: list[Line] = []
    for one, other in zip_longest(lay_out(left, half), lay_out(right, half), fillvalue=()):
        used = sum(cell_width(text) for text, _ in one)
        lines.append((*one, (" " * (half - used), ""), (between, "dim"), *other))
    return lines
