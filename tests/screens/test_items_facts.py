"""Facts on the Items screen: they are items like any other, and are found by their names."""

import pytest

from nanomem_tui import open_workspace
from tests.screens.console import console


@pytest.mark.slow
async def test_items_are_filtered_by_the_names_of_facts(demo):
    with open_workspace(demo) as ws:
        ws.facts.set("Harbour", "berth", "17", domain="Sailing")
    async with console(demo, "items") as on:
        for typed in ("domain:sailing", "category:harbour", "key:berth"):
            await on.press("slash")
            await on.type(typed)
            await on.shows("berth: 17")
            await on.shows("1 of ")
            await on.press("escape", "escape")
