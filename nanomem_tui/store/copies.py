"""Earlier copies of the database and the operations since the oldest: what a damaged database is made anew from.

Owns `backups/copy-<n>.db`, checked before an older one is let go, and `ledger/<workspace>/kept/<n>.kept`: what was
committed since copy n, each line with its checksum; `ledger/<workspace>/count` tells how many there are. Must not know
rows, nor decide when the database is damaged.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from nanomem_tui import regular
from nanomem_tui.errors import CorruptDatabase, NanomemError, from_os_error
from nanomem_tui.operations import Operation
from nanomem_tui.store import (
    atomic,
    chain,
    driver_errors,
    kept_operations,
    ledger,
    ledger_order,
    owners,
    reader,
    row_queries,
    schema,
    unmarked,
)
from nanomem_tui.store.sql import Connection
from nanomem_tui.store.values import row_hash

GENERATIONS = 3
LARGE = 64_000_000
"""Bytes beyond which one copy fewer is kept."""
MOST_KEPT = 8_000_000
"""Bytes of kept operations, unless the database is larger, beyond which a new copy is made before its day."""
TAIL = 256_000
"""Bytes at the end of a kept file in which its last operation is looked for."""
FOLDER, SUFFIX = "kept", ".kept"
COUNT = "count"


class Copies:
    """The copies of one database, for one of its workspaces. Writers hold the lock of the database meanwhile."""

    def __init__(self, backups: Path, ledgers: Path, workspace_id: str) -> None:
        self._backups = backups
        self._ledgers = ledgers
        self.workspace_id = workspace_id
        self._folder = ledgers / workspace_id / FOLDER
        self._last: dict[Path, tuple[int, str | None]] = {}

    # -- reading --------------------------------------------------------------------------------------------------

    def found(self) -> list[Path]:
        """The copies, newest first."""
        try:
            names = [name for name in os.listdir(self._backups) if name.startswith("copy-") and name.endswith(".db")]
        except OSError:
            return []
        return [self._backups / name for name in sorted(names, reverse=True)]

    def good(self) -> Path | None:
        """The newest copy that is whole."""
        return next((path for path in self.found() if is_whole(path)), None)

    def kept(self) -> list[ledger.LedgerFile]:
        """The operations that were committed since the oldest copy, whatever became of the database."""
        return [ledger.read_file(path) for path in self.kept_files()]

    def noted(self) -> int | None:
        """How many operations the database had when it was last written, as was noted beside it; None: nobody knows."""
        try:
            text = regular.read(self._folder.with_name(COUNT)).decode("ascii")
        except (OSError, UnicodeDecodeError):
            return None
        return int(text) if text.strip().isdigit() else None

    def since(self, base: Path | None) -> kept_operations.Back:
        """What is kept since a copy, or of all without one, and how much of it is gone. Raises the store's errors."""
        return kept_operations.back(self, base, self.workspace_id)

    def operations(self) -> list[Operation]:
        """Those operations in the order in which they were made, whoever committed first."""
        return ledger_order.as_made(one for file in self.kept() for one in file.operations)

    def lost(self, known: Callable[[list[str]], set[str]], waiting: Collection[str] = ()) -> list[Operation]:
        """The kept operations that the database does not have although it had them: its newest commits are gone.

        Looks at the last one alone, as long as that one is known. `waiting`: ids that lie in ledger files, and are not
        asked for; neither they nor what is known are read whole.
        """
        files = self.kept_files()
        last = next((self._last_id(path) for path in reversed(files)), None)
        if last is not None and known([last]):
            return []
        lost: dict[str, Operation] = {}
        for path in files:
            lines = [line for line in _lines(path) if line]
            ids = [ledger.id_of(line) for line in lines]
            present = known([key for key in ids if key is not None]).union(waiting)
            if None in ids:  # a torn tail, or junk that may hold operations
                found = [one for one in ledger.read_file(path).operations if one.id not in present]
                present |= known([one.id for one in found])
            else:
                pairs = zip(ids, lines, strict=True)
                found = [one for key, line in pairs if key not in present and (one := ledger.decode(line)) is not None]
            lost |= {one.id: one for one in found if one.id not in present}
        return ledger_order.as_made(lost.values())

    def _last_id(self, path: Path) -> str | None:
        """The id of the last operation of a kept file; None when it cannot be told. Read once for what is in it."""
        try:
            size = path.stat().st_size
            if self._last.get(path, (-1, None))[0] != size:
                self._last[path] = size, ledger.id_of(_last_line(path, size))
        except OSError:
            return None
        return self._last[path][1]

    def kept_files(self) -> list[Path]:
        """Where they are, oldest first."""
        return sorted(self._folder.glob(f"*{SUFFIX}"))

    # -- writing --------------------------------------------------------------------------------------------------

    def keep(self, lines: Sequence[bytes]) -> None:
        """Keep what is about to be committed, as lines of the ledger; survives a power cut. Raises the errors of
        `from_os_error`."""
        if not lines:
            return
        try:
            atomic.make_folder(self._folder)
        except OSError as error:
            raise from_os_error(error, "keeping the operations") from error
        newest = next(iter(self.found()), None)
        path = self._folder / f"{_number(newest) if newest is not None else '0' * 12}{SUFFIX}"
        with contextlib.suppress(OSError, NanomemError):  # the doctor tells of it then
            self._set_torn_end_aside(path)
        atomic.append_line(path, b"".join(lines), durable=True)

    def _set_torn_end_aside(self, path: Path) -> None:
        """What a killed process left of a line goes to the quarantine: nothing of it was committed, and its operations
        come now. Left in the midst of the file, it would look like damage."""
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            size = os.fstat(handle).st_size
            if size and os.pread(handle, 1, size - 1) != b"\n":
                torn = _last_line(path, size)
                atomic.quarantine(self._backups.with_name("quarantine"), path.name, torn)
                os.ftruncate(handle, size - len(torn))
        finally:
            os.close(handle)

    def note(self, operations: int | None) -> None:
        """Note how many operations the database has now: what was kept may be lost, and then this tells how many."""
        if operations is None:
            return
        path = self._folder.with_name(COUNT)
        with contextlib.suppress(OSError):  # it is there for the worst day alone
            handle = owners.opened(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                os.pwrite(handle, b"%020d\n" % operations, 0)
            finally:
                os.close(handle)

    def is_due(self, database: Path) -> bool:
        """Whether it is time for a copy: the first write of a day, or much written since the last one."""
        newest = next(iter(self.found()), None)
        if newest is None:
            return True
        try:
            made, size = newest.stat(), database.stat().st_size
            kept = self._folder / f"{_number(newest)}{SUFFIX}"
            much = kept.exists() and kept.stat().st_size > max(MOST_KEPT, size)
        except OSError:
            return True
        return much or time.gmtime(made.st_mtime)[:3] != time.gmtime()[:3]

    def make(self, database: Path) -> None:
        """Copy the database, and let the oldest copy go once the new one is found to be whole. Where the operations of
        that are not what was written, the newest copy of which they are stays, with all that was kept since.

        Raises CorruptDatabase when it is not: then every older copy stays. Raises OSError and the driver's errors.
        """
        from nanomem_tui.store.database import copy_into

        older = self.found()
        number = _sequence(database)
        target = self._backups / f"copy-{max(number, *(int(_number(path)) + 1 for path in older), 1):012d}.db"
        copy_into(database, target)
        if not is_whole(target):
            target.unlink()
            raise CorruptDatabase("the database is not what was written", str(database), "run `nanomem doctor`")
        generations = GENERATIONS - (target.stat().st_size > LARGE)
        stays = next((path for path in [target, *older] if _is_chained(path)), None)
        for path in older[generations - 1 :]:
            if path != stays:
                path.unlink(missing_ok=True)
        oldest = _number(self.found()[-1])
        for path in self._ledgers.glob(f"*/{FOLDER}/*{SUFFIX}"):
            if path.name.partition(".")[0] < oldest:
                path.unlink(missing_ok=True)


def is_whole(path: Path, *, indexes: bool = False) -> bool:
    """Whether a database, which nobody writes, is readable in every page and holds the rows that were written, in the
    tables that were made for them. `indexes`: each row is looked up in these too; those of a copy are its own."""
    if driver_errors.is_closed_to_writers(path):
        return False
    try:
        with reader.open_database(path) as connection:
            check = "integrity_check" if indexes else "quick_check"
            if connection.execute(f"PRAGMA {check}(1)").fetchone()[0] != "ok" or schema.is_damaged(connection):
                return False
            known = workspaces(connection)
            if any(unmarked.is_unmarked(connection, workspace_id) for workspace_id in known):
                return False
            return not any(True for workspace_id in known for _ in altered(connection, workspace_id))
    except (NanomemError, OSError, ValueError, TypeError):
        return False


def _is_chained(path: Path) -> bool:
    """Whether the operations of every workspace in a copy are what was written."""
    try:
        with reader.open_database(path) as connection:
            return all(chain.is_whole(connection, workspace_id) for workspace_id in workspaces(connection))
    except NanomemError:
        return False


def workspaces(connection: Connection) -> list[str]:
    """The ids of the workspaces that a database has rows of."""
    query = "SELECT DISTINCT workspace_id FROM {}"
    tables = row_queries.row_tables(connection)
    found = {row[0] for table in tables for row in connection.execute(query.format(table))}
    return sorted(key for key in found if isinstance(key, str))  # a row under something else is damage


def altered(connection: Connection, workspace_id: str) -> Iterable[tuple[str, str]]:
    """(layer, id) of the rows that are not what was written: a bit flipped on the disk."""
    for layer, (*values, written) in reader.hashed_rows(connection, workspace_id):
        if row_hash(values) != written:
            yield layer, values[0]


def _number(copy: Path) -> str:
    return copy.name.removeprefix("copy-").removesuffix(".db")


def _sequence(database: Path) -> int:
    with reader.open_database(database) as connection:
        return int(connection.execute("SELECT coalesce(max(seq), 0) FROM operations").fetchone()[0])


def _lines(path: Path) -> list[bytes]:
    try:
        return regular.read(path, regular.MOST_OF_A_LOG).split(b"\n")
    except OSError:
        return []


def _last_line(path: Path, size: int) -> bytes:
    """The last line of a file that is not empty, looked for from its end. Raises OSError."""
    with regular.opened(path) as file:
        length = TAIL
        while True:
            file.seek(max(0, size - length))
            lines = [line for line in file.read(length).split(b"\n") if line]
            if len(lines) > 1 or length >= size:
                return lines[-1] if lines else b""
            length *= 16
