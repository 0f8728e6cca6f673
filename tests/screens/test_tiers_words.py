"""What the Tiers, Records and Context screens say: of now, of keys that do nothing here, of what a person deleted."""

from __future__ import annotations

from functools import partial

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.screens.work.record_list import TrailScreen
from nanomem_tui.widgets.bars import ActionFooter, FilterBar
from tests.screens.console import PATIENCE, console
from tests.tiers.happened import small_home

pytestmark = pytest.mark.slow

SMALL, LARGE = (80, 24), (200, 60)


@pytest.fixture
def home(tmp_path):
    """A workspace in which nothing is remembered yet."""
    return small_home(tmp_path)


def store(home, kind, record_id, **fields):
    with open_workspace(home) as ws:
        ws.records.store(kind, fields, record_id)


async def records_of(on, kind):
    """To the records of a kind, by keys."""
    await on.press("8")
    await on.at(kind)
    await on.press("enter")
    screen = on.screen
    assert isinstance(screen, TrailScreen)
    return screen


def filtered(screen, rows):
    return len(screen.table.rows) == rows


def plain(screen):
    """What the detail shows."""
    return "\n".join("".join(part for part, _ in line) for line in screen.view.lines)


def footer(on):
    return on.screen.query_one(ActionFooter).text


@pytest.mark.slow
async def test_a_list_without_records_says_how_many_there_are_now_and_where(home):
    with open_workspace(home) as ws:
        for name in ("load", "disk"):
            ws.operational.push("metric", {"name": name, "value": 1.0})
        ws.operational.push("event", {"message": "nginx restarted"})
    async with console(home, "tiers", SMALL) as on:
        await records_of(on, "metric")
        assert "a add" not in footer(on)
        await on.shows("No metrics are kept yet; 2 are among what happens now: esc, then tab.")
        await on.press("escape", "tab")
        await on.shows("Metrics", "load", "disk")
        await on.press("tab")
        await records_of(on, "event")
        await on.shows("1 is among what happens now")
        await records_of(on, "goal")
        await on.shows("No goals yet", "serve grpc")
        assert "a add" in footer(on)


@pytest.mark.slow
async def test_esc_goes_back_to_the_kind_whose_records_were_shown(home):
    async with console(home, "tiers", SMALL) as on:
        await records_of(on, "event")
        await on.press("l", "escape")
        assert (on.screen.SCREEN, on.screen.table.cursor_id) == ("tiers", "metric")


@pytest.mark.slow
async def test_the_newest_of_a_kind_may_be_of_now(home):
    store(home, "event", "e1", category="event", data={}, timestamp="2026-01-01T00:00:00+00:00")
    async with console(home, "tiers", LARGE) as on:
        column = next(one for one in on.screen.columns() if one.key == "newest")
        old = column.render("event")
        assert old
        assert not column.render("metric")
        with open_workspace(home) as other:
            other.operational.push("event", {"message": "again"})
            other.operational.push("metric", {"name": "load", "value": 1.0})
        await on.until(lambda: column.render("event") != old and column.render("metric"), "the live ones")


@pytest.mark.slow
async def test_events_are_told_in_their_words(home):
    with open_workspace(home) as ws:
        ws.operational.push("event", {"message": "nginx restarted", "level": "error"}, "systemd")
        ws.operational.push("event", {"disk": "sda"}, "disk")
    async with console(home, "tiers", LARGE) as on:
        await on.at("event")
        await on.shows("event systemd  nginx restarted", 'event disk  {"disk": "sda"}', "systemd: nginx restarted")
        screen = await records_of(on, "event")
        await on.until(lambda: len(screen.table.rows) == 1)
        lines = on.text.split("\n")
        assert "nginx restarted" in lines[2]
        assert "message" not in lines[2]
        await on.shows('"level": "error"')


@pytest.mark.slow
async def test_keys_of_the_detail_are_offered_where_it_is_shown(home):
    store(home, "goal", "g1", description="Stay up")
    store(home, "task", "t1", description="Restart nginx", goal_id="g1")
    async with console(home, "tiers", SMALL) as on:
        await records_of(on, "task")
        assert "next link" not in footer(on)
        await on.press("n")
        await on.shows("next link: the detail is not shown: tab goes there")
        await on.press("escape", "escape")
        await records_of(on, "task")
        await on.press("tab")
        await on.until(lambda: "next link" in footer(on))
        assert "esc back" in footer(on)
        assert "o up" in footer(on)
        assert "enter" not in footer(on)
        await on.press("enter")
        await on.shows("nothing to open at the cursor: n goes on")
        await on.press("n")
        await on.until(lambda: "enter open" in footer(on))
        await on.press("enter")
        await on.until(lambda: on.screen.table.cursor_id == "g1")


@pytest.mark.slow
async def test_n_leads_into_the_detail_that_stands_beside_the_list(home):
    store(home, "goal", "g1", description="Stay up")
    store(home, "task", "t1", description="Restart nginx", goal_id="g1")
    async with console(home, "tiers", LARGE) as on:
        screen = await records_of(on, "task")
        await on.shows("Links (1)")
        await on.press("n")
        assert screen.view.has_focus
        await on.press("enter")
        await on.until(lambda: screen.table.cursor_id == "g1")


@pytest.mark.slow
async def test_a_record_without_links_says_so(home):
    store(home, "goal", "g1", description="Stay up")
    async with console(home, "tiers", SMALL) as on:
        await records_of(on, "goal")
        await on.press("enter")
        await on.until(lambda: "esc back" in footer(on))
        assert "next link" not in footer(on)
        await on.press("enter")
        await on.shows("nothing to open here: esc goes back")


@pytest.mark.slow
async def test_what_a_person_deletes_is_told_with_the_way_back(home):
    for number in range(3):
        store(home, "goal", f"g{number}", description=f"Goal {number}")
    async with console(home, "tiers", SMALL) as on:
        screen = await records_of(on, "goal")
        first = screen.table.cursor_id
        said: list[str] = []
        show = on.app.notice_changed

        def listen():
            said.append(on.app.notice)
            show()

        on.app.notice_changed = listen
        await on.press("d")
        await on.until(lambda: len(screen.table.rows) == 2)
        await on.shows("(u undoes it)")
        await on.press("u")
        await on.until(lambda: len(screen.table.rows) == 3)
        assert screen.table.cursor_id == first
        assert not [words for words in said if "is gone" in words]
        with open_workspace(home) as other:
            other.records.delete("goal", [str(first)])
        on.app.check_workspace()
        await on.until(lambda: len(screen.table.rows) == 2)
        await on.shows("The row at the cursor is gone")


@pytest.mark.slow
async def test_a_mistake_in_the_filter_is_told_once(home):
    store(home, "goal", "g1", description="Stay up")
    async with console(home, "tiers", LARGE) as on:
        screen = await records_of(on, "goal")
        for query, shown in (("age:x", 1), ("nowhere:x", 0)):
            screen.filter_by(query)
            await on.app.settled(PATIENCE)
            await on.until(partial(filtered, screen, shown), query)
            await on.press("tab")
            mistake = "is no age" if shown else "no field “nowhere”"
            assert on.text.count(mistake) == 1, on.text
            await on.press("tab")


@pytest.mark.slow
async def test_the_description_stands_once(home):
    long = "Renew the certificates " + "of every host " * 40
    texts = ("Stay up  \x1b]0;x\x07 [red]x[/]", "First line\nsecond line", long)
    for number, text in enumerate(texts):
        store(home, "goal", f"g{number}", description=text)
        store(home, "task", f"t{number}", description=text)
        store(home, "incident", f"i{number}", description=text)
    async with console(home, "tiers", LARGE) as on:
        for kind in ("goal", "task", "incident"):
            screen = await records_of(on, kind)
            for number, begins in enumerate(("Stay up", "First line", "Renew the certificates")):
                await on.at(f"{kind[0]}{number}")
                await on.until(lambda screen=screen, begins=begins: begins in plain(screen), begins)
                text = plain(screen)
                assert text.count(begins) == 1, text
                assert "\x1b" not in text


async def test_what_does_not_fit_ends_in_an_ellipsis(home):
    store(home, "goal", "g1", description="Stay up")
    async with console(home, "tiers", SMALL) as on:
        screen = await records_of(on, "goal")
        screen.filter_by("nowhere:x")
        await on.until(lambda: not screen.table.rows)
        await on.press("escape")
        on.app.say_busy("lifecycle: " + "so many metrics averaged by the hour, " * 4)
        await on.until(lambda: "lifecycle: so many" in on.text)
        assert on.text.split("\n")[-2].endswith("…")
        screen.say_counts("words " * 40)
        await on.until(lambda: "words words" in on.text)
        assert "… ─╯" in on.text
        bar = screen.query_one(FilterBar)
        bar.open()
        bar.say("no field 保持网站 here " * 8)
        await on.until(lambda: "no field 保持网站" in on.text)
        assert on.text.split("\n")[-3].endswith("…")


async def test_where_averages_come_from_is_said(home):
    store(home, "goal", "g", description="Keep it up")
    async with console(home, "items", SMALL) as on:
        await records_of(on, "metric-hour")
        await on.shows("No metrics by the hour yet. The lifecycle makes them of metrics")
