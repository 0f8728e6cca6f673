"""One item made of several: what it takes over from those that go. Pure.

Owns that nothing of where they are from is lost: hits add up, the oldest origin stays, each source is kept in
`merged_from` of the free fields, and the words of those that went are `aliases`, by which the same words are known
again when they are told once more.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from nanomem_tui.language import dates
from nanomem_tui.memory import retention
from nanomem_tui.memory.recall import times
from nanomem_tui.memory.safety import normal
from nanomem_tui.store.memory_store import MemoryStore
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
    kept = times.dated(kept, times.day_said(kept)) if dates.has_relative(kept.text) else kept
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


# Which item is the same memory as a text: by scope and by the words without width, case and marks, its own or those
# of an item that was merged into it.


class Twins:
    """The items of one store by scope key; texts are folded where they are first compared."""

    def __init__(self, store: MemoryStore) -> None:
        self._snapshot = store.snapshot
        self._changed: set[str] | None = None
        self._places: dict[str, str] = {}
        self._scopes: defaultdict[str, dict[str, tuple[str, ...] | None]] = defaultdict(dict)

    def find(self, scope_key: str, text: str) -> Item | None:
        """The item of that scope that says the same; an enabled one before a disabled one, one with these very words
        before one that was merged with such, never a deleted one."""
        wanted = normal(text)
        with self._snapshot.lock:
            self._update()
            folded = self._scopes.get(scope_key, {})
            found: Item | None = None
            best = (False, False)
            for key, known in folded.items():
                item = self._snapshot.items[key]
                words = known if known is not None else tuple(map(normal, (item.text, *aliases(item))))
                folded[key] = words
                if wanted in words and (found is None or (bool(item.enabled), words[0] == wanted) > best):
                    found, best = item, (bool(item.enabled), words[0] == wanted)
            return found

    def of_scope(self, scope_key: str) -> list[Item]:
        """The items of that scope that are not deleted."""
        with self._snapshot.lock:
            self._update()
            return [self._snapshot.items[key] for key in self._scopes.get(scope_key, ())]

    def _update(self) -> None:
        items = self._snapshot.items
        if self._changed is None:
            self._changed = self._snapshot.watch()
            changed = list(items)
        else:
            changed = list(self._changed)
        self._changed.clear()
        for key in changed:
            if (old := self._places.pop(key, None)) is not None:
                del self._scopes[old][key]
            item = items.get(key)
            if item is not None and not item.is_deleted:
                self._places[key] = item.scope_key
                self._scopes[item.scope_key][key] = None
