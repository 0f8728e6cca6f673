"""A language model's Dream in the console: reviewed, paid for, stopped while it waits, and failing in words."""

import threading

import pytest

from tests.model.dreams import PORT, endpoints, step, study, with_a_fact
from tests.model.server import KEY, status
from tests.screens.console import console

pytestmark = pytest.mark.slow

LINE = PORT["new"]


@pytest.fixture
def home(sample):
    """A workspace with one fact that waits for the next Dream."""
    return with_a_fact(sample("nb035"))


@pytest.fixture
def endpoint(monkeypatch):
    """`endpoint(reply, …)`: a server with that script, which is the Dreamer of this test's settings."""
    monkeypatch.setenv("NANOMEM_DREAM_DREAMER", "model")
    with endpoints(monkeypatch) as serve:
        yield serve


@pytest.mark.slow
async def test_a_models_dream_is_reviewed_and_its_cost_stands_in_the_list(home, endpoint):
    server = endpoint(study("They moved a port."), step(PORT))
    async with console(home, "dream", (200, 60)) as on:
        await on.press("T")
        await on.shows("0 of 1 decided", LINE, "They moved a port.", "scripted, 2 questions, 3,000 tokens in, 200 out")
        await on.shows("#283 2026-04-03 00:02")
        asked = len(server.asked)
        await on.press("+", "r", "y")
        await on.until(lambda: on.screen.SCREEN == "dream" and LINE in (home / "memory" / "MEMORY.md").read_text())
        assert len(server.asked) == asked, "what is applied is what was reviewed: nobody is asked again"
        await on.shows("3,200", "0.0080", "model", "They moved a port.")


@pytest.mark.slow
async def test_esc_stops_a_dream_while_the_model_thinks(home, endpoint):
    asked, go = threading.Event(), threading.Event()

    def slow(_asked):
        asked.set()
        go.wait(60)
        return study("They moved a port.")

    endpoint(slow, step(PORT))
    before = (home / "memory" / "MEMORY.md").read_text()
    async with console(home, "dream", (140, 40)) as on:
        await on.pilot.press("T")
        await on.until(asked.is_set)
        await on.shows("Dreaming", "esc stops it")
        await on.pilot.press("question_mark")  # the rest goes on meanwhile
        await on.shows("Keys of Review")
        await on.pilot.press("escape")
        await on.pilot.press("escape")
        await on.shows("The Dream was stopped")
        assert not go.is_set(), "it does not wait for the answer"
        go.set()
        assert (home / "memory" / "MEMORY.md").read_text() == before


async def test_a_model_that_cannot_be_asked_is_an_error_with_what_to_do(home, endpoint):
    endpoint(*[status(401, "no such key")] * 9)
    async with console(home, "dream", (140, 40)) as on:
        await on.press("T")
        await on.shows("Error: ")
        assert KEY not in on.text
        await on.press("escape")
        assert on.screen.SCREEN == "dream"
