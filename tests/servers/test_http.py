"""`nanomem serve mcp --http` as a process on this machine: who is let in, and how it ends."""

import asyncio
import contextlib
import copy
import json
import os
import signal
import socket
import subprocess
import sys
import traceback

import pytest

from nanomem_tui.core.errors import BadInput, Refused
from nanomem_tui.core.paths import find_workspace
from nanomem_tui.servers import http
from nanomem_tui.servers import http as servers_http
from tests.conftest import need
from tests.servers.test_mcp import INITIALIZE, INSTALLED, MAIN, Client, environment, place

pytestmark = pytest.mark.slow  # whole screens, processes or homes; `make test` ends within its minutes

__all__ = ["place"]
NAMES = ["memory_search", "recall", "context", "knowledge_search"]
WORD = "a-word-of-the-test-0123456789"


class Server:
    """A server that runs: where, and its token."""

    def __init__(self, process, said, word):
        self.process = process
        self.said = said
        self.url = next(part for part in said.split() if part.startswith("http://"))
        self.word = word

    @property
    def port(self):
        return int(self.url.rsplit(":", 1)[1].split("/")[0])

    def post(self, body="", **headers):
        """The status and the text of an answer to a request with these headers (`_` for `-`) and its token."""
        import httpx

        usual = {"authorization": f"Bearer {self.word}", "accept": "application/json, text/event-stream"}
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {**usual, "content-type": "application/json", **given}
        answer = httpx.post(
            self.url, content=body or json.dumps(INITIALIZE), headers={k: v for k, v in sent.items() if v}, timeout=60
        )
        return answer.status_code, answer.text


def file_of(place):
    return find_workspace(place).data / "mcp.token"


@contextlib.contextmanager
def serving(place, *options, **variables):
    need(INSTALLED, "no library of the protocol: pip install 'mcp>=2.3,<3'")
    line = [sys.executable, "-c", MAIN, "serve", "mcp", "--workspace", str(place), "--http", "0", *options]
    surroundings = {**environment(place), **variables}
    with subprocess.Popen(line, env=surroundings, cwd=place, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            said = process.stderr.readline()
            assert said.startswith("nanomem: MCP at "), said
            yield Server(process, said, variables.get("NANOMEM_TOKEN") or file_of(place).read_text().strip())
        finally:
            process.kill()


@contextlib.asynccontextmanager
async def session(server):
    import httpx2
    from mcp.client.session import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {server.word}"}, timeout=60) as http,
        streamable_http_client(server.url, http_client=http) as streams,
        ClientSession(streams[0], streams[1]) as one,
    ):
        yield Client(one, await one.initialize())


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One server for those who only ask."""
    from nanomem_tui import open_workspace

    workspace = tmp_path_factory.mktemp("http") / "home" / "workspace"
    workspace.mkdir(parents=True)
    (workspace / "SOUL.md").write_text("# Soul\n")
    with open_workspace(workspace) as ws:
        ws.facts.set("Contact", "phone", "555 0100", domain="Work")
    with serving(workspace) as server:
        yield server


async def test_the_official_client_asks_over_http(shared):
    async with session(shared) as ask:
        assert [tool.name for tool in (await ask.session.list_tools()).tools] == NAMES
        assert "555 0100" in (await ask("memory_search", domain="Work")).text
        (soul,) = (await ask.session.read_resource("memory://SOUL.md")).contents
        assert soul.text == "# Soul\n"
        unknown = await ask("memory_write", text="x")
        assert (unknown.failed, "no such tool: memory_write" in unknown.text) == (True, True)
        refused = await ask("memory_propose", text="likes tea")
        assert (refused.failed, refused.text) == (True, "not offered here: memory_propose")


async def test_the_official_client_is_told_that_its_token_is_none(shared):
    from mcp.shared.exceptions import MCPError

    stranger = copy.copy(shared)
    stranger.word = "wrong-0123456789abcdef"
    with pytest.raises((MCPError, ExceptionGroup)) as error:
        async with session(stranger):
            pass
    assert "a token is needed (Authorization: Bearer TOKEN)" in "".join(traceback.format_exception(error.value))


async def test_many_clients_are_answered_at_once(shared):
    async def one():
        async with session(shared) as ask:
            return (await ask("memory_search", domain="Work")).text

    assert all("555 0100" in text for text in await asyncio.gather(*(one() for _ in range(8))))


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"authorization": ""}, 401),
        ({"authorization": "Bearer"}, 401),
        ({"authorization": "Bearer wrong-0123456789abcdef"}, 401),
        ({"authorization": "Basic dGVzdDp0ZXN0"}, 401),
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1.evil.example:80"}, 421),
        ({"host": "evil.example", "authorization": ""}, 401),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"host": "evil.example", "mcp_protocol_version": "2026-07-28"}, 421),
    ],
    ids=str,
)
def test_who_is_let_in(shared, headers, status):
    found, text = shared.post(**headers)
    assert found == status
    assert len(text.splitlines()) == 1
    assert shared.word not in text


def test_the_word_that_is_asked_for_is_named(shared):
    status, text = shared.post(authorization="")
    assert status == 401
    assert json.loads(text)["error"]["message"] == "a token is needed (Authorization: Bearer TOKEN)"


def test_nobody_gets_a_stream_on_which_nothing_comes(shared):
    import httpx

    with httpx.Client(headers={"authorization": f"Bearer {shared.word}", "accept": "text/event-stream"}) as client:
        for method in ("GET", "DELETE", "PUT"):
            answer = client.request(method, shared.url, timeout=60)
            assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
        assert client.request("GET", shared.url, headers={"authorization": ""}, timeout=60).status_code == 401


def test_a_message_that_is_too_large_is_refused_and_the_server_goes_on(shared):
    assert shared.post("x" * 5_000_000)[0] == 413
    assert shared.post("no JSON")[0] == 400
    assert shared.post()[0] == 200


def test_it_listens_on_this_machine_alone(shared):
    assert shared.url.startswith("http://127.0.0.1:")
    with socket.socket() as other, pytest.raises(OSError):  # refused, or no such address here
        other.connect(("127.0.0.2", shared.port))


def test_a_port_is_taken_once_and_free_again_at_once():
    with servers_http.listen(0, "--http") as first:
        taken = first.getsockname()[1]
        with pytest.raises(Refused, match=f"port {taken} of 127.0.0.1 is taken"):
            servers_http.listen(taken, "--http")
        assert first.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR)
        assert http.address(first) == f"http://127.0.0.1:{taken}/mcp"


def test_two_on_one_port_is_one_clear_line(shared, place, run):
    done = run("serve", "mcp", "--workspace", place, "--http", str(shared.port))
    assert done.code == 2
    assert done.out == ""
    assert done.err == (
        f"nanomem: port {shared.port} of 127.0.0.1 is taken: --http. Fix: give another, or 0 for any free one\n"
    )


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_peace(place, told):
    with serving(place) as server:
        assert server.post()[0] == 200
        assert server.said.endswith(f"read-only, {place}, all of it\n")
        server.process.send_signal(told)
        assert server.process.wait(60) == 0
        assert server.process.stderr is not None
        assert server.process.stderr.read() == ""
    assert file_of(place).read_text().strip() == server.word, "the token stays for the next one"


async def test_proposals_where_they_are_switched_on(place):
    from nanomem_tui import open_workspace

    with serving(place, "--allow-writes", NANOMEM_MCP_WRITES="true", NANOMEM_TOKEN=WORD) as server:
        assert "token in NANOMEM_TOKEN, proposals wait in the inbox" in server.said
        async with session(server) as ask:
            tools = {tool.name: tool for tool in (await ask.session.list_tools()).tools}
            hints = {name: tool.annotations.read_only_hint for name, tool in tools.items()}
            assert hints == {**dict.fromkeys(NAMES, True), "memory_propose": False}
            assert tools["memory_propose"].annotations.destructive_hint is False
            made = await ask("memory_propose", text="Likes the window seat", kind="preference", why="said so")
            assert (made.failed, "waits in the inbox" in made.text) == (False, True)
            assert "window" not in (await ask("recall", query="which seat")).text
            with open_workspace(place) as ws:
                (waits,) = ws.inbox.list()
                ws.inbox.accept([waits.id])
                assert "Likes the window seat" in (await ask("recall", query="which seat")).text
                ws.undo()
                assert "window" not in (await ask("recall", query="which seat")).text
    assert not file_of(place).exists(), "the word came from the environment"


def test_they_need_the_setting_and_the_option(place, run):
    done = run("serve", "mcp", "--workspace", place, "--allow-writes")
    assert (done.code, done.out) == (2, "")
    assert "agents may not propose memories here: --allow-writes" in done.err
    assert "nanomem config set mcp_writes true" in done.err
    with serving(place, NANOMEM_MCP_WRITES="true") as server:
        assert "read-only" in server.said


# -- the token ---------------------------------------------------------------------------------------------------------


def test_a_token_is_made_once_and_is_private(tmp_path):
    file = tmp_path / "data" / "mcp.token"
    made = servers_http.token(file)
    assert len(made) >= 32
    assert servers_http.token(file) == made
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert servers_http.token_matches(made, made)
    assert not servers_http.token_matches("", made)
    assert not servers_http.token_matches(made[:-1] + "é", made)


def test_a_token_that_others_may_read_is_refused(tmp_path):
    file = tmp_path / "mcp.token"
    servers_http.token(file)
    os.chmod(file, 0o640)
    with pytest.raises(Refused, match="others on this machine may read"):
        servers_http.token(file)


@pytest.mark.parametrize("held", ["", "short", "x" * 2_000, "with blanks in it 0123456789", "ü" * 20])
def test_a_token_that_cannot_be_one(tmp_path, held, monkeypatch):
    file = tmp_path / "mcp.token"
    file.write_text(held)
    file.chmod(0o600)
    with pytest.raises(BadInput, match="a token is 16 to 1,000 characters"):
        servers_http.token(file)
    if held:
        monkeypatch.setenv(servers_http.VARIABLE, held)
        with pytest.raises(BadInput, match=servers_http.VARIABLE):
            servers_http.token(file)


def test_a_link_in_the_place_of_the_token_is_not_followed(tmp_path):
    (tmp_path / "other").write_text("x" * 40)
    (tmp_path / "mcp.token").symlink_to(tmp_path / "other")
    with pytest.raises(Exception, match=r"mcp\.token"):
        servers_http.token(tmp_path / "mcp.token")
