"""Whether the one who sent a message may teach: put into memory, and correct into lessons, without a further look.

Owns that one decision, for captures and for lessons alike. What somebody says who may not is kept, and waits in the
inbox. Pure.
"""

from __future__ import annotations

from nanomem_tui.core.settings import Settings
from nanomem_tui.memory.scopes import Audience


def held_sender(audience: Audience, settings: Settings) -> str:
    """Why what the sender of a message says has to be accepted by a person first; empty when it need not be.

    Where `capture_senders` names some, only they teach. Else every named one does, and whoever writes without a name
    in a channel of one person (`capture_unnamed_channels`).
    """
    if settings.capture_senders:
        return "" if audience.sender_id in settings.capture_senders else "the sender is not one of capture_senders"
    if audience.sender_id or audience.channel in settings.capture_unnamed_channels:
        return ""
    return "no sender is named, and the channel is not one of capture_unnamed_channels"
