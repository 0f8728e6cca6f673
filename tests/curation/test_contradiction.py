"""What two memories say that cannot both be so, judged on labelled pairs; a false contradiction costs a person time."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from nanomem_tui.curation.contradiction import rivals, said

FOLDER = Path(__file__).parent / "contradictions"


class Pair(NamedTuple):
    label: str
    about: str
    older: str
    newer: str


def pairs(half: str) -> list[Pair]:
    lines = (FOLDER / f"{half}.tsv").read_text("utf-8").splitlines()
    return [Pair(*line.split("\t")) for line in lines if not line.startswith("#")]


@pytest.mark.parametrize(("half", "precision", "recall"), [("development", 0.98, 0.95), ("held_out", 0.95, 0.80)])
def test_of_the_pairs_that_are_shown_nearly_all_contradict_and_most_contradictions_are_found(
    half: str, precision: float, recall: float
) -> None:
    found = pairs(half)
    shown = [pair for pair in found if rivals(pair.older, pair.newer)]
    right = [pair for pair in shown if pair.label == "conflict"]

    assert len(found) > 200
    assert len(right) / len(shown) >= precision, [pair for pair in shown if pair.label == "both"]
    assert len(right) / sum(pair.label == "conflict" for pair in found) >= recall


def test_the_two_halves_share_no_pair() -> None:
    halves = [{pair[2:] for pair in pairs(half)} for half in ("development", "held_out")]

    assert not halves[0] & halves[1]


@pytest.mark.parametrize("half", ["development", "held_out"])
def test_it_is_the_same_whichever_text_comes_first(half: str) -> None:
    for pair in pairs(half):
        assert bool(rivals(pair.older, pair.newer)) is bool(rivals(pair.newer, pair.older)), pair


@pytest.mark.parametrize("half", ["development", "held_out"])
def test_no_text_contradicts_itself(half: str) -> None:
    for pair in pairs(half):
        assert rivals(pair.older, pair.older) is None
        assert rivals(pair.newer, f"{pair.newer}.") is None


def test_what_is_said_otherwise_is_told_in_words() -> None:
    home = rivals("Ana lives in Berlin", "Ana lives in Munich")
    coffee = rivals("User likes coffee", "User does not like coffee")

    assert home is not None
    assert home.words() == "home of ana: Berlin ≠ Munich"
    assert coffee is not None
    assert coffee.words() == "one says yes, the other no"


@pytest.mark.parametrize(
    "text", ["", "?", " \n ", "\x1b[31m", "a" * 10_000, "住" * 5_000, "is is is is", "：：：", "ไม่"]
)
def test_a_text_that_says_nothing_is_no_trouble(text: str) -> None:
    assert said(text) == ()


def test_a_text_made_to_be_slow_is_read_at_once() -> None:
    import time

    start = time.perf_counter()
    for text in ("my " * 130, "a is " * 80, "not " * 100, "我的" * 190, "は" * 390, "ไม่" * 130, "prefers x over " * 26):
        said(text[:400])

    assert time.perf_counter() - start < 2
