"""What a message asks to be done later, and that something is done: how the pending items of a session fill and empty.

As in seed 000: the whole message waits, and "done" takes out what waits longest, or what the message names. The
words stand in `packs/todos.toml`. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from nanomem_tui import language
from nanomem_tui.language import tables
from nanomem_tui.language.tokens import tokens

LONGEST = 1_000
"""Characters of a message that is read; a longer one is something pasted."""
FEW = 8
"""Words of a message that says "done" and names nothing that waits, and is still about what waits longest."""
_pattern = tables.patterns("todos")


def asked(text: str) -> str:
    """Return what a message asks to be done later, empty where it asks for nothing."""
    own = _own(text)
    if not own or _pattern("todo").search(own) is None or language.read(text).is_unwanted:
        return ""
    if _pattern("question").search(own) and _pattern("asked_for").search(own) is None:
        return ""  # "what is on my todo list?"
    return own


def finished(text: str, waiting: Sequence[str]) -> str:
    """Return the one of the pending items that a message says to be done or not needed, empty where it says so of none:
    the one that shares most words with the message, else the oldest."""
    own = _own(text)
    if not own or not waiting or asked(own) or _pattern("question").search(own):
        return ""
    says_done = _pattern("done").search(own) is not None and _pattern("not_done").search(own) is None
    if not says_done and _pattern("done_alone").fullmatch(own) is None:
        return ""
    said = frozenset(tokens(_pattern("done").sub(" ", own)))
    shared = [len(said & frozenset(tokens(_pattern("todo").sub(" ", item)))) for item in waiting]
    if max(shared) > 0:
        return waiting[shared.index(max(shared))]
    return waiting[0] if len(own.split()) <= FEW else ""


def _own(text: str) -> str:
    """What a person says in a message, on one line; nothing of a message that is too long."""
    return " ".join(language.read(text).own.split()) if len(text) <= LONGEST else ""
