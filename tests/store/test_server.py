"""A memory on a server: its errors are one clear line each, and a commit whose answer was lost is looked up."""

import contextlib
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nanomem_tui.core.errors import AccessDenied, InvalidConfig, NanomemError, NewerDatabase, ServerAway, StoreError
from nanomem_tui.store import transactions as stores
from nanomem_tui.store.database.postgres import PostgresDatabase, server_problems
from nanomem_tui.store.processes import Writers
from tests import postgres_pooler
from tests.postgres_server import PostgresServer
from tests.store.servers import connect, control, line_to, old_server, standby_of
from tests.store.stores import PROCESS, Store, add, edit, open_store, texts

pytestmark = pytest.mark.vectors
OPPOSITE = """
order = ["a", "b", "c", "d"] if int(sys.argv[2]) % 2 else ["d", "c", "b", "a"]
from nanomem_tui.store.processes import Writers
from nanomem_tui.core.errors import Conflict
from nanomem_tui.core.operations import new_operation
from nanomem_tui.store.snapshot import change_of
done = 0
while done < 15:
    store.refresh()
    items = [store.snapshot.items[key] for key in order]
    changes = [change_of("item", item, item._replace(text=str(int(item.text) + 1))) for item in items]
    try:
        store.perform(new_operation("edit", "count", changes))
        done += 1
    except Conflict:
        pass
print(done)
"""
SAY_WHAT_HAPPENED = """
from nanomem_tui.store.processes import Writers
from nanomem_tui.core.errors import NanomemError
for number in range(1_000_000):
    try:
        add(store, f"k{number}", f"text {number}")
        print("done", f"k{number}", flush=True)
    except NanomemError as error:
        unclear = "not known" in error.what
        print("unclear" if unclear else "failed", f"k{number}", flush=True)
"""

Opener = Callable[[str], PostgresDatabase]


@pytest.fixture
def on_server(postgres, folder, monkeypatch):
    """The server, on which stores of `folder` are opened from now on."""
    monkeypatch.setenv("NANOMEM_DATABASE_URL", postgres.url("postgres"))
    yield postgres
    postgres.run("postgres", f'DROP SCHEMA IF EXISTS "w_{folder.name}" CASCADE')


@pytest.fixture
def opened():
    """Opens the database of an address; it is closed at the end."""
    with contextlib.ExitStack() as all_of_them:

        def open_one(url, schema="w_other"):
            database = PostgresDatabase(url, schema)
            all_of_them.callback(database.close)
            return database

        yield open_one


def error_of(database):
    with pytest.raises(NanomemError) as found, database.reading() as connection:
        connection.exec_driver_sql("SELECT revision FROM meta")
    assert "\n" not in found.value.line()
    return found.value


@pytest.mark.parametrize("url", ["mysql://h/d", "host=h password=hunter2", "postgresql://u:hunter2@h:port/d"])
def test_an_address_that_is_none_is_refused_without_repeating_it(url):
    with pytest.raises(InvalidConfig) as found:
        PostgresDatabase(url, "w")
    assert "hunter2" not in str(found.value)


def test_no_error_shows_the_password(opened):
    for url in ("postgresql://ana:hunter2@127.0.0.1:1/memory", "postgresql://ana:hunter2@hunter2.invalid/memory"):
        error = error_of(opened(url))
        assert isinstance(error, ServerAway)
        assert "does not answer" in error.what
        assert "hunter2" not in error.line().replace(error.where, "")


def test_each_refusal_of_a_server_is_one_line_that_says_what_to_do(on_server, opened):
    away = opened(f"postgresql://ana@/memory?host={tempfile.gettempdir()}/nowhere")
    assert isinstance(error_of(away), ServerAway)
    error = error_of(opened(on_server.url("no_such_database")))
    assert type(error) is StoreError
    assert "no such database" in error.what
    assert "createdb -E UTF8 no_such_database" in error.fix
    error = error_of(opened(on_server.url("postgres", "nobody_of_that_name")))
    assert type(error) is StoreError
    assert "connection is refused" in error.what
    error = error_of(opened(on_server.url("postgres")))
    assert type(error) is StoreError
    assert "not on the server" in error.what
    error = error_of(opened(f"{on_server.url('postgres')}&no_such_option=1"))
    assert type(error) is StoreError
    assert "connection is refused" in error.what
    with old_server("12.4") as url:
        error = error_of(opened(url))
    assert type(error) is StoreError
    assert "PostgreSQL 12" in error.what
    assert "13" in error.what


def test_a_wrong_password_is_told_as_such(on_server, opened):
    rules = on_server.folder / "pg_hba.conf"
    before = rules.read_text()
    on_server.run("postgres", "CREATE ROLE careful LOGIN PASSWORD 'right'")
    try:
        rules.write_text(f"local all careful scram-sha-256\n{before}")
        on_server.run("postgres", "SELECT pg_reload_conf()")
        time.sleep(0.3)
        error = error_of(opened(on_server.url("postgres", "careful:hunter2")))
        assert "connection is refused" in error.what
        assert "hunter2" not in error.line()
        assert "this memory is not" in error_of(opened(on_server.url("postgres", "careful:right"))).what
    finally:
        rules.write_text(before)
        on_server.run("postgres", "SELECT pg_reload_conf()", "DROP ROLE careful")


def test_a_server_that_takes_no_changes_says_so_and_is_read(on_server, folder, opened):
    store = open_store(folder)
    add(store, "a", "first")
    url = f"{on_server.url('postgres')}&options=-cdefault_transaction_read_only%3Don"
    database = opened(url, f"w_{folder.name}")
    with database.reading() as connection:
        assert connection.exec_driver_sql("SELECT content FROM memory_entries").scalars().all() == ["first"]
    with pytest.raises(AccessDenied, match="takes no changes"), database.writing(durable=True) as connection:
        connection.exec_driver_sql("UPDATE meta SET revision = revision + 1")
    assert any("may change nothing" in problem.what for problem in server_problems(database))
    store.close()


def test_a_standby_is_read_and_takes_no_changes(on_server, folder, opened):
    store = open_store(folder)
    add(store, "a", "first")
    with standby_of(on_server) as url:
        database = opened(url, f"w_{folder.name}")
        there = Store(database, Writers(folder / "writers"))
        assert texts(there) == {"a": "first"}
        with pytest.raises(AccessDenied, match="takes no changes"):
            add(there, "b", "second")
        assert any("is a standby" in problem.what for problem in server_problems(database))
        add(store, "b", "second")
        until = time.monotonic() + 20
        while texts(there) != {"a": "first", "b": "second"}:
            assert time.monotonic() < until
    store.close()


def test_tables_of_another_version_are_named_as_such(on_server, folder, opened):
    store = open_store(folder)
    on_server.run("postgres", f'ALTER TABLE "w_{folder.name}".memory_entries RENAME content TO body')
    with pytest.raises(NewerDatabase, match="another version"):
        store.load()
    found = server_problems(store.database)
    assert any("memory_entries lacks content" in problem.what for problem in found)
    store.database.close()


def test_a_doctor_says_what_is_missing_before_the_first_change(on_server, opened):
    on_server.run("postgres", "CREATE ROLE may_nothing LOGIN", "CREATE DATABASE latin ENCODING 'LATIN1'"
                  " LOCALE 'C' TEMPLATE template0")  # fmt: skip
    try:
        role = opened(on_server.url("postgres", "may_nothing"))
        (problem,) = server_problems(role)
        assert problem.fix == 'let its owner run: GRANT CREATE ON DATABASE "postgres" TO "may_nothing"'
        with pytest.raises(AccessDenied, match="a right is missing"):
            stores.make_database(role, "w")
        (of_letters,) = server_problems(opened(on_server.url("latin")))
        assert "LATIN1" in of_letters.what
        (of_vectors,) = server_problems(opened(on_server.url("postgres")), vectors=True)[
            1:
        ]  # the first: of a superuser
        assert "CREATE EXTENSION vector" in of_vectors.fix
    finally:
        on_server.run("postgres", "DROP DATABASE latin WITH (FORCE)", "DROP ROLE may_nothing")


# -- commits whose answer is lost -------------------------------------------------------------------------------------


@pytest.fixture
def cut_line(on_server, folder, monkeypatch):
    """A store at the end of a line that can be cut."""
    with line_to(on_server) as (line, url):
        monkeypatch.setenv("NANOMEM_DATABASE_URL", url)
        store = open_store(folder)
        add(store, "a", "first")
        yield store, line
        store.database.close()


@pytest.mark.parametrize("away", [0.0, 1.0])
def test_a_commit_that_went_through_is_done_though_the_answer_was_lost(cut_line, away):
    store, line = cut_line
    line.cut, line.away = "after", away
    add(store, "b", "second")
    assert texts(store) == {"a": "first", "b": "second"}
    undo = store.undo_of()
    line.cut = "after"
    store.perform(undo)
    assert texts(store) == {"a": "first"}
    assert [entry.operation.label for entry in store.log()] == ["undo: add b", "add b", "add a"]


def test_a_commit_that_did_not_go_through_fails_and_can_be_made_again(cut_line):
    store, line = cut_line
    line.cut, line.away = "before", 0.5
    with pytest.raises(ServerAway):
        add(store, "b", "second")
    assert texts(store) == {"a": "first"}
    add(store, "b", "second")
    assert texts(store) == {"a": "first", "b": "second"}


@pytest.mark.parametrize("cut", ["before", "after"])
def test_counters_are_added_once_wherever_the_line_is_cut(cut_line, folder, cut):
    store, line = cut_line
    store.snapshot.count("item", "a", 3, "2026-03-05T00:00:00+00:00")
    line.cut = cut
    with pytest.raises(ServerAway):
        store.save_counts()
    assert store.save_counts() == 1
    other = open_store(folder)
    assert other.load().items["a"].hits == 3
    other.close()


def test_where_the_server_stays_away_it_is_said_that_nobody_knows(cut_line, monkeypatch):
    monkeypatch.setattr(stores, "LOOKUP_SECONDS", 0.5)
    store, line = cut_line
    line.cut, line.away = "after", 3.0
    with pytest.raises(ServerAway, match="not known yet"):
        add(store, "b", "second")
    time.sleep(3)
    assert texts(store) == {"a": "first", "b": "second"}, "it is seen as soon as the server answers"


def test_a_server_that_is_killed_and_started_again_loses_nothing_acknowledged(folder, monkeypatch):
    with tempfile.TemporaryDirectory(prefix="nanomem-pg-") as place:
        own = PostgresServer(Path(place))
        monkeypatch.setenv("NANOMEM_DATABASE_URL", own.url("postgres"))
        open_store(folder).close()
        command = [sys.executable, "-W", "ignore", "-c", PROCESS + SAY_WHAT_HAPPENED, str(folder)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            said = []
            dice = random.Random(5)
            for _ in range(3):
                said += [process.stdout.readline() for _ in range(dice.randrange(20, 60))]
                control(own.server, "-D", own.folder, "-m", "immediate", "stop")
                time.sleep(0.5)
                own.server.ensure_postgres_running()
            process.kill()
            said += process.stdout.readlines()
        told = {key: how for how, key in (line.split() for line in said if line.endswith("\n"))}
        assert {"done", "failed"} <= set(told.values())
        store = open_store(folder)
        found = set(texts(store))
        assert {key for key, how in told.items() if how == "done"} <= found
        assert not {key for key, how in told.items() if how == "failed"} & found
        assert sorted(entry.operation.label.removeprefix("add ") for entry in store.log(10_000)) == sorted(found)
        store.close()
        own.server.cleanup()


def test_a_connection_that_the_server_ends_is_made_anew(on_server, folder):
    store = open_store(folder)
    add(store, "a", "first")
    texts(store)
    end = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'nanomem w_{folder.name}'"
    on_server.run("postgres", end)
    add(store, "b", "second")
    assert texts(store) == {"a": "first", "b": "second"}
    store.close()


# -- several processes ------------------------------------------------------------------------------------------------


def test_writers_that_touch_rows_in_opposite_order_end_in_no_deadlock_and_lose_nothing(on_server, folder):
    store = open_store(folder)
    for key in "abcd":
        add(store, key, "0" if key == "a" else f"{'abcd'.index(key)}000")
    before = on_server.run("postgres", "SELECT deadlocks FROM pg_stat_database WHERE datname = 'postgres'")
    seen, last = 0, store.load().items["a"].revision
    with contextlib.ExitStack() as running:
        commands = [[sys.executable, "-W", "ignore", "-c", PROCESS + OPPOSITE, str(folder), str(n)] for n in range(4)]
        made = [running.enter_context(subprocess.Popen(one, stdout=subprocess.PIPE)) for one in commands]
        while any(process.poll() is None for process in made):
            store.refresh()
            items = store.snapshot.items
            values = {int(items[key].text) - 1000 * "abcd".index(key) for key in "abcd"}
            assert len(values) == 1, "a look sees each commit whole"
            assert items["a"].revision >= last
            seen, last = max(seen, *values), items["a"].revision
        assert [int(process.communicate()[0]) for process in made] == [15] * 4
    assert texts(store) == {"a": "60", "b": "1060", "c": "2060", "d": "3060"}
    assert len(store.log(1000)) == 64
    assert on_server.run("postgres", "SELECT deadlocks FROM pg_stat_database WHERE datname = 'postgres'") == before
    store.close()


def test_processes_that_make_the_same_memory_at_once_make_it_once(on_server, folder):
    command = [sys.executable, "-W", "ignore", "-c", PROCESS + "add(store, sys.argv[2], sys.argv[2])", str(folder)]
    with contextlib.ExitStack() as running:
        made = [running.enter_context(subprocess.Popen([*command, key])) for key in "abcd"]
        assert [process.wait(60) for process in made] == [0, 0, 0, 0]
    store = open_store(folder)
    assert texts(store) == {key: key for key in "abcd"}
    store.close()


def test_a_commit_of_another_is_heard_without_asking_the_server(on_server, folder, opened):
    store = open_store(folder)
    watching = PostgresDatabase(on_server.url("postgres"), f"w_{folder.name}", poll_seconds=60)
    assert watching.changed()
    assert not any(watching.changed() for _ in range(100))
    begun = time.perf_counter()
    for _ in range(1000):
        watching.changed()
    assert time.perf_counter() - begun < 1, "a look that heard nothing asks nobody"
    add(store, "a", "first")
    assert wait_for_change(watching) < 5
    assert not watching.changed()
    watching.close()
    store.close()


def wait_for_change(database):
    """Seconds until a commit of another is noticed."""
    begun = time.monotonic()
    while not database.changed():
        assert time.monotonic() - begun < 20
        time.sleep(0.01)
    return time.monotonic() - begun


def test_behind_a_pool_of_transactions_all_works_and_nothing_of_ours_stays(postgres, folder, monkeypatch):
    with postgres_pooler.database(postgres) as url:
        monkeypatch.setenv("NANOMEM_DATABASE_URL", url)
        stores_of_two = [open_store(folder), open_store(folder)]
        for number in range(12):
            add(stores_of_two[number % 2], f"k{number}", f"text {number}")
        edit(stores_of_two[1], "k0", text="changed")
        assert texts(stores_of_two[0]) == texts(stores_of_two[1])
        watching = PostgresDatabase(url, f"w_{folder.name}", poll_seconds=0.5)
        assert watching.changed()
        assert not watching.changed()
        add(stores_of_two[0], "last", "one more")
        assert wait_for_change(watching) < 3
        asked = (
            "SELECT (SELECT count(*) FROM pg_prepared_statements), (SELECT count(*) FROM pg_listening_channels()),"
            " current_setting('lock_timeout'), current_setting('search_path')"
        )
        with connect(url) as connection:
            for _ in range(20):
                found = connection.execute(asked, prepare=False).fetchone()
                assert found == (0, 0, "0", '"$user", public')
        assert any("a pool stands before the server" in problem.what for problem in server_problems(watching))
        for database in (watching, *(store.database for store in stores_of_two)):
            database.close()
