"""A program in a pseudo-terminal, timed from outside: when which text was there, what a key cost, what it left behind.

Owns the terminal's side: it answers the questions a modern terminal answers and keeps every byte with its time. It
judges nothing: the benchmarks and tests that use it do.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

ANSWERS = (  # (question, answer): synchronised output is known, everything else is left unanswered
    (b"\x1b[?2026$p", b"\x1b[?2026;2$y"),
    (b"\x1b[c", b"\x1b[?62;22c"),
    (b"\x1b[6n", b"\x1b[1;1R"),
)
FRAME_END = b"\x1b[?2026l"
_CONTROLS = re.compile(
    rb"\x1b\[[0-9;:?<>=$ ]*[@-~]|\x1b[P\]_^X].*?(?:\x1b\\|\x07)|\x1b[()][A-Z0-9]|\x1b[=>78]", re.DOTALL
)
_SWITCHED = re.compile(rb"\x1b\[\?([0-9;]+)([hl])")
HURTFUL = {b"1", b"1000", b"1002", b"1003", b"1004", b"1006", b"1049", b"2004", b"2026", b"2048"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a key brought: milliseconds to the first byte, to the end of the first and last frame and to what was waited
    for, and bytes."""

    first_ms: float
    frame_ms: float
    last_ms: float
    size: int
    shown_ms: float


class Terminal:
    """One program in a pseudo-terminal of `size` (columns, rows); use as a context manager."""

    def __init__(
        self, command: Sequence[str], *, size: tuple[int, int] = (80, 24), env: Mapping[str, str] | None = None
    ) -> None:
        self.output = bytearray()
        self.first_byte_ms: float | None = None
        self.status: int | None = None
        self._answered = 0
        self._ended = False
        self._started = time.perf_counter()
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
                os.execvpe(command[0], list(command), dict(env if env is not None else os.environ))
            finally:
                os._exit(127)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.kill()

    @property
    def text(self) -> str:
        """Everything written so far without control sequences: in the order written, not as laid out."""
        return _CONTROLS.sub(b" ", bytes(self.output)).decode("utf-8", "replace")

    @property
    def left_on(self) -> list[str]:
        """The terminal modes that the program switched on and not off, of those that hurt a shell."""
        on: set[bytes] = set()
        for modes, switch in _SWITCHED.findall(bytes(self.output)):
            (on.update if switch == b"h" else on.difference_update)(modes.split(b";"))
        return sorted(mode.decode() for mode in on & HURTFUL)

    def echoes(self) -> bool:
        """Whether the terminal echoes and reads by lines, as a shell expects."""
        flags = termios.tcgetattr(self._fd)[3]
        return bool(flags & termios.ECHO) and bool(flags & termios.ICANON)

    def read(self, seconds: float) -> int:
        """Take what comes within `seconds`, at most one piece; how many bytes it was."""
        if self._ended or not select.select([self._fd], [], [], max(seconds, 0))[0]:
            return 0
        try:
            data = os.read(self._fd, 1 << 16)
        except OSError:
            data = b""
        if not data:
            self._ended = True
            return 0
        if self.first_byte_ms is None:
            self.first_byte_ms = (time.perf_counter() - self._started) * 1000
        self.output += data
        self._answer()
        return len(data)

    def _answer(self) -> None:
        new = bytes(self.output[max(self._answered - 16, 0) :])
        for question, answer in ANSWERS:
            at = new.find(question)
            if at >= 0 and at + len(question) > min(self._answered, 16):
                os.write(self._fd, answer)
        self._answered = len(self.output)

    def wait_for(self, pattern: str, seconds: float = 60, since: int = 0) -> float:
        """Milliseconds from the start until `pattern` was written (after byte `since`). Raises TimeoutError."""
        wanted = re.compile(pattern.encode())
        end = time.perf_counter() + seconds
        is_new = True  # what was written before may hold it
        while time.perf_counter() < end:
            if is_new and wanted.search(_CONTROLS.sub(b"", bytes(self.output[since:]))):
                return (time.perf_counter() - self._started) * 1000
            if self._ended:
                break
            is_new = self.read(0.02) > 0
        raise TimeoutError(f"{pattern!r} never appeared in {self.text[-2000:]!r}")

    def drain(self, quiet: float = 0.1, limit: float = 10) -> int:
        """Take everything until nothing comes for `quiet` seconds; how many bytes it was."""
        end = time.perf_counter() + limit
        total = 0
        while time.perf_counter() < end:
            size = self.read(quiet)
            if not size:
                break
            total += size
        return total

    def send(self, keys: str) -> None:
        """Type `keys`."""
        os.write(self._fd, keys.encode())

    def press(self, keys: str, quiet: float = 0.03, limit: float = 5, shows: str = "") -> Answer:
        """Type `keys` as one and time what is written for it, until `quiet` seconds of silence; `shows` is a pattern of
        text that is waited for (nothing, or not found: all of it)."""
        before, sent = len(self.output), time.perf_counter()
        self.send(keys)
        times: list[tuple[float, int]] = []
        while time.perf_counter() - sent < limit and self.read(limit if not times else quiet):
            times.append(((time.perf_counter() - sent) * 1000, len(self.output)))
        if not times:
            return Answer(limit * 1000, limit * 1000, limit * 1000, 0, limit * 1000)
        end = bytes(self.output).find(FRAME_END, before)
        frame = next((at for at, size in times if end >= 0 and size >= end + len(FRAME_END)), times[0][0])
        shown = times[-1][0]
        if shows:
            wanted = re.compile(shows.encode())
            found = (at for at, size in times if wanted.search(_CONTROLS.sub(b"", bytes(self.output[before:size]))))
            shown = next(found, shown)
        return Answer(times[0][0], frame, times[-1][0], len(self.output) - before, shown)

    def cpu_seconds(self) -> float:
        """User and system time of the program so far (Linux)."""
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_mb(self) -> float:
        """The most memory that the program held, in MB (Linux)."""
        with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))

    def signal(self, number: int) -> None:
        """Send a signal to the program."""
        os.kill(self.pid, number)

    def hang_up(self) -> None:
        """Take the terminal away, as a connection does that drops."""
        self._ended = True
        os.close(self._fd)
        self._fd = -1

    def wait_end(self, seconds: float = 60) -> float:
        """Seconds until the program has ended by itself; its exit status is in `status`. Raises TimeoutError."""
        asked = time.perf_counter()
        while time.perf_counter() - asked < seconds:
            self.read(0.002)
            ended, status = os.waitpid(self.pid, os.WNOHANG) if self.status is None else (self.pid, 0)
            if ended:
                took = time.perf_counter() - asked
                self.status = os.waitstatus_to_exitcode(status) if self.status is None else self.status
                self.drain(0.5, 60)  # up to the end, which comes at once
                return took
        raise TimeoutError("the program did not end")

    def kill(self) -> None:
        """End the program if it still runs, and let go of the terminal."""
        if self.status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
