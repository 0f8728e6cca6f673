"""What an item was made of: the sources that were merged into it, and the other words by which it is known."""

from __future__ import annotations

from nanomem_tui.core.text import counted, one_line
from nanomem_tui.memory.merging import aliases
from nanomem_tui.screens.rows import when
from nanomem_tui.store.values import Item
from nanomem_tui.widgets.document import Block, Body, Heading, Spans

FIELDS = frozenset({"merged_from", "aliases"})
"""The free fields that are shown here."""
SHOWN = 20
LINE = 200


def merged_blocks(row: Item) -> list[Block]:
    """Each source of an item that was made of several, the oldest first, with its words where they are kept."""
    entries = row.meta.get("merged_from") if '"merged_from"' in row.meta_json else None
    found = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    if not found:
        return []
    blocks: list[Block] = [Heading(f"Merged from ({len(found)})")]
    for entry in found[:SHOWN]:
        named = ("source", "session_key", "sender_id")
        told = ", ".join(dict.fromkeys(str(entry[name]) for name in named if entry.get(name)))
        hits = entry.get("hits")
        times = counted(hits, "hit") if isinstance(hits, int) else ""
        head = f"{when(str(entry.get('created_at') or ''))}  {told}  {times}"
        words = one_line(str(entry.get("text") or "the words that stand"), LINE)
        blocks.append(Spans(((f"{head}  ", "dim"), (words, "")), 2))
    if len(found) > SHOWN:
        blocks.append(Body(f"… and {len(found) - SHOWN:,} more", "dim"))
    if aliases(row):
        blocks.append(Body("Captured again in any of these words it is known to be this item.", "dim"))
    return blocks
