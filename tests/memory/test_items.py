"""Items as a person works with them."""

from datetime import timedelta

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, Conflict, NotFound, NothingToDo
from nanomem_tui.core.operations import new_operation
from nanomem_tui.store.snapshot import change_of
from tests.store.homes import Agent, state


def test_the_newest_come_first(ws):
    assert [row.id for row in ws.items.all()] == ["ltm_4", "ltm_3", "ltm_2", "ltm_1"]
    ws.items.edit("ltm_1", importance=0.1)
    assert [row.id for row in ws.items.first(2)] == ["ltm_1", "ltm_4"]


def test_an_id_may_be_cut_short_while_it_is_clear(ws):
    added = ws.items.add("new")[1]
    assert ws.items.get(added.id[:-1])._replace(revision=0) == added
    assert ws.items.get("ltm_1").id == "ltm_1"
    with pytest.raises(BadInput, match="items begin with that id"):
        ws.items.get("ltm_")
    for unknown in ("", "none", "ltm_99"):
        with pytest.raises(NotFound):
            ws.items.get(unknown)
    ws.items.delete(["ltm_1"])
    with pytest.raises(NotFound):
        ws.items.get("ltm_1")


def test_an_item_is_added_where_it_belongs(ws):
    everywhere = ws.items.add("  spaces around go  ")[1]
    assert (everywhere.text, everywhere.scope_type, everywhere.kind) == ("spaces around go", "global", "fact")
    assert everywhere.scope_key == f"workspace:{ws.id}:global"
    chat = ws.items.add("x", "decision", channel="telegram", chat_id="1", importance=1)[1]
    assert (chat.scope_type, chat.scope_key) == ("chat", "channel:telegram:chat:1")
    user = ws.items.add("x", scope_type="user", channel="telegram", sender_id="7")[1]
    assert user.scope_key == "channel:telegram:user:7"
    alone = ws.items.add("x", scope_type="user", channel="telegram", chat_id="9")[1]
    assert alone.scope_key == "channel:telegram:user:9"
    assert everywhere.created_at == everywhere.updated_at
    assert everywhere.created_at.endswith("+00:00")


@pytest.mark.parametrize(("kind", "days"), [("episodic", 90), ("fact", 3650), ("preference", 3650), ("decision", 3650)])
def test_an_item_is_kept_as_long_as_its_kind(ws, kind, days):
    operation, item, _ = ws.items.add("kept for a while", kind)
    assert item.expires_at == clock.iso(clock.parse(item.created_at) + timedelta(days=days))
    ws.undo()
    ws.redo()
    assert ws.items.get(item.id) == item._replace(revision=ws.items.get(item.id).revision)
    assert ws.items.history(item.id)[-1].operation.id == operation.id


def test_another_kind_begins_its_own_time_and_undo_gives_the_old_one_back(ws):
    item = ws.items.add("we met", "episodic")[1]
    ws.items.edit(item.id, text="we met again")
    assert ws.items.get(item.id).expires_at == item.expires_at
    ws.items.edit(item.id, kind="fact")
    row = ws.items.get(item.id)
    assert row.expires_at == clock.iso(clock.parse(row.updated_at) + timedelta(days=3650))
    ws.undo()
    assert ws.items.get(item.id).expires_at == item.expires_at


def test_what_is_merged_lives_as_long_as_the_longest(ws):
    short, long = ws.items.add("one", "episodic")[1], ws.items.add("two", "fact")[1]
    later = ws.items.add("three", "episodic")[1]
    ws.items.merge([short.id, long.id, later.id], into=later.id)
    assert ws.items.get(later.id).expires_at == long.expires_at
    assert ws.items.get("ltm_1").expires_at is None  # what the agent wrote
    ws.items.merge([later.id, "ltm_1"], into=later.id)
    assert ws.items.get(later.id).expires_at is None


@pytest.mark.parametrize(
    "where",
    [
        {"channel": "../a", "chat_id": "1"},
        {"channel": "cli", "chat_id": "../../etc"},
        {"channel": "cli", "chat_id": "a\nb"},
        {"scope_type": "user", "channel": "a:b", "sender_id": "1"},
        {"scope_type": "chat", "channel": "cli"},
        {"scope_type": "nowhere"},
    ],
)
def test_a_scope_that_is_none_is_refused_and_nothing_changes(ws, where):
    before = state(ws.paths.workspace)
    with pytest.raises(BadInput):
        ws.items.add("x", **where)
    assert state(ws.paths.workspace) == before
    assert ws.log() == []


def test_a_copy_in_the_same_scope_is_warned_of(ws):
    first = ws.items.add("Dark Mode")
    assert first[2] == []
    assert ws.items.add("dark   mode")[2] == [f"the same text is already there as {first[1].id}"]
    assert ws.items.add("dark mode", channel="cli", chat_id="1")[2] == []
    ws.flush()
    assert ws.items.add("item number 1")[2] == ["the same text is already there as ltm_1"]


def test_what_is_remembered_in_the_same_scope_is_confirmed_where_that_is_asked_for(ws):
    _, first, _ = ws.items.add("Dark Mode", merge=True)
    operation, again, warnings = ws.items.add("dark   mode.", importance=0.9, merge=True)
    assert (again.id, again.hits, again.importance, again.text) == (first.id, first.hits + 1, 0.9, "Dark Mode")
    assert (operation.kind, warnings) == ("items.confirm", [])
    ws.undo()
    assert (ws.items.get(first.id).importance, ws.items.get(first.id).hits) == (first.importance, first.hits + 1)
    assert ws.items.add("dark mode", channel="cli", chat_id="1", merge=True)[1].id != first.id
    ws.flush()
    assert ws.items.add("item number 1", merge=True)[1].id == "ltm_1"


def test_another_kind_of_what_is_remembered_says_how_to_change_it(ws):
    _, first, _ = ws.items.add("Dark mode")
    _, again, [warning] = ws.items.add("Dark mode", kind="preference", merge=True)
    assert (again.id, again.kind) == (first.id, "fact")
    assert f"nanomem memory edit {first.id} --kind preference" in warning


def test_what_a_person_switched_off_is_added_anew_and_warned_of(ws):
    _, first, _ = ws.items.add("Dark Mode")
    ws.items.set_enabled([first.id], enabled=False)
    _, new, warnings = ws.items.add("dark mode", merge=True)
    assert new.id != first.id
    assert warnings == [f"the same text is already there as {first.id}"]


@pytest.mark.parametrize(
    "fields",
    [
        {"text": ""},
        {"text": " \n\t"},
        {"text": "x" * 1_000_001},
        {"text": "half \ud83d"},
        {"text": "x", "kind": "rumour"},
        {"text": "x", "importance": 1.5},
        {"text": "x", "importance": float("nan")},
        {"text": "x", "scope_type": "galaxy"},
        {"text": "x", "scope_type": "chat"},
        {"text": "x", "scope_type": "user", "channel": "telegram"},
        {"text": "x", "channel": "telegram"},
        {"text": "x", "channel": "\ud800", "chat_id": "1"},
    ],
)
def test_what_cannot_be_kept_is_refused_and_leaves_nothing(ws, fields):
    with pytest.raises(BadInput) as caught:
        ws.items.add(**fields)
    assert "\n" not in caught.value.line()
    assert len(ws.items.all()) == 4
    assert ws.log() == []


def test_an_edit_changes_what_it_names_and_the_time(ws):
    before = ws.items.get("ltm_1")
    operation = ws.items.edit("ltm_1", text="new", importance=0.2)
    after = ws.items.get("ltm_1")
    assert after == before._replace(text="new", importance=0.2, updated_at=after.updated_at, revision=after.revision)
    assert after.updated_at > before.updated_at
    assert operation.label == "edit “new”"
    with pytest.raises(NothingToDo):
        ws.items.edit("ltm_1", text=" new ")
    with pytest.raises(BadInput, match="cannot edit hits"):
        ws.items.edit("ltm_1", hits=5)
    with pytest.raises(BadInput):
        ws.items.edit("ltm_1", chat_id="\udcff")
    for wrong in ({"text": ""}, {"kind": "x"}, {"importance": -1}):
        with pytest.raises(BadInput):
            ws.items.edit("ltm_1", **wrong)
    assert ws.items.get("ltm_1") == after


def test_many_at_once_are_one_operation(ws):
    operation = ws.items.set_enabled(["ltm_1", "ltm_2", "ltm_1"], False)
    assert (operation.label, len(operation.changes)) == ("disable 2 items", 2)
    assert ws.items.count()["enabled"] == 2
    assert len(ws.items.set_enabled(["ltm_2", "ltm_3"], False).changes) == 1, "what is so already is left alone"
    with pytest.raises(NothingToDo):
        ws.items.set_enabled(["ltm_1"], False)
    with pytest.raises(NotFound):
        ws.items.delete(["ltm_4", "none"])
    assert len(ws.items.all()) == 4, "all or none"


def test_several_become_one(ws):
    ws.items.set_pinned(["ltm_1"], True)
    ws.items.merge(["ltm_1", "ltm_3", "ltm_2"])
    kept = ws.items.get("ltm_3")
    assert (kept.text, kept.hits, kept.pinned) == ("item number 3", 3, True)
    assert {row.id for row in ws.items.all()} == {"ltm_3", "ltm_4"}
    for few in (["ltm_3"], ["ltm_3", "ltm_3"], []):
        with pytest.raises(BadInput):
            ws.items.merge(few)
    ws.undo()
    assert len(ws.items.all()) == 4
    assert not ws.items.get("ltm_3").pinned


def test_a_compaction_does_what_its_preview_shows(ws):
    ws.items.set_pinned(["ltm_1"], True)
    plan = ws.items.compact_preview(2)
    operation = ws.items.compact(2)
    assert {change.key for change in operation.changes} == {row.id for row, _ in plan.removed} == {"ltm_2", "ltm_3"}
    with pytest.raises(NothingToDo):
        ws.items.compact(2)
    with pytest.raises(BadInput):
        ws.items.compact_preview(-1)
    ws.undo()
    assert len(ws.items.all()) == 4


def test_what_is_old_is_pruned_but_not_what_is_pinned(ws):
    ws.items.set_pinned(["ltm_1"], True)
    ws.items.edit("ltm_2", text="fresh")
    assert [row.id for row in ws.items.prune_preview(1)] == ["ltm_4", "ltm_3"]
    assert ws.items.prune_preview(1, kind="decision") == []
    assert ws.items.prune_preview(1, scope="chat") == []
    ws.items.prune(1)
    assert {row.id for row in ws.items.all()} == {"ltm_1", "ltm_2"}
    with pytest.raises(NothingToDo):
        ws.items.prune(1)
    with pytest.raises(BadInput):
        ws.items.prune(-1)


def test_the_history_of_an_item_outlives_it(ws):
    ws.items.edit("ltm_1", text="second")
    ws.items.delete(["ltm_1", "ltm_2"])
    ws.flush()
    ws.undo()
    assert [e.operation.kind for e in ws.items.history("ltm_1")] == ["undo", "items.delete", "items.edit"]
    ws.redo()
    assert [e.operation.kind for e in ws.items.history("ltm_1")][:2] == ["redo", "undo"]
    assert [e.operation.kind for e in ws.log(key="ltm_2")] == ["redo", "undo", "items.delete"]


def test_counts_say_what_is_there(ws):
    ws.items.add("x", "decision", channel="telegram", chat_id="1")
    ws.items.set_enabled(["ltm_1"], False)
    ws.items.delete(["ltm_2"])
    counts = ws.items.count()
    assert counts == {
        "total": 4,
        "enabled": 3,
        "inbox": 0,
        "by_kind": {"decision": 1, "fact": 3},
        "by_scope": {"chat": 1, "global": 3},
        "by_source": {"explicit_user": 3, "manual": 1},
    }


def test_rows_of_a_foreign_database_are_shown_and_not_taken(sample_copy):
    workspace = sample_copy("ftswal") / "home" / ".nanobot" / "workspace"
    with open_workspace(workspace) as ws:
        foreign = ws.items.foreign()
        assert foreign
        assert {row.source for row in foreign} == {"foreign:longterm.db"}
        assert ws.items.count()["total"] == 0
        with pytest.raises(NotFound):
            ws.items.edit(foreign[0].id, text="mine")
        word = foreign[0].text.split()[0]
        assert any(hit.item.source == "foreign:longterm.db" for hit in ws.items.search(word))


def test_a_conflict_is_settled_by_the_edit_that_decides_it(ws):
    row = ws.items.get("ltm_1")
    change = change_of("item", row, row._replace(meta_json='{"conflict": {"text": "two"}}'))
    ws.perform(new_operation("turn", "an agent waits for nobody", [change]))
    ws.items.edit("ltm_1", importance=0.9)
    assert ws.items.get("ltm_1").meta["conflict"], "another field decides nothing"
    ws.items.edit("ltm_1", text="both")
    assert ws.items.get("ltm_1").meta == {}


def test_of_a_person_and_an_agent_who_edit_one_row_the_later_is_told(workspace):
    with open_workspace(workspace) as one, open_workspace(workspace) as two:
        row = two.items.get("ltm_1")
        one.items.edit("ltm_1", text="one")
        change = change_of("item", row, row._replace(text="two", updated_at=clock.iso(clock.now())))
        with pytest.raises(Conflict, match="changed since by human: edit “one”"):
            two.perform(new_operation("turn", "an agent waits for nobody", [change], actor="agent"))
        assert two.items.get("ltm_1").text == "one"


def test_an_edit_that_expects_what_was_shown_replaces_nothing_unseen(workspace):
    with open_workspace(workspace) as one, open_workspace(workspace) as two:
        shown = two.items.get("ltm_1")
        one.items.edit("ltm_1", text="one")
        with pytest.raises(Conflict, match="from “item number 1” to “one”"):
            two.items.edit("ltm_1", expected=shown, text="two")
        two.items.edit("ltm_1", expected=shown, importance=0.9)
        assert two.items.get("ltm_1").text == "one", "another field is nobody's conflict"
        one.flush()
        one.items.edit("ltm_1", text="one more")
        one.flush()
        with pytest.raises(Conflict, match="one more"):
            two.items.edit("ltm_1", expected=shown, text="two")
        two.items.edit("ltm_1", expected=two.items.get("ltm_1"), text="two")
    row = state(workspace)["ltm_1"]
    assert (row.text, row.importance, row.meta) == ("two", 0.9, {})


@pytest.mark.parametrize("flushed", [False, True])
def test_an_edit_does_not_replace_what_the_agent_wrote_meanwhile(ws, workspace, flushed):
    if flushed:
        ws.items.edit("ltm_2", text="makes a database")
        ws.flush()
    shown = ws.items.get("ltm_1")
    agent = Agent(workspace)
    agent.load()
    agent.items["ltm_1"]["text"] = "the agent's"
    agent.flush()
    with pytest.raises(Conflict, match="the agent's"):
        ws.items.edit("ltm_1", expected=shown, text="mine")


@pytest.mark.parametrize("who", [{"chat_id": "7"}, {"sender_id": "ana"}])
def test_what_is_meant_for_somebody_needs_a_channel_and_is_never_global(ws, who):
    before = len(ws.items.all())
    with pytest.raises(BadInput, match="belongs to a channel"):
        ws.items.add("Only for that chat", **who)
    assert len(ws.items.all()) == before
