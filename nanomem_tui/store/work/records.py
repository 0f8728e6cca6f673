"""Records of an agent's work: store, find, list, move and remove them, each inside the transaction of the caller.

`work_store` owns the database and its transactions. Must not know who changes what, or why.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Select,
    Table,
    case,
    delete,
    false,
    func,
    insert,
    or_,
    select,
    text,
    tuple_,
    update,
)

from nanomem_tui.core import files
from nanomem_tui.language import tokens
from nanomem_tui.store.database.full_text import fitting_words, lexeme
from nanomem_tui.store.database.reading import escape_nul, unescape_nul
from nanomem_tui.store.work import models as work_models
from nanomem_tui.store.work.kinds import KINDS, Field, Kind, Tier
from nanomem_tui.store.work.models import TABLES
from nanomem_tui.store.work.values import (
    COUNTERS,
    Among,
    Chunk,
    Stretch,
    TierRecord,
    Where,
    differing,
    words_of,
    written,
)

SHOWN = 240
"""Characters of a field that a long list reads."""
_NOTES = work_models.table(work_models.NoteRow)
_CHANGES = work_models.table(work_models.RecordChange)
_DUE = work_models.table(work_models.RecordDue)
_CHUNKS, _BATCHES = work_models.table(work_models.ChunkRow), work_models.table(work_models.BatchRow)
SAMPLED = 200
"""Rows, the newest, whose length is measured."""
OVERHEAD = 120
"""Bytes of a row in its indexes and its page."""
_PART = 500
"""Rows that are read, or named, at once."""


# -- how much room they take -------------------------------------------------------------------------------------------


def room(connection: Connection) -> tuple[int, int] | None:
    """Return the bytes of a file, and those of them that hold nothing; None on a server."""
    if connection.dialect.name != "sqlite":
        return None
    page, pages, free = (
        int(connection.exec_driver_sql(f"PRAGMA {name}").scalar_one())
        for name in ("page_size", "page_count", "freelist_count")
    )
    return pages * page, free * page


def tables_of(connection: Connection, since: str) -> Iterator[tuple[Kind, tuple[Tier, int, int, float]]]:
    """Yield of each kind in each of its tiers: the tier, the rows, those from `since` on, about the bytes of one."""
    for kind in KINDS.values():
        table = TABLES[kind.name]
        recent = func.coalesce(func.sum(case((table.c.at >= since, 1), else_=0)), 0)
        asked = select(table.c.tier, func.count(), recent).group_by(table.c.tier)
        found = {tier: numbers for tier, *numbers in connection.execute(asked)}
        bytes_of_one = _mean_bytes(connection, table)
        for tier in kind.tiers:
            rows, new = found.get(tier, (0, 0))
            yield kind, (tier, int(rows), int(new), bytes_of_one)


def bytes_beside(connection: Connection) -> float:
    """Return about the bytes of what is no record: the knowledge base, what agents overwrote, what undoes a run."""
    total = 0.0
    for table, copies in ((_CHUNKS, 2), (_CHANGES, 1), (_BATCHES, 1)):
        rows = connection.execute(select(func.count()).select_from(table)).scalar_one()
        total += rows * copies * _mean_bytes(connection, table)
    return total


def _mean_bytes(connection: Connection, table: Table) -> float:
    """The mean length of the newest rows of a table, and what its indexes and pages add to it."""
    newest = select(table).order_by(next(iter(table.primary_key)).desc()).limit(SAMPLED)
    lengths = [sum(len(str(value)) for value in row if value is not None) for row in connection.execute(newest)]
    return sum(lengths) / max(1, len(lengths)) + OVERHEAD


def damages(connection: Connection, seconds: float) -> tuple[list[str], bool]:
    """Return what SQLite's own check of pages and indexes finds, and whether it was over within so many seconds."""
    if connection.dialect.name != "sqlite":
        return [], True
    ends = time.monotonic() + seconds
    driver: Any = connection.connection.dbapi_connection
    driver.set_progress_handler(lambda: int(time.monotonic() > ends), 100_000)
    try:
        found = driver.execute("PRAGMA quick_check(20)").fetchall()
        return [str(one) for (one,) in found if one != "ok"], True
    except sqlite3.OperationalError as error:
        if "interrupt" not in str(error).lower():
            raise
        return [], False
    finally:
        driver.set_progress_handler(None, 0)


# -- named notes ------------------------------------------------------------------------------------------------------


def note(connection: Connection, name: str) -> str | None:
    """Return what was noted under a name; None: nothing."""
    return connection.execute(select(_NOTES.c.value).where(_NOTES.c.name == name)).scalar()


def set_note(connection: Connection, name: str, value: str | None) -> None:
    """Note something under a name, in place of what was there; None: nothing any more."""
    connection.execute(delete(_NOTES).where(_NOTES.c.name == name))
    if value is not None:
        connection.execute(insert(_NOTES).values(name=name, value=value))


def notes_beginning(connection: Connection, begin: str) -> list[str]:
    """List the names of notes that begin like that."""
    return list(connection.execute(select(_NOTES.c.name).where(*_beginning_with(_NOTES.c.name, begin))).scalars())


def _beginning_with(column: Column[Any], begin: str) -> tuple[ColumnElement[bool], ...]:
    return column >= begin, column < begin + "\U0010ffff"


# -- a record as a row ------------------------------------------------------------------------------------------------


def row_of(record: TierRecord) -> dict[str, Any]:
    """Return the columns of a record, without its number."""
    kind = KINDS[record.kind]
    row = {field.name: _stored(field, record.fields.get(field.name)) for field in kind.fields}
    ours = {"at": record.at, "origin": record.origin, "stored_at": record.stored_at, "changed_at": record.changed_at}
    return {"id": record.id, **row, "tier": record.tier, **ours}


def record_of(kind: Kind, row: Any) -> TierRecord:
    """Return the record of a row with every column."""
    named = row._mapping
    fields = {field.name: _read(field, named[field.name]) for field in kind.fields}
    tier, origin, stored_at, changed_at = (named[name] for name in ("tier", "origin", "stored_at", "changed_at"))
    return TierRecord(kind.name, named["id"], fields, tier, origin, stored_at, changed_at)


def _stored(field: Field, value: Any) -> Any:
    if value is None:
        return None
    if field.type == "json":
        return escape_nul(written(field, value).decode())
    return escape_nul(value) if isinstance(value, str) else int(value) if field.type == "bool" else value


def _read(field: Field, value: Any) -> Any:
    if value is None:
        return None
    if field.type == "json":
        return files.loads(unescape_nul(value))
    return unescape_nul(value) if isinstance(value, str) else bool(value) if field.type == "bool" else value


# -- one record -------------------------------------------------------------------------------------------------------


def get(connection: Connection, kind: Kind, record_id: str) -> TierRecord | None:
    """Return the record of that id, in whichever tier it is."""
    found = _find(connection, kind, record_id)
    return found[1] if found else None


def begins(connection: Connection, kind: Kind, prefix: str, limit: int = 10) -> list[str]:
    """List the ids that begin like that, at most `limit` of them."""
    key = TABLES[kind.name].c.id
    asked = select(key).where(*_beginning_with(key, prefix)).order_by(key).limit(limit)
    return list(connection.execute(asked).scalars())


def put(connection: Connection, records: Iterable[TierRecord], *, at: str = "") -> None:
    """Keep records, each in place of the one of its kind and id.

    `at`: when an agent did it; the fields that it overwrote are kept in `record_changes` then.
    """
    for record in records:
        kind = KINDS[record.kind]
        found = _find(connection, kind, record.id)
        if found is None:
            _insert(connection, record)
            continue
        number, before = found
        if at:
            _note_overwritten(connection, before, record, at)
        table = TABLES[kind.name]
        connection.execute(update(table).where(table.c.number == number).values(row_of(record)))
        if kind.words and (record.tier, words_of(record)) != (before.tier, words_of(before)):
            remove_words(connection, kind.table, number)
            add_words(connection, kind, [(number, record)])
        if kind.embedded and any(before.fields[name] != record.fields[name] for name in kind.embedded):
            set_due(connection, kind, record.id)


def put_new(connection: Connection, records: Iterable[TierRecord]) -> None:
    """Keep records that are not there yet; one whose id is there stays as it is."""
    for record in records:
        key = TABLES[record.kind].c.id
        if connection.execute(select(key).where(key == record.id)).first() is None:
            _insert(connection, record)


def move(connection: Connection, kind: Kind, numbers: Sequence[int], to: Tier) -> list[int]:
    """Move those of these rows to a tier that are in the other one; return their numbers, which they keep."""
    table = TABLES[kind.name]
    there = update(table).where(table.c.number.in_(numbers), table.c.tier != to).values(tier=to)
    moved = sorted(connection.execute(there.returning(table.c.number)).scalars())
    for number, record in by_numbers(connection, kind, moved).items() if kind.words else ():
        remove_words(connection, kind.table, number)
        add_words(connection, kind, [(number, record)])
    return moved


def remove(connection: Connection, kind: Kind, ids: Iterable[str]) -> None:
    """Take records away; one that is not there is none."""
    table = TABLES[kind.name]
    for record_id in ids:
        gone = delete(table).where(table.c.id == record_id).returning(table.c.number)
        number = connection.execute(gone).scalar()
        if number is not None and kind.words:
            remove_words(connection, kind.table, number)
        if number is not None and kind.embedded:
            set_due(connection, kind, record_id)


def set_due(connection: Connection, kind: Kind, record_id: str, *, due: bool = True) -> None:
    """Note whether the vector of a record may be none of it any more."""
    connection.execute(delete(_DUE).where(_DUE.c.kind == kind.name, _DUE.c.id == record_id))
    if due:
        connection.execute(insert(_DUE).values(kind=kind.name, id=record_id))


def due(connection: Connection, most: int) -> list[tuple[str, str]]:
    """List kinds and ids of records whose vector may be none of them any more."""
    return [(kind, key) for kind, key in connection.execute(select(_DUE.c.kind, _DUE.c.id).limit(most))]


def count_due(connection: Connection) -> int:
    """Count them."""
    return connection.execute(select(func.count()).select_from(_DUE)).scalar_one()


def changes(connection: Connection, kind: str, record_id: str) -> list[tuple[str, str, dict[str, Any], dict[str, Any]]]:
    """List what agents overwrote of a record, newest first: when, who did it, the fields before and after."""
    asked = select(_CHANGES).where(_CHANGES.c.kind == kind, _CHANGES.c.id == record_id).order_by(_CHANGES.c.seq.desc())
    return [
        (row.at, row.origin, files.loads(row.before_json), files.loads(row.after_json))
        for row in connection.execute(asked)
    ]


def all_changes(connection: Connection) -> list[tuple[int, str, str]]:
    """List what agents overwrote of every record: number, the fields before and after, as JSON."""
    return [
        tuple(row) for row in connection.execute(select(_CHANGES.c.seq, _CHANGES.c.before_json, _CHANGES.c.after_json))
    ]


def rewrite_change(connection: Connection, seq: int, texts: Sequence[str] | None) -> None:
    """Put other JSON in place of what was kept of one, or forget it."""
    if texts is None:
        connection.execute(delete(_CHANGES).where(_CHANGES.c.seq == seq))
    else:
        new = dict(zip(("before_json", "after_json"), texts, strict=True))
        connection.execute(update(_CHANGES).where(_CHANGES.c.seq == seq).values(new))


def forget_changes(connection: Connection, kind: str, record_id: str) -> None:
    """Forget what agents overwrote of a record."""
    connection.execute(delete(_CHANGES).where(_CHANGES.c.kind == kind, _CHANGES.c.id == record_id))


def _find(connection: Connection, kind: Kind, record_id: str) -> tuple[int, TierRecord] | None:
    table = TABLES[kind.name]
    row = connection.execute(select(table).where(table.c.id == record_id)).first()
    return (row.number, record_of(kind, row)) if row is not None else None


def _insert(connection: Connection, record: TierRecord) -> None:
    kind = KINDS[record.kind]
    table = TABLES[kind.name]
    number = connection.execute(insert(table).values(row_of(record)).returning(table.c.number)).scalar_one()
    if kind.words:
        add_words(connection, kind, [(number, record)])


def _note_overwritten(connection: Connection, before: TierRecord, after: TierRecord, at: str) -> None:
    names = [name for name in differing(before, after) if name not in COUNTERS and before.fields.get(name) is not None]
    if names and before.kind != "agent-state":  # a snapshot is made to be replaced
        was, now = (json.dumps({name: record.fields.get(name) for name in names}) for record in (before, after))
        values = {"kind": before.kind, "id": before.id, "at": at, "origin": after.origin}
        connection.execute(insert(_CHANGES).values(**values, before_json=was, after_json=now))


# -- many -------------------------------------------------------------------------------------------------------------


def _condition(kind: Kind, tier: Tier | None, where: Where) -> list[ColumnElement[bool]]:
    columns = TABLES[kind.name].c
    if tier is not None and tier not in kind.tiers:
        return [false()]
    parts: list[ColumnElement[bool]] = [columns.tier == tier] if tier is not None and kind.ages else []
    for name, value in where.fields.items():
        field = kind.field(name)
        assert field is not None
        parts.append(columns[name] == _stored(field, value))
    parts += [columns.at >= where.since] if where.since else []
    return parts + ([columns.at < where.until] if where.until else [])


def rows(
    connection: Connection, kind: Kind, tier: Tier | None = None, where: Where = Where(),  # noqa: B008
    limit: int | None = None, offset: int = 0, *, oldest_first: bool = False,
) -> list[TierRecord]:  # fmt: skip
    """List the records of a kind, newest first by their own time; of one tier, or of both."""
    asked = _listed(kind, tier, where, oldest_first=oldest_first).limit(limit).offset(offset)
    return [record_of(kind, row) for row in connection.execute(asked)]


def each(
    connection: Connection, kind: Kind, tier: Tier | None = None, where: Where = Where(),  # noqa: B008
    limit: int | None = None, offset: int = 0, *, oldest_first: bool = True,
) -> Generator[TierRecord, None, None]:  # fmt: skip
    """Yield the records of a kind one at a time, as `rows` lists them; for who may read many, or stop early."""
    asked = _listed(kind, tier, where, oldest_first=oldest_first).limit(limit).offset(offset)
    with connection.execute(asked, execution_options={"yield_per": _PART}) as found:
        for row in found:
            yield record_of(kind, row)


def _listed(kind: Kind, tier: Tier | None, where: Where, *, oldest_first: bool) -> Select[Any]:
    columns = TABLES[kind.name].c
    order = (columns.at, columns.id) if oldest_first else (columns.at.desc(), columns.id.desc())
    return select(TABLES[kind.name]).where(*_condition(kind, tier, where)).order_by(*order)


def count(connection: Connection, kind: Kind, tier: Tier | None = None, where: Where = Where()) -> int:  # noqa: B008
    """Count the records of a kind."""
    asked = select(func.count()).select_from(TABLES[kind.name]).where(*_condition(kind, tier, where))
    return connection.execute(asked).scalar_one()


def by_numbers(connection: Connection, kind: Kind, numbers: Sequence[int]) -> dict[int, TierRecord]:
    """Return records of a kind by the numbers that its full-text index has for them."""
    table = TABLES[kind.name]
    found = connection.execute(select(table).where(table.c.number.in_(numbers)))
    return {row.number: record_of(kind, row) for row in found}


def neighbours(
    connection: Connection, kind: Kind, number: int, limit: int, *, before: bool
) -> Iterator[tuple[int, TierRecord]]:
    """Yield the records that came next after the one of a number, or before it."""
    table = TABLES[kind.name]
    there = table.c.number < number if before else table.c.number > number
    order = table.c.number.desc() if before else table.c.number
    found = connection.execute(select(table).where(there).order_by(order).limit(limit))
    return ((row.number, record_of(kind, row)) for row in found)


def newest_number(connection: Connection, kind: Kind) -> int:
    """Return the number of the record that came last, 0 where there is none."""
    return connection.execute(select(func.max(TABLES[kind.name].c.number))).scalar() or 0


# -- a long list ------------------------------------------------------------------------------------------------------


def page(connection: Connection, wanted: Stretch, limit: int, offset: int = 0) -> list[TierRecord]:
    """List so many records from a place on, with the beginnings of their fields, JSON as text. What lies before them is
    counted in an index and not read."""
    kind, table = wanted.kind, TABLES[wanted.kind.name]
    order = [table.c.at, table.c.number] if wanted.oldest_first else [table.c.at.desc(), table.c.number.desc()]
    numbers = select(table.c.number).where(*_within(connection, wanted)).order_by(*order).limit(limit).offset(offset)
    columns = [_beginning(table.c[field.name], field) for field in kind.fields]
    ours = (table.c.id, table.c.tier, table.c.origin, table.c.stored_at, table.c.changed_at)
    found = connection.execute(select(*ours, *columns).where(table.c.number.in_(numbers)).order_by(*order))
    return [_shown(kind, row) for row in found]


def _beginning(column: Column[Any], field: Field) -> ColumnElement[Any]:
    return func.substr(column, 1, SHOWN) if field.type in ("text", "json") else column


def _shown(kind: Kind, row: Sequence[Any]) -> TierRecord:
    record_id, tier, origin, stored_at, changed_at, *values = row
    shown = ((field._replace(type="text") if field.type == "json" else field) for field in kind.fields)
    fields = {field.name: _read(field, value) for field, value in zip(shown, values, strict=True)}
    return TierRecord(kind.name, record_id, fields, tier, origin, stored_at, changed_at)


def count_within(connection: Connection, wanted: Stretch) -> int:
    """Count the records of a stretch."""
    asked = select(func.count()).select_from(TABLES[wanted.kind.name]).where(*_within(connection, wanted))
    return connection.execute(asked).scalar_one()


def place_of(connection: Connection, wanted: Stretch, record_id: str) -> int | None:
    """Return how many records of a stretch come before that one; None when it is not there."""
    table = TABLES[wanted.kind.name]
    found = connection.execute(select(table.c.at, table.c.number).where(table.c.id == record_id)).first()
    if found is None:
        return None
    order, here = tuple_(table.c.at, table.c.number), tuple_(*found)
    before = order < here if wanted.oldest_first else order > here
    asked = select(func.count()).select_from(table).where(*_within(connection, wanted), before)
    return connection.execute(asked).scalar_one()


def _within(connection: Connection, wanted: Stretch) -> list[ColumnElement[bool]]:
    columns = TABLES[wanted.kind.name].c
    parts = _condition(wanted.kind, wanted.tier, Where({}, wanted.since))
    parts += [columns.at <= wanted.until] if wanted.until else []
    return parts + [_holds(connection, columns[among.field], among) for among in wanted.among]


def _holds(connection: Connection, column: ColumnElement[Any], among: Among) -> ColumnElement[bool]:
    if among.patterns:
        likes = [func.lower(column).like(_like(pattern), escape="\\") for pattern in among.patterns]
        sign, other = ("GLOB", "*[^ -~]*") if connection.dialect.name == "sqlite" else ("~", "[^ -~]")
        return or_(*likes, column.op(sign, is_comparison=True)(other))
    parts = [column >= among.low] if among.low is not None else []
    parts += [column <= among.high] if among.high is not None else []
    return parts[0] if len(parts) == 1 else parts[0] & parts[1] if parts else column.is_(column)


def _like(pattern: str) -> str:
    """A pattern of `*` and `?` as LIKE has it."""
    kept = pattern.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return kept.replace("*", "%").replace("?", "_")


# -- Full-text indexes over the records of work and over the knowledge base: FTS5 in a file, `tsvector` on a server.

# Every character but a blank is part of a word: our tokenizer cut them, and knows marks that FTS5 drops.
_TOKENIZE = "tokenize = \"unicode61 remove_diacritics 0 categories 'L* M* N* P* S* Co Cn'\""


def make_indexes(connection: Connection) -> None:
    """Make the indexes, empty."""
    names = [f"{kind.table}_words" for kind in KINDS.values() if kind.words]
    if is_file(connection):
        for name in names:
            how = f"words, detail=none, columnsize=0, {_TOKENIZE}"
            _execute(connection, f"CREATE VIRTUAL TABLE {name} USING fts5({how})")
        _execute(connection, f"CREATE VIRTUAL TABLE knowledge_words USING fts5(title, section, words, {_TOKENIZE})")
        _execute(connection, "CREATE VIRTUAL TABLE knowledge_terms USING fts5vocab(knowledge_words, row)")
        return
    for name in (*names, "knowledge_words"):
        _execute(connection, f"CREATE TABLE {name} (number bigint PRIMARY KEY, words tsvector NOT NULL)")
        _execute(connection, f"CREATE INDEX idx_{name} ON {name} USING gin (words)")


def drop_indexes(connection: Connection) -> None:
    """Let the indexes go, to be made anew."""
    for name in ("knowledge_terms", "knowledge_words", *(f"{kind.table}_words" for kind in KINDS.values())):
        _execute(connection, f"DROP TABLE IF EXISTS {name}")


def add_words(connection: Connection, kind: Kind, rows: Iterable[tuple[int, TierRecord]]) -> None:
    """Take records, each with its number, into the index of their kind. Their tier is a word of theirs: which rows of a
    tier hold a word is asked of the index alone."""
    words = ((number, [tier_word(record.tier), *words_of(record)]) for number, record in rows)
    if is_file(connection):
        sql = f"INSERT INTO {kind.table}_words (rowid, words) VALUES (:number, :words)"
        values = [{"number": number, "words": " ".join(said)} for number, said in words]
    else:
        sql = f"INSERT INTO {kind.table}_words VALUES (:number, array_to_tsvector(CAST(:words AS text[])))"
        values = [{"number": number, "words": fitting_words(said)} for number, said in words]
    if values:
        _execute(connection, sql, values)


def remove_words(connection: Connection, table: str, number: int) -> None:
    """Take a record, or a chunk of `knowledge`, out of its index."""
    _execute(connection, f"DELETE FROM {table}_words WHERE {key_column(connection)} = :number", {"number": number})


def tier_word(tier: Tier) -> str:
    return f"={tier}"  # no word that our tokenizer makes begins so


def add_chunks(connection: Connection, rows: Iterable[tuple[int, str, Chunk]]) -> None:
    """Take chunks into the index: number, the title of the document with what it is about, and the chunk."""
    cut = [
        (number, tokens.tokens(title), tokens.tokens(one.section), tokens.tokens(one.text))
        for number, title, one in rows
    ]
    if is_file(connection):
        sql = "INSERT INTO knowledge_words (rowid, title, section, words) VALUES (:number, :title, :section, :words)"
        values = [
            {"number": number, "title": " ".join(title), "section": " ".join(section), "words": " ".join(words)}
            for number, title, section, words in cut
        ]
    else:
        sql = "INSERT INTO knowledge_words VALUES (:number, CAST(:words AS tsvector))"
        values = [{"number": number, "words": _weighed(title, section, words)} for number, title, section, words in cut]
    if values:
        _execute(connection, sql, values)


def _weighed(title: Sequence[str], section: Sequence[str], words: Sequence[str]) -> str:
    """A vector in which a word's weight says where it stands: A in the title, B in the section."""
    held = []
    parts = (("1A", frozenset(title)), ("2B", frozenset(section)), ("3", frozenset(words)))
    for word in fitting_words([*title, *section, *words]):
        places = [place for place, part in parts if word in part]
        held.append(f"{lexeme(word)}:{','.join(places)}")
    return " ".join(held)


def drop_removed(connection: Connection) -> None:
    """Write the indexes of a file anew from what they hold, so that no word of a text that was taken out is left."""
    if is_file(connection):
        for name in ("knowledge", *(kind.table for kind in KINDS.values() if kind.words)):
            _execute(connection, f"INSERT INTO {name}_words ({name}_words) VALUES ('rebuild')")


def is_file(connection: Connection) -> bool:
    return connection.dialect.name == "sqlite"


def key_column(connection: Connection) -> str:
    return "rowid" if is_file(connection) else "number"


def _execute(connection: Connection, sql: str, values: Any = None) -> None:
    connection.execute(text(sql), values)
