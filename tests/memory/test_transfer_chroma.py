"""A Chroma folder of the crystallized system: its facts come in, each once, and no byte of the folder changes."""

import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import BadInput
from tests.agents import chroma_homes
from tests.agents.chroma_homes import fact, named
from tests.agents.test_chroma_folder import listing

HOME = {"items": 0, "lessons": 0}

CRYSTAL = "crystal/home/.nanobot/memory.db"
REAL = """
import sys, chromadb
from chromadb.config import Settings
client = chromadb.PersistentClient(path=sys.argv[1], settings=Settings(anonymized_telemetry=False))
kept = client.create_collection("nanobot_facts", metadata={"hnsw:space": "cosine"}, embedding_function=None)
for number in range(3):
    meta = {"type": "fact", "category": "Drinks", "key": f"tea {number}", "value": f"green {number}", "domain": "Home",
            "sub_category": "", "updated_at": "2026-02-15T09:14:00"}
    kept.upsert(ids=[f"fact::Drinks::tea {number}"], embeddings=[[0.1, 0.2, 0.3]], documents=["text"], metadatas=[meta])
kept.delete(ids=["fact::Drinks::tea 0"])
kept.upsert(ids=["fact::Drinks::tea 1"], embeddings=[[0.3, 0.2, 0.1]], documents=["text"],
            metadatas=[{**meta, "key": "tea 1", "value": "black"}])
"""


def facts_of(samples):
    """The facts of the sample, as its index has them."""
    with closing(sqlite3.connect(f"file:{samples / CRYSTAL}?immutable=1", uri=True)) as connection:
        rows = connection.execute("SELECT category, key, value, domain, sub_category, updated_at FROM facts").fetchall()
    return [{**fact(*row[:3], *(text or "" for text in row[3:5])), "updated_at": row[5]} for row in rows]


@pytest.mark.parametrize("release", chroma_homes.SCHEMAS)
@pytest.mark.parametrize("first", ["memory.db", "chroma"])
def test_the_table_and_its_index_give_each_fact_once(ws, samples, tmp_path, release, first):
    folder = tmp_path / "chroma"
    chroma_homes.make(folder, {"nanobot_memory": named(facts_of(samples))}, release)
    before = listing(folder)
    one, other = (samples / CRYSTAL, folder) if first == "memory.db" else (folder, samples / CRYSTAL)
    plan = ws.transfer.preview(one)
    ws.transfer.run(plan)
    again = ws.transfer.preview(other)
    assert again.kinds["fact"] == {"same": 91}
    assert {fact.sub_category for fact in ws.facts.all()} == {None, "Music", "Database"}
    assert listing(folder) == before


def test_of_both_collections_the_newer_value_stands(ws, tmp_path):
    old = fact("Drinks", "tea", "green", "Home")
    new = {**fact("Drinks", "tea", "black", "Home"), "updated_at": "2026-03-01T00:00:00"}
    other = fact("Drinks", "coffee", "none")
    path = chroma_homes.make(
        tmp_path / "chroma", {"nanobot_memory": named([new, other]), "nanobot_facts": named([old]), "x": named([old])}
    )
    plan = ws.transfer.preview(path)
    assert (plan.format, plan.counts["new"]) == ("chroma", 2)
    assert plan.notes == ("1 entry of the collection x are not those of an agent: left out.",)
    ws.transfer.run(plan)
    (tea,) = ws.facts.find("drinks", "tea")
    assert [one.value for one in ws.facts.history(tea.id)] == ["black", "green"]
    assert ws.transfer.preview(path.parent).todo == []


def test_what_its_metadata_lack_is_taken_from_the_document_and_the_id(ws, tmp_path):
    entries = {
        "fact::Drinks::tea": {"chroma:document": "Domain: Home\nКатегория: no\nКлюч: no\nЗначение: green\nand warm",
                              "category": "Drinks", "key": "tea"},
        "fact::Drinks::a::b": {"value": 42},
        "fact::Drinks::empty": {"type": "fact", "value": " "},
        "elsewhere": {"value": "no names"},
        "note": {"type": "note", "value": "text"},
    }  # fmt: skip
    plan = ws.transfer.preview(chroma_homes.make(tmp_path / "chroma", {"nanobot_facts": entries}))
    ws.transfer.run(plan)
    assert {(one.domain, one.category, one.key, one.value) for one in ws.facts.all()} == {
        ("Home", "Drinks", "tea", "green\nand warm"), (None, "Drinks", "a::b", "42")
    }  # fmt: skip
    assert [problem.what for problem in plan.problems] == [
        "entry fact::Drinks::empty (empty): value is empty", "entry elsewhere (None): category and key missing"
    ]  # fmt: skip
    assert plan.notes == ("1 entry that is no fact: left out.",)
    assert plan.kinds == {"fact": {"new": 2, "bad": 2}}


def test_a_home_is_imported_with_its_index(ws, samples, tmp_path):
    home = tmp_path / "theirs"
    chroma_homes.make(home / "chroma", {"nanobot_facts": named([*facts_of(samples), fact("c", "only there", "v")])})
    (home / "memory.db").write_bytes((samples / CRYSTAL).read_bytes())
    plan = ws.transfer.preview(home)
    assert plan.format == "facts-db and chroma"
    assert plan.kinds["fact"] == {"new": 92, "same": 91}
    (home / "workspace" / "memory").mkdir(parents=True)
    with open_workspace(home / "workspace") as theirs:
        assert [one.format for one in theirs.transfer.candidates()] == ["facts-db"]
    (home / "memory.db").unlink()
    (home / "config.json").write_text("{}")
    with open_workspace(home / "workspace") as theirs:
        assert [(one.format, one.path.name) for one in theirs.transfer.candidates()] == [("chroma", "chroma.sqlite3")]


@pytest.mark.parametrize("data", [b"", b"SQLite format 3\0" + b"\xff" * 5000, b"nothing"])
def test_a_broken_folder_is_one_line(ws, tmp_path, data):
    folder = tmp_path / "chroma"
    folder.mkdir()
    (folder / "chroma.sqlite3").write_bytes(data)
    with pytest.raises(BadInput) as caught:
        ws.transfer.preview(folder)
    assert "\n" not in caught.value.line()


@pytest.mark.vectors
def test_a_folder_that_the_real_one_made_is_read(ws, tmp_path):
    folder = tmp_path / "chroma"
    subprocess.run([sys.executable, "-c", REAL, str(folder)], check=True, capture_output=True)
    before = listing(folder)
    ws.transfer.run(ws.transfer.preview(folder))
    assert {(one.key, one.value) for one in ws.facts.all()} == {("tea 1", "black"), ("tea 2", "green 2")}
    assert listing(folder) == before
