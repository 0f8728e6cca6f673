"""What it takes to count who sees what, and to find what leaks, beside one pass over the rows.

    python benchmarks/scopes.py [--n 10000 100000] [--json FILE]

Items are those of `triage.py`, in 42 chats with as many persons, one in a hundred of them global; one in fifty names
somebody. The floor is one pass over the rows in plain Python that reads the scope of each item and whether its text
holds a word. A second look comes after 200 items changed. Times are of the processor.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import triage
from nanomem_tui import open_workspace
from nanomem_tui.core.operations import new_operation
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item
from nanomem_tui.workspace import Workspace

SEED = 13
PEOPLE = [f"{name}{number}" for number in range(3) for name in "Abelk Brixo Corvin Dalmy Eskel Faruq Grete".split()]


def measured(count: int) -> dict[str, float]:
    """Milliseconds by what was asked, and how many leaks there were."""
    with tempfile.TemporaryDirectory(prefix="nanomem-bench-") as folder, open_workspace(_home(folder)) as ws:
        fill(ws, count)
        row = {"floor": triage.best(lambda: floor(ws))}
        scopes = ws.scopes
        row["scopes"] = len(scopes.matrix())
        row["matrix"] = triage.best(scopes.matrix)
        row["who sees what"] = triage.best(lambda: scopes.sees(scopes.askers()))
        started = triage.time.thread_time()
        row["leaks found"] = len(scopes.leaks())
        row["leaks"] = triage.since(started)
        triage.change(ws)
        started = triage.time.thread_time()
        scopes.leaks()
        row["leaks again"] = triage.since(started)
        return row


def floor(ws: Workspace) -> int:
    """One pass over the rows."""
    rows = ws.store.load().items.values()
    return sum(1 for row in rows if row.enabled and row.scope_key and not row.is_deleted and "zz" in row.text)


def fill(ws: Workspace, count: int) -> None:
    """Items of chats with a person each."""
    chance = random.Random(SEED)
    ws.perform(new_operation("bench.fill", "fill", [change_of("item", None, _item(n, chance)) for n in range(count)]))


def _item(number: int, chance: random.Random) -> Item:
    row = triage.item(number, chance)
    chat = row.scope_key.rpartition(":")[2]
    who = PEOPLE[int(chat) % len(PEOPLE)]
    row = row._replace(channel="telegram", chat_id=chat, sender_id=who)
    if chance.random() < 0.02:
        row = row._replace(text=f"{chance.choice(PEOPLE)} {row.text.partition(' ')[2]}")
    if chance.random() < 0.01:
        row = row._replace(scope_type="global", scope_key="workspace:bench:global")
    return row


def _home(folder: str) -> Path:
    return triage.home(Path(folder))


def main() -> None:
    """Measure, print, and keep as JSON where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = {str(count): measured(count) for count in options.n}
    for count, row in found.items():
        print(f"\n{int(count):,} items, {row['scopes']:.0f} scopes; one pass over the rows takes {row['floor']:.1f} ms")
        for name in ("matrix", "who sees what", "leaks", "leaks again"):
            print(f"  {name:16}{row[name]:8.0f} ms{row[name] / row['floor']:8.1f}x")
        print(f"  {row['leaks found']:.0f} leaks")
    if options.json:
        body = {"benchmark": "scopes", "seed": SEED, "runs": 1, "ms": found}
        options.json.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
