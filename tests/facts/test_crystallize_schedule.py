"""Facts that are looked for by themselves: when, what becomes of them, and of a run that fails."""

from datetime import timedelta

import pytest
import time_machine

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.core.errors import InvalidConfig
from nanomem_tui.dreams.schedule import CrystallizeSchedule, Outcome
from tests.facts.talking import say, talking, values
from tests.model.server import ModelServer, says, status

NOW = "2026-05-01T10:15:00+00:00"


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    monkeypatch.setenv("NANOMEM_CRYSTALLIZE_SCHEDULE", "0 * * * *")
    return talking(tmp_path, cli_direct=["I live in Rome"], **{"telegram_-1": ["I live in Oslo"]})


def step(ws, **how):
    return CrystallizeSchedule(ws).step(**how)


def test_it_is_off_until_a_cron_line_says_when(workspace, monkeypatch):
    monkeypatch.setenv("NANOMEM_MEMORY_ENABLED", "no")
    with open_workspace(workspace) as ws:
        assert step(ws).kind == "off"
        assert CrystallizeSchedule(ws).status()["next_at"] is None
    monkeypatch.delenv("NANOMEM_CRYSTALLIZE_SCHEDULE")
    with open_workspace(workspace) as ws:
        assert step(ws) == Outcome("off", "crystallize_schedule is not set")
        assert not ws.paths.data.exists(), "a home without such a schedule stays as it is"
    monkeypatch.setenv("NANOMEM_CRYSTALLIZE_SCHEDULE", "whenever")
    with pytest.raises(InvalidConfig, match="crystallize_schedule"):
        open_workspace(workspace)


def test_a_run_comes_at_its_time_and_reads_what_is_new(workspace):
    with time_machine.travel(NOW, tick=False) as at, open_workspace(workspace) as ws:
        first = step(ws)
        assert (first.kind, first.next_at) == ("waiting", clock.parse("2026-05-01T11:00:00+00:00"))
        at.shift(timedelta(minutes=46))
        done = step(ws)
        assert (done.kind, done.said) == ("crystallized", "read 2 messages: 1 fact kept, 1 to the inbox")
        assert values(ws) == {"lives in": "Rome"}
        [waiting] = ws.inbox.list()
        assert "no sender is named" in waiting.why
        assert [(entry.operation.actor, entry.operation.kind) for entry in ws.log()] == [("dream", "crystallize")]
        assert step(ws).kind == "waiting"
        at.shift(timedelta(hours=1))
        assert (step(ws).kind, step(ws).kind) == ("nothing", "waiting")
        say(workspace, "cli:direct", "I prefer tea")
        at.shift(timedelta(hours=1))
        assert step(ws).said == "read 1 message: 1 fact kept"
        assert len(values(ws)) == 2


def test_what_a_person_took_back_does_not_come_back_by_itself(workspace):
    with time_machine.travel(NOW, tick=False) as at, open_workspace(workspace) as ws:
        step(ws)
        at.shift(timedelta(hours=1))
        step(ws)
        ws.undo(ws.log()[0].operation.id)
        assert (values(ws), ws.inbox.list()) == ({}, [])
        at.shift(timedelta(hours=1))
        assert step(ws).kind == "nothing"
        assert (values(ws), ws.inbox.list()) == ({}, [])
        assert len(ws.crystallizer.plan().open) == 2, "a person who asks gets them"


def test_a_failure_is_told_tried_again_later_and_passes_over_nothing(workspace, monkeypatch):
    monkeypatch.setenv("NANOMEM_CRYSTALLIZE_EXTRACTOR", "model")
    monkeypatch.setenv("NANOMEM_MODEL_NAME", "m")
    facts = [{"category": "Home", "key": "city", "value": "Rome", "message": number} for number in (1, 2)]
    script = [says("no JSON"), says("still none"), status(401), says({"facts": facts})]
    with ModelServer(*script) as server, time_machine.travel(NOW, tick=False) as at:
        monkeypatch.setenv("NANOMEM_MODEL_BASE_URL", server.url)
        with open_workspace(workspace) as ws:
            step(ws)
            at.shift(timedelta(minutes=46))
            failed = step(ws)
            assert failed.kind == "failed"
            assert "no answer that can be used" in failed.said
            assert failed.next_at == clock.now() + timedelta(minutes=1)
            assert (values(ws), ws.crystallizer.places()) == ({}, None)
            status_now = CrystallizeSchedule(ws).status()
            assert (status_now["failures"], status_now["on"]) == (1, True)
            at.shift(timedelta(minutes=2))
            assert step(ws).next_at == clock.now() + timedelta(minutes=2), "twice as long"
            at.shift(timedelta(minutes=3))
            assert step(ws).kind == "crystallized"
            assert values(ws) == {"city": "Rome"}
            assert CrystallizeSchedule(ws).status()["failures"] == 0


def test_whoever_wants_it_to_end_and_whoever_is_at_it_already(workspace):
    with (
        time_machine.travel(NOW, tick=False) as at,
        open_workspace(workspace) as ws,
        open_workspace(workspace) as other,
    ):
        step(ws)
        at.shift(timedelta(hours=1))
        assert step(ws, not_before=clock.now() + timedelta(minutes=5)).kind == "waiting"
        assert step(ws, stopped=lambda: True).kind == "stopped"
        with other.crystallizer.alone():
            assert step(ws).kind == "busy"
        assert values(ws) == {}
        assert step(ws).kind == "crystallized"
        assert step(other).kind == "waiting"


def test_a_broken_memory_of_the_schedule_begins_anew(workspace):
    with time_machine.travel(NOW, tick=False) as at, open_workspace(workspace) as ws:
        step(ws)
        file = ws.paths.data / "crystallize-schedule.json"
        for broken in ("", "[]", '{"at": 7}', "{" * 5000, '{"at": "x", "failures": "y", "error": 0}'):
            file.write_text(broken)
            assert step(ws).kind == "waiting"
        at.shift(timedelta(hours=1))
        assert step(ws).kind == "crystallized"
