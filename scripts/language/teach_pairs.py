"""Makes the packs by which two statements are compared (`packs/pairs.json`) and a line is held against an entry of the
archive (`packs/evidence.json`), from labelled pairs (`taught/pairs-*.jsonl`, `taught/evidence-*.jsonl`).

    scripts/language/teach_pairs.py              # needs scikit-learn: pip install scikit-learn
    scripts/language/teach_pairs.py --check      # whether each pack was made of what is taught now (exit code 1)
    scripts/language/teach_pairs.py --fold       # how well it learns: each eighth read by what the others taught

One logistic regression over all languages: what is no word (how much is shared, which values are equal, who it is
about, what is denied) is learned from every language for each. Least shares are chosen on the folds.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from nanomem_tui.language.statements import compare, pair_features  # noqa: E402
from nanomem_tui.language.statements.statement import statement  # noqa: E402

TAUGHT = Path(__file__).parent / "taught"
PACKS = ROOT / "nanomem_tui" / "language" / "packs"
STRENGTH = {"pairs": 0.15, "evidence": 0.05}
RARE = {"unsure": 1.6, "denial": 1.2, "unrelated": 0.3}
"""How much what is taught seldom, or very often, counts."""
OTHERS = {"pairs": 0.5, "evidence": 0.25}
"""How much what else the items show counts, beside the items."""
FORMAL = 0.35
"""How much a pair counts of which there are many of one form."""
OPEN = frozenset({"asked", "consider", "hedge", "if", "hearsay", "wrong", "formerly"})
"""What leaves open whether it is so."""
DESK = "pairs-desk"
"""Files of pairs out of one memory: many of one person, which are no near misses of what an entry says."""
LEAST = 0.03
"""A feature stays when one of its weights is that large."""
WANTED = {"same": 0.97, "newer": 0.95, "denial": 0.95}
"""The precision that the least share of each relation is chosen for."""
LEAST_EVIDENCE = 0.7
"""How sure it has to be that an entry says a line, where no certain difference tells them apart. What is taught is
nothing but near misses: of those that do not hold, seven in a hundred are as sure."""


class Taught(NamedTuple):
    """What is taught: features, label and language of each item, and its two texts."""

    found: list[set[str]]
    labels: list[str]
    languages: list[str]
    texts: list[tuple[str, str]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packs", nargs="*", choices=["pairs", "evidence", []], default=[])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--fold", action="store_true")
    options = parser.parse_args()
    stale = []
    for name in options.packs or ("pairs", "evidence"):
        if options.check:
            stale += [name] if compare.pack(name).made_of != fingerprint(name) else []
            continue
        data = taught(name)
        shares = folded(name, data)
        told = data._replace(labels=["different" if one == "unrelated" else one for one in data.labels])
        least = least_pairs(told, shares) if name == "pairs" else {"true": LEAST_EVIDENCE}
        print(name, len(data.labels), *report(name, told, shares, least), sep="\n  ", flush=True)
        if not options.fold:
            write(name, data, least)
    if stale:
        print(f"stale: {', '.join(stale)}: run scripts/language/teach_pairs.py", file=sys.stderr)
    return int(bool(stale))


def lines(name: str, *, but: str = "") -> list[dict[str, Any]]:
    """The labelled items, in the order of files and lines; one that stands twice counts once. `but`: how the names of
    files begin that are left out."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(TAUGHT.glob(f"{name}-*.jsonl")):
        if but and path.stem.startswith(but):
            continue
        for text in path.read_text(encoding="utf-8").splitlines():
            line = json.loads(text)
            found.setdefault("\n".join(_texts(name, line)).lower(), line)
    return list(found.values())


def fingerprint(name: str) -> str:
    """What a pack is made of, as a hash: the items, the words that mean something, and the version of the features."""
    body = "\n".join(json.dumps(line, ensure_ascii=False, sort_keys=True) for line in lines(name))
    words = "".join((PACKS / f"{one}.json").read_text(encoding="utf-8") for one in ("notions", "value-words"))
    return hashlib.sha256(f"{pair_features.VERSION}\n{body}\n{words}".encode()).hexdigest()[:16]


def _texts(name: str, line: dict[str, Any]) -> tuple[str, str]:
    return (line["a"], line["b"]) if name == "pairs" else (line["entry"], line["line"])


def taught(name: str) -> Taught:
    """Read what is taught, in an order that does not follow the files."""
    items = lines(name)
    random.Random(1).shuffle(items)
    result = Taught([], [], [], [])
    for line in items:
        one, other = _texts(name, line)
        result.found.append(_features_of(name, one, other))
        result.labels.append(line["relation"] if name == "pairs" else str(line["holds"]).lower())
        result.languages.append(line["lang"])
        result.texts.append((one, other))
    return result


@lru_cache(50_000)
def _features_of(name: str, one: str, other: str) -> set[str]:
    """The features of two texts, in the language that they are found to be in."""
    language = compare.language_of_both(one, other)
    if name == "pairs":
        ours, theirs = statement(one, language), statement(other, language)
        return set(pair_features.of_pair(ours, theirs, pair_features.align(ours, theirs)))
    return pair_features.of_evidence(one, other, language)


@lru_cache(1)
def of_one_form() -> frozenset[tuple[str, str]]:
    """The pairs of `pairs-values.jsonl`: many of one form each, so that each of them counts for less."""
    lines = (TAUGHT / "pairs-values.jsonl").read_text(encoding="utf-8").splitlines()
    return frozenset((line["a"], line["b"]) for line in map(json.loads, lines))


def learn(name: str, data: Taught) -> compare.Pack:
    """Learn from these items, and less from what else they show."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    more, labels = others(name, data)
    found = [*data.found, *more]
    seen = Counter(feature for one in found for feature in one)
    columns = DictVectorizer()
    matrix = columns.fit_transform([dict.fromkeys(sorted(f for f in one if seen[f] > 1), 1.0) for one in found])
    formal = of_one_form() if name == "pairs" else frozenset()
    weighs = [
        RARE.get(label, 1.0) * (FORMAL if texts in formal else 1.0)
        for label, texts in zip(data.labels, data.texts, strict=True)
    ]
    weighs += [OTHERS[name]] * len(labels)
    model = LogisticRegression(C=STRENGTH[name], max_iter=800, tol=1e-3).fit(matrix, [*data.labels, *labels], weighs)
    names = tuple(map(str, model.classes_))
    rows, bias = model.coef_, model.intercept_
    if len(names) == 2:  # one row tells both apart
        rows, bias = [-rows[0] / 2, rows[0] / 2], [-bias[0] / 2, bias[0] / 2]
    weights = {}
    for feature, n in columns.vocabulary_.items():
        row = tuple(round(float(one[n]), 2) for one in rows)
        if max(map(abs, row)) >= LEAST:
            weights[feature] = row
    return compare.Pack(names, {}, weights, tuple(round(float(one), 3) for one in bias), "")


def others(name: str, data: Taught) -> tuple[list[set[str]], list[str]]:
    """What else the items show. Turned round, two statements are still the same or different; two that are
    drawn by chance have nothing to do with each other. A statement that is the
    same as another holds on its strength, one of another relation does not; a clause holds on the strength of the entry
    that it is of, and what is said of something else does not."""
    found: list[set[str]] = []
    labels: list[str] = []
    if name == "pairs":
        for (one, other), label in zip(data.texts, data.labels, strict=True):
            if label in ("same", "different"):
                found.append(_features_of(name, other, one))
                labels.append(label)
        chance = random.Random(len(data.labels))
        later: dict[str, list[str]] = defaultdict(list)
        for (_, other), language in zip(data.texts, data.languages, strict=True):
            later[language].append(other)
        for (one, other), language in zip(data.texts[::2], data.languages[::2], strict=True):
            if (strange := chance.choice(later[language])) != other:
                found.append(_features_of(name, one, strange))
                labels.append("unrelated")
    else:
        statements: dict[str, list[str]] = defaultdict(list)
        for n, line in enumerate(lines("pairs", but=DESK)):
            if line["relation"] not in ("unsure", "unrelated"):
                before = statements[line["lang"]]
                entry = f"{before[n % len(before)].rstrip('.。')}. {line['a']}" if before and n % 2 else line["a"]
                found.append(_features_of(name, entry, line["b"]))
                labels.append(str(line["relation"] == "same").lower())
                before.append(line["b"])
        for n, ((entry, line), label) in enumerate(zip(data.texts, data.labels, strict=True)):
            language = compare.language_of_both(entry, line)
            before = statements[language]
            if label == "true":  # a line holds on the strength of itself, among others
                found.append(_features_of(name, f"{before[n % len(before)].rstrip('.。')}. {line}", line))
                labels.append(label)
            for part in pair_features.clauses(entry):  # and so does a clause that leaves nothing open
                read = statement(part, language)
                if len(read.tokens) > 2 and not read.marks & OPEN and not read.denials:
                    found.append(_features_of(name, entry, part.strip()))
                    labels.append("true")
            found.append(_features_of(name, entry, before[(7 * n) % len(before)]))
            labels.append("false")
    return found, labels


def folded(name: str, data: Taught, parts: int = 8) -> list[dict[str, float]]:
    """The shares of each item, read by what the other parts taught."""
    result: list[dict[str, float]] = [{} for _ in data.labels]
    for part in range(parts):
        inside = [n for n in range(len(data.labels)) if n % parts != part]
        made = learn(name, Taught(*([column[n] for n in inside] for column in data)))
        for n in range(part, len(data.labels), parts):
            one, other = data.texts[n]
            language = compare.language_of_both(one, other)
            shares = made.shares(data.found[n])
            if name == "pairs":
                shares = compare.related(shares)
                ours, theirs = statement(one, language), statement(other, language)
                shares = compare.ruled(ours, theirs, pair_features.align(ours, theirs), shares)
            else:
                share, _ = compare.bounded(one, other, language, "", shares["true"])
                shares = {"true": share, "false": 1 - share}
            result[n] = shares
    return result


def least_pairs(data: Taught, shares: Sequence[dict[str, float]]) -> dict[str, float]:
    """The least share of each relation at which it is right as often as is wanted."""
    found = {}
    for relation, precision in WANTED.items():
        told = sorted(
            ((one[relation], label == relation) for one, label in zip(shares, data.labels, strict=True)
             if max(one, key=one.__getitem__) == relation), reverse=True,
        )  # fmt: skip
        right, best = 0, 0.99
        for n, (share, is_right) in enumerate(told, 1):
            right += is_right
            if n >= 20 and right / n >= precision:
                best = share
        found[relation] = round(best, 3)
    return found


def report(name: str, data: Taught, shares: Sequence[dict[str, float]], least: dict[str, float]) -> list[str]:
    """How well the folds were read."""
    found = [f"least {least}"]
    by_language: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for one, label, language in zip(shares, data.labels, data.languages, strict=True):
        by_language[language][0] += max(one, key=one.__getitem__) == label
        by_language[language][1] += 1
    whole = [sum(column) for column in zip(*by_language.values(), strict=True)]
    found.append(f"accuracy of the likeliest {whole[0] / whole[1]:.3f}: " + " ".join(
        f"{language} {right / many:.2f}" for language, (right, many) in sorted(by_language.items())))  # fmt: skip
    for relation in sorted(set(data.labels)):
        told = [label for one, label in zip(shares, data.labels, strict=True)
                if max(one, key=one.__getitem__) == relation and one[relation] >= least.get(relation, 0)]  # fmt: skip
        plain = [
            label for one, label in zip(shares, data.labels, strict=True) if max(one, key=one.__getitem__) == relation
        ]
        of = data.labels.count(relation)
        right = told.count(relation)
        found.append(
            f"{relation:10} precision {right / (len(told) or 1):.3f} recall {right / of:.3f}"
            f"   likeliest: {plain.count(relation) / (len(plain) or 1):.3f} {plain.count(relation) / of:.3f} of {of}"
        )
    if name == "evidence":
        told = [one["true"] >= least["true"] for one in shares]
        true = [label == "true" for label in data.labels]
        right = sum(a and b for a, b in zip(told, true, strict=True))
        for least_share in (0.5, 0.6, 0.65, 0.7, 0.75, 0.8):
            kept = [ok for one, ok in zip(shares, true, strict=True) if one["true"] >= least_share]
            false = len(kept) - sum(kept)
            found.append(
                f"at {least_share}: recall {sum(kept) / sum(true):.2f} false {false / (len(true) - sum(true)):.3f}"
            )
        found.append(f"holds: precision {right / (sum(told) or 1):.3f} recall {right / sum(true):.3f}")
    return found


def write(name: str, data: Taught, least: dict[str, float]) -> None:
    """Write a pack."""
    made = learn(name, data)
    body = {
        "made_of": fingerprint(name),
        "labels": made.labels,
        "least": least,
        "bias": made.bias,
        "weights": {
            feature: " ".join(f"{weight:g}" for weight in row) for feature, row in sorted(made.weights.items())
        },
    }
    text = json.dumps(body, ensure_ascii=False, indent=0)
    (PACKS / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    print(f"{name}: {len(data.labels)} items, {len(made.weights)} features, {len(text) // 1000} kB", flush=True)


if __name__ == "__main__":
    sys.exit(main())
