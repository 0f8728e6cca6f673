"""The last day on which each relative date of a text still reads right.

Its words are in `packs/dates.toml`, with what makes one no date at all (a habit, a quotation, a name): those of
English, Chinese, Japanese and Thai as single expressions, of the other languages the phrases that a Dream dates. Pure;
the reference is the day on which the text was said, never the clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import NamedTuple

from nanomem_tui.language import dates
from nanomem_tui.language.dates import DAYS_OF, meanings, number_of, pattern

_WRITTEN = frozenset(("week", "weekend", "month", "year"))
_JAPANESE = frozenset(("明日", "明後日", "一昨日"))


class Told(NamedTuple):
    """A relative date: its words, the last day on which they read right, whether they spoke of a time to come, and
    whether something began then that still lasts (`from tomorrow`)."""

    words: str
    until: date
    ahead: bool
    lasting: bool = False


def told(text: str, said: date, *, of_rule: bool = False) -> tuple[Told, ...]:
    """The relative dates of a text that was said on that day, in order; none of one that also names a date. Where it
    is a rule or a wish (`of_rule`), `on Friday` is every Friday."""
    return tuple(_of_text(text, said, of_rule=of_rule)) if dates.may_tell(text) else ()


def _of_text(text: str, said: date, *, of_rule: bool) -> Iterator[Told]:
    if pattern("named_date").search(text):
        return
    if not pattern("passing").search(text):
        yield from _of_phrases(text, said)
        return
    for sentence in re.split(r"(?<=[.!?;\n])\s+|(?<=[。！？；\n])", pattern("kept_files").sub(" ", text)):
        if pattern("custom").search(sentence):
            continue
        expressions = list(pattern("passing").finditer(sentence))
        only_names = bool(expressions) and dates.absolute(sentence, said.isoformat()) == sentence
        for found in expressions:
            if (only_names and _is_written(found)) or (of_rule and found.lastgroup == "open"):
                continue
            try:
                until, is_ahead = _until(found, said)
            except (KeyError, ValueError, OverflowError):
                continue
            # something began then, or ended, and is so since: `from tomorrow`
            before = pattern("since").search(sentence[max(0, found.start() - 40) : found.start()])
            lasting = before is not None or pattern("since_behind").match(sentence, found.end()) is not None
            yield Told(found[0].strip(), until, is_ahead, lasting)


def _of_phrases(text: str, said: date) -> Iterator[Told]:
    """The same of `morgen`, `la semaine prochaine`, `내일`, …"""
    for sentence in re.split(r"(?<=[.!?;\n])\s+", pattern("kept_files").sub(" ", text)):
        if pattern("routine").search(sentence):
            continue
        for found in pattern("any").finditer(sentence):
            if (meant := dates.phrase(found)) is None:
                continue
            unit, turn = meant
            until = said + timedelta(days=max(0, turn)) if unit == "day" else _last_day(said, unit, turn)
            lasting = pattern("since").search(sentence[max(0, found.start() - 40) : found.start()]) is not None
            yield Told(found[0].strip(), until, turn >= 0, lasting)


def _is_written(found: re.Match[str]) -> bool:
    """Whether it is an expression that a Dream writes as a date, unless it is a name or a noun."""
    if found.lastgroup == "day":
        return found[0] not in _JAPANESE and not "\u0e00" <= found[0][0] <= "\u0e7f"
    unit = (found["unit"] or "").casefold()
    return unit in _WRITTEN or unit in meanings("weekdays") or unit in meanings("months")


def _until(found: re.Match[str], said: date) -> tuple[date, bool]:
    """The last day on which an expression reads right, and whether it spoke of a time to come."""
    kind = found.lastgroup
    if kind == "day":
        shift = int(meanings("days")[found[0].casefold()])
        return said + timedelta(days=max(0, shift)), shift >= 0
    if kind in ("turn", "east", "thai"):
        way = found["way"] or found["east_way"] or found["thai_way"]
        unit = (found["unit"] or found["east_unit"] or found["thai_unit"]).casefold()
        return _turned(said, meanings("spans").get(unit, unit), way.casefold(), found["east_day"])
    if kind in ("in", "ago", "count"):
        unit = (found["in_unit"] or found["ago_unit"] or found["count_unit"]).casefold()
        span = timedelta(days=DAYS_OF[meanings("spans").get(unit, unit)])
        if kind == "ago" or "前" in (found["later"] or ""):
            return said + span, False
        return said + number_of(found["in_count"] or found["count_of"]) * span, True
    if kind == "open":
        return _coming(said, found["open"].casefold()), True
    if kind == "end":
        unit = (found["end_unit"] or {"d": "day", "w": "week", "m": "month"}[found["end_letter"].casefold()]).casefold()
        return said if unit in ("day", "today") else _last_day(said, unit, 0), True
    if kind == "month_end":
        return _last_day(said, "year" if found[0][0] == "年" else "month", 0), True
    return said, True


def _turned(said: date, unit: str, way: str, weekday: str | None) -> tuple[date, bool]:
    """The same of `next week`, `last Friday`, `this May`, `下周三`."""
    turn = int(meanings("turns")[way])
    if unit in meanings("weekdays"):
        coming = _coming(said, unit) + timedelta(days=7 * (way == "next"))
        return (said + timedelta(days=6), False) if turn < 0 else (coming, True)
    if unit in meanings("months"):
        month = int(meanings("months")[unit])
        coming = _last_day(date(said.year + (month < said.month), month, 1), "month", 0)
        return (date(said.year, 12, 31), False) if turn < 0 else (coming, True)
    if turn >= 0 and unit == "week" and weekday and weekday != "末":
        return dates.monday(said, turn) + timedelta(days=int(meanings("eastern_weekdays")[weekday])), True
    return _last_day(said, unit, turn), turn >= 0


def _last_day(said: date, unit: str, turn: int) -> date:
    """The last day of the week, month or year of which is spoken; of one that is over that of the day itself."""
    turn = max(0, turn)
    if unit in ("week", "weekend", "work week", "sprint"):
        return dates.monday(said, turn) + timedelta(days=6)
    if unit == "month":
        index = said.year * 12 + said.month + turn
        return date(index // 12, index % 12 + 1, 1) - timedelta(days=1)
    if unit == "quarter":
        return _last_day(date(said.year, (said.month - 1) // 3 * 3 + 3, 1), "month", 0) + timedelta(days=92 * turn)
    if unit in ("year", "spring", "summer", "autumn", "fall", "winter", "semester", "term"):
        return date(said.year + turn, 12, 31)
    raise KeyError(unit)


def _coming(said: date, weekday: str) -> date:
    return said + timedelta(days=(int(meanings("weekdays")[weekday]) - said.weekday()) % 7)
