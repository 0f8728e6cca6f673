"""A change is one transaction: it is there whole with its operation, or not at all."""

import sqlite3
from collections.abc import Callable

import pytest

from nanomem_tui.core.errors import Conflict, NotFound
from nanomem_tui.core.operations import Change, new_operation
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item, Lesson, Record
from tests.store.stores import AT, Store, add, delete, edit, texts

Again = Callable[[], Store]


def test_what_is_written_is_read_by_another_store_field_by_field(store, again):
    item = Item(
        "ltm_1", "Ana lives in Porto \0 and \U0010fffe", "preference", "user", "channel:x:user:7", "x", "7", "7", "x:7",
        0.25, 0.5, "auto_heuristic", "m1", "user", '{"a": 1}', AT, AT, AT, AT, 3, True, True, False,
    )  # fmt: skip
    lesson = Lesson("l1", "k", "tool:x", "a", "b", confidence=7, hits=2, last_applied_at=AT, created_at=AT)
    record = Record("r1", "journal", "2026-03-01", "a day", at=AT)
    changes = [change_of(layer, None, row) for layer, row in (("item", item), ("lesson", lesson), ("record", record))]
    store.perform(new_operation("add", "three things", changes))
    other = again().load()
    assert other.items["ltm_1"] == item._replace(revision=1)
    assert other.lessons["l1"] == lesson._replace(revision=1)
    assert other.records["r1"] == record._replace(revision=1)


def test_a_conflict_in_one_of_several_changes_writes_none_of_them(store):
    add(store, "a", "first")
    new = change_of("item", None, Item("b", "second"))
    stale = Change("item", "a", {"text": "something else"}, {"text": "third"})
    with pytest.raises(Conflict):
        store.perform(new_operation("edit", "two things", [new, stale]))
    assert texts(store) == {"a": "first"}
    assert [entry.operation.label for entry in store.log()] == ["add a"]


def test_what_was_deleted_may_be_added_again_and_deleted_again(store):
    add(store, "a", "Ana lives in Porto")
    with pytest.raises(Conflict):
        add(store, "a", "Ana lives in Lisbon")
    delete(store, "a")
    add(store, "a", "Ana lives in Lisbon")
    assert texts(store) == {"a": "Ana lives in Lisbon"}
    delete(store, "a", at="2026-03-04T10:00:00+00:00")
    assert texts(store) == {}


def test_two_may_say_the_same_until_a_person_merges_them(store):
    add(store, "a", "Ana lives in Porto")
    add(store, "b", "Ana lives in Porto")
    assert sorted(texts(store)) == ["a", "b"]


def test_a_change_of_what_is_not_there_is_refused(store):
    with pytest.raises(NotFound):
        store.perform(new_operation("edit", "nothing", [Change("item", "a", {"text": "x"}, {"text": "y"})]))


def test_an_edit_of_what_another_process_changed_since_is_told_by_whom(store, again):
    add(store, "a", "first")
    other = again()
    before = other.load().items["a"]
    edit(store, "a", text="second")
    stale = change_of("item", before, before._replace(pinned=True))
    with pytest.raises(Conflict, match="human: edit a"):
        other.perform(new_operation("pin", "pin a", [stale]))
    assert texts(other) == {"a": "second"}, "it sees at once what stood in its way"


def test_the_log_is_in_the_order_of_commits_whatever_the_clock_says(store, again):
    other = again()
    add(store, "a", "one", at="2030-01-01T00:00:00+00:00")
    add(other, "b", "two")
    add(store, "c", "three")
    assert [entry.operation.label for entry in other.log()] == ["add c", "add b", "add a"]
    assert [entry.position for entry in store.log()] == [3, 2, 1]


def test_counters_of_two_processes_add_up_and_no_undo_touches_them(store, again):
    add(store, "a", "first")
    other = again()
    other.load()
    pinned = edit(store, "a", pinned=True)
    store.snapshot.count("item", "a", 2, "2026-03-05T00:00:00+00:00")
    other.snapshot.count("item", "a", 3, "2026-03-04T00:00:00+00:00")
    assert (store.save_counts(), other.save_counts(), store.save_counts()) == (1, 1, 0)
    store.undo(pinned.id)
    item = again().load().items["a"]
    assert (item.hits, item.last_accessed_at, item.pinned) == (5, "2026-03-05T00:00:00+00:00", False)


@pytest.mark.sqlite("the index of a server is a column of its rows")
def test_what_is_deleted_is_found_by_no_search_and_comes_back_with_an_undo(store, folder):
    def found():
        with sqlite3.connect(folder / "nanomem.db") as connection:
            return [
                key
                for (key,) in connection.execute("SELECT entry_id FROM memory_entries_fts WHERE content MATCH 'porto'")
            ]

    add(store, "a", "Ana lives in Porto")
    assert found() == ["a"]
    edit(store, "a", text="Ana lives in Lisbon")
    assert found() == []
    store.undo()
    assert found() == ["a"]
    delete(store, "a")
    assert found() == []
    store.undo()
    assert found() == ["a"]
