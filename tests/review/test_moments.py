"""Any moment of the past is as it was, and the way to it and back loses nothing: compared with copies made then."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, Conflict, NanomemError, NotFound, NothingToDo
from nanomem_tui.review.moments import Moment
from nanomem_tui.store.values import ROW_LAYERS, AnyRow
from tests.store.homes import make_home

Rows = dict[tuple[str, str], AnyRow]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["add", "add", "edit", "disable", "enable", "delete", "merge", "lesson", "undo", "redo", "checkpoint",
             "reopen", "compact"]
        ),
        st.integers(0, 30),
    ),
    min_size=3,
    max_size=14,
)  # fmt: skip


@pytest.fixture
def ws(tmp_path):
    with open_workspace(make_home(tmp_path)) as opened:
        yield opened


def now(ws):
    """A copy of all that is there, but for the revision, which every checkpoint counts."""
    snapshot = ws.store.load()
    return {
        (layer, key): row._replace(revision=0)
        for layer in ROW_LAYERS
        for key, row in snapshot.table(layer).items()
        if not row.is_deleted
    }


def plain(rows):
    return {place: row._replace(revision=0) for place, row in rows.items()}


def uncounted(rows, **more):
    """Without the counters, which no moment has: no undo takes them back."""
    counted: dict[str, Any] = {"hits": 0, "last_accessed_at": None, "last_applied_at": "", **more}
    return {p: r._replace(**{n: v for n, v in counted.items() if n in r._fields}) for p, r in rows.items()}


def untimed(rows):
    """Without the time of the last change, which a restore does not take back, and without the counters."""
    return uncounted(rows, updated_at="")


def step(ws, what, number):
    """One thing that a person does; what cannot be done now is left."""
    there = sorted(key for layer, key in now(ws) if layer == "item")
    one = there[number % len(there)] if there else ""
    try:
        if what == "add":
            ws.items.add(f"Prefers tea number {number} 茶")
        elif what == "lesson":
            ws.lessons.add(f"trigger {number}", f"better {number}")
        elif what == "edit" and one:
            ws.items.edit(one, text=f"Says {number} now", importance=0.1 + number / 100)
        elif what in ("disable", "enable") and one:
            ws.items.set_enabled([one], what == "enable")
        elif what == "delete" and one:
            ws.items.delete([one])
        elif what == "merge" and len(there) > 1:
            ws.items.merge(there[:2], into=there[0])
        elif what in ("undo", "redo"):
            getattr(ws, what)()
        elif what == "checkpoint":
            ws.flush()
        elif what == "compact":
            ws.items.compact(2)
    except NanomemError:
        pass


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS, which=st.integers(0, 100))
@pytest.mark.slow
def test_every_moment_is_as_it_was_and_restoring_all_and_undoing_that_loses_nothing(steps, which):
    with TemporaryDirectory() as folder:
        home = make_home(Path(folder))
        ws = open_workspace(home)
        copies: dict[str, Rows] = {}
        for what, number in [("add", 1), *steps]:
            if what == "reopen":
                ws.close()
                ws = open_workspace(home)
            else:
                step(ws, what, number)
            newest = ws.log(1)[0].operation.id
            copies.setdefault(newest, now(ws))
        for operation, copy in copies.items():
            assert uncounted(plain(ws.moments.rows_at(ws.moments.named(operation)))) == uncounted(copy)
        chosen = list(copies)[which % len(copies)]
        before = now(ws)
        moment = ws.moments.named(chosen)
        try:
            ws.moments.restore(ws.moments.plan(moment))
        except NothingToDo:
            assert untimed(before) == untimed(copies[chosen])
        else:
            assert untimed(now(ws)) == untimed(copies[chosen])
            ws.close()
            ws = open_workspace(home)
            assert untimed(now(ws)) == untimed(copies[chosen])
            ws.undo()
            assert uncounted(now(ws)) == uncounted(before)
        ws.close()


def test_one_item_goes_back_and_what_came_later_stays(ws):
    first = ws.items.add("Drinks tea")[1].id
    then = ws.moments.named(ws.log(1)[0].operation.id)
    ws.items.edit(first, text="Drinks coffee")
    second = ws.items.add("Lives in Graz")[1].id
    ws.moments.restore(ws.moments.plan(then, lambda one: one.key == first))
    assert ws.items.get(first).text == "Drinks tea"
    assert ws.items.get(second).text == "Lives in Graz"
    assert ws.undo()[0].undoes
    assert ws.items.get(first).text == "Drinks coffee"


def test_what_changed_after_the_look_is_not_overwritten(ws):
    key = ws.items.add("Drinks tea")[1].id
    then = ws.moments.named(ws.log(1)[0].operation.id)
    ws.items.edit(key, text="Drinks coffee")
    plan = ws.moments.plan(then)
    ws.items.edit(key, text="Drinks water", importance=0.2)
    with pytest.raises(Conflict, match="changed since you looked"):
        ws.moments.restore(plan)
    assert ws.items.get(key).text == "Drinks water"


def test_a_difference_tells_what_came_went_and_changed_between_two_moments(ws):
    gone, edited = (ws.items.add(text)[1].id for text in ("Has a cat", "Has a dog"))
    first = ws.moments.named(ws.log(1)[0].operation.id)
    ws.items.delete([gone])
    ws.items.set_enabled([edited], False)
    new = ws.items.add("Has a bird")[1].id
    second = ws.moments.named(ws.log(1)[0].operation.id)
    ws.items.add("Came after both")
    found = {one.key: (one.fate, one.fields) for one in ws.moments.diff(first, second)}
    assert found == {gone: ("removed", ()), edited: ("changed", ("enabled",)), new: ("added", ())}


def test_moments_are_named_by_time_by_checkpoint_and_by_operation(ws):
    ws.items.add("Drinks tea")
    ws.flush()
    last = ws.moments.named("checkpoint-1")
    assert ws.moments.named("checkpoint -1").at == last.at
    ws.items.add("Drinks coffee")
    assert [one.now.text for one in ws.moments.diff(last)] == ["Drinks coffee"]


@pytest.mark.parametrize(
    "names", [("2 weeks ago", "2w ago", "14 days ago", "2w"), ("9 minutes ago", "9m ago", "9 min ago", "9m")]
)
def test_a_time_ago_is_said_in_short_or_in_full(ws, names):
    with clock.at(datetime(2026, 11, 20, 12, tzinfo=UTC)):
        assert len({ws.moments.named(name).at for name in names}) == 1


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("11:30", "2026-11-20 11:30:00"), ("11:30:09", "2026-11-20 11:30:09"), ("12:30", "2026-11-19 12:30:00"),
        ("today 13:00", "2026-11-20 13:00:00"), ("yesterday", "2026-11-19 00:00:00"),
        ("yesterday 11:30", "2026-11-19 11:30:00"),
    ],
)  # fmt: skip
def test_a_time_alone_is_the_last_one_that_there_was(ws, name, wanted):
    now = datetime(2026, 11, 20, 12).astimezone()
    with clock.at(now):
        at = clock.parse(ws.moments.named(name).at)
        assert at is not None
        assert f"{at.astimezone():%Y-%m-%d %H:%M:%S}" == wanted


@pytest.mark.parametrize("name", ["", "soon", "2 heeks ago", "2026-13-40", "-5h ago", "checkpoint", "99:99"])
def test_what_names_no_moment_is_refused_with_what_would(ws, name):
    with pytest.raises(BadInput, match="names no moment"):
        ws.moments.named(name)


@pytest.mark.parametrize("name", ["op_1_2_3", "checkpoint -9", "2001-01-01"])
def test_what_was_never_recorded_is_said_to_be_unknown(ws, name):
    ws.items.add("Drinks tea")
    with pytest.raises(NotFound):
        ws.moments.diff(ws.moments.named(name))


def test_a_moment_of_now_differs_in_nothing(ws):
    ws.items.add("Drinks tea")
    assert ws.moments.diff(Moment("now", "", now=True)) == []
