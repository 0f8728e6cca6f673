"""The schema of one workspace on a PostgreSQL server: connections, problems and members. Needs the extra `postgres`.

Owns how commits of others are noticed, the server's errors in our words, what `nanomem doctor` says of a server, and
who may see a memory. Nothing is set beyond a transaction and nothing is prepared, so that it works behind a pool of
transactions (PgBouncer). No password is shown.
"""

from __future__ import annotations

import contextlib
import secrets
import shlex
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    MetaData,
    bindparam,
    column,
    create_engine,
    event,
    exc,
    func,
    inspect,
    make_url,
    select,
    table,
    update,
)
from sqlalchemy.schema import CreateSchema

from nanomem_tui.core import settings
from nanomem_tui.core.errors import (
    AccessDenied,
    CorruptDatabase,
    DiskFull,
    MissingExtra,
    NanomemError,
    NewerDatabase,
    NotFound,
    Problem,
    Refused,
    ServerAway,
    StoreError,
    extra_command,
)
from nanomem_tui.store.database import bookkeeping, models
from nanomem_tui.store.database.engine import BUSY_SECONDS

OLDEST = 13
"""The oldest version of PostgreSQL that is used."""
POLL_SECONDS = 2.0
"""How often the server is asked for commits of others; a notification only hastens it."""
_OF_CONNECTIONS = {
    "connect_timeout": "5", "keepalives_idle": "10", "keepalives_interval": "5", "keepalives_count": "3",
    "tcp_user_timeout": "20000",
}  # fmt: skip
"""What libpq is told where the address does not say it: a network that is cut is noticed within 25 seconds."""
_LIMITS = "SET LOCAL lock_timeout TO '30s'; SET LOCAL statement_timeout TO '2min'"
_READING = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_WRITING = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED"
"""Whatever the server's default: who waited for the turn of another must see what that one committed."""
_SCHEMA = (
    "SELECT pg_get_userbyid(nspowner), current_user, has_schema_privilege(oid, 'USAGE'),"
    " EXISTS (SELECT FROM pg_class WHERE relnamespace = n.oid AND relname = %s AND relkind = 'r')"
    " FROM pg_namespace n WHERE nspname = %s"
)
_SESSIONS = table("pg_stat_activity", column("datname"), column("application_name"), column("pid"))
_OTHERS = select(func.count(), func.pg_stat_clear_snapshot()).where(
    _SESSIONS.c.datname == func.current_database(), _SESSIONS.c.application_name == bindparam("name"),
    _SESSIONS.c.pid != func.pg_backend_pid(),
)  # fmt: skip
_REFUSALS = ("role ", "authentication", "no pg_hba.conf entry", "unsupported startup parameter", "no such user",
             "not permitted", "invalid value for parameter", "unrecognized configuration parameter")  # fmt: skip
"""In what a server says when it refuses a connection for what that says of itself; such an error has no code."""
_MISTAKES = ("invalid connection option", "invalid sslmode value", "invalid port number", "invalid integer value")
"""In what libpq says of an address that it cannot use."""


class PostgresDatabase:
    """One schema on a PostgreSQL server. See `engine.Database`."""

    def __init__(self, url: str, schema: str, *, poll_seconds: float = POLL_SECONDS, sign: str = "meta") -> None:
        """Connects when it is first asked. `sign`: the table by which it is known that the tables were made. Raises
        InvalidConfig for the address, or MissingExtra."""
        self.url = url
        self.schema = schema
        self._sign = sign
        self._poll_seconds = poll_seconds
        self._application = f"nanomem {schema}"[:63]
        self._engine = _engine(url, self._application)
        self._password = self._engine.url.password
        self.quoted = self._engine.dialect.identifier_preparer.quote_identifier
        self._path = f"SET LOCAL search_path TO {self.quoted(schema)}; {_LIMITS}"
        self._asking = threading.Lock()
        self._watching: Connection | None = None
        self._polled = -poll_seconds
        self._state: Sequence[Any] = ()

    @property
    def where(self) -> str:
        """See `Database.where`."""
        url = self._engine.url
        host = url.host or url.query.get("host") or "local"
        return f"PostgreSQL {host}{f':{url.port}' if url.port else ''}/{url.database} (schema {self.schema})"

    def exists(self) -> bool:
        """See `Database.exists`. Raises AccessDenied where this role may not look into the schema."""
        with self.transaction(_READING) as connection:
            return self.is_made(connection)

    def is_made(self, connection: Connection) -> bool:
        """Whether the tables were made, as a transaction sees it. Raises as `exists`."""
        return self._read_owner(connection)[1]

    def version(self) -> str:
        """Return which release the server is."""
        with self.transaction(_READING) as connection:
            return str(connection.execute(select(func.current_setting("server_version"))).scalar_one())

    @contextlib.contextmanager
    def making(self) -> Iterator[Connection]:
        """See `Database.making`. What is made belongs to the owner of the schema, whoever of the members makes it."""
        with self.transaction(_WRITING) as connection:
            connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(self.schema, 0))))
            owner = self.owner(connection)
            if owner:
                connection.exec_driver_sql(f"SET LOCAL ROLE {self.quoted(owner)}")
            else:
                connection.execute(CreateSchema(self.schema))
            yield connection

    @contextlib.contextmanager
    def alone(self) -> Iterator[Connection]:
        """See `Database.alone`. Behind a pool others cannot be seen; who writes later is told where the memory is."""
        self.close()
        with self.transaction(_WRITING) as connection:
            bookkeeping.wait_for_writers(connection)
            until = time.monotonic() + BUSY_SECONDS
            while connection.execute(_OTHERS, {"name": self._application}).scalar_one():
                if time.monotonic() > until:
                    raise Refused("another process has the memory open", self.where, "end it, then try again")
                time.sleep(0.1)
            connection.exec_driver_sql("SET LOCAL statement_timeout TO 0")
            yield connection

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """See `Database.reading`."""
        with self.transaction(_READING) as connection:
            yield connection

    @contextlib.contextmanager
    def writing(self, *, durable: bool) -> Iterator[Connection]:
        """See `Database.writing`. Not `durable`: the server may lose it in a crash of its own. Raises ServerAway also
        where the commit may have gone through."""
        how = _WRITING if durable else f"{_WRITING}; SET LOCAL synchronous_commit TO off"
        with self.transaction(how) as connection:
            yield connection

    @contextlib.contextmanager
    def transaction(self, how: str = _WRITING) -> Iterator[Connection]:
        """A transaction that begins with `how`, in the schema. Raises StoreError and its kin, or IntegrityError."""
        with self._in_our_words(), self._engine.begin() as connection:
            connection.exec_driver_sql(f"{self._path}; {how}")
            yield connection

    def owner(self, connection: Connection) -> str:
        """Return the role that the schema belongs to; "" where there is no schema. Raises AccessDenied for who is no
        member of that role."""
        return self._read_owner(connection)[0]

    def compact(self) -> None:
        """Let the server take what was deleted out of the files of the tables, as far as this role may."""
        with self._in_our_words(), self._engine.connect() as connection:
            alone = connection.execution_options(isolation_level="AUTOCOMMIT")
            for name in inspect(alone).get_table_names(self.schema):
                alone.exec_driver_sql(f"VACUUM {self.quoted(self.schema)}.{self.quoted(name)}")

    def _read_owner(self, connection: Connection) -> tuple[str, bool]:
        """The owner of the schema, and whether the tables were made in it."""
        found = connection.exec_driver_sql(_SCHEMA, (self._sign, self.schema)).first()
        if found is None:
            return "", False
        owner, role, may_look, is_made = found
        if not may_look:
            fix = "let a role that is one make it a member: see docs/postgresql.md"
            raise AccessDenied(f"the role {role} is no member of this workspace", self.where, fix)
        return owner, is_made

    # -- commits of others --------------------------------------------------------------------------------------

    def changed(self) -> bool:
        """See `Database.changed`. Asks the server when it notified us, and every `POLL_SECONDS`; else it waits for
        nothing. One that does not answer is asked again after that time, and by one thread."""
        if not self._asking.acquire(blocking=False):
            return False
        try:
            return self._ask()
        finally:
            self._asking.release()

    def _ask(self) -> bool:
        was_watching = self._watching is not None
        try:
            with self._in_our_words():
                is_due = time.monotonic() - self._polled >= self._poll_seconds
                return (self._has_heard() or is_due) and self._poll()
        except NanomemError as error:
            self._stop_watching()
            self._polled = time.monotonic()
            if not (was_watching and isinstance(error, ServerAway)):
                raise
        self._polled = -self._poll_seconds  # the server ended an idle connection: it may be there again
        return self._ask()

    def _poll(self) -> bool:
        self._watching = self._watching or self._watch()
        self._polled = time.monotonic()
        meta = models.META.to_metadata(MetaData(), schema=self.schema).c
        found = self._watching.execute(select(meta.revision, meta.epoch, meta.channel))
        state, before = found.one(), self._state
        self._state = state
        if not before or state[2] != before[2]:
            self._listen(self._watching, state[2])
        return state != before

    def _watch(self) -> Connection:
        """A connection of its own, on which each statement is a transaction."""
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        connection.detach()
        self._state = ()
        return connection

    def _listen(self, connection: Connection, channel: str) -> None:
        """Listen on a channel, unless the server's end of the connection may be given to others; a database that is
        spread over machines may know no such thing."""
        if not is_pooled(connection):
            with contextlib.suppress(exc.DBAPIError):
                connection.exec_driver_sql("UNLISTEN *")
                connection.exec_driver_sql(f"LISTEN {self.quoted(channel)}")

    def _has_heard(self) -> bool:
        if self._watching is None:
            return False
        driver: Any = self._watching.connection.dbapi_connection
        return bool(list(driver.notifies(timeout=0)))

    def _stop_watching(self) -> None:
        if self._watching is not None:
            with contextlib.suppress(exc.DBAPIError):
                self._watching.close()
            self._watching = None

    def close(self) -> None:
        """Let go of every connection."""
        self._stop_watching()
        self._engine.dispose()

    # -- errors -------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _in_our_words(self) -> Iterator[None]:
        import psycopg

        try:
            yield
        except exc.IntegrityError:
            raise
        except exc.DBAPIError as error:
            raise self._named(error.orig or error) from error
        except psycopg.Error as error:
            raise self._named(error) from error

    def _named(self, error: BaseException) -> NanomemError:
        """The error of our tree for one of the driver's, by the server's code; a refused connection has none."""
        import psycopg

        code, said = getattr(error, "sqlstate", None) or "", self._error_text(error)
        if code in ("42P01", "3F000", "42703"):
            return self._missing(said)
        if code == "42501":
            fix = "docs/postgresql.md says what the role needs; `nanomem doctor` what it lacks"
            return AccessDenied(f"a right is missing ({said})", self.where, fix)
        if code == "25006":
            fix = "name the server that takes changes, or set default_transaction_read_only = off"
            return AccessDenied(f"the server takes no changes ({said})", self.where, fix)
        if code in ("53100", "53200"):
            return DiskFull(f"the server has no room ({said})", self.where, "free some space there")
        if code in ("55P03", "40P01", "40001"):
            return StoreError("the database is locked by another process", self.where, "try again in a moment")
        if code == "57014":
            return StoreError(f"the server took too long ({said})", self.where, "try again in a moment")
        if code in ("XX001", "XX002"):
            return CorruptDatabase(f"the server says that its data is damaged ({said})", self.where, "see its log")
        if code == "3D000" or ('database "' in said and "does not exist" in said):
            fix = f"make it once: createdb -E UTF8 {shlex.quote(self._engine.url.database or '')}"
            return StoreError(f"there is no such database ({said})", self.where, fix)
        if any(sign in said for sign in (_REFUSALS if "FATAL:" in said else _MISTAKES)):
            fix = "correct `database_url`, the role or its password (~/.pgpass)"
            return StoreError(f"the connection is refused ({said})", self.where, fix)
        if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
            return ServerAway(f"the server does not answer ({said})", self.where, "see that it runs, then try again")
        return StoreError(f"the server cannot do that ({said})", self.where, "run `nanomem doctor`")

    def _missing(self, said: str) -> NanomemError:
        """What it means that a table, or a column of it, is not seen."""
        if not self.exists():
            fix = "it is made by the first change, or by `nanomem migrate-store`"
            return StoreError("this memory is not on the server", self.where, fix)
        return NewerDatabase(f"the tables are of another version of nanomem ({said})", self.where, "update nanomem")

    def _error_text(self, error: BaseException) -> str:
        said = " ".join(str(error).split())[:200] or type(error).__name__
        return said.replace(self._password, "…") if isinstance(self._password, str) and self._password else said


def is_pooled(connection: Connection) -> bool:
    """Whether a pool stands between us and the server, which may give the server's end to others at any time."""
    driver: Any = connection.connection.dbapi_connection
    return bool(connection.execute(select(func.pg_backend_pid())).scalar_one() != driver.info.backend_pid)


def _engine(url: str, application: str) -> Engine:
    try:
        parsed = _url(url)
        known = {name: value for name, value in _OF_CONNECTIONS.items() if name not in parsed.query}
        engine = create_engine(
            parsed, pool_size=5, max_overflow=20, pool_pre_ping=True, use_native_hstore=False,
            connect_args={"prepare_threshold": None, "application_name": application, **known},
        )  # fmt: skip
    except ImportError as error:
        what = "`database_url` needs psycopg, which is not installed"
        raise MissingExtra(what, "database_url", extra_command("postgres")) from error
    except exc.ArgumentError:  # its words may be those of a password
        raise settings.invalid_postgres_address("database_url", "the settings") from None
    event.listen(engine, "connect", _refuse, insert=True)
    return engine


def _url(url: str) -> URL:
    """The address as SQLAlchemy has it. Raises InvalidConfig, which repeats no word of it."""
    for scheme in ("postgresql+psycopg://", "postgresql://", "postgres://"):
        if url.startswith(scheme):
            with contextlib.suppress(ValueError, exc.ArgumentError):
                return make_url(f"postgresql+psycopg://{url.removeprefix(scheme)}")
    raise settings.invalid_postgres_address("database_url", "the settings")


def _refuse(driver: Any, _record: object) -> None:
    """Refuse a server that is too old, and a database that does not hold every text."""
    version = driver.info.server_version // 10_000
    if version < OLDEST:
        driver.close()
        what = f"the server is PostgreSQL {version}, and {OLDEST} is the oldest that is used"
        raise StoreError(what, "database_url", "update the server")
    encoding = driver.info.parameter_status("server_encoding")
    if encoding not in ("UTF8", None):  # a pool may not tell; the server refuses what does not fit then
        name = shlex.quote(f"{driver.info.dbname}_utf8")
        driver.close()
        what = f"the database has the encoding {encoding}: not every text fits"
        fix = f"make a database with `createdb -E UTF8 -T template0 {name}`, and name that one"
        raise StoreError(what, "database_url", fix)


# What is wrong with a memory on a server: its settings, what our role may do, tables that are not as declared.
# Changes nothing; for `nanomem doctor`.

_ROLE = (
    "SELECT current_user, has_database_privilege(current_database(), 'CREATE'), rolsuper, current_database()"
    " FROM pg_roles WHERE rolname = current_user"
)
_POSTGRES_PROBLEMS_SCHEMA = (
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


def server_problems(database: PostgresDatabase, *, vectors: bool = False) -> list[Problem]:
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
    schema = connection.exec_driver_sql(_POSTGRES_PROBLEMS_SCHEMA, (database.schema,)).first()
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
    for name, belongs_to_another, is_ours, columns in connection.exec_driver_sql(_TABLES, (database.schema,)):
        there[name] = columns
        if belongs_to_another:
            full = f"{database.quoted(database.schema)}.{database.quoted(name)}"
            fix = f"let its owner run: ALTER TABLE {full} OWNER TO {database.quoted(owner)}"
            if is_ours:
                fix = f"`nanomem doctor --fix` gives it to {owner}"
            yield Problem(f"the table {name} does not belong to {owner}: members may not see it", "", None, fix)
    tables = models.METADATA.sorted_tables
    leases = models.table(models.Lease).name  # the work makes it too, and an agent may tell of its work first
    is_made = any(one.name in there for one in tables if one.name != leases)
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


# -- the members of a workspace ---------------------------------------------------------------------------------------

_HAS_LOGIN = "SELECT rolcanlogin FROM pg_roles WHERE rolname = %s"

_MEMBER_TABLES = (
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
        bookkeeping.next_revision(connection)  # tells it on the old channel too, so that others look
        channel = f"nanomem_{secrets.token_hex(12)}"
        connection.execute(update(models.META).values(channel=channel))


def act_as_owner(connection: Connection) -> None:
    """Make what the rest of a transaction makes on a server belong to the owner of the schema: all members see it."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(
            "SELECT set_config('role', pg_get_userbyid(nspowner)::text, true)"
            " FROM pg_namespace WHERE nspname = current_schema()"
        )


def foreign_owned_tables(database: PostgresDatabase) -> list[str]:
    """List the tables of ours that do not belong to the owner of the schema: other members do not see them. Raises
    NotFound where there is no schema."""
    with database.reading() as connection:
        _owner(database, connection)
        return _strays(database, connection)


def give_tables_to_owner(database: PostgresDatabase) -> None:
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
    tables = connection.exec_driver_sql(_MEMBER_TABLES, (database.schema,)).scalars()
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
