"""A process beside the tests in which every call that changes a file is counted, and one of them ends it or fails.

Owns the making of `shim.c`, the process that has it loaded from its start, and what it says of each trial. A trial is
a child of that process: it opens a workspace, does a writer's work and says how far it came.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Self

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import NanomemError

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(__file__).with_name("shim.c")
FAULTS = ("none", "kill before", "kill inside", "kill after", "EIO", "EIO from then on", "full", "short")
"""What a step may meet, by the numbers of `shim.c`. `full`: half of that write and no room from then on."""
KILLS = FAULTS[1:4]
FAILS = FAULTS[4:]
AGAIN = "room is back"
"""The text that is remembered once the disk is well again."""


class Ended(NamedTuple):
    """How a trial ended: what was acknowledged, by its names; refusals; steps taken; whether it was killed."""

    acknowledged: tuple[str, ...]
    refused: tuple[str, ...]
    steps: int
    killed: bool
    broken: str


def can_be_made() -> bool:
    """Whether there is a compiler, and a system for which the shim is written."""
    return sys.platform == "linux" and compiler() is not None


def compiler() -> str | None:
    """The C compiler."""
    return next(filter(None, map(shutil.which, (os.environ.get("CC", "cc"), "cc", "gcc", "clang"))), None)


@cache
def made() -> Path:
    """The library, made anew for this process."""
    folder = Path(tempfile.mkdtemp(prefix="nanomem-shim-"))
    library = folder / "shim.so"
    words = [str(compiler()), "-O1", "-shared", "-fPIC", "-w", "-o", str(library), str(SOURCE), "-ldl", "-lpthread"]
    subprocess.run(words, check=True, capture_output=True)
    return library


class Server:
    """The process with the shim. Use as a context manager."""

    def __enter__(self) -> Self:
        environment = {**os.environ, "LD_PRELOAD": str(made()), "PYTHONPATH": str(ROOT)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.shim"], env=environment, cwd=ROOT, stdin=-1, stdout=-1, text=True
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()
        shutil.rmtree(made().parent, ignore_errors=True)
        made.cache_clear()

    def run(
        self,
        writer: str,
        base: Path,
        fault: str = "none",
        at: int = 0,
        log: Path | None = None,
        heal: Sequence[str] = (),
    ) -> Ended:
        """Let a writer work on its workspace below `base`; `at`: the step with the fault. `log`: of every call.

        `heal`: a command that makes the disk well again where no fault of ours made it ill.
        """
        asked = {
            "writer": writer, "base": str(base), "fault": FAULTS.index(fault), "at": at, "log": str(log or ""),
            "heal": list(heal),
        }  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        told = json.loads(self._process.stdout.readline())
        return Ended(tuple(told["did"]), tuple(told["refused"]), told["steps"], told["killed"], told["broken"])


# -- in that process ---------------------------------------------------------------------------------------------------


def serve() -> None:
    """Answer each line with how its trial ended."""
    from tests.crash import writers

    shim = ctypes.CDLL(None)
    shim.shim_arm.argtypes = (ctypes.c_char_p, ctypes.c_long, ctypes.c_int, ctypes.c_int)
    shim.shim_mark.argtypes = (ctypes.c_long,)
    writers.warm_up()
    for line in sys.stdin:
        asked = json.loads(line)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            work_in_child(shim, asked, write)
        os.close(write)
        said = b""
        while chunk := os.read(read, 65_536):
            said += chunk
        os.close(read)
        _, status = os.waitpid(child, 0)
        print(json.dumps(heard(said, killed=os.WIFSIGNALED(status))), flush=True)


def heard(said: bytes, *, killed: bool) -> dict[str, Any]:
    """What a child said, put together."""
    told: dict[str, Any] = {"did": [], "refused": [], "steps": 0, "killed": killed, "broken": ""}
    for line in said.decode().splitlines():
        name, value = json.loads(line)
        if isinstance(told[name], list):
            told[name].append(value)
        else:
            told[name] = value
    return told


def work_in_child(shim: Any, asked: dict[str, Any], pipe: int) -> None:
    """One trial, from an open workspace to its end; never returns."""
    from tests.crash import writers

    def tell(name: str, value: object) -> None:
        os.write(pipe, json.dumps([name, value]).encode() + b"\n")

    def acknowledge(name: str) -> None:
        tell("did", name)
        shim.shim_mark(writers.STEPS.index(name))

    status = 1
    try:
        writer, base = writers.WRITERS[asked["writer"]], Path(asked["base"])
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115  what commands print
        log = os.open(asked["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600) if asked["log"] else -1
        with writers.settings_of(writer, base):
            shim.shim_arm(str(base).encode(), asked["at"], asked["fault"], log)
            for name, step in writers.steps(writer, base):
                try:
                    step()
                    acknowledge(name)
                except NanomemError as error:
                    tell("refused", error.line())
            tell("steps", shim.shim_count())
            shim.shim_heal()
            if asked["heal"]:
                subprocess.run(asked["heal"], check=True)
            with open_workspace(writers.workspace_of(base)) as ws:
                ws.items.add(AGAIN)
            acknowledge("again")
        status = 0
    except BaseException:
        tell("broken", traceback.format_exc())
    finally:
        os._exit(status)


if __name__ == "__main__":
    serve()
