"""A store to test, in a file of SQLite or on a server (`make postgres`); and a second process on it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from nanomem_tui.core import atomic
from nanomem_tui.core.errors import Conflict, NotFound, NothingToDo
from nanomem_tui.core.operations import Actor, Change, Layer, Operation, new_operation
from nanomem_tui.store import transactions as product
from nanomem_tui.store.database import operation_log
from nanomem_tui.store.database.engine import Database, SqliteDatabase
from nanomem_tui.store.database.operation_log import Journal, LogEntry
from nanomem_tui.store.database.postgres import PostgresDatabase
from nanomem_tui.store.database.queries import CoreReading
from nanomem_tui.store.processes import Writers
from nanomem_tui.store.recovery import DatabaseRecovery
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.transactions import make_database
from nanomem_tui.store.values import Item

AT = "2026-03-01T10:00:00+00:00"
PROCESS = """
import os, signal, sys
from pathlib import Path
from tests.store.stores import add, delete, edit, open_store
store = open_store(Path(sys.argv[1]))
store.load()
"""


class Store(product.Store):
    """A store that is asked and undone as a workspace does it, without one."""

    @property
    def journal(self) -> Journal:
        return Journal(lambda: CoreReading(self.database.reading))

    def refresh(self) -> bool:
        """Read what other processes committed since the last look; return whether rows changed."""
        if self.snapshot.revision >= 0 and not self.database.changed():
            return False
        return self.snapshot.read(CoreReading(self.database.reading))

    def log(self, limit: int = 50, offset: int = 0, key: str | None = None) -> list[LogEntry]:
        return self.journal.log(limit, offset=offset, key=key)

    def undo(self, op_id: str | None = None, keys: Sequence[str] | None = None) -> Operation:
        """Take back an operation, or what it did to the things of `keys`; without an id, what a person did last."""
        return self.perform(self.undo_of(op_id, keys))

    def undo_of(self, op_id: str | None = None, keys: Sequence[str] | None = None) -> Operation:
        """The operation that takes one back, not made yet."""
        entry = self.journal.find(op_id) if op_id else self.journal.first_answer(operation_log.undo_target)
        if entry is None:
            raise NotFound("no such operation", op_id) if op_id else NothingToDo("nothing to undo", "")
        if operation_log.is_final(entry.operation) or entry.operation.kind in operation_log.BOOKKEEPING or entry.undone:
            raise NothingToDo("that is not undone", entry.operation.id)
        stands = [key for key in self.journal.standing(entry) if keys is None or key in keys]
        changes = entry.operation.only(stands).inverse()
        label = f"undo: {entry.operation.label}"
        meta = {} if len(stands) == len(entry.operation.keys()) else {"keys": stands, "rest": keys is None}
        return new_operation("undo", label, changes, undoes=entry.operation.id, meta=meta)

    def redo(self) -> Operation:
        """Do again what was undone last."""
        undo = self.journal.first_answer(operation_log.redo_target)
        if undo is None:
            raise NothingToDo("nothing to redo", "")
        label = f"redo: {undo.label.removeprefix('undo: ')}"
        meta = {"undo": undo.id}
        return self.perform(new_operation("redo", label, undo.inverse(), redoes=undo.undoes, meta=meta))


def database(folder: Path) -> Database:
    """The database of `folder`: on the server that the environment names, else a file."""
    url = os.environ.get("NANOMEM_DATABASE_URL")
    return PostgresDatabase(url, f"w_{folder.name}", poll_seconds=0) if url else SqliteDatabase(folder / "nanomem.db")


class TextFiles:
    """Text files of somebody else beside the store, as a layer changes them: `{"text": …}` by name."""

    name = "text"

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, layer: str) -> TextFiles:
        if layer != self.name:
            raise NotFound("no such layer", layer)
        return self

    def text(self, key: str) -> str | None:
        file = self.folder / key
        return file.read_text() if file.exists() else None

    def check(self, changes: Sequence[Change]) -> None:
        for change in changes:
            if self.text(change.key) != (change.before or {}).get("text"):
                raise Conflict("the file was changed since", change.key, "read it again")

    def begun(self, changes: Sequence[Change]) -> bool:
        return any(self.text(change.key) == (change.after or {}).get("text") for change in changes)

    def apply(self, operation: Operation, changes: Sequence[Change]) -> None:
        for change in changes:
            if change.key.startswith("broken"):
                raise OSError(5, "Input/output error", change.key)
            if change.after is None:
                (self.folder / change.key).unlink(missing_ok=True)
            else:
                atomic.write_atomic(self.folder / change.key, str(change.after["text"]).encode())
            if os.environ.get("KILL_AFTER") == change.key:
                os.kill(os.getpid(), signal.SIGKILL)


def recovery(folder: Path, found: Database | None = None) -> DatabaseRecovery | None:
    """The copies and the log of the store of `folder`; None on a server."""
    found = found or database(folder)
    return (
        DatabaseRecovery(found, folder / "copies", folder / "quarantine") if isinstance(found, SqliteDatabase) else None
    )


def open_store(folder: Path, layer_of: Callable[[str], Layer] | None = None) -> Store:
    """The store of `folder`, made where there is none; `layer_of`: what changes the files beside it."""
    found = database(folder)
    store = Store(found, Writers(folder / "writers"), recovery(folder, found), layer_of or TextFiles(folder))
    make_database(store.database, "w")
    return store


def add(store: Store, key: str, text: str, *, actor: Actor = "human", durable: bool = True, at: str = AT) -> Operation:
    item = Item(key, text, created_at=at, updated_at=at)
    operation = new_operation("add", f"add {key}", [change_of("item", None, item)], actor=actor)
    return store.perform(operation, durable=durable)


def edit(
    store: Store, key: str, *, at: str = "2026-03-02T10:00:00+00:00", actor: Actor = "human", **fields: object
) -> Operation:
    before = store.load().items[key]
    change = change_of("item", before, before._replace(updated_at=at, **fields))  # type: ignore[arg-type]
    return store.perform(new_operation("edit", f"edit {key}", [change], actor=actor))


def delete(store: Store, *keys: str, at: str = "2026-03-03T10:00:00+00:00") -> Operation:
    items = [store.load().items[key] for key in keys]
    changes = [change_of("item", item, item._replace(is_deleted=True, updated_at=at)) for item in items]
    return store.perform(new_operation("delete", f"delete {', '.join(keys)}", changes))


def texts(store: Store) -> dict[str, str]:
    """What a reader of the store sees: id and text of the memories that are not deleted."""
    store.refresh()
    return {key: item.text for key, item in sorted(store.snapshot.items.items()) if not item.is_deleted}


def other_process(folder: Path, code: str, *, check: bool = True) -> str:
    """Run code in a process that has opened the store as `store`; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", PROCESS + code, str(folder)], capture_output=True, text=True, check=False, timeout=120
    )
    assert not check or done.returncode == 0, done.stderr
    return done.stdout
