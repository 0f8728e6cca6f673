"""Keys that come faster than they are handled go where the ones before them led: none is lost, none is a command by
mistake."""

from __future__ import annotations

from pathlib import Path

from textual import events

from nanomem_tui.widgets.filter_bar import FilterBar
from nanomem_tui.widgets.prompt import SafeTextArea
from nanomem_tui.workspace import open_workspace
from tests.screens.console import NAMES, Console, console


def at_once(on: Console, keys: str) -> None:
    """All of these keys in one go, as a paste, a macro or a slow line brings them."""
    for char in keys:
        on.app.post_message(events.Key(NAMES.get(char, char), char if char.isprintable() else None))


async def test_a_filter_typed_in_one_go_is_a_filter(demo: Path) -> None:
    async with console(demo, "items") as on:
        with open_workspace(demo) as ws:
            total = ws.items.count()["total"]
        at_once(on, "/brb lunch xdcm")
        await on.until(lambda: on.screen.query_one(FilterBar).query_text == "brb lunch xdcm")
        assert not on.screen.table.selected
        assert len(on.screen.listing.rows) == total


async def test_a_screen_and_its_key_in_one_go(demo: Path) -> None:
    async with console(demo, "items") as on:
        at_once(on, "3Fcalendar")
        await on.shows("Find in all", "calendar", "1 found")


async def test_an_edit_in_one_go_is_an_edit(demo: Path) -> None:
    async with console(demo, "items") as on:
        at_once(on, "e and more")
        await on.until(lambda: isinstance(on.app.focused, SafeTextArea) and on.app.focused.text.endswith(" and more"))


async def test_yes_in_one_go_is_a_yes_to_what_was_asked(demo: Path) -> None:
    async with console(demo, "items") as on:
        rows = len(on.ids)
        at_once(on, "  dy")
        await on.until(lambda: len(on.ids) == rows - 2)


async def test_moves_in_one_go_all_count(demo: Path) -> None:
    async with console(demo, "items") as on:
        at_once(on, "jjjjjjjjkk")
        await on.until(lambda: on.screen.table.cursor == 6)
