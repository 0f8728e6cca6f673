"""The workspace as its callers see it: cheap to open, kept in step, clear about what is wrong."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

import nanomem_tui
from nanomem_tui import open_workspace
from nanomem_tui.core.errors import (
    AccessDenied,
    DiskFull,
    NanomemError,
    NotFound,
    NothingToDo,
    NotYetWritten,
    from_os_error,
)
from nanomem_tui.core.paths import workspace_id
from nanomem_tui.store.database import operation_log
from nanomem_tui.store.transactions import Store
from tests.store.homes import Agent, item, kill, make_home


def test_opening_reads_no_row_and_imports_nothing_heavy(tmp_path):
    workspace = make_home(tmp_path)
    script = (
        "import sys; import nanomem_tui; assert not [m for m in sys.modules if m.startswith('nanomem_tui.')];"
        "ws = nanomem_tui.open_workspace(sys.argv[1]);"
        "heavy = ('sqlmodel', 'sqlalchemy', 'textual', 'rich', 'dulwich', 'rapidfuzz', 'tomli_w');"
        "print([m for m in heavy if m in sys.modules], ws.store.loaded)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(workspace)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] False"


def test_the_public_face_is_small():
    assert set(nanomem_tui.__all__) >= {"open_workspace", "__version__"}
    assert all(hasattr(nanomem_tui, name) for name in nanomem_tui.__all__)


def test_leaving_flushes_also_after_an_error(tmp_path):
    workspace = make_home(tmp_path)
    with pytest.raises(RuntimeError), open_workspace(workspace) as ws:
        ws.items.delete(["ltm_1"])
        raise RuntimeError
    assert "ltm_1" not in Agent(workspace).items


def _edit_and_fail(workspace):
    with open_workspace(workspace) as ws:
        ws.items.edit("ltm_2", text="also kept")
        raise ValueError("their own error is the one that is seen")


def _full(*_):
    raise DiskFull("no space left for the database")


def test_a_last_checkpoint_that_fails_is_a_warning_and_nothing_is_lost(tmp_path, monkeypatch):
    workspace = make_home(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Store, "checkpoint", _full)
        with pytest.warns(NotYetWritten, match="every change is saved.*no space left"), open_workspace(workspace) as ws:
            ws.items.edit("ltm_1", text="kept")
        with pytest.warns(NotYetWritten), pytest.raises(ValueError, match="their own"):
            _edit_and_fail(workspace)
        ws = open_workspace(workspace)
        ws.items.edit("ltm_3", text="kept too")
        with pytest.raises(DiskFull):
            ws.close()
    with open_workspace(workspace) as ws:
        assert [ws.items.get(f"ltm_{n}").text for n in (1, 2, 3)] == ["kept", "also kept", "kept too"]


def test_refresh_names_what_changed(tmp_path):
    workspace = make_home(tmp_path)
    agent = Agent(workspace)
    time.sleep(0.05)
    with open_workspace(workspace) as ws:
        assert ws.refresh() == set()
        ws.items.all()
        agent.items["ltm_9"] = item(9)
        agent.flush()
        assert ws.refresh() == {"items", "lessons", "records"}, "one snapshot of all"
        assert ws.items.get("ltm_9").text == "item number 9"
        (workspace / "USER.md").write_text("# User")
        assert "documents" in ws.refresh()
        assert ws.refresh() == set()


def test_the_first_refresh_names_what_changed_since_the_opening(tmp_path):
    workspace = make_home(tmp_path)
    (workspace / "memory" / "history.jsonl").write_text("")
    (workspace / "USER.md").write_text("# User")
    time.sleep(0.05)
    with open_workspace(workspace) as ws:
        (workspace / "USER.md").write_text("# User\nwritten in the first second")
        assert ws.refresh() == {"documents"}
        assert ws.refresh() == set()


def test_a_page_of_the_log_reads_no_more_than_the_page(tmp_path, monkeypatch):
    with open_workspace(make_home(tmp_path)) as ws:
        for number in range(40):
            ws.items.edit("ltm_1", text=f"edit {number}")
        ws.flush()
        for number in range(40, 43):
            ws.items.edit("ltm_1", text=f"edit {number}")
        undone = ws.undo()[0]
        read: list[object] = []
        real = operation_log.entry_of
        with monkeypatch.context() as patch:
            patch.setattr(operation_log, "entry_of", lambda row, *more: (read.append(row), real(row, *more))[1])
            whole = ws.log(100)
            assert len(whole) == 44
            read.clear()
            pages = [entry for start in range(0, 44, 4) for entry in ws.log(4, offset=start)]
            assert len(read) == 44
        assert [(e.operation.id, e.undone) for e in pages] == [(e.operation.id, e.undone) for e in whole]
        assert [e.operation.id for e in pages if e.undone] == [undone.undoes]


def test_the_log_has_pages_and_the_history_of_one_thing(tmp_path):
    with open_workspace(make_home(tmp_path)) as ws:
        for number in range(5):
            ws.items.edit("ltm_1", text=f"edit {number}")
        ws.lessons.set_enabled(["lesson_1"], False)
        ws.flush()
        ws.items.edit("ltm_2", text="waits in the ledger")
        assert [e.operation.label for e in ws.log(2)] == ["edit “waits in the ledger”", "disable lesson “trigger 1”"]
        assert [e.operation.label for e in ws.log(2, offset=2)] == ["edit “edit 4”", "edit “edit 3”"]
        assert len(ws.log(key="ltm_1")) == 5
        assert ws.log(key="none") == []
        (change,) = ws.log(1)[0].operation.changes
        assert change.after is not None
        assert change.after["text"] == "waits in the ledger"


def test_what_cannot_be_undone_is_said(tmp_path):
    with open_workspace(make_home(tmp_path)) as ws:
        with pytest.raises(NothingToDo):
            ws.undo()
        with pytest.raises(NothingToDo):
            ws.redo()
        ws.items.edit("ltm_1", text="x")
        done = ws.undo(count=5)
        assert len(done) == 1, "as many as there are"
        for unknown in ("op_none", done[0].id):
            with pytest.raises(NotFound):
                ws.undo(unknown)


def test_the_state_of_the_checkpoint_is_told(tmp_path):
    workspace = make_home(tmp_path)
    with open_workspace(workspace) as ws:
        assert ws.checkpoint_state() == {"dirty": 0, "last_at": "", "last_ms": None, "degraded": ""}
        ws.items.edit("ltm_1", text="x")
        assert ws.checkpoint_state()["dirty"] == 1
        result = ws.flush()
        state = ws.checkpoint_state()
        assert (state["dirty"], result.operations, result.exported) == (0, 1, ("LTM_SNAPSHOT.json",))
        assert state["last_at"].endswith("+00:00")
        assert state["last_ms"] > 0
    with open_workspace(workspace) as ws:
        ws.items.all()
        assert ws.checkpoint_state()["last_at"] == state["last_at"]


def test_the_id_is_that_of_the_agent_else_of_the_path_and_then_stays(tmp_path):
    ws = open_workspace(make_home(tmp_path))
    by_path = workspace_id(ws.paths)
    assert len(by_path) == 16
    file = ws.paths.workspace_id_file
    file.parent.mkdir()
    for content, wanted in (
        ("b320cfc38283ad9d\n", "b320cfc38283ad9d"),
        ("../x", by_path),
        ("", by_path),
        ("é", by_path),
    ):
        file.write_text(content, "utf-8")
        assert workspace_id(ws.paths) == wanted
    file.write_text("b320cfc38283ad9d")
    ws.items.set_pinned(["ltm_1"], True)
    kill(ws)
    assert workspace_id(ws.paths) == by_path, "what we began with"


def test_errors_of_the_system_become_what_a_person_can_do():
    for code, kind in ((28, DiskFull), (122, DiskFull), (13, AccessDenied), (1, AccessDenied), (30, AccessDenied)):
        error = from_os_error(OSError(code, "said", "/some/where"), "trying")
        assert type(error) is kind
        assert (error.where, error.exit_code) == ("/some/where", 2)
        assert "trying" in error.line()
    assert type(from_os_error(OSError(5, "Input/output error"), "trying")) is NanomemError
