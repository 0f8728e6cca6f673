"""The Model Context Protocol over HTTP, on 127.0.0.1 and nowhere else, for who gives the token.

Owns the port, and who is let in: a program on this machine that names the token, and no page of a browser, whatever it
calls this machine. Each request is answered on its own, so that nothing of a client stays here. Must not know a tool.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from nanomem_tui.server import one_line_log, token
from nanomem_tui.server.half_open import HalfOpen
from nanomem_tui.server.mcp import Served, server_of
from nanomem_tui.server.port import HOST

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp, Receive, Scope, Send

PORT, PATH = 7333, "/mcp"
MOST_BYTES = 1_000_000
"""Bytes of a request; no argument of a tool comes near."""
MOST_AT_ONCE = 200
"""Connections."""
PATIENCE = 5
"""Seconds that the end waits for the answers that are still to come."""


def address(listening: socket.socket) -> str:
    """Where clients find the server."""
    return f"http://{HOST}:{listening.getsockname()[1]}{PATH}"


def serve(given: Served, listening: socket.socket, word: str) -> None:
    """Answer until SIGTERM or Ctrl-C; requests that were read get their answers first. `word`: the token."""
    import anyio

    anyio.run(_serve, given, listening, word)


async def _serve(given: Served, listening: socket.socket, word: str) -> None:
    import anyio
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol

    one_line_log.log_in_lines()
    half_open = HalfOpen()

    class Connection(H11Protocol):
        """A connection that is let go of where no request comes."""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            half_open.add(self)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is not None:  # a request is being answered
                half_open.answered(self)

        def connection_lost(self, exc: Exception | None) -> None:
            half_open.answered(self)
            super().connection_lost(exc)

    class Told(uvicorn.Server):
        """A server that is told of a signal by us, and does not raise it again when it has ended."""

        @contextlib.contextmanager
        def capture_signals(self) -> Generator[None]:
            yield

    config = uvicorn.Config(
        app_of(given, listening.getsockname()[1], word),
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        http=Connection,
        backlog=MOST_AT_ONCE,
        limit_concurrency=MOST_AT_ONCE,
        timeout_graceful_shutdown=PATIENCE,
    )
    server = Told(config)
    async with anyio.create_task_group() as group:
        group.start_soon(_until_told, server)
        await server.serve([listening])
        group.cancel_scope.cancel()


async def _until_told(server: uvicorn.Server) -> None:
    import anyio

    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            server.handle_exit(number, None)


def app_of(given: Served, port: int, word: str) -> ASGIApp:
    """The server as an application for HTTP, behind the token and the check of Host and Origin."""
    from mcp.server.transport_security import TransportSecuritySettings

    hosts = [f"{name}:{port}" for name in (HOST, "localhost")]
    security = TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts])
    inner = server_of(given).streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=MOST_BYTES,
        transport_security=security,
    )
    return Guarded(inner, word)


class Guarded:
    """An application that answers 401 to who does not name the token, before anything else of a request is read; and
    405 to who asks for a stream, on which nothing would ever come."""

    def __init__(self, inner: ASGIApp, word: str) -> None:
        self._inner = inner
        self._word = word

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._inner(scope, receive, send)
        answer: ASGIApp = self._inner
        if not token.matches(_given(scope), self._word):
            answer = _refusal(401, "a token is needed (Authorization: Bearer TOKEN)", {"WWW-Authenticate": "Bearer"})
        elif scope["method"] != "POST":
            answer = _refusal(405, "each request is answered on its own: POST", {"Allow": "POST"})
        return await answer(scope, receive, send)


def _refusal(status: int, said: str, headers: dict[str, str]) -> ASGIApp:
    """An answer that a client of the protocol shows to its user."""
    from mcp_types import INVALID_REQUEST
    from starlette.responses import JSONResponse

    body = {"jsonrpc": "2.0", "id": None, "error": {"code": INVALID_REQUEST, "message": said}}
    return JSONResponse(body, status, {**headers, "Connection": "close"})  # nobody waits here who may not come in


def _given(scope: Any) -> str:
    """The token of a request; empty where it names none, or several."""
    found = [value for name, value in scope["headers"] if name == b"authorization"]
    scheme, _, word = found[0].decode("latin-1").partition(" ") if len(found) == 1 else ("", "", "")
    return word.strip() if scheme.lower() == "bearer" else ""
