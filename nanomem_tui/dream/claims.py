"""The value that a line gives: without remarks on what it was, and what stands behind it. Pure functions over text."""

from __future__ import annotations

import re

from nanomem_tui.dream.details import details, without_notes
from nanomem_tui.tokens import fold

_I = re.IGNORECASE
_ATTRIBUTE = re.compile(
    r"\**(?P<key>[^:：*`/]{1,40}?)\**\s*[:：]\**\s*(?!//)\S.*|"
    r"(?:(?:the )?user )?(?:now )?(?:(?P<home>lives? in|(?:is )?based in)|(?P<job>works? (?:at|for))) "
    r"(?:the )?(?-i:[^a-z\s]).*|"
    r"(?:用户|我)?(?:现在|目前)?(?P<cjk>居住在|住在).+",
    _I,
)
"""A field, or where somebody lives or works: what has one value at a time."""
_MORE = re.compile(
    r"[,;，；。]\s*|(?<=[^\W_]{3})\.\s|\s*[(（](?!as of \d)|"
    r"\s(?:with|as|since|because|where|which|who|near|while|but|at|in|on|from|for|until|and|to)\s"
)
"""What ends a value: what stands behind says more, and nobody takes it back with the value."""
_SEVERAL = re.compile(r"\s(?:and|&)\s|、|以及")
_OLD_VALUES = re.compile(
    r"(?:[,，;；(（]\s*(?:not|was recorded as|recorded as|was|formerly|previously|no longer)\b|"
    r"\s(?:instead of|rather than)\b|[,，;；(（]?\s*(?:而?不是|而非|不再是|此前记为|之前记为|原为|原来是|以前是))"
    r"\s*[:：]?\s*(?P<old>[^,，;；()（）。]{1,80})[)）]?\s*[.。]?$",
    _I,
)


def of_one_attribute(one: str, other: str) -> bool:
    """Whether two lines each give one attribute a value: `City: Porto` and `City: Rome`, two homes, two jobs."""
    found, then = _ATTRIBUTE.fullmatch(one), _ATTRIBUTE.fullmatch(other)
    if not (found and then) or found.lastgroup != then.lastgroup:
        return False
    return found.lastgroup != "key" or fold(found["key"]) == fold(then["key"])


def cut(value: str) -> tuple[str, str]:
    """(a value, what stands behind it and says more): `Porto` and ` with her mother` of `Porto with her mother`."""
    end = _MORE.search(value, 1)
    return (value[: end.start()], value[end.start() :]) if end else (value, "")


def of_one_kind(one: str, other: str) -> bool:
    """Whether two values can be each other's: names and numbers, or plain words; no city is `noisy`."""
    return _is_told(one) == _is_told(other) or not (one + other).isascii()


def _is_told(value: str) -> bool:
    """Whether a value is more than plain words: a name, a number, an address."""
    first = value.strip("*`\"'").removeprefix("the ")[:1]
    return first.isupper() or any(letter.isdigit() for letter in value) or bool(details(value))


def are_several(value: str) -> bool:
    """Whether a value names more than one thing: `English and German`."""
    return _SEVERAL.search(value) is not None


def current_value(text: str) -> str:
    """A value without remarks on what it was or is not: `Europe/Berlin, not Europe/London` is `Europe/Berlin`."""
    return _OLD_VALUES.sub("", without_notes(text).strip()).strip(" .,。，;；")
