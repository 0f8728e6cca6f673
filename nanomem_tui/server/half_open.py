"""Connections of which no whole request has come yet: few, and not for long.

Whoever connects and says nothing, or half of a request, is let go of; the one that waits longest makes room for a new
one, so that nobody can keep others out. Must not know a protocol: anything with a `transport` is a connection.
"""

from __future__ import annotations

import asyncio
from typing import Any

SECONDS = 10.0
"""How long the head of the first request may take."""
MOST = 64
"""Connections that wait at the same time."""


class HalfOpen:
    """The connections of one server that sent no whole request yet, oldest first."""

    def __init__(self) -> None:
        self._timers: dict[Any, asyncio.TimerHandle] = {}

    def add(self, connection: Any) -> None:
        """Wait for the request of a new connection."""
        self._timers[connection] = asyncio.get_running_loop().call_later(SECONDS, self._let_go, connection)
        while len(self._timers) > MOST:
            self._let_go(next(iter(self._timers)))

    def answered(self, connection: Any) -> None:
        """Wait no longer: the request is there."""
        timer = self._timers.pop(connection, None)
        if timer is not None:
            timer.cancel()

    def _let_go(self, connection: Any) -> None:
        self.answered(connection)
        if connection.transport is not None:
            connection.transport.abort()
