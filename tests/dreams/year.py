"""A year of an agent's archive, the same each time: from LoCoMo's talks where they are at hand, else from sentences.

LoCoMo is not part of this repository: only `benchmarks/dream.py` reads it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from nanomem_tui.agents.archive import HistoryEntry

COUNT = 2000
START = {
    "SOUL.md": "# Soul\n\n## Core Principles\n- Solve by doing.\n- Keep answers short.\n",
    "USER.md": (
        "# User Profile\n\n## Basic Information\n- Name: Ana Weiß\n- Timezone: Europe/London\n- Office: room 4.12\n\n"
        "## Preferences\n- Terse answers\n- Terse answers\n- Editor: Kakoune\n"
    ),
    "memory/MEMORY.md": (
        "# Long-term Memory\n\n## Project Context\n- Staging server: stg-1.example.internal\n- Deadline: 2023-06-30\n"
        "- Freeze of the branch until 2023-02-01\n\n## People\n- Gina: I run a shop in Lisbon.\n\n"
        "## Important Notes\n- Budget: 12,400 EUR\n- Restore drill every first Monday\n"
    ),
}
_MARKS = ("permanent", "durable", "durable", "durable", "ephemeral", "ephemeral", "correction", "")
_NAMES = "Caroline Melanie Jon Gina Nate Joanna Audrey Andrew Sam Evan Tim Maria".split()
_PLACES = "Lisbon Berlin Kyoto Porto Oslo Ghent Turin Malmö Cork Basel".split()
_THINGS = "kayak cello loom telescope greenhouse bakery sailboat pottery wheel violin van".split()


def locomo(path: Path, count: int = COUNT) -> list[HistoryEntry]:
    """`count` entries of what was said and observed in LoCoMo's talks, in the order of a year."""
    return _entries(_talks(path), count)


def generated(count: int = COUNT) -> list[HistoryEntry]:
    """`count` entries of made-up talk with names, numbers and dates."""
    return _entries(_sentences(random.Random(11)), count)


def _talks(path: Path) -> Iterator[str]:
    talks = json.loads(path.read_text(encoding="utf-8"))
    rows: list[list[str]] = []
    for talk in talks:
        held = talk["conversation"]
        said: list[str] = []
        for number in range(1, 100):
            said += [f"{turn['speaker']} said: {turn['text']}" for turn in held.get(f"session_{number}", [])]
            for facts in talk.get("observation", {}).get(f"session_{number}_observation", {}).values():
                said += [fact for fact, *_ in facts]
        rows.append([" ".join(line.split()) for line in said])
    longest = max(map(len, rows))
    for number in range(longest):  # the talks go on side by side, as those of several chats do
        yield from (row[number] for row in rows if number < len(row))


def _sentences(dice: random.Random) -> Iterator[str]:
    while True:
        who, other = dice.sample(_NAMES, 2)
        place, thing, number = dice.choice(_PLACES), dice.choice(_THINGS), dice.randint(2, 900)
        yield dice.choice(
            (
                f"{who} said: I bought a {thing} for {number} euros in {place} yesterday. What about you?",
                f"{who} said: Wow, that's great, {other}! See you soon.",
                f"{who} works at the {place} office since 20{number % 24:02}",
                f"{who} said: We moved to {place} last week, number {number} of our street.",
                f"Decided to use port {1024 + number} for the {thing} service",
                f"User prefers a {thing} to a {dice.choice(_THINGS)}",
                f"The {thing} of {who} costs {number}.50 EUR",
                f"{who} said: My {thing} is {dice.choice(('red', 'blue', 'green'))}, and {other} has {number} of them.",
            )
        )


def _changing(number: int, dice: random.Random, day: datetime) -> str:
    """A fact of which there is one value at a time, or one that says when it is over."""
    until = (day + timedelta(days=20)).date()
    place, other = dice.sample(_PLACES, 2)
    return (
        f"- [durable] Timezone: Europe/{place}",
        f"- [correction] Staging server is stg-{number % 9}.example.internal, not stg-{number % 7}.example.internal",
        f"- [durable] The discount code SAVE{number} holds until {until}",
        f"- [correction] Office is room {number % 5}.{number % 30:02}",
        f"- [permanent] Deadline: 2023-{number % 12 + 1:02}-15",
        f"- [durable] User lives in {place}",
        f"- [correction] The user's editor is Helix{number % 4} instead of Kakoune",
        f"- [permanent] Train number {number} goes from {place} to {other}",
    )[number % 8]


def _entries(lines: Iterator[str], count: int) -> list[HistoryEntry]:
    dice = random.Random(5)
    begin = datetime(2023, 1, 2, 7)
    found = []
    for number in range(count):
        at = begin + timedelta(minutes=number * 365 * 24 * 60 // count)
        texts = []
        for _ in range(dice.choice((1, 1, 2, 2, 3))):
            text = next(lines, None)
            if text is not None:
                mark = dice.choice(_MARKS)
                texts.append(f"- [{mark}] {text}" if mark else f"- {text}")
        if number % 6 == 0 or not texts:
            texts.append(_changing(number, dice, at))
        found.append(HistoryEntry(number + 1, at.strftime("%Y-%m-%d %H:%M"), "\n".join(texts), f"cli:{number % 5}"))
    return found
