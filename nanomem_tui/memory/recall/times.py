"""When a memory was said and what days it is about, and what that counts where a question names a time.

Owns the part `time` of a score, and the strict filter of `--since` and `--until`. A day is one in the time zone of the
agent's configuration, as everywhere. `language.times_asked` reads the times in a question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, tzinfo

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.paths import Paths
from nanomem_tui.core.text import quoted
from nanomem_tui.language import times_asked
from nanomem_tui.language.times_asked import Span, TimeAsked
from nanomem_tui.memory.recall.said_on import agent_zone, day_of_time, day_said
from nanomem_tui.memory.recall.scoring import Scored, ScoreParts, item_factor
from nanomem_tui.store.values import Item

ONLY = 4.0
"""So many times its weight counts a time where nothing else is asked: what is of it stands before all others."""

MOST = 2_000
"""Memories of the time, the newest of them, that are ranked though they share no word with the question."""

_KNOWN = 200_000


def today(paths: Paths) -> date:
    """Return the day that it is in the agent's zone."""
    return date.fromisoformat(day_of_time(clock.iso(clock.now()), agent_zone(paths)))


def parse_span(paths: Paths, since: str, until: str) -> Span | None:
    """Return the days of `--since` and `--until`; `last week` begins on Monday and ends on Sunday."""
    if not since and not until:
        return None
    day = today(paths)
    first = _read_span(since, "--since", day).since if since else date.min
    last = _read_span(until, "--until", day).until if until else date.max
    if first > last:
        raise BadInput(f"{first} is after {last}", "--since", "give a day that is not after that of --until")
    return Span(first, last)


def _read_span(text: str, where: str, day: date) -> Span:
    try:
        return times_asked.read_date(text, day)
    except ValueError as error:
        way = "give 2026-03-02, 2026-03, yesterday, last tuesday or 2 weeks ago"
        raise BadInput(f"{error}: {quoted(text)}", where, way) from None


def day_of(at: str, zone: tzinfo | None) -> date | None:
    """Return the day of a transcript's time in the agent's zone; None where it is no time."""
    try:
        if len(at) <= len("2026-03-02") or at[-1:].isspace():
            return date.fromisoformat(at)
        moment = clock.parse(at)
        is_local = moment is not None and at[-1] not in "Zz" and "+" not in at[10:] and "-" not in at[10:]
        if is_local:
            return date.fromisoformat(at[:10])
        return moment.astimezone(zone).date() if moment is not None else None
    except ValueError:
        return None


class Times:
    """The days of memories, each read once. Any thread may ask."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._known: dict[str, tuple[int, tuple[Span, ...]]] = {}  # no words: what is forgotten is not held here
        self._zone: tzinfo | None = None

    def today(self) -> date:
        """Return the day that it is in the agent's zone."""
        return today(self._paths)

    def test(self, asked: Sequence[Span]) -> Callable[[Item], bool]:
        """Return what tells whether an item was said in one of some spans, or is about a day of them."""
        zone = agent_zone(self._paths)
        if zone != self._zone:
            self._known.clear()
            self._zone = zone
        of = self._spans_of
        return lambda item: any(span.holds(own) for own in of(item, zone) for span in asked)

    def _spans_of(self, item: Item, zone: tzinfo | None) -> tuple[Span, ...]:
        """Return the day on which an item was said, and the days that it is about."""
        mark, (known, spans) = hash((item.text, item.created_at, item.meta_json)), self._known.get(item.id, (0, ()))
        if known == mark:
            return spans
        spans = days_of(item.text, day_said(item, zone))
        if len(self._known) >= _KNOWN:
            self._known.clear()
        self._known[item.id] = (mark, spans)
        return spans


def days_of(text: str, said: str) -> tuple[Span, ...]:
    """Return the day on which a text was said (ISO, empty: nobody knows) and the days that it is about."""
    try:
        day = date.fromisoformat(said)
    except ValueError:
        return times_asked.about(text, date.min.replace(year=1970))
    return (Span(day, day), *times_asked.about(text, day))


def rank_by_time(
    scored: Sequence[Scored],
    asked: TimeAsked,
    is_of_it: Callable[[Item], bool],
    weights: Mapping[str, float],
    now: date,
) -> list[Scored]:
    """Rank items of the time that is asked for higher: (words + meaning + time) x (1 + shares)."""
    most = max((_base(one) for one in scored), default=0.0) or 1.0
    worth, growth_of = weights["time"] * (ONLY if asked.only else 1) * most, item_factor(weights, now)
    found = [
        Scored(one.item, (_base(one) + worth) * growth_of(one.item), one.parts.timed(worth))
        if isinstance(one.parts, ScoreParts) and is_of_it(one.item)
        else one
        for one in scored
    ]
    if asked.only:  # all are equally meant: the newest first
        found.sort(key=lambda one: one.item.updated_at, reverse=True)
        return sorted(found, key=lambda one: -round(one.score, 1))
    return sorted(found, key=lambda one: (-one.score, one.item.id))


def _base(one: Scored) -> float:
    return one.parts.base if isinstance(one.parts, ScoreParts) else one.score
