"""The console in a browser, on 127.0.0.1 and nowhere else, for who gives the token.

Owns the port and who is let in: a browser that opened the address with the token once, from then on by a cookie of
this start; no page of another site, whatever it calls this machine. Each tab is a console of its own, in a process of
its own, which ends with the tab. Loads nothing from a network. Must not know what the console shows.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
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

from nanomem_tui.core import errors
from nanomem_tui.core.errors import extra_command
from nanomem_tui.servers import http as servers_http
from nanomem_tui.servers import mcp
from nanomem_tui.servers.http import HOST, PendingConnections

if TYPE_CHECKING:
    from aiohttp import web
    from aiohttp.typedefs import Handler, Middleware
    from textual_serve.server import Server

DRIVER = "nanomem_tui.terminal.driver:TabDriver"
COLUMNS, ROWS = 1_000, 500
"""The largest size of a tab; a larger one is shown as this."""
MOST_BYTES = 4_000_000
"""Bytes of what a page sends at once, as a paste."""
IDLE = 10
"""Seconds that a connection stays open without a request."""
MOST_AT_ONCE = 8
"""Consoles; each is a process of some 100 MB."""
PAGES = Path(__file__).parent / "pages"
"""The page around a console: ours, for the library's asks the network for a font, and takes keys only after a click."""
PATIENCE = 4.0
"""Seconds that a console has to save and leave; then it is killed: what was acknowledged is in the database."""
log = logging.getLogger("nanomem.web")
NOT_FOR_A_CONSOLE = (servers_http.VARIABLE, "SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT", "COLUMNS", "LINES")
"""What a console in a browser must not take from the terminal that serves it."""


def require_web() -> None:
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
    lines = mcp.Lines(mcp.log_in_lines())
    with contextlib.redirect_stdout(lines):  # where the library writes what a console said at its end
        asyncio.run(_serve(f"exec {shlex.join(command)}", listening, word))


async def _serve(command: str, listening: socket.socket, word: str) -> None:
    from aiohttp import web

    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        loop.add_signal_handler(number, ended.set)
    door = AccessCheck(listening.getsockname()[1], word)
    app = await server_of(command, door)._make_app()
    app.middlewares.append(door.middleware())
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=PATIENCE, keepalive_timeout=IDLE, lingering_time=1)
    await runner.setup()
    made = runner.server
    assert made is not None

    def connected() -> asyncio.Protocol:
        connection = made()
        door.half_open.add(connection)
        return connection

    accepting = await loop.create_server(connected, sock=listening)
    try:
        await ended.wait()
        accepting.close()
        await door.close()
    finally:
        accepting.close()
        await runner.cleanup()


def server_of(command: str, door: AccessCheck) -> Server:
    """The library's server, quiet, with each console behind `door`."""
    from aiohttp import WSMsgType
    from aiohttp import web as http
    from textual_serve.app_service import AppService
    from textual_serve.server import Server

    class Console(AppService):
        """The process of one tab, which is gone when that is."""

        def _build_environment(self, width: int = 80, height: int = 24) -> dict[str, str]:
            return {**super()._build_environment(width, height), "TEXTUAL_DRIVER": DRIVER}

        async def stop(self) -> None:
            """Let it save and leave; kill it where it does not."""
            process = self._process
            try:
                async with asyncio.timeout(PATIENCE):
                    await super().stop()
                    if process is not None and process.returncode is None:
                        await process.communicate()
            except (TimeoutError, OSError, RuntimeError):
                log.warning("a console in a browser did not end, and was killed")
            finally:
                if process is not None and process.returncode is None:
                    process.kill()

    class Quiet(Server):
        """Says nothing of itself."""

        async def _make_app(self) -> web.Application:
            """The library's pages, and the same at the place that only the browser was told."""
            app = await super()._make_app()
            routes = (
                http.get(f"{door.place}/", self.handle_index),
                http.get(f"{door.place}/ws", self.handle_websocket),
                http.get(f"{door.place}/download/{{key}}", self.handle_download),
                http.static(f"{door.place}/static", self.statics_path),
            )
            app.add_routes(routes)
            return app

        async def on_startup(self, app: web.Application) -> None:
            """Nothing to say: the command said it."""

        async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
            """A console, while there is room for one. What a page must not send ends its own console only."""
            socket = http.WebSocketResponse(heartbeat=15, max_msg_size=MOST_BYTES, timeout=PATIENCE)
            with door.console():
                await socket.prepare(request)

                async def close() -> None:
                    await socket.close()

                service = Console(
                    self.command,
                    write_bytes=socket.send_bytes,
                    write_str=socket.send_str,
                    close=close,
                    download_manager=self.download_manager,
                )
                try:
                    await service.start(
                        size_of(request.query.get("width"), 80, COLUMNS),
                        size_of(request.query.get("height"), 24, ROWS),
                    )
                    async for message in socket:
                        if message.type != WSMsgType.TEXT:
                            break
                        await self.obey(service, socket, message.data)
                except (ValueError, TypeError, LookupError, RecursionError, TimeoutError, ConnectionError):
                    pass  # nonsense, a console that takes no more, or a tab that is gone
                finally:
                    await service.stop()
                    await socket.close()
            return socket

        @staticmethod
        async def obey(service: Console, socket: web.WebSocketResponse, text: str) -> None:
            """Do what a page sent. Raises ValueError, TypeError or LookupError for nonsense, TimeoutError for a console
            that takes no more."""
            kind, *given = json.loads(text)
            async with asyncio.timeout(IDLE):
                if kind == "stdin":
                    await service.send_bytes(given[0].encode("utf-8") if isinstance(given[0], str) else b"")
                elif kind == "resize":
                    width, height = size_of(given[0]["width"], 0, COLUMNS), size_of(given[0]["height"], 0, ROWS)
                    if width and height:
                        await service.set_terminal_size(width, height)
                elif kind == "ping":
                    await socket.send_json(["pong", given[0]])
                elif kind in ("blur", "focus"):
                    await (service.blur() if kind == "blur" else service.focus())

    at = f"http://{HOST}:{door.port}{door.place}"
    return Quiet(command, host=HOST, port=door.port, title="nanomem", templates_path=PAGES, public_url=at)


def size_of(given: object, otherwise: int, most: int) -> int:
    """A number of columns or rows from 1 to `most`; `otherwise` for what is none."""
    try:
        number = int(given) if isinstance(given, int | str) and len(str(given)) < 10 else 0
    except ValueError:
        number = 0
    return min(number, most) if number > 0 else otherwise


class AccessCheck:
    """Who is let in: requests to this machine's own name, from no other site, with the cookie of this start, which
    who gives the token gets."""

    def __init__(self, port: int, word: str) -> None:
        self.port = port
        self._word = word
        self._cookie = f"nanomem-{port}"  # cookies know no ports: two servers must not overwrite each other's
        self._ticket = f"{port}.{secrets.token_urlsafe(32)}"
        self.place = f"/{secrets.token_urlsafe(16)}"
        """Where the pages are. A browser sends the cookie to other ports, too, but only to this path, which they do not
        know."""
        self.half_open = PendingConnections()
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
            self.half_open.answered(request.protocol)
            refused = self._refused(request) or self._let_in(request)
            if refused is not None:
                refused.force_close()  # nobody waits here who may not come in
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
        if request.path.endswith("/ws") and origin is None:
            return web.Response(status=403, text="a console is for a page of nanomem\n")
        return None

    def _let_in(self, request: web.Request) -> web.Response | None:
        """None for who has the cookie; the cookie for who gives the token; else a refusal."""
        from aiohttp import web

        given = request.query.get("token", "")
        if request.path == "/" and given and servers_http.token_matches(given, self._word):
            answer = web.Response(status=303, headers={"Location": f"{self.place}/"})  # the token is out of the address
            answer.set_cookie(self._cookie, self._ticket, httponly=True, samesite="Strict", path=self.place)
            return answer
        if servers_http.token_matches(request.cookies.get(self._cookie, ""), self._ticket):
            if request.path.endswith("/ws") and len(self._consoles) >= MOST_AT_ONCE:
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
            await asyncio.wait(open_ones, timeout=2 * PATIENCE)
