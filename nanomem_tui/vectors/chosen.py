"""Search by meaning as the settings want it: which embedder makes the vectors, and which index finds them.

Imports nothing of either before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanomem_tui.vectors.meaning import Meaning

if TYPE_CHECKING:
    from nanomem_tui.settings import Settings
    from nanomem_tui.store.memory_store import MemoryStore
    from nanomem_tui.vectors.embedders import Embedder
    from nanomem_tui.vectors.index import Index
    from nanomem_tui.vectors.keeping import Outside


def meaning_of(store: MemoryStore, settings: Settings) -> Meaning:
    """Search by meaning over a store; nothing of it is loaded yet."""

    def embedder() -> Embedder:
        from nanomem_tui.vectors.embedders import embedder_of

        return embedder_of(settings, store.paths)

    return Meaning(store, settings, embedder, outside_of(store, settings))


def outside_of(store: MemoryStore, settings: Settings) -> Outside | None:
    """What opens the index outside the database that the settings name; None where the rows are it."""

    def chroma(dimension: int, model: str, *, anew: bool) -> Index:
        from nanomem_tui.vectors.chroma import ChromaIndex, place_of

        return ChromaIndex(place_of(settings, store.paths), store.workspace_id, dimension, model, anew=anew)

    def pgvector(dimension: int, model: str, *, anew: bool) -> Index:
        from nanomem_tui.vectors.pgvector import PgIndex

        return PgIndex(settings.pgvector_url, store.workspace_id, dimension, model, anew=anew)

    known: dict[str, Outside] = {"chroma": chroma, "pgvector": pgvector}
    return known.get(settings.vector_index)
