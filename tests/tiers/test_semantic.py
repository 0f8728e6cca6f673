"""Records found by what they mean: what is embedded, that it stays in step, and that words stand in where it cannot."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import atomic, clock
from nanomem_tui.core.errors import BadInput, MissingExtra, Refused
from nanomem_tui.store.work.kinds import KINDS
from nanomem_tui.tiers.records import TierRecords
from nanomem_tui.vectors import embedders
from nanomem_tui.vectors.collection import Count, FileCollection, VectorFile
from nanomem_tui.vectors.embedders import CheckedEmbedder
from nanomem_tui.vectors.records import RecordMeaning
from tests.vectors.fakes import Words, unavailable

ROOT = Path(__file__).parents[2]
LOCK = "records-embedding.lock"

COLLECTIONS = tuple(kind.table for kind in KINDS.values() if kind.embedded)


@pytest.fixture
def words():
    return Words()


@pytest.fixture
def meaning(ws, words):
    with closing(over(ws, words)) as made:
        yield made


def over(ws, words):
    maker = CheckedEmbedder(words)
    return RecordMeaning(ws.store, ws.tier_database, lambda: maker)


def asked(ws, meaning, query, *collections, n=5):
    found = TierRecords(ws.tier_database, ws.perform, lambda key: [], (lambda: meaning) if meaning else None)
    return found.semantic_search(query, collections, n)


def counts(ws):
    return VectorFile(ws.paths.vectors).counts(COLLECTIONS)


def spoil(ws, statement, *values):
    with closing(sqlite3.connect(ws.paths.vectors)) as connection, connection:
        connection.execute(statement, values)


def ids(answer):
    return [hit.record.id for hit in answer.hits]


def near(meaning, query, *kinds, limit=5):
    found = meaning.nearest(query, kinds or [kind.name for kind in KINDS.values() if kind.embedded], limit, patience=60)
    return [one.record.id for one in found]


def incident(ws, record_id, description, **fields):
    ws.records.store("incident", {"description": description, **fields}, record_id)


# -- what is embedded ------------------------------------------------------------------------------------------------


def test_just_the_six_kinds_of_text_are_embedded(ws, meaning, words):
    keep = ws.records.store
    keep("goal", {"description": "Keep the site up", "result": "up again", "metadata": {"team": "ops"}})
    keep("task", {"description": "Restart nginx", "output": {"said": "started"}, "agent": "sys", "error": "none yet"})
    keep("tool-call", {"tool_name": "fs.read", "input": {"path": "/x"}, "output": "text", "reason": "to see the log"})
    keep("tool-call", {"tool_name": "fs.read", "input": {"path": "/y"}})
    keep("decision", {"context": "nginx 502", "chosen": "reload", "reasoning": "less disruptive", "outcome": "good"})
    keep("procedure", {"name": "restart", "description": "How nginx is restarted", "steps": ["stop", "start"]})
    incident(ws, "i", "502", symptoms=["slow", "errors"], root_cause="a port", resolution="moved", prevention="watch")
    keep("pattern", {"trigger": "nginx down", "action": "restart nginx"})
    keep("config-change", {"file_path": "/etc/nginx.conf", "content": "worker_processes 4;"})
    keep("agent-state", {"agent_name": "sys", "state": {"busy": True}})
    keep("event", {"category": "event", "data": {"said": "nginx"}})
    assert meaning.sync() == 6
    assert sorted(text for text in words.asked if text != "records") == [
        "502\nslow errors\na port\nmoved",
        "How nginx is restarted",
        "Keep the site up",
        "Restart nginx\nsaid started",
        "less disruptive",
        "to see the log",
    ]
    assert set(COLLECTIONS) == {"goals", "tasks", "tool_calls", "decisions", "procedures", "incidents"}


def test_the_example_of_the_seed(ws, meaning):
    incident(
        ws,
        "before",
        "nginx answers 502 after a restart",
        root_cause="the port was taken",
        resolution="moved php to 9001",
    )
    incident(ws, "disk", "the disk is full", resolution="logs rotated")
    ws.records.store("decision", {"context": "502", "chosen": "wait", "reasoning": "a restart takes a minute"}, "wait")
    ws.records.store("goal", {"description": "nginx without 502 after each restart"}, "goal")
    query = "nginx returning 502 bad gateway after restart"
    found = asked(ws, meaning, query, "incidents", "decisions", "procedures")
    assert ids(found)[0] == "before"
    assert "goal" not in ids(found)
    assert found.by == "words and meaning"
    assert found.hits[0].record.fields["resolution"] == "moved php to 9001"
    assert "goal" in ids(asked(ws, meaning, query)), "without collections all of them are looked at"
    assert ids(asked(ws, meaning, query, "goal")) == ["goal"], "a kind is its collection"
    assert len(asked(ws, meaning, query, n=1).hits) == 1


def test_both_ways_of_finding_make_the_score(ws, meaning, words):
    words.vector = lambda text: [1.0, 0.0] if "power" in text or "lights" in text else [0.0, 1.0]
    words.dimension = words.size = 2
    incident(ws, "meant", "the lights went out")
    incident(ws, "said", "power of attorney")
    incident(ws, "other", "tea is cold")
    found = asked(ws, meaning, "power cut")
    assert ids(found) == ["said", "meant"], "what is far in meaning and shares no word is none"
    by_id = {hit.record.id: hit for hit in found.hits}
    assert by_id["said"].parts == {"lexical": 0.5, "meaning": 0.5, "distance": 0.0, "words": ["power"]}
    assert by_id["meant"].parts == {"lexical": 0.0, "meaning": 1.0, "distance": 0.0, "words": []}
    assert [hit.score for hit in found.hits] == [1.0, 1.0]


def test_a_score_is_the_same_whatever_else_is_there_and_whichever_collections_are_searched(ws, meaning):
    question = "nginx returning 502 after a restart"
    incident(ws, "half", "nginx is slow after lunch, 502 it says")
    ws.records.store("decision", {"context": "502", "chosen": "wait", "reasoning": "none"}, "little")
    alone = {hit.record.id: hit.score for hit in asked(ws, None, question, "incidents").hits}
    assert alone == {"half": 0.5}, "2 of the 4 words that say something"
    for number in range(20):
        incident(ws, f"i{number}", f"nginx returned 502 after restart {number}")
    together = {hit.record.id: hit.score for hit in asked(ws, None, question, n=100).hits}
    assert together["half"] == alone["half"]
    assert (together["little"], together["i3"]) == (0.25, 1.0)
    with_meaning = asked(ws, meaning, question, n=100).hits
    assert all(together.get(hit.record.id, 0.0) <= hit.score <= 1 for hit in with_meaning)


@pytest.mark.parametrize(
    ("query", "collections", "number", "said"),
    [
        (" ", (), 5, "no usable question"),
        ("x" * 20_001, (), 5, "no usable question"),
        ("x", ("memories",), 5, "no such kind of record"),
        ("x", (), 0, "give 1 to 100"),
        ("x", (), 101, "give 1 to 100"),
    ],
)
def test_what_cannot_be_asked(ws, meaning, query, collections, number, said):
    with pytest.raises(BadInput, match=said):
        asked(ws, meaning, query, *collections, n=number)


# -- in step ---------------------------------------------------------------------------------------------------------


def test_a_text_that_changes_is_found_by_its_new_words_alone(ws, meaning):
    incident(ws, "i", "the cat is ill")
    assert near(meaning, "cat ill") == ["i"]
    incident(ws, "i", "the printer burns")
    assert near(meaning, "printer burns") == ["i"]
    found = meaning.nearest("the cat is ill", ["incident"], 5)
    assert [one.distance < 0.5 for one in found] == [False]


def test_one_that_changed_and_was_not_embedded_since_is_left_out(ws, meaning, words):
    incident(ws, "i", "the cat is ill")
    incident(ws, "j", "the cat is well")
    assert sorted(near(meaning, "cat")) == ["i", "j"]
    incident(ws, "i", "the printer burns")
    words.before = lambda texts: setattr(words, "broken", unavailable() if "the printer burns" in texts else None)
    assert near(meaning, "cat") == ["j"]
    words.before = lambda texts: setattr(words, "broken", None)
    assert near(meaning, "printer burns")[0] == "i"


def test_what_changes_while_it_is_embedded_is_embedded_once_more(ws, meaning, words):
    incident(ws, "i", "the cat is ill")
    meaning.sync()
    incident(ws, "i", "the dog is ill")

    def change(texts):
        if any("dog" in text for text in texts):
            words.before = lambda _: None
            incident(ws, "i", "the printer burns")

    words.before = change
    meaning.sync()
    assert words.asked[-1] == "the printer burns"
    assert near(meaning, "printer burns") == ["i"]
    assert meaning.state()["total"] == 1


def test_what_is_deleted_is_forgotten_and_comes_back_by_undo(ws, meaning):
    incident(ws, "i", "the cat is ill")
    assert near(meaning, "cat") == ["i"]
    ws.records.delete("incident", ["i"])
    assert near(meaning, "cat") == []
    assert meaning.state()["done"] == 0
    ws.undo()
    assert near(meaning, "cat") == ["i"]


def test_a_record_that_moves_to_long_term_memory_keeps_its_vector(ws, meaning, words):
    ws.records.store("goal", {"description": "feed the cat"}, "g")
    assert near(meaning, "feed cat") == ["g"]
    before = len(words.asked)
    ws.records.update("goal", "g", {"status": "completed"})
    with clock.at(clock.now() + timedelta(days=400)):
        ws.lifecycle.run(force=True)
    assert ws.records.get("goal", "g").tier == "longterm"
    assert near(meaning, "feed cat") == ["g"]
    assert len(words.asked) == before


def test_a_row_that_takes_the_place_of_the_newest_one_is_embedded(ws, meaning):
    incident(ws, "i", "the cat is ill")
    meaning.sync()
    ws.records.delete("incident", ["i"])
    incident(ws, "j", "the dog is ill")
    assert near(meaning, "dog ill") == ["j"]


def test_what_another_process_embeds_is_taken_up(ws, meaning, words):
    incident(ws, "i", "the cat is ill")
    assert near(meaning, "cat") == ["i"]
    with open_workspace(ws.paths.workspace) as other, closing(over(other, Words())) as theirs:
        incident(other, "j", "the cat is well")
        assert theirs.sync() == 1
        incident(other, "i", "the dog is ill")
        assert theirs.sync() == 1
    asked_before = list(words.asked)
    with atomic.locked(ws.tier_database.path.with_name(LOCK)):
        assert sorted(near(meaning, "cat")) == ["i", "j"]
        with pytest.raises(Refused, match="another process embeds the records"):
            meaning.sync()
    assert words.asked == asked_before, "nothing was embedded twice"


def test_another_model_begins_anew_and_the_old_vectors_go(ws, meaning):
    for number in range(3):
        incident(ws, f"i{number}", f"the cat number {number} is ill")
    assert meaning.sync() == 3
    with closing(over(ws, Words("words-2", 64))) as other:
        assert other.preview() == (0, 3)
        assert other.sync() == 3
        assert len(near(other, "cat")) == 3
        assert counts(ws) == [Count("words-2", 64, 3)]
        incident(ws, "i0", "the dog is ill")
        assert near(other, "dog")[0] == "i0"
    assert meaning.sync() == 3, "the first one is told of all that it missed"
    assert near(meaning, "dog")[0] == "i0"


def test_a_text_of_which_there_can_be_no_vector_is_asked_for_once(ws, meaning, words):
    words.bad["strange"] = float("nan")
    incident(ws, "bad", "a strange thing")
    incident(ws, "good", "a plain thing")
    meaning.sync()
    before = len(words.asked)
    assert meaning.sync() == 0
    assert len(words.asked) == before
    assert near(meaning, "thing") == ["good"]
    assert "bad" in ids(asked(ws, meaning, "strange thing")), "words find it"


def test_anew_looks_at_all_and_everything_embeds_all(ws, meaning, words):
    incident(ws, "i", "the cat is ill")
    incident(ws, "j", "the dog is ill")
    meaning.sync()
    spoil(ws, "DELETE FROM vectors WHERE \"key\" = 'i'")
    assert meaning.sync() == 0
    assert meaning.sync(anew=True) == 1
    assert meaning.sync(everything=True) == 2
    words.broken = unavailable()
    with pytest.raises(type(words.broken)):
        meaning.sync(everything=True)
    assert counts(ws) == [Count("words-1", 256, 2)], "nothing was thrown away for it"


def test_a_damaged_vector_is_left_out(ws, meaning):
    for record_id in ("short", "zero", "good"):
        incident(ws, record_id, "the cat is ill")
    meaning.sync()
    for name, vector in (("short", bytes(1)), ("zero", bytes(1024))):
        spoil(ws, 'UPDATE vectors SET vector = ? WHERE "key" = ?', vector, name)
    with closing(over(ws, Words())) as fresh:
        assert near(fresh, "cat") == ["good"]


def test_the_newest_are_held_and_the_others_are_found_by_words(ws, words):
    with closing(over(ws, words)) as meaning:
        for number in range(10):
            incident(ws, f"i{number}", "the cat is ill", timestamp=f"2026-01-{number + 1:02}")
        meaning.sync()
        few = FileCollection(VectorFile(ws.paths.vectors), "incidents", words.name, words.dimension, most=4)
        question = CheckedEmbedder(words).question("the cat is ill")
        assert [one.key for one in few.nearest(question, 10)] == ["i6", "i7", "i8", "i9"]
        for number in range(10, 13):
            incident(ws, f"i{number}", "the cat is ill", timestamp=f"2026-01-{number + 1:02}")
        meaning.sync()
        assert len(few.nearest(question, 20)) <= 7
        assert {one.key for one in few.nearest(question, 20)} >= {"i10", "i11", "i12"}
    assert len(asked(ws, None, "cat", n=20).hits) == 13


# -- in batches ------------------------------------------------------------------------------------------------------


def test_a_search_embeds_some_and_the_next_one_goes_on(ws, meaning, words):
    for number in range(40):
        incident(ws, f"i{number}", f"the cat number {number}")
    meaning.nearest("cat", ["incident"], 5, patience=0)
    some = len(words.asked)
    assert 0 < some < 40, "newest first, a few at a time"
    assert "the cat number 39" in words.asked
    meaning.nearest("cat", ["incident"], 5, patience=0)
    assert some < len(words.asked)
    meaning.sync()
    assert sorted(set(words.asked) - {"cat"}) == sorted(f"the cat number {number}" for number in range(40))
    assert len(words.asked) == 41, "none twice"


def test_progress_is_told_and_ends_at_all(ws, meaning):
    for number in range(150):
        incident(ws, f"i{number}", f"the cat number {number}")
    told = []
    assert meaning.sync(lambda done, total: told.append((done, total))) == 150
    assert told[-1] == (150, 150)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert len(told) > 1


def test_the_thread_embeds_what_comes_until_it_is_told_to_stop(ws, meaning, words):
    import threading

    seen = threading.Event()
    words.before = lambda texts: seen.set() if any("later" in text for text in texts) else None
    incident(ws, "i", "the cat is ill")
    meaning.start()
    incident(ws, "j", "later the dog")
    assert seen.wait(60)
    meaning.stop()
    assert not meaning.state()["running"]
    assert meaning.state()["problem"] == ""


@pytest.mark.slow
def test_a_killed_process_goes_on_where_it_was(ws, meaning, words):
    for number in range(300):
        incident(ws, f"i{number}", f"the cat number {number}")
    code = (
        "import os, signal\n"
        "from nanomem_tui import open_workspace\n"
        "from tests.vectors.fakes import Words\n"
        "from tests.tiers.test_semantic import over\n"
        "words = Words()\n"
        "words.before = lambda texts: os.kill(os.getpid(), signal.SIGKILL) if len(words.asked) > 150 else None\n"
        f"ws = open_workspace({str(ws.paths.workspace)!r})\n"
        "over(ws, words).sync()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False
    )
    assert done.returncode == -signal.SIGKILL
    kept = counts(ws)[0].rows
    assert 150 <= kept < 300
    assert meaning.sync() == 300 - kept
    assert meaning.state()["done"] == meaning.state()["total"] == 300


# -- without ---------------------------------------------------------------------------------------------------------


def test_words_stand_in_and_it_is_said_why(ws, meaning, words):
    incident(ws, "i", "the cat is ill")
    words.broken = unavailable()
    found = asked(ws, meaning, "cat ill")
    assert (ids(found), found.by) == (["i"], "words")
    assert "nobody answers" in found.note
    assert found.hits[0].score == 1.0
    assert found.hits[0].parts["lexical"] == 1.0
    words.broken = None
    assert asked(ws, meaning, "cat ill").note == ""


def test_what_failed_is_among_the_problems_of_the_workspace(ws, monkeypatch):

    words = Words()
    monkeypatch.setattr(embedders, "embedder_of", lambda settings, paths: words)
    incident(ws, "i", "the cat is ill")
    words.before = lambda texts: setattr(words, "broken", None if texts == ["cat"] else unavailable())
    assert ids(ws.records.semantic_search("cat")) == ["i"]
    assert [problem.what for problem in ws.problems()] == ["nobody answers"]
    words.before = lambda texts: setattr(words, "broken", None)
    assert ws.records.semantic_search("cat").note == ""
    assert ws.problems() == []


def test_where_nothing_is_recorded_nothing_is_made(ws, meaning, words):
    assert asked(ws, meaning, "cat").hits == ()
    assert meaning.sync() == 0
    assert meaning.state() == {
        "model": "", "index": "", "done": 0, "total": 0, "running": False, "problem": ""
    }  # fmt: skip
    assert words.asked == []
    assert not ws.paths.work_database.exists()


def missing():
    raise MissingExtra("search by meaning needs numpy, which is not installed", "", "pip install it")


@pytest.mark.parametrize(
    ("text", "maker", "said"),
    [
        ("сервер упал", lambda: CheckedEmbedder(Words("all-MiniLM-L6-v2 test")), "reads no word of this language"),
        ("the cat is ill", missing, "pip install it"),
    ],
)
def test_where_a_model_cannot_read_or_is_missing_words_find_and_one_line_says_so(ws, text, maker, said):
    incident(ws, "i", text)
    with closing(RecordMeaning(ws.store, ws.tier_database, maker)) as meaning:
        found = asked(ws, meaning, text)
    assert ids(found) == ["i"]
    assert said in found.note


@pytest.mark.slow
def test_the_real_model_finds_what_shares_no_word(ws):
    incident(ws, "web", "The web server refuses connections", resolution="restarted nginx")
    incident(ws, "disk", "No space left on the volume", resolution="old logs removed")
    incident(ws, "mail", "Newsletters arrive twice", resolution="the queue was emptied")
    found = ws.records.semantic_search("storage is full", n_results=1)
    assert ids(found) == ["disk"]
    assert found.by == "words and meaning"
    assert ids(ws.records.semantic_search("the homepage does not load", ["incidents"], 1)) == ["web"]
