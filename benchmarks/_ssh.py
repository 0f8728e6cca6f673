"""A program behind a real SSH server on loopback: every byte on the wire counted, and the link as slow as is wanted.

Owns the server (each session gets a pseudo-terminal of its own, as sshd gives it), the link between, and a client that
types and waits. Nobody but this machine can connect, and only while it runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import asyncssh

LOOPBACK = "127.0.0.1"
COMPRESSED, PLAIN = ["zlib@openssh.com"], ["none"]
PATIENCE = 20.0  # seconds
# The terminal of a session is its controlling one, so that losing it is told to the program.
_TAKE_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])"
)
_CONTROLS = re.compile(rb"\x1b\[[0-9;:?<>=$ ]*[@-~]|\x1b[\]P].*?(?:\x1b\\|\x07)|\x1b[=>78]", re.DOTALL)


class _Anybody(asyncssh.SSHServer):
    def begin_auth(self, username: str) -> bool:
        return False


@dataclass
class Link:
    """A wire to `port` that takes `delay` seconds one way and `bits` a second (0: as fast as it goes) each way."""

    port: int
    delay: float = 0.0
    bits: int = 0
    up: int = 0
    down: int = 0
    _writers: list[asyncio.StreamWriter] = field(default_factory=list)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(LOOPBACK, self.port)
        self._writers += [writer, far_writer]
        self._tasks += [
            asyncio.create_task(self._pump(reader, far_writer, "up")),
            asyncio.create_task(self._pump(far_reader, writer, "down")),
        ]

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: str) -> None:
        loop, late = asyncio.get_running_loop(), asyncio.Queue[tuple[float, bytes]]()
        delivery = asyncio.create_task(self._deliver(late, writer))
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(1448):
                setattr(self, way, getattr(self, way) + len(data))
                if self.bits:
                    await asyncio.sleep(len(data) * 8 / self.bits)
                late.put_nowait((loop.time() + self.delay, data))
        late.put_nowait((loop.time() + self.delay, b""))
        await delivery

    @staticmethod
    async def _deliver(late: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while True:
                due, data = await late.get()
                await asyncio.sleep(due - asyncio.get_running_loop().time())
                if not data:
                    break
                writer.write(data)
                await writer.drain()
        writer.close()

    def cut(self) -> None:
        """Drop the connection at once, both ways, without a word."""
        for writer in self._writers:
            writer.transport.abort()


@dataclass(frozen=True)
class Answer:
    """What a key brought: milliseconds to the first and last byte, bytes of the program's own and on the wire."""

    first_ms: float
    last_ms: float
    size: int
    wire: int


class Running(Protocol):
    """The program of a login."""

    @property
    def pid(self) -> int:
        """Its process."""

    def poll(self) -> int | None:
        """Its exit code, once it has ended."""


class Serving(Protocol):
    """A server of SSH on loopback, ours or another one."""

    port: int
    user: str
    keys: list[asyncssh.SSHKey]

    @property
    def programs(self) -> Sequence[Running]:
        """What ran or runs for who logged in, the newest last."""


class Session:
    """One login: a program in a terminal over there."""

    def __init__(self, process: asyncssh.SSHClientProcess[bytes], link: Link, server: Serving) -> None:
        self.link = link
        self.output = bytearray()
        self._process = process
        self._server = server
        self._came = asyncio.Event()
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        with contextlib.suppress(asyncssh.Error, ConnectionError):
            while data := await self._process.stdout.read(1 << 16):
                self.output += data
                self._came.set()

    @property
    def pid(self) -> int:
        """The program's process."""
        return self._server.programs[-1].pid

    @property
    def status(self) -> int | None:
        """The program's exit code, once it has ended."""
        return self._server.programs[-1].poll()

    def text(self, since: int = 0) -> str:
        """What was written after byte `since` without control sequences, in the order written."""
        return _CONTROLS.sub(b"", bytes(self.output[since:])).decode("utf-8", "replace")

    def send(self, keys: str) -> None:
        """Type `keys`."""
        self._process.stdin.write(keys.encode())

    async def until(self, true: Callable[[], object], seconds: float = PATIENCE) -> None:
        """Wait until something is true. Raises TimeoutError."""
        async with asyncio.timeout(seconds):
            while not true():
                self._came.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._came.wait(), 0.05)

    async def shows(self, pattern: str, since: int = 0) -> None:
        """Wait until `pattern` was written after byte `since`. Raises AssertionError with what was."""
        wanted = re.compile(pattern)
        try:
            await self.until(lambda: wanted.search(self.text(since)))
        except TimeoutError:
            raise AssertionError(f"{pattern!r} never came: {self.text()[-1500:]!r}") from None

    async def quiet(self, seconds: float) -> None:
        """Wait until nothing has come for `seconds`."""
        while True:
            self._came.clear()
            try:
                await asyncio.wait_for(self._came.wait(), seconds)
            except TimeoutError:
                return

    async def press(self, keys: str, quiet: float = 0.1) -> Answer:
        """Type `keys` as one and take what is written for it, until `quiet` seconds of silence."""
        before, wire, sent = len(self.output), self.link.down, time.perf_counter()
        self.send(keys)
        await self.until(lambda: len(self.output) > before)
        first = last = time.perf_counter()
        size = len(self.output)
        while time.perf_counter() - last < quiet:
            await asyncio.sleep(0.005)
            if len(self.output) > size:
                size, last = len(self.output), time.perf_counter()
        return Answer((first - sent) * 1000, (last - sent) * 1000, size - before, self.link.down - wire)

    def resize(self, columns: int, lines: int) -> None:
        """Give the terminal another size."""
        self._process.change_terminal_size(columns, lines)


class Server:
    """An SSH server on loopback that runs `command` for who logs in. Use `serving`."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        self.command = list(command)
        self.env = dict(env)
        self.port = 0
        self.user = "nobody"
        self.keys: list[asyncssh.SSHKey] = []  # one of which who logs in must have; none: anybody may
        self.programs: list[subprocess.Popen[bytes]] = []

    async def handle(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        """One session: the program in a terminal, until either ends."""
        master, slave = pty.openpty()
        columns, lines = process.term_size[:2]
        _set_size(master, columns, lines)
        os.set_blocking(master, False)
        peer, own = process.get_extra_info("peername"), process.get_extra_info("sockname")
        connection = f"{peer[0]} {peer[1]} {own[0]} {own[1]}"
        environ = {"SSH_CONNECTION": connection, "SSH_TTY": os.ttyname(slave), "TERM": process.term_type or "dumb"}
        program = subprocess.Popen(  # noqa: ASYNC220 - a session is begun once
            [sys.executable, "-c", _TAKE_TERMINAL, *self.command],
            stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            env={**self.env, **environ},
        )  # fmt: skip
        self.programs.append(program)
        os.close(slave)
        typing = asyncio.create_task(self._typed(process, master))
        try:
            await self._shown(process, master)
        finally:
            typing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await typing
            os.close(master)  # the terminal is gone: the kernel tells the program
        code = await asyncio.to_thread(program.wait)
        with contextlib.suppress(asyncssh.Error, ConnectionError, OSError):
            process.exit(code if code >= 0 else 128 - code)

    @staticmethod
    async def _shown(process: asyncssh.SSHServerProcess[bytes], master: int) -> None:
        """Hand on what the program writes, as fast as the wire takes it, until it ends or the wire does."""
        loop, ready = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(master, ready.set)
        gone = asyncio.create_task(process.channel.wait_closed())
        try:
            while not gone.done():
                waiting = asyncio.create_task(ready.wait())
                await asyncio.wait({waiting, gone}, return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
                ready.clear()
                if gone.done():
                    return
                with contextlib.suppress(BlockingIOError):  # it was read already
                    process.stdout.write(os.read(master, 1 << 16))
                    await process.stdout.drain()
        except (OSError, asyncssh.Error):  # the program has ended, or the wire
            return
        finally:
            loop.remove_reader(master)
            gone.cancel()

    @staticmethod
    async def _typed(process: asyncssh.SSHServerProcess[bytes], master: int) -> None:
        while True:
            try:
                data = await process.stdin.read(4096)
            except asyncssh.TerminalSizeChanged as changed:
                _set_size(master, changed.width, changed.height)
                continue
            except (asyncssh.Error, ConnectionError):
                return
            if not data:
                return
            with contextlib.suppress(BlockingIOError):  # a program that does not read: as with any terminal, it is lost
                os.write(master, data)


def _set_size(master: int, columns: int, lines: int) -> None:
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))


@asynccontextmanager
async def serving(command: Sequence[str], env: Mapping[str, str]) -> AsyncIterator[Server]:
    """A running server."""
    server = Server(command, env)
    key = asyncssh.generate_private_key("ssh-ed25519")
    listener = await asyncssh.listen(
        LOOPBACK, 0, server_host_keys=[key], server_factory=_Anybody, process_factory=server.handle, encoding=None,
        line_editor=False, compression_algs=[*COMPRESSED, *PLAIN],
    )  # fmt: skip
    server.port = listener.get_port()
    try:
        yield server
    finally:
        listener.close()
        await listener.wait_closed()
        for program in server.programs:
            if program.poll() is None:
                program.kill()
            program.wait()


@asynccontextmanager
async def login(
    server: Serving, *, size: tuple[int, int] = (80, 24), compressed: bool = False, delay: float = 0.0, bits: int = 0
) -> AsyncIterator[Session]:
    """A session in a terminal of `size` (columns, lines), over a link of its own."""
    link = Link(server.port, delay, bits)
    wire = await asyncio.start_server(link.connected, LOOPBACK, 0)
    options: dict[str, Any] = {
        "known_hosts": None,
        "username": server.user,
        "client_keys": server.keys or None,
        "agent_path": None,
    }
    port = wire.sockets[0].getsockname()[1]
    try:
        async with asyncssh.connect(
            LOOPBACK, port, config=None, compression_algs=COMPRESSED if compressed else PLAIN, **options
        ) as connection:
            process = await connection.create_process(term_type="xterm-256color", term_size=size, encoding=None)
            session = Session(process, link, server)
            try:
                yield session
            finally:
                session._reading.cancel()
    finally:
        link.cut()
        wire.close()
