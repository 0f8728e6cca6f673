"""What the curation desk offers, beside labels that say what a careful owner would want (`tests/data/language`).

    python benchmarks/desk.py [--half open|sealed|both] [--show] [--json FILE]

Each folder of `memories/` is the memory of one person, said over eleven months on one private chat. `duplicates`: of
the pairs that stand in one cluster, how many say the same, and how many of those that do are offered. `conflicts`: the
same of the pairs that cannot both hold. `asked about`: of the memories with a finding of another kind (a secret, an
order, a date that is over, a line of the person's notes), how many a careful owner would look at. What a label leaves
open counts neither way. `--show` prints what differs; never of the sealed half.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.workspace import Workspace

DATA = Path(__file__).resolve().parents[1] / "tests" / "data" / "language"
HALVES = ("open", "sealed")
NOW = datetime.fromisoformat("2026-11-29T12:00:00+00:00")
PAIRED = ("duplicate", "conflict")


class Offered(NamedTuple):
    """What a desk offers, by the ids of the labels: pairs, and the reason of each memory that is asked about."""

    duplicates: set[frozenset[str]]
    conflicts: set[frozenset[str]]
    asked: dict[str, str]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=[*HALVES, "both"], default="both")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found: dict[str, dict[str, int]] = {}
    for half in HALVES if options.half == "both" else (options.half,):
        counts = Counter[str]()
        for folder in sorted((DATA / half / "memories").iterdir()):
            differs = judge(folder, counts)
            if options.show and half == "open":
                print(folder.name, *differs, sep="\n  ")
        found[half] = dict(counts)
        parts = (format_shares(counts, part) for part in ("duplicates", "conflicts", "asked about"))
        print(f"{half:7} " + "   ".join(parts))
    if options.json:
        body = {"benchmark": "desk", "seed": 0, "runs": 1, "found": found}
        options.json.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    return 0


def format_shares(counts: Counter[str], part: str) -> str:
    """Format how much of one part is right and how much is found."""
    right, offered, wanted = (counts[f"{part} {one}"] for one in ("right", "offered", "wanted"))
    return f"{part}: right {right / max(offered, 1):.2f} of {offered}, found {right / max(wanted, 1):.2f} of {wanted}"


def judge(folder: Path, counts: Counter[str]) -> list[str]:
    """Count what the desk offers of one memory; what differs from its labels, in words."""
    rows = [json.loads(line) for line in (folder / "items.jsonl").read_text(encoding="utf-8").splitlines()]
    labels = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="nanomem-bench-") as place:
        offered = desk(folder, rows, Path(place) / "workspace")
    words = {row["id"]: row["text"] for row in rows}
    differs: list[str] = []
    for part, pairs in (("duplicates", offered.duplicates), ("conflicts", offered.conflicts)):
        wanted, either = paired(labels[part]), paired(labels["may"].get(part, ()))
        score(counts, part, pairs, wanted, either)
        differs += [f"{part} + {' | '.join(words[one] for one in sorted(pair))}" for pair in pairs - wanted - either]
        differs += [f"{part} - {' | '.join(words[one] for one in sorted(pair))}" for pair in wanted - pairs]
    wanted_ids, either_ids = set(labels["ask"]), set(labels["may"].get("ask", ()))
    score(counts, "asked about", set(offered.asked), wanted_ids, either_ids)
    differs += [
        f"asked + {why}: {words[one]}" for one, why in offered.asked.items() if one not in wanted_ids | either_ids
    ]
    differs += [f"asked - {labels['ask'][one]}: {words[one]}" for one in sorted(wanted_ids - set(offered.asked))]
    return differs


def score(counts: Counter[str], part: str, offered: set[Any], wanted: set[Any], either: set[Any]) -> None:
    counts[f"{part} offered"] += len(offered - (either - wanted))
    counts[f"{part} right"] += len(offered & wanted)
    counts[f"{part} wanted"] += len(wanted)


def paired(groups: Iterable[Iterable[str]]) -> set[frozenset[str]]:
    """Every two of each group."""
    return {frozenset(pair) for group in groups for pair in combinations(group, 2)}


def desk(folder: Path, rows: list[dict[str, str]], workspace: Path) -> Offered:
    """Remember these things, each at its time, and look over them as of NOW."""
    workspace.mkdir()
    shutil.copy(folder / "USER.md", workspace)
    with open_workspace(workspace) as ws:
        names = remembered(ws, rows)
        with clock.at(NOW):
            clusters = [[names[item.id] for item in cluster.items] for cluster in ws.duplicates.clusters()]
            conflicts = [[names[one] for one in pair.ids] for pair in ws.conflicts.all()]
            findings = [one for one in ws.triage.findings() if one.kind not in PAIRED]
    asked = {names[key]: f"{one.kind}, {one.why}" for one in findings for key in one.ids if key in names}
    return Offered(paired(clusters), paired(conflicts), asked)


def remembered(ws: Workspace, rows: list[dict[str, str]]) -> dict[str, str]:
    """Remember each row; the id of its label by its own."""
    names = {}
    for row in rows:
        with clock.at(datetime.fromisoformat(f"{row['said_at']}+00:00")):
            _, item, _ = ws.items.add(
                row["text"], row["kind"], channel="telegram", chat_id="7", sender_id="7",
                source="explicit_user" if row["by"] == "user" else "auto_heuristic",
            )  # fmt: skip
        names[item.id] = row["id"]
    return names


if __name__ == "__main__":
    sys.exit(main())
