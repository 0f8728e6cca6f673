"""`nanomem serve`: this memory for programs that speak a protocol. Started by them, ends with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nanomem_tui.cli import output
from nanomem_tui.cli.shared import Group, Words, pass_state
from nanomem_tui.cli.state import State
from nanomem_tui.core import errors

if TYPE_CHECKING:
    from nanomem_tui.memory.scopes import Audience
    from nanomem_tui.servers.mcp import Served
    from nanomem_tui.workspace import Workspace


@click.group(
    "serve", cls=Group, late={"grpc": "nanomem_tui.cli.serve_grpc:grpc", "web": "nanomem_tui.cli.serve_web:web"}
)
def serve() -> None:
    """Answer other programs: an agent that speaks MCP, or keeps its work here by gRPC, or a browser.

    \b
    Example:
      nanomem serve mcp
      nanomem serve grpc
      nanomem serve web
    """


@serve.command("mcp")
@click.option("--channel", type=Words(), help="See only what this channel may see.")
@click.option("--chat-id", type=Words(), help="See only what this chat may see.")
@click.option("--sender-id", type=Words(), help="See only what this person may see.")
@click.option(
    "--http", type=click.IntRange(0, 65535), is_flag=False, flag_value=7333, metavar="[PORT]",
    help="Serve HTTP on 127.0.0.1 in place of the pipe (port 7333; 0: any free one).",
)  # fmt: skip
@click.option("--allow-writes", is_flag=True, help="Let the agent propose memories, where mcp_writes is true.")
@pass_state
def mcp(
    state: State, channel: str | None, chat_id: str | None, sender_id: str | None, http: int | None, allow_writes: bool
) -> None:
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
    from nanomem_tui.memory.scopes import Audience
    from nanomem_tui.servers import mcp as server
    from nanomem_tui.store import processes

    server.needed()
    audience = Audience(channel, chat_id, sender_id)
    with state.open(starting=True) as ws, processes.staying(ws.paths):
        if allow_writes and not ws.settings.mcp_writes:
            fix = "allow it for this memory first: nanomem config set mcp_writes true"
            raise errors.Refused("agents may not propose memories here", "--allow-writes", fix)
        given = server.served(ws, audience, writes=allow_writes)
        if http is None:
            _begin(ws, "on stdin and stdout", audience, given)
            server.serve(given, ws.close)
            return
        from nanomem_tui.servers import http as loopback
        from nanomem_tui.servers import http as servers_http

        file = ws.paths.data / "mcp.token"
        word = servers_http.token(file)
        with servers_http.listen(http, "--http") as listening:
            where = f"at {loopback.address(listening)} with the token in {servers_http.source(file)}"
            _begin(ws, where, audience, given)
            loopback.serve(given, listening, word)


def _begin(ws: Workspace, where: str, audience: Audience, given: Served) -> None:
    """Get ready what recalls, and say on stderr what is served, how and to whom."""
    if ws.settings.memory_enabled:
        ws.recall.warm()
        ws.meaning.start()
        if audience.is_owner:
            ws.record_meaning.start()
    whose = "all of it" if audience.is_owner else "as seen by " + " ".join(filter(None, audience))
    does = "proposals wait in the inbox" if given.writes else "read-only"
    output.notes([f"nanomem: MCP {where}, {does}, {ws.paths.workspace}, {whose}"])
