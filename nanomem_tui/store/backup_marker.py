"""The mark that lies beside the backups while one is brought back: what is left of it tells that it was interrupted.

Must not know what a restore does.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple

from nanomem_tui import clock, json_text, regular
from nanomem_tui.store import atomic

FILE = "restoring.json"


class Mark(NamedTuple):
    """A restore that did not come to its end: its backup, the one of what was there before, and when it began (UTC
    ISO; "" where it cannot be told)."""

    archive: str
    before: str
    at: str


def read(folder: Path) -> Mark | None:
    """The mark beside the backups of a folder; None where there is none, or none that can be read."""
    file = folder / FILE
    try:
        told = json_text.loads(regular.read(file))
        return Mark(str(told["archive"]), str(told["before"]), str(told.get("at", "")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def begin(folder: Path, archive: Path, before: str) -> None:
    """Say that a restore begins."""
    told = {"archive": str(archive), "before": before, "at": clock.iso(clock.now())}
    atomic.write_atomic(folder / FILE, json.dumps(told).encode())


def end(folder: Path) -> None:
    """Say that nothing of it is left to be done."""
    os.unlink(folder / FILE)
    atomic.sync_folder(folder)
