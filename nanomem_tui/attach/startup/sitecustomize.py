"""Runs at the start of an agent that `nanomem attach run` started, and of each Python that this agent starts.

Python imports a module of this name by itself; the launcher puts this folder on PYTHONPATH. It makes room for the
environment's own `sitecustomize`, then lets `watch` wait for the agent. Must never stop a Python from starting.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_PACKAGE = os.path.dirname(_HERE)


def _make_room() -> None:
    """Import the `sitecustomize` that ours hides, if there is one."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _HERE]
    ours = sys.modules.pop("sitecustomize", None)
    try:
        importlib.import_module("sitecustomize")
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        if ours is not None:
            sys.modules.setdefault("sitecustomize", ours)


def _attach() -> None:
    """Load our package from its folder under a name of its own, so that nothing else of nanomem comes onto the path."""
    if os.environ.get("NANOMEM_ATTACH") != _PACKAGE:
        return
    name = "nanomem_attach"
    spec = importlib.util.spec_from_file_location(
        name, os.path.join(_PACKAGE, "__init__.py"), submodule_search_locations=[_PACKAGE]
    )
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    importlib.import_module(f"{name}.watch").watch()


try:
    _attach()
except Exception as error:  # noqa: BLE001  # the agent starts, with or without us
    sys.stderr.write(f"nanomem: not attached ({type(error).__name__}: {error})\n")
_make_room()
