"""Counters of what turns, checkpoints and lessons did (seed 001 §10): counted in RAM, kept across restarts.

Owns the names, and one small file of ours: a line holds what was added since the line before, so several processes
add up, a kill costs what was not saved yet, and a damaged line costs itself. Must not know where a number comes from.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from nanomem_tui.agents.jsonl import dump_line, parse_jsonl
from nanomem_tui.core import atomic, files
from nanomem_tui.core.atomic import append_lines, open_locked, read_from
from nanomem_tui.core.errors import NanomemError

COUNTERS: Mapping[str, str] = {
    "memory_recall_hit": "turns for which something was recalled",
    "memory_recall_miss": "turns for which nothing was recalled",
    "memory_capture_saved": "items that turns saved",
    "memory_capture_dropped_low_conf": "candidates dropped for low confidence or importance",
    "memory_capture_dropped_safety": "candidates that a safety filter dropped or kept back",
    "memory_capture_deduped": "candidates that were known already",
    "memory_prompt_chars": "characters of memory put before the model",
    "turns_begun": "turns that began",
    "turns_ended": "turns that ended",
    "turns_declined": "turns that the agent declined",
    "lessons_shown": "lessons put before the model",
    "lessons_learned": "lessons that turns taught or changed",
    "ledger_operations": "operations that turns recorded",
    "ledger_durable": "operations that turns recorded and that survive a power cut",
    "checkpoints": "checkpoints that wrote something",
    "checkpoint_operations": "operations that checkpoints moved into the database",
    "checkpoint_rows": "rows that checkpoints wrote",
    "checkpoint_ms": "milliseconds that checkpoints took",
    "sessions_compacted": "sessions of ours that were compacted by themselves",
}
"""Every counter by name, with what it counts. The first seven are those of seed 001."""

FOLD_AT = 64_000
"""Bytes of the file at which its lines are folded into one."""


MARK = 256
"""Bytes before the place up to which the file was read: it is still that file where they are the same."""


class _Known(NamedTuple):
    """What was read of the file: which one it was, up to which byte, the bytes before that, and their sum."""

    inode: int = 0
    end: int = 0
    mark: bytes = b""
    total: Mapping[str, int] = MappingProxyType({})


class Counters:
    """The counters of one workspace over its file. A second look reads what was appended since."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._added: Counter[str] = Counter()
        self._known = _Known()

    def add(self, name: str, number: int = 1) -> None:
        """Count in RAM; `save` keeps it. An unknown name is a KeyError: a counter is declared where it is explained."""
        COUNTERS[name]
        self._added[name] += number

    def save(self) -> None:
        """Append what was counted since the last save. Raises the errors of `from_os_error`; it is kept in RAM then."""
        added = {name: number for name, number in self._added.items() if number}
        if not added:
            return
        size = append_lines(self._file, dump_line(added), "writing the counters")
        self._added.clear()
        if size > FOLD_AT:
            self._fold()

    def read(self) -> dict[str, int]:
        """Every counter, those of other processes and what is not saved yet included. Changes nothing."""
        found = self._total()
        found.update(self._added)
        return {name: found[name] for name in COUNTERS}

    def _total(self) -> Counter[str]:
        """The sum of the lines of the file; whole ones are remembered, one that is being written is not."""
        known = self._known
        try:
            with files.opened(self._file) as file:
                handle, inode = file.fileno(), os.fstat(file.fileno()).st_ino
                if known.inode != inode or os.pread(handle, len(known.mark), known.end - len(known.mark)) != known.mark:
                    known = _Known(inode)
                data = read_from(handle, known.end)
        except OSError:
            return Counter()
        whole = data[: data.rfind(b"\n") + 1]
        total = Counter(known.total)
        total.update(_sum(whole))
        self._known = _Known(known.inode, known.end + len(whole), (known.mark + whole)[-MARK:], total)
        found = Counter(total)
        found.update(_sum(data[len(whole) :]))
        return found

    def _fold(self) -> None:
        with open_locked(self._file, "writing the counters") as handle:
            if os.fstat(handle).st_size > FOLD_AT:
                atomic.write_atomic(self._file, dump_line(_sum(read_from(handle))))


def _sum(data: bytes) -> Counter[str]:
    total: Counter[str] = Counter()
    for record in parse_jsonl(data, ""):
        for name, number in (record.value or {}).items():
            if isinstance(number, int) and not isinstance(number, bool):
                total[name] += number
    return total


def openmetrics(counters: Mapping[str, int], gauges: Mapping[str, tuple[float | None, str]]) -> str:
    """Counters and gauges (value, help) as OpenMetrics text; a gauge that is not known is left out."""
    lines: list[str] = []
    for name, number in counters.items():
        full = f"nanomem_{name}"
        lines += [f"# TYPE {full} counter", f"# HELP {full} {COUNTERS[name]}", f"{full}_total {number}"]
    for name, (value, told) in gauges.items():
        if value is not None:
            full = f"nanomem_{name}"
            lines += [f"# TYPE {full} gauge", f"# HELP {full} {told}", f"{full} {value:g}"]
    return "\n".join([*lines, "# EOF"]) + "\n"


# -- What the last checkpoints took: one small append-only file of ours, folded when it grows -------------------------

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
        with contextlib.suppress(NanomemError), open_locked(self._file, "writing what checkpoints took") as handle:
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
