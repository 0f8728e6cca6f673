"""Collections in PostgreSQL: tables with a vector column of pgvector, its cosine distance and its HNSW index.

Owns the rows of one workspace in these tables. Makes no extension and no role: what the person who runs the server has
to do is said. All errors of the driver come out as errors of ours; no password is ever shown.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Container, Iterator, Sequence
from collections.abc import Collection as Sized
from typing import TYPE_CHECKING, Any, TypeVar

from nanomem_tui.core import settings
from nanomem_tui.core.errors import InvalidConfig, MissingExtra, NanomemError, StoreError, extra_command
from nanomem_tui.vectors.collection import ITEMS, Near, Row, nearest_among
from nanomem_tui.vectors.embedders import short_reason

if TYPE_CHECKING:
    from nanomem_tui.vectors.embedders import Vector

T = TypeVar("T")
SETTING = "pgvector_url"
TABLE = "nanomem_{}_{}"
"""One for each collection and number of dimensions: an index of pgvector is of one. That of items is called vectors."""
MOST_INDEXED = 2_000
"""Numbers of a vector beyond which pgvector has no HNSW index; such ones are compared one by one."""
EXACT = 200
"""Vectors asked for beyond which all are compared, and none is missed."""
FEW = 10_000
"""Keys up to which the server is asked about these alone."""
_CONNECT = {"connect_timeout": 5, "tcp_user_timeout": 20_000, "application_name": "nanomem"}
"""What libpq is told where the address does not say it: a network that is cut is noticed within 20 seconds."""
_LIMITS = "SET LOCAL lock_timeout TO '30s'; SET LOCAL statement_timeout TO '30s'"
_LOCK = 0x6E616E6F
"""Of the processes that make the table at the same time, one does."""
AGAIN = "it is done without meanwhile"


class PgServer:
    """A connection to the server at an address, made when it is used, and once more where the server let go of it.

    Nothing is prepared and nothing set beyond a transaction: it works behind a pool of transactions (PgBouncer).
    """

    def __init__(self, url: str) -> None:
        """Raises MissingExtra, or InvalidConfig for the address."""
        try:
            import psycopg
        except ImportError as error:
            what = f"`{SETTING}` needs psycopg, which is not installed"
            raise MissingExtra(what, SETTING, extra_command("postgres")) from error
        if not url.strip():
            fix = f"nanomem config set {SETTING} postgresql://user@host/database"
            raise InvalidConfig(f"vector_index is pgvector and {SETTING} is not set", "the settings", fix)
        settings.check_address(SETTING, url, "the settings")
        plain = re.sub(r"^postgres(ql)?(\+psycopg)?://", "postgresql://", url)
        try:
            self._settings = _CONNECT | psycopg.conninfo.conninfo_to_dict(plain)
        except psycopg.Error:  # its words may be those of a password
            raise settings.invalid_postgres_address(SETTING, "the settings") from None
        self._psycopg = psycopg
        self._lock = threading.RLock()
        self._connection: Any = None
        self.iterates = False
        """Whether its index goes on until it has enough, which it does since pgvector 0.8."""

    def check(self, connection: Any) -> None:
        """Raise StoreError where the extension is not there."""
        found = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
        if found is None:
            offered = connection.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'").fetchone()
            fix = "let its owner run: CREATE EXTENSION vector" if offered else "install pgvector on the server first"
            raise StoreError("the extension pgvector is not in that database", self.where, f"{fix}; {AGAIN}")
        self.iterates = tuple(int(part) for part in found[0].split(".")[:2] if part.isdigit()) >= (0, 8)

    def run(self, do: Callable[[Any], T]) -> T:
        """Do something in one transaction; once more, on a new connection, where the server let go of the old one."""
        with self._lock, self._told():
            fresh = self._connection is None
            try:
                return self._in_transaction(do)
            except self._psycopg.OperationalError:
                if fresh or not self._connection.closed:
                    raise
            self.close()
            return self._in_transaction(do)

    def _in_transaction(self, do: Callable[[Any], T]) -> T:
        if self._connection is None:
            self._connection = self._psycopg.connect(autocommit=True, prepare_threshold=None, **self._settings)
        with self._connection.transaction():
            self._connection.execute(_LIMITS)
            return do(self._connection)

    def close(self) -> None:
        """Let go of the connection."""
        with self._lock:
            if self._connection is not None:
                with contextlib.suppress(Exception):
                    self._connection.close()
                self._connection = None

    @property
    def where(self) -> str:
        """Which database it is, for a person."""
        at = self._settings.get("host") or "the default host"
        return f"PostgreSQL {self._settings.get('dbname') or ''} at {at}".replace("  ", " ")

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except NanomemError:
            raise
        except self._psycopg.errors.InsufficientPrivilege as error:
            fix = f"let its owner grant it: tables called nanomem_… are read and written, and made once; {AGAIN}"
            raise StoreError(f"a right is missing ({short_reason(error)})", self.where, fix) from error
        except self._psycopg.Error as error:
            raise StoreError(f"PostgreSQL cannot be used ({short_reason(error)})", self.where, AGAIN) from error


class PgCopy:
    """The collections of one workspace and model; see `meaning.Copy`."""

    name = "pgvector"

    def __init__(
        self, url: str, workspace_id: str, names: Sequence[str], dimension: int, model: str, *, anew: bool = False
    ) -> None:
        """Raises MissingExtra, InvalidConfig (the address) or StoreError (the server, its extension, its rights)."""
        self._server = PgServer(url)
        self.place = self._server.where
        self.collections = {name: PgCollection(self._server, name, dimension, workspace_id, model) for name in names}

        def prepare(connection: Any) -> None:
            self._server.check(connection)
            for collection in self.collections.values():
                collection.make(connection, anew=anew)

        try:
            self._server.run(prepare)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the connection."""
        self._server.close()


class PgCollection:
    """One table, of which the rows of a workspace and model are ours; see `collection.Collection`."""

    def __init__(self, server: PgServer, name: str, dimension: int, workspace_id: str, model: str) -> None:
        called = "vectors" if name == ITEMS else name
        self.table, self._tables = TABLE.format(called, dimension), f"^{TABLE.format(called, '[0-9]+')}$"
        self._owner = (workspace_id, model)
        self._server, self._dimension = server, dimension

    def make(self, connection: Any, *, anew: bool) -> None:
        """Make it with its index where it is not there, and take away the vectors of this workspace that are of other
        models, or of other numbers of dimensions; `anew`: all of them."""
        if connection.execute("SELECT to_regclass(%s)", (self.table,)).fetchone()[0] is None:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            connection.execute(
                f"CREATE TABLE IF NOT EXISTS {self.table} (workspace_id text NOT NULL, model text NOT NULL,"
                f" item_id text NOT NULL, text_hash text NOT NULL, embedding vector({self._dimension}) NOT NULL,"
                " PRIMARY KEY (workspace_id, model, item_id))"
            )
            if self._dimension <= MOST_INDEXED:
                index = f"{self.table}_near ON {self.table} USING hnsw (embedding vector_cosine_ops)"
                connection.execute(f"CREATE INDEX IF NOT EXISTS {index}")
        tables = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename ~ %s"
        for (table,) in connection.execute(tables, (self._tables,)).fetchall():
            kept = "" if anew or table != self.table else " AND model != %s"
            connection.execute(f"DELETE FROM {table} WHERE workspace_id = %s{kept}", self._owner[: 1 + bool(kept)])

    def __len__(self) -> int:
        query = f"SELECT count(*) FROM {self.table} WHERE workspace_id = %s AND model = %s"
        return int(self._server.run(lambda connection: connection.execute(query, self._owner).fetchone()[0]))

    def upsert(self, rows: Sequence[Row]) -> None:
        query = (
            f"INSERT INTO {self.table} (workspace_id, model, item_id, text_hash, embedding)"
            " VALUES (%s, %s, %s, %s, %s) ON CONFLICT (workspace_id, model, item_id)"
            " DO UPDATE SET text_hash = excluded.text_hash, embedding = excluded.embedding"
        )
        values = [
            (*self._owner, row.key, row.text_hash, _written(row.vector)) for row in rows if row.vector is not None
        ]
        if values:
            self._server.run(lambda connection: connection.cursor().executemany(query, values))

    def delete(self, keys: Sequence[str]) -> None:
        query = f"DELETE FROM {self.table} WHERE workspace_id = %s AND model = %s AND item_id = ANY(%s)"
        if keys:
            self._server.run(lambda connection: connection.execute(query, (*self._owner, list(keys))))

    def nearest(self, vector: Vector, count: int, among: Container[str] | None = None) -> list[Near]:
        if count <= 0:
            return []
        if isinstance(among, Sized) and len(among) <= FEW:
            return self._best(vector, count, list(among)) if among else []
        size = len(self) if among is not None else count
        return nearest_among(lambda wanted: self._best(vector, wanted, None), size, count, among)

    def _best(self, vector: Vector, count: int, keys: list[str] | None) -> list[Near]:
        chosen = "" if keys is None else " AND item_id = ANY(%s)"
        is_exact = keys is not None or count > EXACT
        query = (
            f"SELECT item_id, embedding <=> %s::vector AS far, text_hash FROM {self.table}"
            f" WHERE workspace_id = %s AND model = %s{chosen}"
            f" ORDER BY far{', item_id' if is_exact else ''} LIMIT %s"  # without, the index can give it
        )
        values = [_written(vector), *self._owner, *([keys] if keys is not None else []), count]

        def ask(connection: Any) -> list[Near]:
            if not is_exact:
                connection.execute(f"SET LOCAL hnsw.ef_search = {EXACT}")
                if self._server.iterates:
                    connection.execute("SET LOCAL hnsw.iterative_scan = strict_order")
            return [Near(key, max(0.0, float(far)), held) for key, far, held in connection.execute(query, values)]

        return sorted(self._server.run(ask), key=lambda one: (one.distance, one.key))


def _written(vector: Vector) -> str:
    """A vector as pgvector reads it."""
    return f"[{','.join(map(repr, vector.tolist()))}]"
