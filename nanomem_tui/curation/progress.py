"""How far a person has come with the queue, from the operations of the ledger. Reads only."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.store.operations import Journal, LogEntry

PAUSE = timedelta(minutes=10)
"""A longer pause between two decisions ends a sitting."""
WINDOWS = (250, 1_000, 4_000, 16_000, 64_000)
"""How many of the newest operations are looked at, step by step, until one is there that was before this sitting."""
LEAST = 20.0
"""Seconds that a sitting counts at least: nobody is told 600 a minute after one key."""


class Progress(NamedTuple):
    """How many things were decided on in this sitting, how many a minute, how many are left, and at which finding the
    next decision is to be made ("" where that is not known)."""

    decided: int
    a_minute: float
    left: int
    next: str = ""

    def words(self) -> str:
        """`12 done, 14 a minute, 488 left`; nothing done is not told."""
        done = f"{self.decided:,} done, {self.a_minute:,.0f} a minute, " if self.decided else ""
        return f"{done}{self.left:,} left"


def progress(journal: Journal, left: int) -> Progress:
    """How far the person has come who decided last; what was taken back does not count."""
    entries: list[LogEntry] = []
    sitting: list[LogEntry] = []
    for window in WINDOWS:
        found = journal.log(window)
        entries = [entry for entry in found if _decisions(entry) and not entry.undone]
        sitting = _sitting(entries)
        if len(found) < window or len(sitting) < len(entries):
            break
    if not entries:
        return Progress(0, 0.0, left)
    decided = sum(map(_decisions, sitting))
    place = str(entries[0].operation.meta.get("next") or "")
    if not sitting:
        return Progress(0, 0.0, left, place)
    first, last = _at(sitting[-1]), _at(sitting[0])
    took = max((last - first).total_seconds() if first and last else 0.0, LEAST)
    return Progress(decided, decided * 60 / took, left, place)


def _sitting(entries: Sequence[LogEntry]) -> list[LogEntry]:
    """The newest decisions that no long pause parts from now, or from each other; newest first."""
    found: list[LogEntry] = []
    after: datetime = clock.now()
    for entry in entries:
        at = _at(entry)
        if at is None or after - at > PAUSE:
            break
        found.append(entry)
        after = at
    return found


def _decisions(entry: LogEntry) -> int:
    number = entry.operation.meta.get("decided")
    return number if isinstance(number, int) and number > 0 else 0


def _at(entry: LogEntry) -> datetime | None:
    return clock.parse(entry.operation.at)
