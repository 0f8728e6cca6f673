"""The tables of seed 003 by name (`facts`, `journal`, `conversations`, `token_usage`, `reflections`), as views of ours:
for a person who asks the database himself. Nothing here reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from sqlalchemy import JSON, Connection, Label, Select, cast, select, text, type_coerce

from nanomem_tui.database import models

ITEMS = models.table(models.MemoryEntry)
RECORDS = models.table(models.RecordRow)


def make_views(connection: Connection) -> None:
    """Make the views of an empty database."""
    for name, asked in _views(connection.dialect.name).items():
        compiled = asked.compile(dialect=connection.dialect, compile_kwargs={"literal_binds": True})
        connection.execute(text(f"CREATE VIEW {name} AS {str(compiled).replace(':', chr(92) + ':')}"))


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
