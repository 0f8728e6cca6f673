"""Backups of a whole memory: made while everything runs, listed, checked and pruned; and what the doctor says of them.

`restore` brings them back, `backup_archive` has the form of the file, `backup_files` what belongs to a memory.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from nanomem_tui import clock, json_text, regular
from nanomem_tui.errors import BadInput, DiskFull, NanomemError, NotFound, Problem, from_os_error
from nanomem_tui.formats.agent_home import Layout
from nanomem_tui.paths import Paths, workspace_id
from nanomem_tui.store import atomic, backup_files, backup_server
from nanomem_tui.store.backup_archive import SUFFIX, Archive, Entry, Manifest, Writer
from nanomem_tui.store.backup_files import SIDE_FILES, base_of, folder_of

Progress = Callable[[int, int], None]
MARK = "restoring.json"


class Made(NamedTuple):
    """One backup in a list. `size` in bytes of what it holds, `stored` of its own file; `base`: what one of the first
    edition builds on, `reason`: why nanomem made it by itself."""

    path: Path
    made_at: str
    files: int
    size: int
    stored: int
    base: str
    reason: str
    left_out: tuple[tuple[str, str], ...]
    problem: str = ""


class Pruned(NamedTuple):
    """What a prune did, or would do: names of backups, the newest first. `unread` cannot be opened and `damaged` not be
    read whole (with why): they stay, and count for nothing. `freed`: bytes of what goes."""

    removed: tuple[str, ...]
    kept: tuple[str, ...]
    unread: tuple[str, ...]
    damaged: tuple[tuple[str, str], ...]
    freed: int


class Mark(NamedTuple):
    """A restore that did not come to its end: its backup, the one of what was there before, and when it began (UTC
    ISO; "" where it cannot be told)."""

    archive: str
    before: str
    at: str


def make(
    paths: Paths, layout: Layout, folder: Path | None = None, *,
    everything: bool = False, reason: str = "", progress: Progress = lambda _done, _all: None,
) -> Made:  # fmt: skip
    """Write a backup, read it back, and return it. What cannot be read is left out and named.

    `folder`: where it goes, else beside the memory; `everything`: also what else lies in the workspace; `reason`: why
    nanomem makes it by itself. Raises NanomemError where it cannot be written; nothing of it is left then.
    """
    base, target = base_of(paths), folder or folder_of(paths)
    url = backup_server.url_now(paths)
    left_out: list[tuple[str, str]] = []
    files = found(paths, layout, lambda *one: left_out.append(one), everything=everything, served=bool(url))
    files = [one for one in files if not one[1].is_relative_to(target)]
    if ours := not url and any(file == paths.database for _, file in files):
        files = [one for one in files if not backup_files.is_kept_beside(one[1], paths)]
    path = _free(target)
    try:
        with Writer(path) as writer:
            for number, (name, file) in enumerate(files):
                progress(number, len(files))
                part = backup_server.part_of(paths, file) if url else None
                try:
                    if part is not None:
                        with backup_server.as_file(paths, url, part) as rows:
                            if rows is not None:
                                _take(writer, name, rows)
                    elif ours and file == paths.database:
                        with backup_files.of_one_moment(paths) as taken:
                            for one, (copy, like, is_database) in taken.items():
                                parts = backup_files.parts_of(copy)
                                writer.add(one.relative_to(base).as_posix(), like, parts, database=is_database)
                    else:
                        _take(writer, name, file)
                except NotFound:  # gone since it was listed
                    continue
                except NanomemError as error:
                    if part is not None or isinstance(error, DiskFull):  # without the rows it would be no backup
                        raise
                    left_out.append((name, error.what))
            workspace = paths.workspace.relative_to(base).as_posix()
            writer.finish(
                Manifest(
                    clock.iso(clock.now()), "" if workspace == "." else workspace, workspace_id(paths), str(base),
                    tuple(writer.entries), "", reason, tuple(left_out),
                )
            )  # fmt: skip
    except OSError as error:
        raise from_os_error(error, "making a backup") from error
    return _made(path)


def found(
    paths: Paths, layout: Layout, left_out: backup_files.LeftOut, *, everything: bool = False, served: bool
) -> list[tuple[str, Path]]:
    """(path in the archive, file) of what a backup holds, in the order in which it has to be read: without what belongs
    to a database beside it."""
    beside = [paths.quarantine / backup_files.ASIDE, *(paths.data / name for name in backup_files.OF_DATABASE)]
    found = backup_files.found(paths, layout, left_out, everything=everything, served=served)
    names = {name for name, _ in found}
    sides = {name + side for name in names for side in SIDE_FILES} & names
    return [one for one in found if one[0] not in sides and not any(one[1].is_relative_to(path) for path in beside)]


def _take(writer: Writer, name: str, file: Path) -> None:
    """Write one file. Raises NanomemError where it cannot be read, OSError where the archive cannot be written."""
    with backup_files.as_of_now(file) as (copy, found, is_database):
        writer.add(name, found, backup_files.parts_of(copy), database=is_database)


def listed(folder: Path) -> list[Made]:
    """Every backup in a folder, the newest first; one that cannot be read says why."""
    try:
        files = sorted(folder.glob(f"*{SUFFIX}"), reverse=True)
    except OSError as error:
        raise from_os_error(error, "listing backups") from error
    return [_made(path) for path in files]


def named(folder: Path, name: str) -> Path:
    """The backup that a person names: a path, a name in the folder, or `latest`, the newest that a person made.

    Raises NotFound.
    """
    if name == "latest":
        found = listed(folder)
        newest = next((one for one in found if not (one.problem or one.reason)), None)
        if newest is None:
            by_itself = next((one.path.name for one in found if one.reason), "")
            damaged = "; none that is there can be read" if found else ""
            yours = f"no backup that you made; nanomem itself made {by_itself}"
            what = yours if by_itself else f"no backup yet{damaged}"
            raise NotFound(what, str(folder), "`nanomem backup make` makes one")
        return newest.path
    inside = [folder / name, folder / f"{name}{SUFFIX}"] if os.path.basename(name) == name else []
    for path in (*inside, Path(name).expanduser()):
        if path.is_file():
            return path
    raise NotFound("no such backup", name, "`nanomem backup list` shows those that are there")


def passed_over(folder: Path, path: Path) -> list[Made]:
    """The newer backups beside that one that cannot be read, the newest first."""
    return [one for one in listed(folder) if one.problem and one.path.name > path.name]


def check(path: Path) -> tuple[Manifest, list[Problem]]:
    """What a backup holds, and what is wrong with it: every file is read, every database opened. Raises BadInput or
    NotFound when it cannot be opened at all."""
    with Archive(path) as archive:
        problems = list(archive.damage())
        harmed = {problem.where for problem in problems}
        for entry in archive.manifest.entries:
            if entry.database and entry.path not in harmed:
                with archive.taken_out(entry) as copy:
                    problems += _unsound(copy, entry)
        return archive.manifest, problems


def _free(folder: Path) -> Path:
    while True:
        path = folder / f"{f'{clock.now():%Y%m%d-%H%M%S-%f}'[:-3]}{SUFFIX}"
        if not os.path.lexists(path):
            return path
        time.sleep(0.001)


def _made(path: Path) -> Made:
    try:
        with Archive(path) as archive:
            found = archive.manifest
        stored = path.stat().st_size
        count = len(found.entries)
        return Made(path, found.made_at, count, found.size, stored, found.base, found.reason, found.left_out)
    except (NanomemError, OSError) as error:
        return Made(path, "", 0, 0, 0, "", "", (), getattr(error, "what", "") or str(error))


def _unsound(copy: Path, entry: Entry) -> Iterator[Problem]:
    """What SQLite says against a database."""
    try:
        with contextlib.closing(sqlite3.connect(f"{copy.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            [(told,)] = connection.execute("PRAGMA quick_check(1)").fetchall()
    except sqlite3.Error as error:
        told = str(error)
    if told != "ok":
        fix = "the database was damaged already when the backup was made; an older backup may be whole"
        yield Problem(f"the database is damaged: {told}", entry.path, None, fix)


def prune_plan(folder: Path, keep: int, days: int = 0, progress: Progress = lambda _done, _all: None) -> Pruned:
    """What a prune would remove: all but so many that a person made and so many that nanomem made by itself, `keep` of
    each, and those that are younger than `days`. Every one that is to stay is read whole; a damaged one counts for
    nothing. Raises BadInput for a `keep` below 1."""
    if keep < 1:
        raise BadInput("at least one backup has to stay", "--keep", "give 1 or more")
    try:
        since = clock.iso(clock.now() - timedelta(days=days)) if days else ""
    except OverflowError:
        since = "0"  # before any time
    mark, found = interrupted(folder), listed(folder)
    needed = {Path(mark.archive).name, mark.before} if mark is not None else set()
    bases = {one.path.name: one.base for one in found}
    counted, damaged = Counter[bool](), []
    for number, one in enumerate(found):
        progress(number, len(found))
        name = one.path.name
        young = bool(since) and one.made_at >= since
        if one.problem or not (young or name in needed or counted[bool(one.reason)] < keep):
            continue
        while name:  # one of the first edition stays with those that it builds on
            needed.add(name)
            name = bases.get(name, "")
        with Archive(one.path) as archive:
            problem = next(archive.damage(), None)
        if problem is not None:
            damaged.append((one.path.name, f"{problem.what}: {problem.where}"))
        else:
            counted[bool(one.reason)] += 1
    removed = [one for one in found if not one.problem and one.path.name not in needed]
    return Pruned(
        tuple(one.path.name for one in removed), tuple(name for name in bases if name in needed),
        tuple(one.path.name for one in found if one.problem), tuple(damaged), sum(one.stored for one in removed),
    )  # fmt: skip


def prune(folder: Path, plan: Pruned) -> None:
    """Remove what a plan says. Raises the errors of `from_os_error`."""
    try:
        for name in plan.removed:
            (folder / name).unlink(missing_ok=True)
        atomic.sync_folder(folder)
    except OSError as error:
        raise from_os_error(error, "removing old backups") from error


def interrupted(folder: Path) -> Mark | None:
    """The mark that a restore left beside the backups of a folder; None where there is none that can be read."""
    try:
        told = json_text.loads(regular.read(folder / MARK))
        return Mark(str(told["archive"]), str(told["before"]), str(told.get("at", "")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def problems(paths: Paths) -> Iterator[Problem]:
    """What the doctor says: a restore that did not come to its end, with what to do, and a newest backup that could not
    be brought back. Changes nothing."""
    folder = folder_of(paths)
    if (mark := interrupted(folder)) is not None:
        day = clock.parse(mark.at)
        when = f" on {clock.local_naive(day)[:16].replace('T', ' ')}" if day is not None else ""
        fix = (
            f"`nanomem backup restore {mark.archive}` finishes it, and sets back what was changed since (--dry-run "
            f"shows it); `nanomem backup restore {mark.before}` takes it back, and what was changed since"
        )
        what = f"a restore was interrupted{when}: some files may be of then, others of now"
        yield Problem(what, str(folder / MARK), None, fix)
    files = sorted(folder.glob(f"*{SUFFIX}"))
    told = _damage(tuple((path, (found := path.lstat()).st_mtime_ns, found.st_size) for path in files))
    if told:
        fix = "`nanomem backup make` makes another one; `nanomem backup check NAME` looks at an older one"
        yield Problem(f"the newest backup is damaged: {told}", str(files[-1]), None, fix)


@functools.lru_cache(maxsize=8)
def _damage(files: tuple[tuple[Path, int, int], ...]) -> str:
    """Why the last of these cannot be brought back, "" when it can. A console asks often, and nothing changed."""
    if not files:
        return ""
    try:
        _, found = check(files[-1][0])
    except NanomemError as error:
        return error.what
    return next((f"{one.what} ({one.where})" for one in found if "the database is damaged" not in one.what), "")
