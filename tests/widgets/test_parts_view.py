"""A text of many parts: only what is seen is laid out, and the place is kept."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from textual.app import App

from nanomem_tui.widgets.parts_view import PartsView

TITLE = [("A title", "heading")]


@dataclass
class Words:
    """A part of `size` lines; more when unfolded, and fewer on a wide screen."""

    key: str
    size: int = 3
    stops: bool = True
    made: list[int] = field(default_factory=list)

    def lines(self, width, unfolded, wrapped):
        self.made.append(width)
        count = self.size + (5 if unfolded else 0)
        return [((f"{self.key} line {number}", ""),) for number in range(count)]

    def plain(self):
        return self.key


class Reader(App[None]):
    def compose(self):
        yield PartsView()


@asynccontextmanager
async def reader(parts, size=(40, 11)):
    app = Reader()
    async with app.run_test(size=size) as pilot:
        view = app.query_one(PartsView)
        view.show(parts, TITLE)
        view.focus()
        await pilot.pause()
        yield view, pilot


def shown(view):
    return ["".join(text for text, _ in line) for line in view.lines]


def screen(view):
    return [view.render_line(y).text.rstrip() for y in range(view.size.height)]


def many(count, size=3):
    return [Words(f"p{number}", size) for number in range(count)]


async def test_it_opens_at_the_end_below_its_title():
    async with reader(many(50)) as (view, _):
        assert screen(view)[0].strip() == "A title"
        assert shown(view)[-1] == "p49 line 2"
        assert len(shown(view)) == 10
        assert screen(view)[-1].startswith("▸")


async def test_ten_thousand_parts_cost_what_is_seen():
    parts = many(10_000)
    async with reader(parts) as (view, pilot):
        assert sum(bool(part.made) for part in parts) < 20
        await pilot.press("g")
        assert shown(view)[0] == "p0 line 0"
        await pilot.press("G")
        assert shown(view)[-1] == "p9999 line 2"
        assert sum(bool(part.made) for part in parts) < 40


async def test_the_cursor_moves_by_lines_and_the_view_follows():
    async with reader(many(20)) as (view, pilot):
        await pilot.press("g", *["j"] * 9)
        assert shown(view)[0] == "p0 line 0"
        await pilot.press("j")
        assert shown(view)[0] == "p1 line 0", "some lines ahead at once"
        await pilot.press("j")
        assert shown(view)[0] == "p1 line 0"
        assert view.current is not None
        assert view.current.key == "p3"
        await pilot.press("pageup", "pageup")
        assert shown(view)[0] == "p0 line 0"
        await pilot.press("ctrl+d")
        assert view.current.key == "p1"


async def test_it_goes_from_part_to_part_past_rules():
    parts = [Words("a"), Words("rule", 1, stops=False), Words("b")]
    async with reader(parts) as (view, pilot):
        await pilot.press("g", "n")
        assert view.current is parts[2]
        await pilot.press("j", "N")
        assert view.current is parts[2], "first to the beginning of this one"
        await pilot.press("N")
        assert view.current is parts[0]
        await pilot.press("N")
        assert view.current is parts[0]


async def test_a_part_unfolds_and_folds_again():
    async with reader(many(3, size=1)) as (view, pilot):
        await pilot.press("g", "j")
        assert view.toggle()
        await pilot.pause()
        assert shown(view) == ["p0 line 0", *[f"p1 line {n}" for n in range(6)], "p2 line 0"]
        view.toggle()
        assert shown(view) == ["p0 line 0", "p1 line 0", "p2 line 0"]


async def test_parts_that_come_do_not_move_what_is_read():
    parts = many(30)
    async with reader(parts) as (view, pilot):
        await pilot.press("g", *["j"] * 15)
        before = shown(view)
        view.show([*parts, Words("new")], TITLE, keep_place=True)
        await pilot.pause()
        assert shown(view) == before
        view.show(parts[10:], TITLE, keep_place=True)
        assert view.current is not None


async def test_parts_that_come_before_what_is_read_do_not_push_it_down():
    parts = many(30)
    async with reader(parts) as (view, pilot):
        await pilot.press("g", *["n"] * 2)
        row = shown(view).index("p2 line 0")
        for number in range(1, 12):
            view.show(
                [parts[0], *(Words(f"new{one}") for one in range(number, 0, -1)), *parts[1:]], TITLE, keep_place=True
            )
            assert view.current is parts[2]
            assert shown(view)[row] == "p2 line 0"


async def test_followed_it_stays_at_the_end():
    parts = many(30)
    async with reader(parts) as (view, pilot):
        view.follow = True
        view.show([*parts, Words("new")], TITLE, keep_place=True)
        await pilot.pause()
        assert shown(view)[-1] == "new line 2"
        await pilot.press("k", "k", "k", "k")
        before = shown(view)
        view.show([*parts, Words("new"), Words("newer")], TITLE, keep_place=True)
        assert shown(view) == before, "who reads above the end is left there"


async def test_it_jumps_to_a_part_also_before_it_has_a_size():
    async with reader(many(100)) as (view, _):
        assert view.move_to_part("p50")
        assert "p50 line 0" in shown(view)
        assert not view.move_to_part("nowhere")
    app = Reader()
    async with app.run_test(size=(40, 11)) as pilot:
        view = app.query_one(PartsView)
        view.display = False
        view.show(many(100))
        assert view.move_to_part("p50")
        view.display = True
        await pilot.pause()
        assert "p50 line 0" in shown(view)


async def test_another_width_keeps_the_place():
    async with reader(many(100)) as (view, pilot):
        view.move_to_part("p50")
        await pilot.resize_terminal(60, 15)
        await pilot.pause()
        assert "p50 line 0" in shown(view)
        assert view.current is not None
        assert view.current.key == "p50"


@pytest.mark.parametrize("part", ["p99", "p97", "p92", "p85", "p50"])
async def test_a_jump_while_it_is_hidden_arrives_also_near_the_end(part):
    async with reader(many(100)) as (view, pilot):
        await pilot.press("n")
        view.display = False
        await pilot.pause()
        assert view.move_to_part(part)
        view.display = True
        await pilot.pause()
        assert view.current is not None
        assert view.current.key == part
        assert f"{part} line 0" in shown(view)


async def test_another_height_keeps_the_place_also_near_the_end():
    async with reader(many(100)) as (view, pilot):
        for part, height in (("p99", 30), ("p98", 9), ("p90", 40), ("p97", 12)):
            view.move_to_part(part)
            await pilot.resize_terminal(40, height)
            await pilot.pause()
            assert view.current is not None
            assert view.current.key == part
            assert f"{part} line 0" in shown(view)


async def test_a_short_text_begins_at_the_top_and_no_text_says_so():
    async with reader([Words("only", 2)]) as (view, pilot):
        assert shown(view) == ["only line 0", "only line 1"]
        assert not view.show_vertical_scrollbar
        view.show((), empty="Nothing was said.")
        await pilot.pause()
        assert screen(view)[0].strip() == "Nothing was said."
        await pilot.press("j", "k", "G", "g", "n", "N", "pagedown")
        assert view.current is None
        assert not view.toggle()


async def test_the_wheel_and_a_click_move_it():
    async with reader(many(50)) as (view, pilot):
        await pilot.press("g")
        view.scroll_to(y=view.scroll_offset.y + 2, animate=False, force=True)
        await pilot.pause()
        assert shown(view)[0] == "p0 line 2"
        await pilot.click(view, offset=(5, 5))
        assert view.current is not None
        assert shown(view)[4].startswith(view.current.key)


@pytest.mark.parametrize("text", ["\x1b]52;c;QQ==\x07", "\x9b2J", "‮abc", "[@click=app.quit]x[/]", "[/foo]"])
async def test_a_title_is_never_obeyed(text):
    async with reader(many(3)) as (view, pilot):
        view.show(many(3), [(text, "heading")], empty=text)
        await pilot.pause()
        drawn = "".join(screen(view))
        assert not any(char in drawn for char in "\x1b\x07\x9b‮")
