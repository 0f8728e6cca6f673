"""Search by meaning as the settings want it: which embedder makes the vectors, and which index finds them.

Imports nothing of either before it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nanomem_tui.vectors.meaning import Meaning

if TYPE_CHECKING:
    from nanomem_tui.settings import Settings
    from nanomem_tui.store.memory_store import MemoryStore
    from nanomem_tui.store.tier_store import TierStore
    from nanomem_tui.vectors.embedders import Embedder
    from nanomem_tui.vectors.index import Index
    from nanomem_tui.vectors.keeping import Outside
    from nanomem_tui.vectors.making import Maker
    from nanomem_tui.vectors.record_index import Collections
    from nanomem_tui.vectors.record_meaning import Outside as RecordsOutside
    from nanomem_tui.vectors.record_meaning import RecordMeaning


def meaning_of(store: MemoryStore, settings: Settings) -> Meaning:
    """Search by meaning over a store; nothing of it is loaded yet."""

    def embedder() -> Embedder:
        from nanomem_tui.vectors.embedders import embedder_of

        return embedder_of(settings, store.paths)

    return Meaning(store, settings, embedder, outside_of(store, settings))


def outside_of(store: MemoryStore, settings: Settings) -> Outside | None:
    """What opens the index outside the database that the settings name; None where the rows are it."""

    def chroma(dimension: int, model: str, *, anew: bool) -> Index:
        from nanomem_tui.vectors.chroma import ChromaIndex
        from nanomem_tui.vectors.chroma_client import place_of

        return ChromaIndex(place_of(settings, store.paths), store.workspace_id, dimension, model, anew=anew)

    def pgvector(dimension: int, model: str, *, anew: bool) -> Index:
        from nanomem_tui.vectors.pgvector import PgIndex

        return PgIndex(settings.pgvector_url, store.workspace_id, dimension, model, anew=anew)

    known: dict[str, Outside] = {"chroma": chroma, "pgvector": pgvector}
    return known.get(settings.vector_index)


def record_meaning_of(
    database: TierStore, store: MemoryStore, settings: Settings, maker: Callable[[], Maker]
) -> RecordMeaning:
    """Search by meaning over the records of a workspace, with the embedder that `maker` gives."""
    from nanomem_tui.vectors.record_meaning import RecordMeaning

    return RecordMeaning(database, store.workspace_id, maker, records_outside_of(store, settings))


def records_outside_of(store: MemoryStore, settings: Settings) -> RecordsOutside | None:
    """What opens the collections of records outside the database; None where the rows are the index."""

    def chroma(_: int, model: str, *, anew: bool) -> Collections:
        from nanomem_tui.vectors.chroma_client import records_place_of
        from nanomem_tui.vectors.record_chroma import ChromaCollections

        return ChromaCollections(records_place_of(settings, store.paths), store.workspace_id, model, anew=anew)

    def pgvector(dimension: int, model: str, *, anew: bool) -> Collections:
        from nanomem_tui.vectors.record_pgvector import PgCollections

        return PgCollections(settings.pgvector_url, store.workspace_id, dimension, model, anew=anew)

    known: dict[str, RecordsOutside] = {"chroma": chroma, "pgvector": pgvector}
    return known.get(settings.vector_index)
