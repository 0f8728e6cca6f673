"""Measure this machine for operational memory, only where the user turned it on.

Owns what is measured, and when processes and ports are worth an event: events are kept for good, metrics are not. Never
reads a command line, an environment or an address: a process is its number and its name, a connection its state, and a
port on which somebody listens.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections import Counter, deque
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import MissingExtra, NanomemError, Problem, extra_command
from nanomem_tui.core.schedule import Repeating
from nanomem_tui.core.settings import Settings
from nanomem_tui.tiers.operational import Operational

SOURCE = "collector"
TOP = 5
"""Processes that are named, those that use the most processor time and those that use the most memory."""
PORTS = 50
"""Ports that are named."""
BUSY = 50.0
"""Percent of a processor from which on a process is busy, until it uses less than half of that."""
LARGE = 0.1
"""Part of the memory from which on a process is large, until it has less than half of that."""
AGAIN = 3_000_000
"""Milliseconds after which processes and ports are told again, so that the last hour always has them."""
HOUR = 3_600_000
EVENTS = 12
"""Events within an hour after which a change waits."""
GPU_SECONDS = 5.0
_GPU = ("percent", "%"), ("memory.used", "B"), ("memory.total", "B"), ("temperature", "°C")
_ASKED = "--query-gpu=utilization.gpu,memory.used,memory.total,temperature.gpu"


class Measured(NamedTuple):
    """One value of one metric."""

    name: str
    value: float
    unit: str


class Machine:
    """A look at this machine. Raises MissingExtra where the library for it is not installed."""

    def __init__(self) -> None:
        try:
            import psutil
        except ImportError as error:
            what = "the library psutil is not installed, and collector_enabled asks for it"
            raise MissingExtra(what, "", extra_command("system")) from error
        self._psutil = psutil
        self._disk = "/"
        self._gpu = shutil.which("nvidia-smi")
        psutil.cpu_percent()  # what it says is counted since the last time that it was asked
        self._processes()

    def metrics(self) -> list[Measured]:
        """Processor, memory, disk and GPU; what this machine cannot tell is left out."""
        psutil = self._psutil
        found = [Measured("cpu.percent", psutil.cpu_percent(), "%"), Measured("cpu.count", psutil.cpu_count() or 1, "")]
        with contextlib.suppress(OSError, AttributeError):
            found.append(Measured("cpu.load", psutil.getloadavg()[0], ""))
        memory = psutil.virtual_memory()
        found += [
            Measured("memory.used", memory.total - memory.available, "B"),
            Measured("memory.total", memory.total, "B"),
            Measured("memory.percent", memory.percent, "%"),
        ]
        with contextlib.suppress(OSError):
            disk = psutil.disk_usage(self._disk)
            found += [Measured("disk.used", disk.used, "B"), Measured("disk.total", disk.total, "B"),
                      Measured("disk.percent", disk.percent, "%")]  # fmt: skip
        return [*found, *self._gpus()]

    def event(self) -> dict[str, Any]:
        """Processes and connections, as what one event says."""
        processes = self._processes()
        by = {
            "by_cpu": sorted(processes, key=lambda one: -one["cpu_percent"])[:TOP],
            "by_memory": sorted(processes, key=lambda one: -one["memory"])[:TOP],
        }
        return {"type": "system", "processes": {"count": len(processes), **by}, **self._connections()}

    def _processes(self) -> list[dict[str, Any]]:
        psutil = self._psutil
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError), process.oneshot():
                # `Process.name` reads the command line where the kernel cut a name; the kernel's own is enough.
                found.append({
                    "pid": process.pid, "name": process._proc.name(), "cpu_percent": process.cpu_percent(),
                    "memory": process.memory_info().rss,
                })  # fmt: skip
        return found

    def _connections(self) -> dict[str, Any]:
        """Connections by their state, and the ports on which somebody listens; nothing where only root may know."""
        try:
            found = self._psutil.net_connections("inet")
        except (self._psutil.Error, OSError):
            return {}
        listening = sorted({one.laddr.port for one in found if one.status == "LISTEN" and one.laddr})
        states = Counter(one.status for one in found)
        return {"connections": {"count": len(found), "by_state": dict(states)}, "listening": listening[:PORTS]}

    def _gpus(self) -> Iterator[Measured]:
        if self._gpu is None:
            return
        try:
            asked = [self._gpu, _ASKED, "--format=csv,noheader,nounits"]
            told = subprocess.run(asked, capture_output=True, timeout=GPU_SECONDS, check=True).stdout
        except (OSError, subprocess.SubprocessError):
            return
        for number, line in enumerate(told.decode("ascii", "replace").splitlines()):
            for (name, unit), word in zip(_GPU, line.split(","), strict=False):
                with contextlib.suppress(ValueError):
                    value = float(word) * (2**20 if unit == "B" else 1)
                    yield Measured(f"gpu.{number}.{name}", value, unit)


Standing = tuple[str, int, str]
"""What stays for a while: a port on which somebody listens, a busy process, a large one."""


def lasting_state(event: Mapping[str, Any], memory: float, before: Container[Standing]) -> set[Standing]:
    """Return what of an event stays for a while; `memory`: bytes of the machine, `before`: what stood at the last
    event."""
    found: set[Standing] = {("port", port, "") for port in event.get("listening", ())}
    processes = event.get("processes", {})
    for what, top, field, least in (
        ("busy", "by_cpu", "cpu_percent", BUSY),
        ("large", "by_memory", "memory", LARGE * memory),
    ):
        for one in processes.get(top, ()):
            known = what, one["pid"], one["name"]
            if one[field] >= (least / 2 if known in before else least):
                found.add(known)
    return found


class Collector:
    """Looks at the machine every so many seconds, in a thread, once it was started and where the settings say so."""

    def __init__(self, operational: Operational, settings: Settings) -> None:
        self._operational = operational
        self._settings = settings
        self._machine: Machine | None = None
        self._looking: Repeating | None = None
        self._trouble: NanomemError | None = None
        self._standing: set[Standing] = set()
        self._told: deque[int] = deque(maxlen=EVENTS)

    def start(self) -> None:
        """Begin to look, where that is switched on. Where it cannot be done `problems` says why."""
        if self._settings.collector_enabled and self._looking is None:
            self._looking = Repeating("nanomem-collector", self._look_again, 0.0)
            self._looking.start()

    def stop(self) -> None:
        """End, once a look that is under way is done."""
        if self._looking is not None:
            self._looking.stop()

    def look(self) -> int:
        """Measure once; how many metrics were told. Raises MissingExtra and the errors of `Operational.push`."""
        if self._machine is None:
            self._machine = Machine()
        event = self._machine.event()
        measured = self._machine.metrics()
        counted = [name for name in ("processes", "connections") if name in event]
        measured += [Measured(f"{name}.count", event[name]["count"], "") for name in counted]
        for name, value, unit in measured:
            self._operational.push("metric", {"name": name, "value": value, **({"unit": unit} if unit else {})}, SOURCE)
        memory = next((one.value for one in measured if one.name == "memory.total"), 0.0)
        self._tell(event, lasting_state(event, memory, self._standing))
        return len(measured)

    def _tell(self, event: dict[str, Any], now: set[Standing]) -> None:
        """An event, where something came, went, became busy or large, or ceased to be; and now and then anyway."""
        ms = clock.now_ms()
        if self._told and 0 <= ms - self._told[-1] < AGAIN:
            often = len(self._told) == EVENTS and ms - self._told[0] < HOUR
            if now == self._standing or often:
                return
        self._operational.push("event", event, SOURCE)
        self._standing = now
        self._told.append(ms)

    def problems(self) -> list[Problem]:
        """Return why nothing can be measured."""
        error = self._trouble
        return [Problem(error.what, error.where or "collector", fix=error.fix)] if error is not None else []

    def _look_again(self, stopped: Callable[[], bool]) -> float:
        try:
            self.look()
            self._trouble = None
        except NanomemError as error:
            self._trouble = error
        except Exception as error:  # noqa: BLE001  what a machine cannot tell ends no program
            self._trouble = NanomemError(f"the machine cannot be measured ({type(error).__name__}: {error})")
        return self._settings.collector_interval_seconds


def missing_parts(settings: Settings) -> list[Problem]:
    """Return what the collector needs and does not find, where it is switched on."""
    import importlib.util

    if not settings.collector_enabled or importlib.util.find_spec("psutil") is not None:
        return []
    return [Problem("the library psutil is not installed, and collector_enabled asks for it", "collector",
                    fix=extra_command("system"))]  # fmt: skip
