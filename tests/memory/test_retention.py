"""How long items are kept, the hygiene of a turn, and the way back of deleted ones."""

from datetime import UTC, datetime, timedelta

import pytest

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, NotFound, NothingToDo
from nanomem_tui.core.operations import new_operation
from nanomem_tui.core.settings import Settings
from nanomem_tui.memory import retention
from nanomem_tui.memory.recall.recall import Question, Recall
from nanomem_tui.memory.retention import forget_target
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item
from tests.memory.turns import turn
from tests.store.homes import state

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def put(ws, key, **fields):
    """An item as a turn captures it."""
    at = clock.iso(NOW - timedelta(days=100))
    item = Item(key, f"text of {key}", created_at=at, updated_at=at)._replace(**fields)
    ws.perform(new_operation("items.add", key, [change_of("item", None, item)], actor="agent"))
    return item


def expiring(ws, key, days, **fields):
    return put(ws, key, expires_at=clock.iso(NOW + timedelta(days=days)), **fields)


def test_the_settings_say_how_long_and_zero_is_for_good():
    settings = Settings(retention_days={"episodic": 7, "fact": 0, "decision": 10**9})
    assert retention.expires_at("episodic", NOW, settings) == clock.iso(NOW + timedelta(days=7))
    assert retention.expires_at("fact", NOW, settings) is None
    assert retention.expires_at("decision", NOW, settings) is None, "beyond the end of time"


def test_what_is_expired_goes_in_one_operation_and_comes_back_by_undo(ws):
    expiring(ws, "over", -1)
    expiring(ws, "just", 0)
    expiring(ws, "later", 1)
    expiring(ws, "pinned", -1, pinned=True)
    put(ws, "never")
    put(ws, "strange", expires_at="some day")
    operation = retention.prune_expired(ws.store, ws.settings, NOW)
    assert {change.key for change in operation.changes} == {"over", "just"}
    assert operation.label == "prune 2 expired items"
    with pytest.raises(NothingToDo):
        retention.prune_expired(ws.store, ws.settings, NOW)
    ws.undo()
    assert ws.items.get("over").text == "text of over"


def test_a_kind_that_is_kept_for_good_does_not_expire_any_more(ws):
    expiring(ws, "over", -1)
    with pytest.raises(NothingToDo):
        retention.prune_expired(ws.store, ws.settings._replace(retention_days={"fact": 0}), NOW)


def test_what_is_kept_for_good_is_recalled_and_shown_so_and_expires_again_when_it_is_not(ws):
    row = put(ws, "over", text="a quokka sings", expires_at=clock.iso(clock.now() - timedelta(days=1)))
    forever = ws.settings._replace(retention_days={"fact": 0})
    assert retention.expiry(row, ws.settings) == row.expires_at
    assert retention.expiry(row, forever) is None
    assert retention.expiry(row._replace(pinned=True), ws.settings) is None

    def recalled(settings):
        return [hit.item.id for hit in Recall(ws.store, settings).ask(Question("quokka")).hits]

    assert recalled(ws.settings) == []
    assert recalled(forever) == ["over"]
    assert retention.prune_expired(ws.store, ws.settings).changes[0].key == "over"


def test_a_wish_to_forget_is_no_deleted_memory(ws):
    turn(ws, "I like rhubarb pie very much")
    (pie,) = [row for row in ws.items.all() if "rhubarb" in row.text]
    turn(ws, "Please forget that I like rhubarb pie")
    (wish,) = ws.inbox.list()
    assert forget_target(wish.row) == pie.id
    ws.inbox.accept([wish.id])
    assert [row.id for row in retention.list_deleted(ws.store)] == [pie.id]
    with pytest.raises(NothingToDo, match="a wish to forget"):
        retention.restore(ws.store, ws.settings, [wish.id])
    retention.restore(ws.store, ws.settings, [pie.id], ws.perform)
    assert retention.list_deleted(ws.store) == []


def test_hygiene_looks_at_most_once_an_hour(ws):
    expiring(ws, "first", -1)
    found = retention.prune_hourly(ws.store, ws.settings, NOW)
    assert (found.actor, [change.key for change in found.changes]) == ("compaction", ["first"])
    expiring(ws, "second", -1)
    assert retention.prune_hourly(ws.store, ws.settings, NOW + timedelta(minutes=59)) is None
    assert retention.prune_hourly(ws.store, ws.settings, NOW + timedelta(minutes=60)) is not None
    assert retention.prune_hourly(ws.store, ws.settings, NOW + timedelta(minutes=121)) is None, "nothing is expired"
    expiring(ws, "third", -1)
    assert retention.prune_hourly(ws.store, ws.settings, NOW - timedelta(days=1)) is not None, (
        "a clock that was set back"
    )


def test_what_hygiene_took_is_not_what_undo_takes_back_next_but_its_id_is(ws):
    mine = ws.items.add("mine")[1]
    expiring(ws, "over", -1)
    operation = retention.prune_hourly(ws.store, ws.settings, NOW)
    ws.undo()
    assert mine.id not in {row.id for row in ws.items.all()}
    ws.undo(operation.id)
    assert ws.items.get("over")


def test_a_deleted_item_is_restored_as_it_was(ws):
    before = ws.items.get("ltm_1")
    ws.items.delete(["ltm_1", "ltm_2"])
    assert {row.id for row in retention.list_deleted(ws.store)} == {"ltm_1", "ltm_2"}
    operation, rows = retention.restore(ws.store, ws.settings, ["ltm_1"], ws.perform)
    assert operation.label == "restore “item number 1”"
    assert [row.id for row in rows] == ["ltm_1"]
    assert ws.items.get("ltm_1")._replace(revision=0) == before._replace(revision=0)
    ws.flush()
    workspace = ws.paths.workspace
    ws.close()
    assert set(state(workspace)) >= {"ltm_1", "ltm_3", "ltm_4"}
    assert "ltm_2" not in state(workspace)


def test_a_restored_item_whose_time_is_over_begins_it_anew(ws):
    put(ws, "old", expires_at="2020-01-01T00:00:00+00:00", kind="episodic")
    retention.prune_expired(ws.store, ws.settings)
    _, rows = retention.restore(ws.store, ws.settings, ["old"])
    assert not retention.is_expired(rows[0], clock.now() + timedelta(days=89))
    with pytest.raises(NothingToDo):
        retention.prune_expired(ws.store, ws.settings)


def test_delete_add_delete_restore(ws):
    first = ws.items.add("dark mode")[1]
    ws.items.delete([first.id])
    second = ws.items.add("dark mode")[1]
    ws.items.delete([second.id])
    ws.flush()
    third = ws.items.add("dark mode")[1]
    ws.items.delete([third.id])
    ws.flush()
    retention.restore(ws.store, ws.settings, [first.id], ws.perform)
    assert [row.id for row in ws.items.all() if row.text == "dark mode"] == [first.id]


def test_what_cannot_be_restored_is_one_clear_error(ws):
    ws.items.delete(["ltm_1", "ltm_2"])
    with pytest.raises(NotFound, match="no deleted item"):
        retention.restore(ws.store, ws.settings, ["none"])
    with pytest.raises(NothingToDo, match="not deleted"):
        retention.restore(ws.store, ws.settings, ["ltm_1", "ltm_3"])
    with pytest.raises(BadInput, match="begin with that id"):
        retention.restore(ws.store, ws.settings, ["ltm_"])
    with pytest.raises(NothingToDo):
        retention.restore(ws.store, ws.settings, [])
    assert {row.id for row in retention.list_deleted(ws.store)} == {"ltm_1", "ltm_2"}, "all or none"


def test_what_a_person_brought_back_is_not_deleted_by_the_next_hygiene(ws):
    for key in ("over", "other"):
        put(ws, key, expires_at=clock.iso(clock.now() - timedelta(days=1)))
    pruned = retention.prune_expired(ws.store, ws.settings, None, ws.perform, actor="compaction")
    ws.undo(pruned.id, keys=["over"])
    later = clock.parse(ws.items.get("over").expires_at or "")
    assert later is not None
    assert later > clock.now() + timedelta(days=3000), "its time begins anew"
    with pytest.raises(NothingToDo):
        retention.prune_expired(ws.store, ws.settings, clock.now(), ws.perform, actor="compaction")
    assert [row.id for row in retention.list_deleted(ws.store)] == ["other"]
    ws.redo()
    assert {row.id for row in retention.list_deleted(ws.store)} == {"over", "other"}


def test_an_undo_that_nobody_needs_keeps_the_time_of_an_item(ws):
    item = expiring(ws, "over", 3650)
    pruned = retention.prune_expired(ws.store, ws.settings, NOW + timedelta(days=3651), ws.perform)
    ws.undo(pruned.id)
    assert ws.items.get("over").expires_at == item.expires_at, "the clock was wrong, not the item"
