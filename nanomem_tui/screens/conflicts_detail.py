"""The two sides of a contradiction, the older left and the newer right, with the words that differ; who said each when,
and to whom an agent gives it.

Makes parts of a contradiction. Texts are untrusted; the layout makes them safe.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nanomem_tui.core.text import counted
from nanomem_tui.memory.inbox import origin
from nanomem_tui.memory.superseded import text_of
from nanomem_tui.review.conflicts import Contradiction, Side, scope_words
from nanomem_tui.screens.rows import when
from nanomem_tui.store.values import Item, Row
from nanomem_tui.widgets.diff import DiffLine, Hunk, spans_of
from nanomem_tui.widgets.document import Block, Body, Field, Line, Span, Spans, lay_out
from nanomem_tui.widgets.side_by_side import side_by_side


@dataclass(frozen=True, slots=True)
class Both:
    """The words of the two, side by side."""

    pair: Contradiction
    separator: str
    key: str = "both"
    stops: bool = True

    def lines(self, width: int, unfolded: bool, wrapped: bool) -> list[Line]:
        """The older left, the newer right."""
        texts = [" ".join(text_of(row).split()) for row in (self.pair.older, self.pair.newer)]
        old, new = DiffLine("-", texts[0]), DiffLine("+", texts[1])
        spans = [found for _, found in spans_of(Hunk((old, new)))]
        left: list[Block] = [Body("older", "dim"), Spans((("- ", "warn"), *spans[0]), 2)]
        right: list[Block] = [Body("newer", "dim"), Spans((("+ ", "accent"), *spans[1]), 2)]
        return [*side_by_side(left, right, width, self.separator), ()]

    def plain(self) -> str:
        """Both texts."""
        return f"{text_of(self.pair.older)}\n{text_of(self.pair.newer)}"


@dataclass(frozen=True, slots=True)
class OneSide:
    """Who said one of the two, when, where, and what an agent is given of it."""

    pair: Contradiction
    side: Side
    stops: bool = True

    @property
    def row(self) -> Row:
        """The item or lesson."""
        return self.pair.row(self.side)

    @property
    def key(self) -> str:
        """Its id."""
        return self.row.id

    def lines(self, width: int, unfolded: bool, wrapped: bool) -> list[Line]:
        """The words, their origin, and the line that an agent would get."""
        row = self.row
        head: list[Span] = [(f"The {self.side}", "heading")]
        if isinstance(row, Item) and row.pinned:
            head.append(("  pinned", "accent"))
        recalled = row.last_accessed_at if isinstance(row, Item) else row.last_applied_at
        named = (
            ("said", ", ".join(dict.fromkeys((when(row.updated_at), origin(row), row.source)))),
            ("first", when(row.created_at) if row.created_at[:16] != row.updated_at[:16] else ""),
            ("recalled", counted(row.hits, "time") + (f", last {when(recalled)}" if recalled else "")),
            ("is", f"{row.kind if isinstance(row, Item) else 'lesson'}, {scope_words(row)}"),
            ("given as", given(row)),
            ("when", row.trigger if not isinstance(row, Item) else ""),
            ("id", row.id),
        )
        blocks: list[Block] = [Spans(tuple(head))]
        blocks += [Field(name, value, "" if name in ("said", "given as") else "dim") for name, value in named if value]
        return [*lay_out(blocks, width), ()]

    def plain(self) -> str:
        """The words."""
        return text_of(self.row)


def given(row: Row) -> str:
    """What an agent would get of a row: the line of its block."""
    from nanomem_tui.memory.turns import prompt

    return prompt.item_line(row) if isinstance(row, Item) else prompt.lesson_line(row)


def parts(pair: Contradiction, separator: str) -> Sequence[Both | OneSide]:
    """Both side by side, then where each is from."""
    return [Both(pair, separator), OneSide(pair, "older"), OneSide(pair, "newer")]
