"""Relative dates made absolute: what `yesterday` meant when it was said, so that a memory does not rot.

Owns expressions of days, weeks, months and years: English and Chinese by rules, the commonest of other languages as
data (`date_words`). `absolute` puts a date in the place of what is exact, and says when it was said where there are two
readings (`on Friday`, `in 3 days`); `annotated` keeps the words and puts the date behind them. Nothing inside quotes,
code, an address or a name (`USA Today`, `today.md`) is touched, and no sentence that tells a habit. Pure functions; the
reference is the entry's own time, never the clock, so that the result is the same on any day and for any reader.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from functools import lru_cache

from nanomem_tui.language import date_words

_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_MONTHS = "january february march april may june july august september october november december".split()
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}
_NUMBERS |= {"nine": 9, "ten": 10, "eleven": 11, "twelve": 12}
_CHINESE = {c: n for n, c in enumerate("一二三四五六日")} | {"天": 6}
_CHINESE_NUMBERS = {c: n for n, c in enumerate("一二三四五六七八九十", 1)} | {"两": 2, "兩": 2}
_TURNS = {"last": -1, "this": 0, "next": 1, "coming": 0, "上": -1, "这": 0, "這": 0, "本": 0, "下": 1}
_WIDE_HINTS = frozenset("天日周週星礼禮月年晚早晨儿兒夜朝제늘일레주달년해")
_HINTS = (
    *"day|morrow|night|week|month|year|morning|evening|last |this |next |coming ".split("|"),
    *(phrase for phrase in date_words.PHRASES if phrase[-1] < "\u3040"),
    *(unit if len(unit) > 3 else f" {unit} " for units in date_words.UNITS.values() for unit in units.split("|")),
)
_FAR = 20_000  # days: beyond it a number is no time that somebody lived through


def absolute(text: str, said_on: str) -> str:
    """`text` with its relative dates as dates, told on `said_on` (ISO or `YYYY-MM-DD HH:MM`, local).

    As it was when `said_on` is no time or nothing in it is relative."""
    if not may_tell(text) or not _relative().search(text):
        return text
    try:
        day = date.fromisoformat(said_on[:10])
    except ValueError:
        return text
    return _Telling(day).of(text)


@lru_cache(4096)
def annotated(text: str, said_on: str, *, is_rule: bool = False) -> str:
    """`text` with the date behind each relative one, said on the day `said_on` (ISO): `tomorrow (2026-03-02)`.

    A text that begins with a date was said then. A day with two readings gets both. `is_rule`: a preference or
    decision, where `on Friday` is every Friday.
    """
    if not has_relative(text):
        return text
    own = _BEGINS_DATED.match(text)
    try:
        day = date.fromisoformat(own[1] if own else said_on[:10])
    except ValueError:
        return text
    return _Annotation(day, is_rule=is_rule).of(text)


def unannotated(text: str) -> str:
    """A text without the dates that `annotated` puts behind relative ones."""
    return _ANNOTATION.sub("", text)


def has_relative(text: str) -> bool:
    """Whether a text holds words that may be a relative date."""
    return may_tell(text) and _any().search(text) is not None


def relative_words(text: str) -> list[str]:
    """The words of a text that may be relative dates, in order."""
    return [" ".join(found[0].casefold().split()) for found in _any().finditer(text)] if may_tell(text) else []


def may_tell(text: str) -> bool:
    """Whether a text holds a part of any expression: most hold none, and to look costs little."""
    if not text.isascii() and not _WIDE_HINTS.isdisjoint(text):
        return True
    lower = f"{text.lower()} "
    return any(part in lower for part in _HINTS)


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
        told = _date_of(self._day, found)
        if found.lastgroup in ("phrase", "count_of"):
            return _with_date(found, told)
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


class _Annotation(_Telling):
    """One text, told on one day, with a date behind each relative one."""

    def __init__(self, day: date, *, is_rule: bool) -> None:
        super().__init__(day)
        self._is_rule = is_rule

    def _plain(self, text: str) -> str:
        sentences = re.split(r"((?<=[.!?])\s+|(?<=[。！？]))", text)
        said = "".join(one if _routine().search(one) else _any().sub(self._one, one) for one in sentences)
        return _OWNED.sub(r"\g<s>\g<date>", said)

    def _one(self, found: re.Match[str]) -> str:
        is_open = found.lastgroup in ("open", "weekday", "zh_weekday_alone")
        if found.lastgroup not in ("weekday", "zh_weekday_alone") and _is_name(found):
            return found[0]
        if is_open and (_LOOKS_BACK.search(found.string) or _condition().search(found.string)):
            return found[0]
        if is_open and self._is_rule and not found[0].casefold().startswith("in "):
            return found[0]
        return _with_date(found, _date_of(self._day, found) or _readings(self._day, found))


def _date_of(day: date, found: re.Match[str]) -> str:
    """The date of an expression with its preposition; empty where it has none, or more than one reading."""
    try:
        return _TELL[found.lastgroup or ""](day, found)
    except (OverflowError, ValueError):
        return ""


def _with_date(found: re.Match[str], told: str) -> str:
    """The words of an expression with its date behind them; as they are where the date stands there already."""
    told = re.sub(r"^(?:on|in)(?: the)? |\s*\((?:night|morning|afternoon|evening)\)$| (?:早上|晚上)$", "", told)
    if not told or _DATED.match(found.string, found.end()):
        return found[0]
    wide = not found[0].isascii() and re.search(r"[\u3040-\u9fff]$", found[0]) is not None
    return f"{found[0]}{'' if wide else ' '}({told})"


def _readings(day: date, found: re.Match[str]) -> str:
    """The dates that an expression with more than one reading may mean."""
    words = " ".join(found[0].casefold().split())
    named = next((name for name in _DAYS if re.search(rf"\b{name}\b", words)), "")
    try:
        if named:
            coming = day + timedelta(days=(_DAYS.index(named) - day.weekday()) % 7 or 7)
            if not words.startswith("next "):
                return str(coming)
            monday = _monday(day, 1)
            later = max(coming, monday + timedelta(days=_DAYS.index(named)))
            return str(coming) if coming == later else f"{coming} or {later}"
        if found.lastgroup == "open":
            _, count, unit = words.split(" ")
            number = _NUMBERS.get(count, 0) or int(count)
            return _moved(day, number, unit.removesuffix("s"))
        if found.lastgroup == "zh_weekday_alone":
            weekday = _CHINESE[found[0][-1]]
            return str(day + timedelta(days=(weekday - day.weekday()) % 7 or 7))
    except (OverflowError, ValueError):
        return ""
    return ""


def _phrase(day: date, found: re.Match[str]) -> str:
    """A phrase of another language; empty where it is an everyday word there."""
    words = " ".join(found["phrase"].casefold().split())
    before = found.string[: found.start()].rstrip()
    if (wrong := date_words.NOT_BEFORE.get(words)) and re.search(rf"\b(?:{wrong})$", before, re.IGNORECASE):
        return ""
    if wanted := date_words.ONLY_BESIDE.get(words):
        other = date_words.NOT_BESIDE.get(words, "$^")
        is_there = re.search(rf"\b(?:{wanted})\b", found.string, re.IGNORECASE)
        if not is_there or re.search(rf"\b(?:{other})\b", found.string, re.IGNORECASE):
            return ""
    unit, count = date_words.PHRASES[words]
    if unit == "day":
        return str(day + timedelta(days=count))
    if unit == "week":
        return f"week of {_monday(day, count)}"
    return _month(day, count) if unit == "month" else str(day.year + count)


def _count_of(day: date, found: re.Match[str]) -> str:
    """A number of days, weeks, months or years of another language, before or after."""
    lead, tail = (" ".join((found[name] or "").casefold().split()) for name in ("lead", "tail"))
    way = date_words.TAILS.get(tail) or date_words.LEADS.get(lead)
    if way is None:
        return ""
    number = found["number"].casefold()
    count = date_words.NUMBERS.get(number, 0) or int(number)
    word = found["unit_of"].casefold()
    unit = next(unit for unit, words in date_words.UNITS.items() if word in words.split("|"))
    return _moved(day, way * count, unit)


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
    if unit in ("week", "week before last", "week after next"):
        return f"in the week of {_monday(day, {'b': -2, 'a': 2}.get(unit[5:6], turn))}"
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
    lead = word.replace("後", "后").rstrip("天日早晚晨儿兒")
    shift = {"大前": -3, "前": -2, "昨": -1, "今": 0, "明": 1, "后": 2, "大后": 3}[lead]
    part = {"早": " 早上", "晨": " 早上", "晚": " 晚上"}.get(word[-1], "")
    return f"{day + timedelta(days=shift)}{part}"


def _chinese_week(day: date, found: re.Match[str]) -> str:
    turn = _TURNS[found["zh_turn"][0]] * len(found["zh_turn"])
    if found["zh_weekday"] == "末":
        return f"{_monday(day, turn) + timedelta(days=5)} 那个周末"
    if found["zh_weekday"]:
        return str(_monday(day, turn) + timedelta(days=_CHINESE[found["zh_weekday"]]))
    return f"{_monday(day, turn)} 那一周"


def _chinese_month(day: date, found: re.Match[str]) -> str:
    word = found["zh_month"].rstrip("月個个")
    year, month = _month(day, _TURNS[word[0]] * len(word)).split("-")
    return f"{year}年{int(month)}月"


def _chinese_year(day: date, found: re.Match[str]) -> str:
    return f"{day.year + {'前': -2, '去': -1, '今': 0, '明': 1, '后': 2, '後': 2}[found['zh_year'][0]]}年"


def _chinese_ago(day: date, found: re.Match[str]) -> str:
    number = _CHINESE_NUMBERS.get(found["zh_count"], 0) or int(found["zh_count"])
    count = number * (-1 if found["zh_way"] == "前" else 1)
    unit = {"天": "day", "日": "day", "月": "month", "年": "year"}.get(found["zh_unit"][-1], "week")
    told = _moved(day, count, unit)
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
    if found.lastgroup in ("phrase", "count_of") and re.search(r"[^\W\d_]", found[0][:1]) and found[0][-1] < "\u3040":
        return _JOINED_BEFORE.search(text[:start]) is not None or _JOINED.match(text, end) is not None
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


_LOOKS_BACK = re.compile(
    r"\b(?:was|were|did|had|went|came|met|saw|got|took|made|left|told|bought|wrote|built|read|ran|lost|won|"
    r"(?!need|feed|speed|indeed|proceed|exceed|bed\b|red\b|shed)\w{2,}ed)\b",
    re.IGNORECASE,
)
"""A sentence about what was: which Friday it means, and whether `in 3 days` is how long it took, is open."""
_DATED = re.compile(r" ?[(（](?:as of |around |week of |weekend of |约 )?\d{4}")
"""What stands behind an expression that has its date already."""
_ANNOTATION = re.compile(
    r" ?\((?:around |week of |weekend of |约 )?\d{4}(?:-\d{2}(?:-\d{2})?|年(?:\d{1,2}月)?)?(?: or \d{4}-\d{2}-\d{2})?"
    r"(?: 那个周末| 那一周)?\)"
)
_OWNED = re.compile(rf"(?P<date>{_ANNOTATION.pattern})(?P<s>['’]s\b)")
"""A date within a word: `today (2026-03-02)'s`."""
_BEGINS_DATED = re.compile(r"\W*(\d{4}-\d{2}-\d{2})\b")
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
    "phrase": _phrase,
    "count_of": _count_of,
    "weekday": _unsure,
    "zh_weekday_alone": _unsure,
}


@lru_cache(1)
def _relative() -> re.Pattern[str]:
    """Every expression that has a date of its own."""
    return re.compile(_expressions(), re.IGNORECASE)


@lru_cache(1)
def _any() -> re.Pattern[str]:
    """Those of `_relative`, and weekdays that may be the next one."""
    days = "|".join(_DAYS)
    return re.compile(
        _expressions() + rf"|(?P<weekday>\b(?:on|by|until|till|before|after|from|(?:this )?coming) (?:{days})\b(?!s)|"
        rf"\b(?:{days})(?= (?:morning|afternoon|evening|night|at \d)))"
        r"|(?P<zh_weekday_alone>(?<![每上下这這本到至和、\w])(?:周|週|星期|礼拜|禮拜)[一二三四五六日天](?![一二三四五六日天到至、和]))",
        re.IGNORECASE,
    )


def _expressions() -> str:
    number = rf"\d{{1,4}}|{'|'.join(_NUMBERS)}"
    phrases = sorted(date_words.PHRASES, key=len, reverse=True)
    spaced = "|".join(re.escape(one) for one in phrases if one[-1] < "\u3040").replace("\\ ", " ")
    dense = "|".join(re.escape(one) for one in phrases if one[-1] >= "\u3040").replace("\\ ", " ")
    numbers = "|".join((r"\d{1,4}", *sorted(date_words.NUMBERS, key=len, reverse=True)))
    units = "|".join(sorted("|".join(date_words.UNITS.values()).split("|"), key=len, reverse=True))
    leads, tails = ("|".join(sorted(table, key=len, reverse=True)) for table in (date_words.LEADS, date_words.TAILS))
    return (
        r"(?P<day>\b(?:the day before yesterday|the day after tomorrow|yesterday|today|tomorrow|tonight|last night|"
        r"this (?:morning|afternoon|evening)))\b"
        rf"|(?P<ago>\b(?P<count>{number}) (?P<unit>day|week|month|year)s? (?P<way>ago|from now))\b"
        r"|(?P<turned>(?<!\bthe )\b(?P<turn>last|this|next) (?P<what>week|weekend|month|year|"
        rf"spring|summer|autumn|fall|winter|{'|'.join(_DAYS)}|{'|'.join(_MONTHS)}))\b"
        rf"|(?P<open>\bin (?:{number}) (?:day|week|month|year)s?\b(?! of\b)|"
        rf"\b(?:on|by|until) (?:{'|'.join(_DAYS)})\b(?!s))"
        r"|(?P<zh_day>大?前天|昨[天日晚]|今[天日早晚晨]|今[儿兒](?!子)|明[天早晚]|明[儿兒](?!子)|(?<!先天)大?[后後]天(?!性))"
        r"|(?P<zh_week>(?P<zh_turn>上{1,2}|下{1,2}|[这這本])[个個]?(?:周|週|星期|礼拜|禮拜)(?P<zh_weekday>[一二三四五六日天末])?)"
        r"|(?P<zh_month>(?:上{1,2}|下{1,2}|[这這])[个個]月|本月|[上下]月(?![亮球]))"
        r"|(?P<zh_year>去年|今年|明年|前年|[后後]年)"
        r"|(?P<zh_ago>(?P<zh_count>\d{1,4}|[一二两兩三四五六七八九十]) ?"
        r"(?P<zh_unit>天|日(?=[以之]?[前后後])|周|週|[个個]?星期|[个個]?礼拜|[个個]月|年)(?:以|之)?(?P<zh_way>前|后|後))"
        rf"|(?P<phrase>\b(?:{spaced})\b|(?:{dense}))"
        rf"|(?P<count_of>(?:\b(?P<lead>{leads})\s+)?(?<![\w-])(?P<number>{numbers})\s?"
        rf"(?P<unit_of>{units})(?:\s?(?P<tail>{tails}))?(?![a-zà-ÿа-я]))"
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
def _routine() -> re.Pattern[str]:
    """A sentence that tells what is so again and again: the words in it are no day."""
    words = (
        "every|each|always|daily|weekly|usually|whenever|jeden|jede|jedes|immer|täglich|cada|siempre|todos los|chaque|"
    )
    words += "toujours|tous les|todo dia|todos os|sempre|ogni|tutti i|каждый|каждую|каждое|всегда"
    return re.compile(rf"\b(?:{words})\b|每(?!个人|位)|总是|總是|从不|從不|毎|いつも|매일|매주|항상", re.IGNORECASE)


@lru_cache(1)
def _condition() -> re.Pattern[str]:
    return re.compile(r"\b(?:if|never|any)\b|如果", re.IGNORECASE)


@lru_cache(1)
def _until() -> re.Pattern[str]:
    english = r"\b(?:until|till|expires(?: on)?|ends(?: on)?|valid (?:until|through))\b:? ?"
    chinese = r"(?:直到|截至|截止到?|有效期至)[:：]? ?"
    return re.compile(rf"(?:{english}|{chinese})(\d{{4}}-\d{{2}}-\d{{2}})\b", re.IGNORECASE)
