"""What the options that all commands take come to: the workspace that is asked for, and the form of the output.

Imports no click: the quick commands use it too.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from nanomem_tui.cli import output

if TYPE_CHECKING:
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.core.paths import Paths
    from nanomem_tui.workspace import Workspace

T = TypeVar("T")
Lines = Sequence[str] | Callable[[], Sequence[str]]


class State:
    """The global options of this run, wherever on the line they stood."""

    def __init__(self, workspace: str | None = None, *, json: bool = False, config: str | None = None) -> None:
        self.workspace = workspace
        self.json = json
        self.config = config
        self._noted = False

    @contextlib.contextmanager
    def open(self, *, dry_run: bool = False, starting: bool = False, forgiving: bool = False) -> Iterator[Workspace]:
        """The workspace asked for, closed at the end; `dry_run`: one in which nothing is recorded or written;
        `starting`: an empty folder will do, what is written first makes it one; `forgiving`: settings that cannot be
        used are problems of the workspace, and no errors.

        Says on stderr which files a write had to set aside, and what could not be written at the end. Raises
        WorkspaceMissing, NotAWorkspace or AccessDenied.
        """
        ws = self._opened(dry_run=dry_run, starting=starting, forgiving=forgiving)
        before = _names(ws.paths.quarantine)
        try:
            yield ws
        finally:
            _close(ws)
        _tell_copy(ws)
        _tell_takeover(ws)
        for name in sorted(_names(ws.paths.quarantine) - before):
            from nanomem_tui.core.atomic import why_kept

            output.notes([f"Note: {why_kept(name)}; as it was it is kept in {ws.paths.quarantine / name}"])

    def named(self) -> str | None:
        """The path of the workspace asked for, here or by NANOMEM_WORKSPACE, also where it was asked for by the name
        that the person gave it; None for the one that is found without asking."""
        asked = self.workspace or os.environ.get("NANOMEM_WORKSPACE")
        if not asked or os.path.isabs(asked) or os.path.lexists(asked):
            return self.workspace
        from nanomem_tui.workspaces import path_of

        return path_of(asked)

    @property
    def agent_config(self) -> str | None:
        """The agent's configuration asked for, here or by NANOMEM_AGENT_CONFIG."""
        return self.config or os.environ.get("NANOMEM_AGENT_CONFIG") or None

    def locate(self, *, starting: bool = False) -> Paths:
        """The paths of the workspace asked for. Raises WorkspaceMissing, NotAWorkspace, AccessDenied or BadInput."""
        from nanomem_tui.core import paths

        found = paths.find_workspace(self.named(), starting=starting, config=self.agent_config)
        if not self._noted:
            output.notes(f"Note: {problem.text()}" for problem in found.problems())
            self._noted = True
        return found

    def _opened(self, *, dry_run: bool, starting: bool, forgiving: bool) -> Workspace:
        from nanomem_tui.core import config

        found = self.locate(starting=starting)
        loaded = config.load(found, forgiving=forgiving)
        if loaded.settings.keys:
            from nanomem_tui.actions import judged

            loaded = judged(loaded)
        if dry_run:
            from nanomem_tui.workspaces import Rehearsal

            return Rehearsal(found, loaded)
        from nanomem_tui.workspace import Workspace

        return Workspace(found, loaded)

    @staticmethod
    def tell_uncommitted(ws: Workspace, operations: Sequence[Operation]) -> None:
        """Say on stderr which changes of memory files no commit holds, where versions are kept, and what to do."""
        for operation in operations:
            if any(change.layer == "file" for change in operation.changes):
                problem = ws.documents.uncommitted(operation)
                output.notes([f"Warning: made without a commit: {problem.text()}"] if problem else [])

    def show(self, value: Any, human: Lines) -> None:
        """Print `value` as JSON, or the lines of `human`, whichever was asked for."""
        if self.json:
            output.document(value)
        else:
            output.lines(human() if callable(human) else human)


def _tell_copy(ws: Workspace) -> None:
    """Say on stderr that what was shown is a copy: the memory is still as an earlier nanomem left it."""
    if ws.store.shows_copy and ws.store.place.is_first_edition():
        what = "the first edition's memory is shown from a copy; the first command that writes takes it over"
        output.notes([f"Note: {what}"])
    elif ws.store.shows_copy:
        what = "the memory has an older schema, and is shown from a copy; the first command that writes migrates it"
        output.notes([f"Note: {what}"])


def _tell_takeover(ws: Workspace) -> None:
    """Say on stderr what this command took over from the first edition, where its files are, and what is not in it."""
    taken = ws.store.taken_over
    if taken is None or not taken.counts:  # nothing, or the same edition with an older schema
        return
    if taken.copy is not None:
        layers = [layer for layer in ("item", "lesson", "record", "operation") if layer in taken.counts]
        counts = [f"{sum(taken.counts[layer].values()):,} {layer}s" for layer in layers]
        output.notes([f"Note: taken over from the first edition: {', '.join(counts)}; its files are in {taken.copy}"])
    output.notes(f"Warning: not taken over: {problem.text()}" for problem in taken.problems)


def _close(ws: Workspace) -> None:
    """Let go of the workspace. A last checkpoint that fails loses nothing, so that it is told and is no failure: who is
    told of one would do the change again. Raises Unsaved where it does lose something."""
    from nanomem_tui.core.errors import NanomemError, Unsaved

    try:
        ws.close()
    except Unsaved:
        raise
    except NanomemError as error:
        output.notes([f"Note: saved, but the agent's files and counters are written later: {error.what} (degraded)"])
    failures = ws.store.files.failures.values()
    output.notes(f"Note: saved, but a file of the agent is written later: {one.text()}" for one in failures)


def _names(folder: Path) -> set[str]:
    try:
        return set(os.listdir(folder))
    except OSError:
        return set()


def page(rows: Sequence[T], limit: int | None, offset: int) -> list[T]:
    """The part of `rows` that was asked for."""
    return list(rows[offset:] if limit is None else rows[offset : offset + limit])
