"""What finds the vectors of records: the protocol, one collection for each kind, and the default in RAM.

An index is a cache of what `record_vectors` holds, of one model. Must not know where vectors come from.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from nanomem_tui.vectors.index import RamIndex
from nanomem_tui.vectors.record_rows import PART, Key, RecordRows, Stored

if TYPE_CHECKING:
    from nanomem_tui.vectors.index import Vectors

MOST = 50_000
"""Vectors of a kind that are held in RAM, those of the newest records: 75 MB of MiniLM."""


class Near(NamedTuple):
    """A record that is near: its cosine distance (0 to 2), and the hash of the text that is meant."""

    kind: str
    id: str
    distance: float
    text_hash: str


class Collections(Protocol):
    """One collection for each kind of records. Every method may be called from any thread, and raises errors of ours.

    `follows`: it takes what is new out of the database by itself, and wants nothing put.
    """

    name: str
    follows: bool

    @property
    def place(self) -> str:
        """Where it is, in one line without a password; another place is another index."""

    @property
    def is_new(self) -> bool:
        """Whether it was made when it was opened, and holds nothing yet."""

    def put(self, rows: Sequence[Stored], vectors: Vectors) -> None:
        """Take these vectors in place of those it had of the same records."""

    def remove(self, keys: Iterable[Key]) -> None:
        """Forget these records, where it has them."""

    def nearest(self, kind: str, vector: Vectors, limit: int) -> list[Near]:
        """The nearest records of a kind, at most `limit`, nearest first."""

    def close(self) -> None:
        """Let go of what is open."""


def usable(rows: Sequence[Stored], dimension: int) -> tuple[list[Stored], Vectors]:
    """Those of the rows that hold a vector, and the vectors, one in each row."""
    import numpy as np

    fit = [row for row in rows if len(row.vector) == 4 * dimension]
    if not fit:
        return [], np.empty((0, dimension), np.float32)
    matrix = np.frombuffer(b"".join(row.vector for row in fit), "<f4").reshape(-1, dimension)
    with np.errstate(all="ignore"):
        good = np.abs(np.linalg.norm(matrix, axis=1) - 1) < 0.02
    kept = [row for row, fits in zip(fit, good.tolist(), strict=True) if fits]
    return kept, matrix[good].astype(np.float32, copy=False)


class Named(NamedTuple):
    """A record of a collection: its id, and the hash of the text that is meant."""

    key: str
    text_hash: str


def parts_of(rows: Sequence[Stored], vectors: Vectors) -> dict[str, tuple[list[Named], Vectors]]:
    """Rows with their vectors, by kind."""
    places: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        places.setdefault(row.kind, []).append(place)
    return {
        kind: ([Named(rows[place].id, rows[place].text_hash) for place in found], vectors[found])
        for kind, found in places.items()
    }


class RamCollections:
    """The vectors of the newest records of each kind that is asked for, in RAM; what others make is followed."""

    name, follows, is_new, place = "rows", True, False, "rows"

    def __init__(self, rows: RecordRows, dimension: int, model: str, most: int = MOST) -> None:
        self._rows, self._dimension, self._model, self._most = rows, dimension, model, most
        self._lock = threading.Lock()
        self._indexes: dict[str, RamIndex] = {}
        self._seen = 0

    def put(self, rows: Sequence[Stored], vectors: Vectors) -> None:
        """Nothing: it follows."""

    def remove(self, keys: Iterable[Key]) -> None:
        with self._lock:
            for kind, key in keys:
                if kind in self._indexes:
                    self._indexes[kind].remove([key])

    def nearest(self, kind: str, vector: Vectors, limit: int) -> list[Near]:
        with self._lock:
            self._follow()
            index = self._indexes.get(kind)
            if index is None:
                index = self._indexes[kind] = RamIndex(self._dimension)
                self._rows.newest(self._model, kind, self._most, partial(self._take, index))
            found = index.nearest(vector, limit)
            return [Near(kind, key, far, index.text_hash(key)) for key, far in found]

    def _follow(self) -> None:
        """Take up what was made since; a collection that grew too large is read anew when it is asked for."""
        last = self._rows.last()
        if not self._indexes:
            self._seen = last
        while self._seen < last:
            part = self._rows.since(self._model, self._seen, PART)
            for kind, index in self._indexes.items():
                self._take(index, [row for row in part if row.kind == kind])
            self._seen = part[-1].number if len(part) == PART else max(last, *(row.number for row in part), 0)
        for kind in [kind for kind, index in self._indexes.items() if len(index) > self._most * 1.25]:
            del self._indexes[kind]

    def _take(self, index: RamIndex, rows: Sequence[Stored]) -> None:
        kept, vectors = usable(rows, self._dimension)
        index.put([Named(row.id, row.text_hash) for row in kept], vectors)

    def close(self) -> None:
        """Let go of what is in RAM."""
        with self._lock:
            self._indexes.clear()
