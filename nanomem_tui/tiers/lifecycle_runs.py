"""A run of the lifecycle carried out, and taken back: batch by batch, so that who writes meanwhile waits milliseconds.

Owns the pace, and the lock by which one run at a time is under way. Each batch is one transaction that also keeps how
it is taken back: a kill at any point leaves every record in one tier. What is due, and when, is decided elsewhere.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from nanomem_tui.core import atomic, clock
from nanomem_tui.core.errors import Conflict, NanomemError, Refused
from nanomem_tui.store.work import aging, records
from nanomem_tui.store.work.aging import START, Due, Place, Run, State
from nanomem_tui.store.work.records import WorkStore

if TYPE_CHECKING:
    from sqlalchemy import Connection

LOCK = "lifecycle.lock"
AT_ONCE, LEAST, MOST = 50, 20, 2_000
"""Rows of the first batch, and those that a later one has at least and at most, by how long the last one took."""
TOOK = 0.025
"""Seconds that a batch takes."""
PAUSE = 0.015
"""Seconds between two batches: writers of other processes look for the lock every hundredth of a second."""
WAIT = 5.0
"""Seconds that an undo waits for a run that is under way."""


class Runs:
    """The runs of one workspace."""

    def __init__(self, database: WorkStore, data: Path) -> None:
        self.database = database
        self._lock = data / LOCK
        self._holder: int | None = None

    @contextmanager
    def alone(self, wait: float = 0.0) -> Iterator[None]:
        """Keep every other run out. Raises Refused when one is under way for longer than `wait` seconds."""
        if self._holder == threading.get_ident():
            yield
            return
        try:
            atomic.make_folder(self._lock.parent)  # where the records lie on a server, nothing of ours may be here yet
            lock = atomic.locked(self._lock, wait=wait)
            lock.__enter__()
        except Refused as error:
            what = "a run of the lifecycle is under way"
            raise Refused(what, str(self._lock), "wait for it to finish and try again") from error
        try:
            self._holder = threading.get_ident()
            with self.database.alone("lifecycle", wait) as held:
                if not held:
                    what = "a run of the lifecycle is under way on another machine"
                    raise Refused(what, str(self._lock), "wait for it to finish and try again")
                yield
        finally:
            self._holder = None
            lock.__exit__(None, None, None)

    def get(self, run: str) -> Run | None:
        """The run of that id."""
        return self.database.ask(lambda connection: aging.run_of(connection, run), None)

    def half_done(self) -> list[Run]:
        """The runs of which something was begun and not ended, newest first."""
        return self.database.ask(aging.half_done, [])

    def go_on(self) -> Run | None:
        """The run that a killed process left, and that is to be gone on with; what nobody has in the ledger any more is
        taken back. The caller keeps other runs out."""
        left = self.half_done()
        for run in left:
            if run.state != "open":
                self.take_back(run)
        return next((run for run in left if run.state == "open"), None)

    def keep(self, run: Run, state: State) -> None:
        """Note how far a run is, safe from a power cut, and with it all that was done before."""
        self.database.write(lambda connection: aging.keep_run(connection, run._replace(state=state)), durable=True)

    # -- carried out ------------------------------------------------------------------------------------------------

    def carry_out(
        self,
        run: Run,
        dues: Sequence[Due],
        now: str,
        stopped: Callable[[], bool] = lambda: False,
        watch: Callable[[str, int], None] = lambda kind, rows: None,
    ) -> bool:
        """Do what is due; whether all of it is done. `stopped` is asked between two batches; `watch` is told after each
        of which kind it was, and how many rows. Raises the errors of the database; what was done stays done."""
        for due in dues:
            place, size = START, AT_ONCE
            while True:
                if stopped():
                    return False
                # Looked for while others may write: rows that are old and stay may be many.
                places = self.database.read(partial(aging.following, due=due, after=place, most=size))
                if not places:
                    break
                began = time.perf_counter()
                watch(due.kind.name, self.database.write(partial(self._batch, run, due, places, now)))
                size = max(LEAST, min(MOST, int(len(places) * TOOK / max(time.perf_counter() - began, 1e-6))))
                place = places[-1]
                time.sleep(PAUSE)
        return True

    def _batch(self, run: Run, due: Due, places: Sequence[Place], now: str, connection: Connection) -> int:
        batch = aging.carry_out(connection, due, places, now)
        if batch is None:
            return 0
        aging.keep_run(connection, run)
        aging.add_batch(connection, run.id, batch)
        return batch.rows

    # -- taken back -------------------------------------------------------------------------------------------------

    def check(self, run_id: str, *, back: bool) -> None:
        """Raise Conflict or Refused when a run cannot be taken back, or done again, now."""
        with self.alone():
            run = self.get(run_id)
        if not back:
            if run is not None and run.state == "done":
                raise Conflict("that run is done already", run_id, "nothing was changed")
            return
        if run is not None and run.state == "final":
            what = f"the run of {run.began_at[:10]} cannot be undone any more"
            fix = "what it averaged is kept for so many days; the records are found all the same"
            raise Refused(what, "tiers_undo_days", fix)
        if run is None or run.state not in ("done", "open"):
            raise Conflict("there is nothing of that run to take back", run_id, "nothing was changed")
        if hour := self.database.read(lambda connection: aging.moved_on(connection, run_id)):
            fix = "undo the later run first: see `nanomem log`"
            raise Conflict(f"the average of {hour} was changed since", run_id, fix)

    def take_back(self, run: Run) -> None:
        """Put everything back as it was, the newest batch first; goes on where a killed process stopped."""
        self.keep(run, "undoing")
        while self.database.write(partial(self._back, run)):
            time.sleep(PAUSE)
        self.keep(run, "undone")

    def _back(self, run: Run, connection: Connection) -> bool:
        ends = time.perf_counter() + TOOK
        for number, batch in aging.newest_first(connection, run.id):
            aging.take_back(connection, batch)
            aging.drop_batch(connection, number)
            if time.perf_counter() > ends:
                return True
        return False

    def let_go(self, before: str) -> None:
        """Forget what it takes to undo runs that began before a time (UTC ISO)."""
        while self.database.write(partial(aging.let_go, before=before, most=20)):
            time.sleep(PAUSE)


def busy(error: NanomemError) -> bool:
    """Whether it says that another run is under way."""
    return isinstance(error, Refused) and error.where.endswith(LOCK)


# -- the room in the file ---------------------------------------------------------------------------------------------

EVERY = timedelta(days=7)
WORTH = 0.1
"""The part of the file that has to be free."""
LEAST_FREE = 1_000_000
"""Bytes that have to be free."""
LARGE = 200_000_000
"""Bytes that hold something beyond which a file is not written anew by itself: others would wait for too long."""
COMPACTED = "compacted_at"


def tidy(database: WorkStore) -> None:
    """Give back what is free of a file, where a week is over and it is worth it. Raises the errors of the database."""
    size, free = database.read(records.room) or (0, 0)  # a server tidies by itself
    if free < max(LEAST_FREE, WORTH * size) or size - free > LARGE:
        return
    noted = database.read(lambda connection: records.note(connection, COMPACTED))
    if noted is None or clock.now() - clock.past(noted) >= EVERY:
        database.compact()
        database.write(lambda connection: records.set_note(connection, COMPACTED, clock.iso(clock.now())))
