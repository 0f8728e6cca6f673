"""The doctor's look at the newest backup: whether it could be brought back. Changes nothing."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

from nanomem_tui.errors import NanomemError, Problem
from nanomem_tui.paths import Paths
from nanomem_tui.store import backup
from nanomem_tui.store.backup_archive import SUFFIX
from nanomem_tui.store.backup_files import folder_of


def newest(paths: Paths) -> Iterator[Problem]:
    """What is wrong with the newest backup in its usual place, those that it builds on included."""
    files = sorted(folder_of(paths).glob(f"*{SUFFIX}"))
    if not files:
        return
    told = _damage(tuple((path, (found := path.lstat()).st_mtime_ns, found.st_size) for path in files))
    if told:
        fix = "`nanomem backup make` makes one that stands alone; `nanomem backup check NAME` looks at an older one"
        yield Problem(f"the newest backup is damaged: {told}", str(files[-1]), None, fix)


@functools.lru_cache(maxsize=8)
def _damage(files: tuple[tuple[Path, int, int], ...]) -> str:
    """Why the last of these cannot be brought back, "" when it can. A console asks often, and nothing changed."""
    try:
        _, problems = backup.check(files[-1][0])
    except NanomemError as error:
        return error.what
    return next((f"{one.what} ({one.where})" for one in problems if "the database is damaged" not in one.what), "")
