"""How values read in a terminal: counts, times and sizes in few cells. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nanomem_tui.core import clock
from nanomem_tui.core.text import counted, one_line

if TYPE_CHECKING:
    from nanomem_tui.model.client import Usage
    from nanomem_tui.store.values import Record

__all__ = ["counted", "reads_as", "size", "spent", "tally", "when"]


def when(text: Any) -> str:
    """A time as `YYYY-MM-DD HH:MM` of here; what is no time stays as it is; `-` for nothing."""
    if not text:
        return "-"
    moment = clock.parse(str(text))
    return clock.local_naive(moment)[:16].replace("T", " ") if moment else str(text)


def size(count: int) -> str:
    """Bytes as `812 B`, `1.5 kB`, `2.0 MB`."""
    number = float(count)
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{count} B" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"


def tally(counts: Mapping[str, int]) -> str:
    """`fact 3, decision 1`: the largest first."""
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{name or '-'} {number}" for name, number in ordered)


def spent(usage: Usage) -> str:
    """What a model took: `Asked qwen3 2 times: 3,120 tokens in, 240 out, 4.1 s, cost 0.0012`."""
    about = "about " if usage.estimated else ""
    cost = "" if usage.cost is None else f", cost {usage.cost:.4f}"
    times = counted(usage.calls, "time", "times")
    counts = f"{about}{usage.tokens_in:,} tokens in, {usage.tokens_out:,} out"
    return f"Asked {one_line(usage.model, 80)} {times}: {counts}, {usage.seconds:.1f} s{cost}"


def reads_as(row: Record) -> str:
    """How what was noted or imported reads as an order to the model, for a person; empty when it does not."""
    from nanomem_tui.memory.transfer.crystallized import orders

    why = orders(row)
    return f"it {why}: it is data, and put before no model" if why else ""
