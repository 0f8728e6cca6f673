"""An agent that writes its files in the middle of what we do with them: what it wrote is its change, once."""

import fcntl

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import atomic
from nanomem_tui.core.errors import AccessDenied, NanomemError
from tests.store.homes import Agent, kill, make_home


def deletes_right_after(monkeypatch, agent, key):
    """Let the agent take an item away right after we have put its file in place, before we look at it again."""
    real = atomic.write_atomic

    def writing(path, *args, **named):
        done = real(path, *args, **named)
        if path.name == "LTM_SNAPSHOT.json" and key in agent.items:
            agent.load()
            del agent.items[key]
            agent.flush()
        return done

    monkeypatch.setattr(atomic, "write_atomic", writing)


@pytest.mark.parametrize("is_killed", [False, True], ids=["closed", "killed"])
def test_what_an_agent_deletes_while_we_write_its_file_stays_deleted(tmp_path, monkeypatch, is_killed):
    workspace = make_home(tmp_path)
    agent = Agent(workspace)
    ws = open_workspace(workspace)
    ws.items.edit("ltm_1", text="ours")
    deletes_right_after(monkeypatch, agent, "ltm_2")
    ws.flush()
    monkeypatch.undo()
    assert "ltm_2" not in agent.items
    kill(ws) if is_killed else ws.close()
    with open_workspace(workspace) as after:
        after.items.add("one more")
        assert "ltm_2" not in {row.id for row in after.items.all()}
    assert "ltm_2" not in {row["id"] for row in agent.read_items()}
    assert "ltm_1" in {row["id"] for row in agent.read_items()}


def test_the_agents_files_are_not_written_where_they_cannot_be_locked(tmp_path, monkeypatch):
    workspace = make_home(tmp_path)
    ws = open_workspace(workspace)
    ws.items.edit("ltm_1", text="ours")
    before = (workspace / "memory" / "LTM_SNAPSHOT.json").read_bytes()
    real = atomic.open_owned

    def refusing(path, *args, **named):
        if path.name == "files.lock":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *args, **named)

    monkeypatch.setattr(atomic, "open_owned", refusing)
    with pytest.raises(AccessDenied, match="locking the agent's files"):
        ws.flush()
    assert (workspace / "memory" / "LTM_SNAPSHOT.json").read_bytes() == before
    monkeypatch.undo()
    ws.close()
    assert Agent(workspace).items["ltm_1"]["text"] == "ours"


def test_an_audit_log_that_somebody_keeps_locked_is_told_and_not_waited_for_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic, "APPEND_SECONDS", 0.05)
    workspace = make_home(tmp_path)
    ws = open_workspace(workspace)
    ws.items.edit("ltm_1", text="ours")
    with open(workspace / "memory" / "LTM_AUDIT.jsonl", "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        ws.flush()
        assert any("audit log cannot be written" in problem.what for problem in ws.problems())
    ws.flush()
    assert not any("audit log" in problem.what for problem in ws.problems())
    ws.close()
    assert b"ltm_1" in (workspace / "memory" / "LTM_AUDIT.jsonl").read_bytes()


def test_what_is_known_of_the_files_is_not_written_into_a_database_that_was_put_in_its_place(tmp_path):
    workspace = make_home(tmp_path)
    ws = open_workspace(workspace)
    ws.items.edit("ltm_1", text="ours")
    writer = ws.store.writer
    with writer.database.writing(durable=True) as connection:
        connection.exec_driver_sql("UPDATE meta SET epoch = 'another'")
    with pytest.raises(NanomemError, match="replaced meanwhile"):
        writer.set_markers({"exported": "99"})
    ws.flush()
    ws.close()
    assert Agent(workspace).items["ltm_1"]["text"] == "ours"


def test_a_file_that_cannot_be_read_for_a_while_is_written_when_it_can(tmp_path):
    workspace = make_home(tmp_path)
    file = workspace / "memory" / "LTM_SNAPSHOT.json"
    with open_workspace(workspace) as ws:
        ws.items.edit("ltm_1", text="makes the database")
    file.rename(tmp_path / "aside")
    file.mkdir()
    with open_workspace(workspace) as ws:
        ws.items.edit("ltm_2", text="ours")
        ws.flush()
        assert ws.store.dirty
    file.rmdir()
    (tmp_path / "aside").rename(file)
    with open_workspace(workspace) as ws:
        ws.flush()
        assert not ws.store.dirty
    assert Agent(workspace).items["ltm_2"]["text"] == "ours"
