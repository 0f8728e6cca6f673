"""`nanomem serve`: this memory for programs that speak a protocol. Started by them, ends with them."""

from __future__ import annotations

import click

from nanomem_tui.cli import output
from nanomem_tui.cli.shared import Group, Words, pass_state
from nanomem_tui.cli.state import State


@click.group("serve", cls=Group)
def serve() -> None:
    """Answer other programs: an agent that speaks MCP.

    \b
    Example:
      nanomem serve mcp
    """


@serve.command("mcp")
@click.option("--channel", type=Words(), help="See only what this channel may see.")
@click.option("--chat-id", type=Words(), help="See only what this chat may see.")
@click.option("--sender-id", type=Words(), help="See only what this person may see.")
@pass_state
def mcp(state: State, channel: str | None, chat_id: str | None, sender_id: str | None) -> None:
    """Give an agent two tools over MCP, memory_search and memory_recall: read-only, on stdin and stdout.

    The options say whose memory the tools see, whatever the model asks. Without any they see all of it, for an agent
    that serves you alone. One that talks with others gets --channel and --chat-id, or --channel alone: what is global.

    \b
    Example:
      nanomem serve mcp --workspace ~/.nanobot/workspace
      nanomem serve mcp --channel telegram --chat-id 7
    """
    from nanomem_tui.memory.scopes import Audience
    from nanomem_tui.server import mcp as server
    from nanomem_tui.server.tools import Tools

    server.needed()
    audience = Audience(channel, chat_id, sender_id)
    with state.open(starting=True) as ws:
        tools = Tools(ws, audience)
        whose = "all of it" if audience.is_owner else "as seen by " + " ".join(filter(None, audience))
        if ws.settings.memory_enabled:
            ws.recall.warm()
            ws.meaning.start()
        output.notes([f"nanomem: MCP on stdin and stdout, read-only, {ws.paths.workspace}, {whose}"])
        server.serve(tools, ws.close)
