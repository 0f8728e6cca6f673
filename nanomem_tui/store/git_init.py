"""An empty git repository as the agent makes it: its folders, its configuration, the lines of its `.gitignore`.

Must not know what is committed to it.
"""

from __future__ import annotations

import os
from pathlib import Path

from nanomem_tui import regular
from nanomem_tui.store import atomic

_IGNORE = ("/*", "!memory/", "!SOUL.md", "!USER.md", "!memory/MEMORY.md", "!.gitignore")
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"
_FOLDERS = ("branches", "hooks", "info", "logs/refs/heads", "objects/info", "objects/pack", "refs/heads", "refs/tags")


def make_repository(git_dir: Path) -> None:
    """The folders and files of an empty repository, complete before it gets its name. Raises OSError."""
    building = git_dir.with_name(f".git.{os.getpid()}.nanomem-tmp")
    for name in _FOLDERS:
        atomic.make_folder(building / name, 0o777)
    files = {"HEAD": "ref: refs/heads/master\n", "config": _CONFIG, "description": "Memory of an agent\n"}
    for name, text in files.items():
        atomic.write_atomic(building / name, text.encode(), mode=0o644)
    for name in ("logs/HEAD", "logs/refs/heads/master"):
        atomic.write_atomic(building / name, b"", mode=0o644)
    for folder, _, _ in os.walk(building):
        atomic.sync_folder(Path(folder))
    os.rename(building, git_dir)
    atomic.sync_folder(git_dir.parent)


def merged_ignore(path: Path) -> bytes:
    """Write the lines that the agent's `.gitignore` needs and that are missing; returns the whole content.

    Raises OSError and the errors of `from_os_error`.
    """
    old = regular.read(path) if path.is_file() else b""
    held = {line.strip() for line in old.decode("utf-8", "replace").split("\n")}
    missing = [line for line in _IGNORE if line not in held]
    if not missing and old:
        return old
    guard = b"\n" if old and not old.endswith(b"\n") else b""
    data = old + guard + "\n".join(missing).encode() + b"\n"
    atomic.write_atomic(path, data, mode=0o644)
    return data
