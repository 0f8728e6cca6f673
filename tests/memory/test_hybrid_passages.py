"""Passages by words and meaning: in sequences, in conversations, and how their vectors are kept."""

import sqlite3
import threading
from contextlib import closing

import pytest

from nanomem_tui.core.errors import MissingExtra
from nanomem_tui.memory.recall.conversations import Conversations
from nanomem_tui.memory.recall.passages import OrderedRecall, Passage
from nanomem_tui.vectors import collection as kept
from nanomem_tui.vectors.collection import PassageVectors, VectorFile
from nanomem_tui.vectors.embedders import CheckedEmbedder
from tests.memory.senses import Senses
from tests.memory.test_conversations import FILLER, Home

TALK = ("Ann: my new Skoda is red", "Bob: nice", "Ann: tea?", "Bob: no thanks")


def talk():
    lines = (line.split(": ") for line in TALK)
    return OrderedRecall(Passage(str(n), text, "s", name) for n, (name, text) in enumerate(lines))


def vectors_of(folder, senses=None):
    maker = CheckedEmbedder(senses or Senses())
    return PassageVectors(lambda: maker, folder / "vectors.db")


# -- in order ---------------------------------------------------------------------------------------------------------


def test_a_passage_without_a_common_word_is_found_by_its_meaning():
    recall, asked = talk(), []

    def nearest(text, limit):
        asked.append((text, limit))
        return [(0, 0.2), (3, 0.79), (1, 0.95)]

    assert "0" not in [hit.passage.key for hit in recall.search("which vehicle did Bob mention?")[:1]]
    best = recall.search("which vehicle did Ann's friend drive?", nearest=nearest)
    assert asked == [("which vehicle did friend drive?", 200)]  # who speaks counts by itself
    assert best[0].passage.key == "0"
    assert best[0].parts["vector"] > best[0].parts["words"]
    for hit in best:
        assert hit.score == pytest.approx(sum(hit.parts.values()))
    assert "vector" not in recall.search("tea")[0].parts


def test_neighbours_get_a_share_of_what_is_near():
    found = talk().search("vehicle", nearest=lambda text, limit: [(0, 0.1)])
    assert [hit.passage.key for hit in found] == ["0", "1", "2"]
    assert found[1].parts["near"] > found[2].parts["near"] > 0


def test_what_is_forgotten_is_not_near():
    recall = talk()
    recall.forget("s")
    assert recall.search("vehicle", nearest=lambda text, limit: [(0, 0.1)]) == []


def test_a_session_is_found_by_meaning():
    recall = talk()
    assert recall.sessions("vehicle") == []
    assert [name for name, _ in recall.sessions("vehicle", nearest=lambda text, limit: [(0, 0.1)])] == ["s"]


# -- vectors ----------------------------------------------------------------------------------------------------------


def test_vectors_are_kept_in_a_file_and_made_once(tmp_path):
    texts = ["a red Skoda", "tea", "something else"]
    first = vectors_of(tmp_path)
    assert first.wanting(texts) == texts[::-1]
    assert first.nearest("auto", texts, 5) == []
    first.make(texts)
    assert first.nearest("auto", texts, 1) == [(0, pytest.approx(0.0, abs=1e-6))]
    again = Senses()
    second = vectors_of(tmp_path, again)
    assert second.wanting(["new", *texts]) == ["new"]
    assert second.nearest("auto", ["new", *texts], 9)[0][0] == 1
    assert again.asked[0] == "auto"
    assert not {*texts} & {*again.asked}
    assert vectors_of(tmp_path, Senses("another")).wanting(texts) == texts[::-1]


def test_a_vector_that_is_broken_is_made_again(tmp_path):
    texts = [f"text {n}" for n in range(5)]
    vectors_of(tmp_path).make(texts)
    with closing(sqlite3.connect(tmp_path / "vectors.db")) as connection, connection:
        connection.execute("UPDATE vectors SET vector = zeroblob(24) WHERE number = 2")
        connection.execute("UPDATE vectors SET vector = x'00' WHERE number = 5")
    left = vectors_of(tmp_path)
    assert left.wanting(texts) == ["text 4", "text 1"]
    left.make(left.wanting(texts))
    assert vectors_of(tmp_path).wanting(texts) == []


def test_the_oldest_of_far_too_many_go(tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "MOST_PASSAGES", 2)
    texts = [f"text {n}" for n in range(9)]
    vectors_of(tmp_path).make(texts)
    assert vectors_of(tmp_path).wanting(texts) == []  # of the newest two
    assert [held.rows for held in VectorFile(tmp_path / "vectors.db").counts(["passages"])] == [4]


def test_nothing_is_written_where_there_is_no_folder(tmp_path):
    vectors = vectors_of(tmp_path / "none")
    vectors.make(["tea"])
    assert vectors.nearest("coffee", ["tea"], 1)
    assert not list(tmp_path.iterdir())


# -- conversations ----------------------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path):
    found = Home(tmp_path / "workspace")
    found.talk("cli:filler", FILLER, "2026-02-01")
    found.talk("telegram:7", (("user", "I bought a red Skoda"), ("assistant", "Congratulations!")))
    return found


def by_meaning(ws, vectors):
    return Conversations(ws.sessions, ws.history, ws.notes, lambda: vectors)


def test_what_was_said_is_found_by_its_meaning(home, tmp_path):
    with home.open() as ws:
        assert ws.conversations.recall("which vehicle").hits == ()
        found = by_meaning(ws, vectors_of(tmp_path)).recall("which vehicle")
    assert (found.hits[0].id, found.left_out) == ("telegram:7#0", ())
    assert found.hits[0].parts["vector"] > 0


def test_what_is_not_embedded_yet_is_said_and_goes_on_beside(home, tmp_path):
    with home.open() as ws:
        found = by_meaning(ws, vectors_of(tmp_path))
        found.patience = -1.0
        first = found.recall("Skoda", ["sessions"])
        assert first.hits[0].id == "telegram:7#0"
        assert first.left_out == ("32 passages by meaning, not embedded yet",)
        for thread in threading.enumerate():
            if thread.name == "nanomem-passages":
                thread.join()
        assert found.recall("which vehicle", ["sessions"]).hits[0].id == "telegram:7#0"


def test_without_a_model_words_find_passages(home, tmp_path):
    def missing():
        raise MissingExtra("search by meaning needs onnxruntime, which is not installed", "", "pip install it")

    with home.open() as ws:
        found = by_meaning(ws, PassageVectors(missing, tmp_path / "vectors.db")).recall("red Skoda")
        assert found == ws.conversations.recall("red Skoda")
