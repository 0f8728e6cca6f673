"""The database as a reader meets it: itself or, when it is damaged, the newest whole copy, or what can be read of it.

Owns the verdict that a database is damaged, and its repair. Reading writes nothing into the workspace; `put_back` is
for who holds the writers' lock. Must not know rows or operations.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from nanomem_tui import clock
from nanomem_tui.errors import CorruptDatabase, NanomemError, Problem
from nanomem_tui.store import atomic, copies, counters, owners, reader, unmarked
from nanomem_tui.text import counted

if TYPE_CHECKING:
    import tempfile

    from nanomem_tui.paths import Paths

T = TypeVar("T")
Stamp = tuple[int, int, int] | None
SMALL = 1_000_000
"""Bytes up to which every page is looked at before the first answer: some milliseconds."""
WAIT = 2.0
"""Seconds that a reader waits for a writer to end, before it calls a database damaged."""


class Source:
    """Where the rows of one workspace are read from. `damage`: why that is not the database; None when it is."""

    def __init__(self, paths: Paths, kept: copies.Copies) -> None:
        self.path = self._database = paths.database
        self.damage: Problem | None = None
        self.repaired: list[Problem] = []
        self._paths = paths
        self._copies = kept
        self._made = self._examined = False
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._hopeless: tuple[Stamp, Stamp] | None = None
        self._condemned: int | None = None
        self._stack = contextlib.ExitStack()
        self._open: sqlite3.Connection | None = None
        self._open_at: tuple[Stamp, Stamp] | None = None
        self._keeps = False

    @property
    def exists(self) -> bool:
        """Whether something was ever written here. A database that is gone while a copy lies there is damaged."""
        if self.damage is not None:
            return True
        if not self._made:
            self._made = reader.is_made(self._database)
        if self._made and self._database.exists():
            return True
        return bool(self._copies.found()) and self.fall_back(CorruptDatabase("the database is gone", ""))

    def read(self, ask: Callable[[sqlite3.Connection], T]) -> T:
        """The answer to `ask`; from a copy where the database is damaged. Raises the store's errors."""
        try:
            return self._ask(ask)
        except CorruptDatabase:
            if self.damage is not None:
                raise
        with self.held(WAIT) as held:  # somebody may have been writing it just then
            try:
                return self._ask(ask)
            except CorruptDatabase as error:
                if not held or not self.fall_back(error):
                    raise
        return self._ask(ask)

    @contextlib.contextmanager
    def opened(self) -> Iterator[sqlite3.Connection]:
        """A connection, for who asks more than once. Raises the store's errors; nothing stands in for what is damaged
        here."""
        with reader.open_database(self.path) as connection:
            yield connection

    @contextlib.contextmanager
    def kept_open(self) -> Iterator[None]:
        """Answers within come over one connection as long as nobody writes, for one thread that asks often and writes
        nothing itself."""
        self._keeps = True
        try:
            yield
        finally:
            self._keeps = False
            self._let_go()

    def _let_go(self) -> None:
        self._open = None
        self._stack.close()

    def _ask(self, ask: Callable[[sqlite3.Connection], T]) -> T:
        if not self._keeps:
            with self._begun() as connection:
                return ask(connection)
        if self._open is None or self._open_at != self.stamps():
            self._let_go()
            self._open_at = self.stamps()
            self._open = self._stack.enter_context(self._begun())
        try:
            return ask(self._open)
        except BaseException:
            self._open = None
            with self._stack.pop_all():  # the driver's errors are said in our words on the way out, as without it
                raise

    @contextlib.contextmanager
    def _begun(self) -> Iterator[sqlite3.Connection]:
        """A connection on which all that is asked is of one moment, whoever writes meanwhile."""
        with reader.open_database(self.path) as connection:
            connection.execute("BEGIN")
            if not self._examined and os.path.getsize(self.path) <= SMALL:
                verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
                if verdict != "ok":
                    raise sqlite3.DatabaseError(verdict)
            self._examined = True
            if self.damage is None and unmarked.is_unmarked(connection, self._copies.workspace_id):
                raise CorruptDatabase(unmarked.WHAT, str(self.path), "run `nanomem doctor`")
            yield connection

    def held(self, wait: float) -> contextlib.AbstractContextManager[bool]:
        """Keep other processes from writing meanwhile; makes no file, and does without where there is no lock."""
        return held(self._database.with_name("store.lock"), wait)

    def deciding(self) -> contextlib.AbstractContextManager[None]:
        """Keep processes of other machines from deciding meanwhile: none writes to this file."""
        return contextlib.nullcontext()

    def decided(self) -> None:
        """Something was decided, and is yet to be written: other processes see it in our ledger."""

    def written(self) -> None:
        """What was decided is in the database."""

    def stamps(self) -> tuple[Stamp, Stamp]:
        """What tells that the database was written: of it and of its WAL."""
        return stamp(self._database), stamp(self._database.with_name("nanomem.db-wal"))

    def fall_back(self, error: CorruptDatabase, *, certain: bool = False) -> bool:
        """Read from the newest whole copy from now on, or from what can be read; False when there is nothing.
        `certain`: it was found to be whole before, and yet nobody can write to it."""
        found = stamp(self._database) if certain else None
        self._condemned = found[2] if found is not None else None
        good = self._copies.good()
        if good is not None:
            self.path = good
            made = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(good.stat().st_mtime))
            shown = f"shown is the copy of {made} {self._copies.since(good).line()}"
        else:
            shown = self._salvaged() if self._hopeless != self.stamps() else ""
            if not shown:
                self._hopeless = self.stamps()
                return False
        fix = "the next change, or `nanomem doctor --fix`, puts it in place; the damaged file is kept in quarantine"
        self.damage = Problem(f"{error.what}; {shown}", self._paths.relative(self._database), fix=fix)
        return True

    def _salvaged(self) -> str:
        """Make a database of what can still be read, outside the workspace; what it holds, or nothing."""
        import tempfile  # 6 ms, and only for a damaged database

        from nanomem_tui.store import salvage

        self._scratch = self._scratch or tempfile.TemporaryDirectory(prefix="nanomem-")
        target = Path(self._scratch.name, "nanomem.db")
        try:
            rows = salvage.rescue(self._database, target)
        except (OSError, sqlite3.Error, NanomemError):
            return ""
        complete = any(file.path.name.startswith("0" * 12) for file in self._copies.kept())
        if not rows.found and not complete:
            return ""
        self.path = target
        whole = f"; {rows.lost} rows are lost"
        if complete:
            gone = self._copies.since(target).gone
            verb = "is" if gone == 1 else "are"
            whole = f"; {counted(gone, 'operation')} {verb} gone" if gone else "; what was done since is kept"
        return f"there is no copy of it; shown are the {rows.found} rows that can be read{whole}"

    def put_back(self) -> None:
        """Put what stands in for the damaged database in its place; the damaged files go to the quarantine.

        The caller holds the writers' lock and has no connection open. Where another process did it first, nothing is
        done. Raises OSError and the driver's errors; there is a copy to begin anew from then.
        """
        if self.damage is None:
            return
        found = stamp(self._database)
        condemned = found is not None and found[2] == self._condemned
        if condemned or not copies.is_whole(self._database, indexes=True):
            fresh = self._database.with_name(f".nanomem.db.{os.urandom(4).hex()}.nanomem-tmp")
            try:
                import shutil

                shutil.copyfile(self.path, fresh)
                os.chmod(fresh, atomic.PRIVATE_FILE)
                owners.inherit(fresh, fresh.parent)
                _move_on(fresh)
                atomic.sync_file(fresh)
                self._set_aside()
                os.replace(fresh, self._database)
                atomic.sync_folder(self._database.parent)
            finally:
                fresh.unlink(missing_ok=True)
            what = f"was made anew: {self.damage.what}"
            fix = f"what it was is kept in {self._paths.relative(self._paths.quarantine)}"
            self.repaired.append(Problem(what, self.damage.where, None, fix, "warning"))
        self.path, self.damage, self._made = self._database, None, True
        self.close()

    def _set_aside(self) -> None:
        """Move the damaged files away, the database first: without it, what is left is no database to anybody."""
        atomic.make_folder(self._paths.quarantine)
        prefix = f"{clock.now():%Y%m%d-%H%M%S}{os.urandom(2).hex()}"
        for end in ("", "-wal", "-shm"):
            path = self._database.with_name(self._database.name + end)
            if path.exists():
                with contextlib.suppress(OSError):  # of another owner, it goes as it is
                    os.chmod(path, atomic.PRIVATE_FILE)
                os.replace(path, self._paths.quarantine / f"{prefix}-{path.name}")
        atomic.sync_folder(self._paths.quarantine)
        atomic.sync_folder(self._database.parent)

    def close(self) -> None:
        """Remove what was made to read from."""
        if self._scratch is not None:
            self._scratch.cleanup()
            self._scratch = None


def stamp(path: Path) -> Stamp:
    """What tells that a file was written: its time, size and inode."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _move_on(database: Path) -> None:
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute(
            "UPDATE memory_meta SET value = CAST(value AS INTEGER) + ? WHERE key LIKE '%:revision'", (counters.AHEAD,)
        )
        connection.commit()


@contextlib.contextmanager
def held(lock: Path, wait: float) -> Iterator[bool]:
    """Whether the lock of those who write was got in time, held until the end; true where there is no such file."""
    try:
        handle = os.open(lock, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        yield True
        return
    try:
        deadline = time.monotonic() + wait
        got = atomic.try_lock(handle)
        while not got and time.monotonic() < deadline:
            time.sleep(0.01)
            got = atomic.try_lock(handle)
        with atomic.holding(lock) if got else contextlib.nullcontext():
            yield got
    finally:
        os.close(handle)
