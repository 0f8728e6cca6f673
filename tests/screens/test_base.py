"""The list-and-detail screen: loads behind, filters as you type, keeps its place, and says why not."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from textual.app import App

from nanomem_tui.actions import Context
from nanomem_tui.core.errors import CorruptDatabase
from nanomem_tui.screens.base.list_screen import ListDetailScreen
from nanomem_tui.widgets.bars import ActionFooter, LineInput
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.text_view import Body, Document, Field, Preview


class Thing(NamedTuple):
    id: str
    text: str
    hits: int


def things(count):
    return [Thing(f"t{n}", f"{'coffee' if n % 2 else 'tea'} number {n} [/foo] \x1b[2J", n % 7) for n in range(count)]


class Things(ListDetailScreen[Thing]):
    SCREEN = "items"

    def __init__(self, rows):
        super().__init__()
        self.source: Sequence[Thing] = rows
        self.error: Exception | None = None
        self.hold: threading.Event | None = None
        self.done: list[str] = []

    def columns(self):
        return [
            Column("text", "Text", lambda thing: thing.text, sort=lambda thing: thing.text),
            Column(
                "hits", "Hits", lambda thing: str(thing.hits), width=5, align="right", sort=lambda thing: thing.hits
            ),
        ]

    def row_id(self, row):
        return row.id

    def load(self):
        if self.error is not None:
            raise self.error
        yield self.source[:50]
        if self.hold is not None:
            self.hold.wait(60)
        yield self.source[50:]

    def search_text(self, row):
        return row.text

    def field(self, row, name):
        return {"id": row.id, "hits": row.hits}.get(name)

    def detail(self, row):
        return Document((Field("id", row.id), Body(row.text)))

    def workspace_context(self):
        return Context("items", can_redo=True)

    def do_delete(self):
        self.done.append("delete " + " ".join(row.id for row in self.targets()))

    async def do_redo(self):
        self.done.append("redo")


class ThingsApp(App[None]):
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, rows):
        super().__init__()
        self.things = Things(rows)
        self.quits = 0

    def on_mount(self):
        self.push_screen(self.things)

    def do_quit(self):
        self.quits += 1

    @property
    def totals(self):
        return self.things.counts


async def settle(pilot):
    """Wait for workers, then for what they posted, until every queue is empty, however busy the machine."""
    app = pilot.app
    for _ in range(3):
        await app.workers.wait_for_complete()
        for pump in (*app.screen.walk_children(), app.screen, app):
            reached = asyncio.Event()
            if pump.is_running and pump.call_later(reached.set):
                await asyncio.wait_for(reached.wait(), 60)
        await pilot.pause(0.05)


def shown(screen):
    return [row.id for row in screen.table.rows]


async def test_the_first_page_shows_before_the_rest_is_read():
    app = ThingsApp(things(5000))
    app.things.hold = threading.Event()
    async with app.run_test(size=(80, 24)) as pilot:
        for _ in range(6_000):
            await pilot.pause(0.01)
            if app.things.table.rows:
                break
        assert len(app.things.table.rows) == 50
        assert "loading" in app.totals
        await pilot.press("j", "j")
        assert app.things.table.cursor_id == "t2"
        app.things.hold.set()
        await settle(pilot)
        assert len(app.things.table.rows) == 5000
        assert app.things.table.cursor_id == "t2"
        assert app.totals == "5,000"


@pytest.mark.slow
@pytest.mark.parametrize("count", [100, 5000])
async def test_a_filter_narrows_as_one_types_and_tells_honest_totals(count):
    app = ThingsApp(things(count))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("slash", *"cof")
        await settle(pilot)
        assert app.totals == f"{count // 2:,} of {count:,}"
        await pilot.press(*"fee hits:3")
        await settle(pilot)
        assert {thing.hits for thing in app.things.table.rows} == {3}
        await pilot.press("enter", "j", "d")
        assert app.things.done == [f"delete {app.things.table.cursor_id}"]
        await pilot.press("escape")
        await settle(pilot)
        assert len(app.things.table.rows) == count
        assert app.totals == f"{count:,}"


async def test_letters_typed_into_the_filter_do_nothing_else():
    app = ThingsApp(things(10))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("slash", *"qdexu?:*0 ")
        await settle(pilot)
        assert app.things.query_one(LineInput).value == "qdexu?:*0 "
        assert (app.things.done, app.quits, app.screen) == ([], 0, app.things)


@pytest.mark.slow
async def test_a_wrong_filter_is_said():
    app = ThingsApp(things(10))
    async with app.run_test(size=(100, 24)) as pilot:
        await settle(pilot)
        await pilot.press("slash", *"hits:many")
        await settle(pilot)
        strips = app.screen._compositor.render_strips()
        assert any("hits:many is no number" in strip.text for strip in strips)


@pytest.mark.slow
async def test_narrow_is_one_pane_and_wide_is_two():
    app = ThingsApp(things(10))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        screen = app.things
        assert (screen.table.display, screen.detail_pane.display) == (True, False)
        await pilot.press("j", "enter")
        await settle(pilot)
        assert (screen.table.display, screen.detail_pane.display) == (False, True)
        assert screen.detail_pane.has_focus
        assert isinstance(screen.detail_pane, Preview)
        assert screen.detail_pane.document.plain().startswith("id: t1")
        await pilot.press("escape")
        assert screen.table.has_focus
        await pilot.press("tab")
        assert screen.detail_pane.has_focus
        await pilot.resize_terminal(120, 30)
        await settle(pilot)
        assert (screen.table.display, screen.detail_pane.display) == (True, True)
        await pilot.press("tab", "j")
        await settle(pilot)
        assert screen.detail_pane.document.plain().startswith("id: t2")
        await pilot.press("z")
        assert (screen.table.display, screen.detail_pane.display) == (True, False)
        await pilot.press("z")
        assert screen.detail_pane.display


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (200, 60)])
async def test_sizes_that_work(size):
    app = ThingsApp(things(100))
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        text = "\n".join(strip.text for strip in app.screen._compositor.render_strips())
        assert "tea number 0 [/foo] ␛[2J" in text
        assert "\x1b" not in text
        assert "q quit" in text


async def test_a_terminal_that_is_too_small_is_told_so():
    app = ThingsApp(things(5))
    async with app.run_test(size=(50, 12)) as pilot:
        await settle(pilot)
        text = " ".join(strip.text for strip in app.screen._compositor.render_strips())
        assert "needs 60x20" in text
        await pilot.resize_terminal(80, 24)
        await settle(pilot)
        text = " ".join(strip.text for strip in app.screen._compositor.render_strips())
        assert "tea number 0" in text


async def test_an_action_that_cannot_be_done_says_why():
    app = ThingsApp(things(5))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("m", "u", "ctrl+r")
        assert [notice.message for notice in app._notifications] == [
            "merge: select two or more rows first (space)",
            "No more of your changes; U opens history",
        ]
        assert app.things.done == ["redo"]


async def test_selected_rows_are_what_an_action_means_even_when_a_filter_hides_them():
    app = ThingsApp(things(10))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("space", "j", "space")
        await pilot.press("slash", *"coffee", "enter")
        await settle(pilot)
        assert app.totals == "5 of 10 · 2 selected"
        await pilot.press("d")
        assert app.things.done == ["delete t0 t2"]
        await pilot.press("escape", "escape")
        await settle(pilot)
        assert app.totals == "10"


async def test_a_reload_keeps_the_place_and_drops_what_is_gone():
    app = ThingsApp(things(20))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        screen = app.things
        await pilot.press("j", "j", "space", "j")
        assert screen.table.selected == {"t2"}
        screen.source = [Thing("new", "new thing", 0), *things(20)[:2], *things(20)[3:]]
        await pilot.press("f5")
        await settle(pilot)
        assert screen.table.cursor_id == "t4"
        assert screen.table.selected == frozenset()
        assert shown(screen)[0] == "new"


async def test_sorting_goes_through_the_columns():
    app = ThingsApp(things(20))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        screen = app.things
        await pilot.press("s")
        assert [row.text for row in screen.table.rows] == sorted(row.text for row in things(20))
        await pilot.press("s")
        assert [row.hits for row in screen.table.rows] == sorted((row.hits for row in things(20)), reverse=True)
        assert "Hits▾" in screen.table.render_line(0).text
        await pilot.press("s")
        assert shown(screen) == [thing.id for thing in things(20)]


@pytest.mark.slow
async def test_an_error_is_shown_in_place_of_the_list_and_a_reload_recovers():
    app = ThingsApp(things(5))
    app.things.error = CorruptDatabase("the database cannot be read", "nanomem.db", "run the doctor")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        text = "\n".join(strip.text for strip in app.screen._compositor.render_strips())
        assert "Error: the database cannot be read" in text
        assert "run the doctor" in text
        app.things.error = None
        await pilot.press("f5")
        await settle(pilot)
        assert len(app.things.table.rows) == 5


async def test_an_empty_list_and_a_filter_without_matches_are_said():
    app = ThingsApp([])
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert "Nothing here yet." in app.things.table.render_line(1).text
        app.things.source = things(5)
        app.things.reload()
        await settle(pilot)
        app.things.filter_by("zzzz")
        await settle(pilot)
        assert "Nothing matches zzzz" in app.things.table.render_line(1).text
        assert app.totals == "0 of 5"
        assert "e edit" not in app.things.query_one(ActionFooter).text


@pytest.mark.slow
async def test_help_and_palette_come_from_the_registry():
    app = ThingsApp(things(5))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("question_mark")
        assert app.screen is not app.things
        await pilot.press("escape", "colon", *"delete", "enter")
        await settle(pilot)
        assert app.things.done == ["delete t0"]


async def test_an_idle_screen_paints_nothing():
    app = ThingsApp(things(500))
    async with app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        await pilot.pause(0.2)
        frames: list[Any] = []
        original = app._display
        app._display = lambda *args, **kwargs: (frames.append(args), original(*args, **kwargs))[1]
        app.things.reload()
        for _ in range(60):
            await settle(pilot)
            before = len(frames)
            await pilot.pause(0.5)
            if len(frames) == before:
                return
        pytest.fail("it never stops painting")
