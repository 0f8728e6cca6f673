"""Undo takes back what one operation did, and nothing that came after it."""

from collections.abc import Callable

import pytest

from nanomem_tui.core.errors import Conflict, NothingToDo
from tests.store.stores import Store, add, delete, edit, texts

Again = Callable[[], Store]


def test_undo_and_redo_go_back_and_forth_across_restarts(store, again):
    add(store, "a", "first")
    edit(store, "a", text="second")
    delete(store, "a")
    for expected in ({"a": "second"}, {"a": "first"}, {}):
        store.undo()
        assert texts(again()) == expected
    with pytest.raises(NothingToDo):
        store.undo()
    other = again()
    for expected in ({"a": "first"}, {"a": "second"}, {}):
        other.redo()
        assert texts(store) == expected
    with pytest.raises(NothingToDo):
        other.redo()


def test_an_edit_of_something_that_was_deleted_since_cannot_be_undone(store, again):
    add(store, "a", "first")
    edited = edit(store, "a", text="second")
    delete(store, "a")
    for looker in (store, again()):
        with pytest.raises(Conflict, match="deleted since by human: delete a"):
            looker.undo(edited.id)
        assert texts(looker) == {}
    store.undo()
    store.undo(edited.id)
    assert texts(store) == {"a": "first"}


def test_undo_restores_only_the_fields_of_its_operation(store):
    add(store, "a", "first")
    edited = edit(store, "a", text="second")
    edit(store, "a", pinned=True, at="2026-03-05T00:00:00+00:00")
    store.undo(edited.id)
    item = store.snapshot.items["a"]
    assert (item.text, item.pinned, item.updated_at) == ("first", True, "2026-03-05T00:00:00+00:00")


def test_a_newer_edit_of_the_same_field_stands_in_the_way(store):
    add(store, "a", "first")
    edited = edit(store, "a", text="second")
    edit(store, "a", text="third")
    with pytest.raises(Conflict, match="edit a"):
        store.undo(edited.id)
    assert texts(store) == {"a": "third"}


def test_an_add_is_not_undone_once_somebody_edited_it(store):
    added = add(store, "a", "first")
    edit(store, "a", text="second", actor="agent")
    with pytest.raises(Conflict):
        store.undo(added.id)
    assert texts(store) == {"a": "second"}


def test_the_undo_of_an_older_delete_never_brings_back_what_was_written_later(store):
    add(store, "a", "first")
    older = delete(store, "a")
    store.undo()
    edit(store, "a", text="second")
    delete(store, "a", at="2026-03-09T00:00:00+00:00")
    with pytest.raises(NothingToDo):
        store.undo(older.id)
    assert texts(store) == {}


def test_one_thing_of_a_large_operation_is_undone_alone_and_the_rest_later(store):
    for key in "abc":
        add(store, key, f"text {key}")
    gone = delete(store, "a", "b", "c")
    store.undo(gone.id, keys=["b"])
    assert list(texts(store)) == ["b"]
    assert not next(entry for entry in store.log() if entry.operation.id == gone.id).undone
    store.undo(gone.id)
    assert list(texts(store)) == ["a", "b", "c"]
    assert next(entry for entry in store.log() if entry.operation.id == gone.id).undone
    with pytest.raises(NothingToDo):
        store.undo(gone.id)
    store.redo()
    assert list(texts(store)) == ["b"]


def test_without_an_id_it_is_what_a_person_did_last_and_never_an_agents_change(store):
    add(store, "a", "by a person")
    add(store, "b", "by an agent", actor="agent")
    store.undo()
    assert texts(store) == {"b": "by an agent"}
    with pytest.raises(NothingToDo):
        store.undo()


def test_a_new_change_ends_what_could_be_redone(store):
    add(store, "a", "first")
    store.undo()
    add(store, "b", "second")
    with pytest.raises(NothingToDo):
        store.redo()
