"""How an item reads in one line: its columns and its sign. Pure, so that the first frame can draw it before Textual
is there.
"""

from __future__ import annotations

from nanomem_tui.memory.retention import get_superseded
from nanomem_tui.memory.scopes import is_foreign, scope_label, source_label
from nanomem_tui.store.values import Item
from nanomem_tui.widgets.columns import Column, aged

__all__ = ["is_foreign", "item_columns", "scope_label", "sign_of", "source_label"]

TEXT_LEAST = 0.48  # of the width without its signs, so that the text has 45 % of the list, whatever else fits


def item_columns() -> tuple[Column[Item], ...]:
    """The text, and as much about it as fits."""
    return (
        Column(
            "text",
            "Text",
            lambda item: item.text,
            min_width=24,
            least=TEXT_LEAST,
            sort=lambda item: item.text.casefold(),
        ),
        Column("kind", "Kind", lambda item: item.kind, width=10, priority=3, sort=lambda item: item.kind),
        Column("scope", "Scope", scope_label, width=16, priority=5, tone="dim"),
        Column(
            "hits", "Hits", lambda item: str(item.hits), width=5, priority=2, align="right", sort=lambda item: item.hits
        ),
        aged("Age", lambda item: item.updated_at, priority=1, align="right", tone="dim"),
        Column("source", "Source", source_label, width=14, priority=4, tone="dim"),
    )


def sign_of(item: Item) -> str:
    """The state of an item in one character, the one that matters most: ! conflict, < superseded, - disabled, =
    foreign, ^ pinned."""
    if "conflict" in item.meta_json:
        return "!"
    if not item.enabled:
        return "-" if get_superseded(item) is None else "<"
    if is_foreign(item):
        return "="
    return "^" if item.pinned else ""
