"""One file made what a change wants of it: the write, the commit of what others did before, and the look behind it.

Owns the moment after: a program that read the old text before ours had the name, and writes its own version of it
behind ours, takes our lines away (docs/decisions/0026). That is seen within milliseconds, and they are made in its
version. Must not know an operation.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.errors import Conflict, from_os_error
from nanomem_tui.formats.history import parse_cursor
from nanomem_tui.paths import DREAM_CURSOR
from nanomem_tui.store import atomic

if TYPE_CHECKING:
    from nanomem_tui.store.git_history import GitHistory

_MODE = 0o644
_OUTSIDE = "nanomem: keep what was edited outside\n\nbefore: {label}"
_OVERWRITTEN = "nanomem: make a change again that was written over\n\n{label}"
STALE_SECONDS = 0.01
"""How long after ours a version is looked for that was made of the text before."""


class Step(NamedTuple):
    """What becomes of one file: its bytes now, and those that it shall have."""

    key: str
    path: Path
    current: bytes | None
    target: bytes | None
    outside: bytes | None
    """What others made of the file before: committed on its own first. None for nothing."""


def commit_outside(git: GitHistory, steps: Sequence[Step], label: str) -> None:
    """Commit what others made of the files before; in a repository above the workspace that stays uncommitted."""
    if git.inside:
        return
    head = git.head()
    files = {step.key: step.outside for step in steps if step.outside is not None and git.tracks(step.key)}
    if head is not None:
        from nanomem_tui.store.git_objects import object_id

        files = {key: data for key, data in files.items() if git.blob_id(head, key) != object_id("blob", data)}
    if files:
        git.commit_files(files, _OUTSIDE.format(label=" ".join(label.split())))


def committed(git: GitHistory, steps: Sequence[Step]) -> tuple[dict[str, bytes | None], list[str]]:
    """What a commit is to hold of the steps, and the files that it must leave out.

    In a repository above the workspace the commit holds our change alone: what else was changed in a file stays
    uncommitted, and a file is left out where somebody staged it, or changed the same lines.
    """
    taken = [step for step in steps if git.takes(step.key, new=step.current is None)]
    head = git.head()
    if not git.inside or head is None:
        return {step.key: step.target for step in taken}, []
    from nanomem_tui.store import file_values, git_index

    staged = git_index.held(git.git_dir)
    files: dict[str, bytes | None] = {}
    left: list[str] = []
    for step in taken:
        blob, held = git.blob_id(head, step.key), git.file_at(head, step.key)
        try:
            if staged and staged.get(os.fsencode(git.local(step.key) or "")) != blob:
                raise Conflict("the file is staged", step.key)
            same = held == step.current or step.key == DREAM_CURSOR
            files[step.key] = (
                step.target if same else file_values.merged_with(step.key, step.current, held, step.target)
            )
        except Conflict:
            left.append(step.key)
    return files, left


def goes_back(step: Step) -> bool:
    return (parse_cursor(step.target) or 0) < (parse_cursor(step.current) or 0)


def write(step: Step) -> None:
    """Make the file the step's target if it still is its current. Raises Conflict, and those of `from_os_error`."""
    if step.target == step.current:
        return
    expected = "" if step.current is None else atomic.sha256(step.current)
    try:
        if step.target is not None:
            if not step.path.parent.is_dir():
                atomic.make_folder(step.path.parent)
            atomic.write_atomic(step.path, step.target, expected=expected, mode=_MODE)
            return
        from nanomem_tui.store import swap

        swap.remove_expected(step.path.resolve(), expected)
    except OSError as error:
        raise from_os_error(error, f"writing {step.key}") from error


def wait_for_stale(steps: Sequence[Step]) -> None:
    """Give who read before our write the time to write."""
    if any(step.target != step.current for step in steps):
        time.sleep(STALE_SECONDS)


def is_overwritten(step: Step, now: bytes | None) -> bool:
    """Whether the file has lines not that the step brought, or those again that it took: a version made of the text
    before. One that is gone is nobody's version."""
    if now is None or step.target is None or now == step.target:
        return False
    before, ours, theirs = (Counter((data or b"").splitlines()) for data in (step.current, step.target, now))
    came, went = ours - before, before - ours
    lacks = any(theirs[line] < min(number, ours[line]) for line, number in came.items())
    return lacks or any(theirs[line] > ours[line] for line in went)


def put_back(git: GitHistory | None, step: Step, label: str) -> str | None:
    """Make a step again in what somebody else wrote, which is committed on its own first; the commit."""
    if git is not None:
        commit_outside(git, [step], label)
    write(step)
    files = committed(git, [step])[0] if git is not None else {}
    if git is None or not files:
        return None
    return git.commit_files(files, _OVERWRITTEN.format(label=" ".join(label.split())))
