"""A real terminal for a program: a pty whose screen is kept as a person would see it, and every byte that came out."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pexpect
import pyte

PATIENCE = 60.0  # seconds that a condition is waited for


class Terminal:
    """A running program. `raw` is all that it wrote."""

    def __init__(self, child: pexpect.spawn[bytes], columns: int, rows: int) -> None:
        self.child = child
        self.raw = b""
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)

    @property
    def text(self) -> str:
        cells = self._screen.buffer  # behind a wide character lies an empty one, on which pyte's own `display` may fail
        return "\n".join(
            "".join(cells[y][x].data for x in range(self._screen.columns)).rstrip() for y in range(self._screen.lines)
        )

    def read(self, patience: float = 0.05) -> bool:
        """Take in what the program has written by now; whether it has written anything."""
        try:
            data = self.child.read_nonblocking(65536, timeout=patience)
        except (pexpect.TIMEOUT, pexpect.EOF):
            return False
        self.raw += data
        self._stream.feed(data.replace(b"\x1b[>", b"\x1b["))  # what pyte doesn't know would be printed
        return True

    def until(self, true: Callable[[], object], what: str) -> None:
        """Wait until something is true of the screen."""
        end = time.monotonic() + PATIENCE
        while not true():
            if time.monotonic() > end:
                raise AssertionError(f"never: {what}\n{self.text}")
            if not self.child.isalive():
                self.read()
                if true():
                    return
                raise AssertionError(f"it ended before: {what}\n{self.text}")
            self.read()

    def shows(self, *texts: str) -> None:
        self.until(lambda: all(text in self.text for text in texts), f"the screen shows {texts}")

    def hides(self, text: str) -> None:
        self.until(lambda: text not in self.text, f"“{text}” is gone")

    def type(self, keys: str) -> None:
        self.child.send(keys.encode())

    def press(self, keys: str, *texts: str) -> None:
        """Type keys, then wait until the screen shows `texts`."""
        self.type(keys)
        self.shows(*texts)

    def ends(self) -> int:
        """Wait for the end; the exit code."""
        end = time.monotonic() + PATIENCE
        while self.child.isalive() and time.monotonic() < end:
            self.read()
        self.read()
        self.child.close(force=True)
        return -1 if self.child.exitstatus is None else self.child.exitstatus


@contextmanager
def nanomem(
    workspace: Path, columns: int = 80, rows: int = 24, arguments: tuple[str, ...] = (), **environ: str
) -> Iterator[Terminal]:
    """The program on a workspace, in a terminal with full colour."""
    root = Path(__file__).resolve().parents[2]
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "TZ", "LANG"}}
    child = pexpect.spawn(
        sys.executable,
        ["-m", "nanomem_tui", "--workspace", str(workspace), *arguments],
        env={**kept, "PYTHONPATH": str(root), "TERM": "xterm-256color", "COLORTERM": "truecolor", **environ},
        dimensions=(rows, columns),
        timeout=PATIENCE,
        echo=False,
    )
    child.delaybeforesend = None
    terminal = Terminal(child, columns, rows)
    try:
        yield terminal
    finally:
        child.close(force=True)
