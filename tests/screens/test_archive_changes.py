"""Consolidating sessions, and the archive compacted or migrated, in the console: a look before, a way back after."""

import json

import pytest

from nanomem_tui.agents.archive import HistoryEntry, dump_entry
from nanomem_tui.core import files
from nanomem_tui.memory.sessions import archive as sessions_archive
from nanomem_tui.store.files import presence
from nanomem_tui.store.files.presence import Presence
from nanomem_tui.widgets.dialogs import ConfirmScreen
from tests.dreams.test_consolidator import KEY, Home, session, talk
from tests.screens.console import console


@pytest.fixture
def agent(tmp_path, monkeypatch):
    """A home with a session over a small budget and one within it."""
    monkeypatch.setenv("NANOMEM_CONSOLIDATE_BUDGET_TOKENS", "800")
    home = Home(tmp_path)
    home.write(talk(12))
    home.write(talk(1), key="cli:direct")
    return home


def runs(monkeypatch):
    monkeypatch.setattr(presence, "find_running_agent", lambda *_: Presence(True, 77, "nanobot gateway"))


async def asked(on, name):
    """Do an action that has no key, as the palette does, and wait for its dialog."""
    await on.screen.action_do(name)
    await on.until(lambda: isinstance(on.app.screen, ConfirmScreen))
    await on.pilot.pause()


async def undone(on, home, before):
    await on.until(lambda: on.screen.context().can_undo)
    await on.press("u")
    await on.until(lambda: home.files() == before)


@pytest.mark.slow
async def test_a_session_is_consolidated_after_a_look_and_undo_takes_it_back(agent):
    before = agent.files()
    async with console(agent.workspace, "sessions") as on:
        await on.at(KEY)
        await asked(on, "consolidate")
        await on.shows(f"Consolidate {KEY}", "messages 0 to ", "the budget is 800", "I moved to City0 last week.")
        await on.press("enter", "n")
        assert agent.files() == before
        await asked(on, "consolidate")
        await on.press("y")
        await on.until(agent.entries)
        await on.shows("u undoes it")
        assert session(agent).last_archived > 0
        await undone(on, agent, before)


@pytest.mark.slow
async def test_of_several_sessions_those_over_their_budget_are_consolidated(agent):
    agent.write(talk(12), key="cli:long")
    async with console(agent.workspace, "sessions", (120, 60)) as on:
        await on.press("*")
        await asked(on, "consolidate")
        await on.shows("Consolidate 2 of 3 sessions", "within its budget")
        await on.press("y")
        await on.until(lambda: {entry["session_key"] for entry in agent.entries()} == {KEY, "cli:long"})


async def test_a_session_within_its_budget_says_so(agent):
    before = agent.files()
    async with console(agent.workspace, "sessions") as on:
        await on.at("cli:direct")
        await asked(on, "consolidate")
        await on.shows("There is nothing to archive: the session is within its budget")
        await on.press("y", "escape")
        assert agent.files() == before


def archive(home):
    rows = [{"cursor": n, "timestamp": "2026-01-01 00:00", "content": f"entry {n}"} for n in range(1, 10)]
    lines = [json.dumps(row) + "\n" for row in rows]
    (home.memory / "history.jsonl").write_text("".join([*lines[:3], "broken\n", *lines[3:]]))
    (home.memory / ".dream_cursor").write_text("6")


@pytest.mark.slow
async def test_the_archive_is_compacted_after_a_look_and_undo_brings_it_back(agent):
    archive(agent)
    before = agent.files()
    async with console(agent.workspace, "archive") as on:
        await on.press("c")
        await on.shows("Keep how many of 9 summaries", "1000")
        await on.press("x", "enter")
        await on.shows("Type a number")
        await on.press("escape", "c", "enter")
        await on.shows("Compact the archive", "9 → 9", "1 line to the quarantine")
        await on.press("escape", "c", "2", "enter")
        await on.shows("9 → 3  (6 go, #1 to #6)", "3 entries that Dream has not read yet stay.")
        assert agent.files() == before
        await on.press("y")
        await on.until(lambda: [row["cursor"] for row in agent.entries()] == [7, 8, 9])
        await on.until(lambda: len(on.screen.table.rows) == 3)
        await undone(on, agent, before)
        await on.until(lambda: len(on.screen.table.rows) == 9)


async def test_an_archive_with_nothing_to_let_go_says_so(agent):
    (agent.memory / "history.jsonl").write_text(
        json.dumps({"cursor": 1, "timestamp": "2026-01-01 00:00", "content": "entry"}) + "\n"
    )
    async with console(agent.workspace, "archive") as on:
        await on.press("c", "enter")
        await on.shows("Nothing to compact: 1 summary, and 1 would be kept")


async def test_an_old_archive_is_migrated_after_a_look(agent):
    (agent.memory / "HISTORY.md").write_text("[2026-01-02 03:04] One.\n\nStill one.\n\n[2026-01-03 03:04] Two.\n\n")
    before = agent.files()
    async with console(agent.workspace, "archive") as on:
        await asked(on, "migrate_history")
        await on.shows("Migrate HISTORY.md", "2, 2026-01-02 03:04 to 2026-01-03 03:04", "HISTORY.md.bak")
        await on.press("y")
        await on.until(lambda: [row["content"] for row in agent.entries()] == ["One.\n\nStill one.", "Two."])
        assert not (agent.memory / "HISTORY.md").exists()
        await undone(on, agent, before)


async def test_without_an_old_archive_there_is_nothing_to_migrate(agent):
    async with console(agent.workspace, "archive") as on:
        await on.screen.action_do("migrate_history")
        await on.shows("there is no HISTORY.md to migrate")


@pytest.mark.slow
async def test_while_an_agent_runs_each_is_refused_with_the_reason(agent, monkeypatch):
    archive(agent)
    runs(monkeypatch)
    before = agent.files()
    for screen, names in {"sessions": ["consolidate"], "archive": ["compact", "migrate_history"]}.items():
        async with console(agent.workspace, screen) as on:
            await on.until(lambda on=on: on.screen.context().agent_alive)
            for name in names:
                on.app.clear_notifications()
                await on.screen.action_do(name)
                await on.shows("an agent is running")
                assert not isinstance(on.app.screen, ConfirmScreen)
    assert agent.files() == before


async def test_an_agent_that_starts_under_the_dialog_stops_it(agent, monkeypatch):
    before = agent.files()
    async with console(agent.workspace, "sessions") as on:
        await on.at(KEY)
        await asked(on, "consolidate")
        runs(monkeypatch)
        await on.press("y")
        await on.shows("nanobot gateway runs")
        assert agent.files() == before


@pytest.mark.slow
async def test_of_a_long_archive_the_newest_are_listed_and_the_rest_is_told_and_found(agent, monkeypatch):
    monkeypatch.setattr(sessions_archive, "WHOLE", 1_000)
    monkeypatch.setattr(sessions_archive, "NEWEST", 1)
    monkeypatch.setattr(files, "CHUNK", 700)
    said = [HistoryEntry(n, "2026-05-01 10:00", f"We talked about the weather, {n}.") for n in range(1, 101)]
    (agent.workspace / "memory" / "history.jsonl").write_bytes(b"".join(map(dump_entry, said)))
    async with console(agent.workspace, "archive") as on:
        held = len(on.screen.listing.rows)
        assert 0 < held < 20
        await on.shows(f"{held} · {100 - held} older: F finds in them")
        await on.press("F", *"weather", "space", "3", "period")
        await on.shows("archive #3")


async def test_the_number_of_a_summary_is_shown_whole(agent):
    file = agent.workspace / "memory" / "history.jsonl"
    said = [HistoryEntry(n, "2026-05-01 10:00", f"Summary {n}.") for n in (7, 12_345_678)]
    file.write_bytes(b"".join(map(dump_entry, said)))
    async with console(agent.workspace, "archive", (80, 24)) as on:
        await on.shows(" 12345678 ", "        7 ")
        file.write_bytes(dump_entry(said[0]))
        await on.press("f5")
        await on.until(lambda: "12345678" not in on.text)
        assert on.text.splitlines()[2].startswith("│" + " " * 9 + "# ")
