"""What the console says can be taken back is what undo and redo then do, however many operations lie between."""

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.background import undo_state
from nanomem_tui.core.errors import NothingToDo
from tests.store.homes import make_home

pytestmark = pytest.mark.slow

MANY = 12


@pytest.mark.slow
def test_undo_and_redo_are_offered_as_long_as_they_find_something(tmp_path):
    with open_workspace(make_home(tmp_path)) as ws:
        for number in range(MANY):
            ws.items.add(f"Prefers tea number {number}")
        assert undo_state(ws) == (True, False)
        for left in range(MANY, 0, -1):
            ws.undo()
            assert undo_state(ws) == (left > 1, True), left
        with pytest.raises(NothingToDo):
            ws.undo()
        for left in range(MANY, 0, -1):
            ws.redo()
            assert undo_state(ws) == (True, left > 1), left
        with pytest.raises(NothingToDo):
            ws.redo()
