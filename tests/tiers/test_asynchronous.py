"""Seed 004's two searches, awaited as it writes them."""

import asyncio

import pytest

import nanomem_tui
from nanomem_tui.core.errors import BadInput

pytestmark = pytest.mark.slow


@pytest.mark.slow
async def test_similar_incidents_come_with_their_resolutions(ws):
    memory = ws.memory
    assert isinstance(memory, nanomem_tui.Memory)
    ws.records.store("incident", {"description": "nginx answers 502", "resolution": "raised its memory limit"})
    ws.records.store("goal", {"description": "nginx without 502"})
    ws.records.store("incident", {"description": "the disk is full", "resolution": "logs rotated"})
    results = await memory.semantic_search(
        query="nginx returning 502 bad gateway after restart",
        collections=["incidents", "decisions", "procedures"],
        n_results=5,
    )
    assert results[0].record.fields["resolution"] == "raised its memory limit"
    assert all(hit.record.kind == "incident" and 0 <= hit.score <= 1 for hit in results)
    assert isinstance(results.note, str)
    with pytest.raises(BadInput, match="no such kind of record"):
        await memory.semantic_search(query="nginx", collections=["rumours"])


async def test_documents_are_searched_while_the_loop_goes_on(ws):
    knowledge_base = ws.knowledge_base
    assert isinstance(knowledge_base, nanomem_tui.KnowledgeBase)
    for number in range(5):
        ws.knowledge.add_text(f"# Proxy {number}\n\nThe upstream of a reverse proxy.\n", "me", f"Proxy {number}")
    docs, others = await asyncio.gather(
        knowledge_base.search(query="nginx reverse proxy configuration upstream", n_results=3),
        knowledge_base.search(query="violin", n_results=3),
    )
    assert len(docs) == 3
    assert all(0 < hit.score <= 1 for hit in docs)
    assert [hit.score for hit in docs] == sorted((hit.score for hit in docs), reverse=True)
    assert others == []
    with pytest.raises(BadInput, match="no such source"):
        await knowledge_base.search(query="x", sources=["rumours"])


@pytest.mark.slow
async def test_a_hit_of_the_memory_and_one_of_the_documents_are_on_one_scale(ws):
    ws.records.store("procedure", {"name": "proxy", "description": "restart the reverse proxy"})
    ws.knowledge.add_text("# Proxy\n\nHow to restart the reverse proxy.\n", "me", "Proxy")
    for query in ("restart the reverse proxy", "restart the coffee machine"):
        (record,) = await ws.memory.semantic_search(query=query, n_results=1)
        (chunk,) = await ws.knowledge_base.search(query=query, n_results=1)
        assert record.score == pytest.approx(chunk.score, abs=0.35)
        assert (record.score > 0.8) == (chunk.score > 0.8) == (query == "restart the reverse proxy")
