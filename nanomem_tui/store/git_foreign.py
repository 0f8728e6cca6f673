"""Repositories that are sound and not ours to use: which they are, and what to say of them. Reads only."""

from __future__ import annotations

import os
import re
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
