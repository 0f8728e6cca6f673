"""Keeping what happens: a ring of the last hour that no kill loses, and that ages into working memory.

Owns what an entry is acknowledged by, and when it leaves. An entry is in the ring, or in the tables of working memory,
or for a moment in both; it never is in neither. What is asked of it is `operational`.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import operator
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from nanomem_tui import clock
from nanomem_tui.errors import BadInput, NanomemError, Problem, StoreError
from nanomem_tui.settings import Settings
from nanomem_tui.tiers import aging
from nanomem_tui.tiers.entries import Kept, checked, is_critical, line_of, text_of
from nanomem_tui.tiers.others import Others
from nanomem_tui.tiers.ring import Ring
from nanomem_tui.tiers.spool import Read, Spool
from nanomem_tui.tiers.trail import Trail

BATCH = 500
"""Entries that go into working memory in one transaction; so many more than it holds the ring has at most."""
MOST_CHARACTERS = 64_000_000
"""Of data in the ring: large entries leave it before there are too many of them."""
PAUSE = 10.0
"""Seconds without another try after working memory could not be written."""
MINUTE = 60.0
LATE = 1.1
"""Times the age at which entries leave, after which a push moves them where nobody else does."""
SYNCED_EVERY = 120_000
"""Milliseconds that a power cut may cost at most, where `age` is called regularly."""
SET_BACK = 1000
"""Milliseconds by which a clock is behind that was set back; one that is less behind catches up."""
LOOK = 1000
"""Milliseconds between two looks at whether our files are still there."""


def _ids() -> Iterator[str]:
    """The ids of this process: no other has them, and they are in the order in which they are made."""
    return map(f"ev_{clock.now_ms()}_{{}}".format, itertools.count(10**9 + int.from_bytes(os.urandom(4), "big")))


_kept = tuple.__new__
"""What the constructor of a named tuple does; itself it takes three times as long."""


class Happening:
    """What happens now, of one workspace. Every method may be called from any thread."""

    def __init__(self, folder: Path, quarantine: Path, settings: Settings, trail: Callable[[], Trail]) -> None:
        self._limit = settings.operational_entries
        self._most = self._limit + BATCH
        self._span = int(settings.operational_seconds * 1000)
        self._late = self._span * LATE
        self._trail = trail
        self._quarantine = quarantine
        self._spool = Spool(folder, quarantine)
        self._others = Others(folder, self._moved)
        self._ring = Ring()
        self._lock = threading.Lock()
        self._aging = threading.Lock()
        self._ids = _ids()
        self._last = 0
        self._behind = 0
        self._looked = 0
        self._synced = 0
        self._aged_at = -float("inf")
        self._trouble = ""
        self._not_before = -float("inf")
        self._refused: list[Problem] = []

    # -- telling ------------------------------------------------------------------------------------------------------

    def push(self, category: str, data: Any = None, source: str = "", critical: bool = False) -> str:
        """Keep what happened; its id. It survives a kill once this returns; a critical entry (an error, an event of
        security, or one that is called so) is in working memory then, and survives a power cut.

        Raises BadInput, DiskFull and the other errors of `from_os_error`: nothing was kept then.
        """
        if data is None:
            data = {}
        checked(category, data, source)
        text = text_of(data)
        if critical or is_critical(data, source):
            return self._push_critical(category, data, source, text)
        with self._lock:
            ms, at = self._now()
            entry_id = next(self._ids)
            if self._spool.current is None:
                ms, at = self._begin()
            segment = self._spool.append(line_of(entry_id, at, category, source, False, text))
            rank = self._rank(ms)
            ring = self._ring
            ring.add(_kept(Kept, (rank, entry_id, at, category, source, False, text, segment)), data)
            late = rank - ring.entries[0].rank > self._late
            full = len(ring.entries) >= self._most or ring.size > MOST_CHARACTERS
        if full or late:
            self._age_when_possible()
        return entry_id

    def set_agent_state(self, agent: str, state: Any) -> str:
        """Keep what an agent does now; the id of the event. Raises BadInput and the errors of `push`."""
        if not agent.strip():
            raise BadInput("an agent needs a name", "", "give it")
        return self.push("event", {"agent": agent, "state": state}, source=agent)

    def _push_critical(self, category: str, data: Any, source: str, text: str) -> str:
        """The table first: nobody who reads it finds less than the ring tells."""
        with self._lock:
            ms, at = self._now()
            entry_id = next(self._ids)
        known: bool | None = True
        try:
            entry = Kept(0, entry_id, at, category, source, None, text)
            self._refused += aging.keep(self._trail(), [entry], lambda *_: False, self._quarantine)
        except NanomemError as error:
            self._trouble = error.line()
            known = None  # its line is as safe, and it goes there with the next that age
        with self._lock:
            try:
                if self._spool.current is None:
                    self._begin((ms, at))
                segment = self._spool.append(line_of(entry_id, at, category, source, known, text))
                if known is None:
                    self._spool.sync(segment)
            except NanomemError:
                if known is None:
                    raise
                return entry_id
            # Others may have pushed since: what is in the table late makes the clock run no faster.
            rank = self._rank(max(ms, clock.now_ms()))
            self._ring.add(Kept(rank, entry_id, at, category, source, known, text, segment), data)
        return entry_id

    def _begin(self, told: tuple[int, str] | None = None) -> tuple[int, str]:
        """Have a segment to write to: one of a process that has ended, where there is one with room; the time of the
        entry that wants it, now or as `told`. It comes after all that there is, whatever that time says."""
        self._take_in(self._spool.resume())
        ms, at = told or clock.stamp()
        last = itertools.takewhile(lambda kept: kept.rank == self._last, reversed(self._ring.entries))
        if ms < self._last or any(kept.at >= at for kept in last):
            self._last += 1
        self._spool.begin(self._last, ms)
        return ms, at

    def _take_in(self, found: Sequence[Sequence[Read]]) -> None:
        """What was taken over is ours now, but for what had left its file when a kill came, and not been struck out."""
        left = []
        for entries in found:
            moved = self._moved([kept for kept, _ in entries])
            self._spool.aged([kept for kept, _ in entries[:moved]])
            left.append(entries[moved:])
        if any(left):
            self._ring = self._ring.with_others(left)
            self._last = max(self._last, self._ring.entries[-1].rank)

    def _moved(self, entries: Collection[Kept]) -> int:
        if not entries:
            return 0
        with contextlib.suppress(NanomemError):  # they age once more then, which changes nothing
            return aging.moved(self._trail(), entries)
        return 0

    # -- the clock ----------------------------------------------------------------------------------------------------

    def _now(self) -> tuple[int, str]:
        """The time. Once a second, and in a new process, we look whether our files are still ours."""
        now = clock.stamp()
        if not 0 <= now[0] - self._looked < LOOK or self._spool.pid != os.getpid():
            self._look_around()
            self._looked = now[0]
        return now

    def _rank(self, ms: int) -> int:
        """The time as what entries are ordered and aged by: a clock that is set back makes it stand still for no longer
        than that, and makes nothing older."""
        rank = ms + self._behind
        if rank < self._last:
            if self._last - rank > SET_BACK:
                self._behind += self._last - rank
            rank = self._last
        self._last = rank
        return rank

    def _look_around(self) -> None:
        if self._spool.forked():
            self._ring, self._ids = Ring(), _ids()
        if self._spool.held and not self._spool.is_whole():
            entries = self._spool.anew(self._ring.entries)
            self._last = max([self._last, *(kept.rank for kept in entries[-1:])])
            self._ring = Ring((kept, kept.entry().data) for kept in entries)

    # -- aging --------------------------------------------------------------------------------------------------------

    def age(self, now: datetime | None = None) -> int:
        """Move what is older than the ring holds, and what is too much for it, into working memory; how many entries.

        Raises the errors of the database; everything stays where it is then.
        """
        moved = 0
        with self._aging:
            try:
                while batch := self._due(now):
                    self._refused += aging.keep(self._trail(), batch, self._is_latest, self._quarantine)
                    with self._lock:
                        self._spool.aged([self._ring.drop() for _ in batch])
                    moved += len(batch)
                self._trouble = ""
                self._sync_now_and_then()
            except NanomemError as error:
                self._trouble = error.line()
                self._not_before = time.monotonic() + PAUSE
                raise
        return moved

    def _due(self, now: datetime | None) -> list[Kept]:
        """The oldest entries that have to leave, at most a batch of them."""
        with self._lock:
            self._now()
            rank = self._rank(clock.now_ms()) if now is None else int(now.timestamp() * 1000) + self._behind
            oldest = rank - self._span
            over = self._over(oldest)
            size = self._ring.size - MOST_CHARACTERS
            room = MOST_CHARACTERS // 10
            due: list[Kept] = []
            for kept in itertools.islice(self._ring.entries, BATCH):
                if (len(due) >= over and kept.rank >= oldest and size <= 0) or room <= 0:
                    break
                due.append(kept)
                size -= len(kept.text)
                room -= len(kept.text)
            return due

    def _over(self, oldest: int) -> int:
        """How many of our entries are beyond what the ring of the workspace holds, with those of other processes. What
        is due of processes that have ended becomes ours first."""
        others = self._look_at_others()
        over = self._beyond(others.values())
        due = [name for name, ring in others.items() if over > 0 or not ring.entries or ring.entries[0].rank < oldest]
        if due:
            self._take_in([self._spool.take_over(name) for name in due])
            others = self._look_at_others()
            over = self._beyond(others.values())
        if over <= 0 or not others:
            return max(0, over)
        rings = [self._ring, *others.values()]
        ranked = [[(kept.when, ring is self._ring) for kept in ring.entries] for ring in rings]
        return sum(own for _, own in itertools.islice(heapq.merge(*ranked, key=operator.itemgetter(0)), over))

    def _beyond(self, others: Iterable[Ring]) -> int:
        return sum(len(ring.entries) for ring in (self._ring, *others)) - self._limit

    def _is_latest(self, task_id: str, entry_id: str) -> bool:
        with self._lock:
            newest = self._word("tasks", task_id)
        return newest is not None and newest.id == entry_id

    def _age_when_possible(self) -> None:
        """What was pushed is kept, whether or not that can be done. A ring that cannot give anything up takes nothing
        more after a while: raises StoreError then."""
        self._age_quietly()
        if len(self._ring.entries) >= 2 * self._limit + BATCH and self._trouble:
            raise StoreError("operational memory is full, and working memory cannot be written", self._trouble)

    def _sync_now_and_then(self) -> None:
        if self._spool.held and self._last - self._synced >= SYNCED_EVERY:
            with self._lock:
                self._spool.sync()
            self._synced = self._last

    def age_if_due(self) -> None:
        """Age once a minute, for who asks all the time; what goes wrong is told by `problems`."""
        if time.monotonic() - self._aged_at >= MINUTE:
            self._aged_at = time.monotonic()
            self._age_quietly()

    def _age_quietly(self) -> None:
        """Move what is due, where that can be done, and was not found to be impossible a moment ago."""
        if time.monotonic() >= self._not_before:
            with contextlib.suppress(NanomemError):
                self.age()

    def problems(self) -> list[Problem]:
        """What could not be read, and what no table can hold."""
        found = [*self._spool.problems.values(), *self._refused]
        if self._trouble:
            found.append(Problem("entries cannot leave operational memory", "operational", fix=self._trouble))
        return found

    def close(self) -> None:
        """Let go of our files. What is in them is there again when the next program starts."""
        with self._aging, self._lock:
            self._spool.close()
            self._ring, self._looked = Ring(), 0

    # -- of every process ---------------------------------------------------------------------------------------------

    def _rings(self) -> list[Ring]:
        return [self._ring, *self._look_at_others().values()]

    def _look_at_others(self) -> Mapping[str, Ring]:
        return self._others.look(self._spool.names(), self._spool.held)

    def _word(self, what: str, name: str) -> Kept | None:
        """The newest word on a metric, a task or an agent."""
        words = [told[name] for ring in self._rings() if name in (told := getattr(ring, what))]
        return max(words, key=lambda kept: kept.when, default=None)

    def _newest(self, what: str) -> dict[str, Kept]:
        """The newest word on each metric, task or agent."""
        rings = self._rings()
        found: dict[str, Kept] = dict(getattr(rings[0], what))
        for ring in rings[1:]:
            for name, told in getattr(ring, what).items():
                if name not in found or found[name].when < told.when:
                    found[name] = told
        return found
