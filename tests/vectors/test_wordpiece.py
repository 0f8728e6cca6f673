"""Texts become the tokens that the model was trained with, whatever they hold and however long they are."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nanomem_tui.vectors.embedders import vocabulary
from tests.vectors.reference import FILE

ENTRIES = json.loads(FILE.read_text("utf-8"))["entries"]
CLS, SEP, UNKNOWN = 101, 102, 100
TOKENS = vocabulary()


@pytest.mark.parametrize("entry", ENTRIES, ids=[str(number) for number in range(len(ENTRIES))])
def test_the_tokens_are_those_of_the_reference(entry):
    assert TOKENS.ids(entry["text"], 256) == entry["ids"]


@settings(deadline=None)
@given(text=st.text(), limit=st.integers(2, 40))
def test_any_text_gives_known_tokens_between_the_marks_and_no_more_than_asked_for(text, limit):
    ids = TOKENS.ids(text, limit)
    assert 2 <= len(ids) <= limit
    assert (ids[0], ids[-1]) == (CLS, SEP)
    assert all(0 <= one < 30522 and one not in (CLS, SEP) for one in ids[1:-1])


@settings(deadline=None)
@given(text=st.text(max_size=60), limit=st.integers(2, 20))
def test_a_smaller_limit_gives_the_beginning_of_the_same(text, limit):
    assert TOKENS.ids(text, limit)[:-1] == TOKENS.ids(text, 10_000)[:-1][: limit - 1]


@settings(deadline=None)
@given(left=st.text(max_size=30), right=st.text(max_size=30))
def test_words_are_cut_alone(left, right):
    whole = TOKENS.ids(f"{left} {right}", 1000)
    assert whole == [*TOKENS.ids(left, 1000)[:-1], *TOKENS.ids(right, 1000)[1:]]


@settings(deadline=None)
@given(text=st.text(alphabet="ab c.ß茶é", max_size=40), size=st.integers(1, 9))
def test_where_a_long_text_is_taken_apart_is_not_seen(text, size):
    long = "tea " * (4096 // 4 - 1) + "x" * size + text
    expected = [*TOKENS.ids("tea " * (4096 // 4 - 1), 9000)[:-1], *TOKENS.ids("x" * size + text, 9000)[1:]]
    assert TOKENS.ids(long, 9000) == expected


def test_a_word_over_the_border_of_two_parts_is_one_word():
    for before in range(4088, 4100):
        text = " " * before + "unbelievable"
        assert TOKENS.ids(text, 20) == TOKENS.ids("unbelievable", 20)


def test_what_looks_like_a_mark_is_text():
    ids = TOKENS.ids("[SEP] [CLS] [PAD]", 64)
    assert not {0, CLS, SEP} & set(ids[1:-1])


def test_controls_are_no_text_and_a_surrogate_alone_is_none():
    assert TOKENS.ids("te\x00a\ufffd\u200b\ud800", 9) == TOKENS.ids("tea", 9)


class Read(str):
    """A text that knows how far it was read."""

    __slots__ = ("end",)

    def __getitem__(self, key):
        assert isinstance(key, slice)
        self.end = key.stop
        return super().__getitem__(key)


@pytest.mark.parametrize("beginning", ["tea and milk, ", "茶", "a.", "é"])
def test_a_text_of_a_megabyte_is_read_as_far_as_its_tokens_are_wanted(beginning):
    text = Read((beginning + " ") * 500_000)
    text.end = 0
    assert len(TOKENS.ids(text, 256)) == 256
    assert text.end <= 4096


@pytest.mark.parametrize("word", ["x" * 1_000_000, "\u0301" * 1_000_000, " " * 1_000_000])
def test_a_text_without_an_end_of_a_word_is_one_token_or_none(word):
    assert TOKENS.ids(f"{word} tea", 256) == [CLS, *([UNKNOWN] if word[0] == "x" else []), 5572, SEP]
