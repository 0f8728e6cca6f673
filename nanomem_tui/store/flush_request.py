"""How one process asks those that stay (engine, console, servers) to write what they hold into the database.

Owns one empty file beside the ledger files: its time is the request. Each of them looks at it as often as it looks
whether a checkpoint is due. Nothing is held up where nobody looks: who asks is told how much still waits.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import NamedTuple

from nanomem_tui.store import atomic
from nanomem_tui.store.ledger import Ledger

PATIENCE = 5.0
"""Seconds that who asks waits for the others."""
LOOK = 0.05


class Elsewhere(NamedTuple):
    """Operations that other processes held, and how many of them they still hold."""

    asked: int
    waiting: int


def stamp(folder: Path) -> int:
    """When somebody asked last; 0: never."""
    with contextlib.suppress(OSError):
        return _file(folder).stat().st_mtime_ns
    return 0


def held_elsewhere(ledger: Ledger) -> frozenset[str]:
    """The operations in the ledger files of other processes that live, by id."""
    left = set(ledger.left())
    own = {operation.id for operation in ledger.pending}
    files = [file for file in ledger.files() if file.path not in left]
    return frozenset(one.id for file in files for one in file.operations) - own


def ask(ledger: Ledger, patience: float = PATIENCE) -> Elsewhere:
    """Ask the others to write, and wait until they have. Raises the errors of `from_os_error`."""
    held = held_elsewhere(ledger)
    if not held:
        return Elsewhere(0, 0)
    atomic.write_atomic(_file(ledger.folder), b"")
    until = time.monotonic() + patience
    left = held
    while left and time.monotonic() < until:
        time.sleep(LOOK)
        left = held & held_elsewhere(ledger)
    return Elsewhere(len(held), len(left))


def _file(folder: Path) -> Path:
    return folder / "flush-asked"
