"""Items beyond the cap: told before an import, kept for a day after it, compacted then, and told in the status."""

import json
from datetime import timedelta

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.memory.retention import CAP_KIND, Overflow, compaction_problems, plan_overflow
from nanomem_tui.store.values import Item
from tests.store.homes import item, make_home

CAP = 10


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """Nine items, and room for ten."""
    monkeypatch.setenv("NANOMEM_MAX_ITEMS", str(CAP))
    return make_home(tmp_path, items=9, lessons=1)


@pytest.fixture
def snapshot(tmp_path):
    """Six items of another agent, older than ours."""
    rows = [item(n, updated_at=f"2025-01-01T00:00:0{n - 100}") for n in range(100, 106)]
    file = tmp_path / "LTM_SNAPSHOT.json"
    file.write_text(json.dumps({"version": 1, "updated_at": "2025-02-01T00:00:00", "items": rows}))
    return file


def imported(workspace, snapshot):
    with open_workspace(workspace) as ws:
        ws.transfer.run(ws.transfer.preview(snapshot))
        ws.flush()


def count(workspace):
    with open_workspace(workspace) as ws:
        return int(ws.items.count()["total"])


def said(ws):
    """The severity and the words of what the status says about items."""
    found = [row for row in ws.status()["problems"] if row["where"] == "items"]
    return [(row["severity"], f"{row['what']} | {row['fix']}") for row in found]


def later(monkeypatch, days):
    moment = clock.now() + timedelta(days=days)
    monkeypatch.setattr(clock, "now", lambda: moment)


def test_an_import_beyond_the_cap_says_so_before(workspace, snapshot):
    with open_workspace(workspace) as ws:
        plan = ws.transfer.preview(snapshot)
    assert plan.over_cap == Overflow(15, CAP, 5)
    for words in ("15 items", "5 of them", "nanomem config set max_items 20"):
        assert words in plan.over_cap.line()


def test_an_import_within_the_cap_says_nothing(workspace, snapshot, monkeypatch):
    monkeypatch.setenv("NANOMEM_MAX_ITEMS", "14")
    with open_workspace(workspace) as ws:
        assert ws.transfer.preview(snapshot).over_cap is None
        ws.transfer.run(ws.transfer.preview(snapshot))
        assert [entry.operation.kind for entry in ws.log()] == ["memory.import"]


def test_what_an_import_brought_stays_for_a_day_and_the_status_tells_how_long(workspace, snapshot):
    imported(workspace, snapshot)
    for number in range(3):
        with open_workspace(workspace) as ws:
            ws.items.add(f"another one {number}")
            ws.flush()
            assert ws.items.count()["total"] == 16 + number
            ((severity, words),) = said(ws)
            assert severity == "warning"
            assert words.startswith(f"{16 + number} items, more than 1.1 times `max_items` (10)")
            assert "are compacted away after 2" in words
    with open_workspace(workspace) as ws:
        kinds = [entry.operation.kind for entry in ws.log()]
        assert kinds == ["items.add"] * 3 + ["memory.import", CAP_KIND]


def test_after_a_day_it_is_compacted_and_told(workspace, snapshot, monkeypatch):
    imported(workspace, snapshot)
    later(monkeypatch, 1.1)
    with open_workspace(workspace) as ws:
        ws.items.add("another one")
    with open_workspace(workspace) as ws:
        done = ws.log()[0].operation
        assert (done.kind, done.actor, ws.items.count()["total"]) == ("items.compact", "compaction", CAP)
        assert "more than 1.1 times `max_items` (10)" in done.label
        ((severity, words),) = said(ws)
        assert severity == "note"
        assert "6 items removed" in words
        assert f"nanomem undo {done.id}" in words
    later(monkeypatch, 8)
    with open_workspace(workspace) as ws:
        assert said(ws) == []


def test_a_compaction_that_was_taken_back_is_told_no_more(workspace, snapshot, monkeypatch):
    imported(workspace, snapshot)
    later(monkeypatch, 1.1)
    with open_workspace(workspace) as ws:
        ws.items.add("another one")
    with open_workspace(workspace) as ws:
        ws.undo(ws.log()[0].operation.id)
        ws.flush()
        assert said(ws) == []
    assert count(workspace) == 16


def test_the_undo_of_the_import_takes_back_what_was_told(workspace, snapshot):
    imported(workspace, snapshot)
    with open_workspace(workspace) as ws:
        assert ws.undo()[0].label.startswith("undo: import")
        assert said(ws) == []


def test_to_undo_what_was_told_hurries_nothing(workspace, snapshot):
    imported(workspace, snapshot)
    with open_workspace(workspace) as ws:
        ws.undo(ws.log()[-1].operation.id)
        ws.items.add("another one")
    assert count(workspace) == 16


@pytest.mark.sqlite("what a person changes waits for no checkpoint on a server")
def test_what_writes_in_a_loop_does_not_wait(workspace, snapshot):
    imported(workspace, snapshot)
    with open_workspace(workspace) as ws:
        for number in range(16):
            ws.items.add(f"again and again {number}")
        assert ws.store.checkpoint().operations == 17
        assert ws.items.count()["total"] == CAP


def test_a_cap_that_would_take_more_than_it_leaves_is_told_first(workspace, monkeypatch):
    monkeypatch.setenv("NANOMEM_MAX_ITEMS", "3")
    with open_workspace(workspace) as ws:
        ws.items.set_pinned(["ltm_1"], True)
        ws.flush()
        assert [entry.operation.kind for entry in ws.log()] == [CAP_KIND, "items.pin"]
        assert ws.items.count()["total"] == 9
        assert len(said(ws)) == 1
    later(monkeypatch, 1.1)
    with open_workspace(workspace) as ws:
        ws.items.set_pinned(["ltm_1"], False)
    assert count(workspace) == 3


def test_only_what_is_enabled_and_there_counts():
    def row(number, **fields):
        return Item(f"i{number}", f"text {number}", **fields)

    present = {f"i{n}": row(n) for n in range(8)}
    assert plan_overflow(present, [row(n, enabled=False) for n in range(8, 20)], 8) is None
    assert plan_overflow(present, [row(n) for n in range(8)], 5) is None, "nothing comes"
    assert plan_overflow(present, [row(8)], 0) is None
    assert plan_overflow(present, [row(8)], 8) == Overflow(9, 8, 1)


def test_a_store_within_its_cap_is_not_asked_for_more(workspace, monkeypatch):
    with open_workspace(workspace) as ws:
        ws.items.add("one")
    with open_workspace(workspace) as ws:
        monkeypatch.setattr(type(ws.store.journal), "newest", None)
        assert compaction_problems(ws.store) == []
