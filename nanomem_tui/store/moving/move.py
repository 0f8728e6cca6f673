"""One move of a memory: looked at before, done while others read and write, ended in one moment, finished when it was
cut off.

The rows are made the same in the other place, again and again until little is left; the last part is done while nobody
else writes, and counts and hashes of both places are compared there. Then the store that was left is marked, the other
one is opened to everybody, and the settings name it: whatever ends a process in between, the same command goes on.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui import clock
from nanomem_tui.errors import BadInput, Conflict, NothingToDo, Refused
from nanomem_tui.paths import Paths, sharing
from nanomem_tui.store import atomic, here, moved, old_stores, reader
from nanomem_tui.store.database import LOCK as STORE
from nanomem_tui.store.database import LOCK_WAIT
from nanomem_tui.store.moved import ARRIVED, ARRIVING, MOVED, Mark
from nanomem_tui.store.moving import copying, index, places
from nanomem_tui.store.moving.copying import Copying, Progress, Sum
from nanomem_tui.store.moving.naming import Naming

if TYPE_CHECKING:
    from nanomem_tui.store.moving.places import Place
    from nanomem_tui.store.sql import Connection

LOCK = "move.lock"
"""The file in our folder whose flock is held by who moves the memory."""
LITTLE, PASSES = 500, 6
"""Changed rows of a pass after which the last part begins, and the passes after which it does in any case."""


class Seen(NamedTuple):
    """A place as a look found it: its rows by table, its revision (0: no memory), and the marks that are there."""

    rows: Mapping[str, int]
    revision: int
    marks: Mapping[str, Mark]


class Plan(NamedTuple):
    """What a move would do. `state`: "new", "resumed" after it was cut off, "finished" where only its last steps are
    left, "done" where nothing is; `replaced`: rows of an earlier time that would go from the other place."""

    source: str
    target: str
    state: str
    rows: Mapping[str, int]
    replaced: int


class Done(NamedTuple):
    """What a move did: its id, what each table holds now, and whether the rows were moved by this call."""

    move: str
    tables: Mapping[str, Sum]
    state: str


class Move:
    """The memory of one workspace from one place to another. `replace`: also over a memory that is in use there."""

    def __init__(self, paths: Paths, workspace_id: str, source: str, target: str, *, replace: bool = False) -> None:
        """Raises BadInput, MissingExtra, or InvalidConfig for an address."""
        self._paths, self._id, self._replace = paths, workspace_id, replace
        if places.same(source, target):
            raise BadInput("that is the same place twice", target, "name the one to move from, then the one to move to")
        self._source = places.place_of(source, paths, workspace_id)
        self._target = places.place_of(target, paths, workspace_id)
        self._work = tuple(places.work_of(one, paths, workspace_id) for one in (source, target))

    def close(self) -> None:
        """Let go of both."""
        for place in (self._source, self._target, *self._work):
            place.close()

    # -- before -------------------------------------------------------------------------------------------------------

    def plan(self) -> Plan:
        """What would happen. Changes nothing. Raises NothingToDo where nothing is there, Refused where what is in the
        other place would be lost, and what keeps either place from being used."""
        found, there = self._seen(self._source), self._seen(self._target)
        if not found.revision and MOVED not in found.marks:
            fix = "name the other store with `nanomem config set --here database_url`: what comes is written there"
            raise NothingToDo("nothing was written there yet", self._source.where, fix)
        state = self._state(found, there)
        here_, other = map(self._rows_of_work, self._work)
        replaced = sum(there.rows.values()) + sum(other.values()) if state == "new" else 0
        return Plan(self._source.label, self._target.label, state, {**found.rows, **here_}, replaced)

    def _seen(self, place: Place) -> Seen:
        if not place.look():
            return Seen({}, 0, {})
        with place.reading() as connection:
            meta = reader.meta(connection, self._id)
            marks = {name: moved.mark_in(meta, name) for name in moved.LOCAL}
            present = {name: mark for name, mark in marks.items() if mark is not None}
            return Seen(copying.counts(connection, self._id), reader.revision_of(meta), present)

    def _rows_of_work(self, place: Place) -> dict[str, int]:
        """The rows of an agent's work in a place, by table."""
        if not place.look():
            return {}
        with place.reading() as connection:
            return copying.counts(connection, self._id, copying.THE_WORK)

    def _state(self, found: Seen, there: Seen) -> str:
        if (mark := found.marks.get(ARRIVING)) is not None:
            raise Refused("a move to there has not come to its end", self._source.where, f"first: {moved.again(mark)}")
        if (mark := found.marks.get(MOVED)) is not None:
            if (other := there.marks.get(ARRIVING)) is not None and other.move == mark.move:
                return "finished"
            on = there.marks.get(MOVED)
            if on is None and (other := there.marks.get(ARRIVED)) is not None and other.move == mark.move:
                return "done"
            raise Refused(f"this memory has moved to {mark.target}", self._source.where, "move it from where it is now")
        if (mark := there.marks.get(ARRIVING)) is not None:
            if self._is_ours(mark):
                return "resumed"
            if not self._replace:
                fix = f"`{moved.again(mark)}` ends it, --replace begins anew"
                raise Refused("another move to there has not come to its end", self._target.where, fix)
        elif there.revision and MOVED not in there.marks and not self._replace:
            fix = "add --replace to have it replaced for good; nothing was changed"
            what = f"{sum(there.rows.values()):,} rows of this memory are there already, which no move left behind"
            raise Refused(what, self._target.where, fix)
        return "new"

    def _is_ours(self, mark: Mark) -> bool:
        with contextlib.suppress(BadInput):
            return places.same(mark.source, self._source.label)
        return False

    def stays(self) -> list[str]:
        """The other workspaces that share our settings, and whose memory lies where this one is moved from."""
        left = []
        for name, key in sharing(self._paths).items():
            with contextlib.closing(places.place_of(self._source.label, self._paths, key)) as place:
                if not place.look():
                    continue
                with place.reading() as connection:
                    meta = reader.meta(connection, key)
                left += [name] if reader.revision_of(meta) and MOVED not in meta else []
        return left

    # -- the move -----------------------------------------------------------------------------------------------------

    def run(self, progress: Progress) -> Done:
        """Move it. Raises Refused while another process does, and what `plan` and the stores do; the memory is whole
        and in use where it was then, and the same call goes on."""
        atomic.make_folder(self._paths.data)
        with atomic.locked(self._paths.data / LOCK, wait=0):
            plan = self.plan()
            servers = [place.label for place in (self._source, self._target) if place.on_server]
            old_stores.note(self._paths, self._id, *servers)  # before a row is there: a move may be given up
            if plan.state in ("finished", "done"):
                with self._source.reading() as connection:
                    mark = moved.read(connection, self._id, MOVED)
                assert mark is not None
                if plan.state == "finished":
                    self._open(mark)
                return Done(mark.move, {}, plan.state)
            self._source.examine()
            with self._source.writing():  # a file of an older schema is brought up to date, after a copy of it
                pass
            mark = self._begin(plan)
            tables = self._bring(mark, progress, sum(plan.rows.values()))
            self._open(mark)
            return Done(mark.move, tables, plan.state)

    def _begin(self, plan: Plan) -> Mark:
        """Mark the other place: nobody writes there until the end, but for this move."""
        with self._target.writing() as connection:
            before = moved.read(connection, self._id, ARRIVING)
            if plan.state == "resumed" and before is not None:
                mark = before
            else:
                mark = Mark(uuid.uuid4().hex, self._source.label, self._target.label, clock.iso(clock.now()))
            moved.write(connection, self._id, ARRIVING, mark)
        with self._source.reading() as connection:
            same = moved.read(connection, self._id, ARRIVING) == mark
        with self._target.writing() as connection:
            if not same:
                copying.begin_index(connection, self._id)
            else:
                moved.remove(connection, self._id, ARRIVING)
        if not same:
            with self._work[1].writing() as connection:
                moved.mark_work(connection, self._id, mark, ARRIVING)
        if same:
            raise BadInput("that is the same place by two names", self._target.where, "name another one to move to")
        return mark

    def _bring(self, mark: Mark, progress: Progress, total: int) -> Mapping[str, Sum]:
        """Copy, catch up, and in one last part that nobody else writes in make sure that both are the same."""
        parts = self._parts(mark)
        for _ in range(PASSES):
            changed = sum(self._copying(part).run(progress, total) for part in parts)
            if changed <= LITTLE:
                break
        tables: dict[str, Sum] = {}
        with contextlib.ExitStack() as alone:
            # first of all the lock of this home, which every writer here takes before a row of a server
            alone.enter_context(atomic.locked_once(self._paths.data / STORE, wait=LOCK_WAIT))
            held = [(part, alone.enter_context(part.source.writing())) for part in parts]
            moved.refuse(held[0][1], self._id, self._source.where)
            for part, connection in held:
                tables |= self._same(part, self._copying(part, connection), mark, progress, total)
            moved.write(held[0][1], self._id, MOVED, mark)
            for _, connection in held[1:]:
                moved.mark_work(connection, self._id, mark, MOVED)
        return tables

    def _parts(self, mark: Mark) -> list[_Part]:
        """What moves: the memory, and the work of an agent."""
        from_, to = self._work
        with from_.writing():  # makes the tables where there are none: who writes there first is to be refused, too
            pass
        work = _Part(copying.THE_WORK, from_, to, partial(to.writing, durable=False))
        return [_Part(copying.THE_MEMORY, self._source, self._target, partial(self._writing, mark)), work]

    def _copying(self, part: _Part, held: Connection | None = None) -> Copying:
        naming, other = self._namings()

        def reading() -> contextlib.AbstractContextManager[Connection]:
            return part.source.reading() if held is None else contextlib.nullcontext(held)

        here_, there = copying.End(reading, naming), copying.End(part.target.reading, other)
        return Copying(self._id, here_, there, part.writing, on_server=part.target.on_server, part=part.part)

    def _namings(self) -> tuple[Naming, Naming]:
        """How both places name what is of the agent's files."""
        servers, home = (self._source.on_server, self._target.on_server), here.made(self._paths)
        return tuple(Naming(home, adds=not one, all_homes=all(servers)) for one in servers)  # type: ignore[return-value]

    def _same(self, part: _Part, alone: Copying, mark: Mark, progress: Progress, total: int) -> Mapping[str, Sum]:
        """The last pass: both places hold the same rows, by their counts and hashes, and the same markers."""
        for lightly in (True, False):
            alone.run(progress, total, lightly=lightly)
            progress("comparing both", 0, 0)
            sums, there = alone.sums()
            if sums == there:
                alone.markers()
                with part.target.writing() as connection:  # all of it survives a power cut from here on
                    if part.part is copying.THE_MEMORY:
                        moved.write(connection, self._id, ARRIVING, mark)
                    else:
                        moved.mark_work(connection, self._id, mark, ARRIVING)
                return sums
        fix = "nothing was moved; `nanomem doctor` looks at the store that is in use"
        raise Conflict("the rows did not come out the same", part.target.where, fix)

    @contextlib.contextmanager
    def _writing(self, mark: Mark) -> Iterator[Connection]:
        with self._target.writing(durable=False) as connection:
            if moved.read(connection, self._id, ARRIVING) != mark:
                raise Conflict("another move to there began meanwhile", self._target.where, "look which one is wanted")
            yield connection

    def _open(self, mark: Mark) -> None:
        """Let everybody write to the other place. Done already, it is done again."""
        work = self._work[1]
        with work.writing() as connection:
            index.finish(connection, self._id)
            moved.mark_work(connection, self._id, None, ARRIVING, MOVED)
        work.settle()
        with self._target.writing() as connection:
            moved.remove(connection, self._id, ARRIVING, MOVED)
            moved.write(connection, self._id, ARRIVED, mark)
        self._target.settle()


class _Part(NamedTuple):
    """A part of the memory between its two places, and how the other one is written."""

    part: copying.Part
    source: Place
    target: Place
    writing: copying.Writing
