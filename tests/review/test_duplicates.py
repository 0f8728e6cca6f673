"""The clusters of items that say the same, what is proposed to stay, and what a person's word about them does."""

import tracemalloc

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import BadInput, NotFound
from nanomem_tui.core.operations import new_operation
from nanomem_tui.language.statements.compare import compare
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item


@pytest.fixture
def ws(tmp_path):
    with open_workspace(tmp_path) as opened:
        yield opened


def add(ws, text, **fields):
    return ws.items.add(text, **fields)[1].id  # type: ignore[arg-type] # fields of `add` that are texts


def texts(cluster):
    return {item.text for item in cluster.items}


def test_the_same_words_in_other_letters_are_one_cluster_that_needs_no_look(ws):
    for text in ("Prefers green tea", "The user prefers green tea.", "I prefer green tea", "Prefers black tea"):
        add(ws, text)

    (cluster,) = ws.duplicates.clusters()

    assert texts(cluster) == {"Prefers green tea", "The user prefers green tea.", "I prefer green tea"}
    assert (cluster.grade, cluster.sure, cluster.alike) == ("same", True, 1.0)


def test_items_that_say_more_are_shown_and_never_sure(ws):
    add(ws, "The backup disk is kept in the top drawer of the desk")
    add(ws, "The backup disk is kept in the top drawer of the desk upstairs")

    (cluster,) = ws.duplicates.clusters()

    assert (cluster.grade, cluster.sure) == ("near", False)
    assert "upstairs" in cluster.why


def test_other_numbers_names_and_denials_are_no_duplicates(ws):
    for text in ("Retry 3 times", "Retry 5 times", "Ana eats nuts", "Ben eats nuts", "Ana eats no nuts"):
        add(ws, text)

    assert ws.duplicates.clusters() == []


def test_what_different_people_or_kinds_say_is_not_sure(ws):
    who = {"channel": "telegram", "chat_id": "42"}
    add(ws, "I am allergic to nuts", sender_id="ana", **who)
    add(ws, "I am allergic to nuts", sender_id="ben", **who)
    add(ws, "Likes trains", kind="fact")
    add(ws, "Likes trains", kind="preference")

    found = ws.duplicates.clusters()

    assert [cluster.sure for cluster in found] == [False, False]
    assert any("different people" in cluster.why for cluster in found)
    assert any("different kinds" in cluster.why for cluster in found)


def test_the_same_words_for_everybody_and_in_a_chat_are_shown_and_not_sure(ws):
    everybody = add(ws, "Answers are in German")
    add(ws, "Answers are in German", channel="telegram", chat_id="42")

    (cluster,) = ws.duplicates.clusters()

    assert (cluster.grade, cluster.sure, cluster.kept.id) == ("scopes", False, everybody)


def test_the_same_words_of_two_chats_are_two_memories(ws):
    for chat in ("1", "2"):
        add(ws, "Prefers short answers", channel="telegram", chat_id=chat)

    assert ws.duplicates.clusters() == []


def test_disabled_deleted_and_waiting_items_are_left_alone(ws):
    add(ws, "Likes trains")
    ws.items.set_enabled([add(ws, "likes trains")], False)
    ws.items.delete([add(ws, "Likes trains.")])

    assert ws.duplicates.clusters() == []


def test_a_pinned_item_is_proposed_to_stay(ws):
    first = add(ws, "Likes trains")
    add(ws, "likes trains")
    ws.items.set_pinned([first], True)

    assert ws.duplicates.clusters()[0].kept.id == first


def test_a_whole_sentence_is_proposed_before_one_that_is_announced_or_in_small_letters(ws):
    whole = add(ws, "Tom keeps bees")
    add(ws, "Remember that Tom keeps bees")
    add(ws, "tom keeps bees")

    assert ws.duplicates.clusters()[0].kept.id == whole


def test_the_view_follows_what_is_written_edited_merged_and_undone(ws):
    one, other = add(ws, "Likes trains"), add(ws, "Owns a red bike")
    assert ws.duplicates.clusters() == []

    ws.items.edit(other, text="I like trains")
    assert set(ws.duplicates.clusters()[0].ids) == {one, other}

    ws.items.merge([one, other])
    assert ws.duplicates.clusters() == []

    ws.undo()
    assert set(ws.duplicates.clusters()[0].ids) == {one, other}


def test_what_is_new_is_compared_with_what_is_there(ws):
    add(ws, "The backup disk is kept in the top drawer of the desk")
    assert ws.duplicates.clusters() == []
    add(ws, "The backup disk is kept in the top drawer of the desk upstairs")

    assert [cluster.grade for cluster in ws.duplicates.clusters()] == ["near"]


def test_what_a_person_kept_is_not_asked_again_until_a_text_changes(ws):
    add(ws, "Likes trains")
    other = add(ws, "likes trains")
    cluster = ws.duplicates.clusters()[0]

    ws.duplicates.dismiss([cluster])
    assert ws.duplicates.clusters() == []

    ws.items.edit(other, text="LIKES trains")
    assert len(ws.duplicates.clusters()) == 1


def test_a_third_one_asks_only_about_itself(ws):
    first, _ = add(ws, "Likes trains"), add(ws, "likes trains")
    ws.items.set_pinned([first], True)
    ws.duplicates.dismiss(ws.duplicates.clusters())

    third = add(ws, "User likes trains")

    assert set(ws.duplicates.clusters()[0].ids) == {first, third}


def test_many_clusters_are_merged_as_one_operation_and_one_undo_brings_all_back(ws):
    for text in ("Likes trains", "likes trains", "Uses vim daily", "User uses vim daily"):
        add(ws, text)
    before = {item.id: item[:-1] for item in ws.items.all()}

    operation = ws.duplicates.merge(ws.duplicates.clusters())
    assert len(ws.items.all()) == 2
    assert "2 clusters" in operation.label

    ws.undo()
    assert {item.id: item[:-1] for item in ws.items.all()} == before


def test_only_one_cluster_that_needs_a_look_is_merged_at_a_time(ws):
    add(ws, "The backup disk is kept in the top drawer of the desk")
    add(ws, "The backup disk is kept in the top drawer of the desk upstairs")
    add(ws, "Likes trains")
    add(ws, "likes trains")

    with pytest.raises(BadInput, match="look"):
        ws.duplicates.merge(ws.duplicates.clusters())

    assert len(ws.items.all()) == 4


def test_items_of_two_scopes_are_merged_only_into_the_one_that_is_named(ws):
    everybody = add(ws, "Answers are in German")
    chat = add(ws, "Answers are in German", channel="telegram", chat_id="42")
    (cluster,) = ws.duplicates.clusters()

    with pytest.raises(BadInput, match="scope"):
        ws.duplicates.merge([cluster])
    ws.duplicates.merge([cluster], into=everybody)

    assert ws.items.get(everybody).text == "Answers are in German"
    with pytest.raises(NotFound):
        ws.items.get(chat)


def test_the_others_are_disabled_or_deleted_and_the_first_stays(ws):
    for text in ("Likes trains", "likes trains", "I like trains"):
        add(ws, text)
    (cluster,) = ws.duplicates.clusters()

    ws.duplicates.disable_others([cluster])
    assert [item.id for item in ws.items.all() if item.enabled] == [cluster.kept.id]
    ws.undo()

    ws.duplicates.delete_others([cluster], stays=cluster.ids[1])
    assert [item.id for item in ws.items.all()] == [cluster.ids[1]]


@pytest.mark.slow
def test_of_very_many_of_the_same_words_there_are_several_clusters_that_merge_to_one(ws):
    rows = [
        Item(f"i{n}", "Likes trains", scope_key="s", updated_at=f"2026-01-01T00:00:{n % 60:02}") for n in range(450)
    ]
    ws.perform(new_operation("import", "rows", [change_of("item", None, row) for row in rows], actor="import"))

    assert [len(one.items) for one in ws.duplicates.clusters()] == [200, 200, 50]
    ws.duplicates.merge(ws.duplicates.clusters())
    ws.duplicates.merge(ws.duplicates.clusters())

    assert len(ws.items.all()) == 1


def test_a_rule_merges_what_is_sure_and_nothing_else(ws):
    for text in ("Likes trains", "likes trains", "Uses vim daily", "uses vim daily"):
        add(ws, text)
    add(ws, "The backup disk is kept in the top drawer of the desk")
    add(ws, "The backup disk is kept in the top drawer of the desk upstairs")
    found = ws.triage.findings(("duplicate",))

    ws.triage.decide(found, "merge")

    assert sorted(one.grade for one in ws.duplicates.clusters()) == ["near"]
    assert len(ws.items.all()) == 4
    assert ws.triage.evidence(ws.triage.findings(("duplicate",))[0])[0].label == "stays"


def test_what_was_kept_in_the_queue_is_no_duplicate_on_the_desk(ws):
    add(ws, "Likes trains")
    add(ws, "likes trains")

    ws.triage.decide(ws.triage.findings(("duplicate",)), "keep")

    assert ws.duplicates.clusters() == []


@pytest.mark.slow
@pytest.mark.sqlite("what a person changes waits for no checkpoint on a server")
def test_the_view_of_many_rows_is_small(ws):
    rows = [Item(id=f"ltm_{n}", text=f"the key of drawer {n} hangs in the hall") for n in range(4_000)]
    ws.perform(new_operation("import", "import", [change_of("item", None, row) for row in rows]))
    ws.duplicates.cluster_of([rows[0].id, rows[1].id])
    compare("the key hangs in the hall", "the key hangs in the shed")  # what the judge learned is there once
    tracemalloc.start()
    try:
        assert ws.duplicates.clusters() == []
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used / len(rows) < 700  # bytes, for conflicts too: 100,000 items and the console fit into 250 MB
