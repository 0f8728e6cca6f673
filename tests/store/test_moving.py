"""A memory moves whole from one database to another; whatever ends the process, one of them holds it."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from nanomem_tui.core.errors import Moved, Refused, StoreError
from nanomem_tui.store.database.engine import SqliteDatabase
from nanomem_tui.store.database.postgres import PostgresDatabase
from nanomem_tui.store.moving import migrate_store
from nanomem_tui.store.processes import Writers
from nanomem_tui.store.recovery import DatabaseRecovery
from nanomem_tui.store.transactions import make_database
from tests.postgres_server import PostgresServer
from tests.store.stores import Store, add, delete, edit, texts

WAYS = [
    "file to file",
    *(pytest.param(way, marks=pytest.mark.vectors) for way in ("file to server", "server to file", "server to server")),
]
KILLED = """
import os, signal, sys
from pathlib import Path
from sqlalchemy import event
from sqlalchemy.engine import Engine
from nanomem_tui.store.moving import migrate_store
from tests.store.test_moving import place
count, at = 0, int(sys.argv[3])
def step(*_):
    global count
    count += 1
    if count == at:
        os.kill(os.getpid(), signal.SIGKILL)
event.listen(Engine, "before_cursor_execute", step)
event.listen(Engine, "commit", step)
migrate_store.move_memory(place(sys.argv[1]), place(sys.argv[2]))
print(count)
"""


def place(name):
    """A file by its path, or a schema after the address of its server."""
    url, _, schema = name.rpartition(" ")
    return PostgresDatabase(url, schema) if url else SqliteDatabase(Path(name))


def move(source, target, *, replace=False):
    """Move, as a command does that ends then."""
    with contextlib.closing(place(source)) as old, contextlib.closing(place(target)) as new:
        return migrate_store.move_memory(old, new, replace=replace)


@pytest.fixture
def names(request, folder):
    """The names of the two ends of the way that the test is asked about."""
    made, schemas = [], []
    for number, kind in enumerate(request.param.split(" to ")):
        if kind == "file":
            made.append(str(folder / f"place{number}" / "nanomem.db"))
        else:
            postgres: PostgresServer = request.getfixturevalue("postgres")
            schemas.append(f"m{number}_{folder.name}")
            made.append(f"{postgres.url('postgres')} {schemas[-1]}")
    yield made[0], made[1]
    for schema in schemas:
        postgres.run("postgres", f'DROP SCHEMA IF EXISTS "{schema}" CASCADE')


def open_at(name, folder):
    database = place(name)
    recovery = None
    if isinstance(database, SqliteDatabase):
        recovery = DatabaseRecovery(database, database.file.parent / "copies", database.file.parent / "quarantine")
    store = Store(database, Writers(folder / "writers"), recovery)
    make_database(store.database, "w")
    return store


def fill(name, folder):
    """Make a memory there with a bit of everything; return what it shows."""
    store = open_at(name, folder)
    for number in range(6):
        add(store, f"k{number}", f"Ana lives at number {number} \0 \U0010fffe ä")
    edit(store, "k1", text="Ana lives in Porto", pinned=True, importance=1 / 3)
    delete(store, "k2")
    edit(store, "k3", text="wrong")
    store.undo()
    store.snapshot.count("item", "k1", 3, "2026-03-05T00:00:00+00:00")
    found = texts(store)
    store.close()
    return found


@pytest.mark.parametrize("names", WAYS, indirect=True)
def test_a_memory_is_the_same_after_a_move_and_a_late_writer_is_told_where_it_is(names, folder):
    source, target = names
    shown = fill(source, folder)
    before = open_at(source, folder)
    items, log = dict(before.load().items), before.log(100)
    before.database.close()
    done = move(source, target)
    assert done["memory_entries"] == 6
    with pytest.raises(Moved, match="lies elsewhere"):
        add(before, "late", "too late")
    with pytest.raises(Moved):
        before.refresh() or before.load()
    after = open_at(target, folder)
    assert texts(after) == shown
    assert (after.load().items, after.log(100)) == (items, log)
    after.undo()  # of the delete
    assert "k2" in texts(after)
    add(after, "new", "Ana lives in Braga")
    with after.database.reading() as connection:
        if connection.dialect.name == "sqlite":
            asked = "SELECT entry_id FROM memory_entries_fts WHERE content MATCH 'porto OR braga'"
            assert sorted(connection.exec_driver_sql(asked).scalars()) == ["k1", "new"]
    before.database.close()
    after.close()
    with pytest.raises(Moved):
        move(source, target)


@pytest.mark.parametrize("names", WAYS, indirect=True)
def test_a_memory_moves_there_and_back(names, folder):
    source, target = names
    fill(source, folder)
    move(source, target)
    there = open_at(target, folder)
    add(there, "new", "made there")
    shown = texts(there)
    there.close()
    move(target, source)
    back = open_at(source, folder)
    assert texts(back) == shown
    edit(back, "new", text="made here")
    assert [entry.operation.label for entry in back.log(2)] == ["edit new", "add new"]
    back.close()


@pytest.mark.slow
@pytest.mark.parametrize("names", WAYS, indirect=True)
def test_nothing_moves_while_others_have_it_open_or_over_a_memory_in_use(names, folder, monkeypatch):
    for module in ("engine", "postgres"):
        monkeypatch.setattr(f"nanomem_tui.store.database.{module}.BUSY_SECONDS", 0.3)
    source, target = names
    shown = fill(source, folder)
    code = "import sys, time; from tests.store.test_moving import *; store = open_at(sys.argv[1], Path(sys.argv[2]))"
    code += "; store.load(); store.refresh(); print('open', flush=True); sys.stdin.readline()"
    for name in names:
        command = [sys.executable, "-c", code, name, str(folder)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == b"open\n"
            with pytest.raises(Refused, match="has the memory open"):
                move(source, target)
            other.communicate(b"\n")
    used = open_at(target, folder)
    add(used, "theirs", "of another memory")
    used.close()
    with pytest.raises(Refused, match="in use there"):
        move(source, target)
    store = open_at(source, folder)
    assert texts(store) == shown
    store.close()
    move(source, target, replace=True)
    after = open_at(target, folder)
    assert texts(after) == shown
    add(after, "more", "the log of another history is not replayed")
    assert texts(after) == {**shown, "more": "the log of another history is not replayed"}
    after.close()


@pytest.mark.parametrize("names", WAYS, indirect=True)
def test_a_row_that_does_not_arrive_as_it_was_ends_the_move(names, folder, monkeypatch):
    source, target = names
    shown = fill(source, folder)

    def lose(connection, cursor, statement, parameters, context, many):
        if statement.startswith("INSERT INTO memory_entries ") and isinstance(parameters, list):
            parameters = parameters[:-1]
        return statement, parameters

    event.listen(Engine, "before_cursor_execute", lose, retval=True)
    try:
        with pytest.raises(StoreError, match="5 of 6 rows of memory_entries arrived"):
            move(source, target)
    finally:
        event.remove(Engine, "before_cursor_execute", lose)
    store = open_at(source, folder)
    assert texts(store) == shown
    add(store, "on", "it goes on where it was")
    store.close()


@pytest.mark.crash
@pytest.mark.parametrize("names", WAYS, indirect=True)
def test_a_move_that_is_killed_at_any_step_leaves_one_that_holds_and_goes_on(names, folder):
    source, target = names
    shown = fill(source, folder)
    for _ in range(2):  # there and back again, so that the tables are there
        total = int(run_until(0, source, target).stdout)
        move(target, source)
    ended = 0
    for at in [*range(1, total, total // 5), *range(total - 2, total + 9)]:
        done = run_until(at, source, target)
        ended += done.returncode == -signal.SIGKILL
        held = []
        for name in names:
            store = open_at(name, folder)
            with contextlib.suppress(Moved):
                if texts(store) == shown:
                    held.append(name)
            store.database.close()
        assert held[:1] == [source] or held == [target]
        if done.returncode == 0:
            break
    assert ended >= 8
    assert held == [target]
    with pytest.raises(Moved):
        move(source, target)


def run_until(step, source, target):
    """Move in a process that is killed at a step; at none of them for 0. It prints how many there were."""
    command = [sys.executable, "-W", "ignore", "-c", KILLED, source, target, str(step)]
    return subprocess.run(command, capture_output=True, check=False, timeout=60)
