"""Relative dates made absolute: what `yesterday` meant when it was said, so that a memory does not rot.

Owns expressions of days, weeks, months and years: English and Chinese by rules, the commonest of other languages by
tables (`packs/dates.toml`). `absolute` puts a date in the place of what is exact, and says when it was said where there
are two readings (`on Friday`, `in 3 days`); `annotated` keeps the words and puts the date behind them. Nothing inside
quotes, code, an address or a name (`USA Today`, `today.md`) is touched, and no sentence that tells a habit. Pure
functions; the reference is the entry's own time, never the clock, so that the result is the same on any day and for any
reader.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import lru_cache, partial
from typing import NamedTuple

from nanomem_tui.language import pack_files
from nanomem_tui.language.pack_files import MetWords

pattern = pack_files.patterns("dates")
"""Return a pattern of `packs/dates.toml`."""
meanings = partial(pack_files.meanings, "dates")
"""Return a table of words of `packs/dates.toml`, with what each means."""

DAYS_OF = {"hour": 0, "day": 1, "week": 7, "month": 31, "year": 366}
"""How many days each unit has at most."""
_FAR = 20_000  # days: beyond it a number is no time that somebody lived through
_LEADS = {"week": "in the week of", "weekend": "on the weekend of", "month": "in", "year": "in"}
_PARTS = {"早": " 早上", "晨": " 早上", "晚": " 晚上"}
_NO_NAME = ("weekday", "zh_weekday_alone")


def absolute(text: str, said_on: str) -> str:
    """`text` with its relative dates as dates, told on `said_on` (ISO or `YYYY-MM-DD HH:MM`, local).

    As it was when `said_on` is no time or nothing in it is relative."""
    if not may_tell(text) or not pattern("relative").search(text):
        return text
    try:
        day = date.fromisoformat(said_on[:10])
    except ValueError:
        return text
    unsure = []

    def written(found: re.Match[str]) -> str:
        if _is_name(found):
            return found[0]
        told = _date_of(day, found)
        if found.lastgroup in ("phrase", "count"):
            return _with_date(found, told)
        if not told or _may_be_name(found):
            unsure.append(found[0])
            return found[0]
        return _in_place(found, told)

    told = _replaced(text, "relative", "habit", written)
    if not unsure or day.isoformat() in told:
        return told
    at = len(told.rstrip().rstrip(".!。！"))
    return f"{told[:at]} (as of {day}){told[at:]}"


@lru_cache(4096)
def annotated(text: str, said_on: str, *, is_rule: bool = False) -> str:
    """`text` with the date behind each relative one, said on the day `said_on` (ISO): `tomorrow (2026-03-02)`.

    A text that begins with a date was said then. A day with two readings gets both. `is_rule`: a preference or
    decision, where `on Friday` is every Friday.
    """
    if not has_relative(text):
        return text
    own = pattern("begins_dated").match(text)
    try:
        day = date.fromisoformat(own[1] if own else said_on[:10])
    except ValueError:
        return text

    def written(found: re.Match[str]) -> str:
        if found.lastgroup not in _NO_NAME and _is_name(found):
            return found[0]
        if found.lastgroup == "open" or found.lastgroup in _NO_NAME:
            is_past = pattern("looks_back").search(found.string) or pattern("condition").search(found.string)
            if is_past or (is_rule and not found["in_count"]):
                return found[0]
        return _with_date(found, _date_of(day, found, with_guess=True))

    return _replaced(text, "any", "routine", written)


def unannotated(text: str) -> str:
    """A text without the dates that `annotated` puts behind relative ones."""
    return pattern("annotation").sub("", text)


def has_relative(text: str) -> bool:
    """Whether a text holds words that may be a relative date."""
    return may_tell(text) and pattern("any").search(text) is not None


def relative_words(text: str) -> list[str]:
    """The words of a text that may be relative dates, in order."""
    return [" ".join(found[0].casefold().split()) for found in pattern("any").finditer(text)] if may_tell(text) else []


def may_tell(text: str) -> bool:
    """Whether a text holds a part of any expression: most hold none, and to look costs little."""
    met, characters = _telling()
    return (not text.isascii() and not characters.isdisjoint(text)) or met.tell(text)


@lru_cache(1)
def _telling() -> tuple[MetWords, frozenset[str]]:
    return MetWords(pattern("telling")), frozenset(pack_files.table("dates")["telling_characters"])


def is_over(text: str, today: str) -> bool:
    """Whether a line says itself that it held until a day before `today` (`YYYY-MM-DD`): `until 2026-04-01`."""
    ends = [found[1] for found in pattern("until").finditer(text)]
    return bool(ends and today) and max(ends) < today[:10]


def number_of(word: str) -> int:
    """The number that a word or digits of an expression tell."""
    return int(meanings("numbers").get(word.casefold()) or word)


def monday(day: date, weeks: int) -> date:
    """The Monday of the week that lies so many weeks from that of a day."""
    return day - timedelta(days=day.weekday()) + timedelta(weeks=weeks)


def _replaced(text: str, expressions: str, habits: str, written: Callable[[re.Match[str]], str]) -> str:
    """A text with what is written for each expression, sentence by sentence: one that tells a habit stays as it is."""
    kept = iter(pattern("kept").findall(text))  # what is never touched stands as one mark where it was
    sentences = re.split(r"((?<=[.!?])\s+|(?<=[。！？]))", pattern("kept").sub("\0", text))
    told = "".join(one if pattern(habits).search(one) else pattern(expressions).sub(written, one) for one in sentences)
    return re.sub("\0", lambda _: next(kept), pattern("owned").sub(r"\g<s>\g<date>", told))


def _in_place(found: re.Match[str], told: str) -> str:
    """A date as it stands in the place of the words, with its preposition where none is before it."""
    lead, when = told.partition(" ")[::2] if told.startswith(("on ", "in ")) else ("", told)
    before = found.string[: found.start()].rstrip().rsplit(" ", 1)[-1].casefold()
    if before.endswith((":", "：")) and _ends(found):
        return when
    is_owner = found.string[found.end() : found.end() + 2] in ("'s", "’s")
    if lead and not is_owner and before not in pack_files.words("dates", "prepositions"):
        when = f"{lead} {when}"
    return when[:1].upper() + when[1:] if found[0][:1].isupper() else when


def _with_date(found: re.Match[str], told: str) -> str:
    """The words of an expression with its date behind them; as they are where the date stands there already."""
    told = re.sub(r"^(?:on|in)(?: the)? |\s*\((?:night|morning|afternoon|evening)\)$| (?:早上|晚上)$", "", told)
    if not told or pattern("dated").match(found.string, found.end()):
        return found[0]
    is_wide = "\u3040" <= found[0][-1] <= "\u9fff"
    return f"{found[0]}{'' if is_wide else ' '}({told})"


def _date_of(day: date, found: re.Match[str], *, with_guess: bool = False) -> str:
    """The date of an expression with its preposition; empty where it has none, or more than one reading.

    `with_guess`: of more than one reading those that it may mean."""
    kind = found.lastgroup or ""
    try:
        if kind in ("ago", "zh_ago", "count"):
            return _counted(day, found, kind)
        told = _turned(day, found, kind) if kind != "open" and kind not in _NO_NAME else ""
        return told or (_readings(day, found) if with_guess else "")
    except (KeyError, OverflowError, ValueError):
        return ""


def _turned(day: date, found: re.Match[str], kind: str) -> str:
    """The date of an expression that names a day, a week, a month or a year."""
    words, turns = found[0].casefold(), meanings("turns")
    if kind == "day":
        part = next((part for part in ("night", "morning", "afternoon", "evening") if words.endswith(part)), "")
        return f"on {_away(day, 'day', meanings('days')[words])}" + (f" ({part})" if part else "")
    if kind == "turn":
        return _named(day, found["unit"].casefold(), int(turns[found["way"].casefold()]))
    if kind == "zh_day":
        return f"{_away(day, 'day', meanings('days')[words])}{_PARTS.get(words[-1], '')}"
    if kind == "zh_week":
        turn, weekday = turns[found["zh_way"]], found["zh_weekday"]
        if weekday and weekday != "末":
            return str(monday(day, int(turn)) + timedelta(days=int(meanings("eastern_weekdays")[weekday])))
        return f"{_away(day, 'weekend', turn)} 那个周末" if weekday else f"{_away(day, 'week', turn)} 那一周"
    if kind == "zh_month":
        year, month = _away(day, "month", turns[words.rstrip("月個个")]).split("-")
        return f"{year}年{int(month)}月"
    if kind == "zh_year":
        return f"{_away(day, 'year', turns[words[0]])}年"
    if (meant := phrase(found)) is None:
        return ""
    unit, away = meant
    return f"{'week of ' if unit == 'week' else ''}{_away(day, unit, away)}"


def _away(day: date, unit: str, turn: str | int) -> str:
    """The day, the Monday, the Saturday, the month or the year that lies so many units from a day."""
    count = int(turn)
    if unit in ("week", "weekend"):
        return str(monday(day, count) + timedelta(days=5 if unit == "weekend" else 0))
    if unit == "month":
        index = day.year * 12 + day.month - 1 + count
        return f"{index // 12}-{index % 12 + 1:02}"
    return str(day.year + count) if unit == "year" else str(day + timedelta(days=count))


def _named(day: date, unit: str, turn: int) -> str:
    """The date of `last Friday`, `this May`, `next week`."""
    if unit in meanings("weekdays"):
        weekday = int(meanings("weekdays")[unit])
        if turn > 0:
            return ""  # of this week for one speaker, of the next for another
        days = (weekday - day.weekday()) % 7
        return f"on {day + timedelta(days=days if turn == 0 else days - 7)}"
    if unit in meanings("months"):
        month = int(meanings("months")[unit])
        year = day.year + {-1: -(month >= day.month), 0: 0, 1: month <= day.month}[turn]
        return f"in {year}-{month:02}"
    return f"{_LEADS[unit]} {_away(day, unit, turn)}"


def phrase(found: re.Match[str]) -> tuple[str, int] | None:
    """Return the unit of a phrase of another language than English and how many of it are meant: ("day", 1) of
    `mañana`; None where it is none."""
    words = found[0].casefold()
    meant = meanings("phrases").get(words) or meanings("joined_phrases").get(words)
    if meant is None or not _is_phrase(found, words):
        return None
    unit, turn = meant.split()
    return unit, int(turn)


def _is_phrase(found: re.Match[str], words: str) -> bool:
    """Whether a phrase of another language is one, and no everyday word there or in a third language."""

    def stands(words: str) -> bool:
        return re.search(rf"\b(?:{words})\b", found.string, re.IGNORECASE) is not None

    body = pack_files.table("dates")
    wrong = body["not_before"].get(words)
    if wrong and re.search(rf"\b(?:{wrong})$", found.string[: found.start()].rstrip(), re.IGNORECASE):
        return False
    wanted = body["only_beside"].get(words)
    return not wanted or (stands(wanted) and not stands(body["not_beside"][words]))


def _counted(day: date, found: re.Match[str], kind: str) -> str:
    """The date of a number of units before or after the day."""
    if kind == "ago":
        way = -1 if found["ago_way"].casefold() == "ago" else 1
        return _moved(day, way * number_of(found["ago_count"]), found["ago_unit"].casefold())
    if kind == "zh_ago":
        way, unit = -1 if found["zh_later"] == "前" else 1, meanings("spans")[found["zh_unit"]]
        return _moved(day, way * number_of(found["zh_count"]), unit).removeprefix("on ").replace("around", "约")
    lead, tail = (" ".join((found[name] or "").casefold().split()) for name in ("lead", "tail"))
    direction = meanings("tails").get(tail) or meanings("leads")[lead]
    unit = meanings("units")[found["count_unit"].casefold()]
    return _moved(day, int(direction) * number_of(found["count_of"]), unit)


def _moved(day: date, count: int, unit: str) -> str:
    if abs(count) * DAYS_OF[unit] > _FAR:
        return ""
    if unit in ("day", "week"):
        return f"{'on' if unit == 'day' else 'around'} {day + timedelta(days=count * DAYS_OF[unit])}"
    return f"around {_away(day, unit, count)}"


def _readings(day: date, found: re.Match[str]) -> str:
    """The dates that an expression with more than one reading may mean."""
    words = found[0].casefold()
    if found.lastgroup == "open" and words.startswith("in "):
        return _moved(day, number_of(found["in_count"]), found["in_unit"].casefold())
    name = next((name for name in meanings("weekdays") if name in words), "")
    weekday = int(meanings("weekdays")[name] if name else meanings("eastern_weekdays")[words[-1]])
    coming = day + timedelta(days=(weekday - day.weekday()) % 7 or 7)
    later = max(coming, monday(day, 1) + timedelta(days=weekday))
    return str(coming) if coming == later or not words.startswith("next ") else f"{coming} or {later}"


def _is_name(found: re.Match[str]) -> bool:
    """Whether what was found is, or is part of, what something is called: with a capital within a sentence, as a noun,
    or joined to other characters."""
    text, start, end = found.string, found.start(), found.end()
    before = text[max(0, start - 60) : start]
    is_joined = pattern("joined_before").search(before) or pattern("joined_behind").match(text, end)
    if found.lastgroup in ("phrase", "count") and found[0][0].isalpha() and found[0][-1] < "\u3040":
        return bool(is_joined)
    if not found[0].isascii():
        return bool(pattern("called_chinese").search(before) or pattern("name_chinese").match(text, end))
    if is_joined or pattern("called").search(before):
        return True
    before = text[:start].rstrip(" *_(“‘\"'")
    if not found[0][:1].isupper() or not before or before[-1] in ".!?;\n":
        return pattern("title").match(text, end) is not None and found[0][:1].isupper()
    return before[-1] not in ":：" or (_ends(found) and pattern("due").search(before[-60:]) is None)


def _may_be_name(found: re.Match[str]) -> bool:
    """Whether it may be a name, and may be a time: `Yesterday is …`, `the song yesterday`."""
    before, behind = found.string[max(0, found.start() - 60) : found.start()], found.string[found.end() :]
    is_subject = found[0][:1].isupper() and re.match(r" (?:is|was)\b", behind) is not None
    return is_subject or pattern("maybe_called").search(before) is not None


def _ends(found: re.Match[str]) -> bool:
    return not found.string[found.end() :].strip(" .!*")


# -- The last day on which each relative date of a text still reads right ---------------------------------------------

_WRITTEN = frozenset(("week", "weekend", "month", "year"))
_JAPANESE = frozenset(("明日", "明後日", "一昨日"))


class Told(NamedTuple):
    """A relative date: its words, the last day on which they read right, whether they spoke of a time to come, and
    whether something began then that still lasts (`from tomorrow`)."""

    words: str
    until: date
    ahead: bool
    lasting: bool = False


def find_relative_dates(text: str, said: date, *, of_rule: bool = False) -> tuple[Told, ...]:
    """The relative dates of a text that was said on that day, in order; none of one that also names a date. Where it
    is a rule or a wish (`of_rule`), `on Friday` is every Friday."""
    return tuple(find_in_text(text, said, of_rule=of_rule)) if may_tell(text) else ()


def find_in_text(text: str, said: date, *, of_rule: bool) -> Iterator[Told]:
    if pattern("named_date").search(text):
        return
    if not pattern("passing").search(text):
        yield from _of_phrases(text, said)
        return
    for sentence in re.split(r"(?<=[.!?;\n])\s+|(?<=[。！？；\n])", pattern("kept_files").sub(" ", text)):
        if pattern("custom").search(sentence):
            continue
        expressions = list(pattern("passing").finditer(sentence))
        only_names = bool(expressions) and absolute(sentence, said.isoformat()) == sentence
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
            if (meant := phrase(found)) is None:
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
        return _relative_dates_turned(said, meanings("spans").get(unit, unit), way.casefold(), found["east_day"])
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


def _relative_dates_turned(said: date, unit: str, way: str, weekday: str | None) -> tuple[date, bool]:
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
        return monday(said, turn) + timedelta(days=int(meanings("eastern_weekdays")[weekday])), True
    return _last_day(said, unit, turn), turn >= 0


def _last_day(said: date, unit: str, turn: int) -> date:
    """The last day of the week, month or year of which is spoken; of one that is over that of the day itself."""
    turn = max(0, turn)
    if unit in ("week", "weekend", "work week", "sprint"):
        return monday(said, turn) + timedelta(days=6)
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
