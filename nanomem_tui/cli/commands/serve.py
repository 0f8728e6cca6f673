"""`nanomem serve`: this memory over MCP, gRPC or a web page."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nanomem_tui.cli import output
from nanomem_tui.cli.options import Group, Words, audience_options, pass_state
from nanomem_tui.cli.state import State
from nanomem_tui.core import errors
from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.text import one_line

if TYPE_CHECKING:
    from nanomem_tui.memory.scopes import Audience
    from nanomem_tui.servers.mcp import Offer
    from nanomem_tui.workspace import Workspace


@click.group("serve", cls=Group)
def serve() -> None:
    """Answer other programs: an agent that speaks MCP, or keeps its work here by gRPC, or a browser.

    \b
    Example:
      nanomem serve mcp
      nanomem serve grpc
      nanomem serve web
    """


@serve.command("mcp")
@audience_options(
    "See only what this channel may see.", "See only what this chat may see.", "See only what this person may see."
)
@click.option(
    "--http", type=click.IntRange(0, 65535), is_flag=False, flag_value=7333, metavar="[PORT]",
    help="Serve HTTP on 127.0.0.1 in place of the pipe (port 7333; 0: any free one).",
)  # fmt: skip
@click.option("--allow-writes", is_flag=True, help="Let the agent propose memories, where mcp_writes is true.")
@pass_state
def mcp(state: State, audience: Audience, http: int | None, allow_writes: bool) -> None:
    """Give an agent what is remembered over MCP: tools that read, and the memory files.

    The tools are memory_search, recall, context and knowledge_search. On stdin and stdout, or by HTTP with the token
    that lies in mcp.token of nanomem's folder (or in NANOMEM_TOKEN).

    The options say whose memory the tools see, whatever the model asks. Without any they see all of it, for an agent
    that serves you alone. One that talks with others gets --channel and --chat-id, or --channel alone: what is global;
    context, reference material and the memory files are yours alone.

    With --allow-writes, and the setting mcp_writes, the agent gets memory_propose too. What it proposes waits in the
    inbox: `nanomem inbox list`.

    \b
    Example:
      nanomem serve mcp --workspace ~/.nanobot/workspace
      nanomem serve mcp --channel telegram --chat-id 7
      nanomem serve mcp --http
    """
    from nanomem_tui.servers import mcp as server
    from nanomem_tui.store import processes

    server.require_mcp()
    with state.open(starting=True) as ws, processes.shared_use(ws.paths):
        if allow_writes and not ws.settings.mcp_writes:
            fix = "allow it for this memory first: nanomem config set mcp_writes true"
            raise errors.Refused("agents may not propose memories here", "--allow-writes", fix)
        given = server.offer_of(ws, audience, writes=allow_writes)
        if http is None:
            _begin(ws, "on stdin and stdout", audience, given)
            server.serve(given, ws.close)
            return
        from nanomem_tui.servers import http as loopback
        from nanomem_tui.servers import http as servers_http

        file = ws.paths.data / "mcp.token"
        word = servers_http.token(file)
        with servers_http.listen(http, "--http") as listening:
            where = f"at {loopback.address(listening)} with the token in {servers_http.token_source(file)}"
            _begin(ws, where, audience, given)
            loopback.serve(given, listening, word)


def _begin(ws: Workspace, where: str, audience: Audience, given: Offer) -> None:
    """Get ready what recalls, and say on stderr what is served, how and to whom."""
    if ws.settings.memory_enabled:
        ws.recall.warm()
        ws.meaning.start()
        if audience.is_owner:
            ws.record_meaning.start()
    whose = "all of it" if audience.is_owner else "as seen by " + " ".join(filter(None, audience))
    does = "proposals wait in the inbox" if given.writes else "read-only"
    output.notes([f"nanomem: MCP {where}, {does}, {ws.paths.workspace}, {whose}"])


# -- `nanomem serve grpc`: the memory as a service, for agents in any language ----------------------------------------

if TYPE_CHECKING:
    _PortType = click.ParamType[int]
else:  # releases before 8.3 do not know the bracket
    _PortType = click.ParamType

LOOPBACK = ("127.0.0.1", "localhost")


class Port(_PortType):
    """A port of this machine, alone or behind its name; any other machine's is refused."""

    name = "PORT"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Raises BadInput for an address that is not of this machine."""
        host, _, port = str(value).rpartition(":")
        if host and host not in LOOPBACK:
            fix = "it listens on 127.0.0.1 alone: let ssh forward the port"
            raise BadInput("no service for other machines", f"--tcp {one_line(str(value), 60)}", fix)
        if not port.isascii() or not port.isdecimal() or int(port) > 65_535:
            self.fail(f"{one_line(port, 20)!r} is no port from 0 to 65535", param, ctx)
        return int(port)


@serve.command("grpc")
@click.option("--socket", type=Words(), metavar="PATH", help="Listen on this socket (grpc.sock in nanomem's folder).")
@click.option("--tcp", type=Port(), help="Listen on this port of 127.0.0.1 (0: a free one), with a token.")
@click.option(
    "--token-file", type=Words(), metavar="FILE", help="The token for --tcp (grpc.token in nanomem's folder)."
)
@click.option("--proto", is_flag=True, help="Print the .proto, which clients are written against, and end.")
@pass_state
def grpc(state: State, socket: str | None, tcp: int | None, token_file: str | None, *, proto: bool) -> None:
    """Give agents in any language the memory of their work: goals, tasks, tool calls, decisions, events, knowledge.

    On a unix socket that only you can open, until Ctrl-C. With --tcp on that port in its place (or beside it, with
    --socket); a call names the token then: metadata `authorization: Bearer TOKEN`. NANOMEM_TOKEN may hold the token.

    nanomem's folder is `nanomem` beside the workspace (`~/.nanobot/nanomem` for `~/.nanobot/workspace`), or
    `memory/nanomem` in a workspace that is in no agent's home.

    \b
    Example:
      nanomem serve grpc
      nanomem serve grpc --tcp 50053
      nanomem serve grpc --proto > memory.proto
    """
    if proto:
        output.lines(
            Path(__file__).parents[2].joinpath("servers", "grpc", "memory.proto").read_text("utf-8").splitlines()
        )
        return
    import asyncio

    from nanomem_tui.servers import http
    from nanomem_tui.servers.grpc import server
    from nanomem_tui.store import processes

    server.require_grpc()
    with state.open(starting=True) as ws, processes.shared_use(ws.paths):
        path = Path(socket).expanduser() if socket else server.usual_socket(ws.paths) if tcp is None else None
        file = Path(token_file).expanduser() if token_file else ws.paths.data / server.TOKEN
        word = http.token(file) if tcp is not None else ""
        with_token = f", the token in {http.token_source(file)}" if tcp is not None else ""

        def began(addresses: Sequence[str]) -> None:
            moved = socket is None and path is not None and path.parent != ws.paths.data
            why = " (in nanomem's folder the path is too long for a socket)" if moved else ""
            output.notes([f"nanomem: gRPC at {' and '.join(addresses)}{why}{with_token}, {ws.paths.workspace}"])

        with server.claim_socket(ws.paths, path.absolute() if path else None):
            where = server.Listening(path.absolute() if path else None, tcp, word)
            asyncio.run(server.serve(ws, where, began))


# -- `nanomem serve web`: the console in a browser of this machine ----------------------------------------------------


@serve.command("web")
@click.option("--port", type=Port(), default=7334, show_default=True, help="The port of 127.0.0.1 (0: a free one).")
@click.option("--token-file", type=Words(), metavar="FILE", help="The token (web.token in nanomem's folder).")
@pass_state
def web(state: State, port: int, token_file: str | None) -> None:
    """The console in a browser on this machine, until Ctrl-C. Each tab is a console of its own.

    Open the address that it prints: the token in it lets the browser in. NANOMEM_TOKEN may hold the token. From another
    machine: `ssh -L 7334:127.0.0.1:7334 HOST`, and the same address.

    \b
    Example:
      nanomem serve web
      nanomem serve web --port 8080
    """
    from pathlib import Path

    from nanomem_tui.servers import http
    from nanomem_tui.servers import http as ports
    from nanomem_tui.servers import web as server
    from nanomem_tui.store import processes

    server.require_web()
    with state.open(starting=True) as ws:
        found, workspace, ascii_only = ws.paths, ws.paths.workspace, ws.settings.ascii
        file = Path(token_file).expanduser() if token_file else ws.paths.data / "web.token"
        word = http.token(file)
    with processes.shared_use(found), ports.listen(port, "--port") as listening:
        if sys.stderr.isatty():  # a log is no place for it
            output.notes([f"nanomem: open {server.address(listening, word)}", f"{workspace}; Ctrl-C ends it"])
        else:
            where = f"with ?token= and the token in {http.token_source(file)}"
            output.notes([f"nanomem: console at {server.address(listening)} {where}, {workspace}"])
        server.serve(workspace, listening, word, ascii_only=ascii_only)
