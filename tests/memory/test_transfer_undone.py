"""Imports taken back, and facts that were renamed here: nothing is in the way of an undo, nothing is garbled."""

from datetime import timedelta

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.memory import retention
from tests.memory.test_transfer_crystal import CRYSTAL, NOW, change, database, imported

HOME = {"items": 0, "lessons": 0}


def restored(ws, path):
    ws.transfer.run(ws.transfer.preview(path, restore=True))


@pytest.mark.slow
def test_an_import_is_undone_after_what_it_restored(ws, samples):
    path = samples / CRYSTAL
    imported(ws, path)
    gone = ws.facts.all()[0]
    ws.facts.delete([gone.id])
    restored(ws, path)
    ws.undo()
    ws.undo()
    assert ws.facts.get(gone.id).item.expires_at == gone.item.expires_at
    ws.undo()
    assert (ws.facts.all(), ws.transfer.records()) == ([], [])
    ws.redo(3)
    assert len(ws.facts.all()) == 91


def test_what_was_deleted_is_as_it_was_when_its_restore_is_undone(ws, tmp_path):
    path = database(tmp_path / "x.db", facts=[("Drinks", "tea", "green", "Home", None, NOW, NOW)])
    imported(ws, path)
    (fact,) = ws.facts.all()
    ws.facts.set("Drinks", "tea", "black", domain="Home")
    ws.facts.delete([fact.id])
    restored(ws, path)
    assert ws.facts.get(fact.id).value == "green"
    ws.undo()
    ws.undo()
    assert ws.facts.get(fact.id).value == "black", "not what was restored"
    ws.undo()
    ws.undo()
    assert ws.facts.all() == []


def test_a_time_given_anew_is_in_no_undos_way(ws, tmp_path, monkeypatch):
    imported(ws, database(tmp_path / "x.db", facts=[("Drinks", "tea", "green", "Home", None, NOW, NOW)]))
    later = clock.now() + timedelta(days=20_000)
    monkeypatch.setattr(clock, "now", lambda: later)
    retention.prune_expired(ws.store, ws.settings, perform=ws.perform)
    ws.undo()
    assert len(ws.facts.all()) == 1
    ws.undo()
    assert ws.facts.all() == []


@pytest.mark.slow
def test_what_an_undone_restore_leaves_is_no_foreign_row(sample_copy):
    home = sample_copy("crystal") / "home" / ".nanobot"
    (home / "workspace" / "memory").mkdir(parents=True)
    with open_workspace(home / "workspace") as ws:
        imported(ws, home / "memory.db")
        gone = ws.facts.all()[0].id
        ws.facts.delete([gone])
        restored(ws, home / "memory.db")
        ws.undo()
        assert ws.items.foreign() == [], "a person deleted it"
        ws.undo(count=2)
        assert len(ws.items.foreign()) == 91
        restored(ws, home / "memory.db")
        ws.undo()
        assert len(ws.items.foreign()) == 91, "nobody deleted them"


@pytest.mark.parametrize("value", ["green", "black"])
def test_theirs_is_their_names_and_their_value(ws, tmp_path, value):
    path = database(tmp_path / "x.db", facts=[("Drinks", "tea", "green", "Home", None, NOW, NOW)])
    imported(ws, path)
    (fact,) = ws.facts.all()
    ws.facts.edit(fact.id, key="renamed", category="Food")
    change(path, f"UPDATE facts SET value = '{value}'")
    (ours,) = ws.transfer.preview(path).entries
    assert (ours.verdict, ours.why.endswith("category, key differ: ours stays")) == ("conflict", True)
    ws.transfer.run(ws.transfer.preview(path, prefer="theirs"))
    (now,) = ws.facts.all()
    assert (now.id, now.domain, now.category, now.key, now.value) == (fact.id, "Home", "Drinks", "tea", value)
    assert now.item.text == f"tea: {value}"
    assert [entry.verdict for entry in ws.transfer.preview(path).entries] == ["same"]
    newest, *_ = ws.facts.history(fact.id)
    assert newest.value == value


def test_theirs_from_our_own_file_is_not_garbled(ws, tmp_path):
    _, fact, _ = ws.facts.set("Drinks", "TEA", "green")
    path = ws.transfer.export("jsonl", tmp_path / "x.jsonl").path
    ws.facts.edit(fact.id, key="Tea", value="black")
    ws.transfer.run(ws.transfer.preview(path, prefer="theirs"))
    (now,) = ws.facts.all()
    assert (now.key, now.value, now.item.text) == ("Tea", "green", "Tea: green")
    ws.facts.edit(fact.id, key="renamed")
    ws.transfer.run(ws.transfer.preview(path, prefer="theirs"))
    (now,) = ws.facts.all()
    assert (now.key, now.value, now.item.text) == ("TEA", "green", "TEA: green")


def test_a_renamed_fact_stays_where_another_has_its_name_now(ws, tmp_path):
    path = database(tmp_path / "x.db", facts=[("Drinks", "tea", "green", "Home", None, NOW, NOW)])
    imported(ws, path)
    (fact,) = ws.facts.all()
    ws.facts.edit(fact.id, key="renamed")
    _, other, _ = ws.facts.set("Drinks", "tea", "none", domain="Home")
    assert other.id != fact.id
    ws.transfer.run(ws.transfer.preview(path, prefer="theirs"))
    assert {(one.id, one.key, one.value) for one in ws.facts.all()} == {
        (fact.id, "renamed", "green"), (other.id, "tea", "green")
    }  # fmt: skip
