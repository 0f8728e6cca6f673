"""Facts with a domain, a category and a key: what a person and an agent do with them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import BadInput, Conflict, NotFound, NothingToDo, Refused
from nanomem_tui.core.operations import new_operation
from nanomem_tui.memory import scopes
from nanomem_tui.memory.facts.facts import NO_DOMAIN, FactValue
from nanomem_tui.memory.scopes import Audience
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item
from tests.store.homes import kill


def values(ws):
    return {(fact.domain, fact.category, fact.key): fact.value for fact in ws.facts.all()}


def test_domains_never_overwrite_each_other(ws):
    ws.facts.set("Contact", "phone", "111", domain="Work")
    ws.facts.set("Contact", "phone", "222", domain="Home")
    ws.facts.set("Contact", "phone", "333")
    assert values(ws) == {
        ("Work", "Contact", "phone"): "111",
        ("Home", "Contact", "phone"): "222",
        (None, "Contact", "phone"): "333",
    }


def test_a_new_value_keeps_the_old_one_in_the_history(ws):
    ws.facts.set("Home", "city", "Lisbon", session_key="cli:direct", source_message_id="m1")
    _, fact, _ = ws.facts.set("home", "City ", "Porto", session_key="telegram:7", source_message_id="m9")
    assert [f.value for f in ws.facts.all()] == ["Porto"]
    assert (fact.key, fact.category) == ("city", "Home"), "a known fact keeps the spelling of its names"
    now, before = ws.facts.history(fact.id)
    assert (now.value, now.session_key, now.source_message_id, now.until) == ("Porto", "telegram:7", "m9", "")
    assert (before.value, before.session_key, before.source_message_id) == ("Lisbon", "cli:direct", "m1")
    assert before.since < before.until == now.since
    ws.undo()
    assert [f.value for f in ws.facts.all()] == ["Lisbon"]
    assert [one.value for one in ws.facts.history(fact.id)] == ["Lisbon"], "what was undone never was"
    ws.redo()
    assert [one.value for one in ws.facts.history(fact.id)] == ["Porto", "Lisbon"]


def test_the_same_value_again_is_nothing_to_do(ws):
    ws.facts.set("a", "b", "c")
    with pytest.raises(NothingToDo):
        ws.facts.set("A", "B", "c")


def test_filters_are_those_of_the_seed(ws):
    for domain, category, sub, key in [("W", "Db", "Sql", "a"), ("W", "Db", None, "b"), (None, "Db", None, "c")]:
        ws.facts.set(category, key, f"value of {key}", domain=domain, sub_category=sub)
    assert {f.key for f in ws.facts.all(domain="w")} == {"a", "b"}
    assert {f.key for f in ws.facts.all(category="DB")} == {"a", "b", "c"}
    assert {f.key for f in ws.facts.all(sub_category="sql")} == {"a"}
    assert {f.key for f in ws.facts.all(domain="")} == {f.key for f in ws.facts.all(domain=NO_DOMAIN)} == {"c"}
    assert [f.key for f in ws.facts.find("db", "B", "W")] == ["b"]
    assert list(ws.facts.tree()) == ["W", NO_DOMAIN]


def test_a_fact_is_an_item_and_is_recalled(ws):
    _, fact, _ = ws.facts.set("Network", "wifi name", "Meadow", domain="Home")
    assert [hit.item.id for hit in ws.items.search("wifi")] == [fact.id]
    ws.items.edit(fact.id, text="wifi name: Forest")
    assert ws.facts.get(fact.id).value == "Forest"
    assert ws.facts.get(fact.id).item.meta["fact"]["value"] == "Forest"
    ws.items.edit(fact.id, text="Another text altogether")
    assert ws.facts.get(fact.id).value == "Another text altogether"
    assert [one.value for one in ws.facts.history(fact.id)] == ["Another text altogether", "Forest", "Meadow"]


def test_what_one_chat_told_is_no_fact_of_another(ws):
    for chat, name in (("1", "Ana"), ("2", "Bo")):
        ws.facts.set("Person", "name", name, scope_type="chat", channel="telegram", chat_id=chat)
    ws.facts.set("Person", "name", "everybody")
    assert {f.value for f in ws.facts.all()} == {"Ana", "Bo", "everybody"}
    seen = ws.facts.all(audience=Audience("telegram", "1"))
    assert {f.value for f in seen} == {"Ana", "everybody"}


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        (("", "k", "v"), "empty"),
        (("c", " \t", "v"), "empty"),
        (("c\x1b[2J", "k", "v"), "control"),
        (("c", "k" * 301, "v"), "301 characters"),
        (("c", "k", " "), "empty"),
        (("c", "k", "v" * 1_048_576), "at most 1,000,000"),
        (("c", "k", "\ud800"), "surrogate"),
    ],
)
def test_bad_fields_are_refused_in_one_line_and_nothing_is_kept(ws, fields, why):
    with pytest.raises(BadInput, match=why) as refused:
        ws.facts.set(*fields)
    assert "\n" not in refused.value.line()
    assert "\x1b" not in refused.value.line()
    assert not ws.facts.all()
    assert not ws.log()


def test_names_can_be_changed_but_not_to_those_of_another_fact(ws):
    _, one, _ = ws.facts.set("a", "x", "1")
    _, two, _ = ws.facts.set("a", "y", "2")
    ws.facts.edit(one.id, key="z", domain="D", value="3")
    assert values(ws) == {("D", "a", "z"): "3", (None, "a", "y"): "2"}
    with pytest.raises(Refused, match="another fact"):
        ws.facts.edit(two.id, key="Z", domain="d")
    _, again, _ = ws.facts.set("a", "x", "new")
    assert again.id != one.id
    assert values(ws)[None, "a", "x"] == "new"
    with pytest.raises(Conflict):
        ws.facts.edit(two.id, value="5", expected=ws.facts.get(two.id).item._replace(text="y: other"))


def test_merging_keeps_what_the_others_were(ws):
    _, old, _ = ws.facts.set("a", "town", "Rome")
    _, new, _ = ws.facts.set("a", "city", "Milan")
    ws.facts.merge([old.id, new.id])
    assert values(ws) == {(None, "a", "city"): "Milan"}
    assert [one.value for one in ws.facts.history(new.id)] == ["Milan", "Rome"]
    assert all(one.until for one in ws.facts.history(new.id)[1:])
    ws.undo()
    assert len(ws.facts.all()) == 2
    with pytest.raises(BadInput):
        ws.facts.merge([old.id])


def test_what_was_deleted_comes_back_as_one_fact(ws):
    _, fact, _ = ws.facts.set("a", "b", "1")
    ws.facts.delete([fact.id])
    assert not ws.facts.all()
    with pytest.raises(NotFound):
        ws.facts.get(fact.id)
    _, again, _ = ws.facts.set("a", "b", "2")
    assert again.id == fact.id
    assert [f.value for f in ws.facts.all()] == ["2"]
    assert [one.value for one in ws.facts.history(fact.id)] == ["2"], "what comes back begins anew"


def test_an_item_without_fields_is_no_fact(ws):
    item = ws.items.add("Likes tea")[1]
    with pytest.raises(Refused, match="no fact"):
        ws.facts.get(item.id)
    assert not ws.facts.all()


@pytest.mark.parametrize("who", [{"chat_id": "7"}, {"sender_id": "ana"}, {"scope_type": "global", "chat_id": "7"}])
def test_what_is_meant_for_somebody_is_never_global(ws, who):
    with pytest.raises(BadInput):
        ws.facts.set("H", "k", "private", **who)
    assert not ws.facts.all()


@pytest.mark.parametrize(
    ("one", "other"), [("caf\u00e9", "cafe\u0301"), ("Straße", "STRASSE"), ("key\u200b", "key"), ("A\u00a0b", "a b")]
)
def test_names_that_look_alike_are_one(ws, one, other):
    ws.facts.set("a", one, "1")
    ws.facts.set("a", other, "2")
    assert [f.value for f in ws.facts.all(key=one)] == ["2"]


def test_facts_of_different_chats_are_not_merged(ws):
    _, one, _ = ws.facts.set("a", "x", "1")
    _, two, _ = ws.facts.set("a", "y", "2", scope_type="chat", channel="telegram", chat_id="7")
    with pytest.raises(Refused, match="different chats"):
        ws.facts.merge([one.id, two.id], into=one.id)


@pytest.mark.slow
def test_many_writers_of_one_fact_all_succeed(place):
    with open_workspace(place) as ws:
        ws.items.add("the memory is begun")
    code = (
        "import sys; from nanomem_tui import open_workspace\n"
        "from nanomem_tui.core.errors import NothingToDo\n"
        "with open_workspace(sys.argv[1]) as ws:\n"
        "    for n in range(15): ws.facts.set('a', 'k', f'{sys.argv[2]} {n}')\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(place), name], env=environment, stderr=subprocess.PIPE)
        for name in ("one", "two")
    ]
    said = [process.communicate(timeout=120)[1] for process in running]
    assert [process.returncode for process in running] == [0, 0], said
    with open_workspace(place) as ws:
        [fact] = ws.facts.all()
        assert len(ws.facts.history(fact.id)) == 30


def test_many_are_one_operation(ws):
    ws.facts.set("a", "x", "old")
    batch = [FactValue("a", "x", "1"), FactValue("A", "X", "2"), FactValue("b", "y", "3")]
    operation, kept = ws.facts.set_many(batch, actor="human", kind="facts.set", label="three")
    assert {(f.key, f.value) for f in kept} == {("x", "2"), ("y", "3")}
    assert len(operation.changes) == 2
    with pytest.raises(NothingToDo):
        ws.facts.set_many(batch[1:], actor="human", kind="facts.set", label="again")
    ws.undo()
    assert values(ws) == {(None, "a", "x"): "old"}


def test_facts_of_two_processes_are_one(place):
    with open_workspace(place) as one, open_workspace(place) as two:
        one.facts.set("a", "b", "1")
        two.facts.set("a", "b", "2")
        one.refresh()
        assert [f.value for f in one.facts.all()] == ["2"]
        assert [f.value for f in one.facts.history(one.facts.all()[0].id)] == ["2", "1"]


NAMES = st.sampled_from(["a", "A", "b", " a "])


class FactsAreADict(RuleBasedStateMachine):
    """Facts against a plain dict by (domain, category, key) with case folded, across restarts and undo."""

    def __init__(self):
        super().__init__()
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.ws = open_workspace(self.folder.name)
        self.model: dict[tuple[str, str, str], str] = {}
        self.before: list[dict[tuple[str, str, str], str]] = []

    @rule(domain=st.none() | NAMES, category=NAMES, key=NAMES, value=st.sampled_from("123"))
    def keep(self, domain, category, key, value):
        place = ((domain or "").strip().lower(), category.strip().lower(), key.strip().lower())
        if self.model.get(place) == value:
            with pytest.raises(NothingToDo):
                self.ws.facts.set(category, key, value, domain=domain)
            return
        self.ws.facts.set(category, key, value, domain=domain)
        self.before.append(dict(self.model))
        self.model[place] = value

    @precondition(lambda self: self.model)
    @rule(at=st.integers(0, 99))
    def delete(self, at):
        fact = sorted(self.ws.facts.all(), key=lambda f: f.id)[at % len(self.model)]
        self.ws.facts.delete([fact.id])
        self.before.append(dict(self.model))
        del self.model[(fact.domain or "").lower(), fact.category.lower(), fact.key.lower()]

    @precondition(lambda self: self.before)
    @rule()
    def undo(self):
        self.ws.undo()
        self.model = self.before.pop()

    @rule(cleanly=st.booleans())
    def open_again(self, cleanly):
        if cleanly:
            self.ws.close()
        else:
            kill(self.ws)
        self.ws = open_workspace(self.folder.name)

    @invariant()
    def same(self):
        found = {((f.domain or "").lower(), f.category.lower(), f.key.lower()): f.value for f in self.ws.facts.all()}
        assert found == self.model

    def teardown(self):
        self.ws.close()
        self.folder.cleanup()


TestFactsAreADict = FactsAreADict.TestCase


def waiting(ws, key, value, item_id="fact_waits"):
    """A fact that waits in the inbox, as a run without a person leaves it."""
    fields = json.dumps({"fact": {"category": "a", "key": key, "value": value}})
    row = Item(
        item_id, f"{key}: {value}", scope_key=scopes.global_key(ws.id), session_key="cli:direct", meta_json=fields
    )
    made = scopes.hold_for_review(row._replace(created_at="2026", updated_at="2026"), "crystallized")
    ws.perform(new_operation("crystallize", "a run", [change_of("item", None, made)], actor="agent"))


def test_accepting_another_value_of_a_known_fact_changes_it(ws):
    _, fact, _ = ws.facts.set("a", "city", "Lisbon")
    waiting(ws, "City", "Porto")
    assert [f.value for f in ws.facts.all()] == ["Lisbon"]
    ws.inbox.accept(["fact_waits"])
    assert [(f.id, f.value, f.item.session_key) for f in ws.facts.all()] == [(fact.id, "Porto", "cli:direct")]
    assert [one.value for one in ws.facts.history(fact.id)] == ["Porto", "Lisbon"]
    assert not ws.inbox.list()
    ws.undo()
    assert [f.value for f in ws.facts.all()] == ["Lisbon"]
    assert len(ws.inbox.list()) == 1


def test_accepting_a_new_fact_makes_it_one(ws):
    waiting(ws, "city", "Porto")
    ws.inbox.accept(["fact_waits"], text="city: Braga")
    assert values(ws) == {(None, "a", "city"): "Braga"}
    assert ws.facts.all()[0].item.meta["fact"]["value"] == "Braga"


def test_a_compaction_leaves_equal_facts_of_two_domains_alone(ws):
    ws.facts.set("Contact", "phone", "111", domain="Work")
    ws.facts.set("Contact", "phone", "111", domain="Home")
    assert not ws.items.compact_preview(0).removed


def test_a_fact_is_known_while_its_names_change_and_it_waits_or_goes(ws):
    _, fact, _ = ws.facts.set("a", "x", "1")
    known = ws.facts.by_identity()
    assert [one.id for one in known.values()] == [fact.id]
    ws.facts.edit(fact.id, key="y")
    assert [one.key for one in known.values()] == ["y"]
    waiting(ws, "z", "2")
    assert len(known) == 1
    ws.inbox.accept(["fact_waits"])
    assert {one.key for one in known.values()} == {"y", "z"}
    ws.facts.delete([fact.id])
    assert {one.key for one in known.values()} == {"z"}
    ws.undo()
    assert {one.key for one in ws.facts.all()} == {"y", "z"}
