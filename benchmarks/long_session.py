"""A conversation of a gigabyte: compacted, put back, a part of it shown; how long it takes and how much memory.

    python benchmarks/long_session.py [--megabytes 1024] [--json FILE]

Each is a command in a process of its own, as a person types it: seconds from its start to its end, and the most
memory it held. All of a compaction is durable when the command returns, and what it takes out is kept for its undo.
Beside that, in the same folder: `tail -n 500`, sync and rename, which keep nothing of what they cut off; and a copy of
the file with sync, which is the least that keeps it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nanomem_tui.agents.session_names import key_to_name

KEY, KEEP, SEED = "cli:long", 500, 9
SAID = "The ferry to Porto leaves at nine, and the window seat is on the left side of the deck. " * 10
NANOMEM = [sys.executable, "-m", "nanomem_tui"]


def written(path: Path, megabytes: int) -> int:
    """A conversation of that size; how many messages it has."""
    count = 0
    with path.open("wb") as file:
        head = {"_type": "metadata", "key": KEY, "created_at": "2026-01-01T00:00:00", "last_archived": 0}
        file.write(json.dumps(head).encode() + b"\n")
        while file.tell() < megabytes * 1024 * 1024:
            for _ in range(1000):
                role = ("user", "assistant")[count % 2]
                line = {"role": role, "content": f"{count}: {SAID}", "timestamp": "2026-01-01T10:00:00"}
                file.write(json.dumps(line).encode() + b"\n")
                count += 1
        os.fsync(file.fileno())
    return count


def timed(command: Sequence[str], home: Path) -> tuple[float, float]:
    """Seconds that a command took, and the most memory that it held, in MB. Raises RuntimeError when it fails."""
    begun = time.perf_counter()
    running = subprocess.Popen(command, env={**os.environ, "HOME": str(home)}, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(running.pid, 0)
    running.returncode = os.waitstatus_to_exitcode(status)
    if running.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {running.returncode}")
    return round(time.perf_counter() - begun, 3), round(used.ru_maxrss / 1024, 1)


def measured(megabytes: int) -> dict[str, Any]:
    """Seconds and megabytes of each command, and of the floors."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        workspace = home / ".nanobot" / "workspace"
        sessions = home / ".nanobot" / "sessions" / ("d3a0" * 8)
        for made in (workspace / "memory", sessions):
            made.mkdir(parents=True)
        (home / ".nanobot" / "workspace" / ".nanobot").mkdir()
        (home / ".nanobot" / "workspace" / ".nanobot" / "workspace-id").write_text("d3a0" * 8 + "\n")
        path = sessions / key_to_name(KEY)
        messages = written(path, megabytes)
        before = path.stat().st_size

        def ours(*words: str) -> tuple[float, float]:
            return timed([*NANOMEM, "--workspace", str(workspace), *words], home)

        least = ours("session", "list")[1]
        shown = ours("session", "show", KEY, "--limit", "20")
        cut = ours("session", "compact", KEY, "--keep", str(KEEP), "--yes")
        assert path.stat().st_size < before / 2
        back = ours("undo")
        assert path.stat().st_size == before
        other = path.with_suffix(".cut")
        put = f"sync '{other}' && mv '{other}' '{other}.1'"
        tail = timed(["sh", "-c", f"tail -n {KEEP} '{path}' > '{other}' && {put}"], home)
        copy = timed(["sh", "-c", f"cp '{path}' '{other}' && {put}"], home)
    return {
        "megabytes": megabytes, "messages": messages, "keep": KEEP, "show_s": shown[0], "show_mb": shown[1],
        "compact_s": cut[0], "compact_mb": cut[1], "undo_s": back[0], "undo_mb": back[1], "list_mb": least,
        "tail_s": tail[0], "copy_s": copy[0], "compact_of_copy": round(cut[0] / copy[0], 2),
        "compact_of_tail": round(cut[0] / tail[0], 2),
    }  # fmt: skip


def main() -> None:
    """Measure, print, and keep as JSON where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--megabytes", type=int, default=64)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = measured(options.megabytes)
    print("  ".join(f"{key} {value:,}" for key, value in found.items()))
    if options.json:
        options.json.write_text(json.dumps({"seed": SEED, "ours": found}, indent=1))


if __name__ == "__main__":
    main()
