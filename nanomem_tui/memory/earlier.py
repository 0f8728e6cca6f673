"""What of an earlier turn a later one is told again: its name, its words and its answer, and that it had none.

Owns what becomes of the turn of somebody who may not teach: it is marked as not checked, and what a capture or a
correction of it is held back for is left out with its answer, as it is in no other part of a block. What is told of a
page, an answer that asks for something to be remembered, and one that repeats a tool, are marked so too. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from nanomem_tui import language
from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.settings import Settings
from nanomem_tui.language import corrections, remembering
from nanomem_tui.memory import capture, capture_senders, names, prompt
from nanomem_tui.memory.pending import Recovered
from nanomem_tui.memory.scopes import Audience
from nanomem_tui.memory.working import Exchange

UNNAMED = "an unnamed sender"


def told(turn: Exchange, place: Audience, settings: Settings, workspace_id: str) -> Exchange:
    """A turn of the chat `place` as it may be told again: without secrets, orders to the model, and what waits."""
    audience = Audience(place.channel, place.chat_id, turn.sender or None)
    speaker = names.named(turn.speaker, turn.sender, turn.user)
    answer = None if turn.assistant is None else prompt.unjudged(turn.assistant)
    said, sender = prompt.unjudged(turn.user), names.identity(turn.sender)
    checked = turn.answer_checked and (answer is None or not _asks(turn.assistant or ""))
    shown = turn._replace(speaker=speaker, sender=sender, user=said, assistant=answer, answer_checked=checked)
    if not capture_senders.held_sender(audience, settings):
        return shown._replace(checked=not language.read(turn.user).reports)
    shown = shown._replace(speaker=speaker if turn.sender else UNNAMED, checked=False)
    if not _waits(turn.user, audience, _Kept(settings), workspace_id):
        return shown
    # The answer says again what it answers: "Noted, the code is …" would bring back what the line above leaves out.
    left_out = None if answer is None else prompt.UNCHECKED
    return shown._replace(user=prompt.UNCHECKED, assistant=left_out, answer_checked=True)


def unanswered(
    items: Iterable[Recovered], sender_of: Callable[[str], str], place: Audience, settings: Settings, workspace_id: str
) -> Iterator[str]:
    """The recovered turns of the chat `place` as pending items. `sender_of` gives who began the turn of an id; one that
    is not known is nobody."""
    for item in items:
        sender = sender_of(item.turn) if item.turn else ""
        shown = told(Exchange(item.at, "", item.text, sender=sender), place, settings, workspace_id)
        whose = "" if shown.checked else "; not checked"
        yield f"{shown.user} (asked {item.at[:16]}, never answered{whose})"


class _Kept:
    """Settings as a key of the cache: they are read once for a workspace, and hold tables."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Kept) and other.settings is self.settings

    def __hash__(self) -> int:
        return id(self.settings)


@lru_cache(1024)
def _asks(answer: str) -> bool:
    """Whether an answer asks for something to be remembered, as only a person may: what a tool gave may stand in it."""
    return any(said.explicit for said in remembering.said_in(answer))


@lru_cache(1024)  # the same turns are told again in every turn that follows
def _waits(text: str, audience: Audience, kept: _Kept, workspace_id: str) -> bool:
    """Whether something of a message of somebody who may not teach was held back for a person."""
    settings = kept.settings
    if settings.learning_enabled and corrections.detect(text, settings) is not None:
        return True
    try:
        found = capture.capture(text, capture.Origin(audience), settings, lambda *_: None, workspace_id)
    except BadInput:  # it asks for a scope that its chat has not
        return True
    return bool(found.quarantined)
