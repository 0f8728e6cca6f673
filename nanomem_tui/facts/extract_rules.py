"""The rules extractor: facts out of what people said, offline, the same every time, in ten languages.

What of a message tells anything at all is `talk`'s; which attributes a sentence gives is read by `language`. Must not
know what is known already.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nanomem_tui.facts import talk
from nanomem_tui.facts.proposals import Evidence, Proposal, refusal
from nanomem_tui.language import attributes

if TYPE_CHECKING:
    from nanomem_tui.facts.dialogue import Told

NAME = "rules"


def proposals(told: Sequence[Told]) -> list[Proposal]:
    """What the rules propose of these messages, oldest first."""
    found: list[Proposal] = []
    for one in told:
        for saying in talk.sayings(one.text, one.before):
            for said in saying.attributes:
                words = saying.source if saying.confirmed else said.clause
                proposal = _proposal(one, said, words)
                evidence = proposal.evidence._replace(confirmed=saying.confirmed, plain=saying.is_plain)
                found += [] if refusal(proposal) else [proposal._replace(evidence=evidence)]
    return found


def over(told: Sequence[Told]) -> list[Proposal]:
    """The facts that these messages say to be so no longer, oldest first."""
    return [
        _proposal(one, said, said.clause)
        for one in told
        for sentence in talk.taken_back(one.text)
        for said in attributes.ended(sentence, talk.language_in(sentence))
    ]


def _proposal(one: Told, said: attributes.Attribute, words: str) -> Proposal:
    evidence = Evidence(one.session_key, one.number, one.at, words, one.message_id)
    return Proposal(said.domain, said.category, "", said.key, said.value, evidence)
