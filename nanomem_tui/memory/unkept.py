"""Why a sentence of a person's message became no memory: the reason that the end of a turn gives for each.

Owns the reasons for what is no candidate at all; what becomes of candidates is the judgement of `capture`. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from nanomem_tui.core.settings import Settings
from nanomem_tui.language import pasted, remembering, wishes
from nanomem_tui.language.message import Message
from nanomem_tui.language.tokens import tokens

OFF = "capturing is off (capture_enabled)"
QUESTION = "a question"
SMALL_TALK = "small talk"
QUOTED = "quoted, not said"
NOTHING = "no preference, fact, decision or event that will matter"
NO_WORDS = "no words"
MOST = 20
"""Sentences of one message that are reported one by one."""

_WORD = re.compile(r"[^\W\d_]")


def reasons(
    message: Message, known: Collection[str], settings: Settings, *, forgets: bool = False
) -> list[tuple[str, str]]:
    """The parts of a message that became nothing, each with the reason. `known`: the texts of what was kept or is
    dropped with a reason already; `forgets`: a wish in it that something be forgotten was taken."""
    if not settings.capture_enabled:
        return [(message.text, OFF)] if not known else []
    found = list(_reasons(message, known, forgets=forgets))
    if len(found) > MOST:
        found[MOST:] = [(f"{len(found) - MOST} more sentences", NOTHING)]
    return found


def _reasons(message: Message, known: Collection[str], *, forgets: bool) -> Iterator[tuple[str, str]]:
    said = [frozenset(tokens(one)) for one in known]
    for sentence in message.sentences:
        if _is_known(sentence, said) or (forgets and sentence in message.forgetting and wishes.named(sentence)):
            continue
        yield sentence, _reason(sentence)
    for line in (line.strip() for line in message.own.splitlines()):
        if line.startswith(">") and not _is_known(line, said):
            yield line, QUOTED
    if (others := message.others.strip()) and not _is_known(others, said):
        yield others, pasted.WHY


def _reason(sentence: str) -> str:
    if _WORD.search(sentence) is None:
        return NO_WORDS
    if remembering.is_question(sentence):
        return QUESTION
    return SMALL_TALK if remembering.reading_of(sentence).act == "chatter" else NOTHING


def _is_known(sentence: str, said: Collection[frozenset[str]]) -> bool:
    """Whether what is kept or reported came of this sentence: it holds most of those words, or they hold it."""
    words = frozenset(tokens(sentence))
    return any(words <= one or 5 * len(words & one) >= 3 * len(one) for one in said if one)
