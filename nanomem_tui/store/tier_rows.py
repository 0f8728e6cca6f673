"""Records in `tiers.db`: put, found, counted, taken away and moved to long-term memory, by one connection.

Owns the statements. Every function works within the transaction of its caller. Must not know who changes what, or why.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from nanomem_tui.store import sql, tier_numbers, tier_words
from nanomem_tui.store.sql import Connection
from nanomem_tui.store.tier_kinds import KINDS, Kind, Tier
from nanomem_tui.store.tier_tables import (
    BEGUN,
    begun,
    columns,
    embedded,
    indexed,
    is_whole,
    quoted,
    record_of,
    row_of,
    words_of,
)  # fmt: skip
from nanomem_tui.store.tier_values import TierRecord

COUNTERS = frozenset({"uses", "success_rate", "last_used", "success_count", "fail_count", "avg_duration_ms"})
"""Fields that move by use: what they were before is not kept."""


_CHANGE = ("workspace_id", "kind", "id", "at", "origin", "before", "after")
Overwritten = tuple[str, str, dict[str, Any], dict[str, Any]]
"""When it was, who did it, the fields before, the fields after."""


class Where(NamedTuple):
    """Which records of a kind: fields that equal a value, times from `since` on and before `until` (UTC ISO)."""

    fields: Mapping[str, Any] = {}
    since: str = ""
    until: str = ""


def put(
    connection: Connection, workspace_id: str, records: Iterable[TierRecord], *, at: str = "", are_new: bool = False
) -> None:
    """Keep records, each in place of the one of its kind and id, whichever tier that is in.

    `at`: when an agent did it; the fields that it overwrote are kept in `record_changes` then. `are_new`: the caller
    looked, in this transaction, and none of them is there.
    """
    for record in _as_kept(connection, records):
        kind = KINDS[record.kind]
        found = None if are_new else _find(connection, workspace_id, kind, record.id)
        if found is None:
            _insert(connection, workspace_id, record)
            continue
        table, number, before = found
        if at:
            _note(connection, workspace_id, before, record, at)
        if table == kind.tables[record.tier]:
            _update(connection, workspace_id, kind, number, before, record)
        else:
            _remove(connection, workspace_id, kind, table, number, before)
            _insert(connection, workspace_id, record)


def put_new(connection: Connection, workspace_id: str, records: Iterable[TierRecord]) -> None:
    """Keep records that are not there yet; one whose id is there, in whichever tier, stays as it is."""
    for record in _as_kept(connection, records):
        tables = KINDS[record.kind].tables.values()
        queries = (f"SELECT 1 FROM {table} WHERE workspace_id = ? AND id = ?" for table in tables)
        if not any(connection.execute(query, (workspace_id, record.id)).fetchone() for query in queries):
            _insert(connection, workspace_id, record)


def get(connection: Connection, workspace_id: str, kind: Kind, record_id: str) -> TierRecord | None:
    """The record of that id, in whichever tier it is."""
    found = _find(connection, workspace_id, kind, record_id)
    return found[2] if found else None


def begins(connection: Connection, workspace_id: str, kind: Kind, prefix: str, limit: int = 10) -> list[str]:
    """The ids that begin like that, at most `limit` of them."""
    found: list[str] = []
    for table in kind.tables.values():
        query = f"SELECT id FROM {table} WHERE workspace_id = ? AND id >= ? AND id < ? ORDER BY id LIMIT ?"
        rows = connection.execute(query, (workspace_id, prefix, prefix + "\U0010ffff", limit))
        found += [row[0] for row in rows]
    return found[:limit]


def delete(connection: Connection, workspace_id: str, kind: Kind, ids: Iterable[str]) -> int:
    """Take records away, from whichever tier they are in; how many there were."""
    gone = 0
    for record_id in ids:
        found = _find(connection, workspace_id, kind, record_id)
        if found is not None:
            table, number, before = found
            _remove(connection, workspace_id, kind, table, number, before)
            gone += 1
    return gone


def rows(
    connection: Connection,
    workspace_id: str,
    kind: Kind,
    tier: Tier | None = None,
    where: Where = Where(),  # noqa: B008  a value
    limit: int = -1,
    offset: int = 0,
    *,
    oldest_first: bool = False,
) -> list[TierRecord]:
    """The records of a kind, newest first by their own time; of one tier, or of both."""
    order = "ASC" if oldest_first else "DESC"
    found: list[TierRecord] = []
    tables = [table for name, table in kind.tables.items() if tier in (None, name)]
    for table in tables:
        part = -1 if limit < 0 else limit + offset
        found += _select(connection, workspace_id, kind, table, where, order, part if len(tables) > 1 else limit,
                         0 if len(tables) > 1 else offset)  # fmt: skip
    if len(tables) > 1:
        found.sort(key=lambda record: (record.at, record.id), reverse=not oldest_first)
        found = found[offset:] if limit < 0 else found[offset : offset + limit]
    return found


def each(
    connection: Connection,
    workspace_id: str,
    kind: Kind,
    table: str,
    where: Where = Where(),  # noqa: B008
) -> Iterator[TierRecord]:
    """The records of one table, one at a time, oldest first."""
    query, values = _query(connection, kind, table, workspace_id, where)
    for row in sql.each(connection, f"{query} ORDER BY at, id", values):
        yield record_of(kind, table, row)


def count(
    connection: Connection,
    workspace_id: str,
    kind: Kind,
    tier: Tier | None = None,
    where: Where = Where(),  # noqa: B008
) -> int:
    """How many records of a kind there are."""
    total = 0
    for name, table in kind.tables.items():
        if tier in (None, name):
            fits, values = condition(connection, workspace_id, kind, table, where)
            total += connection.execute(f"SELECT count(*) FROM {table} WHERE {fits}", values).fetchone()[0]
    return total


def by_numbers(
    connection: Connection, workspace_id: str, kind: Kind, table: str, numbers: Sequence[int]
) -> dict[int, TierRecord]:
    """Records of a table by the numbers that its full-text index has for them."""
    names = ", ".join(map(quoted, columns(kind, table)))
    marks = ", ".join("?" * len(numbers))
    own = sql.beside_number(connection)
    query = f"SELECT number, {names} FROM {table} WHERE number IN ({marks}) AND {own} = ?"
    return {row[0]: record_of(kind, table, row[1:]) for row in connection.execute(query, (*numbers, workspace_id))}


def move(
    connection: Connection,
    workspace_id: str,
    kind: Kind,
    to: Tier,
    numbers: Sequence[int],
    places: Mapping[int, int] = MappingProxyType({}),  # nobody can change it
) -> dict[int, TierRecord]:
    """Move rows of a kind from the other tier to that one, by their numbers: copied, then taken away. Those that were
    moved, by the number that they had; one that is damaged stays, for its copy would look whole. `places`: the numbers
    that rows get there, where nobody has them; a search takes what has a high number for new."""
    table = next(table for tier, table in kind.tables.items() if tier != to)
    names = ", ".join(map(quoted, columns(kind, table)))
    query = f"SELECT {names} FROM {table} WHERE number = ? AND workspace_id = ?"
    moved: dict[int, TierRecord] = {}
    for number in numbers:
        row = connection.execute(query, (number, workspace_id)).fetchone()
        if row is not None and is_whole(row):
            before = record_of(kind, table, row)
            after = before._replace(tier=to)
            _insert(connection, workspace_id, after, places.get(number))
            _take_away(connection, workspace_id, kind, table, number, before)
            moved[number] = after
    return moved


def delete_from(
    connection: Connection, workspace_id: str, kind: Kind, tier: Tier, records: Iterable[TierRecord]
) -> None:
    """Take these records away from that tier alone."""
    table = kind.tables[tier]
    for record in records:
        query = f"SELECT number FROM {table} WHERE workspace_id = ? AND id = ?"
        found = connection.execute(query, (workspace_id, record.id)).fetchone()
        if found is not None:
            _remove(connection, workspace_id, kind, table, found[0], record)


def changes(connection: Connection, workspace_id: str, kind: str, record_id: str) -> list[Overwritten]:
    """What agents overwrote of a record, newest first."""
    query = (
        "SELECT at, origin, before, after FROM record_changes WHERE workspace_id = ? AND kind = ? AND id = ?"
        " ORDER BY seq DESC"
    )
    found = connection.execute(query, (workspace_id, kind, record_id)).fetchall()
    return [(at, origin, json.loads(before), json.loads(after)) for at, origin, before, after in found]


def differing(before: TierRecord, after: TierRecord) -> list[str]:
    """The fields in which two records differ."""
    return [name for name, value in after.fields.items() if value != before.fields.get(name)]


def _as_kept(connection: Connection, records: Iterable[TierRecord]) -> Iterable[TierRecord]:
    """Records as the database keeps them: a server has no NUL in a text, and a sign stands in its place."""
    if sql.is_sqlite(connection):
        return records
    return (one._replace(fields={name: _shown(value) for name, value in one.fields.items()}) for one in records)


def _shown(value: Any) -> Any:
    return value.replace("\0", "\u2400") if isinstance(value, str) else value


def _note(connection: Connection, workspace_id: str, before: TierRecord, after: TierRecord, at: str) -> None:
    names = [name for name in differing(before, after) if name not in COUNTERS and before.fields.get(name) is not None]
    if names and before.kind != "agent-state":  # a snapshot is made to be replaced
        was, now = ({name: record.fields.get(name) for name in names} for record in (before, after))
        written = [json.dumps(part, ensure_ascii=False) for part in (was, now)]
        row = (workspace_id, before.kind, before.id, at, after.origin, *written)
        tier_numbers.add(connection, workspace_id, "record_changes", _CHANGE, row)


def _find(connection: Connection, workspace_id: str, kind: Kind, record_id: str) -> tuple[str, int, TierRecord] | None:
    """Where a record is: its table, its number, and itself."""
    for table in _holding(connection, workspace_id, kind, record_id):
        names = ", ".join(map(quoted, columns(kind, table)))
        query = f"SELECT number, {names} FROM {table} WHERE workspace_id = ? AND id = ?"
        row = connection.execute(query, (workspace_id, record_id)).fetchone()
        if row is not None:
            return table, row[0], record_of(kind, table, row[1:])
    return None


def _holding(connection: Connection, workspace_id: str, kind: Kind, record_id: str) -> Iterable[str]:
    """The tables to look in: of a server, which is asked over a network, those alone that hold the id."""
    tables = tuple(kind.tables.values())
    if sql.is_sqlite(connection) or len(tables) == 1:
        return tables
    each = (f"SELECT CAST('{table}' AS text) FROM {table} WHERE workspace_id = ? AND id = ?" for table in tables)
    found = connection.execute(" UNION ALL ".join(each), (workspace_id, record_id) * len(tables)).fetchall()
    return [table for (table,) in found]


def _insert(connection: Connection, workspace_id: str, record: TierRecord, place: int | None = None) -> None:
    """Add a row, with the number `place` where it is given and nobody has it."""
    kind = KINDS[record.kind]
    table = kind.tables[record.tier]
    taken = f"SELECT 1 FROM {table} WHERE {sql.beside_number(connection)} = ? AND number = ?"
    free = place is not None and connection.execute(taken, (workspace_id, place)).fetchone() is None
    names = [*map(quoted, columns(kind, table))]
    row = row_of(workspace_id, record)
    number = tier_numbers.add(connection, workspace_id, table, names, row, place if free else None)
    if kind.words:
        tier_words.add(connection, table, number, words_of(record))


def _update(
    connection: Connection, workspace_id: str, kind: Kind, number: int, before: TierRecord, after: TierRecord
) -> None:
    table = kind.tables[after.tier]
    names = ", ".join(f"{quoted(name)} = ?" for name in columns(kind, table))
    change = f"UPDATE {table} SET {names} WHERE number = ? AND {sql.beside_number(connection)} = ?"
    connection.execute(change, (*row_of(workspace_id, after), number, workspace_id))
    if kind.words and (was := words_of(before)) != (now := words_of(after)):
        tier_words.replace(connection, table, number, was, now)
    if kind.embedded and embedded(before) != embedded(after):
        _due(connection, workspace_id, before)


def _remove(connection: Connection, workspace_id: str, kind: Kind, table: str, number: int, before: TierRecord) -> None:
    _take_away(connection, workspace_id, kind, table, number, before)
    if kind.embedded:
        _due(connection, workspace_id, before)


def _take_away(
    connection: Connection, workspace_id: str, kind: Kind, table: str, number: int, before: TierRecord
) -> None:
    own = sql.beside_number(connection)
    connection.execute(f"DELETE FROM {table} WHERE number = ? AND {own} = ?", (number, workspace_id))
    tier_numbers.gone(connection, workspace_id, table, number)
    if kind.words:
        tier_words.forget(connection, table, number, words_of(before))


def _due(connection: Connection, workspace_id: str, record: TierRecord) -> None:
    """Note that the vector of a record may be none of it any more."""
    query = "INSERT INTO record_vectors_due VALUES (?, ?, ?) ON CONFLICT (workspace_id, kind, id) DO NOTHING"
    connection.execute(query, (workspace_id, record.kind, record.id))


def _select(
    connection: Connection, workspace_id: str, kind: Kind, table: str, where: Where, order: str, limit: int,
    offset: int,
) -> list[TierRecord]:  # fmt: skip
    query, values = _query(connection, kind, table, workspace_id, where)
    query += f" ORDER BY at {order}, id {order} LIMIT ? OFFSET ?"
    found = connection.execute(query, (*values, sql.most(connection, limit), offset))
    return [record_of(kind, table, row) for row in found]


def _query(
    connection: Connection, kind: Kind, table: str, workspace_id: str, where: Where
) -> tuple[str, tuple[Any, ...]]:
    fits, values = condition(connection, workspace_id, kind, table, where)
    return f"SELECT {', '.join(map(quoted, columns(kind, table)))} FROM {table} WHERE {fits}", values


def condition(
    connection: Connection, workspace_id: str, kind: Kind, table: str, where: Where
) -> tuple[str, tuple[Any, ...]]:
    """The SQL of a condition on the rows of a table, and its values."""
    parts, values = ["workspace_id = ?"], [workspace_id]
    for name, value in where.fields.items():
        equal, given = equals(connection, kind, table, name, value)
        parts.append(equal)
        values += given
    if where.since:
        parts.append("at >= ?")
        values.append(where.since)
    if where.until:
        parts.append("at < ?")
        values.append(where.until)
    return " AND ".join(parts), tuple(values)


def equals(connection: Connection, kind: Kind, table: str, name: str, value: Any) -> tuple[str, list[Any]]:
    """The SQL of a field that has a value, so that its index is used: on a server that is one of the beginnings of
    texts, for an entry of it has a size."""
    if value is None:
        return f"{quoted(name)} IS NULL", []
    if isinstance(value, str) and name in indexed(kind, table) and not sql.is_sqlite(connection):
        return f"{quoted(name)} = ? AND {quoted(begun(name))} = ?", [value, value[:BEGUN]]
    return f"{quoted(name)} = ?", [value]
