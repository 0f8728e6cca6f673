"""What a Dream came to, as a value. Must not run one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nanomem_tui.agents.archive import HistoryEntry
from nanomem_tui.core.operations import Operation
from nanomem_tui.core.text import counted
from nanomem_tui.dream import unread
from nanomem_tui.dream.edits import LineEdit
from nanomem_tui.dream.facts import Skipped
from nanomem_tui.dream.guards import Refusal
from nanomem_tui.dream.review import masked
from nanomem_tui.model.client import Usage

_MOST_REASONS = 3


def passed_over(lines: Sequence[int]) -> str:
    """Which lines of the history could not be read, and what became of them."""
    named = ", ".join(str(line) for line in lines[:10]) + (", …" if len(lines) > 10 else "")
    stay = "is passed over and stays there" if len(lines) == 1 else "are passed over and stay there"
    which = counted(len(lines), "line")
    return f"{which} of history.jsonl cannot be read ({named}): what Dreams cannot read {stay}; see `nanomem doctor`"


@dataclass(frozen=True, slots=True)
class DreamResult:
    """What one Dream read, changed and refused. `files`: lines (added, removed) by file. A dry run has no operation.

    `analysis` is what the Dreamer made of the entries, `usage` what a model took for it.

    `notes`: what of it is out of the ordinary, each a line to be told: a repository was made, or none keeps it.

    `declined`: how many of the edits that a review showed a person neither took nor left for later.

    `unreadable`: the lines of the history that it passed over, because they are no entry.

    `unread`: the entries that the rules passed and could not read, which wait for a model; `again`: those of them that
    it read, beside which the cursor stays.

    `first` and `last` are the cursors between which those lie that it read, `read_to` the last of them in file order.
    """

    read: int
    cursor_before: int
    cursor_after: int
    edits: tuple[LineEdit, ...]
    refused: tuple[Refusal, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    files: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    before: Mapping[str, str] = field(default_factory=dict)
    after: Mapping[str, str] = field(default_factory=dict)
    remaining: int = 0
    unreadable: tuple[int, ...] = ()
    sha: str | None = None
    operation: Operation | None = None
    dreamer: str = "rules"
    analysis: str = ""
    usage: Usage = field(default_factory=Usage)
    notes: tuple[str, ...] = ()
    declined: int = 0
    unread: tuple[int, ...] = ()
    again: tuple[int, ...] = ()
    first: int = 0
    last: int = 0
    read_to: HistoryEntry | None = None

    @property
    def ends(self) -> tuple[int, int]:
        """The first and the last entry that it read."""
        if self.again:
            return self.again[0], self.again[-1]
        return self.first or self.cursor_before + 1, self.last or self.cursor_after

    @property
    def span(self) -> str:
        """Which entries it read."""
        return "{} to {}".format(*self.ends) + (" again" if self.again else "")

    @property
    def unchanged(self) -> str:
        """What to say of a Dream that changed no file: what it found, and why that changed nothing."""
        told = [f"{counted(self.declined, 'edit')} not taken"] if self.declined else []
        if facts := [line.why.partition(": ")[0] for line in self.facts_left]:
            reasons = [f"{why} ({number:,})" for why, number in Counter(facts).most_common()]
            more = ["…"] if len(reasons) > _MOST_REASONS else []
            told.append(f"{counted(len(facts), 'fact')} found: {', '.join((*reasons[:_MOST_REASONS], *more))}")
        if self.unread:
            told.append(unread.told(self.unread))
        if told:
            return f"nothing changed; {', '.join(told)}"
        return "nothing changed" if self.edits or self.refused else "nothing to remember"

    @property
    def summary(self) -> str:
        """What it changed, in a few words."""
        if not self.files:
            return self.unchanged
        added, removed = (sum(counts[side] for counts in self.files.values()) for side in (0, 1))
        return f"+{added} -{removed} in {', '.join(self.files)}"

    @property
    def facts_left(self) -> tuple[Skipped, ...]:
        """The facts that were found, and of which no edit was made."""
        return tuple(line for line in self.skipped if line.fact)

    def to_json(self) -> dict[str, Any]:
        """The counts and edits as a JSON object."""
        return {
            "read": self.read,
            "remaining": self.remaining,
            "unreadable": list(self.unreadable),
            "unread": list(self.unread),
            "again": list(self.again),
            "cursor_before": self.cursor_before,
            "cursor_after": self.cursor_after,
            "edits": [masked(edit).to_json() for edit in self.edits],
            "refused": [{**masked(refusal.edit).to_json(), "reason": refusal.why} for refusal in self.refused],
            "skipped": [line.to_json() for line in self.skipped],
            "files": {name: {"added": added, "removed": removed} for name, (added, removed) in self.files.items()},
            "sha": self.sha,
            "operation": self.operation.id if self.operation else None,
            "dreamer": self.dreamer,
            "analysis": self.analysis,
            "usage": self.usage.to_json(),
            "notes": list(self.notes),
        }
