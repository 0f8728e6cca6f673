"""The line that a fact corrects: `X now, not Y` and `no longer Y` speak of the one line that says Y of the same.

Owns finding it and what it says afterwards: the new value where the wrong one stood, and all the rest as it was. The
words before the value must be those of the fact; what says Y of anybody else, or of anything else, is left alone. Must
not make an edit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from nanomem_tui.dream import details
from nanomem_tui.dream.claims import (
    as_it_is,
    claim_of,
    ended,
    is_limited,
    main_part,
    of_one_kind,
    old_value,
    settled,
)
from nanomem_tui.dream.facts import Fact
from nanomem_tui.dream.lines import Line
from nanomem_tui.dream.polarity import negations
from nanomem_tui.dream.wording import forms, is_said, rest_of
from nanomem_tui.tokens import fold

_I = re.IGNORECASE
_ITEM = re.compile(r"[,;]\s+")
_NAME = re.compile(r"[A-Z][\w-]*(?: [A-Z][\w-]*)?")
_BORN = re.compile(r"\bborn(?: on)?\s*$|\b(?:date of birth|birthday)\b", _I)
_ENDS = re.compile(
    r"\s*(?:$|[.,;:)(!。，；、（）]|[-–—]\s|(?:and|or|on|in|at|for|with|since|by|from|to|as|because|every|per)\b)|"
    r"[\u3400-\u9fff]",
    _I,
)
"""What stands behind a value that ends there: `VS Code` does not in `VS Code extensions`."""


class Corrected(NamedTuple):
    """A line, what it says once it is corrected, and the value that it loses."""

    line: Line
    new: str
    value: str


def named_wrong(fact: Fact, near: list[Line]) -> Corrected | Line | None:
    """The only one of the lines `near` (said of the same as the fact) that the fact corrects; one that is as the fact
    says already; None when there is none."""
    wrong = old_value(fact.text)
    if not wrong:
        return _ended(fact, near)
    said = as_it_is(fact.text)
    found = [Corrected(line, new, wrong) for line in near if (new := with_value(line.text, wrong, said, fact.text))]
    if len(found) == 1:
        return found[0]
    return None if found else next((line for line in near if _says(line.text, said)), None)


def holding(lines: Sequence[Line], fact: Fact) -> list[Line]:
    """The lines that hold what the fact calls wrong or over, or begin as it does."""
    wrong, was = fold(old_value(fact.text)), " ".join(ended(fact.text))
    first = forms(as_it_is(fact.text) if wrong else was)[:1]
    return [line for line in lines if (wrong and wrong in fold(line.text)) or forms(line.text)[:1] == first]


def with_value(text: str, wrong: str, said: str, whole: str = "") -> str:
    """`text` with what `said` says in the place of `wrong`; "" where they do not say it of the same, or no value of one
    kind. `whole` takes the place of a text that says nothing but `wrong`."""
    found = _standing(wrong, text)
    if found is None or negations(text) or is_limited(said):
        return ""
    head, tail = text[: found.start()], text[found.end() :]
    value, as_list = rest_of(said, head), False
    if value is None:
        value, as_list = rest_of(_keyed(said), _of_list(head)) if _of_list(head) else None, True
    if not value or len(value) > 80:
        return ""
    value = _fitted(value.strip(" .。"), wrong, tail)
    if not value:
        return ""
    if whole and not as_list and not tail.strip(" .。") and not head.rstrip().endswith((":", "：")):
        return whole
    return "" if tail.strip(" .。") and _ITEM.search(value) else f"{head}{value}{tail}"


def put(text: str, wrong: str, value: str) -> str:
    """`text` with `value` in the place of `wrong`; "" where `wrong` is but part of what stands there."""
    found = _standing(wrong, text)
    if found is None:
        return ""
    head, tail = text[: found.start()], text[found.end() :]
    words = value.split(" ")
    starts = (
        at
        for at in range(len(words) - 1, 0, -1)
        if f" {head}".casefold().endswith(f" {' '.join(words[:at])} ".casefold())
    )
    value = _fitted(" ".join(words[next(starts, 0) :]), wrong, tail)
    return f"{head}{value}{tail}" if value else ""


def _ended(fact: Fact, near: list[Line]) -> Corrected | None:
    """The only line that says what the fact says is so no more, and nothing else."""
    who, over = ended(fact.text)
    was = forms(f"{who} {over}") if over else ()
    found = [line for line in near if was and forms(main_part(line.text)) == was and not negations(line.text)]
    return Corrected(found[0], fact.text, over) if len(found) == 1 else None


def corrects(said: str, text: str) -> bool:
    """Whether what is `said` calls a value wrong that `text` says of the same."""
    wrong, was, now = old_value(said), claim_of(as_it_is(text)), claim_of(settled(said))
    if not wrong:
        return False
    same = was is not None and now is not None and was.subject == now.subject
    value = was.value if was and same else ""
    return details.holds(fold(value), fold(wrong)) or with_value(as_it_is(text), wrong, as_it_is(said)) != ""


def _says(text: str, said: str) -> bool:
    """Whether a line says it, or an item of it: `Anna, sister, born 1990-04-13` that this is Anna's birthday."""
    if is_said(said, text) or (rest_of(text, said) and not negations(text) and not is_limited(text)):
        return True
    first, *items = _ITEM.split(text)
    return any(forms(_keyed(f"{first} {item}")) == forms(_keyed(said)) for item in items if _NAME.fullmatch(first))


def _of_list(head: str) -> str:
    """Of whom and what the item at the end of `head` is: `Anna born` of `Anna, sister, born`."""
    first, *items = _ITEM.split(head)
    return _keyed(f"{first} {items[-1]}") if items and _NAME.fullmatch(first) else ""


def _keyed(text: str) -> str:
    """A text with what it says of somebody as a key: `Anna birthday` of `Anna's birthday` and `Anna born`."""
    text = re.sub(r"^(\S+)['’]s ", r"\1 ", text)
    return _BORN.sub("birthday ", re.sub(r"\bborn (?:on )?(?=\d)", "birthday ", text, flags=_I))


def _standing(wrong: str, text: str) -> re.Match[str] | None:
    """Where a value stands in a text as words of its own."""
    return re.search(rf"(?<![^\W_]){re.escape(wrong)}(?![^\W_])", text, _I)


def _fitted(value: str, wrong: str, tail: str) -> str:
    """A value as it stands before `tail` in the place of `wrong`; "" where that is no value of its kind, or goes on."""
    shared = _shared_end(value, tail)
    value = value[: len(value) - len(shared)].rstrip() if shared else value
    return value if value and (shared or _ENDS.match(tail)) and of_one_kind(wrong, value) else ""


def _shared_end(value: str, tail: str) -> str:
    """The words at the end of a value with which goes on what stands behind the old one: `cats` of `3 cats`."""
    words = value.split(" ")
    for at in range(1, len(words)):
        end = " ".join(words[at:])
        if re.match(rf"\s+{re.escape(end)}(?![^\W_])", tail, _I):
            return end
    return ""
