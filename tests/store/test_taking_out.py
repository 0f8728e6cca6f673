"""What is taken out of a database is in none of its tables, comes back by nothing, and other processes drop it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from sqlalchemy import select

from nanomem_tui.core.errors import NanomemError, NothingToDo
from nanomem_tui.purge.cleaning import Cleaning
from nanomem_tui.purge.matchers import Marks, Secrets, Words
from nanomem_tui.store.database import bookkeeping, models, queries, reading
from nanomem_tui.store.database.operation_log import Journal
from nanomem_tui.store.erasure import database_purge
from tests.store.stores import Store, add, delete, edit, texts

Again = Callable[[], Store]
SECRET = "sk-proj-Ab3dE5fGh7Jk9LmN0pQr2StU4vWx6Yz8"
WORD = "quxwhalery"


def everything(store: Store) -> str:
    """All that the tables hold, as one text."""
    with store.database.reading() as connection:
        tables = models.METADATA.sorted_tables
        return json.dumps([[str(row) for row in connection.execute(select(table))] for table in tables])


def take_out(store: Store, sought: Words | Secrets) -> database_purge.Purged:
    with store.database.writing(durable=True) as connection:
        return database_purge.clean_database(connection, Cleaning(sought), write=True)


@pytest.fixture
def told(store: Store) -> Store:
    """A store that says a word in rows, in what they were before, and in what is remembered of an agent's file."""
    add(store, "a", f"the safe is behind the {WORD} painting")
    add(store, "b", "tea is green")
    edit(store, "b", text=f"no {WORD}")
    edit(store, "b", text="tea is black")
    add(store, "c", f"{WORD} once more")
    delete(store, "c")
    store.remember(
        lambda connection: bookkeeping.set_foreign_rows(connection, "f", {"a": {"text": WORD}, "b": {"n": 1}})
    )
    store.remember(lambda connection: bookkeeping.set_markers(connection, {"said": f"a {WORD}", "other": "1"}))
    return store


def test_a_text_goes_from_every_table_and_the_rest_stays(told: Store) -> None:
    taken = take_out(told, Words([WORD]))
    assert taken.gone == {("item", "a"), ("item", "c")}
    assert WORD not in everything(told)
    assert texts(told) == {"b": "tea is black"}
    with told.database.reading() as connection:
        within = queries.within(connection)
        assert reading.foreign_rows(within, "f") == {"b": {"n": 1}}
        assert reading.markers(within)["other"] == "1"
        log = Journal(lambda: within).log(10)
        assert [entry.operation.meta.get("withheld") for entry in log] == [1, 1, 1, 1, 1, 1]


def test_asking_changes_nothing(told: Store) -> None:
    before = everything(told)
    with told.database.reading() as connection:
        asked = database_purge.clean_database(connection, Cleaning(Words([WORD])), write=False)
    assert (len(asked.gone), everything(told)) == (2, before)


def test_no_undo_brings_it_back(told: Store) -> None:
    every = [entry.operation.id for entry in told.log()]
    take_out(told, Words([WORD]))
    for key in every:
        with pytest.raises(NanomemError):
            told.undo(key)
    with pytest.raises(NothingToDo):
        told.redo()
    assert WORD not in everything(told)


def test_a_process_that_had_it_in_ram_drops_it_before_it_writes(told: Store, again: Again) -> None:
    other = again()
    other.load()
    other.snapshot.count("item", "b", 2, "2026-03-05T10:00:00+00:00")
    take_out(told, Words([WORD]))
    with pytest.raises(NanomemError):
        edit(other, "a", pinned=True)
    assert set(texts(other)) == {"b"}
    assert other.save_counts() == 1
    assert told.load().items["b"].hits == 0
    assert told.refresh()
    assert told.load().items["b"].hits == 2


def test_counters_of_a_process_that_did_not_look_since_are_saved(told: Store, again: Again) -> None:
    other = again()
    other.load()
    other.snapshot.count("item", "b", 2, "2026-03-05T10:00:00+00:00")
    take_out(told, Words([WORD]))
    other.close()
    assert again().load().items["b"].hits == 2


def test_a_secret_is_masked_where_it_stands(store: Store) -> None:
    add(store, "a", f"the key is {SECRET}")
    edit(store, "a", pinned=True)
    taken = take_out(store, Secrets())
    assert (taken.gone, taken.cleaned) == (set(), {("item", "a")})
    assert SECRET not in everything(store)
    assert texts(store)["a"].startswith("the key is [OpenAI key #")
    store.undo()
    assert not store.load().items["a"].pinned


def test_what_belongs_to_a_session_goes_by_its_key(store: Store) -> None:
    add(store, "a", "tea is green")
    edit(store, "a", session_key="telegram:9")
    add(store, "b", "tea is black")
    take_out(store, Words((), Marks(sessions=frozenset({"telegram:9"}))))
    assert texts(store) == {"b": "tea is black"}
    assert "telegram:9" not in everything(store)
