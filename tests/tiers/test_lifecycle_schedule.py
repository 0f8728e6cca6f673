"""When the lifecycle runs by itself, and when it does not; the room and the sizes of tiers."""

import time

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.background import move_if_due
from nanomem_tui.core import clock
from nanomem_tui.core.atomic import locked, make_folder
from nanomem_tui.core.errors import Refused
from nanomem_tui.store.work import records
from nanomem_tui.tiers import lifecycle, lifecycle_runs
from nanomem_tui.tiers.records import NewRecord
from tests.tiers.test_lifecycle import DAY, MINUTE, NOW, all_of, filled, kept

# -- the clock --------------------------------------------------------------------------------------------------------


def test_a_clock_that_jumped_back_moves_nothing(ws):
    filled(ws)
    with clock.at(NOW - 200 * DAY):
        assert ws.lifecycle.run().operation is None
        assert ws.lifecycle.step().kind == "waiting"  # a run in the future counts as one of now
    with clock.at(NOW - 800 * DAY):
        ws.lifecycle.run()
    assert ws.lifecycle.run().operation is not None  # and set right again it is believed


def test_a_clock_that_jumped_far_forward_is_not_believed(ws):
    filled(ws)
    before = all_of(ws)
    with clock.at(NOW + 400 * DAY):
        with pytest.raises(Refused, match="the clock says 2027-04-06, and the last record came on 2026-03-02"):
            ws.lifecycle.run()
        assert ws.lifecycle.plan().refused
        assert ws.lifecycle.step().kind == "failed"
        assert all_of(ws) == before
        assert ws.lifecycle.run(force=True).operation is not None


def test_records_that_came_after_the_jump_do_not_hide_it(ws):
    filled(ws)
    ws.lifecycle.run()
    with clock.at(NOW + 400 * DAY):
        ws.records.store("event", {"category": "event", "data": {}}, "new")
        with pytest.raises(Refused, match="the last run was on 2026-03-02"):
            ws.lifecycle.run()


# -- by itself, by one ----------------------------------------------------------------------------------------------


def test_a_run_is_made_once_a_day_by_whoever_looks_first(place):
    with clock.at(NOW), open_workspace(place) as one, open_workspace(place) as two:
        filled(one)
        assert one.lifecycle.step(not_before=NOW + MINUTE).kind == "waiting"
        outcome = one.lifecycle.step()
        assert outcome.kind == "ran"
        assert "3 goals" in outcome.said
        assert two.lifecycle.step().kind == "waiting"
        with clock.at(NOW + DAY - MINUTE):
            assert two.lifecycle.step().kind == "waiting"
        with clock.at(NOW + DAY):
            assert two.lifecycle.step().kind == "nothing"
            assert one.lifecycle.step().kind == "waiting"


def test_two_runs_at_once_are_one_and_a_refusal(ws):
    filled(ws)
    make_folder(ws.paths.data)
    with locked(ws.paths.data / lifecycle_runs.LOCK):
        with pytest.raises(Refused, match="under way"):
            ws.lifecycle.run()
        assert ws.lifecycle.step().kind == "busy"
    assert ws.lifecycle.run().operation is not None


@pytest.mark.slow
def test_after_an_undo_only_a_person_begins_the_next_run(ws):
    filled(ws)
    outcome = ws.lifecycle.step()
    assert outcome.kind == "ran"
    ws.undo(ws.log()[0].operation.id)
    with clock.at(NOW + 2 * DAY):
        assert ws.lifecycle.step().kind == "held"
        assert ws.lifecycle.state()["held"]
        ws.lifecycle.run()
    with clock.at(NOW + 4 * DAY):
        assert ws.lifecycle.step().kind == "nothing"


def test_a_run_that_is_stopped_tells_what_it_did_and_the_next_one_goes_on(ws):
    filled(ws)
    looks = iter([False, False, True])
    ran = ws.lifecycle.run(stopped=lambda: next(looks, True))
    assert ran.stopped
    assert dict(ran.rows) == {"task": 3}
    assert ws.lifecycle.step().kind == "ran"
    assert len(ws.log()) == 2


def test_switched_off_it_does_nothing_by_itself(place, monkeypatch):
    monkeypatch.setenv("NANOMEM_LIFECYCLE_ENABLED", "false")
    with clock.at(NOW), open_workspace(place) as ws:
        filled(ws)
        assert ws.lifecycle.step().kind == "off"
        assert ws.lifecycle.run().operation is not None


# -- room and size ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.sqlite  # a server gives room back by itself
def test_room_is_given_back_once_a_week_where_it_is_worth_it(ws, monkeypatch):
    monkeypatch.setattr(lifecycle_runs, "LEAST_FREE", 10_000)
    many = [NewRecord("event", {"category": "x", "data": {"text": "words " * 200}}, f"e{n}") for n in range(400)]

    def free_after_a_run():
        ws.records.store_many(many)
        ws.records.delete("event", [one.id for one in many])
        ws.lifecycle.run()
        room = ws.tier_database.read(records.room)
        return room[1]

    assert free_after_a_run() == 0
    assert free_after_a_run() > 100_000
    with clock.at(NOW + 8 * DAY):
        assert free_after_a_run() == 0


@pytest.mark.slow
def test_when_a_tier_becomes_too_large_is_told(place, monkeypatch):
    with clock.at(NOW), open_workspace(place) as ws:
        for day in range(28):
            for number in range(10):
                kept(ws, "tool-call", f"c{day}_{number}", day * DAY)
        sizes = ws.lifecycle.sizes()
        working, longterm = sizes.forecasts
        assert working.rows_per_day == 10.0
        assert 0 < working.bytes <= sizes.file_bytes
        assert working.reached == "" == longterm.reached
        ceiling = 10 * 30 * sizes.row_bytes("tool-call") / 1e9
    monkeypatch.setattr(lifecycle, "CAPS_GB", {"working": ceiling * 0.99, "longterm": ceiling})
    with clock.at(NOW), open_workspace(place) as ws:
        sizes = ws.lifecycle.sizes()
        working, longterm = sizes.forecasts
        assert working.days is not None
        assert working.days < 30  # after that as much leaves as comes
        assert longterm.days is not None
        assert longterm.days > 30


def test_a_thread_looks_for_programs_without_a_console(place, monkeypatch):
    monkeypatch.setattr(lifecycle, "BEGIN", 0.0)
    monkeypatch.setattr(lifecycle, "LOOK", 0.001)
    with clock.at(NOW), open_workspace(place) as ws:
        filled(ws)
        ws.lifecycle.start()
        until = time.monotonic() + 60
        while ws.lifecycle.last_at() is None and time.monotonic() < until:
            time.sleep(0.01)
        ws.lifecycle.close()
        assert ws.lifecycle.last_at() == NOW


def test_the_console_moves_what_is_due(ws):
    filled(ws)
    assert move_if_due(ws, NOW, lambda: False) == ("", False)  # it was opened a moment ago
    said, wrong = move_if_due(ws, NOW - DAY, lambda: False)
    assert said.startswith("Lifecycle: 3 tasks")
    assert not wrong


@pytest.mark.slow
def test_the_doctor_tells_damage_and_what_was_cut_off(ws):
    def told():
        return " ".join(problem.text() for problem in ws.doctor())

    filled(ws)
    assert "work.db" not in told()
    with clock.at(NOW + 400 * DAY):
        assert "the clock says" in told()
    looks = iter([False] * 2)
    with pytest.raises(RuntimeError):

        def killed():
            if next(looks, True):
                raise RuntimeError
            return False

        ws.lifecycle.run(stopped=killed)
    assert "was cut off" in told()
    ws.lifecycle.run()
    assert "was cut off" not in told()


def test_the_doctor_tells_a_tier_that_is_too_large(place, monkeypatch):
    monkeypatch.setattr(lifecycle, "CAPS_GB", {"working": 1e-8, "longterm": 50.0})
    with clock.at(NOW), open_workspace(place) as ws:
        kept(ws, "goal", "g", DAY)
        assert any("more than 1e-08 GB" in problem.what for problem in ws.doctor())


def test_the_status_counts_both_tiers_and_opens_no_file_that_is_not_there(ws):
    assert ws.status()["tiers"] == {"working": 0, "longterm": 0, "exact": True, "bytes": 0}
    assert not ws.tier_database.path.exists()
    filled(ws)
    ws.lifecycle.run()
    found = ws.status()["tiers"]
    assert (found["working"], found["longterm"], found["exact"]) == (0, 17, True)  # 15 of five kinds, an agent, an hour
    assert found["bytes"] > 0 or ws.tier_database.is_remote
