"""How an item reads in one line: its columns and its sign. Pure, so that the frame before the app can draw it too."""

from __future__ import annotations

from nanomem_tui.store.values import Item
from nanomem_tui.widgets.columns import Column, aged

FOREIGN = "foreign:"
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
        Column("scope", "Scope", scope_of, width=16, priority=5, tone="dim"),
        Column(
            "hits", "Hits", lambda item: str(item.hits), width=5, priority=2, align="right", sort=lambda item: item.hits
        ),
        aged("Age", lambda item: item.updated_at, priority=1, align="right", tone="dim"),
        Column("source", "Source", source_of, width=14, priority=4, tone="dim"),
    )


def is_foreign(item: Item) -> bool:
    """Whether the item is shown from another system's database."""
    return item.source.startswith(FOREIGN)


def sign_of(item: Item) -> str:
    """The state of an item in one character, the one that matters most: ! conflict, - disabled, = foreign, ^ pinned."""
    if "conflict" in item.meta_json:
        return "!"
    if not item.enabled:
        return "-"
    if is_foreign(item):
        return "="
    return "^" if item.pinned else ""


def scope_of(item: Item) -> str:
    """A scope as people say it: `global`, `telegram:42`, `telegram:@7` for a user."""
    if item.scope_type == "global":
        return "global"
    channel, _, who = item.scope_key.removeprefix("channel:").partition(f":{item.scope_type}:")
    if who:
        return f"{channel}:{'@' if item.scope_type == 'user' else ''}{who}"
    return item.scope_key or item.scope_type


def source_of(item: Item) -> str:
    """Where an item came from, short."""
    return item.source.removeprefix(FOREIGN)
