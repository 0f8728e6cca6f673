"""The index in Chroma: a collection as the crystallized system (seed 003) has it, in a folder of ours or on a server.

Owns what stands in that collection. All errors of Chroma come out as errors of ours, so that whoever asks can do
without it.
"""

from __future__ import annotations

import threading
from collections.abc import Container, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from nanomem_tui.vectors import documents
from nanomem_tui.vectors.chroma_client import Chroma, Place
from nanomem_tui.vectors.index import Entry, Found, accepted

if TYPE_CHECKING:
    from nanomem_tui.vectors.index import Vectors

COLLECTION = "nanobot_memory"
PART = 1_000
"""Entries that Chroma is given, or asked for, at a time."""
FEW = 200
"""Ids up to which Chroma is asked about these alone."""


class ChromaIndex:
    """The vectors of one workspace and model in a collection of Chroma. Opened with what it holds."""

    name = "chroma"

    def __init__(self, place: Place, workspace_id: str, dimension: int, model: str, *, anew: bool = False) -> None:
        """Raises MissingExtra, Refused (another process uses the folder, or it is somebody else's) or StoreError."""
        self._dimension = dimension
        self._lock = threading.RLock()
        self._ids = documents.Ids()
        self._hashes: dict[str, str] = {}
        self._chroma = Chroma(place, workspace_id, COLLECTION, anew=anew)
        try:
            with self._chroma.told():
                self._collection, _ = self._chroma.collection(COLLECTION, model, anew=anew)
                self._read()
        except BaseException:
            self._chroma.close()
            raise

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
        with self._lock, self._chroma.told():
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
            self._chroma.keep_private()

    def remove(self, keys: Iterable[str]) -> None:
        with self._lock, self._chroma.told():
            gone = [key for key in keys if key in self._hashes]
            called = self._ids.change({}, gone)
            self._delete(self._ids.of[key] for key in gone)
            self._ids.settle({}, gone)
            for key in gone:
                del self._hashes[key]
            self._rename(called)

    def nearest(self, vector: Vectors, limit: int, within: Container[str] | None = None) -> Found:
        with self._lock, self._chroma.told():
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

        with self._lock, self._chroma.told():
            if key not in self._ids.of:
                return None
            found = self._collection.get(ids=[self._ids.of[key]], include=["embeddings"])["embeddings"]
            return np.asarray(found[0], np.float32) if len(found) else None

    def close(self) -> None:
        with self._lock:
            self._chroma.close()

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
