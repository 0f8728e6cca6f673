"""Keys that come faster than they are handled go where the ones before them led: none is lost, none is a command by
mistake."""

import time

import pytest
from textual import events

from nanomem_tui.screens.base import list_screen
from nanomem_tui.screens.base.list_screen import Listing
from nanomem_tui.screens.files import FilesScreen
from nanomem_tui.widgets.bars import FilterBar
from nanomem_tui.widgets.dialogs import SafeTextArea
from nanomem_tui.workspace import open_workspace
from tests.screens.console import NAMES, console


def at_once(on, keys):
    """All of these keys in one go, as a paste, a macro or a slow line brings them."""
    for char in keys:
        on.app.post_message(events.Key(NAMES.get(char, char), char if char.isprintable() else None))


@pytest.mark.slow
async def test_a_filter_typed_in_one_go_is_a_filter(demo):
    async with console(demo, "items") as on:
        with open_workspace(demo) as ws:
            total = ws.items.count()["total"]
        at_once(on, "/brb lunch xdcm")
        await on.until(lambda: on.screen.query_one(FilterBar).query_text == "brb lunch xdcm")
        assert not on.screen.table.selected
        assert len(on.screen.listing.rows) == total


@pytest.mark.slow
async def test_a_screen_and_its_key_in_one_go(demo):
    async with console(demo, "items") as on:
        at_once(on, "3Fcalendar")
        await on.shows("Find in all", "calendar", "1 found")


@pytest.mark.slow
async def test_a_key_waits_for_the_rows_of_the_list_before_it(demo, monkeypatch):
    read = FilesScreen.load

    def slowly(screen):
        time.sleep(0.2)
        yield from read(screen)

    monkeypatch.setattr(FilesScreen, "load", slowly)
    async with console(demo, "knowledge") as on:
        at_once(on, "]je")
        await on.shows("Edit USER.md")


async def test_what_a_filter_leaves_is_what_a_key_means(demo, monkeypatch):
    monkeypatch.setattr(list_screen, "INLINE_ROWS", 0)  # as in a long list: rows are looked for in a thread
    views = Listing.views

    def slowly(listing, turn):
        time.sleep(0.2)
        yield from views(listing, turn)

    monkeypatch.setattr(Listing, "views", slowly)
    async with console(demo, "items") as on:
        first = on.ids[0]
        on.app.post_message(events.Key("slash", "/"))
        at_once(on, "brb lunch")
        on.app.post_message(events.Key("enter", None))
        on.app.post_message(events.Key("d", "d"))
        await on.until(lambda: not any(item.text == "brb lunch" for item in on.app.ws.items.all()))
        assert first in {item.id for item in on.app.ws.items.all()}


async def test_an_edit_in_one_go_is_an_edit(demo):
    async with console(demo, "items") as on:
        at_once(on, "e and more")
        await on.until(lambda: isinstance(on.app.focused, SafeTextArea) and on.app.focused.text.endswith(" and more"))


async def test_yes_in_one_go_is_a_yes_to_what_was_asked(demo):
    async with console(demo, "items") as on:
        rows = len(on.ids)
        at_once(on, "  dy")
        await on.until(lambda: len(on.ids) == rows - 2)


async def test_moves_in_one_go_all_count(demo):
    async with console(demo, "items") as on:
        at_once(on, "jjjjjjjjkk")
        await on.until(lambda: on.screen.table.cursor == 6)


async def test_what_is_pasted_goes_where_the_key_before_it_led(demo):
    async with console(demo, "items") as on:
        on.app.post_message(events.Key("slash", "/"))
        on.app.post_message(events.Paste("brb lunch"))
        on.app.post_message(events.Key("x", "x"))
        await on.until(lambda: on.screen.query_one(FilterBar).query_text == "brb lunchx")
