"""What a record, an item or a lesson says to a model: its words in a few lines, and how much it matters.

Owns that form. Values only; texts stay as they are, whoever shows them makes them safe.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import tzinfo
from typing import Any

from nanomem_tui.memory import prompt, said_on
from nanomem_tui.store.knowledge_values import KnowledgeHit
from nanomem_tui.store.tier_kinds import FINAL, KINDS
from nanomem_tui.store.tier_values import TierRecord
from nanomem_tui.store.values import Item, Lesson
from nanomem_tui.tiers.context_values import MARK, Finding

MOST = 10_000
"""Characters of one finding: more of it is no context."""
SHOWN: Mapping[str, tuple[str, ...]] = {
    "goal": ("status", "result"),
    "task": ("agent", "status", "input", "output", "error"),
    "tool-call": ("agent", "reason", "input", "output", "success"),
    "agent-state": ("state",),
    "decision": ("options", "chosen", "reasoning", "outcome"),
    "pattern": ("action", "success_rate", "uses"),
    "procedure": ("description", "steps", "success_count", "fail_count", "tags"),
    "incident": ("symptoms", "root_cause", "resolution", "resolved_by", "prevention"),
    "config-change": ("reason", "changed_by", "content"),
    "event": ("source", "data"),
}
"""The fields of a record that are told below its title."""
HEADS = {"tool-call": "call of", "agent-state": "agent", "config-change": "change of", "pattern": "pattern: when"}
"""How the first line of a kind begins, where it is not its name."""


def of_record(record: TierRecord, nearness: float = 0.0) -> Finding:
    """A record as a finding."""
    fields = record.fields
    if record.kind in ("metric", "metric-hour"):
        value = fields["value"] if record.kind == "metric" else fields["mean"]
        return of_metric(record.tier, record.id, fields["name"], value, fields["unit"] or "", record.at)
    named = fields.get(KINDS[record.kind].title) or record.id
    if record.kind == "event" and named in ("event", "tool_result"):
        return of_entry(record.tier, record.id, named, fields["data"], fields["source"], record.at, fields["critical"])
    lines = [(name.replace("_", " "), fields.get(name)) for name in SHOWN.get(record.kind, ())]
    return finding(
        record.tier, record.kind, record.id, f"{HEADS.get(record.kind, f'{record.kind}:')} {named}", lines, record.at,
        importance_of(record), nearness,
    )  # fmt: skip


def finding(
    tier: str,
    kind: str,
    id: str,
    head: str,
    lines: Iterable[tuple[str, Any]] = (),
    at: str = "",
    importance: float = 0.5,
    nearness: float = 0.0,
) -> Finding:
    """A finding of a first line and of named values below it; those that say nothing are left out."""
    told = [(name, in_words(value)) for name, value in lines]
    rest = [f"{name}: {text}" for name, text in told if text]
    when = f" ({at[:16].replace('T', ' ')} UTC)" if at else ""
    return Finding(
        tier, kind, id, _clipped("\n".join([f"{head}{when}", *rest])), _clipped("\n".join([head, *rest])), at,
        max(0.0, min(1.0, importance)), nearness,
    )  # fmt: skip


def of_entry(tier: str, id: str, category: str, data: Any, source: str, at: str, critical: bool) -> Finding:
    """Something that happened, as a finding."""
    if category == "tool_result" and isinstance(data, Mapping):
        rest = {name: value for name, value in data.items() if name != "tool"}
        lines = [("source", source), ("data", rest)]
        return finding(tier, "event", id, f"call of {in_words(data.get('tool'))}", lines, at, 0.4)
    importance = 1.0 if critical else 0.3
    return finding(tier, "event", id, "event", [("source", source), ("data", data)], at, importance)


def of_metric(tier: str, id: str, name: str, value: float, unit: str, at: str) -> Finding:
    """The value of a metric as a finding, the mean of an hour where `tier` is long-term memory."""
    what = "metric, mean of the hour" if tier == "longterm" else "metric"
    made = finding(tier, "metric", id, f"{what}: {name} = {value:g}{unit and f' {unit}'}", at=at)
    return made._replace(place=f"metric/{name}")


def _clipped(text: str) -> str:
    return text if len(text) <= MOST else text[:MOST] + MARK


def in_words(value: Any) -> str:
    """A JSON value as a person reads it: names and values, without the signs of JSON."""
    if value is None or value in ("", [], {}):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return "; ".join(f"{name} {text}" for name, inner in value.items() if (text := in_words(inner)))
    if isinstance(value, (list, tuple)):
        return "; ".join(filter(None, map(in_words, value)))
    return f"{value:g}" if isinstance(value, float) else str(value)


def importance_of(record: TierRecord) -> float:
    """How much a record matters, from 0 to 1: what was called important or critical, what went wrong, what proved
    itself; a half where nothing tells."""
    fields = record.fields
    if record.kind == "decision":
        return 1.0 if fields.get("important") else 0.6
    if record.kind == "incident":
        return 1.0
    if record.kind == "event":
        return 1.0 if fields.get("critical") else 0.3
    if record.kind == "pattern":
        return float(fields.get("success_rate") or 0.0)
    if record.kind == "procedure":
        good, bad = (int(fields.get(name) or 0) for name in ("success_count", "fail_count"))
        return (good + 1) / (good + bad + 2)
    if record.kind in ("goal", "task"):
        return 0.5 if fields.get("status") in FINAL else 0.8
    return 0.4 if fields.get("success") is not False else 0.6


def of_chunk(hit: KnowledgeHit) -> Finding:
    """A chunk of a document as a finding."""
    heading = f"{hit.title} {hit.section}".strip()
    place = f"{hit.title}#{hit.section}" if hit.section else hit.title
    text = _clipped(hit.text)
    return Finding("knowledge", hit.kind, hit.id, text, text, place=place, heading=heading)


def of_item(item: Item, nearness: float = 0.0, zone: tzinfo | None = None) -> Finding:
    """An item of long-term memory as a finding. `zone`: the agent's."""
    text, about = _clipped(said_on.resolved(item, zone)), said_on.about(item, zone)
    shown = f"{text} ({about})" if about else text
    return Finding("longterm", "item", item.id, shown, text, item.updated_at, item.importance, nearness)


def of_lesson(lesson: Lesson) -> Finding:
    """A lesson as a finding: what it is about, what is better, and what is not."""
    avoid = f" (not: {bad})" if (bad := prompt.avoided(lesson)) else ""
    text = _clipped(f"{lesson.trigger}: {lesson.better_action}{avoid}")
    importance = max(0.0, min(1.0, lesson.confidence / 10))
    return Finding("longterm", "lesson", lesson.id, text, text, lesson.updated_at, importance)
