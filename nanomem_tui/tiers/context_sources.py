"""Where context comes from: what each tier has to say of a task, each asked in its own way, with a bound on the work.

Owns which parts of a workspace are asked, and how much of each. Reads only: no hit is counted, nothing is moved.
Records and events belong to the agent of the workspace as a whole; items and lessons are what the audience may see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from nanomem_tui.errors import NanomemError
from nanomem_tui.memory.fusion import nearness
from nanomem_tui.memory.questions import Question
from nanomem_tui.memory.scopes import Audience
from nanomem_tui.store import tier_rows, tier_search
from nanomem_tui.store.sql import Connection
from nanomem_tui.store.tier_kinds import KINDS, RECORD_KINDS, TIERS, Tier
from nanomem_tui.store.tier_rows import Where
from nanomem_tui.store.tier_values import TierRecord
from nanomem_tui.tiers import context_content as content
from nanomem_tui.tiers.aging import description_of
from nanomem_tui.tiers.context_values import Finding, Task
from nanomem_tui.tiers.ring import agent_of
from nanomem_tui.tokens import shown, tokens

if TYPE_CHECKING:
    from nanomem_tui.memory.turn import Engine
    from nanomem_tui.tiers.entries import OperationalEntry
    from nanomem_tui.tiers.knowledge import KnowledgeBase
    from nanomem_tui.tiers.operational import Operational
    from nanomem_tui.tiers.records import TierRecords
    from nanomem_tui.vectors.records import NearRecord, RecordMeaning

EACH = 12
"""Records of one kind in one tier, entries of one category, items: at most so many may be context of one task."""
NAMED = 8
"""Names of a task that may be those of metrics."""
LEAST_ANSWERED = 0.35
"""The share of a task that a chunk of a document answers at least: among thousands of pages some hold any one word."""
CHARACTERS = 40_000
"""Of items: more than any block of recall holds."""
SEARCHED = (*RECORD_KINDS, "event")
ENTRIES = ("event", "task", "tool_result")
Row = TypeVar("Row")


class Parts(NamedTuple):
    """What a workspace is asked through; each is made when it is first used."""

    records: Callable[[], TierRecords]
    operational: Callable[[], Operational]
    engine: Callable[[], Engine]
    knowledge: Callable[[], KnowledgeBase]
    meaning: Callable[[], RecordMeaning] | None = None
    """Finds records by meaning, where that is asked for."""


class Found(NamedTuple):
    """What the tiers say of a task, and what is to be known of how it was looked for."""

    findings: list[Finding]
    notes: list[str]


def look(parts: Parts, task: Task, tiers: Sequence[str], audience: Audience) -> Found:
    """What these tiers say of a task. Raises the store's errors, and BadInput for an audience that cannot be."""
    found = Found([], [])
    if "operational" in tiers:
        found.findings.extend(_operational(parts.operational(), task))
    if {"working", "longterm"} & {*tiers}:
        found.findings.extend(_records(parts, task, tiers, found))
    if "longterm" in tiers:
        found.findings.extend(_memory(parts.engine(), task, audience, found))
    if "knowledge" in tiers and task.words:
        hits = parts.knowledge().search(task.text, EACH)
        found.findings.extend(content.of_chunk(hit) for hit in hits if hit.score >= LEAST_ANSWERED)
    return found


# -- what happens now -------------------------------------------------------------------------------------------------


def _operational(now: Operational, task: Task) -> Iterator[Finding]:
    if not task.words:
        return
    for value in _few(now.metrics(), lambda value: value.name, task):
        yield content.of_metric("operational", value.name, value.name, value.value, value.unit, value.at)
    for state in _few(now.agent_states(), lambda one: f"{one.agent} {content.in_words(one.state)}", task):
        lines = [("state", state.state)]
        yield content.finding("operational", "agent-state", state.agent, f"agent {state.agent}", lines, state.at)
    for entry in now.holding(_beginnings(task), ENTRIES, EACH):
        if agent_of(entry.data) is None:
            yield _of_entry(entry)


def _of_entry(entry: OperationalEntry) -> Finding:
    data = entry.data
    if entry.category != "task":
        return content.of_entry("operational", entry.id, entry.category, data, entry.source, entry.at, entry.critical)
    rest = {name: value for name, value in data.items() if name not in ("id", "description", "status")}
    lines = [("source", entry.source), ("status", data["status"]), ("data", rest)]
    return content.finding("operational", "task", data["id"], f"task: {description_of(data)}", lines, entry.at, 0.8)


def _few(rows: Iterable[Row], words: Callable[[Row], str], task: Task) -> list[Row]:
    """The rows whose words are those of the task, those with most of them first."""
    rated = [(sum(task.words.get(word, 0.0) for word in set(tokens(words(row)))), row) for row in rows]
    return [row for share, row in sorted(rated, key=lambda one: -one[0])[:EACH] if share]


def _beginnings(task: Task) -> list[str]:
    """How the words of a task begin, whatever their ending."""
    known = [(word, shown(word)) for word in task.words]
    return [
        word[: max(4, len(word) - 1)] if word.isascii() and word == letters else task.written.get(word, letters)
        for word, letters in known
    ]


# -- the trail --------------------------------------------------------------------------------------------------------


def _records(parts: Parts, task: Task, tiers: Sequence[str], found: Found) -> Iterator[Finding]:
    records = parts.records()
    wanted = [tier for tier in TIERS if tier in tiers]

    def ask(connection: Connection) -> list[TierRecord]:
        hits: list[TierRecord] = []
        for tier in wanted:
            for kind in (KINDS[name] for name in SEARCHED):
                if table := kind.tables.get(tier):
                    rated = tier_search.find(connection, records.workspace_id, [(kind, table)], task.question, EACH)
                    hits += [one.record for one in rated]
            hits += _measured(connection, records.workspace_id, task, tier)
        return hits

    none: list[TierRecord] = []
    known = {record.key: record for record in records.ask(ask, none)}
    near = {one.record.key: one for one in _near(parts, task, found) if one.record.tier in wanted}
    for key, record in ({key: one.record for key, one in near.items()} | known).items():
        yield content.of_record(record, nearness(near[key].distance) if key in near else 0.0)


def _near(parts: Parts, task: Task, found: Found) -> Sequence[NearRecord]:
    """The records nearest in meaning, where meaning is asked for."""
    if parts.meaning is None:
        return ()
    kinds = [kind.name for kind in KINDS.values() if kind.embedded]
    try:
        return parts.meaning().nearest(task.text, kinds, 2 * EACH, patience=0.0)
    except NanomemError as error:
        found.notes.append(f"records by words alone: {error.line()}")
        return ()


def _measured(connection: Connection, workspace_id: str, task: Task, tier: Tier) -> Iterator[TierRecord]:
    """The newest value of each metric that the task names, as that tier keeps it."""
    kind = KINDS["metric" if tier == "working" else "metric-hour"]
    for name in task.names[:NAMED]:
        yield from tier_rows.rows(connection, workspace_id, kind, tier, Where({"name": name}), 1)


# -- the memory itself ------------------------------------------------------------------------------------------------


def _memory(engine: Engine, task: Task, audience: Audience, found: Found) -> Iterator[Finding]:
    begun = engine.look(Question(task.text, audience=audience, limit=EACH, max_chars=CHARACTERS))
    if begun.found is not None and begun.found.note:
        found.notes.append(f"items by words alone: {begun.found.note}")
    for hit in begun.given:
        yield content.of_item(hit.item, nearness(hit.parts.get("distance")), begun.zone)
    yield from map(content.of_lesson, begun.lessons)
