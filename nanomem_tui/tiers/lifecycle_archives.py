"""The yearly archives of long-term memory: a closed year leaves for a compressed file, is searched there, comes back.

Owns the order: an archive is written, read back and found whole before a record leaves, and a damaged one takes nothing
away. Which file looks how is `year_archive`'s matter.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nanomem_tui.core.errors import Conflict, NanomemError, NotFound, NothingToDo, Problem
from nanomem_tui.language import tokens
from nanomem_tui.store.work import records as work_records
from nanomem_tui.store.work import year_archive
from nanomem_tui.store.work.kinds import KINDS
from nanomem_tui.store.work.records import WorkStore
from nanomem_tui.store.work.values import TierHit, TierRecord, Where, words_of
from nanomem_tui.store.work.year_archive import Manifest
from nanomem_tui.tiers.lifecycle_runs import PAUSE

if TYPE_CHECKING:
    from sqlalchemy import Connection

ARCHIVED = tuple(kind for kind in KINDS.values() if kind.ages)
"""The kinds of which a year leaves: those that came to long-term memory from working memory."""
AT_ONCE = 100
"""Records of a batch."""


class Archives:
    """The archives of one workspace."""

    def __init__(self, database: WorkStore, workspace_id: str, data: Path) -> None:
        self._database = database
        self._id = workspace_id
        self.folder = data / year_archive.FOLDER

    # -- looking ------------------------------------------------------------------------------------------------------

    def found(self) -> tuple[list[Manifest], list[Problem]]:
        """The archives of this workspace, oldest year first, and what is wrong with manifests."""
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
        """The archives that records lie in, and nowhere else."""
        return [one for one in self.found()[0] if one.state in ("leaving", "archived", "returning")]

    def state(self, name: str) -> str:
        """How far an archive is; empty where there is none."""
        return next((one.state for one in self.found()[0] if one.name == name), "")

    def counts(self, year: int) -> dict[str, int]:
        """How many records of a year long-term memory has, by kind."""
        where = Where({}, *_span(year))

        def look(connection: Connection) -> dict[str, int]:
            counts = {kind.name: work_records.count(connection, kind, "longterm", where) for kind in ARCHIVED}
            return {name: number for name, number in counts.items() if number}

        return self._database.ask(look, {})

    def search(self, question: str, limit: int = 20) -> tuple[list[TierHit], list[Problem]]:
        """The records of all archives that hold words of a question, those that hold most of them first, then the
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
        """Why there is nothing to archive of a year: it is archived already, or nothing of it is there."""
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
        year_archive.keep(self.folder, manifest._replace(state=doing))
        records = year_archive.lines(self.folder, name)
        while part := list(itertools.islice(records, AT_ONCE)):
            self._database.write(lambda connection, part=part: change(connection, part))  # type: ignore[misc]
            time.sleep(PAUSE)
        self._database.sync()
        year_archive.keep(self.folder, manifest._replace(state=done))


def _take_away(connection: Connection, records: Iterable[TierRecord]) -> None:
    for record in records:
        kind = KINDS[record.kind]
        found = work_records.get(connection, kind, record.id)
        if found is not None and found.tier == "longterm" and dict(found.fields) == dict(record.fields):
            work_records.remove(connection, kind, [found.id])


def _span(year: int) -> tuple[str, str]:
    """The times that a year begins and ends at, as text that is compared."""
    return f"{year:04}", f"{year + 1:04}"
