"""What the block of memory of a turn holds, beside labels that say what the answer needs (`tests/data/recall`).

    python benchmarks/block.py [--half open|sealed|both] [--sets daily,hard] [--vectors] [--show] [--json FILE]

Each set is the memory of one person, 500 things told over eighteen months on one private chat, and a hundred messages
as they would type them: of `daily` mostly plain questions, of `hard` many that share no word with what they need, or
that need several memories. Who wrote them had not seen the code. `all there`: of those messages, how many got every
memory that the answer needs. `useful`: of the memories that were given, how many a reader calls needed or useful.
`newer first`: where a value was replaced, how often the block has the new one and the old one not before it.
`nothing`: of twenty messages that need no memory, how many got none. `--vectors`: with the extra `vector`. `--show`
prints what differs; never of the sealed half.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import sys
import tempfile
import time
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.memory.turns.request import TurnInput
from nanomem_tui.workspace import Workspace

DATA = Path(__file__).resolve().parents[1] / "tests" / "data" / "recall"
HALVES = ("open", "sealed")
NOW = datetime.fromisoformat("2026-11-29T12:00:00+00:00")
CHAT = {"channel": "telegram", "chat_id": "7", "sender_id": "7"}
KINDS = (
    (re.compile(r"\b(?:prefers?|(?:dis)?likes?|hates?|never|don't|avoid)\b", re.IGNORECASE), "preference", "user"),
    (re.compile(r"\b(?:decided|decision|agreed)\b", re.IGNORECASE), "decision", "chat"),
    (re.compile(""), "fact", "user"),
)
"""What a memory is by its words, and where a turn would keep it."""


def rows(name: str, part: str) -> list[dict[str, Any]]:
    """The lines of one file of a half."""
    return [json.loads(line) for line in (DATA / name / f"{part}.jsonl").read_text(encoding="utf-8").splitlines()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=[*HALVES, "both"], default="both")
    parser.add_argument("--sets", default="daily,hard")
    parser.add_argument("--vectors", action="store_true")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    backend = "hybrid" if options.vectors else "ram"
    found = {}
    halves = HALVES if options.half == "both" else (options.half,)
    for name in (f"{half}/{kind}" for kind in options.sets.split(",") for half in halves):
        found[name] = judged(name, backend, show=options.show and name.startswith("open"))
        print(f"{name:13} {backend:7}" + "".join(f"  {part} {value:.3f}" for part, value in found[name].items()))
    if options.json:
        body = {"benchmark": "block", "seed": 0, "runs": 1, "backend": backend, "found": found}
        options.json.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    return 0


def judged(name: str, backend: str, *, show: bool = False) -> dict[str, float]:
    """The figures of one half."""
    with tempfile.TemporaryDirectory(prefix="nanomem-bench-") as place:
        folder = Path(place) / "workspace"
        folder.mkdir()
        os.environ["NANOMEM_RECALL_BACKEND"] = backend
        with open_workspace(folder) as ws:
            names = remembered(ws, rows(name, "memories"))
            with clock.at(NOW):
                return _judged(ws, name, names, show=show)


def remembered(ws: Workspace, memories: list[dict[str, Any]]) -> dict[str, str]:
    """Remember each row, at its day; the id of its label by its own."""
    names = {}
    for row in memories:
        kind, scope = next((kind, scope) for form, kind, scope in KINDS if form.search(row["text"]))
        with clock.at(datetime.fromisoformat(f"{row['said']}T12:00:00+00:00")):
            _, item, _ = ws.items.add(row["text"], kind, scope, **CHAT, source="auto_heuristic")
        names[item.id] = row["id"]
    ws.recall.warm(background=False)
    if ws.recall.by_meaning.wanted:
        ws.meaning.sync()
    return names


def _judged(ws: Workspace, name: str, names: dict[str, str], *, show: bool) -> dict[str, float]:
    texts = {row["id"]: row["text"] for row in rows(name, "memories")}
    counts, kinds, times, parts = Counter[str](), Counter[str](), [], []
    for row in rows(name, "questions"):
        started = time.perf_counter()
        ids = labels_given(ws, row["question"], names)
        times.append(time.perf_counter() - started)
        needed = set(row["evidence"])
        complete = needed <= set(ids)
        useful = needed | set(row["useful"])
        counts["all"] += 1
        counts["complete"] += complete
        counts["given"] += len(ids)
        counts["useful"] += len(useful & set(ids))
        parts.append(len(needed & set(ids)) / len(needed))
        kinds[row.get("kind", "")] += 1
        kinds[f"{row.get('kind', '')} complete"] += complete
        if row.get("outdated"):
            counts["replaced"] += 1
            counts["newer first"] += _newer_first(ids, needed, set(row["outdated"]))
        if show and not (complete and len(useful & set(ids)) * 2 >= len(ids)):
            print(f"\n{'ok' if complete else '--'} {row.get('kind', '')}: {row['question']}")
            for one in ids:
                marks = {"+": needed, "~": useful, "o": row.get("outdated", ())}
                print(f"   {next((mark for mark, ids in marks.items() if one in ids), ' ')} {texts[one]}")
            for one in sorted(needed - set(ids)):
                print(f"   ! {texts[one]}")
    none = [(row["message"], labels_given(ws, row["message"], names)) for row in rows(name, "none")]
    if show:
        for message, ids in none:
            print("\nnone:", message, *(f"\n     {texts[one]}" for one in ids) if ids else "")
        print({kind: f"{kinds[f'{kind} complete']}/{count}" for kind, count in kinds.items() if " " not in kind})
    return {
        "all there": counts["complete"] / counts["all"],
        "evidence": statistics.mean(parts),
        "useful": counts["useful"] / max(1, counts["given"]),
        "given": counts["given"] / counts["all"],
        "newer first": counts["newer first"] / max(1, counts["replaced"]),
        "nothing": sum(not ids for _, ids in none) / len(none),
        "foreign items": sum(len(ids) for _, ids in none) / len(none),
        "ms": 1000 * statistics.median(times),
    }


def labels_given(ws: Workspace, message: str, names: dict[str, str]) -> list[str]:
    """The labels of what a turn with that message gets, in the order of its block."""
    begun = ws.engine.preview(TurnInput("telegram:7", **CHAT, text=message))
    return [names[hit.item.id] for hit in (*begun.hits, *begun.related)]


def _newer_first(ids: list[str], needed: set[str], outdated: set[str]) -> bool:
    new = min((ids.index(one) for one in needed if one in ids), default=99)
    return new < min((ids.index(one) for one in outdated if one in ids), default=100)


if __name__ == "__main__":
    sys.exit(main())
