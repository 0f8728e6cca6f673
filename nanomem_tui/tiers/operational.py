"""Operational memory: what happens now, as it is asked for (seed 004).

Owns the questions. What keeps it is `happening`.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from nanomem_tui import clock
from nanomem_tui.errors import BadInput
from nanomem_tui.tiers import aging
from nanomem_tui.tiers.entries import CATEGORIES, Kept, MetricValue, OperationalEntry, is_active
from nanomem_tui.tiers.happening import Happening
from nanomem_tui.tiers.ring import agent_of, canonical

RESULTS = 100
"""Results of tools that are told (seed 004)."""
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


class Operational(Happening):
    """What happens now, of one workspace, whoever tells it. Every method may be called from any thread."""

    def recent(
        self,
        limit: int | None = 50,
        category: str | None = None,
        source: str | None = None,
        since: datetime | str | None = None,
    ) -> list[OperationalEntry]:
        """The newest entries, newest first; all of them where `limit` is None. Raises BadInput."""
        if category and category not in CATEGORIES:
            raise BadInput("no such category", category[:40], f"one of {', '.join(CATEGORIES)}")
        after = clock.parse(since) if isinstance(since, str) else since
        if since and after is None:
            raise BadInput("no time", str(since)[:40], "give one like 2026-02-15T09:30")
        self._age_quietly()
        with self._lock:
            found = (
                kept
                for kept in self._newest_first()
                if (not category or kept.category == category) and (not source or kept.source == source)
            )
            if after is not None:
                text = clock.iso(after)
                found = (kept for kept in found if kept.at >= text)
            taken = list(itertools.islice(found, limit))
        return [kept.entry() for kept in taken]

    def holding(self, parts: Sequence[str], categories: Iterable[str], limit: int) -> list[OperationalEntry]:
        """The newest entries of these categories whose source or data hold one of these parts of words (lower case),
        newest first, at most `limit` of each category; of a task only the newest word. Nothing is moved for it."""
        with self._lock:
            self._now()
            told = [sorted(self._newest("tasks").values(), key=lambda kept: kept.when, reverse=True)]
            told += [[kept for kept in reversed(ring.entries) if kept.category != "task"] for ring in self._rings()]
        found: dict[str, list[Kept]] = {category: [] for category in categories}
        for entries in told:
            left = dict.fromkeys(found, limit)
            for kept in entries:
                if not left.get(kept.category):
                    continue
                text = f"{kept.source} {kept.text}".lower()
                for part in parts:
                    if part in text:
                        found[kept.category].append(kept)
                        left[kept.category] -= 1
                        break
        newest = (sorted(one, key=lambda kept: kept.when, reverse=True)[:limit] for one in found.values())
        return [kept.entry() for entries in newest for kept in entries]

    def metric(self, name: str) -> MetricValue | None:
        """The newest value of a metric, of now or of what working memory still has; None where there is none."""
        with self._lock:
            self._now()
            told = self._word("metrics", name)
        return _value(told) if told is not None else aging.last_metric(self._trail(), name)

    def metrics(self) -> list[MetricValue]:
        """The newest value of each metric that was told within the hour, by name."""
        with self._lock:
            self._now()
            told = self._newest("metrics")
        return [_value(kept) for _, kept in sorted(told.items())]

    def active_tasks(self) -> list[ActiveTask]:
        """The tasks that are pending or in progress, the newest word on each: of now, else of working memory."""
        with self._lock:
            self._now()
            told = self._newest("tasks")
        found = [_task(kept.entry()) for kept in told.values()]
        recorded = [task for task in aging.active_tasks(self._trail()) if task.id not in told]
        tasks = [task for task in found if is_active(task.status)]
        tasks += [
            ActiveTask(task.id, task.fields["status"], task.fields["agent"], task.fields["description"],
                       task.changed_at, dict(task.fields))
            for task in recorded
        ]  # fmt: skip
        return sorted(tasks, key=lambda task: (task.at, task.id), reverse=True)

    def tool_results(self, limit: int = RESULTS) -> list[OperationalEntry]:
        """The newest results of tools, newest first, at most a hundred."""
        with self._lock:
            self._now()
            return [kept.entry() for kept in itertools.islice(self._results(), min(limit, RESULTS))]

    def cached_result(self, tool: str, given: Any) -> OperationalEntry | None:
        """The newest successful result of a tool with just that input, within the hour; None where there is none.

        Raises BadInput for an input that is no JSON."""
        try:
            wanted = canonical(given)
        except (TypeError, ValueError, RecursionError):
            raise BadInput("the input is no JSON", "", "give texts, numbers, lists and objects") from None
        with self._lock:
            self._now()
            oldest = self._rank(clock.now_ms()) - self._span
            found = [kept for ring in self._rings() if (kept := ring.cached(tool, wanted)) and kept.rank >= oldest]
        newest = max(found, key=lambda kept: kept.when, default=None)
        return newest.entry() if newest is not None else None

    def agent_states(self) -> list[AgentState]:
        """What each agent said last of itself within the hour, by name."""
        with self._lock:
            self._now()
            told = self._newest("agents")
        entries = [kept.entry() for _, kept in sorted(told.items())]
        return [AgentState(agent_of(entry.data) or "", entry.data["state"], entry.at) for entry in entries]

    def state(self) -> dict[str, Any]:
        """What there is of it: counts, when the oldest entry was, and why nothing can age now (empty: it can)."""
        with self._lock:
            self._now()
            rings = self._rings()
            ends = [ring.entries[0] for ring in rings if ring.entries]
            oldest = min(ends, key=lambda kept: kept.rank).at if ends else ""
            entries = sum(len(ring.entries) for ring in rings)
            counts = {name: len(self._newest(name)) for name in ("metrics", "agents")}
            tasks = sum(is_active(kept.entry().data["status"]) for kept in self._newest("tasks").values())
        limits = {"limit": self._limit, "seconds": self._span / 1000}
        return {"entries": entries, **limits, **counts, "tasks": tasks, "oldest": oldest, "degraded": self._trouble}

    def snapshot(self) -> dict[str, Any]:
        """The system now, as the newest metrics of the collector tell it; None for what nobody measured."""
        told = {value.name: value.value for value in self.metrics()}
        gpu = {name.removeprefix("gpu."): value for name, value in told.items() if name.startswith("gpu.")}
        tasks, agents = self.active_tasks(), self.agent_states()
        return {
            "at": clock.iso(clock.now()),
            **{field: told.get(name) for field, name in MEASURED.items()},
            "gpu": gpu or None,
            "active_tasks": len(tasks),
            "agents": len(agents),
            "entries": self.state()["entries"],
        }

    def _newest_first(self) -> Iterator[Kept]:
        rings = [reversed(ring.entries) for ring in self._rings()]
        return heapq.merge(*rings, key=lambda kept: kept.when, reverse=True) if len(rings) > 1 else iter(rings[0])

    def _results(self) -> Iterator[Kept]:
        return heapq.merge(
            *(reversed(ring.results) for ring in self._rings()), key=lambda kept: kept.when, reverse=True
        )


def _value(kept: Kept) -> MetricValue:
    data = kept.entry().data
    return MetricValue(data["name"], float(data["value"]), data.get("unit") or "", kept.at)


def _task(entry: OperationalEntry) -> ActiveTask:
    data = entry.data
    agent = data.get("agent")
    named = agent if isinstance(agent, str) and agent else entry.source
    return ActiveTask(data["id"], data["status"], named, aging.description_of(data), entry.at, data)
