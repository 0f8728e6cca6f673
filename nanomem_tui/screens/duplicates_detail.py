"""The members of a cluster side by side: what stays left, each other one right, with the words that differ; who said
each when, and how often it was recalled.

Makes parts of a cluster. Texts are untrusted; the layout makes them safe.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nanomem_tui.core.text import counted
from nanomem_tui.memory.inbox import origin
from nanomem_tui.review.duplicates import Cluster, differing
from nanomem_tui.screens.item_columns import scope_of
from nanomem_tui.screens.rows import when
from nanomem_tui.store.values import Item
from nanomem_tui.widgets.diff import DiffLine, Hunk, spans_of
from nanomem_tui.widgets.document import Block, Body, Field, Line, Span, Spans, lay_out
from nanomem_tui.widgets.side_by_side import side_by_side

FOLDED = 600
"""Characters of a text before it is unfolded."""
TOLD = 4
"""Differences that are named."""


@dataclass(frozen=True, slots=True)
class Member:
    """One item of a cluster, beside the one that is proposed to stay."""

    item: Item
    first: Item
    number: int
    of: int
    separator: str
    stops: bool = True

    @property
    def key(self) -> str:
        """The id of the item."""
        return self.item.id

    def lines(self, width: int, unfolded: bool, wrapped: bool) -> list[Line]:
        """What becomes of it, its words against those that stay, and where they are from."""
        is_first = self.item.id == self.first.id
        head: list[Span] = [(f"{self.number} of {self.of}  ", "heading")]
        head.append(("proposed to stay", "good") if is_first else ("says the same", "accent"))
        if self.item.pinned:
            head.append(("  pinned", "accent"))
        lines = lay_out([Spans(tuple(head))], width)
        if is_first:
            lines += lay_out([Body(self._cut(self.item, unfolded))], width)
        else:
            left, right = self._both(unfolded)
            lines += side_by_side([left], [right], width, self.separator)
            lines += lay_out(self._differences(), width)
        return [*lines, *lay_out(self._fields(), width), ()]

    def plain(self) -> str:
        """The words."""
        return self.item.text

    def _both(self, unfolded: bool) -> tuple[Block, Block]:
        """The text that stays and this one, the words that differ marked, each with its sign."""
        texts = (" ".join(self._cut(item, unfolded).split()) for item in (self.first, self.item))
        old, new = (DiffLine(sign, text) for sign, text in zip("-+", texts, strict=True))  # type: ignore[arg-type]
        if old.text == new.text:
            return Spans((("= ", "dim"), (old.text, "")), 2), Spans((("= ", "dim"), (new.text, "")), 2)
        spans = [spans for _, spans in spans_of(Hunk((old, new)))]
        return Spans((("  ", ""), *spans[0]), 2), Spans((("~ ", "accent"), *spans[1]), 2)

    def _differences(self) -> Iterable[Block]:
        found = differing(self.first.text, self.item.text)
        told = ", ".join(found[:TOLD]) + (", and more" if len(found) > TOLD else "")
        if told:
            yield Field("differs", told, "warn")

    def _fields(self) -> Iterable[Block]:
        item, said = self.item, origin(self.item)
        recalled = f", last {when(item.last_accessed_at)}" if item.last_accessed_at else ""
        named = (
            (
                "said",
                ", ".join(filter(None, (when(item.created_at), said, "" if item.source in said else item.source))),
            ),
            ("recalled", counted(item.hits, "time") + recalled if item.hits else "never"),
            ("is", f"{item.kind}, {scope_of(item)}"),
            ("id", item.id),
        )
        return [Field(name, value, "" if name == "said" else "dim") for name, value in named]

    @staticmethod
    def _cut(item: Item, unfolded: bool) -> str:
        if unfolded or len(item.text) <= FOLDED:
            return item.text
        return f"{item.text[:FOLDED]} ({len(item.text) - FOLDED:,} more characters: enter unfolds)"


def members(cluster: Cluster, separator: str) -> list[Member]:
    """A part for each item of a cluster, the one that is to stay first."""
    items = cluster.items
    return [Member(item, cluster.kept, at + 1, len(items), separator) for at, item in enumerate(items)]
