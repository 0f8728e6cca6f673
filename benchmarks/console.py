"""The console against an empty Textual app, side by side in one run: start, keys, bytes, idle, search, memory.

    python benchmarks/console.py [--items 100000] [--runs 7] [--json FILE] [--assert]

A home with that many items is made once with the product's own code and kept in the temporary folder. Both programs
run in pseudo-terminals of 80x24 with warm caches, in turns, so that a busy machine slows both. Then the console is
asked through an SSH server on loopback, at 80x24 and 200x60, written whole and thin, with and without compression.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from _over_ssh import Row, over_ssh, server_name
from _pty import Answer, Terminal

ROOT = Path(__file__).resolve().parent.parent
EMPTY = """
from textual.app import App
from textual.widgets import Static
class Empty(App):
    def compose(self):
        yield Static("ready")
Empty().run()
"""
START = "from nanomem_tui.__main__ import main; raise SystemExit(main())"  # what the installed command does
SEED = 1
FIRST_ROW = "first remembered thing"
FOOTER = "compact"  # a key that only the app itself names
GOALS = {  # figure → (the most it may be, what it is)
    "start_ratio": (1.5, "start to first rows, of an empty Textual app"),
    "first_frame_ms": (60, "ms to the first frame"),
    "down_p50_ms": (5, "ms from cursor down to frame, p50"),
    "down_p95_ms": (10, "ms from cursor down to frame, p95"),
    "down_bytes": (300, "bytes for cursor down, p50"),
    "idle_bytes": (0, "bytes in 5 idle seconds"),
    "idle_cpu_percent": (1, "% CPU while idle"),
    "typed_p50_ms": (20, "ms to a typed character of the filter, p50"),
    "typed_p95_ms": (50, "ms to a typed character of the filter, p95"),
    "first_rows_p50_ms": (20, "ms to the first rows found for it, p50"),
    "first_rows_p95_ms": (50, "ms to the first rows found for it, p95"),
    "esc_ms": (30, "ms to the answer to Esc in a filter, p50"),
    "quit_ms": (120, "ms from q to the end of the program"),
    "peak_mb": (250, "MB of memory at most"),
    "inbox_mb": (250, "MB of memory at most, with the inbox looked through"),
    "ssh_bytes": (300, "bytes for cursor down over SSH, thin, 80x24, p50"),
    "ssh_wide_bytes": (300, "bytes for cursor down over SSH, thin, 200x60, p50"),
    "ssh_packed": (30, "of it compressed, as `ssh -C` does, 80x24, p50"),
    "ssh_wide_packed": (30, "of it compressed, as `ssh -C` does, 200x60, p50"),
}
COLUMNS = ("own", "mean", "wire", "zlib", "wire -C", "least", "rest", "p50 ms")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--assert", action="store_true", dest="judge", help="fail when a figure is over its goal")
    options = parser.parse_args()
    figures = measure(home_with(options.items), options.items, options.runs)
    print(f"console, {options.items:,} items, 80x24, medians of {options.runs} starts beside an empty Textual app\n")
    for name, (goal, words) in GOALS.items():
        mark = "ok  " if figures[name] <= goal else "OVER"
        print(f"  {mark} {figures[name]:>9,.2f}  (goal ≤ {goal:g})  {words}")
    print(f"\n  empty app {figures['empty_start_ms']:,.0f} ms, ours {figures['start_ms']:,.0f} ms to the first rows")
    print(f"  {figures['app_ratio']:.2f} of the empty app until the app itself answers; keys typed before wait for it")
    print_ssh(figures["ssh"], figures["ssh_server"])
    document = {"items": options.items, "seed": SEED, "runs": options.runs, **figures}
    print(json.dumps(document))
    if options.json:
        options.json.write_text(json.dumps(document, indent=1) + "\n")
    return int(options.judge and any(figures[name] > goal for name, (goal, _) in GOALS.items()))


def environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "LC_ALL", "VIRTUAL_ENV") if name in os.environ}
    return {**kept, "TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": str(ROOT)}


def ours(workspace: Path) -> Terminal:
    return Terminal([sys.executable, "-c", START, "--workspace", str(workspace)], env=environment())


def measure(workspace: Path, count: int, runs: int) -> dict[str, Any]:
    empty_ms: list[float] = []
    ours_ms: list[float] = []
    app_ms: list[float] = []
    frame_ms: list[float] = []
    quit_ms: list[float] = []
    for turn in range(runs + 1):  # the first turn warms the caches
        with Terminal([sys.executable, "-c", EMPTY], env=environment()) as empty:
            empty_time = empty.wait_for("ready")
        with ours(workspace) as console:
            our_time = console.wait_for(FIRST_ROW)
            answering = console.wait_for(FOOTER)
            console.drain(0.5)
            console.send("q")
            leaving = console.wait_end() * 1000
        if turn:
            empty_ms.append(empty_time)
            ours_ms.append(our_time)
            app_ms.append(answering)
            frame_ms.append(console.first_byte_ms or 0)
            quit_ms.append(leaving)
    figures = {
        "empty_start_ms": statistics.median(empty_ms),
        "start_ms": statistics.median(ours_ms),
        "start_ratio": statistics.median(a / b for a, b in zip(ours_ms, empty_ms, strict=True)),
        "app_ratio": statistics.median(a / b for a, b in zip(app_ms, empty_ms, strict=True)),
        "app_ms": statistics.median(app_ms),
        "first_frame_ms": statistics.median(frame_ms),
        "quit_ms": statistics.median(quit_ms),
    }
    return {**figures, **while_running(workspace, count), "inbox_mb": inbox_mb(workspace), **through_ssh(workspace)}


def through_ssh(workspace: Path) -> dict[str, Any]:
    """Rows over SSH, and of those the figures that have a goal."""
    environ = {**environment(), "NANOMEM_THEME": "auto"}
    rows = over_ssh([sys.executable, "-c", START, "--workspace", str(workspace)], environ)
    narrow, wide = (row for row in rows if row["way"] == "thin")
    return {
        "ssh": rows,
        "ssh_server": server_name(),
        "ssh_bytes": narrow["own"],
        "ssh_wide_bytes": wide["own"],
        "ssh_packed": narrow["zlib"],
        "ssh_wide_packed": wide["zlib"],
    }


def print_ssh(rows: Sequence[Row], server: str) -> None:
    """The table of what a cursor move costs over SSH."""
    print(f"\nbytes for one cursor down through {server} server (mean: with scrolls; zlib: the stream as -C packs it;")
    print("least: of one byte on the wire, -C; rest: with the detail that follows a cursor that rests)\n")
    print(f"  {'size':8}{'output':8}" + "".join(f"{name:>10}" for name in COLUMNS))
    for row in rows:
        print(f"  {row['size']:8}{row['way']:8}" + "".join(f"{row[name]:>10,.0f}" for name in COLUMNS))


def while_running(workspace: Path, count: int) -> dict[str, float]:
    with ours(workspace) as console:
        console.wait_for(FIRST_ROW)
        console.wait_for(rf"{count + 1:,}\b")
        console.drain(1.5)
        down = [console.press("\x1b[B") for _ in range(60)]
        idle_bytes, idle_cpu = idle(console)
        console.press("/")
        console.drain(0.5)
        letters = [letter for word in ("amber", "quiet") for letter in word + "\x7f" * len(word)]
        total = rf"{count + 1:,}\b"  # the title tells how many of these are found so far
        typed = [console.press(letter, quiet=0.15, shows=total) for letter in letters]
        escaped = [console.press("\x1b", quiet=0.15), *(left_filter(console) for _ in range(6))]
        console.drain(0.5)
        return {
            "down_p50_ms": percentile([answer.frame_ms for answer in down], 50),
            "down_p95_ms": percentile([answer.frame_ms for answer in down], 95),
            "down_bytes": percentile([answer.size for answer in down], 50),
            "idle_bytes": idle_bytes,
            "idle_cpu_percent": idle_cpu,
            "typed_p50_ms": percentile([answer.first_ms for answer in typed], 50),
            "typed_p95_ms": percentile([answer.first_ms for answer in typed], 95),
            "first_rows_p50_ms": percentile([answer.shown_ms for answer in typed], 50),
            "first_rows_p95_ms": percentile([answer.shown_ms for answer in typed], 95),
            "found_p50_ms": percentile([answer.last_ms for answer in typed], 50),
            "found_p95_ms": percentile([answer.last_ms for answer in typed], 95),
            "esc_ms": statistics.median(answer.first_ms for answer in escaped),
            "peak_mb": console.peak_mb(),
        }


def left_filter(console: Terminal) -> Answer:
    """Esc in a filter that lets a part through."""
    for key in "/am":
        console.press(key, quiet=0.15)
    return console.press("\x1b", quiet=0.15)


def inbox_mb(workspace: Path) -> float:
    """The most memory that was held once the inbox has looked through all items and a person went through its list."""
    with ours(workspace) as console:
        console.wait_for(FIRST_ROW)
        console.wait_for(FOOTER)
        console.send("7")
        rested, end = 0, time.perf_counter() + 180
        while rested < 3 and time.perf_counter() < end:  # the look takes a core
            before, until = console.cpu_seconds(), time.perf_counter() + 1
            while time.perf_counter() < until:
                console.read(0.1)
            rested = rested + 1 if console.cpu_seconds() - before < 0.2 else 0
        for key in "jjjGg":
            console.press(key, quiet=0.3)
        return console.peak_mb()


def idle(console: Terminal, seconds: float = 5.0) -> tuple[float, float]:
    console.drain(0.5)
    before, cpu, started = len(console.output), console.cpu_seconds(), time.perf_counter()
    while time.perf_counter() - started < seconds:
        console.read(0.5)
    return len(console.output) - before, (console.cpu_seconds() - cpu) / (time.perf_counter() - started) * 100


def percentile(values: Sequence[float], percent: float) -> float:
    ranked = sorted(values)
    return ranked[min(round(percent / 100 * (len(ranked) - 1)), len(ranked) - 1)]


def home_with(count: int) -> Path:
    """A workspace with `count` items in its database, made once; operations of a natural size come last."""
    sys.path.insert(0, str(ROOT))
    folder = Path(tempfile.gettempdir()) / f"nanomem-bench-{os.getuid()}" / f"items-{count}"
    workspace = folder / "workspace"
    if (folder / "made").exists():
        return workspace
    from nanomem_tui.core import clock
    from nanomem_tui.core.operations import new_operation
    from nanomem_tui.store.snapshot import change_of
    from nanomem_tui.store.values import KINDS, Item
    from nanomem_tui.workspace import open_workspace

    (workspace / "memory").mkdir(parents=True, exist_ok=True)
    dice = random.Random(SEED)
    words = "amber quiet river window tea winter cargo north signal paper dinner market garden letter copper".split()
    now = clock.now()
    with open_workspace(workspace) as ws:
        for start in range(0, count, 1000):
            changes = []
            for number in range(start, min(start + 1000, count)):
                at = clock.iso(now - timedelta(minutes=5 * number + 60))
                text = f"{' '.join(dice.choices(words, k=dice.randint(6, 18)))} {number}"
                item = Item(id=f"ltm_{number}", text=text, kind=dice.choice(KINDS), scope_key="bench", created_at=at,
                            updated_at=at, hits=dice.randint(0, 30))  # fmt: skip
                changes.append(change_of("item", None, item))
            ws.perform(new_operation("import", f"import {len(changes)} items", changes, actor="import"))
        ws.flush()
        for _ in range(40):
            _operation, item, _warnings = ws.items.add(FIRST_ROW)
            ws.items.delete([item.id])
        ws.items.add(FIRST_ROW)
    (folder / "made").touch()
    return workspace


if __name__ == "__main__":
    sys.exit(main())
