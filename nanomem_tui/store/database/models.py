"""The tables, declared once (SQLModel). Every statement and every migration is built from these classes.

Names of tables and columns are those of the seeds (`memory_entries`, `memory_meta`: seed 001 §4.1; lessons: seed 000
§2.5; the kinds of records: seed 003). A database holds one workspace: a file of SQLite, or a schema on a PostgreSQL
server. Columns are TEXT, INTEGER, REAL or BLOB without converters, so that a value that the driver gives is the value
that SQLAlchemy gives: truth is 0 or 1, JSON is text, a time is ISO 8601 in UTC. The tables of seed 003 are views.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Any, ClassVar

from sqlalchemy import (
    JSON,
    REAL,
    BigInteger,
    Column,
    Connection,
    Dialect,
    Double,
    Index,
    Integer,
    Label,
    MetaData,
    Select,
    String,
    Table,
    Text,
    cast,
    select,
    text,
    type_coerce,
)
from sqlmodel import Field, SQLModel

METADATA = MetaData()
_NUMBER: Any = BigInteger().with_variant(Integer(), "sqlite")
"""64 bits on both: SQLite gives a row id to INTEGER alone."""
_REAL: Any = Double().with_variant(REAL(), "sqlite")


_NOT_DELETED: Any = {"sqlite_where": text("is_deleted = 0"), "postgresql_where": text("is_deleted = 0")}


class _Row(SQLModel):
    """What all tables share: the metadata of this store, apart from that of other packages."""

    metadata: ClassVar[MetaData] = METADATA
    __table__: ClassVar[Table]


def _text(default: str | None = None, **more: Any) -> Any:
    return Field(default=default, sa_type=Text, **more)


def _number(default: int | None = None, **more: Any) -> Any:
    return Field(default=default, sa_type=_NUMBER, **more)


class MemoryEntry(_Row, table=True):
    """A memory. `number` is its place in the full-text index; `revision` the operation that wrote it last.

    The same words may stand twice: as facts of two domains, switched off and on, or in an agent's own file, where a
    person is to see them and merge them (docs/decisions/0094).
    """

    __tablename__ = "memory_entries"
    __table_args__ = (
        Index("idx_memory_scope_kind_updated", "scope_key", "kind", "is_deleted", "updated_at"),
        Index("idx_memory_updated", "updated_at", **_NOT_DELETED),
        Index("idx_memory_revision", "revision"),
        Index("idx_memory_counts", "enabled", "kind", "scope_type", "source", "is_deleted", **_NOT_DELETED),
        Index("idx_memory_hash", "content_hash", "scope_key", "kind", **_NOT_DELETED),
    )

    number: int | None = _number(primary_key=True)
    id: str = _text(unique=True, nullable=False)
    scope_type: str = _text("global")
    scope_key: str = _text("")
    channel: str | None = _text()
    chat_id: str | None = _text()
    sender_id: str | None = _text()
    session_key: str | None = _text()
    kind: str = _text("fact")
    content: str = _text("")
    content_norm: str = _text("")
    content_hash: str = _text("")
    importance: float = Field(default=0.5, sa_type=_REAL)
    confidence: float = Field(default=1.0, sa_type=_REAL)
    source: str = _text("manual")
    source_message_id: str | None = _text()
    source_role: str | None = _text()
    meta_json: str = _text("{}")
    created_at: str = _text("")
    updated_at: str = _text("")
    expires_at: str | None = _text()
    enabled: int = _number(1)
    pinned: int = _number(0)
    is_deleted: int = _number(0)
    revision: int = _number(0)


class LessonRow(_Row, table=True):
    """A lesson learned from a failure or a correction."""

    __tablename__ = "lessons"
    __table_args__ = (Index("idx_lessons_revision", "revision"),)

    id: str = _text(primary_key=True)
    key: str = _text("")
    trigger: str = _text("")
    bad_action: str = _text("")
    better_action: str = _text("")
    scope: str = _text("session")
    session_key: str = _text("")
    actor_key: str = _text("")
    source: str = _text("manual")
    confidence: int = _number(5)
    enabled: int = _number(1)
    created_at: str = _text("")
    updated_at: str = _text("")
    promoted_global_key: str = _text("")
    meta_json: str = _text("{}")
    is_deleted: int = _number(0)
    revision: int = _number(0)


class RecordRow(_Row, table=True):
    """A journal entry, a message of an imported conversation, a reflection, or the tokens of a day; see `kind`."""

    __tablename__ = "records"
    __table_args__ = (
        Index("idx_records_revision", "revision"),
        Index("idx_records_kind_about", "is_deleted", "kind", "about"),
    )

    id: str = _text(primary_key=True)
    kind: str = _text("journal")
    about: str = _text("")
    text: str = _text("")
    session_key: str = _text("")
    source: str = _text("manual")
    at: str = _text("")
    meta_json: str = _text("{}")
    created_at: str = _text("")
    updated_at: str = _text("")
    is_deleted: int = _number(0)
    revision: int = _number(0)


class UsageRow(_Row, table=True):
    """How often a memory was recalled or a lesson applied, and when last: no part of its row, and never undone."""

    __tablename__ = "usage"
    __table_args__ = (Index("idx_usage_revision", "revision"),)

    layer: str = _text(primary_key=True)
    id: str = _text(primary_key=True)
    hits: int = _number(0)
    last_at: str = _text("")
    revision: int = _number(0)


class UsageBatch(_Row, table=True):
    """The id of each batch of counters that was added, so that none is added twice."""

    __tablename__ = "usage_batches"

    id: str = _text(primary_key=True)
    at: str = _text("")


class OperationRow(_Row, table=True):
    """A change as a person understands it. `seq` is the order of commits; `state`: done, planned (files of others are
    still to be written) or stuck; `undone`: nothing of it stands at present."""

    __tablename__ = "operations"

    seq: int = Field(sa_type=_NUMBER, primary_key=True, sa_column_kwargs={"autoincrement": False})
    id: str = _text(unique=True, nullable=False)
    at: str = _text("")
    actor: str = _text("human")
    kind: str = _text("")
    label: str = _text("")
    state: str = _text("done")
    writer: str = _text("")
    undoes: str | None = _text()
    redoes: str | None = _text()
    meta_json: str = _text("{}")
    touched: int = _number(0)
    changes_json: str = _text("[]")
    undone: int = _number(0)


class OperationKey(_Row, table=True):
    """Which operation touched which thing, and whether that part of it is undone at present."""

    __tablename__ = "operation_keys"
    __table_args__ = (Index("idx_operation_keys_seq", "seq"),)

    key: str = _text(primary_key=True)
    layer: str = _text(primary_key=True)
    seq: int = Field(sa_type=_NUMBER, primary_key=True, sa_column_kwargs={"autoincrement": False})
    undone: int = _number(0)


class ForeignRow(_Row, table=True):
    """A row of an agent's file as it was last read or written: the base of the next merge."""

    __tablename__ = "foreign_rows"

    source: str = _text(primary_key=True)
    id: str = _text(primary_key=True)
    raw_json: str = _text("{}")


class MetaRow(_Row, table=True):
    """The one row by which writers take turns: the number of the last commit, the epoch (another one: load everything
    anew), and where the memory moved to."""

    __tablename__ = "meta"

    one: int = Field(default=1, sa_type=_NUMBER, primary_key=True, sa_column_kwargs={"autoincrement": False})
    revision: int = _number(0)
    epoch: str = _text("")
    moved_to: str = _text("")
    workspace_id: str = _text("")
    channel: str = _text("")


class Lease(_Row, table=True):
    """Who does a piece of work for all that share a memory, and until when (seconds, by the server's clock)."""

    __tablename__ = "leases"

    work: str = _text(primary_key=True)
    holder: str = _text("")
    until: float = Field(default=0.0, sa_type=_REAL)


class Marker(_Row, table=True):
    """Named values beside the rows, such as `backfill_done` (seed 001)."""

    __tablename__ = "memory_meta"

    key: str = _text(primary_key=True)
    value: str = _text("")


def table(model: type[_Row]) -> Table:
    """Return the table of a model, for Core statements."""
    return model.__table__


def version_table(name: str) -> Table:
    """Return the table in which alembic notes the schema of a database; it is no part of what moves or is copied."""
    return Table(name, MetaData(), Column("version_num", String(32), primary_key=True))


ITEMS = table(MemoryEntry)
LESSONS = table(LessonRow)
RECORDS = table(RecordRow)
USAGE = table(UsageRow)
OPERATIONS = table(OperationRow)
KEYS = table(OperationKey)
META = table(MetaRow)
BATCHES = table(UsageBatch)
MARKERS = table(Marker)
FOREIGN = table(ForeignRow)
LEASES = table(Lease)
TABLES = {"item": ITEMS, "lesson": LESSONS, "record": RECORDS}
"""The table of each layer of rows."""


# -- the tables of seed 003 by name, as views: for a person who asks the database himself -----------------------------


def make_views(connection: Connection) -> None:
    """Make the views of an empty database."""
    for statement in _view_statements(connection.dialect):
        connection.exec_driver_sql(statement)


@cache
def _view_statements(dialect: Dialect) -> list[str]:
    return [
        f"CREATE VIEW {name} AS {asked.compile(dialect=dialect, compile_kwargs={'literal_binds': True})}"
        for name, asked in _views(dialect.name).items()
    ]


def _views(dialect: str) -> Mapping[str, Select[Any]]:
    free = partial(_free_field, dialect)
    facts = (
        select(
            ITEMS.c.id,
            *(free(ITEMS, f"fact.{name}", name) for name in ("category", "key", "value", "domain", "sub_category")),
            ITEMS.c.created_at,
            ITEMS.c.updated_at,
        )
        .where(ITEMS.c.is_deleted == 0, ITEMS.c.kind == "fact")
        .where(ITEMS.c.meta_json.like('%"fact"%'))
    )
    return {
        "facts": facts,
        "journal": _records("journal", RECORDS.c.about.label("date"), RECORDS.c.text.label("content"), "created_at"),
        "conversations": _records(
            "message", RECORDS.c.about.label("chat_id"), free(RECORDS, "role"), RECORDS.c.text.label("message"),
            RECORDS.c.at.label("timestamp"),
        ),
        "token_usage": _records(
            "usage", RECORDS.c.about.label("date"), free(RECORDS, "model"), free(RECORDS, "source"),
            *(
                free(RECORDS, name, number=True)
                for name in ("prompt_tokens", "completion_tokens", "total_tokens", "requests")
            ),
            "created_at", "updated_at",
        ),
        "reflections": _records(
            "reflection", RECORDS.c.about.label("tool_name"), free(RECORDS, "args", "tool_args"),
            free(RECORDS, "error", "error_text"), RECORDS.c.text.label("insight"), "session_key", "created_at",
        ),
    }  # fmt: skip


def _records(kind: str, *columns: Any) -> Select[Any]:
    named = [RECORDS.c[column] if isinstance(column, str) else column for column in columns]
    return select(RECORDS.c.id, *named).where(RECORDS.c.is_deleted == 0, RECORDS.c.kind == kind)


def _free_field(dialect: str, table: Any, path: str, name: str = "", *, number: bool = False) -> Label[Any]:
    """A free field of a row, by its path in `meta_json`, as a column of that name."""
    parts = path.split(".")
    as_json: Any = type_coerce if dialect == "sqlite" else cast  # SQLite has no such type to cast to
    found = as_json(table.c.meta_json, JSON)
    value = found[tuple(parts)] if len(parts) > 1 else found[path]
    column: Label[Any] = (value.as_integer() if number else value.as_string()).label(name or path)
    return column
