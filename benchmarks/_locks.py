"""Who holds which exclusive lock of a file for how long: seen from outside, in /proc/locks (Linux); and what the disk
itself takes for a write meanwhile, which nobody who waits for it can be quicker than."""

from __future__ import annotations

import contextlib
import os
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

ALIVE = ("grpc.lock", "lifecycle.lock")
"""Ends of files whose locks say that a process lives, or that a run of the lifecycle is under way: no writer waits for
those; another run goes away. So do those in the folder `writers`."""
LATE = 0.01
"""Seconds between two looks beyond which a lock counts only for as long as it was seen: the one who looks was late."""

LONG = 50.0
"""Milliseconds."""
AROUND = 0.5
"""Seconds before and after a lock in which the disk counts as the one that it was held on."""


class Held(NamedTuple):
    """A lock that was held long: by whom, of which file, milliseconds, and when it ended in seconds after the start."""

    who: str
    name: str
    ms: float
    at: float

    def __str__(self) -> str:
        return f"{self.who}: {self.name} {self.ms:.0f} ms, {self.at:.0f} s after the start"


class Disk:
    """A bare write of 4 kB with its fsync in a folder, again and again: what the disk takes for it, and when."""

    def __init__(self, folder: Path) -> None:
        self._handle = os.open(folder / "disk", os.O_WRONLY | os.O_CREAT, 0o600)
        self._began = time.perf_counter()
        self.took: list[tuple[float, float]] = []
        """When each ended, in seconds after the start, and its milliseconds."""

    def write(self) -> None:
        """One."""
        began = time.perf_counter()
        os.pwrite(self._handle, b"x" * 4096, 0)
        os.fsync(self._handle)
        end = time.perf_counter()
        self.took.append((end - self._began, (end - began) * 1000))

    def near(self, held: Held) -> float:
        """The longest milliseconds of one around the time of a lock."""
        begin = held.at - held.ms / 1000 - AROUND
        return max((ms for at, ms in self.took if begin <= at and at - ms / 1000 <= held.at + AROUND), default=0.0)


@dataclass
class Locks:
    """Who holds which exclusive lock of a file below `root` for how long, in milliseconds, by (who, file).

    `who`: names of processes by their number; others are "another". Times are exact to the pause between two looks.
    """

    root: Path
    who: dict[int, str]
    held: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    looks: int = 0
    long: list[Held] = field(default_factory=list)
    """Those held longer than `LONG` milliseconds."""
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
            if name and not name.endswith(ALIVE) and Path(name).parent.name != "writers":
                who, ms = self.who.get(int(lock[0]), "another"), max(0.0, end - began) * 1000
                self.held[who, name].append(ms)
                if ms > LONG:
                    self.long.append(Held(who, name, ms, now - self._began))
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
