"""The Status screen: what is here, what is broken and where, what waits, and what the doctor finds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.memory.transfer import backfill
from nanomem_tui.widgets.bars import StatusBar
from tests.screens.console import console
from tests.store.homes import make_home

Sample = Callable[[str], Path]


def said(on):
    return {row.name: row.value for row in on.screen.table.rows}


async def test_counts_are_those_of_the_workspace(sample):
    async with console(sample("nb035"), "status") as on:
        parts = said(on)
        assert parts["Sessions"] == "39"
        assert parts["History"].startswith("282 entries")
        assert parts["Dream"].startswith("20 runs")
        assert parts["Saving"] == "nothing was ever changed here"
        assert parts["Database"] == "none yet"


async def test_a_dream_cursor_beyond_the_last_entry_is_bad(sample):
    workspace = sample("nb035")
    (workspace / "memory" / ".dream_cursor").write_text("1282")
    async with console(workspace, "status", (160, 45)) as on:
        assert said(on)["Dream"] == "20 runs, cursor 1,282, 1,000 ahead of the last entry"
        assert "no Dream would ever read the 1,000 entries to come" in said(on)["memory/.dream_cursor"]


async def test_what_is_torn_is_named_by_file_and_line(sample):
    async with console(sample("torn"), "status", (160, 45)) as on:
        bad = [row for row in on.screen.table.rows if row.health in {"bad", "warn"}]
        assert any("LESSONS.jsonl:" in row.name for row in bad)
        assert said(on)["Lessons"].startswith("60,")
        await on.at(on.screen.row_id(bad[0]))
        await on.shows("where", "what")


async def test_the_doctor_adds_what_it_finds(sample):
    async with console(sample("torn"), "status") as on:
        before = len(on.ids)
        await on.press("D")
        await on.shows("The doctor found")
        await on.until(lambda: len(on.ids) >= before)


@pytest.mark.slow
async def test_a_line_that_the_doctor_takes_away_was_not_deleted(tmp_path, monkeypatch):
    workspace = make_home(tmp_path)
    with open_workspace(workspace) as ws:
        ws.items.add("my password is hunter2Blue!")
    (workspace / "USER.md").write_text("- likes tea\n" * 10_000)  # that is for the doctor to see
    async with console(workspace, "status", (120, 40)) as on:
        await on.at("Problems")
        told: list[str] = []
        monkeypatch.setattr("nanomem_tui.screens.base.list_screen.say", lambda _, text: told.append(text))
        await on.press("D")
        await on.shows("The doctor found")
        await on.until(lambda: any(row.name == "items" for row in on.screen.table.rows))
        assert "Problems" not in on.ids
        await on.pilot.pause()
        assert told == [], "nothing was deleted or merged"
        note = next(row for row in on.screen.table.rows if row.name == "items")
        assert (note.health, on.screen.sign(note)) == ("note", ""), "a note wants nothing"
        wanted = [row for row in on.screen.table.rows if row.health in {"bad", "warn"}]
        assert [row.name for row in wanted][:1] == ["USER.md"]
        await on.until(lambda: on.app.state.problems == len(wanted), "notes are not counted")
        await on.until(lambda: "problem" in on.screen.query_one(StatusBar).text)
        assert "press 0" not in on.screen.query_one(StatusBar).text


@pytest.mark.slow
async def test_what_waits_for_a_checkpoint_is_said_and_saved_by_a_key(demo):
    async with console(demo, "items") as on:
        await on.press("x", "9")
        await on.until(lambda: "1 unsaved" in said(on).get("Saving", ""))
        await on.press("ctrl+s")
        await on.shows("Saved 1 change, 0 rows in")
        await on.until(lambda: said(on)["Saving"].startswith("all saved"))
        assert "recorded" in said(on)["Database"]


@pytest.mark.slow
async def test_bar_and_screen_say_the_same_until_the_agents_files_are_written_too(demo):
    async with console(demo, "lessons") as on:
        lessons = demo / "memory" / "LESSONS.jsonl"
        before = lessons.read_bytes()
        await on.press("x", "9")

        def says(words):
            bar = on.screen.query_one(StatusBar).text
            return words in bar and said(on)["Saving"].startswith(words)

        await on.until(lambda: says("1 unsaved"), "the bar and the screen count it")
        on.app.ws.store.checkpoint()  # as after enough changes: the database has it, the agent's file not yet
        on.app.check_workspace()
        await on.until(lambda: says("writing agent files"), "neither says that all is saved")
        assert lessons.read_bytes() == before
        await on.press("ctrl+s")
        await on.until(lambda: said(on)["Saving"].startswith("all saved"))
        assert "writing agent files" not in on.screen.query_one(StatusBar).text
        assert lessons.read_bytes() != before


async def test_one_of_a_thing_is_one_thing(demo):
    async with console(demo, "items") as on:
        await on.press("x", "U")
        await on.shows("1 thing touched")
        await on.press("ctrl+s")
        await on.shows("Saved 1 change, 0 rows in")


async def test_growth_and_kinds_are_plotted(sample):
    async with console(sample("ramfirst"), "status") as on:
        await on.at("Items")
        await on.shows("By kind", "Written, by month", "Recalled")


async def test_a_broken_database_leaves_the_rest_usable(demo):
    with open_workspace(demo) as ws:
        ws.items.add("x")
        path = ws.paths.database
    path.write_bytes(b"garbage" * 1000)
    async with console(demo, "status") as on:
        assert said(on)["Items"] == "cannot be read"
        assert said(on)["Agent"] == "not running"
        assert any("cannot be read" in row.value for row in on.screen.table.rows if row.health)


@pytest.mark.slow
async def test_what_a_save_mended_is_no_longer_listed_not_even_as_a_finding_of_the_doctor(sample):
    async with console(sample("torn"), "status", (160, 45)) as on:
        await on.press("D")
        await on.shows("The doctor found")
        await on.until(lambda: any(row.name.startswith("memory/LESSONS.jsonl") for row in on.screen.table.rows))
        await on.press("2", "x", "9", "ctrl+s")
        await on.until(lambda: "Saving" in said(on) and said(on)["Saving"].startswith("all saved"))
        await on.until(lambda: not any(row.name.startswith("memory/LESSONS.jsonl") for row in on.screen.table.rows))
        assert any(row.name.startswith("sessions/") for row in on.screen.table.rows), "the rest is as it was"


@pytest.mark.slow
async def test_it_says_whether_the_notes_were_taken_in_and_what_that_brought(tmp_path):
    workspace = make_home(tmp_path)
    (workspace / "memory" / "MEMORY.md").write_text("- Ana likes tea\n- Ana lives in Porto\n")
    async with console(workspace, "status") as on:
        assert said(on)["Backfill"] == "not yet: 1 Markdown file"
        await on.at("Backfill")
        await on.shows("The agent's first turn takes in what they say")
    with open_workspace(workspace) as ws:
        backfill.run_once(ws.store, ws.paths, ws.settings, ws.perform)
    async with console(workspace, "status") as on:
        assert said(on)["Backfill"].startswith("done")
        assert said(on)["Backfill"].endswith("ago: 2 items")
