"""How the scope and the source of an item read. Pure and light: the frame before the app draws with it."""

from __future__ import annotations

from nanomem_tui.store.values import Item

FOREIGN = "foreign:"


def is_foreign(item: Item) -> bool:
    """Whether the item lies in another system's database."""
    return item.source.startswith(FOREIGN)


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
