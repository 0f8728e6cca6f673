"""What a transfer is made of: the rows that a reader found, and the plan of what an import would do with each.

Values only; `rows` checks fields, `plan` decides, `service` does.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from nanomem_tui.errors import Problem
from nanomem_tui.memory.cap import Overflow
from nanomem_tui.store.values import Item, Row

Verdict = Literal["new", "update", "inbox", "same", "conflict", "deleted"]
DOES = frozenset({"new", "update", "inbox"})
"""The verdicts that change something here."""
Prefer = Literal["ours", "theirs", "newer"]


class Found(NamedTuple):
    """A row of a source, as a row of ours: where it stands there, and what had to be put right in it."""

    row: Row
    place: str
    note: str = ""


class Reading(NamedTuple):
    """What a reader found in one file.

    `fields`: what the format holds of a row; empty: everything. `ours`: a copy that nanomem made, taken as it is;
    `trusted`: of this very workspace. `deleted`: rows that are deleted there. `notes` are sentences for a person.
    `times`: a time as the format can write it; what gets lost by that is no difference.
    """

    format: str
    rows: Sequence[Found] = ()
    problems: Sequence[Problem] = ()
    fields: frozenset[str] = frozenset()
    ours: bool = False
    trusted: bool = False
    deleted: int = 0
    notes: Sequence[str] = ()
    times: Callable[[str], str] = str


class Entry(NamedTuple):
    """What the import does with one row of a source, and why. `present` is the row of ours that it meets."""

    verdict: Verdict
    row: Row
    place: str
    why: str = ""
    present: Row | None = None

    def to_json(self) -> dict[str, Any]:
        """The entry as the command line prints it."""
        layer = "item" if isinstance(self.row, Item) else "lesson"
        met = {"present": self.present.id} if self.present is not None else {}
        text = self.row.text if isinstance(self.row, Item) else f"{self.row.trigger}: {self.row.better_action}"
        body = {"id": self.row.id, "layer": layer, "verdict": self.verdict, "why": self.why, "place": self.place}
        return {**body, **met, "text": text, "row": self.row.to_json()}


class ImportPlan(NamedTuple):
    """An import that is not done yet: every row with its verdict, and what could not be read."""

    path: Path
    format: str
    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...] = ()
    deleted: int = 0
    notes: tuple[str, ...] = ()
    over_cap: Overflow | None = None
    """That there would be more items than `max_items` has room for."""

    @property
    def name(self) -> str:
        """What the file or folder is called, however its path was written."""
        return Path(os.path.abspath(self.path)).name or str(self.path)

    @property
    def counts(self) -> dict[str, int]:
        """How many rows have each verdict, `bad` ones and those `deleted_there` included."""
        counted = Counter(entry.verdict for entry in self.entries)
        verdicts: tuple[Verdict, ...] = ("new", "update", "inbox", "same", "conflict", "deleted")
        bad = sum(1 for problem in self.problems if problem.severity == "error")
        return {**{name: counted[name] for name in verdicts}, "deleted_there": self.deleted, "bad": bad}

    @property
    def todo(self) -> list[Entry]:
        """The entries that change something."""
        return [entry for entry in self.entries if entry.verdict in DOES]


class Exported(NamedTuple):
    """An export that was made. `left_out`: how many rows were not written, by reason; `lost`: what the format lacks."""

    path: Path
    format: str
    items: int
    lessons: int
    left_out: dict[str, int]
    lost: str
