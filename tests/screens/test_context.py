"""The Context screen: a task is looked into as it is typed, within a budget and of tiers that keys change."""

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.screens.work.context import BUDGETS, BudgetBar, TiersBar, other_budget
from nanomem_tui.tiers.context import ContextAssembly
from tests.screens.console import console
from tests.tiers.happened import small_home

pytestmark = pytest.mark.slow

TASK = "nginx upstream"


@pytest.fixture
def home(tmp_path):
    """Something about nginx in three tiers, in three scripts."""
    workspace = small_home(tmp_path)
    with open_workspace(workspace) as ws:
        ws.records.store("decision", {"context": "nginx 502", "chosen": "reload", "reasoning": "upstream gone"}, "d0")
        said = "nginx upstream 超时，重启服务之后恢复正常 🔥👍🏽 เซิร์ฟเวอร์ล่ม"
        ws.records.store("incident", {"description": said, "resolution": "keepalive 64. " * 60}, "i1")
        ws.operational.push("event", {"level": "error", "text": "nginx upstream \x1b[2J timed out"}, "web-1")
        ws.items.add("Restart nginx only at night")
    return workspace


async def ask(on, task=TASK):
    await on.press("slash")
    await on.type(task)
    await on.press("enter")


def given(on):
    return [row.chunk.id for row in on.screen.table.rows if row.chunk is not None]


def left_out(on):
    return [row.cut.why for row in on.screen.table.rows if row.cut is not None]


def budget(on):
    return on.screen.query_one(BudgetBar).text


def everything(on):
    """The whole right pane as it is laid out."""
    return "\n".join("".join(text for text, _ in line) for line in on.screen.detail_pane.lines)


async def test_before_a_task_it_says_how_to_type_one(home):
    async with console(home, "context") as on:
        assert "Type / and a task" in on.text
        assert "0 of 4,000 tokens" in budget(on)


@pytest.mark.slow
@pytest.mark.parametrize("size", [(60, 20), (80, 24), (200, 60)])
async def test_a_task_shows_what_is_known_and_what_it_costs(home, size):
    async with console(home, "context", size=size) as on:
        await ask(on)
        assert {"d0", "i1"} <= set(given(on))
        total = sum(row.chunk.tokens for row in on.screen.table.rows if row.chunk is not None)
        assert f"{total:,} of 4,000 tokens" in budget(on)
        assert "the same as operational/event/" in left_out(on)[0]
        assert f"{len(given(on))} given · 1 left out" in on.text
        assert "\x1b" not in on.text
        assert all("nginx" in row.text for row in on.screen.table.rows if row.chunk is not None)


@pytest.mark.slow
async def test_the_detail_tells_the_parts_the_budget_and_the_block(home):
    async with console(home, "context", size=(200, 60)) as on:
        await ask(on)
        text = everything(on)
        for part in ("lexical", "recency", "importance", "tier", "counted by", "<recalled-memory>", "working"):
            assert part in text
        assert "超时" in text


@pytest.mark.slow
async def test_keys_change_the_budget_and_what_fits_it(home):
    async with console(home, "context") as on:
        await ask(on)
        before = given(on)
        for _ in range(5):
            await on.press("less_than_sign")
        assert "of 100 tokens" in budget(on)
        assert len(given(on)) < len(before) or any(row.chunk.whole for row in on.screen.table.rows if row.chunk)
        assert "the budget is full" in " ".join(left_out(on))
        for _ in range(5):
            await on.press("greater_than_sign")
        assert given(on) == before


def test_the_budgets_end_where_they_end():
    assert other_budget(BUDGETS[0], -1) == BUDGETS[0]
    assert other_budget(BUDGETS[-1], 1) == BUDGETS[-1]
    assert (other_budget(3_000, 1), other_budget(3_000, -1)) == (4_000, 2_000)


@pytest.mark.slow
async def test_the_smallest_and_the_largest_budget_are_said_to_be_that(home):
    with open_workspace(home) as ws:
        ws.records.store("procedure", {"name": "nginx", "description": "Look upstream. " * 400, "steps": ["ask"]}, "p1")
    async with console(home, "context", size=(60, 20)) as on:
        await on.press(*["less_than_sign"] * 7)
        await on.shows("50 tokens is the smallest budget", "0 of 50 tokens")
        await on.press(*["greater_than_sign"] * 15)
        await on.shows("1,000,000 tokens is the largest budget")
        await ask(on)
        assert budget(on).endswith("of 1,000,000 tokens"), "what counted them has no room, and is not cut off"


@pytest.mark.slow
async def test_keys_turn_tiers_off_and_on(home):
    async with console(home, "context") as on:
        await ask(on)
        await on.press("equals_sign", "number_sign", "equals_sign")
        assert "[-working]" in on.screen.query_one(TiersBar).text
        assert {row.found.tier for row in on.screen.table.rows if row.found} == {"longterm"}
        await on.press("number_sign", "number_sign", "equals_sign", "at", "equals_sign")
        assert "the only tier" in on.text
        await on.press("at", "equals_sign")
        assert "d0" in given(on)


@pytest.mark.slow
@pytest.mark.parametrize("id", ["d0", "i1"])
async def test_enter_goes_to_the_record(home, id):
    async with console(home, "context") as on:
        await ask(on)
        row = next(row for row in on.screen.table.rows if row.chunk is not None and row.chunk.id == id)
        await on.at(row.id)
        await on.press("enter")
        await on.until(lambda: on.screen.SCREEN == "trail")
        await on.until(lambda: on.screen.table.cursor_row is not None and on.screen.table.cursor_row.id == id)


@pytest.mark.slow
async def test_enter_goes_to_the_kind_of_what_happens_now(home):
    with open_workspace(home) as ws:
        ws.operational.push("task", {"id": "t7", "status": "active", "description": "nginx upstream"}, "web")
    async with console(home, "context") as on:
        await ask(on)
        row = next(row for row in on.screen.table.rows if row.chunk is not None and row.chunk.id == "t7")
        await on.at(row.id)
        await on.press("enter")
        await on.until(lambda: on.screen.SCREEN == "tiers" and on.screen.table.cursor_id == "task")


@pytest.mark.slow
async def test_enter_goes_to_the_item(home):
    async with console(home, "context") as on:
        await ask(on)
        row = next(row for row in on.screen.table.rows if row.chunk is not None and row.chunk.kind == "item")
        await on.at(row.id)
        await on.press("enter")
        await on.until(lambda: on.screen.SCREEN == "items" and on.screen.table.cursor_row is not None)
        assert on.screen.table.cursor_row.id == row.chunk.id


@pytest.mark.slow
async def test_enter_in_a_detail_that_leads_nowhere_says_so(home):
    with open_workspace(home) as ws:
        ws.knowledge.add_text("# Guide\n\nnginx upstream timeouts.\n", "a colleague", "The guide")
    async with console(home, "context", size=(80, 24)) as on:
        await ask(on)
        guide = next(row for row in on.screen.table.rows if row.chunk is not None and row.chunk.tier == "knowledge")
        for row_id in ("rule", guide.id):
            await on.at(row_id)
            await on.press("enter", "enter")
            await on.shows("nothing to open here: esc goes back")
            assert on.screen.SCREEN == "context"
            await on.press("escape")


@pytest.mark.slow
async def test_it_stands_behind_tiers(home):
    async with console(home, "items") as on:
        await on.press("8", "K")
        await on.until(lambda: on.screen.SCREEN == "context")
        await ask(on)
        await on.press("escape")
        assert on.screen.table.rows == []
        await on.press("escape")
        await on.until(lambda: on.screen.SCREEN == "tiers")


@pytest.mark.slow
async def test_who_asks_is_chosen(home):
    with open_workspace(home) as ws:
        ws.items.add("anna: nginx upstream", scope_type="chat", channel="telegram", chat_id="1")
    async with console(home, "context") as on:
        await ask(on)
        assert any("anna" in row.text for row in on.screen.table.rows)
        await on.press("A")
        await on.type("telegram:2")
        await on.press("enter")
        await on.until(lambda: not any("anna" in row.text for row in on.screen.table.rows))
        assert "chat telegram:2" in on.screen.query_one(TiersBar).text


async def test_what_goes_wrong_is_said_in_the_list(home, monkeypatch):
    def fails(*_, **__):
        raise OSError(5, "Input/output error")

    async with console(home, "context") as on:
        monkeypatch.setattr(ContextAssembly, "assemble", fails)
        await ask(on)
        await on.shows("Input/output error")
        monkeypatch.undo()
        await on.press("f5")
        await on.until(lambda: "d0" in given(on))


@pytest.mark.slow
async def test_a_task_that_nothing_is_known_of(home):
    async with console(home, "context") as on:
        await ask(on, "zebra")
        assert "Nothing is known for that task" in on.text
        assert given(on) == []


@pytest.mark.slow
async def test_the_text_of_a_chunk_is_copied(home):
    async with console(home, "context") as on:
        await ask(on)
        row = next(row for row in on.screen.table.rows if row.chunk is not None and row.chunk.id == "d0")
        await on.at(row.id)
        assert "chosen: reload" in on.screen.copy_text()
        await on.at("rule")
        assert on.screen.copy_text().startswith("<recalled-memory>")


async def test_enter_goes_to_the_mean_of_an_hour(tmp_path):
    workspace = small_home(tmp_path)
    said = {"name": "disk.sda", "hour": "2026-01-01T10:00:00+00:00", "count": 2, "mean": 5.0, "least": 1.0, "most": 9.0}
    with open_workspace(workspace) as ws:
        ws.records.store("metric-hour", said, "mh1")
    async with console(workspace, "context") as on:
        await ask(on, "disk.sda")
        await on.press("enter")
        await on.until(lambda: on.screen.SCREEN == "trail" and on.screen.table.cursor_row is not None)
        assert on.screen.table.cursor_row.id == "mh1"
