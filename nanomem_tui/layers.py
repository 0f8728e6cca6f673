"""The kinds of things in a workspace: what applies changes of each, and what notices that others changed its files.

Each is made when it is first needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from nanomem_tui.core.errors import NotFound, Problem, StoreError
from nanomem_tui.core.paths import DREAM_CURSOR, TRACKED_FILES
from nanomem_tui.store.values import ROW_LAYERS

if TYPE_CHECKING:
    from nanomem_tui.agents.git_history import GitHistory
    from nanomem_tui.core.operations import Change, Layer, Operation
    from nanomem_tui.dreams.blame import Blames
    from nanomem_tui.dreams.service import Dreams
    from nanomem_tui.model.client import Usage
    from nanomem_tui.parts import Parts
    from nanomem_tui.store.files.presence import Watch
    from nanomem_tui.store.operations import LogEntry
    from nanomem_tui.workspace import Workspace

HISTORY = 200
"""The newest operations of a thing among which that is looked for which an undo goes back to."""


def layer_of(ws: Workspace, name: str) -> Layer:
    """What applies changes of that kind in `ws`. Raises NotFound for a kind that this release does not know."""
    if name == "file":
        return ws.documents
    if name == "session":
        from nanomem_tui.agents.layout import named_folders
        from nanomem_tui.memory.sessions.layer import SessionLayer
        from nanomem_tui.memory.turns.injections import own_sessions_folder

        ours = own_sessions_folder(ws.paths, ws.id)
        return SessionLayer(lambda: named_folders(ws.paths, ws.layout), ws.paths.backups, ws.agent, ours)
    if name == "history":
        from nanomem_tui.store.files.history import HistoryLayer

        return HistoryLayer(ws.paths, ws.agent)
    if name == "tier":
        from nanomem_tui.store.work.layer import TierLayer

        return TierLayer(ws.tier_database)
    if name == "lifecycle":
        return ws.lifecycle.layer
    if name == "pending":
        return ws.traces.pending
    if name == "mirror":
        from nanomem_tui.memory.notes import MirrorLayer

        return MirrorLayer(ws.paths)
    if name == "hunk":
        from nanomem_tui.dreams.review import HunkLayer

        return HunkLayer(ws.paths)
    if name == "knowledge":
        return ws.knowledge.layer
    raise NotFound("no such kind of thing", name, "it was written by a newer nanomem")


def dreams_of(ws: Parts, blames: Callable[[Callable[[], GitHistory | None]], Blames]) -> Dreams:
    """The Dreams of `ws`; before one begins, what a killed process left is finished."""
    from nanomem_tui.dreams.service import Dreams

    settle = ws.store.settle

    def spent(used: Usage) -> None:
        ws.usage.spent("dream", used)

    return Dreams(ws.paths, ws.git, ws.documents, ws.perform, ws.agent, ws.settings, blames, settle, spent, ws.read_to)


def taken_back(ws: Workspace, operation: Operation) -> Sequence[Change]:
    """The changes that take back an operation of `ws`, with the headings that come or go with the lines under them."""
    from nanomem_tui.memory import edits, retention

    changes: Sequence[Change] = retention.taken_back(operation, ws.store)
    if any(change.layer in ROW_LAYERS for change in changes):
        changes = edits.as_merged(operation, changes, ws.store.load(), lambda key: _history(ws, key))
    if all(change.layer != "file" or change.key == DREAM_CURSOR for change in changes):
        return changes
    from nanomem_tui.dreams import edits as dreams_edits

    return [
        dreams_edits.taken_back(change, ws.documents.read(change.key), ws.dream.own_headings)
        if change.layer == "file" and change.key in TRACKED_FILES
        else change
        for change in changes
    ]


def _history(ws: Workspace, key: str) -> Sequence[LogEntry]:
    """The newest operations that touched a thing; none where the server that has them is away."""
    try:
        return ws.log(HISTORY, key=key)
    except StoreError:
        return ()


def unfinished_changes(ws: Workspace) -> Iterable[Problem]:
    """What killed processes left half done in `ws`. Reads only."""
    from nanomem_tui.dreams.run import problems

    return problems(ws)


def watch_of(ws: Parts, since: int) -> Watch:
    """What notices that files of `ws` changed on disk, since a time in nanoseconds."""
    from nanomem_tui.memory import foreign, turn_log
    from nanomem_tui.store.files.presence import Watch

    state = turn_log.usual_or_named(ws.paths, ws.settings.wal_state_dir)
    databases = foreign.sources(ws.paths, ws.settings)
    return Watch(ws.paths, lambda: ws.layout.sessions_dir, since=since, state_folder=state, databases=databases)
