"""`nanomem serve web`: the console in a browser of this machine."""

from __future__ import annotations

import sys

import click

from nanomem_tui.cli import output
from nanomem_tui.cli.serve_grpc import Port
from nanomem_tui.cli.shared import Command, Words, pass_state
from nanomem_tui.cli.state import State


@click.command("web", cls=Command)
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

    server.needed()
    with state.open(starting=True) as ws:
        found, workspace, ascii_only = ws.paths, ws.paths.workspace, ws.settings.ascii
        file = Path(token_file).expanduser() if token_file else ws.paths.data / "web.token"
        word = http.token(file)
    with processes.staying(found), ports.listen(port, "--port") as listening:
        if sys.stderr.isatty():  # a log is no place for it
            output.notes([f"nanomem: open {server.address(listening, word)}", f"{workspace}; Ctrl-C ends it"])
        else:
            where = f"with ?token= and the token in {http.source(file)}"
            output.notes([f"nanomem: console at {server.address(listening)} {where}, {workspace}"])
        server.serve(workspace, listening, word, ascii_only=ascii_only)
