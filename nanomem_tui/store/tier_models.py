"""The tables of `tiers.db` as SQLModel declares them, made from the kinds: the typed way in, and what the doctor and a
test compare the file with. No command imports it.
"""

from __future__ import annotations

from types import new_class
from typing import Any

from sqlalchemy import Boolean, Column, Float, Index, Integer, LargeBinary, String, UniqueConstraint
from sqlalchemy.orm import registry
from sqlmodel import Field, SQLModel

from nanomem_tui.store.tier_kinds import KINDS, Kind
from nanomem_tui.store.tier_tables import PACKED, indexed

_TYPES: dict[str, tuple[type, Any]] = {
    "text": (str, String),
    "json": (str, String),
    "time": (str, String),
    "int": (int, Integer),
    "real": (float, Float),
    "bool": (bool, Boolean),
}


class TierTable(SQLModel, registry=registry()):
    """The base of every table of the file: its metadata are apart from those of the memory."""


class RecordChange(TierTable, table=True):
    """What an agent overwrote of a record."""

    __tablename__ = "record_changes"
    __table_args__ = (Index("idx_record_changes_of", "workspace_id", "kind", "id", "seq"),)

    seq: int | None = Field(default=None, primary_key=True)
    workspace_id: str
    kind: str
    id: str
    at: str
    origin: str
    before: str
    after: str


def _model(kind: Kind, table: str) -> type[TierTable]:
    """The table of a kind in one tier."""
    packed = table in PACKED
    types: dict[str, Any] = {"number": int | None, "workspace_id": str, "id": str}
    columns: dict[str, Any] = {"number": Field(default=None, primary_key=True)}
    for field in kind.fields:
        python, sql = _TYPES[field.type]
        needed = field.required and not packed
        name = f"{field.name}_" if field.name == "metadata" else field.name  # that name is SQLAlchemy's
        types[name] = python if needed else python | None
        columns[name] = Field(default=... if needed else None, sa_column=Column(field.name, sql, nullable=not needed))
    types |= {"at": str, "origin": str, "stored_at": str, "changed_at": str}
    if packed:
        types["packed"], columns["packed"] = bytes | None, Field(default=None, sa_type=LargeBinary)
    types["row_hash"] = str
    arguments = (
        Index(f"idx_{table}_at", "workspace_id", "at"),
        *(Index(f"idx_{table}_{name}", "workspace_id", name, "at") for name in indexed(kind, table)),
        UniqueConstraint("workspace_id", "id"),
    )
    named = {"__module__": __name__, "__tablename__": table, "__table_args__": arguments, "__annotations__": types}
    model = new_class(
        "".join(map(str.title, table.split("_"))),
        (TierTable,),
        {"table": True},
        lambda space: space.update({**named, **columns}),
    )
    assert issubclass(model, TierTable)
    return model


MODELS = {table: _model(kind, table) for kind in KINDS.values() for table in kind.tables.values()}
"""The model of each table of records."""
