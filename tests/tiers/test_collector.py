"""The collector: what it measures, that it reads no secret, and that it is off until somebody asks for it."""

import builtins
import sys
import threading
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.core.errors import MissingExtra, StoreError
from nanomem_tui.tiers import operational
from nanomem_tui.tiers.operational import Collector, Machine
from tests.tiers.happened import small_home

ON = {"collector_enabled": True}
GPU = """#!/bin/sh
echo "37, 1024, 24576, 61"
echo "[N/A], 0, 24576, 40"
"""


def test_one_look_tells_the_machine(ws):
    pytest.importorskip("psutil")
    number = ws.collector.measure()
    told = {value.name: value for value in ws.operational.metrics()}
    assert len(told) == number
    assert told["memory.total"].value > told["memory.used"].value > 0
    assert told["memory.total"].unit == "B"
    assert told["disk.total"].value > 0
    assert told["cpu.count"].value >= 1
    event = ws.operational.recent(category="event")[0]
    assert event.source == "collector"
    assert event.critical is False
    assert event.data["processes"]["count"] >= 1
    assert {"pid", "name", "cpu_percent", "memory"} == set(event.data["processes"]["by_memory"][0])
    snapshot = ws.operational.snapshot()
    assert snapshot["memory_total"] == told["memory.total"].value
    assert snapshot["cpu_percent"] is not None


def test_no_command_line_and_no_environment_is_read(monkeypatch):
    pytest.importorskip("psutil")
    opened = []
    real = builtins.open

    def noted(name, *args, **named):
        opened.append(str(name))
        return real(name, *args, **named)

    monkeypatch.setattr(builtins, "open", noted)
    machine = Machine()
    machine.event()
    machine.metrics()
    if sys.platform == "linux":
        assert any(name.endswith("/stat") for name in opened), "the reads were seen"
    assert [name for name in opened if name.endswith(("/cmdline", "/environ"))] == []


def test_gpus_are_told_where_their_tool_is(ws, tmp_path, monkeypatch):
    pytest.importorskip("psutil")
    tool = tmp_path / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    tool.write_text(GPU)
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:/usr/bin:/bin")
    ws.collector.measure()
    found = ws.operational.snapshot()["gpu"]
    assert found["0.percent"] == 37.0
    assert found["0.memory.used"] == 2**30
    assert "1.percent" not in found, "what the tool does not know is no number"
    tool.write_text("#!/bin/sh\nexit 1\n")
    assert ws.collector.measure() > 0


class Scripted:
    """A machine that says what the test lets it say."""

    def __init__(self):
        self.ports = [22]
        self.cpu = {1: 3.0, 2: 1.0}
        self.memory = {1: 50, 2: 10}

    def metrics(self):
        return [operational.Measured("memory.total", 1000.0, "B")]

    def event(self):
        found = [
            {"pid": pid, "name": f"p{pid}", "cpu_percent": cpu, "memory": self.memory[pid]}
            for pid, cpu in self.cpu.items()
        ]
        processes = {"count": len(found), "by_cpu": found, "by_memory": found}
        connections = {"count": 7, "by_state": {"LISTEN": 1}}
        return {"type": "system", "processes": processes, "connections": connections, "listening": list(self.ports)}


@pytest.fixture
def scripted(monkeypatch):
    machine = Scripted()
    monkeypatch.setattr(operational, "Machine", lambda: machine)
    return machine


def events(ws):
    return len(ws.operational.recent(None, category="event"))


def test_processes_and_ports_are_told_when_they_change(ws, scripted):
    start = datetime(2026, 3, 1, 10, tzinfo=UTC)
    looks = 0

    def told():
        """Events that a look adds; every quarter of a minute there is one."""
        nonlocal looks
        looks += 1
        with clock.at(start + timedelta(seconds=15 * looks)):
            before = events(ws)
            assert ws.collector.measure() == 3
            return events(ws) - before

    assert told() == 1, "the first look tells what there is"
    scripted.cpu[1], scripted.memory[1] = 30.0, 70
    assert told() == 0, "a little more or less is what the metrics tell"
    for change, expected in [
        (lambda: scripted.ports.append(8080), 1),
        (lambda: scripted.ports.remove(22), 1),
        (lambda: scripted.cpu.update({1: 60.0}), 1),
        (lambda: scripted.cpu.update({1: 40.0}), 0),  # it is busy until it uses half of that
        (lambda: scripted.cpu.update({1: 20.0}), 1),
        (lambda: scripted.memory.update({2: 150}), 1),
        (lambda: scripted.memory.update({2: 60}), 0),
        (lambda: scripted.cpu.pop(2), 1),
    ]:
        change()
        assert told() == expected
        assert told() == 0
    metrics = {value.name: value.value for value in ws.operational.metrics()}
    assert (metrics["processes.count"], metrics["connections.count"]) == (1, 7)


@pytest.mark.parametrize(("changes", "most"), [(False, 29), (True, 13 * 24)])
def test_a_day_of_the_collector_is_so_many_events(ws, scripted, changes, most, monkeypatch):
    """A quiet machine, and one on which ports come and go at every look; the last hour always has an event."""
    told = []
    monkeypatch.setattr(ws.operational, "push", lambda category, *_: told.append(now) if category == "event" else None)
    start = datetime(2026, 3, 1, tzinfo=UTC)
    for number in range(24 * 240):
        if changes:
            scripted.ports = [number]
        now = start + timedelta(seconds=15 * number)
        with clock.at(now):
            ws.collector.measure()
    assert 29 <= len(told) <= most
    assert max(later - earlier for earlier, later in pairwise(told)) <= timedelta(minutes=50)


def test_a_clock_that_is_set_back_silences_no_collector(ws, scripted):
    start = datetime(2026, 3, 1, tzinfo=UTC)
    with clock.at(start):
        ws.collector.measure()
    with clock.at(start - timedelta(days=2)):
        ws.collector.measure()
        assert events(ws) == 2


def test_it_is_off_until_somebody_asks_for_it(ws):
    ws.start_collecting()
    assert "collector" not in ws.__dict__
    assert not any(thread.name == "nanomem-collector" for thread in threading.enumerate())


def test_it_looks_again_and_again_and_ends_with_the_workspace(tmp_path, monkeypatch):
    looked = threading.Event()

    class Fake:
        number = 0

        def metrics(self):
            return [operational.Measured("cpu.percent", 1.0, "%")]

        def event(self):
            Fake.number += 1
            if Fake.number == 1:
                raise RuntimeError("odd")
            looked.set()
            return {}

    monkeypatch.setattr(operational, "Machine", Fake)
    ws = open_workspace(small_home(tmp_path))
    monkeypatch.setattr(operational, "LOOK_SECONDS", 0.01)
    ws.settings = ws.settings._replace(collector_enabled=True)
    ws.start_collecting()
    ws.start_collecting()
    assert looked.wait(60), "an odd machine ends no look for good"
    ws.close()
    number = Fake.number
    assert not any(thread.name == "nanomem-collector" for thread in threading.enumerate())
    assert number >= 2


def test_a_missing_library_is_one_line(ws, monkeypatch):
    monkeypatch.setitem(sys.modules, "psutil", None)
    with pytest.raises(MissingExtra) as raised:
        ws.collector.measure()
    assert raised.value.line() == (
        "the library psutil is not installed, and collector_enabled asks for it"
        ". Fix: in a clone of nanomem: pip install '.[system]'"
    )
    on = Collector(ws.operational, ws.settings._replace(**ON))
    on.start()
    on.stop()
    assert [problem.fix for problem in on.problems()] == ["in a clone of nanomem: pip install '.[system]'"]


def test_a_disk_that_takes_nothing_is_told(ws, monkeypatch):
    pytest.importorskip("psutil")

    def full(*_):
        raise StoreError("no room")

    monkeypatch.setattr(ws.operational, "push", full)
    on = Collector(ws.operational, ws.settings._replace(**ON))
    on.start()
    on.stop()
    assert [problem.what for problem in on.problems()] == ["no room"]
