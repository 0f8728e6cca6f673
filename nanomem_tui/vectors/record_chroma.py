"""The collections of records in Chroma, called as seed 004 calls them, in a folder of ours or on a server. Nothing of
them is held here, however many there are.

Owns what stands in them: the id of a record, its vector, when it was, and of which text the vector is. The words of a
record stay in the database. Must not know where vectors come from.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from nanomem_tui.store.tier_kinds import KINDS
from nanomem_tui.vectors.chroma_client import Chroma, Place
from nanomem_tui.vectors.documents import HASH
from nanomem_tui.vectors.record_index import Near
from nanomem_tui.vectors.record_rows import ORDER, Key, Stored

if TYPE_CHECKING:
    from nanomem_tui.vectors.index import Vectors

FOLDER = "records"
"""What our folder is marked with."""


class ChromaCollections:
    """The vectors of the records of one workspace and model."""

    name, follows = "chroma", False

    def __init__(self, place: Place, workspace_id: str, model: str, *, anew: bool = False) -> None:
        """Raises MissingExtra, Refused (another process uses the folder, or it is somebody else's) or StoreError."""
        self._lock = threading.RLock()
        self._chroma = Chroma(place, workspace_id, FOLDER, anew=anew)
        try:
            with self._chroma.told():
                opened = {kind: self._chroma.collection(KINDS[kind].table, model, anew=anew) for kind in ORDER}
                self._chroma.keep_private()
        except BaseException:
            self._chroma.close()
            raise
        self._collections = {kind: collection for kind, (collection, _) in opened.items()}
        self.is_new = any(made for _, made in opened.values())

    @property
    def place(self) -> str:
        return self._chroma.where

    def put(self, rows: Sequence[Stored], vectors: Vectors) -> None:
        with self._lock, self._chroma.told():
            for kind, collection in self._collections.items():
                places = [place for place, row in enumerate(rows) if row.kind == kind]
                if places:
                    collection.upsert(
                        ids=[rows[place].id for place in places],
                        embeddings=[*vectors[places]],
                        metadatas=[{HASH: rows[place].text_hash, "at": rows[place].at} for place in places],
                    )
            self._chroma.keep_private()

    def remove(self, keys: Iterable[Key]) -> None:
        with self._lock, self._chroma.told():
            for kind, key in keys:
                self._collections[kind].delete(ids=[key])

    def nearest(self, kind: str, vector: Vectors, limit: int) -> list[Near]:
        with self._lock, self._chroma.told():
            found = self._collections[kind].query(
                query_embeddings=[vector], n_results=limit, include=["distances", "metadatas"]
            )
        rows = zip(found["ids"][0], found["distances"][0], found["metadatas"][0], strict=True)
        near = [Near(kind, key, max(0.0, float(far)), str((marks or {}).get(HASH, ""))) for key, far, marks in rows]
        return sorted(near, key=lambda one: (one.distance, one.id))

    def close(self) -> None:
        with self._lock:
            self._chroma.close()
