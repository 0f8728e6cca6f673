"""Which items have a vector of their present text, and which want one: in step with the snapshot.

Owns that account. Must not embed, nor read or write a disk.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from itertools import islice
from typing import NamedTuple

from nanomem_tui.store.snapshot import Snapshot
from nanomem_tui.store.values import Item
from nanomem_tui.vectors.index import Entry
from nanomem_tui.vectors.texts import embedded, text_hash


class Wanted(NamedTuple):
    """A text that wants a vector, and what it is of."""

    entry: Entry
    text: str


def wanted(item: Item) -> Wanted:
    """What is to be embedded of an item."""
    text = embedded(item)
    return Wanted(Entry(item.id, text_hash(text), item), text)


def is_active(item: Item | None) -> bool:
    """Whether an item is to be found: it is there, and switched on."""
    return item is not None and item.enabled and not item.is_deleted


class Kept:
    """Begun once with what an index holds. Every method may be called from any thread, also holding the snapshot's
    lock, which guards all of it."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._changed: set[str] | None = None
        self._known: dict[str, str] = {}
        self._missing: dict[str, str] = {}
        self._stale: set[str] = set()
        self._refused: dict[str, str] = {}

    def begin(self) -> list[Wanted]:
        """Watch the snapshot from now on, with an index that holds nothing; every item that is to have a vector."""
        with self._snapshot.lock:
            if self._changed is None:
                self._changed = self._snapshot.watch()
            rows = list(self._snapshot.items.values())
        asked = [wanted(row) for row in rows if is_active(row)]
        with self._snapshot.lock:
            self._known, self._stale, self._refused = {}, set(), {}
            self._missing = {one.entry.key: one.entry.text_hash for one in asked}
        return asked

    def follow(self) -> None:
        """Take up what changed since."""
        with self._snapshot.lock:
            if not self._changed:
                return
            for key in self._changed:
                row = self._snapshot.items.get(key)
                text = wanted(row).entry.text_hash if row is not None and is_active(row) else None
                if text is None:
                    self._missing.pop(key, None)
                elif self._known.get(key) != text and self._refused.get(key) != text:
                    self._missing[key] = text
                    self._refused.pop(key, None)
                if key in self._known and self._known[key] != text:
                    del self._known[key]
                    self._stale.add(key)
            self._changed.clear()

    def has(self, entries: Iterable[Entry]) -> None:
        """The index has the vectors of these texts; those that changed meanwhile are stale there already."""
        with self._snapshot.lock:
            self.follow()
            for entry in entries:
                if self._missing.get(entry.key) == entry.text_hash:
                    del self._missing[entry.key]
                    self._known[entry.key] = entry.text_hash
                    self._stale.discard(entry.key)
                elif self._known.get(entry.key) != entry.text_hash:
                    self._stale.add(entry.key)

    def knows(self, entry: Entry) -> bool:
        """Whether the index has the vector of this text."""
        with self._snapshot.lock:
            return self._known.get(entry.key) == entry.text_hash

    def entries(self, keys: Iterable[str]) -> list[Entry]:
        """Of these items, what the index has a vector of."""
        with self._snapshot.lock:
            self.follow()
            return [wanted(self._snapshot.items[key]).entry for key in keys if key in self._known]

    def refuse(self, entry: Entry) -> None:
        """No vector can be made of this text: it is not asked for again."""
        with self._snapshot.lock:
            if self._missing.get(entry.key) == entry.text_hash:
                del self._missing[entry.key]
            self._refused[entry.key] = entry.text_hash

    def missing(self, most: int) -> list[Wanted]:
        """Some of the texts that want a vector, those that came last first."""
        with self._snapshot.lock:
            self.follow()
            return [wanted(self._snapshot.items[key]) for key in islice(reversed(self._missing), most)]

    @property
    def lacks(self) -> bool:
        """Whether a text wants a vector, or the index is to forget one."""
        with self._snapshot.lock:
            self.follow()
            return bool(self._missing or self._stale)

    def stale(self) -> list[str]:
        """What the index is to forget; given once."""
        with self._snapshot.lock:
            self.follow()
            gone, self._stale = [key for key in self._stale if key not in self._known], set()
            return gone

    def visible(self, within: Container[str] | None, size: int) -> Container[str] | None:
        """What of an index of that size may be given; None: all of it."""
        with self._snapshot.lock:
            self.follow()
            if len(self._known) == size and not self._stale:
                return within
            known = frozenset(self._known)
            return known if within is None else _Both(known, within)

    def counts(self) -> tuple[int, int]:
        """How many items have a vector, and how many are to have one."""
        with self._snapshot.lock:
            self.follow()
            return len(self._known), len(self._known) + len(self._missing)

    @property
    def refused(self) -> int:
        """Of how many texts no vector can be made."""
        return len(self._refused)

    def living(self) -> set[str]:
        """The items that are not deleted."""
        with self._snapshot.lock:
            return {key for key, row in self._snapshot.items.items() if not row.is_deleted}


class _Both:
    """What is in both."""

    def __init__(self, one: Container[str], other: Container[str]) -> None:
        self._one, self._other = one, other

    def __contains__(self, key: object) -> bool:
        return key in self._one and key in self._other
