"""Which facts there are, by id and by what each is known by: a small index over the rows in RAM that follows them.

Reads only. What waits in the inbox is none of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.values import Fact, Identity, Item, fact_of, identity_of


class KnownFacts(Mapping[Identity, Fact]):
    """The facts of one store by identity; of two rows that say they are the same fact the newer. Every look is up to
    date. Raises what loading the rows does."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._changed: set[str] | None = None
        self._facts: dict[str, Fact] = {}
        self._ids: defaultdict[Identity, set[str]] = defaultdict(set)
        self._sorted: list[Fact] | None = None

    def newest_first(self) -> list[Fact]:
        """Every fact; the list must not be altered."""
        self._update()
        if self._sorted is None:
            self._sorted = sorted(self._facts.values(), key=_age, reverse=True)
        return self._sorted

    def _update(self) -> None:
        snapshot = self._store.load("item")
        with snapshot.lock:
            if self._changed is None:
                self._changed = snapshot.watch()
                changed = set(snapshot.items)
            else:
                changed = set(self._changed)
            self._changed.clear()
            for key in changed:
                self._forget(key)
                item = snapshot.items.get(key)
                if item is not None and (fact := _active(item)) is not None:
                    self._facts[key] = fact
                    self._ids[identity_of(fact)].add(key)
                    self._sorted = None

    def _forget(self, key: str) -> None:
        fact = self._facts.pop(key, None)
        if fact is None:
            return
        self._sorted = None
        known = identity_of(fact)
        self._ids[known].discard(key)
        if not self._ids[known]:
            del self._ids[known]

    def __getitem__(self, known: Identity) -> Fact:
        self._update()
        if known not in self._ids:
            raise KeyError(known)
        return max((self._facts[key] for key in self._ids[known]), key=_age)

    def __iter__(self) -> Iterator[Identity]:
        self._update()
        return iter(list(self._ids))

    def __len__(self) -> int:
        self._update()
        return len(self._ids)


def _active(item: Item) -> Fact | None:
    if item.is_deleted or (not item.enabled and item.waits):
        return None
    return fact_of(item)


def _age(fact: Fact) -> tuple[str, str]:
    return fact.item.updated_at, fact.id
