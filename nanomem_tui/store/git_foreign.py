"""Repositories that are sound and not ours to use: which they are, and what to say of them. Reads only."""

from __future__ import annotations

import os
import re
import stat
from itertools import accumulate
from pathlib import Path

from nanomem_tui import regular

_MOST = 1 << 20
_NO_DREAM = "no version is shown or kept, and no Dream runs,"
_FOLDER = f"{_NO_DREAM} until .git is a folder in the workspace, and holds what is in it"
_FORMAT = f"nothing is wrong with it; {_NO_DREAM} until the workspace has one in git's usual format, sha1 and files"
_FORMATS = (
    (rb'(?mi)^\s*objectformat\s*=\s*"?sha256\b', "its objects are named by SHA-256, which nanomem does not support"),
    (rb'(?mi)^\s*refstorage\s*=\s*"?reftable\b', "its branches are in a reftable, which nanomem does not support"),
)


def why_not(git_dir: Path, workspace: Path) -> tuple[str, str] | None:
    """Why a repository is not used, and what to do about it; None for one that is. Raises OSError."""
    if not git_dir.is_dir():
        return "a .git that is no folder (a worktree or a submodule) is not followed", _FOLDER
    inside = os.path.realpath(workspace)
    for part in (git_dir, git_dir / "objects", git_dir / "refs", git_dir / "HEAD", git_dir / "index"):
        if os.path.commonpath([os.path.realpath(part), inside]) != inside:
            return f"{part.name} of the git repository leads out of the workspace", _FOLDER
    config = git_dir / "config"
    if config.is_file():
        with regular.opened(config) as file:
            said = file.read(_MOST)
        for pattern, reason in _FORMATS:
            if re.search(pattern, said):
                return reason, _FORMAT
    return None


def why_not_outer(git_dir: Path, workspace: Path) -> str:
    """Return why the repository of a folder above the workspace is not used, "" for one that is. Raises OSError."""
    if reason := why_not(git_dir, git_dir.parent):
        return reason[0]
    if os.stat(git_dir).st_uid not in (os.geteuid(), os.stat(workspace).st_uid):
        return "it belongs to another account"
    return ""


def is_ignored(git_dir: Path, path: str) -> bool:
    """Return whether git would ignore the new file `path`, by the .gitignore files above it and info/exclude.

    True where one of them cannot be read: what might be ignored is not committed.
    """
    from dulwich.ignore import IgnoreFilter, IgnoreFilterManager

    root, *folders = "", *accumulate(f"{name}/" for name in path.split("/")[:-1])
    exclude = git_dir / "info" / "exclude"
    try:
        rules = [git_dir.parent / folder / ".gitignore" for folder in (root, *folders)]
        if not all(stat.S_ISREG(rule.lstat().st_mode) for rule in (*rules, exclude) if os.path.lexists(rule)):
            return True
        above = [IgnoreFilter.from_path(exclude)] if exclude.exists() else []
        manager = IgnoreFilterManager(str(git_dir.parent), above, False)
        return any(manager.is_ignored(part) for part in (*folders, path))
    except (OSError, ValueError, re.error):
        return True
