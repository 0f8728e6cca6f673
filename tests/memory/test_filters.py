"""The filter language finds what a person means and says in words what it did not understand."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.memory.filters import Filter, Search, fold, parse, rank_matches, search

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def passes(query, **row):
    test = parse(query).predicate(lambda held, field: held.get(field), now=NOW)
    assert test is not None
    return test(row)


def test_a_query_falls_into_its_parts():
    found = parse('kind:fact Coffee "Exact  Phrase" -tea -"green tea" scope:telegram:*')
    assert found.words == ("coffee",)
    assert found.phrases == ("exact  phrase",)
    assert found.excluded == ("tea", "green tea")
    assert [(test.field, test.value) for test in found.fields] == [("kind", "fact"), ("scope", "telegram:*")]
    assert found.problems == ()
    assert not parse("   ")


@pytest.mark.parametrize(
    ("query", "row", "expected"),
    [
        ("kind:fact", {"kind": "FACT"}, True),
        ("kind:fact,profile", {"kind": "profile"}, True),
        ("kind:fact", {"kind": "factual"}, False),
        ("-kind:fact", {"kind": "fact"}, False),
        ("-kind:fact", {"kind": None}, True),
        ("scope:telegram:*", {"scope": "telegram:42"}, True),
        ("scope:telegram:*", {"scope": "discord:42"}, False),
        ('source:"two words"', {"source": "two words"}, True),
        ("hits:0", {"hits": 0}, True),
        ("hits:0", {"hits": 3}, False),
        ("hits:>3", {"hits": 3}, False),
        ("hits:>=3", {"hits": 3}, True),
        ("hits:2..4", {"hits": 4}, True),
        ("hits:..4", {"hits": 5}, False),
        ("importance:<0.5", {"importance": 0.25}, True),
        ("importance:<0.5", {"importance": None}, False),
        ("age:>30d", {"age": NOW - timedelta(days=31)}, True),
        ("age:>30d", {"age": (NOW - timedelta(days=29)).isoformat()}, False),
        ("age:<2h", {"age": NOW - timedelta(minutes=90)}, True),
        ("age:3d", {"age": NOW - timedelta(days=3, hours=5)}, True),
        ("age:3d", {"age": NOW - timedelta(days=5)}, False),
        ("enabled:no", {"enabled": False}, True),
        ("enabled:yes", {"enabled": False}, False),
        ("kind:fact hits:0", {"kind": "fact", "hits": 1}, False),
    ],
)
def test_fields_judge_rows(query, row, expected):
    assert passes(query, **row) is expected


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("hits:many", "hits:many is no number"),
        ("age:>soon", "age:>soon is no age (like age:>30d)"),
        ("enabled:perhaps", "enabled: say yes or no"),
        ("kind:", "kind: a value is missing"),
        ("colour:red", "no field “colour” here"),
    ],
)
def test_what_is_not_understood_is_said(query, said):
    assert said in parse(query).problems[0]


def test_an_address_is_no_field():
    assert parse("http://example.org").problems == ()
    assert parse("http://example.org").words == ("http://example.org",)


@given(st.text(max_size=40))
def test_any_query_is_parsed(query):
    assert parse(query).source == query


TEXTS = [
    fold(text)
    for text in ("Coffee at eight", "green TEA", "Tea and coffee", "数据库 ｶﾌｪ", "Straße", "decaf coffeehouse")
]


@pytest.mark.parametrize(
    ("query", "indexes"),
    [
        ("coffee", [0, 2, 5]),
        ("coffee tea", [2]),
        ("coffee -tea", [0, 5]),
        ('"at eight"', [0]),
        ("数据", [3]),
        ("カフェ", [3]),
        ("STRASSE", [4]),
        ("", [0, 1, 2, 3, 4, 5]),
    ],
)
def test_words_are_found_whatever_their_case_and_width(query, indexes):
    assert list(search(TEXTS, parse(query)).indexes) == indexes


def test_a_typing_error_still_finds_and_says_that_it_guessed():
    found = search(TEXTS, parse("cofee"))
    assert found.fuzzy
    assert set(found.indexes) == {0, 2, 5}
    assert set(search(TEXTS, parse("cofee -tea")).indexes) == {0, 5}
    assert not search(TEXTS, parse("qqqqq")).indexes


def test_rows_are_judged_with_the_words():
    assert list(search(TEXTS, parse("coffee"), accept=lambda index: index > 0).indexes) == [2, 5]


@pytest.mark.slow
@given(
    st.lists(st.text("abc ", max_size=6), max_size=30),
    st.text("abc", min_size=1, max_size=2),
    st.text("abc", max_size=2),
)
def test_narrowing_finds_what_a_whole_search_finds(texts, word, more):
    first = search(texts, parse(word))
    wanted = parse(word + more)
    assert list(search(texts, wanted, previous=first).indexes) == list(search(texts, wanted).indexes)


def test_a_narrower_filter_is_known_as_such():
    assert parse("coffee kind:fact").narrows(parse("cof"))
    assert not parse("cof").narrows(parse("coffee"))
    assert not parse("coffee").narrows(parse("coffee -tea"))
    assert not parse("coffee").narrows(parse("coffee kind:fact"))


def test_steps_and_one_run_agree():
    texts = [f"row {n} coffee" if n % 3 else f"row {n}" for n in range(1000)]
    steps = Search(texts, parse("coffee"))
    count = 1
    while not steps.step(100):
        count += 1
    assert count == 10
    assert list(steps.found.indexes) == list(search(texts, parse("coffee")).indexes)


def test_the_best_come_first_when_asked():
    found = search(TEXTS, parse("coffee"))
    assert rank_matches(TEXTS, found) == [0, 2, 5]
    assert rank_matches(
        ["xcoffee", "my coffee", "coffee"], search(["xcoffee", "my coffee", "coffee"], parse("coffee"))
    ) == [
        2,
        1,
        0,
    ]
    assert rank_matches(TEXTS, search(TEXTS, Filter())) == [0, 1, 2, 3, 4, 5]
