"""What may not be taken for the same, nor for another value of the same, whatever the judge of statements says.

Owns telling that a line is about another person or thing; the other certain differences are `language.vetoes`' to tell.
Errs towards another statement: a fact kept twice can be merged later, one taken for another is lost. Pure.
"""

from __future__ import annotations

import re

from nanomem_tui.dream.details import details, unaccounted
from nanomem_tui.dream.known import Known
from nanomem_tui.dream.places import means_of
from nanomem_tui.language.detect import language_of
from nanomem_tui.language.features import is_wide
from nanomem_tui.language.spoken import denied_value, is_of, subject_of, without_denied
from nanomem_tui.language.tokens import fold
from nanomem_tui.language.topics import topics_of_heading, topics_of_line
from nanomem_tui.language.vetoes import difference, leaves_open, limits

_NUMBERED = re.compile(r"(?:The |the )?(?P<what>[^\W\d]+) #?\d[\w.-]*")
_SIGN = re.compile(r"[<>≤≥]=?|(?<![\w\d])[-−](?=\d)")
_ENDS = frozenset({"not", "end", "past", "formerly", "wrong", "lack"})
"""Limits by which a statement may say that something else is so now."""
_OWNED = re.compile(r"\b([^\W\d_][\w-]*)['’]s? ([^\W\d_][\w-]*)|([\u3400-\u9fff]{1,4})的([\u3400-\u9fff]{1,2})")
_PHRASE = re.compile(r"(?:The |the )?([\w ]{3,60}?) (?:is|are|was|were) ")
_USER_OF = re.compile(r"(?:The |the )?([\w ]{3,60}?) (?:uses|runs|has|needs) ")
_THING = re.compile(r"(?:The |the )([^\W\d_]\w*) of ")
_OF = re.compile(r"\bof ([A-Z]\w+)")
_SELVES = ("user", "我", "用户", "it", "that", "there", "he", "she", "let", "what")


def same_barred(line: Known, text: str, owner: str) -> bool:
    """Whether a line certainly does not say what a text says."""
    one, other = line.statement, text
    language = language_of(f"{one} {other}")
    if another_subject(line, text, owner) or _goes_on(one, other):
        return True
    own = topics_of_line(other) - topics_of_line(one) - topics_of_heading(line.under)
    if own & {"health", "family"} or {mean for mean in means_of(other) - means_of(one) if mean.startswith("kin:")}:
        return True
    return bool(difference(one, other, language, f"{owner} {line.under}").why)


def change_barred(line: Known, text: str, owner: str) -> bool:
    """Whether a text certainly gives no other value of what a line says."""
    one, other = line.statement, without_denied(text)
    if another_subject(line, text, owner) or limits(other) - limits(one) - _ENDS:
        return True
    if not line.head and leaves_open(other) != leaves_open(one):
        return True
    if not line.field and is_wide(one) != is_wide(other):
        return True
    if {*_SIGN.findall(one)} != {*_SIGN.findall(other)}:
        return True
    kin = {mean for mean in means_of(one) - means_of(other) if mean.startswith("kin:")}
    if kin and not kin & means_of(" ".join(one.split()[:1])):  # `Ana has a sister with 2 cats`
        return True
    wrong = fold(denied_value(text))
    at = fold(line.text).find(wrong) if wrong else -1
    if at >= 0 and re.match(r"\s+[^\W\d_]{4}", fold(line.text)[at + len(wrong) :]):
        return True  # `VS Code` of `VS Code extensions`
    return False if line.field or line.head else another_number(one, other)


def another_number(one: str, other: str) -> bool:
    """Whether two texts begin with another number of the same thing: `Ticket 12`, `Ticket 13`."""
    first, then = _NUMBERED.match(one), _NUMBERED.match(other)
    return first is not None and then is not None and first["what"] == then["what"] and first[0] != then[0]


def another_subject(line: Known, text: str, owner: str) -> bool:
    """Whether a line is certainly about another person or thing than a text."""
    one, other = line.statement, text
    there, said = fold(f"{line.under} {one}"), fold(other)
    owned, owns = (_owned(own) for own in (one, other))
    shared = {name for name in details(one) if name in details(other)} - {fold(who) for who, _ in (*owned, *owns)}
    selves = (*_SELVES, fold(owner), *fold(owner).split())
    if any(what not in there or (who not in there and who not in selves) for who, what in owns):
        return True
    if any(what not in said and (not shared or fold(subject_of(other)) == who) for who, what in owned):
        return True
    first, then = (subject_of(own) for own in (one, other))
    if then and fold(then) not in selves and fold(then) not in there and not line.field:
        return True
    if first and fold(first) not in selves and fold(first) not in said and not then and is_of(other, owner):
        return True
    words = _begun(_PHRASE, one, other)
    if words[0] - words[1] and words[1] - words[0]:
        return True
    users = _begun(_USER_OF, one, other)
    if len(users[0] ^ users[1]) > 1:
        return True
    things = [_THING.match(own) for own in (one, other)]
    if all(things) and len({fold(thing[1]) for thing in things if thing}) > 1:
        return True
    whose = [set(_OF.findall(own)) for own in (one, other)]
    return bool(whose[0] and whose[1] and not whose[0] & whose[1])


def _begun(pattern: re.Pattern[str], one: str, other: str) -> tuple[set[str], set[str]]:
    """The words with which two texts begin before what a pattern has of both; none where it has not both."""
    first, then = pattern.match(one), pattern.match(other)
    return (set(fold(first[1]).split()), set(fold(then[1]).split())) if first and then else (set(), set())


def _owned(text: str) -> list[tuple[str, str]]:
    """(who, what) of each thing in a text that is somebody's."""
    found = _OWNED.findall(text)
    return [(fold(who or wide), fold(what or thing)) for who, what, wide, thing in found]


def _goes_on(one: str, other: str) -> bool:
    """Whether one text is another one that goes on within a word of a script without spaces."""
    rest = other[len(one) :].strip(" 。.") if other.startswith(one) else ""
    return bool(rest) and bool(re.match("[\u3400-\u9fff]", rest)) and not unaccounted(one, other)
