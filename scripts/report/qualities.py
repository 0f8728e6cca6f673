"""What the programs that count found, as measures: what recall finds, what pairs are right, what is lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .measure import Measure, some

Figures = dict[str, Any]
SHARE = "share"
FTS5 = "FTS5 porter"
TURNS = {"R@5": 0.68, "R@10": 0.76, "R@20": 0.81, "MRR": 0.60}
HYBRID = {"R@5": 0.71, "R@10": 0.79, "R@20": 0.84, "MRR": 0.62}


def recall(found: Figures) -> Iterator[Measure]:
    """LoCoMo and CMRC by words alone."""
    if "locomo" in found:
        rows = found["locomo"]["turns"]
        yield from _metrics(rows, "nanomem, ordered", "LoCoMo turns", TURNS, "recall")
        ms = _column(rows, "ms")
        yield Measure("LoCoMo turns, a question", ms["nanomem, ordered"], "ms", peers=_others(ms), of=FTS5, most=0.3)
        for name, goal in (("hit@5", 0.94), ("hit@10", 0.97)):
            yield Measure(
                f"LoCoMo sessions with any evidence, {name}",
                found["locomo"]["sessions"][name],
                SHARE,
                goal=goal,
                at_least=True,
            )
        lost = found["locomo"]["lost by a slip"]
        yield Measure(
            "R@10 that one slip in each question loses",
            lost["nanomem, ordered"],
            SHARE,
            peers=some(lost, FTS5),
            of=FTS5,
            goal=0.03,
        )
    if "cmrc" in found:
        yield from _metrics(
            found["cmrc"]["sentences"], "nanomem, facts", "CMRC, Chinese sentences", {"R@10": 0.89}, "recall"
        )
        yield from _metrics(
            found["cmrc"]["two characters"], "nanomem, facts", "two Chinese characters", {"hit@10": 1.0}, "recall"
        )


def transcripts(found: Figures) -> Iterator[Measure]:
    """LoCoMo as transcripts, asked through the product's own path."""
    goals = {"R@5": None, "R@10": 0.80, "R@20": None, "MRR": None}
    beside = {"nanomem, memory_recall": "memory_recall", "nanomem, with names": "with the names of speakers"}
    yield from _metrics(found["turns"], "nanomem, transcripts", "LoCoMo as transcripts", goals, "", beside)
    words = {
        "there": "questions whose block has an older turn of evidence",
        "useful": "older turns given that are evidence",
        "nothing": "messages that need none and get none",
    }
    for name, what in words.items():
        yield Measure(what, found["block"][name], SHARE, at_least=True)


def vectors(found: Figures) -> Iterator[Measure]:
    """Words and meaning, and the nearest vectors."""
    if "locomo" in found:
        rows = found["locomo"]["turns"]
        yield from _metrics(
            rows,
            "nanomem, hybrid",
            "LoCoMo turns by words and meaning",
            HYBRID,
            "meaning",
            beside={"nanomem, ordered": "words alone"},
        )
        yield from _metrics(
            rows,
            "nanomem, facts, hybrid",
            "the same as facts that stand alone",
            dict.fromkeys(HYBRID),
            "",
            beside={"nanomem, facts": "words alone"},
        )
        for name, goal in (("hit@5", 0.94), ("hit@10", 0.97)):
            yield Measure(
                f"LoCoMo sessions by words and meaning, {name}",
                found["locomo"]["sessions"][name],
                SHARE,
                goal=goal,
                at_least=True,
            )
    search = found["search"]
    yield Measure(
        f"the ten nearest of {found['facts']:,}",
        search["ours"],
        floor={"bare numpy": search["numpy"]},
        peers=some(search, "Chroma", "sqlite-vec"),
        of="bare numpy",
        most=1.2,
        picture="nearest",
        label=f"the ten nearest of {found['facts']:,}",
    )
    add = found["add"]
    yield Measure(
        "a fact added and found by its meaning",
        add["add"],
        floor={"its embedding": add["embedding"]},
        of="its embedding",
        most=1.2,
    )


def knowledge(found: Figures) -> Iterator[Measure]:
    """Right sections of man pages."""
    for name, goal in (("keywords", 45.0), ("questions", 40.0)):
        yield Measure(
            f"right section in the first three of 50, {name}",
            found[f"{name} R@3 of 50"],
            "",
            peers={FTS5: found[f"{name} FTS5 porter R@3"]},
            of=FTS5,
            goal=goal,
            at_least=True,
        )
    yield Measure("a search", found["search, median ms"])


def pairs(found: Figures) -> Iterator[Measure]:
    """All pairs of a store, and labelled ones; for duplicates and conflicts."""
    ours = found["ours"]
    goals = (20.0, 0.5) if "floor" in found else (None, None)
    yield Measure(f"all of {ours['items']:,} items, from nothing", ours["all_s"], "s", goal=goals[0])
    yield Measure("again after a change", ours["again_s"], "s", goal=goals[1])
    if "floor" in found:
        floor = found["floor"]
        yield Measure(
            f"all of {floor['items']:,} items",
            found["ours_small"]["all_s"],
            "s",
            floor={"rapidfuzz over all pairs": floor["all_s"]},
            of="rapidfuzz over all pairs",
        )
    row = found["quality"]["held_out"]
    goal = 0.98 if "floor" in found else None
    yield Measure(
        f"precision on {row['pairs']} labelled pairs not seen before", row["precision"], SHARE, goal=goal, at_least=True
    )
    yield Measure("recall on the same", row["recall"], SHARE, at_least=True)


def writing(found: Figures) -> Iterator[Measure]:
    """What turns keep of labelled messages."""
    goals = {"en": (0.95, 0.93, 0.93), "zh": (0.95, 0.93, 0.93), "others": (0.85, 0.85, 0.85)}
    shares = (("wanted ones kept", "wanted"), ("kept ones wanted", "kept"), ("right kind", "wanted ones kept"))
    for half, languages in found["found"]["messages"].items():
        for language, limits in goals.items():
            counts = languages[language]
            for (name, of), goal in zip(shares, limits, strict=True):
                share = counts[name] / counts[of] if counts[of] else 0.0
                what = f"{half}, {language}: {name} (of {counts[of]})"
                yield Measure(what, share, SHARE, goal=goal, at_least=True)
        counts = languages["all"]
        rest = {"older given up": "replaced", "stays": "to stay", "forgotten": "to forget", "taught": "to teach"}
        for name, of in rest.items():
            yield Measure(f"{half}: {name} (of {counts[of]})", counts[name] / (counts[of] or 1), SHARE, at_least=True)
    for part, name, of, goal in (
        ("archive", "accepted", "edits", 0.85),
        ("archive", "beside the old line", "edits", None),
        ("archive", "right fact, wrong place", "edits", None),
        ("archive", "left", "lines worth nothing", None),
        ("notes", "memories accepted", "memories", 0.85),
        ("notes", "wanted notes kept", "wanted notes", None),
        ("pairs", "right", "pairs", None),
        ("pairs", "newer right", "told newer", None),
        ("evidence", "known as said", "said lines", None),
    ):
        for half, languages in found["found"].get(part, {}).items():
            counts = languages["all"]
            what = f"{part}, {half}: {name} (of {counts[of]})"
            yield Measure(what, counts[name] / (counts[of] or 1), SHARE, goal=goal, at_least=True)


def desk(found: Figures) -> Iterator[Measure]:
    """What the curation desk offers of labelled memories."""
    goals = {"duplicates": 0.95, "conflicts": 0.90, "asked about": 0.90}
    for half, counts in found["found"].items():
        for part, goal in goals.items():
            right, offered, wanted = (counts[f"{part} {one}"] for one in ("right", "offered", "wanted"))
            what = f"{part}, {half}"
            yield Measure(f"{what}: right (of {offered})", right / (offered or 1), SHARE, goal=goal, at_least=True)
            yield Measure(f"{what}: found (of {wanted})", right / (wanted or 1), SHARE, at_least=True)


def trust(found: Figures) -> Iterator[Measure]:
    """What was lost or got through, of what was tried."""
    named = found["named"]
    for harm, counts in found["lost"].items():
        tried = counts["nanomem"][0]
        peers = {name: 100 * lost / of for name, (of, lost) in counts.items() if name != "nanomem"}
        yield Measure(
            f"{named[harm]} ({tried:,} tried)",
            100 * counts["nanomem"][1] / tried,
            "%",
            peers=peers,
            goal=0.0,
            picture="trust" if peers else "",
            label=named[harm],
        )


def soak(found: Figures) -> Iterator[Measure]:
    """Half an hour of a console, an agent, the engine and the service on one store."""
    for name, (told, lost) in found["told and lost"].items():
        yield Measure(f"{name}: lost of {told:,} told", lost, "", goal=0.0)
    ours = [held["max"] for name, held in found["locks held ms"].items() if not name.startswith("agent:")]
    yield Measure("the longest time that one of ours held a lock", max(ours), "ms", goal=50.0)
    for name, grown in found["resident MB"].items():
        yield Measure(
            f"memory of {name}, the last third of the time",
            grown["last third"],
            "MB",
            floor={"the second third": grown["second third"]},
            of="the second third",
        )


def _metrics(
    rows: list[Figures], ours: str, what: str, goals: Figures, picture: str, beside: dict[str, str] | None = None
) -> Iterator[Measure]:
    """One measure a metric; `beside`: what stands first among the others, ours in another way."""
    for metric, goal in goals.items():
        column = _column(rows, metric)
        first = {words: column[name] for name, words in (beside or {}).items() if name in column}
        yield Measure(
            f"{what}, {metric}",
            column[ours],
            SHARE,
            peers={**first, **_others(column)},
            of=FTS5,
            goal=goal,
            at_least=True,
            picture=picture,
            label=f"{what}, {metric}",
        )


def _column(rows: Iterable[Figures], metric: str) -> dict[str, float]:
    return {row["engine"]: row[metric] for row in rows}


def _others(column: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in column.items() if not name.startswith("nanomem")}
