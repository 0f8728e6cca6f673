"""Chroma folders are read without Chroma, of each release alike, and no byte of them changes."""

import os
import sqlite3
from contextlib import closing

import pytest

from nanomem_tui.agents import databases
from nanomem_tui.agents.databases import identify_database
from nanomem_tui.core.errors import BadInput
from tests.agents import chroma_homes
from tests.agents.chroma_homes import fact, named

TEA = fact("Drinks", "tea", "green", "Home", "Hot")
NUTS = fact("偏好", "项 0", "对花生过敏\n(two lines)")


def listing(folder):
    return {p.name: (p.stat().st_mtime_ns, p.stat().st_mode, p.read_bytes()) for p in folder.iterdir() if p.is_file()}


def told(path):
    return {entry.id: entry.metadata for entry in databases.read_chroma_folder(path, "x").entries}


@pytest.mark.parametrize("release", chroma_homes.SCHEMAS)
def test_both_collections_are_read_and_others_are_counted(tmp_path, release):
    more = {**NUTS, "count": 3, "weight": 0.5, "known": True}
    everything = {"nanobot_memory": named([TEA]), "others": named([TEA, NUTS]), "nanobot_facts": named([more])}
    path = chroma_homes.make(tmp_path / "chroma", everything, release)
    before = listing(path.parent)
    found = databases.read_chroma_folder(path, "x")
    assert [(entry.collection, entry.id, entry.metadata) for entry in found.entries] == [
        ("nanobot_facts", "fact::偏好::项 0", more), ("nanobot_memory", "fact::Drinks::tea", TEA)
    ]  # fmt: skip
    assert (found.others, found.problems, identify_database(path)) == ({"others": 2}, [], "chroma")
    assert listing(path.parent) == before


def test_a_folder_whose_agent_writes_is_read_as_it_was(tmp_path):
    path = chroma_homes.make(tmp_path / "chroma", {"nanobot_memory": named([TEA])})
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode=WAL")
        writer.execute("PRAGMA wal_autocheckpoint=0")
        writer.execute("UPDATE embedding_metadata SET string_value = 'black' WHERE key = 'value'")
        writer.commit()
        before = listing(path.parent)
        assert "chroma.sqlite3-wal" in before
        assert told(path)["fact::Drinks::tea"]["value"] == "black"
        assert listing(path.parent) == before


@pytest.mark.parametrize("lacking", ["segments", "embedding_metadata"])
def test_a_version_with_other_tables_is_one_line(tmp_path, lacking):
    path = chroma_homes.make(tmp_path / "chroma", {"nanobot_memory": named([TEA])})
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"ALTER TABLE {lacking} RENAME TO {lacking}2")
        connection.commit()
    with pytest.raises(BadInput, match=f"no Chroma folder of a version that is known: its table {lacking} lacks"):
        databases.read_chroma_folder(path, "x")


@pytest.mark.parametrize("data", [b"", b"nothing of SQLite", b"SQLite format 3\0" + b"\xff" * 5000])
def test_what_is_no_database_is_one_line(tmp_path, data):
    path = tmp_path / "chroma.sqlite3"
    path.write_bytes(data)
    with pytest.raises(BadInput):
        databases.read_chroma_folder(path, "x")


def test_a_damaged_page_costs_what_is_on_it(tmp_path):
    many = named(fact("c", f"key {number}", f"{number:04}" + "x" * 900) for number in range(60))
    path = chroma_homes.make(tmp_path / "chroma", {"nanobot_memory": many})
    data = bytearray(path.read_bytes())
    page = data.index(b"0030xxx") // 4096 * 4096
    data[page : page + 4096] = b"\xff" * 4096
    path.write_bytes(data)
    found = databases.read_chroma_folder(path, "x")
    whole = sum(entry.metadata == many[entry.id] for entry in found.entries)
    assert 50 <= whole < 60
    assert ["the table embedding_metadata cannot be read beyond row" in one.what for one in found.problems] == [True]


def test_the_database_of_a_folder_is_found(tmp_path):
    path = chroma_homes.make(tmp_path / "chroma", {})
    assert databases.chroma_database(path.parent) == databases.chroma_database(path) == path
    assert databases.chroma_database(tmp_path) is None
    assert databases.chroma_database(tmp_path / "no such folder") is None
    os.rename(path, path.with_name("other.db"))
    assert databases.chroma_database(path.with_name("other.db")) is None
