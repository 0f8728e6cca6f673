"""The index in RAM finds what a look at every vector finds, whatever was put in, taken out and asked for."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.vectors.collection import ROOM, Near, RamCollection, Row, nearest_among

if TYPE_CHECKING:
    pass


def vectors(count, dimension=16, seed=7):
    rows = np.random.default_rng(seed).normal(size=(count, dimension))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def rows_of(keys, made, text_hash="h"):
    return [Row(key, text_hash, vector) for key, vector in zip(keys, made, strict=True)]


def keys_of(near):
    return [one.key for one in near]


def plain(known, question, within):
    """All of them, nearest first, in the plainest way."""
    rows = [(1 - float(vector @ question), key) for key, vector in known.items() if within is None or key in within]
    return [key for _, key in sorted(rows)]


def test_an_empty_index_finds_nothing():
    index = RamCollection(16)
    assert index.nearest(vectors(1)[0], 5) == []
    assert index.nearest(vectors(1)[0], 5, {"a"}) == []
    assert len(index) == 0


@given(
    st.lists(
        st.tuples(st.sampled_from(["put", "remove"]), st.lists(st.integers(0, 40), max_size=12)),
        min_size=1,
        max_size=12,
    ),
    st.integers(0, 8),
    st.none() | st.sets(st.integers(0, 40), max_size=20),
)
def test_it_finds_what_a_look_at_every_vector_finds(steps, limit, within):
    index, known = RamCollection(16), dict[str, Any]()
    for number, (what, numbers) in enumerate(steps):
        keys = list(dict.fromkeys(f"k{n}" for n in numbers))
        if what == "put":
            made = vectors(len(keys), seed=number)
            index.upsert(rows_of(keys, made, f"h{number}"))
            known |= dict(zip(keys, made, strict=True))
        else:
            index.delete(keys)
            known = {key: vector for key, vector in known.items() if key not in keys}
    question = vectors(1, seed=99)[0]
    asked = None if within is None else {f"k{n}" for n in within}
    found = index.nearest(question, limit, asked)
    assert keys_of(found) == plain(known, question, asked)[:limit]
    assert all(one.distance == pytest.approx(1 - float(known[one.key] @ question), abs=1e-5) for one in found)
    assert len(index) == len(known)
    assert set(index.hashes) == set(known)


def test_it_grows_beyond_its_first_room_and_keeps_what_it_had():
    index, rows = RamCollection(16), vectors(3 * ROOM + 1)
    keys = [f"k{n:04}" for n in range(len(rows))]
    index.upsert(rows_of(keys[:10], rows[:10]))
    index.upsert(rows_of(keys[10:], rows[10:]))
    for place in (0, 9, 10, ROOM, 3 * ROOM):
        assert index.nearest(rows[place], 1)[0] == (keys[place], pytest.approx(0, abs=1e-5), "h")


def test_a_few_of_many_are_found_among_those_alone():
    index, rows = RamCollection(16), vectors(1000)
    keys = [f"k{n:04}" for n in range(1000)]
    index.upsert(rows_of(keys, rows))
    few = {keys[5], keys[700], "not there"}
    known = dict(zip(keys, rows, strict=True))
    assert keys_of(index.nearest(rows[1], 10, few)) == plain(known, rows[1], few)

    class Rule:
        def __contains__(self, key):
            return key in few

    assert keys_of(index.nearest(rows[1], 10, Rule())) == plain(known, rows[1], few)


def test_equal_ones_come_in_the_order_of_their_ids():
    index, same = RamCollection(16), np.repeat(vectors(1), 9, axis=0)
    index.upsert(rows_of("ebiahdcgf", same))
    assert keys_of(index.nearest(same[0], 4)) == ["a", "b", "c", "d"]


def test_a_distance_is_never_below_zero():
    index, rows = RamCollection(384), vectors(50, 384)
    index.upsert(rows_of([str(n) for n in range(50)], rows))
    assert all(index.nearest(row, 1)[0].distance >= 0 for row in rows)


def test_what_is_asked_for_more_than_there_is_gives_all_there_is():
    asked: list[int] = []

    def ask(size):
        asked.append(size)
        return [Near(f"k{n}", n / 100, "h") for n in range(min(size, 50))]

    assert keys_of(nearest_among(ask, 50, 3, {"k1", "k48", "k49"})) == ["k1", "k48", "k49"]
    assert len(asked) > 1
    assert nearest_among(ask, 50, 3, set()) == []


def test_threads_may_ask_while_others_put_and_remove():
    index, rows = RamCollection(16), vectors(2000)
    fixed = [f"f{n}" for n in range(100)]
    index.upsert(rows_of(fixed, rows[:100]))
    wrong: list[object] = []

    def change():
        for start in range(100, 1900, 100):
            keys = [f"m{n}" for n in range(start, start + 100)]
            index.upsert(rows_of(keys, rows[start : start + 100]))
            index.delete(keys[::2])

    changing = threading.Thread(target=change)
    changing.start()
    while changing.is_alive():
        place = 42
        if index.nearest(rows[place], 1)[0].key != fixed[place]:
            wrong.append(place)
    changing.join()
    assert not wrong
    assert len(index) == 100 + 18 * 50
