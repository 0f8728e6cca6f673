"""What the right pane shows of a work record or of a metric: fields by kind, links, history; and the form to edit
one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.core import clock, merge
from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.screens.base.editable_rows import format_age, format_time
from nanomem_tui.screens.base.forms import TextForm
from nanomem_tui.screens.knowledge_list import Title
from nanomem_tui.screens.work.record_columns import number, rate_of, sign_of, took
from nanomem_tui.store.work.kinds import KINDS as KINDS_KINDS
from nanomem_tui.store.work.kinds import Field as kinds_Field
from nanomem_tui.store.work.values import TierRecord
from nanomem_tui.tiers.operational import entry_text
from nanomem_tui.widgets.parts_view import Part, Preface
from nanomem_tui.widgets.plots import fitting_bars, meter, sparkline, stacked
from nanomem_tui.widgets.text_view import Block, Body, Field, Heading, Line, Span, Spans, lay_out
from nanomem_tui.widgets.theme import UNICODE, Glyphs

if TYPE_CHECKING:
    from nanomem_tui.tiers.operational import ActiveTask, AgentState, OperationalEntry
    from nanomem_tui.tiers.records import Link, RecordChange
    from nanomem_tui.workspace import Workspace


# A metric as a plot: its newest value, a line of its course, and columns with a scale. Pure but for reading it.

DRAWN = 240  # values of one metric
HEIGHT = 7  # lines of the columns
MOST_WIDE = 100  # cells
LABEL = 4  # cells before a line of signs


class Point(NamedTuple):
    """A value and when it was measured (UTC ISO)."""

    at: str
    value: float


@dataclass(frozen=True, slots=True)
class Plotted:
    """The course of a metric, the oldest value first. `tall`: with columns, else in two lines."""

    name: str
    unit: str
    points: tuple[Point, ...]
    signs: Glyphs = UNICODE
    tall: bool = True
    stops: bool = True

    @property
    def key(self) -> str:
        """The name of the metric."""
        return f"metric {self.name}"

    def lines(self, width: int, unfolded: bool, wrapped: bool) -> list[Line]:
        """Name, newest value, from where to where it goes; its course."""
        if not self.points:
            return lay_out((Spans(((self.name, "accent"), ("  no value is known", "dim"))),), width, wrapped)
        values = [point.value for point in self.points]
        low, high = min(values), max(values)
        unit = f" {self.unit}" if self.unit else ""
        head: list[Span] = [(self.name, "accent"), ("  ", ""), (f"{number(values[-1])}{unit}", "heading")]
        head.append((f"  {number(low)} to {number(high)} in {len(values):,}, {_span(self.points)}", "dim"))
        lines = lay_out((Spans(tuple(head), 2),), width, wrapped)
        room = min(width, MOST_WIDE)
        if not self.tall or low < 0:
            course = sparkline(values, min(room - LABEL, 2 * len(values) + 8), self.signs)
            return [*lines, ((" " * LABEL, ""), (course, "accent"))]
        shown = values[-fitting_bars(len(values), room) :]
        names = [clock_of(point.at) for point in self.points[-len(shown) :]]
        return [*lines, (), *stacked([[value] for value in shown], names, room, HEIGHT, self.signs), ()]

    def plain(self) -> str:
        """The values, one in a line."""
        return "\n".join(f"{point.at}\t{point.value}" for point in self.points)


def series_of(ws: Workspace, name: str, kind: str = "metric") -> list[Point]:
    """The newest values of a metric, the oldest first: of now and of working memory, or its means of an hour."""
    value = "mean" if kind == "metric-hour" else "value"
    rows = ws.records.list_records(kind, where={"name": name}, limit=DRAWN)
    points = {Point(row.at, row.fields[value]) for row in rows}
    if kind == "metric":
        entries = ws.operational.recent(None, "metric")
        points |= {Point(one.at, float(one.data["value"])) for one in entries if one.data["name"] == name}
    return sorted(points)[-DRAWN:]


def _span(points: Sequence[Point]) -> str:
    first, last = points[0].at, points[-1].at
    same_day = (before := clock.parse(first)) and (after := clock.parse(last)) and before.date() == after.date()
    return f"{clock_of(first)} to {clock_of(last)}" if same_day else f"{_day(first)} to {_day(last)}"


def clock_of(at: str) -> str:
    """The local time of day of a moment."""
    moment = clock.parse(at)
    return f"{moment.astimezone():%H:%M:%S}" if moment else at[:19]


def _day(at: str) -> str:
    moment = clock.parse(at)
    return f"{moment.astimezone():%m-%d %H:%M}" if moment else at[:16]


SAME_FILE = 50  # earlier states of a file that are looked at
LOGGED = 30  # changes of a record that are told
SHOWN_LINES = 400  # of a difference
BAR = 20  # cells
HEADING = 400  # cells
_LABELS = {
    "duration_ms": "took", "avg_duration_ms": "takes", "intelligence_level": "level", "model_used": "model",
    "timestamp": "when", "created_at": "created", "started_at": "started", "completed_at": "ended",
}  # fmt: skip
_SIGNS = {"equal": ("  ", ""), "delete": ("- ", "removed"), "insert": ("+ ", "added")}


@dataclass(frozen=True, slots=True)
class Linked:
    """A record that this one hangs together with, and how."""

    relation: str
    record: TierRecord
    stops: bool = True

    @property
    def key(self) -> str:
        """Its own among the parts."""
        return f"{self.relation} {self.record.key}"

    def lines(self, width: int, unfolded: bool, wrapped: bool) -> list[Line]:
        """What it is, in one line, with its state and its age."""
        record = self.record
        state = str(record.fields.get("status") or record.fields.get("outcome") or "")
        tone = "bad" if sign_of(record) == "!" else "good"
        spans = [
            (f"{self.relation}  ", "accent"),
            (f"{format_age(record.at)}  ", "dim"),
            (one_line(_named(record), 240), ""),
            (f"  {one_line(state, 40)}" if state else "", tone),
        ]
        return lay_out((Spans(tuple(spans), 4),), width, wrapped)

    def plain(self) -> str:
        """Its name and id."""
        return f"{self.relation}: {self.record.title} ({self.record.id})"


def parts_of(ws: Workspace, record: TierRecord, signs: Glyphs) -> tuple[Part, ...]:
    """The parts of a record. Raises the errors of the store."""
    blocks: list[Block] = _headed(record)
    drawn = _DRAWN.get(record.kind)
    blocks += drawn(record, signs) if drawn is not None else _PLAIN.get(record.kind, _plainly)(record)
    if record.kind == "config-change":
        blocks += _difference(ws, record)
    parts: list[Part] = [Preface(tuple(blocks))]
    if record.kind in ("metric", "metric-hour"):
        name = record.fields["name"]
        parts.append(Plotted(name, record.fields["unit"] or "", tuple(series_of(ws, name, record.kind))))
    links = ws.records.links(record)
    parts += link_parts(links)
    parts.append(Preface((Body(""), *_kept(record), *past_blocks(ws.records.history(record.kind, record.id))), "kept"))
    return tuple(parts)


def link_parts(links: Sequence[Link]) -> list[Part]:
    """What a record hangs together with; nothing where it stands alone."""
    if not links:
        return []
    head = Title("links", f"Links ({len(links):,})", "enter goes there, esc comes back")
    return [head, *(Linked(relation, record) for relation, record in links)]


def past_blocks(past: Sequence[RecordChange]) -> list[Block]:
    """What a record has been through, the newest first; of what came or went whole only that it did."""
    if not past:
        return [Heading("History"), Body("No change since it was stored.", "dim")]
    blocks: list[Block] = [Heading(f"History ({len(past)})")]
    for one in past[:LOGGED]:
        undone = " (taken back)" if one.undone else ""
        told = ((f"{format_time(one.at)} ", "dim"), (f"{one.actor} ", "accent"), (one.label, ""), (undone, "warn"))
        blocks.append(Spans(told, 2))
        is_edit = all(any(value is not None for value in side.values()) for side in (one.before, one.after))
        for name in {**one.before, **one.after} if is_edit else ():
            old, new = (one_line(shown_value(side.get(name)), 160) or "-" for side in (one.before, one.after))
            spans = (("    ", ""), (f"{name}: ", "dim"), (old, "removed"), (" → ", "dim"), (new, "added"))
            blocks.append(Spans(spans, 6))
    if len(past) > LOGGED:
        blocks.append(Body(f"… and {len(past) - LOGGED:,} older", "dim"))
    return blocks


def shown_value(value: Any) -> str:
    """A value of a field as text: JSON as a person reads it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else pretty(value)


def pretty(value: Any) -> str:
    """JSON with its lines and indents; a short one in one line."""
    short = json.dumps(value, ensure_ascii=False)
    return short if len(short) <= 60 else json.dumps(value, ensure_ascii=False, indent=2)


# -- each kind --------------------------------------------------------------------------------------------------------


def _fields(record: TierRecord, *names: str) -> Iterator[Block]:
    """Fields that hold something: short ones beside their name, then long ones under it."""
    long: list[Block] = []
    for name in names:
        value = record.fields.get(name)
        if value is None or value == "":
            continue
        field = KINDS_KINDS[record.kind].field(name)
        label = _LABELS.get(name, name.replace("_", " "))
        if field is not None and field.type == "time":
            yield Field(label, format_time(value))
        elif name.endswith("duration_ms"):
            yield Field(label, took(value))
        elif isinstance(value, (dict, list)) or (isinstance(value, str) and (len(value) > 200 or "\n" in value)):
            long += [Heading(label.capitalize()), Body(shown_value(value))]
        else:
            tone = "bad" if name in ("error", "root_cause") or (name == "success" and not value) else ""
            yield Field(label, shown_value(value), tone)
    yield from long


def _headed(record: TierRecord) -> list[Block]:
    """What it is, once: a long text, or one of several lines, stands below the name of the kind."""
    fields = record.fields
    if record.kind == "event":
        return [Spans(((one_line(entry_text(fields["category"], fields["data"]), HEADING), "heading"),))]
    whole = str(fields.get(KINDS_KINDS[record.kind].title) or record.id)
    if one_line(whole, HEADING) == one_line(whole) and "\n" not in whole.strip():
        return [Spans(((one_line(whole), "heading"),))]
    return [Spans(((record.kind.replace("-", " ").capitalize(), "heading"),)), Body(whole)]


def _plainly(record: TierRecord) -> list[Block]:
    kind = KINDS_KINDS[record.kind]
    return list(_fields(record, *(field.name for field in kind.fields if field.name != kind.title)))


def _event(record: TierRecord) -> list[Block]:
    return list(_fields(record, "category", "source", "critical", "timestamp", "data"))


def _goal(record: TierRecord) -> list[Block]:
    return [
        *_fields(record, "status", "priority", "created_at", "completed_at"),
        *_long(record, "result"),
        *_fields(record, "metadata"),
    ]


def _task(record: TierRecord) -> list[Block]:
    return [
        *_fields(record, "status", "agent", "started_at", "completed_at", "duration_ms", "error"),
        *_fields(record, "input", "output"),
    ]


def _call(record: TierRecord) -> list[Block]:
    return list(_fields(record, "agent", "success", "duration_ms", "timestamp", "reason", "input", "output"))


def _decision(record: TierRecord, signs: Glyphs) -> list[Block]:
    fields = record.fields
    blocks: list[Block] = [Heading("Options")]
    options = _options(fields["options"])
    is_among = [_is_chosen(option, fields["chosen"]) for option, _ in options]
    for (option, why), chosen in zip(options, is_among, strict=True):
        mark = (f"{signs.cursor} ", "good") if chosen else ("  ", "")
        blocks.append(Spans((mark, (option, "good" if chosen else ""), ("  chosen" if chosen else "", "good")), 4))
        if why:
            blocks.append(Body(why, "dim", 4))
    if not any(is_among):
        spans = ((f"{signs.cursor} ", "good"), (fields["chosen"], "good"), ("  chosen", "good"))
        blocks.append(Spans(spans, 4))
    blocks += [Heading("Why"), Body(fields["reasoning"]), Heading("Outcome")]
    blocks.append(Body(fields["outcome"]) if fields["outcome"] else Body("not known yet", "dim"))
    return [*blocks, Body(""), *_fields(record, "intelligence_level", "model_used", "important", "timestamp")]


def _options(options: Any) -> list[tuple[str, str]]:
    """Each option with what else was said of it."""
    if isinstance(options, Mapping):
        return [(str(name), shown_value(value)) for name, value in options.items()]
    found = []
    for option in options if isinstance(options, list) else [options] if options is not None else []:
        if isinstance(option, Mapping):
            name = next((str(option[key]) for key in ("name", "option", "action", "id") if key in option), "")
            rest = {key: value for key, value in option.items() if str(value) != name}
            said = shown_value(next(iter(rest.values()))) if len(rest) == 1 else pretty(rest)
            found.append((name or pretty(option), said if name and rest else ""))
        else:
            found.append((shown_value(option), ""))
    return found


def _is_chosen(option: str, chosen: str) -> bool:
    return option.strip().casefold() == chosen.strip().casefold()


def _pattern(record: TierRecord, signs: Glyphs) -> list[Block]:
    fields = record.fields
    return [
        Heading("Then"), Body(fields["action"]), Body(""),
        _rated("works", record, signs, f"in {counted(fields['uses'] or 0, 'use')}"), *_fields(record, "last_used"),
    ]  # fmt: skip


def _procedure(record: TierRecord, signs: Glyphs) -> list[Block]:
    fields = record.fields
    said = f"{fields['success_count']:,} times, failed {fields['fail_count']:,}"
    blocks = [*_long(record, "description"), Body(""), _rated("worked", record, signs, said)]
    blocks += [*_fields(record, "avg_duration_ms", "last_used", "created_at")]
    if fields["tags"]:
        tags = fields["tags"]
        blocks.append(Field("tags", ", ".join(map(str, tags)) if isinstance(tags, list) else shown_value(tags)))
    steps = fields["steps"] if isinstance(fields["steps"], list) else [fields["steps"]]
    blocks.append(Heading(f"Steps ({len(steps)})"))
    if not steps:
        blocks.append(Body("none are recorded", "dim"))
    for place, step in enumerate(steps, 1):
        lines = _step(step).split("\n")
        blocks.append(Spans(((f"{place:>3}. ", "accent"), (lines[0], "")), 5))
        if len(lines) > 1:
            blocks.append(Body("\n".join(lines[1:]), "dim", 5))
    return blocks


def _step(step: Any) -> str:
    """A step: the tool that is called, then with what."""
    if isinstance(step, Mapping):
        name = next((key for key in ("tool", "tool_name", "action", "name", "step") if step.get(key)), None)
        if name is not None:
            rest = {key: value for key, value in step.items() if key != name}
            return f"{step[name]}\n{pretty(rest)}" if rest else str(step[name])
    return shown_value(step)


def _incident(record: TierRecord, signs: Glyphs) -> list[Block]:
    blocks: list[Block] = [*_fields(record, "timestamp", "resolved_by"), Heading("Symptoms")]
    symptoms = record.fields["symptoms"]
    listed = symptoms if isinstance(symptoms, list) else [symptoms] if symptoms else []
    blocks += [Spans(((f"{signs.bullet} ", "accent"), (shown_value(one), "")), 2) for one in listed]
    if not listed:
        blocks.append(Body("none are recorded", "dim"))
    for name, title in (("root_cause", "Cause"), ("resolution", "Resolution"), ("prevention", "Prevention")):
        value = record.fields[name]
        blocks += [Heading(title), Body(value) if value else Body("not known yet", "dim")]
    return blocks


def _config(record: TierRecord) -> list[Block]:
    return list(_fields(record, "changed_by", "reason", "timestamp"))


_PLAIN: Mapping[str, Callable[[TierRecord], list[Block]]] = {
    "goal": _goal, "task": _task, "tool-call": _call, "config-change": _config, "event": _event,
}  # fmt: skip
_DRAWN: Mapping[str, Callable[[TierRecord, Glyphs], list[Block]]] = {
    "decision": _decision, "pattern": _pattern, "procedure": _procedure, "incident": _incident,
}  # fmt: skip


def _long(record: TierRecord, name: str) -> Iterator[Block]:
    """A text under its name."""
    if value := record.fields.get(name):
        yield Heading(name.replace("_", " ").capitalize())
        yield Body(value)


def _rated(label: str, record: TierRecord, signs: Glyphs, said: str) -> Block:
    rate = rate_of(record)
    if rate is None:
        return Field(label, "never used yet")
    return Field(label, f"{rate:.0%} {meter(rate, BAR, signs)} {said}", "good" if rate >= 0.5 else "bad")


def _difference(ws: Workspace, record: TierRecord) -> list[Block]:
    """What the file was before, line by line; the whole of it where this is the first state that is known."""
    where = {"file_path": record.fields["file_path"]}
    earlier = ws.records.list_records("config-change", where=where, until=record.at, limit=SAME_FILE)
    before = next((one for one in earlier if one.id != record.id), None)
    content = record.fields["content"]
    if before is None:
        return [Heading("Content, the first that is known"), Body(content, keep=True)]
    hunks = merge.hunks(before.fields["content"], content)
    blocks: list[Block] = [Heading(f"Difference to the state of {format_time(before.at)}")]
    if not hunks:
        return [*blocks, Body("none", "dim"), Heading("Content"), Body(content, keep=True)]
    shown = 0
    for hunk in hunks:
        blocks.append(Body(f"line {hunk.new_start:,}", "dim"))
        for line in hunk.lines:
            sign, tone = _SIGNS[line.tag]
            blocks.append(Spans(((sign, tone), (line.text, tone)), 2))
            shown += 1
        if shown >= SHOWN_LINES:
            blocks.append(Body("… and more; the whole content follows", "warn"))
            break
    return [*blocks, Heading("Content"), Body(content, keep=True)]


def _kept(record: TierRecord) -> list[Block]:
    """How the record is kept."""
    tier = {"working": "working memory", "longterm": "long-term memory"}[record.tier]
    names = ("goal_id", "task_id", "procedure_id", "created_from")
    belongs = [
        Field(name.removesuffix("_id").replace("_", " "), record.fields[name])
        for name in names
        if record.fields.get(name)
    ]
    stored = [Field("stored", format_time(record.stored_at))] if record.stored_at else []
    changed = [Field("changed", format_time(record.changed_at))] if record.changed_at > record.stored_at else []
    return [Spans((("Kept", "heading"),)), Field("in", tier), Field("by", record.origin), *stored, *changed, *belongs,
            Field("id", record.id)]  # fmt: skip


def _named(record: TierRecord) -> str:
    """The title of a record, and what tells it from others of that title."""
    fields = record.fields
    if record.kind == "tool-call":
        return f"{record.title}: {fields.get('reason') or shown_value(fields.get('input'))}"
    if record.kind == "pattern":
        return f"{record.title}: {fields.get('action')}"
    if record.kind == "config-change":
        why = fields.get("reason") or fields.get("changed_by")
        return f"{record.title}: {why}" if why else record.title
    if record.kind == "event":
        return f"{fields.get('source') or record.title}: {entry_text(record.title, fields.get('data'))}"
    if record.kind == "metric":
        return f"{record.title} {number(fields.get('value'))} {fields.get('unit') or ''}"
    return record.title


# -- A record as a person writes it: all its fields in one text, each under its name. Pure ----------------------------

_NOTES = {"json": "JSON", "time": "time", "int": "number", "real": "number", "bool": "yes or no", "text": ""}
_YES = {"yes": True, "true": True, "no": False, "false": False}


@lru_cache(maxsize=32)
def form_of(kind: str) -> TextForm:
    """The form of a kind: numbers and times first, then JSON, then texts, so that a line of a text is seldom taken for
    a name; what it is called by last, where the cursor begins."""
    title = KINDS_KINDS[kind].title
    fields = sorted(
        KINDS_KINDS[kind].fields, key=lambda field: (field.type == "text", field.type == "json", field.name == title)
    )
    return TextForm({_title(field): field.name for field in fields}, f"the edited {kind.replace('-', ' ')}")


def text_of(kind: str, fields: Mapping[str, str]) -> str:
    """The form with these texts, ending where its last field does."""
    return form_of(kind).text(fields).removesuffix("\n")


def _title(field: kinds_Field) -> str:
    notes = ", ".join(filter(None, (_NOTES[field.type], "needed" if field.needed else "")))
    name = field.name.replace("_", " ").upper()
    return f"{name} ({notes})" if notes else name


def texts_of(kind: str, fields: Mapping[str, Any]) -> dict[str, str]:
    """Each field as the text that is edited."""
    return {field.name: _text(field, fields.get(field.name)) for field in KINDS_KINDS[kind].fields}


def defaults_of(kind: str) -> dict[str, str]:
    """The form of a new record."""
    return texts_of(kind, {field.name: field.default for field in KINDS_KINDS[kind].fields if field.type != "json"})


def _text(field: kinds_Field, value: Any) -> str:
    if value is None:
        return ""
    if field.type == "json":
        return json.dumps(value, ensure_ascii=False, indent=2)
    if field.type == "bool":
        return "yes" if value else "no"
    return str(value)


def read_fields(kind: str, typed: Mapping[str, str], *, new: bool = False) -> dict[str, Any]:
    """The values that were typed; of a `new` record those left empty are left out. Raises BadInput."""
    found: dict[str, Any] = {}
    for name, text in typed.items():
        field = KINDS_KINDS[kind].field(name)
        if field is not None and not (new and not text):
            found[name] = _value(field, text)
    return found


def _value(field: kinds_Field, text: str) -> Any:
    if field.type == "text":
        return text if text or field.required else None
    if not text:
        return None
    if field.type == "json":
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            place = f"line {error.lineno}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
            raise BadInput(f"`{field.name}` is no JSON", place, "texts stand in double quotes") from None
    if field.type in ("int", "real"):
        try:
            return int(text) if field.type == "int" else float(text)
        except ValueError:
            kind = "whole number" if field.type == "int" else "number"
            raise BadInput(f"`{field.name}` is no {kind}", one_line(text, 40)) from None
    if field.type == "bool" and text.casefold() in _YES:
        return _YES[text.casefold()]
    return text  # what a time, or a switch, cannot be is refused with the others


# What the Tiers screen shows of now: metrics with their course, active tasks, agents, results of tools, entries.

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


def read_now(ws: Workspace, before: Now, signs: Glyphs) -> Now:
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


def count_now(ws: Workspace, kind: str) -> int:
    """How many there are now of what belongs to a kind of records."""
    return read_now(ws, Now(), UNICODE).count(kind) if kind in KINDS else 0


@dataclass(frozen=True, slots=True)
class NowPart:
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


def parts_of_now(now: Now, kind: str) -> list[Part]:
    """What there is now of what belongs to a kind; nothing where nothing does."""
    made: Mapping[str, tuple[str, Callable[[Now], Sequence[Part]]]] = {
        "event": ("Now", lambda now: [_entry(one) for one in now.events[:SHOWN]]),
        "metric": ("Now", lambda now: now.metrics),
        "task": ("Active now", lambda now: [_tiers_live_task(one) for one in now.tasks[:SHOWN]]),
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
        text = entry_text(entry.category, entry.data)
    return NowPart(entry.id, entry.at, what, text, entry.data, tone)


def _tiers_live_task(task: ActiveTask) -> Part:
    return NowPart(f"task {task.id}", task.at, f"{task.status} {task.agent}".strip(), task.description, task.data)


def _agent(state: AgentState) -> Part:
    return NowPart(f"agent {state.agent}", state.at, state.agent, pretty(state.state), state.state)
