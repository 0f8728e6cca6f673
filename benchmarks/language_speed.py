"""How long a turn takes to read a message: what it says, corrects, asks to forget, and which memories it ends.

    python benchmarks/language_speed.py [--known 500] [--rounds 20] [--json FILE]

Messages of 500, 4,000 and 50,000 characters, each read for the first time, in a memory of `--known` items of the person
who speaks. The floor is the same text cut into words. Processor time in milliseconds, the median of the rounds.
The packs are loaded before, as in a process that has read a message already.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nanomem_tui import language
from nanomem_tui.core.settings import Settings
from nanomem_tui.language import corrections
from nanomem_tui.language import message as language_message
from nanomem_tui.memory.turns import capture
from nanomem_tui.store.values import Item

GOALS = {500: 3.0, 50_000: 30.0}
"""Milliseconds by characters of the message."""
SENTENCES = (
    "I moved to {city} in March and now work at {firm} as a data engineer.|My sister Rita lives in {city} with her "
    "two dogs.|Could you remind me which hotel we booked in {city}?|Please remember that I don't eat {food}.|We "
    "decided to go with {firm} for the new service, since nobody likes the old one.|Thanks, that was quick!|The "
    "meeting with {firm} is on 12 May at 10:30.|I'd like {food} for dinner, and for the weekend too.|Forget what I "
    "said about {city}."
).split("|")
WORDS = {
    "city": "Lisbon Porto Graz Kyoto Oslo Bergen Turin Cork Quito Lima".split(),
    "firm": "Vela Nordwind Altus Brightside Kestrel Orbis Lumen Tarn".split(),
    "food": "pork peanuts oats rice lentils salmon cheese bread".split(),
}


def message(size: int, pick: random.Random) -> str:
    """A message of so many characters."""
    made = ""
    while len(made) < size:
        made += pick.choice(SENTENCES).format(**{name: pick.choice(words) for name, words in WORDS.items()}) + " "
    return made[:size]


def items(count: int, pick: random.Random) -> list[Item]:
    """So many memories of the person who speaks."""
    return [Item(f"ltm_{number}", message(60, pick), scope_key="user:cli:ana") for number in range(count)]


def read(text: str, known: list[Item], settings: Settings) -> None:
    """All that a turn does with the words of a message."""
    origin = capture.Origin()

    def seen(found: list[capture.Candidate]) -> list[capture.Candidate]:
        capture.find_corrections(said, origin, lambda _: known)
        for one in found:
            capture.find_given_up(one.text, known)
        return found

    said = language.read(text)
    corrections.detect(said.own, "")
    found = capture.capture(text, origin, settings, lambda *_: None, "ws", seen=seen)
    capture.forget_proposals(said, origin, settings, lambda _: known, lambda *_: None)
    if len(text) > capture.MAX_MESSAGE:
        capture.capture(capture.whole_sentences(text), origin, settings, lambda *_: None, "ws")
    else:
        capture.explain_uncaptured(said, [row.item.text for row in found.rows], settings)
    language_message.asked(text)


def milliseconds(work: Callable[[], Any]) -> float:
    """Processor time of one call."""
    start = time.process_time()
    work()
    return (time.process_time() - start) * 1000


def measured(size: int, known: list[Item], rounds: int) -> dict[str, Any]:
    """Ours and the floor at one size."""
    pick, settings = random.Random(size), Settings()
    texts = [message(size, pick) for _ in range(rounds + 1)]
    read(texts.pop(), known, settings)
    ours = statistics.median(milliseconds(lambda text=text: read(text, known, settings)) for text in texts)
    floor = statistics.median(milliseconds(lambda text=text: re.findall(r"\w+", text)) for text in texts)
    return {"characters": size, "ms": round(ours, 2), "split_ms": round(floor, 3), "goal_ms": GOALS.get(size)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--known", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    known = items(options.known, random.Random(1))
    rows = [measured(size, known, options.rounds) for size in (500, 4_000, 50_000)]
    for row in rows:
        goal = f"  goal {row['goal_ms']:g} ms" if row["goal_ms"] else ""
        print(f"{row['characters']:>7,} characters  {row['ms']:>7.2f} ms  the floor {row['split_ms']:.3f} ms{goal}")
    if options.json:
        body = {"benchmark": "language_speed", "seed": 1, "runs": options.rounds, "known": options.known, "rows": rows}
        options.json.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
