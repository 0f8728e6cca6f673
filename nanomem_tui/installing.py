"""The command that installs an optional part: composed here and nowhere else, so that every hint says the same.

The package is not on an index yet; the day it is, `PACKAGE` becomes its name and every hint follows.
"""

from __future__ import annotations

import sys
from pathlib import Path

NAME = "nanomem-tui"
PACKAGE = "."
"""What is installed: `.` is the clone of nanomem that the command is run in; on an index it is `NAME`."""


def extra_command(extra: str) -> str:
    """Return how to install an extra of this package, such as `vector`, into the environment that is running."""
    tool = _tool()
    command = f"{tool} install --force" if tool else "pip install"
    command = f"{command} '{PACKAGE}[{extra}]'"
    return f"in a clone of nanomem: {command}" if PACKAGE == "." else command


def library_command(name: str) -> str:
    """Return how to install a library that is part of no extra into the environment that is running."""
    return f"pipx inject {NAME} {name}" if _tool() == "pipx" else f"pip install {name}"


def _tool() -> str:
    """The program that made the environment, where it is one of those that keep programs apart."""
    parts = Path(sys.prefix).parts
    if "pipx" in parts and "venvs" in parts:
        return "pipx"
    return "uv tool" if parts[-3:-1] == ("uv", "tools") else ""
