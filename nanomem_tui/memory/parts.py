"""What repairs, reports and reviews use of one agent's memory, as a protocol: `Workspace` has it all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from nanomem_tui.agents.git_history import GitHistory
    from nanomem_tui.agents.layout import Layout
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.core.paths import Paths
    from nanomem_tui.core.settings import Settings
    from nanomem_tui.memory.sessions.sessions import Sessions
    from nanomem_tui.memory.turns.traces import Traces
    from nanomem_tui.store.database.operation_log import LogEntry
    from nanomem_tui.store.files.layer import FileLayer
    from nanomem_tui.store.files.presence import Presence
    from nanomem_tui.store.memory_store import MemoryStore
    from nanomem_tui.store.work.work_store import WorkStore


class Memory(Protocol):
    """One agent's memory: where it lies, its rows, its files, and the one way to change it."""

    id: str
    paths: Paths
    settings: Settings
    store: MemoryStore

    @property
    def layout(self) -> Layout:
        """Which agent wrote this home, and where its sessions lie."""

    @property
    def documents(self) -> FileLayer:
        """SOUL.md, USER.md and MEMORY.md."""

    @property
    def sessions(self) -> Sessions:
        """The agent's conversations."""

    @property
    def traces(self) -> Traces:
        """What turns leave beside rows."""

    @property
    def tier_database(self) -> WorkStore:
        """Where work records and knowledge lie."""

    def git(self) -> GitHistory | None:
        """Return the history of the memory files, None where there is none."""

    def agent(self) -> Presence:
        """Return whether an agent runs on this workspace now."""

    def perform(self, operation: Operation) -> Operation:
        """Check, record and apply one operation."""

    def log(self, limit: int = 50, offset: int = 0, key: str | None = None) -> list[LogEntry]:
        """Operations, newest first; `key`: those that touched the thing of that key."""
