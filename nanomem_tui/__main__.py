"""The way in: what needs no command line is answered at once, the rest goes to the console or to `cli`.

Imports nothing but the version before it knows what was asked for.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

from nanomem_tui import __version__
from nanomem_tui.cli import COMPLETING


def start() -> None:
    """The installed command: run `main`, and end at once where a thread of ours is still at work, in a model that is
    slow to load, say. Python would abort the process when such a thread comes back from a library in C++."""
    code = main()
    threading = sys.modules.get("threading")
    if threading is not None and any(thread.daemon for thread in threading.enumerate()):
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError):
            code = code or 1
        os._exit(code)
    sys.exit(code)


def main() -> int:
    """Run the program on `sys.argv` and return its exit code."""
    args = sys.argv[1:]
    try:
        if args in (["--version"], ["-V"]):
            _say_version()
            return 0
        wanted = None if COMPLETING in os.environ else _console_request(args)
        if wanted is None:
            gc.disable()  # these are done in a tenth of a second: there is nothing worth collecting
            from nanomem_tui.cli import fast_path

            if fast_path.run(args):
                gc.freeze()  # nor to look through at the end
                return 0
            gc.enable()
            from nanomem_tui.cli.main import run

            return run(args)
        from nanomem_tui.launch import run_console

        workspace, demo, ascii_only = wanted
        config = None
        if workspace is not None or "NANOMEM_WORKSPACE" in os.environ or "NANOMEM_AGENT_CONFIG" in os.environ:
            from nanomem_tui.cli.state import State

            state = State(workspace)
            workspace, config = state.named(), state.agent_config
        return run_console(workspace, demo=demo, ascii_only=ascii_only, config=config)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  # the border where an error becomes a line
        from nanomem_tui.cli.output import report

        return report(error)


def _say_version() -> None:
    try:
        sys.stdout.write(f"nanomem {__version__}\n")
        sys.stdout.flush()
    except OSError as error:
        from nanomem_tui.cli.output import ReaderGone, Unwritten

        raise ReaderGone if isinstance(error, BrokenPipeError) else Unwritten(error) from error


def _console_request(args: Sequence[str]) -> tuple[str | None, bool, bool] | None:
    """(workspace, demo, ascii) when the line asks for the console and nothing else, so that it needs no parser."""
    workspace: str | None = None
    flags = {"--demo": False, "--ascii": False}
    rest = list(args)
    while rest:
        word = rest.pop(0)
        if word in flags:
            flags[word] = True
        elif word == "--workspace" and rest:
            workspace = rest.pop(0)
        elif word.startswith("--workspace="):
            workspace = word.removeprefix("--workspace=")
        else:
            return None
    if flags["--demo"] and workspace is not None:
        return None
    return workspace, flags["--demo"], flags["--ascii"]


if __name__ == "__main__":
    start()
