"""What the programs that take times found, as measures. Owns their words, floors and goals; knows no page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .measure import Measure, some

Figures = dict[str, Any]
BARE, EMPTY, PASS = "bare Python", "an empty Textual app", "one pass over the rows"
FTS5, JSON_LINE = "FTS5 porter", "JSON and one write"


def items(count: str | int) -> str:
    """How many there were, as a label."""
    number = int(str(count).replace(",", ""))
    return f"{number // 1_000_000}M items" if number >= 1_000_000 else f"{number // 1000}k items"


def cli_start(found: Figures) -> Iterator[Measure]:
    """Starts of commands."""
    bare = {BARE: found["bare"]["wall_ms"]}
    goals = {"--version": 2.0, "memory status": 4.0, "memory search": 6.0, "recall": 21.0, "recall [vector]": 60.0}
    for name, goal in goals.items():
        if name not in found:  # the extra `vector` was not installed
            continue
        yield Measure(
            f"`nanomem {name}`, {found['items']:,} items",
            found[name]["wall_ms"],
            floor=bare,
            of=BARE,
            by_turn=found[name]["wall_ratio"],
            most=goal,
            picture="start",
            label=name,
        )


def console(found: Figures) -> Iterator[Measure]:
    """The console in a pseudo-terminal."""
    empty = {EMPTY: found["empty_start_ms"]}
    app = found.get("app_ms", found["app_ratio"] * found["empty_start_ms"])
    yield Measure(
        "start to the first rows",
        found["start_ms"],
        floor=empty,
        of=EMPTY,
        by_turn=found["start_ratio"],
        most=1.5,
        picture="console",
    )
    yield Measure(
        "start until the app itself answers",
        app,
        floor=empty,
        of=EMPTY,
        by_turn=found["app_ratio"],
        most=1.5,
        picture="console",
    )
    for what, name, unit, goal in (
        ("first frame", "first_frame_ms", "ms", 60.0),
        ("cursor down, key to frame, p50", "down_p50_ms", "ms", 5.0),
        ("cursor down, key to frame, p95", "down_p95_ms", "ms", 10.0),
        ("bytes for one cursor down, 80x24", "down_bytes", "bytes", 300.0),
        ("a typed letter of the filter, p50", "typed_p50_ms", "ms", 20.0),
        ("a typed letter of the filter, p95", "typed_p95_ms", "ms", 50.0),
        ("the first rows found for it, p50", "first_rows_p50_ms", "ms", 20.0),
        ("the first rows found for it, p95", "first_rows_p95_ms", "ms", 50.0),
        ("answer to Esc", "esc_ms", "ms", 30.0),
        ("quit", "quit_ms", "ms", 120.0),
        ("bytes in 5 idle seconds", "idle_bytes", "bytes", 0.0),
        ("processor while idle", "idle_cpu_percent", "%", 1.0),
        ("memory", "peak_mb", "MB", 250.0),
        ("memory with the inbox looked through", "inbox_mb", "MB", 250.0),
        ("bytes for one cursor down over SSH, thin, 80x24", "ssh_bytes", "bytes", 300.0),
        ("the same at 200x60", "ssh_wide_bytes", "bytes", 300.0),
        ("the same compressed, as `ssh -C` does, 80x24", "ssh_packed", "bytes", 30.0),
        ("the same compressed at 200x60", "ssh_wide_packed", "bytes", 30.0),
    ):
        if name in found:
            shown = "console" if unit == "ms" else ""
            yield Measure(what, found[name], unit, goal=goal, picture=shown)


def git_speed(found: Figures) -> Iterator[Measure]:
    """Versions of the memory files, on loose objects and packed ones."""
    goals = {"commit": ("nanobot", 0.3), "diff": ("nanobot", 0.05), "log": ("nanobot", 1.0)}
    goals |= {"blame cold": ("git", 20.0)}
    for layout in ("loose", "packed"):
        for name, row in found.get(layout, {}).items():
            other, most = goals.get(name, ("git", None))
            peers = {"git": row["git"], **({"nanobot-ai": row["nanobot"]} if "nanobot" in row else {})}
            floor = {"the disk alone": row["disk"]} if "disk" in row else {}
            of = "nanobot-ai" if other == "nanobot" and "nanobot" in row else "git"
            yield Measure(
                f"{name}, {found['commits']:,} commits, {layout}",
                row["ours"],
                floor=floor,
                peers=peers,
                of=of,
                most=most if other in of else None,
                picture="git" if layout == "loose" else "",
                label=name,
            )


def recall_speed(found: Figures) -> Iterator[Measure]:
    """Questions and adds at each number of items."""
    goals = {"10000": 0.08, "100000": 0.09, "1000000": 0.04}
    for count, engines in by_engine(found).items():
        ask = {name: row["ask ms"] for name, row in engines.items()}
        peers = {name: ms for name, ms in ask.items() if not name.startswith("nanomem")}
        yield Measure(
            f"a question, {items(count)}",
            ask["nanomem"],
            peers=peers,
            of=FTS5,
            most=goals.get(count),
            picture="recall speed",
            label=items(count),
        )
    for count, engines in by_engine(found).items():
        add = {name: row["add ms"] for name, row in engines.items() if "add ms" in row}
        yield Measure(
            f"an item added to the live index, {items(count)}",
            add["nanomem"],
            peers=some(add, FTS5),
            of=FTS5,
            goal=0.03,
        )


def by_engine(found: Figures) -> dict[str, dict[str, dict[str, float]]]:
    """Number of items → engine → milliseconds: as it was kept, or out of the table that was printed."""
    if "items" in found:
        return dict(found["items"])
    tables = re.split(r"^([\d,]+) items.*$", "\n".join(found.get("printed", ())), flags=re.MULTILINE)
    read = {}
    for count, table in zip(tables[1::2], tables[2::2], strict=True):
        rows = re.findall(r"^(\w[\w, ]*?)\s{2,}([\d.]+)\s+[\d.]+x(?:\s+([\d.]+))?\s+[\d.]+$", table, re.MULTILINE)
        read[count.replace(",", "")] = {
            name: {"ask ms": float(ask), **({"add ms": float(add)} if add else {})} for name, ask, add in rows
        }
    return read


def language_speed(found: Figures) -> Iterator[Measure]:
    """What it costs to read a message in a turn."""
    for row in found["rows"]:
        yield Measure(
            f"a message of {row['characters']:,} characters read, {found['known']:,} memories of who speaks",
            row["ms"],
            floor={"cut into words": row["split_ms"]},
            of="cut into words",
            goal=row["goal_ms"],
        )


def turn_speed(found: Figures) -> Iterator[Measure]:
    """What a turn writes, and what it costs."""
    floors = {
        "update in RAM": (JSON_LINE, 3.0),
        "explicit durable write": ("a bare SQLite FULL upsert", 2.0),
        "kept by a turn": ("a bare SQLite NORMAL upsert", 10.0),
    }
    words = {
        "update in RAM": "a use of an item, counted in RAM",
        "explicit durable write": "a durable change",
        "kept by a turn": "a change that a kill does not cost",
        "session append": "a message appended to a session",
        "begin of a turn": "the begin of a turn",
        "a turn, both ends": "a turn, both ends",
        "begin in a long chat": "the begin of a turn in a chat of 2,000 messages",
    }
    sizes = found["milliseconds (ours, floor)"]
    for name, what in words.items():
        for count, row in sizes.items():
            if name not in row:  # an older run of the large form
                continue
            ours, floor = (value * 1000 for value in row[name])
            of, most = floors.get(name, ("", None))
            goal = 50.0 if name == "session append" else None
            yield Measure(
                f"{what}, {items(count)}",
                ours,
                "µs",
                floor={of: floor} if of else {},
                of=of,
                most=most,
                goal=goal,
                picture="turn" if of else "",
                label=f"{what}, {items(count)}",
            )


def keeping_speed(found: Figures) -> Iterator[Measure]:
    """Checkpoints and opens."""
    for what in ("used", "edited"):
        for count, row in found["ms"].items():
            floor = {"JSON rewrite": row["JSON rewrite"], "a bare upsert": row["SQLite FULL upsert"]}
            yield Measure(
                f"checkpoint of 100 {what} of {items(count)}",
                row[f"checkpoint, {what}"],
                floor=floor,
                of="JSON rewrite",
                most=0.01 if count == "100000" else None,
                picture="keeping",
                label=f"100 {what} of {items(count)}",
            )
    for what, growth in found.get("growth", {}).items():
        yield Measure(f"checkpoint of 100 {what}, of the largest store beside the smallest", growth, "×", goal=2.0)
    for name, most in (("open until a first answer", 2.0), ("open, index built in RAM", 15.0), ("first page", None)):
        for count, row in found["ms"].items():
            yield Measure(
                f"{name}, {items(count)}",
                row[name],
                floor={"full read with sqlite3": row["full read"]},
                of="full read with sqlite3",
                most=most,
                picture="opening" if most else "",
                label=f"{name}, {items(count)}",
            )


def store_speed(found: Figures) -> Iterator[Measure]:
    """One large store, in processor time."""
    row = found["figures"]
    yield Measure("import, of a bare one", row["import of n : bare"], "×")
    yield Measure("open until searchable", row["open until searchable"] * 1000)
    yield Measure("checkpoint of 100", row["checkpoint of 100, ms"])
    yield Measure("checkpoint of 100, of that of 1k items", row["checkpoint of 100, n : 1,000"], "×", goal=2.0)
    yield Measure("checkpoint of 100, of the JSON rewrite", row["checkpoint of 100, n : json"], "×", goal=0.01)
    yield Measure("longest wait of a writer beside a rebuild", row["longest wait of a writer beside it, ms"])


def looks(found: Figures, name: str, what: str, goal: float) -> Iterator[Measure]:
    """Something that goes through every item, beside one pass over the rows; the goal is at 100,000."""
    for count, row in found["ms"].items():
        yield Measure(
            f"{what}, {items(count)}",
            row[name],
            floor={PASS: row["floor"]},
            of=PASS,
            goal=goal if count == "100000" else None,
            picture="curation",
            label=f"{what}, {items(count)}",
        )


def triage(found: Figures) -> Iterator[Measure]:
    """The queue's finders."""
    yield from looks(found, "first look", "first look of the queue", 5000)
    yield from looks(found, "second look", "the queue after 200 changes", 1500)


def scopes(found: Figures) -> Iterator[Measure]:
    """Who sees what."""
    yield from looks(found, "matrix", "the matrix of scopes", 500)
    yield from looks(found, "leaks", "what leaks", 2000)
    yield from looks(found, "leaks again", "what leaks, after 200 changes", 500)


def moments(found: Figures) -> Iterator[Measure]:
    """The past, rebuilt."""
    row = found["ours"]
    floor = {"the operations read and decoded": row["floor_s"]}
    yield Measure(f"{items(row['items'])} as they were {row['edits']:,} edits ago", row["rows_s"], "s")
    yield Measure("what differs from then", row["differ_s"], "s", floor=floor, of="the operations read and decoded")
    yield Measure("what a restore would change", row["plan_s"], "s")


def long_session(found: Figures) -> Iterator[Measure]:
    """A conversation that is not held."""
    row = found["ours"]
    size = f"{row['megabytes']:,} MB of {row['messages']:,} messages"
    yield Measure(f"the last 20 messages shown, {size}", row["show_s"], "s")
    floor = {"a copy and sync": row["copy_s"], "`tail -n`, sync, mv": row["tail_s"]}
    yield Measure(f"compacted to {row['keep']:,}", row["compact_s"], "s", floor=floor, of="a copy and sync")
    floor.popitem()
    yield Measure("put back by undo", row["undo_s"], "s", floor=floor, of="a copy and sync")
    least = {"`session list`": row["list_mb"]}
    for name, what in (("show", "shown"), ("compact", "compacted"), ("undo", "put back")):
        yield Measure(f"memory while it is {what}", row[f"{name}_mb"], "MB", floor=least, of="`session list`")


def long_archive(found: Figures) -> Iterator[Measure]:
    """An archive that is not held."""
    row = found["ours"]
    yield Measure(f"counted, {row['entries']:,} entries of {row['bytes'] / 1e9:.1f} GB", row["status_s"], "s")
    pages = {"page": "the newest page", "old_page": "a page of the middle", "entry": "an old entry"}
    for name, what in pages.items():
        yield Measure(what, row[f"{name}_s"], "s")
    floor = {"`grep -c`": row["grep_s"]}
    yield Measure("a search that finds nothing", row["search_s"], "s", floor=floor, of="`grep -c`")
    yield Measure("a Dream over 20 of 1,000 that wait", row["dream_s"], "s")
    yield Measure("the screen of the archive", row["screen_s"], "s")
    copy = {"a copy and sync": row["copy_s"]}
    yield Measure("half of it let go", row["compact_s"], "s", floor=copy, of="a copy and sync")
    yield Measure("put back by undo", row["undo_s"], "s", floor=copy, of="a copy and sync")
    most = max(value for name, value in row.items() if name.endswith("_mb"))
    yield Measure("the most memory that any of these held", most, "MB")


def operational(found: Figures) -> Iterator[Measure]:
    """Pushes into operational memory."""
    for name, row in found["us"]["pushes"].items():
        yield Measure(
            f"push: {name}",
            row["push"],
            "µs",
            floor={JSON_LINE: row["floor"]},
            of=JSON_LINE,
            goal=10.0,
            picture="work",
            label=f"push: {name}",
        )
    yield Measure("newest value of a metric", found["us"]["asked"]["newest value of a metric"], "µs", goal=1000.0)


def tiers(found: Figures) -> Iterator[Measure]:
    """Answers of full tiers; where there is a floor, the ratio is what was kept."""
    for name, row in found["ms"].items():
        tier = name.partition(",")[0]
        floor = {"SQLite or FTS5 alone": row["p50"] / row["of floor"]} if "of floor" in row else {}
        yield Measure(f"{name}, p50", row["p50"], floor=floor, of="SQLite or FTS5 alone" if floor else "")
        yield Measure(f"{name}, p95", row["p95"], goal=found["goals"][tier])


def records_meaning(found: Figures) -> Iterator[Measure]:
    """Records by words and meaning."""
    for name, row in found["ms"].items():
        goal = found["goal"] if name.startswith("words and meaning") else None
        yield Measure(f"{name}, {found['vectors']:,} records, {found['index']}, p95", row["p95"], goal=goal)


def service_speed(found: Figures) -> Iterator[Measure]:
    """Calls over gRPC."""
    empty = found["ms"]["empty rpc"]["p95"]
    for name, row in found["ms"].items():
        if "added p95" in row:
            yield Measure(
                f"{name}: beyond its work and an empty rpc, p95",
                row["added p95"],
                floor={"an empty rpc": empty},
                goal=found["goal"],
            )


def dream(found: Figures) -> Iterator[Measure]:
    """One Dream, and a year of them."""
    row, year = found["one dream"], found["a year"]
    yield Measure("one Dream as a command", row["command"], "s", floor={BARE: row["bare Python"]}, of=BARE)
    yield Measure("one Dream in a process", row["in a process"], "s")
    yield Measure(
        f"lines of {year['entries']:,} entries that nothing accounts for", year["unaccounted"], "lines", goal=0.0
    )
