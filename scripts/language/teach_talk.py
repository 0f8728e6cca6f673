"""Makes the weights by which sentences of talk between people are worth a note (`packs/talk.json`), from labelled
messages of friends (`taught/talk-*.jsonl`).

    scripts/language/teach_talk.py            # needs scikit-learn: pip install scikit-learn
    scripts/language/teach_talk.py --check    # whether the pack was made of what is taught now (exit code 1)
    scripts/language/teach_talk.py --fold     # how well it learns: each half read by what the other taught

What the readers make of a sentence is among the signs: teach it after `teach.py`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from nanomem_tui.dreams import session_archive  # noqa: E402
from nanomem_tui.language import classify, pack_files  # noqa: E402

TAUGHT = Path(__file__).parent / "taught"
PACK = ROOT / "nanomem_tui" / "language" / "packs" / "talk.json"
STRENGTH = 0.5
WORTH = {*classify.LASTING, "remember"}
"""The labels of sentences that are worth a note."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--fold", action="store_true")
    options = parser.parse_args()
    if options.check:
        is_stale = pack_files.table("talk")["made_of"] != fingerprint()
        if is_stale:
            print("stale: talk: run scripts/language/teach_talk.py", file=sys.stderr)
        return int(is_stale)
    rows, labels = taught()
    if options.fold:
        fold(rows, labels)
        return 0
    write(learn(rows, labels))
    return 0


def messages() -> list[dict[str, Any]]:
    paths = sorted(TAUGHT.glob("talk-*.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]


def fingerprint() -> str:
    """What the pack is made of, as a hash."""
    return hashlib.sha256(json.dumps(messages(), ensure_ascii=False, sort_keys=True).encode()).hexdigest()[:16]


def taught() -> tuple[list[dict[str, float]], list[bool]]:
    """The signs of each sentence, and whether it is worth a note."""
    rows, labels = [], []
    for message in messages():
        sentences = [one["text"] for one in message["sentences"]]
        for one, reading in zip(message["sentences"], classify.read(sentences, message["lang"]), strict=True):
            rows.append({name: float(value) for name, value in session_archive.signs(one["text"], reading)})
            labels.append(one["label"].partition(":")[0] in WORTH)
    return rows, labels


def learn(rows: list[dict[str, float]], labels: list[bool]) -> dict[str, float]:
    """The weight of each sign."""
    from sklearn.linear_model import LogisticRegression

    names = list(rows[0])
    model = LogisticRegression(C=STRENGTH, max_iter=3000).fit([[row[name] for name in names] for row in rows], labels)
    weights = {"always": model.intercept_[0], **dict(zip(names, model.coef_[0], strict=True))}
    return {name: round(float(weight), 2) for name, weight in weights.items()}


def fold(rows: list[dict[str, float]], labels: list[bool]) -> None:
    """Tell how many of what is worth a note is found, and how much of what is found is worth one."""
    half = len(rows) // 2
    parts = (slice(None, half), slice(half, None))
    for least in (0.5, 0.6, 0.7, 0.8):
        found = right = 0
        for ours, theirs in (parts, parts[::-1]):
            weights = learn(rows[ours], labels[ours])
            for row, label in zip(rows[theirs], labels[theirs], strict=True):
                total = weights["always"] + sum(weights[name] * value for name, value in row.items())
                is_found = total > session_archive.odds(least)
                found, right = found + is_found, right + (is_found and label)
        print(f"from {least}: {right} of {found} right, of {sum(labels)} found")


def write(weights: dict[str, float]) -> None:
    """Write the pack."""
    body = {"made_of": fingerprint(), "weights": weights}
    PACK.write_text(json.dumps(body, indent=0) + "\n", encoding="utf-8")
    print(f"talk: {len(weights)} weights")


if __name__ == "__main__":
    sys.exit(main())
