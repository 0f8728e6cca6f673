from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.agents import session_file, session_names, transcripts
from nanomem_tui.agents.jsonl import dump_line

META = {"_type": "metadata", "key": "cli:direct", "created_at": "a", "updated_at": "b", "metadata": {"title": "T"}}


def transcript(*messages, **meta):
    return b"".join(map(dump_line, ({**META, **meta}, *messages)))


def say(text, role="user", **more):
    return {"role": role, "content": text, "timestamp": "2026-01-02T03:04:05", **more}


def test_a_transcript_is_read_with_its_metadata():
    data = transcript(say("hi"), say("hello", "assistant", latency_ms=4), last_archived=1, last_consolidated=2)
    session = session_file.parse_session(data, "s.jsonl", "x:y")
    assert (session.key, session.title, session.created_at, session.updated_at) == ("cli:direct", "T", "a", "b")
    assert (session.last_archived, session.last_consolidated) == (1, 2)
    assert [(m.index, m.role, m.content, m.line) for m in session.messages] == [
        (0, "user", "hi", 2),
        (1, "assistant", "hello", 3),
    ]
    assert session.messages[1].raw["latency_ms"] == 4
    assert session.problems == ()


def test_provider_state_is_known_and_is_no_message():
    data = transcript({"_type": "provider_state", "state": {"payload": "secret"}}, say("hi"))
    session = session_file.parse_session(data, "s", "x:y")
    assert session.has_provider_state
    assert [message.content for message in session.messages] == ["hi"]
    assert "secret" not in repr(session)


def test_tool_calls_and_their_results():
    call = {"id": "c1", "type": "function", "function": {"name": "grep", "arguments": '{"a": 1}'}}
    odd = {"id": 5, "function": {"name": None, "arguments": {"a": 1}}}
    data = transcript(
        say(None, "assistant", tool_calls=[call, odd, "x"]),
        say("found", "tool", tool_call_id="c1", name="grep"),
        say("x", tool_calls=3),
    )
    first, second, third = session_file.parse_session(data, "s", "k").messages
    assert first.content == ""
    assert first.tool_calls == (
        session_file.ToolCall("c1", "grep", '{"a": 1}'),
        session_file.ToolCall("", "", '{"a": 1}'),
    )
    assert (second.tool_call_id, second.name) == ("c1", "grep")
    assert third.tool_calls == ()


def test_content_in_blocks_is_flattened_to_text():
    blocks = [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:x"}},
        "and",
        7,
        {"a": 1},
    ]
    (message,) = session_file.parse_session(transcript(say(blocks)), "s", "k").messages
    assert message.content == "see\n[image_url]\nand\n7\n[block]"
    assert message.raw["content"] == blocks
    (other,) = session_file.parse_session(transcript(say({"a": "é"})), "s", "k").messages
    assert other.content == '{"a": "é"}'


def test_hidden_messages_commands_and_the_boundary_are_marked():
    data = transcript(
        say(transcripts.BOUNDARY_TEXT, _hidden_history=True),
        say(transcripts.BOUNDARY_TEXT),
        say("/status", _command=True),
    )
    first, second, third = session_file.parse_session(data, "s", "k").messages
    assert (first.hidden, first.boundary) == (True, True)
    assert (second.hidden, second.boundary) == (False, False)
    assert (third.command, third.hidden) == (True, False)


@pytest.mark.parametrize("offset", [True, False, -1, 4, "2", None, 1.0, [1]])
def test_an_offset_that_an_agent_refuses_is_nought_with_a_problem(offset):
    data = transcript(say("a"), say("b"), say("c"), last_archived=offset, last_consolidated=2)
    session = session_file.parse_session(data, "s", "k")
    assert (session.last_archived, session.last_consolidated) == (0, 2)
    assert len(session.problems) == 1
    assert "last_archived" in session.problems[0].what


def test_a_release_with_one_offset_means_it_for_both():
    session = session_file.parse_session(transcript(say("a"), say("b"), last_consolidated=1), "s", "k")
    assert (session.last_archived, session.last_consolidated) == (1, 1)
    assert session.problems == ()


def test_a_file_without_metadata_is_read_and_reported():
    session = session_file.parse_session(dump_line(say("hi")), "s", "telegram:1")
    assert (session.key, session.has_metadata, len(session.messages)) == ("telegram:1", False, 1)
    assert "does not list it" in session.problems[0].what


def test_the_metadata_knows_the_key_better_than_the_name():
    data = transcript(say("I am T1_C2"), key="slack_T1:C2")
    fallback = session_names.lossy_name_to_key("slack_T1_C2.jsonl")
    assert session_file.parse_session(data, "slack_T1_C2.jsonl", fallback).key == "slack_T1:C2"
    assert session_file.parse_session(transcript(say("x"), key=7), "s", fallback).key == "slack:T1_C2"


def test_damage_costs_its_own_line():
    good = [dump_line(say(str(number))) for number in range(5)]
    good[1] = b"\0" * 30 + b"\n"
    good[2] = b"\0" * 30 + good[2]
    good[3] = good[3].replace(b"3", b"\xff", 1)
    session = session_file.parse_session(dump_line(META) + b"".join(good) + b'{"role": "us', "s", "k")
    assert [message.content for message in session.messages] == ["0", "2", "4"]
    assert [message.index for message in session.messages] == [0, 1, 2]
    assert session.unreadable == 3
    assert [problem.line for problem in session.problems] == [3, 4, 5, 7]


def test_a_line_of_ten_megabytes_is_a_message():
    session = session_file.parse_session(transcript(say("x" * 10_000_000)), "s", "k")
    assert len(session.messages[0].content) == 10_000_000


def test_an_object_without_a_role_counts_as_agents_count_it():
    session = session_file.parse_session(transcript({"content": "?"}, say("a"), last_archived=2), "s", "k")
    assert (len(session.messages), session.last_archived) == (2, 2)
    assert session.problems[0].severity == "warning"


def test_a_header_is_read_from_the_first_bytes():
    data = transcript(*(say("x" * 100) for _ in range(50)))
    assert session_file.session_header(data[:300], "s") == META
    assert session_file.session_header(b"\xef\xbb\xbf" + data[:300], "s") == META
    assert session_file.session_header(data[:20], "s") is None
    assert session_file.session_header(dump_line(say("a")), "s") is None
    assert session_file.session_header(b"", "s") is None
    assert session_file.session_header(b"\xff\n", "s") is None


@given(st.integers(0, 30), st.booleans(), st.booleans(), st.booleans())
def test_messages_are_counted_without_reading_them(count, header, state, ended):
    lines = [json.dumps(META).encode()] * header + [b'{"_type": "provider_state", "state": {}}'] * state
    data = b"".join(line + b"\n" for line in lines + [dump_line(say("x"))[:-1]] * count)
    if not ended:
        data = data.removesuffix(b"\n")
    assert session_file.count_messages(data) == count == len(session_file.parse_session(data, "s", "k").messages)


HOSTILE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
FIELDS = ("role", "content", "timestamp", "tool_calls", "tool_call_id", "name", "_hidden_history", "_command", "_type")


@given(
    st.dictionaries(st.sampled_from(FIELDS), HOSTILE),
    st.dictionaries(st.sampled_from([*META, "last_archived"]), HOSTILE),
)
def test_no_shape_of_message_or_metadata_makes_it_raise(message, meta):
    data = json.dumps({**meta, "_type": "metadata"}).encode() + b"\n" + json.dumps(message).encode() + b"\n"
    session = session_file.parse_session(data, "s", "k")
    assert 0 <= session.last_archived <= len(session.messages)
    transcripts.compact(data, 0)


@pytest.mark.parametrize(
    ("home", "pattern", "files", "many"),
    [
        ("nb035", "home/.nanobot/sessions/*/*.jsonl", 39, 1395),
        ("v0_1_5", "home/.nanobot/workspace/sessions/*.jsonl", 8, 269),
        ("ramfirst", "home/.nanobot/sessions/*.jsonl", 6, 840),
    ],
)
def test_real_transcripts_are_read_whole(samples, home, pattern, files, many):
    paths = list((samples / home).glob(pattern))
    assert len(paths) == files
    read = []
    for path in paths:
        data = path.read_bytes()
        key = session_names.name_to_key(path.name) or session_names.lossy_name_to_key(path.name)
        session = session_file.parse_session(data, path.name, key)
        assert session.problems == ()
        header = session_file.session_header(data[:65536], path.name)
        assert header is not None
        assert header.get("key", key) == session.key
        assert session_file.count_messages(data) == len(session.messages)
        lines = [json.dumps(message.raw, ensure_ascii=False).encode() for message in session.messages]
        assert b"\n".join([data.split(b"\n", 1)[0], *lines, b""]) == data
        read.extend(session.messages)
    assert len(read) == many


def test_the_session_with_nuls_keeps_its_other_messages(samples):
    path = samples / "torn/home/.nanobot/sessions/cli_direct.jsonl"
    session = session_file.parse_session(path.read_bytes(), path.name, "cli:direct")
    assert (len(session.messages), session.unreadable) == (139, 1)
    assert [problem.line for problem in session.problems] == [4]
