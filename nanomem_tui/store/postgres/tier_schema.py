"""The tables of an agent's work and of the knowledge base in PostgreSQL, made from the same text as those of SQLite.

Owns what a server says otherwise of them: keys that begin with the workspace, words as numbers of bits in the place of
full-text indexes, what is remembered under names with a column for the workspace.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from nanomem_tui.store import tier_schema, tier_tables
from nanomem_tui.store.postgres import knowledge_index

_META = """CREATE TABLE tier_meta (
    workspace_id TEXT COLLATE "C" NOT NULL, "key" TEXT COLLATE "C" NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (workspace_id, "key"))"""
_WORDS = """CREATE TABLE {} (
    workspace_id TEXT COLLATE "C" NOT NULL, word TEXT COLLATE "C" NOT NULL, block BIGINT NOT NULL,
    held BIGINT NOT NULL, PRIMARY KEY (workspace_id, word, block))"""
_OF_TEXTS = re.compile(r'CREATE INDEX \w+ ON (?P<table>\w+) \(workspace_id, "(?P<name>\w+)", at\)')
_NUMBERED = re.compile(r"\b(number|seq) INTEGER NOT NULL PRIMARY KEY(?: AUTOINCREMENT)?")


def statements(spoken: Callable[[str], str]) -> tuple[str, ...]:
    """What makes the tables and their indexes; `spoken` says the types of a statement as PostgreSQL does."""
    made = [part for one in tier_tables.statements() for part in _begun(_as_here(one, spoken))]
    made += [_as_here(one, spoken) for one in tier_schema.BESIDE]
    return (*made, knowledge_index.TABLES["knowledge_terms"])


def _begun(statement: str) -> tuple[str, ...]:
    """An index of the texts of a field as one of their beginnings: an entry has 2,704 bytes at most."""
    found = _OF_TEXTS.fullmatch(statement)
    if found is None:
        return (statement,)
    table, name = found["table"], found["name"]
    column = tier_tables.quoted(tier_tables.begun(name))
    begins = f'left("{name}", {tier_tables.BEGUN})'
    add = f'ALTER TABLE {table} ADD COLUMN {column} TEXT COLLATE "C" GENERATED ALWAYS AS ({begins}) STORED'
    return add, statement.replace(f'"{name}"', column)


def _as_here(statement: str, spoken: Callable[[str], str]) -> str:
    name = statement.split()[2]
    if statement.startswith("CREATE VIRTUAL TABLE"):
        name = statement.split()[3]
        return knowledge_index.TABLES.get(name) or _WORDS.format(name)
    if name == "tier_meta":
        return _META
    statement = statement.replace(") WITHOUT ROWID", ")")
    if found := _NUMBERED.search(statement):
        keyed = _NUMBERED.sub(rf"{found[1]} INTEGER NOT NULL", statement)
        statement = f"{keyed[: keyed.rindex(')')]}, PRIMARY KEY (workspace_id, {found[1]}))"
    return spoken(statement)


def tables() -> dict[str, frozenset[str]]:
    """The columns of each table."""
    found = {}
    for statement in statements(str):
        if statement.startswith("CREATE TABLE"):
            name, _, body = statement.removeprefix("CREATE TABLE ").partition("(")
            found[name.strip()] = _columns(body)
    return found


def _columns(body: str) -> frozenset[str]:
    parts = re.split(r",(?![^(]*\))", body[: body.rindex(")")])
    names = (part.split()[0].strip('"') for part in parts)
    return frozenset(name for name in names if name not in ("PRIMARY", "UNIQUE", "CONSTRAINT"))
