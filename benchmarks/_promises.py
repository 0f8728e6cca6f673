"""What nanomem promises and nobody else has to compare with: each counted as (tried, broken), by the parts that its
tests use. For `trust.py`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


def numbers() -> dict[str, int]:
    """How many writers and kinds of files there are, for the words of the table."""
    from tests.agents import test_fuzz
    from tests.crash import writers

    return {"writers": len(writers.WRITERS), "kinds": len(test_fuzz.PARSERS)}


def new_home(folder: Path) -> Path:
    """An empty workspace."""
    home = Path(tempfile.mkdtemp(dir=folder)) / "workspace"
    (home / "memory").mkdir(parents=True)
    return home


def forget(folder: Path) -> tuple[int, int]:
    """Files that held a text before, and those that hold it after."""
    from tests.purge import planted

    home = new_home(folder)
    (home / "sessions").mkdir()
    (home / "sessions" / "cli_direct.jsonl").write_text('{"_type": "metadata", "key": "cli:direct"}\n')
    (home / "memory" / "MEMORY.md").write_text("# Memory\n")
    planted.git(home, "init", "-q")

    class Done(NamedTuple):
        code: int
        json: Any
        err: str = ""

    def line(*words: str) -> Done:
        words = ("--workspace", str(home), *words)
        done = subprocess.run(
            [sys.executable, "-m", "nanomem_tui", *words], capture_output=True, text=True, check=False
        )
        shown = json.loads(done.stdout) if "--json" in words else None
        return Done(done.returncode, shown, done.stderr)

    planted.plant(home, line)
    line("backup", "make")
    before = planted.outside_git(home.parent)
    asked = ("forget", "--text", planted.TEXT, "--backups", "--yes")
    line(*asked)
    left = planted.outside_git(home.parent)  # a history in git is told, and never written
    print("left:", *left)
    return len(before), len(left)


def poison(folder: Path) -> dict[str, tuple[int, int]]:
    """Texts fed and those that became active, texts before the model and those that were obeyed, secrets and those that
    lie open, look-alikes and those that were masked."""
    from nanomem_tui import open_workspace
    from nanomem_tui.language.secrets import find
    from tests.memory.turns import settle, turn
    from tests.poison import attacks, lookalikes, test_obedient_agent, test_secrets_counted, test_ways_in
    from tests.store.homes import make_home

    counts: dict[str, tuple[int, int]] = {}
    ways = (
        test_ways_in.by_tool, test_ways_in.by_failing_tool, test_ways_in.by_answer, test_ways_in.by_stranger,
        test_ways_in.by_nobody, test_ways_in.by_reply, test_ways_in.by_paste,
    )  # fmt: skip
    for name, texts in (("orders", attacks.orders()), ("plain", list(attacks.PLAIN))):
        active = 0
        for way in ways:
            home = make_home(Path(tempfile.mkdtemp(dir=folder)), items=0, lessons=0)
            settle(home, capture_senders=["ana"])
            with open_workspace(home) as ws:
                for number, text in enumerate(texts):
                    way(ws, text, number)
                active += len(test_ways_in.active(ws))
        counts[name] = len(texts) * len(ways), active
    texts = [*attacks.orders(), *attacks.PLAIN, *test_obedient_agent.ESCAPES]
    blocks = test_obedient_agent.BLOCKS.values()
    reached = [text for text in texts for block in blocks if test_obedient_agent.reached(block(text))]
    counts["fence"] = len(texts) * len(blocks), len(reached)
    open_ = 0
    for kind, text in test_secrets_counted.SECRETS.items():
        home = new_home(folder)
        with open_workspace(home) as ws:
            turn(ws, text, text)
        secret = test_secrets_counted.WORDS[kind].encode()
        open_ += any(secret in path.read_bytes() for path in home.parent.rglob("*") if path.is_file())
        shutil.rmtree(home.parent)
    counts["secrets"] = len(test_secrets_counted.SECRETS), open_
    counts["alike"] = lookalikes.NUMBER, sum(bool(find(text)) for text in lookalikes.lookalikes())
    return counts


def keys(folder: Path) -> tuple[int, int]:
    """Names tried, and the files outside that were touched."""
    from tests.hostile import test_keys

    touched = [test_keys.reached(test_keys.place_in(folder / f"keys {way}"), way)[1] for way in test_keys.WAYS]
    return len(test_keys.WAYS) * len(test_keys.KEYS), sum(len(names) for names in touched)


def spoil(folder: Path) -> tuple[int, int]:
    """Spoiled files that were parsed, and the parsers that were brought down by one."""
    from tests.agents import test_fuzz

    place = folder / "spoiled"
    place.mkdir()
    samples = test_fuzz.samples_in(place)
    found = [test_fuzz.broken(name, samples[of], place, test_fuzz.RUNS) for name, (of, _) in test_fuzz.PARSERS.items()]
    return sum(runs for runs, _ in found), sum(bool(why) for _, why in found)


def faults(folder: Path) -> tuple[int, int]:
    """Faults that the writers met, and the writers that lost something or were left half done."""
    from tests.crash import test_every_writer, writers
    from tests.crash.shim import Server
    from tests.crash.trials import Bench

    full = folder / "full"
    writers.full_home(full)
    met = broken = 0
    with Server() as server:
        for name in writers.WRITERS:
            place = folder / f"writer {name}"
            place.mkdir()
            try:
                met += sum(
                    test_every_writer.try_all(Bench(place, full, name, server), test_every_writer.SPREAD).values()
                )
            except AssertionError as error:
                print(error)
                broken += 1
            shutil.rmtree(place)
    return met, broken
