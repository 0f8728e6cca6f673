"""The knowledge base over the man pages of 200 commands, beside plain FTS5 with its stemmer, in the same run.

    python benchmarks/knowledge.py [--json FILE] [--assert]

The pages are those of `make manuals`, else those of the machine. Told is how long reading and indexing them takes and
for how many of 50 questions the right section is among the first three: `keywords` as one types them into a search,
`questions` as one would ask somebody (tests/tiers/man_*.json). FTS5 gets the same chunks, with title, section and text.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from adapters import FullTextPorter

from nanomem_tui.core import config, paths
from nanomem_tui.store.work.values import KnowledgeHit
from nanomem_tui.workspace import Workspace
from tests.tiers.man_pages import SETS, answers, manuals, questions

GOALS = {"keywords": 45, "questions": 40}
NO_DATA = 2


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--assert", dest="check", action="store_true")
    arguments = parser.parse_args()
    began = time.perf_counter()
    found = manuals()
    reading = time.perf_counter() - began
    if found is None:
        print("not all of the 200 man pages are here: make manuals")
        return NO_DATA
    with tempfile.TemporaryDirectory() as folder:
        located = paths.find_workspace(folder, starting=True)
        with Workspace(located, config.load(located)) as ws:
            figures = measured(ws, found, reading)
    for name, value in figures.items():
        print(f"{name:28} {value}")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")
    missed = [name for name, least in GOALS.items() if figures[f"{name} R@3 of 50"] < least]
    return 1 if arguments.check and missed else 0


def measured(ws: Workspace, found: Any, reading: float) -> dict[str, Any]:
    began = time.perf_counter()
    ws.knowledge.add(found)
    indexing = time.perf_counter() - began
    documents = ws.knowledge.documents(own=False)
    chunks = [(one.title, chunk) for one in documents for _, chunk in ws.knowledge.chunks(one.id)]
    plain = FullTextPorter()
    began = time.perf_counter()
    plain.index([(str(at), f"{title} {one.section} {one.text}", {}) for at, (title, one) in enumerate(chunks)])
    bare = time.perf_counter() - began
    figures: dict[str, Any] = {
        "runs": 1,
        "pages": len(documents),
        "chunks": len(chunks),
        "reading, pages/s": round(len(documents) / reading),
        "indexing, pages/s": round(len(documents) / indexing),
        "FTS5 porter, pages/s": round(len(documents) / bare),
    }
    ws.knowledge.search("warm", 1)
    times: list[float] = []
    for name in SETS:
        asked = questions(name)
        hits = 0
        for one in asked:
            began = time.perf_counter()
            best = ws.knowledge.search(one["question"], 3)
            times.append(time.perf_counter() - began)
            hits += any(answers(one, hit) for hit in best)
        figures[f"{name} R@3 of {len(asked)}"] = hits
        figures[f"{name} FTS5 porter R@3"] = sum(
            any(answers(one, _hit(*chunks[int(key)])) for key in plain.search(one["question"], 3)) for one in asked
        )
    figures["search, median ms"] = round(statistics.median(times) * 1000, 1)
    return figures


def _hit(title: str, chunk: Any) -> KnowledgeHit:
    return KnowledgeHit("", "", "man", title, "", chunk.section, chunk.line_from, chunk.line_to, chunk.text, 0.0, {})


if __name__ == "__main__":
    sys.exit(main())
