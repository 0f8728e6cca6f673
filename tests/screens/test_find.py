"""The dialog that searches what was said: exact hits, the nearest behind them, and what stands around one."""

from __future__ import annotations

import json
import time

import pytest

from nanomem_tui.agents.session_names import key_to_name
from nanomem_tui.memory.recall.conversations import ConversationRecall, Conversations
from nanomem_tui.screens.find import FindScreen
from nanomem_tui.widgets.table import LineTable
from tests.screens.console import console

LINES = (
    ("user", "Where did you find the puppy adoption papers?"),
    ("assistant", "In the blue folder, under the passports."),
    ("user", "Thanks a lot."),
)


@pytest.fixture
def talked(demo):
    """The demonstration with one more conversation."""
    folder = next(path for path in demo.parent.rglob(key_to_name("slack:C0LANTERN"))).parent
    lines: list[dict[str, object]] = [{"_type": "metadata", "key": "cli:puppy", "metadata": {}}]
    lines += [{"role": role, "content": text, "timestamp": "2026-03-01T10:00:00"} for role, text in LINES]
    (folder / key_to_name("cli:puppy")).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return demo


@pytest.mark.slow
async def test_a_question_finds_the_answer_and_shows_it_between_its_neighbours(talked):
    async with console(talked, "sessions") as on:
        await on.press("F")
        await on.type("where are the papers of the pupy adoption")
        await on.shows("none found", "near it (~)", "cli:puppy")
        table = on.app.screen.query_one(LineTable)
        answer = next(n for n, row in enumerate(table.rows) if row.index == 1 and row.key == "cli:puppy")
        for _ in range(answer):
            await on.press("down")
        await on.shows("~ assistant: In the blue folder", "user: Where did you find the puppy", "user: Thanks a lot.")
        await on.press("enter")
        await on.until(lambda: on.screen.table.cursor_id == "cli:puppy")


@pytest.mark.slow
async def test_exact_hits_stay_first(talked):
    async with console(talked, "sessions") as on:
        await on.press("F")
        await on.type("puppy papers")
        await on.shows("1 found, ", "near it (~)")
        rows = on.app.screen.query_one(LineTable).rows
        assert (rows[0].near, rows[0].index) == (False, 0)
        assert all(row.near and row.text.startswith("~ ") for row in rows[1:])
        assert rows[0].after[0] == "assistant: In the blue folder, under the passports."


async def test_a_small_screen_keeps_the_whole_list(talked):
    async with console(talked, "sessions", (60, 20)) as on:
        await on.press("F")
        await on.type("puppy")
        await on.shows("1 found")
        assert not on.app.screen.query_one("#context").display


@pytest.mark.slow
async def test_keys_are_answered_while_the_nearest_are_looked_for(talked, monkeypatch):
    asked: list[str] = []

    def slowly(self, query, *args, stop, **more):
        asked.append(query)
        end = time.monotonic() + 60
        while not stop() and time.monotonic() < end:
            time.sleep(0.01)
        return ConversationRecall(())

    monkeypatch.setattr(Conversations, "recall", slowly)
    async with console(talked, "sessions") as on:
        await on.press("F")
        dialog = on.app.screen
        assert isinstance(dialog, FindScreen)
        on.app.simulate_key("p")
        await on.until(lambda: "p" in asked)
        await on.shows("searching")
        on.app.simulate_key("q")
        await on.until(lambda: "pq" in asked, "the next search, while the first one still looks")
        on.app.simulate_key("escape")
        await on.until(lambda: on.app.screen is not dialog)
