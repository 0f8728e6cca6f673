"""What is measured of a memory that lies on a server, for docs/benchmarks.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .measure import Measure
from .speeds import items

Figures = dict[str, Any]
GOALS = {"search": 1.3, "durable change, agent": 1.5}
"""Of the same work in bare SQL, at a million items."""


def server_speed(found: Figures) -> Iterator[Measure]:
    """A search, a durable change and an opening beside the bare SQL of the same work."""
    for count, rows in found.items():
        if not count.isdigit():
            continue
        for name, row in rows.items():
            if "of bare" in row:
                yield Measure(
                    f"{name}, {items(count)}",
                    row["ms"],
                    floor={"bare SQL": row["bare ms"]},
                    of="bare SQL",
                    by_turn=row["of bare"],
                    most=GOALS.get(name) if int(count) >= 1_000_000 else None,
                    picture="server" if name in GOALS else "",
                    label=f"{name}, {items(count)}",
                )


def shared_store(found: Figures) -> Iterator[Measure]:
    """Two consoles, three agents and a schedule of Dreams on one server, which is killed twice."""
    yield Measure(f"lost of {found['remembered']:,} that agents were told to remember", found["lost"], "", goal=0.0)
    yield Measure("the same, doubled", found["doubled"], "", goal=0.0)
    what = f"{found['operations']:,} operations, {found['Dreams']} Dreams, undo and redo"
    yield Measure(f"what else is not as it must be: {what}", float(len(found["failed"])), "", goal=0.0)
    yield Measure("a turn of an agent, median", found["turn ms"]["p50"])
    yield Measure("the same, the slowest of a hundred", found["turn ms"]["p99"])


def fleet(found: Figures) -> Iterator[Measure]:
    """A thousand agents' turns on one server, which is killed once."""
    yield Measure(f"turns a second of {found['agents']:,} agents", found["turns a second"], "", at_least=True)
    for name, ours, bare in (
        ("recall", "recall ms", "bare full-text SELECT ms"),
        ("the begin of a turn", "begin of a turn ms", "bare full-text SELECT ms"),
        ("the end of a turn with a durable write", "durable write ms", "bare INSERT and COMMIT ms"),
        ("a change of a person", "change of a person ms", "bare INSERT and COMMIT ms"),
    ):
        for part, words in (("p50", "median"), ("p99", "the slowest of a hundred")):
            floor = {"bare SQL": found[bare][part]}
            yield Measure(f"{name}, {words}", found[ours][part], floor=floor, of="bare SQL", picture="fleet")
    met = f"conflicts of {found['changes of a person']:,} changes of one item by two people"
    yield Measure(met, found["conflicts"], "")
    away = f"{found['durable writes while it was away']:,} of them while the server was away"
    yield Measure(f"lost of {found['operations']:,} acknowledged, {away}", found["lost"], "", goal=0.0)
    yield Measure("doubled", found["doubled"], "", goal=0.0)
