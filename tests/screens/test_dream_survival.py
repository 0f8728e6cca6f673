"""Survival: what is left of each Dream's lines, as a number and a curve."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nanomem_tui.workspace import open_workspace
from tests.screens.console import console


@pytest.fixture
def home(sample: Callable[[str], Path]) -> Path:
    return sample("nb035")


async def test_every_dream_has_a_number_and_a_curve(home: Path) -> None:
    with open_workspace(home) as ws:
        found = ws.dream.versions.survival()
    async with console(home, "dream", (160, 50)) as on:
        await on.press("%")
        assert on.ids == [one.sha for one in found]
        stand, added = sum(one.standing for one in found), sum(one.added for one in found)
        await on.shows(f"20 Dreams · {stand} of {added} lines stand")
        await on.press("G")
        await on.shows("8 lines", "4 (50%)", "100 %│", "0 %│", "Stand (4)", "Gone (4)", "- Timezone: Asia/Shanghai")
        await on.shows("with f54b4763 dream: manual run")
        await on.press("escape")
        assert on.screen.SCREEN == "dream"


async def test_it_opens_at_the_dream_and_leads_to_the_way_back(home: Path) -> None:
    async with console(home, "dream", (120, 40)) as on:
        row = next(row for row in on.screen.table.rows if row.short == "49e6285a")
        await on.at(row.sha)
        await on.press("%")
        assert on.screen.table.cursor_id == row.sha
        await on.press("t")
        await on.shows("Take back 49e6285a")
        assert on.screen.SCREEN == "dream"


async def test_it_follows_an_edit(home: Path) -> None:
    async with console(home, "survival", (120, 40)) as on:
        last = on.ids[-1]
        await on.at(last)
        await on.shows("4 (50%)")
        on.app.ws.documents.edit("USER.md", "# User\n")
        await on.press("f5")
        await on.until(lambda: "4 (50%)" not in on.text)
        assert on.screen.table.cursor_id == last


async def test_what_stands_is_filtered_and_sorted_by_its_share(home: Path) -> None:
    async with console(home, "survival", (120, 40)) as on:
        await on.press("/", *"share", "colon", "less_than_sign", *"60", "enter")
        assert 0 < len(on.ids) < 20


@pytest.mark.parametrize("size", [(80, 24), (60, 20)])
async def test_it_works_on_a_small_screen_and_without_versions(
    home: Path, sample: Callable[[str], Path], size: tuple[int, int]
) -> None:
    async with console(home, "survival", size) as on:
        await on.press("G", "enter")
        await on.shows("100 %│")
    async with console(sample("ramfirst"), "survival", size) as on:
        await on.shows("No Dream has written a line yet")
