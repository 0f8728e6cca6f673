"""An operation of thousands of rows is listed, looked into and taken back without being read whole each time."""

import json
import tracemalloc

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.operations import Change, new_operation
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item
from tests.store.homes import make_home

MANY = 3_000
HOSTILE = 'says ["item","row_7",null] and "changes":[ and ]}],"meta":{} \\ “so” ]'


def text(number):
    return f"{number}: {HOSTILE} {'x' * 300}"


@pytest.fixture
def ws(tmp_path):
    home = make_home(tmp_path, items=0)
    with open_workspace(home) as made:
        rows = [Item(f"row_{number}", text(number), updated_at="2026-01-01T00:00:00+00:00") for number in range(MANY)]
        changes = [change_of("item", None, row) for row in rows]
        meta = {"started_by": "human", "path": "a ] file"}
        made.perform(new_operation("memory.import", "import many", changes, actor="import", meta=meta))
        made.items.edit("row_7", text="seven")
    return open_workspace(home)


def imported(ws):
    return next(entry.operation for entry in ws.log() if entry.operation.label == "import many")


@pytest.mark.slow
def test_a_list_says_all_of_it_and_reads_little(ws):
    ws.log(limit=1)
    tracemalloc.start()
    found = imported(ws)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 400_000, "the body is over a million bytes"
    assert (found.actor, found.kind, len(found.changes), found.meta["path"]) == (
        "import",
        "memory.import",
        MANY,
        "a ] file",
    )


@pytest.mark.slow
def test_one_thing_of_it_is_found_without_the_others(ws):
    entries = ws.items.history("row_7")
    assert [entry.operation.kind for entry in entries] == ["items.edit", "memory.import"]
    [change] = entries[1].operation.changes_of("row_7")
    assert (change.key, change.before, (change.after or {})["text"]) == ("row_7", None, text(7))
    assert entries[1].operation.only(["row_7"]).changes == (change,)
    assert imported(ws).changes_of("nobody") == []
    last = f"row_{MANY - 1}"
    assert [one.key for one in imported(ws).changes_of(last)] == [last]


@pytest.mark.slow
@pytest.mark.sqlite("the file itself")
def test_the_keys_of_it_are_known_without_what_became_of_them(ws):
    found = imported(ws)
    tracemalloc.start()
    keys = found.keys()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000, "all of it takes several millions"
    assert sorted(keys) == sorted(f"row_{number}" for number in range(MANY))
    assert [entry.operation.keys() for entry in ws.log(limit=1)] == [("row_7",)]


@pytest.mark.slow
def test_its_first_changes_and_all_of_them_are_those_that_were_made(ws):
    first = imported(ws).changes[:100]
    whole = list(imported(ws).changes)
    assert (len(first), len(whole)) == (100, MANY)
    assert list(first) == whole[:100]
    assert all(isinstance(one, Change) for one in whole)
    assert imported(ws) == imported(ws)
    assert json.loads(json.dumps(imported(ws).to_json()))["changes"][5][1] == "row_5"


@pytest.mark.slow
def test_it_is_taken_back_and_done_again(ws):
    ws.undo()
    ws.undo()
    assert ws.items.count()["total"] == 0
    ws.close()
    again = open_workspace(ws.paths.workspace)
    undone = {entry.operation.label: entry.undone for entry in again.log()}
    assert undone["import many"] is True
    assert undone["undo: import many"] is False
    assert again.log()[0].operation.undoes == imported(again).id
    again.redo()
    again.redo()
    assert again.items.get("row_7").text == "seven"
    assert again.items.count()["total"] == MANY
    again.close()


def test_a_list_of_imports_reads_nothing_of_what_they_touched(tmp_path):
    with open_workspace(tmp_path) as ws:
        for start in range(0, 600, 200):
            rows = [Item(id=f"ltm_{start + n}", text="word " * 200) for n in range(200)]
            ws.perform(new_operation("import", "import", [change_of("item", None, row) for row in rows]))
        ws.flush()
        ws.triage.progress(0)  # what is imported for it stays
        tracemalloc.start()
        try:
            assert len(ws.store.journal.log(50)) >= 3
            assert ws.triage.progress(0).decided == 0
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 300_000  # bytes; the rows are twice that
