"""Answers about rows that do not need all of them: counts and search, from the database where it says all there is.

Reads only. `search` ranks what this finds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from nanomem_tui.errors import Problem
from nanomem_tui.store import ledger, reader
from nanomem_tui.store.values import Item, Row, row_hash
from nanomem_tui.tokens import VERSION as TOKENS_VERSION
from nanomem_tui.tokens import query_tokens

if TYPE_CHECKING:
    from nanomem_tui.store.memory_store import MemoryStore

Accept = Callable[[Item], bool]


def item_groups(store: MemoryStore) -> list[tuple[str, str, str, bool, int]]:
    """Counts of active items by (kind, scope type, source, enabled)."""
    if not store.loaded and database_is_all(store):
        with reader.open_database(store.paths.database) as connection:
            return reader.item_counts(connection, store.workspace_id)
    counts: Counter[tuple[str, str, str, bool]] = Counter()
    snapshot = store.load("item")
    with snapshot.lock:
        for row in snapshot.items.values():
            if not row.is_deleted:
                counts[row.kind, row.scope_type, row.source, bool(row.enabled)] += 1
    return [(*group, number) for group, number in counts.items()]


def lesson_groups(store: MemoryStore) -> list[tuple[str, bool, int]]:
    """Counts of active lessons by (scope, enabled)."""
    if not store.loaded and database_is_all(store):
        with reader.open_database(store.paths.database) as connection:
            return reader.lesson_counts(connection, store.workspace_id)
    snapshot = store.load("lesson")
    with snapshot.lock:
        rows = [row for row in snapshot.lessons.values() if not row.is_deleted]
    counts = Counter((row.scope, bool(row.enabled)) for row in rows)
    return [(*group, number) for group, number in counts.items()]


def search_pool(store: MemoryStore, query: str, accept: Accept) -> Iterable[Item]:
    """The accepted items that a search has to rank: the index's candidates as they are now, and what it lacks."""
    if not store.loaded and database_is_all(store):
        found = _candidates(store, query, accept)
        if found is not None:
            return found
    snapshot = store.load("item")
    found = _candidates(store, query, accept)
    with snapshot.lock:
        keys: Iterable[str] = list(snapshot.items)
        if found is not None:
            keys = {item.id for item in found} | {key for layer, key in snapshot.unwritten() if layer == "item"}
        rows = [snapshot.items[key] for key in keys if key in snapshot.items]
    return [row for row in rows if accept(row)]


def same_text(store: MemoryStore, text: str) -> list[Item]:
    """The active items whose normalised text is that of `text`, by the database's index and what waits for it."""
    norm = " ".join(text.lower().split())
    snapshot = store.load()
    with snapshot.lock:
        keys: Iterable[str] = list(snapshot.items)
        if store.has_database:
            with reader.open_database(store.paths.database) as connection:
                if reader.revision(connection, store.workspace_id):
                    keys = set(reader.ids_of_text(connection, store.workspace_id, norm))
                    keys |= {key for layer, key in snapshot.unwritten() if layer == "item"}
        rows = [snapshot.items[key] for key in keys if key in snapshot.items]
    return [row for row in rows if not row.is_deleted and " ".join(row.text.lower().split()) == norm]


def database_is_all(store: MemoryStore) -> bool:
    """Whether the database is all there is: no ledger line waits, and the agent's files are as last seen."""
    if not store.has_database or any(file.operations for file in ledger.read_all(store.ledger.folder)):
        return False
    with reader.open_database(store.paths.database) as connection:
        meta = reader.meta(connection, store.workspace_id)
    return "revision" in meta and all(meta.get(name) == stat for name, stat in store.files.stats().items())


def damaged(store: MemoryStore) -> list[Problem]:
    """The rows of the database that are not what was written: a bit flipped on the disk. Looks at every row."""
    if not store.has_database:
        return []
    with reader.open_database(store.paths.database) as connection:
        hashes = reader.row_hashes(connection, store.workspace_id)
        rows: list[Row] = [*reader.items(connection, store.workspace_id)]
        rows += reader.lessons(connection, store.workspace_id)
    fix = "read it and edit it; `nanomem log --key ID` tells what it was"
    where = store.paths.relative(store.paths.database)
    return [Problem(f"{row.id} is not what was written", where, fix=fix) for row in rows if _differs(row, hashes)]


def _differs(row: Row, hashes: Mapping[str, str]) -> bool:
    return hashes.get(row.id) != row_hash(row)


def _candidates(store: MemoryStore, query: str, accept: Accept) -> list[Item] | None:
    """The full-text index's answer; None where there is no index made by this version's tokenizer."""
    if not store.has_database:
        return None
    from nanomem_tui.store import search

    with reader.open_database(store.paths.database) as connection:
        if reader.meta(connection, store.workspace_id).get("tokens") != str(TOKENS_VERSION):
            return None
        return search.candidates(connection, store.workspace_id, query_tokens(query), accept)
