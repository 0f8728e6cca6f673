"""Answers about rows that do not need all of them: counts and search, from the database where it says all there is.

Reads only. `search` ranks what this finds.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from nanomem_tui.errors import Problem, StoreError
from nanomem_tui.operations import Operation
from nanomem_tui.store import copies, edition, reader, row_queries, stored_operations
from nanomem_tui.store.ledger_order import voided
from nanomem_tui.store.snapshot import Snapshot
from nanomem_tui.store.values import Item, Lesson, Record, row_hash
from nanomem_tui.text import normalised

if TYPE_CHECKING:
    from nanomem_tui.store.memory_store import MemoryStore
    from nanomem_tui.store.postgres.full_text import PgFullText
    from nanomem_tui.store.search import FullText
    from nanomem_tui.store.sql import Connection

    AnyFullText = FullText | PgFullText


Pending = Callable[[list[Item]], list[Item]]
T = TypeVar("T")
FEW = 2_000
"""Changes that wait up to which a search looks at them by themselves, and does not load every row."""


def _next() -> Any:
    """The lookups of that store; who runs on the first one does not import them."""
    from nanomem_tui.database import lookup

    return lookup


class Lacking:
    """Whether the index of a database lacks items, asked where nothing was found in it. `told`: what was found last."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._looked: object = None
        self.told = ""

    def look(self) -> str:
        """What it lacks, in words, "" for nothing; looked at once for each state of the database."""
        from nanomem_tui.store import reindex
        if edition.is_second(self._store):
            return ""

        if (stamps := self._store.source.stamps()) != self._looked:
            self._looked, self.told = stamps, reindex.behind(self._store)
        return self.told


def item_groups(store: MemoryStore) -> list[tuple[str, str, str, bool, int, int]]:
    """Counts of items by (kind, scope type, source, enabled): how many there are, and how many of them wait in the
    inbox; deleted ones are left out."""
    if edition.is_second(store):
        return _next().item_groups(store)  # type: ignore[no-any-return]
    if not store.loaded and database_is_all(store) and not _has_lost_rows(store):
        return store.read(lambda connection: reader.item_counts(connection, store.workspace_id))
    counts: Counter[tuple[str, str, str, bool]] = Counter()
    waiting: Counter[tuple[str, str, str, bool]] = Counter()
    snapshot = store.load("item")
    with snapshot.lock:
        for row in snapshot.items.values():
            if not row.is_deleted:
                group = row.kind, row.scope_type, row.source, bool(row.enabled)
                counts[group] += 1
                if not row.enabled and row.waits:
                    waiting[group] += 1
    return [(*group, number, waiting[group]) for group, number in counts.items()]


def lesson_groups(store: MemoryStore) -> list[tuple[str, bool, int, int]]:
    """Counts of lessons by (scope, enabled): how many there are, and how many of them wait in the inbox; deleted ones
    are left out."""
    if edition.is_second(store):
        return _next().lesson_groups(store)  # type: ignore[no-any-return]
    if not store.loaded and database_is_all(store) and not _has_lost_rows(store):
        return store.read(lambda connection: reader.lesson_counts(connection, store.workspace_id))
    snapshot = store.load("lesson")
    with snapshot.lock:
        rows = [row for row in snapshot.lessons.values() if not row.is_deleted]
    counts = Counter((row.scope, bool(row.enabled)) for row in rows)
    waiting = Counter((row.scope, bool(row.enabled)) for row in rows if row.waits)
    return [(*group, number, waiting[group]) for group, number in counts.items()]


def lessons(store: MemoryStore) -> list[Lesson]:
    """The lessons that are not deleted."""
    if edition.is_second(store):
        return _next().lessons(store)  # type: ignore[no-any-return]
    if not store.loaded and database_is_all(store) and not _has_lost_rows(store):
        rows = store.read(lambda connection: reader.lessons(connection, store.workspace_id))
    else:
        snapshot = store.load("lesson")
        with snapshot.lock:
            rows = list(snapshot.lessons.values())
    return [row for row in rows if not row.is_deleted]


def record_groups(store: MemoryStore) -> list[tuple[str, str, int, int, int]]:
    """Counts of records by (kind, source): how many there are, and of token use the requests and the tokens; deleted
    ones are left out."""
    if edition.is_second(store):
        return _next().record_groups(store)  # type: ignore[no-any-return]
    if not store.loaded and not store.waiting() and not _has_lost_rows(store):
        if not store.has_database:
            return []
        return store.read(lambda connection: reader.record_counts(connection, store.workspace_id))
    snapshot = store.load("record")
    with snapshot.lock:
        rows = [row for row in snapshot.records.values() if not row.is_deleted]
    groups: dict[tuple[str, str], list[int]] = {}
    for row in rows:
        counts = groups.setdefault((row.kind, row.source), [0, 0, 0])
        meta = row.meta if row.kind == "usage" else {}
        for place, number in enumerate((1, meta.get("requests"), meta.get("total_tokens"))):
            counts[place] += max(number, 0) if isinstance(number, int) else 0
    return [(*group, *counts) for group, counts in groups.items()]  # type: ignore[misc]


def records(store: MemoryStore, kind: str) -> list[Record]:
    """The records of a kind that are not deleted, in no order; no other row is read where the database has them all,
    as they were written."""
    if edition.is_second(store):
        return _next().records(store, kind)  # type: ignore[no-any-return]
    if not store.loaded and not store.waiting() and not _has_lost_rows(store):
        if not store.has_database:
            return []
        found = store.read(lambda connection: _records_as_written(connection, store.workspace_id, kind))
        if found is not None:
            return found
    snapshot = store.load("record")
    with snapshot.lock:
        return [row for row in snapshot.records.values() if row.kind == kind and not row.is_deleted]


def record_subjects(store: MemoryStore, kind: str) -> int:
    """How many different things (days, chats, tools) the records of a kind are about."""
    if edition.is_second(store):
        return _next().record_subjects(store, kind)  # type: ignore[no-any-return]
    if store.has_database and not store.loaded and not store.waiting() and not _has_lost_rows(store):
        return store.read(lambda connection: reader.record_subjects(connection, store.workspace_id, kind))
    return len({row.about for row in records(store, kind)})


def _records_as_written(connection: Connection, workspace_id: str, kind: str) -> list[Record] | None:
    """The records of a kind in the database; None where one of them is not what was written: whoever loads all rows is
    given what a copy and the log tell."""
    from nanomem_tui.store import mending

    rows = reader.records(connection, workspace_id, kind=kind)
    is_file = isinstance(connection, sqlite3.Connection) and reader.has_records(connection)
    if not is_file or len(rows) > mending.VERIFIED:
        return rows
    kept = row_queries.hashed(connection, "record")
    other = f"SELECT 1 FROM records WHERE workspace_id = ? AND {kept} = '' LIMIT 1"  # which may be one of these
    if connection.execute(other, (workspace_id,)).fetchone() is not None:
        return None
    query = f"SELECT id, {kept} FROM records WHERE workspace_id = ? AND is_deleted = 0 AND kind = ?"
    written = dict(reader.fetched(connection, tuple, query, (workspace_id, kind)))
    return rows if all(written.get(row.id) == row_hash(row) for row in rows) else None


def _has_lost_rows(store: MemoryStore) -> bool:
    """Whether the database has fewer rows than were written: whoever loads them is given what a copy and the log
    tell. Of very many rows the doctor says so."""
    if not store.has_database:
        return False
    from nanomem_tui.store import mending

    def ask(connection: Connection) -> bool:
        written = reader.meta(connection, store.workspace_id).get("rows", "")
        few = written.isdigit() and int(written) <= mending.VERIFIED and isinstance(connection, sqlite3.Connection)
        return few and reader.row_count(connection, store.workspace_id) < int(written)

    return store.read(ask)


def newest(store: MemoryStore, limit: int) -> list[Item] | None:
    """The newest items of the database, for a first page; None where it has nothing of this workspace yet."""
    if edition.is_second(store):
        return _next().newest(store, limit)  # type: ignore[no-any-return]

    def ask(connection: Connection) -> list[Item] | None:
        known = reader.revision(connection, store.workspace_id)
        return reader.newest_items(connection, store.workspace_id, limit) if known else None

    return store.read(ask) if store.has_database else None


def full_text(store: MemoryStore, use: Callable[[AnyFullText, Pending], T]) -> T | None:
    """What `use` makes of the database's full-text index; None where no index of this version's tokenizer is there.

    `use` also gets a function that takes the rows that the index found and gives them as they are now, with those that
    the index lacks or has otherwise. Rows are not loaded where the database and the ledger files are all there is, and
    what was found there is what was written.
    """
    if edition.is_second(store):
        return _next().full_text(store, use)  # type: ignore[no-any-return]
    from nanomem_tui.store.search import Altered

    waiting = _waiting_items(store)
    try:
        return _asked(store, use, waiting)
    except Altered:  # whoever loads the rows is given what a copy and the log tell
        return _asked(store, use, None)


def _asked(store: MemoryStore, use: Callable[[AnyFullText, Pending], T], waiting: list[Operation] | None) -> T | None:
    if waiting is None:
        store.load("item")
    if not store.has_database:
        return None

    def ask(connection: Connection) -> T | None:
        meta = reader.meta(connection, store.workspace_id)
        if not reader.index_is_current(meta):
            return None
        pending = _from_snapshot(store) if waiting is None else _on_top(connection, store.workspace_id, waiting)
        words = _words(connection, store.workspace_id, meta, checks=waiting is not None)
        return use(words, pending) if words is not None else None

    return store.read(ask)


def _words(
    connection: Connection, workspace_id: str, meta: Mapping[str, str], *, checks: bool
) -> AnyFullText | None:
    """The index. `checks`: not the loaded rows are shown, so that they have to be what was written. Raises Altered."""
    if isinstance(connection, sqlite3.Connection):
        from nanomem_tui.store import mending
        from nanomem_tui.store.search import Altered, FullText

        written = meta.get("rows", "")
        checks = checks and not (written.isdigit() and int(written) > mending.VERIFIED)
        if checks and written.isdigit() and reader.row_count(connection, workspace_id) < int(written):
            raise Altered
        return FullText(connection, workspace_id, checks=checks)
    from nanomem_tui.store.postgres.full_text import PgFullText

    return PgFullText(connection, workspace_id, meta) if PgFullText.is_told_by(meta) else None


def _waiting_items(store: MemoryStore) -> list[Operation] | None:
    """The operations on items that wait in ledger files; None where the rows have to be loaded to know them."""
    if store.loaded or not _has_files(store):
        return None
    found = [operation for operation in store.waiting() if any(change.layer == "item" for change in operation.changes)]
    return found if sum(len(operation.changes) for operation in found) <= FEW else None


def _from_snapshot(store: MemoryStore) -> Pending:
    """What the loaded rows say about those that were found."""

    def pending(found: list[Item]) -> list[Item]:
        snapshot = store.snapshot
        with snapshot.lock:
            keys = {item.id for item in found} | {key for layer, key in snapshot.unwritten() if layer == "item"}
            return [snapshot.items[key] for key in keys if key in snapshot.items]

    return pending


def _on_top(connection: Connection, workspace_id: str, waiting: list[Operation]) -> Pending:
    """What operations that wait make of the rows that were found, and of those that they touch."""
    if not waiting:
        return lambda found: found
    done = stored_operations.known(connection, workspace_id, waiting) | voided(waiting)
    fresh = [operation for operation in waiting if operation.id not in done]
    seen = reader.seen(reader.meta(connection, workspace_id))
    items = [(operation, c) for operation in fresh for c in operation.changes if c.layer == "item"]
    changes = [(operation, c) for operation, c in items if operation.id not in seen.get(("item", c.key), ())]
    touched = list({change.key for _, change in changes})
    snapshot = Snapshot(reader.items_by_id(connection, workspace_id, touched).values())
    for operation, change in changes:
        snapshot.show(operation.id, change, again=operation.takes_up)

    def pending(found: list[Item]) -> list[Item]:
        return [*(item for item in found if item.id not in snapshot.items), *snapshot.items.values()]

    return pending


def same_text(store: MemoryStore, text: str) -> list[Item]:
    """The active items whose normalised text is that of `text`, by the database's index and what waits for it."""
    if edition.is_second(store):
        return _next().same_text(store, text)  # type: ignore[no-any-return]
    norm = normalised(text)
    snapshot = store.load()
    with snapshot.lock:
        keys: Iterable[str] = list(snapshot.items)
        found = None
        with contextlib.suppress(StoreError):  # a server that is away: all rows are here
            if store.has_database:
                found = store.read(lambda connection: _of_text(connection, store.workspace_id, norm))
        if found is not None:
            keys = found | {key for layer, key in snapshot.unwritten() if layer == "item"}
        rows = [snapshot.items[key] for key in keys if key in snapshot.items]
    return [row for row in rows if not row.is_deleted and normalised(row.text) == norm]


def _of_text(connection: Connection, workspace_id: str, norm: str) -> set[str] | None:
    if not reader.revision(connection, workspace_id):
        return None
    return set(reader.ids_of_text(connection, workspace_id, norm))


def database_is_all(store: MemoryStore) -> bool:
    """Whether the database is all there is: no operation waits or was lost, and the agent's files are as last seen."""
    if edition.is_second(store):
        return bool(store.has_database and store.database_is_all)  # type: ignore[attr-defined]
    return store.has_database and not store.waiting() and _has_files(store)


def _has_files(store: MemoryStore) -> bool:
    """Whether the database has what the agent's files hold."""
    if not store.has_database:
        return False
    meta = store.read(lambda connection: reader.meta(connection, store.workspace_id))
    return "revision" in meta and all(meta.get(name) == stat for name, stat in store.files.stats().items())


def damaged(store: MemoryStore) -> list[Problem]:
    """The rows of the database that are not what was written, a bit flipped on the disk, but for those that the store
    told of when it loaded them. Looks at every row."""
    if edition.is_second(store):
        return []
    from nanomem_tui.store import mending

    if not store.has_database or store.source.damage is not None:
        return []

    def ask(connection: Connection) -> list[Problem]:
        altered = copies.altered(connection, store.workspace_id)
        places = [place for place in altered if place not in store.found_altered]
        unknown = stored_operations.untouched(connection, store.workspace_id, places)
        return [mending.unmended(place, unknown=place in unknown) for place in places]

    return store.read(ask)
