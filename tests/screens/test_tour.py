"""A tour on the screen: above the status bar, on every screen, until its steps are done or esc puts it away."""

import pytest

from nanomem_tui.widgets import tour
from tests.screens.console import console


async def test_the_lines_stand_above_the_status_bar_until_esc(demo):
    async with console(demo, "items", (80, 24)) as on:
        assert "Welcome" not in on.text
        await on.press("colon")
        await on.type("tour")
        await on.press("enter")
        await on.shows("Welcome. Everything can be undone", "esc hides this")
        rows = on.screen.table.size.height
        await on.press("3")
        await on.until(lambda: on.screen.SCREEN == "sessions")
        await on.shows("Welcome.")
        await on.press("1", "escape")
        await on.until(lambda: "Welcome" not in on.text)
        await on.until(lambda: on.screen.table.size.height == rows + 5)
        assert on.screen.SCREEN == "items"


async def test_a_step_that_is_done_shows_the_next(demo):
    async with console(demo, "items", (60, 20)) as on:
        on.app.begin_tour(tour.Tour((tour.Step(("Press {undo}.",), ("undo",)), tour.Step(("Well done.",))), {}))
        await on.press("d")
        await on.shows("Press u.")
        await on.press("u")
        await on.shows("Well done.")


async def test_esc_goes_back_first_and_then_puts_the_tour_away(demo):
    async with console(demo, "items", (80, 24)) as on:
        on.app.begin_tour(tour.Tour((tour.Step(("Look around.",)),), {}))
        await on.shows("Look around.")
        await on.press("enter")
        await on.until(lambda: not on.screen.at_rest)
        await on.press("escape")
        await on.until(lambda: on.screen.at_rest)
        await on.shows("Look around.")
        await on.press("escape")
        await on.until(lambda: "Look around." not in on.text)


async def test_the_walk_tells_of_an_item_that_is_given_to_the_agent(demo):
    async with console(demo, "inbox", (100, 30)) as on:
        await on.shows("! injection")
        found = next(one for one in on.app.ws.triage.findings(("injection",)))
        item = on.app.ws.items.get(found.ids[0])
        assert item.enabled
        assert item.source == "tool_result"
        assert any("a tool result that" in line for step in tour.WALK for line in step.lines)


@pytest.mark.slow
async def test_a_step_that_asks_first_is_done_with_the_answer(demo):
    async with console(demo, "dream", (100, 30)) as on:
        steps = (tour.Step(("Take one back.",), ("dream dream_restore",)), tour.Step(("Well done.",)))
        on.app.begin_tour(tour.Tour(steps, {}))
        await on.until(lambda: on.ids)
        await on.press("t")
        await on.shows("y take it back")
        await on.press("escape")
        await on.shows("Take one back.")
        await on.press("t")
        await on.shows("y take it back")
        await on.press("y")
        await on.shows("Well done.")


async def test_a_walk_that_was_put_away_comes_back_where_it_was(demo):
    async with console(demo, "items", (80, 24)) as on:
        on.app.begin_tour(tour.Tour((tour.Step(("First.",), ("undo",)), tour.Step(("Second.",))), {}))
        await on.press("d", "u")
        await on.shows("Second.")
        await on.press("escape")
        await on.until(lambda: "Second." not in on.text)
        await on.press("colon")
        await on.type("tour")
        await on.press("enter")
        await on.shows("Second.")
