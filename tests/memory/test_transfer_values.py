"""The values that a fact had go out with it, and come in with it."""

import json

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.memory.facts.facts import FactValue
from tests.store.homes import make_home

HOME = {"items": 0, "lessons": 0}

KEY = "AKIA" + "IOSFODNN7EXAMPLQ"


@pytest.fixture
def ws(ws):
    """A fact with three values, and one with a single one."""
    ws.facts.set("Home", "city", "Lisbon", session_key="telegram:7", source_message_id="42")
    ws.facts.set("Home", "city", "Porto")
    ws.facts.set("Home", "city", "Braga")
    ws.facts.set("Home", "pet", "cat")
    return ws


@pytest.fixture
def other(tmp_path):
    with open_workspace(make_home(tmp_path / "other", items=0, lessons=0)) as opened:
        yield opened


def told(ws):
    (fact,) = ws.facts.find("Home", "city")
    values = ws.facts.history(fact.id)
    return [(one.value, one.since, one.until == "", one.session_key, one.source_message_id) for one in values]


def brought(ws, path, **choices):
    ws.transfer.run(ws.transfer.preview(path, **choices))


def test_the_earlier_values_come_along(ws, other, tmp_path):
    path = ws.transfer.export("jsonl", tmp_path / "x.jsonl").path
    brought(other, path)
    ours, theirs = told(ws), told(other)
    assert [one[0] for one in theirs] == ["Braga", "Porto", "Lisbon"]
    assert theirs[1:] == ours[1:], "each since when, from which session and message"
    assert other.transfer.preview(path).todo == []
    assert ws.transfer.preview(path).todo == []
    other.facts.set("Home", "city", "Faro")
    assert [one[0] for one in told(other)] == ["Faro", "Braga", "Porto", "Lisbon"]
    brought_on = other.transfer.export("jsonl", tmp_path / "y.jsonl").path
    assert [entry.verdict for entry in ws.transfer.preview(brought_on).entries] == ["conflict", "same"]
    with open_workspace(make_home(tmp_path / "third", items=0, lessons=0)) as third:
        brought(third, brought_on)
        assert [one[0] for one in told(third)] == ["Faro", "Braga", "Porto", "Lisbon"]


def test_what_comes_back_here_has_each_value_once(ws, tmp_path):
    path = ws.transfer.export("jsonl", tmp_path / "x.jsonl").path
    (fact,) = ws.facts.find("Home", "city")
    before = [one[0] for one in told(ws)]
    ws.facts.delete([fact.id])
    brought(ws, path, restore=True)
    assert [one[0] for one in told(ws)] == before
    ws.undo()
    ws.undo()
    assert [one[0] for one in told(ws)] == before


def test_theirs_is_taken_over_with_the_history_that_is_here(ws, tmp_path):
    path = ws.transfer.export("jsonl", tmp_path / "x.jsonl").path
    ws.facts.set("Home", "city", "Faro")
    ws.transfer.run(ws.transfer.preview(path, prefer="theirs"))
    assert [one[0] for one in told(ws)] == ["Braga", "Faro", "Braga", "Porto", "Lisbon"]


def test_values_that_were_merged_in_come_along(ws, other, tmp_path):
    facts = {fact.key: fact.id for fact in ws.facts.all()}
    ws.facts.merge([facts["city"], facts["pet"]], into=facts["city"])
    brought(other, ws.transfer.export("jsonl", tmp_path / "x.jsonl").path)
    assert {one[0] for one in told(other)} == {one[0] for one in told(ws)} == {"Braga", "Porto", "Lisbon", "cat"}


@pytest.mark.slow
def test_earlier_values_of_anybody_are_checked(other, tmp_path):
    earlier = [
        {"value": f"it was {KEY}", "since": "2026-01-02T03:04:05+00:00", "until": 7, "odd": "x"},
        {"value": 5, "since": "2026-01-02T03:04:05+00:00"}, {"value": "x", "since": "then"}, {"value": "x"}, "text",
        {"value": "a" * 400_000, "since": "2026-01-01T03:04:05+00:00"},
        {"value": "b" * 400_000, "since": "2026-01-01T03:04:04+00:00"},
    ]  # fmt: skip
    row = {
        "type": "item", "id": "f1", "text": "k: v", "kind": "fact", "created_at": "2026-02-02T03:04:05+00:00",
        "meta": {"fact": {"category": "c", "key": "k", "value": "v"}}, "earlier": earlier,
    }  # fmt: skip
    plain = {**row, "id": "i1", "text": "no fact", "meta": {}}
    path = tmp_path / "x.jsonl"
    head = {"nanomem": "memory", "version": 1, "workspace_id": "elsewhere", "items": 2}
    path.write_text("".join(json.dumps(line) + "\n" for line in (head, row, plain)))
    plan = other.transfer.preview(path)
    assert [entry.why for entry in plan.entries] == ["5 earlier values left out", ""]
    other.transfer.run(plan)
    assert not any(KEY in item.meta_json for item in other.items.all())
    values = other.facts.history("f1")
    assert [one.value[:6] for one in values] == ["v", "it was", "aaaaaa"]


def test_a_format_that_loses_them_says_so(ws, tmp_path):
    for name in ("facts-db", "ltm-snapshot", "scoped-db", "markdown"):
        assert "earlier values of facts" in ws.transfer.export(name, tmp_path / name).lost


def test_the_values_of_many_facts_are_those_of_each(ws, other, tmp_path):
    for value in ("a", "b", "c"):
        many = [FactValue("Many", f"k{number}", f"{value}{number}") for number in range(30)]
        ws.facts.set_many(many, actor="human", kind="facts.set", label="many")
    ws.undo()
    brought(other, ws.transfer.export("jsonl", tmp_path / "x.jsonl").path)
    for fact in other.facts.all(category="Many"):
        assert [one.value for one in other.facts.history(fact.id)] == [f"b{fact.key[1:]}", f"a{fact.key[1:]}"]
    assert [one[0] for one in told(other)] == ["Braga", "Porto", "Lisbon"]
