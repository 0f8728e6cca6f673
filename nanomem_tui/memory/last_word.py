"""What is remembered of how answers are to be (their language, their length): of several wishes the last word holds.

Owns which preferences say such a thing, and which of them another takes the place of in one block. A lesson of the chat
goes before them, of several the one that was said last holds; what a person pinned always stays. Nothing is changed: an
older one counts again when the newer is gone. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from nanomem_tui.core.settings import Settings
from nanomem_tui.language import corrections
from nanomem_tui.store.values import Item, Lesson

_OF_ONESELF = re.compile(
    r"\b(?:i|i'[a-z]+|my|we|we'[a-z]+|our)\b|我(?!们?(?:[。！!，,.\s]|的(?:问题|消息|话))*$)", re.IGNORECASE
)
"""What a sentence tells of the one who says it, and not only of how to answer."""


def is_order(text: str, settings: Settings) -> bool:
    """Whether a sentence only corrects how answers are to be: it leaves a lesson, and tells nothing of who says it."""
    found = corrections.detect(text, settings)
    return found is not None and not found.is_empty and _OF_ONESELF.search(text.replace("’", "'")) is None


def overruled(items: Iterable[Item], lessons: Iterable[Lesson], settings: Settings) -> dict[str, str]:
    """Of the items that would stand in one block beside these lessons: those that say of answers what another says
    otherwise or again, by id, with the reason."""
    said = [(one, topic) for one in items if one.kind == "preference" and (topic := _topic(one.text, settings))]
    if not said:
        return {}
    here = {corrections.topic(one.trigger, one.better_action): one.id for one in lessons if one.scope == "session"}
    last = {topic: one for one, topic in sorted(said, key=lambda pair: (pair[0].updated_at, pair[0].id))}
    found: dict[str, str] = {}
    for one, topic in said:
        if not one.pinned and (topic in here or last[topic].id != one.id):
            found[one.id] = f"{here.get(topic) or last[topic].id} is the last word on it"
    return found


def _topic(text: str, settings: Settings) -> str:
    found = corrections.detect(text, settings)
    return corrections.topic(found.trigger, found.text) if found is not None else ""
