"""Records as rows of their tables: the columns of each kind, a row out of a record and a record out of a row.

Owns that form: JSON as text, times as ISO text, what long-term memory keeps of a goal or a task compressed. Must not
know when anything is written.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from nanomem_tui import json_text, tokens
from nanomem_tui.store.tier_kinds import KINDS, Field, Kind, Tier
from nanomem_tui.store.tier_values import TierRecord, written

PACKED = frozenset({"archived_goals", "archived_tasks"})
"""Tables whose longer fields are kept compressed (seed 004, Retention Policies)."""
MAX_WORDS = 20_000
"""Characters of a record that are searched by words."""
MAX_EMBEDDED = 8_000
"""Characters of a record that are embedded; models read a few hundred words and leave out the rest."""
BEGUN = 200
"""Characters of a text that the index of a server holds, whose entries have a size."""
_SQL = {"text": "VARCHAR", "json": "VARCHAR", "time": "VARCHAR", "int": "INTEGER", "real": "FLOAT", "bool": "BOOLEAN"}
_OURS = ("at", "origin", "stored_at", "changed_at")


@lru_cache(maxsize=64)
def columns(kind: Kind, table: str) -> tuple[str, ...]:
    """The columns of a table of a kind, without its `number`, in the order of `row_of`."""
    packed = ("packed",) if table in PACKED else ()
    return ("workspace_id", "id", *(field.name for field in kind.fields), *_OURS, *packed, "row_hash")


def quoted(name: str) -> str:
    """A column as SQL: some have the name of a word of SQL."""
    return f'"{name}"'


def begun(name: str) -> str:
    """The column in which a server has the beginning of a text, for an index."""
    return f"{name}_begins"


def _is_packed(kind: Kind, field: Field) -> bool:
    """Whether a field is long enough to be worth it: not what the record is listed or found by."""
    return field.type == "json" or (field.type == "text" and field.name not in (kind.title, *kind.indexed, "agent"))


def row_of(workspace_id: str, record: TierRecord) -> tuple[Any, ...]:
    """The row of a record, in the order of `columns`."""
    kind = KINDS[record.kind]
    table = kind.tables[record.tier]
    values = {field.name: _kept(field, record.fields.get(field.name)) for field in kind.fields}
    packed: list[bytes | None] = []
    if table in PACKED:
        long = {field.name: values[field.name] for field in kind.fields if _is_packed(kind, field)}
        long = {name: value for name, value in long.items() if value is not None}
        values |= dict.fromkeys(long)
        packed = [zlib.compress(json.dumps(long, ensure_ascii=False).encode(), 6) if long else None]
    body = (workspace_id, record.id, *values.values(), record.at, record.origin, record.stored_at, record.changed_at)
    row = (*body, *packed)
    return (*row, hash_of(row))


def record_of(kind: Kind, table: str, row: Sequence[Any]) -> TierRecord:
    """The record of a row, in the order of `columns`."""
    named = dict(zip(columns(kind, table), row, strict=True))
    if named.get("packed"):
        named |= json_text.loads(zlib.decompress(named["packed"]))
    fields = {field.name: _read(field, named[field.name]) for field in kind.fields}
    tier: Tier = kind.tier if table == kind.table else "longterm"
    return TierRecord(kind.name, named["id"], fields, tier, named["origin"], named["stored_at"], named["changed_at"])


def is_whole(row: Sequence[Any]) -> bool:
    """Whether a row is as it was written: no bit of it flipped."""
    return bool(hash_of(row[:-1]) == row[-1])


def words_of(record: TierRecord) -> str:
    """What a record is found by, as the full-text index takes it."""
    kind = KINDS[record.kind]
    said = (plain(record.fields.get(name)) for name in kind.words)
    return " ".join(tokens.tokens("\n".join(filter(None, said))[:MAX_WORDS]))


def embedded(record: TierRecord) -> str:
    """What of a record is embedded: the fields that seed 004 names; empty where they hold nothing."""
    said = (plain(record.fields.get(name)) for name in KINDS[record.kind].embedded)
    return "\n".join(filter(None, said))[:MAX_EMBEDDED].strip()


def plain(value: Any) -> str:
    """A value as words: of JSON the texts and numbers in it."""
    if value is None or isinstance(value, bool):
        return ""
    if isinstance(value, dict):
        return " ".join(filter(None, (f"{name} {plain(inner)}" for name, inner in value.items())))
    if isinstance(value, (list, tuple)):
        return " ".join(filter(None, map(plain, value)))
    return str(value)


def _kept(field: Field, value: Any) -> Any:
    return written(field, value).decode() if value is not None and field.type == "json" else value


def _read(field: Field, value: Any) -> Any:
    if field.type == "bool":
        return None if value is None else bool(value)
    if field.type != "json" or value is None:
        return value
    try:
        return json_text.loads(value)
    except (ValueError, TypeError):  # a bit flipped in it: what is there is shown
        return value


def hash_of(row: Sequence[Any]) -> str:
    """The hash of a row, whose last column it is."""
    body = repr([int(value) if isinstance(value, bool) else value for value in row])
    return hashlib.blake2b(body.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


# -- the schema, as text --------------------------------------------------------------------------------------------


def statements() -> list[str]:
    """What makes the tables of every kind, their indexes and their full-text indexes."""
    made: list[str] = []
    for kind in KINDS.values():
        for table in kind.tables.values():
            made += _table(kind, table)
    return made


def indexed(kind: Kind, table: str) -> list[str]:
    """The fields of a kind that have an index in a table: of what was moved, those that lead to it."""
    return [name for name in kind.indexed if table not in PACKED or name in ("goal_id", "procedure_id")]


def _table(kind: Kind, table: str) -> list[str]:
    packed = table in PACKED
    fields = [
        f"{quoted(field.name)} {_SQL[field.type]}{' NOT NULL' if field.required and not packed else ''}"
        for field in kind.fields
    ]
    ours = [
        "at VARCHAR NOT NULL",
        "origin VARCHAR NOT NULL",
        "stored_at VARCHAR NOT NULL",
        "changed_at VARCHAR NOT NULL",
    ]
    body = [
        # What has a vector is known by its number, which no later row may get then.
        f"number INTEGER NOT NULL PRIMARY KEY{' AUTOINCREMENT' if kind.embedded else ''}",
        "workspace_id VARCHAR NOT NULL",
        "id VARCHAR NOT NULL",
        *fields,
        *ours,
    ]
    body += [*(["packed BLOB"] if packed else []), "row_hash VARCHAR NOT NULL", "UNIQUE (workspace_id, id)"]
    made = [f"CREATE TABLE {table} ({', '.join(body)})"]
    made.append(f"CREATE INDEX idx_{table}_at ON {table} (workspace_id, at)")
    made += [
        f"CREATE INDEX idx_{table}_{name} ON {table} (workspace_id, {quoted(name)}, at)"
        for name in indexed(kind, table)
    ]
    if kind.words:
        made.append(f"CREATE VIRTUAL TABLE {table}_words USING fts5(words, content='', detail=none, columnsize=0)")
    return made
