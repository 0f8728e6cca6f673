"""Makes the packs of `nanomem_tui/language` from labelled sentences and lines (`taught/`).

    scripts/language/teach.py [LANGUAGE ... | lines] # needs scikit-learn: pip install scikit-learn
    scripts/language/teach.py --check                # whether each pack was made of what is taught now (exit code 1)
    scripts/language/teach.py --fold                 # how well it learns: each quarter read by what three others taught

`lines` is the pack by which lines of archives and notes are read, one for all languages (`taught/lines-*.jsonl`); it is
made after the others, whose readings are among its features.

One logistic regression for each label. What weighs little is left out; each weight is a letter (`reader.STEP`).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from nanomem_tui.language import classify  # noqa: E402
from nanomem_tui.language import sentences as line_reader  # noqa: E402

TAUGHT = Path(__file__).parent / "taught"
PACKS = ROOT / "nanomem_tui" / "language" / "packs"
LINES = "lines"
LANGUAGES = ("en", "zh", "de", "es", "fr", "pt", "it", "ru", "ja", "ko", LINES)
COMMON = 180
BARE, TIMES = ("-7", "-8"), 2
"""The ends of the names of files with short, bare sentences and near misses, and how often each of them counts."""
STRENGTH = 3.0
LEAST, MOST = 0.1, 50_000
"""A feature stays when one of its weights is that large, and is among so many of a language that weigh most."""


LIFT, SEEN, RUN_SEEN = 2.5, 4, 8
"""How much oftener a word of wishes to forget stands there than elsewhere; how often at least; a run of Chinese."""


THINGS = frozenset(
    "address age alarm boss brother's code dad's date diagnosis divorce drinking email gate health hospital job key "
    "marriage money name number plate salary story street tax weight adresse numéro dirección hermano número endereço "
    "nome адрес номер 주소는 집 名字 名 地址 址 婚 病 生日 生 钱 密 码 妈 住 价 体重 重 名前 年収 彼 番号 号 "
    "誕生 転職 職 所".split()
)
"""What people often ask to be forgotten: it names what is meant, and says nothing of the wish."""


NAMED = 2
"""How much oftener a name is written with a capital than without."""
NOUNS = ("de",)
"""Languages that write all nouns with a capital, so that it tells no name."""


class Taught(NamedTuple):
    """The sentences of one language: features, label, and the number of the message."""

    found: list[set[str]]
    labels: list[str]
    messages: list[int]
    common: list[str]
    forgetting: list[str]
    names: list[str]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("languages", nargs="*")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--fold", action="store_true")
    options = parser.parse_args()
    stale = []
    for language in options.languages or LANGUAGES:
        if options.check:
            stale += [language] if _made_of(language) != fingerprint(language) else []
        elif options.fold:
            print(language, *fold(taught(language)), flush=True)
        else:
            write(language, taught(language))
    if not (options.check or options.fold):
        write_words()
    if stale:
        print(f"stale: {', '.join(stale)}: run scripts/language/teach.py", file=sys.stderr)
    return int(bool(stale))


def lines(language: str) -> Iterator[dict[str, Any]]:
    """The labelled messages of a language, in the order of files and lines."""
    for path in sorted(TAUGHT.glob(f"{language}*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            yield {"times": TIMES if path.stem.endswith(BARE) else 1, **json.loads(line)}


def fingerprint(language: str) -> str:
    """What a pack is made of, as a hash: the messages or lines, and the version of the features."""
    version = f"{classify.VERSION}.{line_reader.VERSION}" if language == LINES else f"{classify.VERSION}"
    body = "\n".join(json.dumps(line, ensure_ascii=False, sort_keys=True) for line in lines(language))
    return hashlib.sha256(f"{version}\n{body}".encode()).hexdigest()[:16]


def taught(language: str) -> Taught:
    """Read what is taught of a language. A message that stands twice counts once."""
    if language == LINES:
        return taught_lines()
    seen, messages = set[str](), []
    for line in lines(language):
        sentences = [one["text"] for one in line["sentences"]]
        if (key := "\n".join(sentences).lower()) not in seen:
            seen.add(key)
            messages += [(sentences, [one["label"] for one in line["sentences"]])] * line["times"]
    random.Random(1).shuffle(messages)
    counted = Counter(word for sentences, _ in messages for one in sentences for word in set(classify.tokens(one)))
    common = sorted(word for word, _ in counted.most_common(COMMON))
    result = Taught([], [], [], common, list(words_of_forgetting(messages)), [])
    if language not in NOUNS:
        result.names.extend(names_in(messages))
    for number, (sentences, labels) in enumerate(messages):
        acts = [label.partition(":")[0] for label in labels]
        for at, label in enumerate(labels):
            result.found.append(classify.features(sentences, at, acts[:at], frozenset(common)))
            result.labels.append(label)
            result.messages.append(number)
    return result


def names_in(messages: Iterable[tuple[list[str], list[str]]]) -> list[str]:
    """The words that are far oftener written with a capital than without."""
    capital, small = Counter[str](), Counter[str]()
    for sentence in (one for sentences, _ in messages for one in sentences):
        for word in re.findall(r"[^\W\d_]{2,}", sentence):
            (capital if word[0].isupper() else small)[word.lower()] += 1
    return sorted(word for word, count in capital.items() if count > NAMED * small[word])


def words_of_forgetting(messages: Iterable[tuple[list[str], list[str]]]) -> Iterator[str]:
    """The words, in Chinese and Japanese runs of characters, that wishes to forget have far oftener than the rest."""
    everywhere, asked, counts = Counter[str](), Counter[str](), Counter[bool]()
    for sentences, labels in messages:
        for sentence, label in zip(sentences, labels, strict=True):
            words = set(classify.parts(sentence))
            everywhere.update(words)
            counts[label == "forget"] += 1
            if label == "forget":
                asked.update(words)
    often = LIFT * counts[True] / counts.total()
    for word, count in sorted(asked.items()):
        least = RUN_SEEN if classify.is_wide(word) else SEEN
        is_thing = any(one in THINGS for one in (word, *(word if classify.is_wide(word) else ())))
        if word[0].isalnum() and not is_thing and count >= max(least, often * everywhere[word]):
            yield word


def taught_lines() -> Taught:
    """Read the labelled lines of all languages; one that stands twice counts once."""
    rows = list({(one["line"], one["heading"]): one for one in lines(LINES)}.values())
    random.Random(1).shuffle(rows)
    found = [line_reader.line_features(one["line"], one["heading"]) for one in rows]
    return Taught(found, [one["label"] for one in rows], list(range(len(rows))), [], [], [])


def learn(found: Iterable[set[str]], labels: list[str]) -> tuple[Any, Any]:
    """Return the vectorizer and the classifier."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    columns = DictVectorizer()
    matrix = columns.fit_transform([dict.fromkeys(sorted(one), 1.0) for one in found])
    matrix.indices, matrix.indptr = matrix.indices.astype("int32"), matrix.indptr.astype("int32")
    one = LogisticRegression(C=STRENGTH, solver="liblinear", dual=True, max_iter=300, random_state=1, tol=1e-3)
    return columns, OneVsRestClassifier(one).fit(matrix, labels)


def weights_of(columns: Any, classifier: Any) -> dict[str, list[float]]:
    """The weights of each feature, by label; of `always` those that every sentence has."""
    table = {"always": [float(one.intercept_[0]) for one in classifier.estimators_]}
    coefficients = [one.coef_[0] for one in classifier.estimators_]
    heavy = [(max(abs(row[n]) for row in coefficients), name) for name, n in columns.vocabulary_.items()]
    kept = sorted((weight, name) for weight, name in heavy if weight >= LEAST)[-MOST:]
    for _, name in sorted(kept, key=lambda pair: pair[1]):
        n = columns.vocabulary_[name]
        table[name] = [float(row[n]) for row in coefficients]
    return table


def letter(weight: float) -> str:
    """A weight as a letter."""
    return chr(max(33, min(126, classify.ZERO + round(weight / classify.STEP))))


def as_pack(data: Taught) -> classify.Pack:
    """Learn from these sentences."""
    columns, classifier = learn(data.found, data.labels)
    table = weights_of(columns, classifier)
    letters = {name: "".join(map(letter, row)).encode() for name, row in table.items()}
    labels = tuple(map(str, classifier.classes_))
    return classify.Pack(labels, frozenset(data.common), frozenset(data.forgetting), frozenset(data.names), letters)


def write(language: str, data: Taught) -> None:
    """Write the pack of a language."""
    made = as_pack(data)
    body = {
        "language": language,
        "made_of": fingerprint(language),
        "labels": made.labels,
        "common": sorted(made.common),
        "forgetting": sorted(made.forgetting),
        "names": sorted(made.names),
        "weights": {name: letters.decode() for name, letters in made.weights.items()},
    }
    text = json.dumps(body, ensure_ascii=False, indent=0)
    (PACKS / f"{language}.json").write_text(text + "\n", encoding="utf-8")
    print(f"{language}: {len(data.labels)} sentences, {len(made.weights)} features, {len(text) // 1000} kB", flush=True)


def write_words() -> None:
    """Write which languages with Latin letters have a word among their common ones, where that tells them apart."""
    found: dict[str, list[str]] = {}
    for language in classify.LATIN:
        for word in classify.pack(language).common:
            if word.isalpha() or "'" in word:
                found.setdefault(word, []).append(language)
    telling = {word: codes for word, codes in sorted(found.items()) if len(codes) <= 2}
    (PACKS / "words.json").write_text(json.dumps(telling, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


def _made_of(language: str) -> str:
    path = PACKS / f"{language}.json"
    return str(json.loads(path.read_text(encoding="utf-8"))["made_of"]) if path.exists() else ""


def fold(data: Taught, parts: int = 4) -> Iterator[str]:
    """Tell how well it learns, as a pack: precision and recall of what lasts, and the share of right kinds."""
    counts = Counter[str]()
    for part in range(parts):
        inside = [n for n, message in enumerate(data.messages) if message % parts != part]
        made = as_pack(data._replace(found=[data.found[n] for n in inside], labels=[data.labels[n] for n in inside]))
        for n, message in enumerate(data.messages):
            if message % parts == part:
                shares = dict(zip(made.labels, made.probabilities(data.found[n]), strict=True))
                act, _, kind = data.labels[n].partition(":")
                if set(made.labels) >= set(line_reader.LASTING):
                    best = max(shares, key=shares.__getitem__)
                    read = classify.Reading(best, best, sum(shares[one] for one in line_reader.LASTING))
                    wanted = act if act in line_reader.LASTING else ""
                else:
                    read = classify._reading(shares)
                    wanted = (kind or act) if (kind or act) in classify.LASTING else ""
                kept = read.lasting >= 0.5
                counts["sentences"] += 1
                counts["acts"] += read.act == act
                counts["wanted"] += bool(wanted)
                counts["kept"] += kept
                counts["both"] += bool(wanted) and kept
                counts["kinds"] += bool(wanted) and kept and read.kind in (wanted, wanted.replace("rule", "preference"))
    yield f"{counts['sentences']:,} sentences, act {counts['acts'] / counts['sentences']:.3f}"
    yield f"precision {counts['both'] / counts['kept']:.3f} recall {counts['both'] / counts['wanted']:.3f}"
    yield f"kind {counts['kinds'] / counts['both']:.3f}"


if __name__ == "__main__":
    sys.exit(main())
