"""What the last checkpoints took: one small append-only file of ours, folded when it grows.

Must not fail a checkpoint: what cannot be written is not written.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import NamedTuple

from nanomem_tui.agents.jsonl import dump_line, parse_jsonl
from nanomem_tui.core import atomic, files
from nanomem_tui.core.atomic import opened
from nanomem_tui.core.errors import NanomemError

MAX_BYTES = 64_000
KEPT = 300
"""Checkpoints that are kept when the file is folded."""


class Checkpointed(NamedTuple):
    """One checkpoint: when (UTC ISO), milliseconds, operations and rows."""

    at: str
    ms: float
    operations: int
    rows: int


class CheckpointLog:
    """The file of one workspace."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def add(self, done: Checkpointed) -> None:
        """Keep what a checkpoint took."""
        with contextlib.suppress(NanomemError), opened(self._file, "writing what checkpoints took") as handle:
            atomic.append_to(handle, dump_line(done._asdict()))
            if os.fstat(handle).st_size > MAX_BYTES:
                kept = b"".join(dump_line(one._asdict()) for one in self.last(KEPT))
                atomic.write_atomic(self._file, kept)

    def last(self, limit: int = KEPT) -> list[Checkpointed]:
        """The last checkpoints, the oldest first; a damaged line costs itself."""
        try:
            data = files.read(self._file)
        except OSError:
            return []
        found: list[Checkpointed] = []
        for record in parse_jsonl(data, ""):
            value = record.value or {}
            with contextlib.suppress(KeyError, TypeError, ValueError):
                found.append(
                    Checkpointed(str(value["at"]), float(value["ms"]), int(value["operations"]), int(value["rows"]))
                )
        return found[-limit:]
