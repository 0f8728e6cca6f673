"""Relative dates made absolute: what `yesterday` meant when it was said, so that a memory does not rot.

Owns English and Chinese expressions of days, weeks, months and years. What is told exactly becomes a date; what has two
readings (`on Friday`, `in 3 days`) stays and the line says when it was said. Nothing inside quotes, code, an address or
a name (`USA Today`, `today.md`) is touched, and no sentence that tells a habit. Pure functions; the reference is the
entry's own time, never the clock, so that a Dream gives the same any day.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from functools import lru_cache

_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_MONTHS = "january february march april may june july august september october november december".split()
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}
_CHINESE = {c: n for n, c in enumerate("一二三四五六日")} | {"天": 6}
_TURNS = {"last": -1, "this": 0, "next": 1, "上": -1, "这": 0, "本": 0, "下": 1}
_FAR = 20_000  # days: beyond it a number is no time that somebody lived through


def absolute(text: str, said_on: str) -> str:
    """`text` with its relative dates as dates, told on `said_on` (ISO or `YYYY-MM-DD HH:MM`, local).

    As it was when `said_on` is no time or nothing in it is relative."""
    if not _relative().search(text):
        return text
    try:
        day = date.fromisoformat(said_on[:10])
    except ValueError:
        return text
    return _Telling(day).of(text)


def is_over(text: str, today: str) -> bool:
    """Whether a line says itself that it held until a day before `today` (`YYYY-MM-DD`): `until 2026-04-01`."""
    ends = [found[1] for found in _until().finditer(text)]
    return bool(ends and today) and max(ends) < today[:10]


class _Telling:
    """One text, told on one day."""

    def __init__(self, day: date) -> None:
        self._day = day
        self._unsure = False

    def of(self, text: str) -> str:
        """The text with dates; where a reading is open, with the day on which it was told at its end."""
        kept = iter(_kept().findall(text))  # what is never touched stands as one mark where it was
        said = _MARK.sub(lambda _: next(kept), self._plain(_kept().sub("\0", text)))
        if not self._unsure or self._day.isoformat() in said:
            return said
        end = re.search(r"[.!。！]*\s*$", said)
        at = end.start() if end else len(said)
        return f"{said[:at]} (as of {self._day}){said[at:]}"

    def _plain(self, text: str) -> str:
        """Sentence by sentence: one that tells a habit stays as it is, and what stands beside it does not."""
        sentences = re.split(r"((?<=[.!?])\s+|(?<=[。！？]))", text)
        return "".join(one if _habit().search(one) else _relative().sub(self._one, one) for one in sentences)

    def _one(self, found: re.Match[str]) -> str:
        if _is_name(found):
            return found[0]
        kind = found.lastgroup or ""
        try:
            told = _TELL[kind](self._day, found)
        except (OverflowError, ValueError):
            told = ""
        if not told or _is_open(found):
            self._unsure = True
            return found[0]
        lead, when = told.partition(" ")[::2] if told.startswith(("on ", "in ")) else ("", told)
        before = found.string[: found.start()].rstrip().rsplit(" ", 1)[-1].casefold()
        if before.endswith((":", "：")) and _ends(found):
            return when
        if lead and before not in _PREPOSITIONS and found.string[found.end() : found.end() + 2] not in ("'s", "’s"):
            when = f"{lead} {when}"
        return when[:1].upper() + when[1:] if found[0][:1].isupper() else when


def _named_day(day: date, found: re.Match[str]) -> str:
    word = " ".join(found[0].casefold().split())
    shift = {"yesterday": -1, "last night": -1, "tomorrow": 1, "the day before yesterday": -2}
    when = day + timedelta(days=2 if word == "the day after tomorrow" else shift.get(word, 0))
    part = next((part for part in ("night", "morning", "afternoon", "evening") if word.endswith(part)), "")
    return f"on {when}" + (f" ({part})" if part else "")


def _ago(day: date, found: re.Match[str]) -> str:
    count = _NUMBERS.get(found["count"].casefold(), 0) or int(found["count"])
    unit = found["unit"].casefold()
    return _moved(day, count if found["way"].casefold() != "ago" else -count, unit)


def _moved(day: date, count: int, unit: str) -> str:
    if abs(count) * {"day": 1, "week": 7, "month": 31, "year": 366}[unit] > _FAR:
        return ""
    if unit == "day":
        return f"on {day + timedelta(days=count)}"
    rough = {"week": day + timedelta(weeks=count), "month": _month(day, count), "year": day.year + count}
    return f"around {rough[unit]}"


def _turned(day: date, found: re.Match[str]) -> str:
    turn, unit = _TURNS[found["turn"].casefold()], found["what"].casefold()
    if unit == "week":
        return f"in the week of {_monday(day, turn)}"
    if unit == "weekend":
        return f"on the weekend of {_monday(day, turn) + timedelta(days=5)}"
    if unit == "month":
        return f"in {_month(day, turn)}"
    if unit == "year":
        return f"in {day.year + turn}"
    if unit in _DAYS:
        return _weekday(day, turn, _DAYS.index(unit))
    return _named_month(day, turn, _MONTHS.index(unit) + 1) if unit in _MONTHS else ""


def _weekday(day: date, turn: int, weekday: int) -> str:
    if turn < 0:
        return f"on {day - timedelta(days=(day.weekday() - weekday - 1) % 7 + 1)}"
    if turn == 0:
        return f"on {day + timedelta(days=(weekday - day.weekday()) % 7)}"
    return ""  # next Friday: of this week for one speaker, of the next for another


def _named_month(day: date, turn: int, month: int) -> str:
    if turn == 0:
        return f"in {day.year}-{month:02}"
    if turn < 0:
        return f"in {day.year - (month >= day.month)}-{month:02}"
    return f"in {day.year + (month <= day.month)}-{month:02}"


def _unsure(_day: date, _found: re.Match[str]) -> str:
    return ""


def _chinese_day(day: date, found: re.Match[str]) -> str:
    word = found["zh_day"]
    shift = {"大前": -3, "前": -2, "昨": -1, "今": 0, "明": 1, "后": 2, "大后": 3}[word.rstrip("天日早晚晨")]
    part = {"早": " 早上", "晨": " 早上", "晚": " 晚上"}.get(word[-1], "")
    return f"{day + timedelta(days=shift)}{part}"


def _chinese_week(day: date, found: re.Match[str]) -> str:
    turn = _TURNS[found["zh_turn"]]
    if found["zh_weekday"]:
        return str(_monday(day, turn) + timedelta(days=_CHINESE[found["zh_weekday"]]))
    return f"{_monday(day, turn)} 那一周"


def _chinese_month(day: date, found: re.Match[str]) -> str:
    year, month = _month(day, _TURNS[found["zh_month"][0]]).split("-")
    return f"{year}年{int(month)}月"


def _chinese_year(day: date, found: re.Match[str]) -> str:
    return f"{day.year + {'前': -2, '去': -1, '今': 0, '明': 1, '后': 2}[found['zh_year'][0]]}年"


def _chinese_ago(day: date, found: re.Match[str]) -> str:
    count = int(found["zh_count"]) * (-1 if found["zh_way"] == "前" else 1)
    told = _moved(
        day, count, {"天": "day", "周": "week", "个星期": "week", "个月": "month", "年": "year"}[found["zh_unit"]]
    )
    return told.removeprefix("on ").replace("around ", "约 ")


def _monday(day: date, weeks: int) -> date:
    return day - timedelta(days=day.weekday()) + timedelta(weeks=weeks)


def _month(day: date, months: int) -> str:
    index = day.year * 12 + day.month - 1 + months
    return f"{index // 12}-{index % 12 + 1:02}"


def _is_name(found: re.Match[str]) -> bool:
    """Whether what was found is, or is part of, what something is called: with a capital within a sentence, as a noun,
    or joined to other characters."""
    text, start, end = found.string, found.start(), found.end()
    if not found[0].isascii():
        return _CALLED_CHINESE.search(text[:start]) is not None or _NAME_CHINESE.match(text, end) is not None
    if _JOINED_BEFORE.search(text[:start]) or _JOINED.match(text, end) or _CALLED.search(text[:start]):
        return True
    before = text[:start].rstrip(" *_(“‘\"'")
    if not found[0][:1].isupper() or not before or before[-1] in ".!?;\n":
        return _TITLE.match(text, end) is not None and found[0][:1].isupper()
    return before[-1] not in ":：" or (_ends(found) and _DUE.search(before) is None)


def _is_open(found: re.Match[str]) -> bool:
    """Whether it may be a name, and may be a time: `Yesterday is …`, `the song yesterday`."""
    is_subject = found[0][:1].isupper() and re.match(r" (?:is|was)\b", found.string[found.end() :]) is not None
    return is_subject or _MAYBE_CALLED.search(found.string[: found.start()]) is not None


def _ends(found: re.Match[str]) -> bool:
    return not found.string[found.end() :].strip(" .!*")


_MARK = re.compile("\0")
_JOINED_BEFORE = re.compile(r"[\w./@#\\$=&+-]$")
_JOINED = re.compile(r"[./\\_=@&+-]\w|[_(]|['’](?!s\b)\w")
_CALLED = re.compile(
    r"\b(?:(?:is|are|was|be|been) (?:called|named|titled|entitled)|the|a|an|my|our|your|their)\s+[*_]*$", re.IGNORECASE
)
"""Before a name, or a noun: `the app is called tonight`, `the today list`."""
_MAYBE_CALLED = re.compile(
    r"\b(?:called|named|titled|branch|folder|file|tag|channel|label|column|function|variable|command|script|app|song|film|"
    r"movie|album|band|game|song is|band is)\s+[*_]*$",
    re.IGNORECASE,
)
_TITLE = re.compile(
    r" by (?:[A-Z]|the )| (?:Ltd|Inc|GmbH|AG|Corp|LLC|Co|Group|Show|News|Magazine|Tonight|Today|Tomorrow)\b"
)
"""Behind what begins a sentence and is called so: `Tomorrow Ltd`, `Yesterday by the Beatles`."""
_DUE = re.compile(
    r"\b(?:due|deadline|date|when|starts?|ends?|meeting|appointment|call|visit|flight|delivery|exam|interview|event|"
    r"said|says|wrote|replied|update|status|note|news|plan|plans|todo|reminder)\W*$",
    re.IGNORECASE,
)
"""The key of a time: `Deadline: Tomorrow`."""
_CALLED_CHINESE = re.compile(r"(?:叫做?|名为|名叫|歌曲?|电影|应用)$")
_NAME_CHINESE = re.compile(r"头条|[晚早日]?报(?!告|名|销|警)|系(?!统)|控股|集团|公司|[./_-]\w")
_PREPOSITIONS = frozenset(
    "on in at since by until till from before after of for during through to between around about and".split()
)
_TELL: dict[str, Callable[[date, re.Match[str]], str]] = {
    "day": _named_day,
    "ago": _ago,
    "turned": _turned,
    "open": _unsure,
    "zh_day": _chinese_day,
    "zh_week": _chinese_week,
    "zh_month": _chinese_month,
    "zh_year": _chinese_year,
    "zh_ago": _chinese_ago,
}


@lru_cache(1)
def _relative() -> re.Pattern[str]:
    number = rf"\d{{1,4}}|{'|'.join(_NUMBERS)}"
    return re.compile(
        r"(?P<day>\b(?:the day before yesterday|the day after tomorrow|yesterday|today|tomorrow|tonight|last night|"
        r"this (?:morning|afternoon|evening)))\b"
        rf"|(?P<ago>\b(?P<count>{number}) (?P<unit>day|week|month|year)s? (?P<way>ago|from now))\b"
        r"|(?P<turned>(?<!\bthe )\b(?P<turn>last|this|next) (?P<what>week|weekend|month|year|"
        rf"spring|summer|autumn|fall|winter|{'|'.join(_DAYS)}|{'|'.join(_MONTHS)}))\b"
        rf"|(?P<open>\bin (?:{number}) (?:day|week|month|year)s?\b(?! of\b)|"
        rf"\b(?:on|by|until) (?:{'|'.join(_DAYS)})\b(?!s))"
        r"|(?P<zh_day>大?前天|昨[天日晚]|今[天日早晚晨]|明[天早晚]|(?<!先天)大?后天(?!性))"
        r"|(?P<zh_week>(?P<zh_turn>[上这本下])个?(?:周|星期|礼拜)(?P<zh_weekday>[一二三四五六日天])?)"
        r"|(?P<zh_month>[上这下]个月|本月)"
        r"|(?P<zh_year>去年|今年|明年|前年|后年)"
        r"|(?P<zh_ago>(?P<zh_count>\d{1,4}) ?(?P<zh_unit>天|周|个星期|个月|年)(?:以|之)?(?P<zh_way>前|后))",
        re.IGNORECASE,
    )


@lru_cache(1)
def _kept() -> re.Pattern[str]:
    return re.compile(
        r"`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”|‘[^’\n]*’|(?<!\w)'[^'\n]+'(?!\w)|«[^»\n]*»|「[^」\n]*」|『[^』\n]*』|《[^》\n]*》|"
        r"\]\([^()\n]*\)|[a-z][a-z0-9+.-]*://\S+|\0"
    )


@lru_cache(1)
def _habit() -> re.Pattern[str]:
    words = "every|each|always|never|daily|weekly|usually|whenever|if"
    return re.compile(rf"\b(?:{words})\b|每[天日周月年次]|总是|从不|如果", re.IGNORECASE)


@lru_cache(1)
def _until() -> re.Pattern[str]:
    english = r"\b(?:until|till|expires(?: on)?|ends(?: on)?|valid (?:until|through))\b:? ?"
    chinese = r"(?:直到|截至|截止到?|有效期至)[:：]? ?"
    return re.compile(rf"(?:{english}|{chinese})(\d{{4}}-\d{{2}}-\d{{2}})\b", re.IGNORECASE)
