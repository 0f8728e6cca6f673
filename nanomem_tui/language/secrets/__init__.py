"""Secrets and personal numbers in a text: where they are, what they are, and a fingerprint, never the value.

The patterns are those of `shapes`: shaped like values (a prefix and a length, a checksum, a name with a value beside
it), so that talk about passwords is none. Each is tried only where one of its words stands.
Numbers that prove who somebody is, or that pay (cards, IBAN, US social security numbers, Chinese resident ids), count
as secrets. E-mail addresses and telephone numbers do not, unless `personal` asks for them: they are what people want an
agent to remember, and a quarantine of each would teach people to accept without reading.

A fingerprint is a hash cut so short that it cannot be turned back by trying: 8 hexadecimal digits of a random token, 4
of anything a person could have chosen or counted.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from nanomem_tui.core.text import FORGOTTEN
from nanomem_tui.language.secrets import shapes as secret_columns
from nanomem_tui.language.secrets import signs as secret_signs
from nanomem_tui.language.secrets.shapes import DIGITS, LONG, Shape, is_small, personal_shapes, shapes


class Secret(NamedTuple):
    """One secret: what it is, where it stands in the text (`[start:end]`), its fingerprint."""

    kind: str
    start: int
    end: int
    fingerprint: str


@cache
def kinds() -> tuple[str, ...]:
    """Every kind that is known, the personal ones last."""
    return tuple(dict.fromkeys(shape.kind for shape in (*shapes(), *personal_shapes())))


@cache
def mask_pattern() -> re.Pattern[str]:
    """What stands where a secret was; with a number where a text has several of one fingerprint."""
    kind = "|".join(map(re.escape, kinds()))
    return re.compile(rf"\[(?P<name>(?P<kind>{kind}) #[0-9a-f]{{4}}(?:[0-9a-f]{{4}})?)(?:\.\d+)?\]")


START = 24_000
"""Characters of a text that `mask_start` looks at: more than the longest secret has."""

_GUESSABLE = frozenset(
    (
        "password", "connection string", "recovery code", "card security code", "IBAN", "card number", "account number",
        "Chinese resident id", "social security number", "e-mail address", "telephone number",
    )
)  # fmt: skip
"""The kinds of which a person could have chosen or counted the value."""
_GONE = "\ufdd0"
"""Stands for what was taken out, where a text is looked at: no sign of any text, and no part of any value."""
_LIKE = {
    **dict.fromkeys("“”„‟«»「」『』〝〞〟", '"'),
    **dict.fromkeys("‘’‚‛‹›", "'"),
    **dict.fromkeys("‐‑‒−﹣", "-"),
}
"""Quotation marks and hyphens of other scripts, as they are looked at."""
_JOINT = re.compile(r"(?<=\S)[–—](?=\S)")
"""A dash between two signs that a program made of a hyphen."""
_NUMBER = re.compile(r"\d\d", re.ASCII)
_RUN = re.compile(r"\d(?:[ -]?\d){8,}", re.ASCII)
"""What every number without words has."""
_UNBROKEN = re.compile(rf"[!-~]{{{LONG},}}")
_FEW, _REACH = 30, 160
"""At how many places a pattern is tried one by one; how far behind a word it is looked for otherwise."""
_NEAR = 40
"""How far around a long number one with letters may reach."""
_MOST = 1_000
"""Signs of a match that is too long to be the name of another secret: within it its shape is not tried again."""


class _Shapes(NamedTuple):
    """All shapes and their words: those of unbroken ones, in small letters (ASCII, the rest), the others."""

    all: tuple[Shape, ...]
    unbroken: tuple[str, ...]
    small: tuple[str, ...]
    wide: tuple[str, ...]
    others: tuple[str, ...]


@lru_cache(2)
def _ready(personal: bool) -> _Shapes:
    """The shapes, ready to be looked for."""
    found = (*shapes(), *personal_shapes()) if personal else shapes()
    broken = {word for shape in found if not shape.unbroken for word in shape.words}
    unbroken = {word for shape in found if shape.unbroken for word in shape.words} - broken
    small = set(filter(is_small, broken))
    plain = set(filter(str.isascii, small))
    return _Shapes(found, tuple(unbroken), tuple(plain), tuple(small - plain), tuple(broken - small))


@lru_cache(1024)
def _fitting(held: frozenset[str], *, numbers: bool, personal: bool) -> tuple[Shape, ...]:
    """The shapes that a text may have: by the words that it holds; those without words are numbers."""
    return tuple(one for one in _ready(personal).all if (not held.isdisjoint(one.words) if one.words else numbers))


def find(text: str, *, personal: bool = False) -> list[Secret]:
    """The secrets of `text`, in order, none inside another; with `personal` also addresses and telephone numbers.

    What was taken out is none, and beside what is taken out now none is left: of a text that `mask` made nothing is
    found.
    """
    looked_at, places = _visible(text)
    found: list[Secret] = []
    if not personal and not secret_signs.tell(looked_at):
        return found
    while spans := _scan(looked_at, personal=personal):
        where = places or range(len(looked_at))
        found += [Secret(kind, where[start], where[end - 1] + 1, told) for kind, start, end, told in spans]
        looked_at, places = _without(looked_at, where, [(start, end) for _, start, end, _ in spans])
    return sorted(found, key=lambda secret: secret.start)


class _Text:
    """A text that is looked at: where each word stands in it, and its long numbers."""

    def __init__(self, text: str, shapes: _Shapes) -> None:
        self.text = text
        self._small = small = text.replace("İ", "i").lower()  # of the same length
        self.runs = [run.span() for run in _RUN.finditer(text)]
        long = " ".join(_UNBROKEN.findall(text))
        plain = small if small.isascii() else small.encode("ascii", "ignore").decode()  # shorter, and quick to search
        self.held = frozenset(
            [word for word in shapes.small if word in plain]
            + [word for word in shapes.wide if word in small]
            + [word for word in shapes.others if word in text]
            + [word for word in shapes.unbroken if word in long]
        )
        self._places: dict[str, list[int]] = {}

    def places(self, words: Sequence[str]) -> list[int]:
        """Where any of the words stands, in order."""
        for word in words:
            if word in self.held and word not in self._places:
                text, found = self._small if is_small(word) else self.text, []
                place = text.find(word)
                while place >= 0:
                    found.append(place)
                    place = text.find(word, place + 1)
                self._places[word] = found
        near = [self._places[word] for word in words if word in self.held]
        return near[0] if len(near) == 1 else sorted({place for places in near for place in places})


def _scan(text: str, *, personal: bool) -> list[Secret]:
    """The secrets that one look at a text finds, in order."""
    seen = _Text(text, _ready(personal))
    found: list[Secret] = []
    taken: list[tuple[int, int]] = []  # in order; none overlaps another
    for shape in _fitting(seen.held, numbers=_NUMBER.search(text) is not None, personal=personal):
        for match in _matches(shape, seen):
            group = next((name for name in shape.groups if match[name] is not None), 0)
            value, (start, end) = match[group], match.span(group)
            if value[0] == value[-1] and value[0] in "\"'`":  # what holds the text stays, so that a file still parses
                start, end = start + 1, end - 1
            at = bisect_left(taken, (end, end))  # of those that begin before this one ends only the last can reach it
            if (at and taken[at - 1][1] > start) or not shape.is_valid(value):
                continue
            if _GONE in value or (shape.unless and re.search(shape.unless, text[max(0, start - 64) : start])):
                continue
            taken.insert(at, (start, end))
            found.append(Secret(shape.kind, start, end, fingerprint(value, guessable=shape.kind in _GUESSABLE)))
    more = (one for one in _in_columns(text) if _GONE not in text[one.start : one.end])
    found += [one for one in more if all(one.end <= begin or one.start >= end for begin, end in taken)]
    return sorted(found, key=lambda secret: secret.start)


def _matches(shape: Shape, seen: _Text) -> Iterator[re.Match[str]]:
    """Where a shape may stand: near its words or in long numbers, so that a pattern is not tried all over a text."""
    back, text = shape.back, seen.text
    if back is None:
        yield from _within(shape, text, 0, len(text))
    elif back == DIGITS:
        for begin, end in seen.runs:
            yield from _within(shape, text, max(0, begin - _NEAR), end + _NEAR)
    elif back > _FEW:
        last = 0
        for place in seen.places(shape.words):
            yield from _within(shape, text, max(place - back, last, 0), place + _REACH)
            last = place
    else:
        match, last = shape.pattern.match, 0
        for place in seen.places(shape.words):
            for begin in range(max(last, place - back), place + 1):
                if found := match(text, begin):
                    yield found
                    last = max(last, found.end()) if found.end() - begin > _MOST else last


def _within(shape: Shape, text: str, begin: int, end: int) -> Iterator[re.Match[str]]:
    """Every match between two places; a value that is none may be the name of one, so the next begins there."""
    search = shape.pattern.search
    while match := search(text, begin, end):
        yield match
        value = match.start(shape.groups[0]) if shape.groups else match.end()
        begin = value if value > match.start() else match.end()


def _without(text: str, places: Sequence[int], spans: Sequence[tuple[int, int]]) -> tuple[str, list[int]]:
    """The text with one sign in place of each span, and where each of its signs stood."""
    parts: list[str] = []
    stood: list[int] = []
    last = 0
    for start, end in spans:
        parts += [text[last:start], _GONE]
        stood += [*places[last:start], places[start]]
        last = end
    return "".join((*parts, text[last:])), [*stood, *places[last:]]


def mask(text: str, *, personal: bool = False) -> str:
    """`text` with `[kind #fingerprint]` in place of each secret."""
    return _masked(text, find(text, personal=personal))


def mask_columns(text: str) -> str:
    """`text` with the passwords of its tables masked, for one whose rows part from the head that names them."""
    return _masked(text, _in_columns(text))


def _masked(text: str, found: Iterable[Secret]) -> str:
    parts, last = [], 0
    for secret in found:
        parts += [text[last : secret.start], f"[{secret.kind} #{secret.fingerprint}]"]
        last = secret.end
    return "".join((*parts, text[last:]))


def _in_columns(text: str) -> Iterator[Secret]:
    for start, end in secret_columns.passwords(text):
        yield Secret("password", start, end, fingerprint(text[start:end], guessable=True))


def mask_value(value: Any) -> Any:
    """The same of a JSON value: of each text in it, none cut, however deep."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {name: mask_value(part) for name, part in value.items()}
    return [mask_value(part) for part in value] if isinstance(value, list | tuple) else value


def is_masked(text: str) -> bool:
    """Whether `text` holds what `mask` puts in the place of a secret: the words themselves are not known any more."""
    return " #" in text and mask_pattern().search(text) is not None


def mask_start(text: str) -> str:
    """As `mask`, of the beginning of a text that is cut anyway: a long message must not hold up a turn."""
    return mask(text[:START])


def fingerprint(value: str, *, guessable: bool) -> str:
    """How a secret is named in a report; the same value gives the same name, and the name does not give the value."""
    bare = re.sub(r"[\s\"'`-]", "", value)
    return hashlib.sha256(f"nanomem:{bare}".encode("utf-8", "surrogatepass")).hexdigest()[: 4 if guessable else 8]


def _visible(text: str) -> tuple[str, list[int] | None]:
    """The text as it is looked at: full-width letters, quotation marks and hyphens made plain, invisible signs left
    out, one sign for each thing that was taken out, and where each stood.

    None for the places: each sign stands where it stood.
    """
    shown, places = (text, None) if text.isascii() else _plain(text)
    may_hold = "[" in shown and (" #" in shown or FORGOTTEN in shown)
    spans = [found.span() for found in _taken_out().finditer(shown)] if may_hold else []
    return _without(shown, places or range(len(shown)), spans) if spans else (shown, places)


@cache
def _taken_out() -> re.Pattern[str]:
    return re.compile(rf"{mask_pattern().pattern}|{re.escape(FORGOTTEN)}")


def _plain(text: str) -> tuple[str, list[int] | None]:
    other = {char: form for char in set(text) if not char.isascii() and (form := _form(char)) != char}
    places: list[int] | None = None
    if all(len(form) == 1 for form in other.values()):
        shown = text.translate({ord(char): form for char, form in other.items()}) if other else text
    else:
        forms = [other.get(char, char) for char in text]
        shown = "".join(forms)
        places = [place for place, form in enumerate(forms) for _ in form]
    return (_JOINT.sub("-", shown) if "–" in shown or "—" in shown else shown), places


@lru_cache(20_000)
def _form(char: str) -> str:
    """A sign as it is looked at."""
    return "" if secret_signs.UNSEEN.match(char) else _LIKE.get(char) or unicodedata.normalize("NFKC", char)
