"""How two statements stand to each other: `same`, `newer`, `denial`, `different` or `unsure`; and whether an entry of
the archive says plainly what a line says. The one judge for all who have to know it, in ten languages.

Learned from labelled pairs (`scripts/language/teach_pairs.py`), beside rules that nothing learned may overrule: a
statement is never the same as its denial, nor as one with another value, and what is of other people never takes the
place of anything. A relation by which something would be given up is told only where it is sure.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from itertools import pairwise
from typing import Literal, NamedTuple, get_args

from nanomem_tui.language import pack_files
from nanomem_tui.language.classify import LATIN, language_of
from nanomem_tui.language.sentences import parted
from nanomem_tui.language.statements.pair_features import (
    LIGHT,
    NAMED,
    UNSAID,
    Aligned,
    align,
    are_turned,
    difference,
    of_evidence,
    of_pair,
    rivals,
)
from nanomem_tui.language.statements.statement import UNSPACED, Statement, Token, familiarity, is_of_speaker, statement
from nanomem_tui.language.tokens import stem

Relation = Literal["same", "newer", "denial", "different", "unsure"]
RELATIONS: tuple[Relation, ...] = get_args(Relation)
_pattern = pack_files.patterns("compare")
_words = partial(pack_files.words, "compare")
_LETTERS = re.compile(r"[^\W\d_]+")
_TAKEN = frozenset(("do:drink", "do:eat", "do:have"))
"""What goes without saying: who likes coffee likes to drink it."""
SLOT = 0.95
"""How sure it is that a statement stands against another that gives another value in the same words, or denies it."""
CERTAINLY_NOT, SCATTERED, LITERAL = 0.1, 0.5, 0.9
"""How sure it is at most that an entry says a line that certainly differs, or of which the words stand in several of
its clauses; and at least where a clause has its very words."""
LIKELY, SURELY = 0.25, 0.8
"""How sure what was learned has to be for its very words to count, to overrule that the entry names
somebody else too, and for what stands in several clauses."""
LONGEST = 600
"""Characters of a statement that are read; of an entry, ten times as many."""


class Comparison(NamedTuple):
    """How two statements stand to each other, and how sure that is, from 0 to 1."""

    relation: Relation
    share: float


class Pack(NamedTuple):
    """What was learned: the labels, the least share of each at which it is told, and the weights of each feature."""

    labels: tuple[str, ...]
    least: Mapping[str, float]
    weights: Mapping[str, tuple[float, ...]]
    bias: tuple[float, ...]
    made_of: str

    def shares(self, found: set[str]) -> dict[str, float]:
        """Return how likely each label is, for a pair with these features."""
        rows = [self.bias, *filter(None, map(self.weights.get, found))]
        # A set has another order in each process: only an exact sum is the same in all of them.
        sums = list(map(math.fsum, zip(*rows, strict=True)))
        most = max(sums)
        shares = [math.exp(one - most) for one in sums]
        whole = sum(shares)
        return {label: share / whole for label, share in zip(self.labels, shares, strict=True)}


@lru_cache(4)
def pack(name: str) -> Pack:
    """Return the pack `pairs` or `evidence`."""
    body = pack_files.read(name)
    number = lru_cache(None)(float)  # a few hundred numbers stand in thousands of rows: each is one object
    weights = {feature: tuple(map(number, row.split())) for feature, row in body["weights"].items()}
    return Pack(tuple(body["labels"]), body["least"], weights, tuple(body["bias"]), body["made_of"])


def asks_to_remember(text: str) -> bool:
    """Whether a text begins with what people ask for something to be remembered with."""
    return _pattern("lead_in").match(text) is not None


def compare(a: str, b: str) -> Relation:
    """Return how `b`, which was said later, stands to `a`.

    >>> compare("I live in Porto", "I don't live in Porto any more")
    'denial'
    """
    return compared(a, b).relation


@lru_cache(2048)
def compared(a: str, b: str) -> Comparison:
    """Return how `b`, which was said later, stands to `a`, and how sure that is.

    `same`, `newer` and `denial` are told only where they are sure enough to act on; a pair that is likely one of these
    but not surely is `unsure`."""
    shares = shares_of(a, b)
    best = max(RELATIONS, key=lambda relation: shares.get(relation, 0.0))
    if shares[best] < pack("pairs").least.get(best, 0.0):
        if shares["different"] < 0.5:
            return Comparison("unsure", 1 - shares["different"])
        return Comparison("different", shares["different"])
    return Comparison(best, shares[best])


@lru_cache(2048)
def shares_of(a: str, b: str) -> Mapping[str, float]:
    """Return how likely each relation is, before anything is asked of how sure it is."""
    a, b = (_pattern("lead_in").sub("", text[:LONGEST]) for text in (a, b))
    language = language_of_both(a, b)
    one, other = statement(a, language), statement(b, language)
    are_signs_equal = _signs(a) == _signs(b)
    if one.asks == other.asks and are_signs_equal and _is_written_alike(one, other):
        return {relation: float(relation == "same") for relation in RELATIONS}
    if _has("strange", f"{a} {b}"):
        return {relation: float(relation == "different") for relation in RELATIONS}
    found = align(one, other)
    shares = ruled(one, other, found, _learned(one, other, found))
    if shares["newer"] and _has_one_value(one, other, found):
        shares = _surely(shares, "newer")
    elif shares["denial"] and _is_denied_in_the_same_words(one, other, found):
        shares = _surely(shares, "denial")
    return shares if are_signs_equal else _without(shares, {"same"})


@lru_cache(2048)
def likeness(a: str, b: str) -> float:
    """Return how likely two statements look to say the same, whatever tells them apart."""
    language = language_of_both(a, b)
    one, other = statement(a[:LONGEST], language), statement(b[:LONGEST], language)
    return _learned(one, other, align(one, other))["same"]


def _learned(one: Statement, other: Statement, found: Aligned) -> dict[str, float]:
    return related(pack("pairs").shares({*of_pair(one, other, found)}))


def related(shares: dict[str, float]) -> dict[str, float]:
    """Return the shares of the relations. Two statements that have nothing to do with each other are learned apart from
    those that only seem to say the same; to everybody else both are different."""
    return {relation: shares[relation] + (relation == "different") * shares["unrelated"] for relation in RELATIONS}


class Holding(NamedTuple):
    """How surely an entry says plainly what a line says, from 0 to 1, and why it does not, "" where it does."""

    share: float
    why: str


def holds(entry: str, line: str, about: str = "") -> float:
    """Return how surely an entry says plainly what a line says, from 0 to 1; `least_holding` is enough to write it."""
    return held(entry, line, about).share


@lru_cache(4096)
def held(entry: str, line: str, about: str = "") -> Holding:
    """Return how surely an entry says plainly what a line says, and why it does not. `about`: words that either need
    not have: the owner's name, the heading over the line."""
    entry = "\n".join(parted(row).text for row in entry[: 10 * LONGEST].split("\n"))
    line = parted(line[:LONGEST]).text
    language = language_of_both(entry, line)
    learned = pack("evidence").shares(of_evidence(entry, line, language))["true"]
    share, why = bounded(entry, line, language, about, learned)
    return Holding(share, why or ("" if share >= least_holding() else UNSAID))


def bounded(entry: str, line: str, language: str, about: str, share: float) -> tuple[float, str]:
    """Return how sure it is at most, or at least, that an entry says a line, and what tells them apart for certain."""
    found = difference(entry, line, language, about)
    if found.why and not (found.why == NAMED and share >= SURELY):
        return min(share, CERTAINLY_NOT), found.why
    if found.is_literal and share >= LIKELY:
        return max(share, LITERAL), ""
    return min(share, SCATTERED) if found.is_scattered and share < SURELY else share, ""


def least_holding() -> float:
    """How sure `holds` has to be for a line to be written without a look."""
    return pack("evidence").least["true"]


@lru_cache(2048)
def language_of_both(a: str, b: str) -> str:
    """Return the language of two texts: with Latin letters the one of which most of their words are known."""
    code = language_of(a)
    if language_of(b) != code:
        code = language_of(f"{a} {b}")
    if code not in LATIN:
        return code
    known = {
        language: ours + theirs
        for language, ours, theirs in zip(LATIN, _shares_known(a), _shares_known(b), strict=True)
    }
    known[code] += 9
    return max(LATIN, key=known.__getitem__)


@lru_cache(256)
def _shares_known(text: str) -> tuple[int, ...]:
    """How many words of a text each language with Latin letters knows, in tenths of a word."""
    words = _LETTERS.findall(text.lower())
    return tuple(round(10 * sum(familiarity(word, language) for word in words)) for language in LATIN)


def ruled(one: Statement, other: Statement, found: Aligned, shares: dict[str, float]) -> dict[str, float]:
    """Return the shares without what can certainly not be."""
    barred: set[str] = set()
    has_other_value = any(rivals(ours, theirs) for ours in found.values_left for theirs in found.values_right)
    has_other_condition = bool((one.marks ^ other.marks) & {"if", "except"})
    if has_other_value or has_other_condition or one.asks != other.asks or are_turned(one, other):
        barred.add("same")
    if _is_denied_once(one, other) or _is_of_another(one, other):
        barred.add("same")
    if not found.both and not found.values_both:
        barred.update(("same", "denial"))
    if found.left and found.right and all(LIGHT & {*ours.notions} for ours, _ in found.both):
        barred.add("same")  # a number alone makes no two statements one
    if (one.kin and other.kin and not one.kin & other.kin) or _is_turned(one, other, found):
        barred.update(("same", "newer", "denial"))
    is_over = "formerly" in one.marks - other.marks
    is_again = {"change", "all"} <= other.marks and "all" not in one.marks  # it is changed every three months
    is_of_before = "formerly" in other.marks - one.marks and not {"change", "now", "new"} & other.marks
    if one.asks or other.asks or is_over or is_of_before or is_again or _is_about_equal(found, one, other):
        barred.update(("newer", "denial"))
    return _without(shares, barred) if barred else shares


def _surely(shares: dict[str, float], told: Relation) -> dict[str, float]:
    """The shares with that of one relation as large as its form makes it."""
    if shares[told] >= SLOT:
        return shares
    rest = (1 - SLOT) / (1 - shares[told])
    return {relation: SLOT if relation == told else share * rest for relation, share in shares.items()}


def _without(shares: dict[str, float], barred: set[str]) -> dict[str, float]:
    left = {relation: 0.0 if relation in barred else share for relation, share in shares.items()}
    whole = sum(left.values()) or 1.0
    return {relation: share / whole for relation, share in left.items()}


def _signs(text: str) -> list[str]:
    """What tells texts apart beside words: C++ and C#, $ and €, 👍, codes where case counts."""
    return list(_pattern("telling_signs").findall(unicodedata.normalize("NFKC", text)))


def _is_of_another(one: Statement, other: Statement) -> bool:
    """Whether two statements differ in he and she."""
    ours, theirs = {*one.words} - {*other.words}, {*other.words} - {*one.words}
    return bool((ours & _words("he") and theirs & _words("she")) or (ours & _words("she") and theirs & _words("he")))


def _is_written_alike(one: Statement, other: Statement) -> bool:
    """Whether two statements have the same words in the same order, but for articles and the speaker."""
    if one.normal == other.normal:
        return [value.base for value in one.values] == [value.base for value in other.values]
    if one.language in UNSPACED or one.marks != other.marks:
        return False
    silent = _words("articles") | (_words("my") if "me" in one.who & other.who else frozenset())
    left, right = (
        [word for word in side.words if word not in silent and not _is_speaker(word, side)] for side in (one, other)
    )
    if one.language == "en" and {one.subject, other.subject} <= {"me", ""}:  # I like trains, likes trains
        left, right = ([word for word in side if word not in _words("be")] for side in (left, right))
        left, right = ([*map(stem, side[:1]), *side[1:]] for side in (left, right))
    return left == right and bool(left)


def _is_speaker(word: str, side: Statement) -> bool:
    return side.subject in ("me", "") and is_of_speaker(word, side.language)


def _is_denied_once(one: Statement, other: Statement) -> bool:
    """Whether one of two statements is denied and the other is not, nor says a lack in another word."""
    if bool(one.denials) == bool(other.denials):
        return ("end" in one.marks) != ("end" in other.marks) and not (one.denials and other.denials)
    plain = other if one.denials else one
    return not plain.marks & {"lack", "end", "except"}


def _is_turned(one: Statement, other: Statement, found: Aligned) -> bool:
    """Whether the same is told the other way round: I owe Lars, Lars owes me."""
    if "me" not in one.who & other.who or (one.subject == "me") == (other.subject == "me"):
        return False
    return any({"do:owe", "do:lend"} & {*ours.notions} for ours, _ in found.both)


def _is_about_equal(found: Aligned, one: Statement, other: Statement) -> bool:
    """Whether the values of two statements differ by little, and one of them is told roughly."""
    if not any(_has("about", f" {side.normal} ") for side in (one, other)):
        return False
    amounts = [[value.amount for value in side if value.amount] for side in (found.values_left, found.values_right)]
    return any(abs(ours - theirs) <= 0.1 * abs(ours) for ours in amounts[0] for theirs in amounts[1])


def _has_one_value(one: Statement, other: Statement, found: Aligned) -> bool:
    """Whether the speaker, or a thing, is told to have another value of what has one at a time, in the same words."""
    if not ("one" in one.marks and "one" in other.marks and found.both) or one.subject != other.subject:
        return False
    if one.marks != other.marks - ({"now"} - one.marks) or one.denials or one.kin or other.kin:
        return False
    sides = ((one, found.left, found.values_left), (other, found.right, found.values_right))
    return all(len(values) + _runs(tokens) == 1 and _may_be_value(side, tokens) for side, tokens, values in sides)


def _may_be_value(side: Statement, tokens: Sequence[Token]) -> bool:
    """Whether the words that only one of two statements has may be its value: a name, or the last word."""
    return len(tokens) != 1 or tokens[0].is_name or tokens[0] is side.ordered[-1]


def _runs(tokens: Sequence[Token]) -> int:
    """How many words there are: Chinese and Japanese characters that follow each other are one."""
    places = sorted((token.at, len(token.stem)) for token in tokens)
    joined = sum(one + 1 == other and size == 1 for (one, size), (other, _) in pairwise(places))
    return len(places) - joined


def _is_denied_in_the_same_words(one: Statement, other: Statement, found: Aligned) -> bool:
    """Whether one of two statements is the other with a not, and nothing else."""
    alone = [token for token in (*found.left, *found.right) if not _TAKEN & {*token.notions}]
    if alone or found.values_left or found.values_right or one.subject != other.subject or not found.both:
        return False
    beside = {"not", "end", "all", *(["past"] if " never " in f" {other.normal} " else [])}
    return (one.denials, other.denials) in ((0, 1), (1, 0)) and one.marks ^ other.marks <= beside


def _has(name: str, text: str) -> bool:
    return _pattern(name).search(text) is not None
