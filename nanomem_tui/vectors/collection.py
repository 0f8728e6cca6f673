"""Collections of vectors: the interface, the exact one in RAM, and the private file that all vectors are kept in.

A vector is a cache of its text, and is made anew from it. `vectors.db` holds every vector there is; a collection is
searched by one product of a float32 matrix in RAM, and what stands in for it outside (Chroma, pgvector) is a copy. The
file is read and written through `sqlite3` alone, as a search may write it and imports no SQLAlchemy. A commit waits for
no disk: it survives a kill, and a power cut may cost vectors, never a wrong one, as each is checked when it is read.
"""

from __future__ import annotations

import contextlib
import math
import os
import sqlite3
import sys
import threading
import time
from array import array
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Collection as Sized
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from nanomem_tui.errors import NanomemError, from_os_error
from nanomem_tui.store import atomic, driver_errors, reader, sql

if TYPE_CHECKING:
    from nanomem_tui.store.sql import Connection
    from nanomem_tui.vectors.embedders import Rows, Vector

T = TypeVar("T")
ITEMS, PASSAGES = "items", "passages"
"""What the collections of items and of passages are called; those of records are called as their tables."""
ROOM = 256
"""Rows that a new matrix has room for."""
SPARSE = 8
"""A collection that is asked for less than this part of it looks at that part alone."""
CHUNK = 1_000
"""Vectors that are read, or keys that are asked for, at a time."""
_BUSY = 5.0
"""Seconds to wait for another process that writes."""
_COARSE = 100_000_000
"""Nanoseconds in which two writes may have one time."""
_TABLES = (
    # A row without a vector is of a text that none can be made of, or, without a hash, of what was taken away: whoever
    # holds a copy learns of it by its number, which grows with everything that is written.
    """CREATE TABLE vectors (
        number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, collection TEXT NOT NULL, model TEXT NOT NULL,
        "key" TEXT NOT NULL, at TEXT NOT NULL, text_hash TEXT NOT NULL, vector BLOB,
        UNIQUE (collection, model, "key"))""",
    "CREATE INDEX idx_vectors_at ON vectors (collection, model, at) WHERE vector IS NOT NULL",
    "CREATE INDEX idx_vectors_none ON vectors (collection, model) WHERE vector IS NULL",
    "CREATE TABLE marks (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL)",
)
_VERSION = 1
_LAST = "\U0010ffff"
_WRITTEN = 'SELECT number, "key", text_hash, at, CAST(vector AS BLOB) FROM vectors'
_PUT = (
    'INSERT OR REPLACE INTO vectors (collection, model, "key", at, text_hash, vector) VALUES (?, ?, ?, ?, ?, ?)'
)  # fmt: skip


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


def accepted(ask: Callable[[int], list[Near]], size: int, count: int, among: Container[str] | None) -> list[Near]:
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
        """See `Collection.upsert`; one without a vector is forgotten."""
        self.delete([row.key for row in rows if row.vector is None])
        self.put([(row.key, row.text_hash) for row in rows if row.vector is not None],
                 [row.vector for row in rows if row.vector is not None])  # fmt: skip

    def put(self, named: Sequence[tuple[str, str]], vectors: Iterable[Vector]) -> None:
        """Take vectors under these keys, with the hashes of their texts."""
        import numpy as np

        with self._lock:
            if (rows := len(self._keys) + len(named)) > len(self._matrix):
                grown = np.empty((max(rows, 2 * len(self._matrix)), self._matrix.shape[1]), np.float32)
                grown[: len(self._keys)] = self._matrix[: len(self._keys)]
                self._matrix = grown
            for (key, text_hash), vector in zip(named, vectors, strict=True):
                place = self._places.get(key)
                if place is None:
                    place = self._places[key] = len(self._keys)
                    self._keys.append(key)
                    self._hashes.append(text_hash)
                self._matrix[place], self._hashes[place] = vector, text_hash

    def delete(self, keys: Sequence[str]) -> None:
        """See `Collection.delete`."""
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
        """See `Collection.nearest`."""
        with self._lock:
            if isinstance(among, Sized) and len(among) * SPARSE < len(self._keys):
                places = [place for key in among if (place := self._places.get(key)) is not None]
                return self._best(self._matrix[places] @ vector, count, places)
            similar = self._matrix[: len(self._keys)] @ vector
            return accepted(lambda size: self._best(similar, size, range(len(similar))), len(self._keys), count, among)

    def _best(self, similar: Vector, count: int, places: Sequence[int]) -> list[Near]:
        """The best of these places, to whose vectors the question is so similar."""
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


class Held(NamedTuple):
    """How many vectors of a model there are."""

    model: str
    dimension: int
    rows: int


class Written(NamedTuple):
    """A row of the file as it was read, of whose bytes nothing is known yet."""

    number: int
    key: str
    text_hash: str
    at: str
    vector: bytes | None


class VectorFile:
    """The private file of all collections of one workspace, made at the first write. Every method may be called from
    any thread. What cannot be read in it is thrown away by the next write: all of it is made anew from the texts."""

    def __init__(self, path: Path, may_write: Callable[[], bool] = lambda: True) -> None:
        """`may_write`: whether anything may be written beside the memory by now; a search begins no memory."""
        self.path = path
        self._may_write, self._closed = may_write, False
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._inode: tuple[int, int] | None = None

    @property
    def is_writable(self) -> bool:
        """Whether a write is tried."""
        return not self._closed and self._may_write()

    def read(self, ask: Callable[[Connection], T], otherwise: T) -> T:
        """The answer of the file; `otherwise` where there is none, or no whole one. Raises StoreError and its kin."""
        with self._lock:
            connection = self._opened()
            try:
                return ask(connection) if connection is not None else otherwise
            except sqlite3.Error as error:
                if _is_lost(error):
                    return otherwise
                raise driver_errors.in_our_words(error, self.path) from error

    def write(self, do: Callable[[Connection], object]) -> None:
        """Do something in one transaction; nothing where nothing may be written. Raises StoreError and its kin."""
        with self._lock:
            if not self.is_writable:
                return
            try:
                try:
                    self._transact(do)
                except sqlite3.Error as error:
                    if not _is_lost(error):
                        raise
                    self.throw_away()
                    self._transact(do)
            except sqlite3.Error as error:
                raise driver_errors.in_our_words(error, self.path) from error
            except OSError as error:
                raise from_os_error(error, f"writing {self.path.name}") from error

    def _transact(self, do: Callable[[Connection], object]) -> None:
        connection = self._opened(make=True)
        assert connection is not None
        connection.execute("BEGIN IMMEDIATE")
        try:
            if connection.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
                for table in ("vectors", "marks"):
                    connection.execute(f"DROP TABLE IF EXISTS {table}")
                for statement in (*_TABLES, f"PRAGMA user_version = {_VERSION}"):
                    connection.execute(statement)
            do(connection)
            connection.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise

    def throw_away(self) -> None:
        """Remove the file: what was in it is made anew."""
        with self._lock:
            self.let_go()
            for end in ("", "-journal"):
                self.path.with_name(self.path.name + end).unlink(missing_ok=True)

    def _opened(self, *, make: bool = False) -> sqlite3.Connection | None:
        inode = self._at_path()
        if self._connection is not None and inode != self._inode:  # removed or replaced: to write there would do harm
            self.let_go()
        if self._connection is None:
            if inode is None:
                if not make:
                    return None
                atomic.make_folder(self.path.parent)
                with contextlib.suppress(FileExistsError):
                    os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
                inode = self._at_path()
            self._connection = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?mode=rw", uri=True, timeout=_BUSY, isolation_level=None,
                check_same_thread=False,
            )  # fmt: skip
            self._connection.text_factory = reader.tolerant  # a bit that flipped costs a vector, not the file
            # No WAL: its readers and checkpoints are more than a cache needs, and none is left to be lost.
            for pragma in ("journal_mode=DELETE", "synchronous=OFF", "secure_delete=ON"):
                with contextlib.suppress(sqlite3.Error):  # told by what is asked of it next
                    self._connection.execute(f"PRAGMA {pragma}").fetchall()
            self._inode = inode
        return self._connection

    def _at_path(self) -> tuple[int, int] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def let_go(self) -> None:
        """Let go of the file until it is used again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def close(self) -> None:
        """Write no more, and let go of the file."""
        self._closed = True
        self.let_go()

    def stamp(self) -> tuple[int, ...]:
        """What changes when anybody writes; never twice the same soon after a write, as clocks are coarse."""
        try:
            found = self.path.stat()
        except OSError:
            return (0,)
        now = time.time_ns()
        return found.st_ino, found.st_size, found.st_mtime_ns, now if now - found.st_mtime_ns < _COARSE else 0

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        none: list[tuple[Any, ...]] = []
        return self.read(lambda connection: connection.execute(query, values).fetchall(), none)

    def _change(self, query: str, *values: object) -> None:
        if self.path.exists():
            self.write(lambda connection: connection.execute(query, values))

    # -- rows -------------------------------------------------------------------------------------------------------

    def since(self, name: str, model: str, number: int, most: int) -> list[Written]:
        """What was written to a collection after a number, in order."""
        # By its number alone: through an index of the others every vector would be looked at with each search.
        query = f"{_WRITTEN} NOT INDEXED WHERE number > ? AND collection = ? AND model = ? ORDER BY number LIMIT ?"
        return [Written(*row) for row in self._rows(query, number, name, model, most)]

    def last(self) -> int:
        """The highest number there is."""
        return max((number or 0 for (number,) in self._rows("SELECT max(number) FROM vectors")), default=0)

    def each(self, name: str, model: str, most: int, take: Callable[[list[Written]], None]) -> None:
        """Give the vectors of a collection to `take`, part by part; `most` (0: all): of the newest texts."""
        query = (
            f"{_WRITTEN} INDEXED BY idx_vectors_at WHERE collection = ? AND model = ? AND vector IS NOT NULL"
            " ORDER BY at DESC LIMIT ?"
        )

        def read(connection: Connection) -> None:
            rows = (Written(*row) for row in connection.execute(query, (name, model, most or -1)))
            while part := list(islice(rows, CHUNK)):
                take(part)

        self.read(read, None)

    def hashes(self, name: str, model: str, *, unmade: bool = False) -> dict[str, str]:
        """The hashes of the texts of a collection that have a vector, or that none can be made of, by key; `unmade`: of
        these alone."""
        which = " AND vector IS NULL" if unmade else ""
        query = f"SELECT \"key\", text_hash FROM vectors WHERE collection = ? AND model = ?{which} AND text_hash != ''"
        return dict(self._rows(query, name, model))

    def given(self, name: str, model: str, number: int) -> int:
        """How many vectors of a collection there are up to a number."""
        query = "SELECT count(*) FROM vectors WHERE collection = ? AND model = ? AND vector IS NOT NULL AND number <= ?"
        return sum(count for (count,) in self._rows(query, name, model, number))

    def counts(self, names: Sequence[str]) -> list[Held]:
        """How many vectors there are of each model, most first; reads no vector."""
        query = (
            "SELECT a.model, count(*), (SELECT length(v.vector) / 4 FROM vectors v WHERE v.collection = a.collection"
            " AND v.model = a.model AND v.vector IS NOT NULL LIMIT 1)"
            f" FROM vectors a WHERE a.collection IN ({_marks(names)}) AND a.vector IS NOT NULL"
            " GROUP BY a.collection, a.model"
        )
        found: dict[str, Held] = {}
        for model, rows, dimension in self._rows(query, *names):
            found[model] = Held(model, dimension, rows + (found[model].rows if model in found else 0))
        return sorted(found.values(), key=lambda held: (-held.rows, held.model))

    def delete(self, name: str, keys: Sequence[str]) -> None:
        """Take the vectors under these keys away, of every model; the keys stay until `settle`."""

        def take_away(connection: Connection) -> None:
            query = 'SELECT model FROM vectors WHERE collection = ? AND "key" = ?'
            for key in keys:
                for (model,) in connection.execute(query, (name, key)).fetchall():
                    connection.execute(_PUT, (name, model, key, "", "", None))

        if keys and self.path.exists():
            self.write(take_away)

    def settle(self, name: str, model: str, number: int) -> None:
        """Forget what was taken away, up to a number: whoever has a copy knows it."""
        gone = "FROM vectors WHERE collection = ? AND model = ? AND vector IS NULL AND text_hash = '' AND number <= ?"
        if self._rows(f"SELECT 1 {gone} LIMIT 1", name, model, number):
            self._change(f"DELETE {gone}", name, model, number)

    def trim(self, name: str, model: str, most: int, left: int) -> None:
        """Take away the vectors that were written first, of more than `most`, until so many are left."""
        count = self.given(name, model, self.last())
        first = "SELECT number FROM vectors WHERE collection = ? AND model = ? AND vector IS NOT NULL ORDER BY number"
        if count > most:
            self._change(f"DELETE FROM vectors WHERE number IN ({first} LIMIT ?)", name, model, count - left)

    def sweep(self, names: Sequence[str], model: str) -> None:
        """Take away the vectors of other models."""
        other = f"FROM vectors WHERE collection IN ({_marks(names)}) AND model != ?"
        if self._rows(f"SELECT 1 {other} LIMIT 1", *names, model):
            self._change(f"DELETE {other}", *names, model)

    def clear(self, names: Sequence[str], *, unmade: bool = False) -> None:
        """Take everything away; `unmade`: what no vector could be made of, so that it is tried again."""
        which = " AND vector IS NULL" if unmade else ""
        self._change(f"DELETE FROM vectors WHERE collection IN ({_marks(names)}){which}", *names)

    def bad(self, names: Sequence[str]) -> int:
        """How many rows hold no vector: of another size than most of their model, with a number that is none, or of
        another length than 1. Needs no numpy."""
        sizes = {held.model: held.dimension for held in self.counts(names)}
        which = f"collection IN ({_marks(names)}) AND vector IS NOT NULL"
        query = f"SELECT model, CAST(vector AS BLOB) FROM vectors WHERE {which}"

        def count(connection: Connection) -> int:
            rows = connection.execute(query, tuple(names))
            return sum(numbers_of(vector, sizes.get(model, 0)) is None for model, vector in rows)

        return self.read(count, 0)

    # -- marks ------------------------------------------------------------------------------------------------------

    def marks(self, begins: str) -> dict[str, str]:
        """What was noted under names that begin so."""
        return dict(self._rows("SELECT name, value FROM marks WHERE name >= ? AND name < ?", begins, begins + _LAST))

    def note(self, marks: Mapping[str, str]) -> None:
        """Note values under names."""
        query = "INSERT OR REPLACE INTO marks (name, value) VALUES (?, ?)"
        self.write(lambda connection: connection.executemany(query, marks.items()))

    def unmark(self, begins: str) -> None:
        """Forget what was noted under names that begin so."""
        self._change("DELETE FROM marks WHERE name >= ? AND name < ?", begins, begins + _LAST)


class FileCollection:
    """A collection of one model in the file, whose matrix is read when it is first searched. What others write is
    followed. What may not be written yet is held until it may."""

    def __init__(self, file: VectorFile, name: str, model: str, dimension: int, most: int = 0) -> None:
        """`most`: vectors that are held in RAM, those of the newest texts; 0: all."""
        self.name = name
        self._file, self._model, self._dimension, self._most = file, model, dimension, most
        self._lock = threading.RLock()
        self._ram: RamCollection | None = None
        self._seen = 0
        self._stamp: tuple[int, ...] = ()
        self._unsaved: dict[str, Row] = {}

    def __len__(self) -> int:
        return len(self.loaded())

    @property
    def is_saved(self) -> bool:
        """Whether the file holds all there is."""
        return not self._unsaved

    def upsert(self, rows: Sequence[Row]) -> None:
        """See `Collection.upsert`. Raises what keeps the file from being written; nothing is lost then."""
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
                (self.name, self._model, row.key, row.at, row.text_hash,
                 None if row.vector is None else row.vector.astype("<f4").tobytes())
                for row in self._unsaved.values()
            ]  # fmt: skip
            self._file.write(lambda connection: connection.executemany(_PUT, rows))
            self._unsaved.clear()

    def delete(self, keys: Sequence[str]) -> None:
        """See `Collection.delete`: of every model."""
        with self._lock:
            if self._ram is not None:
                self._ram.delete(keys)
            for key in keys:
                self._unsaved.pop(key, None)
            self._file.delete(self.name, keys)

    def nearest(self, vector: Vector, count: int, among: Container[str] | None = None) -> list[Near]:
        """See `Collection.nearest`."""
        return self.loaded().nearest(vector, count, among)

    def known(self) -> dict[str, str]:
        """The hash of each text that has a vector, or that none can be made of, by key."""
        return {**self.loaded().hashes, **self.unmade()}

    def unmade(self) -> dict[str, str]:
        """The hash of each text that no vector can be made of, by key."""
        found = self._file.hashes(self.name, self._model, unmade=True)
        return found | {row.key: row.text_hash for row in self._unsaved.values() if row.vector is None}

    def hashes(self, keys: Sequence[str]) -> dict[str, str]:
        """`known`, of these keys alone, as the file has it by now."""
        return {key: row.text_hash for key, row in self.of(keys).items()}

    def of(self, keys: Sequence[str]) -> dict[str, Row]:
        """The rows under these keys, as the file has them by now; reads no others."""
        found: dict[str, Row] = {}

        def ask(connection: Connection) -> None:
            for part in parts(keys):
                query = f'{_WRITTEN} WHERE collection = ? AND model = ? AND "key" IN ({_marks(part)})'
                rows = [Written(*row) for row in connection.execute(query, (self.name, self._model, *part))]
                found.update(
                    (row.key, Row(row.key, row.text_hash, None)) for row in rows if row.vector is None and row.text_hash
                )
                for row, vector in zip(*usable(rows, self._dimension), strict=True):
                    found[row.key] = Row(row.key, row.text_hash, vector)

        self._file.read(ask, None)
        with self._lock:
            return found | {key: self._unsaved[key] for key in keys if key in self._unsaved}

    def loaded(self) -> RamCollection:
        """All of it in RAM, with what others wrote since; one that grew too large is read anew."""
        with self._lock:
            ram, stamp = self._ram, self._file.stamp()
            if ram is not None and stamp == self._stamp:
                return ram
            self._stamp, last = stamp, self._file.last()
            self._seen = min(self._seen, last)
            if ram is None or 0 < self._most * 1.25 < len(ram):
                ram = self._ram = RamCollection(self._dimension)
                self._seen = last
                self._file.each(self.name, self._model, self._most, self._take)
                ram.upsert([*self._unsaved.values()])
            while self._seen < last:
                part = self._file.since(self.name, self._model, self._seen, CHUNK)
                self._take(part)
                self._seen = part[-1].number if len(part) == CHUNK else max(last, *(row.number for row in part), 0)
            return ram

    def _take(self, rows: Sequence[Written]) -> None:
        assert self._ram is not None
        self._ram.delete([row.key for row in rows if row.vector is None and row.key not in self._unsaved])
        kept, vectors = usable(rows, self._dimension)
        self._ram.put([(row.key, row.text_hash) for row in kept], vectors)


def usable(rows: Sequence[Written], dimension: int) -> tuple[list[Written], Rows]:
    """Those of the rows that hold a vector of so many numbers and of length 1, and the vectors, one in each row."""
    import numpy as np

    fit = [(row, row.vector) for row in rows if row.vector is not None and len(row.vector) == 4 * dimension]
    if not fit:
        return [], np.empty((0, dimension), np.float32)
    matrix = np.frombuffer(b"".join(data for _, data in fit), "<f4").reshape(-1, dimension)
    with np.errstate(all="ignore"):
        good = np.abs(np.linalg.norm(matrix, axis=1) - 1) < 0.02
    kept = [row for (row, _), fits in zip(fit, good.tolist(), strict=True) if fits]
    return kept, matrix[good].astype(np.float32, copy=False)


def numbers_of(vector: bytes, dimension: int) -> array[float] | None:
    """The numbers of a vector; None where it is none of so many, or of another length than 1."""
    if len(vector) != 4 * dimension:
        return None
    numbers = array("f", vector)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers if abs(math.hypot(*numbers) - 1) < 0.02 else None


def forget(path: Path, keys: Mapping[str, Iterable[str]]) -> None:
    """Take the vectors of forgotten texts out of a file, by collection; those of passages all go, as nothing tells
    whose they are. Raises StoreError and its kin."""
    if not any(keys.values()) or not path.exists():
        return
    file = VectorFile(path)
    try:
        for name, gone in keys.items():
            file.delete(name, [*gone])
        file.clear([PASSAGES])
    finally:
        file.close()


def parts(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    """The keys in parts that one query may name."""
    return (keys[start : start + CHUNK // 2] for start in range(0, len(keys), CHUNK // 2))


def _execute_many(query: str, rows: Sequence[Sequence[object]], connection: Connection) -> None:
    connection.executemany(query, rows)


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def _is_lost(error: sqlite3.Error) -> bool:
    """Whether the file is damaged, or lacks its tables; waiting for another process, or for room, is another thing."""
    code = driver_errors.code_of(error)
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)


# -- vectors of earlier releases ------------------------------------------------------------------------------------


def copy_once(
    file: VectorFile, table: str, read: Callable[[Callable[[Connection], None]], object], query: str, workspace_id: str
) -> None:
    """Copy the vectors that an earlier release kept in the databases of the memory, the first time: to make them anew
    may cost money. `query` gives collection, model, key, time, hash and vector. It goes with the tables it reads."""
    mark = f"copied {table}"
    if not file.is_writable or mark in file.marks(mark):
        return

    def copy(connection: Connection) -> None:
        if sql.is_sqlite(connection):  # the memory takes a query that fails for damage
            there = "SELECT count(*) FROM pragma_table_info(?) WHERE name IN ('model', 'text_hash', 'vector')"
            if connection.execute(there, (table,)).fetchone()[0] < 3:
                return
        rows = connection.execute(query, (workspace_id,))
        while part := rows.fetchmany(CHUNK):
            kept = [(*row[:5], bytes(row[5])) for row in part if isinstance(row[5], bytes | memoryview)]
            file.write(partial(_execute_many, _PUT.replace("REPLACE", "IGNORE"), kept))

    with contextlib.suppress(NanomemError, sqlite3.Error):  # a cache: what cannot be read is made anew
        read(copy)
        file.note({mark: ""})
