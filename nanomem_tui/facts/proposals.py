"""A fact that is proposed, with the words of the message that say it, and what may never be one.

Owns the shape of a proposal and its limits: lengths, control characters, secrets, orders to a model. Pure; must not
know how a proposal was found, nor what is known already.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from nanomem_tui.language import injection, secrets
from nanomem_tui.language.secrets import signs as secret_signs
from nanomem_tui.language.tokens import fold
from nanomem_tui.memory import safety

MAX_KEY = 100
MAX_VALUE = 300
MAX_LABEL = 60
"""Characters of a domain, a category and a sub-category."""

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


class Evidence(NamedTuple):
    """The message that says a fact: its session, its number there (from 0), when (UTC ISO, or ""), the very words.

    `message_id`: the id that its channel gave it, or "". `confirmed`: the words are a question, and the message a yes.
    `plain`: a sentence says it and nothing else; what is said beside other things takes no place of what is known.
    """

    session_key: str
    number: int
    at: str
    text: str
    message_id: str = ""
    confirmed: bool = False
    plain: bool = True

    @property
    def id(self) -> str:
        """The message as a fact names its source: the id of its channel, else its place in the session."""
        return self.message_id or f"{self.session_key}#{self.number}"


class Proposal(NamedTuple):
    """A fact that a message says. `domain` and `sub_category` may be empty. `doubt`: why a person has to look first."""

    domain: str
    category: str
    sub_category: str
    key: str
    value: str
    evidence: Evidence
    doubt: str = ""

    @property
    def text(self) -> str:
        """Key and value on a line."""
        return f"{self.key}: {self.value}"

    @property
    def place(self) -> tuple[str, str, str]:
        """What makes it one fact: domain, category and key, without differences of case and white space."""
        return fold(self.domain), fold(self.category), fold(self.key)

    def to_json(self) -> dict[str, Any]:
        """The proposal as the command line prints it."""
        return {
            "domain": self.domain,
            "category": self.category,
            "sub_category": self.sub_category,
            "key": self.key,
            "value": self.value,
            "evidence": {
                "session_key": self.evidence.session_key,
                "message": self.evidence.number,
                "message_id": self.evidence.message_id or None,
                "at": self.evidence.at or None,
                "text": self.evidence.text,
                "confirmed": self.evidence.confirmed,
            },
        }


def refusal(proposal: Proposal) -> str:
    """Why a proposal can be no fact at all; "" when it can be one."""
    if not proposal.key.strip():
        return "its key is empty"
    if not proposal.category.strip():
        return "its category is empty"
    if not proposal.value.strip():
        return "its value is empty"
    limits = {"key": MAX_KEY, "value": MAX_VALUE, "domain": MAX_LABEL, "category": MAX_LABEL, "sub_category": MAX_LABEL}
    for name, limit in limits.items():
        text: str = getattr(proposal, name)
        if len(text) > limit:
            return f"its {name.replace('_', '-')} has {len(text):,} characters, more than {limit}"
        if _CONTROL.search(text):
            return f"its {name.replace('_', '-')} holds control characters"
    whole = f"{proposal.domain} {proposal.category} {proposal.sub_category} {proposal.text}"
    if secrets.find(whole) or secrets.is_masked(whole) or secret_signs.is_private(whole):
        return "it holds a secret"
    if why := injection.reason(whole):
        return why
    return "it was recalled, not said" if safety.is_recalled(whole) else ""
