"""The Duplicates screen: what says the same side by side, one key for each decision, and nothing lost by any."""

from datetime import timedelta

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from tests.review.lookers import look_for_junk
from tests.screens.console import console
from tests.store.homes import make_home

DISK = "The backup disk is kept in the top drawer of the desk"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home with two sure clusters, one that is near, and one across scopes."""
    look_for_junk(monkeypatch, junk=False)
    made = make_home(tmp_path)
    with open_workspace(made) as ws:
        hostile = "ikes \x1b[31mtrains [/b] ไทย 记忆"
        for text in (f"L{hostile}", f"l{hostile}", "Uses vim daily", "User uses vim daily", "I use vim daily"):
            ws.items.add(text)
        for text in (DISK, f"{DISK} upstairs", "Answers are in German"):
            ws.items.add(text)
        ws.items.add("Answers are in German", channel="telegram", chat_id="42")
    return made


def rows(home):
    with open_workspace(home) as ws:
        return {item.id: item[:-1] for item in ws.items.all()}


def grades(on):
    return [row.grade for row in on.screen.table.rows]


async def at_first(on, grade):
    await on.at(next(on.screen.row_id(row) for row in on.screen.table.rows if row.grade == grade))


async def test_the_members_stand_side_by_side_with_what_differs(home):
    async with console(home, "inbox", (150, 40)) as on:
        await on.press("]")
        assert on.screen.SCREEN == "duplicates"
        assert grades(on) == ["same", "same", "scopes", "near"]
        await on.shows("3 items:", "1 of 3", "proposed to stay", "2 of 3", "says the same", "sure: the same")
        await at_first(on, "near")
        await on.shows("upstairs", "leaves out: upstairs", "needs a look")
        assert "\x1b" not in on.text


@pytest.mark.parametrize("size", [(80, 24), (60, 20)])
async def test_a_small_screen_shows_the_list_then_the_members(home, size):
    async with console(home, "duplicates", size) as on:
        await on.shows("Words that stay")
        await on.press("enter")
        await on.shows("1 of 3", "proposed to stay")


@pytest.mark.slow
async def test_a_merge_takes_the_one_proposed_and_u_brings_all_back(home):
    before = rows(home)
    async with console(home, "duplicates") as on:
        kept = on.screen.table.rows[0].kept.id
        await on.press("m")
        assert len(on.ids) == 3
        await on.shows("u undoes it")
        assert kept in rows(home)
        await on.press("u")
        await on.until(lambda: len(on.ids) == 4)
    assert rows(home) == before


async def test_a_merge_in_the_detail_takes_the_one_at_the_cursor(home):
    async with console(home, "duplicates", (150, 40)) as on:
        cluster = on.screen.table.rows[0]
        await on.press("tab", "n", "m")
        await on.until(lambda: len(on.ids) == 3)
    assert {*cluster.ids} & rows(home).keys() == {cluster.ids[1]}


@pytest.mark.slow
async def test_what_is_kept_is_not_asked_again(home):
    before = rows(home)
    async with console(home, "duplicates") as on:
        await on.press("+")
        await on.until(lambda: len(on.ids) == 3)
    async with console(home, "duplicates") as on:
        assert len(on.ids) == 3
    assert rows(home) == before


async def test_the_others_are_disabled_or_deleted(home):
    async with console(home, "duplicates") as on:
        first, second = on.screen.table.rows[:2]
        await on.press("x")
        await on.press("d")
        await on.until(lambda: len(on.ids) == 2)
    now = rows(home)
    with open_workspace(home) as ws:
        assert [ws.items.get(key).enabled for key in first.ids] == [True, False, False]
    assert {*second.ids} & now.keys() == {second.kept.id}


@pytest.mark.slow
async def test_several_go_together_only_where_each_is_sure(home):
    before = rows(home)
    async with console(home, "duplicates", (120, 40)) as on:
        await on.press("*", "m")
        await on.shows("need a look", "nothing was changed")
        await on.press("y", "escape")
        assert len(on.ids) == 4
        await on.press("*")
        await on.press("home", "space", "space", "m")
        await on.shows("Merge 2 clusters", "stays", "other")
        await on.press("y")
        await on.until(lambda: grades(on) == ["scopes", "near"])
        await on.press("u")
        await on.until(lambda: len(on.ids) == 4)
    assert rows(home) == before


@pytest.mark.slow
async def test_items_of_two_scopes_wait_for_the_one_that_is_chosen(home):
    async with console(home, "duplicates", (150, 40)) as on:
        await at_first(on, "scopes")
        cluster = on.screen.table.cursor_row
        assert cluster is not None
        await on.press("m")
        await on.shows("different scopes")
        await on.press("y", "escape", "tab", "n", "m")
        await on.shows("stays", "telegram:42")
        await on.press("y")
        await on.until(lambda: "scopes" not in grades(on))
    assert {*cluster.ids} & rows(home).keys() == {cluster.ids[1]}


async def test_what_is_not_seen_is_shown_before_it_is_merged(home):
    async with console(home, "duplicates", (80, 24)) as on:
        await at_first(on, "near")
        await on.press("m")
        await on.shows("Merge 2 items", "upstairs")
        await on.press("n")
        assert len(on.ids) == 4


async def test_a_filter_finds_by_any_member_and_by_grade(home):
    async with console(home, "duplicates") as on:
        on.screen.filter_by("sure:yes")
        await on.until(lambda: grades(on) == ["same", "same"])
        on.screen.filter_by("is:near upstairs")
        await on.until(lambda: grades(on) == ["near"])


@pytest.mark.slow
async def test_an_item_tells_what_was_merged_into_it(home):
    async with console(home, "duplicates", (150, 45)) as on:
        kept = on.screen.table.rows[0].kept.id
        await on.press("m", "1")
        await on.at(kept)
        await on.shows("Merged from (3)", "0 hits", "Captured again in any of these words")


async def test_what_is_put_off_here_is_put_off_in_the_inbox_until_its_time_has_come(home, monkeypatch):
    monkeypatch.undo()  # the finders as they are
    async with console(home, "duplicates") as on:
        await on.until(lambda: on.ids)
        first = on.ids[0]
        await on.press("Z")
        await on.until(lambda: first not in on.ids)
        await on.shows("put off ", "u undoes it")
        triage = on.app.ws.triage
        assert first not in {one.id for one in triage.findings(("duplicate",))}
        with clock.at(clock.now() + timedelta(days=8)):
            assert first in {one.id for one in triage.findings(("duplicate",))}
        await on.press("u")
        await on.until(lambda: first in on.ids)
        assert first in {one.id for one in triage.findings(("duplicate",))}
