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
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Literal, NamedTuple, get_args

from nanomem_tui.language.detect import LATIN, language_of
from nanomem_tui.language.evidence_features import ceiling, of_evidence
from nanomem_tui.language.pair_features import LIGHT, Aligned, align, of_pair, rivals
from nanomem_tui.language.statement import UNSPACED, Statement, familiarity, is_of_speaker, statement

Relation = Literal["same", "newer", "denial", "different", "unsure"]
RELATIONS: tuple[Relation, ...] = get_args(Relation)
_ARTICLES = frozenset(
    "the a an der die das den dem el la los las le les l un une una il lo gli o os as um uma ein eine".split()
)
_I = frozenset("i ich yo je eu io я 나는 저는 난 내가 제가".split())
_LETTERS = re.compile(r"[^\W\d_]+")
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
        sums = list(map(sum, zip(*rows, strict=True)))
        most = max(sums)
        shares = [math.exp(one - most) for one in sums]
        whole = sum(shares)
        return {label: share / whole for label, share in zip(self.labels, shares, strict=True)}


@lru_cache(4)
def pack(name: str) -> Pack:
    """Return the pack `pairs` or `evidence`."""
    body = json.loads(resources.files(__package__).joinpath("packs", f"{name}.json").read_text(encoding="utf-8"))
    weights = {feature: tuple(map(float, row.split())) for feature, row in body["weights"].items()}
    return Pack(tuple(body["labels"]), body["least"], weights, tuple(body["bias"]), body["made_of"])


def compare(a: str, b: str) -> Relation:
    """Return how `b`, which was said later, stands to `a`.

    >>> compare("I live in Porto", "I don't live in Porto any more")
    'denial'
    """
    return compared(a, b).relation


@lru_cache(4096)
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


def shares_of(a: str, b: str) -> dict[str, float]:
    """Return how likely each relation is, before anything is asked of how sure it is."""
    a, b = a[:LONGEST], b[:LONGEST]
    language = language_of_both(a, b)
    one, other = statement(a, language), statement(b, language)
    if one.asks == other.asks and _is_written_alike(one, other):
        return {relation: float(relation == "same") for relation in RELATIONS}
    found = align(one, other)
    return ruled(one, other, found, pack("pairs").shares(of_pair(one, other, found)))


def holds(entry: str, line: str) -> float:
    """Return how surely an entry says plainly what a line says, from 0 to 1; `least_holding` is enough to write it."""
    entry, line = entry[: 10 * LONGEST], line[:LONGEST]
    language = language_of_both(entry, line)
    share = pack("evidence").shares(of_evidence(entry, line, language))["true"]
    return min(share, ceiling(entry, line, language))


def least_holding() -> float:
    """How sure `holds` has to be for a line to be written without a look."""
    return pack("evidence").least["true"]


@lru_cache(4096)
def language_of_both(a: str, b: str) -> str:
    """Return the language of two texts: with Latin letters the one of which most of their words are known."""
    text = f"{a} {b}"
    code = language_of(text)
    if code not in LATIN:
        return code
    known = dict.fromkeys(LATIN, 0.0)
    for word in _LETTERS.findall(text.lower()):
        for language in LATIN:
            known[language] += familiarity(word, language)
    known[code] += 0.9
    return max(LATIN, key=known.__getitem__)


def ruled(one: Statement, other: Statement, found: Aligned, shares: dict[str, float]) -> dict[str, float]:
    """Return the shares without what can certainly not be."""
    barred: set[str] = set()
    if _is_denied_once(one, other) or _has_other_value(found) or one.asks != other.asks:
        barred.add("same")
    if not found.both and not found.values_both:
        barred.update(("same", "denial"))
    if found.left and found.right and all(LIGHT & {*ours.notions} for ours, _ in found.both):
        barred.add("same")  # a number alone makes no two statements one
    if _is_of_others(one, other) or _is_turned(one, other, found):
        barred.update(("same", "newer", "denial"))
    if not barred:
        return shares
    left = {relation: 0.0 if relation in barred else share for relation, share in shares.items()}
    whole = sum(left.values()) or 1.0
    return {relation: share / whole for relation, share in left.items()}


def _is_written_alike(one: Statement, other: Statement) -> bool:
    """Whether two statements have the same words in the same order, but for articles and the speaker."""
    if one.normal == other.normal:
        return [value.base for value in one.values] == [value.base for value in other.values]
    if one.language in UNSPACED or one.marks != other.marks:
        return False
    left, right = ([word for word in side.normal.split() if not _is_silent(word, side)] for side in (one, other))
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
