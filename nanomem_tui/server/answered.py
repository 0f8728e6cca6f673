"""The two ways of a connection, so that every request that was read is answered: the end of the input waits for the
answers that are still to come, and a request that the protocol's library cannot read gets an error.

Owns the account of requests without an answer. Must not know a tool.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

PATIENCE = 60.0
"""Seconds that the end of the input waits for the last answers."""


class Outgoing:
    """The way out; knows which requests have no answer yet."""

    def __init__(self, inner: Any) -> None:
        import anyio

        self._inner = inner
        self._open: set[object] = set()
        self._closed = anyio.Event()

    def begin(self, request: object) -> None:
        """A request was read."""
        self._open.add(request)

    def drop(self, request: object) -> None:
        """A request has its answer, or wants none any more."""
        self._open.discard(request)
        if not self._open:
            self._closed.set()

    async def settled(self) -> None:
        """Wait until every request has its answer."""
        import anyio

        with anyio.move_on_after(PATIENCE):
            while self._open:
                self._closed = anyio.Event()
                await self._closed.wait()

    async def send(self, item: SessionMessage) -> None:
        """Hand a message on."""
        import mcp_types as types

        await self._inner.send(item)
        if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
            self.drop(item.message.id)

    async def aclose(self) -> None:
        """End the way out."""
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class Incoming:
    """The way in; ends once all that came by it is answered."""

    def __init__(self, inner: Any, outgoing: Outgoing) -> None:
        self._inner = inner
        self._outgoing = outgoing

    @property
    def last_context(self) -> Any:
        """That of who sent the last message, which the library asks for."""
        return self._inner.last_context

    async def receive(self) -> SessionMessage | Exception:
        """The next message. Raises EndOfStream."""
        import anyio

        while True:
            try:
                item: SessionMessage | Exception = await self._inner.receive()
            except anyio.EndOfStream:
                await self._outgoing.settled()
                raise
            if not isinstance(item, Exception):
                self._count(item)
                return item
            refusal = _refusal(item)
            if refusal is None:
                return item
            await self._outgoing.send(refusal)

    def _count(self, item: SessionMessage) -> None:
        import mcp_types as types

        message = item.message
        if isinstance(message, types.JSONRPCRequest):
            self._outgoing.begin(message.id)
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._outgoing.drop((message.params or {}).get("requestId"))

    async def aclose(self) -> None:
        """End the way in."""
        await self._inner.aclose()

    def __aiter__(self) -> Incoming:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        import anyio

        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _refusal(error: Exception) -> SessionMessage | None:
    """The answer to a line that is a request for Python and none for the library: it holds half a character."""
    import mcp_types as types
    from mcp.shared.message import SessionMessage

    told = getattr(error, "errors", None)  # of pydantic, which is the library's
    line = told()[0].get("input") if callable(told) else None
    try:
        found = json.loads(line) if isinstance(line, str) else None
    except (ValueError, RecursionError):
        return None
    name = found.get("id") if isinstance(found, dict) and "method" in found else None
    if isinstance(name, bool) or not isinstance(name, int | str):
        return None
    said = types.ErrorData(code=types.PARSE_ERROR, message="the request holds a lone surrogate, which is no text")
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=name, error=said))
