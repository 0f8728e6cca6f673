"""Times in languages beside the ten of `times_asked`: their words, and what they mean, without a day.

Owns `packs/times-elsewhere.toml`, a table for each language: Turkish, Dutch, Czech, Polish, Swedish, Greek, Ukrainian,
Arabic, Hebrew, Hindi, Thai, Vietnamese. Only the languages are looked at of which a text has a telling word, and none
where it has no word of `elsewhere` in `packs/time-words.json`: no table is read for most texts, and a text in English
is not read by a Swedish table. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from nanomem_tui.language import pack_files

_FILE = "times-elsewhere"
_WORD = re.compile(r"[^\W\d_]+")
_MARKS = r"\u0900-\u0903\u093a-\u094f\u0962\u0963"
"""Vowel signs of Hindi, which are part of a word and which \\w does not know."""
_BUDDHIST, _LATEST = 543, 2400
"""What a year of the Thai calendar is ahead, and the year from which one is taken for such."""
_TABLES = ("phrases", "units", "numbers", "leads", "tails", "weekdays", "ways", "months")
_FORMS = {
    "phrase": "<begin>(?P<phrase><phrases>)<end>",
    "count": "<begin>(?:(?P<lead><leads>)<gap>)?(?P<many>\\d{1,4}|<numbers>)\\s?(?P<unit><units>)"
    "(?:<gap>(?P<tail><tails>))?<end>",
    "weekday": "<begin>(?:(?P<before><ways>|<marks>)<gap>)?(?P<name><weekdays>)(?:<gap>(?P<after><ways>|<marks>))?<end>"
    "<not_behind>",
    "month": "<begin>(?:(?P<before><month_before>|<ways>)<gap>)?(?:(?P<day>\\d{1,2})\\.?\\s(?:من\\s)?)?"
    "(?P<name><months>)(?P<sure><sure>)?(?:,?\\s?(?:năm\\s)?(?P<year>(?:19|20|25)\\d\\d)|<gap>(?P<away><years>))?<end>",
}


class TimeExpression(NamedTuple):
    """An expression: where it stands, and what it means as `form`.

    `away`: the day, week, … that lies so many of `unit` away, in two readings where there are two numbers; `ago`: so
    many units away to the day; `weekday`: its number, and whether it is the last one (-1), that of this week (0), the
    next one (1); `month`: month, day, year, turn, each 0 where it is not told, and how many years from this one, where
    that is told. `is_weak`: a month that may be another word.
    """

    start: int
    end: int
    form: str
    unit: str
    numbers: tuple[int, ...]
    is_weak: bool = False


def may_tell(text: str) -> bool:
    """Whether a text has a word of these languages that may name a time."""
    if not pack_files.words("time-words", "elsewhere").isdisjoint(_WORD.findall(text.casefold())):
        return True
    return not text.isascii() and any(part in text for part in _inside())


@lru_cache(1)
def _inside() -> tuple[str, ...]:
    return tuple(pack_files.table("time-words")["elsewhere_inside"].split())


def find(text: str, *, alone: bool = False) -> Iterator[TimeExpression]:
    """Yield the expressions of a text. `alone`: it is nothing but a time, as one who gives a date to an option writes.

    >>> list(find("dün ne yaptım?"))
    [TimeExpression(start=0, end=3, form='away', unit='day', numbers=(-1,), is_weak=False)]
    """
    for code in languages(text):
        if _pattern(code, "routine").search(text):
            continue
        for form in _FORMS:
            for match in _pattern(code, form).finditer(text):
                if (told := _READERS[form](code, match)) is not None:
                    yield told._replace(is_weak=False) if alone else told


def find_direction(text: str) -> tuple[bool, bool]:
    """Return whether words of these languages look back, and whether they look ahead."""
    codes = languages(text)
    back, ahead = (any(_pattern(code, way).search(text) for code in codes) for way in ("back", "ahead"))
    return back, ahead


@lru_cache(64)
def languages(text: str) -> tuple[str, ...]:
    """Return the languages that a text shows by one of their words for times.

    >>> languages("wat heb ik gisteren gezegd?"), languages("what did I say yesterday?")
    (('nl',), ())
    """
    if not may_tell(text):
        return ()
    words = set(_WORD.findall(text.casefold()))
    return tuple(
        code
        for code, (telling, inside) in _telling().items()
        if not words.isdisjoint(telling) or any(part in text for part in inside)
    )


@lru_cache(1)
def _telling() -> Mapping[str, tuple[frozenset[str], tuple[str, ...]]]:
    words, inside = pack_files.words("time-words", "elsewhere"), _inside()
    found = {}
    for code in pack_files.table(_FILE):
        own = [
            word for name in ("phrases", "units", "leads", "tails", "weekdays", "months") for word in _of(code, name)
        ]
        held = {part for word in own for part in _WORD.findall(word.casefold())}
        found[code] = (words & held, tuple(part for part in inside if any(part in word for word in own)))
    return found


@lru_cache(None)
def _of(code: str, name: str) -> Mapping[str, str]:
    """What each word of a table of a language means."""
    rows: Mapping[str, str] = pack_files.table(_FILE)[code].get(name, {})
    return {word.casefold(): meaning for meaning, words in rows.items() for word in words.replace("\n", "").split("|")}


@lru_cache(None)
def _pattern(code: str, name: str) -> re.Pattern[str]:
    table: dict[str, Any] = pack_files.table(_FILE)[code]
    is_joined = table.get("is_joined", False)
    parts: dict[str, Any] = {**dict.fromkeys(_TABLES, "(?!)"), **table, **_FORMS}
    parts["begin"] = "(?<!\\d)" if is_joined else f"(?<![\\w{_MARKS}./@#-])"
    parts["begin"] += f"(?<!\\b{table['not_before']}\\s)" if "not_before" in table else ""
    parts["end"] = "(?!\\d)" if is_joined else f"(?![\\w{_MARKS}'’-])"
    parts["gap"] = "\\s?" if is_joined else "\\s"
    parts["years"] = {turn: words for turn, words in table["phrases"].items() if turn.startswith("year ")} or "(?!)"
    parts["sure"] = table["sure"] or "(?!)"
    behind = table.get("not_behind")
    parts["not_behind"] = f"(?!\\s(?:{behind})\\b)" if behind else ""
    return re.compile(pack_files.expand(parts[name], parts), re.IGNORECASE)


def _normal(words: str | None) -> str:
    return " ".join((words or "").casefold().split())


def _phrase(code: str, found: re.Match[str]) -> TimeExpression:
    unit, *turns = _of(code, "phrases")[_normal(found[0])].split()
    return TimeExpression(found.start(), found.end(), "away", unit, tuple(map(int, turns)))


def _count(code: str, found: re.Match[str]) -> TimeExpression | None:
    way = _of(code, "tails").get(_normal(found["tail"])) or _of(code, "leads").get(_normal(found["lead"]))
    if way is None:
        return None
    many = _of(code, "numbers").get(found["many"].casefold()) or found["many"]
    unit = _of(code, "units")[found["unit"].casefold()]
    return TimeExpression(found.start(), found.end(), "ago", unit, (int(way) * int(many),))


def _weekday(code: str, found: re.Match[str]) -> TimeExpression | None:
    name, around = _normal(found["name"]), (_normal(found["after"]), _normal(found["before"]))
    if not any(around) and name in pack_files.table(_FILE)[code]["unsure"].split("|"):
        return None
    ways = [int(_of(code, "ways")[word]) for word in around if word in _of(code, "ways")]
    return TimeExpression(found.start(), found.end(), "weekday", "day", (int(_of(code, "weekdays")[name]), *ways[:1]))


def _month(code: str, found: re.Match[str]) -> TimeExpression:
    name, before = _normal(found["name"]), _normal(found["before"])
    table = pack_files.table(_FILE)[code]
    alone = table["alone"]
    is_sure = any(found[group] for group in ("before", "day", "sure", "year", "away"))
    is_sure = is_sure or alone == "<months>" or name in alone.split("|")
    year = int(found["year"] or 0)
    year -= _BUDDHIST if year > _LATEST else 0
    turn = int(_of(code, "ways").get(before, 0))
    away = _of(code, "phrases")[_normal(found["away"])].split()[1:] if found["away"] else ()
    numbers = (int(_of(code, "months")[name]), int(found["day"] or 0), year, turn, *map(int, away))
    return TimeExpression(found.start(), found.end(), "month", "month", numbers, is_weak=not is_sure)


_READERS = {"phrase": _phrase, "count": _count, "weekday": _weekday, "month": _month}
