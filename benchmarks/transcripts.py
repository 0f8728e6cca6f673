"""What recall finds in real transcripts, asked through the product's own path, on the reader's own data.

    python benchmarks/transcripts.py --locomo locomo10.json [--json FILE] [--quick]

Each conversation of LoCoMo (snap-research, CC BY-NC 4.0, no part of this repository; NANOMEM_LOCOMO names it too) is
written as the session file of a chat in a workspace: one speaker is `user`, the other `assistant`, as a transcript has
them, and no message has a name that is not among its words. A question is asked as a person asks
(`nanomem recall --in sessions`), as `memory_recall` asks for that chat, and as a turn does, of which the block may hold
a few older turns. Beside it stand our ranking on the same turns with the names of the speakers (`recall.py`), and FTS5
with its stemmer on what the transcript has.

`R@10` counts turns; `memory_recall` gives questions with their answers, and its first ten turns count. Of the block:
`there`: how many questions got a turn of evidence; `useful`: how many of the given ones have any; `nothing`: how many
of the messages that need no memory got none (`tests/data/recall`, the open half, and small talk).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from adapters import DocumentItem, FullTextPorter, Nanomem
from block import rows
from recall import locomo, measure

from nanomem_tui import open_workspace
from nanomem_tui.agents.session_names import key_to_name
from nanomem_tui.core import clock
from nanomem_tui.memory.recall.excerpts import Excerpt
from nanomem_tui.memory.scopes import Audience
from nanomem_tui.memory.turns.request import TurnInput
from nanomem_tui.workspace import Workspace

CHAT = Audience("telegram", "7", "7")
KEY = "telegram:7"
GOAL = 0.80
SMALL_TALK = ("good morning!", "ok", "thanks a lot", "hey, how are you?", "lol", "sounds good", "good night")
COLUMNS = ("R@5", "R@10", "R@20", "MRR")


@contextmanager
def transcript(items: list[DocumentItem]) -> Iterator[Workspace]:
    """A workspace with these turns as the session of one chat."""
    with tempfile.TemporaryDirectory(prefix="nanomem-bench-") as place:
        workspace = Path(place) / "home" / "workspace"
        (workspace / "sessions").mkdir(parents=True)
        (workspace / "memory").mkdir()
        (workspace / "sessions" / key_to_name(KEY)).write_text("".join(lines(items)), encoding="utf-8")
        with open_workspace(workspace) as ws:
            yield ws


def lines(items: list[DocumentItem]) -> Iterator[str]:
    """The lines of a transcript: roles, no names, a minute from one message to the next."""
    head = {"_type": "metadata", "key": KEY, "metadata": {}, "last_consolidated": len(items)}
    yield json.dumps({**head, "created_at": "2023-01-01T00:00:00", "updated_at": "2024-01-01T00:00:00"}) + "\n"
    roles = dict(zip(dict.fromkeys(meta["speaker"] for _, _, meta in items), ("user", "assistant"), strict=True))
    session, number = None, 0
    for _, text, meta in items:
        number = number + 1 if meta["session"] == session else 0
        session = meta["session"]
        at = datetime.fromtimestamp(meta["ts"]) + timedelta(minutes=number)
        said = {"role": roles[meta["speaker"]], "content": without_name(text, meta), "timestamp": at.isoformat()}
        yield json.dumps(said | ({"sender_id": "7"} if said["role"] == "user" else {})) + "\n"


def without_name(text: str, meta: dict[str, Any]) -> str:
    """A turn without the name that the data set puts before it."""
    return text.removeprefix(f"{meta['speaker']}: ")


class Asked:
    """One conversation, asked through a public face."""

    def index(self, items: list[DocumentItem]) -> None:
        self._keys = [key for key, _, _ in items]
        self._opened = transcript(items)
        self.ws = self._opened.__enter__()

    def close(self) -> None:
        self._opened.__exit__(None, None, None)

    def key(self, id: str) -> str:
        """The turn of a message."""
        return self._keys[int(id.rpartition("#")[2])]

    def turns(self, excerpt: Excerpt) -> list[str]:
        """The turns of an excerpt: a message and, where it has one, its answer."""
        first = int(excerpt.id.rpartition("#")[2])
        both = bool(excerpt.turn.user) and excerpt.turn.assistant is not None
        return self._keys[first : first + 1 + both]


class Sessions(Asked):
    """`nanomem recall QUESTION --in sessions`."""

    name = "nanomem, transcripts"

    def search(self, query: str, k: int) -> list[str]:
        return [self.key(hit.id) for hit in self.ws.conversations.recall(query, ["sessions"], k).hits]


class Tool(Asked):
    """`memory_recall` of that chat."""

    name = "nanomem, memory_recall"

    def search(self, query: str, k: int) -> list[str]:
        found = self.ws.reach.search(query, CHAT, limit=k)
        return [key for excerpt in found for key in self.turns(excerpt)][:k]


class Unnamed(FullTextPorter):
    """FTS5 on what the transcript has."""

    name = "FTS5 porter, transcripts"

    def index(self, items: list[DocumentItem]) -> None:
        super().index([(key, without_name(text, meta), meta) for key, text, meta in items])


class Named(Nanomem):
    """Our ranking where the names of the speakers are known."""

    name = "nanomem, with names"


ENGINES: tuple[Callable[[], Any], ...] = (Sessions, Tool, Named, Unnamed, FullTextPorter)


def beyond_window(talks: list[dict[str, Any]]) -> dict[str, float]:
    """What the block of a turn has of older turns."""
    none = [*(row["message"] for kind in ("daily", "hard") for row in rows(f"open/{kind}", "none")), *SMALL_TALK]
    there = given = useful = asked = quiet = silent = 0
    times = []
    for talk in talks:
        engine = Asked()
        engine.index(talk["documents"])
        for query, gold, _ in talk["queries"]:
            started = time.perf_counter()
            older = begin(engine.ws, query)
            times.append(1000 * (time.perf_counter() - started))
            evidence = set().union(*gold)
            right = [bool(evidence & set(engine.turns(one))) for one in older]
            there, given, useful, asked = there + any(right), given + len(right), useful + sum(right), asked + 1
        silent += sum(not begin(engine.ws, message) for message in none)
        quiet += len(none)
        engine.close()
    return {
        "there": there / asked,
        "useful": useful / max(1, given),
        "given": given / asked,
        "nothing": silent / quiet,
        "ms": statistics.median(times),
    }


def begin(ws: Workspace, message: str) -> tuple[Excerpt, ...]:
    """The older turns in the block of a turn with that message; the agent replays what it has not summed up."""
    with clock.at(datetime.fromisoformat("2024-03-01T12:00:00+00:00")):
        return ws.engine.preview(TurnInput(KEY, *CHAT, text=message, leave_out=("turns",))).older


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--locomo", type=Path, default=os.environ.get("NANOMEM_LOCOMO") or None)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true", help="two conversations")
    given = parser.parse_args()
    if given.locomo is None or not Path(given.locomo).is_file():
        print(f"no data: {given.locomo or 'give --locomo, or NANOMEM_LOCOMO'}")
        return 2
    talks = locomo(Path(given.locomo))[: 2 if given.quick else None]
    print(f"{'LoCoMo as transcripts':26s}" + "".join(f"{name:>8s}" for name in COLUMNS) + "      ms questions")
    found = []
    for engine in ENGINES:
        row = measure(engine, talks)
        found.append(row)
        figures = "".join(f"{row[name]:8.3f}" for name in COLUMNS)
        print(f"{row['engine']:26s}{figures}{row['ms']:8.2f} {row['questions']:9d}", flush=True)
    print(f"goal of R@10: {GOAL:.2f}")
    block = beyond_window(talks)
    print("older turns in the block:" + "".join(f"  {name} {value:.3f}" for name, value in block.items()))
    if given.json:
        body = {"benchmark": "transcripts", "seed": 0, "runs": 1, "quick": given.quick, "turns": found, "block": block}
        given.json.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
