"""Transcripts of our own: append-only saves, compaction by itself, tool pairs, two writers, torn tails."""

import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.errors import BadInput, NanomemError
from nanomem_tui.memory.own_sessions import OwnSessions
from nanomem_tui.memory.turn_values import turn_end
from nanomem_tui.settings import Settings

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


def test_a_long_transcript_is_cut_to_its_last_messages(sessions):
    session = sessions.get_or_create("a:1")
    for number in range(39):
        say(session, f"message {number}")
    assert sessions.compacted == []
    say(session, "message 39")
    assert texts(session) == [f"message {number}" for number in range(10, 40)]
    assert [(done.removed, done.kept) for done in sessions.compacted] == [(10, 30)]
    say(session, "message 40")
    assert len(texts(session)) == 31


def test_messages_of_another_process_count(sessions):
    session = sessions.get_or_create("a:1")
    other = OwnSessions(sessions.folder, SMALL).get_or_create("a:1")
    for number in range(20):
        say(session, f"ours {number}")
        say(other, f"theirs {number}")
    assert len(texts(session)) == 30
    assert texts(session)[-2:] == ["ours 19", "theirs 19"]
    say(session, "after")
    assert texts(other)[-1] == "after"


def test_a_heavy_transcript_is_cut_by_its_size(tmp_path):
    sessions = OwnSessions(tmp_path, Settings(session_compact_threshold_bytes=20_000))
    session = sessions.get_or_create("a:1")
    for number in range(30):
        say(session, f"{number} " + "x" * 1_000)
    assert os.stat(session.path).st_size < 20_000
    assert texts(session)[-1].startswith("29 ")


def test_a_tool_result_stays_with_its_call(sessions):
    session = sessions.get_or_create("a:1")
    for number in range(25):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        session.add_message("assistant", "", tool_calls=[call])
        session.add_message("tool", "ok", tool_call_id=f"c{number}", name="look")
        session.save()
    raw = [json.loads(line) for line in session.path.read_bytes().splitlines()[1:]]
    called = {call["id"] for message in raw for call in message.get("tool_calls", ())}
    assert {message["tool_call_id"] for message in raw if message["role"] == "tool"} <= called
    assert sessions.compacted


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
