"""Where an item came from, as screens ask it: the jump from a row to the message that it was made of."""

from __future__ import annotations

from nanomem_tui.review.origin import message_of

__all__ = ["message_of"]
