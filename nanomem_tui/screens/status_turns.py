"""Recall and capture on the Status screen: what turns were given and what they kept, in numbers and over time.

Makes blocks of the counters and of the injection log, which alone knows when something was. Reads nothing by itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING

from nanomem_tui import clock
from nanomem_tui.memory.counters import COUNTERS
from nanomem_tui.text import counted
from nanomem_tui.widgets.document import Block, Body, Field, Heading
from nanomem_tui.widgets.look import Glyphs
from nanomem_tui.widgets.plots import bars, sparkline

if TYPE_CHECKING:
    from nanomem_tui.memory.injections import Injected

DAYS = 60  # with turns, the last ones, that are plotted
CAPTURED = (
    ("saved", "memory_capture_saved"),
    ("known already", "memory_capture_deduped"),
    ("not sure enough", "memory_capture_dropped_low_conf"),
    ("kept back as unsafe", "memory_capture_dropped_safety"),
)
OTHERS = ("turns_begun", "turns_ended", "turns_declined", "lessons_shown", "lessons_learned", "ledger_operations",
          "ledger_durable", "checkpoints", "checkpoint_operations", "checkpoint_rows", "checkpoint_ms",
          "sessions_compacted")  # fmt: skip


def recall_words(counters: Mapping[str, int]) -> str:
    """How often a turn was given something, in one line."""
    hit, miss = counters["memory_recall_hit"], counters["memory_recall_miss"]
    if not hit + miss:
        return "no turn yet"
    return f"{hit:,} of {counted(hit + miss, 'turn')} given something ({hit / (hit + miss):.0%})"


def capture_words(counters: Mapping[str, int]) -> str:
    """What became of what turns said, in one line."""
    numbers = {name: counters[key] for name, key in CAPTURED}
    if not any(numbers.values()):
        return "nothing yet"
    saved = numbers.pop("saved")
    return f"{saved:,} saved, {sum(numbers.values()):,} not"


def recall_blocks(counters: Mapping[str, int], turns: Sequence[Injected], width: int, signs: Glyphs) -> list[Block]:
    """Hits and misses, and by day: turns, how many of them were given something, characters of a block."""
    hit, miss = counters["memory_recall_hit"], counters["memory_recall_miss"]
    if not hit + miss and not turns:
        return [Body("It begins with the first turn that an agent takes with our memory.", "dim")]
    rows = [("given something", hit), ("given nothing", miss)]
    blocks: list[Block] = [Heading("Turns"), Body("\n".join(bars(rows, width, signs)), keep=True)]
    if hit + miss:
        chars = counters["memory_prompt_chars"] / (hit + miss)
        blocks.append(Field("each turn", f"{chars:,.0f} characters before the model"))
    by_day = _by_day(turns)
    if len(by_day) > 1:
        of_day = list(by_day.values())
        share = [sum(bool(turn.items) for turn in one) / len(one) for one in of_day]
        blocks.append(Heading(f"By day, {min(by_day)} to {max(by_day)}"))
        blocks += _line("turns", [len(one) for one in of_day], width, signs)
        blocks += _line("given something", [100 * number for number in share], width, signs, "%")
        blocks += _line("characters", [sum(t.chars for t in one) / len(one) for one in of_day], width, signs)
        blocks += _line("saved", [sum(len(t.saved) for t in one) for one in of_day], width, signs)
    blocks.append(Heading("All counters"))
    blocks += [Field(f"{counters[name]:,}", COUNTERS[name]) for name in OTHERS if counters[name]]
    return blocks


def capture_blocks(counters: Mapping[str, int], width: int, signs: Glyphs) -> list[Block]:
    """What became of what turns said."""
    rows = [(name, counters[key]) for name, key in CAPTURED]
    if not any(number for _, number in rows):
        return [Body("No turn said anything that was worth a thought yet.", "dim")]
    return [Body("\n".join(bars(rows, width, signs)), keep=True)]


def _by_day(turns: Iterable[Injected]) -> dict[date, list[Injected]]:
    """The turns by local day, the last days that had some, oldest first."""
    days: dict[date, list[Injected]] = defaultdict(list)
    for turn in turns:
        moment = clock.parse(turn.at)
        if moment is not None:
            days[moment.astimezone().date()].append(turn)
    return dict(sorted(days.items())[-DAYS:])


def _line(name: str, values: Sequence[float], width: int, signs: Glyphs, unit: str = "") -> list[Block]:
    """A line of steps with what it shows: from the least to the most."""
    if not any(values):
        return []
    told = f"{min(values):,.0f}{unit} to {max(values):,.0f}{unit}, last {values[-1]:,.0f}{unit}"
    return [Field(name, told), Body(sparkline(values, width, signs), "accent", keep=True)]
