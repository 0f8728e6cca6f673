"""Semantic search for a program with an event loop (seed 004): work records and documents, awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from nanomem_tui.store.work.values import TierHit

if TYPE_CHECKING:
    from nanomem_tui.store.work.values import KnowledgeHit
    from nanomem_tui.tiers.knowledge import KnowledgeBase as Documents
    from nanomem_tui.tiers.records import TierRecords


# -- for a program with an event loop ---------------------------------------------------------------------------------

Hit = TypeVar("Hit")


class Results(list[Hit]):
    """Hits, best first, each with a `score` from 0 to 1; `note`: why only words were compared, empty otherwise."""

    def __init__(self, hits: Iterable[Hit], note: str = "") -> None:
        super().__init__(hits)
        self.note = note


class Memory:
    """The records of an agent's work, searched by words and meaning."""

    def __init__(self, records: Callable[[], TierRecords]) -> None:
        self._records = records

    async def semantic_search(
        self, query: str, collections: Sequence[str] = (), n_results: int = 5
    ) -> Results[TierHit]:
        """Return the records most like a question. `collections`: of these alone, such as incidents or procedures.

        Raises BadInput for an empty question, or a collection or number that does not exist.
        """
        answer = await asyncio.to_thread(self._records().semantic_search, query, collections, n_results)
        return Results(answer.hits, answer.note)


class KnowledgeBase:
    """Documents, searched by words."""

    def __init__(self, documents: Callable[[], Documents]) -> None:
        self._documents = documents

    async def search(self, query: str, n_results: int = 5, sources: Sequence[str] = ()) -> Results[KnowledgeHit]:
        """Return the chunks that answer a question best. `sources`: of these kinds of documents alone.

        Raises BadInput for a kind that does not exist.
        """
        return Results(await asyncio.to_thread(self._documents().search, query, n_results, sources))
