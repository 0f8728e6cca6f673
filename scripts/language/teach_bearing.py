"""Learn what has a bearing on a message, from the open half of `tests/data/recall` and messages that need no memory.

For other languages than English: from small memories in seventeen of them (`taught/bearing-elsewhere.jsonl`).

    PYTHONPATH=. python scripts/language/teach_bearing.py [--check]

The memories of each set are remembered whole and in parts (so that a small memory is judged as well as a large one),
each message is asked, and a logistic regression over what the judge looks at (`memory/recall/scoring.py`) learns
which of the memories that were found a reader calls needed or useful: once by words, once by words and meaning (the
extra `vector`). The small ones are remembered alone, among those of other languages, and, where there are sentences
labelled as facts, among three hundred of these; small talk shows what needs none.
Needs scikit-learn. `--check`: only say whether the pack is what the data give.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import block
from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.language.tokens import is_english
from nanomem_tui.memory.recall import scoring
from nanomem_tui.memory.recall.recall import Question
from nanomem_tui.memory.scopes import Audience

ROOT = Path(__file__).resolve().parents[2]
PACK = ROOT / "nanomem_tui" / "language" / "packs" / "bearing.json"
NO_MEMORY = Path(__file__).with_name("taught") / "no-memory.txt"
ELSEWHERE = NO_MEMORY.with_name("bearing-elsewhere.jsonl")
SETS = ("open/daily", "open/hard")
SIZES = (500, 150, 40, 10)
FOUND = 12
SEED = 5


Examples = list[tuple[list[float], int]]
"""What the judge knows, and whether it is needed or useful."""


def examples(backend: str) -> dict[str, Examples]:
    """Of each message with any memory that was found, and of each memory that was found for one that needs some."""
    found: dict[str, Examples] = {"message": [], "memory": []}
    idle = NO_MEMORY.read_text(encoding="utf-8").splitlines()
    for name in SETS:
        for size in SIZES:
            asked = [(row["question"], row) for row in block.rows(name, "questions")]
            asked += [(text, {"evidence": [], "useful": []}) for text in idle]
            for (_, row), hits in zip(asked, _found(_some(name, size), backend, asked), strict=True):
                wanted = {*row["evidence"], *row["useful"]}
                if not hits:
                    continue
                found["message"].append((hits[0][1], int(any(key in wanted for key, _ in hits))))
                if row["evidence"]:
                    outdated = row.get("outdated", ())
                    found["memory"] += [(values, int(key in wanted)) for key, values in hits if key not in outdated]
    return found


def examples_elsewhere() -> dict[str, Examples]:
    """The same of other languages: of each memory that was found for a message."""
    found: Examples = []
    sets = {row["lang"]: row for row in map(json.loads, ELSEWHERE.read_text(encoding="utf-8").splitlines())}
    english = [row["text"] for row in block.rows(SETS[0], "memories")[:25]]
    for lang, row in sets.items():
        own = _said(lang, "fact", "preference")
        talk = _said(lang, "chatter", "remember:none")[:40]
        others = [text for other, one in sets.items() if other != lang for text in one["memories"]]
        mixed = random.Random(SEED).sample(others, 25) + english
        asked = [(text, None) for text in (*row["none"], *talk)] + [(text, str(at)) for text, at in row["asked"]]
        asked = [one for one in asked if not is_english(one[0])]
        for more in ([], mixed, own[:300]) if own else ([], mixed):
            texts = [*row["memories"], *more]
            chosen = [{"id": str(at), "text": text, "said": "2026-05-01"} for at, text in enumerate(texts)]
            for (_, wanted), hits in zip(asked, _found(chosen, "ram", asked), strict=True):
                found += [(values, int(key == wanted)) for key, values in hits]
    return {"memory": found}


def _said(lang: str, *labels: str) -> list[str]:
    """Sentences of a language with one of these labels, mixed."""
    files = sorted(NO_MEMORY.parent.glob(f"{lang}-[3-7]*.jsonl"))
    rows = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    said = [one["text"] for row in rows for one in row["sentences"] if one["label"] in labels and len(one["text"]) > 8]
    random.Random(SEED).shuffle(said)
    return said


def _found(
    chosen: list[dict[str, Any]], backend: str, asked: list[tuple[str, Any]]
) -> list[list[tuple[str, list[float]]]]:
    """By message, the memories that were found among those chosen, each with what the judge knows of it."""
    seen: list[list[float]] = []

    def record(message: scoring.Message, hits: Any, **_: Any) -> list[float]:
        seen[:] = scoring.collect_features(message, hits, range(len(hits)))
        return [1.0] * len(hits)

    scoring.bearing_chances = record
    scoring.newer_first = lambda _, hits: [*range(len(hits))]  # labelled in the order in which they were judged
    os.environ["NANOMEM_RECALL_BACKEND"] = backend
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "workspace"
        folder.mkdir()
        with open_workspace(folder) as ws:
            names = block.remembered(ws, sorted(chosen, key=lambda row: str(row["said"])))
            found = []
            with clock.at(block.NOW):
                for text, _ in asked:
                    seen.clear()
                    question = Question(text, "", Audience("telegram", "7", "7"), limit=FOUND, max_chars=100_000)
                    recalled = ws.recall.ask(question)
                    keys = [names[hit.item.id] for hit in (*recalled.hits, *(cut.hit for cut in recalled.cut))]
                    found.append(list(zip(keys, seen, strict=False)))
            return found


def _some(name: str, size: int) -> list[dict[str, Any]]:
    """So many memories of a set, half of them needed for some message."""
    memories, chance = block.rows(name, "memories"), random.Random(SEED)
    needed = {key for row in block.rows(name, "questions") for key in row["evidence"]}
    if size >= len(memories):
        return memories
    first = chance.sample([row for row in memories if row["id"] in needed], size // 2)
    return first + chance.sample([row for row in memories if row not in first], size - len(first))


def learned(name: str, of: dict[str, Examples]) -> dict[str, list[float]]:
    """First what nothing counts, then a weight for each of what the judge knows."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    found = {}
    for kind, rows in of.items():
        values, labels = np.array([known for known, _ in rows]), [label for _, label in rows]
        mean, spread = values.mean(0), values.std(0) + 1e-9
        model = LogisticRegression(C=0.3, max_iter=5000).fit((values - mean) / spread, labels)
        weights = model.coef_[0] / spread
        print(f"{name}, {kind}: {len(labels):,} examples, {sum(labels):,} of them needed or useful")
        first = float(model.intercept_[0] - (weights * mean).sum())
        found[kind] = [round(first, 4), *(round(float(one), 4) for one in weights)]
    return found


def main() -> int:
    body = {
        "about": "What counts for a memory to have a bearing on a message; made by scripts/language/teach_bearing.py",
        "by words": learned("by words", examples("ram")),
        "by meaning": learned("by meaning", examples("hybrid")),
        "elsewhere": learned("elsewhere", examples_elsewhere()),
    }
    made = json.dumps(body, indent=1) + "\n"
    if "--check" in sys.argv:
        is_same = PACK.read_text(encoding="utf-8") == made
        print("the pack is what the data give" if is_same else f"{PACK.name} differs: run {Path(__file__).name}")
        return 0 if is_same else 1
    PACK.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
