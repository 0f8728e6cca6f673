"""Operational memory: what happens now (seed 004), kept for an hour before it ages into work records.

Owns its queries, and when an entry leaves: one transaction moves it to the events, metrics and tasks of working memory,
so that a kill leaves it in exactly one of them. `Collector` measures this machine for it, only where the user turned
that on. It never reads a command line, an environment or an address: a process is its number and its name, a connection
its state, and a port on which somebody listens.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import shutil
import subprocess
import time
from collections import Counter, deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.clock import Repeating
from nanomem_tui.core.errors import BadInput, MissingExtra, NanomemError, Problem, extra_command
from nanomem_tui.core.operations import new_key
from nanomem_tui.core.settings import Settings
from nanomem_tui.core.text import one_line
from nanomem_tui.store.work import models, records
from nanomem_tui.store.work.kinds import AT_WORK, ENDED, KINDS
from nanomem_tui.store.work.values import MAX_TEXT, TierRecord, Where, checked_id
from nanomem_tui.store.work.values import checked as values_checked
from nanomem_tui.tiers.records import RecordTrail

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from nanomem_tui.store.forgotten import Forgotten


# -- What happens now, one entry at a time: its categories, what each must say, and what it is about ------------------

CATEGORIES = ("metric", "event", "task", "tool_result")
MAX_SOURCE = 500
"""Characters of a source, and of the name of a metric."""
DEEPEST = 100
"""Lists and objects within each other."""
_ERRORS = frozenset({"error", "critical", "fatal"})
_MEASURED = frozenset({"name", "value", "unit"})
"""What the table of metrics has room for."""


class OperationalEntry(NamedTuple):
    """Something that happened: `at` is UTC ISO, `data` JSON; a critical one went into working memory at once."""

    id: str
    at: str
    category: str
    source: str
    data: Any
    critical: bool = False


class MetricValue(NamedTuple):
    """The newest value of a metric; `at` is UTC ISO."""

    name: str
    value: float
    unit: str
    at: str


def check_entry(category: str, data: Any, source: Any) -> None:
    """Raise BadInput for what no entry of that category can be."""
    if category not in CATEGORIES:
        raise BadInput("no such category", one_line(str(category), 40), f"one of {', '.join(CATEGORIES)}")
    if not isinstance(source, str) or len(source) > MAX_SOURCE:
        raise BadInput("no usable source", one_line(str(source), 40), f"a text of at most {MAX_SOURCE} characters")
    if not source.isascii():
        text_of(source)
    if category == "event":
        return
    if not isinstance(data, dict):
        raise BadInput(f"the data of a {category} must be an object", "", _EXAMPLES[category])
    if category == "metric":
        name, value, unit = data.get("name"), data.get("value"), data.get("unit")
        if not isinstance(name, str) or not name or len(name) > MAX_SOURCE or name.isspace():
            raise BadInput("a metric needs a name", "", _EXAMPLES[category])
        if not _is_number(value):
            told = one_line(repr(value), 40)
            raise BadInput(f"the value of a metric must be a number, not {told}", name, _EXAMPLES[category])
        if unit is not None and not isinstance(unit, str):
            told = one_line(repr(unit), 40)
            raise BadInput(f"the unit of a metric must be a text, not {told}", name, _EXAMPLES[category])
    else:
        for field in ("id", "status") if category == "task" else ("tool",):
            if not isinstance(data.get(field), str) or not data[field].strip():
                raise BadInput(f"a {category} needs `{field}`", "", _EXAMPLES[category])
        if category == "task" and checked_id(data["id"]) != data["id"]:
            raise BadInput("a task's id has blanks around it", one_line(data["id"], 40), _EXAMPLES[category])


_EXAMPLES = {
    "metric": 'give {"name": "cpu.percent", "value": 12.5}',
    "task": 'give {"id": "task_1", "status": "in_progress"}',
    "tool_result": 'give {"tool": "read_file", "input": {"path": "a.txt"}, "output": "...", "success": true}',
}


def _is_number(value: object) -> bool:
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an integer too large for a float
        return False


def text_of(data: Any) -> str:
    """Return the data as JSON. Raises BadInput for what UTF-8 JSON cannot hold, and for too much."""
    try:
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError):
        raise BadInput("the data is no JSON", "", "give UTF-8 text, finite numbers, lists and objects") from None
    if size > MAX_TEXT:
        raise BadInput(f"the data has {size:,} bytes", "", f"give at most {MAX_TEXT:,}")
    if _deeper(data, DEEPEST):
        raise BadInput(f"the data is nested more than {DEEPEST} deep", "", "make it flatter")
    return text


def _deeper(value: Any, levels: int) -> bool:
    """Return whether a value has more levels of lists and objects."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else None
    return inside is not None and (levels == 0 or any(_deeper(one, levels - 1) for one in inside))


def is_critical(data: Any, source: str) -> bool:
    """Return whether that is an error or an event of security, by what it says of itself."""
    said = data if isinstance(data, dict) else {}
    grave = [said.get("level"), said.get("severity")]
    about = [source, said.get("type"), said.get("kind"), said.get("category")]
    return any(isinstance(word, str) and word.lower() in _ERRORS for word in grave) or any(
        isinstance(word, str) and _of_security(word) for word in about
    )


def _of_security(name: str) -> bool:
    """Return whether a name is `security`, or one of a part of it: `security.login`."""
    return name[:8].lower() == "security" and not name[8:9].isalnum()


def is_active(status: str) -> bool:
    """Return whether a task in that state is still to be done."""
    return status.strip().lower() not in ENDED


def entry_text(category: str, data: Any) -> str:
    """Return an entry in words: a message, a metric, a task; else its data as JSON."""
    if isinstance(data, str):
        return data
    if isinstance(data, dict):
        name, value, message = data.get("name"), data.get("value"), data.get("message")
        if category == "metric" and isinstance(name, str) and _is_number(value):
            return f"{name} = {value:,.10g} {data.get('unit') or ''}".rstrip()
        if isinstance(message, str) and message.strip():
            return message
        if category == "task" and "id" in data and "status" in data:
            description = data.get("description")
            told = f"{data['id']}: {data['status']}"
            return f"{told} · {description}" if isinstance(description, str) and description else told
    return json.dumps(data, ensure_ascii=False)


def entry_records(entry: OperationalEntry) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the kinds and fields that working memory keeps of an entry; a metric with more is an event too."""
    data = entry.data
    told = {"source": entry.source, "timestamp": entry.at}
    if entry.category == "metric":
        yield "metric", {"name": data["name"], "value": data["value"], "unit": data.get("unit"), **told}
    if entry.category != "metric" or entry.critical or data.keys() - _MEASURED:
        yield "event", {"category": entry.category, "data": data, "critical": entry.critical, **told}


def name_of(category: str, data: Any) -> str:
    """Return what an entry is about: a metric, a task or a tool; empty for an event."""
    named = {"metric": "name", "task": "id", "tool_result": "tool"}.get(category)
    return str(data[named]) if named else ""


def agent_of(data: Any) -> str | None:
    """Return the agent whose state an event or a task tells; None where it tells none."""
    if isinstance(data, Mapping) and "state" in data:
        agent = data.get("agent")
        return agent if isinstance(agent, str) and agent else None
    return None


def description_of(data: Any) -> str:
    """Return what a task is about, by what was said of it; its id where nothing else was."""
    return text_in(data, "description") or text_in(data, "title") or text_in(data, "id")


def text_in(data: Any, name: str) -> str:
    """Return the text that an object has under a name; empty where there is none."""
    value = data.get(name) if isinstance(data, Mapping) else None
    return value if isinstance(value, str) else ""


SECONDS = 3600.0
"""Seconds that an entry is among what happens now."""
ORIGIN = "operational"
"""The origin of a task that we know from what was said of it, and not because an agent recorded it."""
BATCH = 500
"""Entries that leave in one transaction; so many more than it holds there are at most."""
MOST = 50_000_000
"""Characters of the data of all entries. To add them up takes 10 ms, so who only looks does not."""
MINUTE = 60.0
MOST_TASKS = 1000
"""Tasks of each state of what is to be done that are looked at, the newest."""
MEASURED = {
    "cpu_percent": "cpu.percent", "memory_used": "memory.used", "memory_total": "memory.total",
    "disk_used": "disk.used", "disk_total": "disk.total",
}  # fmt: skip
"""The fields of a snapshot, and the metrics that they are."""


class ActiveTask(NamedTuple):
    """A task that is still to be done; `data`: all that was said of it last."""

    id: str
    status: str
    agent: str
    description: str
    at: str
    data: Any


class AgentState(NamedTuple):
    """What an agent said last of itself."""

    agent: str
    state: Any
    at: str


class Operational:
    """What happens now, of one workspace, whoever tells it. Every method may be called from any thread."""

    def __init__(self, trail: RecordTrail, settings: Settings, gone: Callable[[], Forgotten]) -> None:
        """`gone`: what is forgotten, and kept out."""
        self._gone = gone
        self._trail, self._database = trail, trail.database
        self._limit = settings.operational_entries
        self._seconds = SECONDS
        self._pushed = 0
        self._aged_at = -float("inf")
        self._trouble = ""

    # -- telling ------------------------------------------------------------------------------------------------------

    def push(self, category: str, data: Any = None, source: str = "", critical: bool = False) -> str:
        """Keep what happened; its id. It survives a kill once this returns; a critical entry (an error, an event of
        security, or one that is called so) is in working memory too then, and survives a power cut.

        Raises BadInput, Refused for what was forgotten, and the store's errors: nothing was kept then.
        """
        data = {} if data is None else data
        check_entry(category, data, source)
        self._gone().refuse([data, source], f"an entry of {category}")
        text_of(data)
        grave = critical or is_critical(data, source)
        entry = OperationalEntry(new_key("ev"), clock.iso(clock.now()), category, source, data, grave)
        self._database.write(lambda connection: _write_entry(connection, entry), durable=grave)
        self._pushed += 1
        if self._pushed % BATCH == 0:
            self._age_quietly()
        else:
            self.age_if_due()
        return entry.id

    # -- aging --------------------------------------------------------------------------------------------------------

    def age(self, now: datetime | None = None, most: int | None = MOST) -> int:
        """Move what is older than an hour, and what is too much, into working memory; how many entries. `most`: the
        characters of data that may stay, None for any number.

        Raises the errors of the database; everything stays where it is then.
        """
        before = clock.iso((now or clock.now()) - timedelta(seconds=self._seconds))
        moved = 0
        try:
            while upto := self._database.ask(lambda asked: models.due(asked, self._limit, before, most), 0):
                moved += self._database.write(partial(self._age, upto=upto), durable=True)
            self._trouble = ""
        except NanomemError as error:
            self._trouble = error.line()
            raise
        return moved

    def _age(self, connection: Connection, upto: int) -> int:
        """Let one batch leave, up to a number: none where another process was quicker."""
        taken = models.take(connection, upto, BATCH)
        batch = [_entry(row) for row in taken]
        self._keep_tasks(connection, batch)
        records.put_new(connection, (record for entry in batch if not entry.critical for record in _records(entry)))
        return len(batch)

    def _keep_tasks(self, connection: Connection, batch: Sequence[OperationalEntry]) -> None:
        """Keep what a batch says last of each task, but for those of which an entry that stays says more."""
        later = {row["name"] for row in models.newest_of_each(connection, "task")}
        newest = {entry.data["id"]: entry for entry in batch if entry.category == "task"}
        for key, entry in newest.items():
            if key not in later:
                self._keep_task(connection, entry)

    def _keep_task(self, connection: Connection, entry: OperationalEntry) -> None:
        """Keep what the last word on a task says of its record: one that is still to be done gets one, so that it stays
        known; one that has a record gets its state, unless that was changed since."""
        kind, data = KINDS["task"], entry.data
        known = records.get(connection, kind, data["id"])
        fields = {"status": data["status"]}
        if known is None:
            if not is_active(data["status"]):
                return
            agent = text_in(data, "agent") or entry.source
            fields |= {"description": description_of(data), "agent": agent, "started_at": entry.at}
        elif known.fields["status"] == data["status"] or (known.origin != ORIGIN and known.changed_at > entry.at):
            return
        with contextlib.suppress(BadInput):  # what can be no record is an event all the same
            self._trail.write_record(connection, kind, data["id"], fields, ORIGIN, overheard=True)

    def age_if_due(self) -> None:
        """Age once a minute, for who asks all the time; what goes wrong is told by `problems`."""
        if time.monotonic() - self._aged_at >= MINUTE:
            self._age_quietly()

    def _age_quietly(self, most: int | None = MOST) -> None:
        self._aged_at = time.monotonic() if most is not None else self._aged_at
        with contextlib.suppress(NanomemError):
            self.age(most=most)

    def problems(self) -> list[Problem]:
        """Return why entries cannot leave."""
        what = "entries cannot leave operational memory"
        return [Problem(what, "operational", fix=self._trouble)] if self._trouble else []

    # -- asking -------------------------------------------------------------------------------------------------------

    def recent(
        self,
        limit: int | None = 50,
        category: str | None = None,
        source: str | None = None,
        since: datetime | str | None = None,
    ) -> list[OperationalEntry]:
        """Return the newest entries, newest first; all of them where `limit` is None. Raises BadInput."""
        if category and category not in CATEGORIES:
            raise BadInput("no such category", category[:40], f"one of {', '.join(CATEGORIES)}")
        after = clock.parse(since) if isinstance(since, str) else since
        if since and after is None:
            raise BadInput("no time", str(since)[:40], "give one like 2026-02-15T09:30")
        self._age_quietly(None)
        least = clock.iso(after) if after is not None else ""

        def read(connection: Connection) -> list[OperationalEntry]:
            equal = {"source": source} if source else {}
            found = models.newest(connection, category or "", since=least, limit=limit, **equal)
            return [_entry(row) for row in found]

        return self._database.ask(read, [])

    def get(self, entry_id: str) -> OperationalEntry | None:
        """Return the entry of an id; None where it is none of the last hour."""

        def read(connection: Connection) -> OperationalEntry | None:
            return next(map(_entry, models.newest(connection, id=entry_id)), None)

        return self._database.ask(read, None)

    def holding(self, parts: Sequence[str], categories: Iterable[str], limit: int) -> list[OperationalEntry]:
        """Return the newest entries of these categories whose source or data hold one of these parts of words (lower
        case), newest first, at most `limit` of each category; of a task only the newest word. Nothing is moved for
        it."""

        def read(connection: Connection) -> list[OperationalEntry]:
            found: list[OperationalEntry] = []
            for category in categories:
                of = models.newest_of_each if category == "task" else models.newest
                holding = (
                    _entry(row)
                    for row in of(connection, category)
                    if any(part in f"{row['source']} {row['data_json']}".lower() for part in parts)
                )
                found += itertools.islice(holding, limit)
            return found

        return self._database.ask(read, [])

    def metric(self, name: str) -> MetricValue | None:
        """Return the newest value of a metric, of now or of what working memory still has; None where there is none."""

        def read(connection: Connection) -> MetricValue | None:
            for row in models.newest(connection, "metric", name=name):
                return _value(row)
            for old in records.rows(connection, KINDS["metric"], None, Where({"name": name}), 1):
                return MetricValue(name, old.fields["value"], old.fields["unit"] or "", old.at)
            return None

        return self._database.ask(read, None)

    def metrics(self) -> list[MetricValue]:
        """Return the newest value of each metric that was told within the hour, by name."""
        return sorted(map(_value, self._newest_of_each("metric")))

    def active_tasks(self) -> list[ActiveTask]:
        """Return the tasks that are pending or in progress, the newest word on each: of now, else of working memory."""
        told = [_entry(row) for row in self._newest_of_each("task")]
        tasks = [_task(entry) for entry in told if is_active(entry.data["status"])]
        known = {entry.data["id"] for entry in told}

        def read(connection: Connection) -> list[TierRecord]:
            wheres = [Where({"status": status}) for status in AT_WORK]
            return [
                one for where in wheres for one in records.rows(connection, KINDS["task"], "working", where, MOST_TASKS)
            ]

        for task in self._database.ask(read, list[TierRecord]()):
            if task.id not in known:
                status, agent, description = (task.fields[name] for name in ("status", "agent", "description"))
                tasks.append(ActiveTask(task.id, status, agent, description, task.changed_at, dict(task.fields)))
        return sorted(tasks, key=lambda task: (task.at, task.id), reverse=True)

    def agent_states(self) -> list[AgentState]:
        """Return what each agent said last of itself within the hour, by name."""
        told = self._database.ask(models.newest_of_agents, list[dict[str, Any]]())
        return sorted(AgentState(row["agent"], _entry(row).data["state"], row["at"]) for row in told)

    def state(self) -> dict[str, Any]:
        """Return counts, when the oldest entry was, and why nothing can age now (empty: it can)."""
        number, oldest = self._database.ask(models.count, (0, ""))
        tasks = sum(is_active(_entry(row).data["status"]) for row in self._newest_of_each("task"))
        counts = {"metrics": len(self.metrics()), "agents": len(self.agent_states())}
        limits = {"limit": self._limit, "seconds": self._seconds}
        return {"entries": number, **limits, **counts, "tasks": tasks, "oldest": oldest, "degraded": self._trouble}

    def snapshot(self) -> dict[str, Any]:
        """Return the system now, as the newest metrics of the collector tell it; None for what nobody measured."""
        told = {value.name: value.value for value in self.metrics()}
        gpu = {name.removeprefix("gpu."): value for name, value in told.items() if name.startswith("gpu.")}
        return {
            "at": clock.iso(clock.now()),
            **{field: told.get(name) for field, name in MEASURED.items()},
            "gpu": gpu or None,
            "active_tasks": len(self.active_tasks()),
            "agents": len(self.agent_states()),
            "entries": self.state()["entries"],
        }

    def _newest_of_each(self, category: str) -> list[dict[str, Any]]:
        return self._database.ask(lambda connection: models.newest_of_each(connection, category), [])


def _write_entry(connection: Connection, entry: OperationalEntry) -> None:
    """Keep an entry; a critical one in working memory too."""
    models.add(connection, _row(entry))
    if entry.critical:
        records.put_new(connection, _records(entry))


def _row(entry: OperationalEntry) -> dict[str, Any]:
    is_of_agent = entry.category in ("event", "task")
    agent = (is_of_agent and agent_of(entry.data)) or ""
    # An entry of an index of PostgreSQL holds 2,700 bytes at most.
    more = {"name": name_of(entry.category, entry.data)[:MAX_SOURCE], "agent": agent[:MAX_SOURCE]}
    named = {"id": entry.id, "at": entry.at, "category": entry.category, "source": entry.source}
    return {**named, **more, "critical": int(entry.critical), "data_json": text_of(entry.data)}


def _entry(row: dict[str, Any]) -> OperationalEntry:
    data, critical = json.loads(row["data_json"]), bool(row["critical"])
    return OperationalEntry(row["id"], row["at"], row["category"], row["source"], data, critical)


def _records(entry: OperationalEntry) -> Iterator[TierRecord]:
    now = clock.iso(clock.now())
    for kind, fields in entry_records(entry):
        yield TierRecord(kind, entry.id, values_checked(KINDS[kind], fields), stored_at=now, changed_at=now)


def _value(row: dict[str, Any]) -> MetricValue:
    data = json.loads(row["data_json"])
    return MetricValue(data["name"], float(data["value"]), data.get("unit") or "", row["at"])


def _task(entry: OperationalEntry) -> ActiveTask:
    data = entry.data
    agent = text_in(data, "agent") or entry.source
    return ActiveTask(data["id"], data["status"], agent, description_of(data), entry.at, data)


# -- Measure this machine for operational memory, only where the user turned it on ------------------------------------

SOURCE = "collector"
LOOK_SECONDS = 15.0
"""Seconds between two looks at the machine."""
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
    """Return what of an event stays for a while; `memory` in bytes, `before`: what stood at the last event."""
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

    def measure(self) -> int:
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
            self.measure()
            self._trouble = None
        except NanomemError as error:
            self._trouble = error
        except Exception as error:  # noqa: BLE001  what a machine cannot tell ends no program
            self._trouble = NanomemError(f"the machine cannot be measured ({type(error).__name__}: {error})")
        return LOOK_SECONDS


def missing_parts(settings: Settings) -> list[Problem]:
    """Return what the collector needs and does not find, where it is switched on."""
    import importlib.util

    if not settings.collector_enabled or importlib.util.find_spec("psutil") is not None:
        return []
    return [Problem("the library psutil is not installed, and collector_enabled asks for it", "collector",
                    fix=extra_command("system"))]  # fmt: skip
