"""Who shares a memory: leases say who does a piece of work, such as a Dream, for all; members see it on a server.

Owns the table `leases`, and the one role that the schema of a workspace belongs to. A lease lapses by the server's
clock, so that who holds it and dies lets go of it; no advisory lock is used, which anybody on the server could take.
Must not know what the work is.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sqlalchemy import Connection, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from nanomem_tui.core.errors import AccessDenied, NanomemError, NotFound, Refused
from nanomem_tui.store import models, operations
from nanomem_tui.store.engine import Database

if TYPE_CHECKING:
    from nanomem_tui.store.postgres import PostgresDatabase

LEASES = models.table(models.Lease)
SECONDS = 60.0
"""How long a lease holds unless it is renewed."""


@contextlib.contextmanager
def held(database: Database, work: str, seconds: float = SECONDS) -> Iterator[bool]:
    """Whether this process got the lease for a piece of work; it is renewed until the end. Raises StoreError.

    Somebody else may get it before the end where this process sleeps, or does not reach the server, for `seconds`: what
    the work writes is compared in any case.
    """
    holder = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
    if not _take(database, work, holder, seconds):
        yield False
        return
    over = threading.Event()

    def renew() -> None:
        while not over.wait(seconds / 3):
            with contextlib.suppress(NanomemError):  # asked again later
                _take(database, work, holder, seconds)

    renewing = threading.Thread(target=renew, name="nanomem-lease", daemon=True)
    renewing.start()
    try:
        yield True
    finally:
        over.set()
        renewing.join()
        mine = (LEASES.c.work == work) & (LEASES.c.holder == holder)
        with contextlib.suppress(NanomemError), database.writing(durable=False) as connection:  # it lapses by itself
            connection.execute(update(LEASES).where(mine).values(until=0.0))


def take(connection: Connection, work: str, holder: str, seconds: float = SECONDS) -> bool:
    """Take a lease that nobody holds, or renew one's own, in the transaction of the caller; whether that was done.
    Raises IntegrityError where another process makes it in this moment."""
    now = _now(connection)
    free = (LEASES.c.until <= now) | (LEASES.c.holder == holder)
    taken = update(LEASES).where(LEASES.c.work == work, free).values(holder=holder, until=now + seconds)
    if connection.execute(taken).rowcount:
        return True
    if connection.execute(select(LEASES.c.work).where(LEASES.c.work == work)).first() is not None:
        return False
    connection.execute(insert(LEASES).values(work=work, holder=holder, until=now + seconds))
    return True


def is_held(connection: Connection, work: str) -> bool:
    """Whether anybody holds the lease for a piece of work."""
    asked = select(LEASES.c.work).where(LEASES.c.work == work, LEASES.c.until > _now(connection))
    return connection.execute(asked).first() is not None


def drop(connection: Connection, work: str) -> None:
    """Let go of the lease for a piece of work that is done for good."""
    connection.execute(delete(LEASES).where(LEASES.c.work == work))


def _take(database: Database, work: str, holder: str, seconds: float) -> bool:
    try:
        with database.writing(durable=False) as connection:
            return take(connection, work, holder, seconds)
    except IntegrityError:  # another process made the row in this moment
        return False


def _now(connection: Connection) -> float:
    """The time in seconds, by the clock that all who share the memory have in common."""
    if connection.dialect.name == "sqlite":
        return time.time()
    return float(connection.execute(select(func.extract("epoch", func.clock_timestamp()))).scalar_one())


# -- the members of a workspace ---------------------------------------------------------------------------------------

_HAS_LOGIN = "SELECT rolcanlogin FROM pg_roles WHERE rolname = %s"
_TABLES = (
    "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace"
    " WHERE nspname = %s AND relkind IN ('r', 'p', 'v', 'm', 'f') ORDER BY relname"
)
_STRAYS = (
    "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = %s"
    " AND relkind IN ('r', 'p') AND relowner <> nspowner AND pg_has_role(relowner, 'USAGE') ORDER BY relname"
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
        statements = _to_owner(database, connection, owner)
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
        operations.next_revision(connection)  # tells it on the old channel too, so that others look
        channel = f"nanomem_{secrets.token_hex(12)}"
        connection.execute(update(operations.META).values(channel=channel))


def act_as_owner(connection: Connection) -> None:
    """Make what the rest of a transaction makes on a server belong to the owner of the schema: all members see it."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(
            "SELECT set_config('role', pg_get_userbyid(nspowner)::text, true)"
            " FROM pg_namespace WHERE nspname = current_schema()"
        )


def strays(database: PostgresDatabase) -> list[str]:
    """List the tables of ours that do not belong to the owner of the schema: other members do not see them. Raises
    NotFound where there is no schema."""
    with database.reading() as connection:
        _owner(database, connection)
        return _strays(database, connection)


def give_strays_to_owner(database: PostgresDatabase) -> None:
    """Give the tables of `strays` to the owner of the schema. Raises NotFound, AccessDenied, or StoreError."""
    with database.transaction() as connection:
        for statement in _to_owner(database, connection, _owner(database, connection)):
            connection.exec_driver_sql(statement)


def _strays(database: PostgresDatabase, connection: Connection) -> list[str]:
    return list(connection.exec_driver_sql(_STRAYS, (database.schema,)).scalars())


def _to_owner(database: PostgresDatabase, connection: Connection, owner: str) -> list[str]:
    quoted, schema = database.quoted, database.quoted(database.schema)
    return [f"ALTER TABLE {schema}.{quoted(table)} OWNER TO {quoted(owner)}" for table in _strays(database, connection)]


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
