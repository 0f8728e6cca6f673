"""What an attached agent asks of the block: what it puts before its model itself is left out."""

from __future__ import annotations

from typing import Any

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.attach.turns import Place
from nanomem_tui.core.errors import BadInput
from nanomem_tui.memory.turns.request import turn_end, turn_input
from tests.store.homes import make_home

HERE = Place("telegram:42", "telegram", "42", "ana", "m1", "item number 2")


def test_an_agent_names_parts_of_the_block_that_it_has_itself(tmp_path):
    workspace = make_home(tmp_path)
    (workspace / "memory" / "MEMORY.md").write_text("# Notes\n- the key is in the drawer\n")
    asked: dict[str, Any] = HERE.begin()
    with open_workspace(workspace) as ws:
        begun = ws.engine.begin_turn(turn_input(asked))
        ws.engine.end_turn(turn_end({**asked, "turn": begun.turn, "assistant": "It is the second."}))
        bare = ws.engine.begin_turn(turn_input(asked)).block
        whole = ws.engine.begin_turn(turn_input({**asked, "leave_out": []})).block
        for part in ("the key is in the drawer", "It is the second."):
            assert part in whole
            assert part not in bare
        assert "- [fact] item number 2" in bare
        with pytest.raises(BadInput, match="left out"):
            turn_input({**asked, "leave_out": ["items"]})
