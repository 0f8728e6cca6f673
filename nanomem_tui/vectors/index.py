"""The protocol of an index of vectors, and the default one: a matrix in RAM, searched whole by one product.

An index is a cache of what the `vectors` table holds, of one model. Must not know where vectors come from.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from nanomem_tui.store.values import Item

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    """One vector, or one in each row; every one has length 1."""

Found = list[tuple[str, float]]
"""Ids of items, and their cosine distance, 0 to 2, nearest first."""
ROOM = 256
"""Rows that a new matrix has room for."""
SPARSE = 8
"""An index that is asked for less than this part of it looks at that part alone."""


class Known(Protocol):
    """What a vector is of: the id of a thing, and the hash of the text that was embedded."""

    @property
    def key(self) -> str: ...

    @property
    def text_hash(self) -> str: ...


class Entry(NamedTuple):
    """What a vector stands for: the item's id, the hash of the text that was embedded, and the item."""

    key: str
    text_hash: str
    item: Item


class Index(Protocol):
    """What finds the nearest vectors. Every method may be called from any thread."""

    name: str

    def __len__(self) -> int: ...

    def held(self) -> Mapping[str, str]:
        """The items it has a vector of, by id with the hash of the text."""

    def put(self, entries: Sequence[Entry], vectors: Vectors) -> None:
        """Take the vectors of these items in place of those it had."""

    def remove(self, keys: Iterable[str]) -> None:
        """Forget these items, where it has them."""

    def nearest(self, vector: Vectors, limit: int, within: Container[str] | None = None) -> Found:
        """The nearest items, at most `limit`; `within`: of these alone. Equal ones in the order of their ids."""

    def vector(self, key: str) -> Vectors | None:
        """The vector of an item, None where it has none."""

    def close(self) -> None:
        """Let go of what is open."""


class RamIndex:
    """All vectors in one float32 matrix, compared with the question in one product."""

    name = "rows"

    def __init__(self, dimension: int) -> None:
        import numpy as np

        self._lock = threading.RLock()
        self._matrix: Vectors = np.empty((ROOM, dimension), np.float32)
        self._keys: list[str] = []
        self._places: dict[str, int] = {}
        self._hashes: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def held(self) -> Mapping[str, str]:
        with self._lock:
            return dict(self._hashes)

    def put(self, entries: Sequence[Known], vectors: Vectors) -> None:
        with self._lock:
            self._make_room(len(self._keys) + len(entries))
            for entry, vector in zip(entries, vectors, strict=True):
                place = self._places.get(entry.key)
                if place is None:
                    place = self._places[entry.key] = len(self._keys)
                    self._keys.append(entry.key)
                self._matrix[place] = vector
                self._hashes[entry.key] = entry.text_hash

    def _make_room(self, rows: int) -> None:
        import numpy as np

        if rows > len(self._matrix):
            grown = np.empty((max(rows, 2 * len(self._matrix)), self._matrix.shape[1]), np.float32)
            grown[: len(self._keys)] = self._matrix[: len(self._keys)]
            self._matrix = grown

    def remove(self, keys: Iterable[str]) -> None:
        with self._lock:
            for key in keys:
                place = self._places.pop(key, None)
                if place is None:
                    continue
                del self._hashes[key]
                last = self._keys.pop()
                if last != key:  # the last one takes the place that is free
                    self._keys[place], self._places[last] = last, place
                    self._matrix[place] = self._matrix[len(self._keys)]

    def nearest(self, vector: Vectors, limit: int, within: Container[str] | None = None) -> Found:
        with self._lock:
            some = isinstance(within, Collection) and len(within) * SPARSE < len(self._keys)
            if some and isinstance(within, Collection):
                places = [place for key in within if (place := self._places.get(key)) is not None]
                return self._best(self._matrix[places] @ vector, limit, [self._keys[place] for place in places])
            similar = self._matrix[: len(self._keys)] @ vector
            return accepted(lambda size: self._best(similar, size, self._keys), len(self._keys), limit, within)

    @staticmethod
    def _best(similar: Vectors, limit: int, keys: Sequence[str]) -> Found:
        """The `limit` most similar; of equal ones beyond that any."""
        import numpy as np

        if limit <= 0 or not len(similar):
            return []
        if limit < len(similar):
            least = np.partition(similar, len(similar) - limit)[len(similar) - limit]
            places = np.flatnonzero(similar >= least).tolist()
        else:
            places = list(range(len(similar)))
        ranked = sorted((max(0.0, 1.0 - float(similar[place])), keys[place]) for place in places)
        return [(key, distance) for distance, key in ranked[:limit]]

    def text_hash(self, key: str) -> str:
        """The hash of the text of a vector; empty where there is none."""
        return self._hashes.get(key, "")

    def vector(self, key: str) -> Vectors | None:
        with self._lock:
            place = self._places.get(key)
            return None if place is None else self._matrix[place].copy()

    def close(self) -> None:
        """Nothing is open."""


def accepted(ask: Callable[[int], Found], size: int, limit: int, within: Container[str] | None) -> Found:
    """The first `limit` of `within` (None: of all) that an index of `size` vectors gives, which is asked for as many as
    that takes."""
    if within is None:
        return ask(limit)
    wanted = 2 * limit
    while True:
        found = [one for one in ask(wanted) if one[0] in within]
        if len(found) >= limit or wanted >= size:
            return found[:limit]
        wanted *= 4
