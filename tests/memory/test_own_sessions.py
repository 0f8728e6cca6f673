"""Transcripts of our own: append-only saves, compaction as an operation, tool pairs, two writers, torn tails."""

import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import BadInput, NanomemError
from nanomem_tui.core.settings import Settings
from nanomem_tui.memory.sessions import files
from nanomem_tui.memory.sessions.files import OwnSessions
from nanomem_tui.memory.turns.request import turn_end

SMALL = Settings(session_compact_threshold_messages=40, session_keep_messages=30)


@pytest.fixture
def sessions(tmp_path):
    return OwnSessions(tmp_path / "ours" / "sessions", SMALL)


def texts(session):
    return [message.content for message in session.read().messages]


def say(session, *words):
    for word in words:
        session.add_message("user", word)
    return session.save()


def test_nothing_is_written_before_the_first_message(sessions):
    session = sessions.get_or_create("telegram:1")
    assert session.save() == 0
    assert session.read().messages == ()
    assert not sessions.folder.exists()
    assert sessions.get_or_create("telegram:1") is session


def test_a_save_appends_and_never_rewrites(sessions):
    session = sessions.get_or_create("telegram:1")
    assert say(session, "one", "two") == 2
    before = session.path.read_bytes()
    assert say(session, "three") == 1
    assert session.path.read_bytes().startswith(before)
    again = OwnSessions(sessions.folder, SMALL).get_or_create("telegram:1")
    say(again, "four")
    assert texts(again) == ["one", "two", "three", "four"]
    assert again.read().key == "telegram:1"
    assert again.read().problems == ()
    assert os.stat(session.path).st_mode & 0o777 == 0o600


def test_messages_of_another_process_count(sessions):
    session = sessions.get_or_create("a:1")
    other = OwnSessions(sessions.folder, SMALL).get_or_create("a:1")
    for number in range(20):
        say(session, f"ours {number}")
        assert not session.is_full
        say(other, f"theirs {number}")
    assert other.is_full
    assert texts(session)[-2:] == ["ours 19", "theirs 19"]


def talk(ws, count, start=0, **more):
    for number in range(start, start + count):
        said = {"session_key": "telegram:1", "sender_id": "ana", "text": f"I moved boat {number} to the harbour"}
        ws.engine.whole_turn(turn_end({**said, "assistant": f"Noted {number}", **more}, whole=True))


def spoken(ws):
    return [message.content for message in ws.sessions.get("telegram:1").messages if not message.hidden]


@pytest.fixture
def place(tmp_path):
    workspace = tmp_path / "agent" / "workspace"
    workspace.mkdir(parents=True)
    (workspace.parent / "nanomem").mkdir()
    settings = "session_compact_threshold_messages = 20\nsession_keep_messages = 10\ncapture_enabled = false\n"
    (workspace / "memory" / "nanomem").mkdir(parents=True)
    (workspace / "memory" / "nanomem" / "config.toml").write_text(settings)
    return workspace


def test_a_long_transcript_is_compacted_as_an_operation_and_what_goes_is_archived(place):
    with open_workspace(place) as ws:
        talk(ws, 9)
        assert ws.history.entries() == []
        talk(ws, 1, 9)
        kinds = [entry.operation.kind for entry in ws.log() if entry.operation.kind.startswith("session.")]
        assert kinds == ["session.compact", "session.consolidate"]
        assert spoken(ws)[-2:] == ["I moved boat 9 to the harbour", "Noted 9"]
        assert len(spoken(ws)) == 10
        archived = "\n".join(entry.content for entry in ws.history.entries())
        assert all(f"boat {number} " in archived for number in range(5))
        assert ws.traces.counters.read()["sessions_compacted"] == 1


def test_a_compaction_by_itself_is_undone_also_after_the_session_went_on(place):
    with open_workspace(place) as ws:
        talk(ws, 10)
        compacted = next(entry.operation for entry in ws.log() if entry.operation.kind == "session.compact")
        talk(ws, 2, 10)
        ws.undo(compacted.id)
        told = [text for text in spoken(ws) if text.startswith("I moved")]
        assert told == [f"I moved boat {number} to the harbour" for number in range(12)]


def test_a_person_who_compacts_a_transcript_of_ours_loses_no_summary(place):
    with open_workspace(place) as ws:
        talk(ws, 6)
        ws.sessions.compact("telegram:1", 4)
        archived = "\n".join(entry.content for entry in ws.history.entries())
        assert all(f"boat {number} " in archived for number in range(4))
        ws.undo()
        ws.undo()
        assert ws.history.entries() == []
        assert len(spoken(ws)) == 12


def test_a_heavy_transcript_is_compacted_by_its_size(place, monkeypatch):
    file = place / "memory" / "nanomem" / "config.toml"
    file.write_text("capture_enabled = false\n")
    monkeypatch.setattr(files, "HEAVY", 20_000)
    with open_workspace(place) as ws:
        for number in range(15):
            talk(ws, 1, number, assistant=f"{number} " + "x" * 2_000)
        assert spoken(ws)[-1].startswith("14 ")
        assert os.stat(ws.sessions.list()[0].path).st_size < 20_000


def test_a_tool_result_stays_with_its_call(place):
    with open_workspace(place) as ws:
        talk(ws, 6, tools=[{"name": "look", "result": "ok"}])
        raw = [message.raw for message in ws.sessions.get("telegram:1").messages]
    called = {call["id"] for message in raw for call in message.get("tool_calls", ())}
    assert {message["tool_call_id"] for message in raw if message["role"] == "tool"} <= called
    assert len(raw) < 24


def test_many_writers_lose_no_message(tmp_path):
    def write(number):
        session = OwnSessions(tmp_path, Settings()).get_or_create("a:1")
        for turn in range(25):
            say(session, f"{number}-{turn}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    found = texts(OwnSessions(tmp_path, Settings()).get_or_create("a:1"))
    assert sorted(found) == sorted(f"{number}-{turn}" for number in range(4) for turn in range(25))


def test_a_torn_tail_does_not_swallow_the_next_message(sessions):
    session = sessions.get_or_create("a:1")
    say(session, "one")
    with session.path.open("ab") as file:
        file.write(b'{"role": "user", "cont')
    say(OwnSessions(sessions.folder, SMALL).get_or_create("a:1"), "two")
    assert texts(session) == ["one", "two"]


@pytest.mark.parametrize("key", ["../../etc/passwd", "a/b", "微信:" + "群" * 200, "x" * 400])
def test_a_key_is_never_a_path(sessions, key):
    session = sessions.get_or_create(key)
    say(session, "hi")
    assert session.path.parent == sessions.folder
    assert session.read().key == key
    assert len(session.path.name) <= 255


@pytest.mark.parametrize("chat", ["ü" * 200, "群" * 150, "x" * 450])
def test_a_transcript_of_a_long_key_is_found_whoever_asks(tmp_path, chat):
    workspace = tmp_path / "home" / "workspace"
    (workspace / "memory").mkdir(parents=True)
    told = {"channel": "telegram", "chat_id": chat, "text": "hello there", "assistant": "Good day."}
    with open_workspace(workspace) as ws:
        ws.engine.whole_turn(turn_end(told, whole=True))
    with open_workspace(workspace) as ws:
        (info,) = ws.sessions.list()
        assert (info.key, info.messages, info.hidden_reason) == (f"telegram:{chat}", 2, "")
        assert [problem.what for problem in ws.doctor() if "session" in problem.what] == []
        assert [message.content for message in ws.sessions.get(info.key).messages] == ["hello there", "Good day."]


def test_bad_messages_are_refused_and_nothing_is_written(sessions):
    session = sessions.get_or_create("a:1")
    with pytest.raises(BadInput):
        session.add_message("robot", "x")
    with pytest.raises(BadInput):
        session.add_message("user", "half \ud800")
    assert session.save() == 0
    with pytest.raises(BadInput):
        sessions.get_or_create("")


def test_what_could_not_be_written_is_kept_for_the_next_save(sessions, monkeypatch):
    session = sessions.get_or_create("a:1")
    say(session, "one")
    session.add_message("user", "two")
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: real(handle, data[: len(data) // 2]))
    with pytest.raises(NanomemError):
        session.save()
    monkeypatch.undo()
    assert texts(session) == ["one"]
    session.save()
    assert texts(session) == ["one", "two"]


def test_no_secret_is_written(sessions):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    session = sessions.get_or_create("telegram:1")
    session.add_message("user", f"my password is hunter2secret and my token is {token}")
    call = {"id": "1", "type": "function", "function": {"name": "log_in", "arguments": json.dumps({"token": token})}}
    session.add_message("assistant", "", tool_calls=[call])
    session.add_message("tool", "x" * 30_000 + f" {token}", tool_call_id="1", name="log_in")
    session.save()
    written = session.path.read_text()
    assert token not in written
    assert "hunter2secret" not in written
    messages = session.read().messages
    assert "my password is" in messages[0].content, "what stands around a secret stays"
    assert messages[1].tool_calls[0].name == "log_in"
    assert len(messages[2].content) > 30_000
