"""Bars say what matters in the room there is, and write nothing while nothing changes."""

from __future__ import annotations

from dataclasses import replace

from textual.app import App

from nanomem_tui.actions import Context
from nanomem_tui.widgets.bars import ActionFooter, LineBar, Status, StatusBar, TitleBar

STATUS = Status("~/agent/workspace", "agent idle", "3 unsaved", "14:32:10", 4.2, 2)


class BarsApp(App[None]):
    def compose(self):
        yield TitleBar("items")
        yield StatusBar()
        yield ActionFooter("items")


async def test_the_tabs_stand_in_full_where_they_fit_else_by_their_digits():
    app = BarsApp()
    async with app.run_test(size=(80, 5)) as pilot:
        title = app.query_one(TitleBar)
        await pilot.pause()
        names = "1 Memory 2 Lessons 3 Sessions 4 WAL 5 Dreams 6 Recall 7 Inbox 8 Work 9 System".split()
        assert title.text.startswith(" 1 Memory  2 Lessons 3 Sessions 4 WAL ")
        assert title.text.split() == names
        await pilot.resize_terminal(110, 5)
        await pilot.pause()
        assert title.text.startswith(" 1 Memory   2 Lessons   3 Sessions ")
        assert title.text.split() == names
        await pilot.resize_terminal(60, 5)
        await pilot.pause()
        assert title.text == " 1 Memory  2 3 4 5 6 7 8 9"


async def test_the_status_is_in_words_with_trouble_first():
    app = BarsApp()
    async with app.run_test(size=(100, 5)) as pilot:
        bar = app.query_one(StatusBar)
        bar.show(STATUS)
        assert (
            bar.text.strip()
            == "2 problems: press 9 │ 3 unsaved │ agent idle │ saved 14:32:10, 4 ms │ ~/agent/workspace"
        )
        bar.show(replace(STATUS, at_problems=True))
        assert bar.text.strip().startswith("2 problems │ "), "who is there needs no way to it"
        bar.show(replace(STATUS, degraded="read only: the database is newer", problems=1))
        assert bar.text.strip().startswith("read only: the database is newer │ 1 problem: press 9")
        await pilot.resize_terminal(60, 5)
        await pilot.pause()
        assert bar.text.strip() == "read only: the database is newer │ 1 problem: press 9"


async def test_the_same_status_paints_nothing():
    app = BarsApp()
    async with app.run_test(size=(80, 5)) as pilot:
        bar, footer = app.query_one(StatusBar), app.query_one(ActionFooter)
        bar.show(STATUS)
        footer.show(Context("items", rows=2))
        await pilot.pause()
        painted: list[LineBar] = []
        for widget in (bar, footer):
            widget.refresh = lambda *_, **__: painted.append(bar)
        bar.show(replace(STATUS))
        footer.show(Context("items", rows=2))
        footer.show(Context("items", rows=3))
        assert painted == []
        bar.show(replace(STATUS, waiting="4 unsaved"))
        assert painted == [bar]


async def test_the_footer_offers_what_can_be_done_and_always_help_and_quit():
    app = BarsApp()
    async with app.run_test(size=(120, 5)) as pilot:
        footer = app.query_one(ActionFooter)
        footer.show(Context("items"))
        assert "e edit" not in footer.text
        footer.show(Context("items", rows=5, selected=2, can_undo=True))
        assert all(hint in footer.text for hint in (" e edit ", " m merge ", " / filter ", " ? help ", " q quit "))
        footer.show(Context("items", rows=5, read_only="the database is newer"))
        assert " d delete " not in footer.text
        await pilot.resize_terminal(60, 5)
        await pilot.pause()
        footer.show(Context("items", rows=5))
        assert len(footer.text) <= 60
        assert " ? help " in footer.text


async def test_hostile_words_in_a_bar_are_only_text():
    app = BarsApp()
    async with app.run_test(size=(80, 5)):
        bar = app.query_one(StatusBar)
        bar.show(Status(workspace="/tmp/\x1b[2J[/foo]\n\x9b"))
        assert bar.render_line(0).text.strip() == "/tmp/␛[2J[/foo] \\x9b"
