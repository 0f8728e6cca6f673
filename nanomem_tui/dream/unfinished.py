"""What a killed process recorded of the memory files and the edits that wait, and did not finish: for the doctor.

Reads only; who finishes it is the store, at the next Dream or change.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from nanomem_tui.core.errors import NanomemError, Problem
from nanomem_tui.dream.hunks import HunkLayer
from nanomem_tui.memory.repairs import half_done
from nanomem_tui.store.operations import STUCK

if TYPE_CHECKING:
    from nanomem_tui.core.operations import Change, Operation
    from nanomem_tui.workspace import Workspace


def problems(ws: Workspace) -> Iterator[Problem]:
    """A problem for each operation that a process which ended left half done, or had only recorded, and for what our
    commits left undone in the repository."""
    for entry in ws.store.unfinished():
        if entry.state == STUCK:
            fix = "look at these files, then `nanomem doctor --fix` leaves them as they are"
            yield Problem(half_done(entry.operation), ws.store.where, None, fix, "warning")
        elif not ws.store.writer.is_of_here(entry):
            done = entry.operation
            what = f"{done.label} ({done.id}) was begun in another home that shares this memory, and is not finished"
            fix = "nothing can be done here, as its files lie there: the next change in that home finishes it"
            yield Problem(what, ws.store.where, None, fix, "warning")
        else:
            yield from _unfinished(ws, entry.operation, ws.store.where)
    git = ws.git()
    if git is not None and (rows := git.behind()):
        what = f"the staging area is behind the last commits ({', '.join(rows)}): a plain `git commit` takes them back"
        fix = "nothing has to be done: the next Dream mends it, or `git reset -q` in the workspace"
        yield Problem(what, ws.paths.relative(git.git_dir / "index"), None, fix, "warning")


def _unfinished(ws: Workspace, operation: Operation, where: str) -> Iterator[Problem]:
    done = [_stands(ws, change) for change in operation.changes if change.layer in ("file", "hunk")]
    if done and all(done):
        return
    what, then = "recorded and never begun", "is done"
    if any(done) or not done:
        what, then = "begun, and the program ended before it was done", "is finished"
    fix = f"nothing has to be done: it {then} before the next Dream, or the next change of these files, begins"
    yield Problem(f"{operation.label} ({operation.id}) was {what}", where, None, fix, "warning")


def _stands(ws: Workspace, change: Change) -> bool:
    with contextlib.suppress(NanomemError):
        return (ws.documents if change.layer == "file" else HunkLayer(ws.paths)).stands(change)
    return False
