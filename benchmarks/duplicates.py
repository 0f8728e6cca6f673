"""How long it takes to find the duplicates among n items, beside rapidfuzz.process.cdist over all pairs.

    python benchmarks/duplicates.py [--n 100000] [--floor 5000] [--json FILE]

Items are made of what people tell agents, some with other values, some in other words: one in ten is told again.
`all` is every cluster from nothing, `again` after one item was written, `floor` all pairs of fewer items, compared by
letters alone, as many as take seconds; beside it ours on the same items. All of it is processor time. Quality on the
labelled pairs is told too: what is offered, right and found; the first half taught the judge, the other did not.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rapidfuzz import fuzz, process

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.review.duplicates import Duplicates, is_same
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.values import Item

PAIRS = Path(__file__).resolve().parents[1] / "tests" / "review" / "pairs"
GOAL_ALL, GOAL_AGAIN = 20.0, 0.5
"""Seconds of processor time, at 100,000 items."""
SEED = 7
NAMES = (
    "Ana Ben Clara Dmitri Elif Farid Grace Hiro Ines Jonas Kim Lena Marta Nils Omar Priya Ravi Sofia Tom Wei".split()
)
CITIES = "Lisbon Porto Graz Linz Kyoto Osaka Oslo Bergen Leiden Ghent Turin Parma Cork Perth Quito Lima".split()
THINGS = (
    "green tea|black coffee|window seats|dark mode|short answers|metric units|night trains|code review|unit tests|"
    "paper books|cold brew|long walks|spicy food|oat milk|standing desks|weekly summaries|quiet rooms|early meetings"
).split("|")
TOOLS = "postgres redis nginx terraform ansible grafana kafka sqlite django fastapi vue svelte rust go".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
CHINESE = "绿茶 咖啡 跑步 爬山 古典音乐 科幻小说 编程 摄影 钓鱼 围棋".split()


def texts(n: int, seed: int = SEED) -> Iterator[str]:
    """So many texts; every tenth is one of the last thousand, in other words or in other letters."""
    pick = random.Random(seed)
    made: list[str] = []
    while len(made) < n:
        if made and len(made) % 10 == 9:
            text = _again(pick, made[-pick.randint(1, min(1_000, len(made)))])
        else:
            text = _new(pick)
        made.append(text)
        yield text


def _new(pick: random.Random) -> str:
    name, city, thing = pick.choice(NAMES), pick.choice(CITIES), pick.choice(THINGS)
    tool, day, number = pick.choice(TOOLS), pick.choice(DAYS), pick.randint(2, 9_999)
    ways: tuple[Callable[[], str], ...] = (
        lambda: f"{name} from {city} prefers {thing} over {pick.choice(THINGS)} when the week of {day} is busy",
        lambda: f"Ticket {pick.choice('ABCDEF')}{number}: {tool} in {city} is slow every {day} after the backup",
        lambda: f"User wants {thing} and {pick.choice(THINGS)} whenever {name} visits from {city}",
        lambda: f"The {tool} host of the {city} office listens on port {number} and is looked after by {name}",
        lambda: f"{name}'s birthday is on day {number % 28 + 1} of month {number % 12 + 1}, party in {city}",
        lambda: (
            f"{name} moved {tool} to {pick.choice(TOOLS)} because the {city} team of {number % 40 + 2} asked for it"
        ),
        lambda: f"用户每{'周月年'[number % 3]}在{city}和{name}一起{pick.choice(CHINESE)}，喜欢{pick.choice(CHINESE)}",
    )
    return pick.choice(ways)()


def _again(pick: random.Random, text: str) -> str:
    ways: tuple[Callable[[str], str], ...] = (
        str.lower,
        lambda text: f"{text}.",
        lambda text: f"Remember that {text}",
        lambda text: text.replace("the ", ""),
        lambda text: text.replace("User ", "The user "),
        lambda text: text.replace(" is ", " isn't "),
        lambda text: text.replace("2", "7"),
        lambda text: f"{text} for now",
    )
    return pick.choice(ways)(text)


def items(n: int) -> list[Item]:
    """So many items of one scope."""
    now = clock.iso(clock.now())
    return [
        Item(f"ltm_{at}", text, scope_key="global:bench", created_at=now, updated_at=now)
        for at, text in enumerate(texts(n))
    ]


def filled(n: int, folder: Path) -> MemoryStore:
    """A store with so many items in RAM."""
    store = open_workspace(folder).store
    store.load("item").put("item", items(n))
    return store


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of processor time, and what came out: both sides keep one core busy and wait for nothing."""
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def measured(n: int) -> dict[str, Any]:
    """Ours at one size: seconds from nothing and after one change, megabytes, clusters."""
    with tempfile.TemporaryDirectory() as folder:
        store = filled(n, Path(folder))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        duplicates = Duplicates(store, dict, lambda operation: operation)
        first, clusters = timed(duplicates.clusters)
        more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        again = []
        for number in range(5):
            row = store.snapshot.items[f"ltm_{number * 7}"]
            store.snapshot.put("item", [row._replace(text=f"{row.text} and tea")])
            again.append(timed(duplicates.clusters)[0])
    return {
        "items": n, "all_s": round(first, 2), "again_s": round(sorted(again)[2], 3), "memory_mb": round(more / 1024),
        "clusters": len(clusters), "sure": sum(one.sure for one in clusters),
    }  # fmt: skip


def floor(n: int) -> dict[str, Any]:
    """All pairs of so many items by letters alone."""
    keys = [text.casefold() for text in texts(n)]

    def work() -> int:
        found = process.cdist(keys, keys, scorer=fuzz.ratio, score_cutoff=72, dtype=np.uint8, workers=1)
        return int((found > 0).sum() - n) // 2

    seconds, pairs = timed(work)
    return {"items": n, "all_s": round(seconds, 2), "pairs": pairs}


def quality(half: str) -> dict[str, Any]:
    """Of the labelled pairs of one half: how much of what is offered is right, and how much is found."""
    rows = [line.split("\t") for line in (PAIRS / f"{half}.tsv").read_text("utf-8").splitlines() if line[:1] != "#"]
    offered = [label for label, _, one, other in rows if is_same(one, other)]
    wanted = sum(label == "same" for label, *_ in rows)
    right = offered.count("same")
    return {
        "pairs": len(rows), "offered": len(offered), "precision": round(right / max(len(offered), 1), 3),
        "recall": round(right / wanted, 3),
    }  # fmt: skip


def main() -> None:
    """Measure, print, and keep as JSON where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--floor", type=int, default=5_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found: dict[str, Any] = {
        "seed": SEED,
        "runs": 1,
        "ours": measured(options.n),
        "ours_small": measured(options.floor),
        "floor": floor(options.floor),
        "quality": {half: quality(half) for half in ("development", "held_out")},
    }
    pairs = (options.n / options.floor) ** 2
    print(f"{'':34}{'items':>9}{'all':>10}{'again':>10}{'memory':>9}{'clusters':>10}")
    for name, row in (("duplicates", found["ours"]), ("duplicates", found["ours_small"])):
        told = f"{row['items']:>9,}{row['all_s']:>8.2f} s{row['again_s']:>8.3f} s{row['memory_mb']:>6} MB"
        print(f"{name:34}{told}{row['clusters']:>10,}")
    least = found["floor"]
    print(f"{'rapidfuzz cdist, all pairs':34}{least['items']:>9,}{least['all_s']:>8.2f} s")
    print(f"{'  at the larger size it would take':34}{options.n:>9,}{least['all_s'] * pairs:>8.0f} s")
    print(f"goals at 100,000: {GOAL_ALL:.0f} s from nothing, {GOAL_AGAIN} s after a change")
    for half, row in found["quality"].items():
        print(
            f"labelled pairs, {half}: precision {row['precision']:.3f} of {row['offered']}, recall {row['recall']:.3f}"
        )
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
