"""What a compaction removes: copies within a scope, then what is beyond the cap, oldest first."""

from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.memory.retention import compact_items, compact_lessons
from nanomem_tui.store.values import Item, Lesson

ROWS = st.lists(
    st.builds(
        Item,
        id=st.uuids().map(str),
        text=st.sampled_from(["a", "A ", " b", "c", "d"]),
        kind=st.sampled_from(["fact", "decision"]),
        scope_key=st.sampled_from(["x", "y"]),
        updated_at=st.integers(10, 99).map(str),
        hits=st.integers(0, 5),
        enabled=st.booleans(),
        pinned=st.booleans(),
    ),
    max_size=12,
    unique_by=lambda row: row.id,
)


def ids(rows):
    return [row.id for row in rows]


def row(key, text="", updated="", **fields):
    return Item(key, text or key, updated_at=updated or key, **fields)


def test_copies_go_and_the_newest_stays_with_their_hits():
    plan = compact_items([row("1", "Dark  mode", hits=2), row("3", "dark mode"), row("2", "DARK MODE", hits=1)], 0)
    assert ids(plan.kept) == ["3"]
    assert [(r.id, why) for r, why in plan.removed] == [("2", "same text as 3"), ("1", "same text as 3")]
    assert plan.absorbed == {"3": 3}


def test_the_same_words_in_another_scope_or_of_another_kind_are_no_copy():
    plan = compact_items([row("1", "x"), row("2", "x", scope_key="chat"), row("3", "x", kind="decision")], 0)
    assert plan.removed == ()


def test_beyond_the_cap_the_oldest_go_and_pinned_ones_never():
    rows = [row(str(n)) for n in range(1, 6)]
    rows[0] = rows[0]._replace(pinned=True)
    plan = compact_items(rows, 2)
    assert sorted(ids(plan.kept)) == ["1", "5"]
    assert {why for _, why in plan.removed} == {"older than the newest 2"}
    assert ids(compact_items([r._replace(pinned=True) for r in rows], 2).kept) == ["5", "4", "3", "2", "1"]


def test_a_disabled_row_is_neither_removed_nor_counted():
    rows = [row("1"), row("2", enabled=False), row("3", "1")]
    assert sorted(ids(compact_items(rows, 1).kept)) == ["2", "3"]
    lessons = [Lesson(str(n), trigger="t", better_action="b", updated_at=str(n)) for n in (1, 2)]
    lessons.append(Lesson("3", trigger="t", better_action="b", updated_at="3", enabled=False))
    plan = compact_lessons(lessons, 1)
    assert sorted(ids(plan.kept)) == ["2", "3"]


def test_lessons_of_two_sessions_are_no_copies():
    rows = [Lesson(s, trigger="t", better_action="b", session_key=s, updated_at=s) for s in ("a", "b")]
    assert compact_lessons(rows, 0).removed == ()
    assert ids(compact_lessons(rows, 1).kept) == ["b"]


@given(ROWS, st.integers(0, 6))
def test_nothing_is_lost_from_the_sight_of_a_compaction(rows, limit):
    plan = compact_items(rows, limit)
    removed = [r for r, _ in plan.removed]
    assert sorted(ids(plan.kept) + [r.id for r in removed]) == sorted(r.id for r in rows)
    assert not [r for r in removed if r.pinned or not r.enabled]
    counted = [r for r in plan.kept if r.enabled and not r.pinned]
    assert limit == 0 or len(counted) <= limit
    copies = [r for r, why in plan.removed if why.startswith("same")]
    assert sum(plan.absorbed.values()) == sum(r.hits for r in copies)
    assert set(plan.absorbed) <= {r.id for r in plan.kept}
    again = compact_items(list(plan.kept), limit)
    assert again.removed == (), "done once, there is nothing left to do"
