"""`nanomem serve web` as a process on this machine: who is let in, a console in it, and how it ends."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
import time
from importlib.util import find_spec

import pytest

from nanomem_tui.workspace import open_workspace
from tests.conftest import need
from tests.servers.test_mcp import MAIN, environment

pytestmark = pytest.mark.slow  # a server and consoles, each a process

WORD = "a-word-of-the-test-0123456789"
SAID = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z]")


class Server:
    """A server that runs, and where."""

    def __init__(self, process, said):
        self.process = process
        self.said = said
        self.url = next(part for part in said.split() if part.startswith("http://"))

    def get(self, path="", **headers):
        import httpx

        return httpx.get(self.url + path, headers={k.replace("_", "-"): v for k, v in headers.items()}, timeout=30)

    @property
    def ticket(self):
        """The cookie that the token gives."""
        return str(self.get(f"?token={WORD}").headers["set-cookie"].partition(";")[0])

    def consoles(self):
        """The processes of open consoles."""
        import psutil

        return [child.pid for child in psutil.Process(self.process.pid).children(recursive=True)]


@pytest.fixture
def place(tmp_path):
    """A workspace with one item."""
    workspace = tmp_path / "home" / "workspace"
    workspace.mkdir(parents=True)
    (workspace / "SOUL.md").write_text("# Soul\n", "utf-8")
    with open_workspace(workspace) as ws:
        ws.items.add("the ferry to 長崎 leaves at nine")
    trap = workspace / "nanomem_tui"  # nothing of a workspace is run
    trap.mkdir()
    (trap / "__init__.py").write_text("raise SystemExit('run out of the workspace')", "utf-8")
    return workspace


@pytest.fixture
def server(place):
    need(find_spec("textual_serve") is not None, "textual-serve is not installed: `pip install textual-serve`")
    given = {**environment(place), "NANOMEM_TOKEN": WORD, "SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"}
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", MAIN, "serve", "web", "--port", "0", "--workspace", str(place)],
        stderr=subprocess.PIPE, text=True, env=given, cwd=place,
    )  # fmt: skip
    assert process.stderr is not None
    try:
        yield Server(process, process.stderr.readline())
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
        process.stderr.close()


def surroundings(pid):
    import psutil

    return psutil.Process(pid).environ()


def until(true, what, seconds=30):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"never: {what}"
        time.sleep(0.05)


async def shown(socket, words):
    """All that comes until the screen holds `words`."""
    seen = b""
    while words.encode() not in SAID.sub(b"", seen):
        seen += await asyncio.wait_for(socket.receive_bytes(), 60)
    return seen


def in_a_browser(server, visit):
    """`visit` with the websocket of one console."""
    import aiohttp

    async def go():
        headers = {"Cookie": server.ticket, "Origin": server.url.rstrip("/")}
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.ws_connect(f"{server.url}ws?width=100&height=30") as socket,
        ):
            await visit(socket)

    asyncio.run(go())


def test_nobody_gets_in_without_the_token(server):
    assert WORD not in server.said
    for path in ("", "ws", "static/js/textual.js", "download/1", "?token=", f"?token={WORD[:-1]}", f"ws?token={WORD}"):
        answer = server.get(path, Origin=server.url.rstrip("/"))
        assert (path, answer.status_code) == (path, 401)
    assert server.consoles() == []


def test_the_token_is_given_once_and_leaves_the_address(server):
    answer = server.get(f"?token={WORD}")
    place = answer.headers["location"]
    assert (answer.status_code, WORD in place) == (303, False)
    assert server.get(place[1:], Cookie=server.ticket).status_code == 200
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert WORD not in cookie
    page = server.get(Cookie=server.ticket)
    assert page.status_code == 200
    assert WORD not in page.text


def test_a_browser_gives_its_cookie_to_no_other_port(server):
    import httpx

    with httpx.Client(timeout=30) as browser:
        browser.get(f"{server.url}?token={WORD}")
        page = browser.get(server.url + browser.get(f"{server.url}?token={WORD}").headers["location"][1:])
        assert page.status_code == 200
        linked = re.findall(r"""(?:href|src|url)="([^"]+)""", page.text)
        for one in (one for one in linked if "/static/" in one):
            assert browser.get(one).status_code == 200, "the page's own parts come with it"
        for path in ("/", "/ws", "/static/js/textual.js", "/console"):
            asked = browser.build_request("GET", f"http://127.0.0.1:9{path}")
            assert "cookie" not in asked.headers, path
        assert browser.get(server.url).status_code == 401


def test_a_page_of_another_site_gets_nothing(server):
    ticket = server.ticket
    assert server.get(Cookie=ticket, Host="rebound.example").status_code == 403
    assert server.get("ws", Cookie=ticket, Origin="http://rebound.example").status_code == 403
    assert server.get("ws", Cookie=ticket).status_code == 403, "a websocket of no page"
    assert server.get(Cookie="nanomem=other").status_code == 401


def test_nothing_is_loaded_from_a_network(server):
    page = server.get(Cookie=server.ticket)
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    sources = re.findall(r"(?:https?|ws)://[^ ;]+", policy)
    assert sources == [server.url.rstrip("/").replace("http:", "ws:")]
    assert "<title>nanomem</title>" in page.text
    linked = re.findall(r"""(?:href|src)="([^"]+)""", page.text)
    asked = [one for one in linked if not one.startswith("data:")]
    assert len(asked) == 2, "the library's script and style"
    for one in asked:
        assert one.startswith(server.url)
        assert "/static/" in one
        assert server.get(one.removeprefix(server.url), Cookie=server.ticket).status_code == 200


def test_a_console_is_driven_and_ends_with_its_tab(server, place):
    async def visit(socket):
        await shown(socket, "the ferry to 長崎")
        await socket.send_json(["stdin", "d"])
        await shown(socket, "u undoes it")

    in_a_browser(server, visit)
    until(lambda: not server.consoles(), "the console ended")
    with open_workspace(place) as ws:
        assert ws.items.all() == []
        assert ws.log(1)[0].operation.kind == "items.delete"


def test_a_console_takes_neither_token_nor_ssh_of_its_server(server):
    async def visit(socket):
        await shown(socket, "the ferry")
        found.extend(surroundings(pid) for pid in server.consoles())

    found: list[dict[str, str]] = []
    in_a_browser(server, visit)
    assert found
    for given in found:
        assert WORD not in given.values()
        assert not any(name.startswith("SSH_") for name in given)


def test_the_end_lets_open_consoles_save_and_leave(server):
    import psutil

    children: list[int] = []

    async def visit(socket):
        await shown(socket, "the ferry")
        children.extend(server.consoles())
        server.process.send_signal(signal.SIGTERM)
        while not socket.closed:
            await asyncio.wait_for(socket.receive(), 30)
        code = await asyncio.get_running_loop().run_in_executor(None, server.process.wait, 30)
        assert code == 0

    in_a_browser(server, visit)
    assert children
    until(lambda: not any(map(psutil.pid_exists, children)), "the consoles left")


def test_nonsense_from_a_browser_ends_its_own_console_only(server):
    async def wreck(socket):
        await socket.send_str("{nonsense")
        await socket.receive()

    in_a_browser(server, wreck)

    async def visit(socket):
        await shown(socket, "the ferry")

    in_a_browser(server, visit)
    assert server.process.poll() is None
