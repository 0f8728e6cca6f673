"""The order of what happens now: that of pushing, whatever the clock and the machine do, and after a kill."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import time_machine

from nanomem_tui import clock, open_workspace
from nanomem_tui.tiers import aging
from nanomem_tui.tiers.entries import Kept
from nanomem_tui.tiers.spool import Segment, Spool
from tests.crash.harness import fork
from tests.tiers.happened import kill, messages, opened, push, segments, small_home, told

START = "2026-03-01T10:00:00+00:00"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return small_home(tmp_path)


@contextmanager
def at(milliseconds: int) -> Iterator[None]:
    """So long after the start."""
    with clock.at(datetime.fromisoformat(START) + timedelta(milliseconds=milliseconds)):
        yield


def words(count: int) -> list[str]:
    return [str(number) for number in range(count)]


def test_a_pause_before_a_new_file_changes_no_order(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries of one millisecond fill files; then the machine is slow between an entry's time and its file."""
    monkeypatch.setattr("nanomem_tui.tiers.spool.ROLL_BYTES", 500)
    start = datetime.fromisoformat(START)
    with open_workspace(workspace) as ws:
        with clock.at(start):
            push(ws, *range(12))
        assert len(segments(ws)) > 3
        with clock.at(start + timedelta(milliseconds=1)):
            monkeypatch.setattr(clock, "now_ms", lambda: clock.ms_of(start) + 5000)
            push(ws, 12)
        every = [str(number) for number in range(13)]
        with clock.at(start + timedelta(seconds=6)), open_workspace(workspace) as beside:
            assert messages(beside) == every
        kill(ws.operational)
        with clock.at(start + timedelta(seconds=6)), open_workspace(workspace) as after:
            push(after, 13)
            assert messages(after) == [*every, "13"]


def test_a_look_between_the_two_lines_of_a_new_file_changes_no_order(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process looks when a file says from when it is, and has no entry yet."""
    monkeypatch.setattr("nanomem_tui.tiers.spool.ROLL_BYTES", 500)
    start = datetime.fromisoformat(START)
    append = Spool.append
    with open_workspace(workspace) as ws, open_workspace(workspace) as beside:

        def looked_at(spool: Spool, line: bytes) -> Segment:
            if spool.current is not None and not spool.current.waiting:
                messages(beside)
            return append(spool, line)

        with clock.at(start):
            push(ws, 0)
            monkeypatch.setattr(Spool, "append", looked_at)
            with clock.at(start - timedelta(minutes=5)):  # the clock is set back
                push(ws, *range(1, 12))
            assert messages(beside) == [str(number) for number in range(12)]


def test_what_comes_after_files_that_were_taken_over_stays_after_them(workspace: Path) -> None:
    """Two processes end, the clock is set back, and the next one ages before it pushes; then it is killed too."""
    with at(0):
        first, second = (opened(workspace, operational_entries=4) for _ in range(2))
        push(first, 0, 1)
    with at(9000):
        push(second, 2, 3)
    kill(first.operational)
    kill(second.operational)
    with at(-60_000):
        next_one = opened(workspace, operational_entries=3)
        assert next_one.operational.age() == 1
        push(next_one, 4, 5)
        assert messages(next_one) == ["3", "4", "5"]
        kill(next_one.operational)
        with opened(workspace, operational_entries=3) as last:
            assert messages(last) == ["3", "4", "5"]


def test_what_is_taken_over_while_one_writes_stays_before_what_it_writes_then(workspace: Path) -> None:
    with at(60_000):
        other = opened(workspace, operational_entries=3)
        push(other, 0, 1)
        kill(other.operational)
    with at(0):
        ws = opened(workspace, operational_entries=3)
        with at(60_000), open_workspace(workspace) as reader:
            assert messages(reader) == ["0", "1"]
        ws.operational._spool.begin(0, 0)  # it writes already, and has not taken anything over
        push(ws, "early", "early too")
        assert messages(ws) == ["early too", "0", "1"]
        push(ws, 2, 3)
        assert messages(ws) == ["1", "2", "3"]
        kill(ws.operational)
        with opened(workspace, operational_entries=3) as last:
            assert messages(last) == ["1", "2", "3"]


def test_files_that_are_made_again_keep_their_order(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries of one microsecond, in one file first and in many after somebody took that away."""
    with at(0), open_workspace(workspace) as ws:
        push(ws, *range(40))
        monkeypatch.setattr("nanomem_tui.tiers.spool.ROLL_BYTES", 500)
        shutil.rmtree(segments(ws)[0].parent)
        with at(2000):
            push(ws, 40)
        assert len(segments(ws)) > 10
        kill(ws.operational)
        with at(2000), open_workspace(workspace) as again:
            push(again, 41)
            assert messages(again) == words(42)


def test_a_slow_database_makes_no_clock_run_ahead(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While an error goes into its table, others push; what another process says later is later all the same."""
    with open_workspace(workspace) as ws, open_workspace(workspace) as beside:
        keep = aging.keep

        def slow(*given: object) -> object:
            time.shift(5)
            push(ws, 1)
            return keep(*given)  # type: ignore[arg-type]

        with time_machine.travel(START, tick=False) as time:
            push(ws, 0)
            with monkeypatch.context() as patch:
                patch.setattr(aging, "keep", slow)
                ws.operational.push("event", {"message": "2"}, critical=True)
            time.shift(0.1)
            push(ws, 3)
            time.shift(0.1)
            push(beside, 4)
            assert messages(ws) == messages(beside) == words(5)


@pytest.mark.parametrize("pushes", [False, True])
def test_what_left_its_file_before_a_kill_is_shown_in_one_place(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, pushes: bool
) -> None:
    """The entries of two files age; a kill comes when the first says so, and the second does not yet."""
    monkeypatch.setattr("nanomem_tui.tiers.spool.ROLL_BYTES", 500)
    ws = opened(workspace, operational_entries=5)
    push(ws, *range(10))
    assert len(segments(ws)) > 3
    aged = Spool.aged

    def killed(spool: Spool, entries: Sequence[Kept]) -> None:
        first = [kept for kept in entries if kept.segment is entries[0].segment]
        aged(spool, first)
        kill(ws.operational)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Spool, "aged", killed)
        ws.operational.age()
    with open_workspace(workspace) as reader:
        before = {path: path.read_bytes() for path in segments(reader)}
        assert messages(reader) == words(10)[5:]
        assert before == {path: path.read_bytes() for path in segments(reader)}, "a look changes nothing"
    with opened(workspace, operational_entries=5) as again:
        if pushes:
            push(again, 10)
        everything = words(11 if pushes else 10)
        assert messages(again) == everything[-5:]
        assert [data["message"] for data in told(again)] == everything[:-5]  # type: ignore[index]


def test_what_processes_push_at_once_is_told_in_the_order_of_its_time(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nanomem_tui.tiers.spool.ROLL_BYTES", 2000)
    children = []
    for name in range(3):
        child = fork()
        if child == 0:
            status = 1
            try:
                with open_workspace(workspace) as ws:
                    push(ws, *(f"{name} {number}" for number in range(150)))
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    with open_workspace(workspace) as ws:
        left = set(children)
        while True:
            entries = ws.operational.recent(None)
            ids = [entry.id for entry in entries]
            assert len(ids) == len(set(ids))
            times = [entry.at for entry in entries]
            assert times == sorted(times, reverse=True)
            if not left:
                break
            done, status = os.waitpid(-1, os.WNOHANG)
            if done in left:
                left.remove(done)
                assert status == 0
        assert len(entries) == 450
