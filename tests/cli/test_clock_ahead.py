"""A clock that was ahead once dates only what was done then; the order of changes is kept all the same."""

from datetime import UTC, datetime, timedelta

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from tests.store.test_undo_of_a_person import told

AHEAD = datetime(2030, 1, 1, 10, tzinfo=UTC)


def labels(run):
    return [(row["label"], row["at"][:4]) for row in run("log", "--json").json if row["actor"] == "human"]


@pytest.mark.usefixtures("workspace")
def test_the_next_change_shows_the_true_time_and_stands_above(run):
    with told(AHEAD):
        run("memory", "add", "--text", "The clock was ahead")
    run("memory", "add", "--text", "The clock is right again")
    run("memory", "add", "--text", "And still is")
    this_year = clock.iso(clock.now())[:4]
    found = labels(run)
    assert [year for _, year in found] == [this_year, this_year, "2030"]
    assert "And still is" in found[0][0]
    out = [line for line in run("log").out.splitlines() if "clock" in line]
    assert ["2030" in line for line in out] == [False, True]
    run("undo")
    texts = [row["text"] for row in run("memory", "list", "--json").json]
    assert ("And still is" in texts, "The clock is right again" in texts) == (False, True)


@pytest.mark.slow
@pytest.mark.usefixtures("workspace")
def test_the_order_outlives_more_changes_than_are_looked_at(run, workspace):
    with told(AHEAD), open_workspace(workspace) as ws:
        ws.items.add("made ahead")
    with open_workspace(workspace) as ws:
        for number in range(120):
            ws.items.add(f"note {number}")
    with open_workspace(workspace) as ws:
        ws.items.add("the last one")
    found = labels(run)
    assert "the last one" in found[0][0]
    assert [label for label, year in found if year == "2030"] == []  # on a later page
    rows = run("log", "--json", "--limit", "200").json
    mine = [row for row in rows if row["actor"] == "human"]
    assert "made ahead" in mine[-1]["label"]
    assert {row["at"][:4] for row in mine[:-1]} == {clock.iso(clock.now())[:4]}


def test_changes_that_wait_in_several_processes_keep_their_order(run, workspace):
    with told(AHEAD), open_workspace(workspace) as ws:
        ws.items.add("first, ahead")
        other = open_workspace(workspace)
        with told(AHEAD - timedelta(days=1000)):
            other.items.add("second, right")
            ws.items.add("third, right")
        other.close()
    found = [label for label, _ in labels(run)]
    places = [next(at for at, label in enumerate(found) if word in label) for word in ("third", "second", "first")]
    assert places == sorted(places)
    run("undo", "2")
    assert [row["text"] for row in run("memory", "list", "--json").json if "," in row["text"]] == ["first, ahead"]


@pytest.mark.usefixtures("workspace")
def test_changes_of_one_instant_still_have_times_of_their_own(run, workspace):
    with open_workspace(workspace) as ws:
        for number in range(5):
            ws.items.add(f"quick {number}")
    times = [row["at"] for row in run("log", "--json").json if "quick" in row["label"]]
    assert times == sorted(times, reverse=True)
    assert len(set(times)) == 5
