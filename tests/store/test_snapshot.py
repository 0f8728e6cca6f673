"""The RAM snapshot: rows, what is dirty, and what is shown of other processes."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.errors import BadInput, Conflict
from nanomem_tui.operations import Change, new_operation
from nanomem_tui.store.row_layer import RowLayer
from nanomem_tui.store.snapshot import Snapshot, Step, change_of, patched, row_from
from nanomem_tui.store.values import Item, Lesson

ONE = Item("a", "text", hits=2, updated_at="2026-01-01")
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "text": st.text(max_size=5),
        "hits": st.integers(0, 50),
        "enabled": st.booleans(),
        "is_deleted": st.booleans(),
        "importance": st.floats(0, 1),
        "channel": st.none() | st.text(max_size=3),
        "updated_at": st.sampled_from(["", "2025", "2026", "2027"]),
    },
)


@given(FIELDS, FIELDS)
def test_a_change_and_its_inverse_give_the_row_back(start: dict[str, object], fields: dict[str, object]) -> None:
    before = ONE._replace(**start)  # type: ignore[arg-type]
    after = before._replace(**fields)  # type: ignore[arg-type]
    change = change_of("item", before, after)
    assert patched(before, change) == after
    assert patched(after, change.inverse()) == before


def test_only_changed_fields_are_recorded_and_never_the_revision() -> None:
    change = change_of("item", ONE, ONE._replace(text="new", revision=9))
    assert (change.before, change.after) == ({"text": "text"}, {"text": "new"})
    assert "revision" not in (change_of("item", None, ONE).after or {})


def test_an_unknown_field_of_a_newer_release_is_ignored() -> None:
    assert row_from("item", {"id": "a", "text": "x", "mood": "new"}) == Item("a", "x")
    assert patched(ONE, Change("item", "a", {"mood": 1}, {"mood": 2, "text": "y"})) == ONE._replace(text="y")


def test_dirty_rows_remember_where_they_started() -> None:
    snapshot = Snapshot([ONE])
    for text in ("b", "c"):
        snapshot.put("item", ONE._replace(text=text))
    snapshot.put("lesson", Lesson("l"))
    assert [(d.base, d.row) for d in snapshot.dirty_rows()] == [(ONE, ONE._replace(text="c")), (None, Lesson("l"))]
    written = [("item", ONE._replace(text="c", revision=1)), ("lesson", Lesson("l", revision=1))]
    snapshot.settle(snapshot.dirty_rows(), written)
    assert snapshot.dirty == 0
    assert snapshot.items["a"].revision == 1


def test_what_is_shown_is_not_ours_to_write_until_it_is_taken_over() -> None:
    snapshot = Snapshot([ONE])
    change = change_of("item", ONE, ONE._replace(text="theirs", hits=5))
    snapshot.show("op", change)
    assert (snapshot.items["a"].text, snapshot.dirty) == ("theirs", 0)
    assert snapshot.unwritten() == {("item", "a")}
    snapshot.rebase("item", "a", ONE, [Step("", change, False, False)])
    assert [(d.base, d.row.text, d.row.hits, d.effects) for d in snapshot.dirty_rows()] == [(ONE, "theirs", 5, set())]


def test_a_row_begins_anew_with_all_that_was_recorded_in_order() -> None:
    snapshot = Snapshot([ONE])
    theirs = change_of("item", ONE, ONE._replace(text="theirs", hits=5))
    snapshot.show("op", theirs)
    ours = change_of("item", snapshot.items["a"], snapshot.items["a"]._replace(text="text", hits=7))
    snapshot.patch(ours)
    assert [(d.row.text, d.effects) for d in snapshot.dirty_rows()] == [("text", {"op"})]
    committed = ONE._replace(text="theirs", hits=9, pinned=True, revision=4)
    snapshot.rebase("item", "a", committed, [Step("", ours, False, True)])
    row = snapshot.items["a"]
    assert (row.text, row.hits, row.pinned, row.revision) == ("text", 11, True, 4)
    snapshot.rebase("item", "a", None, [])
    assert "a" not in snapshot.items
    assert snapshot.dirty == 0


def test_what_the_database_says_replaces_what_is_shown_and_not_what_is_dirty() -> None:
    snapshot = Snapshot([ONE, Item("b", "text")])
    snapshot.show("op", change_of("item", ONE, ONE._replace(text="theirs")))
    snapshot.put("item", Item("b", "ours"))
    committed = [ONE._replace(text="committed", revision=4), Item("b", "committed", revision=4)]
    assert snapshot.take("item", committed) == committed[1:], "the dirty one, to be begun anew"
    assert {row.text for row in snapshot.items.values()} == {"committed", "ours"}
    assert snapshot.replace_all([ONE], []) == []
    assert {row.text for row in snapshot.items.values()} == {"text", "ours"}


def test_every_change_moves_the_counter() -> None:
    snapshot = Snapshot([ONE])
    seen = [snapshot.counter]
    snapshot.put("item", ONE._replace(hits=9))
    seen.append(snapshot.counter)
    snapshot.show("op", change_of("item", ONE, ONE._replace(text="x")))
    seen.append(snapshot.counter)
    snapshot.replace_all([], [])
    seen.append(snapshot.counter)
    assert seen == sorted(set(seen))


def test_a_change_that_does_not_fit_is_refused() -> None:
    layer = RowLayer("item", Snapshot([ONE, Item("gone", is_deleted=True, text="")]))
    layer.check([Change("item", "a", {"text": "text", "hits": 99, "updated_at": "x"}, {"text": "y"})])
    layer.check([change_of("item", None, Item("gone", "again"))])
    for change, says in (
        (Change("item", "a", {"text": "other"}, {"text": "y"}), "changed since"),
        (Change("item", "none", {"text": "x"}, {"text": "y"}), "is gone"),
        (change_of("item", None, ONE), "already there"),
    ):
        with pytest.raises(Conflict, match=says):
            layer.check([change])
    with pytest.raises(BadInput, match="surrogate"):
        layer.check([Change("item", "a", {"channel": None}, {"channel": "\ud800"})])


def test_threads_lose_no_hit() -> None:
    snapshot = Snapshot([ONE])
    layer = RowLayer("item", snapshot)

    def work() -> None:
        for _ in range(200):
            with snapshot.lock:
                row = snapshot.items["a"]
                changes = [change_of("item", row, row._replace(hits=row.hits + 1))]
                layer.apply(new_operation("turn", "", changes), changes)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert snapshot.items["a"].hits == 2 + 800
