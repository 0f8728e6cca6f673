"""The doctor's look at the newest backup, whether it could be brought back, and at a restore that did not come to its
end. Changes nothing."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

from nanomem_tui import clock
from nanomem_tui.errors import NanomemError, Problem
from nanomem_tui.formats.agent_home import Layout
from nanomem_tui.paths import Paths
from nanomem_tui.store import backup, backup_marker
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


def interrupted(paths: Paths, layout: Layout) -> Iterator[Problem]:
    """That a restore did not come to its end, what to do, and what that takes with it."""
    folder = folder_of(paths)
    mark = backup_marker.read(folder)
    if mark is None:
        return
    where, day = str(folder / backup_marker.FILE), clock.parse(mark.at)
    when = f" on {clock.local_naive(day)[:16].replace('T', ' ')}" if day is not None else ""
    finish = f"`nanomem backup restore {mark.archive}`"
    if _is_as_in(paths, layout, mark.archive):
        what = f"left over from a restore that was interrupted{when} at its very end: every file is as in the backup"
        yield Problem(what, where, None, f"{finish} takes it away", "warning")
        return
    fix = (
        f"{finish} finishes it, and sets back what was changed since (--dry-run shows it); "
        f"`nanomem backup restore {mark.before}` takes it back, and what was changed since"
    )
    yield Problem(f"a restore was interrupted{when}: some files are of then, others of now", where, None, fix)


def _is_as_in(paths: Paths, layout: Layout, archive: str) -> bool:
    try:
        plan = backup.restore_plan(paths, layout, Path(archive))
    except (NanomemError, OSError):
        return False
    return not (plan.changed or plan.removed)


@functools.lru_cache(maxsize=8)
def _damage(files: tuple[tuple[Path, int, int], ...]) -> str:
    """Why the last of these cannot be brought back, "" when it can. A console asks often, and nothing changed."""
    try:
        _, problems = backup.check(files[-1][0])
    except NanomemError as error:
        return error.what
    return next((f"{one.what} ({one.where})" for one in problems if "the database is damaged" not in one.what), "")
