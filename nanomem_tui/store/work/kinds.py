"""The kinds of records of an agent's work (seed 004): their tables and their fields.

Owns the declaration. What a value may be is checked in `values`. Must not know a database.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.text import one_line

Type = Literal["text", "json", "time", "int", "real", "bool"]
Tier = Literal["working", "longterm"]
TIERS: tuple[Tier, ...] = ("working", "longterm")
ACTIVE = ("pending", "planning", "active", "in_progress")
"""States of a goal or a task that has not ended: the seed's, and those of the real system."""
FINAL = frozenset({"completed", "failed", "cancelled"})
"""States in which a goal or a task has ended."""
ENDED = FINAL | {"canceled", "done"}
"""The same as agents call them too, in small letters."""
AT_WORK = (*ACTIVE, "in progress", "running", "started")
"""States of what is still to be done, ours and what agents call them."""


class Limits(NamedTuple):
    """What a field may hold that is recorded here, beyond its type. What other systems recorded may hold other things.

    `one_of`: these texts alone; `least`, `most`: of a number; `list_of`: it is a list of these; `given`: it must be
    given with a new record, though it may be empty.
    """

    one_of: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    list_of: Literal["", "values", "texts"] = ""
    given: bool = False

    @property
    def summary(self) -> str:
        """The limits in words."""
        if self.one_of:
            return f"one of {', '.join(self.one_of)}"
        if self.least is not None:
            return f"{self.least} or more" if self.most is None else f"{self.least} to {self.most}"
        return {"": "", "values": "a list", "texts": "a list of texts"}[self.list_of]

    def hold(self, value: Any) -> bool:
        """Whether a value of the field's type keeps to them."""
        if self.list_of == "texts":
            return isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value)
        if self.list_of:
            return isinstance(value, (list, tuple))
        if self.one_of:
            return value in self.one_of
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)


class Field(NamedTuple):
    """One field of a kind: a column of its table. `required`: it may not be absent; `default` stands in where it is."""

    name: str
    type: Type = "text"
    required: bool = False
    default: Any = None
    limits: Limits | None = None

    @property
    def needed(self) -> bool:
        """Whether who records something must give it."""
        told = self.required and self.default is None and self.type != "time"
        return told or (self.limits is not None and self.limits.given)


class Kind(NamedTuple):
    """A kind of records, and its table. `tier`: where a new one lies; `ages`: it moves to long-term memory one day.
    `when`: the field that says when it was.

    `title`: the field that names one; `words`: the fields that are searched by words; `embedded`: those that are
    embedded, and only those (seed 004, "What gets embedded").
    """

    name: str
    table: str
    fields: tuple[Field, ...]
    when: str
    title: str
    words: tuple[str, ...]
    ages: bool = False
    tier: Tier = "working"
    embedded: tuple[str, ...] = ()
    indexed: tuple[str, ...] = ()

    def field(self, name: str) -> Field | None:
        """The field of that name."""
        return next((field for field in self.fields if field.name == name), None)

    @property
    def tiers(self) -> tuple[Tier, ...]:
        """The tiers that it can lie in, the first one first."""
        return TIERS if self.ages else (self.tier,)


_STATE = Limits(one_of=(*ACTIVE, "completed", "failed", "cancelled"))
_COUNT = Limits(least=0)
_SHARE = Limits(least=0, most=1)


def _required(name: str, type: Type = "text", default: Any = None, limits: Limits | None = None) -> Field:
    return Field(name, type, True, default, limits)


def _count(name: str) -> Field:
    return Field(name, "int", limits=_COUNT)


_KINDS = (
    Kind(
        "goal",
        "goals",
        (
            _required("description"),
            _required("status", default="pending", limits=_STATE),
            _required("priority", "int", 2, _COUNT),
            _required("created_at", "time"),
            Field("completed_at", "time"),
            Field("result"),
            Field("metadata", "json"),
        ),
        when="created_at",
        title="description",
        words=("description", "result"),
        ages=True,
        embedded=("description",),
        indexed=("status",),
    ),
    Kind(
        "task",
        "tasks",
        (
            Field("goal_id"),
            _required("description"),
            _required("agent", default=""),
            _required("status", default="pending", limits=_STATE),
            Field("input", "json"),
            Field("output", "json"),
            Field("started_at", "time"),
            Field("completed_at", "time"),
            _count("duration_ms"),
            Field("error"),
            Field("procedure_id"),
        ),
        when="started_at",
        title="description",
        words=("description", "output", "error", "agent"),
        ages=True,
        embedded=("description", "output"),
        indexed=("goal_id", "status", "procedure_id"),
    ),
    Kind(
        "tool-call",
        "tool_calls",
        (
            Field("task_id"),
            _required("tool_name"),
            _required("agent", default=""),
            _required("input", "json"),
            Field("output", "json"),
            Field("success", "bool"),
            _count("duration_ms"),
            Field("reason"),
            _required("timestamp", "time"),
        ),
        when="timestamp",
        title="tool_name",
        words=("tool_name", "reason", "input", "agent"),
        ages=True,
        embedded=("reason",),
        indexed=("task_id", "tool_name"),
    ),
    Kind(
        "agent-state",
        "agent_states",
        (_required("agent_name"), _required("state", "json"), _required("updated_at", "time")),
        when="updated_at",
        title="agent_name",
        words=("agent_name", "state"),
        ages=True,
    ),
    Kind(
        "decision",
        "decisions",
        (
            _required("context"),
            Field("options", "json"),
            _required("chosen"),
            _required("reasoning"),
            Field("intelligence_level"),
            Field("model_used"),
            Field("outcome"),
            _required("timestamp", "time"),
            Field("task_id"),
            _required("important", "bool", False),
        ),
        when="timestamp",
        title="context",
        words=("context", "chosen", "reasoning", "outcome"),
        ages=True,
        embedded=("reasoning",),
        indexed=("task_id",),
    ),
    Kind(
        "pattern",
        "patterns",
        (
            _required("trigger"),
            _required("action"),
            _required("success_rate", "real", 1.0, _SHARE),
            _required("uses", "int", 0, _COUNT),
            Field("last_used", "time"),
            Field("created_from"),
        ),
        when="last_used",
        title="trigger",
        words=("trigger", "action"),
        indexed=("created_from", "trigger"),
    ),
    Kind(
        "procedure",
        "procedures",
        (
            _required("name"),
            _required("description"),
            _required("steps", "json", (), Limits(list_of="values")),
            _required("success_count", "int", 0, _COUNT),
            _required("fail_count", "int", 0, _COUNT),
            _count("avg_duration_ms"),
            Field("tags", "json", limits=Limits(list_of="texts")),
            _required("created_at", "time"),
            Field("last_used", "time"),
        ),
        when="created_at",
        title="name",
        words=("name", "description", "tags"),
        tier="longterm",
        embedded=("description",),
        indexed=("name",),
    ),
    Kind(
        "incident",
        "incidents",
        (
            _required("description"),
            Field("symptoms", "json"),
            Field("root_cause"),
            Field("resolution"),
            Field("resolved_by"),
            Field("prevention"),
            _required("timestamp", "time"),
        ),
        when="timestamp",
        title="description",
        words=("description", "symptoms", "root_cause", "resolution", "prevention"),
        tier="longterm",
        embedded=("description", "symptoms", "root_cause", "resolution"),
    ),
    Kind(
        "config-change",
        "config_history",
        (
            _required("file_path"),
            _required("content", default="", limits=Limits(given=True)),
            Field("changed_by"),
            Field("reason"),
            _required("timestamp", "time"),
        ),
        when="timestamp",
        title="file_path",
        words=("file_path", "reason", "changed_by", "content"),
        tier="longterm",
        indexed=("file_path",),
    ),
    Kind(
        "event",
        "events",
        (
            _required("category"),
            _required("source", default=""),
            _required("data", "json"),
            _required("critical", "bool", False),
            _required("timestamp", "time"),
        ),
        when="timestamp",
        title="category",
        words=("category", "source", "data"),
        ages=True,
        indexed=("category",),
    ),
    Kind(
        "metric",
        "metrics",
        (
            _required("name"),
            _required("value", "real"),
            Field("unit"),
            Field("source"),
            _required("timestamp", "time"),
        ),
        when="timestamp",
        title="name",
        words=(),
        indexed=("name",),
    ),
    Kind(
        "metric-hour",
        "metrics_hourly",
        (
            _required("name"),
            _required("hour", "time"),
            _required("count", "int"),
            _required("mean", "real"),
            _required("least", "real"),
            _required("most", "real"),
            Field("unit"),
        ),
        when="hour",
        title="name",
        words=(),
        tier="longterm",
        indexed=("name",),
    ),
)
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in _KINDS}
"""Every kind, by name."""
RECORD_KINDS = tuple(name for name in KINDS if name not in ("event", "metric", "metric-hour"))
"""Those that a person, or an agent, records one by one."""


def kind_of(name: str) -> Kind:
    """The kind of that name, as it, several of it or its table is called. Raises BadInput."""
    kind = KINDS.get(name) or next((one for one in _KINDS if name in _names(one)), None)
    if kind is None:
        raise BadInput("no such kind of record", one_line(name, 40), f"one of {', '.join(KINDS)}")
    return kind


def _names(kind: Kind) -> tuple[str, ...]:
    own = kind.name.replace("-", "_")
    return kind.table, own, f"{own}s"


ABOUT: Mapping[str, str] = {
    "event": "What happened, as agents and the system told it.",
    "metric": "What was measured, value by value.",
    "metric-hour": "What was measured, as means of an hour: what is left of values that grew old.",
    "goal": "What the agent was asked to reach, how far it is, and what came of it.",
    "task": "The steps of goals: who did them, with what, how long it took.",
    "tool-call": "Every call of a tool: what went in, what came out, why.",
    "agent-state": "The last state that each agent told of itself.",
    "decision": "What was decided, out of which options, why, and how it turned out.",
    "pattern": "What to do when something happens, and how often that worked.",
    "procedure": "Solutions of several steps that worked, with their successes and failures.",
    "incident": "What went wrong, why, and how it was put right.",
    "config-change": "Files of configuration as they were written, by whom and why.",
}
"""What each kind is, in a sentence: for the command line and the console."""
