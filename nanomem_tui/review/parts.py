"""What a review reads and changes of one agent's memory, as a protocol: `Workspace` has it all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from nanomem_tui.memory.parts import Memory

if TYPE_CHECKING:
    from nanomem_tui.dreams.service import Dreams
    from nanomem_tui.memory.facts.facts import Facts
    from nanomem_tui.memory.facts.journal import Journal, Reflections
    from nanomem_tui.memory.facts.usage import Usage
    from nanomem_tui.memory.items import Items
    from nanomem_tui.memory.lessons import Lessons
    from nanomem_tui.memory.notes import Notes
    from nanomem_tui.memory.quarantined_rows import QuarantinedRows
    from nanomem_tui.memory.recall.recall import Recall
    from nanomem_tui.memory.sessions.archive import History
    from nanomem_tui.tiers.records import TierRecords


class ReviewedMemory(Memory, Protocol):
    """One agent's memory with all that can be asked about in a review."""

    @property
    def items(self) -> Items: ...

    @property
    def lessons(self) -> Lessons: ...

    @property
    def facts(self) -> Facts: ...

    @property
    def journal(self) -> Journal: ...

    @property
    def reflections(self) -> Reflections: ...

    @property
    def usage(self) -> Usage: ...

    @property
    def inbox(self) -> QuarantinedRows: ...

    @property
    def history(self) -> History: ...

    @property
    def notes(self) -> Notes: ...

    @property
    def records(self) -> TierRecords: ...

    @property
    def dream(self) -> Dreams: ...

    @property
    def recall(self) -> Recall: ...
