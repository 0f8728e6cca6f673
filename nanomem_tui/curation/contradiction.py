"""Whether two texts say of the same what cannot both be so: another value of what has one at a time, or yes and no.

Owns what a text says (`said`), and which two values stand against each other. Errs towards no contradiction: a false
one costs a person time. Pure functions over text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from nanomem_tui.curation import said_words as known
from nanomem_tui.curation.said import Said
from nanomem_tui.dream.claims import are_several, of_one_kind
from nanomem_tui.tokens import fold

MOST = 400
"""Characters of a text; what is longer tells more than can be compared sentence by sentence."""
SENTENCES = 4
MOST_ORDER = 120
"""Characters of an order."""
_UNSPACED = re.compile(r"[฀-๿ぁ-ヿ㐀-鿿]")
_SENTENCES = re.compile(
    r"[。！；\n]+|(?<=[^\W\d_][\w)\"'])(?<!\b[DMS][rst])(?<!\bMrs)(?<!\bProf)[.!;](?:\s+|$)|(?<=[㐀-鿿])[，,](?=我|用户)"
)
_AND = re.compile(r",? and (?=(?:is|has|lives|works|likes|prefers|uses|does|hates|owns|speaks) )", re.IGNORECASE)
WEIGHT: Mapping[str, float] = {
    "so": 0.9, "place": 0.8, "name": 0.75, "number": 0.85, "date": 0.85, "zone": 0.7, "word": 0.9, "way": 0.85,
}  # fmt: skip
"""How sure a contradiction of that form is."""


class Rivals(NamedTuple):
    """What two texts say otherwise: the two sayings, of one key."""

    one: Said
    other: Said

    @property
    def weight(self) -> float:
        """How sure it is, from 0 to 1."""
        return WEIGHT[self.one.form]

    @property
    def about(self) -> str:
        """What is said otherwise, in words: `home`, `likes coffee`."""
        who, _, what = self.one.key.partition("|")
        plain = what.removeprefix("± ").replace("<number>", "…")
        plain = re.sub(r"<way \d+>", "…", plain)
        return plain if who in ("", "user") else f"{plain} of {who}"

    def words(self) -> str:
        """The contradiction as a person reads it."""
        if self.one.form == "so":
            return "one says yes, the other no"
        return f"{self.about}: {self.one.value} ≠ {self.other.value}"


def said(text: str) -> tuple[Said, ...]:
    """What a text says, each key once."""
    if len(text) > MOST:
        return ()
    found: dict[str, Said] = {}
    for sentence in _sentences(text):
        for one in _read(sentence):
            found.setdefault(one.key, one)
    if len(text) <= MOST_ORDER and not text.startswith(("用户", "用戶", "User ", "The user ")):
        found.update((one.key, one) for one in _orders(text))
    return tuple(found.values())


def rivals(one: str, other: str) -> Rivals | None:
    """The surest thing that two texts say otherwise; None when they can both be so."""
    there = {told.key: told for told in said(other)}
    found = [
        Rivals(told, rival) for told in said(one) if (rival := there.get(told.key)) is not None and against(told, rival)
    ]
    return max(found, key=lambda pair: pair.weight, default=None)


def against(one: Said, other: Said) -> bool:
    """Whether two values of one key cannot both be so."""
    first, second = _plain(one.value), _plain(other.value)
    if first == second or not first or not second:
        return False
    if _amount(first) is not None and _amount(second) is not None and "date" not in (one.form, other.form):
        return _numbers(first, second)
    if one.form != other.form:
        return False
    if one.form in ("so", "word", "way"):
        return True
    if are_several(one.value) or are_several(other.value) or _LISTED.search(one.value + other.value):
        return False
    compare = {"number": _numbers, "date": _dates, "place": _places, "zone": _zones}.get(one.form, _names)
    return compare(first, second)


_LISTED = re.compile(r"、|\bor\b|(?<!\d),(?!\d)|(?<=\w) / |或|หรือ|และ")


def _sentences(text: str) -> Iterator[str]:
    number = 0
    for sentence in _SENTENCES.split(text):
        for part in _AND.split(sentence) if sentence else ():
            if part.strip() and number < SENTENCES:
                number += 1
                yield part.strip()


def _read(sentence: str) -> Iterator[Said]:
    if sentence.isascii() or not _UNSPACED.search(sentence):
        from nanomem_tui.curation import said_english

        yield from said_english.read(sentence)
    else:
        from nanomem_tui.curation import said_unspaced

        yield from said_unspaced.read(sentence)


def _orders(text: str) -> Iterator[Said]:
    """What a text orders or forbids."""
    from nanomem_tui.memory.stances import stances

    for stance in stances(text):
        yield Said(f"order|± {stance.subject}", "yes" if stance.wanted else "no", "so")


def _plain(value: str) -> str:
    plain = fold(value).strip(" .,;!\"'“”`*").removeprefix("the ")
    return known.SHORT_NAMES.get(plain, plain)


def _names(one: str, other: str) -> bool:
    first, second = _words(one), _words(other)
    if first and second and (first <= second or second <= first):
        return False
    if re.sub(r"\W", "", one) == re.sub(r"\W", "", other) or one in other or other in one:
        return False
    if _digits(one) and _digits(other) and (_digits(one)[-7:] == _digits(other)[-7:]) and len(_digits(one)) > 6:
        return False
    if one.isdigit() and other.isdigit():
        return int(one) != int(other)
    return of_one_kind(one, other) and not _alike(one, other)


def _alike(one: str, other: str) -> bool:
    """Whether two names are one with a slip, or one in other words."""
    from nanomem_tui.curation.value_guard import judge

    return all(difference.kind in ("form", "spelling", "order") for difference in judge(one, other)[1])


def _numbers(one: str, other: str) -> bool:
    first, second = _amount(one), _amount(other)
    return first is not None and second is not None and first[1] == second[1] and first[0] != second[0]


_AMOUNT = re.compile(r"[$€£]?\s*(\d[\d.,:]*)\s*(.*)")
_SAME_UNIT = {"kilo": "kg", "kilos": "kg", "公斤": "kg", "千克": "kg", "厘米": "cm", "公分": "cm", "米": "m", "pounds": "lbs",  # noqa: E501
              "lb": "lbs", "years old": "", "feet": "ft"}  # fmt: skip


def _amount(text: str) -> tuple[str, str] | None:
    """(number, unit) of an amount; `.00` and commas between thousands do not count."""
    found = _AMOUNT.fullmatch(text)
    if found is None:
        return None
    number, unit = re.sub(r",(?=\d{3}\b)", "", found[1].rstrip(".,:")), found[2].strip()
    if unit == "k":
        number, unit = f"{number}000", ""
    if re.fullmatch(r"\d+[.:]00?", number):
        number = number[: re.search(r"[.:]", number).start()]  # type: ignore[union-attr]
    return number.lstrip("0") or "0", _SAME_UNIT.get(unit, unit)


def _dates(one: str, other: str) -> bool:
    first, second = _date(one), _date(other)
    if first is None or second is None:
        return first is second is None and _names(one, other) and bool(_DAYS.search(one) and _DAYS.search(other))
    return not (first <= second or second <= first)  # a date with and without its year is one


_DAYS = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|周[一二三四五六日]|星期")
_DATE = re.compile(r"\d+|[a-z]{3,9}")


def _date(text: str) -> Counter[int] | None:
    """The numbers that make a date, a month by name as its number; None for what is none."""
    found = Counter[int]()
    for part in _DATE.findall(text):
        number = int(part) if part.isdigit() else known.MONTHS.get(re.sub(r"(?:st|nd|rd|th)$", "", part)[:3])
        if number is not None:
            found[number] += 1
        elif part not in ("st", "nd", "rd", "th", "the", "day") and not part.endswith("day"):
            return None
    return found or None


def _places(one: str, other: str) -> bool:
    if (one in known.WIDER) != (other in known.WIDER):
        return False
    one_known, other_known = ({_short(part) for part in re.split(r",\s*", place)} for place in (one, other))
    return not one_known & other_known and _names(one, other)


def _short(place: str) -> str:
    plain = re.sub(r"(?<=..)[市省]$|^จังหวัด|^เมือง| city$", "", place.strip())
    return known.SHORT_NAMES.get(plain, plain)


def _zones(one: str, other: str) -> bool:
    both = [zone for zone in (one, other) if "/" in zone]
    offsets = [found[0] for zone in (one, other) if (found := re.search(r"[-+]\d+", zone))]
    if len(both) == 2:
        return one != other
    return len(offsets) == 2 and int(offsets[0]) != int(offsets[1])


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text)) if text.isascii() else frozenset()


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)
