"""A PostgreSQL database, as the store asks it: connections that speak the SQL of this package, pooled and made anew
when the server comes back; every error of the driver as one of ours.

Owns addresses, connections and errors. Must not know what the tables hold. No password is ever shown.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from nanomem_tui import setting_values
from nanomem_tui.errors import AccessDenied, CorruptDatabase, DiskFull, MissingExtra, StoreError
from nanomem_tui.installing import extra_command
from nanomem_tui.store.postgres.pool import Pool, connected, pool_of

if TYPE_CHECKING:
    from nanomem_tui.store.sql import Connection, Cursor

AT_ONCE = 500
"""Rows of a long answer that are fetched at a time."""
WAITS = "what was acknowledged waits in the ledger and is written when it answers"
_REFUSALS = ("role ", "authentication", "no pg_hba.conf entry", "unsupported startup parameter", "no such user",
             "not permitted", "invalid value for parameter", "unrecognized configuration parameter")  # fmt: skip
_SETTINGS = "the settings"
_CURSORS = itertools.count(1)
_GUC = "nanomem.workspace"
"""The setting by which the database lets a connection see one workspace."""


class Server:
    """The database at an address, for one workspace. Connects when it is first asked. Thread-safe."""

    def __init__(self, url: str, workspace_id: str) -> None:
        """Raises MissingExtra, or InvalidConfig for the address."""
        self.settings = address(url)
        self.workspace_id = workspace_id
        self._url = url
        self._psycopg = driver()
        self._pool: Pool | None = None

    @property
    def where(self) -> str:
        """Which database it is, for a person."""
        at = self.settings.get("host") or self.settings.get("hostaddr") or "the default host"
        name = self.settings.get("dbname") or self.settings.get("user") or ""
        port = f":{self.settings['port']}" if self.settings.get("port") else ""
        return f"PostgreSQL {name} at {at}{port}".replace("  ", " ")

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection on which every answer is of one moment. Raises the errors of `told`."""
        begin = self._begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        with self.told(), self.pool.taken(begin) as raw:
            yield self._bound(raw)
            raw.execute("ROLLBACK")

    @contextlib.contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[Connection]:
        """One transaction, committed at the end; not `durable`: it does not wait for the disk. Raises the errors of
        `told`; where the server went away during the commit, whether it was made is known when it is back."""
        begin = self._begin("BEGIN", *(() if durable else ("SET LOCAL synchronous_commit = off",)))
        with self.told(), self.pool.taken(begin) as raw:
            yield self._bound(raw)
            raw.execute("COMMIT")

    @contextlib.contextmanager
    def alone(self) -> Iterator[Any]:
        """A connection of the driver without a transaction, for who makes the schema or listens; closed at the end."""
        with self.told():
            raw = self.connect()
            try:
                yield raw
            finally:
                raw.close()

    def connect(self) -> Any:
        """A new connection of the driver. Raises its errors."""
        raw = connected(self._psycopg, self.settings)
        raw.adapters.register_dumper(bool, _truth_dumper())
        return raw

    def _begin(self, how: str, *also: str) -> str:
        """What begins a transaction, in one round trip. The workspace is set for the transaction alone, which a pool
        between us and the server keeps for us."""
        mark = "SET LOCAL {} = '{}'".format(_GUC, self.workspace_id.replace("'", "''"))
        return "; ".join((how, mark, *also))

    def _bound(self, raw: Any) -> Connection:
        return cast("Connection", PgConnection(raw))

    def close(self) -> None:
        """Let go of it."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.let_go()

    @property
    def pool(self) -> Pool:
        """The connections of this process, which every workspace on that database shares."""
        if self._pool is None:
            self._pool = pool_of(self._url, self.connect, self._psycopg.Error)
        return self._pool

    @contextlib.contextmanager
    def told(self) -> Iterator[None]:
        """Turn errors of the driver into ours: StoreError, AccessDenied, DiskFull, CorruptDatabase."""
        try:
            yield
        except self._psycopg.Error as error:
            raise self.in_our_words(error) from error
        except UnicodeError as error:
            what = "a text that the encoding of the database does not hold"
            raise StoreError(what, self.where, "run `nanomem doctor`") from error

    def in_our_words(self, error: Exception) -> StoreError | AccessDenied | DiskFull:
        """The error of our tree for one of the driver's."""
        errors, said = self._psycopg.errors, _said(error)
        if isinstance(error, errors.InsufficientPrivilege | errors.InvalidAuthorizationSpecification):
            fix = "docs/postgresql.md says what the role needs"
            return AccessDenied(f"a right is missing ({said})", self.where, fix)
        if isinstance(error, errors.DiskFull | errors.OutOfMemory):
            return DiskFull(f"the server has no room ({said})", self.where, f"free some space there; {WAITS}")
        if isinstance(error, errors.InvalidCatalogName) or _names_no_database(str(error)):
            return StoreError(f"there is no such database ({said})", self.where, "make it with `createdb`, once")
        if isinstance(error, errors.LockNotAvailable | errors.DeadlockDetected | errors.SerializationFailure):
            return StoreError("the database is locked by another process", self.where, "try again in a moment")
        if isinstance(error, errors.QueryCanceled):
            return StoreError(f"the server took too long ({said})", self.where, WAITS)
        if isinstance(error, errors.DataCorrupted | errors.IndexCorrupted):
            return CorruptDatabase(f"the server says that its data is damaged ({said})", self.where, "see its log")
        if isinstance(error, self._psycopg.OperationalError):
            if _is_refused(str(error)):
                fix = f"correct the address, the role or its password (~/.pgpass); {WAITS}"
                return StoreError(f"PostgreSQL refuses the connection ({said})", self.where, fix)
            return StoreError(f"PostgreSQL does not answer ({said})", self.where, f"see that it runs; {WAITS}")
        return StoreError(f"PostgreSQL cannot do that ({said})", self.where, "run `nanomem doctor`")


class PgConnection:
    """A connection of psycopg with the face of `sql.Connection`: `?` for a value."""

    is_on_a_server = True

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    @property
    def info(self) -> Any:
        """What the driver knows of the connection."""
        return self._raw.info

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Cursor:
        """Do one statement."""
        return cast("Cursor", self._raw.execute(spoken(sql), _kept(parameters)))

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> object:
        """Do one statement for each of these."""
        if rows := list(map(_kept, parameters)):
            self._raw.cursor().executemany(spoken(sql), rows)
        return None

    def each(self, sql: str, parameters: Sequence[Any] = ()) -> Iterator[Any]:
        """The rows of an answer, `AT_ONCE` of them at a time; within a transaction."""
        with self._raw.cursor(f"nanomem_{next(_CURSORS)}") as cursor:
            cursor.itersize = AT_ONCE
            cursor.execute(spoken(sql), _kept(parameters))
            yield from cursor


def _kept(values: Sequence[Any]) -> tuple[Any, ...]:
    """Values as the server keeps them: it has no NUL in a text."""
    return tuple(value.replace("\0", "\u2400") if type(value) is str and "\0" in value else value for value in values)


@functools.lru_cache(maxsize=1_000)
def spoken(sql: str) -> str:
    """A statement of ours as psycopg takes it: `%s` for `?`, outside of texts."""
    parts = re.split(r"('(?:[^']|'')*')", sql.replace("%", "%%"))
    return "".join(part if part.startswith("'") else part.replace("?", "%s") for part in parts)


def address(url: str, setting: str = "database_url") -> dict[str, Any]:
    """The parts of an address, which stands in `setting`. Raises InvalidConfig for one that is none, or that holds a
    password; and MissingExtra."""
    psycopg = driver(setting)
    setting_values.check_address(setting, url, _SETTINGS)
    try:
        plain = re.sub(r"^postgres(ql)?(\+psycopg)?://", "postgresql://", url)
        parts: dict[str, Any] = psycopg.conninfo.conninfo_to_dict(plain)
    except psycopg.Error:  # its words may be those of a password
        raise setting_values.no_postgres(setting, _SETTINGS) from None
    if parts.get("password"):
        raise setting_values.with_password(setting, _SETTINGS)
    return parts


def driver(setting: str = "database_url") -> Any:
    """psycopg. Raises MissingExtra."""
    try:
        import psycopg
        import psycopg.conninfo
    except ImportError as error:
        what = f"`{setting}` needs psycopg, which is not installed"
        raise MissingExtra(what, setting, extra_command("postgres")) from error
    return psycopg


@functools.cache
def _truth_dumper() -> Any:
    """How a truth is told to the server: as the small number that it is in SQLite."""
    from psycopg.adapt import Dumper

    class Truth(Dumper):  # type: ignore[misc]  # of a package that may not be here
        oid = 21  # smallint

        def dump(self, obj: Any) -> bytes:
            return b"1" if obj else b"0"

    return Truth


def _names_no_database(text: str) -> bool:
    """Whether a connection was refused because of that: such an error of the driver has no code."""
    return 'FATAL:  database "' in text and text.rstrip().endswith("does not exist")


def _is_refused(text: str) -> bool:
    """Whether a connection was refused for what it said of itself, which no waiting mends: such an error of the driver
    has no code either."""
    if "invalid" in text and "FATAL:" not in text:
        return "connection option" in text or "value" in text
    return "FATAL:" in text and any(sign in text for sign in _REFUSALS)


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
