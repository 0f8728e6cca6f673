"""Who may see the memory of a workspace on a server: the members of the one role that its schema belongs to.

A schema that a person's own role made is that role's alone. The first `grant` makes a role without login that owns
schema and tables from then on; a member is a member of that role, and nothing is granted table by table. Who is no
member cannot name a table of it, so that nothing is read, written or locked.
"""

from __future__ import annotations

import secrets

from sqlalchemy import Connection, update

from nanomem_tui.database import operations
from nanomem_tui.database.postgres import PostgresDatabase
from nanomem_tui.errors import AccessDenied, NotFound, Refused

_HAS_LOGIN = "SELECT rolcanlogin FROM pg_roles WHERE rolname = %s"
_TABLES = (
    "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace"
    " WHERE nspname = %s AND relkind IN ('r', 'p', 'v', 'm', 'f') ORDER BY relname"
)
_MEMBERS = (
    "SELECT DISTINCT m.rolname FROM pg_auth_members a JOIN pg_roles g ON g.oid = a.roleid"
    " JOIN pg_roles m ON m.oid = a.member WHERE g.rolname = %s ORDER BY 1"
)


def members(database: PostgresDatabase) -> list[str]:
    """List the roles that see the memory; superusers see it too. Raises NotFound where there is no schema."""
    with database.reading() as connection:
        owner = _owner(database, connection)
        return [owner] if _is_a_persons(connection, owner) else _members_of(connection, owner)


def grant(database: PostgresDatabase, member: str) -> None:
    """Let a role see and change the memory. Raises NotFound for the role, or AccessDenied: the first one to be let in
    needs an owner with CREATEROLE, for the role of the workspace; others whoever made that."""
    with database.reading() as connection:
        owner = _owner(database, connection)
        if connection.exec_driver_sql(_HAS_LOGIN, (member,)).first() is None:
            raise NotFound("there is no such role on the server", member, f"make it: CREATE ROLE {member} LOGIN")
        statements = []
        group = owner
        if _is_a_persons(connection, owner):
            group = f"{database.schema[:50]}_{secrets.token_hex(4)}"
            statements = _to_group(database, connection, group, owner)
        statements.append(f"GRANT {database.quoted(group)} TO {database.quoted(member)}")
    try:
        with database.transaction() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)
    except AccessDenied as error:
        needed = statements[-1] if group == owner else f"ALTER ROLE {database.quoted(owner)} CREATEROLE"
        raise AccessDenied(error.what, error.where, f"let an administrator run: {needed}") from error


def revoke(database: PostgresDatabase, member: str) -> None:
    """Let a role see the memory no more, nor hear that it changes. Raises Refused for the role that asks, NotFound, or
    AccessDenied where somebody else let it in."""
    with database.transaction() as connection:
        owner = _owner(database, connection)
        if member == connection.exec_driver_sql("SELECT current_user").scalar_one():
            raise Refused("a role cannot take out itself", member, "let another member do it")
        if _is_a_persons(connection, owner) or member not in _members_of(connection, owner):
            raise NotFound("that role is no member", member, "nothing was changed")
        statement = f"REVOKE {database.quoted(owner)} FROM {database.quoted(member)}"
        connection.exec_driver_sql(statement)
        if member in _members_of(connection, owner):
            fix = f"let who let it in, or an administrator, run: {statement}"
            raise AccessDenied("somebody else made that role a member", member, fix)
        operations.take_turn(connection)  # tells it once more on the old channel, so that others look and change over
        channel = f"nanomem_{secrets.token_hex(12)}"
        connection.execute(update(operations.META).values(channel=channel))


def _to_group(database: PostgresDatabase, connection: Connection, group: str, owner: str) -> list[str]:
    """Return the statements that give schema and tables to a new role and make the owner a member of it."""
    tables = connection.exec_driver_sql(_TABLES, (database.schema,)).scalars()
    quoted, schema = database.quoted, database.quoted(database.schema)
    is_new = (connection.dialect.server_version_info or ()) >= (16,)  # who makes a role may let others in, by itself
    return [
        f"CREATE ROLE {quoted(group)} NOLOGIN",
        f"GRANT {quoted(group)} TO {quoted(owner)}{'' if is_new else ' WITH ADMIN OPTION'}",
        f"GRANT CREATE ON SCHEMA {schema} TO {quoted(group)}",
        *(f"ALTER TABLE {schema}.{quoted(table)} OWNER TO {quoted(group)}" for table in tables),
        f"ALTER SCHEMA {schema} OWNER TO {quoted(group)}",
    ]


def _owner(database: PostgresDatabase, connection: Connection) -> str:
    owner = database.owner(connection)
    if not owner:
        raise NotFound("this memory is not on the server", database.where, "it is made by the first change")
    return owner


def _is_a_persons(connection: Connection, role: str) -> bool:
    return bool(connection.exec_driver_sql(_HAS_LOGIN, (role,)).scalar())


def _members_of(connection: Connection, role: str) -> list[str]:
    return list(connection.exec_driver_sql(_MEMBERS, (role,)).scalars())
