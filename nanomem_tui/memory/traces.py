"""What turns leave beside rows, in our own folder: counters, the injection log, recovered turns, transcripts of ours.

Owns where each lies. Each part is made when it is first used and writes nothing before there is something to write.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from nanomem_tui.core import clock
from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.paths import Paths
from nanomem_tui.core.settings import Settings

if TYPE_CHECKING:
    from nanomem_tui.memory.checkpoint_log import CheckpointLog
    from nanomem_tui.memory.counters import Counters
    from nanomem_tui.memory.injections import Injections
    from nanomem_tui.memory.own_sessions import OwnSessions
    from nanomem_tui.memory.pending import Pending
    from nanomem_tui.store.memory_store import CheckpointResult


def own_sessions_folder(paths: Paths, workspace_id: str) -> Path:
    """Where transcripts of ours lie, for an agent that keeps none."""
    return paths.data / "sessions" / workspace_id


class Traces:
    """The traces of turns in one workspace; `agents_sessions` tells where the agent keeps its own transcripts."""

    def __init__(
        self, paths: Paths, workspace_id: str, settings: Settings, agents_sessions: Callable[[], Path | None]
    ) -> None:
        self._paths = paths
        self._id = workspace_id
        self._settings = settings
        self._agents_sessions = agents_sessions

    @cached_property
    def counters(self) -> Counters:
        """What was counted (seed 001 §10)."""
        from nanomem_tui.memory.counters import Counters

        return Counters(self._paths.data / "counters" / f"{self._id}.jsonl")

    @cached_property
    def checkpoints(self) -> CheckpointLog:
        """What the last checkpoints took."""
        from nanomem_tui.memory.checkpoint_log import CheckpointLog

        return CheckpointLog(self._paths.data / "checkpoints" / f"{self._id}.jsonl")

    @cached_property
    def injections(self) -> Injections:
        """Which turn was given which items."""
        from nanomem_tui.memory.injections import Injections

        return Injections(self._paths.data / "injections" / f"{self._id}.jsonl")

    @cached_property
    def pending(self) -> Pending:
        """Unfinished turns that were recovered."""
        from nanomem_tui.memory.pending import Pending

        return Pending(self._paths.data / "pending" / f"{self._id}.json")

    @cached_property
    def sessions(self) -> OwnSessions | None:
        """Transcripts of ours; None where the agent keeps its own, whose folder we never write."""
        from nanomem_tui.memory.own_sessions import OwnSessions

        folder, agents = own_sessions_folder(self._paths, self._id), self._agents_sessions()
        if agents is not None and agents != folder:
            return None
        return OwnSessions(folder, self._settings)

    def checkpointed(self, done: CheckpointResult) -> None:
        """Count a checkpoint, note what it took, and save what was counted until then."""
        from nanomem_tui.memory.checkpoint_log import Checkpointed

        self.checkpoints.add(Checkpointed(clock.iso(clock.now()), round(done.ms, 3), done.operations, done.rows))
        count = self.counters.add
        count("checkpoints")
        count("checkpoint_operations", done.operations)
        count("checkpoint_rows", done.rows)
        count("checkpoint_ms", round(done.ms))
        self.close()

    def close(self) -> None:
        """Save what was counted; counters are no reason to fail."""
        if "counters" in self.__dict__:
            with contextlib.suppress(NanomemError):
                self.counters.save()
