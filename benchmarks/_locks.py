"""Who holds which exclusive lock of a file for how long: seen from outside, in /proc/locks (Linux)."""

from __future__ import annotations

import contextlib
import os
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

LATE = 0.01
"""Seconds between two looks beyond which a lock counts only for as long as it was seen: the one who looks was late."""


@dataclass
class Locks:
    """Who holds which exclusive lock of a file below `root` for how long, in milliseconds, by (who, file).

    `who`: names of processes by their number; others are "another". Times are exact to the pause between two looks.
    """

    root: Path
    who: dict[int, str]
    held: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    looks: int = 0
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
            if name:
                self.held[self.who.get(int(lock[0]), "another"), name].append(max(0.0, end - began) * 1000)
        self._looked = now
        self.looks += 1

    def name(self, inode: str) -> str:
        """The name of a file of the workspace by `major:minor:inode`; empty for others."""
        if inode not in self._names:
            for path in self.root.rglob("*"):
                with contextlib.suppress(OSError):
                    stat = path.stat()
                    device = f"{os.major(stat.st_dev):02x}:{os.minor(stat.st_dev):02x}"
                    self._names[f"{device}:{stat.st_ino}"] = str(path.relative_to(self.root))
            self._names.setdefault(inode, "")
        return self._names[inode]

    def forever(self) -> list[str]:
        """Files whose locks are held to the end: those that say that a process lives."""
        return sorted(name for lock in self._since if (name := self.name(lock[1])))
