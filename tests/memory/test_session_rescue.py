"""Sessions that an upgrade of the agent made invisible come back, whole, and undo makes them what they were."""

import json
import os
import shutil

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.agents.session_names import key_to_lossy_name, key_to_name
from nanomem_tui.core.errors import Conflict, NothingToDo, Refused
from nanomem_tui.memory.sessions import transcript_repair
from nanomem_tui.memory.sessions.files import checkpoint_name
from nanomem_tui.store.files.presence import Presence


def said(number):
    return (
        json.dumps({"role": "user", "content": f"said {number}", "timestamp": "2026-05-01T10:00:00"}).encode() + b"\n"
    )


def head(key, **offsets):
    about = {"_type": "metadata", "key": key, "created_at": "2026-05-01T10:00:00", "updated_at": "2026-05-01T10:00:00"}
    return json.dumps({**about, "metadata": {}, **offsets}).encode() + b"\n"


@pytest.fixture
def ws(sample_copy):
    """A home of nanobot 0.3.5 whose sessions are gone."""
    with open_workspace(sample_copy("nb035") / "home" / ".nanobot" / "workspace") as workspace:
        for path in folder(workspace).iterdir():
            if path.name.endswith(".jsonl"):
                path.unlink()
        yield workspace


def folder(ws):
    assert ws.layout.sessions_dir is not None
    return ws.layout.sessions_dir


def files(ws):
    """The transcripts where the agent looks."""
    return {path.name: path.read_bytes() for path in folder(ws).iterdir() if path.name.endswith(".jsonl")}


def leave(ws, key, *lines, **offsets):
    """A transcript as an upgrade leaves it: where the agent looks, under its old name."""
    path = folder(ws) / key_to_lossy_name(key)
    path.write_bytes(head(key, **offsets) + b"".join(lines))
    return path


def test_all_sessions_of_an_old_release_come_back_byte_for_byte(ws, sample_copy):
    old = sample_copy("v0_1_5") / "home" / ".nanobot" / "workspace" / "sessions"
    before = {path.name: path.read_bytes() for path in old.iterdir()}
    for path in old.iterdir():
        shutil.copy2(path, folder(ws))
    told = transcript_repair.plan_rescues(ws)
    assert (len(told), {one.refused for one in told}) == (8, {""})
    transcript_repair.rescue(ws)
    assert sorted(files(ws).values()) == sorted(before.values())
    assert set(files(ws)) == {key_to_name(one.key) for one in told}
    assert not any(info.hidden_reason for info in ws.sessions.list())
    with pytest.raises(NothingToDo):
        transcript_repair.rescue(ws)
    ws.undo()
    assert files(ws) == before
    ws.redo()
    assert len(files(ws)) == 8
    assert not any(info.hidden_reason for info in ws.sessions.list())


def test_the_time_and_mode_of_a_file_stay(ws):
    path = leave(ws, "cli:a", said(1))
    path.chmod(0o640)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    transcript_repair.rescue(ws)
    found = (folder(ws) / key_to_name("cli:a")).stat()
    assert (int(found.st_mtime), found.st_mode & 0o777, found.st_nlink) == (1_700_000_000, 0o640, 1)


def test_one_that_was_left_in_the_folder_of_an_older_release_comes_too(ws):
    old = ws.paths.workspace / "sessions"
    old.mkdir()
    (old / "cli_a.jsonl").write_bytes(head("cli:a") + said(1))
    transcript_repair.rescue(ws)
    assert files(ws) == {key_to_name("cli:a"): head("cli:a") + said(1)}
    assert list(old.iterdir()) == []
    ws.undo()
    assert (files(ws), len(list(old.iterdir()))) == ({}, 1)


def test_what_the_agent_said_since_follows_the_old_messages(ws):
    old = leave(ws, "cli:a", said(1), said(2), said(3), last_consolidated=2)
    new = folder(ws) / key_to_name("cli:a")
    later = head("cli:a", last_archived=0, last_consolidated=0) + said(4)
    new.write_bytes(later)
    before = files(ws)
    assert [(one.messages, one.joined) for one in transcript_repair.plan_rescues(ws)] == [(3, 1)]
    transcript_repair.rescue(ws)
    assert not old.exists()
    whole = ws.sessions.get("cli:a")
    assert [message.content for message in whole.messages] == ["said 1", "said 2", "said 3", "said 4"]
    assert (whole.last_archived, whole.last_consolidated) == (2, 2)
    ws.undo()
    assert files(ws) == before


def test_an_offset_that_the_agent_moved_points_at_the_same_message(ws):
    leave(ws, "cli:a", said(1), said(2), said(3), last_archived=1, last_consolidated=1)
    new = folder(ws) / key_to_name("cli:a")
    new.write_bytes(head("cli:a", last_archived=1, last_consolidated=1) + said(4) + said(5))
    transcript_repair.rescue(ws)
    assert ws.sessions.get("cli:a").last_archived == 4


def test_a_file_that_says_nothing_of_its_owner_waits_and_takes_no_other_down(ws):
    nobody = folder(ws) / "cli_b.jsonl"
    nobody.write_bytes(said(1))
    leave(ws, "cli:a", said(2))
    link = folder(ws) / "cli_c.jsonl"
    link.symlink_to("/etc/passwd")
    refused = {one.path: one.refused for one in transcript_repair.plan_rescues(ws) if one.refused}
    assert set(refused) == {str(nobody), str(link)}
    transcript_repair.rescue(ws)
    assert key_to_name("cli:a") in files(ws)
    assert nobody.read_bytes() == said(1)
    assert link.is_symlink()


def test_a_key_never_becomes_a_path(ws):
    path = folder(ws) / "evil.jsonl"
    path.write_bytes(head("../../../workspace/SOUL") + said(1))
    transcript_repair.rescue(ws)
    assert list(files(ws)) == [key_to_name("../../../workspace/SOUL")]
    assert "/" not in key_to_name("../../../workspace/SOUL")


def test_beside_an_agent_or_a_turn_in_flight_nothing_moves(ws, monkeypatch):
    path = leave(ws, "cli:a", said(1))
    with monkeypatch.context() as patched:
        patched.setattr(ws, "agent", lambda: Presence(True, 4711, "nanobot gateway", False))
        with pytest.raises(Refused, match="nanobot gateway runs"):
            transcript_repair.rescue(ws)
    (folder(ws) / checkpoint_name(path.name)).write_text("{}")
    with pytest.raises(Refused, match="turn in flight"):
        transcript_repair.rescue(ws)
    assert path.exists()


def test_what_changed_meanwhile_is_not_moved(ws):
    path = leave(ws, "cli:a", said(1))
    transcript_repair.rescue(ws)
    new = folder(ws) / key_to_name("cli:a")
    new.write_bytes(new.read_bytes() + said(2))
    with pytest.raises(Conflict, match="changed since"):
        ws.undo()
    assert not path.exists()
    assert new.read_bytes().endswith(said(2))


def test_a_place_that_was_taken_meanwhile_is_not_written_over(ws):
    leave(ws, "cli:a", said(1))
    operation = transcript_repair.rescue(ws)
    ws.undo()
    taken = folder(ws) / key_to_name("cli:a")
    taken.write_bytes(head("cli:a") + said(9))
    with pytest.raises(Conflict, match="such a session already"):
        ws.redo()
    assert taken.read_bytes() == head("cli:a") + said(9)
    assert operation.kind == "session.rescue"


@pytest.mark.parametrize("both", [True, False])
def test_what_was_interrupted_is_finished_by_whoever_comes_next(ws, both):
    """A kill between the new name and the end of the old one leaves both."""
    path = leave(ws, "cli:a", said(1))
    transcript_repair.rescue(ws)
    [change] = ws.log(1)[0].operation.changes
    if both:
        os.link(folder(ws) / key_to_name("cli:a"), path)
    layer = ws.store.layers["session"]
    assert layer.begun([change])
    layer.apply(ws.log(1)[0].operation, [change])
    assert list(files(ws)) == [key_to_name("cli:a")]
