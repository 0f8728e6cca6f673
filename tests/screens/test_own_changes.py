"""`u` undoes what was changed in this console, newest first, and nothing else; the cursor goes to what came back."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.background import dream_if_due
from nanomem_tui.core import clock
from tests.screens.console import console

NO_MORE = "No more of your changes; U opens history"


async def in_another_process(workspace, *line):
    words = ("-m", "nanomem_tui", "--workspace", str(workspace), *line)
    command = await asyncio.create_subprocess_exec(sys.executable, *words, stdout=-3)
    assert await command.wait() == 0


def texts(workspace):
    with open_workspace(workspace) as ws:
        return {item.text for item in ws.items.all()}


@pytest.mark.slow
async def test_what_was_changed_before_this_console_stays(demo):
    await in_another_process(demo, "memory", "add", "--text", "Has a bird")
    async with console(demo, "items") as on:
        before = on.ids
        await on.press("u")
        await on.shows(NO_MORE)
        assert on.ids == before
    assert "Has a bird" in texts(demo)


@pytest.mark.slow
async def test_what_another_process_changes_meanwhile_stays(demo):
    async with console(demo, "items") as on:
        first = on.ids[0]
        await on.press("d")
        await in_another_process(demo, "memory", "add", "--text", "Has a bird")
        await on.press("u")
        await on.until(lambda: first in on.ids, "the delete of this console is undone")
        await on.press("u", "u")
        await on.shows(NO_MORE)
        await on.press("ctrl+r")
        await on.until(lambda: first not in on.ids, "and redone")
    assert "Has a bird" in texts(demo)


@pytest.mark.slow
async def test_what_another_console_changed_and_undid_stays_as_it_is(demo):
    async with console(demo, "items") as on, console(demo, "items") as other:
        mine, theirs, undone = on.ids[:3]
        await other.at(theirs)
        await other.press("d")
        await other.at(undone)
        await other.press("d", "u")
        await on.press("ctrl+r")
        await on.shows("redo: nothing to redo")
        await on.at(mine)
        await on.press("d", "u", "u")
        await on.shows(NO_MORE)
        await other.press("ctrl+r")
        with open_workspace(demo) as ws:
            left = {item.id for item in ws.items.all()}
        assert mine in left
        assert left.isdisjoint({theirs, undone})


@pytest.mark.slow
async def test_what_another_process_undid_is_not_undone_twice(demo):
    async with console(demo, "items") as on:
        first, second = on.ids[:2]
        await on.press("d", "d")
        await in_another_process(demo, "undo")
        await on.press("u")
        with open_workspace(demo) as ws:
            assert {first, second} <= {item.id for item in ws.items.all()}
        await on.press("u")
        await on.shows(NO_MORE)


@pytest.mark.slow
async def test_an_older_dream_and_one_by_schedule_stay(sample):
    home = sample("nb035")
    (home.parent / "nanomem").mkdir(exist_ok=True)
    with open_workspace(home) as ws:
        ws.dream.run()
    async with console(home, "dream") as on:
        runs = on.ids
        files = {name: (home / name).read_bytes() for name in ("SOUL.md", "USER.md", "memory/MEMORY.md")}
        await on.press("u")
        await on.shows(NO_MORE)
        dream_if_due(on.app.ws, clock.now() - timedelta(days=1), lambda: False)
        await on.press("u")
        assert on.ids[-len(runs) :] == runs
        assert {name: (home / name).read_bytes() for name in files} == files


async def test_what_an_agent_keeps_through_the_same_object_stays(demo):
    from nanomem_tui.memory.turns.request import turn_end, turn_input

    async with console(demo, "items") as on:
        who = {"channel": "telegram", "chat_id": "20417", "sender_id": "20417|ana"}
        turn = on.app.ws.engine.begin_turn(turn_input({**who, "text": "Remember that I like my coffee black."}))
        on.app.ws.engine.end_turn(turn_end({"turn": turn.turn, "assistant": "Noted."}))
        on.app.check_workspace()
        await on.press("u")
        await on.shows(NO_MORE)
        assert any("coffee black" in item.text for item in on.app.ws.items.all())


@pytest.mark.slow
async def test_a_change_undone_from_history_is_redone_and_the_ones_after_it_stay(demo):
    async with console(demo, "items") as on:
        first, second = on.ids[:2]
        await on.press("d", "d", "U")
        await on.until(lambda: len(on.ids) >= 2)
        await on.press("j", "t", "y")
        await on.until(lambda: on.screen.table.rows[2].undone)
        await on.press("1")
        await on.until(lambda: first in on.ids and second not in on.ids)
        await on.press("ctrl+r")
        await on.until(lambda: first not in on.ids)
        await on.press("u", "u")
        await on.until(lambda: {first, second} <= set(on.ids))
        await on.press("u")
        await on.shows(NO_MORE)


WAYS: dict[str, tuple[tuple[str, ...], ...]] = {
    "items": (("d",), ("x",), ("space", "j", "j", "space", "d", "y")),
    "lessons": (("d",),),
    "knowledge": (("d",),),
    "journal": (("d",),),
    "reflections": (("d",),),
    "sessions": (("c", "enter", "y"),),
    "inbox": (("plus",), ("minus",), ("Z",)),
    "duplicates": (("m",), ("plus",)),
    "conflicts": (("m",), ("Z",)),
}


async def changed(on, keys):
    """Do something to a row that is not the first, and go away from it."""
    row = on.ids[min(2, len(on.ids) - 1)]
    await on.at(row)
    await on.press(*keys, "g")
    return row


@pytest.mark.slow
async def test_after_an_undo_the_cursor_stands_on_the_row_that_came_back(demo):
    async with console(demo, "items") as on:
        for screen, ways in WAYS.items():
            await on.go(screen)
            for keys in ways:
                row = await changed(on, keys)
                await on.press("u")
                await on.until(lambda row=row: on.screen.table.cursor_id == row, f"{keys}: the cursor is on {row}")


@pytest.mark.slow
async def test_the_cursor_goes_to_a_record_that_comes_back(demo):
    async with console(demo, "tiers") as on:
        await on.at("task")
        await on.press("enter")
        await on.until(lambda: on.screen.SCREEN == "trail" and len(on.ids) > 1)
        row = await changed(on, ("d",))
        await on.until(lambda: row not in on.ids)
        await on.press("u")
        await on.until(lambda: on.screen.table.cursor_id == row, "the cursor is on the record")


@pytest.mark.slow
async def test_the_cursor_goes_to_a_file_and_to_a_decision_that_come_back(
    sample,
):
    home = sample("nb035")
    async with console(home, "files") as on:
        await on.at("memory/MEMORY.md")
        await on.press("e", "X", "ctrl+s", "y")
        await on.until(lambda: "\nX" in (home / "memory/MEMORY.md").read_text())
        await on.press("g")
        assert on.screen.table.cursor_id != "memory/MEMORY.md"
        await on.press("u")
        await on.until(lambda: on.screen.table.cursor_id == "memory/MEMORY.md")
        assert "\nX" not in (home / "memory/MEMORY.md").read_text()
        await on.press("5", "T")
        await on.shows("decided")
        await on.press("plus", "minus", "g", "u")
        assert on.screen.table.cursor == 1
        await on.press("u")
        assert on.screen.table.cursor == 0


@pytest.mark.slow
async def test_a_filter_that_hides_what_came_back_is_cleared(demo):
    async with console(demo, "items") as on:
        row = await changed(on, ("d",))
        on.screen.filter_by("zzzz")
        await on.shows("Nothing matches")
        await on.press("u")
        await on.until(lambda: on.screen.table.cursor_id == row)


def test_a_program_can_undo_only_what_it_changed_itself(demo):
    from nanomem_tui.core.errors import NothingToDo

    with open_workspace(demo) as mine, open_workspace(demo) as other:
        mine.items.add("Rows on Sundays")
        other.items.add("Has a bird")
        mine.undo(own=True)
        assert texts(demo).isdisjoint({"Rows on Sundays"})
        with pytest.raises(NothingToDo, match="no more of your changes"):
            mine.undo(own=True)
        assert "Has a bird" in texts(demo)
        with pytest.raises(NothingToDo):
            other.redo(own=True)
        mine.redo(own=True)
        assert {"Rows on Sundays", "Has a bird"} <= texts(demo)
