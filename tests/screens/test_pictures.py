"""The Pictures screen: behind Status, each picture small in the list and large beside it."""

import pytest

from nanomem_tui.review.charts import PICTURES
from tests.screens.console import console


@pytest.mark.slow
async def test_the_charts_are_a_list_of_system(demo):
    async with console(demo, "status") as on:
        await on.press("[")
        await on.until(lambda: on.screen.SCREEN == "pictures" and len(on.ids) == len(PICTURES), "all pictures")
        await on.shows("Growth by kind", "items;", "Duplicates")
        await on.at("unused")
        await on.shows("enabled items were never recalled", "never")
        await on.press("]")
        await on.until(lambda: on.screen.SCREEN == "status")


async def test_a_narrow_screen_shows_one_picture_at_a_time(demo):
    async with console(demo, "pictures", (60, 20)) as on:
        await on.until(lambda: len(on.ids) == len(PICTURES))
        await on.press("enter")
        await on.shows("Growth by kind")
        assert all(len(line) <= 60 for line in on.text.splitlines())
        await on.press("escape", "escape")
        await on.until(lambda: on.screen.SCREEN == "status")
