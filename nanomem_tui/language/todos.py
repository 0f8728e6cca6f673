"""What a message asks to be done later, and that something is done: how the pending items of a session fill and empty.

As in seed 000: the whole message waits, and "done" takes out what waits longest, or what the message names. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from nanomem_tui import language
from nanomem_tui.language.tokens import tokens

LONGEST = 1_000
"""Characters of a message that is read; a longer one is something pasted."""
FEW = 8
"""Words of a message that says "done" and names nothing that waits, and is still about what waits longest."""
_TODO = re.compile(
    r"(?<!\w)(?:to-?do|(?<!n't )(?<!n’t )(?<!not )(?<!never )(?<!need to )(?<!dont )remind me|remember to|"
    r"don['’]?t (?:let me )?forget|do not forget|erinner[en]? mich(?! nicht)|"
    r"recuérd[ae]me|rappelle[sz]?-moi|lembr[ae]-me|ricordami|напомни(?:те)?|не забудь(?:те)?)(?!\w)|"
    r"待办|待辦|提醒我|请提醒|請提醒|别忘了|別忘了|記得要|记得要|リマインド|忘れないで",
    re.IGNORECASE,
)
_ASKED_FOR = re.compile(r"(?<!\w)remind me (?:to|about|of|that|in|on|at|tomorrow|when)(?!\w)|提醒我", re.IGNORECASE)
_DONE = re.compile(
    r"(?<!\w)(?:done|resolved|cancel(?:l?ed)?)(?!\w)|不用了|已完成|完成了|取消|做完了|搞定", re.IGNORECASE
)
_DONE_ALONE = re.compile(
    r"\W*(?:erledigt|hecho|ya está|c['’]est fait|feito|fatto|готово|сделано|完了|終わった)\W*", re.IGNORECASE
)
_NOT_DONE = re.compile(
    r"(?:(?<!\w)(?:not|never|well|until|when|once|if|before|after|be|gets?|nothing|how|should|without)(?!\w)|n['’]t(?!\w)|"
    r"没有|沒有|还没|還沒|未)[^.!?。！？]{0,40}(?:done|resolved|cancel|完成|取消|做完|搞定)",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"[?？]\W*$")


def asked(text: str) -> str:
    """Return what a message asks to be done later, empty where it asks for nothing."""
    own = _own(text)
    if not own or _TODO.search(own) is None or language.read(text).is_unwanted:
        return ""
    if _QUESTION.search(own) and _ASKED_FOR.search(own) is None:
        return ""  # "what is on my todo list?"
    return own


def finished(text: str, waiting: Sequence[str]) -> str:
    """Return the one of the pending items that a message says to be done or not needed, empty where it says so of none:
    the one that shares most words with the message, else the oldest."""
    own = _own(text)
    if not own or not waiting or asked(own) or _QUESTION.search(own):
        return ""
    if _DONE_ALONE.fullmatch(own) is None and (_DONE.search(own) is None or _NOT_DONE.search(own)):
        return ""
    said = frozenset(tokens(_DONE.sub(" ", own)))
    shared = [len(said & frozenset(tokens(_TODO.sub(" ", item)))) for item in waiting]
    if max(shared) > 0:
        return waiting[shared.index(max(shared))]
    return waiting[0] if len(own.split()) <= FEW else ""


def _own(text: str) -> str:
    """What a person says in a message, on one line; nothing of a message that is too long."""
    return " ".join(language.read(text).own.split()) if len(text) <= LONGEST else ""
