"""When a memory was said and what days it is about, and what that counts where a question names a time.

Owns the part `time` of a score, and the strict filter of `--since` and `--until`. A day is one in the time zone of the
agent's configuration, as everywhere. `language.times_asked` reads the times in a question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, tzinfo
from functools import lru_cache
from pathlib import Path

from nanomem_tui.agents.layout import zone_of
from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.paths import Paths
from nanomem_tui.core.text import quoted
from nanomem_tui.language import dates, times_asked
from nanomem_tui.language.times_asked import Span, TimeAsked
from nanomem_tui.memory.recall.scoring import Scored, ScoreParts, item_factor
from nanomem_tui.store.values import Item, dumped, fact_of

# The day on which something was said, in the zone in which it was said: what `tomorrow` in a memory is reckoned from.

FIELD = "said_on"
"""The free field of an item: `YYYY-MM-DD`, or empty where nobody knows when it was said."""


def agent_zone(paths: Paths) -> tzinfo | None:
    """Return the zone of the agent's configuration; None where it names none."""
    config = paths.agent_config
    try:
        stamp = config.stat().st_mtime_ns if config is not None else 0
    except OSError:
        stamp = 0
    return _zone(paths, config, stamp)


@lru_cache(16)
def _zone(paths: Paths, _config: Path | None, _stamp: int) -> tzinfo | None:
    return zone_of(paths)


def day_of_offset_time(text: str) -> str:
    """Return the day that a time tells by itself: it has an offset from UTC, or is local; empty for one in UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return ""
    return moment.date().isoformat() if moment.tzinfo is None or moment.utcoffset() else ""


def day_of_time(at: str, zone: tzinfo | None) -> str:
    """Return the day of a UTC time in the agent's zone (None: that of this machine); of one to come that of now."""
    return clock.past_time(at).astimezone(zone).date().isoformat()


def date_item(item: Item, day: str) -> Item:
    """Return the item as said on that day; kept beside it where its text needs the day or its time tells another
    one."""
    known = item.meta.get(FIELD)
    wanted = day if dates.has_relative(item.text) or day != item.updated_at[:10] else None
    if not day or wanted == known:
        return item
    meta = {name: value for name, value in item.meta.items() if name != FIELD}
    return item._replace(meta_json=dumped({**meta, **({FIELD: wanted} if wanted else {})}))


def redate_item(before: Item, after: Item, day: str) -> Item:
    """An item whose text was changed on that day. The same relative words still mean the day of before."""
    if after.text == before.text:
        return after
    words = dates.relative_words(after.text)
    same = words and words == dates.relative_words(before.text)
    return date_item(after, day_said(before) if same else day)


def day_said(item: Item, zone: tzinfo | None = None) -> str:
    """Return the day from which its relative dates are reckoned, empty where nobody knows. `zone`: the agent's, for
    rows that name no day."""
    if f'"{FIELD}"' in item.meta_json and item.meta.get(FIELD) == "":
        return ""
    return day_noted(item) or _day(item.created_at or item.updated_at, zone)


def last_said(item: Item, zone: tzinfo | None = None) -> str:
    """Return the day on which it was last said or changed."""
    return day_noted(item) or _day(item.updated_at or item.created_at, zone)


def resolve_dates(item: Item, zone: tzinfo | None = None) -> str:
    """Return the words of an item, with the date behind each relative one."""
    is_rule = item.kind in ("preference", "decision")
    return dates.annotated(item.text, day_said(item, zone), is_rule=is_rule)


def filed_under(item: Item, zone: tzinfo | None = None) -> str:
    """Return where a fact is filed, and the day: `health/allergies, 2026-03-01`."""
    fact = fact_of(item)
    filed = "/".join(filter(None, (fact.domain, fact.category))) if fact is not None else ""
    return ", ".join(filter(None, (filed, last_said(item, zone))))


def day_noted(item: Item) -> str:
    """Return the day that is kept beside an item as the one on which it was said; empty where its times tell it."""
    noted = item.meta.get(FIELD) if f'"{FIELD}"' in item.meta_json else None
    return noted if isinstance(noted, str) and _is_day(noted) else ""


@lru_cache(4096)
def _day(at: str, zone: tzinfo | None) -> str:
    moment = clock.parse(at) if at else None
    return moment.astimezone(zone or UTC).date().isoformat() if moment is not None else ""


def _is_day(text: str) -> bool:
    try:
        return datetime.strptime(text, "%Y-%m-%d").date().isoformat() == text
    except ValueError:
        return False


ONLY = 4.0
"""So many times its weight counts a time where nothing else is asked: what is of it stands before all others."""

MOST = 2_000
"""Memories of the time, the newest of them, that are ranked though they share no word with the question."""

_KNOWN = 200_000


def today(paths: Paths) -> date:
    """Return the day that it is in the agent's zone."""
    return date.fromisoformat(day_of_time(clock.iso(clock.now()), agent_zone(paths)))


def parse_span(paths: Paths, since: str, until: str) -> Span | None:
    """Return the days of `--since` and `--until` as a person wrote them; None where neither is given. Raises BadInput.

    `last week` is its Monday for the one, and its Sunday for the other.
    """
    if not since and not until:
        return None
    day = today(paths)
    first = _given(since, "--since", day).since if since else date.min
    last = _given(until, "--until", day).until if until else date.max
    if first > last:
        raise BadInput(f"{first} is after {last}", "--since", "give a day that is not after that of --until")
    return Span(first, last)


def _given(text: str, where: str, day: date) -> Span:
    try:
        return times_asked.read_date(text, day)
    except ValueError as error:
        way = "give 2026-03-02, 2026-03, yesterday, last tuesday or 2 weeks ago"
        raise BadInput(f"{error}: {quoted(text)}", where, way) from None


def day_of(at: str, zone: tzinfo | None) -> date | None:
    """Return the day of a time as a transcript tells it (local without an offset), in the agent's zone; None where it
    is no time."""
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
        of = self._of
        return lambda item: any(span.holds(own) for own in of(item, zone) for span in asked)

    def _of(self, item: Item, zone: tzinfo | None) -> tuple[Span, ...]:
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
    """Rank items anew, those of the time that is asked for higher: score = (words + meaning + time) x (1 + the small
    shares). `now`: the day from which recency is reckoned."""
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
