"""What else lies in an agent's home, beside the memory: what a person typed, what is to be said later, logs, and the
agent's own settings and keys. Must not read any of it.

Of the folder beside a configuration that is no home (somebody's own home, perhaps) only what agents keep there counts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.store import backup_files

if TYPE_CHECKING:
    from nanomem_tui.paths import Paths

WORDS = ("history", "cron", "logs")
"""Folders of what people and the agent said: a copy of it is taken out there as elsewhere."""
PROGRAMS = "of programs"
WORKSPACE = "of another workspace"
_LOOKED_AT = ("sessions", "media", "memory", "memory.db", "config.json", "llm_usage.sqlite3", backup_files.FOLDER)
_PROGRAMS = ("cli-apps", "node_modules", ".git", ".venv", "venv", "site-packages")


class Beside(NamedTuple):
    """A file there. `keys`: of what the agent needs as it is, which stays."""

    path: Path
    keys: bool


def found(paths: Paths, left_out: backup_files.LeftOut, passed: list[tuple[str, str]]) -> Iterator[Beside]:
    """The files; `passed` gets the folders that are not looked at, with the reason."""
    for folder in paths.agent_folders:
        yield from _beside(folder, paths, left_out, passed)


def _beside(
    folder: Path, paths: Paths, left_out: backup_files.LeftOut, passed: list[tuple[str, str]]
) -> Iterator[Beside]:
    for entry in sorted(folder.iterdir()) if os.path.isdir(folder) else ():
        ours = any(own == entry or own.is_relative_to(entry) for own in (paths.workspace, paths.data))
        if ours or entry.name in _LOOKED_AT or (folder != paths.home and entry.name not in WORDS):
            continue
        if os.path.isdir(entry / "memory") or os.path.isfile(entry / "SOUL.md"):
            passed.append((entry.name, WORKSPACE))
            continue
        for path in backup_files.files_below(entry, left_out):
            inside = path.relative_to(folder).parts
            at = next((number for number, name in enumerate(inside) if name in _PROGRAMS), None)
            if at is None:
                yield Beside(path, keys=entry.name not in WORDS)
            elif (told := ("/".join(inside[: at + 1]), PROGRAMS)) not in passed:
                passed.append(told)
