"""The tables of an agent's work and of the knowledge base, declared once (SQLModel): a table for each kind of records.

The tables of the kinds are made from `KINDS`. Columns are as in `models`: TEXT, INTEGER, REAL without converters.
`number` is the order in which rows came, and their place in a full-text index; it is never given twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import new_class
from typing import Any, ClassVar

from sqlalchemy import (
    REAL,
    BigInteger,
    Column,
    Connection,
    Double,
    Index,
    Integer,
    MetaData,
    Select,
    Table,
    Text,
    bindparam,
    delete,
    func,
    insert,
    select,
    union_all,
    update,
)
from sqlmodel import Field, SQLModel

from nanomem_tui.store.database.reading import escape_nul, unescape_nul
from nanomem_tui.store.work.kinds import KINDS, Kind

METADATA = MetaData()
_NUMBER: Any = BigInteger().with_variant(Integer(), "sqlite")
"""64 bits on both: SQLite gives a row id to INTEGER alone."""
_REAL: Any = Double().with_variant(REAL(), "sqlite")
_TEXT: Any = Text().with_variant(Text(collation="C"), "postgresql")
"""Ordered by its bytes on both, as times and ids are compared."""
_TYPES: dict[str, tuple[type, Any]] = {
    "text": (str, _TEXT), "json": (str, _TEXT), "time": (str, _TEXT), "int": (int, _NUMBER), "bool": (int, _NUMBER),
    "real": (float, _REAL),
}  # fmt: skip
_COUNTED: Any = {"sqlite_autoincrement": True}


class _Row(SQLModel):
    """What all tables share: the metadata of this store, apart from that of the memory."""

    metadata: ClassVar[MetaData] = METADATA
    __table__: ClassVar[Table]


def _text(**more: Any) -> Any:
    return Field(default="", sa_type=_TEXT, **more)


def _number(default: int | None = 0, **more: Any) -> Any:
    return Field(default=default, sa_type=_NUMBER, **more)


def _kind_model(kind: Kind) -> type[_Row]:
    types: dict[str, Any] = {"number": int | None, "id": str}
    columns: dict[str, Any] = {"number": _number(None, primary_key=True), "id": _text(unique=True)}
    for field in kind.fields:
        python, sql = _TYPES[field.type]
        name = f"{field.name}_" if field.name == "metadata" else field.name  # that name is SQLAlchemy's
        types[name] = python | None
        columns[name] = Field(default=None, sa_column=Column(field.name, sql, nullable=not field.required))
    for name in ("tier", "at", "origin", "stored_at", "changed_at"):
        types[name], columns[name] = str, _text()
    indexes = [Index(f"idx_{kind.table}_at", "at"), Index(f"idx_{kind.table}_tier", "tier", "at")]
    for name in kind.indexed:
        # An entry of PostgreSQL's usual index holds 2,700 bytes at most, and these are texts of any length.
        hashed = Index(f"idx_{kind.table}_{name}", name, postgresql_using="hash")
        indexes += [Index(f"idx_{kind.table}_{name}_at", name, "at").ddl_if(dialect="sqlite"),
                    hashed.ddl_if(dialect="postgresql")]  # fmt: skip
    named = {"__module__": __name__, "__tablename__": kind.table, "__table_args__": (*indexes, _COUNTED)}
    body = {**named, "__annotations__": types, **columns}
    model = new_class(kind.table.title().replace("_", ""), (_Row,), {"table": True}, lambda space: space.update(body))
    assert issubclass(model, _Row)
    return model


MODELS = {name: _kind_model(kind) for name, kind in KINDS.items()}
"""The model of each kind of records."""


class HappeningRow(_Row, table=True):
    """Something that happened within the last hour. `name`: the metric, task or tool that it is about; `agent`: whose
    state it tells."""

    __tablename__ = "happening"
    __table_args__ = (
        Index("idx_happening_name", "category", "name", "number"), Index("idx_happening_agent", "agent", "number"),
        Index("idx_happening_at", "at"), _COUNTED,
    )  # fmt: skip

    number: int | None = _number(None, primary_key=True)
    id: str = _text(unique=True)
    at: str = _text()
    category: str = _text()
    name: str = _text()
    agent: str = _text()
    source: str = _text()
    critical: int = _number()
    data_json: str = _text()


class RecordChange(_Row, table=True):
    """What an agent overwrote of a record."""

    __tablename__ = "record_changes"
    __table_args__ = (Index("idx_record_changes_of", "kind", "id"), _COUNTED)

    seq: int | None = _number(None, primary_key=True)
    kind: str = _text()
    id: str = _text()
    at: str = _text()
    origin: str = _text()
    before_json: str = _text()
    after_json: str = _text()


class RecordDue(_Row, table=True):
    """A record that changed or went since it was embedded: its vector may be none of it any more."""

    __tablename__ = "record_vectors_due"

    kind: str = _text(primary_key=True)
    id: str = _text(primary_key=True)


class RunRow(_Row, table=True):
    """A run of the lifecycle, and how far it is."""

    __tablename__ = "lifecycle_runs"

    id: str = _text(primary_key=True)
    began_at: str = _text()
    state: str = _text()


class BatchRow(_Row, table=True):
    """What a batch of a run did, and what it takes to take that back, as JSON; kept for some time."""

    __tablename__ = "lifecycle_batches"
    __table_args__ = (Index("idx_lifecycle_batches_of", "run", "seq"), _COUNTED)

    seq: int | None = _number(None, primary_key=True)
    run: str = _text()
    kind: str = _text()
    what: str = _text()
    rows: int = _number()
    kept_json: str = _text()


class DocumentRow(_Row, table=True):
    """A document of the knowledge base, without its text."""

    __tablename__ = "knowledge_documents"
    __table_args__ = (_COUNTED,)

    number: int | None = _number(None, primary_key=True)
    id: str = _text(unique=True)
    kind: str = _text()
    title: str = _text()
    source: str = _text()
    about: str = _text()
    hash: str = _text()
    chunks: int = _number()
    added_at: str = _text()
    checked_at: str = _text()
    meta_json: str = _text()


class ChunkRow(_Row, table=True):
    """A chunk of a document; its id is made of what it says."""

    __tablename__ = "knowledge_chunks"
    __table_args__ = (Index("idx_knowledge_chunks_of", "document_id", "ordinal"), _COUNTED)

    number: int | None = _number(None, primary_key=True)
    id: str = _text(unique=True)
    document_id: str = _text()
    ordinal: int = _number()
    section: str = _text()
    line_from: int = _number()
    line_to: int = _number()
    text: str = _text()


class NoteRow(_Row, table=True):
    """What is remembered under a name: when the lifecycle ran, which documents somebody took away."""

    __tablename__ = "work_notes"

    name: str = _text(primary_key=True)
    value: str = _text()


class WorkMeta(_Row, table=True):
    """The one row by which writers take turns: the number of the last commit, the schema, by which a process that is
    open meets a later one, whose work it is, and where it moved to."""

    __tablename__ = "work_meta"

    one: int = Field(default=1, sa_type=_NUMBER, primary_key=True, sa_column_kwargs={"autoincrement": False})
    revision: int = _number()
    version: int = _number()
    workspace_id: str = _text()
    moved_to: str = _text()


def table(model: type[_Row]) -> Table:
    """Return the table of a model, for Core statements."""
    return model.__table__


TABLES = {name: table(model) for name, model in MODELS.items()}
"""The table of each kind of records."""
STATEMENTS = {
    "work_counts": union_all(*(select(one.c.tier, func.count()).group_by(one.c.tier) for one in TABLES.values()))
}
"""What a reading command asks, by name; `scripts/statements.py` compiles it."""


# -- The table of what happens now: entries of the last hour, until they age into events and metrics ------------------

_ROWS = table(HappeningRow)
_COLUMNS = tuple(_ROWS.c.keys())
_TEXTS = ("name", "agent", "source", "data_json")
_ADD = insert(_ROWS)
_NEWEST = select(_ROWS).order_by(_ROWS.c.number.desc())
_TOO_MANY = select(_ROWS.c.number).order_by(_ROWS.c.number.desc()).offset(bindparam("keep")).limit(1)
_YOUNG = select(func.min(_ROWS.c.number)).where(_ROWS.c.at >= bindparam("before"))
_LAST = select(func.max(_ROWS.c.number))
_SUMMED = func.sum(func.length(_ROWS.c.data_json)).over(order_by=_ROWS.c.number.desc())
_SUMS = select(_ROWS.c.number, _SUMMED.label("size")).subquery()
_TOO_LARGE = select(func.max(_SUMS.c.number)).where(_SUMS.c.size > bindparam("most"))


def add(connection: Connection, row: Mapping[str, Any]) -> None:
    """Keep an entry."""
    connection.execute(_ADD, {**row, **{name: escape_nul(row[name]) for name in _TEXTS}})


def newest(
    connection: Connection, category: str = "", *, since: str = "", limit: int | None = None, **equal: str
) -> Iterator[dict[str, Any]]:
    """Yield entries, newest first: of a category alone, from a time on (UTC ISO), whose columns equal values."""
    wanted = equal | ({"category": category} if category else {})
    asked = _NEWEST.where(*(_ROWS.c[name] == escape_nul(value) for name, value in wanted.items())).limit(limit)
    return _rows(connection, asked.where(_ROWS.c.at >= since) if since else asked)


def newest_of_each(connection: Connection, category: str) -> list[dict[str, Any]]:
    """List the newest entry on each metric, task or tool."""
    last = select(func.max(_ROWS.c.number)).where(_ROWS.c.category == category).group_by(_ROWS.c.name)
    return list(_rows(connection, _NEWEST.where(_ROWS.c.number.in_(last))))


def newest_of_agents(connection: Connection) -> list[dict[str, Any]]:
    """List the newest entry that tells the state of each agent."""
    last = select(func.max(_ROWS.c.number)).where(_ROWS.c.agent != "").group_by(_ROWS.c.agent)
    return list(_rows(connection, _NEWEST.where(_ROWS.c.number.in_(last))))


def count(connection: Connection) -> tuple[int, str]:
    """Return how many entries there are, and when the first of them was."""
    first = select(_ROWS.c.at).order_by(_ROWS.c.number).limit(1)
    rows = connection.execute(select(func.count()).select_from(_ROWS)).scalar_one()
    return rows, connection.execute(first).scalar() or ""


def due(connection: Connection, keep: int, before: str, most: int | None = None) -> int:
    """Return the number up to which entries leave: those beyond the newest `keep`, or the newest `most` characters, and
    those that came before the first one from a time on (UTC ISO), all where there is no such one. 0 for none."""
    too_many = connection.execute(_TOO_MANY, {"keep": keep}).scalar() or 0
    too_large = (connection.execute(_TOO_LARGE, {"most": most}).scalar() or 0) if most is not None else 0
    young = connection.execute(_YOUNG, {"before": before}).scalar()
    aged = connection.execute(_LAST if young is None else _LAST.where(_ROWS.c.number < young)).scalar() or 0
    return max(too_many, too_large, aged)


def take(connection: Connection, upto: int, most: int) -> list[dict[str, Any]]:
    """Take the oldest entries away, up to a number, at most so many; return them, oldest first."""
    asked = select(_ROWS).where(_ROWS.c.number <= upto).order_by(_ROWS.c.number).limit(most)
    taken = list(_rows(connection, asked))
    if taken:
        connection.execute(delete(_ROWS).where(_ROWS.c.number <= taken[-1]["number"]))
    return taken


def rewrite(connection: Connection, number: int, texts: Mapping[str, str] | None) -> None:
    """Put other texts in place of those of an entry; None takes it away."""
    here = _ROWS.c.number == number
    if texts is None:
        connection.execute(delete(_ROWS).where(here))
    else:
        connection.execute(update(_ROWS).where(here).values({name: escape_nul(text) for name, text in texts.items()}))


def _rows(connection: Connection, asked: Select[Any]) -> Iterator[dict[str, Any]]:
    with connection.execute(asked, execution_options={"yield_per": 100}) as found:  # who asks may stop at the first
        for row in found:
            named = dict(zip(_COLUMNS, row, strict=True))
            for name in _TEXTS:
                named[name] = unescape_nul(named[name])
            yield named
