"""Numbers as they are written: in digits with the separators of any country, in Chinese characters, in one word."""

from __future__ import annotations

import re
from collections.abc import Mapping

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
