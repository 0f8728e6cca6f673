"""The tables of a store in PostgreSQL, made from the same numbered steps as those of an SQLite file (`migrations`).

Owns what PostgreSQL says otherwise: types, keys that begin with the workspace (so that tables can be partitioned by
it), the words of items, and the rules by which the database itself keeps one workspace from another.
No server-side language is used, and no right beyond that to make tables.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from nanomem_tui.errors import AccessDenied, NewerDatabase, StoreError
from nanomem_tui.store import migrations
from nanomem_tui.store.postgres import postings, tier_schema

if TYPE_CHECKING:
    from nanomem_tui.store.postgres.server import Server

TIERS = 4
"""The step that brought the records of an agent's work and the knowledge base."""
POSTINGS = 5
"""The step that brought which items hold a word, in the place of a `tsvector` beside each."""
MEMBERS = 6
"""The step by which a role sees its own memberships alone."""
VERSION = 6
"""The schema of a server; to its third step these are the steps of `migrations`."""
OLDEST_SERVER = 130_000
"""`server_version_num` of the oldest release that is known to work."""
TRIES = 20
"""Times that the first table is made, where another process makes it in the same moment."""
PARTS = "nanomem.partitions"
"""What an address says (`?options=-cnanomem.partitions%3D16`) where tables are to be made of so many parts, by
workspace."""
MOST_PARTS = 1_024
TWINS = ("23505", "42P07", "42710")
"""What the server says where another process made the same thing in the same moment."""
ITEM_WORDS = ("memory_words", "memory_postings")
"""Tables of what finds an item."""
OWN = ("nanomem_schema", "nanomem_workspaces", "nanomem_members", "nanomem_leases", *ITEM_WORDS)
"""Tables that only a server has."""
TABLES = (
    "memory_entries", "lessons", "records", "vectors", "operations", "operation_keys", "foreign_rows", *ITEM_WORDS,
)  # fmt: skip
"""Those whose rows are of one workspace each, which a column says."""
_SAID = "current_setting('nanomem.workspace', true)"
_MINE = "SELECT m.workspace_id FROM nanomem_members m WHERE m.role = current_user"
_KEYS = {
    "PRIMARY KEY (seq), UNIQUE (id)": "PRIMARY KEY (workspace_id, seq), UNIQUE (workspace_id, id)",
    "CONSTRAINT uq_memory_number UNIQUE (number)": "CONSTRAINT uq_memory_number UNIQUE (workspace_id, number)",
}
_TYPES = {"VARCHAR": 'TEXT COLLATE "C"', "FLOAT": "DOUBLE PRECISION", "INTEGER": "BIGINT", "BOOLEAN": "SMALLINT",
          "BLOB": "BYTEA"}  # fmt: skip
_WORKSPACES = """CREATE TABLE nanomem_workspaces (
    workspace_id TEXT COLLATE "C" PRIMARY KEY, name TEXT NOT NULL DEFAULT '',
    made_at TIMESTAMPTZ NOT NULL DEFAULT now(), writes BIGINT NOT NULL DEFAULT 0)"""
"""One row for each workspace; who writes to it holds that row. `writes`: how often somebody did."""
_MEMBERS = """CREATE TABLE nanomem_members (
    role TEXT NOT NULL, workspace_id TEXT COLLATE "C" NOT NULL, PRIMARY KEY (role, workspace_id))"""
"""Which role of the server may see which workspace; whoever owns the tables may see each."""
_LEASES = """CREATE TABLE nanomem_leases (
    workspace_id TEXT COLLATE "C" NOT NULL, name TEXT NOT NULL, holder TEXT NOT NULL, until TIMESTAMPTZ NOT NULL,
    done_at TEXT NOT NULL DEFAULT '', PRIMARY KEY (workspace_id, name))"""
"""Work that one process does for all of them (Dreams, the lifecycle): who does it, until when, and when it was done."""
_WORDS = (
    "ALTER TABLE memory_entries ADD COLUMN waits SMALLINT NOT NULL DEFAULT 0",
    "ALTER TABLE memory_entries ADD COLUMN words TSVECTOR",
    "ALTER TABLE memory_entries ADD COLUMN length BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE lessons ADD COLUMN waits SMALLINT NOT NULL DEFAULT 0",
    "CREATE INDEX idx_memory_words ON memory_entries USING gin (words)",
    """CREATE TABLE memory_words (
        workspace_id TEXT COLLATE "C" NOT NULL, word TEXT COLLATE "C" NOT NULL, held BIGINT NOT NULL,
        PRIMARY KEY (workspace_id, word))""",
)
_WORDS_AS_POSTINGS = (
    "DROP INDEX idx_memory_words",
    "ALTER TABLE memory_entries DROP COLUMN words",
    postings.TABLE,
    # The index is to be made anew for each workspace, all of which their owner sees without walls.
    "ALTER TABLE memory_meta NO FORCE ROW LEVEL SECURITY",
    "DELETE FROM memory_meta WHERE key LIKE '%:tokens' OR key LIKE '%:index_rows' OR key LIKE '%:index_length'",
    "ALTER TABLE memory_meta FORCE ROW LEVEL SECURITY",
)
_OWN_MEMBERSHIPS = (
    "ALTER TABLE nanomem_members ENABLE ROW LEVEL SECURITY",  # not forced: who owns it writes it
    "CREATE POLICY nanomem_members_of_one_role ON nanomem_members USING (role = current_user)",
)
BESIDE = {"memory_entries": {"waits", "length"}, "lessons": {"waits"}}
"""Columns that a table has only on a server."""
_SOURCE = "ALTER TABLE memory_entries ADD CONSTRAINT item_says_its_source CHECK (source <> '')"
"""What a trigger keeps in SQLite. That what waits becomes active by a person alone needs a language on the server;
`provenance` looks at it before an operation is recorded (docs/decisions, 0064)."""


def spoken(statement: str) -> str:
    """A statement of `migrations` as PostgreSQL takes it."""
    for ours, theirs in _KEYS.items():
        statement = statement.replace(ours, theirs)
    statement = re.sub(r"\b(VARCHAR|FLOAT|INTEGER|BOOLEAN|BLOB)\b", lambda found: _TYPES[found[1]], statement)
    return _json(statement) if statement.startswith("CREATE VIEW") else statement


def _json(view: str) -> str:
    view = re.sub(r"json_extract\((\w+), '\$\.([\w.]+)'\)",
                  lambda found: f"({found[1]}::jsonb #>> '{{{found[2].replace('.', ',')}}}')", view)  # fmt: skip
    view = re.sub(r"json_type\((\w+), '\$\.(\w+)'\) = 'object'", r"jsonb_typeof(\1::jsonb -> '\2') = 'object'", view)
    return re.sub(r" AND json_valid\(\w+\)", "", view)


def steps(owner: str) -> dict[int, tuple[str, ...]]:
    """Schema version → the statements that make it from the one before, for tables that belong to the role `owner`."""
    first = [spoken(one) for one in migrations.FIRST if one != migrations.FTS_TABLE]
    second = [spoken(one) for one in migrations.SECOND]
    return {
        1: (*first, _WORKSPACES, _MEMBERS, _LEASES, *_WORDS),
        2: tuple(second),
        3: (_SOURCE, *_walls(_rules(), owner)),
        TIERS: (*tier_schema.statements(spoken), *_walls(_of_workspace(tier_schema.tables()), owner)),
        POSTINGS: (*_WORDS_AS_POSTINGS, *_walls(_of_workspace(["memory_postings"]), owner)),
        MEMBERS: _OWN_MEMBERSHIPS,
    }


def in_parts(statements: Iterable[str], many: int, owner: str) -> Iterator[str]:
    """The same tables, those of which every row says its workspace made of `many` parts, each with the same walls: who
    may read a table may read its parts by their names."""
    if many < 2:
        yield from statements
        return
    parted = {*TABLES, *tier_schema.tables()}
    for statement in statements:
        name = statement.split()[2]
        parts = [f"{name}_part{number}" for number in range(many)] if name in parted else []
        if parts and statement.startswith("CREATE TABLE "):
            yield f"{statement} PARTITION BY HASH (workspace_id)"
            for number, part in enumerate(parts):
                yield f"CREATE TABLE {part} PARTITION OF {name} FOR VALUES WITH (MODULUS {many}, REMAINDER {number})"
            continue
        yield statement
        if parts and statement.endswith(" ENABLE ROW LEVEL SECURITY"):
            for wall in walls_of(dict.fromkeys(parts, name), owner).values():
                yield from wall


def walls_of(names: Mapping[str, str], owner: str) -> dict[str, tuple[str, ...]]:
    """What keeps workspaces apart in each of these tables; `names`: each with that table whose rule it has."""
    rules = {**_rules(), **_of_workspace(["memory_postings", *tier_schema.tables()])}
    return {name: _walls({name: rules[like]}, owner) for name, like in names.items()}


def _of_workspace(names: Iterable[str]) -> dict[str, str]:
    """The rule of tables whose rows say their workspace."""
    return dict.fromkeys(names, f"workspace_id = {_SAID} AND (current_user = {{owner}} OR {_SAID} IN ({_MINE}))")


def _rules() -> dict[str, str]:
    """Which rows of the memory a connection sees."""
    marker = f"(starts_with(key, {_SAID} || ':') OR starts_with(key, 'workspace:' || {_SAID} || ':'))"
    mine = f"(current_user = {{owner}} OR {_SAID} IN ({_MINE}))"
    return _of_workspace(name for name in (*TABLES, "nanomem_leases") if name != "memory_postings") | {
        "memory_meta": f"{marker} AND {mine}",
        "nanomem_workspaces": f"current_user = {{owner}} OR workspace_id IN ({_MINE})",
    }


def _walls(rules: Mapping[str, str], owner: str) -> tuple[str, ...]:
    """Each connection sees the rows of the workspace that it says, and of no other; a role that does not own the
    tables only of those that it is a member of."""
    quoted = "'{}'".format(owner.replace("'", "''"))
    walls = {name: rule.format(owner=quoted) for name, rule in rules.items()}
    return tuple(
        statement
        for name, wall in walls.items()
        for statement in (
            f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY",
            f"ALTER TABLE {name} FORCE ROW LEVEL SECURITY",
            f"CREATE POLICY {name}_of_one_workspace ON {name} USING ({wall}) WITH CHECK ({wall})",
        )
    )


def make(server: Server) -> None:
    """Bring the database to the present schema, one process at a time, all of it or nothing. Raises NewerDatabase,
    StoreError for a server that is too old, and what `Server.told` does."""
    for left in reversed(range(TRIES)):
        try:
            with server.alone() as raw:
                _make(raw, server.where)
            return
        except StoreError as error:
            if not left or getattr(error.__cause__, "sqlstate", "") not in TWINS:
                raise
            time.sleep(0.05)


def _make(raw: Any, where: str) -> None:
    found = found_in(raw)
    if found is not None and found >= VERSION:
        check(found, where)
        return
    refuse_old(raw, where)
    refuse_encoding(raw, where)
    with raw.transaction():
        raw.execute("CREATE TABLE IF NOT EXISTS nanomem_schema (version BIGINT NOT NULL)")
        raw.execute("LOCK TABLE nanomem_schema IN ACCESS EXCLUSIVE MODE")
        found = found_in(raw) or 0
        check(found, where)
        owner = str(raw.execute("SELECT current_user").fetchone()[0])
        many = _parts(raw, where, found)
        for version, statements in steps(owner).items():
            if version > found:
                raw.execute("; ".join(in_parts(statements, many, owner)))
        raw.execute("DELETE FROM nanomem_schema")
        raw.execute("INSERT INTO nanomem_schema (version) VALUES (%s)", (VERSION,))


def _parts(raw: Any, where: str, found: int) -> int:
    """Of how many parts tables are made: as many as there are, or as the address says of a new one."""
    if found:
        asked = "SELECT count(*) FROM pg_inherits WHERE inhparent = to_regclass('memory_entries')"
        return int(raw.execute(asked).fetchone()[0])
    return parts_said(raw, where)


def parts_said(raw: Any, where: str) -> int:
    """Of how many parts the address says that tables are to be made. Raises StoreError for what is no number."""
    said = str(raw.execute(f"SELECT coalesce(current_setting('{PARTS}', true), '')").fetchone()[0]) or "1"
    if not said.isdecimal() or not 1 <= int(said) <= MOST_PARTS:
        what = f"{PARTS} is {said!r}, not a number from 1 to {MOST_PARTS:,}"
        raise StoreError(what, where, "correct it in the address; nothing was made")
    return int(said)


def refuse_old(raw: Any, where: str) -> None:
    """Raise StoreError for a server that is too old."""
    if raw.info.server_version < OLDEST_SERVER:
        what = f"the server is PostgreSQL {raw.info.server_version // 10_000}, and 13 is the oldest that will do"
        raise StoreError(what, where, "use a newer server; nothing was changed")


def refuse_encoding(raw: Any, where: str) -> None:
    """Raise StoreError for a database that does not hold every text."""
    if (encoding := raw.execute("SHOW server_encoding").fetchone()[0]) != "UTF8":
        what = f"the database is of the encoding {encoding}, which does not hold every text"
        raise StoreError(what, where, "make one with `createdb -E UTF8 -T template0` and name that; nothing was made")


def found_in(raw: Any) -> int | None:
    """The schema that a database has; None where nanomem never made one there. Raises AccessDenied where there is one
    that this role may not look into: that is not none."""
    if raw.execute("SELECT to_regclass('nanomem_schema')").fetchone()[0] is None:
        query = (
            "SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relname ="
            " 'nanomem_schema' AND NOT has_schema_privilege(n.oid, 'USAGE')"
            " AND n.nspname = ANY(regexp_split_to_array(current_setting('search_path'), '[ ,\"]+'))"
        )
        for (name,) in raw.execute(query):
            what = f"the role {raw.info.user} may not look into the schema {name}, where the tables are"
            fix = f"let its owner run: GRANT USAGE ON SCHEMA {name} TO {raw.info.user}"
            raise AccessDenied(what, f"PostgreSQL {raw.info.dbname}", fix)
        return None
    row = raw.execute("SELECT version FROM nanomem_schema").fetchone()
    return int(row[0]) if row is not None else 0


def check(found: int, where: str) -> None:
    """Raise NewerDatabase for a schema that this release does not know."""
    if found > VERSION:
        what = f"the database has schema {found}, this nanomem knows {VERSION}"
        raise NewerDatabase(what, where, "install a newer nanomem; nothing was changed")
