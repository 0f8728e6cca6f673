"""What of a model's summary the messages bear out, and what people said of which it has nothing.

Owns both questions, each answered by the words of the messages alone. Errs towards the messages: a true fact in other
words than were said is left out, and what was said is archived instead. Must not ask a model. Pure functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nanomem_tui.agents.transcripts import Message
from nanomem_tui.dream import details, support
from nanomem_tui.dream.summary import Line, refused
from nanomem_tui.language import compare, injection, remembering, vetoes

_COVERED = 0.6
"""The share of the words of what somebody said that a fact must hold to stand for it; one word may always miss."""
_SPOKEN = frozenset({"user", "assistant"})
_REASONS = {
    vetoes.DENIED: "says the opposite",
    vetoes.ANOTHER: "says it of another",
    vetoes.SUPPOSED: "only supposes it",
}


def unsaid(text: str, mark: str, cited: Message, messages: Sequence[Message]) -> str:
    """Why a fact must not be archived; "" when the message that it cites says it, after what was said just before.

    Of the task under way (`ephemeral`), which no Dream remembers, most words must be somewhere in the messages.
    """
    wanted = details.words(text) - details.words("user")
    if mark == "ephemeral":
        there = frozenset[str]().union(*(details.words(message.content) for message in messages))
        return "" if len(details.missing(wanted, there)) <= (1 - _COVERED) * len(wanted) else "no message says it"
    before = [one for one in messages if one.index < cited.index and one.role in _SPOKEN and one.content.strip()]
    around = before[-1].content if before and cited.role == "user" else ""
    why = compare.held(cited.content, text).why
    if why and around:
        why = compare.held(f"{around}\n{cited.content}", text).why
    if not why:
        return ""
    words = details.missing(wanted, details.words(cited.content) | details.words(around))
    if words and why not in _REASONS:
        return f"message {cited.index} does not say {', '.join(support.as_written(text, words)[:4])}"
    return f"message {cited.index} {_REASONS.get(why, 'does not say it')}"


def left_over(said: Iterable[Line], archived: Sequence[Line]) -> list[Line]:
    """The lines, in people's own words, that no archived one stands for."""
    return [line for line in said if not any(_stands_for(one, line) for one in archived)]


def _stands_for(one: Line, said: Line) -> bool:
    if one.message != said.message:
        return details.says(said.text, one.text)
    wanted = details.words(said.text)
    if vetoes.denies(one.text) != vetoes.denies(said.text) or details.unaccounted(said.text, one.text):
        return False
    lost = len(details.missing(wanted, details.words(one.text)))
    return lost < len(wanted) and lost <= max(1, (1 - _COVERED) * len(wanted))


def own_words(text: str, cited: Message) -> list[Line]:
    """The sentences of a person's message that a fact which it does not say was made of, where they may be archived."""
    if cited.role != "user" or injection.reason(cited.content):
        return []
    wanted = details.words(text)
    found = [" ".join(one.split()) for one in remembering.sentences(cited.content)]
    near = [one for one in found if wanted & details.words(one) and not one.endswith(("?", "？")) and not refused(one)]
    return [Line("durable", one, cited.index) for one in near]
