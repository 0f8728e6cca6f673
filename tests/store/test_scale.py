"""The store with many rows: what must not depend on their number. Sizes, not times; times are in `benchmarks/`."""

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.operations import new_operation
from nanomem_tui.memory.recall.recall import Question
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item
from tests.store.homes import make_home, state

SHARES_A_HOME = True

AT = "2026-03-01T10:00:00+00:00"
NUMBER = 40_000


def rows(first, number):
    names = ("walrus", "okapi", "quagga", "zebra", "gnu")
    return [
        Item(f"many_{n}", f"{names[n % 5]} number {n} lives in house{n // 100}", updated_at=AT)
        for n in range(first, first + number)
    ]


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A workspace with 40,000 items, written in batches."""
    workspace = make_home(tmp_path_factory.mktemp("scale"), items=0)
    with open_workspace(workspace) as ws:
        ws.items.add("what makes the database")
        ws.flush()
        for start in range(0, NUMBER, 10_000):
            changes = [change_of("item", None, row) for row in rows(start, 10_000)]
            ws.perform(new_operation("import", "many", changes, actor="import"))
    return workspace


def answers(ws, words):
    return [hit.item.id for hit in ws.recall.ask(Question(words)).hits]


@pytest.mark.slow
def test_a_question_is_answered_before_the_rows_are_read(large):
    with open_workspace(large) as ws:
        assert answers(ws, f"house399 {NUMBER - 7}")[0] == f"many_{NUMBER - 7}"
        assert ws.items.count()["total"] == NUMBER + 1
        assert len(ws.items.first(20)) == 20
        assert not ws.store.loaded


@pytest.mark.slow
def test_a_checkpoint_writes_what_changed_and_a_search_finds_it(large):
    with open_workspace(large) as ws:
        ws.items.edit("many_17", text="an aardvark now")
        done = ws.flush()
        assert done.operations == 1
    with open_workspace(large) as ws:
        assert answers(ws, "aardvark") == ["many_17"]
        ws.undo()
    with open_workspace(large) as ws:
        assert answers(ws, "aardvark") == []
        assert ws.store.index_state() == (NUMBER + 1, NUMBER + 1, True)
        assert ws.store.make_index() == (NUMBER + 1, NUMBER + 1, True)


@pytest.mark.slow
def test_an_import_of_many_rows_is_one_operation_that_one_undo_takes_back(tmp_path):
    workspace, number = make_home(tmp_path, items=0), 12_000
    with open_workspace(workspace) as ws:
        changes = [change_of("item", None, row) for row in rows(0, number)]
        ws.perform(new_operation("import", "many", changes))
    with open_workspace(workspace) as ws:
        assert answers(ws, "house77 7777")[0] == "many_7777"
        assert not ws.store.loaded
        assert len(ws.log(1)[0].operation.changes) == number
        ws.undo()
    assert not [key for key in state(workspace) if key.startswith("many_")]
    with open_workspace(workspace) as ws:
        assert answers(ws, "house77 7777") == []
        assert ws.store.index_state() == (0, 0, True)
