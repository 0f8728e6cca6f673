"""The Model Context Protocol over HTTP, on 127.0.0.1 and nowhere else, for who gives the token.

Owns the port, and who is let in: a program on this machine that names the token, and no page of a browser, whatever it
calls this machine. Each request is answered on its own, so that nothing of a client stays here. Must not know a tool.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import secrets
import signal
import socket
import stat
from collections.abc import Generator
from hmac import compare_digest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nanomem_tui.core import atomic, errors
from nanomem_tui.core.errors import BadInput, Conflict, Refused, from_os_error
from nanomem_tui.servers import mcp
from nanomem_tui.servers.mcp import Offer, server_of

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp, Receive, Scope, Send


# The word that a program on this machine gives to be let in over a port: from the environment, else from a file of
# ours, 0600, made at the first start.

VARIABLE = "NANOMEM_TOKEN"
SHORTEST, LONGEST = 16, 1_000
"""Characters of a token."""


def token(file: Path) -> str:
    """The token of this start: what `NANOMEM_TOKEN` holds, else what the file holds, which is made when it is missing.

    Raises BadInput for one that cannot be used, Refused for a file that others may read, and what `from_os_error` does.
    """
    given = os.environ.get(VARIABLE)
    if given:
        return _checked(given.strip(), f"environment variable {VARIABLE}")
    try:
        return _read(file)
    except FileNotFoundError:
        atomic.make_folder(file.parent)
        made = secrets.token_urlsafe(32)
    try:
        atomic.write_atomic(file, f"{made}\n".encode(), expected="", mode=0o600)
    except Conflict:  # another server of ours made it in this moment
        return _read(file)
    return made


def token_source(file: Path) -> str:
    """Where the token of this start stands, for a person."""
    return VARIABLE if os.environ.get(VARIABLE) else str(file)


def token_matches(given: str, wanted: str) -> bool:
    """Whether that is the token, in a time that tells nothing of it."""
    return compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def _read(file: Path) -> str:
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with open(handle, "rb") as opened:
            mode = os.fstat(handle).st_mode
            data = opened.read(LONGEST + 2) if stat.S_ISREG(mode) else b""
    except FileNotFoundError:
        raise
    except OSError as error:
        raise from_os_error(error, f"reading {file.name}") from error
    if mode & 0o077:
        raise Refused("others on this machine may read the token", str(file), f"chmod 600 {file}, or remove it")
    return _checked(data.decode("utf-8", "replace").strip(), str(file))


def _checked(text: str, where: str) -> str:
    fits = SHORTEST <= len(text) <= LONGEST and all("!" <= char <= "~" for char in text)
    if not fits:
        what = f"a token is {SHORTEST} to {LONGEST:,} characters of ASCII without blanks"
        raise BadInput(what, where, "remove it, and a new one is made")
    return text


# -- A port of this machine, 127.0.0.1, and of no other ---------------------------------------------------------------

HOST = "127.0.0.1"


def listen(port: int, option: str) -> socket.socket:
    """The port of this machine, taken; 0: any free one. Raises Refused in one line, which names the `option`, where it
    is not to be had."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a server may follow on one that just ended
        listening.bind((HOST, port))
        listening.listen()
    except OSError as error:
        listening.close()
        why = "is taken" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
        raise errors.Refused(f"port {port} of {HOST} {why}", option, "give another, or 0 for any free one") from error
    return listening


# -- Connections of which no whole request has come yet: few, and not for long ----------------------------------------

SECONDS = 10.0
"""How long the head of the first request may take."""
MOST = 64
"""Connections that wait at the same time."""


class PendingConnections:
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


def serve(given: Offer, listening: socket.socket, word: str) -> None:
    """Answer until SIGTERM or Ctrl-C; requests that were read get their answers first. `word`: the token."""
    import anyio

    anyio.run(_serve, given, listening, word)


async def _serve(given: Offer, listening: socket.socket, word: str) -> None:
    import anyio
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol

    mcp.log_in_lines()
    half_open = PendingConnections()

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


def app_of(given: Offer, port: int, word: str) -> ASGIApp:
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
    return TokenCheck(inner, word)


class TokenCheck:
    """An application that answers 401 to who does not name the token, before anything else of a request is read; and
    405 to who asks for a stream, on which nothing would ever come."""

    def __init__(self, inner: ASGIApp, word: str) -> None:
        self._inner = inner
        self._word = word

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._inner(scope, receive, send)
        answer: ASGIApp = self._inner
        if not token_matches(_token_of(scope), self._word):
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


def _token_of(scope: Any) -> str:
    """The token of a request; empty where it names none, or several."""
    found = [value for name, value in scope["headers"] if name == b"authorization"]
    scheme, _, word = found[0].decode("latin-1").partition(" ") if len(found) == 1 else ("", "", "")
    return word.strip() if scheme.lower() == "bearer" else ""
