"""Collections outside the file of vectors: in Chroma, in a folder that nanomem made or on a server, or in PostgreSQL
with the extension pgvector. Items lie in Chroma as the crystallized system (seed 003) has them, records as seed 004
calls them.

Owns whose a folder, a collection or a table is: one of somebody else is never written. Nothing of what stands there is
held here. All errors of Chroma and of the server come out as errors of ours, so that whoever asks can do without it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Collection as Sized
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from nanomem_tui.agents.databases import OURS
from nanomem_tui.core import atomic, clock, files
from nanomem_tui.core import settings as core_settings
from nanomem_tui.core.errors import (
    BadInput,
    InvalidConfig,
    MissingExtra,
    NanomemError,
    Refused,
    StoreError,
    extra_command,
    from_os_error,
)
from nanomem_tui.store.values import Fact
from nanomem_tui.vectors.collection import ITEMS, MOST, Near, Row, fact_of_item, nearest_among
from nanomem_tui.vectors.embedders import short_reason

if TYPE_CHECKING:
    from nanomem_tui.core.paths import Paths
    from nanomem_tui.core.settings import Settings
    from nanomem_tui.store.values import Item
    from nanomem_tui.vectors.embedders import Vector


COLLECTION = "nanobot_memory"
"""What the collection of items is called (seed 003)."""
SPACE = {"hnsw:space": "cosine"}
OWNER, MODEL = "nanomem_workspace", "nanomem_model"
"""Metadata of a collection: the workspace that it is of, and the model of its vectors."""
ITEM, HASH = "nanomem_id", "nanomem_hash"
"""Metadata beside that of the seed: the id of the item, and the hash of the text that was embedded."""
NAMES = ("domain", "category", "sub_category", "key", "value")
"""Metadata of the seed that a fact has of its own."""
DOMAIN = "nanomem"
"""The domain of an item that is no fact, as in an export: its category is the kind, its key the id."""
MARKER, LOCK = OURS, "nanomem.lock"
"""Files in a folder of ours: whose it is, and the lock of the process that uses it."""
PATIENCE = 10.0
"""Seconds that a server has for an answer."""
FEW = 200
"""Keys up to which Chroma is asked about these alone."""
AGAIN = "`nanomem memory reindex --vectors` makes it anew; until then it is done without"


def chroma_location(settings: Settings, paths: Paths, *, is_of_records: bool = False) -> Path | str:
    """Where the settings want it, in a folder or at the address of a server; records in a folder beside that of items,
    as one process uses a folder at a time. Raises InvalidConfig for an address that is none."""
    if settings.chroma_url:
        core_settings.check_address("chroma_url", settings.chroma_url, "the settings")
        return settings.chroma_url
    folder = paths.data / "chroma" / paths.own_id.name
    return folder.with_name(f"{folder.name}-records") if is_of_records else folder


class ChromaCopy:
    """The collections of one workspace and model; see `meaning.Copy`."""

    name = "chroma"

    def __init__(
        self, place: Path | str, workspace_id: str, names: Sequence[str], model: str,
        items: Mapping[str, Item] | None = None, *, anew: bool = False,
    ) -> None:  # fmt: skip
        """`place`: see `place_of`; `items`: what documents and metadata of items are made of; `anew`: it is emptied.

        Raises MissingExtra, Refused (another process uses the folder, or it is somebody else's) or StoreError."""
        self._folder = place if isinstance(place, Path) else None
        self.place, self._workspace_id = str(place), workspace_id
        self._open = contextlib.ExitStack()
        try:
            self._client = self._made(_chromadb(), "records" if items is None else COLLECTION, anew=anew)
            lock = threading.RLock()
            with self.own_errors():
                self.collections = {
                    name: ChromaCollection(
                        self, self._collection(COLLECTION if name == ITEMS else name, model, anew=anew), items, lock
                    )
                    for name in names
                }
                self.keep_private()
        except BaseException:
            self._open.close()
            raise

    def _made(self, chromadb: Any, mark: str, *, anew: bool) -> Any:
        """A client that sends no telemetry, and waits for nobody for good."""
        quiet = chromadb.config.Settings(anonymized_telemetry=False)
        if self._folder is None:
            parts = urlsplit(self.place)
            with self.own_errors():
                import httpx  # Chroma's own client waits for good, and says nothing of who does not answer

                httpx.get(f"{self.place.rstrip('/')}/api/v2/heartbeat", timeout=PATIENCE).raise_for_status()
                client = chromadb.HttpClient(parts.hostname, parts.port, parts.scheme == "https", settings=quiet)
                client._server._session.timeout = PATIENCE
        else:
            self._hold(self._folder, mark, anew=anew)
            self._open.callback(_forget, chromadb, self.place)
            with self.own_errors():
                client = chromadb.PersistentClient(self.place, settings=quiet)
        self._open.callback(close_client, client)
        return client

    def _hold(self, folder: Path, mark: str, *, anew: bool) -> None:
        """Hold a folder that is ours, made where there is none; `anew`: emptied. Raises Refused, or what keeps that
        from being done."""
        check_owner(folder, self._workspace_id)
        try:
            atomic.make_folder(folder)
            self._open.enter_context(atomic.locked(folder / LOCK, wait=0))
            for entry in list(folder.iterdir()) if anew else ():
                if entry.is_dir() and not entry.is_symlink():
                    shutil.rmtree(entry)
                elif entry.name not in (LOCK, MARKER):
                    entry.unlink()
            if not (folder / MARKER).exists():
                body = json.dumps({"workspace": self._workspace_id, "collection": mark})
                atomic.write_atomic(folder / MARKER, body.encode())
        except Refused as error:
            what = "another process of ours uses the Chroma folder"
            raise Refused(what, str(folder), "the rows are searched meanwhile") from error
        except OSError as error:
            raise from_os_error(error, "opening the Chroma folder") from error

    def _collection(self, name: str, model: str, *, anew: bool) -> Any:
        """The collection of a name, made where there is none, that of ours is of another model, or it is wanted `anew`.
        Raises Refused for one of somebody else."""
        marks = {OWNER: self._workspace_id, MODEL: model}
        with contextlib.suppress(ValueError, _chromadb().errors.NotFoundError):
            found = self._client.get_collection(name, embedding_function=None)
            has = found.metadata or {}
            if has.get(OWNER) != self._workspace_id:
                what = f"the collection {name} there is not of this workspace"
                raise Refused(what, self.place, "import it, and use another `chroma_url`")
            if has.get(MODEL) == model and not anew:
                return found
            self._client.delete_collection(name)
        return self._client.create_collection(name, metadata={**SPACE, **marks}, embedding_function=None)

    def keep_private(self) -> None:
        """Nobody else may read what Chroma writes, with the modes that it likes."""
        if self._folder is not None:
            for folder, _, names in os.walk(self._folder):
                os.chmod(folder, atomic.PRIVATE_FOLDER)
                for name in names:
                    with contextlib.suppress(FileNotFoundError):
                        os.chmod(os.path.join(folder, name), atomic.PRIVATE_FILE)

    @contextlib.contextmanager
    def own_errors(self) -> Iterator[None]:
        """What Chroma raises as an error of ours; a panic of its engine is one too."""
        try:
            yield
        except NanomemError:
            raise
        except BaseException as error:
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            raise StoreError(f"Chroma cannot be used ({short_reason(error)})", self.place, AGAIN) from error

    def close(self) -> None:
        """Let go of the client and of its folder."""
        self._open.close()


class ChromaCollection:
    """One collection; see `collection.Collection`."""

    def __init__(
        self, copy: ChromaCopy, collection: Any, items: Mapping[str, Item] | None, lock: threading.RLock
    ) -> None:
        self._copy, self._collection, self._items, self._lock = copy, collection, items, lock

    def __len__(self) -> int:
        with self._lock, self._copy.own_errors():
            return int(self._collection.count())

    def upsert(self, rows: Sequence[Row]) -> None:
        """Leave out an item that is gone by now."""
        with self._lock, self._copy.own_errors():
            rows = [row for row in rows if row.vector is not None and (self._items is None or row.key in self._items)]
            if not rows:
                return
            written: dict[str, Any] = {"embeddings": [row.vector for row in rows]}
            if self._items is None:
                written["ids"] = [row.key for row in rows]
                written["metadatas"] = [{HASH: row.text_hash, "at": row.at} for row in rows]
            else:
                items = [self._items[row.key] for row in rows]
                written["ids"] = self._named(items)
                written["metadatas"] = [metadata(item, row.text_hash) for item, row in zip(items, rows, strict=True)]
                written["documents"] = [document(item) for item in items]
            self._collection.upsert(**written)
            self._copy.keep_private()

    def _named(self, items: Sequence[Item]) -> list[str]:
        """Ids for these items: `fact::category::key` as the seed has it, unless another one has it. Who has one keeps
        it as long as it fits; those that fit no longer are taken away."""
        wanted = {item.id: ids_of(item) for item in items}
        found = self._collection.get(where={ITEM: {"$in": [*wanted]}}, include=["metadatas"])
        had = {str(marks[ITEM]): called for called, marks in zip(found["ids"], found["metadatas"], strict=True)}
        kept = {key: called for key, called in had.items() if called in wanted[key]}
        if gone := set(found["ids"]) - set(kept.values()):
            self._collection.delete(ids=sorted(gone))
        every = sorted({one for ids in wanted.values() for one in ids})
        taken = {*self._collection.get(ids=every, include=[])["ids"], *kept.values()}
        for key, ids in wanted.items():
            if key not in kept:
                kept[key] = next((one for one in ids if one not in taken), f"item::{key}")
                taken.add(kept[key])
        return [kept[item.id] for item in items]

    def delete(self, keys: Sequence[str]) -> None:
        if keys:
            with self._lock, self._copy.own_errors():
                which = {"ids": list(keys)} if self._items is None else {"where": {ITEM: {"$in": list(keys)}}}
                self._collection.delete(**which)

    def nearest(self, vector: Vector, count: int, among: Container[str] | None = None) -> list[Near]:
        with self._lock, self._copy.own_errors():
            size = int(self._collection.count())
            if count <= 0 or not size:
                return []
            if self._items is not None and isinstance(among, Sized) and len(among) <= FEW:
                return self._best(vector, min(count, size), list(among)) if among else []
            return nearest_among(lambda wanted: self._best(vector, min(wanted, size), None), size, count, among)

    def _best(self, vector: Vector, count: int, keys: Iterable[str] | None) -> list[Near]:
        where = None if keys is None else {ITEM: {"$in": list(keys)}}
        found = self._collection.query(
            query_embeddings=[vector], n_results=count, where=where, include=["distances", "metadatas"]
        )
        rows = zip(found["ids"][0], found["distances"][0], found["metadatas"][0], strict=True)
        near = [
            (max(0.0, float(far)), str((marks or {}).get(ITEM, called)), str((marks or {}).get(HASH, "")))
            for called, far, marks in rows
        ]
        return [Near(key, far, held) for far, key, held in sorted(near)]


# -- how an item stands there ---------------------------------------------------------------------------------------


def ids_of(item: Item) -> list[str]:
    """The ids that an item may have, the best first: for a fact that of the seed, with the domain where another one has
    that, and with its own id where that is still the id of two."""
    fact = fact_of_item(item)
    if fact is None:
        return [f"item::{item.id}"]
    plain = f"fact::{fact.category}::{fact.key}"
    domain = "::".join(filter(None, ("fact", fact.domain, fact.category, fact.key)))
    return list(dict.fromkeys((plain, domain, f"{domain}::{item.id}")))


def metadata(item: Item, text_hash: str) -> dict[str, str]:
    """The metadata of an item, which a reader of the seed's finds as it wrote them."""
    fact = fact_of_item(item)
    shown = fact or Fact(item.id, DOMAIN, item.kind, None, item.id, item.text, item)
    named = {name: (getattr(shown, name) or "")[:MOST] for name in NAMES}
    moment = clock.parse(item.updated_at)
    local = clock.local_naive(moment.replace(microsecond=0)) if moment is not None else ""
    return {"type": "fact" if fact else "item", **named, "updated_at": local, ITEM: item.id, HASH: text_hash}


def document(item: Item) -> str:
    """The document of an item: the four lines of the seed for a fact."""
    fact = fact_of_item(item)
    if fact is None:
        return item.text[:MOST]
    lines = f"Domain: {fact.domain or ''}\nКатегория: {fact.category}\nКлюч: {fact.key}\nЗначение: {fact.value}"
    return lines[:MOST]


# -- the library and the folder -------------------------------------------------------------------------------------


def _chromadb() -> Any:
    try:
        import chromadb
        import chromadb.api.client
        import chromadb.config
        import chromadb.errors
    except ImportError as error:
        what = f"the index in Chroma needs chromadb, which is not installed ({error.name})"
        raise MissingExtra(what, "vector_index", extra_command("chroma")) from error
    return chromadb


def close_client(client: Any) -> None:
    """Close a client, and the connections of HTTP that it leaves open."""
    with contextlib.suppress(Exception):
        client.close()
    for part in (client, getattr(client, "_admin_client", None)):
        session = getattr(getattr(part, "_server", None), "_session", None)
        if session is not None:
            session.close()


def _forget(chromadb: Any, folder: str) -> None:
    """Chroma keeps what it opened by its path, also what it could not open."""
    known = chromadb.api.client.SharedSystemClient
    for part in ("_identifier_to_system", "_identifier_to_refcount"):
        getattr(known, part, {}).pop(folder, None)


def check_owner(folder: Path, workspace_id: str) -> None:
    """Raise Refused unless a folder is ours, empty, or not there; BadInput for what is no folder, or as
    `from_os_error`."""
    try:
        names = {entry.name for entry in os.scandir(folder)}
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise BadInput("no folder", str(folder), "move it away") from None
    except OSError as error:
        raise from_os_error(error, "looking at the Chroma folder") from error
    fix = "move it to another place"
    if not names - {LOCK}:
        return
    try:
        owner = files.loads((folder / MARKER).read_bytes())["workspace"]
    except (OSError, ValueError, TypeError, KeyError):
        raise Refused("a Chroma folder that nanomem did not make is not written", str(folder), fix) from None
    if owner != workspace_id:
        raise Refused("the Chroma folder is of another workspace", str(folder), fix)


# -- Collections in PostgreSQL: tables with a vector column of pgvector, its cosine distance and its HNSW index.

T = TypeVar("T")
SETTING = "pgvector_url"
TABLE = "nanomem_{}_{}"
"""One for each collection and number of dimensions: an index of pgvector is of one. That of items is called vectors."""
MOST_INDEXED = 2_000
"""Numbers of a vector beyond which pgvector has no HNSW index; such ones are compared one by one."""
EXACT = 200
"""Vectors asked for beyond which all are compared, and none is missed."""
_FEW_ROWS = 10_000
"""Keys up to which the server is asked about these alone."""
_CONNECT = {"connect_timeout": 5, "tcp_user_timeout": 20_000, "application_name": "nanomem"}
"""What libpq is told where the address does not say it: a network that is cut is noticed within 20 seconds."""
_LIMITS = "SET LOCAL lock_timeout TO '30s'; SET LOCAL statement_timeout TO '30s'"
_LOCK = 0x6E616E6F
"""Of the processes that make the table at the same time, one does."""
_SET_AGAIN = "it is done without meanwhile"


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
        core_settings.check_address(SETTING, url, "the settings")
        plain = re.sub(r"^postgres(ql)?(\+psycopg)?://", "postgresql://", url)
        try:
            self._settings = _CONNECT | psycopg.conninfo.conninfo_to_dict(plain)
        except psycopg.Error:  # its words may be those of a password
            raise core_settings.invalid_postgres_address(SETTING, "the settings") from None
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
            raise StoreError("the extension pgvector is not in that database", self.where, f"{fix}; {_SET_AGAIN}")
        self.iterates = tuple(int(part) for part in found[0].split(".")[:2] if part.isdigit()) >= (0, 8)

    def run(self, do: Callable[[Any], T]) -> T:
        """Do something in one transaction; once more, on a new connection, where the server let go of the old one."""
        with self._lock, self._own_errors():
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
    def _own_errors(self) -> Iterator[None]:
        try:
            yield
        except NanomemError:
            raise
        except self._psycopg.errors.InsufficientPrivilege as error:
            fix = f"let its owner grant it: tables called nanomem_… are read and written, and made once; {_SET_AGAIN}"
            raise StoreError(f"a right is missing ({short_reason(error)})", self.where, fix) from error
        except self._psycopg.Error as error:
            raise StoreError(f"PostgreSQL cannot be used ({short_reason(error)})", self.where, _SET_AGAIN) from error


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
        if isinstance(among, Sized) and len(among) <= _FEW_ROWS:
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
