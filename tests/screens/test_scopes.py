"""The Scopes screen behind Items: what leaks, what each scope holds, what each chat sees; S takes items elsewhere."""

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.memory.scopes import Audience
from tests.review.test_scopes import put
from tests.screens.console import console
from tests.store.homes import make_home


@pytest.fixture
def home(tmp_path):
    """Ana in one chat, Bo in another, hostile words in a third; a global item that tells of Ana."""
    made = make_home(tmp_path)
    with open_workspace(made) as ws:
        for row in ws.items.all():
            ws.items.delete([row.id])
        put(ws, "of_ana", "telegram:@Ana", "needle tea", chat_id="-100987", kind="preference")
        put(ws, "of_chat", "telegram:-100987", "needle plan 计划", sender_id="Ana", kind="decision")
        put(ws, "of_bo", "telegram:-200123", "needle boat", sender_id="Bo77")
        put(ws, "evil", "telegram:แชท\u202egnp", "needle \x1b]0;x\x07 evil", kind="fact")
        put(ws, "told", "global", "Ana looks for another job", channel="telegram", chat_id="-100987")
    return made


async def test_what_leaks_comes_first_then_scopes_then_who_asks(home):
    async with console(home, "items") as on:
        await on.press("[")
        await on.until(lambda: on.screen.SCREEN == "scopes" and len(on.ids) > 8, "the rows")
        assert on.ids[0] == "names:told"
        await on.shows("It names the person telegram:@Ana; every chat sees it.", "belongs to", "telegram:@Ana")
        await on.at("scope:telegram:-100987")
        await on.shows("Who sees it (", "telegram:-100987 Ana", "needle plan 计划")
        await on.at("asks:telegram:-100987 Ana")
        await on.shows("Through which layer", "needle tea", "needle plan")
        assert "\x1b" not in on.text
        assert "\u202e" not in on.text
        await on.press("]")
        await on.until(lambda: on.screen.SCREEN == "items")


@pytest.mark.slow
async def test_what_leaks_moves_where_it_belongs_by_two_keys_and_undo_brings_it_back(home):
    async with console(home, "scopes") as on:
        await on.until(lambda: "names:told" in on.ids)
        await on.at("names:told")
        await on.press("S")
        await on.shows("move to telegram:@Ana", "where it belongs")
        await on.press("enter")
        await on.until(lambda: "names:told" not in on.ids, "the leak is gone")
        await on.shows("move “Ana looks for another job” to", "u undoes it")
        assert where(on, "told") == "channel:telegram:user:Ana"
        await on.press("u")
        await on.until(lambda: "names:told" in on.ids)
        assert where(on, "told").endswith(":global")


@pytest.mark.slow
async def test_selected_items_are_copied_to_a_scope_that_is_typed(home):
    async with console(home, "items") as on:
        await on.until(lambda: len(on.ids) == 5)
        for key in ("of_bo", "of_chat"):
            await on.at(key)
            await on.press("space")
        await on.press("S")
        await on.shows("Move or copy 2 items")
        await on.type("copy slack:C77")
        await on.shows("copy to slack:C77")
        await on.press("enter")
        await on.until(lambda: len(on.ids) == 7, "two copies")
        assert not on.screen.table.selected
        seen = {row.text for row, _ in on.app.ws.scopes.seen_by(Audience("slack", "C77"))}
        assert seen == {"needle boat", "needle plan 计划", "Ana looks for another job"}


@pytest.mark.slow
async def test_the_same_text_there_is_said_and_merged_only_after_a_yes(home):
    with open_workspace(home) as ws:
        put(ws, "twin", "global", "needle boat", hits=4)
    async with console(home, "items") as on:
        await on.until(lambda: len(on.ids) == 6)
        await on.at("of_bo")
        await on.press("S")
        await on.type("move global")
        await on.press("enter")
        await on.shows("1 text is there already: merging makes one item", "into twin, with its hits")
        await on.press("n")
        assert where(on, "of_bo") == "channel:telegram:chat:-200123"
        await on.press("S")
        await on.type("move global")
        await on.press("enter")
        await on.shows("merging makes one item")
        await on.press("y")
        await on.until(lambda: "of_bo" not in on.ids, "merged")
        assert on.app.ws.items.get("twin").hits == 4


@pytest.mark.slow
async def test_a_leads_to_recall_as_who_is_at_the_cursor_and_enter_to_the_items_of_a_scope(home):
    async with console(home, "scopes") as on:
        await on.until(lambda: len(on.ids) > 8)
        await on.at("asks:telegram:-100987 Ana")
        await on.press("A")
        await on.until(lambda: on.screen.SCREEN == "recall")
        await on.shows("chat telegram:-100987, user Ana")
        await on.press("slash")
        await on.type("needle")
        await on.press("enter")
        await on.until(lambda: {"of_ana", "of_chat"} <= set(on.ids), "what Ana is given")
        assert "of_bo" not in on.ids
        on.app.go("scopes")
        await on.until(lambda: on.screen.SCREEN == "scopes" and len(on.ids) > 8)
        await on.at("scope:telegram:-200123")
        await on.press("enter")
        await on.until(lambda: on.screen.SCREEN == "items" and on.ids == ["of_bo"], "the items of that scope")


async def test_on_a_narrow_screen_nothing_is_lost(home):
    async with console(home, "scopes", (60, 20)) as on:
        await on.until(lambda: len(on.ids) > 8)
        await on.shows("Ana looks for another")
        assert all(len(line) <= 60 for line in on.text.splitlines())


def where(on, key):
    """The scope key of an item now."""
    return on.app.ws.items.get(key).scope_key


@pytest.mark.slow
async def test_in_the_inbox_a_leak_is_taken_where_it_belongs_by_two_keys(home):
    async with console(home, "inbox") as on:
        await on.until(lambda: "leak:told" in on.ids)
        await on.at("leak:told")
        await on.shows("Tells one chat of another", "S takes it where it belongs", "telegram:@Ana, in every chat")
        await on.press("S")
        await on.shows("Move Ana looks for another job", "telegram:@Ana", "where it belongs")
        await on.press("enter")
        await on.until(lambda: "leak:told" not in on.ids)
        assert where(on, "told") == "channel:telegram:user:Ana"
        await on.press("u")
        await on.until(lambda: "leak:told" in on.ids)
        await on.at("leak:told")
        await on.press("plus")
        await on.until(lambda: "leak:told" not in on.ids)
        await on.press("1", "[")
        await on.until(lambda: on.screen.SCREEN == "scopes" and on.screen.is_mounted and bool(on.screen.query("#list")))
        await on.until(lambda: len(on.ids) > 8)
        assert "names:told" not in on.ids
