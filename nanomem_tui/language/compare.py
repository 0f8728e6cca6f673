"""How two statements stand to each other: `same`, `newer`, `denial`, `different` or `unsure`; and whether an entry of
the archive says plainly what a line says. The one judge for all who have to know it, in ten languages.

Learned from labelled pairs (`scripts/language/teach_pairs.py`), beside rules that nothing learned may overrule: a
statement is never the same as its denial, nor as one with another value, and what is of other people never takes the
place of anything. A relation by which something would be given up is told only where it is sure.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Literal, NamedTuple, get_args

from nanomem_tui.language.detect import LATIN, language_of
from nanomem_tui.language.evidence_features import of_evidence
from nanomem_tui.language.lines import parted
from nanomem_tui.language.pair_features import LIGHT, Aligned, align, of_pair, order_of, rivals
from nanomem_tui.language.statement import UNSPACED, Statement, Token, familiarity, is_of_speaker, statement
from nanomem_tui.language.vetoes import NAMED, UNSAID, difference

Relation = Literal["same", "newer", "denial", "different", "unsure"]
RELATIONS: tuple[Relation, ...] = get_args(Relation)
_ARTICLES = frozenset(
    "the a an der die das den dem el la los las le les l un une una il lo gli o os as um uma ein eine".split()
)
_I = frozenset("i ich yo je eu io я 나는 저는 난 내가 제가".split())
_HE = frozenset("he his him er él il lui ele он его 他 彼".split())
_SHE = frozenset("she her sie ella elle lei ela она её ее 她".split())
_MY = frozenset("my our".split())
_AM = frozenset("am is are".split())
_ABOUT = re.compile(
    r" (?:about|around|roughly|circa|almost|nearly|etwa|ungefähr|rund|unos|unas|casi|environ|presque|cerca|quase|circa"
    r"|quasi|около|примерно|почти) |约|大约|差不多|左右|約|くらい|ぐらい|정도|약 "
)
_BASE = {"have": "has", "go": "goes", "do": "does"}
"""Verbs of I, as they are said of the user."""
LEAD_IN = re.compile(
    r"^\s*(?:(?:please )?(?:remember|note)(?: that|:)|note to self:|fyi[:,]|(?:bitte )?merk dir,? dass|recuerda que"
    r"|rappelle-toi que|lembra(?:-te)? (?:de )?que|ricorda che|запомни,? что|(?:请)?记住[:：,，]?)\s*",
    re.IGNORECASE,
)
_TELLING_SIGNS = re.compile(
    r"[^\W\d_]*[$€£¥₽₩+#]+|[\U0001F000-\U0001FAFF\u2600-\u27bf\x00-\x08\x0e-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e]|\b(?=\w*[a-z])(?=\w*\d)(?=\w*[A-Z])\w+|\b(?=\w*\d)[0-9a-f]{6,}\b"
)
_STRANGE = re.compile(r"[\u0590-\u08ff\u0900-\u0dff\u0e00-\u109f]")
"""Letters of a language of which the judge knows no word."""
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
    body = json.loads(resources.files(__package__).joinpath("packs", f"{name}.json").read_text(encoding="utf-8"))
    number = lru_cache(None)(float)  # a few hundred numbers stand in thousands of rows: each is one object
    weights = {feature: tuple(map(number, row.split())) for feature, row in body["weights"].items()}
    return Pack(tuple(body["labels"]), body["least"], weights, tuple(body["bias"]), body["made_of"])


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
    a, b = (LEAD_IN.sub("", text[:LONGEST]) for text in (a, b))
    language = language_of_both(a, b)
    one, other = statement(a, language), statement(b, language)
    are_signs_equal = signs_of(a) == signs_of(b)
    if one.asks == other.asks and are_signs_equal and _is_written_alike(one, other):
        return {relation: float(relation == "same") for relation in RELATIONS}
    if _STRANGE.search(a) or _STRANGE.search(b):
        return {relation: float(relation == "different") for relation in RELATIONS}
    found = align(one, other)
    shares = ruled(one, other, found, related(pack("pairs").shares(of_pair(one, other, found))))
    if shares["newer"] and _has_one_value(one, other, found):
        shares = _surely(shares, "newer")
    elif shares["denial"] and _is_denied_in_the_same_words(one, other, found):
        shares = _surely(shares, "denial")
    return shares if are_signs_equal else _without(shares, {"same"})


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
    known = {language: ours + theirs for language, ours, theirs in zip(LATIN, _known(a), _known(b), strict=True)}
    known[code] += 9
    return max(LATIN, key=known.__getitem__)


@lru_cache(256)
def _known(text: str) -> tuple[int, ...]:
    """How many words of a text each language with Latin letters knows, in tenths of a word."""
    words = _LETTERS.findall(text.lower())
    return tuple(round(10 * sum(familiarity(word, language) for word in words)) for language in LATIN)


def ruled(one: Statement, other: Statement, found: Aligned, shares: dict[str, float]) -> dict[str, float]:
    """Return the shares without what can certainly not be."""
    barred: set[str] = set()
    if _is_denied_once(one, other) or _has_other_value(found) or one.asks != other.asks:
        barred.add("same")
    if order_of(one, other) == "turned" or _has_other_condition(one, other) or _is_of_another(one, other):
        barred.add("same")
    if not found.both and not found.values_both:
        barred.update(("same", "denial"))
    if found.left and found.right and all(LIGHT & {*ours.notions} for ours, _ in found.both):
        barred.add("same")  # a number alone makes no two statements one
    if _is_of_others(one, other) or _is_turned(one, other, found) or _is_of_other_things(one, other, found):
        barred.update(("same", "newer", "denial"))
    if (
        one.asks
        or other.asks
        or ("formerly" in one.marks and "formerly" not in other.marks)
        or _is_about_equal(found, one, other)
    ):
        barred.update(("newer", "denial"))
    if not barred:
        return shares
    return _without(shares, barred)


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


def signs_of(text: str) -> list[str]:
    """What of a text is no word but tells things apart, in order: C++ and C#, $ and €, 👍, and codes in which the
    case of a letter counts."""
    return list(_TELLING_SIGNS.findall(unicodedata.normalize("NFKC", text)))


def _has_other_condition(one: Statement, other: Statement) -> bool:
    """Whether only one of two statements holds under a condition or with an exception."""
    return any((mark in one.marks) != (mark in other.marks) for mark in ("if", "except"))


def _is_of_another(one: Statement, other: Statement) -> bool:
    """Whether two statements differ in he and she."""
    left, right = ({*side.normal} if side.language in UNSPACED else {*side.normal.split()} for side in (one, other))
    ours, theirs = left - right, right - left
    return bool((ours & _HE and theirs & _SHE) or (ours & _SHE and theirs & _HE))


def _is_written_alike(one: Statement, other: Statement) -> bool:
    """Whether two statements have the same words in the same order, but for articles and the speaker."""
    if one.normal == other.normal:
        return [value.base for value in one.values] == [value.base for value in other.values]
    if one.language in UNSPACED or one.marks != other.marks:
        return False
    left, right = ([word for word in side.normal.split() if not _is_silent(word, side)] for side in (one, other))
    if "me" in one.who and "me" in other.who:
        left, right = ([word for word in side if word not in _MY] for side in (left, right))
    if left and right and one.language == "en" and {one.subject, other.subject} <= {"me", ""}:
        left, right = (
            side[1:] if side[0] in _AM else [_BASE.get(side[0], side[0]), *side[1:]] for side in (left, right)
        )
        if left and right and f"{left[0]}s" == right[0]:
            left[0] = right[0]
        elif left and right and f"{right[0]}s" == left[0]:
            right[0] = left[0]
    return left == right and bool(left)


def _is_silent(word: str, side: Statement) -> bool:
    return word in _ARTICLES or (is_of_speaker(word, side.language) and side.subject in ("me", ""))


def _is_denied_once(one: Statement, other: Statement) -> bool:
    """Whether one of two statements is denied and the other is not, nor says a lack in another word."""
    if bool(one.denials) == bool(other.denials):
        return ("end" in one.marks) != ("end" in other.marks) and not (one.denials and other.denials)
    plain = other if one.denials else one
    return not plain.marks & {"lack", "end", "except"}


def _has_other_value(found: Aligned) -> bool:
    """Whether a value of the one stands against another value of its kind."""
    return any(rivals(ours, theirs) for ours in found.values_left for theirs in found.values_right)


def _is_turned(one: Statement, other: Statement, found: Aligned) -> bool:
    """Whether the same is told the other way round: I owe Lars, Lars owes me."""
    if {one.subject == "me", other.subject == "me"} != {True, False} or not {"me"} <= one.who & other.who:
        return False
    return any({"do:owe", "do:lend"} & {*ours.notions} for ours, _ in found.both)


def _is_of_other_things(one: Statement, other: Statement, found: Aligned) -> bool:
    """Whether two statements that are built alike begin with another name: Ana likes tea, Ben (I) likes none."""
    if max(len(found.left) + len(found.values_left), len(found.right) + len(found.values_right)) > 2 or not found.both:
        return False
    firsts = [min(side.tokens, key=lambda token: token.at, default=None) for side in (one, other)]
    named = [
        side.subject == "name" and first in alone
        for side, first, alone in zip((one, other), firsts, (found.left, found.right), strict=True)
    ]
    return all(named) or (named[0] and other.subject == "me") or (named[1] and one.subject == "me")


def _is_about_equal(found: Aligned, one: Statement, other: Statement) -> bool:
    """Whether the values of two statements differ by little, and one of them is told roughly."""
    if not any(_ABOUT.search(f" {side.normal} ") for side in (one, other)):
        return False
    amounts = [[value.amount for value in side if value.amount] for side in (found.values_left, found.values_right)]
    return any(abs(ours - theirs) <= 0.1 * abs(ours) for ours in amounts[0] for theirs in amounts[1])


def _has_one_value(one: Statement, other: Statement, found: Aligned) -> bool:
    """Whether the speaker, or a thing, is told to have another value of what has one at a time, in the same words."""
    if not ("one" in one.marks and "one" in other.marks and found.both) or one.subject != other.subject:
        return False
    if one.marks != other.marks or one.denials or any(who.startswith("kin:") for who in one.who | other.who):
        return False
    sides = ((one, found.left, found.values_left), (other, found.right, found.values_right))
    for side, tokens, values in sides:
        if len(tokens) + len(values) != 1 or (tokens and not _is_value(tokens[0], side)):
            return False
    return True


def _is_denied_in_the_same_words(one: Statement, other: Statement, found: Aligned) -> bool:
    """Whether one of two statements is the other with a not, and nothing else."""
    alone = [token for token in (*found.left, *found.right) if not _TAKEN & {*token.notions}]
    if alone or found.values_left or found.values_right or one.subject != other.subject or not found.both:
        return False
    beside = {"not", "end", "all", *(["past"] if " never " in f" {other.normal} " else [])}
    return (one.denials, other.denials) in ((0, 1), (1, 0)) and one.marks ^ other.marks <= beside


def _is_value(word: Token, side: Statement) -> bool:
    """Whether a word of a statement is what it tells of something: a name, or what it ends with."""
    return word.is_name or word.at == max(token.at for token in side.tokens)


def _is_of_others(one: Statement, other: Statement) -> bool:
    """Whether the statements are about different people of a family or round it."""
    ours = {who for who in one.who if who.startswith("kin:")}
    theirs = {who for who in other.who if who.startswith("kin:")}
    if ours and theirs:
        return not ours & theirs
    pairs = ((one, other), (other, one))
    return any(kin.subject.startswith("kin:") and me.subject == "me" and _says_i(me) for kin, me in pairs)


def _says_i(side: Statement) -> bool:
    """Whether a statement begins with I: it is of the speaker alone."""
    if side.language == "zh":
        return side.normal.startswith("我") and not side.normal.startswith(("我们", "我家", "我的"))
    return side.normal.split(" ", 1)[0] in _I or side.normal.startswith(("私は", "僕は"))
