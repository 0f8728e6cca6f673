"""What is superseded reaches no agent, on whatever way it asks; what stands does."""

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.memory import retention
from nanomem_tui.memory.recall.recall import Question
from nanomem_tui.memory.recall.scoring import PROFILES
from nanomem_tui.memory.scopes import Audience
from nanomem_tui.servers.tools import Tools
from tests.memory.turns import said, turn_input

OLD, NEW, ASKED = "User lives in Berlin", "User lives in Munich", "where does the user live: Berlin or Munich"


@pytest.fixture(params=[False, True], ids=["in RAM", "from the database"])
def ws(workspace, request):
    """A workspace in which one home superseded another, in the same sitting or opened anew."""
    with open_workspace(workspace) as opened:
        opened.items.add(OLD)
        opened.items.add(NEW)
        opened.lessons.add("always use tabs", "Always use tabs")
        opened.lessons.add("never use tabs", "Never use tabs")
        opened.conflicts.supersede(opened.conflicts.all())
        if not request.param:
            yield opened
            return
    with open_workspace(workspace) as again:
        yield again


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_no_profile_recalls_it(ws, profile):
    for warm in (False, True):
        if warm:
            ws.recall.warm(background=False)
        answer = ws.recall.ask(Question(ASKED, profile, whole=True))
        texts = [hit.item.text for hit in answer.hits] + [cut.hit.item.text for cut in answer.cut]
        assert NEW in texts
        assert OLD not in texts


@pytest.mark.slow
def test_no_turn_context_or_tool_is_given_it(ws):
    block = ws.engine.preview(turn_input(said(ASKED))).block
    context = ws.context.block(ws.context.assemble(ASKED, 2_000))
    tools = Tools(ws, Audience("telegram", "42"))
    told = [block, context, tools.call("recall", {"query": ASKED}), tools.call("memory_search", {"query": ASKED})]

    for one in told:
        assert NEW in one
        assert OLD not in one
    lessons = ws.engine.preview(turn_input(said("tabs or spaces, use which"))).block
    assert "Always use tabs" not in lessons


def test_what_is_written_for_an_agent_leaves_it_out(ws, tmp_path):
    data = ws.transfer.export("scoped-db", tmp_path / "memory.db").path.read_bytes()
    assert NEW.encode() in data
    assert OLD.encode() not in data


def test_the_mark_lasts_and_names_both(ws):
    tables = {"item": ws.store.load().items, "lesson": ws.store.load().lessons}
    rows = {row.text: row for row in ws.items.all()}

    assert retention.superseded_notes(rows[OLD], tables)[0][1].startswith(f"by {rows[NEW].id} “{NEW}” on ")
    assert retention.superseded_notes(rows[NEW], tables)[0][0] == "Supersedes"
