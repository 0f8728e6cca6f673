"""Work records as rows: their columns, signs and filter fields, and reading them from the database page by page or
filtered.

Reads run in threads. A row is a record with the beginnings of its fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from nanomem_tui.core import clock, files
from nanomem_tui.core.text import one_line
from nanomem_tui.memory import filters
from nanomem_tui.memory.filters import FieldTest, Filter, fold
from nanomem_tui.store.work import records as work_records
from nanomem_tui.store.work.kinds import KINDS, TIERS, Tier
from nanomem_tui.store.work.values import Among, Stretch, TierRecord
from nanomem_tui.tiers.operational import entry_text
from nanomem_tui.tiers.records import TierRecords
from nanomem_tui.widgets.columns import Column, aged
from nanomem_tui.widgets.paged_table import MOST_SELECTED, PAGE, UNREAD

# What the lists of records show of each kind: its name, its columns, the fields of its filter, its sign. Pure.

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
    return entry_text(row.fields["category"], data) if data is not None else ""


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


FOUND = 2_000
"""Records that a filter shows, the newest."""
BEST = 200
"""Records that words show, the best."""
NEWEST = 20_000
"""Records that are looked through for parts of words, when none holds the words."""
STEP = 2_000

Pages = Mapping[int, Sequence[TierRecord]]


class Beginning(NamedTuple):
    """The first look at a list: how many records there are, the pages that are seen first, and where the record is
    that was asked for (None: it is not among them)."""

    total: int
    pages: Pages
    place: int | None


class Sought(NamedTuple):
    """What a filter let through so far: the records, how many were looked at out of how many, and why there are no
    more: `done` when all were looked at, `note` in words otherwise."""

    rows: tuple[TierRecord, ...]
    looked: int
    total: int
    done: bool = False
    note: str = ""


def unread(kind: str) -> Callable[[int], TierRecord]:
    """What stands in place of a record that is not read yet."""
    empty: dict[str, Any] = dict.fromkeys(field.name for field in KINDS[kind].fields)
    return lambda index: TierRecord(kind, f"{UNREAD}{index}", empty)


def begin(records: TierRecords, wanted: Stretch, near: str, at: int) -> Beginning:
    """Count, and read the pages around the record `near`, or around the row `at` when it is not there. Raises the
    errors of the store."""

    def read_beginning(connection: Any) -> Beginning:
        total = work_records.count_within(connection, wanted)
        place = work_records.place_of(connection, wanted, near) if near else None
        middle = min(at if place is None else place, max(total - 1, 0)) // PAGE
        last = max(total - 1, 0) // PAGE
        numbers = range(last + 1) if total <= MOST_SELECTED else range(max(middle - 1, 0), min(middle + 1, last) + 1)
        return Beginning(total, _pages(connection, wanted, total, numbers), place)

    return records.database.ask(read_beginning, Beginning(0, {}, None))


def more(records: TierRecords, wanted: Stretch, total: int, numbers: Iterable[int]) -> Pages:
    """Pages of a list of `total` records. Raises the errors of the store."""
    none: Pages = {}
    return records.database.ask(lambda connection: _pages(connection, wanted, total, numbers), none)


def _pages(connection: Any, wanted: Stretch, total: int, numbers: Iterable[int]) -> Pages:
    return {number: _page(connection, wanted, total, number) for number in numbers}


def _page(connection: Any, wanted: Stretch, total: int, number: int) -> list[TierRecord]:
    """A page, counted from whichever end of the list is nearer."""
    start = number * PAGE
    limit = min(PAGE, total - start)
    if start <= total // 2:
        return work_records.page(connection, wanted, limit, start)
    other = wanted._replace(oldest_first=not wanted.oldest_first)
    return work_records.page(connection, other, limit, total - start - limit)[::-1]


# -- a filter ---------------------------------------------------------------------------------------------------------


def seek(records: TierRecords, wanted: Stretch, by: Filter) -> Iterator[Sought]:
    """What the filter lets through, as far as it was looked for. Raises the errors of the store."""
    total = records.count_within(wanted)
    wanted = narrowed(wanted, by)
    accepts = by.predicate(field_of) or (lambda row: True)
    words = " ".join((*by.words, *by.phrases))
    most, note = total, ""
    if words and wanted.kind.words:
        hits = [hit.record for hit in records.search(words, (wanted.kind.name,), wanted.tier, BEST)]
        best = tuple(hit for hit in hits if accepts(hit) and not _holds(hit, by.excluded, any))
        if best:
            yield Sought(
                best, len(hits), total, True, f"the best {BEST}, by words" if len(hits) == BEST else "by words"
            )
            return
        most = min(total, NEWEST)
        note = f"parts of words in the newest {most:,}"
    found: list[TierRecord] = []
    looked = 0
    for rows in _each(records, wanted, most):
        looked = total if wanted.among else looked + len(rows)
        found += [
            row
            for row in rows
            if accepts(row) and _holds(row, (*by.words, *by.phrases), all) and not _holds(row, by.excluded, any)
        ]
        if len(found) >= FOUND:
            yield Sought(tuple(found[:FOUND]), looked, total, True, f"the first {FOUND:,} of them")
            return
        yield Sought(tuple(found), looked, total)
    yield Sought(tuple(found), looked, total, True, note)


def _each(records: TierRecords, wanted: Stretch, most: int) -> Iterator[list[TierRecord]]:
    """The records in their order, in steps, each of which is a look of its own."""
    at, seen, looked = "", 0, 0
    while looked < most:
        stretch = wanted
        if at:
            stretch = wanted._replace(since=at) if wanted.oldest_first else wanted._replace(until=at)
        rows = _step(records, stretch, min(STEP, most - looked), seen)
        if not rows:
            return
        yield rows
        looked += len(rows)
        same = sum(row.at == rows[-1].at for row in rows)
        seen = seen + same if rows[-1].at == at and same == len(rows) else same
        at = rows[-1].at


def _step(records: TierRecords, stretch: Stretch, limit: int, offset: int) -> list[TierRecord]:
    none: list[TierRecord] = []
    return records.database.ask(lambda connection: work_records.page(connection, stretch, limit, offset), none)


def _holds(row: TierRecord, texts: Sequence[str], how: Callable[[Iterable[bool]], bool]) -> bool:
    if not texts:
        return how is all
    said = fold(" ".join(str(value) for value in (row.id, *row.fields.values()) if value is not None))
    return how(text in said for text in texts)


def narrowed(wanted: Stretch, by: Filter) -> Stretch:
    """The stretch in which all records lie that the filter may let through, as far as the database can tell."""
    now = clock.now()
    for test in by.fields:
        if test.excluded:
            continue
        if test.field == "tier":
            tiers: list[Tier] = [tier for tier in TIERS if test.accepts(tier, now)]
            wanted = wanted._replace(tier=tiers[0]) if len(tiers) == 1 else wanted
        elif test.field == "age":
            wanted = _of_age(wanted, test)
        elif (among := _among(wanted, test)) is not None:
            wanted = wanted._replace(among=(*wanted.among, among))
    return wanted


def _among(wanted: Stretch, test: FieldTest) -> Among | None:
    """The test as the database makes it; None for what only `accepts` can tell."""
    name = full_name(wanted.kind.name, test.field)
    if test.kind == "switch":
        return Among(name, low=float(test.switch), high=float(test.switch)) if test.switch else None
    if test.kind == "number":
        return Among(name, low=test.low, high=test.high)
    if not test.value.isascii() or "[" in test.value:
        return None
    return Among(name, tuple(fold(one) for one in test.value.split(",") if one))


def _of_age(wanted: Stretch, test: FieldTest) -> Stretch:
    def ago(seconds: float) -> str:
        return clock.iso(clock.now() - timedelta(seconds=min(seconds, 3e9)))

    if test.low:
        wanted = wanted._replace(until=min(filter(None, (wanted.until, ago(test.low)))))
    if test.high is not None:
        wanted = wanted._replace(since=max(wanted.since, ago(test.high)))
    return wanted
