"""What the doctor says of the trail: damage of its file, archives, runs that were cut off, sizes.

Reads only, for a bounded time: of a file of many gigabytes a part is looked at, and that is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from nanomem_tui.core.errors import NanomemError, Problem
from nanomem_tui.store.reading import OlderSchema
from nanomem_tui.store.work import year_archive

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from nanomem_tui.core.paths import Paths
    from nanomem_tui.store.work.records import WorkStore
    from nanomem_tui.tiers.lifecycle import Lifecycle

SECONDS = 5.0
"""How long the pages are looked at."""
SOON = 30
"""Days before a size is reached, in which that is told."""
LARGEST = 500_000_000
"""Bytes of an archive that is read whole."""
_KEPT = "it is kept as it is; an archive, a backup of nanomem's folder, or an import holds what is lost"


def problems(database: WorkStore, lifecycle: Lifecycle, paths: Paths) -> Iterator[Problem]:
    """Everything that is wrong with the records of a workspace."""
    where = database.where if database.is_remote else paths.relative(database.path)

    from nanomem_tui.store.work import records

    def look(connection: Connection) -> list[Problem]:
        found, over = records.damages(connection, SECONDS)
        problems = [Problem(f"damaged: {one}", where, None, _KEPT) for one in found]
        if not over:
            what = f"its pages were looked at for {SECONDS:g} seconds, and not all of them"
            fix = f"`sqlite3 {database.path.name} 'PRAGMA quick_check'` looks at all"
            problems.append(Problem(what, where, None, fix, "note"))
        return problems

    if database.is_remote and database.path.exists():
        what = "records of before lie in this file, and database_url names a server: they are not shown"
        fix = "see `nanomem migrate-store --help`: it moves them, or left them behind"
        yield Problem(what, paths.relative(database.path), None, fix, "note")
    try:
        if database.is_of_first_edition:
            what, fix = "it is of the first edition", "the first command that writes takes it over and keeps a copy"
            yield Problem(what, "tiers.db", None, fix, "note")
        if not database.is_remote and database.path.exists() and not database.exists:
            yield Problem("it is empty: what it held is gone, or it was never filled", where, None, _KEPT, "warning")
        if database.exists:
            yield from database.read(look)
            yield from _lifecycle(lifecycle, where)
    except OlderSchema as error:
        yield Problem(error.what, where, None, error.fix, "warning")
    except NanomemError as error:
        yield Problem(error.what, where, None, error.fix if "doctor" not in error.fix else _KEPT)
    yield from _archives(lifecycle)


def _lifecycle(lifecycle: Lifecycle, where: str) -> Iterator[Problem]:
    if left := lifecycle.runs.half_done():
        what = f"a run of the lifecycle of {left[0].began_at[:16]} was cut off"
        yield Problem(what, where, None, "`nanomem lifecycle run` goes on with it; no record is lost", "warning")
    found = lifecycle.clock_trouble()
    if found:
        yield Problem(found, where, None, "set the clock, or `nanomem lifecycle run --force` if it is right", "warning")
    sizes = lifecycle.sizes()
    for one in sizes.forecasts if sizes is not None else ():
        name = {"working": "working memory", "longterm": "long-term memory"}[one.tier]
        setting = f"tiers_{one.tier}_gb"
        if one.days == 0:
            what = f"{name} has about {one.bytes / 1e9:.1f} GB, more than {setting}; nothing is deleted because of that"
            yield Problem(what, where, None, "`nanomem lifecycle archive YEAR`, or a larger size", "warning")
        elif one.days is not None and one.days <= SOON:
            what = f"{name} reaches {setting} about {one.reached}"
            yield Problem(what, where, None, "`nanomem lifecycle plan` tells how it grows", "note")


def _archives(lifecycle: Lifecycle) -> Iterator[Problem]:
    manifests, bad = lifecycle.archives.found()
    yield from bad
    folder = lifecycle.archives.folder
    for manifest in manifests:
        path = folder / f"{manifest.name}{year_archive.SUFFIX}"
        try:
            if manifest.state not in ("made", "restored"):
                year_archive.check(folder, manifest, whole=manifest.bytes <= LARGEST)
        except NanomemError as error:
            yield Problem(error.what, error.where, None, error.fix)
        if manifest.state in ("leaving", "returning"):
            what = f"a run that made the archive of {manifest.year}, or restored it, was cut off"
            yield Problem(
                what, str(path), None, "`nanomem lifecycle run` goes on with it; no record is lost", "warning"
            )
    known = {f"{name}{year_archive.SUFFIX}" for name in year_archive.names(folder)}
    for path in sorted(folder.glob(f"*{year_archive.SUFFIX}")):
        if path.name not in known:
            fix = "put its manifest (.json) back from a backup; it is kept as it is"
            yield Problem("an archive without its manifest", str(path), None, fix, "warning")
