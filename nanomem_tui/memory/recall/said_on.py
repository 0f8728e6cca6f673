"""The day on which something was said, in the zone in which it was said: `tomorrow` in a memory counts from it.

Owns the zone of the agent's configuration, and the day that a memory carries. Light: every memory that is kept asks it.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from pathlib import Path

from nanomem_tui.agents.releases import zone_of
from nanomem_tui.core import clock
from nanomem_tui.core.paths import Paths
from nanomem_tui.language import dates
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
    """Return the item as said on that day, noted where its text or time needs it."""
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
    """Return the day from which relative dates count, empty when unknown; `zone` for rows that note none."""
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
