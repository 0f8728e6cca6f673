"""The rules extractor: facts out of what people said, offline, the same every time, in English, Russian and Chinese.

Owns which grammar reads a sentence. What of a message tells anything at all is `talk`'s; the words are those of the
grammars. Must not know what is known already.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from nanomem_tui.facts import talk
from nanomem_tui.facts.proposals import Evidence, Proposal, refusal
from nanomem_tui.memory.simplified import straight

if TYPE_CHECKING:
    from nanomem_tui.facts.dialogue import Told
    from nanomem_tui.facts.grammar import Fields, Grammar

NAME = "rules"
_CYRILLIC = re.compile("[а-яёА-ЯЁ]")
_CHINESE = re.compile("[\u3400-\u9fff]")


def facts_in(text: str, before: str = "") -> list[tuple[Fields, talk.Saying]]:
    """The facts that a message says, in its order, each with the sentence; `before`: what it answers."""
    found = []
    for saying in talk.sayings(text, before):
        for grammar in _grammars(saying.text):
            found += [(fields, saying) for fields in grammar.read(straight(saying.text), asked=saying.asked)]
    return found


def proposals(told: Sequence[Told]) -> list[Proposal]:
    """What the rules propose of these messages, oldest first."""
    found: list[Proposal] = []
    for one in told:
        for fields, saying in facts_in(one.text, one.before):
            words = saying.source if saying.confirmed else fields.clause
            evidence = Evidence(one.session_key, one.number, one.at, words, one.message_id, saying.confirmed)
            proposal = Proposal(*fields[:5], evidence)
            found += [] if refusal(proposal) else [proposal]
    return found


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
