"""Answers of a terminal are never typed, wherever they are cut; keys arrive as they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual._xterm_parser import XTermParser

from nanomem_tui.terminal.driver import Replies

ANSWERS = [
    "\x1b[?64;1;2;6;21c",
    "\x1b[?1;2c",
    "\x1b[>1;4000;29c",
    "\x1b[>0;10;1c",
    "\x1b[?0u",
    "\x1b[?62;22;52c",
    "\x1b]11;rgb:1e1e/1e1e/2e2e\x07",
    "\x1b]10;rgb:dede/eded/cece\x1b\\",
    "\x1b]4;1;rgb:cccc/dddd/eeee\x07",
    "\x1b]52;c;ZGVsZXRlIGFsbA==\x07",
    "\x1bP>|tmux 3.4\x1b\\",
    "\x1bP1+r544e=787465726d\x1b\\",
    "\x1bP!|00000000\x1b\\",
    "\x1b_Gi=31;OK\x1b\\",
]
ESCAPE = "\x1b"
KEYS = ["j", "d", "c", "?", "[", "]", "\x1b", "\x1b[A", "\x1b[1;5C", "\x1bOP", "\x1b[3~", "\x1b[97;5u", "\x1b[<0;3;4M",
        "\x1bd", "é", "中", "\x1b[200~pasted\x1b[201~", "\x1b[?2026;2$y", "\x1b[I"]  # fmt: skip


def keys(*pieces):
    parser, replies = XTermParser(), Replies()
    kept = [replies.without(piece, 1.0) for piece in pieces]
    return [one.key for piece in filter(None, kept) for one in parser.feed(piece) if isinstance(one, events.Key)]


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_is_no_key_wherever_it_is_cut(answer):
    assert keys(answer, "j") == ["j"]
    assert keys("j" + answer + "k") == ["j", "k"]
    for at in range(2, len(answer)):
        assert keys(answer[:at], answer[at:], "j") == ["j"], at


@pytest.mark.parametrize("answer", ANSWERS)
def test_one_whose_escape_came_alone_types_nothing(answer):
    replies = Replies()
    assert replies.without("\x1b", 1.0) == "\x1b"
    assert replies.without(answer[1:], 1.3) == ""
    assert replies.without("j", 1.4) == "j"


@pytest.mark.parametrize("answer", ANSWERS)
def test_one_that_comes_letter_by_letter_types_nothing(answer):
    replies = Replies()
    found = "".join(replies.without(letter, 1.0 + number / 100) for number, letter in enumerate(answer))
    assert found == ESCAPE
    assert replies.without("j", 1.9) == "j"


@pytest.mark.parametrize("key", [key for key in KEYS if key != "\x1b"])
def test_a_key_that_comes_letter_by_letter_is_a_key(key):
    replies = Replies()
    assert "".join(replies.without(letter, 1.0 + number / 100) for number, letter in enumerate(key)) == key


def test_escape_and_then_a_key_are_two():
    replies = Replies()
    typed = ((ESCAPE, 1.0), ("[", 1.3), ("]", 1.5), (ESCAPE, 1.6), ("d", 1.65))
    assert [replies.without(key, at) for key, at in typed] == [
        ESCAPE, "[", "]", ESCAPE, "d",
    ]  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
def test_keys_come_as_they_were_sent(key):
    assert Replies().without(key, 1.0) == key


@given(
    st.lists(st.one_of(st.sampled_from([key for key in KEYS if key != ESCAPE]), st.sampled_from(ANSWERS)), max_size=8),
    st.data(),
)
def test_keys_among_answers_arrive_in_order(parts, data):
    whole = "".join(parts)
    cut = data.draw(st.integers(0, len(whole)))
    replies = Replies()
    if whole[:cut].endswith("\x1b"):  # told apart by time, above
        return
    found = replies.without(whole[:cut], 1.0) + replies.without(whole[cut:], 1.1)
    assert found == "".join(part for part in parts if part not in ANSWERS)


def test_what_never_ends_keeps_no_key_for_long():
    replies = Replies()
    assert replies.without("\x1b]11;rgb:", 1.0) == ""
    assert replies.without("j", 9.0) == "j"
