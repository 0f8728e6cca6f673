"""The Tiers screen and the records behind it: browsed, followed, corrected, and never read whole."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.screens.work.record_columns import TITLES
from nanomem_tui.screens.work.record_detail import Linked
from nanomem_tui.screens.work.record_list import TrailScreen
from nanomem_tui.screens.work.tiers import FOLLOW_SECONDS
from nanomem_tui.tiers.records import NewRecord
from nanomem_tui.widgets.dialogs import EditScreen
from nanomem_tui.widgets.paged_table import KEPT, PAGE, PagedRows
from tests.screens.console import console
from tests.snapshots import hostile

pytestmark = pytest.mark.slow

SMALL, LARGE = (80, 24), (200, 60)
MANY = 5_000


@pytest.fixture
def home(tmp_path, clean_home):
    """An empty workspace."""
    workspace = tmp_path / ".nanobot" / "workspace"
    (workspace / "memory").mkdir(parents=True)
    (tmp_path / ".nanobot" / "config.json").write_text("{}")
    return workspace


def ago(**far):
    return clock.iso(clock.now() - timedelta(**far))


def worked(ws):
    """One goal with its task, its tool call and what was decided, and one record of each other kind."""
    records: Iterable[tuple[str, str, dict[str, Any]]] = (
        ("goal", "g1", {"description": "保持网站在线 🌐", "status": "active", "created_at": ago(hours=3)}),
        ("task", "t1", {"goal_id": "g1", "description": "รีสตาร์ท nginx", "agent": "ops", "status": "failed",
                        "error": "port in use", "started_at": ago(hours=2), "procedure_id": "p1"}),
        ("tool-call", "c1", {"task_id": "t1", "tool_name": "service.restart", "input": {"unit": "nginx"},
                             "success": False, "reason": "502 everywhere", "timestamp": ago(hours=1)}),
        ("decision", "d1", {"task_id": "t1", "context": "nginx answers 502", "chosen": "reload",
                            "options": ["restart", "reload"], "reasoning": "Open connections go on",
                            "outcome": "It worked", "timestamp": ago(minutes=50)}),
        ("pattern", "x1", {"trigger": "nginx down", "action": "restart it", "success_rate": 0.75, "uses": 4}),
        ("procedure", "p1", {"name": "free the port", "description": "End who holds it",
                             "steps": [{"tool": "net.listeners"}, "start nginx"], "success_count": 3}),
        ("incident", "i1", {"description": "The site was down", "symptoms": ["502"], "root_cause": "out of memory",
                            "resolution": "more memory", "prevention": "an alarm"}),
        ("config-change", "k1", {"file_path": "/etc/nginx.conf", "content": "a\nb\n", "timestamp": ago(hours=9)}),
        ("config-change", "k2", {"file_path": "/etc/nginx.conf", "content": "a\nc\n", "timestamp": ago(hours=8)}),
        ("agent-state", "ops", {"agent_name": "ops", "state": {"busy": True}}),
        ("event", "e1", {"category": "event", "source": "disk", "data": {"full": 97}}),
        ("metric", "m1", {"name": "cpu.percent", "value": 12.5, "unit": "%"}),
        ("metric-hour", "h1", {"name": "cpu.percent", "hour": ago(days=9), "count": 60, "mean": 11.5, "least": 1,
                               "most": 80}),
    )  # fmt: skip
    ws.records.store_many([NewRecord(kind, fields, record_id) for kind, record_id, fields in records])


def calls(ws, count):
    """So many tool calls, a second apart; the newest is call 0."""
    now = clock.now()
    ws.records.store_many(
        [
            NewRecord("tool-call", {"tool_name": ("exec", "read")[number % 2], "agent": f"a{number % 10}",
                                 "input": {"number": number}, "reason": f"reason{number}",
                                 "timestamp": clock.iso(now - timedelta(seconds=number))}, f"call_{number:06}")
            for number in range(count)
        ]
    )  # fmt: skip


async def records_of(on, kind):
    """To the records of a kind, by keys, from the Tiers screen."""
    await on.press("8")
    await on.at(kind)
    await on.press("enter")
    screen = on.screen
    assert isinstance(screen, TrailScreen)
    assert screen.kind == kind
    return screen


async def at_link(on, key):
    """In the detail, with the cursor on a link."""
    screen = on.screen
    assert isinstance(screen, TrailScreen)
    await on.until(lambda: any(part.key == key for part in screen.view.parts), f"the link {key}")
    assert screen.view.move_to_part(key)


SAID = {
    "event": ("full", "97"),
    "metric": ("cpu.percent", "12.5"),
    "metric-hour": ("11.5",),
    "goal": ("保持网站在线 🌐", "active"),
    "task": ("รีสตาร์ท nginx", "port in use", "goal", "tool call"),
    "tool-call": ("502 everywhere", '{"unit": "nginx"}'),
    "agent-state": ("ops", '{"busy": true}'),
    "decision": ("▸ reload  chosen", "Open connections go on", "It worked"),
    "pattern": ("nginx down", "restart it", "75%", "4 uses"),
    "procedure": ("1. net.listeners", "2. start nginx", "3 times, failed 0"),
    "incident": ("Symptoms", "• 502", "out of memory", "more memory", "an alarm"),
    "config-change": ("- b", "+ c", "same file"),
}


@pytest.mark.slow
async def test_every_kind_is_counted_listed_and_told(home):
    with open_workspace(home) as ws:
        worked(ws)
    async with console(home, "tiers", LARGE) as on:
        assert on.ids == [*TITLES, "documents", "lifecycle"]
        await on.shows("13 records", "Working", "Long-term")
        for kind, texts in SAID.items():
            await records_of(on, kind)
            await on.shows(*texts)
            await on.press("escape")
            assert on.screen.SCREEN == "tiers"
            assert on.screen.table.cursor_id == kind


@pytest.mark.slow
async def test_links_lead_from_the_goal_to_the_tool_call_and_back(home):
    with open_workspace(home) as ws:
        worked(ws)
    async with console(home, "tiers", SMALL) as on:
        screen = await records_of(on, "goal")
        await on.press("enter")
        await at_link(on, "task task/t1")
        await on.press("enter")
        await on.until(lambda: screen.kind == "task" and screen.table.cursor_id == "t1")
        await at_link(on, "tool call tool-call/c1")
        await on.press("o")
        await on.until(lambda: screen.kind == "tool-call")
        await on.shows("502 everywhere")
        await on.press("escape")
        await on.until(lambda: screen.kind == "task")
        await on.until(lambda: isinstance(screen.view.current, Linked), "at the link that was followed")
        await on.press("escape")
        await on.until(lambda: screen.kind == "goal")
        await on.press("escape", "escape")
        assert on.screen.SCREEN == "tiers"


@pytest.mark.slow
async def test_o_goes_up_and_says_when_nothing_is_there(home):
    with open_workspace(home) as ws:
        worked(ws)
        ws.records.store("task", {"description": "alone", "goal_id": "gone"}, "t2")
    async with console(home, "trail", LARGE) as on:
        screen = await records_of(on, "tool-call")
        await on.press("o")
        await on.until(lambda: (screen.kind, screen.table.cursor_id) == ("task", "t1"))
        await on.press("escape")
        await on.until(lambda: screen.kind == "tool-call")
        await records_of(on, "task")
        await on.at("t2")
        await on.press("o")
        await on.shows("What it belongs to is not here")


@pytest.mark.slow
async def test_a_record_is_added_edited_deleted_and_brought_back(home):
    async with console(home, "tiers", SMALL) as on:
        screen = await records_of(on, "goal")
        await on.shows("No goals yet")
        await on.pilot.press("a")
        await on.until(lambda: isinstance(on.app.screen, EditScreen), "a field")
        await on.shows("METADATA (JSON)", "DESCRIPTION (needed)")
        await on.type("Stay up")
        await on.press(*["up"] * 9)
        await on.type("{")
        await on.press("ctrl+s")
        await on.shows("`metadata` is no JSON: line 1, column 2")
        await on.press(*["up"] * 9, "end")
        await on.type('"by": "mira"}')
        await on.press("ctrl+s")
        await on.until(lambda: len(on.ids) == 1)
        await on.shows("Stay up", "u undoes it")
        assert screen.ws.records.list_records("goal")[0].fields["metadata"] == {"by": "mira"}
        await on.press("u")
        await on.until(lambda: not on.ids)
        with open_workspace(home) as ws:
            ws.records.store("goal", {"description": "Keep the site up"}, "g1")
        on.app.check_workspace()
        await on.until(lambda: on.ids == ["g1"], "what another process wrote")
        before = screen.ws.records.get("goal", "g1").fields
        await on.pilot.press("e")
        await on.until(lambda: isinstance(on.app.screen, EditScreen), "a field")
        await on.type("!")
        await on.press("ctrl+s")
        await on.until(lambda: screen.ws.records.get("goal", "g1").title == "Keep the site up!")
        await on.shows("u undoes it")
        await on.press("d")
        await on.until(lambda: not on.ids)
        await on.press("u")
        await on.until(lambda: on.ids == ["g1"])
        await on.press("u")
        await on.until(lambda: screen.ws.records.get("goal", "g1").fields == before)


@pytest.mark.slow
async def test_several_are_deleted_after_a_look(home):
    with open_workspace(home) as ws:
        calls(ws, 5)
    async with console(home, "trail", SMALL) as on:
        await records_of(on, "tool-call")
        await on.press("space", "space", "d")
        await on.shows("Delete 2 records", "yes, do it")
        await on.press("y")
        await on.until(lambda: len(on.ids) == 3)
        await on.press("u")
        await on.until(lambda: len(on.ids) == 5)


@pytest.mark.slow
async def test_what_happened_is_not_edited(home):
    with open_workspace(home) as ws:
        worked(ws)
    async with console(home, "trail", SMALL) as on:
        await records_of(on, "event")
        await on.press("d")
        await on.shows("events are kept as they came")
        await on.press("a")
        await on.shows("are told by agents")


@pytest.mark.slow
async def test_a_long_list_is_read_where_it_is_looked_at(home):
    with open_workspace(home) as ws:
        calls(ws, MANY)
    async with console(home, "trail", LARGE) as on:
        screen = await records_of(on, "tool-call")
        rows = screen.table.rows
        assert isinstance(rows, PagedRows)
        await on.shows(f"Tool calls {MANY:,}")
        assert (len(rows), len(rows.pages)) == (MANY, 2)
        await on.press("G")
        await on.until(lambda: screen.table.cursor_id == f"call_{MANY - 1:06}")
        await on.shows(f"reason{MANY - 1}")
        await on.press("g")
        await on.until(lambda: screen.table.cursor_id == "call_000000")
        assert len(rows.pages) <= 4
        await on.press("s")
        await on.until(lambda: screen.table.cursor_id == f"call_{MANY - 1:06}")
        await on.shows("The oldest first; records are sorted by their time only")
        await on.press("asterisk")
        await on.shows("At most 1,000 rows are selected at once")
        screen.show_row("call_002500")
        await on.until(lambda: screen.table.cursor_id == "call_002500")
        assert screen.table.cursor == MANY - 2501


def test_only_so_many_pages_are_kept():
    missing: list[int] = []
    rows = PagedRows[int](100 * PAGE, lambda index: -index, missing.append)
    for number in range(100):
        rows.put(number, range(number * PAGE, (number + 1) * PAGE))
    assert len(rows.pages) == KEPT
    assert rows[99 * PAGE + 3] == 99 * PAGE + 3
    assert rows[7] == -7
    assert missing == [0]
    with pytest.raises(IndexError):
        rows[100 * PAGE]


FILTERS = {
    "tool:exec agent:a2": (500, "500 of 5,000"),
    "reason4321": (1, "by words"),
    "ason432": (11, "parts of words in the newest 5,000"),
    "tool:ex*": (2000, "the first 2,000 of them"),
    "tool:read,web agent:a1 age:<9999d": (500, "500 of 5,000"),
    "agent:nobody": (0, "0 of 5,000"),
    "-tool:exec agent:a3": (500, "500 of 5,000"),
}


@pytest.mark.slow
async def test_a_filter_asks_the_database(home):
    with open_workspace(home) as ws:
        calls(ws, MANY)
    async with console(home, "trail", LARGE) as on:
        await records_of(on, "tool-call")
        for query, (count, said) in FILTERS.items():
            on.screen.filter_by(query)
            await on.until(lambda count=count: len(on.ids) == count, query)
            await on.shows(said)
        await on.press("escape")
        await on.until(lambda: len(on.screen.table.rows) == MANY)


@pytest.mark.slow
async def test_what_another_process_stores_is_seen_and_the_cursor_stays(home):
    with open_workspace(home) as ws:
        calls(ws, 50)
    async with console(home, "trail", SMALL) as on:
        screen = await records_of(on, "tool-call")
        await on.press("j", "j", "j")
        assert screen.table.cursor_id == "call_000003"
        code = (
            "from nanomem_tui import open_workspace\n"
            f"with open_workspace({str(home)!r}) as ws:\n"
            "    ws.records.store('tool-call', {'tool_name': 'late', 'input': {}}, 'late')\n"
        )
        await asyncio.to_thread(subprocess.run, [sys.executable, "-c", code], check=True)
        on.app.check_workspace()
        await on.until(lambda: len(screen.table.rows) == 51)
        assert (screen.table.cursor, screen.table.cursor_id) == (4, "call_000003")
        await on.press("8")
        await on.until(lambda: "51" in on.text, "counted again")


@pytest.mark.slow
async def test_what_happens_now_is_followed_while_it_is_shown(home):
    with open_workspace(home) as ws:
        worked(ws)
        for value in (10.0, 20.0, 40.0):
            ws.operational.push("metric", {"name": "load", "value": value, "unit": "%"})
        ws.operational.push("task", {"id": "t9", "status": "in_progress", "agent": "ops", "description": "index it"})
        ws.operational.push("tool_result", {"tool": "exec", "input": {}, "error": "denied", "success": False})
        ws.operational.push("event", {"agent": "ops", "state": {"on": "nginx"}}, "ops")
    async with console(home, "tiers", LARGE) as on:
        await on.at("metric")
        await on.shows("load", "40 %", "10 to 40 in 3", "▁▃█")
        await on.at("task")
        await on.shows("in_progress ops", "index it")
        await on.at("tool-call")
        await on.shows("exec  denied")
        await on.at("agent-state")
        await on.shows('{"on": "nginx"}')
        await on.at("metric")
        with open_workspace(home) as other:
            other.operational.push("metric", {"name": "load", "value": 90.0, "unit": "%"})
        await on.shows("90 %", "10 to 90 in 4")
        view = on.app.get_screen("tiers").view
        await on.press("8", "1")
        with open_workspace(home) as other:
            other.operational.push("metric", {"name": "load", "value": 95.0, "unit": "%"})
        await on.pilot.pause(3 * FOLLOW_SECONDS)
        assert "95 %" not in str(view.lines), "nothing is looked at while it is not shown"
        await on.press("8")
        await on.shows("95 %")


@pytest.mark.slow
async def test_documents_are_listed_with_their_sections(home):
    guide = "# Guide\n\nFirst words.\n\n## Ports [/foo]\n\nPort 80 is for the proxy.\n"
    async with console(home, "tiers", LARGE) as on:
        await on.at("documents")
        await on.shows("None was added yet")
        with open_workspace(home) as ws:
            ws.knowledge.add_text(guide, "a colleague", "The guide")
        on.app.check_workspace()
        await on.shows("Added (1)", "The guide", "a colleague")
        await on.press("tab", "n", "enter")
        await on.shows("Ports [/foo]")


@pytest.mark.sqlite
async def test_a_damaged_file_is_told_and_the_memory_goes_on(home):
    with open_workspace(home) as ws:
        worked(ws)
        database = ws.paths.work_database
    database.write_bytes(b"no database" * 1000)
    for beside in ("-wal", "-shm"):
        database.with_name(database.name + beside).unlink(missing_ok=True)
    async with console(home, "tiers", SMALL) as on:
        await on.shows("Error", "work.db")
        await on.press("1", "a")
        assert on.screen.SCREEN == "items"
        assert not on.app.state.read_only


@pytest.mark.slow
async def test_hostile_texts_do_nothing(home):
    bad = hostile.everything()
    with open_workspace(home) as ws:
        ws.records.store("goal", {"description": bad, "metadata": {bad: [bad]}}, "g1")
        ws.records.store("task", {"description": bad, "goal_id": "g1", "agent": bad, "output": bad}, "t1")
        ws.records.store("decision", {"context": bad, "chosen": bad, "options": [bad, {"name": bad, bad: bad}],
                                      "reasoning": bad}, "d1")  # fmt: skip
        ws.operational.push("event", {bad: bad}, bad[:400])
        ws.operational.push("metric", {"name": bad[:400], "value": 1, "unit": bad})
    async with console(home, "tiers", SMALL) as on:
        for kind in ("event", "metric"):
            await on.at(kind)
            await on.press("enter", "escape", "tab")
            assert not set(on.text) & set(hostile.FORBIDDEN_CHARACTERS + "\x1b\x07")
            await on.press("tab")
        for kind in ("goal", "task", "decision"):
            await records_of(on, kind)
            assert not set(on.text) & set(hostile.FORBIDDEN_CHARACTERS + "\x1b\x07")
            await on.press("enter")
            await on.shows("markup-before")
            assert not set(on.text) & set(hostile.FORBIDDEN_CHARACTERS + "\x1b\x07")


@pytest.mark.slow
async def test_small_terminals_are_enough(home):
    with open_workspace(home) as ws:
        worked(ws)
    async with console(home, "tiers", (60, 20)) as on:
        await on.shows("Events", "Working")
        await records_of(on, "task")
        await on.shows("failed", "Tasks 1")
        await on.press("enter")
        await on.shows("port in use")
