"""What a turn costs beside its floors, in turns in one run.

    python benchmarks/turn_speed.py [--items 1000,10000,100000] [--rounds 30] [--json FILE] [--assert]

A use of an item, counted in RAM until the next checkpoint, beside `json.dumps` and `os.write` of its operation, in
processor time; a durable change (it survives a power cut) beside a bare sqlite3 upsert with synchronous=FULL; the
append of a message to a session of ours; the begin and the end of a turn; the begin in a chat of 2,000 messages that
grows by a round each time. Ratios are of the medians of batches that
alternate; the JSON has the least of them, too.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nanomem_tui import open_workspace
from nanomem_tui.agents.session_names import key_to_name
from nanomem_tui.core.operations import Operation, new_operation
from nanomem_tui.core.settings import Settings
from nanomem_tui.memory.sessions import files
from nanomem_tui.memory.sessions.files import OwnSessions
from nanomem_tui.memory.turns.request import turn_end, turn_input
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.workspace import Workspace

GOALS = {"update in RAM": 3.0, "explicit durable write": 2.0, "kept by a turn": 10.0, "session append": 0.05}
"""Times of the floor; the append in milliseconds."""
AT = "2026-03-01T10:00:00+00:00"
SEED = 7
CHATS = 5
"""Chats in which turns are taken."""
_CHANCE = random.Random(SEED)
WORDS = ["".join(_CHANCE.choice(part) for part in ("bdfgklmnprst", "aeiou") * 3) for _ in range(4_000)]
"""Made words; a text takes the first ones more often, as a language does."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--items", default="1000,10000")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--assert", action="store_true", dest="judge", help="fail when a figure is over its goal")
    options = parser.parse_args()
    figures: dict[str, dict[str, tuple[float, float]]] = {}
    least: dict[str, dict[str, tuple[float, float]]] = {}
    over = False
    for count in map(int, options.items.split(",")):
        with tempfile.TemporaryDirectory(prefix="nanomem-bench-") as folder:
            found = measure(home_with(count, Path(folder)), options.rounds)
        figures[str(count)] = {name: row[:2] for name, row in found.items()}
        least[str(count)] = {name: row[2:] for name, row in found.items() if row[1]}
        print(f"{count:,} items")
        for name, (ours, floor) in figures[str(count)].items():
            ratio = f"{ours / floor:6.2f} of {floor * 1000:8.1f} us" if floor else ""
            value = ours / floor if floor else ours
            missed = name in GOALS and value > GOALS[name]
            over = over or missed
            goal = f"goal {GOALS[name]:g}" if name in GOALS else ""
            print(f"  {name:24} {ours * 1000:10.1f} us  {ratio:24} {goal}{'  MISSED' if missed else ''}")
    about = {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version, "machine": platform.machine()}
    document = {"benchmark": "turn_speed", "seed": SEED, "runs": options.rounds, **about}
    document |= {"milliseconds (ours, floor)": figures, "least (ours, floor)": least}
    if options.json:
        options.json.write_text(json.dumps(document, indent=2) + "\n")
    return int(over and options.judge)


def home_with(count: int, base: Path) -> Path:
    """A workspace with that many items of some words each."""
    workspace = base / "home" / "workspace"
    (workspace / "memory").mkdir(parents=True)
    rows = [
        {
            "id": f"ltm_{number}",
            "text": " ".join(words(10)),
            "source": "explicit_user", "session_key": "cli:direct", "created_at": AT, "updated_at": AT, "hits": 1,
        }
        for number in range(count)
    ]  # fmt: skip
    (workspace / "memory" / "LTM_SNAPSHOT.json").write_text(json.dumps({"version": 1, "updated_at": AT, "items": rows}))
    return workspace


def words(count: int) -> list[str]:
    """That many words."""
    return [WORDS[int(len(WORDS) * _CHANCE.random() ** 2)] for _ in range(count)]


def measure(workspace: Path, rounds: int) -> dict[str, tuple[float, float, float, float]]:
    """Milliseconds of ours and of the floor (0: none) by name: medians, and the least."""
    with open_workspace(workspace) as ws:
        ws.items.set_pinned(["ltm_0"], True)
        ws.flush()
        ws.recall.warm(background=False)
        return {
            "update in RAM": beside(*updates(ws), rounds, 300, clock=time.process_time, between=ws.store.checkpoint),
            "explicit durable write": beside(*durable(ws, workspace.parent / "floor.db"), rounds, 5),
            "kept by a turn": beside(*kill_safe(ws, workspace.parent / "floor.db"), rounds, 5),
            "session append": beside(
                append_to_session(workspace.parent / "own"), lambda: None, rounds, 20, floor=False
            ),
            "begin of a turn": beside(begin(ws), lambda: None, rounds, 10, floor=False),
            "a turn, both ends": beside(both(ws), lambda: None, rounds, 10, floor=False),
            "begin in a long chat": beside(
                begin(ws, long_chat(workspace), CHATS), lambda: None, rounds, 10, floor=False
            ),
        }


def beside(
    ours: Callable[[], object],
    floor_work: Callable[[], object],
    rounds: int,
    each: int,
    *,
    floor: bool = True,
    clock: Callable[[], float] = time.perf_counter,
    between: Callable[[], object] = lambda: None,
) -> tuple[float, float, float, float]:
    """The medians of batches of `each` calls, ours and the floor's in turns, without `between`, and the least of both;
    milliseconds a call."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for work, found in ((ours, times[0]), (floor_work, times[1])):
            started = clock()
            for _ in range(each):
                work()
            found.append((clock() - started) / each * 1000)
            between()
    least = min(times[0]), min(times[1])
    return statistics.median(times[0]), statistics.median(times[1]) if floor else 0.0, *least


def updates(ws: Workspace) -> tuple[Callable[[], object], Callable[[], object]]:
    """One item counted as used, as a turn does it: in RAM until the next checkpoint; and its operation by hand, as a
    line of JSON that survives a kill."""
    rows, number = ws.store.snapshot.items, iter(range(10_000_000))
    keys = list(rows)[:500]

    def used() -> Operation:
        row = rows[keys[next(number) % len(keys)]]
        after = row._replace(hits=row.hits + 1, last_accessed_at=AT)
        return new_operation("turn", "turn: 1 item used", [change_of("item", row, after)], actor="agent")

    def ours() -> None:
        ws.store.perform(used(), durable=False)

    body = used().to_json()
    handle = os.open(ws.paths.data / "floor.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    return ours, lambda: os.write(handle, json.dumps(body, ensure_ascii=False).encode() + b"\n")


def durable(ws: Workspace, database: Path) -> tuple[Callable[[], object], Callable[[], object]]:
    """An explicit memory, acknowledged once it survives a power cut; and a bare upsert of the same text."""
    return _kept(ws, database, "FULL")


def kill_safe(ws: Workspace, database: Path) -> tuple[Callable[[], object], Callable[[], object]]:
    """What a turn captures by itself, acknowledged once it survives a kill; and a bare upsert of the same text."""
    return _kept(ws, database, "NORMAL")


def _kept(ws: Workspace, database: Path, synchronous: str) -> tuple[Callable[[], object], Callable[[], object]]:
    number = iter(range(10_000_000))
    bare = sqlite3.connect(database, isolation_level=None)
    bare.execute("PRAGMA journal_mode=WAL")
    bare.execute(f"PRAGMA synchronous={synchronous}")
    bare.execute("CREATE TABLE IF NOT EXISTS item(id TEXT PRIMARY KEY, text TEXT, hits INTEGER, updated_at TEXT)")
    upsert = "INSERT INTO item VALUES(?, ?, 1, ?) ON CONFLICT(id) DO UPDATE SET text = excluded.text, hits = hits + 1"
    row = ws.store.snapshot.items["ltm_1"]

    def ours() -> None:
        item = row._replace(id=f"ltm_{synchronous}_{next(number)}", text="I prefer window seats")
        change = new_operation("turn", "turn: 1 item saved", [change_of("item", None, item)], actor="agent")
        ws.store.perform(change, durable=synchronous == "FULL")

    def floor() -> None:
        bare.execute(upsert, (f"ltm_{next(number) % 50}", "I prefer window seats", AT))

    return ours, floor


def append_to_session(folder: Path) -> Callable[[], object]:
    """One message, saved, in a session that has a thousand."""
    files.HEAVY = 10**12  # nothing is compacted meanwhile
    settings = Settings(session_compact_threshold_messages=10_000_000)
    session = OwnSessions(folder, settings).get_or_create("cli:direct")
    for number in range(1_000):
        session.add_message("user", f"message {number} " + "word " * 30)
    session.save()

    def ours() -> None:
        session.add_message("user", "another message " + "word " * 30, timestamp=AT)
        session.save()

    return ours


def begin(ws: Workspace, grow: Callable[[], object] = lambda: None, step: int = 1) -> Callable[[], object]:
    """The block for a message; `grow`: what comes before each, `step`: to the next, `CHATS` for those of one chat."""
    number = iter(range(0, 10_000_000, step))

    def ours() -> None:
        grow()
        ws.engine.begin_turn(turn_input(message(next(number))))

    return ours


def long_chat(workspace: Path, count: int = 2_000) -> Callable[[], object]:
    """A session of that many messages, which the agent appends a round to with each call."""
    folder = workspace / "sessions"
    folder.mkdir()
    key = str(message(0)["session_key"])
    head = {"_type": "metadata", "key": key, "metadata": {}, "created_at": AT[:19], "updated_at": AT[:19]}
    path = folder / key_to_name(key)
    path.write_text(json.dumps(head) + "\n")

    def grow() -> None:
        said = ({"role": role, "content": " ".join(words(30)), "timestamp": AT[:19]} for role in ("user", "assistant"))
        with path.open("a") as file:
            file.writelines(json.dumps(one) + "\n" for one in said)

    for _ in range(count // 2):
        grow()
    return grow


def both(ws: Workspace) -> Callable[[], object]:
    """A turn from begin to end."""
    number = iter(range(10_000_000))

    def ours() -> None:
        begun = ws.engine.begin_turn(turn_input(message(next(number))))
        ws.engine.end_turn(turn_end({"turn": begun.turn, "assistant": "Here it is."}))

    return ours


def message(number: int) -> dict[str, object]:
    """What a person says."""
    text = f"where is the {' '.join(words(3))}?"
    return {"session_key": f"telegram:{number % CHATS}", "sender_id": "ana", "text": text}


if __name__ == "__main__":
    sys.exit(main())
