"""The index in Chroma: a collection as the crystallized system (seed 003) has it, in a folder of ours or on a server.

Owns that collection and the folder that it made; a folder or a collection of somebody else is never written. All errors
of Chroma come out as errors of ours, so that whoever asks can do without it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import threading
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from nanomem_tui.errors import BadInput, InvalidConfig, MissingExtra, NanomemError, Refused, StoreError, from_os_error
from nanomem_tui.store import atomic
from nanomem_tui.vectors import documents
from nanomem_tui.vectors.index import Entry, Found, accepted

if TYPE_CHECKING:
    from nanomem_tui.paths import Paths
    from nanomem_tui.settings import Settings
    from nanomem_tui.vectors.index import Vectors

COLLECTION = "nanobot_memory"
SPACE = {"hnsw:space": "cosine"}
OWNER, MODEL = "nanomem_workspace", "nanomem_model"
"""Metadata of the collection: the workspace that it is of, and the model of its vectors."""
MARKER, LOCK = "nanomem.json", "nanomem.lock"
"""Files in a folder of ours: whose it is, and the lock of the process that uses it."""
PART = 1_000
"""Entries that Chroma is given, or asked for, at a time."""
FEW = 200
"""Ids up to which Chroma is asked about these alone."""
PATIENCE = 10.0
"""Seconds that a server has for an answer."""
AGAIN = "`nanomem memory reindex --vectors` makes it anew; until then the rows are searched"


class Place(NamedTuple):
    """Where the collection is: in a `folder`, or on the server at `url`."""

    folder: Path | None
    url: str = ""


def place_of(settings: Settings, paths: Paths) -> Place:
    """Where the settings want it. Raises InvalidConfig for an address that is none."""
    if settings.chroma_url:
        try:
            parts = urlsplit(settings.chroma_url)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port is not None
        except ValueError:
            usable = False
        if not usable:
            what = f"`chroma_url` is no address: {settings.chroma_url!r}"
            raise InvalidConfig(what, "the settings", "nanomem config set chroma_url http://127.0.0.1:8000")
        return Place(None, settings.chroma_url)
    if settings.chroma_path:
        return Place(paths.workspace / Path(settings.chroma_path).expanduser())
    return Place(paths.data / "chroma" / paths.own_id.name)


class ChromaIndex:
    """The vectors of one workspace and model in a collection of Chroma. Opened with what it holds."""

    name = "chroma"

    def __init__(self, place: Place, workspace_id: str, dimension: int, model: str, *, anew: bool = False) -> None:
        """Raises MissingExtra, Refused (another process uses the folder, or it is somebody else's) or StoreError."""
        self._place, self._dimension = place, dimension
        self._owner = {OWNER: workspace_id, MODEL: model}
        self._lock = threading.RLock()
        self._ids = documents.Ids()
        self._hashes: dict[str, str] = {}
        self._open = contextlib.ExitStack()
        try:
            client = self._client(_chromadb(), workspace_id, anew=anew)
            with self._told():
                self._collection = self._opened(client, anew=anew)
                self._read()
        except BaseException:
            self._open.close()
            raise

    # -- opening ------------------------------------------------------------------------------------------------

    def _client(self, chromadb: Any, workspace_id: str, *, anew: bool) -> Any:
        """A client that sends no telemetry, and waits for nobody for good."""
        quiet = chromadb.config.Settings(anonymized_telemetry=False)
        if self._place.folder is None:
            parts = urlsplit(self._place.url)
            with self._told():
                import httpx  # Chroma's own client waits for good, and says nothing of who does not answer

                httpx.get(f"{self._place.url.rstrip('/')}/api/v2/heartbeat", timeout=PATIENCE).raise_for_status()
                client = chromadb.HttpClient(parts.hostname, parts.port, parts.scheme == "https", settings=quiet)
                client._server._session.timeout = PATIENCE
        else:
            self._open.enter_context(_ours(self._place.folder, workspace_id, anew=anew))
            self._open.callback(_forget, chromadb, self._place.folder)
            with self._told():
                client = chromadb.PersistentClient(str(self._place.folder), settings=quiet)
        self._open.callback(_close, client)
        return client

    def _opened(self, client: Any, *, anew: bool) -> Any:
        """The collection, made where there is none, or where that of ours is of another model."""
        with contextlib.suppress(ValueError, _chromadb().errors.NotFoundError):
            found = client.get_collection(COLLECTION, embedding_function=None)
            marks = found.metadata or {}
            if marks.get(OWNER) != self._owner[OWNER]:
                what = f"the collection {COLLECTION} there is not of this workspace"
                raise Refused(what, self._where, "import it, and use another `chroma_url` or `chroma_path`")
            if marks.get(MODEL) == self._owner[MODEL] and not anew:
                return found
            client.delete_collection(COLLECTION)
        return client.create_collection(COLLECTION, metadata={**SPACE, **self._owner}, embedding_function=None)

    def _read(self) -> None:
        """What the collection holds; what is not of ours in it is removed."""
        strange: list[str] = []
        start = 0
        while True:
            found = self._collection.get(include=["metadatas"], limit=PART, offset=start)
            for called, marks in zip(found["ids"], found["metadatas"], strict=True):
                key, text_hash = (marks or {}).get(documents.ITEM), (marks or {}).get(documents.HASH)
                if isinstance(key, str) and isinstance(text_hash, str) and key not in self._hashes:
                    self._ids.begin(key, called, documents.place_of(marks))
                    self._hashes[key] = text_hash
                else:
                    strange.append(called)
            start += PART
            if len(found["ids"]) < PART:
                break
        self._delete(strange)

    # -- the protocol of an index -------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._hashes)

    def held(self) -> Mapping[str, str]:
        with self._lock:
            return dict(self._hashes)

    def put(self, entries: Sequence[Entry], vectors: Vectors) -> None:
        with self._lock, self._told():
            marks = {entry.key: documents.metadata(entry) for entry in entries}
            called = self._ids.change({key: documents.place_of(found) for key, found in marks.items()}, ())
            self._rename({key: name for key, name in called.items() if key not in marks})
            before = {self._ids.of.get(key, name) for key, name in called.items() if key in marks}
            self._delete(before - set(called.values()))
            for start in range(0, len(entries), PART):
                part = entries[start : start + PART]
                self._collection.upsert(
                    ids=[called[entry.key] for entry in part],
                    embeddings=[*vectors[start : start + PART]],
                    metadatas=[marks[entry.key] for entry in part],
                    documents=[documents.document(entry.item) for entry in part],
                )
            self._ids.settle({key: name for key, name in called.items() if key in marks}, ())
            self._hashes.update((entry.key, entry.text_hash) for entry in entries)
            self._keep_private()

    def remove(self, keys: Iterable[str]) -> None:
        with self._lock, self._told():
            gone = [key for key in keys if key in self._hashes]
            called = self._ids.change({}, gone)
            self._delete(self._ids.of[key] for key in gone)
            self._ids.settle({}, gone)
            for key in gone:
                del self._hashes[key]
            self._rename(called)

    def nearest(self, vector: Vectors, limit: int, within: Container[str] | None = None) -> Found:
        with self._lock, self._told():
            if limit <= 0 or not self._hashes:
                return []
            if isinstance(within, AbstractSet) and len(within) <= FEW:
                ids = [called for key in within if (called := self._ids.of.get(key)) is not None]
                return self._best(vector, limit, ids) if ids else []
            return accepted(lambda size: self._best(vector, size, None), len(self), limit, within)

    def _best(self, vector: Vectors, limit: int, ids: list[str] | None) -> Found:
        number = min(limit, len(self) if ids is None else len(ids))
        found = self._collection.query(query_embeddings=[vector], n_results=number, ids=ids, include=["distances"])
        named = zip(found["ids"][0], found["distances"][0], strict=True)
        ranked = [(max(0.0, float(far)), key) for called, far in named if (key := self._ids.items.get(called))]
        return [(key, far) for far, key in sorted(ranked)]

    def vector(self, key: str) -> Vectors | None:
        import numpy as np

        with self._lock, self._told():
            if key not in self._ids.of:
                return None
            found = self._collection.get(ids=[self._ids.of[key]], include=["embeddings"])["embeddings"]
            return np.asarray(found[0], np.float32) if len(found) else None

    def close(self) -> None:
        with self._lock:
            self._open.close()

    # -- its own ------------------------------------------------------------------------------------------------

    def _rename(self, called: Mapping[str, str]) -> None:
        """Give items other ids, with all that stands under those they have."""
        moved = {key: name for key, name in called.items() if self._ids.of.get(key) not in (None, name)}
        if not moved:
            return
        keys = {self._ids.of[key]: key for key in moved}
        found = self._collection.get(ids=[*keys], include=["embeddings", "metadatas", "documents"])
        self._delete(keys)
        self._collection.upsert(
            ids=[moved[keys[before]] for before in found["ids"]],
            embeddings=[*found["embeddings"]],
            metadatas=found["metadatas"],
            documents=found["documents"],
        )
        self._ids.settle(moved, ())

    def _delete(self, ids: Iterable[str]) -> None:
        gone = list(ids)
        for start in range(0, len(gone), PART):
            self._collection.delete(ids=gone[start : start + PART])

    def _keep_private(self) -> None:
        """Nobody else may read what Chroma writes, with the modes that it likes."""
        if self._place.folder is not None:
            for folder, _, names in os.walk(self._place.folder):
                os.chmod(folder, atomic.PRIVATE_FOLDER)
                for name in names:
                    with contextlib.suppress(FileNotFoundError):
                        os.chmod(os.path.join(folder, name), atomic.PRIVATE_FILE)

    @property
    def _where(self) -> str:
        return self._place.url or str(self._place.folder)

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """What Chroma raises as an error of ours; a panic of its engine is one too."""
        try:
            yield
        except NanomemError:
            raise
        except BaseException as error:
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            said = " ".join(str(error).split())[:160] or type(error).__name__
            raise StoreError(f"Chroma cannot be used ({said})", self._where, AGAIN) from error


def _chromadb() -> Any:
    try:
        import chromadb
        import chromadb.api.client
        import chromadb.config
        import chromadb.errors
    except ImportError as error:
        what = f"the index in Chroma needs chromadb, which is not installed ({error.name})"
        raise MissingExtra(what, "vector_index", "pip install 'nanomem-tui[chroma]'") from error
    return chromadb


def _close(client: Any) -> None:
    """Close a client, and the connections of HTTP that it leaves open."""
    with contextlib.suppress(Exception):
        client.close()
    for part in (client, getattr(client, "_admin_client", None)):
        session = getattr(getattr(part, "_server", None), "_session", None)
        if session is not None:
            session.close()


def _forget(chromadb: Any, folder: Path) -> None:
    """Chroma keeps what it opened by its path, also what it could not open."""
    known = chromadb.api.client.SharedSystemClient
    for part in ("_identifier_to_system", "_identifier_to_refcount"):
        getattr(known, part, {}).pop(str(folder), None)


@contextlib.contextmanager
def _ours(folder: Path, workspace_id: str, *, anew: bool) -> Iterator[None]:
    """Hold a folder that is ours, made where there is none; `anew`: emptied. Raises Refused, or what keeps that from
    being done."""
    try:
        check_owner(folder, workspace_id)
        atomic.make_folder(folder)
        try:
            held = atomic.locked(folder / LOCK, wait=0)
            held.__enter__()
        except Refused as error:
            what = "another process of ours uses the Chroma folder"
            raise Refused(what, str(folder), "the rows are searched meanwhile") from error
        try:
            if anew:
                _empty(folder)
            body = json.dumps({"workspace": workspace_id, "collection": COLLECTION})
            if not (folder / MARKER).exists():
                atomic.write_atomic(folder / MARKER, body.encode())
            yield
        finally:
            held.__exit__(None, None, None)
    except OSError as error:
        raise from_os_error(error, "opening the Chroma folder") from error


def check_owner(folder: Path, workspace_id: str) -> None:
    """Raise Refused unless a folder is ours, empty, or not there; and BadInput for what is no folder."""
    try:
        names = {entry.name for entry in os.scandir(folder)}
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise BadInput("no folder", str(folder), "set `chroma_path` to one, or to nothing") from None
    fix = "leave it as it is, and set `chroma_path` to another folder, or to nothing"
    if not names - {LOCK}:
        return
    try:
        owner = json.loads((folder / MARKER).read_bytes())["workspace"]
    except (OSError, ValueError, TypeError, KeyError):
        raise Refused("a Chroma folder that nanomem did not make is not written", str(folder), fix) from None
    if owner != workspace_id:
        raise Refused("the Chroma folder is of another workspace", str(folder), fix)


def _empty(folder: Path) -> None:
    for entry in list(os.scandir(folder)):
        if entry.name in (LOCK, MARKER):
            continue
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)
