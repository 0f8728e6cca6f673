"""How long it takes to rebuild the past of n items after many edits, and to say what differs from now.

    python benchmarks/moments.py [--n 100000] [--edits 10000] [--json FILE]

The items came by one import, then each edit was an operation of its own. `list` are the fifty newest moments, `name`
finds the import by its id, `rows` are all rows as they were right after it, `differ` what differs from then to now,
`plan` what restoring all of it would change. The floor is what any way back has to do: the operations recorded since
that moment, read out of SQLite and decoded as JSON. All of it is processor time, the median of five.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.duplicates import SEED, texts
from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.core.operations import new_operation
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item
from nanomem_tui.workspace import Workspace

RUNS = 5


def filled(ws: Workspace, n: int, edits: int) -> str:
    """An import of n items and so many edits; the id of the import."""
    at = clock.iso(clock.now())
    items = [
        Item(id=f"ltm_{number}", text=text, kind="fact", scope_key="global", created_at=at, updated_at=at)
        for number, text in enumerate(texts(n))
    ]
    changes = [change_of("item", None, item) for item in items]
    made = ws.perform(new_operation("import", f"import {n} items", changes, actor="import")).id
    for number in range(edits):
        ws.items.edit(f"ltm_{number * (n // edits)}", text=f"edited for the {number}th time")
    ws.flush()
    return made


def measured(n: int, edits: int) -> dict[str, Any]:
    """Seconds of processor time for each question, and the floor."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home" / "workspace"
        (home / "memory").mkdir(parents=True)
        with open_workspace(home) as ws:
            made = filled(ws, n, edits)
        with open_workspace(home) as ws:
            ws.store.load()
            moment = ws.moments.named(made)
            differing = len(ws.moments.diff(moment))
            assert differing == edits
            found = {
                "list_s": _median(lambda: ws.moments.marks(50)),
                "name_s": _median(lambda: ws.moments.named(made)),
                "rows_s": _median(lambda: ws.moments.rows_at(moment)),
                "differ_s": _median(lambda: ws.moments.diff(moment)),
                "plan_s": _median(lambda: ws.moments.plan(moment)),
            }
            floor = _median(lambda: _floor(ws.paths.database, edits))
    ratio = round(found["differ_s"] / floor, 2)
    return {"items": n, "edits": edits, **found, "floor_s": floor, "differ_of_floor": ratio}


def _floor(database: Path, count: int) -> int:
    """Read and decode the newest operations; how many changes they hold."""
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        found = connection.execute("SELECT changes_json FROM operations ORDER BY seq DESC LIMIT ?", (count,))
        return sum(len(json.loads(body)) for (body,) in found)


def _median(work: Callable[[], object]) -> float:
    times = []
    for _ in range(RUNS):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return round(statistics.median(times), 4)


def main() -> None:
    """Measure, print, and keep as JSON where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--edits", type=int, default=10_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = measured(options.n, options.edits)
    print("  ".join(f"{key} {value:,}" for key, value in found.items()))
    if options.json:
        options.json.write_text(json.dumps({"seed": SEED, "runs": RUNS, "ours": found}, indent=1))


if __name__ == "__main__":
    main()
