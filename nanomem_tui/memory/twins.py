"""Which item is the same memory as a text: by scope and by the words without width, case and marks.

Owns a small index over the rows in RAM that keeps itself up to date. Reads only.
"""

from __future__ import annotations

from collections import defaultdict

from nanomem_tui.memory.safety import normal
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.values import Item


class Twins:
    """The items of one store by scope key; texts are folded where they are first compared."""

    def __init__(self, store: MemoryStore) -> None:
        self._snapshot = store.snapshot
        self._changed: set[str] | None = None
        self._places: dict[str, str] = {}
        self._scopes: defaultdict[str, dict[str, str | None]] = defaultdict(dict)

    def find(self, scope_key: str, text: str) -> Item | None:
        """The item of that scope that says the same; an enabled one before a disabled one, never a deleted one."""
        wanted = normal(text)
        with self._snapshot.lock:
            self._update()
            folded = self._scopes.get(scope_key, {})
            found: Item | None = None
            for key, known in folded.items():
                item = self._snapshot.items[key]
                words = known if known is not None else normal(item.text)
                folded[key] = words
                if words == wanted and (found is None or (item.enabled and not found.enabled)):
                    found = item
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
