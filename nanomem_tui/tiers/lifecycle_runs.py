"""Carry out a run of the lifecycle, and undo it: in batches, so that other writers wait milliseconds.

Owns the pace, and the lock that allows one run at a time. Each batch is one transaction that also records how to undo
it: a kill at any point leaves every record in one tier.
"""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from nanomem_tui.core import atomic, clock
from nanomem_tui.core.errors import Conflict, NanomemError, NotFound, NothingToDo, Problem, Refused
from nanomem_tui.language import tokens
from nanomem_tui.store.work import aging, records, year_archive
from nanomem_tui.store.work import records as work_records
from nanomem_tui.store.work.aging import START, Due, Place, Run, State
from nanomem_tui.store.work.kinds import KINDS
from nanomem_tui.store.work.values import TierHit, TierRecord, Where, words_of
from nanomem_tui.store.work.work_store import WorkStore
from nanomem_tui.store.work.year_archive import Manifest

if TYPE_CHECKING:
    from sqlalchemy import Connection


UNDO_DAYS = 14
"""Days that a run can be undone: it keeps what it averaged."""
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
        """Return the run of that id."""
        return self.database.ask(lambda connection: aging.run_of(connection, run), None)

    def half_done(self) -> list[Run]:
        """Return the runs of which something was begun and not ended, newest first."""
        return self.database.ask(aging.half_done, [])

    def go_on(self) -> Run | None:
        """Return the run that a killed process left, and that is to be gone on with; what nobody has in the ledger any
        more is taken back. The caller keeps other runs out."""
        left = self.half_done()
        for run in left:
            if run.state != "open":
                self.take_back(run)
        return next((run for run in left if run.state == "open"), None)

    def save(self, run: Run, state: State) -> None:
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
            fix = f"what it averaged is kept for {UNDO_DAYS} days; the records are found all the same"
            raise Refused(what, run_id, fix)
        if run is None or run.state not in ("done", "open"):
            raise Conflict("there is nothing of that run to take back", run_id, "nothing was changed")
        if hour := self.database.read(lambda connection: aging.moved_on(connection, run_id)):
            fix = "undo the later run first: see `nanomem log`"
            raise Conflict(f"the average of {hour} was changed since", run_id, fix)

    def take_back(self, run: Run) -> None:
        """Put everything back as it was, the newest batch first; goes on where a killed process stopped."""
        self.save(run, "undoing")
        while self.database.write(partial(self._back, run)):
            time.sleep(PAUSE)
        self.save(run, "undone")

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
    """Return whether it says that another run is under way."""
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
    if noted is None or clock.now() - clock.past_time(noted) >= EVERY:
        database.compact()
        database.write(lambda connection: records.set_note(connection, COMPACTED, clock.iso(clock.now())))


# The yearly archives of long-term memory: a closed year leaves for a compressed file, is searched there, comes back.

ARCHIVED = tuple(kind for kind in KINDS.values() if kind.ages)
"""The kinds of which a year leaves: those that came to long-term memory from working memory."""
LIFECYCLE_ARCHIVES_AT_ONCE = 100
"""Records of a batch."""


class Archives:
    """The archives of one workspace."""

    def __init__(self, database: WorkStore, workspace_id: str, data: Path) -> None:
        self._database = database
        self._id = workspace_id
        self.folder = data / year_archive.FOLDER

    # -- looking ------------------------------------------------------------------------------------------------------

    def found(self) -> tuple[list[Manifest], list[Problem]]:
        """Return the archives of this workspace, oldest year first, and what is wrong with manifests."""
        manifests: list[Manifest] = []
        problems: list[Problem] = []
        for name in year_archive.names(self.folder):
            try:
                manifest = year_archive.manifest_of(self.folder, name)
            except NanomemError as error:
                problems.append(Problem(error.what, error.where, fix=error.fix))
                continue
            manifests += [manifest] if manifest.workspace_id == self._id else []
        return manifests, problems

    def in_force(self) -> list[Manifest]:
        """Return the archives that records lie in, and nowhere else."""
        return [one for one in self.found()[0] if one.state in ("leaving", "archived", "returning")]

    def state(self, name: str) -> str:
        """Return how far an archive is; empty where there is none."""
        return next((one.state for one in self.found()[0] if one.name == name), "")

    def counts(self, year: int) -> dict[str, int]:
        """Return how many records of a year long-term memory has, by kind."""
        where = Where({}, *_span(year))

        def count_archives(connection: Connection) -> dict[str, int]:
            counts = {kind.name: work_records.count(connection, kind, "longterm", where) for kind in ARCHIVED}
            return {name: number for name, number in counts.items() if number}

        return self._database.ask(count_archives, {})

    def search(self, question: str, limit: int = 20) -> tuple[list[TierHit], list[Problem]]:
        """Yield the records of all archives that hold words of a question, those that hold most of them first, then the
        newest, and the archives that could not be read to their end. Reads one record at a time."""
        wanted = set(tokens.query_weights(question))
        problems: list[Problem] = []

        def hits() -> Iterator[TierHit]:
            for manifest in self.in_force() if wanted else ():
                try:
                    for record in year_archive.lines(self.folder, manifest.name):
                        if held := sorted(wanted & set(words_of(record))):
                            yield TierHit(record, len(held) / len(wanted), {"words": held, "archive": manifest.name})
                except NanomemError as error:
                    problems.append(Problem(error.what, error.where, fix=error.fix))

        return heapq.nlargest(limit, hits(), key=lambda hit: (hit.score, hit.record.at)), problems

    def nothing_of(self, year: int) -> NothingToDo:
        """Return why there is nothing to archive of a year: it is archived already, or nothing of it is there."""
        there = [
            f"{year_archive.FOLDER}/{one.name}{year_archive.SUFFIX}" for one in self.in_force() if one.year == year
        ]
        if there:
            return NothingToDo(f"the records of {year} are archived already", " and ".join(there))
        return NothingToDo(f"long-term memory has no records of {year}", "", "`nanomem lifecycle run` moves them there")

    # -- changing, by one at a time -----------------------------------------------------------------------------------

    def make(self, year: int, made_at: str) -> Manifest:
        """Write the archive of a year; nothing leaves yet. Raises NothingToDo, and the errors of `year_archive.write`.
        What a killed process began of an archive is taken away first."""
        self.go_on()
        for old in self.found()[0]:
            if old.state == "made":
                year_archive.remove(self.folder, old.name)
        if not self.counts(year):
            raise self.nothing_of(year)
        name = year_archive.free_name(self.folder, year)

        def records(connection: Connection) -> Iterator[TierRecord]:
            for kind in ARCHIVED:
                yield from work_records.each(connection, kind, "longterm", Where({}, *_span(year)))

        return self._database.read(
            lambda connection: year_archive.write(self.folder, name, year, self._id, made_at, records(connection))
        )

    def go_on(self) -> None:
        """Bring the records back of archives that were left half made, or half restored, by an operation that failed
        and could not be taken back. The caller has finished what the ledger holds, and keeps others out."""
        for left in self.found()[0]:
            if left.state in ("leaving", "returning"):
                self.bring_back(left.name)

    def check(self, name: str, *, back: bool) -> None:
        """Raise Conflict unless an archive is in the state that a change starts from, and Refused for a damaged one."""
        manifest = next((one for one in self.found()[0] if one.name == name), None)
        if manifest is None:
            raise NotFound("no such archive", name, f"the archives are in {self.folder}")
        if manifest.state not in (("archived", "leaving", "returning") if back else ("made", "restored")):
            what = "is restored already" if back else "is made already"
            raise Conflict(f"the archive {name} {what}", name, "nothing was changed")
        year_archive.check(self.folder, manifest)

    def leave(self, name: str) -> None:
        """Let the records of an archive leave long-term memory; one that was changed since it was made stays. Raises
        Refused for a damaged archive: nothing more leaves."""
        self._through(name, "leaving", "archived", _take_away)

    def bring_back(self, name: str) -> None:
        """Put the records of an archive back into long-term memory, where they are not in any. Raises Refused."""
        self._through(name, "returning", "restored", work_records.put_new)

    def _through(
        self,
        name: str,
        doing: year_archive.State,
        done: year_archive.State,
        change: Callable[[Connection, Iterable[TierRecord]], None],
    ) -> None:
        manifest = year_archive.manifest_of(self.folder, name)
        if manifest.state == done:
            return
        year_archive.check(self.folder, manifest)
        year_archive.write_manifest(self.folder, manifest._replace(state=doing))
        records = year_archive.lines(self.folder, name)
        while part := list(itertools.islice(records, LIFECYCLE_ARCHIVES_AT_ONCE)):
            self._database.write(lambda connection, part=part: change(connection, part))  # type: ignore[misc]
            time.sleep(PAUSE)
        self._database.sync()
        year_archive.write_manifest(self.folder, manifest._replace(state=done))


def _take_away(connection: Connection, records: Iterable[TierRecord]) -> None:
    for record in records:
        kind = KINDS[record.kind]
        found = work_records.get(connection, kind, record.id)
        if found is not None and found.tier == "longterm" and dict(found.fields) == dict(record.fields):
            work_records.remove(connection, kind, [found.id])


def _span(year: int) -> tuple[str, str]:
    """Return the times that a year begins and ends at, as text that is compared."""
    return f"{year:04}", f"{year + 1:04}"
