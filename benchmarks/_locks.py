"""Who holds which exclusive lock of a file for how long: seen from outside, in /proc/locks (Linux)."""

from __future__ import annotations

import contextlib
import os
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

ALIVE = (".ledger", ".spool", "grpc.lock")
"""Ends of files whose locks say that a process lives."""
LATE = 0.01
"""Seconds between two looks beyond which a lock counts only for as long as it was seen: the one who looks was late."""

LONG = 50.0
"""Milliseconds."""


@dataclass
class Locks:
    """Who holds which exclusive lock of a file below `root` for how long, in milliseconds, by (who, file).

    `who`: names of processes by their number; others are "another". Times are exact to the pause between two looks.
    """

    root: Path
    who: dict[int, str]
    held: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    looks: int = 0
    long: list[str] = field(default_factory=list)
    """Those held longer than `LONG` milliseconds, with the moment."""
    _began: float = field(default_factory=time.perf_counter)
    _since: dict[tuple[str, ...], float] = field(default_factory=dict)
    _looked: float = 0.0
    _names: dict[str, str] = field(default_factory=dict)

    def look(self) -> None:
        """One look; locks that are gone since the last one are told with their time."""
        now = time.perf_counter()
        seen: set[tuple[str, ...]] = set()
        with open("/proc/locks", encoding="ascii") as file:
            for line in file:
                words = line.split()
                if "->" in words or words[3] != "WRITE":  # who waits; who reads
                    continue
                seen.add((words[4], words[5], words[6]))  # process, file, first byte
        end = now if now - self._looked < LATE else self._looked
        for lock in seen - self._since.keys():
            self._since[lock] = now
        for lock in list(self._since.keys() - seen):
            began = self._since.pop(lock)
            name = self.name(lock[1])
            if name and not name.endswith(ALIVE):
                who, ms = self.who.get(int(lock[0]), "another"), max(0.0, end - began) * 1000
                self.held[who, name].append(ms)
                if ms > LONG:
                    self.long.append(f"{who}: {name} {ms:.0f} ms, {now - self._began:.0f} s after the start")
        self._looked = now
        self.looks += 1

    def name(self, inode: str) -> str:
        """The name of a file of the workspace by `major:minor:inode`; empty for others. Numbers of files that are gone
        are given to new ones, so a known name is looked at again."""
        known = self._names.get(inode, "")
        if not known or not os.path.exists(self.root / known) or _number(self.root / known) != inode:
            self._names = {_number(path): str(path.relative_to(self.root)) for path in self.root.rglob("*")}
        return self._names.get(inode, "")

    def forever(self) -> list[str]:
        """Files whose locks are held to the end: those that say that a process lives."""
        return sorted(name for lock in self._since if (name := self.name(lock[1])))


def _number(path: Path) -> str:
    """The number of a file as /proc/locks has it; empty for one that is gone."""
    with contextlib.suppress(OSError):
        stat = path.stat()
        return f"{os.major(stat.st_dev):02x}:{os.minor(stat.st_dev):02x}:{stat.st_ino}"
    return ""
