"""Numbers to draw of a memory: growth, hit rate, never recalled, duplicates, checkpoints, tokens, cost.

Owns what is counted and the sentence that sums it up. Reads only; must not draw.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.text import counted

if TYPE_CHECKING:
    from nanomem_tui.review.inbox import InboxMemory
    from nanomem_tui.store.values import Item

DAYS = 3_660
"""Days in a row that are counted at most."""
AGES = ((7, "under a week"), (28, "1 to 4 weeks"), (91, "1 to 3 months"), (365, "3 to 12 months"))
OLDER = "over a year"
PARTS = 4
"""Kinds, sources or models that are told apart; the last stands for all others where there are more."""


class Picture(NamedTuple):
    """Numbers to draw: `labels` along the axis with the values of each of `parts` (`values[label][part]`).

    `form`: "stacked" columns of amounts, a "curve" of shares from 0 to 1, or "bars", one for each label. `said` is what
    it comes to, in a sentence; empty `labels`: there is nothing to draw, and `said` says why. `so_far`: an amount is
    what there was at the end of its label, and not what came in it.
    """

    name: str
    title: str
    said: str
    form: Literal["stacked", "curve", "bars"]
    labels: Sequence[str] = ()
    parts: Sequence[str] = ("",)
    values: Sequence[Sequence[float]] = ()
    unit: str = ""
    so_far: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the picture as the command line prints it."""
        points = [{"label": label, **dict(zip(self.parts, values, strict=True))} if self.parts != ("",)
                  else {"label": label, "value": values[0]}
                  for label, values in zip(self.labels, self.values, strict=True)]  # fmt: skip
        return {"id": self.name, "title": self.title, "said": self.said, "unit": self.unit, "points": points}


def pictures(ws: InboxMemory) -> Iterable[Picture]:
    """Yield every picture, the quick ones first."""
    for name in PICTURES:
        yield picture(ws, name)


def picture(ws: InboxMemory, name: str) -> Picture:
    """Return the picture of that name. Raises BadInput for another, and what reading its numbers does."""
    if name not in PICTURES:
        raise BadInput(f"no picture `{name}`", "pictures", f"one of {', '.join(PICTURES)}")
    return PICTURES[name](ws)


# Items


def _growth(ws: InboxMemory) -> Picture:
    """Items at the end of each day, by kind: what was written until then, less what was deleted until then."""
    snapshot = ws.store.load("item")
    with snapshot.lock:
        rows = list(snapshot.items.values())
    changes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    gone = _deleted(ws, {row.id for row in rows if row.is_deleted})
    for row in rows:
        born = _day(row.created_at)
        if not born or (row.is_deleted and row.id not in gone):
            continue  # it came and went before anything was recorded
        changes[born][row.kind] += 1
        if row.is_deleted:
            changes[max(born, gone[row.id])][row.kind] -= 1
    days = _each_day(changes)
    totals = Counter(row.kind for row in rows if not row.is_deleted)
    parts, of = _parts(totals)
    now = Counter[str]()
    values: list[tuple[float, ...]] = []
    for day in days:
        for kind, number in changes.get(day, {}).items():
            now[of.get(kind, parts[-1])] += number
        values.append(tuple(float(now[part]) for part in parts))
    if not days:
        return Picture("growth", "Growth by kind", "Nothing is remembered yet.", "stacked")
    month = _day(clock.iso(clock.days_ago(30)))
    new = sum(1 for row in rows if not row.is_deleted and _day(row.created_at) >= month)
    said = f"{counted(sum(totals.values()), 'item')}; {new:,} of the last 30 days, {len(gone):,} deleted so far"
    return Picture("growth", "Growth by kind", f"{said}.", "stacked", days, parts, values, so_far=True)


def _deleted(ws: InboxMemory, wanted: set[str]) -> dict[str, str]:
    """On which day each of these rows was deleted, as far as that was recorded."""
    found: dict[str, str] = {}
    left = set(wanted)
    offset = 0
    while left:
        entries = ws.log(500, offset)
        for entry in entries:
            for key in left.intersection(entry.operation.keys()):
                if any((change.after or {}).get("is_deleted") for change in entry.operation.changes_of(key)):
                    found[key] = _day(entry.operation.at)
            left -= found.keys()
        offset += len(entries)
        if len(entries) < 500:
            break
    return found


def _unused(ws: InboxMemory) -> Picture:
    """Of the items of each age, how many were never recalled."""
    rows = [row for row in ws.items.all() if row.enabled]
    never: Counter[str] = Counter()
    groups: Counter[str] = Counter()
    for row in rows:
        group = _age(row)
        groups[group] += 1
        never[group] += not row.hits
    labels = [name for name in (*(name for _, name in AGES), OLDER) if groups[name]]
    values = [(float(groups[name] - never[name]), float(never[name])) for name in labels]
    if not rows:
        return Picture("unused", "Never recalled", "Nothing is remembered yet.", "bars")
    share = sum(never.values()) / len(rows)
    said = f"{sum(never.values()):,} of {counted(len(rows), 'enabled item')} were never recalled ({share:.0%})."
    return Picture("unused", "Never recalled", said, "bars", labels, ("recalled", "never"), values)


def _age(row: Item) -> str:
    moment = clock.parse(row.created_at)
    days = (clock.now() - moment).days if moment is not None else 10**6
    return next((name for limit, name in AGES if days < limit), OLDER)


def _duplicates(ws: InboxMemory) -> Picture:
    """Of the items of each kind, how many say what another says."""
    alike = {key for one in ws.triage.findings(["duplicate"]) for key in one.ids[1:] or one.ids}
    rows = ws.items.all()
    kinds: Counter[str] = Counter(row.kind for row in rows)
    doubled: Counter[str] = Counter(row.kind for row in rows if row.id in alike)
    if not rows:
        return Picture("duplicates", "Duplicates", "Nothing is remembered yet.", "bars")
    labels = [kind for kind, _ in kinds.most_common()]
    values = [(float(kinds[kind] - doubled[kind]), float(doubled[kind])) for kind in labels]
    number = sum(doubled.values())
    said = f"{number:,} of {counted(len(rows), 'item')} say what another says ({number / len(rows):.1%})."
    return Picture("duplicates", "Duplicates", said, "bars", labels, ("once", "again"), values)


# Turns, checkpoints, tokens


def _hit_rate(ws: InboxMemory) -> Picture:
    """Return the share of each day's turns for which something was recalled."""
    turns = ws.traces.injections.turns()
    days: defaultdict[str, list[bool]] = defaultdict(list)
    for turn in turns:
        if day := _day(turn.at):
            days[day].append(bool(turn.items))
    if not days:
        return Picture("hits", "Hit rate", "No turn was given anything yet.", "curve")
    labels = sorted(days)
    values = [(sum(days[day]) / len(days[day]),) for day in labels]
    hits = sum(map(sum, days.values()))
    total = sum(map(len, days.values()))
    said = f"For {hits:,} of {counted(total, 'turn')} something was recalled ({hits / total:.0%})."
    return Picture("hits", "Hit rate", said, "curve", labels, ("",), values)


def _checkpoints(ws: InboxMemory) -> Picture:
    done = ws.traces.checkpoints.last()
    if not done:
        return Picture("checkpoints", "Checkpoints", "No checkpoint was timed yet.", "stacked", unit="ms")
    values = sorted(one.ms for one in done)
    said = (
        f"The last {counted(len(done), 'checkpoint')} took {values[len(values) // 2]:,.0f} ms in the middle and "
        f"{values[-1]:,.0f} ms at most, for {sum(one.rows for one in done):,} rows."
    )
    labels = [one.at[:16].replace("T", " ") for one in done]
    return Picture("checkpoints", "Checkpoints", said, "stacked", labels, ("",), [(one.ms,) for one in done], "ms")


def _usage(ws: InboxMemory, measure: Literal["tokens", "cost"]) -> Picture:
    rows = ws.usage.rows()
    title = "Cost by source" if measure == "cost" else "Tokens by source"

    def amount(row: Any) -> float:
        return float(row.cost or 0.0) if measure == "cost" else float(row.total_tokens)

    sums: defaultdict[str, float] = defaultdict(float)
    days: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for row in rows:
        sums[row.source or "(none)"] += amount(row)
        days[row.day][row.source or "(none)"] += amount(row)
    if not sum(sums.values()):
        why = "No price is known: `nanomem usage` has the command that sets one." if rows else "No tokens were used."
        return Picture(measure, title, why, "stacked", unit=measure)
    labels = _each_day(days)
    parts, of = _parts(sums)
    values = [_summed(days.get(day, {}), parts, of) for day in labels]
    total = sum(sums.values())
    whole = f"{total:,.2f}" if measure == "cost" else f"{total:,.0f} tokens"
    said = f"{whole} in {counted(len(labels), 'day')}, most of it for {parts[0]}."
    return Picture(measure, title, said, "stacked", labels, parts, values, measure)


def _summed(day: Mapping[str, float], parts: Sequence[str], of: Mapping[str, str]) -> tuple[float, ...]:
    now = dict.fromkeys(parts, 0.0)
    for name, number in day.items():
        now[of.get(name, parts[-1])] += number
    return tuple(now.values())


PICTURES: Mapping[str, Callable[[InboxMemory], Picture]] = {
    "growth": _growth,
    "unused": _unused,
    "hits": _hit_rate,
    "checkpoints": _checkpoints,
    "tokens": lambda ws: _usage(ws, "tokens"),
    "cost": lambda ws: _usage(ws, "cost"),
    "duplicates": _duplicates,
}
"""What can be drawn, by name; what takes longest is the last."""


def _day(at: str) -> str:
    moment = clock.parse(at)
    return f"{moment.astimezone():%Y-%m-%d}" if moment is not None else ""


def _each_day(known: Iterable[str]) -> list[str]:
    """Return every day from the first of `known` to the last; only those where that would be too many."""
    days = sorted(known)
    if not days:
        return []
    try:
        first, last = date.fromisoformat(days[0]), date.fromisoformat(days[-1])
    except ValueError:
        return days
    between = (last - first).days
    return days if between > DAYS else [(first + timedelta(days=number)).isoformat() for number in range(between + 1)]


def _parts(sums: Mapping[str, float]) -> tuple[list[str], dict[str, str]]:
    """Return the names that are told apart, the largest first, and which of them each name counts as."""
    names = sorted(sums, key=lambda name: (-sums[name], name))
    if len(names) <= PARTS:
        return names, {name: name for name in names}
    kept = [*names[: PARTS - 1], "others"]
    return kept, {name: name if name in kept else "others" for name in names}
