"""How long it takes to find the contradictions among n items, from nothing and after one change.

    python benchmarks/conflicts.py [--n 100000] [--json FILE]

Items are those of `duplicates.py`, and one in fifty says where somebody lives or what somebody likes. Quality on the
labelled pairs is told too; the first half taught the judge, the other did not.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.duplicates import CITIES, NAMES, SEED, THINGS, filled, timed
from nanomem_tui.review.pairs import Pairs, compare_texts

PAIRS = Path(__file__).resolve().parents[1] / "tests" / "review" / "contradictions"


def measured(n: int) -> dict[str, Any]:
    """Seconds from nothing and after one change, and how many pairs."""
    pick = random.Random(SEED)
    with tempfile.TemporaryDirectory() as folder:
        store = filled(n, Path(folder))
        for number in range(0, n, 50):
            name, row = pick.choice(NAMES), store.snapshot.items[f"ltm_{number}"]
            thing, city = pick.choice(THINGS), pick.choice(CITIES)
            does = pick.choice((f"lives in {city}", f"likes {thing}", f"does not like {thing}"))
            place = f"channel:telegram:chat:{number % 997}"
            row = row._replace(text=f"{name} {does}", scope_type="chat", scope_key=place)
            store.snapshot.put("item", [row])
        pairs = Pairs(store)
        first, found = timed(pairs.all)
        again = []
        for number in range(5):
            row = store.snapshot.items[f"ltm_{number * 7}"]
            store.snapshot.put("item", [row._replace(text=f"{row.text} and tea")])
            again.append(timed(pairs.all)[0])
    return {"items": n, "all_s": round(first, 2), "again_s": round(sorted(again)[2], 3), "pairs": len(found)}


def quality(half: str) -> dict[str, Any]:
    """Of the labelled pairs of one half: how many shown ones contradict, and how many contradictions are shown."""
    rows = [line.split("\t") for line in (PAIRS / f"{half}.tsv").read_text("utf-8").splitlines() if line[:1] != "#"]
    shown = [label for label, _, one, other in rows if compare_texts(one, other).relation in ("newer", "denial")]
    right, wanted = shown.count("conflict"), sum(label == "conflict" for label, *_ in rows)
    return {"pairs": len(rows), "precision": round(right / len(shown), 3), "recall": round(right / wanted, 3)}


def main() -> None:
    """Measure, print, and keep as JSON where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    ours, halves = measured(options.n), {half: quality(half) for half in ("development", "held_out")}
    for name, row in (("conflicts", ours), *halves.items()):
        print(f"{name:14}", "  ".join(f"{key} {value:,}" for key, value in row.items()))
    if options.json:
        found = {"seed": SEED, "runs": 1, "ours": ours, "quality": halves}
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
