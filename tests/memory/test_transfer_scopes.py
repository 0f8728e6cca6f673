"""What belongs to a chat or a person stays theirs, out and in again; keys come back as they were."""

import json

import pytest

from nanomem_tui import open_workspace
from tests.memory.test_transfer_crystal import imported, stored
from tests.store.homes import make_home

HOME = {"items": 0, "lessons": 0}


@pytest.fixture
def ws(ws):
    """A city for everybody, for Ana and for a chat, and a memory of that chat."""
    ws.facts.set("Home", "city", "X", domain="Life")
    ws.facts.set("Home", "city", "Porto", domain="Life", scope_type="user", channel="telegram", sender_id="ana b")
    ws.facts.set("Home", "city", "Lisbon", domain="Life", scope_type="chat", channel="telegram", chat_id="-7:1")
    ws.facts.set("Home", "city", "Braga", domain="Work", scope_type="chat", channel="telegram", chat_id="-7:1")
    ws.items.add("a memory of that chat", channel="telegram", chat_id="-7:1")
    return ws


def held(ws):
    rows = [
        (fact.domain, fact.category, fact.key, fact.value, *whose(fact.item.scope_type, fact.item.scope_key))
        for fact in ws.facts.all()
    ]
    return {*rows, *((row.text, *whose(row.scope_type, row.scope_key)) for row in ws.items.all() if '"fact"' not in
                     row.meta_json)}  # fmt: skip


def whose(scope_type, scope_key):
    return scope_type, scope_key if scope_type != "global" else ""


def test_private_facts_come_back_private(ws, tmp_path):
    made = ws.transfer.export("facts-db", tmp_path / "x.db", every_scope=True)
    whose_rows, domains = made.notes
    assert whose_rows.startswith("4 rows belong to one chat or person, for which that table has no column")
    assert domains.startswith("1 fact shares category and key with one of another domain")
    assert ("Home", "city", "X", "Life") in {row[:4] for row in stored(made.path)["facts"]}, "the plain name"
    assert ws.transfer.preview(made.path).todo == []
    with open_workspace(make_home(tmp_path / "other", items=0, lessons=0)) as other:
        plan = imported(other, made.path)
        assert plan.counts["new"] == 5
        assert held(other) == held(ws)
        assert {row.chat_id for row in other.items.all() if row.scope_type == "chat"} == {"-7:1"}
        assert other.transfer.preview(made.path).todo == []


def test_only_what_is_for_everybody_goes_out_unasked(ws, tmp_path):
    made = ws.transfer.export("facts-db", tmp_path / "x.db")
    assert (made.items, made.left_out, made.notes) == (1, {"of one chat or person": 4}, ())
    assert "earlier values of facts" in made.lost


def test_a_file_that_cannot_say_whose_it_is_says_so(ws, tmp_path):
    (told,) = ws.transfer.export("markdown", tmp_path / "file", every_scope=True).notes
    assert told.startswith("4 items belong to one chat or person, which the file does not say")
    assert ws.transfer.export("markdown", tmp_path / "other").notes == ()


def test_a_snapshot_of_the_agent_says_whose_an_item_is_by_its_session(ws, tmp_path):
    made = ws.transfer.export("ltm-snapshot", tmp_path / "snapshot.json")
    assert (made.items, made.left_out, made.notes) == (5, {}, ())
    written = {row["text"]: row["session_key"] for row in json.loads(made.path.read_bytes())["items"]}
    assert sorted(map(bool, written.values())) == [False, *[True] * (len(written) - 1)]


def test_keys_that_look_like_ours_come_back_as_they_were(ws, tmp_path):
    for domain, key in (
        (None, "city::Life"), ("Life", "city::Life"), ("Work", "city"), (None, "city::Work"), ("Work", "city::Life"),
        ("Work", "city::Work"), ("a:", "x"), ("::", "x"), (None, "x"), ("b", "x"), ("c", "x:::c"),
    ):  # fmt: skip
        ws.facts.set("Home", key, f"value of {domain} {key}", domain=domain)
    made = ws.transfer.export("facts-db", tmp_path / "x.db", every_scope=True)
    assert made.left_out == {}
    assert not any("::Life::Life" in name for note in made.notes for name in note.split())
    with open_workspace(make_home(tmp_path / "other", items=0, lessons=0)) as other:
        imported(other, made.path)
        assert held(other) == held(ws)


def test_a_key_for_which_there_is_no_room_is_left_out_and_counted(ws, tmp_path):
    ws.facts.set("Home", "channel::channel:a:chat:7", "like a chat's, and for everybody")
    made = ws.transfer.export("facts-db", tmp_path / "x.db", every_scope=True)
    assert made.left_out == {"with a key that it has no room for": 1}
    assert made.items == 5
