"""Contradictions of a workspace: which pairs there are, and what each decision leaves, undone as one step."""

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import BadInput, Conflict, NotFound, NothingToDo, Refused
from nanomem_tui.memory.retention import get_superseded
from nanomem_tui.memory.scopes import parse_scope
from nanomem_tui.review.findings import DecisionDetails
from tests.store.homes import make_home


@pytest.fixture
def ws(tmp_path):
    with open_workspace(make_home(tmp_path)) as opened:
        yield opened


def add(ws, text, chat="", sender="", scope=""):
    named = {"channel": "telegram", "chat_id": chat or None, "sender_id": sender or None} if chat or sender else {}
    return ws.items.add(text, scope_type=scope or None, **named)[1].id


def shown(ws):
    words = [getattr(row, "text", "") or row.better_action for pair in ws.conflicts.all() for row in pair[:2]]
    return sorted(zip(words[::2], words[1::2], strict=True))


def rows(ws):
    return {row.id: row[:-1] for row in (*ws.items.all(), *ws.lessons.all())}


def moved(ws):
    return add(ws, "User lives in Berlin"), add(ws, "User lives in Munich")


def test_the_older_comes_first_and_the_pair_has_one_name(ws):
    older, newer = moved(ws)
    pair = ws.conflicts.all()[0]

    assert pair.ids == (older, newer)
    assert pair.why == "a newer value: Munich, not Berlin"
    assert ws.conflicts.get(older) == ws.conflicts.get(newer) == ws.conflicts.get(pair.id) == pair


def test_a_pair_is_found_where_one_chat_may_see_both(ws):
    add(ws, "Reply in German")
    add(ws, "Reply in French", chat="1")
    add(ws, "User likes tea", chat="1", sender="ana")
    add(ws, "User does not like tea", sender="ana", scope="user")

    assert shown(ws) == [("Reply in German", "Reply in French"), ("User likes tea", "User does not like tea")]


def test_two_chats_and_two_persons_of_one_chat_do_not_contradict_each_other(ws):
    add(ws, "User lives in Berlin", chat="1", sender="ana")
    add(ws, "User lives in Munich", chat="1", sender="ben")
    add(ws, "User lives in Rome", chat="2")
    add(ws, "User lives in Oslo", sender="eva", scope="user")

    assert shown(ws) == []


def test_lessons_and_items_contradict_each_other_but_not_under_other_triggers(ws):
    add(ws, "Always use tabs")
    ws.lessons.add("never use tabs", "Never use tabs")
    ws.lessons.add("writing Go", "Always use semicolons")
    ws.lessons.add("writing Rust", "Never use semicolons")

    assert shown(ws) == [("Always use tabs", "Never use tabs")]


def test_facts_of_one_name_in_two_scopes_contradict_each_other(ws):
    ws.facts.set("profile", "city", "Berlin")
    ws.facts.set("profile", "city", "Munich", channel="telegram", chat_id="42")

    assert shown(ws) == [("city: Berlin", "city: Munich")]


def test_what_the_newer_supersedes_is_kept_and_says_by_what(ws):
    before = rows(ws)
    older, newer = moved(ws)
    known = rows(ws)
    ws.conflicts.supersede(ws.conflicts.all())
    mark = get_superseded(ws.items.get(older))

    assert mark is not None
    assert (mark.by, mark.why) == (newer, "outdated")
    assert not ws.items.get(older).enabled
    assert ws.items.get(newer).enabled
    assert ws.conflicts.all() == []
    for one in (older, newer):
        assert ws.items.history(one)[0].operation.label == "supersede “User lives in Berlin” by “User lives in Munich”"
    ws.undo()
    assert rows(ws) == known != before
    assert len(ws.conflicts.all()) == 1


def test_of_a_wrong_one_the_other_stands(ws):
    older, newer = moved(ws)
    ws.conflicts.keep_old(ws.conflicts.all())
    mark = get_superseded(ws.items.get(newer))
    assert mark is not None
    assert (mark.by, mark.why) == (older, "wrong")
    ws.undo()
    ws.conflicts.keep_new(ws.conflicts.all())
    mark = get_superseded(ws.items.get(older))
    assert mark is not None
    assert (mark.by, mark.why) == (newer, "wrong")


def test_both_are_kept_until_one_of_them_changes(ws):
    older, _ = moved(ws)
    ws.conflicts.keep_both(ws.conflicts.all())
    assert ws.conflicts.all() == [] == ws.triage.findings(["conflict"])
    assert ws.items.get(older).enabled
    ws.items.edit(older, text="User lives in Hamburg")
    assert len(ws.conflicts.all()) == len(ws.triage.findings(["conflict"])) == 1
    ws.undo()
    ws.undo()
    assert len(ws.conflicts.all()) == 1


def test_a_split_moves_one_and_asks_no_more(ws):
    older, newer = moved(ws)
    known = rows(ws)
    ws.conflicts.split(ws.conflicts.all()[0], "telegram:42", "newer")

    assert ws.items.get(newer).scope_key == "channel:telegram:chat:42"
    assert ws.items.get(older).scope_type == "global"
    assert ws.conflicts.all() == []
    ws.undo()
    assert rows(ws) == known
    assert len(ws.conflicts.all()) == 1


def test_what_cannot_be_decided_is_refused_in_words(ws):
    older, _ = moved(ws)
    pair = ws.conflicts.all()[0]
    with pytest.raises(NothingToDo, match="no contradictions"):
        ws.conflicts.supersede([])
    with pytest.raises(NotFound, match="nothing contradicts"):
        ws.conflicts.get("ltm_none")
    with pytest.raises(BadInput, match="no scope"):
        ws.conflicts.split(pair, "nowhere")
    ws.items.edit(older, text="User lives in Ghent")
    with pytest.raises(Conflict, match="changed it meanwhile"):
        ws.conflicts.supersede([pair])


@pytest.mark.parametrize("decide", ["supersede", "keep_new"])
def test_what_one_chat_was_told_takes_nothing_from_the_others(ws, decide):
    older, newer = add(ws, "User lives in Berlin"), add(ws, "User lives in Munich", chat="42", scope="chat")
    pairs = ws.conflicts.all()
    with pytest.raises(Refused, match="only telegram:42 sees") as refused:
        getattr(ws.conflicts, decide)(pairs)
    assert "global first" in refused.value.fix
    assert ws.items.get(older).enabled
    ws.conflicts.keep_old(pairs)  # what is for everybody may stand for a chat's
    assert get_superseded(ws.items.get(newer)) is not None


def test_the_queue_refuses_it_too(ws):
    add(ws, "User lives in Berlin")
    add(ws, "User lives in Munich", chat="42", scope="chat")
    done = ws.triage.findings(["conflict"])
    with pytest.raises(Refused, match="only telegram:42 sees"):
        ws.triage.decide(done, "merge")


def test_in_a_private_chat_the_person_and_the_chat_stand_for_each_other(ws):
    older = add(ws, "User lives in Berlin", chat="42", sender="42", scope="user")
    newer = add(ws, "User lives in Munich", chat="42", sender="42", scope="chat")
    ws.conflicts.supersede(ws.conflicts.all())
    mark = get_superseded(ws.items.get(older))
    assert mark is not None
    assert mark.by == newer


@pytest.mark.parametrize("how", ["move", "edit", "copy"])
def test_what_is_moved_was_not_said_again(ws, how):
    older = add(ws, "User lives in Berlin", chat="42", scope="chat")
    newer = add(ws, "User lives in Munich")
    known = ws.items.get(older).updated_at
    if how == "edit":
        ws.items.edit(older, **parse_scope("global", ws.id).fields)
    else:
        do = ws.scopes.move if how == "move" else ws.scopes.copy
        operation, _ = do([older], ws.scopes.named("global"))
        older = operation.changes[0].key
    assert ws.items.get(older).updated_at == known
    assert all(pair.newer.id == newer for pair in ws.conflicts.found())


def test_a_lesson_is_moved_to_no_scope(ws):
    ws.lessons.add("always use tabs", "Always use tabs")
    add(ws, "Never use tabs")
    with pytest.raises(Refused, match="no such scope"):
        ws.conflicts.split(ws.conflicts.all()[0], "telegram:42", "older")


def test_of_three_homes_the_newest_supersedes_both_others(ws):
    moved(ws)
    add(ws, "User lives in Rome")
    assert len(ws.conflicts.all()) == 2
    ws.conflicts.supersede(ws.conflicts.all())

    homes = [row.text for row in ws.items.all() if row.enabled and "lives" in row.text]
    assert homes == ["User lives in Rome"]
    assert ws.conflicts.all() == []


def test_what_is_said_of_one_thing_many_times_is_a_list(ws):
    for number in range(12):
        add(ws, f"The price of the plan is ${number + 10}")

    assert ws.conflicts.all() == []


def test_who_enables_a_superseded_one_is_told_and_asked_again(ws):
    older, newer = moved(ws)
    ws.conflicts.supersede(ws.conflicts.all())
    operation = ws.items.set_enabled([older], True)

    assert operation.label == f"enable “User lives in Berlin”, which {newer} had superseded"
    assert get_superseded(ws.items.get(older)) is None
    assert len(ws.conflicts.all()) == 1
    ws.items.set_enabled([older], False)
    assert get_superseded(ws.items.get(older)) is None  # disabled by the person, not superseded


@pytest.mark.parametrize(
    ("decision", "gone", "why"),
    [("merge", "older", "outdated"), ("reject", "newer", "wrong"), ("disable", "older", "wrong")],
)
def test_the_queue_decides_as_the_desk_does(ws, decision, gone, why):
    ids = dict(zip(("older", "newer"), moved(ws), strict=True))
    known = rows(ws)
    ws.triage.decide(ws.triage.findings(["conflict"]), decision)
    mark = get_superseded(ws.items.get(ids[gone]))

    assert mark is not None
    assert mark.why == why
    assert ws.triage.findings(["conflict"]) == []
    ws.undo()
    assert rows(ws) == known


def test_the_queue_splits_and_shows_both_as_evidence(ws):
    older, newer = moved(ws)
    finding = ws.triage.findings(["conflict"])[0]
    assert [one.id for one in ws.triage.evidence(finding)] == [newer, older]
    ws.triage.decide([finding], "split", DecisionDetails(scope="telegram:42"))

    assert ws.items.get(older).scope_key == "channel:telegram:chat:42"
    ws.triage.refresh()
    assert ws.triage.findings(["conflict"]) == []
