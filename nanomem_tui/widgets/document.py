"""What a detail pane shows, as values: fields, headings and texts, and how they become lines of a width.

Pure: texts are untrusted and made safe here, cut at a stated size, never dropped silently. No widget.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nanomem_tui.core.text import cell_width, cut, one_line, pad, safe_text, wrap

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
