"""`nanomem serve grpc`: the memory as a service, for agents in any language."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nanomem_tui.cli import output
from nanomem_tui.cli.shared import Command, Words, pass_state
from nanomem_tui.cli.state import State
from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.text import one_line

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


@click.command("grpc", cls=Command)
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
            Path(__file__).parents[1].joinpath("servers", "grpc", "memory.proto").read_text("utf-8").splitlines()
        )
        return
    import asyncio

    from nanomem_tui.servers import http
    from nanomem_tui.servers.grpc import server
    from nanomem_tui.store import processes

    server.needed()
    with state.open(starting=True) as ws, processes.staying(ws.paths):
        path = Path(socket).expanduser() if socket else server.usual(ws.paths) if tcp is None else None
        file = Path(token_file).expanduser() if token_file else ws.paths.data / server.TOKEN
        word = http.token(file) if tcp is not None else ""
        with_token = f", the token in {http.source(file)}" if tcp is not None else ""

        def began(addresses: Sequence[str]) -> None:
            moved = socket is None and path is not None and path.parent != ws.paths.data
            why = " (in nanomem's folder the path is too long for a socket)" if moved else ""
            output.notes([f"nanomem: gRPC at {' and '.join(addresses)}{why}{with_token}, {ws.paths.workspace}"])

        with server.claimed(ws.paths, path.absolute() if path else None):
            where = server.Listening(path.absolute() if path else None, tcp, word)
            asyncio.run(server.serve(ws, where, began))
