"""What repairs, reports and reviews use of one agent's memory, as a protocol: `Workspace` has it all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from nanomem_tui.agents.git_history import GitHistory
    from nanomem_tui.agents.releases import Layout
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
    def layout(self) -> Layout: ...

    @property
    def documents(self) -> FileLayer: ...

    @property
    def sessions(self) -> Sessions: ...

    @property
    def traces(self) -> Traces: ...

    @property
    def tier_database(self) -> WorkStore: ...

    def git(self) -> GitHistory | None: ...

    def agent(self) -> Presence: ...

    def perform(self, operation: Operation) -> Operation: ...

    def log(self, limit: int = 50, offset: int = 0, key: str | None = None) -> list[LogEntry]: ...
