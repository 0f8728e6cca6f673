"""What somebody else changed at the same time is told by the commands, not in the console alone."""

from __future__ import annotations

import json
from pathlib import Path

from nanomem_tui import open_workspace
from nanomem_tui.operations import new_operation
from nanomem_tui.store.snapshot import change_of


def test_what_was_changed_at_the_same_time_is_told(ramfirst: Path, run) -> None:
    with open_workspace(ramfirst) as ws:
        item, lesson = ws.items.all()[0], ws.lessons.all()[0]
        changes = [
            change_of("item", item, item._replace(meta_json=json.dumps({"conflict": {"text": "theirs"}}))),
            change_of("lesson", lesson, lesson._replace(meta_json=json.dumps({"conflict": {"trigger": "theirs"}}))),
        ]
        ws.perform(new_operation("turn", "a turn", changes, actor="agent"))
    assert "the text was changed at the same time to: theirs" in " ".join(run("memory", "show", item.id).out.split())
    shown = " ".join(run("memory", "lessons", "show", lesson.id).out.split())
    assert "the trigger was changed at the same time to: theirs" in shown
    assert "conflict" in run("memory", "list", "--limit", "500").out
