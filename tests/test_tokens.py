"""One tokenizer for the index, the scorer and the query."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.tokens import fold, query_tokens, tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The user prefers dark modes", ["user", "prefer", "dark", "mod"]),
        ("running runs stopped quickly replies", ["run", "run", "stop", "quick", "reply"]),
        ("小满", ["小", "满", "小满"]),
        ("记住dark模式", ["记", "住", "记住", "dark", "模", "式", "模式"]),
        ("ＤＡＲＫ　ﾓｰﾄﾞ", ["dark", "モ", "ー", "ド", "モー", "ード"]),
        ("flush_every 8 v2.0", ["flush_every", "8", "v2", "0"]),
        ("", []),
        ("\0\x1b[31m!", ["31m"]),
    ],
)
def test_text_is_cut_the_same_way_everywhere(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [("小满", ["小满"]), ("满", ["满"]), ("dark dark the MODE", ["dark", "mod"]), ("a the of", [])],
)
def test_a_query_asks_for_what_narrows_most(query: str, expected: list[str]) -> None:
    assert query_tokens(query) == expected


@given(st.text(max_size=60))
def test_every_text_answers_to_itself(text: str) -> None:
    assert set(query_tokens(text, limit=1000)) <= set(tokens(text))


@given(st.text(max_size=60))
def test_case_and_width_make_no_difference(text: str) -> None:
    assert tokens(fold(text)) == tokens(text)
    assert fold(fold(text)) == fold(text)


@given(st.text(max_size=300))
def test_a_query_is_bounded_and_says_nothing_twice(text: str) -> None:
    words = query_tokens(text)
    assert len(words) == len(set(words)) <= 32
