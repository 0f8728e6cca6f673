"""What is wrong with a memory on a server: its settings, what our role may do, tables that are not as declared. Changes
nothing; for `nanomem doctor`."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection

from nanomem_tui.core.errors import NanomemError, Problem
from nanomem_tui.store import models
from nanomem_tui.store.postgres import PostgresDatabase, is_pooled

_ROLE = (
    "SELECT current_user, has_database_privilege(current_database(), 'CREATE'), rolsuper, current_database()"
    " FROM pg_roles WHERE rolname = current_user"
)
_SCHEMA = (
    "SELECT pg_get_userbyid(nspowner), pg_has_role(nspowner, 'USAGE'), EXISTS"
    " (SELECT FROM aclexplode(nspacl) WHERE grantee = 0) FROM pg_namespace WHERE nspname = %s"
)
_TABLES = (
    "SELECT c.relname, c.relowner <> n.nspowner, pg_has_role(c.relowner, 'USAGE'), array(SELECT attname::text FROM"
    " pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped)"
    " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relkind IN ('r', 'p')"
    " ORDER BY c.relname"
)
_VECTOR = (
    "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'vector'),"
    " EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector')"
)


def problems(database: PostgresDatabase, *, vectors: bool = False) -> list[Problem]:
    """List what is wrong with the server and what our role lacks there; `vectors`: also for an index of pgvector."""
    try:
        with database.reading() as connection:
            database.owner(connection)
            found = [*_of_settings(connection), *_of_rights(database, connection)]
            if vectors:
                found += _of_vectors(connection)
    except NanomemError as error:
        return [Problem(error.what, error.where or database.where, None, error.fix)]
    return [problem._replace(where=database.where) for problem in found]


def _of_settings(connection: Connection) -> Iterator[Problem]:
    settings = {
        name: str(connection.exec_driver_sql(f"SHOW {name}").scalar())
        for name in ("fsync", "full_page_writes", "synchronous_commit")
    }
    for name in ("fsync", "full_page_writes"):
        if settings[name] == "off":
            what = f"the server runs with {name} = off: a power cut may damage all of it"
            yield Problem(what, "", None, f"set {name} = on in its postgresql.conf")
    if settings["synchronous_commit"] == "off":
        what = "synchronous_commit is off: a crash of the server may cost the newest changes"
        yield Problem(what, "", None, "set synchronous_commit = on for this database or role", "warning")
    read_only = "SELECT pg_is_in_recovery(), current_setting('default_transaction_read_only') = 'on'"
    is_standby, takes_none = connection.exec_driver_sql(read_only).one()
    if is_standby or takes_none:
        what = "the server is a standby and takes no changes" if is_standby else "this role may change nothing here"
        fix = "name the server that takes changes, or set default_transaction_read_only = off"
        yield Problem(what, "", None, fix)
    if is_pooled(connection):
        what = "a pool stands before the server: commits of others are seen within two seconds, not at once"
        yield Problem(what, "", severity="note")


def _of_rights(database: PostgresDatabase, connection: Connection) -> Iterator[Problem]:
    role, may_make, is_superuser, name = connection.exec_driver_sql(_ROLE).one()
    if is_superuser:
        what = f"the role {role} is a superuser: nothing keeps it from other workspaces"
        yield Problem(what, "", None, "use a role of its own: see docs/postgresql.md", "note")
    schema = connection.exec_driver_sql(_SCHEMA, (database.schema,)).first()
    quoted = database.quoted
    if schema is None:
        if not may_make:
            what = f"the role {role} may make no schema in the database {name}, and this memory is not there yet"
            fix = f"let its owner run: GRANT CREATE ON DATABASE {quoted(name)} TO {quoted(role)}"
            yield Problem(what, "", None, fix)
        return
    owner, has_all, is_open = schema
    if not has_all:
        fix = f"let an administrator run: ALTER ROLE {quoted(role)} INHERIT; GRANT {quoted(owner)} TO {quoted(role)}"
        yield Problem(f"the role {role} may look into the schema, and not do what {owner} may", "", None, fix)
    if is_open:
        fix = f"run: REVOKE ALL ON SCHEMA {quoted(database.schema)} FROM PUBLIC"
        yield Problem("every role of the database may look into the schema", "", None, fix)
    yield from _of_tables(database, connection, owner)


def _of_tables(database: PostgresDatabase, connection: Connection, owner: str) -> Iterator[Problem]:
    """Tables and columns that somebody took out, or made under a role of their own."""
    there = {}
    for table, belongs_to_another, is_ours, columns in connection.exec_driver_sql(_TABLES, (database.schema,)):
        there[table] = columns
        if belongs_to_another:
            name = f"{database.quoted(database.schema)}.{database.quoted(table)}"
            fix = f"let its owner run: ALTER TABLE {name} OWNER TO {database.quoted(owner)}"
            if is_ours:
                fix = f"`nanomem doctor --fix` gives it to {owner}"
            yield Problem(f"the table {table} does not belong to {owner}: members may not see it", "", None, fix)
    tables = models.METADATA.sorted_tables
    leases = models.table(models.Lease).name  # the work makes it too, and an agent may tell of its work first
    is_made = any(table.name in there for table in tables if table.name != leases)
    for declared in tables if is_made else ():
        lacking = {column.name for column in declared.columns} - set(there.get(declared.name, ()))
        if lacking:
            what = f"the table {declared.name} lacks {', '.join(sorted(lacking))}"
            if declared.name not in there:
                what = f"lacks the table {declared.name}"
            yield Problem(what, "", None, "bring it back from a backup of the server")


def _of_vectors(connection: Connection) -> Iterator[Problem]:
    is_made, is_installed = connection.exec_driver_sql(_VECTOR).one()
    if not is_made:
        fix = "let an administrator run in this database: CREATE EXTENSION vector"
        if not is_installed:
            fix = f"install pgvector on the server, then {fix}"
        yield Problem("the extension pgvector is not in the database", "", None, fix)
