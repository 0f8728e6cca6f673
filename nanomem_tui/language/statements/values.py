"""The values that a text gives: numbers, amounts with a unit, money, percentages, clock times, dates, versions, hosts,
addresses of mail and web, phone numbers. Read the same way in ten languages, so that 1.5 km, 1,500 m and 1500 Meter
are one value, and half past three, 15:30 and 3:30 pm another. The patterns are data (`packs/values.toml`), and the
words are, too (`packs/value-words.json`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from nanomem_tui.language import pack_files
from nanomem_tui.language.classify import language_of

# Numbers as they are written: in digits with the separators of any country, in Chinese characters, in one word.

CJK_DIGITS = {
    char: n
    for n, chars in enumerate(("零〇", "一", "二两兩", "三", "四", "五", "六", "七", "八", "九"))
    for char in chars
}
CJK_SCALES = {"十": 10, "百": 100, "千": 1000, "万": 10_000, "萬": 10_000, "亿": 10**8, "億": 10**8}
CJK = "零〇一二两兩三四五六七八九十百千万萬亿億"
"""The characters of numbers."""


def number_of(written: str) -> float:
    """Read a number in digits with separators of any country: groups of three are thousands.

    >>> number_of("1,500"), number_of("1.500,25"), number_of("2,5"), number_of("0.500")
    (1500.0, 1500.25, 2.5, 0.5)
    """
    plain = re.sub(r"[\s'’\u00a0\u202f]", "", written)
    marks = [char for char in plain if char in ".,"]
    if not marks:
        return float(plain)
    last = max(plain.rfind("."), plain.rfind(","))
    grouped = len(plain) - last - 1 == 3 and not plain.startswith("0")
    if len(set(marks)) == 2 or not grouped:
        whole = re.sub(r"[.,]", "", plain[:last])
        return float(f"{whole}.{plain[last + 1 :]}")
    return float(re.sub(r"[.,]", "", plain))


def cjk_number(written: str) -> int:
    """Read a number in Chinese characters.

    >>> cjk_number("四十"), cjk_number("两千五"), cjk_number("十一万")
    (40, 2500, 110000)
    """
    total = part = digit = 0
    last = 1
    for char in written:
        if char in CJK_DIGITS:
            digit = digit * 10 + CJK_DIGITS[char] if last == 0 else CJK_DIGITS[char]
            last = 0 if last == 0 or not (part or total) else last
        else:
            scale = CJK_SCALES[char]
            if scale >= 10_000:
                total, part = (total + part + digit or 1) * scale, 0
            else:
                part += (digit or 1) * scale
            digit, last = 0, scale
    if digit and last > 10:
        return total + part + digit * last // 10
    return total + part + digit


def long_number(word: str, numbers: Mapping[str, int]) -> int | None:
    """Read a number that is written as one word, None where it is none. `numbers`: those below a hundred.

    >>> long_number("zweihundert", {"zwei": 2}), long_number("tremila", {"tre": 3})
    (200, 3000)
    """
    for scale, factor in (("tausend", 1000), ("hundert", 100), ("mila", 1000), ("cento", 100)):
        head, found, tail = word.partition(scale)
        tail = tail.removeprefix("und")
        if found and (head in ("", "ein") or head in numbers) and (not tail or tail in numbers):
            return numbers.get(head, 1) * factor + numbers.get(tail, 0)
    return None


LONGEST_NUMBER = 12
"""Characters of a number in Chinese characters that is read."""
UNSPACED_DATES = ("zh", "ja", "ko")
"""Languages in which 1/17 is the 17th of January."""
_MONEY_SIGNS = "$€£¥￥₩₹₽"

pattern = pack_files.patterns("values")
"""Return a pattern of `packs/values.toml`."""


class Value(NamedTuple):
    """A value in a text. `kind`: `number`, `clock`, `date`, a dimension (`length`, `mass`, `time`, `money EUR`, …),
    `version`, `host`, `mail`, `url` or `phone`. `base`: the value in the base unit of its kind, alike for all
    that are the same. `amount`: the number as it stands. `start` and `end`: where it stands."""

    kind: str
    base: Any
    amount: float | None
    start: int
    end: int


@lru_cache(None)
def _words(name: str) -> tuple[str, ...]:
    return tuple(pack_files.table("values")[name].split())


def values(text: str, language: str = "") -> list[Value]:
    """Return the values of a text in their order. `language`: its code, found out when empty.

    >>> [(one.kind, one.base) for one in values("The shed is 2 km away, ready on 4 March")]
    [('length', 2000.0), ('date', (None, 3, 4))]
    """
    language = language or language_of(text)
    known = pack_files.table("value-words")
    numbers = known["numbers"].get(language, {})
    found: list[Value] = []
    taken = list(_of_halves(text, numbers))
    at, scan = 0, pattern("scan")
    while match := scan.search(text, at):
        kind, start, at = match.lastgroup, match.start(), match.end()
        if spans := [one for one in taken if one.start <= start < one.end]:
            at = max(at, spans[0].end)
            continue
        value: Value | None = None
        if kind == "word":
            value = _of_word(text, match, numbers, known, language)
        elif kind == "digits":
            value = _of_number(text, start, at, number_of(match[0]), known)
        elif kind == "cjknumber":
            value = _of_cjk(text, match, known)
        elif kind == "dm" and not _is_day(match[0], language):
            number = re.match(r"\d+(?:\.\d+)?", match[0])
            assert number is not None
            value = _of_number(text, start, start + number.end(), number_of(number[0]), known)
            at = start + number.end()
        elif kind != "code":
            value = _special(str(kind), match, text)
        if value is not None:
            found.append(value)
            at = max(at, value.end)
    return sorted([*found, *taken], key=lambda one: one.start) if taken else found


def _is_day(written: str, language: str) -> bool:
    """Whether two numbers with a mark between them are a day and a month: 4.3. in German, 1/17 in Japanese."""
    if "/" in written:
        return language in UNSPACED_DATES
    day, month = written.split(".")[:2]
    return 1 <= int(month) <= 12 and 1 <= int(day) <= 31 and (language in ("de", "ru") or len(day) == len(month) == 2)


def _of_halves(text: str, numbers: dict[str, int]) -> list[Value]:
    """Hours and times that are told in halves and quarters."""
    lower = text.lower()
    if not any(sign in lower for sign in _words("half_signs")):
        return []
    found = []
    for match in pattern("halves").finditer(text):
        minutes = 30.0 if match[1] else 90.0
        found.append(Value("time", minutes, minutes, match.start(), match.end()))
    for match in pattern("clock_words").finditer(text):
        hour = (match[2] or match[3]).lower()
        is_digits = hour.isdecimal() and len(hour) < 3
        number = int(hour) if is_digits else 1 if hour in ("one", "una", "une", "uma") else numbers.get(hour)
        is_free = not any(one.start < match.end() and match.start() < one.end for one in found)
        if number is not None and number <= 24 and is_free:
            minutes = number * 60 + int(pack_files.meanings("values", "clock_turns")[(match[1] or match[4]).lower()])
            found.append(_clock(minutes, number, text, match.start(), match.end()))
    return found


def _clock(minutes: float, hour: float, text: str, start: int, end: int) -> Value:
    """A clock time: minutes of twelve hours, and whether it is surely of the second half of the day."""
    late: bool | None = True if minutes >= 780 else None
    if late is None and text[max(0, start - 3) : start].rstrip().endswith(_words("late_before")):
        late = True
    elif late is None and (found := pattern("late").match(text, end)):
        late, end = True, found.end()
    return Value("clock", (minutes % 720, late), float(hour), start, end)


def _special(kind: str, match: re.Match[str], text: str) -> Value | None:
    """What has a form of its own."""
    start, end, written = match.start(), match.end(), match[0]
    if kind in ("url", "mail", "host", "version"):
        base = written.lower().rstrip("/").removeprefix("https://").removeprefix("http://").removeprefix("www.")
        return Value(kind, base.removeprefix("v") if kind == "version" else base, None, start, end)
    if kind == "phone":
        return Value(kind, re.sub(r"\D", "", written)[-8:], None, start, end)
    if kind == "clock":
        parts = [int(part) for part in re.findall(r"\d+", written)]
        minutes = parts[0] * 60 + (parts[1] if len(parts) > 1 else 0)
        mark = written.lower()
        if "p" in mark and parts[0] < 12:
            minutes += 720
        if "a" in mark:
            return Value(kind, (minutes % 720, False), float(parts[0]), start, end)
        return _clock(minutes, parts[0], text, start, end)
    year: int | None
    numbers = [int(part) if part.isdigit() else cjk_number(part) for part in re.findall(rf"\d+|[{CJK}]+", written)]
    if kind == "cjkdate":
        year = numbers.pop(0) if "年" in written or "년" in written else None
        month, day = numbers[0], numbers[1] if len(numbers) > 1 else None
    elif kind == "iso":
        year, month, day = numbers
    elif kind == "dm":
        year, (first, last) = None, numbers
        day, month = (first, last) if "." in written or first > 12 else (last, first)
    else:
        day, month = numbers[:2]
        year = numbers[2] + (2000 if numbers[2] < 100 else 0)
        if month > 12 >= day:
            day, month = month, day
    if not 1 <= month <= 12 or (day is not None and day > 31):
        return None
    return Value("date", (year, month, day), None, start, end)


def _of_word(
    text: str, match: re.Match[str], numbers: dict[str, int], known: dict[str, Any], language: str
) -> Value | None:
    """A number in words, or a month with what stands after it."""
    word = match[0].lower()
    month = known["months"].get(word)
    if month is not None and not (word in numbers and language == "fr"):
        if (found := pattern("day_behind").match(text, match.end())) and int(found[1]) <= 31:
            year = int(found[2]) if found[2] else None
            return Value("date", (year, month, int(found[1])), None, match.start(), found.end())
        if found := pattern("year").match(text, match.end()):
            return Value("date", (int(found[1]), month, None), None, match.start(), found.end())
        is_sure = (match[0][0].isupper() and match.start()) or language in ("de", "fr")
        if word in _words("ambiguous_months") and not is_sure:
            return None
        return Value("date", (None, month, None), None, match.start(), match.end())
    number = numbers.get(word)
    if number is None and language == "ko":
        for size in (4, 3, 2, 1):  # a number with its counter and an ending
            part = word[:size]
            if size < len(word) and part in numbers and (size > 1 or word[size:].startswith(_words("korean_counters"))):
                return _of_number(text, match.start(), match.start() + size, float(numbers[part]), known)
    if number is None and len(word) > 6 and language in ("de", "it"):
        number = long_number(word, numbers)
    if number is None:
        return None
    end, total = match.end(), float(number)
    while following := pattern("more_number").match(text, end):
        more = numbers.get(following[1].lower())
        if more is None:
            break
        fits = (total >= 20 and more < 10 and total % 10 == 0) or (total >= 100 and more < 100)
        if not fits:
            break
        total, end = total + more, following.end()
    return _of_number(text, match.start(), end, total, known)


def _of_cjk(text: str, match: re.Match[str], known: dict[str, Any]) -> Value | None:
    """A number in Chinese characters, where a unit, a counter or a power of ten shows that it is one."""
    start, end, written = match.start(), match.end(), match[0]
    if len(written) > LONGEST_NUMBER:
        return None
    number = cjk_number(written)
    if text[start - 1 : start] in ("第", "周", "週", "期", "拜", "统", "統"):
        return None
    value = _of_number(text, start, end, float(number), known)
    if value.kind != "number":
        return value if number != 1 or value.kind not in ("time", "heat") or text[end : end + 1] not in "天度" else None
    if len(written) > 1 and any(char in CJK_SCALES for char in written):
        return value
    return value if number != 1 and text[end : end + 1] in _words("counters") else None


def _of_number(text: str, start: int, end: int, number: float, known: dict[str, Any]) -> Value:
    """A number with its sign, scale, unit, currency or month."""
    before = text[max(0, start - 12) : start]
    behind = text[end : end + 40].lower()
    is_below = before.lower().rstrip().endswith(tuple(known["minus"])) or any(sign in behind for sign in known["below"])
    if is_below or pattern("isolated_minus").search(before):
        number = -number
    last = (before.split() or [""])[-1]
    is_code = (len(last) == 3 and last.isupper() and last.isalpha()) or last[-1:] in _MONEY_SIGNS
    money = (known["money"].get(last.lower()) or known["money"].get(last[-1:])) if is_code and last else None
    found = pattern("month_behind").match(text, end)
    if found and (month := known["months"].get(found[1].lower())) and number <= 31:
        year = pattern("year").match(text, found.end())
        stop = year.end() if year else found.end()
        return Value("date", (int(year[1]) if year else None, month, int(number)), number, start, stop)
    while found := pattern("next_word").match(text, end):
        word = found[1]
        scale = known["scales"].get(word.lower()) or (word[0] in "万萬千亿億百만천억백" and known["scales"][word[0]])
        if scale:
            number, end = number * scale, found.start(1) + (len(word) if word.lower() in known["scales"] else 1)
            if scale == 10**8 and (rest := pattern("ten_thousands").match(text, end)):
                number, end = number + float(rest[1]) * (1000 if rest[2] else 1) * 10_000, rest.end()
            elif scale >= 10_000 and (rest := pattern("thousands").match(text, end)):
                number, end = number + float(rest[1]) * scale / 10, rest.end()
            continue
        if word[0] in "年년" and 1900 <= number <= 2099:
            break
        unit, stop = _unit(text, found, number, known)
        if unit is not None and number and unit[0] != "clock" and (half := pattern("and_half").match(text, stop)):
            return Value(unit[0], round(unit[1] * (number + 0.5) / number, 6), number + 0.5, start, half.end())
        if unit is not None:
            return Value(unit[0], unit[1], unit[2], start, stop)
        break
    if number <= 12 and (found := pattern("hour_behind").match(text, end)):
        return _clock(number * 60, number, text, start, end if pattern("late").match(text, end) else found.end())
    if money:
        return Value(f"money {money}", number, number, start, end)
    if pattern("ordinal").match(text, end):
        return Value("number", number, number, start, end)
    if 1900 <= number <= 2099 and number == int(number) and text[start:end].isdigit() and "." not in text[start:end]:
        return Value("date", (int(number), None, None), number, start, end + text.startswith(("年", "년"), end))
    return Value("number", number, number, start, end)


def _unit(text: str, found: re.Match[str], number: float, known: dict[str, Any]) -> tuple[Any, int]:
    """The kind, base and amount of a number with what stands behind it, and where that ends."""
    word, start = found[1].lower(), found.start(1)
    hour = word[:1]
    if hour in ("点", "點", "時", "시") and not word.startswith(("時間", "시간")) and number <= 24:
        end, minutes = start + 1, number * 60
        if half := pattern("minutes_behind").match(text, end):
            part = half[2]
            minutes += 30 if not part else int(part) if part.isdigit() else cjk_number(part)
            end = half.end()
        first, is_joined = start, text[start - 1].isdecimal() or text[start - 1] in CJK
        while first and (text[first - 1].isdigit() or text[first - 1] in f"{CJK} "):
            first -= 1
        value = _clock(minutes, number, text, first if is_joined else start, end)
        return (value.kind, value.base, number), value.end
    for length in range(len(word), 0, -1):
        part = word[:length]
        if length < len(word) and word[length] < "\u3040" and part[-1] < "\u3040" and part[-1] not in "²2":
            continue  # only scripts without blanks or endings write a unit at the beginning of a longer word
        if part in known["money"]:
            return (f"money {known['money'][part]}", number, number), start + length
        if part in known["units"]:
            dimension, factor = known["units"][part]
            return (dimension, round(number * factor, 6), number), start + length
    return None, start


def equal(one: Value, other: Value) -> bool:
    """Whether two values are the same; a bare number equals any amount with that number."""
    if one.kind == other.kind:
        if one.kind == "clock":
            (a, late), (b, other_late) = one.base, other.base
            return bool(a == b and (late is None or other_late is None or late == other_late))
        if one.kind == "date":
            pairs = [(a, b) for a, b in zip(one.base, other.base, strict=True) if a is not None and b is not None]
            return bool(pairs) and all(a == b for a, b in pairs)
        if isinstance(one.base, float) and isinstance(other.base, float):
            return abs(one.base - other.base) <= 1e-6 * max(1.0, abs(one.base))
        return bool(one.base == other.base)
    if "clock" in (one.kind, other.kind) and (one if one.kind == "clock" else other).base[0] % 60:
        return False
    if "number" in (one.kind, other.kind) or {one.kind, other.kind} == {"clock", "time"}:
        return one.amount is not None and one.amount == other.amount
    return False


def match_values(ours: Sequence[Value], theirs: Sequence[Value]) -> tuple[list[Value], list[Value], int]:
    """Pair equal values; return those that only the one side has, those that only the other has, and the pairs."""
    rest = list(theirs)
    alone = []
    for one in ours:
        same = next((n for n, other in enumerate(rest) if equal(one, other)), None)
        if same is None:
            if not any(equal(one, other) for other in theirs):
                alone.append(one)
        else:
            del rest[same]
    rest = [other for other in rest if not any(equal(one, other) for one in ours)]
    return alone, rest, len(ours) - len(alone)
