"""`memory.db` of the crystallized system (seed 003): its facts as items, its journal, conversations, reflections and
token use as records; and items and records as such a database.

What its tables have no column for is not written, and said.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from nanomem_tui.agents.databases import tables
from nanomem_tui.core.text import one_line
from nanomem_tui.memory.imported_chats import in_order
from nanomem_tui.memory.transfer import fact_rows, record_rows
from nanomem_tui.memory.transfer.fact_rows import OWN, FactRow, names_there
from nanomem_tui.memory.transfer.record_rows import COUNTS, TABLES, clock_there
from nanomem_tui.memory.transfer.values import Reading
from nanomem_tui.store.values import Item, Record, fact_of

NAMED = 10
LOST = (
    "lessons, what is disabled, importance, confidence, source, session, hits, pin, expiry, free fields and "
    "the earlier values of facts"
)
_COLUMNS = ("category", "key", "value", "domain", "sub_category", "created_at", "updated_at")
_DDL = """
CREATE TABLE facts (id INTEGER PRIMARY KEY AUTOINCREMENT, category TEXT NOT NULL, key TEXT NOT NULL, value TEXT
    NOT NULL, domain TEXT, sub_category TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL, UNIQUE(category,
    key));
CREATE TABLE journal (id INTEGER PRIMARY KEY AUTOINCREMENT, date TEXT NOT NULL, content TEXT NOT NULL,
    created_at TEXT NOT NULL);
CREATE TABLE conversations (id INTEGER PRIMARY KEY AUTOINCREMENT, chat_id TEXT NOT NULL, role TEXT NOT NULL,
    message TEXT NOT NULL, timestamp TEXT NOT NULL);
CREATE TABLE token_usage (id INTEGER PRIMARY KEY AUTOINCREMENT, date TEXT NOT NULL, model TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL DEFAULT 0, completion_tokens INTEGER NOT NULL DEFAULT 0, total_tokens INTEGER NOT
    NULL DEFAULT 0, requests INTEGER NOT NULL DEFAULT 1, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
    UNIQUE(date, model));
CREATE TABLE reflections (id INTEGER PRIMARY KEY AUTOINCREMENT, tool_name TEXT NOT NULL, tool_args TEXT,
    error_text TEXT NOT NULL, insight TEXT NOT NULL, session_key TEXT, created_at TEXT NOT NULL);
CREATE INDEX idx_facts_category ON facts(category);
CREATE INDEX idx_journal_date ON journal(date);
CREATE INDEX idx_conversations_chat_id ON conversations(chat_id);
CREATE INDEX idx_token_usage_date ON token_usage(date);
CREATE INDEX idx_reflections_tool ON reflections(tool_name);
"""
FIELDS = frozenset({"text", "about", "at", "updated_at"})
"""What of a row that is here is compared with theirs."""


def read_memory_db(path: Path, where: str, workspace_id: str) -> Reading:
    """Every fact as a global item, and every row of the other tables as a record. Raises what opening does."""
    with tables(path, where) as source:
        facts = [FactRow(f"fact {number}", raw) for number, raw in source.rows("facts", _COLUMNS)]
        others = {name: list(source.rows(name, table.columns)) for name, table in TABLES.items()}
        problems = source.problems
    found, bad = fact_rows.read_fact_rows(facts, where, workspace_id)
    refused = {"fact": len(bad)}
    problems += bad
    for name, theirs in others.items():
        more, bad = record_rows.read_record_rows(name, theirs, where)
        refused[TABLES[name].kind] = len(bad)
        found += more
        problems += bad
    return Reading("facts-db", found, problems, fields=FIELDS, times=clock_there, refused=refused)


def items(path: Path, workspace_id: str) -> list[Item]:
    """The facts alone. Raises what opening does."""
    with tables(path, "") as source:
        facts = [FactRow("", raw) for _, raw in source.rows("facts", _COLUMNS)]
    return [found.row for found in fact_rows.read_fact_rows(facts, "", workspace_id)[0] if isinstance(found.row, Item)]


class Dumped(NamedTuple):
    """A database that was made: how many rows belong to a chat or a person, which facts have their domain in their key
    there (that key), and for which there was no key."""

    data: bytes
    scoped: int
    renamed: list[str]
    left: list[Item]


def dump(items: Iterable[Item], records: Iterable[Record] = ()) -> Dumped:
    """A database of the system with these items as facts, and these records."""
    rows = sorted(items, key=lambda row: (row.updated_at, row.id))
    named, renamed = _named(rows)
    facts = [_values(row, named[row.id]) for row in rows if row.id in named]
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_DDL)
        _insert(connection, "facts", _COLUMNS, facts)
        for name, found in _by_table(records).items():
            _insert(connection, name, TABLES[name].columns, found)
        connection.commit()
        scoped = sum(row.scope_type != "global" for row in rows if row.id in named)
        return Dumped(connection.serialize(), scoped, renamed, [row for row in rows if row.id not in named])


def told(made: Dumped) -> tuple[str, ...]:
    """What is in it in another way than here, in sentences for a person."""
    found: list[str] = []
    if made.scoped:
        whose = "1 row belongs" if made.scoped == 1 else f"{made.scoped:,} rows belong"
        key = "its key names it" if made.scoped == 1 else "their keys name them"
        it = "it" if made.scoped == 1 else "each"
        found.append(
            f"{whose} to one chat or person, for which that table has no column: {key}, and `nanomem memory import` "
            f"gives {it} back to that chat or person alone; another system shows {it} to everybody."
        )
    if made.renamed:
        named = ", ".join(one_line(name, 60) for name in made.renamed[:NAMED])
        more = f" and {len(made.renamed) - NAMED:,} more" if len(made.renamed) > NAMED else ""
        what = "1 fact shares" if len(made.renamed) == 1 else f"{len(made.renamed):,} facts share"
        why = "category and key with one of another domain, for which that table has no room"
        found.append(f"{what} {why}: written as {named}{more}; an import reads the key without the domain.")
    return tuple(found)


def _insert(connection: sqlite3.Connection, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    marks = ", ".join("?" * len(columns))
    connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)


def _named(rows: Sequence[Item]) -> tuple[dict[str, str], list[str]]:
    """The key that each row has there, and those that hold a domain as another fact has the plain one. `rows`: oldest
    first. Of several the one without a domain keeps its key, else the newest."""
    names: dict[str, str] = {}
    renamed: list[str] = []
    taken: set[tuple[str, str]] = set()
    newest = rows[::-1]
    for row in sorted(newest, key=lambda row: bool(_fields(row)[1])):
        category, domain, key = _fields(row)
        found = list(names_there(key, domain, row.scope_key if row.scope_type != "global" else ""))
        name = next((one for one in found if (category, one) not in taken), None)
        if name is None:
            continue
        taken.add((category, name))
        names[row.id] = name
        if name != found[0]:
            renamed.append(name)
    return names, sorted(renamed)


def _fields(item: Item) -> tuple[str, str, str]:
    """Category, domain and key of a row there, before any is changed."""
    fact = fact_of(item)
    if fact is None:
        return item.kind, "", item.id
    return fact.category, fact.domain or "", fact.key


def _values(item: Item, name: str) -> list[Any]:
    times = clock_there(item.created_at), clock_there(item.updated_at)
    fact = fact_of(item)
    if fact is None:
        return [item.kind, name, item.text, OWN, None, *times]
    return [fact.category, name, fact.value, fact.domain, fact.sub_category, *times]


def _by_table(records: Iterable[Record]) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of each of their tables, in the order in which things happened."""
    found: dict[str, list[tuple[Any, ...]]] = {name: [] for name in TABLES}
    names = {"journal": "journal", "message": "conversations", "reflection": "reflections"}
    ordered = sorted(records, key=in_order)
    for row in ordered:
        if row.kind in names:
            found[names[row.kind]].append(record_rows.values(row))
    found["token_usage"] = _summed(record_rows.values(row) for row in ordered if row.kind == "usage")
    return found


def _summed(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """One row for a day and a model, whatever used it: their table has no more room."""
    totals: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    first: dict[tuple[str, str], str] = {}
    last: dict[tuple[str, str], str] = {}
    for day, model, *counts, made, changed in rows:
        key = day, model
        totals[key].update(dict(zip(COUNTS, counts, strict=True)))
        first[key] = min(first.get(key, made), made)
        last[key] = max(last.get(key, changed), changed)
    return [(*key, *(total[name] for name in COUNTS), first[key], last[key]) for key, total in totals.items()]
