"""OpenSSH's own server on loopback, unpacked by `make sshd` and run by whoever asks, root or not.

Owns its configuration, its keys and the script that starts the program of a login. The client and the link are those
of `_ssh.py`. One login at a time.
"""

from __future__ import annotations

import asyncio
import os
import pwd
import shlex
import socket
import subprocess
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import asyncssh

LOOPBACK = "127.0.0.1"
UNPACKED = Path(__file__).resolve().parent.parent / ".peers" / "sshd"
EMPTY = Path("/run/sshd")  # where the server locks itself in until a login is through, when root runs it
PATIENCE = 10.0  # seconds
CONFIG = """\
ListenAddress {loopback}
Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized
ForceCommand {folder}/login
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
PrintLastLog no
Compression yes
"""
# The shell outlives the program, also when the connection drops, and keeps how it ended, as a shell tells it.
LOGIN = """\
#!/bin/sh
trap : HUP
rm -f {folder}/status
env -i {env} SSH_CONNECTION="$SSH_CONNECTION" SSH_TTY="$SSH_TTY" TERM="$TERM" \\
    /bin/sh -c 'echo $$ > {folder}/pid; exec {command}'
echo $? > {folder}/status.new
mv {folder}/status.new {folder}/status
exit "$(cat {folder}/status)"
"""


def missing() -> str:
    """Why OpenSSH's server cannot be run here; "" when it can."""
    if not (UNPACKED / ".done").exists():
        return "no OpenSSH server: `make sshd` unpacks one"
    if os.getuid() == 0 and not EMPTY.is_dir() and not os.access(EMPTY.parent, os.W_OK):
        return f"no OpenSSH server: root needs {EMPTY}, which cannot be made"
    return ""


class Program:
    """The program of the newest login."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def pid(self) -> int:
        """Its process."""
        return int((self._folder / "pid").read_text("ascii"))

    def poll(self) -> int | None:
        """Its exit code as a shell tells it, once it has ended."""
        try:
            return int((self._folder / "status").read_text("ascii"))
        except FileNotFoundError:
            return None


class OpenSSH:
    """A running server of OpenSSH. Use `openssh_serving`."""

    def __init__(self, folder: Path, port: int, key: asyncssh.SSHKey) -> None:
        self.port = port
        self.user = pwd.getpwuid(os.getuid()).pw_name
        self.keys = [key]
        self.programs = [Program(folder)]


@asynccontextmanager
async def openssh_serving(command: Sequence[str], env: Mapping[str, str]) -> AsyncIterator[OpenSSH]:
    """OpenSSH's server, which runs `command` with just `env` and what a login adds, for who logs in with its key.

    Raises RuntimeError with what the server said when it does not start.
    """
    with tempfile.TemporaryDirectory(prefix="nanomem-sshd-") as name:
        folder, port = Path(name), _free_port()
        key = _prepare(folder, port, command, env)
        words = [UNPACKED / "usr/sbin/sshd", "-D", "-e", "-f", folder / "config"]
        server = subprocess.Popen(words, env=_environment(folder), stderr=subprocess.PIPE)  # noqa: ASYNC220 - once
        with server:
            try:
                await _listening(port, server)
                yield OpenSSH(folder, port, key)
            finally:
                server.terminate()
                await _ended(Program(folder))


def _prepare(folder: Path, port: int, command: Sequence[str], env: Mapping[str, str]) -> asyncssh.SSHKey:
    host_key, key = (asyncssh.generate_private_key("ssh-ed25519") for _ in range(2))
    host_key.write_private_key(str(folder / "host_key"))
    (folder / "host_key").chmod(0o600)
    key.write_public_key(str(folder / "authorized"))
    (folder / "config").write_text(CONFIG.format(loopback=LOOPBACK, port=port, folder=folder), "utf-8")
    given = " ".join(shlex.quote(f"{name}={value}") for name, value in env.items())
    started = shlex.join(command).replace("'", "'\\''")
    (folder / "login").write_text(LOGIN.format(folder=folder, env=given, command=started), "utf-8")
    (folder / "login").chmod(0o700)
    own = pwd.getpwuid(os.getuid())
    users = [f"{own.pw_name}:x:{own.pw_uid}:{own.pw_gid}::{folder}:/bin/sh"]
    if own.pw_name != "sshd":
        users.append("sshd:x:65534:65534::/:/bin/false")  # who the server is until a login is through
    (folder / "users").write_text("\n".join(users) + "\n", "utf-8")
    (folder / "groups").write_text(f"own:x:{own.pw_gid}:\nnogroup:x:65534:\n", "utf-8")
    if os.getuid() == 0:
        EMPTY.mkdir(mode=0o755, exist_ok=True)
    return key


def _environment(folder: Path) -> dict[str, str]:
    """So that the server finds its libraries, and users that this machine need not have."""
    libraries = sorted({path.parent for path in UNPACKED.rglob("lib*.so*")})
    wrapper = next(path for path in UNPACKED.rglob("libnss_wrapper.so"))
    return {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "LD_LIBRARY_PATH": ":".join(map(str, libraries)),
        "LD_PRELOAD": str(wrapper),
        "NSS_WRAPPER_PASSWD": str(folder / "users"),
        "NSS_WRAPPER_GROUP": str(folder / "groups"),
    }


def _free_port() -> int:
    with socket.socket() as found:
        found.bind((LOOPBACK, 0))
        return int(found.getsockname()[1])


async def _listening(port: int, server: subprocess.Popen[bytes]) -> None:
    end = asyncio.get_running_loop().time() + PATIENCE
    while server.poll() is None and asyncio.get_running_loop().time() < end:
        try:
            _, writer = await asyncio.open_connection(LOOPBACK, port)
        except ConnectionError:
            await asyncio.sleep(0.02)
            continue
        writer.close()
        return
    said = server.stderr.read1(2000) if server.stderr is not None and server.poll() is not None else b"it is silent"
    raise RuntimeError(f"OpenSSH's server did not start: {said.decode(errors='replace')}")


async def _ended(program: Program) -> None:
    """Wait until the program of a login has ended with its connection, else end it."""
    end = asyncio.get_running_loop().time() + PATIENCE
    try:
        while program.poll() is None and asyncio.get_running_loop().time() < end:
            os.kill(program.pid, 0)
            await asyncio.sleep(0.05)
        if program.poll() is None:
            os.kill(program.pid, 9)
    except (FileNotFoundError, ProcessLookupError):
        return
