"""One tokenizer for the index, the scorer and the query."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.language.tokens import fold, query_tokens, query_words, shown, stem, tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The user prefers dark modes", ["user", "prefer", "dark", "mode"]),
        ("running runs stopped quickly replies", ["run", "run", "stop", "quick", "repli"]),
        ("小满", ["小", "满", "小满"]),
        ("记住dark模式", ["记", "住", "记住", "dark", "模", "式", "模式"]),
        ("ＤＡＲＫ　ﾓｰﾄﾞ", ["dark", "モ", "ー", "ド", "モー", "ード"]),
        ("flush_every 8 v2.0", ["flush", "everi", "8", "v2", "0"]),
        ("Caroline's dog didn't, o’clock", ["carolin", "dog", "oclock"]),
        ("naïve Café ЁЖ", ["naiv", "cafe", "еж"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("ชอบกาแฟ", ["ช", "อ", "บ", "กา", "แฟ", "ชอ", "อบ", "บกา", "กาแฟ", "ชอบ", "อบกา", "บกาแฟ"]),
        ("🍕🍕 ate", ["u1f355", "u1f355", "eat"]),
        ("桜🌸桜 naïve☕", ["桜", "u1f338", "桜", "naiv", "u2615"]),
        ("👍🏽 ❤\ufe0f 👩\u200d🍳 🇩🇪🇫🇷", ["u1f44d", "u2764", "u1f469", "u1f373", "u1f1e9u1f1ea", "u1f1ebu1f1f7"]),
        ("", []),
        ("\0\x1b[31m!", ["31m"]),
    ],
)
def test_text_is_cut_the_same_way_everywhere(text, expected):
    assert tokens(text) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [("小满", ["小满"]), ("满", ["满"]), ("dark dark the MODE", ["dark", "mode"]), ("a the of", [])],
)
def test_a_query_asks_for_what_narrows_most(query, expected):
    assert query_tokens(query) == expected


@given(st.text(max_size=60))
def test_every_text_answers_to_itself(text):
    assert set(query_tokens(text, limit=1000)) <= set(tokens(text))


@given(st.text(max_size=60))
def test_case_and_width_make_no_difference(text):
    assert tokens(fold(text)) == tokens(text)
    assert fold(fold(text)) == fold(text)


@given(st.text(max_size=300))
def test_a_query_is_bounded_and_says_nothing_twice(text):
    words = query_tokens(text)
    assert len(words) == len(set(words)) <= 32


@pytest.mark.parametrize(
    "forms",
    [
        "run runs running ran",
        "paint paints painted painting",
        "adopt adopted adopting adopts",
        "go went gone goes going",
        "child children",
        "organize organized organizing organization",
        "happy happiness",
        "study studies studied studying",
        "relate related relating",
        "hop hopped hopping",
        "hope hoped hoping",
        "die died dying",
        "apply applied applies",
        "add added adding adds",
        "agree agreed agreeing",
        "photo photos photograph",
    ],
)
def test_the_forms_of_an_english_word_have_one_stem(forms):
    assert len({stem(form) for form in forms.split()}) == 1


@pytest.mark.parametrize("pair", ["sky ski", "universe organ", "organ organize", "news new", "hop hope"])
def test_words_that_only_look_alike_stay_apart(pair):
    one, other = pair.split()
    assert stem(one) != stem(other)


@given(st.text(alphabet=st.characters(min_codepoint=97, max_codepoint=122), min_size=1, max_size=24))
def test_a_stem_is_a_short_word_and_never_nothing(word):
    assert 1 <= len(stem(word)) <= len(word) + 3


@given(st.text(st.sampled_from("abzAZ09''_ -.\n\t\x00"), max_size=30))
def test_a_plain_text_is_cut_into_words_with_what_follows_an_apostrophe(text):
    words = re.findall(r"[a-z0-9]+(?:'[a-z]+)?", text.lower())
    assert tokens(text) == [token for word in words for token in tokens(word)]


def test_apostrophes_around_words_and_between_numbers_are_no_part_of_them():
    assert tokens("don't, it's the 'tea' 5'10") == ["tea", "5", "10"]


@pytest.mark.parametrize("text", ["🍕", "🇩🇪", "☕", "pizza", "披萨", "u1", "u12345u"])
def test_a_token_is_shown_as_it_was_written(text):
    for token, written in query_words(text).items():
        assert shown(token) == written
