"""Recall, capture and every counter on the Status screen: what turns were given and kept, in numbers and over time.

Makes blocks of the counters and of the injection log, which alone knows when something was. Reads nothing by itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING

from nanomem_tui.core import clock
from nanomem_tui.core.text import counted
from nanomem_tui.memory.counters import COUNTERS
from nanomem_tui.widgets.document import Block, Body, Field, Heading, Spans
from nanomem_tui.widgets.plots import bars, sparkline
from nanomem_tui.widgets.signs import Glyphs

if TYPE_CHECKING:
    from nanomem_tui.memory.turns.injections import Injected

DAYS = 60  # with turns, the last ones, that are plotted
CAPTURED = (
    ("saved", "memory_capture_saved"),
    ("known already", "memory_capture_deduped"),
    ("not sure enough", "memory_capture_dropped_low_conf"),
    ("kept back as unsafe", "memory_capture_dropped_safety"),
)
GROUPS: Mapping[str, tuple[str, ...]] = {
    "Recall": ("memory_recall_hit", "memory_recall_miss", "memory_prompt_chars"),
    "Capture": ("memory_capture_saved", "memory_capture_deduped", "memory_capture_dropped_low_conf",
                "memory_capture_dropped_safety"),
    "Turns": ("turns_begun", "turns_ended", "turns_declined", "sessions_compacted"),
    "Lessons": ("lessons_shown", "lessons_learned"),
    "Ledger": ("ledger_operations", "ledger_durable"),
    "Checkpoints": ("checkpoints", "checkpoint_operations", "checkpoint_rows", "checkpoint_ms"),
}  # fmt: skip
"""Every counter, in the order in which they are told."""
BARRED: Mapping[str, str] = {
    "turns_begun": "begun", "turns_ended": "ended", "turns_declined": "declined", "lessons_shown": "shown",
    "lessons_learned": "learned", "ledger_operations": "operations", "ledger_durable": "durable",
    "checkpoint_operations": "operations", "checkpoint_rows": "rows",
}  # fmt: skip
"""Those that are drawn beside others of their group, in one word: the same unit, so that lengths compare."""


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
    return blocks


def capture_blocks(counters: Mapping[str, int], width: int, signs: Glyphs) -> list[Block]:
    """What became of what turns said."""
    rows = [(name, counters[key]) for name, key in CAPTURED]
    if not any(number for _, number in rows):
        return [Body("No turn said anything that was worth a thought yet.", "dim")]
    return [Body("\n".join(bars(rows, width, signs)), keep=True)]


def counter_words(counters: Mapping[str, int]) -> str:
    """How much was counted, in one line."""
    named = (("turns_begun", "turn"), ("ledger_operations", "operation"), ("checkpoints", "checkpoint"))
    parts = [counted(counters[name], noun) for name, noun in named if counters[name]]
    return ", ".join(parts) or "nothing counted yet"


def counter_blocks(counters: Mapping[str, int], width: int, signs: Glyphs) -> list[Block]:
    """Every counter by its name, with a bar beside those of its kind."""
    blocks: list[Block] = [Body("Since the first turn here, kept across restarts; nanomem memory status --openmetrics "
                                "prints them for a monitoring system.", "dim")]  # fmt: skip
    for group, names in GROUPS.items():
        blocks.append(Heading(group))
        drawn = [(BARRED[name], counters[name]) for name in names if name in BARRED]
        if any(number for _, number in drawn):
            blocks.append(Body("\n".join(bars(drawn, width, signs)), "accent", keep=True))
        if group == "Checkpoints" and counters["checkpoints"]:
            each = counters["checkpoint_ms"] / counters["checkpoints"]
            rows = counters["checkpoint_rows"] / counters["checkpoints"]
            blocks.append(Field("each one", f"{each:,.1f} ms for {rows:,.1f} rows"))
        blocks += [Spans(((f"{counters[name]:>9,}  ", ""), (name, "key"), (f"  {COUNTERS[name]}", "dim")), 11)
                   for name in names]  # fmt: skip
    return blocks


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
