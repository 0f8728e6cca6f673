"""The rows behind a list: what a filter shows at once, and all that it finds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.screens.base.list_screen import AT_ONCE, FIRST_ROWS, Listing

WORDS = st.sampled_from(["amber", "Amber river", "river", "茶", "ค่ำ", "x"])


def listing(rows):
    made: Listing[str] = Listing(lambda row: row, lambda row: row, lambda _row, _name: None, {})
    made.set_rows(rows)
    return made


def all_of(of, query):
    of.set_query(query)
    view = list(of.views(of.next_turn()))[-1]
    assert of.accept(view)
    return view


def first_of(of, query):
    of.set_query(query)
    return of.first_view(of.next_turn())


@given(st.lists(WORDS, max_size=40), st.integers(0, 120), WORDS, st.booleans())
def test_what_is_shown_at_once_is_what_is_found_in_the_end(some, more, query, searched):
    rows = [f"{text} {number}" for number, text in enumerate([*some, *["river"] * more])]
    of = listing(rows)
    if searched:
        all_of(of, query[:1])
    first = first_of(of, query)
    found = all_of(of, query)
    if first is None:
        assert found.found.fuzzy or not searched or len(found.rows) < FIRST_ROWS
    elif first.done:
        assert list(first.rows) == list(found.rows)
    else:
        assert [*first.rows] == [row for row in rows if row in set(found.rows)][: len(first.rows)]


def test_without_a_filter_all_rows_are_there_at_once():
    of = listing([f"row {number}" for number in range(100_000)])
    all_of(of, "99")
    view = first_of(of, "")
    assert view is not None
    assert view.done
    assert len(view.rows) == 100_000


def test_of_many_rows_the_first_are_there_before_any_text_is_made_ready():
    read: list[str] = []
    of: Listing[str] = Listing(lambda row: row, lambda row: read.append(row) or row, lambda _row, _name: None, {})
    of.set_rows([f"amber {number}" for number in range(50_000)])
    view = first_of(of, "amber")
    assert view is not None
    assert not view.done
    assert len(view.rows) >= FIRST_ROWS
    assert len(read) == AT_ONCE


def test_texts_made_ready_are_made_once():
    read: list[str] = []
    of: Listing[str] = Listing(lambda row: row, lambda row: read.append(row) or row, lambda _row, _name: None, {})
    of.set_rows([f"amber {number}" for number in range(5_000)])
    of.fold()
    all_of(of, "amber 7")
    assert len(read) == 5_000
