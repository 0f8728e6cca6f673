"""`tiers.db` tidied once a week, a little at a time: full-text indexes joined, room of deleted rows given back.

Owns when that is, and the pace: a writer waits for one step, which is milliseconds, and never for all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial

from nanomem_tui import clock
from nanomem_tui.store import sql, tier_meta, tier_search
from nanomem_tui.store.sql import Connection
from nanomem_tui.store.tier_kinds import KINDS
from nanomem_tui.store.tier_store import TierStore
from nanomem_tui.tiers.lifecycle_runs import PAUSE

EVERY = timedelta(days=7)
WORTH = 0.1
"""The part of the file that has to be free."""
LEAST = 1_000_000
"""Bytes that have to be free."""
PAGES = 500
"""Pages of a step."""
JOINED, GIVEN_BACK = "joined_at", "vacuumed_at"


class Room:
    """The room in one file; it is of every workspace that is kept there."""

    def __init__(self, database: TierStore) -> None:
        self._database = database

    def tidy(self, stopped: Callable[[], bool] = lambda: False) -> int:
        """Join the pieces of full-text indexes, and give back what is free, each where a week is over, the latter where
        it is worth it; how many bytes were given back. Raises the errors of the database."""
        if not self._database.read(sql.is_sqlite):  # a server tidies by itself
            return 0
        if self._database.read(partial(_is_over, mark=JOINED)):
            self._join(stopped)
        if not self._database.read(_is_worth_it):
            return 0
        before = self.free_bytes()
        while not stopped() and self._database.write(_give_back):
            time.sleep(PAUSE)
        if not stopped():
            self._database.write(partial(_note, mark=GIVEN_BACK))
        return max(0, before - self.free_bytes())

    def _join(self, stopped: Callable[[], bool]) -> None:
        for table in (table for kind in KINDS.values() if kind.words for table in kind.tables.values()):
            first = True
            while not stopped() and self._database.write(partial(tier_search.join_some, table=table, first=first)):
                first = False
                time.sleep(PAUSE)
        if not stopped():
            self._database.write(partial(_note, mark=JOINED))

    def free_bytes(self) -> int:
        """Bytes of the file that hold nothing."""
        return self._database.read(_free)[0] if self._database.read(sql.is_sqlite) else 0


def _is_over(connection: Connection, mark: str) -> bool:
    """Whether a week is over since a mark was set."""
    noted = tier_meta.get(connection, "", mark)
    return noted is None or clock.now() - clock.past(noted) >= EVERY


def _is_worth_it(connection: Connection) -> bool:
    free, size = _free(connection)
    return free >= max(LEAST, WORTH * size) and _is_over(connection, GIVEN_BACK)


def _free(connection: Connection) -> tuple[int, int]:
    """Bytes that are free, and all of them."""
    page, pages, free = (
        int(connection.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_size", "page_count", "freelist_count")
    )
    return free * page, pages * page


def _give_back(connection: Connection) -> bool:
    """A step; whether there is more."""
    for _ in range(PAGES):  # the driver ends the statement after the first page, whatever number it names
        connection.execute("PRAGMA incremental_vacuum(1)")
    left = int(connection.execute("PRAGMA freelist_count").fetchone()[0])
    return left > 0 and bool(connection.execute("PRAGMA auto_vacuum").fetchone()[0])


def _note(connection: Connection, mark: str) -> None:
    tier_meta.put(connection, "", mark, clock.iso(clock.now()))
