"""A change of an agent's files is done whole, with its rows, or not at all; a kill in between is finished."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nanomem_tui.database.store import Store
from nanomem_tui.errors import Conflict
from nanomem_tui.operations import Change, Operation, new_operation
from tests.database.homes import PROCESS, add, edit, texts

Again = Callable[[], Store]
CHANGE_BOTH = """
from tests.database.test_files_of_others import change_files
change_files(store, "one.md", "two.md")
"""


def change_files(store: Store, *names: str, row: str = "a") -> Operation:
    """Write these files, and edit the row with them."""
    before = store.load().items[row]
    changes = [Change("item", row, {"text": before.text}, {"text": "second"})]
    changes += [Change("text", name, None, {"text": f"new {name}"}) for name in names]
    return store.perform(new_operation("edit", "edit files", changes))


def test_rows_and_files_change_together_and_go_back_together(store: Store, folder: Path) -> None:
    add(store, "a", "first")
    change_files(store, "one.md", "two.md")
    assert (texts(store), (folder / "one.md").read_text()) == ({"a": "second"}, "new one.md")
    store.undo()
    assert texts(store) == {"a": "first"}
    assert not (folder / "one.md").exists()
    store.redo()
    assert (folder / "two.md").read_text() == "new two.md"


def test_a_file_that_cannot_be_written_takes_rows_and_other_files_back(store: Store, folder: Path) -> None:
    add(store, "a", "first")
    with pytest.raises(OSError, match="Input/output"):
        change_files(store, "one.md", "broken.md")
    assert texts(store) == {"a": "first"}
    assert not (folder / "one.md").exists()
    assert store.log()[0].operation.label.startswith("not done: edit files")
    store.undo()
    assert texts(store) == {}, "the undo of the add, for the failed change is none that stands"


def test_an_undo_whose_file_was_edited_since_changes_nothing(store: Store, folder: Path) -> None:
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


def killed_between_two_files(folder: Path) -> None:
    environment = {**os.environ, "KILL_AFTER": "one.md"}
    done = subprocess.run([sys.executable, "-c", PROCESS + CHANGE_BOTH, str(folder)], env=environment, check=False)
    assert done.returncode == -9
    assert (folder / "one.md").exists()
    assert not (folder / "two.md").exists()


def test_what_a_killed_process_left_half_done_is_finished_by_the_next(store: Store, folder: Path, again: Again) -> None:
    add(store, "a", "first")
    killed_between_two_files(folder)
    other = again()
    entry = other.log()[0]
    assert entry.state == "planned"
    with pytest.raises(Conflict, match="not finished"):
        other.undo(entry.operation.id)
    assert other.settle() == []
    assert (folder / "two.md").read_text() == "new two.md"
    other.undo(entry.operation.id)
    assert texts(other) == {"a": "first"}
    assert not (folder / "one.md").exists()


def test_a_file_that_is_neither_before_nor_after_is_left_and_named_and_others_go_on(
    store: Store, folder: Path, again: Again
) -> None:
    add(store, "a", "first")
    killed_between_two_files(folder)
    (folder / "two.md").write_text("written by the agent meanwhile")
    other = again()
    assert [entry.operation.label for entry in other.settle()] == ["edit files"]
    assert (folder / "two.md").read_text() == "written by the agent meanwhile"
    edit(other, "a", text="third")
    assert texts(store) == {"a": "third"}


def test_what_a_living_process_is_at_work_on_is_not_finished_by_another(store: Store, again: Again) -> None:
    add(store, "a", "first")
    looked: list[str] = []

    class Slow:
        name = "text"

        def check(self, changes: object) -> None: ...
        def begun(self, changes: object) -> bool:
            return False

        def apply(self, operation: Operation, changes: object) -> None:
            other = again()
            other.settle()
            looked.append(other.log()[0].state)

    store._layer_of = lambda _name: Slow()  # type: ignore[assignment, return-value]
    change_files(store, "slow.md")
    assert looked == ["planned"]
    assert again().log()[0].state == "done"
