"""What a person did to a record is taken back, whatever agents did to the rest of it since."""

import pytest

from nanomem_tui.core.errors import Conflict, NotFound


def values(ws, kind, record_id, *names):
    fields = ws.records.get(kind, record_id).fields
    return [fields[name] for name in names]


def test_an_edit_is_taken_back_field_by_field(ws):
    ws.records.add("goal", {"description": "Keep it up"}, "h1")
    ws.records.edit("goal", "h1", {"priority": 0, "result": "soon"})
    ws.records.update("goal", "h1", {"status": "active"})
    ws.undo()
    assert values(ws, "goal", "h1", "priority", "result", "status") == [2, None, "active"]
    ws.records.store("goal", {"description": "Keep all of it up"}, "h1")
    ws.redo()
    assert values(ws, "goal", "h1", "priority", "status", "description") == [0, "active", "Keep all of it up"]
    ws.undo()
    told = [(one.label.split()[0], sorted(one.after)) for one in ws.records.history("goal", "h1")]
    assert told[:4] == [
        ("undo:", ["priority", "result"]),
        ("redo:", ["priority", "result"]),
        ("change", ["description"]),
        ("undo:", ["priority", "result"]),
    ]


def test_a_field_that_is_back_already_hinders_nothing(ws):
    ws.records.add("goal", {"description": "Keep it up"}, "h1")
    ws.records.edit("goal", "h1", {"priority": 0, "result": "soon"})
    ws.records.store("goal", {"priority": 2}, "h1")
    ws.undo()
    assert values(ws, "goal", "h1", "priority", "result") == [2, None]


def test_what_was_counted_since_stays_counted(ws):
    ws.records.store("pattern", {"trigger": "disk full", "action": "clean"}, "p1")
    ws.records.edit("pattern", "p1", {"action": "clean /tmp"})
    ws.records.pattern_used("p1", False)
    ws.undo()
    assert values(ws, "pattern", "p1", "action", "uses", "success_rate") == ["clean", 1, 0.0]
    ws.records.store("procedure", {"name": "restart", "description": "Restart it"}, "r")
    ws.records.store("task", {"description": "Restart", "procedure_id": "r", "status": "active"}, "t1")
    ws.records.edit("task", "t1", {"status": "failed"})
    ws.records.store("task", {"description": "Again", "procedure_id": "r", "status": "failed"}, "t2")
    assert values(ws, "procedure", "r", "fail_count") == [2]
    ws.undo()
    assert values(ws, "procedure", "r", "fail_count") == [1]


def test_what_cannot_be_taken_back_says_how_to_go_on(ws):
    added, _ = ws.records.add("goal", {"description": "Keep it up"}, "h1")
    ws.records.update("goal", "h1", {"status": "active"})
    with pytest.raises(Conflict, match="changed since") as refused:
        ws.undo()
    assert "`nanomem record goal delete h1`" in refused.value.line()
    gone = ws.records.delete("goal", ["h1"])
    ws.records.store("goal", {"description": "Another"}, "h1")
    with pytest.raises(Conflict, match="already there") as refused:
        ws.undo()
    assert "`nanomem record goal delete h1`" in refused.value.line()
    ws.records.delete("goal", ["h1"])  # as it says
    ws.undo(gone.id)
    assert values(ws, "goal", "h1", "description", "status") == ["Keep it up", "active"]
    assert added.id in {one.operation for one in ws.records.history("goal", "h1")}


def test_a_record_that_is_gone_stays_gone(ws):
    ws.records.add("goal", {"description": "Keep it up"}, "h1")
    edit = ws.records.edit("goal", "h1", {"priority": 0})
    ws.records.delete("goal", ["h1"])
    with pytest.raises(Conflict, match="gone"):
        ws.undo(edit.id)
    with pytest.raises(NotFound):
        ws.records.get("goal", "h1")
