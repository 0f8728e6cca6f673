"""What the lists of records show of each kind: its name, its columns, the fields of its filter, its sign. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from nanomem_tui.core import files
from nanomem_tui.core.text import one_line
from nanomem_tui.memory import filters
from nanomem_tui.store.work.kinds import KINDS, TIERS
from nanomem_tui.store.work.values import TierRecord
from nanomem_tui.tiers.operational import said
from nanomem_tui.widgets.columns import Column, aged

TITLES: Mapping[str, str] = {
    "event": "Events",
    "metric": "Metrics",
    "metric-hour": "Metrics by the hour",
    "goal": "Goals",
    "task": "Tasks",
    "tool-call": "Tool calls",
    "agent-state": "Agent states",
    "decision": "Decisions",
    "pattern": "Patterns",
    "procedure": "Procedures",
    "incident": "Incidents",
    "config-change": "Configuration",
}
"""Every kind by its name for people, in the order in which they are shown."""
SHORT: Mapping[str, str] = {
    "tool_name": "tool", "agent_name": "agent", "goal_id": "goal", "task_id": "task", "procedure_id": "procedure",
    "file_path": "file", "duration_ms": "ms", "avg_duration_ms": "ms", "success_rate": "rate",
    "success_count": "successes", "fail_count": "failures", "intelligence_level": "level", "model_used": "model",
    "created_from": "from", "resolved_by": "by", "changed_by": "by",
}  # fmt: skip
"""Fields whose name is shorter in a filter."""
_LONG = frozenset(
    {
        "description", "result", "error", "reason", "context", "reasoning", "outcome", "trigger", "action",
        "root_cause", "resolution", "prevention", "content",
    }
)  # fmt: skip
_TYPES: Mapping[str, filters.Kind] = {"text": "text", "int": "number", "real": "number", "bool": "switch"}
_BAD = frozenset({"failed", "error", "cancelled"})
_DONE = frozenset({"completed", "done", "succeeded"})


@lru_cache(maxsize=32)
def filter_fields(kind: str) -> Mapping[str, filters.Kind]:
    """What a filter may ask of a kind."""
    of_kind = {
        SHORT.get(field.name, field.name): _TYPES[field.type]
        for field in KINDS[kind].fields
        if field.type in _TYPES and field.name not in _LONG
    }
    tier: dict[str, filters.Kind] = {"tier": "text"} if KINDS[kind].ages else {}
    return {**of_kind, "age": "age", **tier, "origin": "text", "id": "text"}


@lru_cache(maxsize=32)
def _full_names(kind: str) -> Mapping[str, str]:
    return {SHORT.get(field.name, field.name): field.name for field in KINDS[kind].fields}


def full_name(kind: str, name: str) -> str:
    """The column that a field of a filter is."""
    return _full_names(kind).get(name, name)


def field_of(row: TierRecord, name: str) -> Any:
    """The value of a field of a filter."""
    if name == "age":
        return row.at
    if name in ("tier", "origin", "id"):
        return getattr(row, name)
    return row.fields.get(full_name(row.kind, name))


def sign_of(row: TierRecord) -> str:
    """The state of a record in one character: it failed, or is kept as important."""
    fields = row.fields
    if fields.get("status") in _BAD or fields.get("success") is False or fields.get("critical"):
        return "!"
    return "^" if fields.get("important") else ""


def is_over(row: TierRecord) -> bool:
    """Whether a goal or a task came to its end."""
    return row.fields.get("status") in _DONE


def is_way_up(row: TierRecord) -> bool:
    """Whether a record names the one that it belongs to."""
    return any(row.fields.get(name) for name in ("goal_id", "task_id", "created_from"))


def took(ms: Any) -> str:
    """A duration as people read it: ``850 ms``, ``1.2 s``, ``3.4 min``, ``2.0 h``."""
    if not isinstance(ms, int):
        return ""
    for size, unit in ((3_600_000, "h"), (60_000, "min"), (1_000, "s")):
        if ms >= size:
            return f"{ms / size:.1f} {unit}"
    return f"{ms} ms"


def number(value: Any) -> str:
    """A measured value in few characters."""
    if not isinstance(value, (int, float)):
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"


def rate_of(row: TierRecord) -> float | None:
    """How often a pattern or a procedure worked, 0 to 1; None before it was used."""
    fields = row.fields
    if row.kind == "pattern":
        return float(fields["success_rate"] or 0.0)
    runs = (fields["success_count"] or 0) + (fields["fail_count"] or 0)
    return (fields["success_count"] or 0) / runs if runs else None


def _text(name: str) -> Callable[[TierRecord], str]:
    return lambda row: str(row.fields.get(name) or "")


def _number(name: str) -> Callable[[TierRecord], str]:
    return lambda row: number(row.fields.get(name))


def _worked(row: TierRecord) -> str:
    rate = None if row.fields.get("success_count") is None else rate_of(row)
    runs = (row.fields.get("success_count") or 0) + (row.fields.get("fail_count") or 0)
    return f"{row.fields['success_count']:,} of {runs:,}" if rate is not None else ""


def _called(row: TierRecord) -> str:
    """Why a tool was called, else with what."""
    return str(row.fields.get("reason") or row.fields.get("input") or "")


def _event(row: TierRecord) -> str:
    """What an event says; of data that is longer than what was read of it, the beginning as it is kept."""
    data = row.fields.get("data")
    if isinstance(data, str):
        try:
            data = files.loads(data)
        except ValueError:
            return str(data)
    return said(row.fields["category"], data) if data is not None else ""


Shown = Column[TierRecord]
_AGE: Shown = aged("Age", lambda row: row.at, align="right", tone="dim")


def _wide(name: str, title: str, flex: int = 1, priority: int = 0) -> Shown:
    return Shown(name, title, _text(name), min_width=18, flex=flex, priority=priority)


def _narrow(name: str, title: str, width: int, priority: int = 0, tone: str = "") -> Shown:
    return Shown(name, title, _text(name), width=width, priority=priority, tone=tone)


_TOOK = Shown("ms", "Took", lambda row: took(row.fields.get("duration_ms")), width=8, priority=3, align="right")
_COLUMNS: Mapping[str, Sequence[Shown]] = {
    "goal": (
        _narrow("status", "Status", 11, tone="accent"),
        _wide("description", "Goal"),
        Shown("priority", "Prio", lambda row: number(row.fields.get("priority")), width=4, priority=3, align="right"),
    ),
    "task": (
        _narrow("status", "Status", 11, tone="accent"),
        _narrow("agent", "Agent", 14, 2),
        _wide("description", "Task"),
        _TOOK,
    ),
    "tool-call": (
        _narrow("tool_name", "Tool", 18, tone="accent"),
        _narrow("agent", "Agent", 14, 4),
        Shown("why", "Why, or with what", _called, min_width=18),
        _TOOK,
    ),
    "agent-state": (_narrow("agent_name", "Agent", 20, tone="accent"), _wide("state", "State")),
    "decision": (
        _wide("context", "When", 2),
        _narrow("chosen", "Decided", 20, 1, "accent"),
        _wide("outcome", "Outcome", 1, 3),
        _narrow("intelligence_level", "Level", 11, 4, "dim"),
    ),
    "pattern": (
        _wide("trigger", "When"),
        _wide("action", "Then", 1, 2),
        Shown("rate", "Works", lambda row: _percent(row.fields.get("success_rate")), width=5, align="right"),
        Shown("uses", "Uses", lambda row: number(row.fields.get("uses")), width=6, priority=3, align="right"),
    ),
    "procedure": (
        _narrow("name", "Procedure", 22, tone="accent"),
        _wide("description", "What it does"),
        Shown("worked", "Worked", _worked, width=12, priority=2, align="right"),
        Shown("ms", "Takes", lambda row: took(row.fields.get("avg_duration_ms")), width=8, priority=3, align="right"),
    ),
    "incident": (
        _wide("description", "Incident", 2),
        _wide("resolution", "Resolution", 2, 2),
        _narrow("resolved_by", "By", 14, 3, "dim"),
    ),
    "config-change": (
        Shown("file", "File", _text("file_path"), min_width=22, tone="accent"),
        _narrow("changed_by", "By", 14, 2, "dim"),
        _wide("reason", "Why", 1, 3),
    ),
    "event": (
        _narrow("category", "Category", 12, tone="accent"),
        _narrow("source", "Source", 14, 2, "dim"),
        Shown("data", "What", _event, min_width=18),
    ),
    "metric": (
        Shown("name", "Metric", _text("name"), min_width=18, tone="accent"),
        Shown("value", "Value", lambda row: number(row.fields.get("value")), width=14, align="right"),
        _narrow("unit", "Unit", 8, 2, "dim"),
        _narrow("source", "Source", 14, 3, "dim"),
    ),
    "metric-hour": (
        Shown("name", "Metric", _text("name"), min_width=18, tone="accent"),
        *(
            Shown(name, name.capitalize(), _number(name), width=10, priority=order, align="right")
            for order, name in enumerate(("mean", "least", "most", "count"))
        ),
        _narrow("unit", "Unit", 8, 4, "dim"),
    ),
}  # fmt: skip
_TIER = Shown("tier", "Tier", lambda row: "long" if row.tier == TIERS[1] else "", width=4, priority=5, tone="dim")


def columns_of(kind: str) -> Sequence[Shown]:
    """The columns of a kind: when it was first."""
    return (_AGE, *_COLUMNS[kind], *((_TIER,) if KINDS[kind].ages else ()))


def _percent(rate: Any) -> str:
    return f"{rate:.0%}" if isinstance(rate, (int, float)) else ""


def words_of(row: TierRecord) -> str:
    """The row as one line of text, as the copy key takes it."""
    return "\t".join(one_line(column.render(row)) for column in columns_of(row.kind)[1:])
