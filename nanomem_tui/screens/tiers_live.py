"""What the Tiers screen shows of now: metrics with their course, active tasks, agents, results of tools, entries.

Reads operational memory, in a thread, and only where something came since the look before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.core.text import one_line
from nanomem_tui.screens.knowledge_detail import Title
from nanomem_tui.screens.tiers_detail import pretty
from nanomem_tui.screens.tiers_plot import DRAWN, Plotted, Point, clock_of
from nanomem_tui.tiers.operational import said
from nanomem_tui.widgets.document import Body, Line, Spans, lay_out
from nanomem_tui.widgets.parts_view import Part
from nanomem_tui.widgets.signs import UNICODE, Glyphs

if TYPE_CHECKING:
    from nanomem_tui.tiers.operational import ActiveTask, AgentState, OperationalEntry
    from nanomem_tui.workspace import Workspace

MEASURED = 2_000  # entries of metrics that are drawn
RESULTS = 100  # results of tools that are told
SHOWN = 40  # entries, results, tasks that are shown
LINE = 400  # characters of one while it is folded


class Now(NamedTuple):
    """Operational memory as it was at the last look; `mark` tells whether another look would show the same, `newest`
    when something was told last of what belongs to a kind of records."""

    mark: tuple[Any, ...] = ()
    metrics: tuple[Plotted, ...] = ()
    tasks: tuple[ActiveTask, ...] = ()
    agents: tuple[AgentState, ...] = ()
    results: tuple[OperationalEntry, ...] = ()
    events: tuple[OperationalEntry, ...] = ()
    newest: Mapping[str, str] = MappingProxyType({})
    trouble: str = ""

    def count(self, kind: str) -> int:
        """How many there are now of what belongs to a kind of records."""
        counts: Mapping[str, int] = {
            "event": len(self.events), "metric": len(self.metrics), "task": len(self.tasks),
            "tool-call": len(self.results), "agent-state": len(self.agents),
        }  # fmt: skip
        return counts.get(kind, 0)


KINDS = ("event", "metric", "task", "tool-call", "agent-state")
"""The kinds of records that something of now belongs to."""


def look(ws: Workspace, before: Now, signs: Glyphs) -> Now:
    """Operational memory now; `before` itself where nothing came or went."""
    operational = ws.operational
    state = operational.state()
    newest = operational.recent(1)
    mark = (tuple(state.values()), newest[0].id if newest else "")
    if mark == before.mark:
        return before
    series: dict[str, list[Point]] = {}
    for entry in operational.recent(MEASURED, "metric"):
        series.setdefault(entry.data["name"], []).append(Point(entry.at, float(entry.data["value"])))
    agents, results = operational.agent_states(), operational.recent(RESULTS, "tool_result")
    events = operational.recent(None, "event")
    told = {
        "event": events[:1], "metric": operational.recent(1, "metric"), "task": operational.recent(1, "task"),
        "tool-call": results[:1],
    }  # fmt: skip
    newest_of = {kind: entry.at for kind, entries in told.items() for entry in entries}
    if agents:
        newest_of["agent-state"] = max(agent.at for agent in agents)
    return Now(
        mark,
        tuple(
            Plotted(metric.name, metric.unit, tuple(series.get(metric.name, [])[:DRAWN][::-1]), signs, tall=False)
            for metric in operational.metrics()
        ),
        tuple(operational.active_tasks()),
        tuple(agents),
        tuple(results),
        tuple(events),
        newest_of,
        state["degraded"],
    )


def count(ws: Workspace, kind: str) -> int:
    """How many there are now of what belongs to a kind of records."""
    return look(ws, Now(), UNICODE).count(kind) if kind in KINDS else 0


@dataclass(frozen=True, slots=True)
class Told:
    """Something of now: when, what, and its data, folded into a line until enter unfolds it."""

    id: str
    at: str
    what: str
    text: str
    data: Any
    tone: str = "accent"
    stops: bool = True

    @property
    def key(self) -> str:
        """Its own among the parts."""
        return self.id

    def lines(self, width: int, unfolded: bool, wrapped: bool) -> list[Line]:
        """One line, and all of its data when it is unfolded."""
        head = ((f"{clock_of(self.at)}  ", "dim"), (f"{self.what}  ", self.tone))
        line = Spans((*head, (one_line(self.text, LINE), "")), 4)
        return lay_out((line, Body(pretty(self.data), "", 4)) if unfolded else (line,), width, wrapped)

    def plain(self) -> str:
        """All of its data."""
        return pretty(self.data)


def parts_of(now: Now, kind: str) -> list[Part]:
    """What there is now of what belongs to a kind; nothing where nothing does."""
    made: Mapping[str, tuple[str, Callable[[Now], Sequence[Part]]]] = {
        "event": ("Now", lambda now: [_entry(one) for one in now.events[:SHOWN]]),
        "metric": ("Now", lambda now: now.metrics),
        "task": ("Active now", lambda now: [_task(one) for one in now.tasks[:SHOWN]]),
        "tool-call": ("Results of the last hour", lambda now: [_entry(one) for one in now.results[:SHOWN]]),
        "agent-state": ("Now", lambda now: [_agent(one) for one in now.agents[:SHOWN]]),
    }
    if kind not in made:
        return []
    title, make = made[kind]
    parts = make(now)
    note = "" if parts else "Nothing was told within the hour."
    more = f"the newest {len(parts)} of {now.count(kind):,}" if now.count(kind) > len(parts) else ""
    return [Title("now", title, note or more), *parts]


def _entry(entry: OperationalEntry) -> Part:
    data = entry.data if isinstance(entry.data, Mapping) else {}
    what = " ".join(filter(None, (entry.category, entry.source)))
    tone = "bad" if entry.critical or data.get("success") is False else "accent"
    if entry.category == "tool_result":
        what, text = str(data.get("tool")), str(data.get("error") or pretty(data.get("output", data.get("input"))))
    else:
        text = said(entry.category, entry.data)
    return Told(entry.id, entry.at, what, text, entry.data, tone)


def _task(task: ActiveTask) -> Part:
    return Told(f"task {task.id}", task.at, f"{task.status} {task.agent}".strip(), task.description, task.data)


def _agent(state: AgentState) -> Part:
    return Told(f"agent {state.agent}", state.at, state.agent, pretty(state.state), state.state)
