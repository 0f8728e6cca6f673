"""What of a model's summary the messages bear out, and what people said of which it has nothing.

Owns both questions, each answered by the words of the messages alone. Errs towards the messages: a true fact in other
words than were said is left out, and what was said is archived instead. Must not ask a model. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from nanomem_tui.dream import details, support, witness
from nanomem_tui.dream.clauses import core, missing
from nanomem_tui.dream.edits import LineEdit
from nanomem_tui.dream.polarity import denies
from nanomem_tui.dream.summary import Line, refused
from nanomem_tui.formats.sessions import Message
from nanomem_tui.language import remembering
from nanomem_tui.language.tokens import fold
from nanomem_tui.memory import injection

_COVERED = 0.6
"""The share of the words of what somebody said that a fact must hold to stand for it; one word may always miss."""
_SPOKEN = frozenset({"user", "assistant"})

_REASONS = {
    witness.DENIED: "says the opposite",
    witness.ANOTHER: "says it of another",
    witness.SUPPOSED: "only supposes it",
}
_ALIKE = tuple(
    re.compile(rf"\b(?:{words})\b")
    for words in (
        r"likes?|liked|loves?|loved|enjoys?|enjoyed|prefers?|preferred|favou?rite|fan|fond|rather|best|adores?",
        r"wants?|wanted|wish(?:es)?|hopes?|needs?|plans?|planning|goals?|going to|would|must|should|have to|has to",
        r"owns?|owned|has|have|had|got|gets?|my|our|mine|bought|keeps?|keep|i['’]ve|we['’]ve|with",
        r"lives?|lived|living|moved|moves|moving|based|located|relocated|resides?|home|from|in",
        r"works?|worked|working|job|joined|employed|hired|started|start|career|colleagues?",
        r"uses?|used|using|runs?|running|switched|with|on",
    )
)
"""Verbs that say much the same of somebody: a fact that holds one of a row needs one of that row said."""


def unsaid(text: str, mark: str, cited: Message, messages: Sequence[Message]) -> str:
    """Why a fact must not be archived; "" when the message that it cites says it, after what was said just before.

    Of the task under way (`ephemeral`), which no Dream remembers, most words must be somewhere in the messages.
    """
    if mark == "ephemeral":
        there = frozenset[str]().union(*(core(message.content) for message in messages))
        wanted = core(text)
        return "" if len(missing(wanted, there)) <= (1 - _COVERED) * len(wanted) else "no message says it"
    before = [one for one in messages if one.index < cited.index and one.role in _SPOKEN and one.content.strip()]
    around = before[-1].content if before and cited.role == "user" else ""
    words = missing(core(text), core(cited.content) | core(around))
    if words:
        return f"message {cited.index} does not say {', '.join(support.as_written(text, words)[:4])}"
    said = fold(f"{cited.content}\n{around}")
    if any(row.search(fold(text)) and not row.search(said) for row in _ALIKE):
        return f"message {cited.index} says it otherwise"
    edit = LineEdit("add", "USER.md", new=f"- {text}")
    why = witness.unborne(edit, cited.content, frozenset())
    if why and around:
        why = witness.unborne(edit, f"{around}\n{cited.content}", frozenset())
    return f"message {cited.index} {_REASONS.get(why, 'does not say it')}" if why else ""


def left_over(said: Iterable[Line], archived: Sequence[Line]) -> list[Line]:
    """The lines, in people's own words, that no archived one stands for."""
    return [line for line in said if not any(_stands_for(one, line) for one in archived)]


def _stands_for(one: Line, said: Line) -> bool:
    if one.message != said.message:
        return details.says(said.text, one.text)
    wanted = core(said.text)
    if denies(one.text) != denies(said.text) or details.unaccounted(said.text, one.text):
        return False
    lost = len(missing(wanted, core(one.text)))
    return lost < len(wanted) and lost <= max(1, (1 - _COVERED) * len(wanted))


def own_words(text: str, cited: Message) -> list[Line]:
    """The sentences of a person's message that a fact which it does not say was made of, where they may be archived."""
    if cited.role != "user" or injection.reason(cited.content):
        return []
    wanted = core(text)
    found = [" ".join(one.split()) for one in remembering.sentences(cited.content)]
    near = [one for one in found if wanted & core(one) and not one.endswith(("?", "？")) and not refused(one)]
    return [Line("durable", one, cited.index) for one in near]
