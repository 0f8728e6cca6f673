"""Answer questions about rows: from the database where it has everything, else from the rows in RAM.

A command that reads need not load all rows for them. Must not import SQLAlchemy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from nanomem_tui.core.text import normalised
from nanomem_tui.store.database.reading import values
from nanomem_tui.store.values import Item, Lesson, Record, free_fields, says_why

if TYPE_CHECKING:
    from nanomem_tui.store.database.full_text import FullText
    from nanomem_tui.store.memory_store import MemoryStore

Pending = Callable[[list[Item]], list[Item]]
"""Gives rows that the index found as they are in RAM."""

ItemGroup = tuple[str, str, str, bool]

R = TypeVar("R", Item, Lesson, Record)

T = TypeVar("T")


def item_groups(store: MemoryStore) -> list[tuple[str, str, str, bool, int, int]]:
    """Count items by (kind, scope type, source, enabled): how many there are, and how many of them wait in the inbox;
    deleted ones are left out."""
    counts: dict[ItemGroup, int]
    if _answers(store):
        with store.reading.open() as database:
            counts = {(*group, enabled != 0): number for *group, enabled, number in database.all("item_groups")}
            inbox = database.all("item_inbox")
        waiting = Counter((*group, False) for *group, meta in inbox if says_why(meta))
    else:
        items = _in_ram(store, "item", Item)
        counts = Counter(map(_group_of, items))
        waiting = Counter(_group_of(item) for item in items if item.waits)
    return [(*group, number, waiting[group]) for group, number in counts.items()]


def item_rows(store: MemoryStore) -> int:
    """Count the items, deleted ones too."""
    return int(store.reading.all("item_count")[0][0]) if _answers(store) else len(store.load().items)


def lesson_groups(store: MemoryStore) -> list[tuple[str, bool, int, int]]:
    """Count lessons by (scope, enabled): how many there are, and how many of them wait in the inbox; deleted ones are
    left out."""
    found = lessons(store)
    counts = Counter((row.scope, row.enabled) for row in found)
    waiting = Counter((row.scope, row.enabled) for row in found if row.waits)
    return [(*group, number, waiting[group]) for group, number in counts.items()]


def lessons(store: MemoryStore) -> list[Lesson]:
    """List the lessons that are not deleted."""
    if not _answers(store):
        return _in_ram(store, "lesson", Lesson)
    return _rows_of(Lesson, values("lesson", store.reading.all("lessons_there")))


def record_groups(store: MemoryStore) -> list[tuple[str, str, int, int, int]]:
    """Count records by (kind, source): how many there are, and of token use the requests and the tokens; deleted ones
    are left out."""
    if store.loaded:
        rows = _in_ram(store, "record", Record)
        counts = Counter((row.kind, row.source) for row in rows)
        usage: Iterable[tuple[str, dict[str, Any]]] = ((row.source, row.meta) for row in rows if row.kind == "usage")
    elif store.reading.exists:
        with store.reading.open() as database:
            counts = Counter({(kind, source): number for kind, source, number in database.all("record_groups")})
            usage = [(source, free_fields(meta)) for source, meta in database.all("record_meta", kind="usage")]
    else:
        return []
    requests: Counter[str] = Counter()
    used: Counter[str] = Counter()
    for source, meta in usage:
        requests[source] += _integer(meta.get("requests"))
        used[source] += _integer(meta.get("total_tokens"))
    return [
        (kind, source, number, requests[source], used[source]) if kind == "usage" else (kind, source, number, 0, 0)
        for (kind, source), number in counts.items()
    ]


def records(store: MemoryStore, kind: str) -> list[Record]:
    """List the records of a kind that are not deleted, in no order."""
    if store.loaded:
        return [row for row in _in_ram(store, "record", Record) if row.kind == kind]
    if not store.reading.exists:
        return []
    return _rows_of(Record, values("record", store.reading.all("records_of_kind", kind=kind)))


def record_subjects(store: MemoryStore, kind: str) -> int:
    """Count the different things (days, chats, tools) that the records of a kind are about."""
    if store.loaded:
        return len({row.about for row in records(store, kind)})
    return int(store.reading.all("record_subjects", kind=kind)[0][0]) if store.reading.exists else 0


def newest(store: MemoryStore, limit: int) -> list[Item] | None:
    """List the newest items of the database that do not wait in the inbox, for a first page; None where there is no
    database yet."""
    if not store.reading.exists:
        return None
    found: list[Item] = []
    offset = 0
    with store.reading.open() as database:
        while len(found) < limit and (part := database.all("items_newest", limit=limit, offset=offset)):
            found += [item for item in _rows_of(Item, values("item", part)) if not item.waits]
            offset += limit
    return found[:limit]


def same_text(store: MemoryStore, text: str) -> list[Item]:
    """List the active items whose normalised text is that of `text`."""
    import hashlib  # only who adds something asks this

    norm = normalised(text)
    if store.database_is_all and store.reading.exists:
        key = hashlib.sha256(norm.encode("utf-8", "surrogatepass")).hexdigest()
        return _rows_of(Item, values("item", store.reading.all("items_of_words", hash=key)))
    return [item for item in _in_ram(store, "item", Item) if normalised(item.text) == norm]


def full_text(store: MemoryStore, use: Callable[[FullText, Pending], T]) -> T | None:
    """Return what `use` makes of the database's full-text index; None where it does not have all items, or another
    version's tokenizer made it: search in RAM then.

    `use` also gets a function that gives the rows that the index found as they are in RAM, where they are loaded.
    """
    if not store.reading.exists:
        return None
    from nanomem_tui.store.database import full_text as database_full_text

    with store.reading.kept_open() as database:
        if not store.database_is_all:
            return None
        with database.open():
            index = database_full_text.full_text(database)
            return use(index, _pending(store)) if index is not None else None


def _answers(store: MemoryStore) -> bool:
    """Whether the database is asked: the rows are not in RAM, and it has all of them."""
    return not store.loaded and store.database_is_all and store.reading.exists


def _in_ram(store: MemoryStore, layer: str, kind: type[R]) -> list[R]:
    snapshot = store.load()
    with snapshot.lock:
        return [row for row in _rows_of(kind, snapshot.table(layer).values()) if not row.is_deleted]


def _pending(store: MemoryStore) -> Pending:
    if not store.loaded:
        return lambda found: found
    items = store.load().items
    return lambda found: [items.get(item.id, item) for item in found]


def _rows_of(kind: type[R], rows: Iterable[Any]) -> list[R]:
    return [row for row in rows if isinstance(row, kind)]


def _group_of(item: Item) -> ItemGroup:
    return item.kind, item.scope_type, item.source, item.enabled


def _integer(value: object) -> int:
    return max(value, 0) if isinstance(value, int) else 0
