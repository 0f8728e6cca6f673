"""Relative dates in a text, and the last day on which each still reads right: English, Chinese, Japanese, Thai.

Owns the expressions and what makes one no date at all (a habit, a quotation, a name). Pure; the reference is the day on
which the text was said, never the clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui.language import dates
from nanomem_tui.language.met_words import MetWords

_DAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday".split("|")
_MONTHS = "january february march april may june july august september october november december".split()
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}
_NUMBERS |= {"nine": 9, "ten": 10, "a couple of": 2, "a few": 4, "several": 5, "半": 1, "两": 2, "几": 4}
_NUMBERS |= {char: n for n, char in enumerate("一二三四五六七八九十", 1)}
_SPAN = {"minute": 0, "hour": 0, "day": 1, "week": 7, "month": 31, "year": 366}
_UNITS = {
    **dict.fromkeys(("分钟", "小时", "分", "時間", "นาที", "ชั่วโมง"), "hour"),
    **dict.fromkeys(("天", "日", "วัน"), "day"),
    **dict.fromkeys(("周", "个星期", "星期", "個星期", "週間", "สัปดาห์", "อาทิตย์"), "week"),
    **dict.fromkeys(("个月", "個月", "ヶ月", "か月", "เดือน"), "month"),
    **dict.fromkeys(("年", "ปี"), "year"),
}
_KNOWN = {"week", "weekend", "month", "year", *_DAYS, *_MONTHS}
_JAPANESE = frozenset(("明日", "明後日", "一昨日"))
_NEAR = {
    "大前": -3, "前天": -2, "一昨日": -2, "昨": -1, "明後日": 2, "明": 1, "大后": 3, "后天": 2, "後天": 2, "今": 0,
    "พรุ่งนี้": 1, "มะรืน": 2, "เมื่อวานซืน": -2, "เมื่อวาน": -1, "เมื่อคืน": -1,
}  # fmt: skip
_TURNS = {
    "上": -1, "这": 0, "這": 0, "本": 0, "下": 1, "先": -1, "今": 0, "来": 1, "去": -1, "昨": -1, "明": 1, "后": 2,
    "後": 2, "再来": 2, "หน้า": 1, "นี้": 0, "ที่แล้ว": -1, "ก่อน": -1,
}  # fmt: skip


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
    if not may_tell(text) or not _any().search(text) or _dated().search(text):
        return ()
    return tuple(_of_text(text, said, of_rule=of_rule))


def may_tell(text: str) -> bool:
    """Whether a text holds a part of any of the expressions: most hold none, and to look costs little."""
    if not text.isascii() and not _HINTS.isdisjoint(text):
        return True
    if not _words.tell(text):
        return False
    lower = text.lower()
    return any(part in lower for part in _PARTS)


_PARTS = (
    "day", "morrow", "night", "this ", "last ", "past ", "previous ", "next ", "coming ", "minute", "hour", "week",
    "month", "year", "eo", "later ", "end of",
)  # fmt: skip
_words = MetWords(
    re.compile(
        r"day|morrow|night|minute|hour|week|month|year|eo|(?:this|last|past|previous|next|coming|later|end)$",
        re.IGNORECASE,
    )
)
_HINTS = frozenset("天日周週星礼月年晚早夜朝晨今昨明刚会底末时時分等马วพมเคสอปบ")


def _of_text(text: str, said: date, *, of_rule: bool) -> Iterator[Told]:
    for sentence in re.split(r"(?<=[.!?;\n])\s+|(?<=[。！？；\n])", _kept().sub(" ", text)):
        if _habit().search(sentence):
            continue
        for found in _any().finditer(sentence):
            if _is_known(found) and dates.absolute(sentence, said.isoformat()) == sentence:
                continue  # a name, a noun
            if of_rule and found.lastgroup == "open":
                continue
            made = _one(found, said)
            if made is not None:
                yield made._replace(lasting=_begins(sentence, found))


def _is_known(found: re.Match[str]) -> bool:
    """Whether it is an expression that a Dream writes as a date, unless it is a name or a noun."""
    if found.lastgroup == "zh":
        return found[0] not in _JAPANESE
    return found.lastgroup == "day" or (found.lastgroup == "turn" and found["unit"].casefold() in _KNOWN)


def _one(found: re.Match[str], said: date) -> Told | None:
    kind = found.lastgroup or ""
    words = found[0].strip()
    try:
        until, ahead = _READ[kind](found, said)
    except (KeyError, ValueError, OverflowError):
        return None
    return Told(words, until, ahead)


def _day(found: re.Match[str], said: date) -> tuple[date, bool]:
    word = " ".join(found["day"].casefold().split())
    if word.startswith(("yesterday", "last night", "the day before")):
        return said, False
    shift = 2 if word.startswith("the day after") else 1 if word.startswith("tomorrow") else 0
    return said + timedelta(days=shift), True


def _turned(found: re.Match[str], said: date) -> tuple[date, bool]:
    way, unit = found["way"].casefold().split()[-1], found["unit"].casefold()
    turn = {"last": -1, "past": -1, "previous": -1, "this": 0}.get(way, 1)
    if unit in _DAYS:
        last = _weekday(said, unit)
        return (said + timedelta(days=6), False) if turn < 0 else (last + timedelta(days=7 * (way == "next")), True)
    if unit in _MONTHS:
        month = _MONTHS.index(unit) + 1
        year = said.year + (month < said.month)
        return (date(said.year, 12, 31), False) if turn < 0 else (_end_of_month(date(year, month, 1)), True)
    return _period(unit, turn, said), turn >= 0


def _period(unit: str, turn: int, said: date) -> date:
    """The last day of the week, month or year of which is spoken; of one that is over that of the day itself."""
    turn = max(0, turn)
    if unit in ("week", "weekend", "work week", "sprint"):
        return said + timedelta(days=6 - said.weekday() + 7 * turn)
    if unit == "month":
        for _ in range(turn):
            said = _end_of_month(said) + timedelta(days=1)
        return _end_of_month(said)
    if unit == "quarter":
        return _end_of_month(date(said.year, (said.month - 1) // 3 * 3 + 3, 1)) + timedelta(days=92 * turn)
    if unit in ("year", "spring", "summer", "autumn", "fall", "winter", "semester", "term"):
        return date(said.year + turn, 12, 31)
    raise KeyError(unit)


def _in(found: re.Match[str], said: date) -> tuple[date, bool]:
    number = _NUMBERS.get(found["n"].casefold()) or int(found["n"])
    return said + timedelta(days=number * _SPAN[found["of"].casefold()]), True


def _ago(found: re.Match[str], said: date) -> tuple[date, bool]:
    return said + timedelta(days=_SPAN[found["back"].casefold()]), False


def _open_day(found: re.Match[str], said: date) -> tuple[date, bool]:
    return _weekday(said, found["open"].casefold()), True


def _end(found: re.Match[str], said: date) -> tuple[date, bool]:
    unit = found["end"].casefold().split()[-1]
    unit = {"eod": "day", "eow": "week", "eom": "month", "today": "day"}.get(unit, unit)
    return (said if unit == "day" else _period(unit, 0, said)), True


def _near(found: re.Match[str], said: date) -> tuple[date, bool]:
    word = found["zh"] or ""
    shift = next(days for lead, days in _NEAR.items() if word.startswith(lead))
    return said + timedelta(days=max(0, shift)), shift >= 0


def _thai_day(found: re.Match[str], said: date) -> tuple[date, bool]:
    word = found["th"]
    shift = next((days for lead, days in _NEAR.items() if word.startswith(lead)), 0)
    return said + timedelta(days=max(0, shift)), shift >= 0


def _east_turn(found: re.Match[str], said: date) -> tuple[date, bool]:
    turn = _TURNS[found["ew"]]
    unit = {"周": "week", "週": "week", "星": "week", "礼": "week", "月": "month", "年": "year"}[found["eu"][0]]
    if turn < 0:
        return _period(unit, 0, said), False
    if unit == "week" and found["ed"] and found["ed"] in "一二三四五六日天月火水木金土":
        monday = said - timedelta(days=said.weekday()) + timedelta(weeks=turn)
        place = "一二三四五六日".find(found["ed"].replace("天", "日"))
        return monday + timedelta(days=place if place >= 0 else "月火水木金土日".index(found["ed"])), True
    end = _period(unit, turn, said)
    return end, True


def _east_count(found: re.Match[str], said: date) -> tuple[date, bool]:
    number = _NUMBERS.get(found["en"]) or int(found["en"])
    span = _SPAN[_UNITS[found["ec"]]]
    later = found["eb"] in ("后", "後", "以后", "之后", "以後")
    return said + timedelta(days=number * span if later else span), later


def _thai_turn(found: re.Match[str], said: date) -> tuple[date, bool]:
    turn = _TURNS[found["tw"]]
    unit = {"สัปดาห์": "week", "อาทิตย์": "week", "สุดสัปดาห์": "week", "เดือน": "month", "ปี": "year"}[found["tu"]]
    return _period(unit, turn, said), turn >= 0


def _now(_found: re.Match[str], said: date) -> tuple[date, bool]:
    return said, True


def _month_end(found: re.Match[str], said: date) -> tuple[date, bool]:
    return _period("year" if found["ze"][0] == "年" else "month", 0, said), True


def _weekday(said: date, name: str) -> date:
    return said + timedelta(days=(_DAYS.index(name) - said.weekday()) % 7)


def _end_of_month(day: date) -> date:
    return (day.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)


_READ = {
    "day": _day, "turn": _turned, "in": _in, "ago": _ago, "open": _open_day, "end": _end, "zh": _near, "th": _thai_day,
    "east": _east_turn, "count": _east_count, "thai": _thai_turn, "now": _now, "ze": _month_end,
}  # fmt: skip


def _begins(sentence: str, found: re.Match[str]) -> bool:
    """Whether something began then, or ended, and is so since: `from tomorrow`, `moved to Berlin last month`."""
    before, after = sentence[: found.start()], sentence[found.end() :]
    return bool(_SINCE.search(before) or _SINCE_AFTER.match(after))


_SINCE = re.compile(
    r"(?:\b(?:from|since|starting|as of|beginning|effective)\s*$)|(?:从|自从|自|由)\s*$|ตั้งแต่\s*$|(?:เริ่ม)\s*$",
    re.IGNORECASE,
)
_SINCE_AFTER = re.compile(r"\s*(?:onwards?|on\b|起|开始|以来|から|より)", re.IGNORECASE)


@lru_cache(1)
def _any() -> re.Pattern[str]:
    number = rf"(?:\d{{1,3}}|a couple of|a few|several|{'|'.join(n for n in _NUMBERS if n.isascii() and ' ' not in n)})"
    units = "minute|hour|day|week|month|year"
    east = r"\d{1,3}|[一二三四五六七八九十两半几]"
    names = "|".join((*_DAYS, *_MONTHS))
    return re.compile(
        r"(?P<day>\b(?:the day (?:before yesterday|after tomorrow)|yesterday|today|tomorrow|tonight|last night|"
        r"this (?:morning|afternoon|evening))\b)"
        rf"|\b(?P<turn>(?P<way>last|past|previous|this coming|this|next|coming) (?P<unit>weekend|work week|week|month|"
        rf"quarter|year|sprint|semester|term|spring|summer|autumn|fall|winter|{names}))\b"
        rf"|\b(?P<in>in (?P<n>{number}) (?P<of>{units})s?)\b(?! of\b|['’]|-)"
        rf"|\b(?P<ago>{number} (?P<back>{units})s? ago)\b"
        rf"|\b(?:on|by|until|till|before|due) (?P<open>{'|'.join(_DAYS)})\b(?!s|['’-])"
        r"|\b(?P<end>EO[DWM]|(?:end of|later) (?:the |this |today'?s? )?(?:day|week|month|quarter|year|today))\b"
        r"|(?P<zh>大?前天|一昨日|明後日|昨[天日晚夜]|今[天日早晚晨夜朝](?!份)|明[天日早晚](?!确|白)|(?<!先天)(?<!最)大?[后後]天(?!性))"
        r"|(?P<east>(?P<ew>[上这這本下]|再来|先|今|来|[去昨明后後](?=年(?![轻度纪龄青])))[个個]?"
        r"(?P<eu>周|週|星期|礼拜|月(?![饼季亮])|年(?!头|轻|龄))(?:の)?"
        r"(?P<ed>[一二三四五六日天末月火水木金土](?=[曜早晚上下中的去要前后有开和，。 ]|$))?)"
        rf"|(?P<count>(?P<en>{east})(?P<ec>分钟|小时|天|个星期|星期|个月|個月|周|年|週間|ヶ月|か月|日|時間)"
        r"(?P<eb>以[前后後]|之[前后]|[前后後]))"
        r"|(?P<ze>月[底末](?=[前之交要]|$|[，。])|年底(?=[前之要]|$|[，。]))"
        r"|(?P<now>待会儿?|等会儿?|等一下(?=[要去还就])|一会儿|马上就|刚刚|刚才)"
        r"|(?P<th>วันนี้|พรุ่งนี้|มะรืน(?:นี้)?|เมื่อวานซืน|เมื่อวาน(?:นี้)?|คืนนี้|เมื่อคืน(?:นี้)?|เช้านี้|เย็นนี้|บ่ายนี้)"
        r"|(?P<thai>(?P<tu>สุดสัปดาห์|สัปดาห์|อาทิตย์|เดือน|ปี)(?P<tw>หน้า|นี้|ที่แล้ว|ก่อน))",
        re.IGNORECASE,
    )


@lru_cache(1)
def _dated() -> re.Pattern[str]:
    """A date that stands by itself: then the reader knows when it was."""
    months = "|".join(f"{month[:3]}(?:{month[3:]})?" if month[3:] else month for month in _MONTHS)
    return re.compile(
        r"\b(?:19|20)\d\d-\d\d?(?:-\d\d?)?\b|\d{4} ?年|\d{1,2} ?月 ?\d{1,2} ?[日号]|"
        r"\b\d{1,2}[./]\d{1,2}[./](?:19|20)?\d\d\b"
        rf"|\b(?:\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{months})|(?:{months}) \d{{1,2}}(?:st|nd|rd|th)?)\b",
        re.IGNORECASE,
    )


@lru_cache(1)
def _kept() -> re.Pattern[str]:
    """What is quoted, code, or an address: none of it is a time."""
    return re.compile(
        r"`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”|‘[^’\n]*’|(?<!\w)'[^'\n]+'(?!\w)|「[^」\n]*」|『[^』\n]*』|《[^》\n]*》|"
        r"[a-z][a-z0-9+.-]*://\S+|\b[\w./-]+\.(?:md|txt|py|sh|json|csv|log)\b",
        re.IGNORECASE,
    )


@lru_cache(1)
def _habit() -> re.Pattern[str]:
    """A sentence that tells what is so again and again, or what to do should it come to that: no day is meant."""
    return re.compile(
        r"\b(?:every|each|always|never|daily|weekly|monthly|usually|whenever|when|if|often|any|tends? to|unless|"
        r"(?:mon|tues|wednes|thurs|fri|satur|sun)days|mornings|evenings|weekends|how many|what (?:is|was|does)|asks?|"
        r"asking|likes? (?:to|a|the)|wants? (?:to know|to see|an? |the )|prefers?|means?|at the latest)\b|"
        r"\b(?:today|tomorrow|tonight)['’]s (?:weather|date|agenda|calendar|headlines|plan|schedule|menu|tasks)|"
        r"每|总是|總是|从不|如果|平时|平時|通常|一般|习惯|喜欢|经常|的时候|提前|至少|最多|毎|いつも|たび|場合|ทุก|เสมอ|ถ้า|ชอบ",
        re.IGNORECASE,
    )
