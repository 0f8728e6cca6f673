"""How a line is written that a newer statement changes: a field keeps its key, a row its cells, a value its unit.

Pure functions over text.
"""

from __future__ import annotations

import re

from nanomem_tui.dream import details
from nanomem_tui.dream.known import FIELD, Known, cells
from nanomem_tui.dream.places import stems
from nanomem_tui.language.spoken import denied_value, without_denied
from nanomem_tui.language.values import Value, values

_MUCH = 4  # words that a line may not lose unseen
_LINK = re.compile(
    r"(?:\s*[:：=]\s*|\s+(?:is|are|was|has changed to|changed to|ist|es|est|é|è|теперь|—)\s+(?:now\s+)?|\s*[是为]\s*)"
)


def rewritten(line: Known, text: str) -> tuple[str, str]:
    """Return (the line as it is to be, the value that it loses) where `text` is the newer statement."""
    wrong = denied_value(text)
    said = without_denied(text) if wrong and wrong.casefold() in line.text.casefold() else text
    if not {*said.split()} - {*wrong.split()} - {*line.text.split()}:  # it says only that it is so no more
        said = text
    if line.head:
        return _row(line, said)
    if said is not text and (value := _instead(line.text, wrong, said)):
        return f"{line.lead}{line.text.replace(wrong, value, 1)}", wrong
    if swapped := _swapped(line.text, said):
        return f"{line.lead}{swapped[0]}", swapped[1]
    if field := line.field:
        value = _value_for(field["key"], without_denied(text))
        return f"{line.lead}{field['key']}{field['gap']}{value}", field["value"]
    return f"{line.lead}{said}", wrong if said is not text else line.text


def _instead(old: str, wrong: str, said: str) -> str:
    """The value that stands in `said` where `old` has the wrong one: behind the same word."""
    before = old[: old.find(wrong)].split()[-1:] if wrong in old else []
    if not before:
        return ""
    found = re.search(rf"(?<![^\W_]){re.escape(before[0])} (?:now |jetzt |ahora |теперь )?(\S.*)", said)
    return found[1] if found else ""


def loses(line: Known, new: str) -> bool:
    """Whether much of what a line says would be gone with a new one in its place."""
    old = stems(line.statement)
    lost = old - stems(new)
    return len(lost) >= _MUCH and 2 * len(lost) > len(old)


def _value_for(key: str, said: str) -> str:
    """The value that a statement gives for the key of a field; all it says where that cannot be told apart."""
    words = stems(key.strip("*:： "))
    found = _LINK.search(said)
    if found and words and words <= stems(said[: found.start()]):
        return said[found.end() :].rstrip(".。")
    return said.rstrip(".。")


def _swapped(old: str, said: str) -> tuple[str, str] | None:
    """The old text with the one value exchanged of which the new one has another of the same kind, and says no more."""
    fits = [
        (one, other)
        for one in values(old)
        for other in values(said)
        if one.kind == other.kind and one.base != other.base
    ]
    near = [pair for pair in fits if _beside(old, pair[0]) & _beside(said, pair[1])]
    fits = near if len(near) == 1 else fits
    if len(fits) != 1:
        return None
    one, other = fits[0]
    field = FIELD.fullmatch(old)
    keyed = field is not None and stems(field["key"]) <= stems(said)
    alone = field is not None and keyed and len(stems(field["value"]) - stems(said)) == 0
    if field is not None and not keyed:
        return None
    more = stems(said[: other.start] + said[other.end :]) - stems(old)
    if not alone and (more or set(details.details(said)) - set(details.details(old + said[other.start :]))):
        return None
    return old[: one.start] + said[other.start : other.end] + old[one.end :], old[one.start : one.end]


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
