"""Dreams by schedule in the console: in a thread beside the keys, told in the bar, never at once and never unasked."""

import json
import os
import threading
from dataclasses import replace
from datetime import timedelta

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.background import BEFORE_DREAMING, Scheduler
from nanomem_tui.core import clock
from nanomem_tui.dreams.entries import Skipped
from nanomem_tui.dreams.run import DreamResult
from nanomem_tui.dreams.service import Dreams
from nanomem_tui.screens.base.diffs import result_words
from tests.screens.console import console


@pytest.fixture
def due(demo, monkeypatch):
    """A workspace whose schedule is on, whose last Dream is long ago, and in which one entry waits."""
    monkeypatch.setenv("NANOMEM_DREAM_SCHEDULE", "on")
    with open_workspace(demo) as ws:
        latest, history, cursor = ws.dream.queue().latest, ws.paths.history, ws.paths.dream_cursor
    row = {"cursor": latest + 1, "timestamp": "2026-04-03 00:02", "content": "- [durable] User plays the cello"}
    with history.open("a") as file:
        file.write(json.dumps(row) + "\n")
    long_ago = clock.now().timestamp() - 86400
    os.utime(cursor, (long_ago, long_ago))
    return demo


def waiting(workspace):
    with open_workspace(workspace) as ws:
        return len(ws.dream.queue().waiting)


def schedule(on, minutes=10):
    """That of a console which was opened so long ago."""
    return Scheduler(on.app, on.app.opening, clock.now() - timedelta(minutes=minutes))


def idle(on):
    return all(worker.is_finished for worker in on.app.workers if worker.group == "schedule")


def test_what_waits_behind_a_dream_is_told_where_no_bar_cuts_it():
    result = DreamResult(20, 0, 20, (), files={"memory/MEMORY.md": (4, 0)}, remaining=74)
    assert result_words(result) == "Dream: MEMORY.md +4 -0 from 20 of 94 entries (u undoes it)"
    assert result_words(replace(result, remaining=0)) == "Dream: MEMORY.md +4 -0 from 20 entries (u undoes it)"
    nothing = replace(result, files={})
    assert result_words(nothing) == "Dream: read 20 of 94 entries; nothing to remember"
    found = replace(nothing, skipped=(Skipped(7, "likes tea", "known: USER.md:3", fact=True), Skipped(8, "hi", "talk")))
    assert result_words(found) == "Dream: read 20 of 94 entries; nothing changed; 1 fact found: known (1)"


@pytest.mark.slow
async def test_a_dream_that_is_due_is_made_and_told(due):
    before = waiting(due)
    async with console(due, "dream") as on:
        commits = len(on.ids)
        schedule(on).check_schedule()
        await on.shows("Dream by schedule: dreamt over")
        await on.until(lambda: len(on.ids) == commits + 1, "the screen shows the new commit")
        schedule(on).check_schedule()
        await on.until(lambda: idle(on))
    assert before > 0
    assert waiting(due) == 0


async def test_who_only_has_a_look_changes_nothing(due):
    before = waiting(due)
    async with console(due, "items") as on:
        schedule(on, minutes=BEFORE_DREAMING.total_seconds() / 60 - 1).check_schedule()
        await on.until(lambda: idle(on))
        assert "Dream by schedule" not in on.text
    assert waiting(due) == before


@pytest.mark.slow
async def test_the_status_says_whether_it_is_on_and_why_not(due, monkeypatch):
    async with console(due, "status") as on:
        await on.shows("Dream schedule", "every 2 h, one is due")
    monkeypatch.setenv("NANOMEM_DREAM_SCHEDULE", "off")
    async with console(due, "status") as on:
        await on.shows("off: dream_schedule is off")
        schedule(on).check_schedule()
        await on.until(lambda: idle(on))


@pytest.mark.slow
async def test_a_failure_is_a_notice_and_keys_go_on(due):
    (due / "USER.md").write_bytes(b"\xff")
    async with console(due, "items") as on:
        schedule(on).check_schedule()
        await on.shows("Dream by schedule: a memory file holds bytes")
        await on.press("2")
        assert on.screen.SCREEN == "lessons"


async def test_leaving_ends_a_dream_between_two_steps(due, monkeypatch):
    begun, left = threading.Event(), threading.Event()
    real = Dreams.run

    def slow(self, **options):
        begun.set()
        left.wait(60)
        return real(self, **options)

    monkeypatch.setattr(Dreams, "run", slow)
    before = waiting(due)
    async with console(due, "items") as on:
        dreaming = schedule(on)
        dreaming.check_schedule()
        await on.until(begun.is_set)
        dreaming.check_schedule()  # one at a time
        assert sum(worker.group == "schedule" for worker in on.app.workers) == 1
        on.app.workers.cancel_all()
        left.set()
        await on.until(lambda: idle(on))
    assert waiting(due) == before
