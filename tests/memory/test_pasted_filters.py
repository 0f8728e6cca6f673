"""A filter that nobody types, a pattern that would explode or a pasted megabyte: told in words, never waited for."""

import random
import time

import pytest

from nanomem_tui.core.errors import BadInput
from nanomem_tui.memory.filters import ITEM_FIELDS, filter_rows, parse, search

TEXTS = [f"amber quiet river window tea winter cargo north signal {number}" for number in range(20_000)]
LONG = "a" * 5_000


def asked(query):
    """Seconds of the processor that parsing, judging rows and searching take, however busy the machine is."""
    start = time.thread_time()
    wanted = parse(query, ITEM_FIELDS)
    test = wanted.predicate(lambda _row, _name: LONG)
    for row in range(200):
        assert test is None or test(row) in (True, False)
    search(TEXTS, wanted)
    return time.thread_time() - start


@pytest.mark.parametrize(
    "query",
    ["kind:" + "a*" * 90 + "c", "kind:" + "*a?" * 60, "kind:" + "[" * 190, "kind:[!]*", "kind:" + "a*b," * 49,
     "kind:" + "a*" * 300_000, "x" * 1_000_000, "kind:" + "[" * 1_000_000, "-" * 1_000_000, '"' * 1_000_000,
     "amber " * 150_000, "kind:fact " * 100_000, "\N{COMBINING ACUTE ACCENT}" * 1_000_000],
    ids=lambda query: f"{query[:12].strip()}-{len(query)}",
)  # fmt: skip
def test_no_filter_takes_long(query):
    assert asked(query) < 5


def test_what_is_left_out_is_said():
    assert "at most 4,000 characters: the rest of 5,000" in parse("x" * 5_000).problems[0]
    many = parse("word " * 61)
    assert len(many.words) == 60
    assert "at most 60 parts" in many.problems[-1]
    assert "at most 200 characters can be asked for" in parse("kind:" + "x" * 201).problems[0]


def test_what_is_not_understood_whole_does_nothing():
    with pytest.raises(BadInput, match="at most 60 parts"):
        filter_rows(TEXTS, "word " * 61, ITEM_FIELDS, str, lambda _row, _name: None)


def test_any_characters_at_all_are_a_filter():
    dice = random.Random(7)
    signs = 'abc "-:*?[]!,><=. kindhitsage0d\\\x00é记'
    for _ in range(3_000):
        query = "".join(dice.choices(signs, k=dice.randint(1, 60)))
        wanted = parse(query, ITEM_FIELDS)
        test = wanted.predicate(lambda _row, _name: "fact")
        assert test is None or test(0) in (True, False)
