"""What reads as an order to the model: it was taken for a memory, and would be put before the model again.

Must not know how an order looks. What a person accepted from the inbox was judged already.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from nanomem_tui.language import injection
from nanomem_tui.language.met_words import is_worth_knowing
from nanomem_tui.review.finders.rows import ASKED_FOR, Rows, Verdicts, words
from nanomem_tui.review.finders.sources import said
from nanomem_tui.review.findings import Decision, Evidence, Finding, How
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import AnyRow, Item, Record

if TYPE_CHECKING:
    from nanomem_tui.core.operations import Change
    from nanomem_tui.language.secrets import Secret


# A quick look that most texts pass: no word of theirs, however it is read, can be part of an order to a model.

CLEAN, OPEN, HIDDEN = 0, 1, 2
"""What a text may hold: nothing, an order in words that can be read, an order that is hidden."""
_JOINS, _LONE, _PAIRS = 4, 8, 16
"""A word that is part of a sign of several words, that holds a letter by itself, that ends in pairs of hex digits."""
_ENCODED = re.compile(r"[a-z0-9+/_=-]{12}|[%&\\]|0x", re.IGNORECASE)
"""What may hide a text: a long run of letters and digits, a code of a character."""
_ALONE = re.compile(r"(?<![^\W_])[^\W_](?![^\W_])")
_EVEN = re.compile(r"\b(?:[0-9a-f]{2}:?)+$")
_PAIRS_SIDE_BY_SIDE = re.compile(r"[0-9a-f]{2}[ :][0-9a-f]{2}")
_LETTERS_SIDE_BY_SIDE = re.compile(r"[ .\-_*·]\w[ .\-_*·]\w[ .\-_*·]")
"""What stands in the middle of what is written in pairs of digits, or letter by letter."""
_EASY = re.compile(r"[\x00-\x7f\u4e00-\u9fff，。、；：？]*")
"""Texts that are folded by lower case alone."""
_EVERYWHERE = frozenset("a all and any are do for from have no not now of on the this to when without you".split())
_LEET = str.maketrans("013457@$!|", "oieastasil")
_ROT13 = str.maketrans("abcdefghijklmnopqrstuvwxyz", "nopqrstuvwxyzabcdefghijklm")


class Sieve:
    """Whether a text is worth the patterns; keeps what it knows of words."""

    def __init__(self) -> None:
        signs = injection.signs()
        spaced = [sign for sign in signs if " " in sign]
        self._within = _Signs(sign for sign in signs if " " not in sign)
        self._parts = _Signs(map(_rarest, spaced))
        self._spaced = _Signs(spaced)
        self._clean: set[str] = set()
        self._others: dict[str, int] = {}

    def may_hold(self, text: str) -> int:
        """CLEAN where nothing in a text can be an order, OPEN where `reason` need not look for hidden ones, HIDDEN
        where it must."""
        found = CLEAN
        if text.isascii() or _EASY.fullmatch(text):
            read = text.lower()
        elif _ENCODED.search(text) or injection.TAGS.search(text) or injection.HEX.search(text):
            return HIDDEN
        else:
            read = injection.plain(text)
        words = read.split()
        if self._clean.issuperset(words):
            return CLEAN
        for word in set(words).difference(self._clean):
            found |= self._others.get(word) or self._learned(word)
            if found & HIDDEN:
                return HIDDEN
        return found and self._looked_at(found, " ".join(words), text)

    def _looked_at(self, found: int, line: str, text: str) -> int:
        """What a text may hold whose words are `found`."""
        if len(text) > injection.MAX_SCANNED:
            return HIDDEN  # it is cut before it is read
        if found & _PAIRS and _PAIRS_SIDE_BY_SIDE.search(line) and injection.HEX.search(text):
            return HIDDEN
        if found & _JOINS:
            found |= self._spaced.found_in(f" {line} ")
        if found & _LONE and _LETTERS_SIDE_BY_SIDE.search(line) and injection.SPELLED.search(line):
            found |= OPEN
        return HIDDEN if found & HIDDEN else found & OPEN

    def _learned(self, word: str) -> int:
        known = self._judged(word)
        if is_worth_knowing(word, len(self._clean) + len(self._others)):
            if known:
                self._others[word] = known
            else:
                self._clean.add(word)
        return known

    def _judged(self, word: str) -> int:
        if _ENCODED.search(word) or injection.HEX.search(word):
            return HIDDEN
        known = self._within.found_in(word)
        if self._parts.found_in(f" {word} "):
            known |= _JOINS
        if _ALONE.search(word):
            known |= _LONE
        return known | _PAIRS if _EVEN.search(word) else known


class _Signs:
    """Parts of orders, found in any reading of a text at once."""

    def __init__(self, signs: Iterable[str]) -> None:
        plain = list(signs)
        self._plain = re.compile(_branches(plain))
        self._turned = re.compile(_branches([*(one.translate(_ROT13) for one in plain), *(one[::-1] for one in plain)]))

    def found_in(self, text: str) -> int:
        """HIDDEN where a sign stands in a text in rot13 or backwards, OPEN where one does as it is, or with digits for
        letters, else CLEAN."""
        if self._turned.search(text):
            return HIDDEN
        if self._plain.search(text):
            return OPEN
        read = text.translate(_LEET)
        return OPEN if read != text and self._plain.search(read) else CLEAN


def _branches(words: Sequence[str]) -> str:
    """A pattern that finds any of the words, and looks at each letter of a text only once or twice."""
    if "" in words:
        return ""
    by_letter: dict[str, list[str]] = {}
    for word in words:
        by_letter.setdefault(word[0], []).append(word[1:])
    each = [re.escape(letter) + _branches(rest) for letter, rest in sorted(by_letter.items())]
    return each[0] if len(each) == 1 else f"(?:{'|'.join(each)})"


def _rarest(sign: str) -> str:
    """The longest word of a sign of several that is not in every other text, with the spaces that stand beside it."""
    words = sign.split(" ")
    place = max(range(len(words)), key=lambda one: (words[one] not in _EVERYWHERE, len(words[one])))
    return f"{' ' * (place > 0)}{words[place]}{' ' * (place < len(words) - 1)}"


OFFERS: tuple[Decision, ...] = ("delete", "disable", "keep", "edit")
ASKED: tuple[Decision, ...] = ("disable", "delete", "keep", "edit")
"""Where a person asked to remember it: it may be a wish in strong words."""


OF_NOTE: tuple[Decision, ...] = ("delete", "keep")


class ReadsLikeOrder:
    """Finds items and lessons that read as orders to a model."""

    kinds = ("injection",)

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._sieve = Sieve()
        self._why: Verdicts[str] = Verdicts(self._reason)

    def _reason(self, text: str) -> str:
        may_hold = self._sieve.may_hold(text)
        return injection.reason(text, hidden=may_hold == HIDDEN) if may_hold else ""

    def find(self) -> Iterable[Finding]:
        """All of them, pinned ones too."""
        return list(self._found())

    def _found(self) -> Iterator[Finding]:
        rows: Sequence[AnyRow] = [*self._rows.items(), *self._rows.lessons(), *self._rows.notes()]
        self._why.forget(len(rows))
        for row in rows:
            if why := self._why.of(row.id, words(row)):
                asked = row.source in ASKED_FOR
                offers = OF_NOTE if isinstance(row, Record) else ASKED if asked else OFFERS
                yield self._rows.finding("injection", row, why, offers, 0.8 if asked else 1.0)

    def evidence(self, finding: Finding) -> Sequence[Evidence]:
        """Who said it, where and when: an order that came out of a page or a file is nobody's wish."""
        row = self._rows.any_row(finding)
        return () if row is None else said(self._rows, row)


# What holds a secret: a key, a password, the number of a card. Its value is never shown, only what it is.

LEFT = 24
"""Characters beside a secret that make a memory worth keeping without it."""


class HoldsSecret:
    """Finds items and lessons with a secret in them; to edit one without giving words masks it."""

    kinds = ("secret",)

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def find(self) -> Iterable[Finding]:
        """All of them."""
        return list(self._found())

    def _found(self) -> Iterator[Finding]:
        for row in (*self._rows.items(), *self._rows.lessons(), *self._rows.switched_off(), *self._rows.notes()):
            found = self._rows.secrets(row)
            if found:
                yield self._rows.finding("secret", row, f"it holds {_named(found)}", _offers(row, found), 1.0)

    def evidence(self, finding: Finding) -> Sequence[Evidence]:
        """What the secret is, what is left when it is masked, and who said it."""
        row = self._rows.any_row(finding)
        if row is None:
            return ()
        kinds = ", ".join(f"{one.kind} #{one.fingerprint}" for one in self._rows.secrets(row))
        note = Evidence("the secret", f"{kinds}; an edit without words of your own masks it")
        return [note, *said(self._rows, row)]

    def changes(self, finding: Finding, decision: Decision, how: How) -> Sequence[Change] | None:
        """To edit without words masks the secret; all else is as usual."""
        row = self._rows.any_row(finding)
        if decision != "edit" or row is None or (how.text and not isinstance(row, Record)):
            return None
        from nanomem_tui.core import clock
        from nanomem_tui.language import secrets
        from nanomem_tui.store import values
        from nanomem_tui.store.values import lesson_key

        now = clock.iso(clock.now())
        if isinstance(row, Record):
            return [change_of("record", row, row._replace(text=how.text or secrets.mask(row.text), updated_at=now))]
        if isinstance(row, Item):
            after = values.with_value(row._replace(text=secrets.mask(row.text), updated_at=now))
            return [change_of("item", row, after)]
        masked = row._replace(
            trigger=secrets.mask(row.trigger),
            bad_action=secrets.mask(row.bad_action),
            better_action=secrets.mask(row.better_action),
            updated_at=now,
        )
        key = lesson_key(masked.trigger, masked.better_action, masked.scope, masked.session_key)
        return [change_of("lesson", row, masked._replace(key=key))]


def _named(found: Sequence[Secret]) -> str:
    kinds = list(dict.fromkeys(one.kind for one in found))
    first = kinds[0]
    article = "an" if first[0] in "aeiouAEIO" else "a"
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return f"{article} {first}{more}"


def _offers(row: AnyRow, found: Sequence[Secret]) -> tuple[Decision, ...]:
    """What says something beside its secret is worth its words; what does not, goes."""
    if isinstance(row, Record):
        return "edit", "delete", "keep"
    secret = sum(one.end - one.start for one in found)
    if isinstance(row, Item) and len(row.text) - secret < LEFT:
        return "delete", "edit", "keep", "disable"
    return "edit", "delete", "keep", "disable"
