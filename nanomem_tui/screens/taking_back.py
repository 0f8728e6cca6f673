"""Taking a commit back on any screen that shows one: what each way would do as a diff, then the one that is chosen.

Owns the question and what was done said in words; what a restore is, is for the Dreams of the workspace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.agents.git import FileDiff as StoredDiff
from nanomem_tui.core.text import one_line
from nanomem_tui.dreams import restore as dreams_restore
from nanomem_tui.screens.diff_dialog import DiffDialog, Shown
from nanomem_tui.screens.diffs import file_diff
from nanomem_tui.widgets.document import Block, Body, Heading, Spans
from nanomem_tui.widgets.toast import say

if TYPE_CHECKING:
    from textual.screen import Screen

    from nanomem_tui.core.operations import Operation
    from nanomem_tui.dreams.restore import RestorePreview, Side
    from nanomem_tui.screens.workspace_screen import WorkspaceScreen

SAID = 46  # cells of what was done, so that the way back is to be seen beside it


class Part(NamedTuple):
    """What of a commit is taken back: all of it, a file, a hunk of it; `whole` also loses what came later. `settle`:
    which side is taken of lines that later edits changed as well. `as_of`: the file as it was after it, instead.
    `edit`: one of its edits, counted from 1.
    """

    file: str | None = None
    hunk: int | None = None
    whole: bool = False
    settle: Side | None = None
    as_of: bool = False
    edit: int | None = None


def take_back(
    screen: WorkspaceScreen[Any],
    sha: str,
    title: str,
    parts: Sequence[tuple[str, Part]],
    verb: str,
    first: Sequence[Block] = (),
) -> None:
    """Show what each of `parts` (its words, itself) of a commit would do, and do the one that a person says yes to."""

    def read(part: Part) -> Shown:
        return _shown(screen.ws.dream.restore_preview(sha, **part._asdict()))

    async def restore(part: Part | None) -> None:
        if part is None:
            return
        for operation in await screen.change(lambda ws: ws.dream.restore(sha, **part._asdict())):
            say(screen, f"{operation.label} (u undoes it)")

    screen.ask(DiffDialog(title, parts, read, verb, first), restore)


def say_undone(at: Screen[Any], operation: Operation) -> None:
    """Say what was undone; of a Dream that its entries will be read again, for as long as it takes to see that."""
    label = one_line(operation.label, SAID)
    if note := dreams_restore.said([operation]):
        say(at, f"{note[:1].upper()}{note[1:]} (^r does it again)", "warning", label)
    else:
        say(at, f"{label} (^r does it again)")


def _shown(preview: RestorePreview) -> Shown:
    """What a restore would do, in words and as a diff."""
    files = [file_diff(StoredDiff(file.path, file.before, file.after)) for file in preview.files]
    above: list[Block] = []
    loses = preview.loses_later or preview.lost.lines > 0
    if preview.note:
        above.append(Body(preview.note[:1].upper() + preview.note[1:] + ".", "warn" if loses else ""))
    if preview.conflicts:
        above.append(Body("Both sides stand below. tab takes one of them, or one hunk of it.", "bad"))
    below: list[Block] = []
    if preview.later_commits:
        whose = "this file" if preview.as_of else "these files"
        fate = "lost" if preview.loses_later else "kept, but for lines of those in red" if loses else "kept"
        below.append(Heading(f"Later changes of {whose}: {fate}"))
        for commit in preview.later_commits:
            named = (f"{commit.short} {commit.at[:16].replace('T', ' ')} ", "dim")
            below.append(Spans((named, (commit.subject, "bad" if preview.loses(commit) else "dim")), 2))
    return Shown(files, above, below, preview.conflicts, preview.problem)
