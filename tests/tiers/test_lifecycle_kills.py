"""`kill -9` at every commit of a run, of its undo, of an archive: each record is in one tier, and the next goes on."""

import os
import signal
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.core.errors import NothingToDo
from nanomem_tui.store.database.engine import SqliteDatabase
from nanomem_tui.store.work.kinds import KINDS
from nanomem_tui.tiers import lifecycle_runs
from nanomem_tui.tiers.records import NewRecord
from tests.conftest import ON_POSTGRES
from tests.crash.harness import fork
from tests.tiers.test_lifecycle import DAY, NOW, all_of, filled

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Batches of two rows: there are commits within a kind."""
    monkeypatch.setattr(lifecycle_runs, "AT_ONCE", 2)
    monkeypatch.setattr(lifecycle_runs, "LEAST", 2)
    monkeypatch.setattr(lifecycle_runs, "MOST", 2)
    monkeypatch.setattr(lifecycle_runs, "PAUSE", 0.0)
    monkeypatch.setattr(lifecycle_runs, "LIFECYCLE_ARCHIVES_AT_ONCE", 2)
    monkeypatch.setattr(lifecycle_runs, "PAUSE", 0.0)


def made(base, before=None):
    place = base / "home" / "workspace"
    place.mkdir(parents=True)
    with clock.at(NOW), open_workspace(place) as ws:
        filled(ws)
        if before is not None:
            before(ws)
    return place


def _writer():
    """What commits."""
    if not ON_POSTGRES:
        return SqliteDatabase
    from nanomem_tui.store.database.postgres import PostgresDatabase

    return PostgresDatabase


def in_child(place, action, at, *, after):
    """Do it in a child that is killed at its commit of that number, before or after it; whether it came to an end."""
    child = fork()
    if child == 0:
        try:
            writer = _writer()
            real = writer.writing
            count = 0

            @contextmanager
            def writing(self, *, durable=True):
                nonlocal count
                count += 1
                with real(self, durable=durable) as connection:
                    yield connection
                    if count == at and not after:
                        os.kill(os.getpid(), signal.SIGKILL)
                if count == at:
                    os.kill(os.getpid(), signal.SIGKILL)

            writer.writing = writing
            with clock.at(NOW), open_workspace(place) as ws:
                action(ws)
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the action itself failed"
    return not os.WIFSIGNALED(status)


def one_place_each(ws):
    """No record is in both tiers."""
    for kind in KINDS:
        ids = [record.id for record in ws.records.list_records(kind)]
        assert len(ids) == len(set(ids))


def tiers_of(ws):
    return {key: record.tier for key, record in all_of(ws).items()}


def content(ws):
    """What there is of records, whichever tier it is in; a metric that is averaged is within its hour."""
    found = {key for key in all_of(ws) if not key.startswith("metric")}
    metrics = len(ws.records.list_records("metric")) + sum(
        hour.fields["count"] for hour in ws.records.list_records("metric-hour")
    )
    return {*found, f"metrics {metrics - ('metric-hour/old hour' in all_of(ws))}"}


@pytest.mark.slow
@pytest.mark.sqlite("on a server the lease of a killed run lasts a while, by the server's own clock")
def test_a_run_that_goes_on_long_after_a_kill_can_be_undone(tmp_path):
    place = made(tmp_path)
    there = set()
    for at in range(1, 20):
        assert not in_child(place, lambda ws: ws.lifecycle.run(), at, after=True)
        with clock.at(NOW), open_workspace(place) as ws:
            there = content(ws)
            if ws.lifecycle.runs.half_done():
                break
    with clock.at(NOW + 15 * DAY), open_workspace(place) as ws:  # a run can be undone for 14 days
        ran = ws.lifecycle.run(force=True)
        ws.undo(ran.operation.id)
        assert content(ws) == there


def killed_at_commits(tmp_path, every):
    """Kill a run at every n-th commit, see that nothing is lost, and end it in another process; how many kills."""
    place = made(tmp_path / "model")
    with clock.at(NOW), open_workspace(place) as ws:
        whole = content(ws)
        ws.lifecycle.run()
        ended, whole_ended = all_of(ws), content(ws)
    kills = 0
    for at in range(1, 200, every):
        for after in (False, True):
            place = made(tmp_path / f"{at}{after}")
            finished = in_child(place, lambda ws: ws.lifecycle.run(), at, after=after)
            with clock.at(NOW), open_workspace(place) as ws:
                one_place_each(ws)
                assert content(ws) in (whole, whole_ended), f"killed at commit {at}"
            with clock.at(NOW), open_workspace(place) as ws:
                ws.items.add("the next change")
                ws.flush()  # whoever comes next finishes what was begun
                ws.lifecycle.run()
                one_place_each(ws)
                assert tiers_of(ws) == {key: record.tier for key, record in ended.items()}
                assert [entry.operation.kind for entry in ws.log(100)].count("lifecycle.run") == 1
                assert [problem for problem in ws.problems() if problem.severity == "error"] == []
            kills += not finished
        if finished:
            return kills
    raise AssertionError("it never ended")


@pytest.mark.crash
def test_a_run_killed_at_every_commit(tmp_path):
    assert killed_at_commits(tmp_path, 1) > 20


@pytest.mark.sqlite
@pytest.mark.slow
def test_a_run_killed_at_some_commits(tmp_path):
    assert killed_at_commits(tmp_path, 9) > 2


@pytest.mark.crash
def test_an_undo_killed_at_every_commit(tmp_path):
    with clock.at(NOW), open_workspace(made(tmp_path / "model")) as ws:
        before = all_of(ws)
    kills = 0
    for at in range(1, 200):
        place = made(tmp_path / f"{at}", lambda ws: ws.lifecycle.run())
        finished = in_child(place, lambda ws: ws.undo(), at, after=at % 2 == 0)
        with clock.at(NOW), open_workspace(place) as ws:
            one_place_each(ws)
            ws.items.add("the next change")
            ws.flush()
            one_place_each(ws)
            (run,) = [entry for entry in ws.log(100) if entry.operation.kind == "lifecycle.run"]
            assert (all_of(ws) == before) == run.undone
            if not run.undone:
                ws.undo(run.operation.id)
                assert all_of(ws) == before
        kills += not finished
        if finished:
            return
    raise AssertionError("it never ended")


@pytest.mark.crash
@pytest.mark.parametrize("kind", ["archive", "restore"])
def test_an_archive_killed_at_every_commit(tmp_path, kind):
    def archived(ws):
        return ws.lifecycle.archive(2025)

    def prepared(ws):
        ws.lifecycle.run()
        if kind == "restore":
            archived(ws)

    action = archived if kind == "archive" else lambda ws: ws.lifecycle.restore(2025)
    with clock.at(NOW), open_workspace(made(tmp_path / "model", lambda ws: ws.lifecycle.run())) as ws:
        whole = {key for key in all_of(ws) if not key.startswith("metric")}
    for at in range(1, 200):
        place = made(tmp_path / f"{at}", prepared)
        finished = in_child(place, action, at, after=at % 2 == 0)
        with clock.at(NOW), open_workspace(place) as ws:
            ws.items.add("the next change")
            ws.flush()
            there = {key for key in all_of(ws) if not key.startswith("metric")}
            words = "nginx reload fs read event system-agent agent at restart site"
            archives = {hit.record.key for hit in ws.lifecycle.archives.search(words, 100)[0]}
            assert there | archives == whole
            assert not there & archives
        if finished:
            return
    raise AssertionError("it never ended")


AGES = st.integers(0, 200)


@pytest.mark.slow
@given(
    records=st.lists(st.tuples(st.sampled_from(["goal", "task", "tool-call", "decision", "event", "metric"]), AGES,
                               st.sampled_from(["completed", "pending"])), max_size=25),
    steps=st.lists(st.sampled_from(["run", "undo", "redo", "stop", "later"]), max_size=8),
)  # fmt: skip
def test_no_record_is_ever_in_none_or_in_both_tiers(tmp_path_factory, records, steps):
    place = tmp_path_factory.mktemp("home") / "workspace"
    place.mkdir()
    start = datetime(2026, 3, 2, 12, tzinfo=UTC)
    least = {
        "goal": {"description": "d"},
        "task": {"description": "d", "goal_id": "r0"},
        "tool-call": {"tool_name": "t", "input": {}},
        "decision": {"context": "c", "chosen": "x", "reasoning": "r"},
        "event": {"category": "c", "data": {}},
        "metric": {"name": "m", "value": 1.0},
    }
    when = {"goal": "created_at", "task": "started_at"}
    stored = []
    for number, (kind, age, status) in enumerate(records):
        fields = {**least[kind], when.get(kind, "timestamp"): clock.iso(start - age * DAY)}
        stored.append(NewRecord(kind, {**fields, **({"status": status} if kind in when else {})}, f"r{number}"))
    with clock.at(start), open_workspace(place) as ws:
        if stored:
            ws.records.store_many(stored)
        whole = content(ws)
        for number, step in enumerate(steps):
            with clock.at(start + number * timedelta(hours=5)):
                if step == "run":
                    ws.lifecycle.run()
                elif step == "stop":
                    looks = iter([False] * 3)
                    ws.lifecycle.run(stopped=lambda looks=looks: next(looks, True))
                elif step == "later":
                    with clock.at(start + (10 + number) * DAY):
                        ws.lifecycle.run()
                elif ws.log():
                    with suppress(NothingToDo):
                        ws.undo() if step == "undo" else ws.redo()
            one_place_each(ws)
            assert content(ws) == whole
