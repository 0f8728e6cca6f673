"""The rows of one workspace in RAM: loaded from the database, the ledger files and the agent's files, and kept in step.

Reads only. Where changes come from and go to is `memory_store`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from nanomem_tui import clock
from nanomem_tui.errors import AccessDenied, DiskFull, Moved, Problem, StoreError
from nanomem_tui.operations import Change, Operation, dated_after, new_operation
from nanomem_tui.paths import Paths
from nanomem_tui.settings import Settings
from nanomem_tui.store import (
    forgotten,
    ledger_order,
    moved,
    reader,
    session_scopes,
    signing,
    stored_operations,
    where_kept,
)
from nanomem_tui.store import ledger as ledger_files
from nanomem_tui.store.agent_files import AgentFiles, row_tables
from nanomem_tui.store.journal import Journal
from nanomem_tui.store.ledger import Ledger
from nanomem_tui.store.snapshot import RowKey, Snapshot, Step, added_first, without_counts
from nanomem_tui.store.values import ROW_LAYERS, AnyRow, Item, Lesson, Row, number_of
from nanomem_tui.text import counted

if TYPE_CHECKING:
    from nanomem_tui.store.mending import Mended
    from nanomem_tui.store.sql import Connection

T = TypeVar("T")
READS = 3
"""Times that the database is read anew when somebody writes it meanwhile."""


class RowStore:
    """The snapshot over a database, ledger files and shared files, as a reader needs it."""

    def __init__(self, paths: Paths, workspace_id: str, settings: Settings) -> None:
        self.paths = paths
        self.workspace_id = workspace_id
        self.settings = settings
        self.snapshot = Snapshot()
        self.ledger = Ledger(paths.ledger / workspace_id)
        self.files = AgentFiles(paths, workspace_id, settings)
        self.server = where_kept.server_of(settings, workspace_id)
        self.copies, self.source = where_kept.read_from(paths, workspace_id, self.server)
        self.journal = Journal(self)
        self.signature = signing.signature(settings, paths)
        self.last_at = self._seen_at = self._written_at = ""
        self.last_ms: float | None = None
        self._lock = self.snapshot.lock
        self._loaded = False
        self._revision = 0
        self._noticed: list[Operation] = []
        self._replayed: list[Operation] = []
        self._ledger_problems, self._row_problems = list[Problem](), list[Problem]()
        self._mended: Mended | None = None
        self._changed_at: float | None = None
        self._export_due = False
        self._looked: tuple[object, object] | None = None
        self._looked_at: tuple[object, object] | None = None
        self._looked_in: ledger_files.Stamps = ()
        self._seen: Mapping[RowKey, frozenset[str]] = {}
        self._writing = self._in_sessions = False
        self.moved: Moved | None = None
        """Why nobody writes to this store any more."""
        self._forgets = forgotten.NEVER

    @property
    def where(self) -> str:
        """Which database it is, for a person."""
        return self.server.where if self.server is not None else self.paths.relative(self.paths.database)

    @property
    def has_database(self) -> bool:
        """Whether something was ever written here."""
        return self.source.exists

    def read(self, ask: Callable[[Connection], T]) -> T:
        """The answer of the database, or of what stands in for a damaged one. Raises the store's errors."""
        return self.source.read(ask)

    def kept_open(self) -> contextlib.AbstractContextManager[None]:
        """Answers within come over one connection, for a command that reads and ends."""
        return self.source.kept_open()

    @contextlib.contextmanager
    def opened(self) -> Iterator[Connection]:
        """A connection to the database, or to what stands in for a damaged one, for who asks more than once.

        Damage is told apart at the beginning; later it is an error of the reader's.
        """
        self.read(lambda connection: reader.meta(connection, self.workspace_id))
        with self.source.opened() as connection:
            yield connection

    def waiting(self) -> list[Operation]:
        """The operations in ledger files, in order, known to the database or not, and those that it had and lost."""
        files = self.ledger.files()
        return ledger_order.in_order([self._lost(files), *(file.operations for file in files)])

    def _lost(self, files: Sequence[ledger_files.LedgerFile]) -> list[Operation]:
        """What was kept and is neither in the database nor in a ledger file.

        Who commits keeps an operation first, then writes it, then clears its ledger file: what was recorded since
        `files` were read may be on this way, and is looked for again, in this order.
        """
        lost = self.copies.lost(self._known_ids, {operation.id for file in files for operation in file.operations})
        if not lost:
            return lost
        again = [*files, *self.ledger.files()]
        here = {operation.id for file in again for operation in file.operations}
        here |= self._known([operation for operation in lost if operation.id not in here])
        return [operation for operation in lost if operation.id not in here]

    @property
    def found_altered(self) -> frozenset[RowKey]:
        """The rows that were not what was written when they were loaded; `problems` tells of each."""
        return frozenset((layer, row.id) for layer, row in self._mended.found) if self._mended else frozenset()

    @property
    def to_mend(self) -> int:
        """How many rows and operations were put right in RAM, and are yet to be written."""
        return len(self._replayed) + sum(problem.severity == "warning" for problem in self._row_problems)

    @property
    def loaded(self) -> bool:
        """Whether the rows are in RAM."""
        return self._loaded

    def load(self, layer: str | None = None) -> Snapshot:
        """The snapshot with everything in it. Raises the store's errors, and with a `layer` AccessDenied when its rows
        lie in a file that cannot be read: they are not none."""
        with self._lock:
            if not self._loaded:
                self._forgets = forgotten.stamp(self.paths)
                self._load()
                self._loaded = True
            problem = self.files.unreadable(layer) if layer else None
            if problem is not None and not self._adopted:
                raise AccessDenied(problem.what, problem.where, problem.fix or "check its owner and mode")
            return self.snapshot

    def _load(self) -> None:
        files = self.ledger.files()
        self._ledger_problems = [problem for file in files for problem in file.problems]
        self.files.read()
        if self.has_database:
            self._read_database()
        lost = self._lost(files)
        if self._adopted:
            states = self._replay(lost)
            if lost or self.source.damage is not None or self.source.repaired:
                self.files.may_hold(states, self._tables())
            self._notice_agent(wait=2.0)
            self._place_in_sessions()
        else:
            self._adopt_files()
            self._replay(lost)
        operations = ledger_order.in_order(file.operations for file in files)
        own = {operation.id for operation in self.ledger.pending}
        done = ledger_order.voided(operations) | self._known_here(operations, files)
        self._seen_at = max((operation.place for operation in operations), default="")
        for operation in operations:
            for change in self._unseen(operation) if operation.id in own - done else ():
                self.snapshot.patch(change)
            self._show(operation, own | done)

    def _show(self, operation: Operation, but: set[str]) -> None:
        """Let another process's operation be seen, unless it is one of `but`."""
        for change in self._unseen(operation) if operation.id not in but else ():
            person = operation.actor == "human"
            self.snapshot.show(operation.id, change, again=operation.takes_up, person=person)

    def _unseen(self, operation: Operation) -> list[Change]:
        """Its changes of rows that the database does not have."""
        rows = [change for change in operation.changes if change.layer in ROW_LAYERS]
        if not self._seen:
            return rows
        return [c for c in rows if operation.id not in self._seen.get((c.layer, c.key), ())]

    def _recorded(self, files: Sequence[ledger_files.LedgerFile]) -> list[Operation]:
        """What is in these ledger files, and what is ours to write, in the order in which it was recorded."""
        with self._lock:
            ours = ledger_order.in_order([self._replayed, self._noticed, self.ledger.pending])
            known = {operation.id for operation in ours}
            return ledger_order.in_order([ours, *([o for o in f.operations if o.id not in known] for f in files)])

    def _rebase(
        self, connection: Connection | None, rows: Mapping[RowKey, AnyRow | None], recorded: Sequence[Operation]
    ) -> None:
        """Begin these rows anew from what the database has, with all on top that was recorded since."""
        here = {operation.id for operation in (*self._replayed, *self._noticed, *self.ledger.pending)}
        recorded = [one for one in recorded if one.kind != "agent.changed" or one.id in here]  # not what was retracted
        done = ledger_order.voided(recorded)
        if connection is not None:
            done |= stored_operations.known(connection, self.workspace_id, recorded)
        steps: dict[RowKey, list[Step]] = {place: [] for place in rows}
        for operation in recorded:
            for change in self._unseen(operation) if operation.id not in done else ():
                if (change.layer, change.key) in steps:
                    # Added once more: it was deleted when that was decided. What an agent added is noticed by each.
                    again = operation.takes_up or (change.before is None and operation.kind != "agent.changed")
                    whose = "" if operation.id in here else operation.id
                    step = Step(whose, change, again, operation.actor == "human")
                    steps[change.layer, change.key].append(step)
        for (layer, key), row in rows.items():
            self.snapshot.rebase(layer, key, row, steps[layer, key] if row else added_first(steps[layer, key]))

    def _begin_anew(self, places: Collection[RowKey]) -> None:
        """Begin these rows anew: what was recorded of them is ours to write now."""
        recorded = self._recorded(self.ledger.files())

        def rebase(connection: Connection | None) -> None:
            if connection is not None:
                self._take_rows(connection, recorded)
            there: dict[RowKey, AnyRow] = {}
            made = recorded
            if connection is None or not self._adopted:
                there = {(layer, row.id): row for layer in ROW_LAYERS for row in self.files.initial_rows(layer)}
                made = [operation for operation in recorded if operation not in self._noticed]  # the files hold that
            else:
                for layer in ROW_LAYERS:
                    keys = [key for name, key in places if name == layer]
                    found = reader.rows_by_id(connection, layer, self.workspace_id, keys)
                    there |= {(layer, key): row for key, row in found.items()}
            self._rebase(connection, {place: there.get(place) for place in places}, made)

        if self.has_database:
            self.read(rebase)
        else:
            rebase(None)

    def _replay(self, operations: Sequence[Operation]) -> dict[RowKey, list[Row]]:
        """Do again what the database had and lost; the next checkpoint writes it. The states of each row before."""
        void = ledger_order.voided(operations)
        states: dict[RowKey, list[Row]] = {}
        for operation in operations:
            for change in self._unseen(operation) if operation.id not in void else ():
                row = self.snapshot.table(change.layer).get(change.key)
                if isinstance(row, Item | Lesson):  # what an agent's file can hold
                    states.setdefault((change.layer, change.key), []).append(row)
                self.snapshot.patch(without_counts(change) if operation.kind == "agent.changed" else change)
        self._replayed = list(operations)
        return states

    def _reload(self) -> None:
        """Read everything anew: the database is another one than the rows were read from."""
        self.snapshot.clear()
        self.files.forget()
        self._revision, self._noticed, self._replayed = 0, [], []
        self._looked, self._looked_in, self._seen = None, (), {}
        self._in_sessions = False
        self._load()

    def _forget_since(self, looked: forgotten.Stamp | None = None) -> None:
        """Read everything anew when something was forgotten since: what is in RAM must not be written back."""
        now = looked or forgotten.stamp(self.paths)
        if now == self._forgets or forgotten.trouble(self.paths) is not None:
            return
        kept = forgotten.load(self.paths)
        self.ledger.reword(lambda operation: forgotten.without(kept, operation))
        self._forgets = now
        self._reload()

    def knows(self, operation: Operation) -> bool:
        """Whether the database has it."""
        return bool(self._known([operation]))

    def _known(self, operations: Sequence[Operation]) -> set[str]:
        """Which of these operations the database has."""
        return self._known_ids([operation.id for operation in operations])

    def _known_ids(self, ids: list[str]) -> set[str]:
        if not ids or not self.has_database:
            return set()
        return self.read(lambda connection: stored_operations.known_operations(connection, self.workspace_id, ids))

    def _read_database(self) -> None:
        """Take every row. Read again when somebody wrote meanwhile."""
        for _ in range(READS):
            before = self.source.stamps()
            self.read(self._read_once)
            if self.source.stamps()[0] == before[0]:
                return

    def _read_once(self, connection: Connection) -> None:
        meta = reader.meta(connection, self.workspace_id)
        self._revision = reader.revision_of(meta)
        self._seen = reader.seen(meta)
        if self._adopted:
            from nanomem_tui.store import mending  # what only counts rows has no use for it

            self._recall(connection, meta)
            layers = reader.all_rows(connection, self.workspace_id)
            altered = mending.altered(connection, self.workspace_id, [row for rows in layers for row in rows], meta)
            self.snapshot.replace_all(*layers)
            self._export_due = meta.get(self.files.mark("exported")) != meta.get("revision")
            self._mended = None
            if altered is not None:
                self._mended = mending.mend(self.snapshot, self.copies, self.workspace_id, altered)
            self._row_problems = list(self._mended.problems) if self._mended is not None else []

    def _recall(self, connection: Connection, meta: Mapping[str, str]) -> None:
        self.last_at, self.last_ms = meta.get("last_at", ""), number_of(meta.get("last_ms"))
        self._written_at = max(self._written_at, stored_operations.newest_at(connection, self.workspace_id))
        self.moved = moved.trouble(meta, self.where)
        self.files.recall(meta, lambda name: reader.foreign_rows(connection, self.workspace_id, name))

    @property
    def _adopted(self) -> bool:
        return self._revision > 0

    def _newest_at(self) -> str:
        """When the newest known operation was made, in the database, in a ledger, or here: what is done now is dated
        after it, whatever the clock did. Nothing where the present was set."""
        if clock.is_set():
            return ""
        if not self._loaded:
            stamps = self.ledger.stamps(), self.source.stamps()
            if stamps != self._looked_at:
                self._look_for_newest()
                self._looked_at = stamps
        pending = self.ledger.pending
        return max(self._written_at, self._seen_at, pending[-1].place if pending else "")

    def _look_for_newest(self) -> None:
        times = [operation.place for file in self.ledger.files() for operation in file.operations]
        with contextlib.suppress(StoreError, AccessDenied, DiskFull):  # who loads the rows tells it
            if self.has_database:
                times.append(self.read(lambda connection: stored_operations.newest_at(connection, self.workspace_id)))
        self._seen_at = max([self._seen_at, *times])

    def _adopt_files(self) -> None:
        """Before the first checkpoint the agent's files are the rows; taking them over is no operation."""
        self.files.begin()
        items = [row for row in self.files.initial_rows("item") if isinstance(row, Item)]
        lessons = [row for row in self.files.initial_rows("lesson") if isinstance(row, Lesson)]
        self.snapshot.replace_all(items, lessons)

    def _tables(self) -> dict[str, Mapping[str, Row]]:
        return row_tables(self.snapshot.items, self.snapshot.lessons)

    def _notice_agent(self, *, wait: float | None) -> None:
        """Put what the agent changed in its files into RAM; its files keep it until a checkpoint writes it.

        Waits for a process that writes the files and has yet to remember what it wrote: that is no agent's doing. When
        it takes longer than `wait` seconds, the files are noticed another time; None: the caller holds the lock.
        """
        if not self.files.has_new() or forgotten.trouble(self.paths) is not None:
            return
        with contextlib.nullcontext(True) if wait is None else self.source.held(wait) as held:
            if not held:
                return
            self.files.read()
            self._refresh_rows(self.ledger.files())
            found, wrote = self.files.notice(self._tables())
        changes = forgotten.remembered(self.paths, found)
        self._export_due = self._export_due or wrote or len(changes) < len(found)
        for change in changes:
            self.snapshot.patch(change)
        if changes:
            names = sorted({"LTM_SNAPSHOT.json" if c.layer == "item" else "LESSONS.jsonl" for c in changes})
            label = f"the agent changed {counted(len(changes), 'row')} in {' and '.join(names)}"
            noticed = new_operation("agent.changed", label, changes, actor="agent", meta=self.signature)
            self._noticed.append(dated_after(noticed, self._newest_at()))
            self._touch()

    def _place_in_sessions(self) -> None:
        """Give items that an earlier release kept for every chat to the chat of their session; the next checkpoint
        writes it. Looked at once, and again when another process wrote meanwhile."""
        if self._in_sessions or not self._adopted:
            return
        self._in_sessions = True
        made = session_scopes.operation(self.snapshot.items.values(), self.journal)
        if made is None:
            return
        for change in made.changes:
            self.snapshot.patch(change)
        self._noticed.append(dated_after(signing.signed(made, self.signature), self._newest_at()))
        self._touch()

    def refresh(self) -> bool:
        """Take what other processes and the agent did since; True when rows changed. Cheap when nothing did."""
        with self._lock:
            if not self._loaded:
                return False
            counter = self.snapshot.counter
            with contextlib.suppress(StoreError, AccessDenied, DiskFull):
                self.see_others()
            return self.snapshot.counter != counter

    def see_others(self) -> None:
        """`refresh` that raises the store's errors: the rows and files that others wrote, and what they recorded and
        have yet to write."""
        with self._lock:
            self.load()
            self._forget_since()
            wrote = self.files.read()
            recorded, now = self.ledger.stamps(), self.source.stamps()
            if (recorded, now) != (self._looked_in, self._looked):
                self._see_rows()
                self._looked_in, self._looked = recorded, now
            if self._adopted or self.ledger.pending:
                self._notice_agent(wait=0.0)
                self._place_in_sessions()
            elif wrote:
                self._load()  # what others did and have yet to write is shown on top

    def _see_rows(self) -> None:
        """What others committed, and on top what they recorded; read in this order, nothing is between the two."""
        files = self.ledger.files()
        self._refresh_rows(files)
        operations = ledger_order.in_order(file.operations for file in files)
        own = {operation.id for operation in self.ledger.pending}
        theirs = [operation for operation in operations if operation.id not in own]
        but = self._known_here(theirs, files) | ledger_order.voided(operations)
        self._seen_at = max([self._seen_at, *(operation.place for operation in operations)])
        for operation in theirs:
            self._show(operation, but)

    def _known_here(self, operations: Sequence[Operation], files: Sequence[ledger_files.LedgerFile]) -> set[str]:
        """Which of these operations, of these files, the database has, once the rows here are as they made them."""
        known: set[str] = set()
        while (found := self._known(operations)) != known:
            known = found
            self._refresh_rows(files)
        return known

    def _refresh_rows(self, files: Sequence[ledger_files.LedgerFile]) -> None:
        """Take the rows that others committed, seen after these ledger files, and what they know of the agent's files.

        What we noticed of those files, and have not written, they may have written: it is noticed again from there.
        """
        if self.has_database:
            recorded = self._recorded(files)
            self.read(lambda connection: self._take_rows(connection, recorded))

    def _take_rows(self, connection: Connection, recorded: Sequence[Operation]) -> None:
        if self._writing:  # what a checkpoint of ours wrote just now is no other's; looked at again when it is done
            return
        meta = reader.meta(connection, self.workspace_id)
        revision, self._seen = reader.revision_of(meta), reader.seen(meta)
        if self._adopted and not revision:  # somebody removed the database: what is in RAM is all there is
            self._revision = 0
            self.files.forget()
        behind, wrote = revision and self.files.is_behind(meta), revision > self._revision
        again = [one for one in self._noticed if behind or (wrote and one.kind == session_scopes.KIND)]
        for change in [change for operation in again for change in operation.changes][::-1]:
            self.snapshot.retract(change)
        self._noticed = [one for one in self._noticed if one not in again]
        self._in_sessions = self._in_sessions and not again
        dirty: list[tuple[str, AnyRow]] = []
        if revision > self._revision and not self._adopted:
            dirty = self.snapshot.replace_all(*reader.all_rows(connection, self.workspace_id))
        elif revision > self._revision:
            for layer in ROW_LAYERS:
                rows = reader.rows_of(connection, layer, self.workspace_id, after_revision=self._revision)
                dirty += [(layer, row) for row in self.snapshot.take(layer, rows)]
        if dirty:
            self._rebase(connection, {(layer, row.id): row for layer, row in dirty}, recorded)
        if revision:
            self._recall(connection, meta)
        self._revision = max(revision, self._revision)

    def _meta(self) -> dict[str, str]:
        if not self.has_database:
            return {}
        return self.read(lambda connection: reader.meta(connection, self.workspace_id))

    def _touch(self) -> None:
        if self._changed_at is None:
            self._changed_at = time.monotonic()
        self._export_due = True
