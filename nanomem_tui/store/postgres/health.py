"""What is wrong with a store in PostgreSQL: the server, its schema, the rights of our role, rows that are not what was
written. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from nanomem_tui.errors import NanomemError, Problem
from nanomem_tui.store.postgres import schema, tier_schema

if TYPE_CHECKING:
    from nanomem_tui.store.postgres.server import Server

_OFFERED = 20
_SEES = """SELECT NOT c.relrowsecurity OR r.rolsuper OR r.rolbypassrls OR EXISTS (SELECT 1 FROM pg_policy p
    WHERE p.polrelid = c.oid AND strpos(pg_get_expr(p.polqual, p.polrelid), quote_literal(current_user)) > 0)
    FROM pg_class c, pg_roles r WHERE c.oid = to_regclass('memory_entries') AND r.rolname = current_user"""
_MEMBER = "SELECT 1 FROM nanomem_members WHERE role = current_user AND workspace_id = %s"
_OWNER = "SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = to_regclass('nanomem_members')"


def problems(server: Server) -> Iterator[Problem]:
    """Everything that a look finds."""
    try:
        with server.alone() as raw:
            found = schema.found_in(raw)
            if found is None:
                yield from _hindered(raw, server.where)
                return
            schema.check(found, server.where)
            yield from _settings(raw, server.where)
            yield from _shut_out(raw, server)
            if found == schema.VERSION:
                yield from list(_lacking(raw, server.where))[:_OFFERED]
                yield from _walls(raw, server.where)
    except NanomemError as error:
        yield Problem(error.what, error.where or server.where, None, error.fix)


def _hindered(raw: Any, where: str) -> Iterator[Problem]:
    """What will keep the first change from making the tables."""
    yield from _read_only(raw, where)
    place = raw.execute("SELECT current_schema()").fetchone()[0]
    if place is None:
        what = f"none of the schemas of the search path is there ({raw.execute('SHOW search_path').fetchone()[0]})"
        yield Problem(what, where, None, "make one with CREATE SCHEMA, or correct the search_path")
    elif not raw.execute("SELECT has_schema_privilege(current_schema(), 'CREATE')").fetchone()[0]:
        what = f"the role {raw.info.user} may make no table in the schema {place}"
        yield Problem(what, where, None, f"let its owner run: GRANT CREATE ON SCHEMA {place} TO {raw.info.user}")
    for look in (schema.refuse_encoding, schema.parts_said):
        try:
            look(raw, where)
        except NanomemError as error:
            yield Problem(error.what, where, None, error.fix)


def _shut_out(raw: Any, server: Server) -> Iterator[Problem]:
    """What keeps our role from reading and writing this workspace."""
    yield from _read_only(raw, server.where)
    if not sees(raw, server.workspace_id):
        owner = raw.execute(_OWNER).fetchone()[0]
        what = f"the role {raw.info.user} is no member of this workspace: nothing of it is read or written"
        yield Problem(what, server.where, None, f"let {owner} run: {joining(raw, server.workspace_id)}")


def sees(raw: Any, workspace_id: str) -> bool:
    """Whether this role sees a workspace: every one, by the policy that names who made the tables, who owns them now or
    not, or this one as its member."""
    row = raw.execute(_SEES).fetchone()
    return bool(row is not None and row[0]) or raw.execute(_MEMBER, (workspace_id,)).fetchone() is not None


def joining(raw: Any, workspace_id: str) -> str:
    """The statement that makes this role a member of a workspace."""
    return f"INSERT INTO nanomem_members VALUES ('{raw.info.user}', '{workspace_id}')"


def _read_only(raw: Any, where: str) -> Iterator[Problem]:
    if raw.execute("SHOW transaction_read_only").fetchone()[0] == "on":
        what = "the server takes no changes (transaction_read_only): they wait in the ledger"
        yield Problem(what, where, None, "name the server that takes them, or set default_transaction_read_only = off")


def _settings(raw: Any, where: str) -> Iterator[Problem]:
    """Settings of the server by which a power cut may cost what was acknowledged."""
    for name in ("fsync", "full_page_writes"):
        if raw.execute(f"SHOW {name}").fetchone()[0] == "off":
            what = f"the server runs with {name} = off: a power cut may damage all of it"
            yield Problem(what, where, None, f"set {name} = on in its postgresql.conf")
    if raw.execute("SHOW synchronous_commit").fetchone()[0] == "off":
        what = "synchronous_commit is off: a crash of the server may cost the newest changes"
        yield Problem(what, where, None, "set synchronous_commit = on for this database or role", "warning")
    if raw.execute("SHOW server_encoding").fetchone()[0] != "UTF8":
        what = "the database is not of the encoding UTF8: texts may not fit"
        yield Problem(what, where, None, "make a database with `createdb -E UTF8`, and move there")


def _lacking(raw: Any, where: str) -> Iterator[Problem]:
    """Tables, columns and indexes that somebody took out."""
    from nanomem_tui.store import models  # half a second

    columns: dict[str, set[str]] = {}
    query = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()"
    for table, column in raw.execute(query):
        columns.setdefault(table, set()).add(column)
    indexes = {name for (name,) in raw.execute("SELECT indexname FROM pg_indexes WHERE schemaname = current_schema()")}
    tables = models.MemoryEntry.metadata.sorted_tables
    declared = {table.name: {column.name for column in table.columns} for table in tables}
    declared |= {name: set() for name in schema.OWN} | {n: set(found) for n, found in tier_schema.tables().items()}
    fix = "bring it back from a backup of the server"
    for table, names in declared.items():
        if table not in columns:
            yield Problem(f"lacks the table {table}", where, None, fix)
        elif lacks := (names | schema.BESIDE.get(table, set())) - columns[table]:
            yield Problem(f"the table {table} lacks {', '.join(sorted(lacks))}", where, None, fix)
    statements = [statement for made in schema.steps("").values() for statement in made]
    gone = {statement.split()[2] for statement in statements if statement.startswith("DROP INDEX")}
    for statement in (one for one in statements if one.startswith("CREATE INDEX")):
        if (name := statement.split()[2]) not in indexes | gone:
            yield Problem(f"lacks the index {name}: questions take long", where, None, f"run: {statement}", "warning")


def _walls(raw: Any, where: str) -> Iterator[Problem]:
    """Whether the database keeps workspaces apart for this role."""
    query = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
    row = raw.execute(query).fetchone()
    if row is not None and row[0]:
        what = "this role is a superuser, or passes by row level security: nothing keeps it from other workspaces"
        yield Problem(what, where, None, "use a role of its own: see docs/postgresql.md", "note")
    query = (
        "SELECT c.relname, coalesce(whole.relname, c.relname), pg_get_userbyid(c.relowner),"
        " c.relrowsecurity AND c.relforcerowsecurity, EXISTS (SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid)"
        " FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class whole ON whole.oid ="
        " i.inhparent WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')"
        " AND coalesce(whole.relname, c.relname) = ANY(%s) ORDER BY 1"
    )
    walled = [*schema.TABLES, *tier_schema.tables(), "memory_meta", "nanomem_leases", "nanomem_workspaces"]
    for name, like, owner, stands, has_policy in raw.execute(query, (walled,)):
        if stands and has_policy:
            continue
        *stand_up, policy = schema.walls_of({name: like}, owner)[name]
        if not stands:
            what = f"row level security is off for {name}: the database does not keep workspaces apart"
            yield Problem(what, where, None, "; ".join(stand_up))
        if not has_policy:
            what = f"the policy of {name} is gone: nobody sees a row of it"
            yield Problem(what, where, None, f"let {owner} run: {policy}")
