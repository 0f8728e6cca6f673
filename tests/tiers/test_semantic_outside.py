"""Records found by meaning with their collections in a real Chroma or PostgreSQL: right, in step, never needed."""

import importlib.util
from contextlib import closing
from pathlib import Path

import pytest

from nanomem_tui.vectors import semantic_search as record_meaning
from nanomem_tui.vectors.embedders import CheckedEmbedder
from nanomem_tui.vectors.outside import ChromaCopy, chroma_location
from nanomem_tui.vectors.records import RecordMeaning, RecordTexts
from nanomem_tui.vectors.semantic_search import outside_of
from tests.conftest import need
from tests.tiers.test_semantic import asked, ids, incident, near
from tests.vectors.fakes import Words
from tests.vectors.test_pgvector import database, server, url

__all__ = ["database", "server", "url"]
pytestmark = pytest.mark.vectors


@pytest.fixture(params=["chroma", "pgvector"])
def over(ws, request):
    """`over(words)`: search by meaning over the records, with an index outside."""
    settings = {"vector_index": request.param}
    if request.param == "chroma":
        need(importlib.util.find_spec("chromadb") is not None, "chromadb is not installed: make vectors")
    else:
        settings["pgvector_url"] = request.getfixturevalue("url")
    made = []

    def over(words, **more):
        for one in made:
            one.close()  # one process uses a folder of Chroma
        maker = CheckedEmbedder(words)
        wanted = ws.settings._replace(**settings, **more)
        outside = outside_of(ws.store, wanted, RecordTexts.collections)
        made.append(RecordMeaning(ws.store, ws.tier_database, lambda: maker, outside))
        return made[-1]

    yield over
    for one in made:
        one.close()


def test_each_kind_is_found_in_its_own_collection(ws, over):
    incident(ws, "i", "the cat is ill")
    ws.records.store("goal", {"description": "feed the cat"}, "g")
    ws.records.store("tool-call", {"tool_name": "look", "input": {}, "reason": "is the cat there"}, "t")
    meaning = over(Words())
    assert meaning.sync() == 3
    assert sorted(near(meaning, "cat")) == ["g", "i", "t"]
    assert near(meaning, "cat", "goal") == ["g"]
    found = asked(ws, meaning, "cat ill", "incidents", "goals")
    assert (ids(found)[0], found.note) == ("i", "")
    assert meaning.state()["index"] in ("chroma", "pgvector")
    assert meaning.state()["problem"] == ""


def test_the_collections_are_called_as_the_seed_calls_them(ws, tmp_path):
    need(importlib.util.find_spec("chromadb") is not None, "chromadb is not installed: make vectors")
    import chromadb
    from chromadb.config import Settings

    incident(ws, "i", "the cat is ill")
    words = Words()
    wanted = ws.settings._replace(vector_index="chroma")
    maker = CheckedEmbedder(words)
    with closing(
        RecordMeaning(ws.store, ws.tier_database, lambda: maker, outside_of(ws.store, wanted, RecordTexts.collections))
    ) as m:
        m.sync()
    folder = chroma_location(wanted, ws.paths, is_of_records=True)
    assert isinstance(folder, Path)
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.rglob("*"))
    client = chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))
    try:
        names = {one.name for one in client.list_collections()}
        held = client.get_collection("incidents", embedding_function=None).get()
    finally:
        client.close()
    assert names == {"goals", "tasks", "tool_calls", "decisions", "procedures", "incidents"}
    assert held["ids"] == ["i"]
    assert held["documents"] == [None], "the words of a record stay in the database"


def test_it_stays_in_step_with_what_changes_and_goes(ws, over):
    meaning = over(Words())
    incident(ws, "i", "the cat is ill")
    incident(ws, "j", "the cat is well")
    assert sorted(near(meaning, "cat")) == ["i", "j"]
    incident(ws, "i", "the printer burns")
    assert near(meaning, "printer burns")[0] == "i"
    ws.records.delete("incident", ["j"])
    assert near(meaning, "cat") == ["i"]
    again = over(Words())
    assert near(again, "printer burns") == ["i"]
    assert again.sync() == 0


def test_an_index_that_is_new_gets_what_was_embedded_before(ws, over):
    incident(ws, "i", "the cat is ill")
    maker = CheckedEmbedder(Words())
    with closing(RecordMeaning(ws.store, ws.tier_database, lambda: maker)) as rows:
        assert rows.sync() == 1
    words = Words()
    meaning = over(words)
    assert near(meaning, "cat") == ["i"]
    assert words.asked == ["cat"], "no text was embedded twice"
    assert meaning.sync(anew=True) == 0
    assert near(meaning, "cat") == ["i"]


def test_a_search_does_not_wait_until_a_new_index_has_everything(ws, over, monkeypatch):
    for number in range(20):
        incident(ws, f"i{number}", "the cat is ill")
    maker = CheckedEmbedder(Words())
    with closing(RecordMeaning(ws.store, ws.tier_database, lambda: maker)) as rows:
        assert rows.sync() == 20
    monkeypatch.setattr(record_meaning, "PART", 8)
    meaning = over(Words())
    assert [len(meaning.nearest("cat", ["incident"], 50, patience=0)) for _ in range(3)] == [8, 16, 20]


def test_another_model_has_the_collections_to_itself(ws, over):
    incident(ws, "i", "the cat is ill")
    assert over(Words()).sync() == 1
    other = over(Words("words-2", 64))
    assert other.sync() == 1
    assert near(other, "cat") == ["i"]
    first = over(Words())
    assert first.sync() == 1
    assert near(first, "cat") == ["i"]


def test_without_it_words_find_and_it_is_said_why(ws, over, tmp_path):
    incident(ws, "i", "the cat is ill")
    folder = chroma_location(ws.settings, ws.paths, is_of_records=True)
    assert isinstance(folder, Path)
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("no folder")
    broken = {"pgvector_url": f"postgresql:///x?host={tmp_path}"}
    name = "pgvector" if "pgvector" in str(over.__closure__) else "chroma"
    wanted = ws.settings._replace(vector_index=name, **broken)
    maker = CheckedEmbedder(Words())
    outside = outside_of(ws.store, wanted, RecordTexts.collections)
    with closing(RecordMeaning(ws.store, ws.tier_database, lambda: maker, outside)) as meaning:
        found = asked(ws, meaning, "cat ill")
        assert (ids(found), found.by) == (["i"], "words")
        assert found.note
        assert len(found.note.splitlines()) == 1
        assert meaning.problems()


def test_one_process_uses_a_folder_of_chroma(ws, tmp_path):
    need(importlib.util.find_spec("chromadb") is not None, "chromadb is not installed: make vectors")
    from nanomem_tui.core.errors import Refused

    def opened():
        return ChromaCopy(tmp_path / "c", ws.id, ["goals"], "m")

    with closing(opened()), pytest.raises(Refused, match="another process"):
        opened()
    opened().close()


def test_a_server_that_went_away_is_asked_again(ws, url, server, database):
    incident(ws, "i", "the cat is ill")
    wanted = ws.settings._replace(vector_index="pgvector", pgvector_url=url)
    maker = CheckedEmbedder(Words())
    with closing(
        RecordMeaning(ws.store, ws.tier_database, lambda: maker, outside_of(ws.store, wanted, RecordTexts.collections))
    ) as m:
        assert near(m, "cat") == ["i"]
        server.run("postgres", f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'")
        assert near(m, "cat") == ["i"]
