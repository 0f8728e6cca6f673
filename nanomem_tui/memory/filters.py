"""The filter language of the console and of `--filter`: ``kind:fact scope:telegram:* age:>30d hits:0 "exact" -word``.

Owns parsing a query into a `Filter`, judging a row's fields by it, and searching folded texts step by step so that a
key never waits. It knows no row type and no screen: callers say how to get a field of a row.

Grammar: words are searched as parts of the text, all of them, without regard to case or width; ``"…"`` is an exact
phrase (spaces kept); ``-`` in front of anything excludes it; ``field:value`` with ``a,b`` for either, ``*`` for
anything, ``>``, ``>=``, ``<``, ``<=`` or ``a..b`` for numbers and ages (``30m 12h 3d 2w 6mo 1y``), ``yes``/``no`` for
switches.
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fnmatch import translate
from itertools import chain, repeat
from typing import Any, Literal, NamedTuple, TypeVar

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput
from nanomem_tui.memory.retention import get_superseded
from nanomem_tui.memory.scopes import is_foreign, scope_label, source_label
from nanomem_tui.store.values import Item, Lesson, fact_of

Row = TypeVar("Row")
Kind = Literal["text", "number", "age", "switch"]

#: Fields that lists share; a screen passes its own where it has others.
FIELDS: Mapping[str, Kind] = {
    "id": "text",
    "kind": "text",
    "scope": "text",
    "source": "text",
    "session": "text",
    "channel": "text",
    "age": "age",
    "hits": "number",
    "importance": "number",
    "confidence": "number",
    "enabled": "switch",
    "pinned": "switch",
}
TOLD = 6  # values of a field that a hint names
LONGEST = 4_000  # characters of a query: what is longer was pasted by mistake
MOST_PARTS = 60
LONGEST_VALUE = 200  # characters of the value of a text field, which is a pattern
LONGEST_GUESSED = 40  # characters of a word that something similar is looked for
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400, "mo": 30 * 86400, "y": 365 * 86400}
_PART = re.compile(r'(?P<minus>-?)(?:(?P<field>[A-Za-z_]+):)?(?:"(?P<quoted>[^"]*)(?P<close>"?)|(?P<plain>\S*))')
_AMOUNT = re.compile(r"([0-9]+(?:\.[0-9]+)?)(mo|[smhdwy])?")
_SWITCH = {"yes": True, "true": True, "on": True, "1": True, "no": False, "false": False, "off": False, "0": False}


def fold(text: str) -> str:
    """`text` without differences of case and width: what the search compares."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


@dataclass(frozen=True, slots=True)
class FieldTest:
    """One ``field:value`` of a query. `low` and `high` bound numbers and ages (seconds); `pattern` matches texts."""

    field: str
    kind: Kind
    excluded: bool
    value: str
    pattern: str = ""
    low: float | None = None
    high: float | None = None
    open_low: bool = False
    open_high: bool = False
    switch: bool = False

    def accepts(self, value: Any, now: datetime) -> bool:
        """Return whether a row whose field holds `value` passes; None passes only an exclusion."""
        return self._matches(value, now) is not self.excluded

    def _matches(self, value: Any, now: datetime) -> bool:
        if self.kind == "switch":
            return bool(value) is self.switch
        if value is None:
            return False
        if self.kind == "text":
            values = value if isinstance(value, list | tuple | set | frozenset) else (value,)
            return any(_compiled(self.pattern).fullmatch(fold(str(one))) is not None for one in values)
        number = _seconds_since(value, now) if self.kind == "age" else _number(value)
        return number is not None and self._in_range(number)

    def _in_range(self, number: float) -> bool:
        if self.low is not None and (number < self.low or (self.open_low and number == self.low)):
            return False
        return self.high is None or not (number > self.high or (self.open_high and number == self.high))


@dataclass(frozen=True, slots=True)
class Filter:
    """A parsed query: folded `words` and `phrases` must all occur, `excluded` must not; `problems` are sentences."""

    source: str = ""
    words: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    fields: tuple[FieldTest, ...] = ()
    problems: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.words or self.phrases or self.excluded or self.fields)

    def predicate(self, get: Callable[[Row, str], Any], now: datetime | None = None) -> Callable[[Row], bool] | None:
        """A test of a row by its fields (not its text), or None when no field is asked for.

        `get(row, field)` gives the value: text or a collection of texts, a number, a bool, and for an age the time
        (an aware datetime or ISO text). `now` defaults to the clock.
        """
        if not self.fields:
            return None
        moment = now or clock.now()
        tests = self.fields
        return lambda row: all(test.accepts(get(row, test.field), moment) for test in tests)

    def narrows(self, earlier: Filter) -> bool:
        """Return whether this filter passes nothing that `earlier` did not."""
        mine = self.words + self.phrases
        return (
            all(any(old in new for new in mine) for old in earlier.words + earlier.phrases)
            and set(earlier.excluded) <= set(self.excluded)
            and set(earlier.fields) <= set(self.fields)
        )


def unknown_value(wanted: Filter, rows: Sequence[Row], get: Callable[[Row, str], Any]) -> str:
    """Return which text of a field no row has, as a sentence with those there are; "" where each is had by some row."""
    for test in wanted.fields:
        if test.kind != "text" or test.excluded:
            continue
        values: set[str] = set()
        for row in rows:
            value = get(row, test.field)
            values.update(map(str, value) if isinstance(value, list | tuple | set | frozenset) else [str(value or "")])
        known = sorted(values - {""})
        if not any(_compiled(test.pattern).fullmatch(fold(one)) for one in known):
            more = f" and {len(known) - TOLD:,} more" if len(known) > TOLD else ""
            return f"no {test.field} `{test.value}`: there are {', '.join(known[:TOLD]) or 'none'}{more}"
    return ""


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)  # the re module keeps recent patterns


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _seconds_since(value: Any, now: datetime) -> float | None:
    moment = value if isinstance(value, datetime) else clock.parse(value) if isinstance(value, str) else None
    return None if moment is None else (now - moment.astimezone(UTC)).total_seconds()


def parse(query: str, fields: Mapping[str, Kind] = FIELDS) -> Filter:
    """Return the filter that `query` means; never raises: what can't be understood is a problem in words and is left
    out, and so is what is more than anybody types: a key must not wait for a megabyte that was pasted."""
    found = Filter(source=query)
    if len(query) > LONGEST:
        said = f"a filter has at most {LONGEST:,} characters: the rest of {len(query):,} is left out"
        found = replace(found, problems=(said,))
    parts = (match for match in _PART.finditer(query[:LONGEST]) if match.group().strip())
    for number, match in enumerate(parts):
        if number == MOST_PARTS:
            said = f"a filter has at most {MOST_PARTS} parts: the rest is left out"
            return replace(found, problems=(*found.problems, said))
        found = _with_part(found, match, fields)
    return found


def _with_part(found: Filter, match: re.Match[str], fields: Mapping[str, Kind]) -> Filter:
    name, quoted, plain = match.group("field"), match.group("quoted"), match.group("plain") or ""
    excluded = bool(match.group("minus"))
    if name and name.lower() in fields:
        kind = fields[name.lower()]
        value = quoted if quoted is not None else plain
        test = _field_test(name.lower(), kind, value, excluded)
        if isinstance(test, str):
            return replace(found, problems=(*found.problems, test))
        return replace(found, fields=(*found.fields, test))
    if quoted is not None and not name:
        if not quoted:
            return found
        return _with_text(found, fold(quoted), excluded, phrase=True)
    word = match.group()[1:] if excluded else match.group()
    if name and not plain.startswith("//"):
        known = ", ".join(sorted(fields))
        said = f"no field “{name}” here, searched as text (fields: {known})"
        found = replace(found, problems=(*found.problems, said))
    if not word.strip('"'):
        return found
    return _with_text(found, fold(word), excluded, phrase=False)


def _with_text(found: Filter, text: str, excluded: bool, phrase: bool) -> Filter:
    if excluded:
        return replace(found, excluded=(*found.excluded, text))
    if phrase:
        return replace(found, phrases=(*found.phrases, text))
    return replace(found, words=(*found.words, text))


def _field_test(name: str, kind: Kind, value: str, excluded: bool) -> FieldTest | str:
    """Return the test for one ``field:value``, or what is wrong with it."""
    if not value:
        return f"{name}: a value is missing"
    if kind == "switch":
        switch = _SWITCH.get(value.lower())
        return f"{name}: say yes or no" if switch is None else FieldTest(name, kind, excluded, value, switch=switch)
    if len(value) > LONGEST_VALUE:
        return f"{name}: at most {LONGEST_VALUE} characters can be asked for, these are {len(value):,}"
    if kind == "text":
        pattern = "|".join(translate(fold(one)) for one in value.split(",") if one)
        return FieldTest(name, kind, excluded, value, pattern=pattern)
    return _range_test(name, kind, value, excluded)


def _range_test(name: str, kind: Kind, value: str, excluded: bool) -> FieldTest | str:
    example = f"{name}:>30d" if kind == "age" else f"{name}:>3"
    wrong = f"{name}:{value} is no {'age' if kind == 'age' else 'number'} (like {example})"
    if ".." in value:
        first, _, second = value.partition("..")
        low, high = _amount(first, kind), _amount(second, kind)
        if (first and low is None) or (second and high is None) or not (first or second):
            return wrong
        return FieldTest(name, kind, excluded, value, low=low, high=high)
    sign = next((sign for sign in (">=", "<=", ">", "<", "=") if value.startswith(sign)), "")
    amount = _amount(value[len(sign) :], kind)
    if amount is None:
        return wrong
    if sign.startswith(">"):
        return FieldTest(name, kind, excluded, value, low=amount, open_low=sign == ">")
    if sign.startswith("<"):
        return FieldTest(name, kind, excluded, value, high=amount, open_high=sign == "<")
    if kind == "age":  # "age:3d" is the third day back, not the exact second
        unit = _AMOUNT.fullmatch(value[len(sign) :].lower())
        step = _SECONDS[(unit and unit.group(2)) or "d"]
        return FieldTest(name, kind, excluded, value, low=amount, high=amount + step, open_high=True)
    return FieldTest(name, kind, excluded, value, low=amount, high=amount)


def _amount(text: str, kind: Kind) -> float | None:
    match = _AMOUNT.fullmatch(text.lower())
    if match is None or (kind == "number" and match.group(2)):
        return None
    return float(match.group(1)) * (_SECONDS[match.group(2) or "d"] if kind == "age" else 1)


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found: `indexes` into the list of texts, in list order, or best first when `fuzzy`."""

    filter: Filter
    indexes: Sequence[int]
    fuzzy: bool = False


class Search:
    """One search through folded texts, made in steps so that a worker can stop between them.

    `accept(index)` judges the fields of a row (None: every row). `previous` is the finished result of an earlier search
    of the same texts: when the new filter narrows it, only those rows are looked at again. Words that occur nowhere as
    they are get a second, fuzzy pass, best first.
    """

    FUZZY_CUTOFF = 75
    FUZZY_STEP = 8  # a fuzzy comparison costs about this many plain ones

    def __init__(
        self,
        texts: Sequence[str],
        wanted: Filter,
        accept: Callable[[int], bool] | None = None,
        previous: Found | None = None,
        fuzzy: bool = True,
    ) -> None:
        self.filter = wanted
        self._texts = texts
        self._accept = accept
        reuse = previous is not None and not previous.fuzzy and wanted.narrows(previous.filter)
        self._candidates: Sequence[int] = previous.indexes if reuse and previous is not None else range(len(texts))
        self._at = 0
        self._plain: list[int] = []
        self._scored: list[tuple[float, int]] = []
        self._may_be_fuzzy = fuzzy and bool(wanted.words) and max(map(len, wanted.words)) <= LONGEST_GUESSED
        self._fuzzy_pass = False
        self.done = False

    @property
    def guessing(self) -> bool:
        """Whether nothing matched as it is, and similar texts are looked for."""
        return self._fuzzy_pass

    @property
    def found(self) -> Found:
        """What the steps so far have found."""
        if self._fuzzy_pass:
            ranked = sorted(self._scored, key=lambda pair: (-pair[0], pair[1]))
            return Found(self.filter, [index for _, index in ranked], fuzzy=True)
        return Found(self.filter, self._plain)

    def step(self, rows: int = 10_000) -> bool:
        """Look at the next rows (about 1 ms for each 10,000); True when the search is done."""
        if not self.done:
            if self._fuzzy_pass:
                self._step_fuzzy(max(rows // self.FUZZY_STEP, 1))
            else:
                self._step_plain(rows)
        return self.done

    def run(self) -> Found:
        """Search to the end."""
        while not self.step(100_000):
            pass
        return self.found

    def _step_plain(self, rows: int) -> None:
        texts, part = self._texts, self._candidates[self._at : self._at + rows]
        for needle in self.filter.words + self.filter.phrases:
            part = [index for index in part if needle in texts[index]]
        for needle in self.filter.excluded:
            part = [index for index in part if needle not in texts[index]]
        if self._accept is not None:
            part = [index for index in part if self._accept(index)]
        self._plain.extend(part)
        self._at += rows
        if self._at >= len(self._candidates):
            self._at = 0
            self._fuzzy_pass = self._may_be_fuzzy and not self._plain
            self._candidates = range(len(texts))
            self.done = not self._fuzzy_pass

    def _step_fuzzy(self, rows: int) -> None:
        from rapidfuzz import fuzz, process

        end = min(self._at + rows, len(self._candidates))
        scores: dict[int, float] = {index: 0.0 for index in self._candidates[self._at : end] if self._passes(index)}
        for word in sorted(self.filter.words, key=len, reverse=True):
            texts = {index: self._texts[index] for index in scores}
            hits = process.extract_iter(word, texts, scorer=fuzz.partial_ratio, score_cutoff=self.FUZZY_CUTOFF)
            scores = {index: scores[index] + score for _, score, index in hits}
        self._scored.extend((score, index) for index, score in scores.items())
        self._at = end
        self.done = end >= len(self._candidates)

    def _passes(self, index: int) -> bool:
        text = self._texts[index]
        return (
            all(phrase in text for phrase in self.filter.phrases)
            and not any(word in text for word in self.filter.excluded)
            and (self._accept is None or self._accept(index))
        )


def search(
    texts: Sequence[str],
    wanted: Filter,
    accept: Callable[[int], bool] | None = None,
    previous: Found | None = None,
) -> Found:
    """Search folded `texts` to the end; see `Search` for the arguments and for searching in steps."""
    return Search(texts, wanted, accept, previous).run()


def rank_matches(texts: Sequence[str], found: Found, limit: int = 2000) -> list[int]:
    """Return the indexes of `found`, best first: text that begins with a word, then a word that begins with it, then
    the rest.

    Longer results than `limit` keep list order: a person narrows those before order matters.
    """
    words = found.filter.words + found.filter.phrases
    if found.fuzzy or not words or len(found.indexes) > limit:
        return list(found.indexes)

    def rank(index: int) -> int:
        text = texts[index]
        total = 0
        for word in words:
            at = text.find(word)
            total += 0 if at == 0 else 1 if at > 0 and not text[at - 1].isalnum() else 2
        return total

    return sorted(found.indexes, key=rank)


# What the filter language may ask of items and lessons: the same on a screen and in a command.

ITEM_FIELDS: Mapping[str, Kind] = {
    **FIELDS, "foreign": "switch", "conflict": "switch", "superseded": "switch",
    "domain": "text", "category": "text", "key": "text",  # of items that are facts
}  # fmt: skip
LESSON_FIELDS: Mapping[str, Kind] = {
    "id": "text", "scope": "text", "session": "text", "source": "text", "age": "age", "hits": "number",
    "confidence": "number", "enabled": "switch", "faded": "switch", "superseded": "switch",
}  # fmt: skip
_OF_FACTS = frozenset({"domain", "category", "key"})


def item_field(row: Item, name: str) -> Any:
    """Return the value of a field of `ITEM_FIELDS`."""
    if name == "scope":
        return {row.scope_type, row.scope_key, scope_label(row)}
    if name == "age":
        return row.updated_at
    if name == "session":
        return row.session_key
    if name == "source":
        return {row.source, source_label(row)}
    if name == "foreign":
        return is_foreign(row)
    if name == "conflict":
        return "conflict" in row.meta
    if name == "superseded":
        return get_superseded(row) is not None
    if name in _OF_FACTS:
        fact = fact_of(row)
        return getattr(fact, name) if fact is not None else None
    return getattr(row, name)


def lesson_field(row: Lesson, name: str, effective: Callable[[Lesson], float], faded: Callable[[Lesson], bool]) -> Any:
    """Return a field of `LESSON_FIELDS`; `effective`: the confidence now, `faded`: whether it is too low."""
    if name == "age":
        return row.updated_at
    if name == "session":
        return row.session_key
    if name == "confidence":
        return effective(row)
    if name == "superseded":
        return get_superseded(row) is not None
    return faded(row) if name == "faded" else getattr(row, name)


def lesson_text(row: Lesson) -> str:
    """Return what words are searched in."""
    return f"{row.trigger}\n{row.better_action}\n{row.bad_action}"


def filter_rows(
    rows: Sequence[Row],
    query: str,
    fields: Mapping[str, Kind],
    text: Callable[[Row], str],
    field: Callable[[Row, str], Any],
) -> list[Row]:
    """Return the rows that a filter lets through, in their order, without similar ones."""
    wanted = parse_strict(query, fields)
    if not wanted:
        return list(rows)
    test = wanted.predicate(field)
    accept = None if test is None else lambda index: test(rows[index])
    found = Search([fold(text(row)) for row in rows], wanted, accept, fuzzy=False).run()
    return [rows[index] for index in found.indexes]


def parse_strict(query: str, fields: Mapping[str, Kind]) -> Filter:
    """Return the filter that `query` means. Raises BadInput for one of which a part is not understood."""
    wanted = parse(query, fields)
    if wanted.problems:
        raise BadInput(wanted.problems[0], "--filter", 'like kind:fact scope:telegram:* age:>30d hits:0 "exact" -word')
    return wanted


# Finding words in long texts: the query language of the filters, where in the original text each hit lies, and what
# stands around it.

Range = tuple[int, int]
"""Start and end of a hit in characters of a text, end excluded."""

_PLAIN = re.compile(r"[a-z0-9]+")
EXCERPT = 240
"""Characters of an excerpt, so that a message of megabytes costs a search no memory."""


AROUND = 2
"""Neighbours on each side of a hit."""

Value = TypeVar("Value")


class Neighbour(NamedTuple):
    """What stands beside a hit: its id in its source, who said it (or ""), when, and its text."""

    id: str
    role: str
    timestamp: str
    text: str


class Matcher(NamedTuple):
    """A query made ready: all `needles` must occur and none of `excluded`, without regard to case or width.

    `precise`: it says exactly what is looked for, by a phrase or by what must not be there.
    """

    needles: tuple[str, ...]
    excluded: tuple[str, ...] = ()
    precise: bool = False

    def __bool__(self) -> bool:
        return bool(self.needles)

    def matches(self, text: str) -> bool:
        """Return whether `text` holds what the query asks for."""
        folded = fold(text)
        return all(needle in folded for needle in self.needles) and not any(word in folded for word in self.excluded)

    def may_be_in(self, line: bytes) -> bool:
        """Return whether a line of JSON may match; False only for ASCII that lacks a plain word of the query."""
        if not line.isascii() or b"\\u" in line:  # other letters may be the same without case and width
            return True
        folded = line.lower()
        return all(needle.encode() in folded for needle in self.needles if _PLAIN.fullmatch(needle))

    def ranges(self, text: str) -> tuple[Range, ...]:
        """Return where the needles lie in `text`, in order, overlaps joined."""
        folded, origin = _folded_with_origin(text)
        found: list[Range] = []
        for needle in self.needles:
            at = folded.find(needle)
            while at >= 0:
                found.append((origin[at], origin[at + len(needle) - 1] + 1))
                at = folded.find(needle, at + len(needle))
        joined: list[Range] = []
        for start, end in sorted(found):
            if joined and start <= joined[-1][1]:
                joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
            else:
                joined.append((start, end))
        return tuple(joined)

    def excerpt(self, text: str, width: int = EXCERPT) -> tuple[str, tuple[Range, ...]]:
        """Return at most `width` characters around the first hit, and the hits in them."""
        ranges = self.ranges(text)
        if len(text) <= width:
            return text, ranges
        start = max(0, min((ranges[0][0] if ranges else 0) - width // 4, len(text) - width))
        end = start + width
        shift = start - 1 if start else 0
        part = ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")
        inside = [(max(a, start), min(b, end)) for a, b in ranges if a < end and b > start]
        return part, tuple((a - shift, b - shift) for a, b in inside)


def matcher(query: str) -> Matcher:
    """Return the matcher of a query as people type it: words, `"exact phrases"`, `-without`."""
    parsed = parse(query, {})
    precise = bool(parsed.phrases or parsed.excluded)
    return Matcher(parsed.words + parsed.phrases, parsed.excluded, precise)


def with_neighbours(stream: Iterable[Value], many: int = AROUND) -> Iterator[tuple[Value, deque[Value | None]]]:
    """Yield each value of a stream with the window that it is in the middle of; None where the stream ends.

    The window is one object that moves on: read it before the next value.
    """
    window: deque[Value | None] = deque(repeat(None, 2 * many + 1), maxlen=2 * many + 1)
    for value in chain(stream, repeat(None, many)):
        window.append(value)
        middle = window[many]
        if middle is not None:
            yield middle, window


def _folded_with_origin(text: str) -> tuple[str, range | list[int]]:
    """`text` folded character by character, and for each folded character the place it came from."""
    if text.isascii():
        return text.lower(), range(len(text))
    folded: list[str] = []
    origin: list[int] = []
    for place, character in enumerate(text):
        pieces = unicodedata.normalize("NFKC", character).casefold()
        folded.append(pieces)
        origin.extend([place] * len(pieces))
    return "".join(folded), origin
