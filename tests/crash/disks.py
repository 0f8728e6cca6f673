"""Real file systems that are full or read-only, in a process that has mounts of its own: they are gone when it ends.

Owns that process, how a disk is mounted, filled and healed, and what a writer does on it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import traceback
from functools import cache
from pathlib import Path
from typing import Any, Self

from tests.crash.shim import ROOT, Server
from tests.crash.trials import Bench, copy

WAYS = (("unshare", "-m"), ("unshare", "-Urm"))
"""Programs that give mounts of their own: root's, and everybody's where the system lets users have namespaces."""
BLOCK = 4096
ROOM = 64 * 1024 * 1024


@cache
def way() -> tuple[str, ...] | None:
    """What to put before a command that mounts; None: this machine lets nobody."""
    mounts = ("mount", "-t", "tmpfs", "tmpfs", "/mnt")
    for words in WAYS:
        if shutil.which(words[0]) and not subprocess.run([*words, *mounts], capture_output=True).returncode:
            return words
    return None


class Disks:
    """The process with mounts of its own. `full`: the home that the writers start from. Use as a context manager."""

    def __init__(self, full: Path, folder: Path) -> None:
        self._asked = [str(full), str(folder)]

    def __enter__(self) -> Self:
        words = [*(way() or ()), sys.executable, "-m", "tests.crash.disks", *self._asked]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        self._process = subprocess.Popen(words, env=environment, cwd=ROOT, stdin=-1, stdout=-1, text=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(self, writer: str, disk: str) -> dict[str, Any]:
        """What a writer met on a disk that is `full` or `read-only`; "failed" is "" where all was well."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([writer, disk]) + "\n")
        self._process.stdin.flush()
        told: dict[str, Any] = json.loads(self._process.stdout.readline())
        return told


# -- in that process ---------------------------------------------------------------------------------------------------


def mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


def full_disk(bench: Bench, disk: Path) -> dict[str, Any]:
    """Let the writer work with no room, one block, two, four … until nothing was refused; both counted."""
    tried, refused, spare = 0, 0, 0
    while True:
        shutil.rmtree(disk / "trial", ignore_errors=True)
        mount("-o", f"remount,size={ROOM}", str(disk))
        base = copy(bench.copy("small"), disk / "trial")
        free = os.statvfs(disk)
        used = (free.f_blocks - free.f_bfree) * free.f_frsize
        mount("-o", f"remount,size={used + spare}", str(disk))
        ended = bench.on_disk(base, ("mount", "-o", f"remount,size={ROOM}", str(disk)))
        tried, refused = tried + 1, refused + bool(ended.refused)
        if spare > ROOM // 4:
            return {"tried": tried, "refused": refused}
        spare = max(BLOCK, 2 * spare)


def read_only_disk(bench: Bench, disk: Path) -> dict[str, Any]:
    """Let the writer work where nothing can be written: no change is acknowledged."""
    base = copy(bench.copy("locked"), disk / "trial")
    mount("-o", "remount,ro", str(disk))
    ended = bench.on_disk(base, ("mount", "-o", "remount,rw", str(disk)))
    assert "first" not in ended.acknowledged, ended
    return {"tried": 1, "refused": len(ended.refused)}


TRIALS = {"full": full_disk, "read-only": read_only_disk}


def serve(full: Path, folder: Path) -> None:
    """Answer each line with what the writer met."""
    disk = folder / "disk"
    disk.mkdir()
    with Server() as server:
        for line in sys.stdin:
            name, kind = json.loads(line)
            mount("-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", str(disk))
            told: dict[str, Any] = {"tried": 0, "refused": 0, "failed": ""}
            try:
                bench = Bench(folder / "bench", full, name, server)
                told |= TRIALS[kind](bench, disk)
            except BaseException:
                told["failed"] = traceback.format_exc()
            finally:
                subprocess.run(["umount", "-l", str(disk)], check=False)
                shutil.rmtree(folder / "bench", ignore_errors=True)
            print(json.dumps(told), flush=True)


if __name__ == "__main__":
    serve(Path(sys.argv[1]), Path(sys.argv[2]))
