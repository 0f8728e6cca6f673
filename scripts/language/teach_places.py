"""Makes the packs by which a rules Dream finds the section of a new line (`packs/places.json`) and the line that it
repeats or changes (`packs/relations.json`), from labelled workspaces (`taught/places-*.jsonl`).

    scripts/language/teach_places.py              # needs scikit-learn: pip install scikit-learn
    scripts/language/teach_places.py --check      # whether each pack was made of what is taught now (exit code 1)
    scripts/language/teach_places.py --fold       # how well it learns: each part read by what the others taught

A line of `taught/places-*.jsonl` is a workspace: `lang`, `name`, the text of its files `USER` and `MEMORY`, and
`facts`, each with its `line`, the file that it `becomes` (or `nothing`), `action` (`add`, `change`, `there`), the `old`
line that it changes or repeats, and each `section` (`FILE:title`, `FILE:new`) where a careful person would accept it.

Run it after `teach.py`: what a line is, is among the features of both.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from nanomem_tui.agents.archive import HistoryEntry  # noqa: E402
from nanomem_tui.dreams import placement as dreams_lines  # noqa: E402
from nanomem_tui.dreams.entries import MEMORY, SOUL, USER, Fact, facts_of  # noqa: E402
from nanomem_tui.dreams.placement import Lines  # noqa: E402
from nanomem_tui.language.classify import topics_of_line  # noqa: E402
from nanomem_tui.language.statements import compare  # noqa: E402
from nanomem_tui.language.statements.statement import owner_of  # noqa: E402

TAUGHT = Path(__file__).parent / "taught"
PACKS = ROOT / "nanomem_tui" / "language" / "packs"
NAMES = ("places", "relations")
FILES = {"USER": USER, "MEMORY": MEMORY, "SOUL": SOUL}
SOUL_TEXT = "# Soul\n\n## Personality\n\n- Helpful and friendly\n\n## Communication Style\n\n- Be clear and direct\n"
STRENGTH = {"places": 0.2, "relations": 0.2}
LEAST = 0.02
"""A feature stays when one of its weights is that large."""
PARTS = 7


class Taught(NamedTuple):
    """One line and what it may go to or change: of each the features, and the label."""

    workspace: int
    found: list[set[str]]
    labels: list[str]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--fold", action="store_true")
    options = parser.parse_args()
    if options.check:
        stale = [name for name in NAMES if compare.pack(name).made_of != fingerprint()]
        if stale:
            print(f"stale: {', '.join(stale)}: run scripts/language/teach_places.py", file=sys.stderr)
        return int(bool(stale))
    for name in NAMES:
        data = list(taught(name))
        print(name, len(data), *report(name, data), sep="\n  ", flush=True)
        if not options.fold:
            write(name, data)
            compare.pack.cache_clear()
    return 0


def workspaces() -> list[dict[str, Any]]:
    """The labelled workspaces, in the order of files and lines."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(TAUGHT.glob("places-*.jsonl")))
    return [json.loads(line) for text in texts for line in text.splitlines()]


def fingerprint() -> str:
    """What the packs are made of, as a hash: the workspaces, and the versions of the features."""
    body = json.dumps(workspaces(), ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(
        f"{dreams_lines.PLACES_MODEL_VERSION} {dreams_lines.LINES_MODEL_VERSION}\n{body}".encode()
    ).hexdigest()[:16]


def taught(name: str) -> Iterator[Taught]:
    """Read what is taught."""
    for number, workspace in enumerate(workspaces()):
        files = {SOUL: SOUL_TEXT, USER: workspace["USER"], MEMORY: workspace["MEMORY"]}
        owner = owner_of(workspace["USER"])
        outline, lines = dreams_lines.Outline(files, owner), Lines(files)
        for label in workspace["facts"]:
            facts, _ = facts_of(HistoryEntry(1, "2026-04-01 10:00", label["line"]), owner)
            if label["action"] is None or len(facts) != 1:
                continue
            if name == "places":
                one = of_places(number, label, facts[0], outline, lines)
                if "yes" in one.labels:
                    yield one
            else:
                yield of_relations(number, label, facts[0], outline, lines, owner)


def of_places(number: int, label: dict[str, Any], fact: Fact, outline: dreams_lines.Outline, lines: Lines) -> Taught:
    """The sections that a line may go to, and whether each is right: a line that is changed stands in the right one."""
    right = {tuple(one.split(":", 1)) for one in label["section"]}
    right |= {(line.file, line.section) for line in lines.all if label["old"] == line.whole}
    right = {(FILES.get(file, file), title) for file, title in right}
    found = outline.candidates(fact)
    about = topics_of_line(fact.text)
    made = [one.section.file for one in found if one.section.is_new and one.section.topics & about]
    labels = [
        (one.section.file == SOUL and (SOUL, "") in right)
        or (
            (one.section.file, "new" if one.section.is_new else one.section.title) in right
            and not (one.section.is_new and one.section.file in made and not one.section.topics & about)
        )
        for one in found
    ]
    return Taught(number, [one.features for one in found], ["yes" if one else "no" for one in labels])


def of_relations(
    number: int, label: dict[str, Any], fact: Fact, outline: dreams_lines.Outline, lines: Lines, owner: str
) -> Taught:
    """The lines that are near a new one, and whether it repeats or changes each."""
    found = dreams_lines.candidates(fact, lines.near(fact.text, owner), outline.find_place(fact), owner)
    kind = {"change": "changes", "there": "same"}.get(label["action"], "other")
    labels = [kind if one.line.whole == label["old"] else "other" for one in found]
    return Taught(number, [one.features for one in found], labels)


def learn(name: str, data: Sequence[Taught]) -> compare.Pack:
    """Learn from these lines."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    found = [features for one in data for features in one.found]
    seen = Counter(feature for one in found for feature in one)
    columns = DictVectorizer()
    matrix = columns.fit_transform([dict.fromkeys(sorted(f for f in one if seen[f] > 2), 1.0) for one in found])
    model = LogisticRegression(C=STRENGTH[name], max_iter=2000)
    model.fit(matrix, [label for one in data for label in one.labels])
    rows, bias = model.coef_, model.intercept_
    if len(model.classes_) == 2:  # one row tells both apart
        rows, bias = [-rows[0] / 2, rows[0] / 2], [-bias[0] / 2, bias[0] / 2]
    weights = {feature: tuple(round(float(one[n]), 2) for one in rows) for feature, n in columns.vocabulary_.items()}
    weights = {feature: row for feature, row in weights.items() if max(map(abs, row)) >= LEAST}
    return compare.Pack(tuple(map(str, model.classes_)), {}, weights, tuple(round(float(b), 3) for b in bias), "")


def report(name: str, data: Sequence[Taught]) -> Iterator[str]:
    """How well each part is read by what the others taught: of what is told with a share, how much is right."""
    told: list[tuple[float, str, str]] = []  # the share of the likeliest, what it is, what it should be
    for part in range(PARTS):
        made = learn(name, [one for one in data if one.workspace % PARTS != part])
        for one in data:
            if one.workspace % PARTS == part:
                shares = [made.shares(features) for features in one.found]
                several = ["yes"] if name == "places" else ["same", "changes"]
                best = max(((share[kind], n, kind) for n, share in enumerate(shares) for kind in several), default=None)
                if best is not None:
                    told.append((best[0], best[2], one.labels[best[1]]))
    for least in (0.0, 0.3, 0.5, 0.6, 0.7, 0.8):
        for kind in ("yes",) if name == "places" else ("same", "changes"):
            above = [right == kind for share, known, right in told if share >= least and known == kind]
            yield f"{kind} from {least}: {sum(above)} of {len(above)} right, {len(told)} lines"


def write(name: str, data: Sequence[Taught]) -> None:
    """Write a pack."""
    made = learn(name, data)
    weights = {feature: " ".join(f"{weight:g}" for weight in row) for feature, row in sorted(made.weights.items())}
    body = {"made_of": fingerprint(), "labels": made.labels, "least": {}, "bias": made.bias, "weights": weights}
    text = json.dumps(body, ensure_ascii=False, indent=0)
    (PACKS / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    print(f"{name}: {len(data)} lines, {len(made.weights)} features, {len(text) // 1000} kB", flush=True)


if __name__ == "__main__":
    sys.exit(main())
