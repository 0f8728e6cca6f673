"""The inverted index in RAM: right by hand, the same as a rebuilt one, nothing found outside what is shown."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.language.tokens import tokens
from nanomem_tui.store.item_index import ItemIndex, group_of, rate
from nanomem_tui.store.snapshot import Snapshot
from nanomem_tui.store.values import Item
from nanomem_tui.store.word_index import LONGEST, Vocabulary, WordIndex, drop_common_characters, idf, nearest, saturated

WORDS = ("tea", "dog", "sun", "hat", "小满", "run", "running", "zebra")
texts = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
keys = st.sampled_from([f"k{n}" for n in range(8)])
groups = st.sampled_from(["a", "b", "c"])
steps = st.lists(st.tuples(keys, st.one_of(st.none(), st.tuples(texts, groups))), max_size=40)
QUERY = {"tea": 1.0, "dog": 0.5, "run": 1.0, "小满": 1.0}


def built(rows):
    index = WordIndex()
    for key, (text, group) in rows.items():
        index.put(key, text, group)
    return index


def test_scores_are_bm25_by_hand():
    index = built({"one": ("tea tea dog", "a"), "two": ("tea sun hat dog", "a"), "three": ("sun", "a")})
    mean = (3 + 4 + 1) / 3
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))

    def part(times, length):
        return idf * times * 1.9 / (times + 0.9 * (0.7 + 0.3 * length / round(mean, 2)))

    assert index.search({"tea": 1.0}, 5) == [
        (pytest.approx(part(2, 3)), "one"),
        (pytest.approx(part(1, 4)), "two"),
    ]
    assert index.search({"tea": 1.0, "dog": 2.0}, 1)[0].score == pytest.approx(part(2, 3) + 2 * part(1, 3))
    assert index.statistics(["tea", "no"]).rows_with == {"tea": 2, "no": 0}
    assert index.terms(["one"], ["tea", "sun", "dog"]) == {"one": ["tea", "dog"]}


@given(steps)
def test_after_any_changes_it_is_what_a_rebuilt_one_is(steps):
    index, rows = WordIndex(), dict[str, tuple[str, str]]()
    for key, row in steps:
        if row is None:
            index.remove(key)
            rows.pop(key, None)
        else:
            index.put(key, *row)
            rows[key] = row
    again = built(rows)
    assert set(index.words) == set(again.words)
    assert index.mean == again.mean
    for limit in (1, 2, 10):
        assert index.search(QUERY, limit) == again.search(QUERY, limit)


@given(steps, st.sets(groups), st.integers(1, 4))
def test_a_search_is_the_best_of_everything_that_is_shown(steps, seen, limit):
    rows = {key: row for key, row in steps if row is not None}
    index = built(rows)
    shown = [group in seen for group in index.groups()]
    everything = [one for one in index.search(QUERY, 1000) if rows[one.key][1] in seen]
    found = index.search(QUERY, limit, shown)
    assert [one.key for one in found] == [one.key for one in everything[:limit]]
    near = index.search(QUERY, limit, shown, slack=0.2)
    least = everything[limit - 1].score * 0.8 if len(everything) >= limit else 0.0
    assert [one.key for one in near] == [one.key for one in everything if one.score >= least - 1e-9]


def test_common_words_do_not_hide_what_a_chat_may_see():
    rows = {f"r{n}": ("tea tea tea", "others") for n in range(500)}
    rows["mine"] = ("a long text with much else in it and tea", "mine")
    index = built(rows)
    assert [one.key for one in index.search({"tea": 1.0}, 3, [False, True])] == ["mine"]


def test_gaps_are_closed_and_rows_found_as_before():
    index = built({"kept": ("tea dog dog", "a")})
    for number in range(3000):
        index.put("moving", f"tea number {number}", "a")
    assert len(index) == 2
    assert {one.key for one in index.search({"tea": 1.0}, 5)} == {"kept", "moving"}
    assert index.terms(["kept"], ["dog"]) == {"kept": ["dog"]}
    assert index.search({"2999": 1.0}, 5)[0].key == "moving"
    assert not index.has("2998")


def test_a_row_that_moves_to_another_group_is_seen_there_only():
    index = built({"one": ("tea", "a")})
    index.put("one", "tea", "b")
    assert index.groups() == ["a", "b"]
    assert index.search({"tea": 1.0}, 5, [True, False]) == []
    assert index.search({"tea": 1.0}, 5, [False, True])[0].key == "one"


rows_of_items = st.builds(
    Item,
    id=keys,
    text=texts,
    enabled=st.booleans(),
    is_deleted=st.booleans(),
    scope_key=groups,
)


@given(st.lists(rows_of_items, max_size=30))
def test_the_index_of_a_snapshot_follows_every_put(rows):
    snapshot = Snapshot()
    index = ItemIndex(snapshot)
    index.build()
    for row in rows:
        snapshot.put("item", [row])
        index.best(QUERY, 3)
    fresh = ItemIndex(snapshot)
    fresh.build()
    assert index.best(QUERY, 10) == fresh.best(QUERY, 10)
    alive = [row for row in snapshot.items.values() if row.enabled and not row.is_deleted]
    with snapshot.lock:
        rated = rate(alive, QUERY, index.current().statistics(QUERY))
    assert {one.item.id for one in rated} == {one.item.id for one in index.best(QUERY, 100)}
    scores = {one.item.id: one.score for one in rated}
    assert all(one.score == pytest.approx(scores[one.item.id], abs=0.02) for one in index.best(QUERY, 100))


def test_everything_exchanged_at_once_is_noticed():
    snapshot = Snapshot()
    snapshot.put("item", [Item("old", "tea")])
    index = ItemIndex(snapshot)
    index.build()
    snapshot.clear()
    snapshot.put("item", [Item("new", "tea")])
    assert [one.item.id for one in index.best({"tea": 1.0}, 5)] == ["new"]
    assert group_of(Item("x", "", "fact", "chat", "key")) == ("chat", "key", "fact", None, None)
    told = Item("x", "", "fact", "user", "channel:api:user:a:b", chat_id="a:b", sender_id="a:b")
    assert group_of(told) == ("user", told.scope_key, "fact", "a:b", "a:b")
    assert group_of(told._replace(chat_id="b")) == ("user", told.scope_key, "fact", "a:b", "b")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("zebr", "zebra"),
        ("zbera", "zebra"),
        ("xebra", "zebra"),
        ("zebraa", "zebra"),
        ("counselng", "counseling"),
        ("counslenig", "counseling"),
        ("cat", None),
        ("v2026", None),
        ("giraffe", None),
    ],
)
def test_a_slip_finds_the_word_that_is_there(word, meant):
    vocabulary = Vocabulary()
    vocabulary.add(["zebra", "counseling", "car", "v2025"])
    assert vocabulary.nearest(word, lambda _: 1) == meant


def test_of_near_words_the_one_that_more_rows_hold_and_none_that_is_gone():
    counts = {"house": 3, "mouse": 9, "hose": 0, "horse": 5}
    assert nearest("houses", list(counts), counts.__getitem__) == "house"
    assert nearest("hourse", list(counts), counts.__getitem__) == "horse"
    assert nearest("hosse", ["hose"], counts.__getitem__) is None


def test_a_misspelt_stop_word_becomes_no_other_word():
    vocabulary = Vocabulary()
    vocabulary.add(["wheat", "zebra"])
    assert vocabulary.nearest("wheaat", lambda _: 1) == "wheat"
    assert vocabulary.nearest("whta", lambda _: 1) is None


def test_words_of_one_root_are_related():
    vocabulary = Vocabulary()
    vocabulary.add(["counselor", "counsel", "county", "psychology", "psycholog"])
    assert [word for word, _ in vocabulary.related("counseling"[:8])] == ["counselor", "counsel"]
    assert "county" not in dict(vocabulary.related("counsel"))


def test_single_characters_that_many_rows_hold_are_left_out():
    counts = {"小满": 900, "小": 900, "满": 3, "x": 900}
    kept = drop_common_characters({"小满": 1.0, "小": 0.4, "满": 0.4, "x": 1.0}, 1000, counts.__getitem__)
    assert set(kept) == {"小满", "满", "x"}


Row = tuple[str, int]
"""The text of a row and its group."""

RANKED = [f"w{number}" for number in range(60)]
ODDS = [1 / (1 + number) for number in range(60)]


def some_text(chance):
    return " ".join(chance.choices(RANKED, ODDS, k=chance.randint(1, 14)))


def added_up(rows, weights, limit, shown, slack):
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
def test_what_is_found_is_what_adding_up_everything_finds(count, seed):
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
        asked = dict.fromkeys(chance.choices(RANKED, k=chance.choice((1, 2, 3, 5, 8, 16))), 1.0)
        asked[chance.choice(RANKED)] = 0.4
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
