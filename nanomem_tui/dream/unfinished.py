"""What a killed process recorded of the memory files and the edits that wait, and did not finish: for the doctor.

Reads only; who finishes it is the store, at the next Dream or change.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from nanomem_tui.dream.hunks import HunkLayer
from nanomem_tui.errors import NanomemError, Problem
from nanomem_tui.store import edition, git_tidy, ledger, ledger_order

if TYPE_CHECKING:
    from nanomem_tui.operations import Change, Operation
    from nanomem_tui.workspace import Workspace


def problems(ws: Workspace) -> Iterator[Problem]:
    """A problem for each operation that a process which ended left half done, or had only recorded, and for what our
    commits left undone in the repository."""
    new: Any = ws.store
    if edition.is_second(ws.store):
        for entry in new.unfinished():
            yield from _unfinished(ws, entry.operation, ws.store.where)
        files = []
    else:
        files = _ledger_files(ws)
    void = ledger_order.voided(operation for file in files for operation in file.operations)
    for file in files:
        last = file.operations[-1] if file.operations else None
        if last is not None and last.id not in void and not ws.store.knows(last):
            yield from _unfinished(ws, last, ws.paths.relative(file.path))
    git = ws.git()
    if git is not None and (rows := git_tidy.behind(git, ws.paths)):
        what = f"the staging area is behind the last commits ({', '.join(rows)}): a plain `git commit` takes them back"
        fix = "nothing has to be done: the next Dream mends it, or `git reset -q` in the workspace"
        yield Problem(what, ws.paths.relative(git.git_dir / "index"), None, fix, "warning")


def _ledger_files(ws: Workspace) -> list[ledger.LedgerFile]:
    return [ledger.read_file(path) for path in ws.store.ledger.left()]


def _unfinished(ws: Workspace, operation: Operation, where: str) -> Iterator[Problem]:
    done = [_stands(ws, change) for change in operation.changes if change.layer in ("file", "hunk")]
    if all(done):
        return
    what, then = "recorded and never begun", "is marked as not done"
    if any(done):
        what, then = "begun, and the program ended before it was done", "is finished"
    fix = f"nothing has to be done: it {then} before the next Dream, or the next change of these files, begins"
    yield Problem(f"{operation.label} ({operation.id}) was {what}", where, None, fix, "warning")


def _stands(ws: Workspace, change: Change) -> bool:
    with contextlib.suppress(NanomemError):
        return (ws.documents if change.layer == "file" else HunkLayer(ws.paths)).stands(change)
    return False
