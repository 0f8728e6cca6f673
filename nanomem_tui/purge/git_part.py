"""The histories in git as a part of what is looked through: which of them can be, what they hold, and taking it out.

Must not know the other places.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from nanomem_tui.errors import Refused
from nanomem_tui.purge import archived
from nanomem_tui.store import backup_files, git_hindrance, git_purge
from nanomem_tui.store.git_history import probe

if TYPE_CHECKING:
    from nanomem_tui.paths import Paths
    from nanomem_tui.purge.run import Wanted
    from nanomem_tui.purge.texts import Found, Sought

_OF_REFS = ("index", "packed-refs", "refs", "HEAD", "ORIG_HEAD", "MERGE_HEAD")
"""Files that hold names, which are told as such."""
GIT = "the git history: --git writes it anew, and keeps a bundle of what was"


OUTER = "the repository of a folder above the workspace holds versions of the memory files: look there yourself"


def histories(paths: Paths) -> tuple[list[Path], list[tuple[str, str]]]:
    """The histories that can be looked through, and what of them cannot, with the reasons."""
    found: list[Path] = []
    unread: list[tuple[str, str]] = []
    for git_dir in filter(os.path.lexists, paths.git_dirs):
        if reason := git_hindrance.unread(git_dir, paths.workspace):
            unread.append((paths.relative(git_dir), reason))
            continue
        found.append(git_dir)
        unread += [(paths.relative(path), why) for path, why in git_hindrance.elsewhere(git_dir, paths.workspace)]
    if (outer := paths.outer_git_dir) is not None and (history := probe(paths).history) is not None:
        history.close()
        unread.append((str(outer), OUTER))
    return found, unread


def settings(git_dir: Path) -> Iterator[Path]:
    """The files of one that hold words and are no part of its history: addresses with their passwords, hooks."""
    folders = ("info", "hooks")
    for path in sorted((*git_dir.iterdir(), *(one for name in folders for one in (git_dir / name).glob("*")))):
        odd = path.name in _OF_REFS or path.name.endswith(("MSG", ".lock", ".sample"))
        if not odd and path.is_file() and not path.is_symlink():
            yield path
    yield from sorted((git_dir / "modules").rglob("config"))


def refuse(paths: Paths) -> None:
    """Raise Refused where one of them cannot be written anew without losing something."""
    for git_dir in filter(os.path.lexists, paths.git_dirs):
        git_hindrance.check(git_dir, paths.workspace)


def is_in(paths: Paths, sought: Sought) -> bool:
    """Whether one of them holds it. Raises DamagedGit."""
    found: Found = Counter()
    for git_dir in histories(paths)[0]:
        for _, _, data in git_purge.texts(git_dir):
            archived.in_history(data, sought, found)
    return bool(found)


def clean(
    paths: Paths, git_dir: Path, sought: Sought, tell: Callable[[str, Found, str], None], wanted: Wanted, *,
    write: bool,
) -> None:  # fmt: skip
    """Tell what one holds; `write`, and wanted: without it. Raises the errors of `git_purge.rewrite`."""
    found: Found = Counter()
    for _, _, data in git_purge.texts(git_dir):
        archived.in_history(data, sought, found)
    stays = "" if wanted.git else GIT
    if wanted.git and (found or git_purge.is_unfinished(git_dir)):
        try:
            git_hindrance.check(git_dir, paths.workspace)
        except Refused as error:
            stays = f"{error.what}: {error.fix}"
        if write and not stays:
            cleaned = partial(archived.in_history, sought=sought, found=Counter())
            git_purge.rewrite(git_dir, cleaned, cleaned, backup_files.folder_of(paths) if wanted.bundle else None)
    tell(paths.relative(git_dir), found, stays)
