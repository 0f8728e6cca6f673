"""What people write, read once: messages, statements, lines of notes, values, dates, secrets, in ten languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nanomem_tui.language.message import Message


def read(text: str) -> Message:
    """Return what a message says, sentence by sentence. A text is read once, however often it is asked for."""
    from nanomem_tui.language import message  # who only wants dates or tokens does not wait for it

    return message.read(text)
