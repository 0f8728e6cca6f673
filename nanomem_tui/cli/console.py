"""The way from the command line into the console. Imports neither click nor a screen before it must."""

from __future__ import annotations

import os
import sys


def open_console(workspace: str | None, *, demo: bool, ascii_only: bool, config: str | None = None) -> int:
    """Show the console until it is left; the exit code. Raises BadInput where there is no terminal to draw on."""
    # A driver named in the environment (a browser, a test) brings its own screen.
    if not (sys.stdin.isatty() and sys.stdout.isatty()) and "TEXTUAL_DRIVER" not in os.environ:
        from nanomem_tui.core.errors import BadInput

        instead = (
            "`nanomem --demo --snapshot items` prints a screen" if demo else "name a command, see `nanomem --help`"
        )
        raise BadInput("the console needs a terminal", "", instead)
    from nanomem_tui.launch import run_console

    return run_console(workspace, demo=demo, ascii=ascii_only, config=config)
