"""The WAL screen: PRE beside POST, unfinished turns in words, and new turns as the agent writes them."""

from typing import cast

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.agents import turn_log
from nanomem_tui.screens.wal import WalScreen
from nanomem_tui.widgets.dialogs import ConfirmScreen
from tests.screens.console import console

KEY = "telegram:20417"


def view(on):
    return cast("WalScreen", on.screen).view


def log_of(workspace, key=KEY):
    return workspace / "memory" / "session-state" / turn_log.wal_name(key)


def write(path, *blocks):
    with path.open("ab") as file:
        file.write(b"".join(blocks))


async def test_the_logs_and_their_unfinished_turns_are_listed(sample):
    async with console(sample("ftswal"), "wal", (160, 45)) as on:
        rows = on.screen.table.rows
        assert (len(rows), sum(row.turns for row in rows), sum(row.open_turns for row in rows)) == (5, 400, 12)
        await on.at("feishu:oc_a")
        await on.shows("80 turns", "3 unfinished")
        await on.press("tab", "g")
        await on.shows("Unfinished turns (3)")


async def test_pre_stands_beside_post_where_there_is_room(demo):
    async with console(demo, "wal", (160, 40)) as on:
        await on.at(KEY)
        await on.shows("UNFINISHED")
        sides = [line for line in on.text.split("\n") if "PRE" in line]
        assert all("POST" in line for line in sides)
        assert any("POST  none" in line for line in sides)


@pytest.mark.slow
async def test_pre_stands_above_post_where_there_is_not(demo):
    async with console(demo, "wal", (62, 24)) as on:
        await on.at("slack:C0LANTERN")
        await on.press("enter")
        await on.shows("PRE", "POST")
        assert not any("PRE" in line and "POST" in line for line in on.text.split("\n"))


async def test_it_goes_from_turn_to_turn(demo):
    async with console(demo, "wal") as on:
        await on.at(KEY)
        await on.press("tab", "g", "n", "n")
        assert view(on).current is not None
        assert view(on).current.key == "t2"
        await on.press("N")
        assert view(on).current.key == "t1"


async def test_followed_new_turns_appear_as_the_agent_writes_them(demo):
    async with console(demo, "wal") as on:
        await on.at("slack:C0LANTERN")
        await on.press("f")
        await on.shows("following (f stops)")
        pre = turn_log.dump_pre("2026-01-02T10:00:00+00:00", {"speaker": "user", "user": "is anyone there?"})
        write(log_of(demo, "slack:C0LANTERN"), pre)
        on.app.check_workspace()
        await on.shows("is anyone there?", "UNFINISHED")
        write(log_of(demo, "slack:C0LANTERN"), turn_log.dump_post("2026-01-02T10:00:07+00:00", "I am."))
        on.app.check_workspace()
        await on.shows("is anyone there?", "I am.", "7 s")
        await on.press("f")
        await on.until(lambda: "following" not in on.text)


async def test_not_followed_the_place_stays(sample):
    workspace = sample("ftswal")
    async with console(workspace, "wal") as on:
        await on.at("feishu:oc_a")
        await on.press("tab", "g", "n", "n", "n")
        before = view(on).current.key if view(on).current else ""
        pre = turn_log.dump_pre("2026-03-02T10:00:00+00:00", {"speaker": "user", "user": "later"})
        write(log_of(workspace, "feishu:oc_a"), pre)
        on.app.check_workspace()
        await on.until(lambda: len(view(on).parts) == 82)
        assert view(on).current is not None
        assert view(on).current.key == before == "t3"


@pytest.mark.slow
async def test_it_opens_the_transcript_where_there_is_one(demo, sample):
    async with console(demo, "wal") as on:
        await on.at(KEY)
        await on.press("o")
        await on.until(lambda: on.screen.SCREEN == "sessions" and on.screen.table.cursor_id == KEY)
    async with console(sample("ftswal"), "wal") as on:
        await on.press("o")
        await on.shows("where this came from is not known")


async def test_a_torn_log_is_shown_with_what_could_not_be_read(demo):
    write(log_of(demo), b"\n### 2026-01-02T10:00:00+00:00 PRE\n- speaker: user\n- user: half of it \xff\xfe", b"")
    async with console(demo, "wal") as on:
        await on.at(KEY)
        await on.shows("half of it")
        await on.press("tab", "g")
        await on.shows("Problems (")


async def test_no_logs_is_said(sample):
    async with console(sample("nb035"), "wal") as on:
        await on.shows("No turn logs here")
        await on.press("enter", "f", "o", "n", "y")
        await on.shows("there is no row here")


def begun(workspace, text):
    """A turn of a new session that has no end."""
    path = log_of(workspace, "telegram:7")
    header = turn_log.dump_header("telegram:7", "telegram", "7")
    told = {"speaker": "user", "sender_id": "ana", "message_id": "m1", "user": text}
    write(path, header, turn_log.dump_pre("2026-01-02T10:00:00+00:00", told))


@pytest.mark.slow
async def test_an_unfinished_turn_is_recovered_after_what_it_takes_was_shown_and_can_be_taken_back(demo):
    begun(demo, "Remember that I always want the window seat.")
    async with console(demo, "wal", (120, 40)) as on:
        await on.at("telegram:7")
        assert on.screen.table.cursor_row.open_turns == 1
        await on.press("exclamation_mark")
        assert isinstance(on.app.screen, ConfirmScreen)
        await on.shows("Recover telegram:7", "telegram:7 #1", "Remembered (1)", "window seat")
        await on.press("n")
        await on.until(lambda: on.app.screen is on.screen)
        assert on.app.ws.wal.check()
        await on.press("exclamation_mark", "y")
        await on.until(lambda: on.screen.table.cursor_row and on.screen.table.cursor_row.open_turns == 0)
        await on.shows("RECOVERED")
        assert "I always want the window seat" in {item.text.rstrip(".") for item in on.app.ws.items.all()}
        assert [one.text for one in on.app.ws.traces.pending.waiting_in("telegram:7")] == [
            "Remember that I always want the window seat."
        ]
        await on.press("exclamation_mark")
        assert not isinstance(on.app.screen, ConfirmScreen), "there is nothing more to recover"
        await on.press("u")
        await on.until(lambda: on.screen.table.cursor_row and on.screen.table.cursor_row.open_turns == 1)
        await on.shows("UNFINISHED")
    with open_workspace(demo) as ws:
        assert "telegram:7" in {turn.session_key for turn in ws.wal.check()}
        assert "I always want the window seat" not in {item.text.rstrip(".") for item in ws.items.all()}


@pytest.mark.slow
async def test_the_turns_of_selected_logs_are_recovered_together_also_by_name(sample):
    async with console(sample("ftswal"), "wal", (120, 40)) as on:
        assert len(on.app.ws.wal.check()) == 12
        await on.press("asterisk", "colon")
        await on.type("recover")
        await on.press("enter")
        await on.shows("Recover 5 sessions")
        await on.press("y")
        await on.until(lambda: not on.app.ws.wal.check())
        assert len(on.app.ws.wal.recovered()) == 12


async def test_one_problem_is_not_many(demo):
    write(
        log_of(demo, "slack:C0LANTERN"), b"\n### 2026-01-02T10:00:00+00:00 PRE\n- speaker: user\n- user: hal\xff\n", b""
    )
    async with console(demo, "wal", (200, 40)) as on:
        await on.at("slack:C0LANTERN")
        assert on.screen.table.cursor_row.problems == 1
        await on.shows("1 problem")
        assert "1 problems" not in on.text
