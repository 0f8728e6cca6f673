"""How two statements stand to each other: `same`, `newer`, `denial`, `different` or `unsure`; and whether an entry of
the archive says plainly what a line says. The one judge for all who have to know it, in ten languages.

Learned from labelled pairs (`scripts/language/teach_pairs.py`), beside rules that nothing learned may overrule: a
statement is never the same as its denial, nor as one with another value, and what is of other people never takes the
place of anything. A relation by which something would be given up is told only where it is sure.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Literal, NamedTuple, get_args

from nanomem_tui.language.detect import language_of
from nanomem_tui.language.pair_features import Aligned, align, of_evidence, of_pair, rivals
from nanomem_tui.language.statement import Statement, statement

Relation = Literal["same", "newer", "denial", "different", "unsure"]
RELATIONS: tuple[Relation, ...] = get_args(Relation)
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
        rest = max(("different", "unsure"), key=lambda relation: shares.get(relation, 0.0))
        return Comparison("different" if rest == "different" else "unsure", shares[rest])
    return Comparison(best, shares[best])


def shares_of(a: str, b: str) -> dict[str, float]:
    """Return how likely each relation is, before anything is asked of how sure it is."""
    a, b = a[:LONGEST], b[:LONGEST]
    language = language_of_both(a, b)
    one, other = statement(a, language), statement(b, language)
    if one.normal == other.normal and one.values == other.values and one.asks == other.asks:
        return {relation: float(relation == "same") for relation in RELATIONS}
    return ruled(one, other, pack("pairs").shares(of_pair(one, other)))


def holds(entry: str, line: str) -> float:
    """Return how surely an entry says plainly what a line says, from 0 to 1; `least_holding` is enough to write it."""
    entry, line = entry[: 10 * LONGEST], line[:LONGEST]
    language = language_of_both(entry, line)
    whole, wanted = statement(entry, language), statement(line, language)
    share = pack("evidence").shares(of_evidence(entry, line, language))["true"]
    if align(whole, wanted).values_right:
        return min(share, 0.1)  # a number, date or address that the entry does not give
    return share


def least_holding() -> float:
    """How sure `holds` has to be for a line to be written without a look."""
    return pack("evidence").least["true"]


@lru_cache(4096)
def language_of_both(a: str, b: str) -> str:
    """The language that two texts are compared in."""
    return language_of(f"{a} {b}")


def ruled(one: Statement, other: Statement, shares: dict[str, float]) -> dict[str, float]:
    """The shares without what can certainly not be."""
    found = align(one, other)
    barred: set[str] = set()
    if _is_denied_once(one, other) or _has_other_value(found) or one.asks != other.asks:
        barred.add("same")
    if _is_of_others(one, other):
        barred.update(("same", "newer", "denial"))
    if not barred:
        return shares
    left = {relation: 0.0 if relation in barred else share for relation, share in shares.items()}
    whole = sum(left.values()) or 1.0
    return {relation: share / whole for relation, share in left.items()}


def _is_denied_once(one: Statement, other: Statement) -> bool:
    """Whether one of two statements is denied and the other is not, nor says a lack in another word."""
    if bool(one.denials) == bool(other.denials):
        return ("end" in one.marks) != ("end" in other.marks) and not (one.denials and other.denials)
    plain = other if one.denials else one
    return not plain.marks & {"lack", "end", "except"}


def _has_other_value(found: Aligned) -> bool:
    """Whether a value of the one stands against another value of its kind."""
    return any(rivals(ours, theirs) for ours in found.values_left for theirs in found.values_right)


def _is_of_others(one: Statement, other: Statement) -> bool:
    """Whether the statements are about different people of a family or round it."""
    ours = {who for who in one.who if who.startswith("kin:")}
    theirs = {who for who in other.who if who.startswith("kin:")}
    return bool(ours and theirs and not ours & theirs)
