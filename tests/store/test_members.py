"""Who is a member of a workspace on a server, who is let in and taken out; see test_strangers for who is none."""

from __future__ import annotations

import time

import pytest

from nanomem_tui.core.errors import AccessDenied, NotFound, Refused
from nanomem_tui.store import transactions as stores
from nanomem_tui.store.database import postgres
from nanomem_tui.store.database.postgres import PostgresDatabase, server_problems
from nanomem_tui.store.processes import Writers
from nanomem_tui.store.transactions import make_database
from tests.store.servers import connect
from tests.store.stores import Store, add, edit, texts

pytestmark = pytest.mark.vectors
ROLES = ("ana", "bob", "eve")


class Places:
    """One workspace of ana's on a server, as each role opens it."""

    def __init__(self, postgres, folder):
        self.postgres, self.folder, self.schema = postgres, folder, f"w_{folder.name}"
        self.opened: list[PostgresDatabase] = []

    def database(self, role, poll_seconds=0):
        url = self.postgres.url("postgres", role)
        self.opened.append(PostgresDatabase(url, self.schema, poll_seconds=poll_seconds))
        return self.opened[-1]

    def store(self, role):
        store = Store(self.database(role), Writers(self.folder / "writers"))
        make_database(store.database, "w")
        return store

    def owner_of(self, table):
        asked = f"SELECT tableowner FROM pg_tables WHERE schemaname = '{self.schema}' AND tablename = '{table}'"
        return str(self.postgres.run("postgres", asked)[0][0])


@pytest.fixture
def places(postgres, folder):
    postgres.run(
        "postgres", "CREATE ROLE ana LOGIN CREATEROLE", "CREATE ROLE bob LOGIN", "CREATE ROLE eve LOGIN",
        "GRANT CREATE ON DATABASE postgres TO ana, eve",
    )  # fmt: skip
    made = Places(postgres, folder)
    yield made
    for database in made.opened:
        database.close()
    groups = postgres.run("postgres", f"SELECT rolname FROM pg_roles WHERE rolname LIKE 'w\\_{folder.name}\\_%'")
    postgres.run("postgres", f'DROP SCHEMA IF EXISTS "{made.schema}" CASCADE')
    for (group,) in groups:
        postgres.run("postgres", f'DROP ROLE "{group}"')
    postgres.run("postgres", *(f"DROP OWNED BY {role}" for role in ROLES), *(f"DROP ROLE {role}" for role in ROLES))


def test_a_member_reads_and_writes_and_makes_tables_that_all_members_see(places):
    of_ana = places.store("ana")
    add(of_ana, "a", "first")
    assert postgres.members(places.database("ana")) == ["ana"]
    postgres.grant(places.database("ana"), "bob")
    assert postgres.members(places.database("bob")) == ["ana", "bob"]
    of_bob = places.store("bob")
    edit(of_bob, "a", text="second")
    assert texts(of_ana) == {"a": "second"}
    with of_bob.database.making() as connection:
        connection.exec_driver_sql("CREATE TABLE more (id text)")
    with of_ana.database.writing(durable=True) as connection:
        connection.exec_driver_sql("INSERT INTO more VALUES ('x')")
    assert places.owner_of("more") == places.owner_of("meta") not in ROLES
    assert server_problems(of_bob.database) == server_problems(of_ana.database) == []


def test_who_is_taken_out_sees_it_no_more_and_others_hear_of_changes_as_before(places):
    of_ana = places.store("ana")
    postgres.grant(places.database("ana"), "bob")
    of_bob, listening = places.store("bob"), places.database("ana", poll_seconds=30)
    assert listening.changed()
    (channel,) = places.postgres.run("postgres", f'SELECT channel FROM "{places.schema}".meta')[0]
    postgres.revoke(places.database("ana"), "bob")
    assert postgres.members(places.database("ana")) == ["ana"]
    with pytest.raises(AccessDenied, match="no member"):
        of_bob.load()
    with pytest.raises(AccessDenied, match="no member"):
        places.store("bob")
    assert heard_by(places, "bob", [channel], lambda: add(of_ana, "a", "first")) == []
    hear(listening)
    assert not listening.changed()
    add(of_ana, "b", "second")
    hear(listening)  # on the new channel
    with pytest.raises(NotFound):
        postgres.revoke(places.database("ana"), "eve")
    with pytest.raises(Refused):
        postgres.revoke(places.database("ana"), "ana")


def test_a_member_that_may_let_nobody_in_is_told_what_an_administrator_can_run(places):
    places.store("ana")
    postgres.grant(places.database("ana"), "bob")
    with pytest.raises(AccessDenied, match=r'let an administrator run: GRANT "w_.*" TO "eve"'):
        postgres.grant(places.database("bob"), "eve")
    with pytest.raises(AccessDenied, match="no member"):
        postgres.grant(places.database("eve"), "eve")
    with pytest.raises(NotFound, match="no such role"):
        postgres.grant(places.database("ana"), "nobody")
    of_eve = PostgresDatabase(places.postgres.url("postgres", "eve"), f"{places.schema}_eve")
    places.opened.append(of_eve)
    stores.make_database(of_eve, "w")
    with pytest.raises(AccessDenied, match='let an administrator run: ALTER ROLE "eve" CREATEROLE'):
        postgres.grant(of_eve, "bob")
    assert postgres.members(of_eve) == ["eve"]


def hear(database):
    """Wait until a commit is noticed, before the server would be asked for one."""
    until = time.monotonic() + 15
    while not database.changed():
        assert time.monotonic() < until
        time.sleep(0.01)


def heard_by(places, role, channels, do):
    """What a role hears on these channels while something is done."""
    with connect(places.postgres.url("postgres", role)) as listening:
        for channel in channels:
            listening.execute(f'LISTEN "{channel}"')
        do()
        return [note.payload for note in listening.notifies(timeout=0.3)]
