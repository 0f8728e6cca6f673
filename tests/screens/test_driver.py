"""What a terminal sends when somebody pastes: text in order, in which ESC is seen and never a key."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual._xterm_parser import XTermParser

from nanomem_tui import open_workspace
from nanomem_tui.terminal.driver import Pasted
from tests.screens.test_launch import start

BEGIN, END = "\x1b[200~", "\x1b[201~"
TEXT = "first\x1bsecond \x1b[31mthird\x1b[0m \x1b\x1b fifth\x1b[A sixth\x1b"
SEEN = TEXT.replace("\x1b", "␛")


def parsed(*reads):
    """What the parser makes of these reads: keys by name, pasted text in quotes."""
    pasted, parser = Pasted(), XTermParser()
    found = [event for read in reads for event in parser.feed(pasted.shown(read))]
    return [f'"{one.text}"' if isinstance(one, events.Paste) else getattr(one, "key", "") for one in found]


@given(st.lists(st.integers(0, len(TEXT) + 12), max_size=4))
def test_a_marked_paste_is_one_text_however_it_is_cut_into_reads(cuts):
    whole = f"{BEGIN}{TEXT}{END}"
    places = [0, *sorted(cuts), len(whole)]
    pasted = Pasted()
    shown = "".join(pasted.shown(whole[start:end]) for start, end in itertools.pairwise(places))
    assert shown == f"{BEGIN}{SEEN}{END}"


def test_a_marked_paste_is_one_event_and_keys_around_it_stay_keys():
    assert parsed(f"a{BEGIN}{TEXT}{END}\x1b[B") == ["a", f'"{SEEN}"', "down"]


def test_text_that_came_in_one_go_without_marks_has_no_key_in_it():
    assert Pasted().shown(TEXT) == SEEN
    assert Pasted().shown("ab\x1bcd") == "ab␛cd"
    assert Pasted().shown("\x1b[1mab") == "␛[1mab"


@pytest.mark.parametrize(
    "keys", ["\x1b", "\x1b[A", "\x1b[B" * 40, "tea\x1b", "jj\x1b[Bxj", "\x1bOP", "\x1b[<0;12;3M\x1b[<0;12;3m",
             "a sentence of some words\x1b[?2026;2$y\x1b[I", "\x1bb"]
)  # fmt: skip
def test_what_a_hand_types_and_a_terminal_answers_stays_as_it_is(keys):
    assert Pasted().shown(keys) == keys


@pytest.mark.parametrize("move", ["\x1b[F", "\x1b[4~", "\x1bOF", "\x1b[B\x1b[B\x1b[H"])
def test_a_move_before_a_text_of_one_go_is_a_move(move):
    assert Pasted().shown(f"{move} near the canal, {TEXT}\x13") == f"{move} near the canal, {SEEN}\x13"


@pytest.mark.slow
@pytest.mark.parametrize("marks", [("", ""), (BEGIN, END)], ids=["plain", "marked"])
def test_an_escape_in_what_is_pasted_leaves_no_dialog(demo, marks):
    with start(demo) as console:
        console.wait_for("compact")
        console.send("a")
        console.wait_for("A new item")
        console.send(f"{marks[0]}{TEXT}{marks[1]}")
        console.wait_for("first␛second ␛\\[31mthird␛\\[0m ␛␛ fifth␛\\[A sixth␛")
        console.send("\x1b")
        console.wait_for("again drops it")


@pytest.mark.slow
def test_an_answer_of_the_terminal_presses_no_key(demo):
    with start(demo) as console:
        console.wait_for("compact")
        console.send("\x1b[?64;1;2;6;21c\x1b]11;rgb:1e1e/dede/cece\x07\x1bP>|tmux 3.4\x1b\\")
        console.send("?")
        console.wait_for("Keys of Memory")
        console.send("\x1b[?1;2c")
        console.send("\x1b")
        console.wait_for("45")
        console.send("0")
        console.wait_for("saved")
    with open_workspace(demo) as ws:
        assert len(ws.items.all()) == 45
