"""Who sees what, before and after items move: recall itself is asked, and compared with the rules as they are written
in the specification of scopes."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import NothingToDo, Refused
from nanomem_tui.core.operations import new_operation
from nanomem_tui.memory.scopes import Audience
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import KINDS, Item
from tests.store.homes import make_home

TARGETS = ("global", "telegram:-100", "telegram:-200", "slack:C1", "telegram:@ana", "telegram:@bo", "slack:@ana")
ASKERS = [
    Audience(channel, chat, sender)
    for channel, chat in (("telegram", "-100"), ("telegram", "-200"), ("slack", "C1"), ("slack", "-100"))
    for sender in (None, "ana", "bo")
]


@pytest.fixture
def ws(tmp_path):
    with open_workspace(make_home(tmp_path)) as opened:
        yield opened


def put(ws, key, where, text, **fields):
    """An item of that id in a scope, as a turn keeps it."""
    row = Item(key, text, workspace_scope := "fact")._replace(**ws.scopes.named(where).fields)
    row = row._replace(kind=workspace_scope, created_at="2026-01-01T00:00:00Z", updated_at="2026-01-01T00:00:00Z")
    row = row._replace(**fields)  # type: ignore[arg-type] # fields of an item
    ws.perform(new_operation("test.put", f"put {key}", [change_of("item", ws.store.load("item").items.get(key), row)]))
    return row


def recalled(ws, audience):
    """The ids of the needles that recall gives to who asks."""
    hits = ws.items.search("needle", **audience._asdict(), limit=500)
    return {hit.item.id for hit in hits}


def may_see(row, audience):
    """The rule in words: everybody what is global; a chat what is its own; a person preferences and facts of theirs.
    Where no sender is named, the chat id stands for the person."""
    if row.scope_type == "global":
        return True
    if row.scope_type == "chat":
        return row.scope_key == f"channel:{audience.channel}:chat:{audience.chat_id}"
    who = audience.sender_id or audience.chat_id
    return row.kind in ("fact", "preference") and row.scope_key == f"channel:{audience.channel}:user:{who}"


STEPS = st.lists(
    st.tuples(
        st.sampled_from(("move", "copy", "undo", "merge")),
        st.lists(st.integers(0, 7), min_size=1, max_size=3, unique=True),
        st.sampled_from(TARGETS),
    ),
    min_size=1,
    max_size=6,
)


@pytest.mark.slow
@given(STEPS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_chat_sees_exactly_what_the_rules_say_however_items_move(tmp_path_factory, steps):
    with open_workspace(make_home(tmp_path_factory.mktemp("home"))) as ws:
        for number in range(8):
            text = f"needle of {('tea', 'coffee', 'water', 'milk')[number % 4]}"  # each text twice
            put(ws, f"n{number}", TARGETS[number % len(TARGETS)], text, kind=KINDS[number // 2])
        done = []
        for verb, numbers, target in steps:
            ids = [f"n{number}" for number in numbers if not ws.store.snapshot.items[f"n{number}"].is_deleted]
            try:
                if verb == "undo" and done:
                    ws.undo(done.pop().id)
                elif verb == "copy" and ids:
                    done.append(ws.scopes.copy(ids, ws.scopes.named(target))[0])
                elif ids:
                    done.append(ws.scopes.move(ids, ws.scopes.named(target), merge=verb == "merge")[0])
            except NothingToDo:
                continue
            living = [row for row in ws.store.snapshot.items.values() if "needle" in row.text and not row.is_deleted]
            for audience in ASKERS:
                wanted = {row.id for row in living if may_see(row, audience)}
                assert recalled(ws, audience) == wanted
                seen = {row.id for row, _ in ws.scopes.seen_by(audience) if "needle" in row.text}
                assert seen == wanted
        for operation in reversed(done):
            ws.undo(operation.id)
        rows = [row for key, row in ws.store.snapshot.items.items() if key.startswith("n")]
        assert [row.id for row in rows if not row.is_deleted] == [f"n{number}" for number in range(8)]
        assert all(
            row.scope_key == ws.scopes.named(TARGETS[at % len(TARGETS)]).scope_key for at, row in enumerate(rows)
        )


def test_a_move_takes_the_item_with_its_hits_and_its_facts_along(ws):
    put(ws, "one", "telegram:-100", "needle one", hits=7)
    operation, plan = ws.scopes.move(["one"], ws.scopes.named("telegram:@ana"))
    row = ws.items.get("one")
    assert (row.scope_type, row.scope_key, row.sender_id, row.chat_id) == (
        "user", "channel:telegram:user:ana", "ana", None,
    )  # fmt: skip
    assert row.hits == 7
    assert plan.notes == []
    assert operation.label == "move “needle one” to telegram:@ana"
    ws.undo(operation.id)
    assert ws.items.get("one").scope_key == "channel:telegram:chat:-100"


def test_the_same_text_at_the_target_is_said_and_merged_only_when_asked(ws):
    put(ws, "here", "telegram:-100", "Needle of TEA", hits=2)
    put(ws, "there", "global", "needle of tea", hits=3)
    with pytest.raises(NothingToDo, match="1 text is there already: merging makes one item"):
        ws.scopes.move(["here"], ws.scopes.named("global"))
    assert not ws.items.get("here").is_deleted
    operation, _ = ws.scopes.move(["here"], ws.scopes.named("global"), merge=True)
    assert ws.items.get("there").hits == 5
    assert ws.store.snapshot.items["here"].is_deleted
    ws.undo(operation.id)
    assert (ws.items.get("here").hits, ws.items.get("there").hits) == (2, 5), "how often it was used is never undone"


def test_two_of_one_text_that_go_to_one_place_do_not_become_twins(ws):
    put(ws, "a", "telegram:-100", "needle of tea")
    put(ws, "b", "telegram:-200", "needle of tea")
    _, plan = ws.scopes.move(["a", "b"], ws.scopes.named("global"))
    assert [row.id for row in plan.goes] == ["a"]
    assert ws.items.get("b").scope_type == "chat"
    assert plan.notes == ["1 text is there already: merging makes one item"]


def test_another_value_of_the_same_fact_at_the_target_keeps_the_item_where_it_is(ws):
    ws.facts.set(category="home", key="town", value="Bern", scope_type="chat", channel="telegram", chat_id="-100")
    ws.facts.set(category="home", key="town", value="Basel")
    mine = next(fact for fact in ws.facts.all() if fact.item.scope_type == "chat")
    with pytest.raises(NothingToDo, match="the fact has another value in global"):
        ws.scopes.move([mine.id], ws.scopes.named("global"), merge=True)


def test_a_copied_fact_is_known_at_its_target_and_changes_alone(ws):
    ws.facts.set(category="home", key="town", value="Bern")
    mine = next(fact for fact in ws.facts.all() if fact.key == "town")
    operation, _ = ws.scopes.copy([mine.id], ws.scopes.named("telegram:@ana"))
    copy = ws.items.get(operation.changes[0].key)
    assert copy.id != mine.id
    assert copy.meta["copied_from"] == mine.id
    assert copy.hits == 0
    ws.facts.set(category="home", key="town", value="Basel", scope_type="user", channel="telegram", sender_id="ana")
    assert ws.items.get(copy.id).text == "town: Basel"
    assert ws.items.get(mine.id).text == "town: Bern"


def test_a_decision_that_goes_to_a_person_is_seen_by_nobody_and_that_is_said(ws):
    put(ws, "one", "telegram:-100", "needle", kind="decision")
    _, plan = ws.scopes.move(["one"], ws.scopes.named("telegram:@ana"))
    assert plan.notes == ["nobody will see 1 item there: decision does not follow a person"]
    assert [leak.kind for leak in ws.scopes.leaks() if leak.item.id == "one"] == ["unseen"]
    place = next(row for row in ws.scopes.matrix() if row.scope.name == "telegram:@ana")
    assert (place.total, place.unseen, place.seen_by) == (1, 1, ())


def test_what_waits_in_the_inbox_does_not_move(ws):
    put(ws, "one", "telegram:-100", "needle", enabled=False, meta_json='{"inbox": {"why": "it orders"}}')
    with pytest.raises(Refused, match="waits in the inbox"):
        ws.scopes.move(["one"], ws.scopes.named("global"))


def test_the_matrix_counts_each_scope_by_kind_and_says_who_sees_it(ws):
    put(ws, "a", "telegram:-100", "needle", kind="decision")
    put(ws, "b", "telegram:@ana", "needle", kind="preference", chat_id="-100")
    put(ws, "c", "telegram:@ana", "needle", enabled=False, chat_id="-100")
    rows = {row.scope.name: row for row in ws.scopes.matrix()}
    assert rows["telegram:-100"].kinds == {"decision": 1}
    assert rows["telegram:@ana"].kinds == {"preference": 1, "fact": 1}
    assert rows["telegram:@ana"].disabled == 1
    assert Audience("telegram", "-100", "ana") in rows["telegram:@ana"].seen_by
    assert Audience("telegram", "-100", "ana") in rows["telegram:-100"].seen_by
    [sees] = ws.scopes.sees([Audience("telegram", "-100", "ana")])
    assert (sees.by_layer["chat"], sees.by_layer["user"]) == (1, 1)
    assert {"global", "telegram:-100", "telegram:@ana"} <= {scope.name for scope in ws.scopes.all_scopes()}
