"""How a line is written that a newer statement changes: a field keeps its key, a row its cells, a list of several
things all but the one that changed.

Pure functions over text.
"""

from __future__ import annotations

import re

from nanomem_tui.dream import details
from nanomem_tui.dream.known import FIELD, Known, cells
from nanomem_tui.dream.places import stems
from nanomem_tui.language.features import is_wide
from nanomem_tui.language.spoken import denied_value, exchanged, subject_of, without_denied
from nanomem_tui.language.statement import statement
from nanomem_tui.language.tokens import fold
from nanomem_tui.language.topics import cues_of
from nanomem_tui.language.values import Value, values

_MUCH = 2  # words that a line may not lose unseen
_FEW = 3  # words by which a statement may say more than the value that changed
_LINK = re.compile(
    r"(?:\s*[:：=]\s*|\s+(?:is|are|has changed to|changed to|ist|es|est|é|è|теперь|—)\s+(?:now\s+)?|\s*[是为]\s*)"
)


def rewritten(line: Known, text: str) -> tuple[str, str]:
    """Return (the line as it is to be, the value that it loses) where `text` is the newer statement."""
    wrong, right = exchanged(text)
    if wrong and right and (found := _instead(line.whole, line.lead, wrong, right)):
        return found, wrong
    said = without_denied(text)
    if not {*said.split()} - {*denied_value(text).split()} - {*line.text.split()}:  # it says only that it is so no more
        said = text
    if line.head:
        return _row(line, said)
    if swapped := _swapped(line.text, said):
        return f"{line.lead}{swapped[0]}", swapped[1]
    if field := line.field:
        value = _value_for(field["key"], said)
        if value or field["key"].startswith("*"):
            return f"{line.lead}{field['key']}{field['gap']}{value or said.rstrip('.。')}", field["value"]
        if not stems(field["key"]) & stems(said):
            said = f"{field['key']}{field['gap']}{said.rstrip('.。')}"
    return f"{line.lead}{said}", line.text


def loses(line: Known, new: str) -> bool:
    """Whether much of what a line says would be gone with a new one in its place."""
    old = stems(line.statement)
    lost = old - stems(new)
    if is_wide(line.statement):  # pairs of characters, of which a word has several
        return len(lost) > _MUCH and 2 * len(lost) > len(old)
    return len(lost) >= _MUCH


def _instead(whole: str, lead: str, wrong: str, right: str) -> str:
    """The line with the right value where it has the wrong one; "" where it has not."""
    pattern = rf"(?<![^\W_]){re.escape(wrong)}(?![^\W_])" if wrong.isascii() else re.escape(wrong)
    found = re.search(pattern, whole, re.IGNORECASE)
    if found is None or found.start() < len(lead):
        return ""
    before, after = whole[: found.start()], whole[found.end() :]
    if not before[len(lead) :].strip() and not after.strip():
        return ""
    words = right.split()  # what stands before it already is not said twice: `555` of `555 0149`
    while len(words) > 1 and before.rstrip().endswith(words[0]):
        words = words[1:]
    return f"{before}{' '.join(words)}{after}"


def _value_for(key: str, said: str) -> str:
    """The value that a statement gives for the key of a field, "" where that cannot be told apart."""
    words = stems(key.strip("*:： "))
    for found in _LINK.finditer(said):
        clause = re.split(r"[,;，；。]", said[: found.start()])[-1]
        if words and words == stems(clause):
            return said[found.end() :].rstrip(".。")
    return ""


def _swapped(old: str, said: str) -> tuple[str, str] | None:
    """The old text with its one value replaced by the new one of the same kind, and the value that went; None where the
    new text says much more than that."""
    fits = [
        (one, other)
        for one in values(old)
        for other in values(said)
        if one.kind == other.kind and one.base != other.base and _is_whole(old, one) and _is_whole(said, other)
        if one.kind != "date" or _parts(one) == _parts(other)
    ]
    near = [pair for pair in fits if _beside(old, pair[0]) & _beside(said, pair[1])]
    timeless = [pair for pair in fits if pair[0].kind != "date"]  # `90 EUR since May`
    fits = near if len(near) == 1 else timeless if len(timeless) == 1 else fits
    if len(fits) != 1 or statement(said).denials:
        return None
    one, other = fits[0]
    rest = said[: other.start] + " " * (other.end - other.start) + said[other.end :]
    for value in values(rest):  # since when it is so, goes without saying
        if value.kind == "date":
            rest = rest[: value.start] + " " * (value.end - value.start) + rest[value.end :]
    more = {word for word in stems(rest) - stems(old) if not cues_of(word) & {"change", "lasting"}}
    names = {name for name in details.unaccounted(rest, old) if any(map(str.isalpha, name))} - {fold(subject_of(said))}
    keyed = (field := FIELD.fullmatch(old)) is not None and stems(field["key"]) <= stems(said)
    if len(more) > (1 + is_wide(said) + keyed) * _FEW or names or not (stems(rest) & stems(old)):
        return None
    return old[: one.start] + said[other.start : other.end] + old[one.end :], old[one.start : one.end]


def _parts(date: Value) -> list[bool]:
    """Whether a date has a month and a day; the year goes without saying."""
    return [part is None for part in date.base[1:]] if isinstance(date.base, tuple) else []


def _is_whole(text: str, value: Value) -> bool:
    """Whether a value stands for itself, and is no part of a longer one: `2027` of `2027-02` is."""
    return not re.search(r"[\d./–-]$", text[: value.start]) and not re.match(r"[./:–-]?\d", text[value.end :])


def _beside(text: str, value: Value) -> frozenset[str]:
    """The words next to a value."""
    return stems(" ".join([*text[: value.start].split()[-1:], *text[value.end :].split()[:1]]))


def _row(line: Known, said: str) -> tuple[str, str]:
    """A row with the one cell changed that holds another value of the same kind."""
    row = cells(line.whole)
    found: list[tuple[int, Value, Value]] = []
    after = values(said)
    for at, cell in enumerate(row[1:], 1):
        for one in values(cell):
            found += [(at, one, other) for other in after if other.kind == one.kind and other.base != one.base]
    if len(found) != 1:
        return line.whole, ""
    at, one, other = found[0]
    new = row[at][: one.start] + said[other.start : other.end] + row[at][one.end :]
    place = line.whole.index(row[at])
    return f"{line.whole[:place]}{new}{line.whole[place + len(row[at]) :]}", row[at][one.start : one.end]
