"""The search by bitmaps: what it finds is what adding up every word of every row finds, also after changes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.store import bitmaps
from nanomem_tui.store.bitmaps import Bitmaps, Bounds, Held, packed, places_of
from nanomem_tui.store.word_index import WordIndex, idf
from nanomem_tui.store.word_search import LONGEST, saturated
from nanomem_tui.tokens import tokens

Row = tuple[str, int]
"""The text of a row and its group."""

WORDS = [f"w{number}" for number in range(60)]
ODDS = [1 / (1 + number) for number in range(60)]


def some_text(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, ODDS, k=chance.randint(1, 14)))


def added_up(
    rows: Mapping[str, Row], weights: Mapping[str, float], limit: int, shown: Sequence[bool] | None, slack: float
) -> list[tuple[str, float]]:
    """The answer the long way: every word of every row, rare words first, as BM25 says."""
    held = {key: Counter(tokens(text)) for key, (text, _) in rows.items()}
    lengths = {key: min(LONGEST, counts.total()) for key, counts in held.items()}
    mean = round(max(1.0, sum(lengths.values()) / len(rows)), 2)
    rows_with = {word: sum(1 for counts in held.values() if word in counts) for word in weights}
    found = []
    for key, counts in held.items():
        score = 0.0
        for word in sorted(weights, key=lambda word: (rows_with[word], word)):
            if word in counts:
                value = weights[word] * idf(len(rows), rows_with[word])
                score += value * saturated(counts[word], lengths[key], mean)
        if score and (shown is None or shown[rows[key][1]]):
            found.append((key, score))
    found.sort(key=lambda one: (-one[1], one[0]))
    if slack and len(found) > limit:
        least = found[limit - 1][1] * (1 - slack)
        return [one for one in found if one[1] >= least]
    return found if slack else found[:limit]


@pytest.mark.slow
@pytest.mark.parametrize(("count", "seed"), [(40, 1), (700, 2), (2500, 3)])
def test_what_is_found_is_what_adding_up_everything_finds(count: int, seed: int) -> None:
    chance = random.Random(seed)
    index = WordIndex()
    for group in range(3):
        index.put(f"first {group}", "nothing", group)
    rows: dict[str, Row] = {f"first {group}": ("nothing", group) for group in range(3)}
    for number in range(count):
        rows[f"k{number:04}"] = some_text(chance), chance.choice((0, 0, 0, 1, 2))
    for key, (text, group) in rows.items():
        index.put(key, text, group)
    for _ in range(50):
        asked = dict.fromkeys(chance.choices(WORDS, k=chance.choice((1, 2, 3, 5, 8, 16))), 1.0)
        asked[chance.choice(WORDS)] = 0.4
        shown = chance.choice((None, [True, False, False], [False, True, True], [False, False, True]))
        limit, slack = chance.choice((1, 3, 12, 200)), chance.choice((0.0, 0.05, 0.3))
        found = index.search(asked, limit, shown, slack)
        expected = added_up(rows, asked, limit, shown, slack)
        assert [one.key for one in found] == [key for key, _ in expected]
        assert [one.score for one in found] == pytest.approx([score for _, score in expected])
        for _ in range(3):
            key = f"k{chance.randrange(count + 20):04}"
            if chance.random() < 0.3:
                index.remove(key)
                rows.pop(key, None)
            else:
                rows[key] = some_text(chance), chance.randrange(3)
                index.put(key, *rows[key])


def test_few_bitmaps_are_kept_and_any_word_is_still_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bitmaps, "LEAST_BYTES", 0)
    monkeypatch.setattr(bitmaps, "A_ROW", 0)
    kept = Bitmaps()
    for number in range(40):
        assert set(places_of(kept.of(f"w{number}", range(number, 50), None, 50).rows.number)) == set(range(number, 50))
    assert places_of(kept.of("w0", range(55), {52: 2}, 55).more.number) == [52]


@given(st.sets(st.integers(0, 400)), st.sets(st.integers(0, 400)), st.sets(st.integers(0, 400)))
def test_a_bitmap_follows_what_is_added_and_taken_away(first: set[int], later: set[int], gone: set[int]) -> None:
    later = {place + 401 for place in later}
    kept = Bitmaps()
    before = sorted(first)
    assert set(places_of(kept.of("tea", before, None, 401).rows.number)) == first
    for place in gone & first:
        kept.discard({"tea"}, place)
    now = sorted(first - gone | later)
    held = kept.of("tea", now, dict.fromkeys(later, 2), 802)
    assert sorted(places_of(held.rows.number)) == now
    assert set(places_of(held.more.number)) == later
    kept.clear()
    assert kept.of("tea", 7, None, 8).rows.number == 1 << 7


@given(st.lists(st.booleans(), max_size=200))
def test_flags_are_packed_as_bits(flags: list[bool]) -> None:
    assert set(places_of(packed(bytes(flags)))) == {place for place, flag in enumerate(flags) if flag}


@given(
    st.lists(st.tuples(st.sets(st.integers(0, 30)), st.floats(0.1, 5), st.floats(1, 2)), min_size=1, max_size=6),
    st.floats(0.05, 20),
)
def test_no_row_that_may_be_worth_enough_is_left_out(words: list[tuple[set[int], float, float]], need: float) -> None:
    held = [Held(sorted(rows), [row for row in rows if row % 3 == 0], 31) for rows, _, _ in words]
    bounds = Bounds(held, [once for _, once, _ in words], [once * more for _, once, more in words])
    worth = {
        row: sum(once * (more if row % 3 == 0 else 1) for rows, once, more in words if row in rows) for row in range(31)
    }
    found = set(places_of(bounds.reaching(need)))
    assert {row for row, value in worth.items() if value >= need + 1e-9} <= found
    assert found <= {row for row, value in worth.items() if value >= need - 1e-9}
