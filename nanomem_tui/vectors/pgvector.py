"""The index in PostgreSQL: a table with a vector column of pgvector, its cosine distance and its HNSW index.

Owns that table's rows of one workspace. Makes no extension and no role: what the person who runs the server has to do
is said. All errors of the driver come out as errors of ours; no password is ever shown.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, TypeVar

from nanomem_tui.errors import InvalidConfig, NanomemError, StoreError
from nanomem_tui.store.postgres import pool, server
from nanomem_tui.vectors.index import Entry, Found, Known, accepted

if TYPE_CHECKING:
    from nanomem_tui.vectors.index import Vectors

T = TypeVar("T")
SETTING = "pgvector_url"
TABLE = "nanomem_vectors_{}"
"""One for each number of dimensions: an index of pgvector is of one."""
MOST_INDEXED = 2_000
"""Numbers of a vector beyond which pgvector has no HNSW index; such ones are compared one by one."""
EXACT = 200
"""Vectors asked for beyond which all are compared, and none is missed."""
FEW = 10_000
"""Ids up to which the server is asked about these alone."""
STATEMENT = 30_000
"""Milliseconds for a statement."""
_LOCK = 0x6E616E6F
"""Of the processes that make the table at the same time, one does."""
AGAIN = "the rows are searched meanwhile"


class PgServer:
    """A connection to the server at an address, made when it is used, and once more where the server let go of it."""

    def __init__(self, url: str) -> None:
        """Raises MissingExtra, or InvalidConfig for the address."""
        self._lock = threading.RLock()
        self._settings = address(url)
        self._psycopg = server.driver(SETTING)
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
            self._connection = pool.connected(self._psycopg, self._settings, STATEMENT)
        with self._connection.transaction():
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
            raise StoreError(f"a right is missing ({_said(error)})", self.where, fix) from error
        except self._psycopg.Error as error:
            raise StoreError(f"PostgreSQL cannot be used ({_said(error)})", self.where, AGAIN) from error


class PgTable:
    """The vectors of one workspace and model in one table, with an index of its own."""

    def __init__(self, server: PgServer, name: str, dimension: int, workspace_id: str, model: str) -> None:
        self.name = name
        self.owner = (workspace_id, model)
        self._server, self._dimension = server, dimension

    def make(self, connection: Any) -> bool:
        """Make it with its index where it is not there; whether that was done."""
        if connection.execute("SELECT to_regclass(%s)", (self.name,)).fetchone()[0] is not None:
            return False
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {self.name} (workspace_id text NOT NULL, model text NOT NULL,"
            f" item_id text NOT NULL, text_hash text NOT NULL, embedding vector({self._dimension}) NOT NULL,"
            " PRIMARY KEY (workspace_id, model, item_id))"
        )
        if self._dimension <= MOST_INDEXED:
            connection.execute(
                f"CREATE INDEX IF NOT EXISTS {self.name}_near ON {self.name} USING hnsw (embedding vector_cosine_ops)"
            )
        return True

    def clear(self, connection: Any, others: str, *, anew: bool) -> None:
        """Take away the vectors of this workspace in tables called so (a regular expression): those of other models,
        and of other numbers of dimensions; `anew`: all of them."""
        workspace_id, model = self.owner
        tables = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename ~ %s"
        for (table,) in connection.execute(tables, (others,)).fetchall():
            kept = "" if anew or table != self.name else " AND model != %s"
            connection.execute(
                f"DELETE FROM {table} WHERE workspace_id = %s{kept}", (workspace_id, model)[: 1 + bool(kept)]
            )

    def put(self, entries: Sequence[Known], vectors: Vectors) -> None:
        """Take these vectors in place of those it had."""
        query = (
            f"INSERT INTO {self.name} (workspace_id, model, item_id, text_hash, embedding)"
            " VALUES (%s, %s, %s, %s, %s) ON CONFLICT (workspace_id, model, item_id)"
            " DO UPDATE SET text_hash = excluded.text_hash, embedding = excluded.embedding"
        )
        rows = [
            (*self.owner, entry.key, entry.text_hash, _written(vector))
            for entry, vector in zip(entries, vectors, strict=True)
        ]
        self._server.run(lambda connection: connection.cursor().executemany(query, rows))

    def remove(self, keys: Sequence[str]) -> None:
        """Forget these."""
        query = f"DELETE FROM {self.name} WHERE workspace_id = %s AND model = %s AND item_id = ANY(%s)"
        self._server.run(lambda connection: connection.execute(query, (*self.owner, list(keys))))

    def best(self, vector: Vectors, limit: int, keys: list[str] | None = None) -> list[tuple[float, str, str]]:
        """The nearest, at most `limit` (`keys`: of these alone): distance, id and hash of the text, nearest first."""
        chosen = "" if keys is None else " AND item_id = ANY(%s)"
        query = (
            f"SELECT item_id, embedding <=> %s::vector AS far, text_hash FROM {self.name}"
            f" WHERE workspace_id = %s AND model = %s{chosen} ORDER BY far, item_id LIMIT %s"
        )
        if keys is None and limit <= EXACT:
            query = query.replace("ORDER BY far, item_id", "ORDER BY far")  # what the index can give
        values = [_written(vector), *self.owner, *([keys] if keys is not None else []), limit]

        def ask(connection: Any) -> list[tuple[float, str, str]]:
            if keys is None and limit <= EXACT:
                connection.execute(f"SET LOCAL hnsw.ef_search = {EXACT}")
                if self._server.iterates:
                    connection.execute("SET LOCAL hnsw.iterative_scan = strict_order")
            return [(max(0.0, float(far)), key, held) for key, far, held in connection.execute(query, values)]

        return sorted(self._server.run(ask))

    def vector(self, key: str) -> Vectors | None:
        """The vector of one, None where there is none."""
        import numpy as np

        query = f"SELECT embedding::text FROM {self.name} WHERE workspace_id = %s AND model = %s AND item_id = %s"
        found = self._server.run(lambda connection: connection.execute(query, (*self.owner, key)).fetchone())
        return None if found is None else np.array(found[0].strip("[]").split(","), np.float32)


class PgIndex:
    """The vectors of one workspace and model in a table of PostgreSQL. Opened with what it holds."""

    name = "pgvector"

    def __init__(self, url: str, workspace_id: str, dimension: int, model: str, *, anew: bool = False) -> None:
        """Raises MissingExtra, InvalidConfig (the address) or StoreError (the server, its extension, its rights)."""
        self._lock = threading.RLock()
        self._server = PgServer(url)
        self._table = PgTable(self._server, TABLE.format(dimension), dimension, workspace_id, model)

        def prepare(connection: Any) -> None:
            self._server.check(connection)
            self._table.make(connection)
            self._table.clear(connection, f"^{TABLE.format('[0-9]+')}$", anew=anew)

        try:
            self._server.run(prepare)
            query = f"SELECT item_id, text_hash FROM {self._table.name} WHERE workspace_id = %s AND model = %s"
            rows = self._server.run(lambda connection: connection.execute(query, self._table.owner).fetchall())
        except BaseException:
            self.close()
            raise
        self._hashes: dict[str, str] = dict(rows)

    def __len__(self) -> int:
        return len(self._hashes)

    def held(self) -> Mapping[str, str]:
        with self._lock:
            return dict(self._hashes)

    def put(self, entries: Sequence[Entry], vectors: Vectors) -> None:
        self._table.put(entries, vectors)
        with self._lock:
            self._hashes.update((entry.key, entry.text_hash) for entry in entries)

    def remove(self, keys: Iterable[str]) -> None:
        gone = [key for key in keys if key in self._hashes]
        if not gone:
            return
        self._table.remove(gone)
        with self._lock:
            for key in gone:
                self._hashes.pop(key, None)

    def nearest(self, vector: Vectors, limit: int, within: Container[str] | None = None) -> Found:
        if limit <= 0 or not self._hashes:
            return []
        if isinstance(within, AbstractSet) and len(within) <= FEW:
            return self._best(vector, limit, list(within)) if within else []
        return accepted(lambda size: self._best(vector, size, None), len(self), limit, within)

    def _best(self, vector: Vectors, limit: int, keys: list[str] | None) -> Found:
        return [(key, far) for far, key, _ in self._table.best(vector, limit, keys) if key in self._hashes]

    def vector(self, key: str) -> Vectors | None:
        return self._table.vector(key)

    def close(self) -> None:
        self._server.close()


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:160] or type(error).__name__


def _written(vector: Vectors) -> str:
    """A vector as pgvector reads it."""
    return f"[{','.join(map(repr, vector.tolist()))}]"


def address(url: str) -> dict[str, Any]:
    """The parts of an address. Raises InvalidConfig where there is none, and what `server.address` does."""
    if not url.strip():
        fix = f"nanomem config set {SETTING} postgresql://user@host/database"
        raise InvalidConfig(f"vector_index is pgvector and {SETTING} is not set", "the settings", fix)
    return server.address(url, SETTING)
