"""The memory service for tests: on the loop of a thread of this process, or as a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from nanomem_tui import open_workspace
from nanomem_tui.servers.grpc import server as grpc_server
from nanomem_tui.servers.grpc.client import MemoryClient
from nanomem_tui.servers.grpc.server import Listening, Server
from nanomem_tui.workspace import Workspace

ROOT = Path(__file__).resolve().parents[2]
MAIN = "import sys; from nanomem_tui.__main__ import main; sys.exit(main())"
TOKEN = "a-token-of-a-test-0123456789"


class Served:
    """A service that runs: its workspace, its socket, its port, and clients of it."""

    def __init__(self, ws: Workspace, server: Server, loop: asyncio.AbstractEventLoop, socket: Path) -> None:
        self.ws = ws
        self.server = server
        self.loop = loop
        self.socket = socket

    @property
    def target(self) -> str:
        return grpc_server.socket_address(self.socket)

    @property
    def tcp(self) -> str:
        return self.server.addresses[1]

    def client(self, **options: Any) -> MemoryClient:
        return MemoryClient(socket=self.socket, **options)


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[Served]:
    """A service of a new memory, on a socket and on a port, in a thread."""
    workspace = folder / "home" / "workspace"
    workspace.mkdir(parents=True)
    socket = folder / "s"
    with open_workspace(workspace) as ws, grpc_server.claim_socket(ws.paths, socket), in_thread(ws, socket) as served:
        yield served


@contextlib.contextmanager
def in_thread(ws: Workspace, socket: Path) -> Iterator[Served]:
    began: list[Any] = []
    ready, over = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with Server(ws, Listening(socket, 0, TOKEN)) as server:
            began.extend((server, asyncio.get_running_loop()))
            ready.set()
            await over.wait()

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            began[:] = [error]
            ready.set()
            raise

    thread = threading.Thread(target=run)
    thread.start()
    ready.wait()
    if len(began) != 2:
        thread.join()
        raise began[0]
    server, loop = began
    try:
        yield Served(ws, server, loop, socket)
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()


class Process:
    """`nanomem serve grpc` as a process of its own."""

    def __init__(self, workspace: Path, *options: str, code: str = MAIN, env: dict[str, str] | None = None) -> None:
        command = [sys.executable, "-c", code, "serve", "grpc", "--workspace", str(workspace), *options]
        self.workspace = workspace
        self.popen = subprocess.Popen(
            command,
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**environment(workspace), **(env or {})},
        )

    def began(self) -> str:
        """The line that says where it listens; what it says in its place when it does not."""
        assert self.popen.stderr is not None
        return self.popen.stderr.readline().rstrip()

    def ended(self) -> tuple[int, str]:
        """Its exit code and what it still said."""
        _, said = self.popen.communicate(timeout=120)
        return self.popen.returncode, said

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.popen.poll() is None:
            self.popen.kill()
        self.popen.communicate()


def environment(workspace: Path) -> dict[str, str]:
    where = {name: os.environ[name] for name in ("NANOMEM_DATABASE_URL",) if name in os.environ}
    return {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], "HOME": str(workspace.parent.parent), **where}
