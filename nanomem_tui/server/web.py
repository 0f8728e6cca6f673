"""The console in a browser, on 127.0.0.1 and nowhere else, for who gives the token.

Owns the port and who is let in: a browser that opened the address with the token once, from then on by a cookie of
this start; no page of another site, whatever it calls this machine. Each tab is a console of its own, in a process of
its own, which ends with the tab. Loads nothing from a network. Must not know what the console shows.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import shlex
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nanomem_tui import errors
from nanomem_tui.installing import extra_command
from nanomem_tui.server import token
from nanomem_tui.server.port import HOST

if TYPE_CHECKING:
    from aiohttp import web
    from aiohttp.typedefs import Handler, Middleware
    from textual_serve.server import Server

COOKIE = "nanomem"
MOST_AT_ONCE = 8
"""Consoles; each is a process of some 100 MB."""
PAGES = Path(__file__).parent / "pages"
"""The page around a console: ours, for the library's asks the network for a font, and takes keys only after a click."""
PATIENCE = 5.0
"""Seconds that the end waits for consoles to save and leave."""
NOT_FOR_A_CONSOLE = (token.VARIABLE, "SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT", "COLUMNS", "LINES")
"""What a console in a browser must not take from the terminal that serves it."""


def needed() -> None:
    """Raise MissingExtra where the library that draws a terminal in a browser is not installed."""
    try:
        import textual_serve.server  # noqa: F401
    except ImportError as error:
        what = "the library textual-serve is not installed"
        raise errors.MissingExtra(what, "nanomem serve web", extra_command("web")) from error


def address(listening: socket.socket, word: str = "") -> str:
    """Where a browser finds the console; with `word`, the token, it is let in."""
    return f"http://{HOST}:{listening.getsockname()[1]}/" + (f"?token={word}" if word else "")


def serve(workspace: Path, listening: socket.socket, word: str, *, ascii_only: bool = False) -> None:
    """Serve the console on `workspace` until SIGTERM or Ctrl-C; the consoles that are open save and leave first.

    `word`: the token.
    """
    for name in NOT_FOR_A_CONSOLE:
        os.environ.pop(name, None)
    command = [
        sys.executable,
        "-P",
        "-m",
        "nanomem_tui",
        "--workspace",
        str(workspace),
    ]  # -P: no package out of the folder it is started in
    command += ["--ascii"] if ascii_only else []
    logging.getLogger("textual-serve").addHandler(logging.NullHandler())  # it would show a browser's nonsense as ours
    asyncio.run(_serve(shlex.join(command), listening, word))


async def _serve(command: str, listening: socket.socket, word: str) -> None:
    from aiohttp import web

    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    door = Door(listening.getsockname()[1], word)
    app = await server_of(command, door)._make_app()
    app.middlewares.append(door.middleware())
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=PATIENCE)
    await runner.setup()
    try:
        await web.SockSite(runner, listening).start()
        await ended.wait()
        await door.close()
    finally:
        await runner.cleanup()


def server_of(command: str, door: Door) -> Server:
    """The library's server, quiet, with each console behind `door`."""
    from textual_serve.server import Server

    class Quiet(Server):
        """Says nothing of itself."""

        async def on_startup(self, app: web.Application) -> None:
            """Nothing to say: the command said it."""

        async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
            """A console, while there is room for one."""
            with door.console():
                return await super().handle_websocket(request)

    return Quiet(command, host=HOST, port=door.port, title="nanomem", templates_path=PAGES)


class Door:
    """Who is let in: requests to this machine's own name, from no other site, with the cookie of this start, which
    who gives the token gets."""

    def __init__(self, port: int, word: str) -> None:
        self.port = port
        self._word = word
        self._ticket = secrets.token_urlsafe(32)
        self._own = f"{HOST}:{port}"
        self._consoles: set[asyncio.Task[object]] = set()
        policy = {
            "default-src": "'none'",
            "script-src": "'self' 'unsafe-inline'",
            "style-src": "'self' 'unsafe-inline'",
            "font-src": "'self'",
            "img-src": "'self' data:",
            "connect-src": f"'self' ws://{self._own}",
            "frame-ancestors": "'none'",
            "base-uri": "'none'",
            "form-action": "'none'",
        }
        self._headers = {
            "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-store",
        }

    def middleware(self) -> Middleware:
        """What each request goes through."""
        from aiohttp import web

        @web.middleware
        async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
            refused = self._refused(request) or self._let_in(request)
            answer = refused if refused is not None else await handler(request)
            if not answer.prepared:  # a console's headers went out with its first byte
                answer.headers.update(self._headers)
            return answer

        return guarded

    def _refused(self, request: web.Request) -> web.Response | None:
        """An answer to who calls this machine otherwise, or comes from another site."""
        from aiohttp import web

        if request.host == f"localhost:{self.port}" and request.path == "/":
            return web.Response(status=308, headers={"Location": f"http://{self._own}{request.path_qs}"})
        origin = request.headers.get("Origin")
        if request.host != self._own or (origin is not None and origin != f"http://{self._own}"):
            return web.Response(status=403, text=f"nanomem answers at http://{self._own}/ and to its own pages alone\n")
        if request.path == "/ws" and origin is None:
            return web.Response(status=403, text="a console is for a page of nanomem\n")
        return None

    def _let_in(self, request: web.Request) -> web.Response | None:
        """None for who has the cookie; the cookie for who gives the token; else a refusal."""
        from aiohttp import web

        given = request.query.get("token", "")
        if request.path == "/" and given and token.matches(given, self._word):
            answer = web.Response(status=303, headers={"Location": "/"})  # and the token is out of the address
            answer.set_cookie(COOKIE, self._ticket, httponly=True, samesite="Strict", path="/")
            return answer
        if token.matches(request.cookies.get(COOKIE, ""), self._ticket):
            if request.path == "/ws" and len(self._consoles) >= MOST_AT_ONCE:
                return web.Response(status=503, text=f"{MOST_AT_ONCE} consoles are open: close one\n")
            return None
        said = "a token is needed: open the address that `nanomem serve web` printed, with ?token= and the token\n"
        return web.Response(status=401, text=said)

    @contextlib.contextmanager
    def console(self) -> Iterator[None]:
        """A console that is open, while it is."""
        task = asyncio.current_task()
        assert task is not None
        self._consoles.add(task)
        try:
            yield
        finally:
            self._consoles.discard(task)

    async def close(self) -> None:
        """Tell every open console to save and leave, and wait for them."""
        open_ones = set(self._consoles)
        for task in open_ones:
            task.cancel()
        if open_ones:
            await asyncio.wait(open_ones, timeout=PATIENCE)
