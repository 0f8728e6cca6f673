"""Context assembly (seed 004): what an agent should know before it asks a model to do a task.

Reads the task, searches the tiers, ranks what they hold on one scale, drops repetitions and fits a budget of tokens
(`context_fitting`). Reads only; the same store gives the same answer all day.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from datetime import tzinfo
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, NanomemError
from nanomem_tui.core.settings import OFF, Settings
from nanomem_tui.core.text import without_lone_surrogates
from nanomem_tui.language import secrets
from nanomem_tui.language.secrets import signs as secret_signs
from nanomem_tui.language.tokens import shown, tokens
from nanomem_tui.memory.recall import said_on
from nanomem_tui.memory.recall.recall import Question
from nanomem_tui.memory.recall.scoring import nearness
from nanomem_tui.memory.scopes import Audience
from nanomem_tui.memory.turns import prompt
from nanomem_tui.store.values import Item, Lesson
from nanomem_tui.store.work.kinds import FINAL, KINDS, RECORD_KINDS, Tier
from nanomem_tui.store.work.kinds import TIERS as KINDS_TIERS
from nanomem_tui.store.work.values import KnowledgeHit, TierRecord, Where
from nanomem_tui.tiers import context_fitting
from nanomem_tui.tiers.context_fitting import (
    MARK,
    TIERS,
    USUAL_TOKENS,
    Budget,
    Context,
    ContextChunk,
    Task,
    TierHit,
    parse_tiers,
    read_task,
)
from nanomem_tui.tiers.operational import agent_of, description_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from nanomem_tui.memory.turns.engine import Engine
    from nanomem_tui.tiers.knowledge import KnowledgeBase
    from nanomem_tui.tiers.operational import Operational, OperationalEntry
    from nanomem_tui.tiers.records import TierRecords
    from nanomem_tui.vectors.records import NearRecord, RecordMeaning


# Where context comes from: what each tier has to say of a task, each asked in its own way, with a bound on the work.

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


class ContextSources(NamedTuple):
    """What a workspace is asked through; each is made when it is first used."""

    records: Callable[[], TierRecords]
    operational: Callable[[], Operational]
    engine: Callable[[], Engine]
    knowledge: Callable[[], KnowledgeBase]
    meaning: Callable[[], RecordMeaning] | None = None
    """Finds records by meaning, where that is asked for."""


class ContextHits(NamedTuple):
    """What the tiers say of a task, and what is to be known of how it was looked for."""

    hits: list[TierHit]
    notes: list[str]


def find_in_tiers(parts: ContextSources, task: Task, tiers: Sequence[str], audience: Audience) -> ContextHits:
    """Return what these tiers say of a task. Raises the store's errors, and BadInput for an audience that cannot be."""
    found = ContextHits([], [])
    if "operational" in tiers:
        found.hits.extend(_operational(parts.operational(), task))
    if {"working", "longterm"} & {*tiers}:
        found.hits.extend(_records(parts, task, tiers, found))
    if "longterm" in tiers:
        found.hits.extend(_memory(parts.engine(), task, audience, found))
    if "knowledge" in tiers and task.words:
        hits = parts.knowledge().search(task.text, EACH)
        found.hits.extend(chunk_hit(hit) for hit in hits if hit.score >= LEAST_ANSWERED)
    return found


# -- what happens now -------------------------------------------------------------------------------------------------


def _operational(now: Operational, task: Task) -> Iterator[TierHit]:
    if not task.words:
        return
    for value in _few(now.metrics(), lambda value: value.name, task):
        yield metric_finding("operational", value.name, value.name, value.value, value.unit, value.at)
    for state in _few(now.agent_states(), lambda one: f"{one.agent} {format_value(one.state)}", task):
        lines = [("state", state.state)]
        yield finding("operational", "agent-state", state.agent, f"agent {state.agent}", lines, state.at)
    for entry in now.holding(_beginnings(task), ENTRIES, EACH):
        if agent_of(entry.data) is None:
            yield _of_entry(entry)


def _of_entry(entry: OperationalEntry) -> TierHit:
    data = entry.data
    if entry.category != "task":
        return entry_hit("operational", entry.id, entry.category, data, entry.source, entry.at, entry.critical)
    rest = {name: value for name, value in data.items() if name not in ("id", "description", "status")}
    lines = [("source", entry.source), ("status", data["status"]), ("data", rest)]
    return finding("operational", "task", data["id"], f"task: {description_of(data)}", lines, entry.at, 0.8)


def _few(rows: Iterable[Row], words: Callable[[Row], str], task: Task) -> list[Row]:
    rated = [(sum(task.words.get(word, 0.0) for word in set(tokens(words(row)))), row) for row in rows]
    return [row for share, row in sorted(rated, key=lambda one: -one[0])[:EACH] if share]


def _beginnings(task: Task) -> list[str]:
    """Return how the words of a task begin, whatever their ending."""
    known = [(word, shown(word)) for word in task.words]
    return [
        word[: max(4, len(word) - 1)] if word.isascii() and word == letters else task.written.get(word, letters)
        for word, letters in known
    ]


# -- the trail --------------------------------------------------------------------------------------------------------


def _records(parts: ContextSources, task: Task, tiers: Sequence[str], found: ContextHits) -> Iterator[TierHit]:
    records = parts.records()
    wanted = [tier for tier in KINDS_TIERS if tier in tiers]

    from nanomem_tui.store.work import search

    def ask(connection: Connection) -> list[TierRecord]:
        hits: list[TierRecord] = []
        for tier in wanted:
            for kind in (KINDS[name] for name in SEARCHED):
                if tier in kind.tiers:
                    asked = search.Asked(kind, tier if kind.ages else None)
                    rated = search.find(connection, [asked], task.question, EACH)
                    hits += [one.record for one in rated]
            hits += _measured(connection, task, tier)
        return hits

    none: list[TierRecord] = []
    known = {record.key: record for record in records.database.ask(ask, none)}
    near = {one.record.key: one for one in _near(parts, task, found) if one.record.tier in wanted}
    for key, record in ({key: one.record for key, one in near.items()} | known).items():
        yield record_hit(record, nearness(near[key].distance) if key in near else 0.0)


def _near(parts: ContextSources, task: Task, found: ContextHits) -> Sequence[NearRecord]:
    if parts.meaning is None:
        return ()
    kinds = [kind.name for kind in KINDS.values() if kind.embedded]
    try:
        return parts.meaning().nearest(task.text, kinds, 2 * EACH, patience=0.0)
    except NanomemError as error:
        found.notes.append(f"records by words alone: {error.line()}")
        return ()


def _measured(connection: Connection, task: Task, tier: Tier) -> Iterator[TierRecord]:
    """Yield the newest value of each metric that the task names, as that tier keeps it."""
    from nanomem_tui.store.work import records as work_records

    kind = KINDS["metric" if tier == "working" else "metric-hour"]
    for name in task.names[:NAMED]:
        yield from work_records.rows(connection, kind, tier, Where({"name": name}), 1)


# -- the memory itself ------------------------------------------------------------------------------------------------


def _memory(engine: Engine, task: Task, audience: Audience, found: ContextHits) -> Iterator[TierHit]:
    begun = engine.ask(Question(task.text, audience=audience, limit=EACH, max_chars=CHARACTERS))
    if begun.found is not None and begun.found.note:
        found.notes.append(f"items by words alone: {begun.found.note}")
    for hit in begun.block_hits:
        yield item_finding(hit.item, nearness(hit.parts.get("distance")), begun.zone)
    yield from map(lesson_finding, begun.lessons)


# -- what is said to a model ------------------------------------------------------------------------------------------

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


def record_hit(record: TierRecord, nearness: float = 0.0) -> TierHit:
    """A record as a finding."""
    fields = record.fields
    if record.kind in ("metric", "metric-hour"):
        value = fields["value"] if record.kind == "metric" else fields["mean"]
        return metric_finding(record.tier, record.id, fields["name"], value, fields["unit"] or "", record.at)
    named = fields.get(KINDS[record.kind].title) or record.id
    if record.kind == "event" and named in ("event", "tool_result"):
        return entry_hit(record.tier, record.id, named, fields["data"], fields["source"], record.at, fields["critical"])
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
) -> TierHit:
    """A finding of a first line and of named values below it; those that say nothing are left out."""
    told = [(name, format_value(value)) for name, value in lines]
    rest = [f"{name}: {text}" for name, text in told if text]
    when = f" ({at[:16].replace('T', ' ')} UTC)" if at else ""
    return TierHit(
        tier, kind, id, _clipped("\n".join([f"{head}{when}", *rest])), _clipped("\n".join([head, *rest])), at,
        max(0.0, min(1.0, importance)), nearness,
    )  # fmt: skip


def entry_hit(tier: str, id: str, category: str, data: Any, source: str, at: str, critical: bool) -> TierHit:
    """Something that happened, as a finding."""
    if category == "tool_result" and isinstance(data, Mapping):
        rest = {name: value for name, value in data.items() if name != "tool"}
        lines = [("source", source), ("data", rest)]
        return finding(tier, "event", id, f"call of {format_value(data.get('tool'))}", lines, at, 0.4)
    importance = 1.0 if critical else 0.3
    return finding(tier, "event", id, "event", [("source", source), ("data", data)], at, importance)


def metric_finding(tier: str, id: str, name: str, value: float, unit: str, at: str) -> TierHit:
    """Return the value of a metric as a finding, the mean of an hour where `tier` is long-term memory."""
    what = "metric, mean of the hour" if tier == "longterm" else "metric"
    made = finding(tier, "metric", id, f"{what}: {name} = {value:g}{unit and f' {unit}'}", at=at)
    return made._replace(place=f"metric/{name}")


def _clipped(text: str) -> str:
    return text if len(text) <= MOST else text[:MOST] + MARK


def format_value(value: Any) -> str:
    """A JSON value as a person reads it: names and values, without the signs of JSON."""
    if value is None or value in ("", [], {}):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return "; ".join(f"{name} {text}" for name, inner in value.items() if (text := format_value(inner)))
    if isinstance(value, (list, tuple)):
        return "; ".join(filter(None, map(format_value, value)))
    return f"{value:g}" if isinstance(value, float) else str(value)


def importance_of(record: TierRecord) -> float:
    """Return how much a record matters, from 0 to 1: what was called important or critical, what went wrong, what
    proved itself; a half where nothing tells."""
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


def chunk_hit(hit: KnowledgeHit) -> TierHit:
    """A chunk of a document as a finding."""
    heading = f"{hit.title} {hit.section}".strip()
    place = f"{hit.title}#{hit.section}" if hit.section else hit.title
    text = _clipped(hit.text)
    return TierHit("knowledge", hit.kind, hit.id, text, text, place=place, heading=heading)


def item_finding(item: Item, nearness: float = 0.0, zone: tzinfo | None = None) -> TierHit:
    """An item of long-term memory as a finding. `zone`: the agent's."""
    text, about = _clipped(said_on.resolve_dates(item, zone)), said_on.filed_under(item, zone)
    shown = f"{text} ({about})" if about else text
    return TierHit("longterm", "item", item.id, shown, text, item.updated_at, item.importance, nearness)


def lesson_finding(lesson: Lesson) -> TierHit:
    """A lesson as a finding: what it is about, what is better, and what is not."""
    avoid = f" (not: {bad})" if (bad := prompt.avoid_line(lesson)) else ""
    text = _clipped(f"{lesson.trigger}: {lesson.better_action}{avoid}")
    importance = max(0.0, min(1.0, lesson.confidence / 10))
    return TierHit("longterm", "lesson", lesson.id, text, text, lesson.updated_at, importance)


# How many tokens of a model a text is: counted by a tokenizer where one is installed, else estimated by script.

ENCODINGS = ("o200k_base", "cl100k_base")
"""Vocabularies of tiktoken, the newest first; one is used where its file is on this machine."""


class Counter(NamedTuple):
    """What counts tokens: its name as a person reads it, and how many tokens a text is."""

    name: str
    count: Callable[[str], int]


@lru_cache(1)
def make_counter() -> Counter:
    """Return what counts: tiktoken where its data is on this machine, else an estimate by script."""
    return _of_tiktoken() or Counter("an estimate by script", estimate_tokens)


# -- tokenizers -------------------------------------------------------------------------------------------------------

_alone = threading.Lock()


def _of_tiktoken() -> Counter | None:
    """A vocabulary of tiktoken whose file is here; None where there is none."""
    try:
        import tiktoken.load
    except ImportError:
        return None
    names = tiktoken.list_encoding_names()
    likely = [name for base in ENCODINGS for name in sorted(names) if name.startswith(base)]
    with _alone:
        usual = tiktoken.load.read_file
        tiktoken.load.read_file = _read_here  # it would fetch what it does not find
        try:
            for name in likely:
                try:
                    encoding = tiktoken.get_encoding(name)
                except (OSError, ValueError):
                    continue
                return Counter(f"tiktoken {name}", _counting(encoding.encode_ordinary))
        finally:
            tiktoken.load.read_file = usual
    return None


def _counting(encode: Callable[[str], Sized]) -> Callable[[str], int]:
    return lru_cache(4096)(lambda text: len(encode(without_lone_surrogates(text))))


def _read_here(path: str) -> bytes:
    if "://" in path:
        raise FileNotFoundError(path)
    return Path(path).read_bytes()


# -- the estimate -----------------------------------------------------------------------------------------------------

_LONG = 5
"""Letters of a word that are usually one token."""
_WORD = (0.77, 0.41)
"""Tokens of a word of ASCII letters, and of each letter beyond those."""
_SIGNS = (0.63, 0.34)
"""Tokens of a run of ASCII signs, and of each sign after the first."""
_DIGITS, _LINE, _BLANKS, _ACCENTED, _OTHER = 1.39, 1.51, 0.53, 1.38, 2.14
"""Tokens of three digits, of an end of line, of several blanks, of a letter with an accent, of any other character."""
_SCRIPTS = (
    ("\u0370-\u03ff", 1.04), ("\u0400-\u052f", 0.52), ("\u0590-\u05ff", 1.07), ("\u0600-\u06ff", 0.82),
    ("\u0900-\u0dff", 1.2), ("\u0e00-\u0eff", 0.96), ("\u3040-\u30ff", 0.94), ("\u3400-\u4dbf\u4e00-\u9fff", 1.24),
    ("\uac00-\ud7a3", 1.13), ("\u2000-\u206f\u3000-\u303f\uff00-\uff65", 1.0),
)  # fmt: skip
"""Characters of a script, and tokens of each: Greek, Cyrillic, Hebrew, Arabic, Indic, Thai, kana, Han, Hangul."""


@lru_cache(1)
def _patterns() -> tuple[re.Pattern[str], tuple[tuple[re.Pattern[str], float], ...]]:
    pieces = re.compile(
        r"([A-Z]?[a-z]+|[A-Z]+(?![a-z]))|(\d+)|(\n+)|([ \t]{2,})|([!-/:-@\[-`{-~\x00-\x08\x0b-\x1f\x7f]+)", re.ASCII
    )
    scripts = [*_SCRIPTS, ("\u00c0-\u024f\u1e00-\u1eff", _ACCENTED)]
    return pieces, tuple((re.compile(f"[{letters}]"), tokens) for letters, tokens in scripts)


@lru_cache(4096)
def estimate_tokens(text: str) -> int:
    """Return how many tokens a text is, about; at least one where there is anything."""
    pieces, scripts = _patterns()
    found = 0.0
    for word, digits, line, blanks, signs in pieces.findall(text):
        if word:
            found += _WORD[0] + _WORD[1] * max(0, len(word) - _LONG)
        elif signs:
            found += _SIGNS[0] + _SIGNS[1] * (len(signs) - 1)
        elif digits:
            found += _DIGITS * -(-len(digits) // 3)
        else:
            found += _LINE if line else _BLANKS if blanks else 0.0
    if not text.isascii():
        left = sum(1 for char in text if char > "\x7f")
        for letters, tokens in scripts:
            many = len(letters.findall(text))
            found += many * tokens
            left -= many
        found += left * _OTHER
    return math.ceil(found)


__all__ = ["MOST_TOKENS", "TIERS", "Context", "ContextAssembly", "ContextChunk"]

MOST_TOKENS = 1_000_000
"""The largest budget; one beyond it is this."""


class ContextAssembly:
    """Assembles context from the parts of one workspace. May be called from any thread."""

    def __init__(self, parts: ContextSources, settings: Settings) -> None:
        self._parts = parts
        self._settings = settings

    def assemble(
        self,
        task: str,
        max_tokens: int | None = None,
        tiers: Sequence[str] = (),
        audience: Audience | None = None,
        *,
        framed: bool = False,
    ) -> Context:
        """Return what is to be known for a task, best first, in at most `max_tokens` (None: the setting).

        `tiers`: these alone (none: all); `audience`: for whom, as in recall (None: the owner, who sees everything).
        `framed`: the block that is made of it stays within the budget too, frame and sources included. Raises BadInput
        for no task, no such tier, a budget of nothing, or an audience that cannot be, and the store's errors.

        No chunk holds a secret: each stands as its kind and a fingerprint.
        """
        asked = read_task(task)
        wanted = parse_tiers(tiers)
        most = USUAL_TOKENS if max_tokens is None else min(max_tokens, MOST_TOKENS)
        if most < 1:
            raise BadInput("no room for context", f"{most} tokens", "give 1 or more")
        name, count = make_counter()
        if not self._settings.memory_enabled:
            return Context(asked, (), 0, most, name, wanted, notes=(OFF,))
        found = find_in_tiers(self._parts, asked, wanted, audience or Audience())
        ranked = context_fitting.rank(found.hits, asked.words, clock.now().date())
        ranked = [one._replace(finding=_masked(one.finding)) for one in ranked]

        def cost(source: str, content: str) -> int:
            return count(context_fitting.render_entry(source, content) + "\n") if framed else count(content)

        room = most - (count(context_fitting.FRAME) if framed else 0)
        fitted = Budget(room, count, cost).fit(ranked)
        chunks = fitted.chunks
        while framed and chunks and count(context_fitting.render(chunks)) > most:
            last = chunks.pop()  # tokens of parts are not those of the whole, to the last one
            fitted.cut.insert(0, last._replace(tokens=0, whole=0, why="the budget is full"))
        notes = tuple(found.notes if asked.words else ["no word of the task says anything", *found.notes])
        total = sum(chunk.tokens for chunk in chunks)
        return Context(asked, tuple(chunks), total, most, name, wanted, tuple(fitted.cut), notes)

    def block(self, context: Context) -> str:
        """Return the block that a model is given; within the budget where the context was assembled `framed`."""
        return context_fitting.render(context.chunks)


def _masked(finding: TierHit) -> TierHit:
    """A finding without its secrets, before it is cut: of half a secret nobody would know what it is."""
    if not (secret_signs.may_hold(finding.content) or secret_signs.may_hold(finding.source)):
        return finding
    return finding._replace(content=secrets.mask(finding.content), place=secrets.mask(finding.place))
