"""`c` asks for the number of rows that stay, begins with the configured cap, and uses what was typed."""

import pytest
from textual.widgets import Input

from nanomem_tui.workspace import open_workspace
from tests.screens.console import console


@pytest.fixture
def home(demo):
    (demo.parent / "nanomem").mkdir(exist_ok=True)
    (demo.parent / "nanomem" / "config.toml").write_text("max_items = 300\nmax_lessons = 200\n")
    return demo


def field(on):
    return on.app.screen.query_one(Input)


async def answer(on, text):
    await on.type(text)
    await on.press("enter")


@pytest.mark.parametrize(("screen", "cap"), [("items", "300"), ("lessons", "200")])
async def test_the_number_is_asked_for_and_begins_with_the_cap(home, screen, cap):
    async with console(home, screen) as on:
        before = on.ids
        await on.press("c")
        await on.shows("Keep at most how many", f"{len(before)} {screen}")
        assert field(on).value == cap
        await on.press("escape")
        assert on.ids == before


@pytest.mark.slow
@pytest.mark.parametrize("screen", ["items", "lessons"])
async def test_the_number_that_was_typed_is_used(home, screen):
    async with console(home, screen) as on:
        before = set(on.ids)
        await on.press("c")
        await answer(on, "2")
        await on.shows("would go", "than the newest 2")
        with open_workspace(home) as ws:
            part = ws.items if screen == "items" else ws.lessons
            stay = {row.id for row in part.compact_preview(2).kept}
        assert set(on.ids) == before
        await on.press("y")
        await on.until(lambda: set(on.ids) == stay & before)
        await on.press("u")
        await on.until(lambda: set(on.ids) == before)


async def test_zero_removes_duplicates_only(home):
    async with console(home, "items") as on:
        await on.press("c")
        await answer(on, "0")
        await on.shows("would go", "same text as")
        assert "than the newest" not in on.text


@pytest.mark.slow
async def test_nonsense_is_refused_in_place_with_one_line(home):
    async with console(home, "items", (80, 24)) as on:
        before = on.ids
        for typed in ("many", "-3", "1.5", "1e3", "99999999999", "²", " "):
            await on.press("c")
            field(on).value = typed
            await on.press("enter")
            await on.shows("Type a whole number, as in 300; 0 removes duplicates only")
            assert field(on).value == typed
            field(on).value = "5"
            await on.press("enter")
            await on.shows("would go")
            await on.press("escape")
            assert on.ids == before


@pytest.mark.parametrize("screen", ["sessions", "archive"])
async def test_nonsense_is_refused_for_sessions_and_the_archive_too(home, screen):
    async with console(home, screen, (80, 24)) as on:
        await on.press("c")
        await answer(on, "many")
        await on.shows("Type a number")
        await on.press("escape")
