"""What our commits left undone in a repository: entries of the staging area, and locks of ours that nobody holds.

A process that is killed behind its commit, or that finds `index.lock` held, leaves the staging area as it was before:
a plain `git commit` would then take our commits back. Entries are brought up to date only where they still hold what
one of our newest commits replaced. Must not move a branch or write a file of the workspace.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING

from nanomem_tui import regular
from nanomem_tui.store import git_index, git_refs
from nanomem_tui.store.git_history import AUTHOR, INIT_MESSAGE, VERSIONED
from nanomem_tui.store.git_index import Staged
from nanomem_tui.store.git_objects import FILE_MODE, DamagedGit, object_id

if TYPE_CHECKING:
    from nanomem_tui.paths import Paths
    from nanomem_tui.store.git_history import GitHistory
    from nanomem_tui.store.git_values import Commit

_LOOKED_AT = 50  # commits of ours in a row
_LEFT = 60.0  # seconds after which no living process is about to give a file its name


def tidy(git: GitHistory, paths: Paths) -> tuple[str, ...]:
    """Put right what can be; returns the files of which the staging area is still behind. Raises DamagedGit."""
    _clear(git)
    rows = behind(git, paths)
    if rows and not git_index.update(git.git_dir, rows):
        return tuple(map(git.name, rows))
    return ()


def behind(git: GitHistory, paths: Paths) -> dict[str, Staged]:
    """The entries that hold what a commit of ours replaced, by repository path. Reads only."""
    held = git_index.held(git.git_dir)
    head = git.head()
    if held is None or head is None:
        return {}
    ours = _ours(git)
    rows = {}
    for name in VERSIONED if ours else ():
        if (local := git.local(name)) is None:
            continue
        entry, now = held.get(local.encode()), git.blob_id(head, name)
        if entry == now or _is_there(paths, name, entry):
            continue
        if any(_replaced(git, one, name) == entry for one in ours):
            rows[local] = Staged(entry, now, FILE_MODE)
    return rows


def _replaced(git: GitHistory, commit: Commit, name: str) -> str | None:
    try:
        return git.blob_id(commit.parent, name) if commit.parent else None
    except DamagedGit:
        return ""  # not known, and no entry's


def _ours(git: GitHistory) -> list[Commit]:
    found = []
    for commit in git.walk():
        if commit.author != AUTHOR and (commit.parent or commit.subject != INIT_MESSAGE):
            break
        found.append(commit)
        if len(found) == _LOOKED_AT:
            break
    return found


def _is_there(paths: Paths, name: str, entry: str | None) -> bool:
    """Whether the file is what its entry says: then a person brought both back, or takes the file away."""
    try:
        data = regular.read(paths.workspace / name)
    except OSError:
        return entry is None
    return entry is not None and object_id("blob", data) == entry


def _clear(git: GitHistory) -> None:
    """Take away what a killed process of ours left: locks that no living one holds, files that never got a name."""
    with contextlib.suppress(OSError):
        for found in os.scandir(git.git_dir):
            path = git.git_dir / found.name
            if not found.name.startswith("nanomem-"):
                continue
            if found.name.endswith(".lock"):
                git_refs.remove_stale(path, named=True)
            with contextlib.suppress(OSError):
                old = found.stat(follow_symlinks=False).st_mtime < time.time() - _LEFT
                if old and (found.name.endswith(".tmp") or not found.stat().st_size):
                    os.unlink(path)
    with contextlib.suppress(OSError):
        for path in (git.git_dir / f"{git_refs.read_head(git.git_dir).name}.lock", git.git_dir / "index.lock"):
            git_refs.remove_stale(path)
