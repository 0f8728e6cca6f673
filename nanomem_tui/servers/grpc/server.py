"""The memory service on a unix socket of its user, or on 127.0.0.1 for who gives the token.

Owns the process while it serves: who is let in, where each call is answered, deadlines, limits, and a stop that loses
nothing. Must not know what an rpc does: see `service`.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import os
import signal
import socket
import stat
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import quote

from nanomem_tui.core import atomic
from nanomem_tui.core.errors import BadInput, MissingExtra, Refused, extra_command
from nanomem_tui.core.paths import Paths
from nanomem_tui.servers import http, mcp

if TYPE_CHECKING:
    from nanomem_tui.servers.grpc.service import MemoryService
    from nanomem_tui.workspace import Workspace


# -- Where the memory service listens: its socket, and the lock that keeps a second service from it -------------------

NAME, LOCK, TOKEN = "grpc.sock", "grpc.lock", "grpc.token"
LONGEST = 107
"""Bytes of the path of a socket, which the kernel sets."""


def is_socket_path(path: Path) -> bool:
    """Whether a socket can have that path."""
    return len(os.fsencode(path)) <= LONGEST


def usual_socket(paths: Paths) -> Path:
    """The socket of a memory: in its folder, or where that path is too long in one of this user for such things."""
    path = paths.data / NAME
    if is_socket_path(path):
        return path
    base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    mark = hashlib.sha256(os.fsencode(paths.data)).hexdigest()[:16]
    return Path(base, f"nanomem-{os.getuid()}", f"{mark}.sock")


def socket_address(path: Path) -> str:
    """The address of a socket as gRPC wants it."""
    return f"unix:{quote(os.fsencode(path))}"


@contextlib.contextmanager
def private() -> Iterator[None]:
    """What is made in it is for its owner alone."""
    before = os.umask(0o177)
    try:
        yield
    finally:
        os.umask(before)


@contextlib.contextmanager
def claim_socket(paths: Paths, path: Path | None) -> Iterator[None]:
    """Be the only service of this memory, with nothing in the way at `path`, which is gone at the end.

    Raises Refused when another one runs or listens there, BadInput for a path that can be no socket.
    """
    atomic.make_folder(paths.data)
    lock = paths.data / LOCK
    handle = atomic.open_owned(lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        if not atomic.try_lock(handle):
            said = os.pread(handle, 200, 0).decode("utf-8", "replace").strip()
            raise Refused("a gRPC service of this memory runs already", said or str(lock), "use it, or stop it first")
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"process {os.getpid()}\n".encode(), 0)
        if path is not None:
            _make_room(path, made=path == usual_socket(paths).absolute())
        try:
            yield
        finally:
            os.ftruncate(handle, 0)
            if path is not None:
                with contextlib.suppress(FileNotFoundError):
                    path.unlink()
    finally:
        os.close(handle)


def _make_room(path: Path, *, made: bool) -> None:
    """Take away what a killed service left at `path`. Raises BadInput or Refused for anything else that is there, and
    for a folder that is not, unless it is ours to be `made`."""
    if not is_socket_path(path):
        what = f"the path of a socket has at most {LONGEST} bytes, this one {len(os.fsencode(path))}"
        raise BadInput(what, str(path), "name a shorter one: --socket PATH")
    folder = path.parent
    if made:
        atomic.make_folder(folder)
    elif not folder.is_dir():
        raise BadInput("there is no such folder for the socket", str(folder), "make it, or name another: --socket PATH")
    shared = folder.lstat()
    theirs = not stat.S_ISDIR(shared.st_mode) or shared.st_uid != os.getuid() or shared.st_mode & 0o077
    if folder.name == f"nanomem-{os.getuid()}" and theirs:
        raise Refused("others may reach that folder", str(folder), "name a socket elsewhere: --socket PATH")
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise BadInput("there is a file at the place of the socket", str(path), "name another: --socket PATH")
    if _answers(path):
        raise Refused("somebody listens there already", str(path), "name another: --socket PATH")
    path.unlink()


def _answers(path: Path) -> bool:
    """Whether somebody listens at a socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1)
        try:
            probe.connect(os.fsencode(path))
        except OSError as error:
            return error.errno != errno.ECONNREFUSED
    return True


SERVICE = "aios.memory.MemoryService"
HOST = "127.0.0.1"
AT_ONCE = 2_000
"""Calls that are answered at the same time; more are refused."""
WAITING_BYTES = 128 * 1024 * 1024
"""Bytes of answers that wait for readers, each of which gRPC holds once more; more are refused."""
THREADS = 16
HANDOVER = 0.0005
"""Seconds after which a thread that reckons lets another one have its turn: the loop must not wait for it."""
HANDSHAKE = 10.0
"""Seconds that a connection may take to begin; half a beginning is let go of."""
GRACE = 5.0
"""Seconds that the end waits for the calls that run."""


class Listening(NamedTuple):
    """Where to listen: a socket, a port of 127.0.0.1 (0: a free one) with its token, or both."""

    socket: Path | None = None
    port: int | None = None
    token: str = ""


def require_grpc() -> None:
    """Raise MissingExtra where the libraries of gRPC are not installed, or are older than our messages."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # read when they are loaded: what goes wrong is said by us
    try:
        import grpc_health.v1.health  # noqa: F401
        import grpc_reflection.v1alpha.reflection  # noqa: F401

        from nanomem_tui.servers.grpc import memory_pb2  # noqa: F401
    except Exception as error:  # an old library says so in an error of its own
        what = "the libraries of gRPC (grpcio 1.85.1 or later) are not installed"
        raise MissingExtra(what, "nanomem serve grpc", extra_command("grpc")) from error


class Server:
    """The service of one workspace, listening. Use as an async context manager; leaving it ends it gracefully."""

    def __init__(self, ws: Workspace, where: Listening) -> None:
        self._ws = ws
        self._where = where
        self._servers: list[Any] = []
        self._health: list[Any] = []
        self._aside, self._alone = ThreadPoolExecutor(THREADS, "nanomem-rpc"), ThreadPoolExecutor(1, "nanomem-memory")
        self._waiting = 0
        atomic.make_folder(ws.paths.data)
        self._folder = _identity(ws.paths.data)
        self.addresses: list[str] = []

    async def __aenter__(self) -> Self:
        """Listen. Raises Refused in one line where that is not possible."""
        from grpc_health.v1 import health
        from grpc_health.v1.health_pb2 import HealthCheckResponse
        from grpc_reflection.v1alpha import reflection

        from nanomem_tui.servers.grpc.service import MemoryService

        service = MemoryService(self._ws)
        try:
            if self._where.socket is not None:
                server = self._made(service, ())
                with private():
                    self._bind(server, socket_address(self._where.socket), str(self._where.socket))
                self._where.socket.chmod(0o600)
                atomic.give_to_folder_owner(self._where.socket, self._where.socket.parent)
                self.addresses.append(f"unix:{self._where.socket}")
            if self._where.port is not None:
                server = self._made(service, (_token_interceptor(self._where.token),))
                port = self._bind(server, f"{HOST}:{self._where.port}", f"{HOST}:{self._where.port}")
                self.addresses.append(f"{HOST}:{port}")
            for server, looked in zip(self._servers, self._health, strict=True):
                for name in (SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME):
                    await looked.set(name, HealthCheckResponse.SERVING)
                await server.start()
        except BaseException:
            await self._end(0)
            raise
        return self

    def _made(self, service: MemoryService, interceptors: Sequence[Any]) -> Any:
        import grpc
        from grpc_health.v1 import health, health_pb2_grpc
        from grpc_reflection.v1alpha import reflection

        from nanomem_tui.servers.grpc import memory_pb2 as pb
        from nanomem_tui.servers.grpc.service import MOST_BYTES

        options = [
            ("grpc.so_reuseport", 0),  # a second server is refused the port
            ("grpc.server_handshake_timeout_ms", int(HANDSHAKE * 1000)),
            ("grpc.max_receive_message_length", MOST_BYTES),
            ("grpc.max_send_message_length", MOST_BYTES),
        ]
        server = grpc.aio.server(interceptors=interceptors, options=options, maximum_concurrent_rpcs=AT_ONCE)
        handlers = {
            method.name: grpc.unary_unary_rpc_method_handler(
                self._call(method.name, service.rpcs[method.name]), getattr(pb, method.input_type.name).FromString
            )
            for method in pb.DESCRIPTOR.services_by_name["MemoryService"].methods
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
        looked = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(looked, server)
        reflection.enable_server_reflection((SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
        self._servers.append(server)
        self._health.append(looked)
        return server

    @staticmethod
    def _bind(server: Any, target: str, told: str) -> int:
        try:
            return int(server.add_insecure_port(target))
        except RuntimeError as error:
            raise Refused("cannot listen there", told, "is it taken? name another") from error

    def _call(self, name: str, rpc: Any) -> Callable[[Any, Any], Awaitable[Any]]:
        """The rpc as gRPC calls it: on the loop or on a thread, its answer in bytes, its errors as a status."""
        import grpc

        from nanomem_tui.servers.grpc.service import status_of

        async def call(request: Any, context: Any) -> bytes:
            answer: bytes
            try:
                self._there()
                where = rpc.where(request)
                if where == "here":
                    answer, made = rpc.answer(request)
                else:
                    threads = self._aside if where == "aside" else self._alone
                    answer, made = await asyncio.get_running_loop().run_in_executor(threads, rpc.answer, request)
                self._hold(len(answer), context)
            except Exception as error:  # noqa: BLE001  the border where an error becomes a status; the server goes on
                code, line, told = status_of(error, name)
            else:
                if made:
                    context.set_trailing_metadata((("nanomem-id", made),))
                return answer
            request = answer = b""  # the error that `abort` raises would hold on to them
            await context.abort(getattr(grpc.StatusCode, code), line, told)
            return answer

        return call

    def _there(self) -> None:
        """Raise Refused where the memory was taken away: a new one in its place would look like one that forgot all."""
        if _identity(self._ws.paths.data) != self._folder:
            fix = "put it back, or start the service again"
            raise Refused("the memory is not there any more", str(self._ws.paths.data), fix)

    def _hold(self, size: int, context: Any) -> None:
        """Count an answer until it is read, so that clients that do not read cannot fill the memory."""
        if size < 65_536:  # what a call takes anyway
            return
        if self._waiting + size > WAITING_BYTES:
            raise Refused("too many answers wait for their readers", "", "read them, and ask again")
        self._waiting += size

        def read(_: Any) -> None:
            self._waiting -= size

        context.add_done_callback(read)

    async def __aexit__(self, *_: object) -> None:
        await self._end(GRACE)

    async def _end(self, grace: float) -> None:
        """Take no more calls, let those that run end, and wait for the threads: what they began to write is whole."""
        for looked in self._health:
            await looked.enter_graceful_shutdown()
        await asyncio.gather(*(server.stop(grace) for server in self._servers))
        for threads in (self._aside, self._alone):
            await asyncio.to_thread(threads.shutdown)


def _identity(folder: Path) -> tuple[int, int] | None:
    """What tells a folder from another one of the same name; None where there is none."""
    try:
        found = os.stat(folder)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _token_interceptor(word: str) -> Any:
    """Lets in who gives the token, and nobody else, to whatever service."""
    import grpc

    from nanomem_tui.servers.grpc.service import Unauthenticated, status_of

    def refusing(what: str, where: str, fix: str) -> Any:
        async def refuse(_: Any, context: Any) -> None:
            _, line, told = status_of(Unauthenticated(what, where, fix), "")
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, line, told)

        return grpc.stream_stream_rpc_method_handler(refuse)  # whatever was asked: it is not even read

    place = "it stands in the file grpc.token, or in NANOMEM_TOKEN"
    none = refusing("a token is needed", "", f"metadata `authorization: Bearer TOKEN`; {place}")
    wrong = refusing("the token is wrong", "", f"{place}, as the service began with it")

    class TokenInterceptor(grpc.aio.ServerInterceptor):  # type: ignore[misc]  # the library has no types
        async def intercept_service(self, continuation: Any, details: Any) -> Any:
            given = [text for name, text in details.invocation_metadata if name == "authorization"]
            scheme, _, said = given[0].partition(" ") if len(given) == 1 else ("", "", "")
            if scheme.lower() != "bearer":
                return none
            return await continuation(details) if http.token_matches(said.strip(), word) else wrong

    return TokenInterceptor()


async def serve(ws: Workspace, where: Listening, began: Callable[[Sequence[str]], object]) -> None:
    """Answer until SIGTERM or Ctrl-C. `began` is told the addresses. Raises Refused where it cannot listen."""
    mcp.log_in_lines()
    sys.setswitchinterval(HANDOVER)
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    async with Server(ws, where) as server:
        began(server.addresses)
        _begin(ws)
        await told.wait()


def _begin(ws: Workspace) -> None:
    """What goes on beside the calls: checkpoints, what ages, measuring, the index of recall, vectors of records."""
    from nanomem_tui.memory.recall.meaning import HYBRID

    ws.start_checkpoints()
    ws.start_collecting()
    ws.lifecycle.start()
    if ws.settings.memory_enabled:
        ws.recall.warm()
    if ws.settings.recall_backend in HYBRID:
        ws.record_meaning.start()
