"""The tables of `vectors.db`, declared once (SQLModel), and every statement on them, by name.

`scripts/statements.py` compiles them into `statements.VECTORS`: a search writes vectors, and imports no SQLAlchemy. The
file is always one of SQLite. A list of keys is one parameter, the text of a JSON array.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import (
    ColumnElement,
    Executable,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    bindparam,
    cast,
    delete,
    func,
    insert,
    literal,
    null,
    select,
    text,
)
from sqlalchemy.schema import CreateIndex, CreateTable, DropTable
from sqlmodel import Field, SQLModel

METADATA = MetaData()


class _Row(SQLModel):
    metadata: ClassVar[MetaData] = METADATA
    __table__: ClassVar[Table]


class VectorRow(_Row, table=True):
    """A vector of a text. `number` grows with everything that is written: by it whoever holds a copy learns what is
    new. Without a vector: a text that none can be made of, or, without a hash, one that was taken away."""

    __tablename__ = "vectors"
    __table_args__ = (
        UniqueConstraint("collection", "model", "key"),
        Index("idx_vectors_at", "collection", "model", "at", sqlite_where=text("vector IS NOT NULL")),
        Index("idx_vectors_none", "collection", "model", sqlite_where=text("vector IS NULL")),
        {"sqlite_autoincrement": True},
    )

    number: int | None = Field(default=None, sa_type=Integer, primary_key=True)
    collection: str = Field(sa_type=Text)
    model: str = Field(sa_type=Text)
    key: str = Field(sa_type=Text)
    at: str = Field(sa_type=Text)
    text_hash: str = Field(sa_type=Text)
    vector: bytes | None = Field(default=None, sa_type=LargeBinary)


class VectorMark(_Row, table=True):
    """A named value: how far a copy was brought up to date, or how far records were looked through."""

    __tablename__ = "marks"

    name: str = Field(sa_type=Text, primary_key=True)
    value: str = Field(sa_type=Text)


_TABLE, _MARKS = VectorRow.__table__, VectorMark.__table__
_ROW = _TABLE.c
_OF = (_ROW.collection == bindparam("collection")) & (_ROW.model == bindparam("model"))
_UP_TO = _ROW.number <= bindparam("number")
_ALL = select(_ROW.number, _ROW.key, _ROW.text_hash, _ROW.at, cast(_ROW.vector, LargeBinary))
_IS_GONE = _ROW.vector.is_(None) & (_ROW.text_hash == "")
_BEGINS = (_MARKS.c.name >= bindparam("begins")) & (_MARKS.c.name < bindparam("ends"))
_OLDEST = (
    select(_ROW.number).where(_OF & _ROW.vector.is_not(None)).order_by(_ROW.number.desc())
    .limit(-1).offset(bindparam("most"))
)  # fmt: skip
_ONE = _TABLE.alias("one")
_SIZE = (
    select(func.length(_ONE.c.vector))
    .where(_ONE.c.collection == _ROW.collection, _ONE.c.model == _ROW.model, _ONE.c.vector.is_not(None))
    .limit(1).correlate(_TABLE).scalar_subquery()
)  # fmt: skip
"""The bytes of one of the vectors; the others are not read."""


def _among() -> ColumnElement[bool]:
    return _ROW.key.in_(select(func.json_each(bindparam("keys")).table_valued("value").c.value))


def _values(table: Table) -> dict[str, Any]:
    return {column.name: bindparam(column.name) for column in table.columns if column.name != "number"}


SCHEMA: dict[str, Any] = {
    "drop vectors": DropTable(_TABLE, if_exists=True),
    "drop marks": DropTable(_MARKS, if_exists=True),
    "make vectors": CreateTable(_TABLE),
    "make marks": CreateTable(_MARKS),
    **{f"make {index.name}": CreateIndex(index) for index in sorted(_TABLE.indexes, key=lambda one: str(one.name))},
}
"""What makes the tables anew, in order."""

STATEMENTS: dict[str, Executable] = {
    # By its number alone: through another index every vector would be looked at with each search.
    "since": _ALL.with_hint(_TABLE, "NOT INDEXED", "sqlite").where(_ROW.number > bindparam("number"), _OF)
    .order_by(_ROW.number).limit(bindparam("most")),
    "last": select(func.max(_ROW.number)),
    "newest": _ALL.with_hint(_TABLE, "INDEXED BY idx_vectors_at", "sqlite").where(_OF, _ROW.vector.is_not(None))
    .order_by(_ROW.at.desc()).limit(bindparam("most")),
    "of keys": _ALL.where(_OF, _among()),
    "hashes": select(_ROW.key, _ROW.text_hash).where(_OF, _ROW.text_hash != ""),
    "unmade": select(_ROW.key, _ROW.text_hash).where(_OF, _ROW.vector.is_(None), _ROW.text_hash != ""),
    "up to": select(func.count()).where(_OF, _ROW.vector.is_not(None), _UP_TO),
    "counts": select(_ROW.model, func.count(), func.coalesce(_SIZE, 0))
    .where(_ROW.collection == bindparam("collection"), _ROW.vector.is_not(None)).group_by(_ROW.model),
    "put": insert(_TABLE).prefix_with("OR REPLACE").values(_values(_TABLE)),
    "take away": insert(_TABLE).prefix_with("OR REPLACE").from_select(
        ["collection", "model", "key", "at", "text_hash", "vector"],
        select(_ROW.collection, _ROW.model, _ROW.key, literal(""), literal(""), null())
        .where(_ROW.collection == bindparam("collection"), _among()),
    ),
    "settle": delete(_TABLE).where(_OF, _IS_GONE, _UP_TO),
    "trim": delete(_TABLE).where(_ROW.number.in_(_OLDEST)),
    "sweep": delete(_TABLE).where(_ROW.collection == bindparam("collection"), _ROW.model != bindparam("model")),
    "clear": delete(_TABLE).where(_ROW.collection == bindparam("collection")),
    "clear unmade": delete(_TABLE).where(_ROW.collection == bindparam("collection"), _ROW.vector.is_(None)),
    "marks": select(_MARKS.c.name, _MARKS.c.value).where(_BEGINS),
    "note": insert(_MARKS).prefix_with("OR REPLACE").values(_values(_MARKS)),
    "unmark": delete(_MARKS).where(_BEGINS),
}  # fmt: skip
