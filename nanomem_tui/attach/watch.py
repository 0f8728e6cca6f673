"""Waits for the agent's loop to be imported, and only then loads the rest of this package.

Runs at the start of every Python under an attached agent, so it must cost next to nothing.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType

LOOP = "nanobot.agent.loop"


def watch() -> None:
    """Wrap the agent's loop when its module is imported, or now when it is already."""
    if LOOP in sys.modules:
        _wrap(sys.modules[LOOP])
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finds one module where others would, and wraps it once it has run."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The agent's loop as Python's own finder has it, nothing else."""
        if fullname != LOOP:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None and hasattr(spec.loader, "exec_module"):
            run = spec.loader.exec_module

            def run_and_wrap(module: ModuleType) -> None:
                run(module)
                _wrap(module)

            spec.loader.exec_module = run_and_wrap  # type: ignore[method-assign]
        return spec


def _wrap(module: ModuleType) -> None:
    try:
        # Installed beside the agent, the tool's entry point loads us under our own name: then both share one child.
        install = importlib.import_module("nanomem_tui.attach.install")
    except Exception:  # noqa: BLE001  # absent, or another version: ours then
        install = importlib.import_module(".install", __package__)
    try:
        install.wrap(module)
    except Exception as error:  # noqa: BLE001  # the agent starts, with or without us
        sys.stderr.write(f"nanomem: not attached ({type(error).__name__}: {error})\n")
