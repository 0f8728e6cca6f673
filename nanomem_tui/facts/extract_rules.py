"""The rules extractor: facts out of what people said, offline, the same every time, in English, Russian and Chinese.

Owns which grammar reads a sentence. What of a message tells anything at all is `talk`'s; the words are those of the
grammars. Must not know what is known already.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from nanomem_tui.facts import endings, talk
from nanomem_tui.facts.proposals import Evidence, Proposal, refusal
from nanomem_tui.language.simplified import straight

if TYPE_CHECKING:
    from nanomem_tui.facts.dialogue import Told
    from nanomem_tui.facts.grammar import Fields, Grammar

NAME = "rules"
_MORE = re.compile(r"[,;:，；：—–(（\"“«]|\s-\s|\n")
"""What a clause has in it that says more than one thing, or that is said by another."""
_CYRILLIC = re.compile("[а-яёА-ЯЁ]")
_CHINESE = re.compile("[\u3400-\u9fff]")


def facts_in(text: str, before: str = "") -> list[tuple[Fields, talk.Saying]]:
    """The facts that a message says, in its order, each with the sentence; `before`: what it answers."""
    found = []
    for saying in talk.sayings(text, before):
        said = endings.corrected(straight(saying.text))
        for grammar in _grammars(said):
            found += [(fields, saying) for fields in grammar.read(said, asked=saying.asked)]
    return found


def over_in(text: str) -> list[Fields]:
    """The facts that a message says to be so no longer, each with the clause that says that."""
    found = []
    for sentence in talk.taken_back(text):
        said = straight(sentence)
        for grammar in _grammars(said):
            for clause in grammar.clauses(said):
                before = endings.before(clause)
                found += [one._replace(clause=clause) for was in before for one in grammar.read(was, asked=False)]
    return found


def _is_plain(saying: talk.Saying) -> bool:
    """Whether a sentence is one clause; what it says to be so no longer does not count."""
    said = endings.corrected(straight(saying.text))
    clauses = [one for grammar in _grammars(said) for one in grammar.clauses(said) if not endings.before(one)]
    return len(clauses) == 1 and _MORE.search(clauses[0]) is None


def proposals(told: Sequence[Told]) -> list[Proposal]:
    """What the rules propose of these messages, oldest first."""
    found: list[Proposal] = []
    for one in told:
        for fields, saying in facts_in(one.text, one.before):
            words = saying.source if saying.confirmed else fields.clause
            evidence = _evidence(one, words)._replace(confirmed=saying.confirmed, plain=_is_plain(saying))
            proposal = Proposal(*fields[:5], evidence)
            found += [] if refusal(proposal) else [proposal]
    return found


def over(told: Sequence[Told]) -> list[Proposal]:
    """The facts that these messages say to be so no longer, oldest first."""
    return [Proposal(*one[:5], _evidence(message, one.clause)) for message in told for one in over_in(message.text)]


def _evidence(one: Told, words: str) -> Evidence:
    return Evidence(one.session_key, one.number, one.at, words, one.message_id)


def _grammars(text: str) -> Sequence[Grammar]:
    """Those of the scripts that a sentence holds."""
    found: list[Grammar] = []
    if _CYRILLIC.search(text):
        found.append(_grammar("russian"))
    if _CHINESE.search(text):
        found.append(_grammar("chinese"))
    return found or [_grammar("english")]


@lru_cache(3)
def _grammar(language: str) -> Grammar:
    from importlib import import_module

    grammar: Grammar = import_module(f"nanomem_tui.facts.rules_{language}").GRAMMAR
    return grammar
