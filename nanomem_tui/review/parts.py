"""What a review reads and changes of one agent's memory, as a protocol: `Workspace` has it all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from nanomem_tui.memory.parts import Memory

if TYPE_CHECKING:
    from nanomem_tui.dreams.service import Dreams
    from nanomem_tui.memory.facts.facts import Facts
    from nanomem_tui.memory.facts.journal import Journal, Reflections
    from nanomem_tui.memory.facts.usage import Usage
    from nanomem_tui.memory.inbox import Inbox
    from nanomem_tui.memory.items import Items
    from nanomem_tui.memory.lessons import Lessons
    from nanomem_tui.memory.notes import Notes
    from nanomem_tui.memory.recall.recall import Recall
    from nanomem_tui.memory.sessions.archive import History
    from nanomem_tui.tiers.records import TierRecords


class ReviewedMemory(Memory, Protocol):
    """One agent's memory with all that can be asked about in a review."""

    @property
    def items(self) -> Items:
        """Long-term items."""

    @property
    def lessons(self) -> Lessons:
        """Self-improvement lessons."""

    @property
    def facts(self) -> Facts:
        """Items with a domain, a category and a key."""

    @property
    def journal(self) -> Journal:
        """Daily journal entries."""

    @property
    def reflections(self) -> Reflections:
        """What followed from tools that failed."""

    @property
    def usage(self) -> Usage:
        """What language models used."""

    @property
    def inbox(self) -> Inbox:
        """Held-back items and lessons."""

    @property
    def history(self) -> History:
        """The archive of summaries."""

    @property
    def notes(self) -> Notes:
        """Daily notes."""

    @property
    def records(self) -> TierRecords:
        """Work records: goals, tasks, tool calls, decisions."""

    @property
    def dream(self) -> Dreams:
        """Dreams, their history and their review."""

    @property
    def recall(self) -> Recall:
        """What a message brings back."""
