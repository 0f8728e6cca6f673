"""How the console looks: themes, the signs it draws with in Unicode or ASCII, and cells joined to lines.

No state: the app chooses once at its start and holds ``ascii_only``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.scrollbar import ScrollBarRender
from textual.strip import Strip
from textual.theme import Theme
from textual.widget import Widget

from nanomem_tui.core.text import cell_width, one_line, pad, safe_text

# -- The signs that the console and the command line draw with, in Unicode and in ASCII. Knows no widget --------------


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The signs that carry meaning, each one cell wide."""

    cursor: str
    selected: str
    ellipsis: str
    ascending: str
    descending: str
    bullet: str
    rule: str
    separator: str
    steps: str
    eighths: str
    track: str


UNICODE = Glyphs("▸", "●", "…", "▴", "▾", "•", "─", "│", "▁▂▃▄▅▆▇█", "▏▎▍▌▋▊▉", "·")
ASCII = Glyphs(">", "*", "~", "^", "v", "-", "-", "|", ".:-=+*#@", "", ".")


def glyphs(widget: Widget) -> Glyphs:
    """The signs for `widget`: ASCII when its app has a true ``ascii_only``."""
    return ASCII if getattr(widget.app, "ascii_only", False) else UNICODE


THEMES = (
    Theme(
        name="nanomem-dark",
        primary="#7aa2f7",
        secondary="#7dcfff",
        accent="#e0af68",
        warning="#e0af68",
        error="#f7768e",
        success="#9ece6a",
        foreground="#c8d3f5",
        background="#16161e",
        surface="#1a1b26",
        panel="#24283b",
        dark=True,
        variables={"block-cursor-background": "#364a82", "block-cursor-foreground": "#ffffff"},
    ),
    Theme(
        name="nanomem-light",
        primary="#2e5fb7",
        secondary="#0f6b75",
        accent="#8f5e15",
        warning="#8f5e15",
        error="#b3261e",
        success="#2f6b2f",
        foreground="#22252e",
        background="#fbfbfd",
        surface="#f2f3f7",
        panel="#e3e6ee",
        dark=False,
        variables={"block-cursor-background": "#c5d5f7", "block-cursor-foreground": "#10131a"},
    ),
)
#: What the palette's "next theme" goes through.
THEME_NAMES = ("nanomem-dark", "nanomem-light", "ansi-dark", "ansi-light")


def choose_theme(wanted: str, environ: Mapping[str, str]) -> str:
    """The theme for a terminal: `wanted` is "auto", "dark", "light" or the name of a theme.

    The terminal's own colours are used where colour is switched off (`NO_COLOR`), where there are only 16 of them, and
    over SSH: fewer bytes, and the reader's own palette. Light or dark follows `COLORFGBG` where a terminal sets it.
    """
    light = environ.get("COLORFGBG", "").rpartition(";")[2] in {"7", "15"}
    if wanted in {"dark", "light"}:
        light = wanted == "light"
    elif wanted not in {"auto", ""}:
        return wanted
    remote = bool(environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"))
    full_colour = environ.get("COLORTERM", "") in {"truecolor", "24bit"} or "256color" in environ.get("TERM", "")
    if "NO_COLOR" in environ or not full_colour or (remote and wanted not in {"dark", "light"}):
        return "ansi-light" if light else "ansi-dark"
    return "nanomem-light" if light else "nanomem-dark"


class PlainBars(ScrollBarRender):
    """A scrollbar of blanks in colours: no block characters."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "]
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "]


# Untrusted text on its way into lines of the screen: made safe, cut to cells, joined into few segments.


def content(text: str, style: str = "") -> Content:
    """`text` as plain content for a Textual widget, safe, never markup. `style` is a Textual style such as "bold"."""
    return Content.styled(safe_text(text), style) if style else Content(safe_text(text))


def contents(parts: Iterable[tuple[str, str]]) -> Content:
    """Several texts with their styles as one content."""
    return Content.assemble(*((safe_text(text), style) for text, style in parts))


def joined(parts: Sequence[tuple[str, Style]], width: int, fill: Style) -> list[Segment]:
    """The parts (safe texts) as segments of exactly `width` cells; neighbours of one style become one: fewer bytes."""
    segments: list[Segment] = []
    room = width
    for text, style in parts:
        size = cell_width(text)
        if size > room:
            _append(segments, pad(text, room, ellipsis=""), style)
            return segments
        room -= size
        _append(segments, text, style)
    _append(segments, " " * room, fill)
    return segments


def _append(segments: list[Segment], text: str, style: Style) -> None:
    if text and segments and segments[-1].style == style:
        segments[-1] = Segment(segments[-1].text + text, style)
    elif text:
        segments.append(Segment(text, style))


# -- One line beneath a list that says of the row at the cursor what its columns have no room for ---------------------


class RowLine(Widget):
    """The line; not there until `give` gives it room."""

    DEFAULT_CSS = "RowLine { height: 1; display: none; color: $warning; }"

    def __init__(self) -> None:
        super().__init__()
        self._words = ""

    def give(self, room: bool) -> None:
        """Be there, or not."""
        self.display = room

    def show(self, words: str) -> None:
        """Say `words`, untrusted text; paints only when they differ."""
        if words != self._words:
            self._words = words
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """The line, cut at the width."""
        width = self.size.width
        parts: list[tuple[str, Style]] = [(f" {one_line(self._words, max(width - 2, 1))}", self.rich_style)]
        return Strip(joined(parts, width, self.rich_style), width)
