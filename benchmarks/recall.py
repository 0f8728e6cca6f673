"""How well recall finds what was told: ours beside FTS5, tantivy and a peer, in one run, on the reader's own data.

    python benchmarks/recall.py --locomo locomo10.json --cmrc cmrc2018_dev.json [--more FILE] [--json FILE] [--quick]

The data sets are not part of this repository (LoCoMo by snap-research, CC BY-NC 4.0; CMRC 2018 by ymcui, CC BY-SA 4.0);
paths also come from NANOMEM_LOCOMO and NANOMEM_CMRC. `tantivy`, `rank_bm25` and the peers taosmd and mem0 (`make
peer`) are measured where they are installed; who is not is named, in the JSON too. The peers embed every text anew and
read every vector for a question, so that they are asked only some of the Chinese questions, evenly spread; the row says
how many. `--more` (or NANOMEM_RECALL): a file of `sets`, each of `documents` (id, text, session, speaker, time) and
`queries` (question, groups of ids): those named after a language are single facts, the others chats of a person and an
agent (XQuAD, BEAM); bm25s is measured there where it is installed.
`--quick`: two conversations, fewer Chinese questions, no peer.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from adapters import (
    ENGINES,
    STOP,
    Bm25s,
    DocumentItem,
    FullTextPorter,
    FullTextTrigrams,
    FullTextUnicode,
    Nanomem,
    NanomemChats,
    NanomemFacts,
    Tantivy,
)

EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
PEER_QUESTIONS = 200
SEED = 7
GOALS = {"R@5": 0.68, "R@10": 0.76, "R@20": 0.81, "MRR": 0.60}


# -- data -------------------------------------------------------------------------------------------------------------


def locomo(path: Path) -> list[dict[str, Any]]:
    """The conversations: documents are turns; queries are those of categories 1 to 4 that name their evidence."""
    found = []
    for sample in json.loads(path.read_text(encoding="utf-8")):
        talk = sample["conversation"]
        documents: list[DocumentItem] = []
        for name in sorted((n for n in talk if re.fullmatch(r"session_\d+", n) and talk[n]), key=lambda n: int(n[8:])):
            moment = datetime.strptime(talk[f"{name}_date_time"].strip(), "%I:%M %p on %d %B, %Y").timestamp()
            for turn in talk[name]:
                shared = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
                meta = {"session": name[8:], "speaker": turn["speaker"], "ts": moment}
                documents.append((turn["dia_id"], f"{turn['speaker']}: {turn.get('text', '')}{shared}", meta))
        known = {key for key, _, _ in documents}
        queries = []
        for asked in sample["qa"]:
            named = [f"D{int(a)}:{int(b)}" for e in asked.get("evidence") or [] for a, b in EVIDENCE.findall(e)]
            gold = [{key} for key in dict.fromkeys(named) if key in known]
            if gold and asked["category"] != 5:
                queries.append((asked["question"], gold, {key[1:].split(":")[0] for key in named}))
        found.append({"documents": documents, "queries": queries})
    return found


def cmrc(path: Path) -> list[dict[str, Any]]:
    """One collection of Chinese sentences; gold is the sentence that holds the answer."""
    documents: list[DocumentItem] = []
    queries = []
    for article, body in enumerate(json.loads(path.read_text(encoding="utf-8"))["data"]):
        for paragraph in body["paragraphs"]:
            context, spans = paragraph["context"], []
            for match in re.finditer(r"[^。！？；!?;\n]+[。！？；!?;]?", context):
                key = f"{article}:{len(documents)}"
                spans.append((match.start(), match.end(), key))
                documents.append((key, match.group().strip(), {"session": article}))
            for asked in paragraph["qas"]:
                starts = [context.find(answer["text"]) for answer in asked["answers"]]
                gold = {key for first, last, key in spans if any(first <= start < last for start in starts)}
                if gold:
                    queries.append((asked["question"], [gold], {str(article)}))
    return [{"documents": documents, "queries": queries}]


def two_characters(collections: list[dict[str, Any]], count: int = 500) -> list[dict[str, Any]]:
    """The same sentences asked for by two characters that few of them hold."""
    documents = collections[0]["documents"]
    holders: dict[str, set[str]] = {}
    for key, text, _ in documents:
        for run in re.findall(r"[\u4e00-\u9fff]{2,}", text):
            for at in range(len(run) - 1):
                holders.setdefault(run[at : at + 2], set()).add(key)
    rare = sorted(word for word, keys in holders.items() if len(keys) <= 5)
    chosen = random.Random(1).sample(rare, min(count, len(rare)))
    return [{"documents": documents, "queries": [(word, [holders[word]], set()) for word in chosen]}]


def misspelt(query: str, chance: random.Random) -> str:
    """The question with one slip in one of its longer words."""
    places = [match.span() for match in re.finditer(r"[A-Za-z]{4,}", query) if match.group().lower() not in STOP]
    if not places:
        return query
    start, end = chance.choice(places)
    at = chance.randrange(start + 1, end - 1)
    letter = chance.choice("abcdefghijklmnopqrstuvwxyz")
    kind = chance.randrange(4)
    changed = (letter, "", query[at + 1] + query[at], letter + query[at])[kind]
    return query[:at] + changed + query[at + (2 if kind == 2 else 1) :]


# -- measuring --------------------------------------------------------------------------------------------------------


def measure(
    make: Callable[[], Any], collections: list[dict[str, Any]], *, slips: bool = False, most: int = 0
) -> dict[str, Any]:
    """R@5, R@10, R@20, hit@10, MRR, the median milliseconds of a search, and how many questions that is of.

    `slips`: one in each question. `most`: of each collection at most that many questions, evenly spread; 0: all.
    """
    sums, count, times = dict.fromkeys(("R@5", "R@10", "R@20", "hit@10", "MRR"), 0.0), 0, []
    chance, name = random.Random(SEED), ""
    for collection in collections:
        engine = make()
        name = engine.name
        engine.index(collection["documents"])
        queries = collection["queries"]
        for query, _, _ in queries[:3]:
            engine.search(query, 20)
        for query, gold, _ in queries[:: -(-len(queries) // most)] if most else queries:
            asked = misspelt(query, chance) if slips else query
            started = time.perf_counter()
            found = list(engine.search(asked, 20))
            times.append((time.perf_counter() - started) * 1000)
            ranks = [min((found.index(key) for key in one if key in found), default=99) for one in gold]
            for k in (5, 10, 20):
                sums[f"R@{k}"] += sum(rank < k for rank in ranks) / len(ranks)
            sums["hit@10"] += min(ranks) < 10
            sums["MRR"] += 1 / (min(ranks) + 1) if min(ranks) < 20 else 0.0
            count += 1
        getattr(engine, "close", lambda: None)()
    figures = {name: value / count for name, value in sums.items()}
    return {"engine": name, **figures, "ms": statistics.median(times), "questions": count}


def sessions_found(collections: list[dict[str, Any]]) -> dict[str, float]:
    """How often a session with any evidence is among the first five and ten."""
    hits, count = {5: 0, 10: 0}, 0
    for collection in collections:
        engine = Nanomem()
        engine.index(collection["documents"])
        for query, _, gold in collection["queries"]:
            found = [session for session, _ in engine.recall.sessions(query, 10)]
            count += 1
            for k in hits:
                hits[k] += bool(set(found[:k]) & gold)
    return {f"hit@{k}": value / count for k, value in hits.items()}


def compare(
    title: str,
    collections: list[dict[str, Any]],
    columns: tuple[str, ...],
    left_out: dict[str, str],
    *,
    peer: int | None = None,
    engines: Sequence[Callable[[], Any]] = ENGINES,
) -> list[dict[str, Any]]:
    """One table: every engine that is installed, times as ratios to FTS5's. `peer`: the questions for one that is
    slow (0: all; None: it is not asked). Who is not there comes into `left_out`, with the reason."""
    print(f"\n{title}\n{'engine':24s}" + "".join(f"{name:>8s}" for name in columns) + f"{'of FTS5':>10s} questions")
    rows = []
    for engine in engines:
        slow = getattr(engine, "slow", False)
        if slow and peer is None:
            continue
        try:
            rows.append(measure(engine, collections, most=peer or 0 if slow else 0))
        except ImportError as missing:
            left_out[engine.name] = str(missing)
            print(f"{engine.name:24s} left out: {missing}")
    base = next(row["ms"] for row in rows if row["engine"] == FullTextPorter.name)
    for row in rows:
        row["of FTS5"] = row["ms"] / base
        figures = "".join(f"{row[column]:8.3f}" for column in columns)
        print(f"{row['engine']:24s}{figures}{row['of FTS5']:9.2f}x {row['questions']:9d}", flush=True)
    return rows


def english(talks: list[dict[str, Any]], peer: int | None, left_out: dict[str, str]) -> dict[str, Any]:
    """What is measured on LoCoMo."""
    turns = compare("LoCoMo turns, categories 1 to 4", talks, ("R@5", "R@10", "R@20", "MRR"), left_out, peer=peer)
    print("goal" + " " * 20 + "".join(f"{goal:8.3f}" for goal in GOALS.values()))
    sessions = sessions_found(talks)
    print(
        f"\nsessions with any evidence: hit@5 {sessions['hit@5']:.3f} (goal .94), hit@10 {sessions['hit@10']:.3f} (.97)"
    )
    print("\none slip in each question, R@10 that is lost (goal 3 %):")
    lost = {}
    for engine in (Nanomem, NanomemFacts, FullTextPorter):
        lost[engine.name] = 1 - measure(engine, talks, slips=True)["R@10"] / measure(engine, talks)["R@10"]
        print(f"{engine.name:24s}{lost[engine.name]:8.1%}", flush=True)
    return {"turns": turns, "sessions": sessions, "lost by a slip": lost}


def chinese(sentences: list[dict[str, Any]], peer: int | None, left_out: dict[str, str]) -> dict[str, Any]:
    """What is measured on CMRC."""
    title = "CMRC 2018, Chinese sentences (goal R@10 .89)"
    found = compare(title, sentences, ("R@5", "R@10", "R@20", "MRR"), left_out, peer=peer)
    pairs = compare("two characters (goal 1)", two_characters(sentences), ("hit@10",), left_out)
    return {"sentences": found, "two characters": pairs}


STEMMERS = {"ru": "russian", "ar": "arabic", "tr": "turkish", "de": "german", "es": "spanish", "fr": "french"}


def more(path: Path, left_out: dict[str, str]) -> dict[str, Any]:
    """What is measured on other languages and on chats with an agent."""
    sets = json.loads(path.read_text(encoding="utf-8"))["sets"]
    chats: list[dict[str, Any]] = []
    found: dict[str, Any] = {}
    columns = ("R@5", "R@10", "R@20", "MRR")
    for name, body in sets.items():
        documents = [(key, text, _meta(*rest)) for key, text, *rest in body["documents"]]
        queries = [(asked, [set(gold) for gold in groups], set()) for asked, groups, *_ in body["queries"]]
        language = name.partition(".")[2]
        if not language:
            chats.append({"documents": documents, "queries": queries})
            continue
        stemmer = {"stemmer": STEMMERS.get(language, "")}
        peers: list[Any] = [type(one.__name__, (one,), stemmer) for one in (Bm25s, Tantivy)]
        engines = (NanomemFacts, FullTextPorter, FullTextUnicode, FullTextTrigrams, *peers)
        facts = [{"documents": documents, "queries": queries}]
        found[name] = compare(f"{name}, single facts", facts, columns, left_out, engines=engines)
    if chats:
        engines = (NanomemChats, NanomemFacts, FullTextPorter, FullTextUnicode, FullTextTrigrams, Bm25s, Tantivy)
        found["chats"] = compare("chats of a person and an agent", chats, columns, left_out, engines=engines)
    return found


def _meta(session: str = "", speaker: str = "", ts: float = 0.0) -> dict[str, Any]:
    return {"session": session, "speaker": speaker, "ts": ts}


def main() -> int:
    """Run what there is data for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--locomo", type=Path, default=os.environ.get("NANOMEM_LOCOMO") or None)
    parser.add_argument("--cmrc", type=Path, default=os.environ.get("NANOMEM_CMRC") or None)
    parser.add_argument("--more", type=Path, default=os.environ.get("NANOMEM_RECALL") or None)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    paths = {name: Path(path) for name in ("locomo", "cmrc", "more") if (path := getattr(given, name))}
    missing = [str(path) for path in paths.values() if not path.is_file()]
    if missing or not paths:
        print(f"no data: {', '.join(missing) or 'give --locomo and --cmrc, or NANOMEM_LOCOMO and NANOMEM_CMRC'}")
        return 2
    left_out: dict[str, str] = {}
    figures: dict[str, Any] = {"seed": SEED, "runs": 1, "quick": given.quick, "left out": left_out}
    if "locomo" in paths:
        talks = locomo(paths["locomo"])
        figures["locomo"] = english(talks[:2] if given.quick else talks, None if given.quick else 0, left_out)
    if "cmrc" in paths:
        sentences = cmrc(paths["cmrc"])
        if given.quick:
            sentences[0]["queries"] = sentences[0]["queries"][::5]
        figures["cmrc"] = chinese(sentences, None if given.quick else PEER_QUESTIONS, left_out)
    if "more" in paths:
        figures["more"] = more(paths["more"], left_out)
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
