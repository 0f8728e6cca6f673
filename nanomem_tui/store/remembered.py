"""The workspaces that the console was opened on, in one small file of the user: the newest first.

Owns that file. It is written only for who asked for it (`remember_workspaces`); one that cannot be read is told, and
left as it is. Must not open a workspace.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path

from nanomem_tui import clock, paths, regular
from nanomem_tui.errors import NanomemError, NotFound, Problem
from nanomem_tui.store import atomic
from nanomem_tui.text import one_line

MOST = 50
"""Workspaces that are kept."""
MOST_BYTES = 1_000_000

Dated = dict[str, str]
"""Workspaces by path, each with when it was opened last (UTC ISO), the newest first."""


def read() -> list[str]:
    """Their paths, the newest first; none where there is no file, or none that can be read (see `problems`)."""
    return list(_look()[0])


def problems() -> list[Problem]:
    """Why the file cannot be read."""
    why = _look()[2]
    file = paths.remembered_workspaces()
    return [Problem(f"the list of workspaces cannot be read: {why}", str(file), fix=f"remove {file}")] if why else []


def note(workspace: Path) -> None:
    """One was opened. Does nothing where the list cannot be read or written: nobody is kept from a memory by that."""
    with contextlib.suppress(NanomemError, OSError):
        _change(lambda kept: {str(workspace): clock.iso(clock.now()), **_without(kept, str(workspace))})


def forget(path: str) -> None:
    """Take one out. Raises NotFound, and the errors of the disk."""

    def change(kept: Dated) -> Dated:
        if path not in kept:
            raise NotFound("it is not remembered", path, "see `nanomem workspaces list`")
        return _without(kept, path)

    _change(change)


def _without(kept: Dated, path: str) -> Dated:
    return {one: at for one, at in kept.items() if one != path}


def _change(change: Callable[[Dated], Dated]) -> None:
    file = paths.remembered_workspaces()
    kept, data, why = _look()
    if why:
        raise NanomemError(f"the list of workspaces cannot be read: {why}", str(file), "remove it")
    after = dict(list(change(kept).items())[:MOST])
    atomic.make_folder(file.parent)
    body = {"version": 1, "workspaces": [{"path": path, "at": at} for path, at in after.items()]}
    written = (json.dumps(body, indent=1) + "\n").encode()  # ASCII: a path may be no UTF-8
    atomic.write_atomic(file, written, expected="" if data is None else atomic.sha256(data), mode=0o600)


def _look() -> tuple[Dated, bytes | None, str]:
    """What is kept, the bytes of the file (None: there is none), and why they cannot be read."""
    try:
        data = regular.read(paths.remembered_workspaces(), MOST_BYTES)
    except FileNotFoundError:
        return {}, None, ""
    except OSError as error:
        return {}, None, error.strerror or str(error)
    try:
        body = json.loads(data)
        if body["version"] != 1:
            return {}, data, "it is of another version"
        return {_text(one["path"]): _text(one["at"]) for one in body["workspaces"][:MOST]}, data, ""
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        return {}, data, f"it is no list of them ({one_line(str(error), 80)})"


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError("no text")
    return value
