"""One `nanomem turn serve` as a child process: a JSON line out, a JSON line back, each within its time.

Owns the process and its pipes; everything here blocks and belongs to one thread. It knows nothing of agents or turns.
"""

from __future__ import annotations

import importlib.util
import json
import os
import selectors
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import ATTACH_VARIABLE, COMMAND_VARIABLE

LONGEST_ANSWER = 4_000_000
"""Bytes. A longer answer is no answer of ours."""


class Gone(Exception):
    """The child cannot answer: not found, not started, died, silent for too long, or no JSON came."""


def command() -> list[str]:
    """The command line of nanomem: the environment's, else PATH's, else the module beside us. Raises Gone."""
    named = os.environ.get(COMMAND_VARIABLE, "").strip()
    if named:
        return shlex.split(named)
    found = shutil.which("nanomem")
    if found:
        return [found]
    if importlib.util.find_spec("nanomem_tui") is not None:
        return [sys.executable, "-P", "-m", "nanomem_tui"]
    raise Gone(f"no `nanomem` command on PATH; install nanomem or set {COMMAND_VARIABLE}")


def environment() -> dict[str, str]:
    """Our own environment without what the launcher put there for the agent: the child is no agent."""
    values = dict(os.environ)
    startup = values.pop(ATTACH_VARIABLE, "")
    if startup:
        ours = str(Path(startup) / "startup")
        kept = [entry for entry in values.get("PYTHONPATH", "").split(os.pathsep) if entry and entry != ours]
        values["PYTHONPATH"] = os.pathsep.join(kept)
        if not kept:
            del values["PYTHONPATH"]
    return values


class Hung(Gone):
    """The child lives and is silent for too long."""


class Child:
    """A running child; `ask` is one exchange."""

    def __init__(self, workspace: str | None, base: Sequence[str] | None = None) -> None:
        """Start it; raises Gone when it cannot be started."""
        line = [*(base if base is not None else command()), "turn", "serve"]
        if workspace:
            line += ["--workspace", workspace]
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as the child
        try:
            # A session of its own: Ctrl-C in the agent's terminal must not end it before the last turn is written.
            self._process = subprocess.Popen(
                line,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=environment(),
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            self._errors.close()
            raise Gone(f"cannot start {line[0]}: {error.strerror}") from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)
        self._rest = b""

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """The answer to `request`; raises Gone, after which the child is of no more use."""
        until = time.monotonic() + seconds
        try:
            self._write(json.dumps(request, default=str).encode("ascii") + b"\n", until)
            answer = json.loads(self._line(until))
        except TimeoutError as error:
            raise Hung(f"no answer within {seconds:g} s") from error
        except (OSError, ValueError) as error:
            raise Gone(
                self._last_words(has_ended=isinstance(error, BrokenPipeError)) or f"{type(error).__name__}: {error}"
            ) from error
        if not isinstance(answer, dict):
            raise Gone("the answer is no JSON object")
        return answer

    def close(self, seconds: float) -> None:
        """End of input, so that the child finishes what it has; killed when it takes longer than `seconds`."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()

    def _write(self, data: bytes, until: float) -> None:
        while data:
            self._wait(self._in, selectors.EVENT_WRITE, until)
            data = data[os.write(self._in, data) :]

    def _line(self, until: float) -> bytes:
        while b"\n" not in self._rest:
            self._wait(self._out, selectors.EVENT_READ, until)
            read = os.read(self._out, 65536)
            if not read:
                raise BrokenPipeError("it ended")
            self._rest += read
            if len(self._rest) > LONGEST_ANSWER:
                raise ValueError("an endless answer")
        line, self._rest = self._rest.split(b"\n", 1)
        return line

    @staticmethod
    def _wait(pipe: int, event: int, until: float) -> None:
        left = until - time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, event)
            if left <= 0 or not selector.select(left):
                raise TimeoutError("no answer in time")

    def _last_words(self, *, has_ended: bool) -> str:
        """The last line of its standard error, when it is dead; who `has_ended` its output is about to be."""
        try:
            self._process.wait(5.0 if has_ended else 0.2)
        except subprocess.TimeoutExpired:
            return ""
        size = os.fstat(self._errors.fileno()).st_size
        tail = os.pread(self._errors.fileno(), 2000, max(0, size - 2000)).decode("utf-8", "replace").split("\n")
        last = next((line.strip() for line in reversed(tail) if line.strip()), "")
        return f"it ended with code {self._process.returncode}" + (f": {last}" if last else "")
