"""An archive of ten million entries: counted, a page of it, one entry, a search, a Dream, its screen, half of it let go
and put back; how long it takes and how much memory.

    python benchmarks/long_archive.py [--entries 10000000] [--json FILE]

Each is a command in a process of its own, as a person types it: seconds from its start to its end, and the most memory
it held. The floor of what looks through all of it is `grep -c` of a word that is not in it, in the same run; that of a
compaction, which keeps what it takes out, a copy of the file with sync.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.long_session import NANOMEM, timed

SEED = 9
SAID = "- [durable] The ferry to Porto leaves at nine, and the window seat is on the left side of the deck."


def written(path: Path, entries: int) -> int:
    """An archive of so many entries; its bytes."""
    with path.open("wb") as file:
        for number in range(1, entries + 1):
            content = f"{SAID} {number * 7919 % entries}"
            line = {"cursor": number, "timestamp": f"2026-05-{number % 28 + 1:02} 10:00", "content": content}
            file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
    return path.stat().st_size


def measured(entries: int) -> dict[str, Any]:
    """Seconds and megabytes of each command, and of the floor."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        workspace = home / ".nanobot" / "workspace"
        (workspace / "memory").mkdir(parents=True)
        archive = workspace / "memory" / "history.jsonl"
        size = written(archive, entries)
        (workspace / "memory" / ".cursor").write_text(str(entries))
        (workspace / "memory" / ".dream_cursor").write_text(str(entries - 1_000))

        def ours(*words: str) -> tuple[float, float]:
            return timed([*NANOMEM, "--workspace", str(workspace), *words], home)

        done = {
            "status": ours("dream", "status"),
            "page": ours("history", "list", "--limit", "20"),
            "old_page": ours("history", "list", "--limit", "20", "--offset", str(entries // 2)),
            "entry": ours("history", "show", str(entries // 3)),
            "search": ours("history", "search", "--exact", "ferry nowhere"),
            "dream": ours("--run-dream", "--max-batch-size", "20"),
            "screen": ours("--snapshot", "archive"),
        }
        floor = timed(["sh", "-c", f"LC_ALL=C grep -c nowhere '{archive}' || true"], home)[0]
        before = archive.stat().st_size
        done["compact"] = ours("history", "compact", "--keep", str(entries // 2), "--yes")
        assert archive.stat().st_size < before * 0.6
        done["undo"] = ours("undo")
        assert archive.stat().st_size == before
        other = archive.with_name("copy")
        copy = timed(["sh", "-c", f"cp '{archive}' '{other}' && sync '{other}'"], home)[0]
    told = {f"{name}_s": seconds for name, (seconds, _) in done.items()}
    told |= {f"{name}_mb": megabytes for name, (_, megabytes) in done.items()}
    ratio = round(done["search"][0] / floor, 2)
    return {
        "entries": entries, "bytes": size, **told, "grep_s": floor, "search_of_grep": ratio, "copy_s": copy,
        "compact_of_copy": round(done["compact"][0] / copy, 2),
    }  # fmt: skip


def main() -> None:
    """Measure, print, and keep as JSON where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = measured(options.entries)
    print("  ".join(f"{key} {value:,}" for key, value in found.items()))
    if options.json:
        options.json.write_text(json.dumps({"seed": SEED, "ours": found}, indent=1))


if __name__ == "__main__":
    main()
