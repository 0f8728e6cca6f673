"""Operational memory is kept: on a full disk, after a kill, by several processes; and what it cannot be is refused."""

import json
import os
import signal
import sys
import threading
from datetime import timedelta

import pytest
import time_machine

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, NanomemError, StoreError
from nanomem_tui.store.work.work_store import WorkStore
from tests.crash.harness import fork
from tests.tiers.happened import kill, messages, opened, push, refusing, told

START = "2026-03-01T10:00:00+00:00"


ENDLESS = []
ENDLESS.append(ENDLESS)

# -- what cannot be kept ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("category", "data", "what"),
    [
        ("gossip", {}, "no such category"),
        ("metric", {"name": "x"}, "must be a number"),
        ("metric", {"name": "x", "value": True}, "must be a number"),
        ("metric", {"name": "x", "value": float("nan")}, "must be a number"),
        ("metric", {"name": "x", "value": 10**400}, "must be a number"),
        ("metric", {"name": "x", "value": "12"}, "must be a number"),
        ("metric", {"name": " ", "value": 1}, "needs a name"),
        ("metric", {"name": "x", "value": 1, "unit": 3}, "must be a text"),
        ("metric", [1], "must be an object"),
        ("task", {"status": "pending"}, "needs `id`"),
        ("task", {"id": "x"}, "needs `status`"),
        ("task", {"id": "x" * 201, "status": "pending"}, "no usable id"),
        ("task", {"id": " x", "status": "pending"}, "blanks around it"),
        ("tool_result", {"output": 1}, "needs `tool`"),
        ("event", json.loads("[" * 102 + "]" * 102), "more than 100 deep"),
        ("event", {"x": float("inf")}, "no JSON"),
        ("event", {"x": object()}, "no JSON"),
        ("event", {"x": "\ud800"}, "no JSON"),
        ("event", ENDLESS, "no JSON"),
        ("event", {"x": "y" * 1_000_001}, "1,000,009 bytes"),
    ],
)
def test_what_no_entry_can_be_is_refused(ws, category, data, what):
    with pytest.raises(BadInput, match=what):
        ws.operational.push(category, data)
    assert ws.operational.recent() == []


def test_data_may_be_as_deep_as_anybody_needs(ws):
    for data in (json.loads("[" * 100 + "]" * 100), [{"x": []}] * 200):
        ws.operational.push("event", data)
        assert ws.operational.recent(1)[0].data == data


def test_a_source_that_is_no_text_is_refused(ws):
    for source in ("\ud800", 3, "s" * 501):
        with pytest.raises(BadInput):
            ws.operational.push("event", {}, source)
    ws.operational.push("event", {}, "日本")
    assert [entry.source for entry in ws.operational.recent()] == ["日本"]


# -- who comes after --------------------------------------------------------------------------------------------------


@pytest.mark.sqlite("the bytes of its file")
def test_looking_changes_no_byte(place):
    with open_workspace(place) as ws:
        assert ws.operational.recent() == []
        assert ws.operational.state()["entries"] == 0
        assert not ws.paths.data.exists()
    with open_workspace(place) as ws:
        push(ws, "one")
    with open_workspace(place) as ws:
        path = ws.paths.work_database
        before = path.read_bytes(), path.stat().st_mtime_ns
        assert messages(ws) == ["one"]
        assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_where_the_database_cannot_be_written_nothing_is_acknowledged_and_the_reason_told(ws, monkeypatch):
    push(ws, "one")
    with monkeypatch.context() as patch:
        patch.setattr(WorkStore, "write", refusing)
        for critical in (False, True):
            with pytest.raises(StoreError, match="broken"):
                ws.operational.push("event", {"message": "lost"}, "tests", critical)
        with pytest.raises(StoreError, match="broken"):
            ws.operational.age(clock.now() + timedelta(hours=2))
        assert "broken" in ws.operational.state()["degraded"]
        assert "broken" in ws.operational.problems()[0].fix
    assert messages(ws) == ["one"]
    assert told(ws) == []
    assert ws.operational.age(clock.now() + timedelta(hours=2)) == 1
    assert ws.operational.problems() == []


# -- several processes ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_nothing_acknowledged_is_lost_by_a_kill(place):
    read, write = os.pipe()
    child = fork()
    if child == 0:
        try:
            os.close(read)
            ws = opened(place, operational_entries=40)
            for number in range(1_000_000):
                push(ws, number)
                os.write(write, b".")
        finally:
            os._exit(1)
    os.close(write)
    acknowledged = 0
    while acknowledged < 700:
        acknowledged += len(os.read(read, 64))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while more := os.read(read, 65_536):
        acknowledged += len(more)
    os.close(read)
    with opened(place, operational_entries=40) as ws:
        kept = messages(ws)
        found = [data["message"] for data in told(ws)] + kept
        assert len(kept) == 40
        assert found in (
            [str(number) for number in range(acknowledged)], [str(number) for number in range(acknowledged + 1)],
        )  # fmt: skip
        assert ws.problems() == []


@pytest.mark.slow
def test_processes_push_at_the_same_time(place):
    children = []
    for name in range(3):
        child = fork()
        if child == 0:
            status = 1
            try:
                with opened(place, operational_entries=50) as ws:
                    push(ws, *(f"{name} {number}" for number in range(200)))
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    with opened(place, operational_entries=50) as ws:
        for _ in range(20):
            ws.operational.age()
            messages(ws)
        assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
        kept = messages(ws)
        assert len(kept) == 50
        found = [data["message"] for data in told(ws)] + kept
        assert sorted(found) == sorted(f"{name} {number}" for name in range(3) for number in range(200))
        assert ws.problems() == []


def test_what_was_acknowledged_is_there_after_a_kill(place):
    ws = open_workspace(place)
    push(ws, "one", "two")
    ws.operational.push("metric", {"name": "x", "value": 3})
    kill(ws)
    with open_workspace(place) as again:
        assert len(again.operational.recent()) == 3
        found = again.operational.metric("x")
        assert found.value == 3.0
        push(again, "three")
        assert [entry.data.get("message") for entry in again.operational.recent()] == ["three", None, "two", "one"]


def test_what_has_aged_is_not_there_again_after_a_kill(place):
    with time_machine.travel(START, tick=False) as time:
        ws = open_workspace(place)
        push(ws, "old")
        time.shift(3000)
        push(ws, "young")
        time.shift(1000)
        assert ws.operational.age() == 1
        kill(ws)
        with open_workspace(place) as again:
            assert messages(again) == ["young"]
            assert told(again) == [{"message": "old"}]


def test_one_process_sees_what_another_pushes(place):
    with open_workspace(place) as ours, open_workspace(place) as theirs:
        push(ours, "ours")
        push(theirs, "theirs")
        ours.operational.push("metric", {"name": "x", "value": 1})
        theirs.operational.push("metric", {"name": "x", "value": 2})
        theirs.operational.push("task", {"id": "t", "status": "pending"})
        for ws in (ours, theirs):
            assert [entry.data.get("message") for entry in ws.operational.recent(category="event")] == [
                "theirs",
                "ours",
            ]
            found = ws.operational.metric("x")
            assert found.value == 2.0
            assert [task.id for task in ws.operational.active_tasks()] == ["t"]
        push(theirs, "more")
        ours.operational.push("task", {"id": "t", "status": "completed"})
        assert theirs.operational.active_tasks() == []
        assert messages_of(ours) == messages_of(theirs) == ["ours", "theirs", "more"]


def messages_of(ws):
    return [entry.data["message"] for entry in reversed(ws.operational.recent(category="event"))]


def test_what_a_process_left_ages_by_another(place):
    with time_machine.travel(START, tick=False) as time:
        ours, theirs = open_workspace(place), open_workspace(place)
        push(ours, "ours")
        time.shift(1)
        push(theirs, "theirs")
        kill(theirs)
        time.shift(10)
        push(ours, "later")
        assert messages(ours) == ["ours", "theirs", "later"]
        time.shift(3595)
        assert ours.operational.age() == 2
        assert messages(ours) == ["later"]
        ours.close()


def test_the_ring_holds_so_many_of_all_processes(place):
    with opened(place, operational_entries=10) as ours, opened(place, operational_entries=10) as theirs:
        for number in range(8):
            push(ours, f"ours {number}")
            push(theirs, f"theirs {number}")
        assert ours.operational.age() + theirs.operational.age() == 6
        assert sorted(data["message"] for data in told(ours)) == [
            *(f"ours {number}" for number in range(3)), *(f"theirs {number}" for number in range(3)),
        ]  # fmt: skip
        assert len(messages(ours)) == 10


@pytest.mark.slow
def test_threads_push_at_the_same_time(place):
    with opened(place, operational_entries=100) as ws:
        failures = []

        def work(name):
            try:
                push(ws, *(f"{name} {number}" for number in range(300)))
            except NanomemError as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(str(number),)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        kept = messages(ws)
        found = [data["message"] for data in told(ws)] + kept
        assert sorted(found) == sorted(f"{name} {number}" for name in range(4) for number in range(300))
        for name in range(4):
            own = [word for word in kept if word.startswith(f"{name} ")]
            assert own == sorted(own, key=lambda word: int(word.split()[1]))
