"""The Conflicts screen: what cannot both be so side by side, one key for each decision, and nothing lost by any."""

from datetime import timedelta

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.memory.retention import get_superseded
from tests.review.lookers import look_for_junk
from tests.screens.console import console
from tests.store.homes import make_home


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home with a contradiction in Chinese, a hostile one, and one of two scopes."""
    look_for_junk(monkeypatch, junk=False)
    made = make_home(tmp_path)
    with open_workspace(made) as ws:
        for text in ("用户喜欢咖啡", "用户不喜欢喝咖啡"):
            ws.items.add(text)
        for text in ("User likes [/b] \x1btea 🍵", "User does not like [/b] \x1btea 🍵"):
            ws.items.add(text)
        ws.items.add("Reply in German", channel="telegram", chat_id="42")
        ws.items.add("Reply in French")
    return made


def state(home):
    with open_workspace(home) as ws:
        return {item.id: item[:-1] for item in ws.items.all()}


def superseded(home):
    with open_workspace(home) as ws:
        return {item.text: mark.why for item in ws.items.all() if (mark := get_superseded(item)) is not None}


async def at_german(on):
    rows = on.screen.table.rows
    await on.at(next(row.id for row in rows if "German" in row.older.text))


async def test_both_stand_side_by_side_with_their_origin_and_what_an_agent_gets(home):
    async with console(home, "duplicates", (156, 40)) as on:
        await on.press("]")
        assert on.screen.SCREEN == "conflicts"
        await at_german(on)
        await on.shows("Reply in German", "Reply in French", "two scopes", "The older", "The newer", "given as")
        assert "\x1b" not in on.text


@pytest.mark.parametrize("size", [(80, 24), (60, 20)])
async def test_a_small_screen_shows_the_list_then_both(home, size):
    async with console(home, "conflicts", size) as on:
        await on.shows("Older", "Newer")
        await on.press("enter")
        await on.shows("The newer", "Reply in German")


@pytest.mark.slow
async def test_each_key_decides_and_u_takes_it_back(home):
    before = state(home)
    async with console(home, "conflicts", (120, 40)) as on:
        for key, gone in {"m": {"Reply in German": "outdated"}, "x": {"Reply in German": "wrong"}, "+": {}}.items():
            await at_german(on)
            await on.press(key)
            await on.until(lambda: len(on.ids) == 2)
            await on.shows("(u undoes it)")
            assert superseded(home) == gone
            await on.press("u")
            await on.until(lambda: len(on.ids) == 3)
            assert state(home) == before


@pytest.mark.slow
async def test_what_one_chat_was_told_takes_nothing_from_the_others(home):
    async with console(home, "conflicts", (120, 40)) as on:
        await at_german(on)
        await on.press("-")
        await on.shows("only telegram:42 sees what stands", "keep both")
        assert len(on.ids) == 3
    assert superseded(home) == {}


async def test_one_moves_to_the_scope_that_is_typed(home):
    async with console(home, "conflicts", (120, 40)) as on:
        await at_german(on)
        await on.press("S")
        await on.type("telegram:7")
        await on.press("enter")
        await on.shows("(u undoes it)")
    with open_workspace(home) as ws:
        assert "channel:telegram:chat:7" in {item.scope_key for item in ws.items.all()}


async def test_what_is_put_off_here_is_put_off_in_the_inbox_until_its_time_has_come(home, monkeypatch):
    monkeypatch.undo()  # the finders as they are
    async with console(home, "conflicts") as on:
        await on.until(lambda: on.ids)
        first = on.ids[0]
        await on.press("Z")
        await on.until(lambda: first not in on.ids)
        await on.shows("put off ", "u undoes it")
        triage = on.app.ws.triage
        assert first not in {one.id for one in triage.findings(("conflict",))}
        with clock.at(clock.now() + timedelta(days=8)):
            assert first in {one.id for one in triage.findings(("conflict",))}
        await on.press("u")
        await on.until(lambda: first in on.ids)
        assert first in {one.id for one in triage.findings(("conflict",))}


async def test_a_list_tells_what_is_superseded_from_what_is_switched_off(demo):
    with open_workspace(demo) as ws:
        pair = ws.conflicts.all()[0]
        ws.conflicts.supersede([pair])
        _, off, _ = ws.items.add("Switched off by hand")
        ws.items.set_enabled([off.id], enabled=False)
    async with console(demo, "items") as on:
        on.screen.filter_by("superseded:yes")
        await on.until(lambda: on.ids == [pair.older.id])
        assert on.screen.sign(on.screen.table.cursor_row) == "<"
        on.screen.filter_by("enabled:no superseded:no")
        await on.until(lambda: off.id in on.ids and pair.older.id not in on.ids)
        assert on.screen.sign(next(row for row in on.screen.table.rows if row.id == off.id)) == "-"
