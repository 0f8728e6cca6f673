"""Changes of work records and documents are operations like any other, on either store of the memory."""

from datetime import UTC, datetime, timedelta

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.core.errors import Conflict

pytestmark = pytest.mark.sqlite
NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


@pytest.fixture
def place(tmp_path):
    place = tmp_path / "home" / "workspace"
    place.mkdir(parents=True)
    return place


@pytest.fixture
def ws(place):
    with open_workspace(place) as opened:
        yield opened


def test_each_change_is_in_the_log_and_in_the_moments(ws):
    ws.items.add("The harbour is cold")
    added, goal = ws.records.add("goal", {"description": "Keep the site up"})
    edited = ws.records.edit("goal", goal.id, {"priority": 0})
    documents = ws.knowledge.add_text("Port 80 is for the proxy.", "", "Ports").operation
    assert documents is not None
    wanted = [documents.id, edited.id, added.id]
    assert [entry.operation.id for entry in ws.log(3)] == wanted
    assert [mark.name for mark in ws.moments.marks() if mark.kind == "operation"][:3] == wanted
    assert [past.operation for past in ws.records.history("goal", goal.id)] == [edited.id, added.id]


def test_they_are_undone_and_done_again_after_a_restart(place):
    with open_workspace(place) as ws:
        ws.records.add("goal", {"description": "Keep the site up"}, "g1")
        ws.records.edit("goal", "g1", {"priority": 0})
        ws.records.delete("goal", ["g1"])
    with open_workspace(place) as ws:
        ws.undo()
        assert ws.records.get("goal", "g1").fields["priority"] == 0
        ws.undo()
        assert ws.records.get("goal", "g1").fields["priority"] == 2
        ws.redo()
    with open_workspace(place) as ws:
        assert ws.records.get("goal", "g1").fields["priority"] == 0
        assert {entry.undone for entry in ws.log(1)} == {False}


def test_an_undo_that_would_take_back_what_an_agent_wrote_since_is_refused(ws):
    ws.records.add("goal", {"description": "Keep the site up"}, "g1")
    edited = ws.records.edit("goal", "g1", {"result": "it is up"})
    ws.records.update("goal", "g1", {"result": "it is down again"})
    with pytest.raises(Conflict, match="changed since"):
        ws.undo(edited.id)
    assert ws.records.get("goal", "g1").fields["result"] == "it is down again"


def test_a_run_of_the_lifecycle_and_documents_go_and_come_back(ws):
    with clock.at(NOON):
        ws.records.store("tool-call", {"tool_name": "fs.read", "input": {}}, "c1")
    with clock.at(NOON + timedelta(days=60)):
        ran = ws.lifecycle.run().operation
        assert ran is not None
        assert ws.records.get("tool-call", "c1").tier == "longterm"
        ws.undo(ran.id)
        assert ws.records.get("tool-call", "c1").tier == "working"
        added = ws.knowledge.add_text("Port 80 is for the proxy.", "", "Ports").operation
        assert added is not None
        ws.undo(added.id)
        assert ws.knowledge.documents(own=False) == []
        ws.redo()
        assert [one.title for one in ws.knowledge.documents(own=False)] == ["Ports"]
