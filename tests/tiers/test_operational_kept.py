"""Operational memory is kept: on a full disk, after a kill, by several processes; and what it cannot be is refused."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine

from nanomem_tui import clock, open_workspace
from nanomem_tui.errors import BadInput, DiskFull, NanomemError, StoreError
from nanomem_tui.store import tier_rows
from nanomem_tui.store.tier_store import TierStore
from nanomem_tui.workspace import Workspace
from tests.crash.harness import fork
from tests.tiers.happened import kill, messages, opened, push, refusing, segments, small_home, told

START = "2026-03-01T10:00:00+00:00"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return small_home(tmp_path)


@pytest.fixture
def ws(workspace: Path) -> Iterator[Workspace]:
    with open_workspace(workspace) as found:
        yield found


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
        ("event", {"x": "y" * 1_000_001}, "1,000,009 bytes"),
    ],
)
def test_what_no_entry_can_be_is_refused(ws: Workspace, category: str, data: Any, what: str) -> None:
    with pytest.raises(BadInput, match=what):
        ws.operational.push(category, data)
    assert ws.operational.recent() == []
    assert segments(ws) == []


def test_data_may_be_as_deep_as_anybody_needs(ws: Workspace) -> None:
    for data in (json.loads("[" * 100 + "]" * 100), [{"x": []}] * 200):
        ws.operational.push("event", data)
        assert ws.operational.recent(1)[0].data == data


def test_a_source_that_is_no_text_is_refused(ws: Workspace) -> None:
    for source in ("\ud800", 3, "s" * 501):
        with pytest.raises(BadInput):
            ws.operational.push("event", {}, source)  # type: ignore[arg-type]
    ws.operational.push("event", {}, "日本")
    assert [entry.source for entry in ws.operational.recent()] == ["日本"]


def test_data_without_an_end_is_refused(ws: Workspace) -> None:
    data: list[Any] = []
    data.append(data)
    with pytest.raises(BadInput, match="no JSON"):
        ws.operational.push("event", data)


@pytest.mark.parametrize("short", [False, True])
def test_on_a_full_disk_nothing_is_acknowledged_and_nothing_is_lost(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, short: bool
) -> None:
    ws = open_workspace(workspace)
    push(ws, "one")
    real = os.write

    def full(handle: int, data: bytes) -> int:
        if short:
            return real(handle, data[:20])
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        for _ in range(3):
            with pytest.raises(DiskFull):
                push(ws, "lost")
    assert messages(ws) == ["one"]
    push(ws, "two")
    kill(ws.operational)
    with open_workspace(workspace) as again:
        assert messages(again) == ["one", "two"]
        assert again.problems() == []


def test_a_tail_that_could_not_be_taken_back_costs_nothing(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ws = open_workspace(workspace)
    push(ws, "one")
    real = os.write

    def broken(*_: object) -> None:
        raise OSError(errno.EIO, "broken")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda handle, data: real(handle, data[:20]))
        patch.setattr(os, "ftruncate", broken)
        with pytest.raises(DiskFull):
            push(ws, "lost")
    push(ws, "two")
    kill(ws.operational)
    with open_workspace(workspace) as again:
        assert messages(again) == ["one", "two"]


def test_a_ring_that_can_give_nothing_up_refuses_after_a_while(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nanomem_tui.tiers.happening.BATCH", 5)
    with opened(workspace, operational_entries=10) as ws:
        with monkeypatch.context() as patch:
            patch.setattr(TierStore, "write", refusing)
            push(ws, *range(24))
            assert "broken" in ws.operational.problems()[0].fix
            with pytest.raises(StoreError, match="operational memory is full"):
                push(ws, *range(24, 40))
            with pytest.raises(StoreError, match="broken"):
                ws.operational.age()
        ws.operational.age()
        assert ws.operational.state()["degraded"] == ""
        assert [data["message"] for data in told(ws)] + messages(ws) == [str(number) for number in range(25)]


# -- who comes after --------------------------------------------------------------------------------------------------


def test_what_was_acknowledged_is_there_after_a_kill(workspace: Path) -> None:
    ws = open_workspace(workspace)
    push(ws, "one", "two")
    ws.operational.push("metric", {"name": "x", "value": 3})
    kill(ws.operational)
    with open_workspace(workspace) as again:
        assert len(again.operational.recent()) == 3
        found = again.operational.metric("x")
        assert found is not None
        assert found.value == 3.0
        push(again, "three")
        assert len(segments(again)) == 1, "it goes on in the file that was left"
        assert [entry.data.get("message") for entry in again.operational.recent()] == ["three", None, "two", "one"]


def test_looking_changes_no_byte(workspace: Path) -> None:
    with open_workspace(workspace) as ws:
        assert ws.operational.recent() == []
        assert ws.operational.state()["entries"] == 0
        assert not ws.paths.data.exists()
    with open_workspace(workspace) as ws:
        push(ws, "one")
    with open_workspace(workspace) as ws:
        path = segments(ws)[0]
        before = path.read_bytes(), path.stat().st_mtime_ns
        assert messages(ws) == ["one"]
        assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_files_are_private(ws: Workspace) -> None:
    push(ws, "one")
    path = segments(ws)[0]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_what_has_aged_leaves_the_files(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nanomem_tui.tiers.spool.ROLL_BYTES", 500)
    with time_machine.travel(START, tick=False) as time:
        push(ws, *range(20))
        files = len(segments(ws))
        assert files > 3
        time.shift(3000)
        push(ws, "young")
        time.shift(1000)
        assert ws.operational.age() == 20
        assert len(segments(ws)) == 1
        time.shift(3000)
        assert ws.operational.age() == 1
        assert segments(ws) == []
        push(ws, "after")
        assert messages(ws) == ["after"]


def test_what_has_aged_is_not_there_again_after_a_kill(workspace: Path) -> None:
    with time_machine.travel(START, tick=False) as time:
        ws = open_workspace(workspace)
        push(ws, "old")
        time.shift(3000)
        push(ws, "young")
        time.shift(1000)
        assert ws.operational.age() == 1
        kill(ws.operational)
        with open_workspace(workspace) as again:
            assert messages(again) == ["young"]
            assert told(again) == [{"message": "old"}]


def test_a_kill_between_the_table_and_the_file_brings_nothing_twice(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with time_machine.travel(START, tick=False) as time:
        ws = open_workspace(workspace)
        push(ws, "old")
        ws.operational.push("metric", {"name": "x", "value": 1})
        time.shift(4000)
        with monkeypatch.context() as patch:
            patch.setattr(type(ws.operational._spool), "aged", lambda *_: None)
            assert ws.operational.age() == 2
        kill(ws.operational)
        with open_workspace(workspace) as again:
            assert again.operational.recent() == []
            assert told(again) == [{"message": "old"}]
            assert len(again.records.of("metric")) == 1
            assert segments(again) == []


@pytest.mark.parametrize("junk", [b"\xff\xfe", b"\0\0\0", b'{"c":"00000000","r":{"id":"x"}}', b"[1]", b'{"c":"12'])
def test_a_line_that_cannot_be_read_costs_that_line_and_is_kept_aside(workspace: Path, junk: bytes) -> None:
    ws = open_workspace(workspace)
    push(ws, "one", "two")
    kill(ws.operational)
    path = segments(ws)[0]
    first, second, _ = path.read_bytes().split(b"\n")
    path.write_bytes(first + b"\n" + junk + b"\n" + second + b"\n")
    with open_workspace(workspace) as again:
        expected = junk.strip(b"\0\r ") != b""
        assert [problem.line for problem in again.doctor() if "entry" in problem.what] == ([2] if expected else [])
        push(again, "three")
        assert messages(again) == ["one", "two", "three"]
        assert [(problem.line, problem.what) for problem in again.problems()] == (
            [(2, "an entry that cannot be read")] if expected else []
        )
        again.operational.age(clock.now() + timedelta(hours=2))
        kept = [file.read_bytes() for file in again.paths.quarantine.glob("*")] if expected else []
        assert all(junk in data for data in kept)
        assert bool(kept) == expected
        assert segments(again) == []


def test_a_torn_tail_costs_nothing(workspace: Path) -> None:
    ws = open_workspace(workspace)
    push(ws, "one", "two")
    kill(ws.operational)
    path = segments(ws)[0]
    path.write_bytes(path.read_bytes()[:-9])
    with open_workspace(workspace) as again:
        push(again, "three")
        assert messages(again) == ["one", "three"]
        assert again.problems() == []
    with open_workspace(workspace) as again:
        assert messages(again) == ["one", "three"]


def test_a_folder_that_somebody_took_away_is_made_again(workspace: Path) -> None:
    with time_machine.travel(START, tick=False) as time:
        ws = open_workspace(workspace)
        push(ws, "one")
        for path in segments(ws):
            path.unlink()
        time.shift(2)
        push(ws, "two")
        kill(ws.operational)
        with open_workspace(workspace) as again:
            assert messages(again) == ["one", "two"]


def test_an_entry_that_no_table_can_hold_is_kept_aside(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    push(ws, "one", "poison", "two")
    real = tier_rows.put_new

    def picky(connection: Any, workspace_id: str, records: Any) -> None:
        if any("poison" in json.dumps(record.fields) for record in records):
            raise BadInput("no table holds that")
        real(connection, workspace_id, records)

    monkeypatch.setattr(tier_rows, "put_new", picky)
    assert ws.operational.age(clock.now() + timedelta(hours=2)) == 3
    assert told(ws) == [{"message": "one"}, {"message": "two"}]
    assert b"poison" in next(ws.paths.quarantine.glob("*")).read_bytes()
    assert "no table holds that" in ws.operational.problems()[0].what


# -- several processes ------------------------------------------------------------------------------------------------


def test_one_process_sees_what_another_pushes(workspace: Path) -> None:
    with open_workspace(workspace) as ours, open_workspace(workspace) as theirs:
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
            assert found is not None
            assert found.value == 2.0
            assert [task.id for task in ws.operational.active_tasks()] == ["t"]
        push(theirs, "more")
        ours.operational.push("task", {"id": "t", "status": "completed"})
        assert theirs.operational.active_tasks() == []
        assert messages_of(ours) == messages_of(theirs) == ["ours", "theirs", "more"]
        assert len(segments(ours)) == 2


def messages_of(ws: Workspace) -> list[str]:
    return [entry.data["message"] for entry in reversed(ws.operational.recent(category="event"))]


def test_what_a_process_left_ages_by_another(workspace: Path) -> None:
    with time_machine.travel(START, tick=False) as time:
        ours, theirs = open_workspace(workspace), open_workspace(workspace)
        push(ours, "ours")
        time.shift(1)
        push(theirs, "theirs")
        kill(theirs.operational)
        time.shift(10)
        push(ours, "later")
        assert messages(ours) == ["ours", "theirs", "later"]
        time.shift(3595)
        assert ours.operational.age() == 2
        assert messages(ours) == ["later"]
        ours.close()


def test_what_a_living_process_holds_is_its_own_to_move(workspace: Path) -> None:
    frozen = time_machine.travel(START, tick=False)
    with frozen as time, open_workspace(workspace) as ours, open_workspace(workspace) as theirs:
        push(theirs, "theirs")
        time.shift(4000)
        assert ours.operational.age() == 0
        assert messages(ours) == ["theirs"], "it is in no table yet"
        assert theirs.operational.age() == 1
        assert messages(ours) == []
        assert told(ours) == [{"message": "theirs"}]


def test_the_ring_holds_so_many_of_all_processes(workspace: Path) -> None:
    with opened(workspace, operational_entries=10) as ours, opened(workspace, operational_entries=10) as theirs:
        for number in range(8):
            push(ours, f"ours {number}")
            push(theirs, f"theirs {number}")
        assert ours.operational.age() + theirs.operational.age() == 6
        assert sorted(data["message"] for data in told(ours)) == [
            *(f"ours {number}" for number in range(3)), *(f"theirs {number}" for number in range(3)),
        ]  # fmt: skip
        assert len(messages(ours)) == 10


def test_a_child_of_the_process_writes_a_file_of_its_own(workspace: Path) -> None:
    ws = open_workspace(workspace)
    push(ws, "parent")
    child = fork()
    if child == 0:
        status = 1
        try:
            push(ws, "child")
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    push(ws, "parent again")
    assert messages(ws) == ["parent", "child", "parent again"]
    assert len(segments(ws)) == 2
    ws.close()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_nothing_acknowledged_is_lost_by_a_kill(workspace: Path) -> None:
    read, write = os.pipe()
    child = fork()
    if child == 0:
        try:
            os.close(read)
            ws = opened(workspace, operational_entries=40)
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
    with opened(workspace, operational_entries=40) as ws:
        kept = messages(ws)
        found = [data["message"] for data in told(ws)] + kept
        assert len(kept) == 40
        assert found in (
            [str(number) for number in range(acknowledged)], [str(number) for number in range(acknowledged + 1)],
        )  # fmt: skip
        assert ws.problems() == []


def test_processes_push_at_the_same_time(workspace: Path) -> None:
    children = []
    for name in range(3):
        child = fork()
        if child == 0:
            status = 1
            try:
                with opened(workspace, operational_entries=50) as ws:
                    push(ws, *(f"{name} {number}" for number in range(200)))
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    with opened(workspace, operational_entries=50) as ws:
        for _ in range(20):
            ws.operational.age()
            messages(ws)
        assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
        kept = messages(ws)
        assert len(kept) == 50
        found = [data["message"] for data in told(ws)] + kept
        assert sorted(found) == sorted(f"{name} {number}" for name in range(3) for number in range(200))
        assert ws.problems() == []


def test_threads_push_at_the_same_time(workspace: Path) -> None:
    with opened(workspace, operational_entries=100) as ws:
        failures: list[NanomemError] = []

        def work(name: str) -> None:
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
