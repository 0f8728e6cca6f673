"""Servers and connections without a request, with half of one, or with nonsense: nobody is kept out, nothing stays."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import signal
import socket
import subprocess
import sys
from importlib.util import find_spec

import pytest

from nanomem_tui.store.files.user import Drafts
from nanomem_tui.workspace import open_workspace
from tests.conftest import need
from tests.servers.test_mcp import INSTALLED, MAIN, environment
from tests.servers.test_web import WORD, Server, in_a_browser, place, shown, until

pytestmark = pytest.mark.slow  # a server and consoles, each a process

__all__ = ["place"]
FILES = 256
"""What the servers may open; more try to connect than that."""
ESCAPE = b"\x1b]52;c;SEFDS0VE\x07"


class Started(Server):
    """A server whose words go to a file, so that they can be read while it runs."""

    def __init__(self, process, log):
        until(lambda: "\n" in log.read_text("utf-8") or process.poll() is not None, "the server began", 60)
        super().__init__(process, log.read_text("utf-8").splitlines()[0])
        self._log = log

    @property
    def port(self):
        return int(self.url.rsplit(":", 1)[1].split("/")[0])

    @property
    def lines(self):
        """What it printed after its beginning."""
        return self._log.read_text("utf-8").splitlines()[1:]

    def send(self, *raw):
        """The beginning of the answer to these bytes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as sent:
            sent.sendall(b"".join(raw))
            return sent.recv(1_000)


@contextlib.contextmanager
def serving(place, *words, files=1024):
    log = place.parent / f"log-{'-'.join(words)}"
    line = [sys.executable, "-P", "-c", MAIN, "serve", *words, "--workspace", str(place)]
    given = {**environment(place), "NANOMEM_TOKEN": WORD}

    def few_files():
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    with log.open("w", encoding="utf-8") as said:
        process = subprocess.Popen(
            line, stdin=subprocess.DEVNULL, stdout=said, stderr=said, text=True, env=given, cwd=place,
            preexec_fn=few_files,
        )  # fmt: skip
    try:
        yield Started(process, log)
    finally:
        process.terminate()
        try:
            process.wait(60)
        finally:
            process.kill()
            process.wait()


@pytest.fixture
def web(place):
    need(find_spec("textual_serve") is not None, "textual-serve is not installed: `pip install textual-serve`")
    with serving(place, "web", "--port", "0") as server:
        yield server


def crowd(port, number, half):
    """That many connections of which each sends half of a request."""
    sockets = []
    for _ in range(number):
        one = socket.create_connection(("127.0.0.1", port), timeout=60)
        with contextlib.suppress(ConnectionError):
            one.sendall(half)
        sockets.append(one)
    return sockets


def is_closed(one):
    """Whether the other side let go of it."""
    one.setblocking(False)
    try:
        while one.recv(10_000):
            pass
        return True
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


SERVERS = [
    (("web", "--port", "0"), b"GET / HTTP/1.1\r\nHos"),
    (("mcp", "--http", "0"), b"POST /mcp HTTP/1.1\r\nHos"),
    (("web", "--port", "0"), b""),
    (("mcp", "--http", "0"), b"\x16\x03\x01"),
]


@pytest.mark.parametrize(("words", "half"), SERVERS, ids=["web", "mcp", "web-silent", "mcp-tls"])
def test_half_a_request_keeps_nobody_out_and_is_let_go_of(words, half, place):
    need(INSTALLED and find_spec("textual_serve") is not None, "no library of the servers")
    with serving(place, *words, files=FILES) as server:
        sockets = crowd(server.port, FILES + 100, half)
        try:
            asked = server.send(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
            assert b" 401 " in asked.split(b"\r\n")[0]
            until(lambda: all(map(is_closed, sockets)), "every half connection is closed", 120)
        finally:
            for one in sockets:
                one.close()
        assert len(server.lines) <= 2, server.lines


def test_whoever_may_not_come_in_does_not_stay(web):
    with socket.create_connection(("127.0.0.1", web.port), timeout=60) as one:
        one.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\n\r\n".encode())
        one.settimeout(5)
        answer = b""
        while more := one.recv(1_000):
            answer += more
    assert b" 401 " in answer


ABSURD = [
    '["resize", {"width": 100000, "height": 100000}]',
    '["resize", {"width": "x", "height": -1}]',
    '["resize", {"width": 0, "height": 0}]',
    '["resize", {"width": 1e400, "height": null}]',
    '["resize", []]',
    '["resize"]',
    '["stdin", 7]',
    "[" * 100_000,
    "7",
]


@pytest.mark.parametrize("sent", ABSURD, ids=lambda sent: sent[:40])
def test_nonsense_of_a_page_leaves_nothing_behind(web, sent):
    async def visit(socket):
        await shown(socket, "the ferry")
        await socket.send_str(sent)
        with contextlib.suppress(Exception):
            await asyncio.wait_for(socket.receive(), 2)

    in_a_browser(web, visit)
    until(lambda: not web.consoles(), "the console left")
    assert web.get(Cookie=web.ticket).status_code == 200
    assert len(web.lines) <= 1, web.lines


def test_a_size_that_is_too_large_is_cut_and_the_console_goes_on(web):
    async def visit(socket):
        await shown(socket, "the ferry")
        await socket.send_json(["resize", {"width": 100_000, "height": 100_000}])
        await socket.send_json(["resize", {"width": "x", "height": -1}])
        await socket.send_json(["resize", {"width": 90, "height": 30}])
        await socket.send_json(["stdin", "d"])
        await shown(socket, "u undoes it")

    in_a_browser(web, visit)
    until(lambda: not web.consoles(), "the console left")


def test_more_at_once_than_a_page_may_send_ends_that_console_only(web):
    async def visit(socket):
        await shown(socket, "the ferry")
        with contextlib.suppress(Exception):
            await socket.send_json(["stdin", "a" * 5_000_000])
            while not socket.closed:
                await asyncio.wait_for(socket.receive(), 30)

    in_a_browser(web, visit)
    until(lambda: not web.consoles(), "the console left")
    assert web.get(Cookie=web.ticket).status_code == 200
    assert len(web.lines) <= 1, web.lines


def test_a_tab_that_closes_keeps_what_was_being_typed(web, place):
    async def visit(socket):
        await shown(socket, "the ferry")
        await socket.send_json(["stdin", "e"])
        await shown(socket, "leave")
        await socket.send_json(["stdin", "half a thought"])
        await shown(socket, "thought")

    in_a_browser(web, visit)
    until(lambda: not web.consoles(), "the console left")
    with open_workspace(place) as ws:
        assert Drafts(ws.paths).count() == 1


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP, signal.SIGQUIT])
def test_consoles_leave_with_their_server_however_it_ends(web, number):
    import psutil

    children: list[int] = []

    async def visit(socket):
        await shown(socket, "the ferry")
        children.extend(web.consoles())
        web.process.send_signal(number)
        await asyncio.get_running_loop().run_in_executor(None, web.process.wait, 60)

    with contextlib.suppress(OSError):
        in_a_browser(web, visit)
    assert children
    until(lambda: not any(map(psutil.pid_exists, children)), "the consoles left")


def test_the_cookie_of_one_port_is_of_no_use_at_another(web, place):
    with serving(place, "web", "--port", "0") as other:
        mine, theirs = web.ticket, other.ticket
        assert mine.partition("=")[0] != theirs.partition("=")[0], "a browser keeps both"
        both = f"{mine}; {theirs}"
        assert (web.get(Cookie=both).status_code, other.get(Cookie=both).status_code) == (200, 200)
        renamed = f"{theirs.partition('=')[0]}={mine.partition('=')[2]}"
        for cookie in (mine, renamed):
            assert other.get(Cookie=cookie).status_code == 401
            assert other.get("ws", Cookie=cookie, Origin=other.url.rstrip("/")).status_code == 401


HOSTILE = [b"Host: ", b"Origin: http://"]


@pytest.mark.parametrize("name", HOSTILE, ids=["host", "origin"])
@pytest.mark.parametrize("words", [("web", "--port", "0"), ("mcp", "--http", "0")], ids=["web", "mcp"])
def test_a_hostile_header_is_one_safe_line_at_most(words, name, place):
    need(INSTALLED and find_spec("textual_serve") is not None, "no library of the servers")
    with serving(place, *words) as server:
        host = b"" if name == b"Host: " else f"Host: 127.0.0.1:{server.port}\r\n".encode()
        for value in (b"x" + ESCAPE, "x\u202eevil".encode(), b"x" * 7_000, ESCAPE * 100):
            head = f"POST /mcp HTTP/1.1\r\nAuthorization: Bearer {WORD}\r\n".encode() + host
            answer = server.send(
                head, b"Content-Type: application/json\r\nContent-Length: 2\r\n", name, value, b"\r\n\r\n{}"
            )
            assert answer.split(b" ")[1][:1] == b"4"
        assert len(server.lines) <= 4, server.lines
        for line in server.lines:
            assert line.isprintable(), repr(line)
            assert len(line) <= 400


@pytest.mark.parametrize("length", ["99999999999999999999", "-5", "x"])
def test_an_absurd_length_is_refused_at_once(length, place):
    need(INSTALLED, "no library of the protocol: pip install 'mcp>=2.3,<3'")
    with serving(place, "mcp", "--http", "0") as server:
        head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {WORD}\r\n".encode()
        answer = server.send(head, f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{{}}".encode())
        assert answer.split(b" ")[1] in (b"400", b"413")
        assert len(server.lines) <= 1
