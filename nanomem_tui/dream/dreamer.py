"""What a Dreamer is: it reads new history entries and the memory files, and returns edits of lines, never texts.

Owns the values between a Dreamer and the run of a Dream. Must not know how any Dreamer finds its edits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from nanomem_tui.agents.archive import HistoryEntry
from nanomem_tui.dream.edits import LineEdit
from nanomem_tui.dream.facts import Skipped
from nanomem_tui.dream.guards import Refusal
from nanomem_tui.model.client import Usage

Kind = Literal["rules", "model"]
Watch = Callable[[str], None]
"""Told each step before it is done, and now and then while it waits; an error that it raises ends the Dream."""

NO_EDIT = "the model found it and made no edit of it"
"""Why a fact is left out that no edit was tried for."""


def nobody(_step: str) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a Dreamer wants to change, and the lines it read that change nothing, with the reason.

    `analysis` is what it made of the entries, for people. `refused` are edits that it gave up itself. `done` is the
    cursor of the last entry that it dealt with, None for all: what lies behind waits for the next Dream.
    """

    edits: tuple[LineEdit, ...]
    skipped: tuple[Skipped, ...] = ()
    analysis: str = ""
    usage: Usage = field(default_factory=Usage)
    refused: tuple[Refusal, ...] = ()
    done: int | None = None


class Dreamer(Protocol):
    """Reads new entries and the memory files; returns edits, never texts."""

    @property
    def name(self) -> str:
        """How the Dreamer is called in commits, logs and settings."""

    def propose(
        self, entries: Sequence[HistoryEntry], files: Mapping[str, str], *, steps: int, watch: Watch = nobody
    ) -> Proposal:
        """The edits, in the order of the entries that are their evidence; at most `steps` steps are taken to find them.

        `files` is text by name. Raises whatever `watch` raises, and the errors of what it asks (a model's endpoint).
        """
