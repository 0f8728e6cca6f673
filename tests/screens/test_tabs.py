"""Tabs: each by its digit and its name, the lists of each by `[` and `]`, back by esc."""

from __future__ import annotations

import pytest

from nanomem_tui.tabs import TABS
from tests.screens.console import console

SMALL = (80, 24)


def top(on):
    """The first two lines: the tabs, and the names over the list."""
    return on.text.splitlines()[:2]


async def test_all_tabs_stand_in_full_at_80_columns(demo):
    async with console(demo, "items", SMALL) as on:
        tabs, lists = top(on)
        assert tabs.split() == "1 Memory 2 Lessons 3 Sessions 4 WAL 5 Dreams 6 Recall 7 Inbox 8 Work 9 System".split()
        assert "Items · Facts · Files · Blame · Scopes" in lists


async def test_a_narrow_terminal_has_the_name_of_the_tab_that_is_shown_and_the_digits_of_the_others(demo):
    async with console(demo, "lessons", (60, 20)) as on:
        assert top(on)[0].split() == ["1", "2", "Lessons", "3", "4", "5", "6", "7", "8", "9"]


@pytest.mark.slow
async def test_the_lists_of_each_tab_come_one_after_another_and_round(demo):
    async with console(demo, "items", SMALL) as on:
        seen = []
        for tab in TABS:
            await on.press(tab.key)
            for _ in tab.lists:
                seen.append(on.screen.SCREEN)
                await on.press("]")
            assert tab.lists[0].screen == on.screen.SCREEN
        assert seen == [one.screen for tab in TABS for one in tab.lists]


async def test_the_list_before_the_first_is_the_last(demo):
    async with console(demo, "inbox", SMALL) as on:
        await on.press("[")
        assert on.screen.SCREEN == "rules"
        await on.press("[")
        assert on.screen.SCREEN == "conflicts"


async def test_esc_goes_back_to_the_first_list_of_the_tab(demo):
    async with console(demo, "sessions", SMALL) as on:
        await on.press("]", "]")
        assert on.screen.SCREEN == "journal"
        await on.press("escape")
        assert on.screen.SCREEN == "sessions"
        await on.press("escape")
        assert on.screen.SCREEN == "sessions"


async def test_the_palette_has_each_list_by_its_name(demo):
    async with console(demo, "items") as on:
        await on.press(":")
        await on.type("context log")
        await on.press("enter")
        await on.until(lambda: on.screen.SCREEN == "injections")


async def test_the_list_says_at_its_lower_edge_what_it_holds(demo):
    async with console(demo, "items", SMALL) as on:
        edge = next(line for line in on.text.splitlines() if line.startswith("╰"))
        assert f" {len(on.ids)} " in edge
        await on.press("space")
        await on.shows("1 selected")


async def test_a_click_on_a_tab_a_list_or_a_key_does_what_the_key_does(demo):
    async with console(demo, "items", SMALL) as on:
        await click(on, "7 Inbox")
        assert on.screen.SCREEN == "inbox"
        await click(on, "Conflicts")
        assert on.screen.SCREEN == "conflicts"
        await click(on, "? help")
        await on.shows("Keys of Conflicts")


async def click(on, words):
    """Click in the middle of words that are on the screen."""
    y, line = next((y, line) for y, line in enumerate(on.text.splitlines()) if words in line)
    await on.pilot.click(offset=(line.index(words) + len(words) // 2, y))
    await on.app.settled()


async def test_a_key_that_does_nothing_here_says_so(demo):
    async with console(demo, "wal", SMALL) as on:
        await on.press("a")
        await on.shows("a: not here, ? for keys")
        await on.press("f9")
        await on.shows("f9: not here, ? for keys")
        await on.press("/", "left", "backspace", "home")
        await on.type("Zz")
        assert "not here" not in on.text.replace("f9: not here", "")
