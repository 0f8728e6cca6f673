"""What becomes of items beyond the cap of the store (`max_items`): told before, held back for a day, told after.

Decides when the compaction that a checkpoint starts by itself is made. What it removes is decided in `compaction`, and
how it is made in `items`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import NanomemError, Problem
from nanomem_tui.core.operations import Operation, new_operation
from nanomem_tui.core.text import counted
from nanomem_tui.memory.compaction import compact_items
from nanomem_tui.store import reading
from nanomem_tui.store.values import Item

if TYPE_CHECKING:
    from nanomem_tui.store.memory_store import MemoryStore
    from nanomem_tui.store.operations import LogEntry

KIND = "items.over_cap"
BUFFER = 1.1
"""Times the cap that there may be before a checkpoint compacts (seed 000: not at every write)."""
WAIT = timedelta(days=1)
"""How long what came at once stays after it was told that it will be compacted."""
TOLD = timedelta(days=7)
"""How long what was told, or done, stays in the status."""
RUNAWAY = 2
"""Times as many items as were told of, from which nothing waits: something writes in a loop."""


class Overflow(NamedTuple):
    """Items beyond the cap: how many there are or would be, the cap, and how many a compaction would remove."""

    items: int
    cap: int
    removed: int

    def line(self) -> str:
        """What a person is told before it happens, with the setting that prevents it."""
        return (
            f"That makes {counted(self.items, 'item')}, more than {BUFFER} times `max_items` ({self.cap:,}):"
            f" {self.removed:,} of them are compacted away after a day, copies first, then the oldest."
            f" To keep them: `nanomem config set max_items {_round(self.items)}` (0: no cap)."
        )


def overflow(present: Mapping[str, Item], coming: Iterable[Item], cap: int) -> Overflow | None:
    """What a compaction would remove once these items came; None when it would remove nothing."""
    rows = {key: row for key, row in present.items() if _counts(row)}
    before = len(rows)
    rows.update((row.id, row) for row in coming if _counts(row))
    if not is_over(len(rows), cap) or len(rows) == before:
        return None
    removed = len(compact_items(rows.values(), cap).removed)
    return Overflow(len(rows), cap, removed) if removed else None


def notice(found: Overflow) -> Operation:
    """The entry of the log that tells what will be compacted; nothing is before `WAIT` is over."""
    label = (
        f"{counted(found.items, 'item')}, more than {BUFFER} times `max_items` ({found.cap:,}):"
        f" {found.removed:,} are compacted away after a day"
    )
    return new_operation(KIND, label, (), actor="compaction", meta=found._asdict())


def is_over(items: int, cap: int) -> bool:
    """Whether so many enabled items are compacted by a checkpoint."""
    return bool(cap) and items > BUFFER * cap


def enabled(items: Iterable[Item]) -> int:
    """How many items count for the cap."""
    return sum(map(_counts, items))


def waits(store: MemoryStore, items: int) -> bool:
    """Whether it was told less than a day ago that so many items, or half of them, are beyond the cap."""
    told = store.journal.newest(KIND, "compaction")
    if told is None or not _within(told.operation.at, WAIT):
        return False
    return items <= RUNAWAY * int(told.operation.meta.get("items", 0))


def is_told(store: MemoryStore, since: LogEntry | None) -> bool:
    """Whether it was told in the last days, and after `since`, that items are beyond the cap."""
    told = store.journal.newest(KIND, "compaction")
    if told is None or not _within(told.operation.at, TOLD):
        return False
    return since is None or told.operation.at > since.operation.at


def problems(store: MemoryStore) -> list[Problem]:
    """What the status says of a compaction that is coming, or was made by a checkpoint in the last days.

    Costs one look at the counters where there are no more rows, deleted ones too, than the cap has room for.
    """
    with contextlib.suppress(NanomemError):  # whoever reads the items says what is wrong with the database
        return _problems(store)
    return []


def _problems(store: MemoryStore) -> list[Problem]:
    cap = store.settings.max_items
    if not is_over(reading.item_rows(store), cap):
        return []
    found: list[Problem] = []
    done: LogEntry | None = store.journal.newest("items.compact", "compaction")
    told = store.journal.newest(KIND, "compaction")
    if told is not None and done is not None and told.operation.at < done.operation.at:
        told = None  # that was done
    if told is not None and _within(told.operation.at, TOLD):
        number = sum(group[4] for group in reading.item_groups(store) if group[3])
        if is_over(number, cap):
            at = clock.parse(told.operation.at)
            after = clock.iso(at + WAIT)[:16].replace("T", " ") if at is not None else "a day"
            what = f"{counted(number, 'item')}, more than {BUFFER} times `max_items` ({cap:,}): some {number - cap:,}"
            fix = f"to keep them: `nanomem config set max_items {_round(number)}` (0: no cap)"
            found.append(Problem(f"{what} are compacted away after {after} UTC", "items", None, fix, "warning"))
    if done is not None and not done.undone and _within(done.operation.at, TOLD):
        fix = f"`nanomem undo {done.operation.id}` brings them back, and they stay; `max_items` is the cap (0: none)"
        found.append(Problem(f"a checkpoint made this {done.operation.label}", "items", None, fix, "note"))
    return found


def _counts(row: Item) -> bool:
    return bool(row.enabled and not row.is_deleted)


def _within(at: str, time: timedelta) -> bool:
    moment = clock.parse(at)
    return moment is not None and clock.now() - moment < time


def _round(items: int) -> int:
    """A cap with room for so many items."""
    step = int(10 ** max(1, len(str(items)) - 2))
    return -(-items // step) * step
