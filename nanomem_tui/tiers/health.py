"""What the doctor says of the trail: damage of its file and of its rows, archives, runs that were cut off, sizes.

Reads only, for a bounded time: of a file of many gigabytes a part is looked at, and that is said.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from nanomem_tui.errors import NanomemError, Problem
from nanomem_tui.store import tier_aging, year_archive
from nanomem_tui.store.tier_kinds import KINDS
from nanomem_tui.text import counted

if TYPE_CHECKING:
    from nanomem_tui.paths import Paths
    from nanomem_tui.store.sql import Connection
    from nanomem_tui.store.tier_store import TierStore
    from nanomem_tui.tiers.lifecycle import Lifecycle

SECONDS = 5.0
"""How long the pages, and how long the rows, are looked at."""
SOON = 30
"""Days before a size is reached, in which that is told."""
LARGEST = 500_000_000
"""Bytes of an archive that is read whole."""
_OFFERED = 20
_KEPT = "it is kept as it is; an archive, a backup of nanomem's folder, or an import holds what is lost"


def problems(database: TierStore, workspace_id: str, lifecycle: Lifecycle, paths: Paths) -> Iterator[Problem]:
    """Everything that is wrong with the records of a workspace."""
    where = database.where if database.is_remote else paths.relative(database.path)

    def look(connection: Connection) -> list[Problem]:
        pages = _pages(connection, where) if isinstance(connection, sqlite3.Connection) else ()
        return [*pages, *_rows(connection, workspace_id, where)]

    if database.is_remote and database.path.exists():
        what = "records of before lie in this file, and database_url names a server: they are not shown"
        fix = "see `nanomem migrate-store --help`: it moves them, or left them behind"
        yield Problem(what, paths.relative(database.path), None, fix, "note")
    try:
        if database.exists:
            yield from database.read(look)
            yield from _lifecycle(lifecycle, where)
    except NanomemError as error:
        yield Problem(error.what, where, None, error.fix if "doctor" not in error.fix else _KEPT)
    yield from _archives(lifecycle)


def _pages(connection: sqlite3.Connection, where: str) -> Iterator[Problem]:
    verdicts = []
    with _for_seconds(connection) as over:
        verdicts = [verdict for (verdict,) in connection.execute(f"PRAGMA quick_check({_OFFERED})") if verdict != "ok"]
    yield from (Problem(f"damaged: {verdict}", where, None, _KEPT) for verdict in verdicts)
    if over:
        what = f"its pages were looked at for {SECONDS:g} seconds, and not all of them"
        yield Problem(what, where, None, "`sqlite3 tiers.db 'PRAGMA quick_check'` looks at all", "note")


@contextmanager
def _for_seconds(connection: sqlite3.Connection) -> Iterator[list[bool]]:
    """End the statement within that takes too long; what is given is not empty then."""
    ends = time.monotonic() + SECONDS
    over: list[bool] = []
    connection.set_progress_handler(lambda: int(time.monotonic() > ends), 100_000)
    try:
        yield over
    except sqlite3.OperationalError as error:
        if "interrupt" not in str(error).lower():
            raise
        over.append(True)
    finally:
        connection.set_progress_handler(None, 0)


def _rows(connection: Connection, workspace_id: str, where: str) -> Iterator[Problem]:
    """Rows of which a bit flipped: all of them, or as many as there is time for, the newest of each table first."""
    ends = time.monotonic() + SECONDS
    tables = [(kind, table) for kind in KINDS.values() for table in kind.tables.values()]
    for at, (kind, table) in enumerate(tables):
        share = time.monotonic() + max(0.0, ends - time.monotonic()) / (len(tables) - at)
        bad = []
        late = partial(_is_later, share)
        for record_id in tier_aging.damaged(connection, workspace_id, kind, table, late):
            bad.append(record_id)
            if len(bad) == _OFFERED:
                break
        if bad:
            what = f"{table}: {counted(len(bad), 'row')} not as they were written ({', '.join(bad[:3])})"
            yield Problem(what, where, None, f"look at them (`nanomem record`), and correct or delete them; {_KEPT}")


def _is_later(than: float) -> bool:
    return time.monotonic() > than


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
