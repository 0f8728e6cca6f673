"""A process that was killed between recording a change of files and making it."""

from __future__ import annotations

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.store.files import FileLayer
from tests.store.homes import kill


class Killed(BaseException):
    """Stands for SIGKILL: nothing after it runs."""


def _kill(workspace, text, monkeypatch, after):
    """Edit USER.md in a process that dies in the middle of it; `after`: once the file is written."""
    ws = open_workspace(workspace)
    original = FileLayer.apply

    def dying(self, operation, changes):
        if after:
            original(self, operation, changes)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(FileLayer, "apply", dying)
        with pytest.raises(Killed):
            ws.documents.edit("USER.md", text)
    kill(ws)


def test_what_was_not_begun_is_void_in_the_log(sample_copy, monkeypatch) -> None:
    workspace = sample_copy("nb035") / "home/.nanobot/workspace"
    before = (workspace / "USER.md").read_text("utf-8")
    _kill(workspace, before + "- new line\n", monkeypatch, after=False)
    with open_workspace(workspace) as ws:
        ws.items.add("something else")
        ws.flush()
        entry = next(e for e in ws.log() if e.operation.changes and e.operation.changes[0].key == "USER.md")
        assert entry.undone
        assert [op.kind for op in (e.operation for e in ws.log())].count("void") == 1
    assert (workspace / "USER.md").read_text("utf-8") == before


def test_what_was_begun_is_finished_and_can_be_undone(sample_copy, monkeypatch) -> None:
    workspace = sample_copy("nb035") / "home/.nanobot/workspace"
    before = (workspace / "USER.md").read_text("utf-8")
    _kill(workspace, before + "- new line\n", monkeypatch, after=True)
    with open_workspace(workspace) as ws:
        ws.flush()
        entry = next(e for e in ws.log() if e.operation.changes and e.operation.changes[0].key == "USER.md")
        assert not entry.undone
        ws.undo()
    assert (workspace / "USER.md").read_text("utf-8") == before
