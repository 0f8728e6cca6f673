"""Jump to anything, bookmarks and named filters, by keys."""

import pytest

from nanomem_tui.workspace import open_workspace
from tests.screens.console import NAMES, console

pytestmark = pytest.mark.slow

NAMES |= {"|": "vertical_line", "'": "apostrophe", ";": "semicolon", "#": "number_sign", "@": "at"}


@pytest.fixture
def boats(tmp_path):
    workspace = tmp_path / "home" / "workspace"
    workspace.mkdir(parents=True)
    with open_workspace(workspace) as ws:
        for text in ("the boat is green", "the boat is red", "tea, never coffee", "[/red] 记住 🧑‍🤝‍🧑"):
            ws.items.add(text)
        ws.lessons.add("long answers", "be brief")
    return workspace


@pytest.mark.slow
async def test_typing_finds_anything_and_enter_goes_there(boats):
    async with console(boats, "items", (80, 24)) as on:
        await on.press("J")
        await on.shows("Jump to anything", "Facts")
        await on.type("brief")
        await on.shows("be brief", "1 found")
        await on.press("enter")
        await on.until(lambda: on.screen.SCREEN == "lessons")
        await on.press("J")
        await on.type("记住")
        await on.shows("[/red] 记住")
        await on.press("enter")
        await on.until(lambda: on.screen.SCREEN == "items")
        row = on.screen.table.cursor_row
        assert "记住" in row.text


@pytest.mark.slow
async def test_a_record_and_a_fact_are_gone_to_with_the_cursor_on_them(demo):
    with open_workspace(demo) as ws:
        goal = ws.records.list_records("goal")[-1]
        fact = ws.facts.all()[5]
    async with console(demo, "items") as on:
        await on.press("J")
        await on.type(f"kind:record {goal.title}")
        await on.shows("goal ")
        await on.press("enter")
        await on.until(lambda: on.screen.SCREEN == "trail" and on.screen.table.cursor_id == goal.id)
        await on.press("J")
        await on.type(fact.id)
        await on.shows("1 found")
        await on.press("enter")
        await on.until(lambda: on.screen.SCREEN == "knowledge" and on.screen.table.cursor_id == fact.id)


@pytest.mark.slow
async def test_a_bookmark_is_set_found_and_removed(boats):
    async with console(boats, "items") as on:
        assert not on.app.ws.paths.habits.exists()
        await on.press("j", ";")
        await on.shows("Bookmark set")
        row_id = on.screen.table.cursor_id
        await on.press("2", "'")
        await on.shows("Bookmarks", "tea, never coffee")
        await on.press("enter")
        assert (on.screen.SCREEN, on.screen.table.cursor_id) == ("items", row_id)
        await on.press("'", "ctrl+x")
        await on.shows("again does")
        assert len(on.app.ws.habits.read().bookmarks) == 1
        await on.press("ctrl+x")
        await on.shows("No bookmark yet")
        await on.press("escape", ";", ";")
        await on.shows("Bookmark removed")


@pytest.mark.slow
async def test_a_filter_gets_a_name_and_is_chosen_by_it(boats):
    async with console(boats, "items") as on:
        await on.press("/")
        await on.type("boat")
        await on.press("enter", "|")
        await on.type("vessels")
        await on.shows("keep as vessels")
        await on.press("enter")
        await on.shows("Kept as vessels")
        await on.press("escape")
        assert len(on.ids) == 4
        await on.press("|", "enter")
        assert len(on.ids) == 2
        await on.press("2", "|")
        await on.shows("No filter of this screen")
