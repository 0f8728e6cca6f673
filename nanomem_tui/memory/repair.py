"""One thing that the doctor can put right, and the move of a file to the quarantine, which many of them are."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.core import atomic
from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.files import read_file
from nanomem_tui.core.operations import Change

if TYPE_CHECKING:
    from nanomem_tui.workspace import Workspace


def _nothing() -> None:
    """Do nothing: the changes do it."""


class Repair(NamedTuple):
    """One thing that can be put right: what is wrong where, what is done, and `do`, which does it, and may return in
    words what it did. `held`: why it has to wait, "" when it need not. `aside`: it touches nothing of what is
    remembered. `alone`: it changes which memory this is, and tells the log of that itself: nothing else is put right
    before. `changes`: what it does as changes of an operation, which undo takes back, in place of `do`."""

    what: str
    where: str
    how: str
    do: Callable[[], object] = _nothing
    held: str = ""
    aside: bool = False
    alone: bool = False
    changes: Callable[[], Sequence[Change]] | None = None


def aside(ws: Workspace, path: Path, what: str) -> Repair:
    """The move of a file to the quarantine; `what`: what is wrong with it."""

    def move() -> None:
        if path.is_symlink():
            raise NanomemError("a link, which is not followed", str(path))
        atomic.quarantine(ws.paths.quarantine, path.name, read_file(path.resolve()))
        os.unlink(path)
        atomic.sync_folder(path.parent)

    return Repair(what, ws.paths.relative(path), "it is moved to the quarantine", move)
