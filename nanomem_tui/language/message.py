"""A message, read once: what its writer says, sentence by sentence, and what of it is another's."""

from __future__ import annotations

from functools import cached_property, lru_cache

from nanomem_tui.language import pasted, remembering, unwanted
from nanomem_tui.language.remembering import Said


class Message:
    """What a message says. Each part is worked out when it is first asked for, and kept.

    >>> read("I moved to Lisbon. Forget the note about Porto.").forgetting
    ('Forget the note about Porto.',)
    """

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def is_unwanted(self) -> bool:
        """Whether its writer asks that nothing of it be remembered."""
        return unwanted.is_unwanted(self.text)

    @cached_property
    def _parts(self) -> pasted.Parts:
        return pasted.parts(self.text)

    @property
    def own(self) -> str:
        """What its writer says."""
        return self._parts.said

    @property
    def others(self) -> str:
        """What stands in it of mails, pages, logs and other people; "" for nothing."""
        return self._parts.pasted

    @cached_property
    def reports(self) -> bool:
        """Whether some of it is what a page, a mail or a document says."""
        return pasted.reports(self.text)

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The sentences of its writer."""
        return remembering.sentences(self.own)

    @cached_property
    def said(self) -> tuple[Said, ...]:
        """What its writer says for memory."""
        return remembering.said_in(self.own)

    @cached_property
    def forgetting(self) -> tuple[str, ...]:
        """The sentences that ask to forget something."""
        return tuple(filter(remembering.asks_to_forget, self.sentences))

    @cached_property
    def pointing(self) -> tuple[str, ...]:
        """The sentences that ask to remember something and do not say what (“remember this”)."""
        return tuple(filter(remembering.points_only, remembering.sentences(remembering.without_lists(self.own))))


@lru_cache(8)
def read(text: str) -> Message:
    """Return the message; whoever asks for the same text again has what was worked out of it before."""
    return Message(text)
