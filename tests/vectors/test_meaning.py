"""Items are embedded once, kept in the database, found by meaning, and in step with what changes."""

from __future__ import annotations

import gc
import os
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.atomic import locked
from nanomem_tui.core.errors import BadAnswer, MissingExtra, ModelUnavailable, NanomemError, Refused, StoreError
from nanomem_tui.store.snapshot import Snapshot
from nanomem_tui.vectors import semantic_search as service
from nanomem_tui.vectors.collection import VectorFile
from nanomem_tui.vectors.semantic_search import SemanticSearch
from tests.hygiene.repository import ROOT
from tests.store.homes import make_home
from tests.vectors.fakes import Words, made, unavailable

LOCK = "embedding.lock"
CAT, RUST, TEA = "the cat sleeps on the sofa", "rust compiles slowly", "tea without sugar"


def meaning(ws, words):
    return SemanticSearch(ws.store, ws.settings, made(words))


def texts(ws, found):
    return [ws.items.get(key).text for key, _ in found]


def until(true, seconds=60.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.01)


def ask(workspace, query, name="vectors.db"):
    with closing(sqlite3.connect(workspace.parent / "nanomem" / name)) as connection, connection:
        return connection.execute(query).fetchall()


def counts(ws):
    return VectorFile(ws.paths.vectors).counts(["items"])


# -- finding ----------------------------------------------------------------------------------------------------------


def test_the_nearest_item_comes_first_with_its_distance(ws):
    found = meaning(ws, Words()).nearest("a cat on a sofa", 3)
    assert texts(ws, found)[0] == CAT
    assert len(found) == 3
    assert 0 < found[0][1] < 0.7 < found[2][1] <= 1
    assert found == sorted(found, key=lambda one: one[1])


def test_a_preview_leaves_nobody_who_follows_the_store(ws):
    def told_of(text):
        """How many in this process hold the id of a new item: who follows the store is told of it."""
        row = ws.items.add(text)[1]
        return sum(type(one) is set and row.id in one for one in gc.get_objects())

    before = told_of("before")
    assert meaning(ws, Words()).preview()[0] == 0
    assert told_of("after") == before


def test_only_what_is_asked_for_is_found(ws):
    asked = meaning(ws, Words())
    tea = next(item.id for item in ws.items.all() if item.text == TEA)
    assert texts(ws, asked.nearest("a cat on a sofa", 3, {tea, "of another"})) == [TEA]
    assert asked.nearest("a cat on a sofa", 3, set()) == []


def test_neighbours_of_an_item_leave_it_out(ws):
    _, other, _ = ws.items.add("a cat sleeps anywhere")
    asked = meaning(ws, Words())
    found = asked.near(other.id, 2)
    assert texts(ws, found)[0] == CAT
    assert len(found) == 2
    assert asked.near("of nobody", 2) == []


def test_what_changes_is_found_as_it_is_now(ws):
    words = Words()
    asked = meaning(ws, words)
    tea = asked.nearest("tea sugar", 1)[0][0]
    ws.items.edit(tea, text="coffee with milk")
    assert texts(ws, asked.nearest("coffee milk", 1)) == ["coffee with milk"]
    assert asked.nearest("tea without sugar", 1)[0][1] > 0.5
    ws.items.set_enabled([tea], False)
    assert tea not in dict(asked.nearest("coffee milk", 9))
    ws.items.set_enabled([tea], True)
    assert asked.nearest("coffee milk", 1)[0][0] == tea
    ws.items.delete([tea])
    assert tea not in dict(asked.nearest("coffee milk", 9))
    ws.undo()
    assert asked.nearest("coffee milk", 1)[0][0] == tea
    _, new, _ = ws.items.add("kombucha ferments")
    assert asked.nearest("kombucha", 1)[0][0] == new.id


def test_a_turn_that_counts_a_use_embeds_nothing_again(ws):
    words = Words()
    asked = meaning(ws, words)
    asked.sync()
    before = list(words.asked)
    ws.items.set_pinned([ws.items.all()[0].id], True)
    assert asked.sync() == 0
    assert words.asked == before


# -- kept -------------------------------------------------------------------------------------------------------------


def test_what_was_embedded_is_not_embedded_again(workspace):
    first, second = Words(), Words()
    with open_workspace(workspace) as ws:
        assert meaning(ws, first).sync() == 7
    with open_workspace(workspace) as ws:
        asked = meaning(ws, second)
        assert texts(ws, asked.nearest("a cat on a sofa", 1)) == [CAT]
    assert second.asked == ["a cat on a sofa"]
    assert ask(workspace, "SELECT DISTINCT model, length(vector) FROM vectors") == [("words-1", 1024)]


def test_everything_is_embedded_anew_where_it_is_in_use(workspace, ws):
    asked = meaning(ws, Words())
    assert texts(ws, asked.nearest("a cat on a sofa", 1)) == [CAT]
    ask(workspace, "UPDATE vectors SET vector = (SELECT v.vector FROM vectors v ORDER BY v.key LIMIT 1)")
    assert asked.sync(everything=True) == 7
    assert texts(ws, asked.nearest("a cat on a sofa", 1)) == [CAT]


def test_progress_is_told_batch_by_batch_and_in_words(ws, monkeypatch):
    monkeypatch.setattr(service, "BATCH", 3)
    told: list[tuple[int, int]] = []
    lines: list[str] = []
    asked = meaning(ws, Words())

    def tell(done, total):
        told.append((done, total))
        lines.append(asked.progress)

    asked.sync(tell)
    assert told == [(3, 7), (6, 7), (7, 7)]
    assert lines == ["embedding 3 of 7", "embedding 6 of 7", ""]
    state = asked.state()
    assert (state["model"], state["dimension"], state["done"], state["total"]) == ("words-1", 256, 7, 7)
    assert (state["index"], state["running"], state["problem"]) == ("rows", False, "")


def test_the_state_before_anything_was_asked_is_that_of_the_database(workspace):
    with open_workspace(workspace) as ws:
        assert meaning(ws, Words()).state()["done"] == 0
        meaning(ws, Words()).sync()
    with open_workspace(workspace) as ws:
        never = SemanticSearch(ws.store, ws.settings, lambda: pytest.fail("no model is wanted"))
        state = never.state()
    assert (state["model"], state["done"], state["total"]) == ("words-1", 7, None)


def test_another_model_is_never_mixed_with_the_one_before(workspace, monkeypatch):
    monkeypatch.setattr(service, "FEW", 2)
    with open_workspace(workspace) as ws:
        meaning(ws, Words("old")).sync()
    new = Words("new", 32)
    with open_workspace(workspace) as ws:
        asked = meaning(ws, new)
        found = asked.nearest("a cat on a sofa", 9, patience=0)
        assert len(found) == 2, "one batch of the new model, and nothing of the old"
        assert asked.progress == "embedding 2 of 7"
        assert [(held.model, held.rows) for held in counts(ws)] == [("old", 7), ("new", 2)]
        assert asked.sync() == 5
        assert [*map(tuple, counts(ws))] == [("new", 32, 7)]


def test_vectors_of_what_was_deleted_go_and_of_what_is_off_stay(workspace):
    with open_workspace(workspace) as ws:
        meaning(ws, Words()).sync()
        gone, off = (item.id for item in ws.items.all()[:2])
        ws.items.delete([gone])
        ws.items.set_enabled([off], False)
    with open_workspace(workspace) as ws:
        meaning(ws, Words()).sync()
        assert ask(workspace, f"SELECT count(*) FROM vectors WHERE key = '{gone}'") == [(0,)]
        ws.items.set_enabled([off], True)
        words = Words()
        assert meaning(ws, words).sync() == 0
        third = ws.items.all()[0].id
        asked = meaning(ws, words)
        asked.sync()
        ws.items.delete([third])
        asked.sync()
        assert ask(workspace, f"SELECT count(*) FROM vectors WHERE key = '{third}'") == [(0,)]


def test_what_a_search_embeds_is_kept_for_the_next_process(workspace):
    with open_workspace(workspace) as ws:
        asked = meaning(ws, Words())
        asked.nearest("a cat on a sofa", 1)
        assert ask(workspace, "SELECT count(*) FROM vectors") == [(7,)]
        assert (workspace.parent / "nanomem" / "vectors.db").stat().st_mode & 0o077 == 0


def test_a_search_where_nothing_was_written_yet_writes_nothing(tmp_path):
    folder = make_home(tmp_path)
    with open_workspace(folder) as ws:
        asked = meaning(ws, Words())
        assert len(asked.nearest("item number 3", 2)) == 2
        assert not (folder.parent / "nanomem").exists()
        ws.items.add("the first change")
        ws.flush()
        asked.sync()
        assert ask(folder, "SELECT count(*) FROM vectors") == [(5,)], "now there is where to keep them"


@pytest.mark.slow
def test_a_search_that_writes_vectors_loads_neither_sqlalchemy_nor_textual(workspace):
    code = """
import sys
from nanomem_tui import open_workspace
from nanomem_tui.vectors.collection import PassageVectors
from tests.vectors.fakes import Words
from nanomem_tui.vectors.semantic_search import SemanticSearch
ws = open_workspace(sys.argv[1])
asked = SemanticSearch(ws.store, ws.settings, Words)
assert asked.nearest("a cat on a sofa", 1)
passages = PassageVectors(asked.maker, ws.paths.vectors)
passages.make(["tea"])
print(sorted({"sqlalchemy", "sqlmodel", "pydantic", "textual"} & sys.modules.keys()))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(workspace)], capture_output=True, text=True, check=False, cwd=ROOT, timeout=60
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
    assert ask(workspace, "SELECT collection, count(*) FROM vectors GROUP BY 1") == [("items", 7), ("passages", 1)]


# -- side by side -----------------------------------------------------------------------------------------------------


def test_the_thread_embeds_what_is_there_and_what_comes(ws):
    words = Words()
    asked = meaning(ws, words)
    asked.start()
    try:
        until(lambda: asked.state()["done"] == 7)
        assert asked.state()["running"]
        ws.items.add("kombucha ferments")
        until(lambda: "kombucha ferments" in words.asked)
    finally:
        asked.close()
    assert not asked.state()["running"]
    assert not any(thread.name == "nanomem-items" for thread in threading.enumerate())


def test_a_search_beside_the_thread_looks_at_what_is_there(ws, monkeypatch):
    monkeypatch.setattr(service, "BATCH", 2)
    going, go_on = threading.Event(), threading.Event()
    words = Words()

    def wait(asked):
        if len(words.asked) >= 2 and threading.current_thread().name == "nanomem-items":
            going.set()
            assert go_on.wait(60)

    words.before = wait
    asked = meaning(ws, words)
    asked.start()
    try:
        assert going.wait(60)
        assert len(asked.nearest("a cat on a sofa", 9)) == 2
        assert asked.progress == "embedding 2 of 7"
        go_on.set()
        until(lambda: not asked.progress)
        assert len(asked.nearest("a cat on a sofa", 9)) == 7
    finally:
        go_on.set()
        asked.close()


def test_only_one_process_embeds_and_the_other_takes_what_it_made(workspace, monkeypatch):
    with open_workspace(workspace) as ws, open_workspace(workspace) as other:
        words = Words()
        asked = meaning(ws, words)
        with locked(ws.paths.data / LOCK, wait=0):
            with pytest.raises(Refused, match="another process embeds"):
                asked.sync()
            asked.start()
            try:
                meaning(other, Words()).nearest("anything", 1)  # embeds, as a search does, without waiting for anybody
                until(lambda: asked.state()["done"] == 7)
            finally:
                asked.close()
        assert words.asked == []


# -- what goes wrong --------------------------------------------------------------------------------------------------


def test_without_a_model_there_is_one_line_that_says_what_to_install(ws):
    def missing():
        raise MissingExtra("search by meaning needs numpy", "", "pip install '.[vector]'")

    asked = SemanticSearch(ws.store, ws.settings, missing)
    assert "pip install" in asked.why_not
    with pytest.raises(MissingExtra):
        asked.nearest("a cat", 1)
    asked.start()
    until(lambda: not asked.state()["running"])
    asked.close()
    assert asked.problems() == []


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 0.0])
def test_a_text_of_which_the_model_makes_no_vector_is_left_out_and_told(ws, value):
    words = Words()
    words.bad["tea"] = value
    asked = meaning(ws, words)
    assert asked.sync() == 6
    assert len(asked.nearest("anything at all", 9)) == 6
    assert asked.progress == ""
    assert ["1 of the texts" in problem.what for problem in asked.problems()] == [True]
    assert asked.sync() == 0, "it is not asked for again"
    words.bad.clear()
    tea = next(item.id for item in ws.items.all() if item.text == TEA)
    ws.items.edit(tea, text="tea with honey")
    assert asked.sync() == 1
    assert asked.problems() == []


def test_a_text_at_which_the_model_fails_costs_only_itself(ws):
    words = Words()

    def fail(asked):
        if any("tea" in text for text in asked):
            raise ValueError("no such token")

    words.before = fail
    asked = meaning(ws, words)
    assert asked.sync() == 6
    assert asked.problems()[0].severity == "note"


@pytest.mark.parametrize("bad", [float("nan"), 0.0])
def test_a_model_that_makes_no_vector_at_all_is_told_and_nothing_is_written(workspace, ws, bad):
    words = Words()
    words.bad[""] = bad
    asked = meaning(ws, words)
    with pytest.raises(BadAnswer, match=r"a vector (is zero|holds what is no number)"):
        asked.sync()
    assert not (workspace.parent / "nanomem" / "vectors.db").exists()
    words.bad.clear()
    assert asked.sync() == 7


def test_vectors_of_the_wrong_size_are_refused(workspace, ws):
    words = Words()
    words.size = 48
    asked = meaning(ws, words)
    with pytest.raises(BadAnswer, match="1 x 48 numbers where 1 x 256 belong"):
        asked.sync()
    assert not (workspace.parent / "nanomem" / "vectors.db").exists()


@pytest.mark.parametrize("error", [RuntimeError("the session died"), unavailable()], ids=["its own", "ours"])
def test_a_model_that_fails_midway_keeps_what_was_made_and_goes_on_later(workspace, ws, error, monkeypatch):
    monkeypatch.setattr(service, "BATCH", 2)
    words = Words()

    def fail(asked):
        words.broken = error if len(words.asked) >= 4 else None

    words.before = fail
    asked = meaning(ws, words)
    with pytest.raises(NanomemError):
        asked.sync()
    assert ask(workspace, "SELECT count(*) FROM vectors") == [(4,)]
    words.before, words.broken = lambda texts: None, None
    assert asked.sync() == 3
    assert ask(workspace, "SELECT count(DISTINCT key) FROM vectors") == [(7,)]


def test_a_search_while_the_model_fails_at_texts_says_so_and_finds_what_is_there(ws):
    words = Words()
    asked = meaning(ws, words)
    asked.sync()
    ws.items.add("kombucha ferments")

    def fail(asked):
        if "kombucha ferments" in asked:
            raise unavailable()

    words.before = fail
    assert texts(ws, asked.nearest("a cat on a sofa", 1)) == [CAT]
    assert asked.state()["problem"].startswith("nobody answers")
    words.before = lambda texts: None
    asked.nearest("a cat on a sofa", 1)
    assert asked.state()["problem"] == ""


def test_the_thread_tries_again_after_a_failure(ws, monkeypatch):
    monkeypatch.setattr(service, "PAUSE", 0.01)
    words = Words()
    words.broken = unavailable()
    asked = meaning(ws, words)
    asked.start()
    try:
        until(lambda: asked.problems())
        words.broken = None
        until(lambda: asked.state()["done"] == 7 and not asked.problems())
    finally:
        asked.close()


@pytest.mark.parametrize(
    "spoilt",
    [
        "vector = x'00'",
        "vector = zeroblob(1024)",
        "vector = 'a text'",
        "vector = replace(vector, x'3f', x'ff')",
        "text_hash = 'of another text'",
    ],
)
def test_rows_that_are_no_vectors_are_made_anew(workspace, spoilt):
    with open_workspace(workspace) as ws:
        meaning(ws, Words()).sync()
    good = ask(workspace, "SELECT key, text_hash, vector FROM vectors ORDER BY key")
    ask(workspace, f"UPDATE vectors SET {spoilt} WHERE key = (SELECT min(key) FROM vectors)")
    with open_workspace(workspace) as ws:
        words = Words()
        assert meaning(ws, words).sync() == 1
        assert len(words.asked) == 1
    assert ask(workspace, "SELECT key, text_hash, vector FROM vectors ORDER BY key") == good


@pytest.mark.parametrize("damage", ["no database at all" * 999, ""])
def test_a_file_that_is_damaged_is_made_anew(workspace, ws, damage):
    meaning(ws, Words()).sync()
    ws.paths.vectors.write_text(damage)
    asked = meaning(ws, Words())
    assert texts(ws, asked.nearest("a cat on a sofa", 1)) == [CAT]
    assert asked.problems() == []
    assert ask(workspace, "SELECT count(*) FROM vectors") == [(7,)]


def test_a_file_that_goes_while_it_is_used_costs_no_search(workspace, ws):
    asked = meaning(ws, Words())
    asked.sync()
    ws.paths.vectors.unlink()
    assert texts(ws, asked.nearest("a cat on a sofa", 1)) == [CAT]
    ws.items.add("kombucha ferments")
    assert len(asked.nearest("a cat on a sofa", 9)) == 8
    asked.close()
    assert meaning(ws, Words()).sync() == 7
    assert ask(workspace, "SELECT count(*) FROM vectors") == [(8,)]


def test_a_database_that_cannot_be_written_costs_no_search(ws, monkeypatch):
    asked = meaning(ws, Words())

    def full(*_):
        raise StoreError("no space left for the database", "nanomem.db", "free some space")

    with monkeypatch.context() as patched:
        patched.setattr(VectorFile, "write", full)
        assert texts(ws, asked.nearest("a cat on a sofa", 1)) == [CAT]
        assert [problem.what for problem in asked.problems()] == ["no space left for the database"]
        with pytest.raises(StoreError):
            asked.sync()
    assert asked.sync() == 0
    assert counts(ws)[0].rows == 7, "kept once there was space"
    assert asked.problems() == []


@pytest.mark.slow
def test_a_text_of_a_megabyte_is_embedded_by_its_beginning(ws):
    words = Words()
    ws.items.add("walrus " * 142_000)
    asked = meaning(ws, words)
    assert asked.nearest("walrus", 1)[0][1] < 0.1
    assert max(map(len, words.asked)) <= 8_000


def test_items_change_in_all_ways_while_they_are_embedded(ws, monkeypatch):
    monkeypatch.setattr(service, "BATCH", 2)
    words = Words()
    asked = meaning(ws, words)
    ids = [item.id for item in ws.items.all()]
    changes = iter(
        [
            lambda: ws.items.edit(ids[0], text="quagga"),
            lambda: ws.items.delete([ids[1]]),
            lambda: ws.items.set_enabled([ids[2]], False),
            lambda: ws.items.add("okapi"),
            lambda: ws.items.edit(ids[0], text="zebra"),
        ]
    )
    words.before = lambda texts: next(changes, lambda: None)()
    asked.sync()
    assert {item.text for item in ws.items.all() if item.enabled} == set(texts(ws, asked.nearest("x", 99)))
    assert asked.nearest("zebra", 1)[0] == (ids[0], pytest.approx(0, abs=0.05))


def test_a_question_waits_for_nobody_who_holds_the_rows(ws):
    """Whoever changes rows holds their lock for long, and an embedding goes on meanwhile."""
    asked = meaning(ws, Words())
    asked.sync()
    snapshot: Snapshot = ws.store.snapshot
    done = threading.Event()
    with snapshot.lock:
        worker = threading.Thread(target=lambda: (asked.sync(), done.set()))
        worker.start()
        ws.items.add("okapi")
    worker.join(60)
    assert done.is_set()


@pytest.mark.slow
def test_two_threads_ask_and_change_at_once(ws):
    asked = meaning(ws, Words())
    asked.sync()
    failed: list[BaseException] = []

    def work(number):
        try:
            for turn in range(15):
                ws.items.add(f"walrus {number} {turn}")
                found = asked.nearest(f"walrus {number} {turn}", 3)
                assert found
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    asked.start()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    asked.close()
    assert failed == []
    assert asked.sync() >= 0
    assert asked.state()["done"] == 7 + 45


def test_nothing_is_left_open(workspace):
    before = len(os.listdir("/proc/self/fd"))
    with open_workspace(workspace) as ws:
        asked = meaning(ws, Words())
        asked.start()
        until(lambda: asked.state()["done"] == 7)
        asked.close()
    assert len(os.listdir("/proc/self/fd")) <= before


def test_a_model_that_cannot_say_its_size_is_told(ws):
    class Far(Words):
        @property
        def dimension(self):
            raise ModelUnavailable("nobody answers", "http://127.0.0.1:1", "")

        @dimension.setter
        def dimension(self, value): ...

    asked = meaning(ws, Far())
    with pytest.raises(ModelUnavailable):
        asked.nearest("a cat", 1)


def test_closing_waits_for_no_model_that_never_answers(ws, monkeypatch):
    monkeypatch.setattr(service, "LEAVE", 0.05)
    begun, go_on = threading.Event(), threading.Event()
    words = Words()

    def never(texts):
        begun.set()
        assert go_on.wait(60)

    words.before = never
    asked = meaning(ws, words)
    asked.start()
    thread = next(one for one in threading.enumerate() if one.name == "nanomem-items")
    assert begun.wait(60)
    asked.close()
    go_on.set()
    thread.join(60)
    assert counts(ws) == [], "it writes no more"
