"""Waiting until a widget has handled what was sent to it, so that a key acts on what the key before it left."""

from __future__ import annotations

import asyncio
import contextlib

from textual.message_pump import MessagePump

PATIENCE = 2.0  # seconds that are waited for one widget at most: no key is held for good
LOOK = 0.02  # seconds between two looks whether it has gone


async def caught_up(pump: MessagePump) -> None:
    """Wait until `pump` has handled all that is in its queue now, or has gone."""
    reached = asyncio.Event()
    if _has_gone(pump) or not pump.call_later(reached.set):
        return
    for _ in range(int(PATIENCE / LOOK)):
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(reached.wait(), LOOK)
        if reached.is_set() or _has_gone(pump):
            return


def _has_gone(pump: MessagePump) -> bool:
    return not pump.is_running or not pump.is_attached
