"""Collections of vectors: the interface, the exact one in RAM, and the private file that all vectors are kept in.

A vector is a cache of its text, and is made anew from it. `vectors.db` holds every vector there is; a collection is
searched by one product of a float32 matrix in RAM, and what stands in for it outside (Chroma, pgvector) is a copy. The
file is read and written through `sqlite3` alone, as a search may write it and imports no SQLAlchemy: its statements are
those that `store.database.vector_models` declares. A commit waits for no disk: it survives a kill, and a power cut may
cost vectors, never a wrong one, as each is checked when it is read. Passages of what was said and noted are such a
collection too.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Collection as Sized
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from nanomem_tui.core import atomic
from nanomem_tui.core.errors import NanomemError
from nanomem_tui.store.database import reading
from nanomem_tui.store.database.statements import VECTOR_SCHEMA, VECTORS
from nanomem_tui.store.values import Fact, Item, fact_of
from nanomem_tui.vectors.embedders import share_known

if TYPE_CHECKING:
    from nanomem_tui.vectors.embedders import CheckedEmbedder, Rows, Vector

T = TypeVar("T")
ITEMS, PASSAGES = "items", "passages"
"""What the collections of items and of passages are called; those of records are called as their tables."""
ROOM = 256
"""Rows that a new matrix has room for."""
SPARSE = 8
"""A collection that is asked for less than this part of it looks at that part alone."""
CHUNK = 1_000
"""Vectors that are read at a time."""
BATCH = 32
"""Passages that are embedded and written together."""
MOST_PASSAGES = 20_000
"""Passages of a source that get a vector, the newest: two minutes or three of one core, and 30 MB."""
LONGEST_PASSAGE = 600
"""Characters of a passage that are embedded."""
_BUSY = 5.0
"""Seconds to wait for another process that writes."""
_VERSION = 1
_LAST = "\U0010ffff"
_NOTHING = {"collection": "", "model": "", "number": 0, "most": 0, "begins": "", "ends": ""}


class Row(NamedTuple):
    """A vector of a text: under which key, by what hash the text is known, and when the text was (ISO, where that
    counts). No vector: none can be made of it."""

    key: str
    text_hash: str
    vector: Vector | None
    at: str = ""


class Near(NamedTuple):
    """What is near: its key, its cosine distance (0 to 2), and the hash of the text that is meant."""

    key: str
    distance: float
    text_hash: str


class Collection(Protocol):
    """Vectors of one model under keys. Every method may be called from any thread, and raises errors of ours."""

    def __len__(self) -> int:
        """How many vectors there are."""

    def upsert(self, rows: Sequence[Row]) -> None:
        """Take these vectors in place of those it had under the same keys."""

    def delete(self, keys: Sequence[str]) -> None:
        """Forget these, where it has them."""

    def nearest(self, vector: Vector, count: int, among: Container[str] | None = None) -> list[Near]:
        """The nearest, at most `count`, nearest first, equal ones by key; `among`: of these keys alone."""


def nearest_among(ask: Callable[[int], list[Near]], size: int, count: int, among: Container[str] | None) -> list[Near]:
    """The first `count` of `among` (None: of all) that a collection of `size` vectors gives, which is asked for as many
    as that takes."""
    if among is None:
        return ask(count)
    wanted = 2 * count
    while True:
        found = [one for one in ask(wanted) if one.key in among]
        if len(found) >= count or wanted >= size:
            return found[:count]
        wanted *= 4


class RamCollection:
    """All vectors in one float32 matrix, compared with the question in one product."""

    def __init__(self, dimension: int) -> None:
        import numpy as np

        self._lock = threading.RLock()
        self._matrix: Rows = np.empty((ROOM, dimension), np.float32)
        self._keys: list[str] = []
        self._places: dict[str, int] = {}
        self._hashes: list[str] = []

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def hashes(self) -> Mapping[str, str]:
        """The hash of each text that there is a vector of, by key."""
        with self._lock:
            return dict(zip(self._keys, self._hashes, strict=True))

    def upsert(self, rows: Sequence[Row]) -> None:
        """Take these; one without a vector is forgotten."""
        import numpy as np

        with self._lock:
            self.delete([row.key for row in rows if row.vector is None])
            if (needed := len(self._keys) + len(rows)) > len(self._matrix):
                grown = np.empty((max(needed, 2 * len(self._matrix)), self._matrix.shape[1]), np.float32)
                grown[: len(self._keys)] = self._matrix[: len(self._keys)]
                self._matrix = grown
            for row in rows:
                if row.vector is None:
                    continue
                place = self._places.get(row.key)
                if place is None:
                    place = self._places[row.key] = len(self._keys)
                    self._keys.append(row.key)
                    self._hashes.append(row.text_hash)
                self._matrix[place], self._hashes[place] = row.vector, row.text_hash

    def delete(self, keys: Sequence[str]) -> None:
        with self._lock:
            for key in keys:
                place = self._places.pop(key, None)
                if place is None:
                    continue
                last, text_hash = self._keys.pop(), self._hashes.pop()
                if last != key:  # the last one takes the place that is free
                    self._keys[place], self._places[last], self._hashes[place] = last, place, text_hash
                    self._matrix[place] = self._matrix[len(self._keys)]

    def nearest(self, vector: Vector, count: int, among: Container[str] | None = None) -> list[Near]:
        with self._lock:
            if isinstance(among, Sized) and len(among) * SPARSE < len(self._keys):
                places = [place for key in among if (place := self._places.get(key)) is not None]
                return self._best(self._matrix[places] @ vector, count, places)
            similar = self._matrix[: len(self._keys)] @ vector
            return nearest_among(
                lambda size: self._best(similar, size, range(len(similar))), len(self._keys), count, among
            )

    def _best(self, similar: Vector, count: int, places: Sequence[int]) -> list[Near]:
        import numpy as np

        if count <= 0 or not len(similar):
            return []
        best = np.arange(len(similar))
        if count < len(similar):
            best = np.flatnonzero(similar >= np.partition(similar, len(similar) - count)[len(similar) - count])
        found = [(max(0.0, 1.0 - alike), places[place])
                 for place, alike in zip(best.tolist(), similar[best].tolist(), strict=True)]  # fmt: skip
        ranked = sorted((distance, self._keys[place], self._hashes[place]) for distance, place in found)
        return [Near(key, distance, text_hash) for distance, key, text_hash in ranked[:count]]


class Count(NamedTuple):
    """How many vectors of a model there are."""

    model: str
    dimension: int
    rows: int


class StoredRow(NamedTuple):
    """A row of the file as it was read, of whose bytes nothing is known yet."""

    number: int
    key: str
    text_hash: str
    at: str
    vector: bytes | None


class VectorFile:
    """The private file of all collections of one workspace, made at the first write and opened for each question. Every
    method may be called from any thread. What cannot be read in it is thrown away by the next write: all of it is made
    anew from the texts."""

    def __init__(self, path: Path, may_write: Callable[[], bool] = lambda: True) -> None:
        """`may_write`: whether anything may be written beside the memory by now; a search begins no memory."""
        self.path = path
        self._may_write, self.is_closed = may_write, False

    @property
    def is_writable(self) -> bool:
        """Whether a write is tried."""
        return not self.is_closed and self._may_write()

    def read(self, ask: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """The answer of the file; `otherwise` where there is none, or no whole one. Raises StoreError and its kin."""
        if not self.path.exists():
            return otherwise
        with reading.translate_errors(self.path, f"reading {self.path.name}"):
            try:
                with self._opened() as connection:
                    return ask(connection)
            except sqlite3.Error as error:
                if _is_lost(error):
                    return otherwise
                raise

    def write(self, do: Callable[[sqlite3.Connection], object]) -> None:
        """Do something in one transaction; nothing where nothing may be written. Raises StoreError and its kin."""
        if not self.is_writable:
            return
        with reading.translate_errors(self.path, f"writing {self.path.name}"):
            try:
                self._transact(do)
            except sqlite3.Error as error:
                if not _is_lost(error):
                    raise
                for end in ("", "-journal"):
                    self.path.with_name(self.path.name + end).unlink(missing_ok=True)
                self._transact(do)

    def _transact(self, do: Callable[[sqlite3.Connection], object]) -> None:
        if not self.path.exists():
            atomic.make_folder(self.path.parent)
            with contextlib.suppress(FileExistsError):
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, atomic.PRIVATE_FILE))
        with self._opened() as connection:
            for pragma in ("synchronous=OFF", "secure_delete=ON"):
                connection.execute(f"PRAGMA {pragma}").fetchall()
            connection.execute("BEGIN IMMEDIATE")
            if connection.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
                for statement in (*VECTOR_SCHEMA.values(), f"PRAGMA user_version = {_VERSION}"):
                    connection.execute(statement)
            do(connection)
            connection.execute("COMMIT")

    @contextlib.contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """A connection for one question; what it did not commit is taken back when it closes."""
        address = f"{self.path.absolute().as_uri()}?mode=rw"
        with contextlib.closing(sqlite3.connect(address, uri=True, timeout=_BUSY, isolation_level=None)) as connection:
            connection.text_factory = reading.decode_text  # a bit that flipped costs a vector, not the file
            yield connection

    def rows(self, name: str, **values: object) -> list[tuple[Any, ...]]:
        """What a statement of reading finds; nothing where there is no file, or no whole one."""
        none: list[tuple[Any, ...]] = []
        return self.read(lambda connection: connection.execute(VECTORS[name], values).fetchall(), none)

    def change(self, name: str, **values: object) -> None:
        """Run a statement of writing, where there is a file."""
        if self.path.exists():
            self.write(lambda connection: connection.execute(VECTORS[name], values))

    def is_whole(self) -> bool:
        """Whether the file has its tables, and SQLite finds no damage."""

        def compare(connection: sqlite3.Connection) -> bool:
            for name in ("since", "marks"):
                connection.execute(VECTORS[name], _NOTHING).fetchone()
            return bool(connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")

        return self.read(compare, False)

    def last(self) -> int:
        """The highest number that was written."""
        return max((number or 0 for (number,) in self.rows("last")), default=0)

    def hashes(self, collection: str, model: str) -> dict[str, str]:
        """The hash of each text that has a vector, or that none can be made of, by key."""
        return dict(self.rows("hashes", collection=collection, model=model))

    def counts(self, collections: Iterable[str]) -> list[Count]:
        """How many vectors there are of each model, most first; reads no vector."""
        found: dict[str, Count] = {}
        for name in collections:
            for model, rows, size in self.rows("counts", collection=name):
                found[model] = Count(model, size // 4, rows + (found[model].rows if model in found else 0))
        return sorted(found.values(), key=lambda held: (-held.rows, held.model))

    def take_away(self, collection: str, keys: Iterable[str]) -> None:
        """Take the vectors under these keys away, of every model; the keys stay until no copy outside needs them."""
        self.change("take away", collection=collection, keys=json.dumps([*keys]))

    def marks(self, begins: str) -> dict[str, str]:
        """What was noted under names that begin so."""
        return dict(self.rows("marks", begins=begins, ends=begins + _LAST))

    def note(self, name: str, value: str) -> None:
        """Note a value under a name."""
        self.write(lambda connection: connection.execute(VECTORS["note"], {"name": name, "value": value}))

    def unmark(self, begins: str) -> None:
        """Forget what was noted under names that begin so."""
        self.change("unmark", begins=begins, ends=begins + _LAST)


class FileCollection:
    """A collection of one model in the file, whose matrix is read when it is first searched. What others write is
    followed. What cannot be written yet is held until it can."""

    def __init__(self, file: VectorFile, name: str, model: str, dimension: int, most: int = -1) -> None:
        """`most`: vectors that are read into RAM, those of the newest texts; -1: all."""
        self.name = name
        self._file, self._of, self._dimension, self._most = file, {"collection": name, "model": model}, dimension, most
        self._lock = threading.RLock()
        self._ram: RamCollection | None = None
        self._seen = 0
        self._unsaved: dict[str, Row] = {}

    def __len__(self) -> int:
        return len(self.loaded())

    @property
    def is_unsaved(self) -> bool:
        """Whether something is held that the file lacks."""
        return bool(self._unsaved)

    def upsert(self, rows: Sequence[Row]) -> None:
        """Raise what keeps the file from being written; nothing is lost then."""
        with self._lock:
            if self._ram is not None:
                self._ram.upsert(rows)
            self._unsaved.update((row.key, row) for row in rows)
            self.save()

    def save(self) -> None:
        """Write what was not when it was made: there was no memory yet, or no room on the disk."""
        with self._lock:
            if not self._unsaved or not self._file.is_writable:
                return
            rows = [
                {**self._of, "key": row.key, "at": row.at, "text_hash": row.text_hash,
                 "vector": None if row.vector is None else row.vector.astype("<f4").tobytes()}
                for row in self._unsaved.values()
            ]  # fmt: skip
            self._file.write(lambda connection: connection.executemany(VECTORS["put"], rows))
            self._unsaved.clear()

    def delete(self, keys: Sequence[str]) -> None:
        """Forget these, of every model."""
        with self._lock:
            if self._ram is not None:
                self._ram.delete(keys)
            for key in keys:
                self._unsaved.pop(key, None)
            self._file.take_away(self.name, keys)

    def nearest(self, vector: Vector, count: int, among: Container[str] | None = None) -> list[Near]:
        return self.loaded().nearest(vector, count, among)

    def hashes(self) -> dict[str, str]:
        """The hash of each text that has a usable vector, or that none can be made of, by key."""
        return {**self.loaded().hashes, **self.unmade()}

    def unmade(self) -> dict[str, str]:
        """The hash of each text that no vector can be made of, by key."""
        found = dict(self._file.rows("unmade", **self._of))
        return found | {row.key: row.text_hash for row in self._unsaved.values() if row.vector is None}

    def rows(self, keys: Sequence[str]) -> dict[str, Row]:
        """What is held under these keys, as the file has it by now; reads no others."""
        written = [StoredRow(*row) for row in self._file.rows("of keys", keys=json.dumps(keys), **self._of)]
        found = {row.key: Row(row.key, row.text_hash, None) for row in written if row.vector is None and row.text_hash}
        found |= {row.key: row for row in usable_rows(written, self._dimension)}
        with self._lock:
            return found | {key: self._unsaved[key] for key in keys if key in self._unsaved}

    def since(self, number: int, most: int = CHUNK) -> list[StoredRow]:
        """What was written after a number, in order."""
        return [StoredRow(*row) for row in self._file.rows("since", number=number, most=most, **self._of)]

    def loaded(self) -> RamCollection:
        """All of it in RAM, with what others wrote since."""
        with self._lock:
            last = self._file.last()
            self._seen = min(self._seen, last)  # who made everything anew began to count again
            if self._ram is None:
                self._ram, self._seen = RamCollection(self._dimension), last
                self._file.read(self._read_newest, None)
                self._ram.upsert([*self._unsaved.values()])
            while self._seen < last:
                part = self.since(self._seen)
                self._take(part)
                self._seen = part[-1].number if len(part) == CHUNK else max(last, *(row.number for row in part), 0)
            return self._ram

    def _read_newest(self, connection: sqlite3.Connection) -> None:
        rows = connection.execute(VECTORS["newest"], {"most": self._most, **self._of})
        while part := [StoredRow(*row) for row in rows.fetchmany(CHUNK)]:
            self._take(part)

    def _take(self, rows: Sequence[StoredRow]) -> None:
        assert self._ram is not None
        self._ram.delete([row.key for row in rows if row.vector is None and row.key not in self._unsaved])
        self._ram.upsert(usable_rows(rows, self._dimension))


def usable_rows(rows: Sequence[StoredRow], dimension: int) -> list[Row]:
    """Those of the rows that hold a vector of so many numbers and of length 1."""
    import numpy as np

    fit = [(row, row.vector) for row in rows if row.vector is not None and len(row.vector) == 4 * dimension]
    if not fit:
        return []
    matrix = np.frombuffer(b"".join(data for _, data in fit), "<f4").reshape(-1, dimension)
    with np.errstate(all="ignore"):
        good = np.abs(np.linalg.norm(matrix, axis=1) - 1) < 0.02
    return [Row(row.key, row.text_hash, matrix[place], row.at) for place, (row, _) in enumerate(fit) if good[place]]


def forget_vectors(path: Path, keys: Mapping[str, Iterable[str]]) -> None:
    """Take the vectors of forgotten texts out of a file, by collection; those of passages all go, as nothing tells
    whose they are. Raises StoreError and its kin."""
    if any(keys.values()) and path.exists():
        file = VectorFile(path)
        for name, gone in keys.items():
            file.take_away(name, gone)
        file.change("clear", collection=PASSAGES)


def _is_lost(error: sqlite3.Error) -> bool:
    """Whether the file is damaged, or lacks its tables; waiting for another process, or for room, is another thing."""
    code = reading.code_of(error)
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)


# -- passages ----------------------------------------------------------------------------------------------------------


def _passage_key(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


class PassageVectors:
    """The vectors of what was said and noted in one workspace, wherever that is read from. A passage has no id that
    lasts, and the same words come again in other files: a hash of the text is its key. Every method may be called from
    any thread."""

    def __init__(self, maker: Callable[[], CheckedEmbedder], path: Path) -> None:
        """`maker`: the embedder, or why there is none; `path`: the file of the vectors, made where its folder is."""
        self._maker = maker
        self._file = VectorFile(path, path.parent.is_dir)
        self._lock, self._working = threading.RLock(), threading.Lock()
        self._collection: FileCollection | None = None
        self._known: set[str] = set()
        self._key = cache(_passage_key)
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()

    def wanting(self, texts: Sequence[str]) -> list[str]:
        """Which of the newest texts (the last ones) have no vector. Raises why there is no embedder."""
        with self._lock:
            self._opened()
            return [text for text in islice(reversed(texts), MOST_PASSAGES) if self._key(text) not in self._known]

    def make(self, texts: Sequence[str], stop: Callable[[], bool] = lambda: False) -> None:
        """Embed texts, batch by batch, until `stop` says so; nothing while another thread does. Raises as `wanting`."""
        if not self._working.acquire(blocking=False):
            return
        try:
            maker, collection = self._maker(), self._opened()
            for start in range(0, len(texts), BATCH):
                if stop() or self._closing.is_set():
                    return
                part = texts[start : start + BATCH]
                vectors = maker.texts([text[:LONGEST_PASSAGE] for text in part])
                rows = [
                    Row(self._key(text), str(LONGEST_PASSAGE), made) for text, made in zip(part, vectors, strict=True)
                ]
                with self._lock, contextlib.suppress(NanomemError):  # a cache: what cannot be kept is made again
                    self._known.update(row.key for row in rows)
                    collection.upsert(rows)
        finally:
            self._working.release()

    def go_on(self, texts: Sequence[str]) -> None:
        """Embed texts on a thread of its own, one at a time, until `close`."""

        def work() -> None:
            with contextlib.suppress(NanomemError):  # the next question tries again, and is told
                self.make(texts)

        if texts and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=work, name="nanomem-passages", daemon=True)
            self._thread.start()

    def clear(self) -> None:
        """Forget every vector."""
        with self._lock:
            self._file.change("clear", collection=PASSAGES)
            self._collection, self._known = None, set()

    def close(self) -> None:
        """End the thread, once the batch that it is at is done: a process must not end within a run of the model."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join()

    def nearest(self, question: str, texts: Sequence[str], limit: int) -> list[tuple[int, float]]:
        """The places of the texts nearest to a question, at most `limit`, and their cosine distance, nearest first;
        none where the model does not read the question. Raises as `wanting`."""
        maker = self._maker()
        if share_known(maker.name, question) < 0.5:
            return []
        keys = list(map(self._key, texts))
        near = self._opened().nearest(maker.question(question), limit, set(keys))
        places: dict[str, list[int]] = {one.key: [] for one in near}
        for place, key in enumerate(keys):
            if key in places:
                places[key].append(place)
        return [(place, one.distance * maker.scale) for one in near for place in places[one.key]][:limit]

    def _opened(self) -> FileCollection:
        """The collection with what was kept, of which the oldest go where there are too many."""
        with self._lock:
            if self._collection is None:
                maker = self._maker()
                self._file.change("trim", collection=PASSAGES, model=maker.name, most=2 * MOST_PASSAGES)
                self._collection = FileCollection(self._file, PASSAGES, maker.name, maker.dimension)
                self._known = {key for key, of in self._collection.hashes().items() if of == str(LONGEST_PASSAGE)}
            return self._collection


MOST = 8_000
"""Characters of a text that are embedded; models read a few hundred words and leave out the rest."""


def fact_of_item(item: Item) -> Fact | None:
    """The fact that an item of kind fact is; None for any other."""
    return fact_of(item) if item.kind == "fact" else None
