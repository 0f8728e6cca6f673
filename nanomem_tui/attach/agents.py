"""Finds the agent on this machine and what starts it attached: its command, Python, release and environment.

Runs in nanomem's own process. Never imports the agent: that migrates data; its release is asked of its own Python.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from . import ATTACH_VARIABLE, COMMAND_VARIABLE, TOOL, WORKSPACE_VARIABLE

TESTED = "0.3"
"""The releases of nanobot-ai that are tested begin with it."""
CHANNELS_VARIABLE = "NANOMEM_CAPTURE_CHANNELS"
OWN_SCREEN = "websocket"
"""The channel of nanobot's own terminal and web interface, which no list from before 0.3 names."""
PACKAGE = Path(__file__).resolve().parent

_PROBE = """
import importlib.metadata as m, json
def version(name):
    try: return m.version(name)
    except m.PackageNotFoundError: return None
print(json.dumps({"version": version("nanobot-ai"), "beside": version("nanomem-tui"),
                  "tools": [e.name for e in m.entry_points(group="nanobot.tools")]}))
"""


class Agent(NamedTuple):
    """An agent's program: the command line that starts it, and its Python when that could be told."""

    command: tuple[str, ...]
    python: str | None


class Release(NamedTuple):
    """What an agent's Python says: its release, our release beside it, and whether our tool is an entry point there."""

    version: str | None
    beside: str | None
    tool: bool

    @property
    def tested(self) -> bool:
        """Whether this release is one that we are tested with."""
        return self.version is not None and self.version.startswith(TESTED + ".")


def find_agent(named: str | None) -> Agent | None:
    """The agent's program: `named` (its command or its Python), else the `nanobot` of PATH; None when there is none."""
    found = shutil.which(named or "nanobot")
    if found is None:
        return None
    path = str(Path(found).absolute())
    if re.match(r"python[\d.]*$", Path(path).name):
        return Agent((path, "-m", "nanobot"), path) if _holds_agent(path) else None
    python, isolated = _python_of(Path(path))
    # A script whose Python ignores the environment would ignore us too.
    return Agent((python, "-m", "nanobot") if python and isolated else (path,), python)


def why_none(named: str | None) -> str:
    """Why `find_agent` found none."""
    if named and shutil.which(named):
        return f"`{named}` is a Python without nanobot"
    return f"no `{named or 'nanobot'}` command was found"


def release_of(agent: Agent) -> Release:
    """Ask the agent's Python; all None when it does not say."""
    said: Any = None
    if agent.python is not None:
        try:
            done = subprocess.run(
                [agent.python, "-I", "-c", _PROBE], capture_output=True, timeout=20, check=True, encoding="utf-8"
            )
            said = json.loads(done.stdout)
        except (OSError, ValueError, subprocess.SubprocessError):
            said = None
    if not isinstance(said, dict):
        return Release(None, None, tool=False)
    return Release(said.get("version"), said.get("beside"), tool=TOOL in (said.get("tools") or []))


def environment(
    workspace: str | None, base: Mapping[str, str] | None = None, channels: Sequence[str] = ()
) -> dict[str, str]:
    """The environment in which an agent finds the hook; `workspace` only when it is not to be the agent's own.

    `channels`: those that are captured where no setting of ours names them.
    """
    values = dict(os.environ if base is None else base)
    startup = str(PACKAGE / "startup")
    others = [entry for entry in values.get("PYTHONPATH", "").split(os.pathsep) if entry and entry != startup]
    values["PYTHONPATH"] = os.pathsep.join([startup, *others])
    values[ATTACH_VARIABLE] = str(PACKAGE)
    values.setdefault(COMMAND_VARIABLE, shlex.join(own_command()))
    if channels:
        values.setdefault(CHANNELS_VARIABLE, ",".join(channels))
    if workspace:
        values[WORKSPACE_VARIABLE] = str(Path(workspace).absolute())
    return values


def own_command() -> list[str]:
    """The command line of this very nanomem, whatever PATH says where it is used."""
    script = Path(sys.executable).with_name("nanomem")
    try:
        importlib.metadata.version("nanomem-tui")
    except importlib.metadata.PackageNotFoundError:
        root = str(PACKAGE.parents[1])
        start = f"import sys; sys.path.insert(0, {root!r}); from nanomem_tui.__main__ import start; start()"
        return [sys.executable, "-P", "-c", start]
    return [str(script)] if os.access(script, os.X_OK) else [sys.executable, "-P", "-m", "nanomem_tui"]


def is_attached(pid: int) -> bool | None:
    """Whether a running agent was started by us; None when the system does not tell."""
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    if any(entry.startswith(ATTACH_VARIABLE.encode() + b"=") for entry in variables):
        return True
    # An agent that wrote its title over its environment shows nothing of it.
    return False if any(entry.startswith((b"PATH=", b"HOME=")) for entry in variables) else None


def _holds_agent(python: str) -> bool:
    """Whether `python -m nanobot` would find the agent, from here and with this environment."""
    code = "import importlib.util, sys; sys.exit(importlib.util.find_spec('nanobot') is None)"
    try:
        return subprocess.run([python, "-c", code], capture_output=True, timeout=20, check=False).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


def _python_of(script: Path) -> tuple[str | None, bool]:
    """The Python that runs a console script, and whether it is told to ignore the environment."""
    try:
        with script.open("rb") as file:
            lines = file.read(2000).decode("utf-8", "replace").split("\n")
    except OSError:
        return None, False
    words = lines[0][2:].split() if lines[0].startswith("#!") else []
    if words and Path(words[0]).name == "env":
        words = [shutil.which(words[1]) or "", *words[2:]] if len(words) > 1 else []
    elif words and Path(words[0]).name == "sh" and len(lines) > 1:
        # A long path does not fit into the first line: '''exec' "/long/path/python" "$0" "$@"
        match = re.search(r"exec' \"?([^\"\s]+)\"?((?: -\w+)*)", lines[1])
        words = [match[1], *match[2].split()] if match else []
    if not words or not re.match(r"python[\d.]*$", Path(words[0]).name) or not os.access(words[0], os.X_OK):
        return None, False
    return words[0], any(re.match(r"-\w*[IE]", word) for word in words[1:])
