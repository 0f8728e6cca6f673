"""The work of one workspace and its knowledge base: a database of its own, and what a transaction of it is.

`WorkStore` gives a connection to whoever reads or writes; `records` and `knowledge` have the statements. Must not know
who changes what, or why."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import (
    Connection,
    insert,
    inspect,
    select,
    update,
)

from nanomem_tui.core.errors import Moved, NanomemError, NewerDatabase
from nanomem_tui.language import tokens
from nanomem_tui.store.database import bookkeeping, migrations, models, postgres
from nanomem_tui.store.database.engine import Database, SqliteDatabase
from nanomem_tui.store.database.reading import OlderSchema
from nanomem_tui.store.work import knowledge, records
from nanomem_tui.store.work import models as work_models
from nanomem_tui.store.work.kinds import KINDS, Kind
from nanomem_tui.store.work.models import TABLES
from nanomem_tui.store.work.records import _PART, note, record_of, set_note
from nanomem_tui.store.work.values import TierRecord

T = TypeVar("T")

LOOK = 5.0
"""Seconds between two looks whether anybody wrote on a server."""

INDEXED_BY = "tokens"
"""The note that says which version of the tokenizer made the indexes."""

_META = work_models.table(work_models.WorkMeta)

_TURN = update(_META).values(revision=_META.c.revision + 1).returning(_META.c.moved_to, _META.c.version)


class WorkStore:
    """The work of one workspace and its knowledge base, in a file beside the memory's database or on a server; made at
    the first write. Thread-safe."""

    def __init__(
        self, database: Database, path: Path, workspace_id: str, flush_seconds: float = 120.0,
        first_edition: Any = None, copies: Path | None = None,
    ) -> None:  # fmt: skip
        """`path`: where the file lies, or would lie; `flush_seconds`: after which a commit waits for the disk again,
        whatever it holds: what a power cut may cost at most. `first_edition`: see `work_takeover.FirstEdition`;
        `copies`: where a copy goes before a migration."""
        self.database = database
        self.path = path
        self.is_remote = not isinstance(database, SqliteDatabase)
        self.workspace_id = workspace_id
        self._flush_seconds = flush_seconds
        self._first_edition, self._copies = first_edition, copies
        self._copy: WorkStore | None = None
        self._lock = threading.Lock()
        self._copied = contextlib.ExitStack()
        self._is_made = self._is_ready = self._is_older = False
        self._flushed_at = time.monotonic()
        self._unflushed = False
        self._looked, self._seen = -float("inf"), -1

    @property
    def where(self) -> str:
        """What a person knows it by: the path of the file, or the server and schema."""
        return self.database.where

    @property
    def exists(self) -> bool:
        """Whether anything was ever written here. Raises the store's errors."""
        return self._is_here() or (self._first_edition is not None and self._first_edition.is_due())

    @property
    def is_of_first_edition(self) -> bool:
        """Whether it is shown from a private copy of what the first edition left."""
        return not self._is_here() and self.exists

    def _is_here(self) -> bool:
        """Whether the tables are there. What an earlier release made is asked again: another process may migrate it."""
        if (self._is_older or not self._is_made) and self.database.exists():
            with self.database.reading() as connection:
                if inspect(connection).has_table(_META.name):
                    self._is_older = migrations.is_due(connection, self.where, migrations.WORK)
                    self._is_made = True
        return self._is_made

    def read(self, ask: Callable[[Connection], T]) -> T:
        """Return the answer to `ask`, all of one moment. The caller looks at `exists` first. Raises the store's
        errors, OlderSchema among them on a server."""
        if self._is_here() and not self._is_older:
            with self.database.reading() as connection:
                return ask(connection)
        with self._lock:
            self._copy = self._copy or self._read_copy()
        return self._copy.read(ask)

    def ask(self, ask: Callable[[Connection], T], otherwise: T) -> T:
        """Return the answer to `ask`, `otherwise` where nothing was ever written. Raises the store's errors."""
        return self.read(ask) if self.exists else otherwise

    def read_whole(self, ask: Callable[[Connection], T]) -> T:
        """As `read`, for who copies the tables that there are: on a server of an older schema too."""
        if not (self.is_remote and self._is_here()):
            return self.read(ask)
        with self.database.reading() as connection:
            return ask(connection)

    def _read_copy(self) -> WorkStore:
        """A private copy of what the first edition, or an earlier release, left; it lies there until `close`, for
        another thread may read it. Raises OlderSchema on a server."""
        if not self._is_older:
            return self._first_edition.read_copy()  # type: ignore[no-any-return]
        if self.is_remote:
            fix = "`nanomem doctor --fix`, or the next record, brings them up to date"
            raise OlderSchema("the records of work have an older schema", self.where, fix)
        file = self._copied.enter_context(migrations.read_copy(self.path, migrations.WORK))
        return WorkStore(SqliteDatabase(file, self.path.name), file, self.workspace_id)

    def has_older_schema(self) -> bool:
        """Whether an earlier release made the tables. Raises the store's errors."""
        return self._is_here() and self._is_older

    def bring_up_to_date(self) -> None:
        """Make the tables of an older schema those of the newest. Raises the store's errors."""
        if self.has_older_schema():
            migrations.migrate(self.database, migrations.WORK, self._copies)
            self._is_older = False

    def rewrite(self, work: Callable[[Connection], T]) -> T:
        """Do `work` in a durable transaction also where a move left the records behind. Raises as `write`."""
        if not self.moved_to():
            return self.write(work, durable=True)
        with self._lock, self.database.writing(durable=True) as connection:
            return work(connection)

    def write(self, work: Callable[[Connection], T], *, durable: bool = False) -> T:
        """Do `work` in a transaction, and return what it does once that is committed: it survives a kill then, and if
        `durable` a power cut. Raises what `work` does, Moved, and the store's errors; nothing is changed then."""
        with self._lock:
            if not self._is_ready:
                self._make()
            due = time.monotonic() - self._flushed_at >= self._flush_seconds
            with self.database.writing(durable=durable or due) as connection:
                self._take_turn(connection)
                if not self._is_ready and note(connection, INDEXED_BY) != str(tokens.VERSION):
                    index_anew(connection)
                result = work(connection)
            self._is_made = self._is_ready = True
            self._unflushed = not (durable or due)
            if due and isinstance(self.database, SqliteDatabase):
                self.database.checkpoint()
            if durable or due:
                self._flushed_at = time.monotonic()
            return result

    def _take_turn(self, connection: Connection) -> None:
        """Let no other writer in until the transaction ends. Raises Moved and NewerDatabase."""
        found = connection.execute(_TURN).one()
        if found.version > int(migrations.WORK.newest):  # another process migrated it since we looked
            what = f"the database has schema {found.version}, this nanomem knows {int(migrations.WORK.newest)}"
            raise NewerDatabase(what, self.where, "install a newer nanomem; nothing was changed")
        if found.moved_to:
            raise Moved("the records of work lie elsewhere now", found.moved_to, "set `database_url` to that place")

    def _make(self) -> None:
        if self._first_edition is not None:
            self._first_edition.take_over()
        if not self._is_here():
            make(self.database, self.workspace_id)
        self.bring_up_to_date()

    def moved_to(self) -> str:
        """Where the work lies now, "" for here."""
        if not self._is_here():
            return ""
        with self.database.reading() as connection:
            return str(connection.execute(select(_META.c.moved_to)).scalar_one())

    def sync(self) -> None:
        """Make what was committed survive a power cut. Raises the store's errors."""
        if self._unflushed and self.database.exists():  # nothing survives in a folder that somebody took away
            with contextlib.suppress(Moved, NewerDatabase):  # it was copied with the rest, or synced by the migration
                self.write(lambda _connection: None, durable=True)

    def compact(self) -> None:
        """Write a file anew without what was freed. Raises Refused where another process reads it."""
        if isinstance(self.database, SqliteDatabase):
            with self._lock:
                self.database.compact()

    def has_news(self) -> bool:
        """Whether anybody wrote since the last look, where no file tells it; asks once in `LOOK` seconds."""
        if time.monotonic() - self._looked < LOOK or not self.is_remote:
            return False
        self._looked = time.monotonic()
        before = self._seen
        with contextlib.suppress(NanomemError):  # a server that is away wrote nothing
            self._seen = 0
            if self._is_here():
                with self.database.reading() as connection:
                    self._seen = connection.execute(select(_META.c.revision)).scalar_one()
        return before not in (-1, self._seen)

    @contextlib.contextmanager
    def alone(self, work: str, wait: float) -> Iterator[bool]:
        """Whether work of that name is ours alone now, of all machines that write here; asked for until `wait` seconds
        are over. Processes of one machine keep each other out by files."""
        if not self.is_remote:
            yield True
            return
        until = time.monotonic() + wait
        while True:
            with bookkeeping.lease(self.database, work) as held:
                if held or time.monotonic() >= until:
                    yield held
                    return
            time.sleep(0.1)

    def close(self) -> None:
        """Let everything survive a power cut, and let go of it. Raises the errors of `sync`."""
        try:
            self.sync()
        finally:
            copy, self._copy = self._copy, None
            if copy is not None:
                copy.close()
            self._copied.close()
            if self._first_edition is not None:
                self._first_edition.close()
            self.database.close()


def make(database: Database, workspace_id: str, fill: Callable[[Connection], None] | None = None) -> None:
    """Make the tables and indexes of a workspace where there are none, with what `fill` brings. Raises the store's
    errors."""
    with database.making() as connection:
        if not inspect(connection).has_table(_META.name):
            work_models.METADATA.create_all(connection)
            models.table(models.Lease).create(connection, checkfirst=True)  # on a server it may be the memory's too
            records.make_indexes(connection)
            migrations.stamp(connection, migrations.WORK)
            connection.execute(
                insert(_META).values(one=1, version=int(migrations.WORK.newest), workspace_id=workspace_id)
            )
            set_note(connection, INDEXED_BY, str(tokens.VERSION))
            if fill is not None:
                fill(connection)
                index_anew(connection)


def index_anew(connection: Connection) -> None:
    """Make every index anew from the rows: another version of the tokenizer made them, or rows came past them."""
    postgres.act_as_owner(connection)
    records.drop_indexes(connection)
    records.make_indexes(connection)
    for kind in KINDS.values():
        for part in _parts(connection, kind) if kind.words else ():
            records.add_words(connection, kind, part)
    knowledge.index_anew(connection)
    set_note(connection, INDEXED_BY, str(tokens.VERSION))


def _parts(connection: Connection, kind: Kind) -> Iterator[list[tuple[int, TierRecord]]]:
    table = TABLES[kind.name]
    last = 0
    asked = select(table).order_by(table.c.number).limit(_PART)
    while part := connection.execute(asked.where(table.c.number > last)).all():
        yield [(row.number, record_of(kind, row)) for row in part]
        last = part[-1].number
