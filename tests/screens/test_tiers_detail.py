"""What the right pane of Records and Tiers tells: a record's fields in order, its past, documents in a narrow pane."""

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.screens.work.record_detail import LOGGED
from nanomem_tui.screens.work.record_list import TrailScreen
from tests.screens.console import PATIENCE, console
from tests.tiers.happened import small_home

pytestmark = pytest.mark.slow

SMALL, LARGE = (80, 24), (200, 60)


@pytest.fixture
def home(tmp_path):
    """A workspace in which nothing is remembered yet."""
    return small_home(tmp_path)


async def told_of(on, kind):
    """The lines that are told of the newest record of a kind, without the space around them."""
    await on.press("8")
    await on.at(kind)
    await on.press("enter")
    screen = on.screen
    assert isinstance(screen, TrailScreen)
    await on.until(lambda: screen.table.cursor_id is not None and screen.view.parts)
    await on.app.settled(PATIENCE)
    return ["".join(text for text, _ in line).strip() for line in screen.view.lines]


@pytest.mark.slow
async def test_the_past_tells_edits_by_field_and_what_came_or_went_by_its_name(home):
    with open_workspace(home) as ws:
        ws.records.add("goal", {"description": "Stay up", "priority": 1}, "g1")
        ws.records.edit("goal", "g1", {"priority": 4})
        ws.undo()
    async with console(home, "tiers", LARGE) as on:
        lines = await told_of(on, "goal")
        past = lines[lines.index("History (3)") :]
        assert "priority: 1 → 4" in past
        assert [line for line in past if line.endswith("(taken back)")]
        assert not [line for line in past if line.startswith("description")], past


@pytest.mark.slow
async def test_a_long_past_says_how_much_is_not_told(home):
    with open_workspace(home) as ws:
        for number in range(LOGGED + 3):
            ws.records.store("goal", {"description": "Stay up", "result": f"{number} days"}, "g1")
    async with console(home, "tiers", LARGE) as on:
        await told_of(on, "goal")
        await on.press("tab", "G")
        await on.shows("… and 2 older")


@pytest.mark.slow
async def test_fields_stand_together_and_nothing_is_an_empty_heading(home):
    with open_workspace(home) as ws:
        ws.records.store("agent-state", {"agent_name": "ops", "state": {"busy": True}}, "ops")
        ws.records.store("procedure", {"name": "free the port", "description": "End who holds it", "steps": []}, "p1")
        ws.records.store("pattern", {"trigger": "down", "action": "restart", "created_from": "g1"}, "x1")
    async with console(home, "tiers", LARGE) as on:
        lines = await told_of(on, "agent-state")
        assert lines[1].startswith("updated at")
        assert lines[2:5] == ["", "State", '{"busy": true}']
        lines = await told_of(on, "procedure")
        assert lines[lines.index("End who holds it") + 1] == ""
        assert lines[lines.index("Steps (0)") + 1] == "none are recorded"
        assert "created from g1" in await told_of(on, "pattern")


@pytest.mark.slow
async def test_a_section_that_is_wrapped_stays_right_of_its_line(home):
    with open_workspace(home) as ws:
        ws.knowledge.add_text(f"# Guide\n\nWords.\n\n## {'保持网站在线 ' * 9}\n\nMore.\n", "a colleague", "The guide")
    async with console(home, "tiers", SMALL) as on:
        await on.at("documents")
        await on.press("tab", "n", "enter")
        await on.until(lambda: on.text.count("保持网站在线") == 9)
        wrapped = next(line for line in reversed(on.text.split("\n")) if "保持网站在线" in line)
        assert wrapped.startswith("│" + " " * 12)


async def test_a_filter_of_the_kinds_says_how_many_it_lets_through(home):
    async with console(home, "tiers", SMALL) as on:
        total = f"of {len(on.ids)}"
        on.screen.filter_by("tool")
        await on.until(lambda: "tool-call" in on.ids and len(on.ids) < 5)
        await on.shows(f"{len(on.ids)} {total}")
        on.screen.filter_by("")
        await on.shows("0 records")


@pytest.mark.slow
async def test_coming_back_from_a_link_that_is_no_more_leads_to_the_beginning(home):
    with open_workspace(home) as ws:
        ws.records.store("goal", {"description": "Stay up"}, "g1")
        ws.records.store("task", {"description": "Restart nginx", "goal_id": "g1"}, "t1")
    async with console(home, "tiers", LARGE) as on:
        await told_of(on, "task")
        await on.press("tab", "n", "enter")
        await on.until(lambda: on.screen.table.cursor_id == "g1")
        await on.press("d", "escape")
        await on.until(lambda: on.screen.table.cursor_id == "t1")
        await on.shows("▸ Restart nginx")
