"""The Moments screen: any two moments compared, and one row, a kind or all of it brought back."""

import pytest

from nanomem_tui import open_workspace
from tests.cli.test_moments import damaged
from tests.screens.console import console

pytestmark = pytest.mark.slow


def told(workspace):
    """One item edited, one deleted, one come; the id of the edited one."""
    with open_workspace(workspace) as ws:
        key = ws.items.add("Drinks green tea 茶", kind="preference")[1].id
        cat = ws.items.add("Has a cat\x1b]0;x\x07")[1].id
        ws.items.edit(key, text="Drinks coffee")
        ws.items.delete([cat])
        ws.items.add("Has a bird")
    return key


async def to(on, label):
    """Put the cursor on the moment after `label`."""
    [found] = [row for row in on.screen.table.rows if row.label.startswith(label)]
    await on.at(on.screen.row_id(found))


@pytest.mark.slow
async def test_a_moment_shows_what_came_went_and_changed_since(demo):
    told(demo)
    async with console(demo, "items", (160, 45)) as on:
        await on.press("H")
        await on.until(lambda: on.screen.SCREEN == "moments" and len(on.ids) > 4, "the moments")
        await to(on, "add “Has a cat")
        await on.shows("3 rows differ", "Drinks green tea 茶", "+ text: Drinks coffee", "+ fact Has a bird", "to now")
        assert "\x1b" not in on.text
        await on.press("escape")
        await on.until(lambda: on.screen.SCREEN == "items")


@pytest.mark.slow
async def test_both_ends_move_by_themselves(demo):
    told(demo)
    async with console(demo, "moments", (160, 45)) as on:
        await to(on, "add “Has a bird”")
        await on.shows("Nothing differs")
        await on.press("left_parenthesis")
        await on.until(lambda: on.cursor_text_of("label").startswith("delete"), "one back")
        await on.shows("1 row differs", "+ fact Has a bird")
        await on.press(*["left_curly_bracket"] * 3)
        await on.shows("Nothing differs")
        await on.press("left_parenthesis")
        await on.shows("1 row differs", "- fact Has a cat")
        await on.press(*["right_curly_bracket"] * 3)
        await on.shows("2 rows differ", "to now")
        await on.press("right_parenthesis")
        await on.until(lambda: on.cursor_text_of("label").startswith("delete"), "one on")


@pytest.mark.slow
async def test_one_row_comes_back_and_undo_takes_that_back(demo):
    key = told(demo)
    async with console(demo, "moments", (160, 45)) as on:
        await to(on, "add “Has a cat")
        await on.shows("3 rows differ")
        await on.press("t")
        await on.shows("all of it", "kind preference", "scope global")
        await on.type(key)
        await on.press("enter")
        await on.shows("Restore 1 row as of", "- text: Drinks coffee", "+ text: Drinks green tea 茶")
        await on.press("y")
        await on.shows("u undoes it")
        assert on.app.ws.items.get(key).text == "Drinks green tea 茶"
        await on.press("u")
        await on.until(lambda: on.app.ws.items.get(key).text == "Drinks coffee", "undone")


@pytest.mark.slow
async def test_a_file_comes_back_as_it_was(demo):
    async with console(demo, "moments", (160, 45)) as on:
        dreams = [row for row in on.screen.table.rows if row.kind == "Dream"]
        await on.at(on.screen.row_id(dreams[-1]))
        await on.press("t")
        await on.shows("file ")
        await on.type("file")
        await on.press("enter")
        await on.shows("Bring back")


@pytest.mark.slow
async def test_versions_that_cannot_be_read_are_told_beside_the_rows(demo):
    told(demo)
    damaged(demo)
    async with console(demo, "moments", (160, 45)) as on:
        await on.shows("versions unreadable", "delete “Has a cat")
        await to(on, "add “Has a cat")
        await on.shows("Without the versions of the files.", "3 rows differ")
