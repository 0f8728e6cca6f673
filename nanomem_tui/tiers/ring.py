"""Entries in their order, and what they say now: the newest value of each metric, tasks, agents, results of tools.

Owns what is found without a look through all. Must not know a file or who wrote what.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Mapping
from heapq import merge
from typing import Any

from nanomem_tui.tiers.entries import Kept


class Ring:
    """The entries of one process, or of one file of another, oldest first. `size`: characters of their data."""

    def __init__(self, entries: Iterable[tuple[Kept, Any]] = ()) -> None:
        self.entries: deque[Kept] = deque()
        self.size = 0
        self.metrics: dict[str, Kept] = {}
        self.tasks: dict[str, Kept] = {}
        self.agents: dict[str, Kept] = {}
        self.results: deque[Kept] = deque()
        self._unread: deque[Kept] = deque()
        self._cached: dict[tuple[str, str], Kept] = {}
        self._calls: dict[str, tuple[str, str]] = {}
        for kept, data in entries:
            self.add(kept, data)

    def add(self, kept: Kept, data: Any) -> None:
        """A new entry at the end; `data` is what it says."""
        self.entries.append(kept)
        self.size += len(kept.text)
        category = kept.category
        if category == "metric":
            self.metrics[data["name"]] = kept
        elif category == "tool_result":
            self.results.append(kept)
            self._unread.append(kept)
        else:
            if category == "task":
                self.tasks[data["id"]] = kept
            if (agent := agent_of(data)) is not None:
                self.agents[agent] = kept

    def drop(self) -> Kept:
        """The oldest entry goes, and what it alone said of now."""
        kept = self.entries.popleft()
        self.size -= len(kept.text)
        category = kept.category
        if category == "tool_result":
            self.results.popleft()
            self._forget(kept)
        elif category == "metric":
            name = json.loads(kept.text)["name"]
            if self.metrics[name].id == kept.id:
                del self.metrics[name]
        elif category == "task" or '"agent"' in kept.text:
            data = json.loads(kept.text)
            if category == "task" and self.tasks[data["id"]].id == kept.id:
                del self.tasks[data["id"]]
            agent = agent_of(data)
            if agent is not None and self.agents[agent].id == kept.id:
                del self.agents[agent]
        return kept

    def cached(self, tool: str, given: str) -> Kept | None:
        """The newest successful result of a tool with that input, as `canonical` writes it."""
        while self._unread:
            kept = self._unread.popleft()
            data = json.loads(kept.text)
            if data.get("success", True) is True and not data.get("error"):
                call = data["tool"], canonical(data.get("input"))
                self._calls[kept.id] = call
                self._cached[call] = kept
        return self._cached.get((tool, given))

    def _forget(self, kept: Kept) -> None:
        if self._unread and self._unread[0] is kept:
            self._unread.popleft()
        call = self._calls.pop(kept.id, None)
        if call is not None and self._cached[call].id == kept.id:
            del self._cached[call]

    def with_others(self, others: Iterable[Iterable[tuple[Kept, Any]]]) -> Ring:
        """A ring of these and of entries that were read from files: each file's own order is kept."""
        own = ((kept, json.loads(kept.text)) for kept in self.entries)
        return Ring(merge(own, *others, key=lambda read: read[0].when))


def canonical(value: Any) -> str:
    """A value as the JSON that all equal ones have. Raises TypeError or ValueError for what is no JSON."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def agent_of(data: Any) -> str | None:
    """The agent whose state an event or a task tells; None where it tells none."""
    if isinstance(data, Mapping) and "state" in data:
        agent = data.get("agent")
        return agent if isinstance(agent, str) and agent else None
    return None
