"""The Recall screen by words and meaning, with the model that is bundled."""

import pytest

from nanomem_tui import open_workspace
from tests.memory.turns import settle
from tests.screens.console import console
from tests.screens.test_recall import ask, everything, given

pytestmark = pytest.mark.usefixtures("recall_as_set")


@pytest.mark.slow
async def test_meaning_has_a_bar_a_weight_and_a_distance(demo):
    settle(demo, recall_backend="hybrid", recall_max_results=1)
    with open_workspace(demo) as ws:
        ws.items.add("Mira bought a second automobile for the farm")
        ws.items.add("Her vehicle is parked behind the barn")
        ws.meaning.sync()
    async with console(demo, "recall") as on:
        await ask(on, "where is her other car parked now")
        assert given(on) == ["Her vehicle is parked behind the barn"]
        parts = on.screen.table.rows[0].hit.parts
        assert parts["vector"] > 0.1
        assert "Lexic. Vec Imp Rec Hit" in on.text
        assert "[vector 0.340]" in on.text
        told = everything(on)
        assert f"{parts['distance']:.3f} in meaning" in told
        assert "score = (lexical + vector)" in told
        assert "hybrid in " in told
        assert "Related facts (" in told
        await on.press("less_than_sign")
        assert "[vector 0.290* was 0.340]" in on.text
        await on.press("P", "P", "P")
        assert "[vector 0.340]" in on.text


@pytest.mark.slow
async def test_without_a_model_it_says_why(demo):
    settle(demo, recall_backend="hybrid", embedding_enabled=False)
    async with console(demo, "recall") as on:
        await ask(on, "window seats")
        assert "Prefers window seats, aisle on night flights" in given(on)
        assert "has no part in it: search by meaning is switched off" in " ".join(everything(on).split())
