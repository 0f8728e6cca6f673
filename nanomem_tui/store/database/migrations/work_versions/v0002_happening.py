"""Schema 2: what happens now is a table; the version of the schema is alembic's, and stands in `work_meta` too."""

from __future__ import annotations

from typing import Any

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, PrimaryKeyConstraint, Text, UniqueConstraint

revision = "0002"
down_revision = "0001"
_TEXT: Any = Text().with_variant(Text(collation="C"), "postgresql")
_NUMBER: Any = BigInteger().with_variant(Integer(), "sqlite")


def upgrade() -> None:
    """Make the table, and tell processes of the earlier release, which read `work_meta`."""
    texts = ("id", "at", "category", "name", "agent", "source")
    op.create_table(
        "happening", Column("number", _NUMBER, autoincrement=True, nullable=False),
        *(Column(name, _TEXT, nullable=False) for name in texts),
        Column("critical", _NUMBER, nullable=False), Column("data_json", _TEXT, nullable=False),
        PrimaryKeyConstraint("number"), UniqueConstraint("id"), sqlite_autoincrement=True,
    )  # fmt: skip
    op.create_index("idx_happening_name", "happening", ["category", "name", "number"])
    op.create_index("idx_happening_agent", "happening", ["agent", "number"])
    op.create_index("idx_happening_at", "happening", ["at"])
    op.execute("DELETE FROM work_notes WHERE name = 'joined_at'")  # when indexes were joined: SQLite does so by itself
    op.execute("UPDATE work_meta SET version = 2")
