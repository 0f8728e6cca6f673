"""A change of an agent's files is done whole, with its rows, or not at all; a kill in between is finished."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from nanomem_tui.core.errors import Conflict, Refused
from nanomem_tui.core.operations import Change, new_operation
from tests.store.stores import PROCESS, Store, TextFiles, add, edit, texts

Again = Callable[[], Store]
CHANGE_BOTH = """
from tests.store.test_files_of_others import change_files
change_files(store, "one.md", "two.md")
"""


def change_files(store, *names, row="a"):
    """Write these files, and edit the row with them."""
    before = store.load().items[row]
    changes = [Change("item", row, {"text": before.text}, {"text": "second"})]
    changes += [Change("text", name, None, {"text": f"new {name}"}) for name in names]
    return store.perform(new_operation("edit", "edit files", changes))


def test_rows_and_files_change_together_and_go_back_together(store, folder):
    add(store, "a", "first")
    change_files(store, "one.md", "two.md")
    assert (texts(store), (folder / "one.md").read_text()) == ({"a": "second"}, "new one.md")
    store.undo()
    assert texts(store) == {"a": "first"}
    assert not (folder / "one.md").exists()
    store.redo()
    assert (folder / "two.md").read_text() == "new two.md"


def test_a_file_that_cannot_be_written_takes_rows_and_other_files_back(store, folder):
    add(store, "a", "first")
    with pytest.raises(OSError, match="Input/output"):
        change_files(store, "one.md", "broken.md")
    assert texts(store) == {"a": "first"}
    assert not (folder / "one.md").exists()
    assert store.log()[0].operation.label.startswith("not done: edit files")
    store.undo()
    assert texts(store) == {}, "the undo of the add, for the failed change is none that stands"


def test_a_row_that_another_process_changed_meanwhile_stays_and_the_failed_change_is_not_done_later(
    store, folder, again
):
    add(store, "a", "first")
    other = again()

    class Breaks(TextFiles):
        def apply(self, operation, changes):
            edit(other, "a", text="third")
            raise OSError(5, "Input/output error")

    with pytest.raises(OSError, match="Input/output"):
        change_files(again(Breaks(folder)), "one.md")
    assert texts(again()) == {"a": "third"}
    assert again().settle() == []
    assert not (folder / "one.md").exists()
    assert again().log()[0].operation.label.startswith("not done: edit files")


def test_an_undo_whose_file_was_edited_since_changes_nothing(store, folder):
    add(store, "a", "first")
    done = change_files(store, "one.md", "two.md")
    (folder / "two.md").write_text("edited by the agent")
    with pytest.raises(Conflict):
        store.undo(done.id)
    assert texts(store) == {"a": "second"}
    assert (folder / "one.md").read_text() == "new one.md"
    store.undo(done.id, keys=["a", "one.md"])
    assert texts(store) == {"a": "first"}
    assert (folder / "two.md").read_text() == "edited by the agent"


def killed_between_two_files(folder):
    environment = {**os.environ, "KILL_AFTER": "one.md"}
    done = subprocess.run([sys.executable, "-c", PROCESS + CHANGE_BOTH, str(folder)], env=environment, check=False)
    assert done.returncode == -9
    assert (folder / "one.md").exists()
    assert not (folder / "two.md").exists()


@pytest.mark.slow
def test_what_a_killed_process_left_half_done_is_finished_by_the_next(store, folder, again):
    add(store, "a", "first")
    killed_between_two_files(folder)
    other = again()
    entry = other.log()[0]
    assert entry.state == "planned"
    with pytest.raises(Conflict, match="not all written"):
        other.undo(entry.operation.id)
    operation = entry.operation
    undo = new_operation("undo", "undo: edit files", operation.inverse(), undoes=operation.id)
    with pytest.raises(Conflict, match="not all written"):
        other.perform(undo)
    assert other.settle() == []
    assert (folder / "two.md").read_text() == "new two.md"
    other.undo(entry.operation.id)
    assert texts(other) == {"a": "first"}
    assert not (folder / "one.md").exists()


@pytest.mark.slow
def test_a_file_that_is_neither_before_nor_after_is_left_and_named_and_others_go_on(store, folder, again):
    add(store, "a", "first")
    killed_between_two_files(folder)
    (folder / "two.md").write_text("written by the agent meanwhile")
    other = again()
    (stuck,) = other.settle()
    assert stuck.operation.label == "edit files"
    assert (folder / "two.md").read_text() == "written by the agent meanwhile"
    edit(other, "a", text="third")
    assert texts(store) == {"a": "third"}
    other.leave_as_it_is(stuck.operation.id)
    assert other.settle() == [], "a person looked at it"
    assert (folder / "two.md").read_text() == "written by the agent meanwhile"


@pytest.mark.slow
def test_an_error_that_no_layer_should_raise_leaves_what_a_killed_process_began_stuck_and_others_go_on(
    store, folder, again
):
    add(store, "a", "first")
    killed_between_two_files(folder)

    class Damaged(TextFiles):
        def begun(self, changes):
            raise StopIteration

    other = again(Damaged(folder))
    (stuck,) = other.settle()
    assert (stuck.operation.label, stuck.state) == ("edit files", "stuck")
    edit(other, "a", text="third")
    assert texts(store) == {"a": "third"}


def test_an_error_that_no_layer_should_raise_while_a_change_is_taken_back_leaves_it_planned(store, folder, again):
    add(store, "a", "first")

    class Damaged(TextFiles):
        def apply(self, operation, changes):
            raise OSError(5, "Input/output error")

        def begun(self, changes):
            raise StopIteration

    with pytest.raises(OSError, match="Input/output"):
        change_files(again(Damaged(folder)), "one.md")
    assert again().log()[0].state == "planned"


@pytest.mark.slow
def test_what_may_not_be_written_now_is_finished_by_a_later_process(store, folder, again, monkeypatch):
    def refuse(_self, _changes):
        raise Refused("an agent runs", "two.md", "stop it first")

    add(store, "a", "first")
    killed_between_two_files(folder)
    with monkeypatch.context() as patched:
        patched.setattr(TextFiles, "check", refuse)
        assert again().settle() == []
        assert again().log()[0].state == "planned"
    assert again().settle() == []
    assert again().log()[0].state == "done"
    assert (folder / "two.md").read_text() == "new two.md"


def test_what_a_living_process_is_at_work_on_is_not_finished_by_another(store, again):
    add(store, "a", "first")
    looked: list[str] = []

    class Slow:
        name = "text"

        def check(self, changes): ...
        def begun(self, changes):
            return False

        def apply(self, operation, changes):
            other = again()
            other.settle()
            looked.append(other.log()[0].state)

    change_files(again(lambda _name: Slow()), "slow.md")
    assert looked == ["planned"]
    assert again().log()[0].state == "done"
