"""The line table keeps its place, marks what it should, and paints only what changed."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from textual.app import App
from textual.geometry import Region

from nanomem_tui.widgets.columns import Column, fit
from nanomem_tui.widgets.table import LineTable


class Thing(NamedTuple):
    id: str
    text: str
    hits: int = 0
    off: bool = False


COLUMNS: list[Column[Thing]] = [
    Column("text", "Text", lambda thing: thing.text),
    Column("hits", "Hits", lambda thing: str(thing.hits), width=5, align="right", priority=2),
    Column("id", "Id", lambda thing: thing.id, width=8, priority=1, tone="dim"),
]


def things(count):
    return [Thing(f"t{n}", f"thing number {n}", n % 5, n == 3) for n in range(count)]


class TableApp(App[None]):
    def __init__(self, ascii_only=False):
        super().__init__()
        self.ascii_only = ascii_only
        self.told: list[Any] = []

    def compose(self):
        yield LineTable(COLUMNS, lambda t: t.id, sign=lambda t: "x" if t.off else "", dimmed=lambda t: t.off)

    @property
    def table(self):
        return self.query_one(LineTable)

    def on_row_highlighted(self, event):
        self.told.append(event)

    on_row_activated = on_selection_changed = on_row_gone = on_row_highlighted

    def shown(self):
        return [self.table.render_line(y).text for y in range(self.table.size.height)]

    def told_of(self, kind):
        return [event for event in self.told if isinstance(event, kind)]


def watch_painting(table):
    """The regions that the table asks to paint from now on."""
    painted: list[Region] = []
    original = table.refresh

    def refresh(*regions, **options):
        painted.extend(regions or (table.region,))
        return original(*regions, **options)

    table.refresh = refresh
    return painted


def test_columns_share_the_width_and_leave_by_priority():
    assert [(c.key, w) for c, w in fit(COLUMNS, 80)] == [("text", 65), ("hits", 5), ("id", 8)]
    assert [(c.key, w) for c, w in fit(COLUMNS, 24)] == [("text", 15), ("id", 8)]
    assert [(c.key, w) for c, w in fit(COLUMNS, 12)] == [("text", 12)]


async def test_rows_are_drawn_with_their_marks():
    app = TableApp()
    async with app.run_test(size=(60, 10)) as pilot:
        app.table.set_rows(things(5))
        await pilot.press("down", "space")
        lines = app.shown()
        assert lines[0].split() == ["Text", "Hits", "Id"]
        assert lines[2].startswith(" ●  thing number 1")
        assert lines[3].startswith("▸   thing number 2")
        assert lines[4].startswith("  x thing number 3")
        assert all(len(line) == 60 for line in lines)


async def test_ascii_has_signs_too():
    app = TableApp(ascii_only=True)
    async with app.run_test(size=(60, 10)) as pilot:
        app.table.set_rows([*things(2), Thing("long", "word " * 40)])
        await pilot.press("space")
        assert app.shown()[1].startswith(" *  thing")
        assert app.shown()[2].startswith(">   thing")
        assert "".join(app.shown()).isascii()


@pytest.mark.parametrize(
    "payload", ["[/foo]", "[@click=app.quit]x[/]", "\x1b]52;c;eA==\x07", "\x9b2J", "a\nb\rc", "[bold", "\u202egnp"]
)
async def test_hostile_cells_are_only_text(payload):
    app = TableApp()
    async with app.run_test(size=(60, 10)) as pilot:
        app.table.set_rows([Thing(payload, payload)])
        await pilot.pause()
        text = "".join(app.shown())
        assert not [char for char in text if ord(char) < 32 or 0x7F <= ord(char) < 0xA0 or char == "\u202e"]


async def test_keys_move_through_a_hundred_thousand_rows():
    app = TableApp()
    async with app.run_test(size=(80, 24)) as pilot:
        table = app.table
        table.set_rows(things(100_000))
        await pilot.pause()
        for key, cursor in [
            ("j", 1),
            ("down", 2),
            ("k", 1),
            ("pagedown", 24),
            ("ctrl+d", 35),
            ("ctrl+u", 24),
            ("G", 99_999),
            ("g", 0),
        ]:
            await pilot.press(key)
            assert table.cursor == cursor, key
            shown = [line for line in app.shown() if line.startswith("▸")]
            assert [f"thing number {cursor} " in line for line in shown] == [True], key


async def test_a_move_repaints_two_lines():
    app = TableApp()
    async with app.run_test(size=(80, 24)) as pilot:
        table = app.table
        table.set_rows(things(100))
        await pilot.pause()
        painted = watch_painting(table)
        await pilot.press("down")
        assert [(region.y, region.height) for region in painted] == [(1, 1), (2, 1)]


async def test_cursor_and_selection_follow_their_rows():
    app = TableApp()
    async with app.run_test(size=(60, 10)) as pilot:
        table = app.table
        rows = things(50)
        table.set_rows(rows)
        table.move_to_id("t20")
        await pilot.press("space", "k")
        assert (table.cursor_id, table.selected) == ("t20", {"t20"})
        table.set_rows(rows[::-1])
        await pilot.pause()
        assert (table.cursor_id, table.cursor) == ("t20", 29)
        assert any(line.startswith("▸●") for line in app.shown())
        table.set_rows(rows[:5])
        await pilot.pause()
        assert table.selected == {"t20"}
        assert table.cursor == 4
        assert [event.row_id for event in app.told_of(LineTable.RowGone)] == ["t20"]
        table.keep_selected(lambda row_id: row_id != "t20")
        assert table.selected == frozenset()


async def test_ranges_and_all():
    app = TableApp()
    async with app.run_test(size=(60, 10)) as pilot:
        table = app.table
        table.set_rows(things(20))
        await pilot.press("j", "v", "j", "j")
        assert table.selected == {"t1", "t2", "t3"}
        await pilot.press("k", "v", "G", "space")
        assert table.selected == {"t1", "t2", "t19"}
        assert table.target_ids == ["t1", "t19", "t2"]
        await pilot.press("*")
        assert len(table.selected) == 20
        await pilot.press("*")
        assert table.selected == frozenset()
        assert table.target_ids == ["t19"]
        assert app.told_of(LineTable.SelectionChanged)[-1].count == 0


async def test_enter_opens_and_highlights_coalesce():
    app = TableApp()
    async with app.run_test(size=(60, 10)) as pilot:
        app.table.set_rows(things(20))
        app.told.clear()
        for _ in range(10):
            app.table.action_cursor_down()
        await pilot.press("enter")
        assert app.told_of(LineTable.RowHighlighted)[-1].row_id == "t10"
        assert len(app.told_of(LineTable.RowHighlighted)) < 10
        assert [event.row_id for event in app.told_of(LineTable.RowActivated)] == ["t10"]


async def test_loading_empty_and_error_are_three_things():
    app = TableApp()
    async with app.run_test(size=(60, 10)) as pilot:
        table = app.table
        assert table.state == "loading"
        assert "Loading" in app.shown()[1]
        table.set_rows([], empty="No item matches “[/x]”.")
        await pilot.pause()
        assert table.state == "empty"
        assert "No item matches “[/x]”." in app.shown()[1]
        table.show_error("the database is corrupt", "nanomem.db", "run the doctor (D)")
        await pilot.pause()
        assert table.state == "error"
        assert [line.strip() for line in app.shown()[1:4]] == [
            "Error: the database is corrupt",
            "nanomem.db",
            "run the doctor (D)",
        ]
        await pilot.press("down", "space", "v", "*", "enter", "G")
        table.set_rows(things(3))
        await pilot.pause()
        assert "thing number 0" in app.shown()[1]


async def test_the_same_rows_again_paint_nothing_and_changed_rows_flash_once():
    app = TableApp()
    async with app.run_test(size=(60, 10)) as pilot:
        table = app.table
        table.set_rows(things(5))
        await pilot.pause()
        painted = watch_painting(table)
        table.set_rows(things(5))
        await pilot.pause()
        assert painted == []
        table.set_rows([*things(4), Thing("t4", "other words")], changed={"t4"})
        await pilot.pause()
        assert {region.y for region in painted} == {5}
        assert next(iter(table.render_line(5))).style.reverse
        await pilot.pause(1.0)
        assert not next(iter(table.render_line(5))).style.reverse


async def test_a_resize_keeps_the_place():
    app = TableApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.table.set_rows(things(1000))
        app.table.move_cursor(500)
        await pilot.pause()
        await pilot.resize_terminal(60, 10)
        await pilot.pause()
        assert app.table.cursor == 500
        assert any("thing number 500" in line for line in app.shown())
