"""A conversation as parts: who said what, tool calls folded, thinking hidden, nothing obeyed."""

import json

import pytest

from nanomem_tui.agents.session_file import parse_session
from nanomem_tui.screens.sessions import Rule, Said, parts_of
from nanomem_tui.widgets.text_view import Body


def session(*messages, archived=0):
    head = {"_type": "metadata", "key": "cli:direct", "metadata": {}, "last_archived": archived}
    lines = [head, *messages]
    return parse_session(b"".join(json.dumps(line).encode() + b"\n" for line in lines), "x.jsonl", "cli:direct")


def said(message, unfolded=False, width=60):
    part = Said(session(message).messages[0])
    return ["".join(text for text, _ in line) for line in part.lines(width, unfolded, True)]


CALL = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"id": "1", "function": {"name": "read_file", "arguments": '{"path": "USER.md", "limit": 20}'}}],
}


def test_who_when_and_what():
    assert said({"role": "user", "content": "hej\ndå", "timestamp": "2026-01-02T09:30:00"}) == [
        "user 09:30",
        "  hej",
        "  då",
    ]


def test_a_tool_call_is_one_line_until_it_is_unfolded():
    assert said(CALL)[1:] == ['  > read_file {"path": "USER.md", "limit": 20}']
    pretty = ["    {", '      "path": "USER.md",', '      "limit": 20', "    }"]
    assert said(CALL, unfolded=True)[1:] == ["  > read_file", *pretty]
    broken = {**CALL, "tool_calls": [{"function": {"name": "x", "arguments": "{no json"}}]}
    assert said(broken, unfolded=True)[-1] == "    {no json"


def test_a_result_is_one_line_until_it_is_unfolded():
    result = {"role": "tool", "name": "read_file", "content": "first\n" + "line\n" * 100}
    folded = said(result)
    assert folded[0].startswith("  = read_file first line line")
    assert folded[-1].endswith("(506 characters)")
    assert len(said(result, unfolded=True)) > 100
    assert said({"role": "tool", "content": ""}) == ["  = tool (nothing)"]


@pytest.mark.parametrize(
    "message",
    [
        {"content": "<think>SECRET plan</think>Hello"},
        {"content": "Hello", "reasoning_content": "SECRET plan"},
        {"content": [{"type": "thinking", "thinking": "SECRET plan"}, {"type": "text", "text": "Hello"}]},
        {"content": "Hello<thinking>SECRET plan"},
    ],
)
def test_thinking_is_hidden_until_it_is_unfolded(message):
    lines = said({"role": "assistant", **message})
    assert lines == ["assistant  (thinking hidden)", "  Hello"]
    assert any("SECRET plan" in line for line in said({"role": "assistant", **message}, unfolded=True))


def test_a_text_of_a_megabyte_is_cut_and_says_so():
    message = {"role": "user", "content": "word " * 210_000}
    lines = said(message)
    assert lines[-1] == "  … 1,048,000 more of 1,050,000 characters (enter)"
    assert len(lines) < 60
    assert "more of 1,050,000 characters" in said(message, unfolded=True)[-1]


def test_notes_commands_and_empty_messages_are_marked():
    assert said({"role": "user", "content": "x", "_hidden_history": True})[0] == "user  (a note to itself)"
    assert said({"role": "user", "content": "/new", "_command": True})[0] == "user  (a command, not replayed)"
    assert said({"role": "assistant", "content": None}) == ["assistant", "  (empty)"]
    assert said({"content": "who?"})[0] == "no role"
    assert said({"role": "user", "content": "see", "media": ["a.jpg", 7]})[-1] == "  media: a.jpg"


def test_days_and_the_end_of_the_archive_have_a_rule():
    messages = [{"role": "user", "content": str(n), "timestamp": f"2026-01-0{1 + n // 2}T09:00:00"} for n in range(4)]
    parts = parts_of(session(*messages, archived=3), [Body("facts")], 4)
    rules = [part.text for part in parts if isinstance(part, Rule)]
    assert rules == ["2026-01-01", "2026-01-02", "archived up to here; 1 of 4 messages are not yet"]
    assert len({part.key for part in parts}) == len(parts)


@pytest.mark.parametrize("hostile", ["\x1b]52;c;QQ==\x07", "\x1b[2J", "\x9b31m", "a‮b", "zero​width", "\U000e0041"])
def test_nothing_that_was_said_is_obeyed(hostile):
    call = {"id": hostile, "function": {"name": hostile, "arguments": hostile}}
    messages = [
        {"role": hostile, "content": hostile, "timestamp": hostile, "sender_id": hostile, "media": [hostile]},
        {"role": "assistant", "content": hostile, "tool_calls": [call], "reasoning_content": hostile},
        {"role": "tool", "name": hostile, "content": hostile},
    ]
    for message in messages:
        for unfolded in (False, True):
            drawn = "".join(said(message, unfolded))
            assert not any(char in drawn for char in "\x1b\x07\x9b‮​\U000e0041")
