"""The lifecycle on the Tiers screen: what is due and how large the tiers are, in words; a run, taken back."""

from datetime import timedelta

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from tests.screens.console import console
from tests.tiers.happened import small_home

LARGE = (200, 60)


@pytest.fixture
def home(tmp_path):
    """A workspace in which nothing is remembered yet."""
    return small_home(tmp_path)


def old(ws, count):
    """So many tool calls that are due."""
    for number in range(count):
        at = clock.iso(clock.now() - timedelta(days=40 + number))
        ws.records.store("tool-call", {"tool_name": "old", "input": {}, "timestamp": at}, f"old_{number}")


@pytest.mark.slow
async def test_the_lifecycle_is_run_after_a_look_and_taken_back(home):
    with open_workspace(home) as ws:
        old(ws, 40)
        ws.records.store("tool-call", {"tool_name": "exec", "input": {}})
    async with console(home, "tiers", LARGE) as on:
        await on.at("lifecycle")
        await on.shows("40 due", "40 tool calls to long-term memory", "Forecast", "never")
        await on.press("Y")
        await on.shows("Run the lifecycle: 40 rows due", "yes, do it")
        await on.press("y")
        await on.until(lambda: "lifecycle: 40 tool calls to long-term memory" in on.text)
        await on.until(lambda: " 0 due" in on.text)
        assert on.screen.ws.records.count("tool-call", "longterm") == 40
        await on.press("Y")
        await on.shows("Nothing is due")
        await on.press("u")
        await on.until(lambda: "40 due" in on.text)
        assert on.screen.ws.records.count("tool-call", "longterm") == 0


async def test_one_record_is_no_plural_and_sizes_read_alike(home):
    with open_workspace(home) as ws:
        old(ws, 1)
    async with console(home, "tiers", LARGE) as on:
        await on.at("lifecycle")
        await on.shows("1 tool call to long-term memory", "Working memory: about ", "1.0GB", "Size, about")
        assert " kB" not in on.text
