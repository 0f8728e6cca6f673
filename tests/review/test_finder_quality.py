"""How good the finders are on a labelled memory: of what they ask about, how much is junk, and of the junk, how much
they ask about. The figures are told in the message of a test that fails, and printed with `-s`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.review.finders import finders
from nanomem_tui.review.findings import Finding
from tests.review.junk import HELD_OUT, NOW, PARTS, Labelled, labelled, write_home

SHARES_A_HOME = True

KINDS = ("secret", "injection", "leak", "restated", "dated", "stale", "unused", "long", "orphan")


LEAST = {
    "secret": (0.98, 0.98), "injection": (0.98, 0.9), "restated": (0.98, 0.92), "dated": (0.97, 0.95),
    "leak": (0.98, 0.9), "stale": (0.97, 0.95), "unused": (0.97, 0.95), "long": (0.97, 0.97), "orphan": (0.97, 0.97),
}  # fmt: skip
"""Precision and recall of each kind on what the finders were made with."""


UNSEEN = {
    "secret": (0.97, 0.85), "injection": (0.97, 0.8), "restated": (0.97, 0.65), "dated": (0.93, 0.93),
    "leak": (0.97, 0.9), "stale": (0.97, 0.9), "unused": (0.97, 0.9), "long": (0.97, 0.9), "orphan": (0.97, 0.9),
}  # fmt: skip
"""The same on words that were written when the finders were done, and not used to mend them."""


class Asked(NamedTuple):
    """The labelled items by id, and the findings about each."""

    items: Mapping[str, Labelled]
    findings: Mapping[str, Sequence[Finding]]

    def told(self, kind):
        """Precision and recall of a kind, and both in words with what was wrong."""
        right = {key for key, one in self.items.items() if one.kind == kind}
        found = {key for key, many in self.findings.items() if any(one.kind == kind for one in many)}
        wrong = [f"asked: {self.items[key].item.text[:70]} ({self.items[key].kind})" for key in found - right]
        wrong += [f"missed: {self.items[key].item.text[:70]}" for key in right - found]
        precision = len(found & right) / len(found) if found else 1.0
        recall = len(found & right) / len(right) if right else 1.0
        words = f"{kind}: {len(right)} of them, precision {precision:.3f}, recall {recall:.3f}"
        return precision, recall, "\n  ".join([words, *sorted(wrong)])


def look(folder, parts):
    home = write_home(folder, parts)
    findings: dict[str, list[Finding]] = defaultdict(list)
    with clock.at(NOW), open_workspace(home) as ws:
        for finder in finders(ws):
            for one in finder.find():
                if one.kind in KINDS:
                    findings[one.ids[0]].append(one)
    return Asked({one.item.id: one for one in labelled(parts)}, findings)


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    return look(tmp_path_factory.mktemp("junk"), PARTS)


@pytest.mark.slow
def test_the_set_holds_five_hundred_items_of_junk_and_two_hundred_good_ones(asked):
    kinds = Counter(one.kind for one in asked.items.values())
    assert kinds.total() - kinds["good"] >= 500, kinds
    assert kinds["good"] >= 200, kinds
    assert len({one.item.text for one in asked.items.values()}) > 0.97 * len(asked.items)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_a_finder_asks_about_is_junk_and_little_junk_is_missed(asked, kind):
    precision, recall, words = asked.told(kind)
    print(words)
    least = LEAST[kind]
    assert precision >= least[0], words
    assert recall >= least[1], words


def test_nobody_is_asked_about_a_good_item(asked):
    good = [key for key, one in asked.items.items() if one.kind == "good"]
    wrong = [f"{one.kind}: {one.text[:80]} ({one.why})" for key in good for one in asked.findings.get(key, ())]
    assert not wrong, "\n".join(wrong)


def test_nobody_is_asked_twice_about_one_item_of_disuse(asked):
    twice = {asked.items[key].item.text for key, many in asked.findings.items() if len(many) > 1}
    assert len(twice) <= 0.02 * len(asked.findings), twice


def test_the_proposed_decision_is_a_right_one(asked):
    right, wrong = 0, []
    for key, many in asked.findings.items():
        one = asked.items[key]
        for finding in many:
            if finding.kind == one.kind:
                right += finding.offers[0] in one.decisions
                if finding.offers[0] not in one.decisions:
                    wrong.append(f"{finding.offers[0]}: {finding.text[:80]}")
    share = right / (right + len(wrong))
    assert share >= 0.97, f"{share:.3f}\n" + "\n".join(wrong)


@pytest.fixture(scope="module")
def held_out(tmp_path_factory):
    return look(tmp_path_factory.mktemp("held_out"), HELD_OUT)


@pytest.mark.parametrize("kind", KINDS)
def test_the_finders_are_as_careful_on_words_that_they_were_not_made_with(held_out, kind):
    precision, recall, words = held_out.told(kind)
    print(words)
    assert precision >= UNSEEN[kind][0], words
    assert recall >= UNSEEN[kind][1], words


def test_of_unseen_good_items_few_are_asked_about(held_out):
    good = [key for key, one in held_out.items.items() if one.kind == "good"]
    wrong = [f"{one.kind}: {one.text[:80]} ({one.why})" for key in good for one in held_out.findings.get(key, ())]
    print(len(good), wrong)
    assert len(wrong) <= 0.02 * len(good), "\n".join(wrong)
