"""The time that a question asks for: `yesterday`, `last Tuesday`, `in March`, `2026-03-02`, as first and last day.

Owns the reading of such words in ten languages (`packs/times.toml`, with the relative dates of `packs/dates.toml`) and
of a date that a person gives to an option; `times_elsewhere` has the words of twelve more. Nothing inside quotes, code,
an address or a file name is a time, nor is what is so again and again (`every Friday`). `may`, `march` and `june` are
months only behind a preposition (`in March`) or beside a number (`March 3`). Pure functions; the reference is the day
that the caller gives, never the clock.

A day or a month without its year is the last one that was where the question looks back (`what did I do in March?`),
the next one to come where it looks ahead (`what will I do in March?`), and either of the two where it does neither. Of
a date with dots the day stands first (`2.3.2026`); of one with slashes, where both can be, it is either (`2/3/2026`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.language import pack_files
from nanomem_tui.language.tokens import plain_digits

if TYPE_CHECKING:
    from nanomem_tui.language.times_elsewhere import TimeExpression

LONGEST = 1_000
"""Characters of a message beyond which it is no question about a time: something was pasted."""

LONGEST_TEXT = 2_000
"""Characters of a text in which dates are looked for."""

_FAR = 20_000  # days: beyond it a number is no time that somebody lived through
_NUMBERS = re.compile(r"(?:19|20)\d\d|\d[./-]\d|\b\d{1,2}[dw]\b")
_YEARS = re.compile(r"\b(?:un an|l.an|\w+ ans)\b", re.IGNORECASE)  # `an` alone is an English word
_PLAIN_ISO = re.compile(r"(?<![\w./-])(?:19|20)\d\d-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|1\d|2[0-8]))?(?![\w]|[./-]\w)")
_COUNT = re.compile(r"(?:\d{1,4}|an?|one|two|three|four|five|six) (?:day|week|month|year)s?", re.IGNORECASE)
_MARKS = re.compile("[`\"'“‘«「『《/\\\\]")
"""What a text has in which a date may stand in quotes, in code or in an address."""
_WORD = re.compile(r"[^\W\d_]+")
_WORD_OR_NUMBER = re.compile(r"[^\W\d_]+|\d+")
_ENGLISH_SURE = frozenset("january february july september october november december".split())
"""Names of months that are nothing else."""
_OTHER_WORDS = frozenset("may march mar april apr june jun august aug jan dec sep mai mars март".split())
"""Those that are other words, or names of people, so that `from April` is no time."""
_IN = ("in ", "during ", "im ", "en ", "em ", "nel ", "в ")
_YEAR_2 = 2000
_MONTH = 31


class Span(NamedTuple):
    """Days from the first to the last, both of them in it."""

    since: date
    until: date

    @property
    def days(self) -> int:
        """How many days there are."""
        return (self.until - self.since).days + 1

    def holds(self, about: Span) -> bool:
        """Whether what is about the days `about` is about these: they have one in common, and are not many more (what
        was in a year was not in one week of it)."""
        if about.since > self.until or self.since > about.until:
            return False
        return about.days <= max(self.days, _MONTH)


class TimeAsked(NamedTuple):
    """The time that a question asks for.

    `spans`: the days that are meant, each a reading or a part of them. `said`: the words that say so; `rest`: the
    question without these. `only`: it asks for nothing else (`what did I say yesterday?`). `is_now`: for today, or what
    today is part of. `looks`: back (-1), ahead (1), or neither. `again`: the weekdays that it names where it does not
    look back: what is so every Friday has to do with the next one.
    """

    spans: tuple[Span, ...]
    said: str
    rest: str
    only: bool = False
    is_now: bool = False
    looks: int = 0
    again: str = ""

    @property
    def subject(self) -> str:
        """The words that tell what the question is about."""
        return f"{self.rest} {self.again}".strip()

    @property
    def since(self) -> date:
        """The first day."""
        return min(span.since for span in self.spans)

    @property
    def until(self) -> date:
        """The last day."""
        return max(span.until for span in self.spans)

    def to_json(self) -> dict[str, Any]:
        """As a command prints it: first and last day (None: none), the words, and each of several spans."""
        body: dict[str, Any] = {"since": _iso_day(self.since), "until": _iso_day(self.until), "said": self.said}
        if len(self.spans) > 1:
            body["spans"] = [{"since": _iso_day(span.since), "until": _iso_day(span.until)} for span in self.spans]
        return body

    def line(self) -> str:
        """In words: `yesterday (2026-11-29)`."""
        return f"{self.said} ({', or '.join(map(in_words, self.spans))})"


class _Found(NamedTuple):
    """An expression: where it stands and what it means. `at`: the exact day of `two weeks ago`, which is about a week;
    `is_weak`: it is a time only within a stretch (`from March to May`)."""

    start: int
    end: int
    spans: tuple[Span, ...]
    at: date | None = None
    is_weak: bool = False


def may_name(text: str) -> bool:
    """Whether a text may name a time: most do not, and to look costs little."""
    return len(text) <= LONGEST and _may_name(text)


def _may_name(text: str) -> bool:
    return _NUMBERS.search(plain_digits(text)) is not None or _has_words(text)


def _has_words(text: str) -> bool:
    known, inside = _telling()
    if not known.isdisjoint(_WORD.findall(text.casefold())) or _YEARS.search(text):
        return True
    return not text.isascii() and any(part in text for part in inside)


def asked(text: str, today: date) -> TimeAsked | None:
    """Return the time that a question asks for on a day; None where it names none.

    >>> asked("what did I say yesterday?", date(2026, 11, 30)).line()
    'yesterday (2026-11-29)'
    >>> asked("we march in step", date(2026, 11, 30))
    """
    if not may_name(text):
        return None
    found = _expressions(text, today)
    if not found:
        return None
    said = ", ".join(" ".join(text[one.start : one.end].split()) for one in found)
    rest = text
    for one in reversed(found):
        rest = f"{rest[: one.start]} {rest[one.end :]}"
    spans = tuple(dict.fromkeys(span for one in found for span in one.spans))
    is_now = all(span.since <= today <= span.until for span in spans)
    looks = _way(text)
    again = " ".join(day[0] for day in _pattern("weekday_name").finditer(said)) if looks >= 0 else ""
    return TimeAsked(spans, said, " ".join(rest.split()), tells_nothing(rest), is_now, looks, again)


@lru_cache(64)
def names_time(text: str) -> bool:
    """Whether a text names a time, whatever day it is."""
    return asked(text, date(_YEAR_2, 1, 3)) is not None


def read_date(text: str, today: date) -> Span:
    """Return the days that a person means who gives a date to an option: `2026-03-02`, `2026-03`, `yesterday`,
    `last tuesday`, `2 weeks ago`, `march`, `3d`. What has no year is past. Raises ValueError, which says why not.

    >>> read_date("2026-03", date(2026, 11, 30))
    Span(since=datetime.date(2026, 3, 1), until=datetime.date(2026, 3, 31))
    """
    told = " ".join(text.split())
    if short := re.fullmatch(r"(\d{1,4}) ?([dw])", told, re.IGNORECASE):
        day = today - timedelta(days=int(short[1]) * (7 if short[2] in "wW" else 1))
        return Span(day, day)
    if _COUNT.fullmatch(told):
        told = f"{told} ago"
    if re.fullmatch(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d\S*", told):
        told = told[:10]
    if len(told) > LONGEST:
        raise ValueError("no date")
    for form in (told, f"in {told}", f"on {told}"):
        lead = len(form) - len(told)
        found = [one for one in _expressions(form, today, is_past=True) if one.start <= lead and one.end == len(form)]
        if len(found) == 1 and found[0].spans:
            spans, at = found[0].spans, found[0].at
            if len(spans) > 1:
                raise ValueError(f"a date that may be {' or '.join(map(in_words, spans))}")
            return Span(at, at) if at is not None else spans[0]
    raise ValueError("no date")


def about(text: str, said_on: date) -> tuple[Span, ...]:
    """Return the days that a text is about that was said on a day: the dates in it, and what `yesterday` meant then.

    >>> about("Flew home yesterday", date(2026, 3, 2))
    (Span(since=datetime.date(2026, 3, 1), until=datetime.date(2026, 3, 1)),)
    """
    text = text[:LONGEST_TEXT]
    if not _has_words(text):
        if _NUMBERS.search(plain_digits(text)) is None:
            return ()
        rest = _PLAIN_ISO.sub(" ", text)
        if _NUMBERS.search(rest) is None and _MARKS.search(text) is None:  # as most memories tell a day
            return tuple(dict.fromkeys(_plain_iso(found[0]) for found in _PLAIN_ISO.finditer(text)))
    return tuple(dict.fromkeys(span for one in _expressions(text, said_on, as_they_are=True) for span in one.spans))


def _plain_iso(text: str) -> Span:
    year, month, *day = map(int, text.split("-"))
    return _one_day(year, month, day[0]) if day else _month(year, month)


def in_words(span: Span) -> str:
    """Return a span in words: a day, or its first and last."""
    since, until = _iso_day(span.since), _iso_day(span.until)
    if since == until:
        return since or "any day"
    if since is None or until is None:
        return f"until {until}" if until else f"since {since}"
    return f"{since} to {until}"


def _iso_day(day: date) -> str | None:
    return None if day in (date.min, date.max) else day.isoformat()


@lru_cache(1)
def _telling() -> tuple[frozenset[str], tuple[str, ...]]:
    """The words of all languages that may name a time, and parts of words in scripts without spaces."""
    body = pack_files.table("time-words")
    words = pack_files.words("time-words", "words") | pack_files.words("time-words", "elsewhere")
    return words, (*body["inside"].split(), *body["elsewhere_inside"].split())


@lru_cache(1)
def _nothing() -> tuple[frozenset[str], re.Pattern[str]]:
    inside = sorted(pack_files.words("time-words", "nothing_inside"), key=len, reverse=True)
    return pack_files.words("time-words", "nothing"), re.compile("|".join(map(re.escape, inside)))


def tells_nothing(rest: str) -> bool:
    """Whether what is left of a question has no word that tells what it is about.

    >>> tells_nothing("what did I say?"), tells_nothing("what did I say about tea?")
    (True, False)
    """
    words, inside = _nothing()
    left = rest.casefold()
    left = left if left.isascii() else inside.sub(" ", left)
    return all(word in words for word in _WORD_OR_NUMBER.findall(left))


@lru_cache(None)
def _pattern(name: str) -> re.Pattern[str]:
    body = {**pack_files.table("dates"), **pack_files.table("times")}
    return re.compile(pack_files.expand(body[name], body), re.IGNORECASE)


def _meaning(table: str, word: str) -> int:
    return int(pack_files.meanings("times", table)[word])


def _normal(words: str | None) -> str:
    return " ".join((words or "").casefold().split())


# -- finding expressions ----------------------------------------------------------------------------------------------


def _expressions(text: str, today: date, *, is_past: bool = False, as_they_are: bool = False) -> list[_Found]:
    """The expressions of a text in order, those that belong together joined. `is_past`: of two readings the past one
    is meant; `as_they_are`: `until March` is March."""
    from nanomem_tui.language import dates

    shown = dates.pattern("kept_files").sub(lambda one: "\0" * len(one[0]), plain_digits(text))
    has_words, is_ascii, reader = _has_words(text), text.isascii(), _Reader(today, shown, is_past=is_past)
    found: list[_Found] = []
    for name in _FORMS:
        if (not has_words and name not in _OF_NUMBERS) or (is_ascii and name in _OF_OTHER_SCRIPTS):
            continue
        pattern = _pattern(name) if name != "relative" else dates.pattern(name)
        for match in pattern.finditer(shown):
            try:
                one: _Found | None = getattr(reader, name)(match)
            except (KeyError, ValueError, OverflowError):
                continue
            if one is not None and one.spans:
                found.append(one)
    if has_words:
        found += reader.elsewhere()
    if not found or dates.pattern("routine").search(shown):
        return []
    found.sort(key=lambda one: (-(one.end - one.start), one.start))
    kept: list[_Found] = []
    for one in found:
        if all(one.end <= other.start or one.start >= other.end for other in kept):
            kept.append(one)
    kept.sort()
    return [one for one in (kept if as_they_are else _joined(shown, kept, today)) if not one.is_weak]


def _way(text: str) -> int:
    """Whether a text looks back (-1), ahead (1), or neither."""
    from nanomem_tui.language import times_elsewhere

    back, ahead = (_pattern(way).search(text) is not None for way in ("looks_back", "looks_ahead"))
    if not (back or ahead):
        back, ahead = times_elsewhere.find_direction(text)
    return 0 if back == ahead else -1 if back else 1


def _joined(text: str, found: list[_Found], today: date) -> list[_Found]:
    """The expressions joined with words that change what they mean: `since March`, `from Monday to Friday`."""
    joined: list[_Found] = []
    at = 0
    while at < len(found):
        one = found[at]
        before, behind = text[max(0, one.start - 30) : one.start], text[one.end : one.end + 20]
        after = found[at + 1] if at + 1 < len(found) else None
        from_here = _pattern("from_before").search(before)
        if after is not None and _is_stretch(text, one, after, has_from=bool(from_here) or _own_from(text, one)):
            start = one.start - (len(before) - from_here.start() if from_here else 0)
            spans = _hull(one, after)
            if spans:
                joined.append(_Found(start, after.end, spans))
                at += 2
                continue
        joined.append(_opened(text, one, before, behind, today))
        at += 1
    return joined


def _own_from(text: str, one: _Found) -> bool:
    """Whether an expression begins with `from` or `between` itself, as a month does."""
    return re.match(r"(?:from|between|von|vom|de|desde|da|с)\s", text[one.start : one.end], re.IGNORECASE) is not None


def _is_stretch(text: str, one: _Found, after: _Found, *, has_from: bool) -> bool:
    between = text[one.end : after.start]
    inner = re.match(r"(?:to|until|till|through|and|bis|hasta|до|a|al)\s", text[after.start : after.end], re.IGNORECASE)
    if inner is not None and not between.strip():
        return has_from or inner[0].casefold().strip() not in ("and", "a", "al")
    if len(between) > 12:
        return False
    if _pattern("to_between").search(between):
        return True
    return has_from and _pattern("and_between").search(between) is not None


def _hull(one: _Found, after: _Found) -> tuple[Span, ...]:
    """From the first day of one to the last of another, of each reading that can be."""
    pairs = [Span(first.since, last.until) for first in one.spans for last in after.spans if first.since <= last.until]
    return tuple(sorted(pairs, key=lambda span: span.until - span.since)[:1])


def _opened(text: str, one: _Found, before: str, behind: str, today: date) -> _Found:
    """An expression that is the beginning or the end of a time: `since March`, `before 2026`."""
    first, last = one.at or one.spans[0].since, one.at or one.spans[0].until  # of two readings the past one
    own = text[one.start : one.end]
    lead = re.match(r"(?:before|after)\s", own, re.IGNORECASE)  # a month has its preposition in it
    if (beside := _pattern("beside").search(before + (lead[0] if lead else ""))) is not None:
        return _Found(one.start - (len(before) - beside.start()), one.end, (_next_to(beside, first, last),))

    def found(way: str) -> tuple[int, int] | None:
        if match := _pattern(f"{way}_before").search(before):
            return one.start - (len(before) - match.start()), one.end
        match = re.match(r"[^\W\d_]+(?=\s)", own) if one.at is None else None
        if match:  # a month has its preposition in it
            if _pattern(f"{way}_before").search(match[0]):
                return one.start, one.end
        if match := _pattern(f"{way}_behind").search(behind):
            return one.start, one.end + match.end()
        return None

    if place := found("since"):
        return _Found(*place, (Span(first, max(first, today)),))
    if place := found("after"):
        return _Found(*place, (Span(last + timedelta(days=1), max(last + timedelta(days=1), today)),))
    if place := found("until"):
        return _Found(*place, (Span(date.min, last),))
    if place := found("before"):
        return _Found(*place, (Span(date.min, first - timedelta(days=1)),))
    return one


def _next_to(found: re.Match[str], first: date, last: date) -> Span:
    """`the week before` a day, `two days after` it, `the week of` it."""
    from nanomem_tui.language.dates import number_of

    unit, way = found["unit"].casefold(), found["way"].casefold()
    count = number_of(found["many"]) if found["many"] else 1
    if unit == "weekend" or way == "of":
        return _away(first, unit, {"before": -1, "of": 0}.get(way, 1) * count)
    if way != "before":
        return Span(last + timedelta(days=1), _moved(last, unit, count))
    return Span(_moved(first, unit, -count), first - timedelta(days=1))


# -- what each form means ---------------------------------------------------------------------------------------------


class _Reader:
    """What each form means on a day, in a text. `is_past`: of two readings the past one."""

    def __init__(self, today: date, text: str, *, is_past: bool) -> None:
        self.today, self._text, self._is_past = today, text, is_past

    @cached_property
    def way(self) -> int:
        """Whether the text looks back (-1), ahead (1), or neither."""
        return -1 if self._is_past else _way(self._text)

    def iso(self, found: re.Match[str]) -> _Found:
        return _on(found, date(int(found["year"]), int(found["month"]), int(found["day"])))

    def iso_month(self, found: re.Match[str]) -> _Found:
        return _match_spans(found, _month(int(found["year"]), int(found["month"])))

    def local(self, found: re.Match[str]) -> _Found | None:
        one, other = int(found["one"]), int(found["other"] or found["other_2"])
        year = int(found["year"] or 0) or _YEAR_2 + int(found["year_2"])
        days = []
        for month, day in ((other, one), (one, other)) if (found["mark"] or "/") == "/" else ((other, one),):
            try:
                days.append(date(year, month, day))
            except ValueError:
                continue
        return _match_spans(found, *(Span(day, day) for day in dict.fromkeys(days))) if days else None

    def german_day(self, found: re.Match[str]) -> _Found:
        month, day = int(found["month"]), int(found["day"])
        spans = _without_year(self.today, self.way, lambda year: _one_day(year, month, day))
        return _Found(found.start("day"), found.end(), spans)

    def spaced_day(self, found: re.Match[str]) -> _Found:
        return _match_spans(found, _one_day(int(found["year"]), int(found["month"]), int(found["day"])))

    def eastern(self, found: re.Match[str]) -> _Found:
        month = _chinese(found["month"])
        day = _chinese(found["day"]) if found["day"] else 0
        year = int(found["year"]) if found["year"] else 0
        if found["turn"]:
            year = self.today.year + _meaning("year_turns", found["turn"])
        return _match_spans(found, *_dated(self.today, self.way, year, month, day))

    def eastern_year(self, found: re.Match[str]) -> _Found:
        return _match_spans(found, _year(int(found["year"])))

    def year(self, found: re.Match[str]) -> _Found | None:
        is_in = found[0].casefold().startswith(_IN)
        start = found.start() if is_in else found.start("year")
        return _Found(start, found.end(), (_year(int(found["year"])),))

    def month_name(self, found: re.Match[str]) -> _Found | None:
        name, lead = found["name"].casefold(), _normal(found["lead"])
        number = found["day_1"] or found["day_2"]
        weak = lead in pack_files.table("times")["weak_leads"].split("|")
        is_sure = bool(number or found["year"] or found["turn"]) or name in _ENGLISH_SURE
        is_sure = is_sure or (bool(lead) and (not weak or name not in _OTHER_WORDS))
        if not is_sure and not lead:
            return None
        month = int(pack_files.meanings("times", "month_names")[name])
        turns = {"last": -1, "letzten": -1, "lo scorso": -1, "прошлом": -1, "next": 1, "nächsten": 1, "следующем": 1}
        year = int(found["year"] or 0)
        if found["turn"]:
            year = self.today.year + {"last": -1, "this": 0, "next": 1}[found["turn"].casefold()]
        turn = turns.get(lead, 0)
        if turn and not year:
            year = self.today.year + (-(month >= self.today.month) if turn < 0 else int(month <= self.today.month))
        start = found.start()
        spans = _dated(self.today, self.way, year, month, int(number or 0))
        return _Found(start, found.end(), spans, is_weak=not is_sure)

    def day(self, found: re.Match[str]) -> _Found | None:
        word = _normal(found["day"])
        shown = found["day"]
        before = found.string[: found.start()].rstrip(" *_(“‘\"'")
        if shown[:1].isupper() and shown[0].isascii() and before and before[-1] not in ".!?;:\n":
            return None  # a name: USA Today
        count = int(pack_files.meanings("dates", "days")[word])
        return _on(found, self.today + timedelta(days=count))

    def vague_ago(self, found: re.Match[str]) -> _Found:
        many = {"a couple of": 2, "a few": 4, "several": 5, "some": 4}[_normal(found["many"])]
        unit = found["unit"].casefold()
        first, last = _moved(self.today, unit, -many - many // 2), _moved(self.today, unit, -max(1, many // 2))
        at = _moved(self.today, unit, -many)
        return _Found(found.start(), found.end(), (Span(_around(first, unit).since, _around(last, unit).until),), at)

    def stretch(self, found: re.Match[str]) -> _Found | None:
        from nanomem_tui.language.dates import number_of

        many, unit = _normal(found["many"]).removeprefix("a "), found["unit"].casefold()
        count = {"couple of": 2, "few": 4, "several": 5}.get(many) or number_of(many)
        if found["way"].casefold() in ("next", "coming"):
            return _match_spans(found, Span(self.today, _moved(self.today, unit, count)))
        return _match_spans(found, Span(_moved(self.today, unit, -count), self.today))

    def turn(self, found: re.Match[str]) -> _Found | None:
        way, unit = found["way"].casefold(), found["unit"].casefold()
        turn = {"last": -1, "past": -1, "previous": -1, "this": 0}.get(way, 1)
        if unit in pack_files.meanings("times", "season_months"):
            return _match_spans(found, _season(self.today, unit, turn))
        if way == "past":
            first = _moved(self.today, "month", -3) if unit == "quarter" else _moved(self.today, unit, -1)
            return _match_spans(found, Span(first, self.today))
        return _match_spans(found, _away(self.today, unit, turn))

    def weekend(self, found: re.Match[str]) -> _Found:
        past = _away(self.today, "weekend", 0 if self.today.weekday() >= 5 else -1)
        return _match_spans(found, *_read(self.way, past, _away(self.today, "weekend", 0)))

    def season_alone(self, found: re.Match[str]) -> _Found:
        unit = found["unit"].casefold()
        if found["year"]:
            month = _meaning("season_months", unit)
            return _match_spans(found, _three_months(int(found["year"]), month))
        return _match_spans(found, *_read(self.way, _season(self.today, unit, -1), _season(self.today, unit, 1)))

    def weekday(self, found: re.Match[str]) -> _Found | None:
        weekday = int(pack_files.meanings("times", "weekday_names")[found["name"].casefold()])
        told = _normal(found["tail"]) or _normal(found["lead"])
        ways = pack_files.meanings("times", "weekday_ways")
        if found["name"].casefold() in ("terça", "среду", "пятницу", "субботу") and not told:
            return None
        return _match_spans(found, *_weekdays(self.today, weekday, int(ways[told]) if told in ways else None, self.way))

    def eastern_weekday(self, found: re.Match[str]) -> _Found:
        if found["chinese"]:
            weekday = int(pack_files.meanings("dates", "eastern_weekdays")[found["chinese"]])
            return _match_spans(found, *_weekdays(self.today, weekday, None, self.way))
        korean = found["korean"]
        weekday = (
            _meaning("korean_weekdays", korean)
            if korean
            else int(pack_files.meanings("dates", "eastern_weekdays")[found["japanese"]])
        )
        told = _normal(found["korean_way"] or found["japanese_way"])
        turn = _meaning("weekday_ways", told) if told in pack_files.meanings("times", "weekday_ways") else None
        if told in ("先週", "지난주") or (turn is not None and turn >= 0):
            day = _monday(self.today, turn if turn is not None else -1) + timedelta(days=weekday)
            return _on(found, day)
        return _match_spans(found, *_weekdays(self.today, weekday, turn, self.way))

    def thai(self, found: re.Match[str]) -> _Found:
        turns, unit = pack_files.meanings("dates", "turns"), found["thai_unit"]
        name = "weekend" if unit == "สุดสัปดาห์" else pack_files.meanings("dates", "spans")[unit]
        return _match_spans(found, _away(self.today, name, int(turns[found["thai_way"]])))

    def elsewhere(self) -> list[_Found]:
        """What a text tells in the languages of `times_elsewhere`."""
        from nanomem_tui.language import times_elsewhere

        found = []
        for told in times_elsewhere.find(self._text, alone=self._is_past):
            try:
                spans, at = self._of_elsewhere(told)
            except (ValueError, OverflowError):
                continue
            found.append(_Found(told.start, told.end, spans, at, told.is_weak))
        return found

    def _of_elsewhere(self, told: TimeExpression) -> tuple[tuple[Span, ...], date | None]:
        first, *rest = told.numbers
        if told.form == "ago":
            at = _moved(self.today, told.unit, first)
            return (_around(at, told.unit),), at
        if told.form == "weekday":
            return _weekdays(self.today, first, rest[0] if rest else None, self.way), None
        if told.form == "month":
            day, year, turn, *away = rest
            year = self.today.year + away[0] if away else year
            if turn and not year:
                year = self.today.year + (-(first >= self.today.month) if turn < 0 else int(first <= self.today.month))
            return _dated(self.today, self.way, year, first, day), None
        spans = [_away(self.today, told.unit, turn) for turn in told.numbers]
        return _read(self.way, spans[0], spans[-1]) if rest else tuple(spans), None

    def phrase_more(self, found: re.Match[str]) -> _Found:
        table, words = ("more_phrases", found["words"]) if found["words"] else ("more_joined", found["joined"])
        unit, turn = pack_files.meanings("times", table)[_normal(words)].split()
        return _match_spans(found, _away(self.today, unit, int(turn)))

    def relative(self, found: re.Match[str]) -> _Found | None:
        """What the relative dates of memories have: units that are counted, and other languages."""
        from nanomem_tui.language import dates

        kind = found.lastgroup
        if kind == "ago":
            sign = -1 if found["ago_way"].casefold() == "ago" else 1
            return _counted(found, self.today, sign * dates.number_of(found["ago_count"]), found["ago_unit"].casefold())
        if kind == "open" and found["in_count"]:
            return _counted(found, self.today, dates.number_of(found["in_count"]), found["in_unit"].casefold())
        if kind == "zh_ago":
            sign = -1 if found["zh_later"] == "前" else 1
            unit = dates.meanings("spans")[found["zh_unit"]]
            return _counted(found, self.today, sign * dates.number_of(found["zh_count"]), unit)
        if kind == "count":
            lead, tail = _normal(found["lead"]), _normal(found["tail"])
            direction = dates.meanings("tails").get(tail) or dates.meanings("leads")[lead]
            unit = dates.meanings("units")[found["count_unit"].casefold()]
            return _counted(found, self.today, int(direction) * dates.number_of(found["count_of"]), unit)
        if kind == "zh_day":
            return _on(found, self.today + timedelta(days=int(dates.meanings("days")[found[0].casefold()])))
        turns = dates.meanings("turns")
        if kind == "zh_week":
            turn, weekday = int(turns[found["zh_way"]]), found["zh_weekday"]
            if weekday and weekday != "末":
                day = _monday(self.today, turn) + timedelta(days=int(dates.meanings("eastern_weekdays")[weekday]))
                return _on(found, day)
            return _match_spans(found, _away(self.today, "weekend" if weekday else "week", turn))
        if kind == "zh_month":
            return _match_spans(found, _away(self.today, "month", int(turns[found[0].rstrip("月個个")])))
        if kind == "zh_year":
            return _match_spans(found, _away(self.today, "year", int(turns[found[0][0]])))
        if kind == "phrase" and (meant := dates.phrase(found)) is not None:
            return _match_spans(found, _away(self.today, *meant))
        return None


_FORMS = (
    "iso", "iso_month", "local", "german_day", "spaced_day", "eastern", "eastern_year", "year", "month_name", "day",
    "vague_ago", "stretch", "turn", "weekend", "season_alone", "weekday", "eastern_weekday", "thai", "phrase_more",
    "relative",
)  # fmt: skip
"""The patterns, each with the method of `_Reader` that says what it means. Of what overlaps the longest stands."""

_OF_NUMBERS = frozenset(("iso", "iso_month", "local", "german_day", "spaced_day", "year"))
"""Those that hold no word of `packs/time-words.json`."""

_OF_OTHER_SCRIPTS = frozenset(("eastern", "eastern_year", "eastern_weekday", "thai"))


# -- days -------------------------------------------------------------------------------------------------------------


def _match_spans(found: re.Match[str], *spans: Span) -> _Found:
    return _Found(found.start(), found.end(), spans)


def _on(found: re.Match[str], day: date) -> _Found:
    return _Found(found.start(), found.end(), (Span(day, day),))


def _counted(found: re.Match[str], today: date, count: int, unit: str) -> _Found:
    """A number of units from today: that day; of weeks, months and years the one in which it lies."""
    at = _moved(today, unit, count)
    return _Found(found.start(), found.end(), (_around(at, unit),), at)


def _around(day: date, unit: str) -> Span:
    return Span(day, day) if unit in ("day", "hour") else _away(day, unit, 0)


def _moved(day: date, unit: str, count: int) -> date:
    """The day that lies so many units from another."""
    if unit in ("day", "week", "hour"):
        days = count * {"day": 1, "week": 7, "hour": 0}[unit]
        if abs(days) > _FAR:
            raise ValueError(count)
        return day + timedelta(days=days)
    months = count * (12 if unit == "year" else 1)
    if abs(months) * 31 > _FAR:
        raise ValueError(count)
    index = day.year * 12 + day.month - 1 + months
    last = _month(index // 12, index % 12 + 1).until
    return last.replace(day=min(day.day, last.day))


def _monday(day: date, weeks: int) -> date:
    return day - timedelta(days=day.weekday()) + timedelta(weeks=weeks)


def _away(day: date, unit: str, turn: int) -> Span:
    """The day, week, weekend, month, quarter or year that lies so many of them from that of a day."""
    if unit == "day":
        at = day + timedelta(days=turn)
        return Span(at, at)
    if unit in ("week", "weekend"):
        monday = _monday(day, turn)
        return Span(monday + timedelta(days=5 if unit == "weekend" else 0), monday + timedelta(days=6))
    if unit == "year":
        return _year(day.year + turn)
    if unit == "quarter":
        index = day.year * 4 + (day.month - 1) // 3 + turn
        return _three_months(index // 4, index % 4 * 3 + 1)
    index = day.year * 12 + day.month - 1 + turn
    return _month(index // 12, index % 12 + 1)


def _year(year: int) -> Span:
    return Span(date(year, 1, 1), date(year, 12, 31))


def _month(year: int, month: int) -> Span:
    following = date(year + month // 12, month % 12 + 1, 1)
    return Span(date(year, month, 1), following - timedelta(days=1))


def _three_months(year: int, month: int) -> Span:
    index = year * 12 + month - 1 + 2
    return Span(date(year, month, 1), _month(index // 12, index % 12 + 1).until)


def _season(today: date, unit: str, turn: int) -> Span:
    """The last season that has begun, the next to come, or (0) that of this year."""
    month = _meaning("season_months", unit)
    this = _three_months(today.year, month)
    if turn < 0:
        return this if this.until < today else _three_months(today.year - 1, month)
    return this if turn == 0 or this.since > today else _three_months(today.year + 1, month)


def _one_day(year: int, month: int, day: int) -> Span:
    at = date(year, month, day)
    return Span(at, at)


def _dated(today: date, way: int, year: int, month: int, day: int) -> tuple[Span, ...]:
    """A month, or a day of it, of a year or (0) of the year that is meant."""
    if not 1 <= month <= 12:
        raise ValueError(month)

    def of_year(year: int) -> Span:
        return _one_day(year, month, day) if day else _month(year, month)

    return (of_year(year),) if year else _without_year(today, way, of_year)


def _without_year(today: date, way: int, of_year: Callable[[int], Span]) -> tuple[Span, ...]:
    """The last one that has begun and the next one that is not over, as the text looks."""
    known = list(_years(today, of_year))
    past = max((span for span in known if span.since <= today), default=None)
    ahead = min((span for span in known if span.until >= today), default=None)
    return _read(way, past, ahead)


def _years(today: date, of_year: Callable[[int], Span]) -> Iterator[Span]:
    for year in range(today.year - 4, today.year + 5):  # the 29th of February
        try:
            yield of_year(year)
        except ValueError:
            continue


def _weekdays(today: date, weekday: int, turn: int | None, way: int) -> tuple[Span, ...]:
    """The last such day before today, that of this week, the next one; without a word for it as the text looks."""
    past = today - timedelta(days=(today.weekday() - weekday) % 7 or 7)
    coming = today + timedelta(days=(weekday - today.weekday()) % 7 or 7)
    if turn is None:
        if today.weekday() == weekday:
            return (Span(past, past), Span(today, today)) if way < 0 else (Span(today, today), Span(coming, coming))
        return _read(way, Span(past, past), Span(coming, coming))
    if turn < 0:
        return (Span(past, past),)
    if turn == 0:
        day = _monday(today, 0) + timedelta(days=weekday)
        return (Span(day, day),)
    later = _monday(today, 1) + timedelta(days=weekday)
    return tuple(Span(day, day) for day in dict.fromkeys((coming, later)))


def _read(way: int, past: Span | None, ahead: Span | None) -> tuple[Span, ...]:
    """Of two readings those that fit where a text looks; both where it looks nowhere."""
    if way < 0:
        return (past,) if past else ()
    if way > 0:
        return (ahead,) if ahead else ()
    return tuple(dict.fromkeys(span for span in (past, ahead) if span))


def _chinese(number: str) -> int:
    """A number in digits, or in Chinese up to 39."""
    if number.isdecimal():
        return int(number)
    numbers = pack_files.meanings("times", "chinese_numbers")
    tens, ten, ones = number.partition("十")
    if not ten:
        return int(numbers[number])
    return 10 * int(numbers.get(tens, 1) if tens else 1) + (int(numbers[ones]) if ones else 0)
