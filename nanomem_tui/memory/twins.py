"""Which item is the same memory as a text: by scope and by the words without width, case and marks, its own or those of
an item that was merged into it.

Owns a small index over the rows in RAM that keeps itself up to date. Reads only.
"""

from __future__ import annotations

from collections import defaultdict

from nanomem_tui.memory.merging import aliases
from nanomem_tui.memory.safety import normal
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.values import Item


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
