"""The collector: what it measures, that it reads no secret, and that it is off until somebody asks for it."""

from __future__ import annotations

import builtins
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.errors import MissingExtra, StoreError
from nanomem_tui.tiers import collector
from nanomem_tui.tiers.collector import Collector, Machine
from nanomem_tui.workspace import Workspace
from tests.tiers.happened import small_home

ON = {"collector_enabled": True, "collector_interval_seconds": 1.0}
GPU = """#!/bin/sh
echo "37, 1024, 24576, 61"
echo "[N/A], 0, 24576, 40"
"""


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    with open_workspace(small_home(tmp_path)) as found:
        yield found


def test_one_look_tells_the_machine(ws: Workspace) -> None:
    pytest.importorskip("psutil")
    number = ws.collector.look()
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


def test_no_command_line_and_no_environment_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psutil")
    opened: list[str] = []
    real = builtins.open

    def noted(name: Any, *args: Any, **named: Any) -> Any:
        opened.append(str(name))
        return real(name, *args, **named)

    monkeypatch.setattr(builtins, "open", noted)
    machine = Machine()
    machine.event()
    machine.metrics()
    if sys.platform == "linux":
        assert any(name.endswith("/stat") for name in opened), "the reads were seen"
    assert [name for name in opened if name.endswith(("/cmdline", "/environ"))] == []


def test_gpus_are_told_where_their_tool_is(ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psutil")
    tool = tmp_path / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    tool.write_text(GPU)
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:/usr/bin:/bin")
    ws.collector.look()
    found = ws.operational.snapshot()["gpu"]
    assert found["0.percent"] == 37.0
    assert found["0.memory.used"] == 2**30
    assert "1.percent" not in found, "what the tool does not know is no number"
    tool.write_text("#!/bin/sh\nexit 1\n")
    assert ws.collector.look() > 0


def test_it_is_off_until_somebody_asks_for_it(ws: Workspace) -> None:
    ws.start_collecting()
    assert "collector" not in ws.__dict__
    assert not any(thread.name == "nanomem-collector" for thread in threading.enumerate())


def test_it_looks_again_and_again_and_ends_with_the_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = threading.Event()

    class Fake:
        number = 0

        def metrics(self) -> list[collector.Measured]:
            return [collector.Measured("cpu.percent", 1.0, "%")]

        def event(self) -> dict[str, Any]:
            Fake.number += 1
            if Fake.number == 1:
                raise RuntimeError("odd")
            looked.set()
            return {}

    monkeypatch.setattr(collector, "Machine", Fake)
    ws = open_workspace(small_home(tmp_path))
    ws.settings = ws.settings._replace(collector_enabled=True, collector_interval_seconds=0.01)
    ws.start_collecting()
    ws.start_collecting()
    assert looked.wait(60), "an odd machine ends no look for good"
    ws.close()
    number = Fake.number
    assert not any(thread.name == "nanomem-collector" for thread in threading.enumerate())
    assert number >= 2


def test_a_missing_library_is_one_line(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psutil", None)
    with pytest.raises(MissingExtra) as raised:
        ws.collector.look()
    assert raised.value.line() == (
        "the library psutil is not installed, and collector_enabled asks for it (pip install 'nanomem-tui[system]')"
    )
    on = Collector(ws.operational, ws.settings._replace(**ON))
    on.start()
    on.stop()
    assert [problem.fix for problem in on.problems()] == ["pip install 'nanomem-tui[system]'"]


def test_a_disk_that_takes_nothing_is_told(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psutil")

    def full(*_: object) -> None:
        raise StoreError("no room")

    monkeypatch.setattr(ws.operational, "push", full)
    on = Collector(ws.operational, ws.settings._replace(**ON))
    on.start()
    on.stop()
    assert [problem.what for problem in on.problems()] == ["no room"]
