"""`memory_search`: facts of a domain or a category, else what is nearest in meaning; words where meaning is silent."""

import json

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import BadInput, ModelUnavailable
from nanomem_tui.core.operations import new_operation
from nanomem_tui.memory.facts.search import LIMIT, Answer, MemorySearch
from nanomem_tui.memory.scopes import Audience
from nanomem_tui.store.snapshot import change_of


class Meaning:
    """What is near, as a test says: the distance of each text, by a word in it."""

    def __init__(self, ws, **distances):
        self.ws = ws
        self.distances = distances
        self.why_not = ""
        self.progress = ""
        self.model = "a model of every language"
        self.scale = 1.0
        self.failure: Exception | None = None
        self.asked: list[str] = []

    def nearest(self, text, limit, within=None):
        if self.failure is not None:
            raise self.failure
        self.asked.append(text)
        found = [
            (item.id, distance)
            for item in self.ws.store.load("item").items.values()
            for word, distance in self.distances.items()
            if word in item.text and (within is None or item.id in within)
        ]
        return sorted(found, key=lambda one: one[1])[:limit]


@pytest.fixture
def ws(ws):
    ws.facts.set("Contact", "phone", "555 0100", domain="Work")
    ws.facts.set("Contact", "mail", "ana@example.org", domain="Work")
    ws.facts.set("Contact", "plumber", "Ivan", domain="Home")
    ws.facts.set("Diet", "allergy", "nuts")
    ws.items.add("Prefers the window seat on a flight", kind="preference")
    return ws


def searching(ws, meaning):
    return MemorySearch(ws.store, ws.settings, ws.items, ws.facts, ws.recall, lambda: meaning)


def texts(answer):
    return [found.text for found in answer.results]


def test_a_domain_or_a_category_gives_its_facts(ws):
    search = searching(ws, Meaning(ws))
    assert texts(search(domain="work")) == ["mail: ana@example.org", "phone: 555 0100"], "the newest first"
    assert texts(search(category="CONTACT", domain="Home")) == ["plumber: Ivan"]
    assert search(category="contact").total == 3
    one = search(category="contact", limit=1)
    assert (len(one.results), one.total, one.results[0].how) == (1, 3, "facts")
    assert search(domain="Nowhere") == Answer((), 0)
    assert texts(search(domain="")) == ["allergy: nuts"], "those without a domain"


def test_a_query_orders_the_facts_of_a_domain_and_leaves_none_out(ws):
    search = searching(ws, Meaning(ws, phone=0.3))
    answer = search("how do I call", domain="Work")
    assert texts(answer) == ["phone: 555 0100", "mail: ana@example.org"]
    assert [found.how for found in answer.results] == ["facts", "facts"]
    assert texts(search("phone", "Work", limit=1)) == ["phone: 555 0100"]


def test_without_them_it_is_what_is_nearest_in_meaning(ws):
    search = searching(ws, Meaning(ws, plumber=0.4, window=0.2, allergy=0.9))
    answer = search("who repairs the pipe", far=True)
    assert [(found.how, found.distance, found.is_near) for found in answer.results] == [
        ("meaning", 0.2, True),
        ("meaning", 0.4, True),
        ("meaning", 0.9, False),
    ]
    assert answer.note == ""
    seat, plumber, _ = answer.results
    assert (seat.fact, seat.fields) == (None, {})
    assert plumber.fields["key"] == "plumber"
    assert plumber.to_json()["distance"] == 0.4
    assert seat.to_json()["key"] is None
    assert texts(search("who repairs the pipe", facts_only=True, far=True)) == ["plumber: Ivan", "allergy: nuts"]
    assert texts(search("who repairs the pipe", facts_only=True)) == ["plumber: Ivan"], "what is far only if asked for"
    assert texts(searching(ws, Meaning(ws, allergy=0.9))("who repairs the pipe")) == []


def test_five_are_given_as_the_seed_gives(ws):
    for number in range(9):
        ws.facts.set("Count", f"number {number}", "one")
    search = searching(ws, Meaning(ws, number=0.5))
    assert len(search("numbers").results) == LIMIT == 5


@pytest.mark.parametrize("why", ["missing", "failing", "busy", "unread"])
def test_where_meaning_is_silent_words_answer_and_say_why(ws, why):
    meaning = Meaning(ws, allergy=0.1)
    if why == "missing":
        meaning.why_not = "numpy is not installed (in a clone of nanomem: pip install '.[vector]')"
    elif why == "failing":
        meaning.failure = ModelUnavailable("nobody answers", "http://127.0.0.1:1")
    elif why == "busy":
        meaning.progress = "embedding 1 of 5"
    else:
        meaning.model = "all-MiniLM-L6-v2"
    query = "сантехник plumber" if why == "unread" else "plumber"
    answer = searching(ws, meaning)(query)
    assert answer.results[0].text == "plumber: Ivan"
    assert answer.results[0].how == "words"
    told = {"missing": "pip install '.[vector]'", "failing": "nobody answers", "busy": "1 of 5", "unread": ""}
    assert told[why] in answer.note


def test_words_help_out_where_nothing_is_near(ws):
    answer = searching(ws, Meaning(ws, allergy=0.95, phone=0.9))("0100", far=True)
    assert [found.is_near for found in answer.results] == [True, False], "what is far comes last"
    assert texts(answer)[0] == "phone: 555 0100"
    assert answer.results[0].how == "words"
    assert len(set(texts(answer))) == len(texts(answer)), "each once"


def test_what_the_model_cannot_read_is_not_near_to_anything(ws):
    for city in ("成都", "北京", "上海"):
        ws.facts.set("城市", city, "住过")
    meaning = Meaning(ws, 住过=0.1, plumber=0.4)
    assert texts(searching(ws, meaning)("who repairs the pipe", limit=2))[0].endswith(": 住过")
    meaning.model = "all-MiniLM-L6-v2"
    assert texts(searching(ws, meaning)("who repairs the pipe", limit=2)) == ["plumber: Ivan"]


def test_an_audience_sees_what_is_its_own_and_never_more(ws):
    ws.facts.set("Contact", "phone", "of chat 7", domain="Work", channel="telegram", chat_id="7")
    ws.facts.set("Contact", "phone", "of ana", domain="Work", scope_type="user", channel="telegram", sender_id="ana")
    search = searching(ws, Meaning(ws, phone=0.2))
    own = {
        Audience(): {"phone: of chat 7", "phone: of ana"},
        Audience("telegram", "7", "bob"): {"phone: of chat 7"},
        Audience("telegram", "8", "ana"): {"phone: of ana"},
        Audience("discord", "7"): set(),
        Audience("telegram"): set(),
    }
    for audience, visible in own.items():
        filed = search(domain="Work", audience=audience)
        assert set(texts(filed)) == {"phone: 555 0100", "mail: ana@example.org"} | visible
        near = search("how do I call", audience=audience, limit=99)
        assert set(texts(near)) == {"phone: 555 0100"} | visible
    with pytest.raises(BadInput, match="--channel"):
        search(domain="Work", audience=Audience(chat_id="7"))


def test_what_is_off_waits_or_is_over_is_not_given(ws):
    off, waits, over = (ws.facts.set("Secret", name, "hidden")[1].item for name in ("off", "waits", "over"))
    ws.items.set_enabled([off.id], False)
    held = json.dumps({"fact": {"category": "Secret", "key": "waits"}, "inbox": {"why": "an order"}})
    later = waits._replace(enabled=False, meta_json=held), over._replace(expires_at="2020-01-01T00:00:00+00:00")
    for row, after in zip((waits, over), later, strict=True):
        ws.perform(new_operation("test", "test", [change_of("item", row, after)]))
    search = searching(ws, Meaning(ws, hidden=0.1))
    assert search(category="Secret") == Answer((), 0)
    assert search("hidden").results == ()
    assert "Secret" not in str(search.names())


def test_the_names_that_there_are(ws):
    assert searching(ws, Meaning(ws)).names() == {
        "Home": {"Contact": 1},
        "Work": {"Contact": 2},
        "(no domain)": {"Diet": 1},
    }


def test_nothing_to_look_for_is_told(ws):
    with pytest.raises(BadInput, match="give words, a domain or a category"):
        searching(ws, Meaning(ws))("  ")


@pytest.mark.slow
def test_the_workspace_has_it_and_finds_by_real_meaning(ws):
    found = ws.memory_search("who fixes a leaking pipe")
    assert found.results[0].text == "plumber: Ivan"
    assert found.results[0].how == "meaning"


def test_what_another_process_adds_is_found_after_a_refresh(ws):
    with open_workspace(ws.paths.workspace) as other:
        other.facts.set("Contact", "lawyer", "Ms Bo", domain="Work")
    ws.refresh()
    assert "lawyer: Ms Bo" in texts(searching(ws, Meaning(ws))(domain="Work"))
