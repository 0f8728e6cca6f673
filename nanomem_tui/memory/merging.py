"""One item made of several: what it takes over from those that go. Pure.

Owns that nothing of where they are from is lost: hits add up, the oldest origin stays, each source is kept in
`merged_from` of the free fields, and the words of those that went are `aliases`, by which the same words are known
again when they are told once more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

from nanomem_tui.language import dates
from nanomem_tui.memory import retention, said_on
from nanomem_tui.store.values import Item, dumped

MOST = 200
"""Sources that one item keeps of those merged into it, the oldest first; the ledger has every one."""
LONG = 500
"""Characters of words beyond which they are no alias, and are kept in the ledger only."""
ORIGIN = ("session_key", "source_message_id", "source_role")
TOLD = ("source", *ORIGIN, "channel", "chat_id", "sender_id")
"""What is kept of a source, where it is known."""


def merged(kept: Item, others: Sequence[Item]) -> Item:
    """The item that stays, with what it takes over from the others: hits, the oldest origin and time, pin, importance
    and the longest life, their sources and their words."""
    rows = [kept, *others]
    oldest = min(rows, key=lambda row: (row.created_at, row.id))
    known = min((row for row in rows if row.session_key), key=lambda row: (row.created_at, row.id), default=kept)
    recalled = [row.last_accessed_at for row in rows if row.last_accessed_at]
    kept = said_on.dated(kept, said_on.day_said(kept)) if dates.has_relative(kept.text) else kept
    return kept._replace(
        hits=sum(row.hits for row in rows),
        created_at=oldest.created_at,
        pinned=any(row.pinned for row in rows),
        importance=max(row.importance for row in rows),
        expires_at=retention.longest(rows),
        last_accessed_at=max(recalled, default=None),
        meta_json=_told(kept, others),
        **{name: getattr(known, name) for name in ORIGIN},
    )


def aliases(item: Item) -> Sequence[str]:
    """The words of items that were merged into this one, as long as its own words are those of that time."""
    if '"aliases"' not in item.meta_json:
        return ()
    found = item.meta.get("aliases")
    if not isinstance(found, dict) or found.get("of") != _print(item.text):
        return ()
    words = found.get("words")
    return [word for word in words if isinstance(word, str)] if isinstance(words, list) else ()


def _told(kept: Item, others: Sequence[Item]) -> str:
    meta = kept.meta
    told = {entry["id"]: entry for row in (kept, *others) for entry in _entries(row)}
    for row in (kept, *others):
        told.setdefault(row.id, _entry(row, kept))
    entries = sorted(told.values(), key=lambda entry: (str(entry.get("created_at")), str(entry["id"])))
    meta["merged_from"] = entries[:MOST]
    words = list(aliases(kept))
    for row in others:
        words += [row.text, *aliases(row)] if row.scope_key == kept.scope_key else []
    words = [word for word in dict.fromkeys(words) if word != kept.text and len(word) <= LONG]
    if words:
        meta["aliases"] = {"of": _print(kept.text), "words": words[:MOST]}
    return dumped(meta)


def _entries(row: Item) -> Iterable[dict[str, Any]]:
    found = row.meta.get("merged_from") if '"merged_from"' in row.meta_json else None
    rows = found if isinstance(found, list) else []
    return [entry for entry in rows if isinstance(entry, dict) and isinstance(entry.get("id"), str)]


def _entry(row: Item, kept: Item) -> dict[str, Any]:
    """A source: the id, words, hits and times of a row, and where it is from. What another scope said stays there: its
    words are left out."""
    told = {name: value for name in TOLD if (value := getattr(row, name))}
    if row.scope_key == kept.scope_key and row.text != kept.text and len(row.text) <= LONG:
        told["text"] = row.text
    return {"id": row.id, "hits": row.hits, "created_at": row.created_at, **told}


def _print(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
