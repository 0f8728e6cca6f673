"""Recall: who sees what, why an item was given or not, the same answer from every backend."""

import contextlib
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.settings import Settings
from nanomem_tui.memory.recall.recall import Question, Recall
from nanomem_tui.memory.retention import mark_superseded
from nanomem_tui.memory.scopes import Audience, chat_key, user_key
from nanomem_tui.store.values import KINDS, Item
from tests.store.homes import fill, make_home

HOME = {"items": 0}
SHARES_A_HOME = True

CHAT = Audience("telegram", "1", "7")
TEXTS = st.lists(st.sampled_from(["tea", "dog", "小满", "sun"]), min_size=1, max_size=5).map(" ".join)
AUDIENCES = [Audience(channel, chat, sender) for channel in ("telegram", "discord") for chat in "12" for sender in "78"]


def recall_of(ws, **settings):
    recall = Recall(ws.store, Settings(**settings))
    recall.warm(background=False)
    return recall


def ids(recalled):
    return [hit.item.id for hit in recalled.hits]


def item(key, text, **rest):
    return Item(key, text, updated_at="2026-01-01T00:00:00+00:00", **rest)


scoped = st.one_of(
    st.sampled_from(AUDIENCES).map(lambda a: ("chat", chat_key(a.channel, a.chat_id))),
    st.sampled_from(AUDIENCES).map(lambda a: ("user", user_key(a.channel, a.sender_id))),
    st.just(("global", "workspace:w:global")),
    st.sampled_from(AUDIENCES).map(lambda a: ("global", chat_key(a.channel, a.chat_id))),
)


@pytest.fixture(params=["ram", "sqlite_fts"])
def backend(request):
    return request.param


@pytest.fixture
def recalling(workspace, backend):
    """`recalling(rows)`: recall of a home whose database holds these rows."""
    with contextlib.ExitStack() as opened:

        def recall(rows):
            with open_workspace(workspace) as made:
                fill(made, rows)
            made = opened.enter_context(open_workspace(workspace))
            return recall_of(made) if backend == "ram" else Recall(made.store, Settings(recall_backend=backend))

        yield recall


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with open_workspace(make_home(tmp_path_factory.mktemp("recall"), items=0)) as made:
        yield made


@given(
    rows=st.lists(st.tuples(TEXTS, scoped, st.sampled_from(KINDS), st.booleans()), max_size=25),
    query=TEXTS,
    audience=st.sampled_from(AUDIENCES),
    scope=st.sampled_from(["all", "chat", "user", "global"]),
    profile=st.sampled_from(["default", "seed000", "seed001"]),
    whole=st.booleans(),
)
def test_nothing_of_a_foreign_chat_or_user_is_ever_recalled(shared, rows, query, audience, scope, profile, whole):
    items = [
        Item(f"i{n}", text, kind, scope_type, scope_key, enabled=enabled)
        for n, (text, (scope_type, scope_key), kind, enabled) in enumerate(rows)
    ]
    snapshot = shared.store.load("item")
    snapshot.clear()
    snapshot.put("item", items)
    recall = recall_of(shared)
    recalled = recall.ask(Question(query, "", audience, scope, limit=50, profile=profile, whole=whole))
    own = {audience.chat_key, audience.user_key}
    for hit in [*recalled.hits, *(cut.hit for cut in recalled.cut)]:
        row = hit.item
        assert row.enabled
        assert row.scope_key in own or row.scope_key == "workspace:w:global"
        assert row.scope_type != "global" or row.scope_key == "workspace:w:global"
        assert row.scope_type != "user" or row.kind in ("preference", "fact")
        assert scope in ("all", row.scope_type)


@pytest.mark.parametrize("profile", ["default", "seed000", "seed001"])
def test_a_chat_that_is_called_like_a_person_is_not_given_what_the_person_told(recalling, profile):
    key = user_key("telegram", "ana")
    told = item("seven", "tea", scope_type="user", scope_key=key, channel="telegram", chat_id="7", sender_id="ana")
    recall = recalling([told, told._replace(id="private", text="dog", chat_id="ana")])
    for audience, seen in (
        (Audience("telegram", "ana"), {"private"}),
        (Audience("telegram", "9", "ana"), {"private", "seven"}),
        (Audience("telegram", "9"), set()),
    ):
        found = recall.ask(Question("tea dog", "", audience, profile=profile))
        assert set(ids(found)) == seen
        assert not found.cut


def test_each_hit_says_what_its_score_is_made_of_and_in_which_layer(ws):
    fill(
        ws,
        [
            item("c", "likes green tea", scope_type="chat", scope_key=chat_key("telegram", "1")),
            item("u", "tea at five", scope_type="user", scope_key=user_key("telegram", "7")),
            item("g", "tea for everybody", scope_type="global", scope_key="workspace:x:global"),
            item("other", "tea elsewhere", scope_type="chat", scope_key=chat_key("telegram", "2")),
        ],
    )
    recalled = recall_of(ws).ask(Question("green TEA?", "", CHAT))
    assert {hit.item.id: hit.layer for hit in recalled.hits} == {"c": "chat", "u": "user", "g": "global"}
    assert recalled.hits[0].item.id == "c"
    assert recalled.words == ("green", "tea")
    assert recalled.backend == "ram"
    for hit in recalled.hits:
        shares = 1 + hit.parts["importance"] + hit.parts["recency"] + hit.parts["hits"]
        assert hit.score == pytest.approx(hit.parts["lexical"] * shares)
        assert hit.parts["terms"] == [word for word in ("green", "tea") if word in hit.item.text]
    assert {hit.layer for hit in recall_of(ws).ask(Question("tea")).hits} == {"owner"}


def test_every_cut_has_its_reason(ws):
    mine = {"scope_type": "user", "scope_key": user_key("telegram", "7")}
    fill(
        ws,
        [
            *(item(f"u{n}", f"tea {'x ' * n}", **mine) for n in range(4)),
            *(item(f"g{n}", f"tea tea {'y' * 300}", scope_key="workspace:x:global") for n in range(3)),
            item("off", "tea", enabled=False),
            item("old", "tea", expires_at="2026-01-02T00:00:00+00:00"),
            item("far", "tea", scope_type="chat", scope_key=chat_key("telegram", "2")),
            item("else", "coffee"),
            item("waits", "tea", enabled=False, meta_json='{"inbox": {"why": "secret"}}'),
        ],
    )
    ws.items.delete(["u3"])
    recall = recall_of(ws, recall_user_layer_results=2)
    question = Question("tea", "", CHAT, limit=5, max_chars=700)
    recalled = recall.ask(question)
    assert len(recalled.hits) == 4
    why = {cut.hit.item.id: cut.why for cut in recalled.cut}
    assert set(why.values()) <= {"over maxResults 5", "user layer full (2)", "over the budget of 700 characters"}
    assert why["u2"] == "user layer full (2)"
    reasons = {key: recall.why_not(question, key) for key in ("u0", "off", "old", "far", "else", "waits", "u3", "no")}
    assert reasons == {
        "u0": "",
        "off": "disabled",
        "old": "expired",
        "far": "not visible here: chat scope channel:telegram:chat:2",
        "else": "shares no word with the message",
        "waits": "waits in the inbox to be accepted",
        "u3": "deleted",
        "no": "there is no such item",
    }
    assert recall.why_not(question._replace(kinds=("decision",)), "u0") == "another kind: fact"
    assert recall.why_not(question, "u2") == "user layer full (2)"
    fill(ws, [item("long", "tea " + "word " * 200), *(item(f"m{n:02}", "tea") for n in range(40))])
    assert recall.why_not(question._replace(limit=1), "long").startswith("rank ")


def test_a_slip_is_corrected_and_said(ws):
    fill(ws, [item("p", "she paints pottery"), item("q", "the weather")])
    recalled = recall_of(ws).ask(Question("any potery?"))
    assert ids(recalled) == ["p"]
    assert recalled.corrected == {"potery": "pottery"}, "the words as they are written, no stems"


def test_the_words_of_what_was_so_before_find_what_is_so_now(recalling, backend):
    old = mark_superseded(item("a", "I live in Porto"), item("b", ""), "item", "outdated", "2026-02-01T00:00:00+00:00")
    between = mark_superseded(
        item("b", "I moved to Faro"), item("c", ""), "item", "outdated", "2026-03-01T00:00:00+00:00"
    )
    rows = [old, between, item("c", "I moved to Lisbon"), item("d", "The harbour is closed")]
    recall = recalling(rows)
    found = recall.ask(Question("Where do I live?"))
    assert (ids(found), found.backend) == (["c"], backend)
    parts = dict(found.hits[0].parts)
    assert (parts["terms"], parts["replaced"]) == (["live"], "a")


def test_what_took_no_ones_place_is_not_found_by_what_is_disabled_or_gone(recalling):
    gone = item("b", "I moved to Lisbon", is_deleted=True)
    old = mark_superseded(item("a", "I live in Porto"), gone, "item", "outdated", "2026-02-01T00:00:00+00:00")
    recall = recalling([old, gone, item("c", "I live in Rome", enabled=False), item("d", "The harbour is closed")])
    assert ids(recall.ask(Question("Where do I live?"))) == []


def test_a_word_that_everybody_uses_answers_no_question_about_something_that_nobody_spoke_of(recalling):
    recall = recalling(
        [item("a", "Ana likes her coffee black"), item("b", "The phone number of the dentist is 555 0199")]
    )
    asked = ("what is the weather like?", "is 5 a prime number?", "what does Ana like?", "the dentist's number")
    assert [ids(recall.ask(Question(text))) for text in asked] == [[], [], ["a"], ["b"]]


def test_a_common_word_that_no_row_holds_is_no_slip_of_another(recalling, backend):
    recall = recalling(
        [item("c", "I like coffee"), item("s", "I like sushi"), item("b", "Berlin is where the flat is")]
    )
    found = recall.ask(Question("where do I live Berlin"))
    assert (ids(found), dict(found.corrected), found.backend) == (["b"], {}, backend)
    assert dict(recall.ask(Question("liek")).corrected) == {"liek": "like"}


def test_a_pictograph_is_found(recalling, backend):
    recall = recalling([item("p", "🍕🍕🍕 is the best food"), item("v", "❤️ to the 🇩🇪 flag"), item("o", "food")])
    for asked, key, term in (("🍕", "p", "🍕"), ("❤", "v", "❤"), ("🇩🇪", "v", "🇩🇪")):
        found = recall.ask(Question(asked))
        assert (ids(found), found.backend) == ([key], backend), asked
        assert found.hits[0].parts["terms"] == [term]
    assert ids(recall.ask(Question("🍣"))) == []


def test_what_a_short_word_is_corrected_to_counts_less_than_the_word(ws):
    fill(ws, [item("t", "a train at noon"), item("p", "a piano at noon")])
    recall = recall_of(ws)
    slip, word = (recall.ask(Question(text)).hits[0].score for text in ("trian", "train"))
    assert 0 < slip < 0.9 * word
    long, right = (recall.ask(Question(text)).hits[0].score for text in ("a pianno", "piano"))
    assert long == pytest.approx(right)


def test_a_word_that_nobody_wrote_meets_those_that_begin_like_it(recalling, backend):
    rows = [item("db", "DB: postgresql 16"), item("k", "kubernetes runs it"), item("py", "python3 is used")]
    recall = recalling([*rows, item("tube", "the tube at noon"), item("both", "a deploy and a deployment12")])
    found = recall.ask(Question("postgres"))
    assert (ids(found), dict(found.corrected)) == (["db"], {"postgres": "postgresql"})
    assert "k" in ids(recall.ask(Question("kube")))
    assert ids(recall.ask(Question("which python?"))) == ["py"]
    assert ids(recall.ask(Question("pos"))) == ids(recall.ask(Question("zzzz"))) == []
    known = recall.ask(Question("deploy"))
    assert not known.corrected
    assert found.backend == backend


def test_a_longer_form_counts_less_than_the_word(ws):
    fill(ws, [item("short", "postgresql"), item("other", "unrelated")])
    recall = recall_of(ws)
    exact, longer = recall.ask(Question("postgresql")).hits[0], recall.ask(Question("postgres")).hits[0]
    assert 0 < longer.score < exact.score


def test_the_message_replied_to_counts_less(ws):
    fill(ws, [item("asked", "green tea"), item("replied", "black coffee")])
    assert ids(recall_of(ws).ask(Question("tea", "coffee"))) == ["asked", "replied"]
    assert ids(recall_of(ws).ask(Question("", "coffee"))) == ["replied"]


def test_weights_and_profiles_are_chosen_by_the_question(ws):
    fill(ws, [item("loud", "tea", importance=0.1), item("big", "tea tea", importance=1.0)])
    recall = recall_of(ws)
    assert ids(recall.ask(Question("tea"))) == ["big", "loud"]
    assert ids(recall.ask(Question("tea", weights={"importance": -0.9}))) == ["loud", "big"]
    assert set(recall.ask(Question("tea", profile="seed000")).hits[0].parts) >= {"overlap", "coverage"}
    assert set(recall.ask(Question("tea", profile="seed001")).hits[0].parts) >= {"fts"}
    assert recall.weights("seed001") == {"fts": 0.65, "importance": 0.2, "recency": 0.15}
    for bad in (
        {"profile": "seed9"},
        {"weights": {"luck": 1.0}},
        {"scope": "galaxy"},
        {"audience": Audience(None, "1")},
    ):
        with pytest.raises(BadInput):
            recall.ask(Question("tea", **bad))


def test_seed_001_gives_two_of_the_user_layer_and_nothing_global(ws):
    mine = {"scope_type": "user", "scope_key": user_key("telegram", "7")}
    fill(
        ws,
        [
            *(item(f"u{n}", "tea", **mine) for n in range(4)),
            item("decided", "tea", kind="decision", **mine),
            item("c", "tea", scope_type="chat", scope_key=chat_key("telegram", "1"), kind="episodic"),
            item("g", "tea", scope_key="workspace:x:global"),
        ],
    )
    found = ids(recall_of(ws, recall_profile="seed001").ask(Question("tea", "", CHAT)))
    assert len(found) == 3
    assert set(found) < {"c", "u0", "u1", "u2", "u3"}


def test_hostile_questions_are_only_words(ws):
    fill(ws, [item("t", "tea")])
    recall = recall_of(ws)
    for text in ("", " \n", '" OR *', "NEAR(tea", "\0", "\ud800", "tea " * 300_000, "☃" * 5000):
        assert len(recall.ask(Question(text)).hits) <= 1
    assert ids(recall.ask(Question("tea", limit=0))) == []


@pytest.mark.parametrize("query", ["window seat", "coffe tea", "小满 五月", "prefers the aisle", "zzz"])
def test_both_backends_give_the_same_best_items(workspace, query):
    words = ["window", "seat", "tea", "coffee", "aisle", "prefers", "小满", "五月", "train", "night"]
    rows = [
        item(f"i{n}", " ".join(words[(n * k + n // 7) % len(words)] for k in range(1, 5)), importance=n / 150)
        for n in range(150)
    ]
    with open_workspace(workspace) as made:
        fill(made, rows)
    with open_workspace(workspace) as made:
        by_index = Recall(made.store, Settings(recall_backend="sqlite_fts")).ask(Question(query, limit=10))
        assert not made.store.loaded
        assert by_index.backend == "sqlite_fts"
        by_ram = recall_of(made).ask(Question(query, limit=10))
    assert [hit.score for hit in by_index.hits] == pytest.approx([hit.score for hit in by_ram.hits], rel=0.02)
    assert len(set(ids(by_index)) & set(ids(by_ram))) >= len(by_ram.hits) - 1
    assert by_index.corrected == by_ram.corrected


def test_it_is_built_beside_and_answers_meanwhile(ws):
    fill(ws, [item("t", "tea")])
    recall = Recall(ws.store, Settings())
    recall.warm()
    assert ids(recall.ask(Question("tea"))) == ["t"]
    recall.warm(background=False)
    assert recall.ready
    ws.items.add("more tea")
    assert len(recall.ask(Question("tea")).hits) == 2


def test_what_expires_is_not_recalled_any_more(ws):
    soon = clock.iso(clock.now() + timedelta(hours=1))
    fill(
        ws, [item("t", "tea", expires_at=soon), *(item(f"x{n}", "tea tea", expires_at="2020-01-01") for n in range(60))]
    )
    recall = recall_of(ws)
    assert ids(recall.ask(Question("tea"))) == ["t"]
    with clock.at(clock.now() + timedelta(hours=2)):
        assert ids(recall.ask(Question("tea"))) == []
