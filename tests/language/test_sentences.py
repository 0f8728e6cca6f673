"""Where sentences end: never within an abbreviation, initials, a number, a version, an address or a file name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.language.sentences import split

SHORT = [
    "Mr.", "Mrs.", "Dr.", "Prof.", "St.", "Inc.", "Ltd.", "Jr.", "e.g.", "i.e.", "etc.", "a.m.", "p.m.", "U.S.",
    "Ph.D.", "J.", "approx.", "vs.", "Blvd.", "Ave.", "Corp.", "z.B.", "Sra.", "Hr.",
]  # fmt: skip
WORDS = [
    "Kowalski",
    "in London",
    "okafor",
    "42",
    "Smith",
    "foo.txt",
    "v1.2.3",
    "https://a.example/b.c",
    "Berlin",
    "3.5",
]


@pytest.mark.parametrize(
    "text",
    [
        "my landlord is Mr. Kowalski",
        "at 5 St. James St. in London.",
        "written by J. R. R. Tolkien",
        "use e.g. Python, i.e. a language, etc. for it",
        "No. 5 of vol. 2, p. 7",
        "see https://a.example/b.c?d=e.f or the file a.tar.gz, v2.0.1",
        "version 1.2.3 of 4.5",
        "am 5. Mai in der Hauptstr. 3",
        "I live in... Porto",
        "Yahoo! is where I work",
        "我住在 St. Gallen",
    ],
)
def test_one_sentence_stays_one(text):
    assert split(text) == [text]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("I work for Acme Inc. My boss is Ann.", ["I work for Acme Inc.", "My boss is Ann."]),
        ("I like tea. I like jazz!  Do you?", ["I like tea.", "I like jazz!", "Do you?"]),
        ("No. I don't.", ["No.", "I don't."]),
        ("i like tea. it is hot", ["i like tea.", "it is hot"]),
        ("我喜欢茶。我住在上海！好", ["我喜欢茶。", "我住在上海！", "好"]),
        ("first line\nDr. Lee\n\nlast", ["first line", "Dr. Lee", "last"]),
        ("1. tea\n2. jazz", ["1.", "tea", "2.", "jazz"]),
        ("at 5 p.m. I eat", ["at 5 p.m.", "I eat"]),
        (" \n ", []),
    ],
)
def test_sentences_are_parted(text, parts):
    assert split(text) == parts


def test_only_where_white_space_follows_if_asked():
    assert split("我喜欢茶。我住在上海！ 好", spaced=True) == ["我喜欢茶。我住在上海！", "好"]
    assert split("one line\nand. another", spaced=True) == ["one line\nand.", "another"]


@given(st.lists(st.sampled_from(SHORT) | st.sampled_from(WORDS), min_size=1, max_size=12))
def test_no_piece_ends_in_an_abbreviation_that_more_text_follows(words):
    text = " ".join(words)
    for piece in split(text)[:-1]:
        assert piece.split()[-1] not in SHORT, text


@given(st.text(max_size=300), st.booleans())
def test_nothing_but_white_space_is_lost(text, spaced):
    assert "".join("".join(split(text, spaced=spaced)).split()) == "".join(text.split())
