"""Leaks in the queue: each says why and where it would belong, goes there by one decision, and what is decided here or
on the Scopes screen is seen by the other."""

from datetime import timedelta

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput
from nanomem_tui.review.findings import DecisionDetails
from nanomem_tui.review.inbox import rule_like
from nanomem_tui.review.leaks import KnownNames, LeakSearch, find_leak
from tests.review.test_scopes import put
from tests.store.homes import make_home

TOLD = {"channel": "telegram", "chat_id": "-100987", "sender_id": "Ana"}


@pytest.fixture
def home(tmp_path):
    """Ana writes in one chat, Mark in another; two things about Ana and one about Mark are global."""
    made = make_home(tmp_path)
    with open_workspace(made) as ws:
        for name, chat in (("Ana", "-100987"), ("marko", "-200123")):
            where = {"channel": "telegram", "chat_id": chat, "sender_id": name}
            put(ws, f"at_{name}", f"telegram:{chat}", f"greeting {name}", **where)
        put(ws, "job", "global", "Ana is looking for another job")
        put(ws, "rise", "global", "Ana asked for more money")
        put(ws, "debt", "global", "the debt of @marko is old")
    return made


@pytest.fixture
def ws(home):
    with open_workspace(home) as opened:
        yield opened


def asked(ws):
    return {one.ids[0]: one for one in ws.triage.findings(("leak",))}


def shown(ws):
    """What the Scopes screen says leaks."""
    return {one.item.id for one in ws.scopes.leaks()}


def scope(ws, key):
    return ws.items.get(key).scope_key


def test_a_leak_says_who_sees_it_and_where_it_would_belong(ws):
    found = asked(ws)
    assert set(found) == {"job", "rise", "debt"}
    one = found["job"]
    assert one.why == "it names the person telegram:@Ana; every chat sees it"
    assert one.offers[0] == "split"
    beside = {said.label: said.text for said in ws.triage.evidence(one)}
    assert beside["who sees it"] == "every chat"
    assert beside["where it would belong"] == "telegram:@Ana, in every chat"
    kinds = list(dict.fromkeys(found.kind for found in ws.triage.findings()))
    assert kinds[0] == "leak"


def test_a_move_without_a_scope_takes_each_where_it_belongs_and_undo_brings_all_back(ws):
    before = {key: scope(ws, key) for key in ("job", "rise", "debt")}
    done = ws.triage.decide(list(asked(ws).values()), "split")
    assert [scope(ws, key) for key in before] == [
        "channel:telegram:user:Ana", "channel:telegram:user:Ana", "channel:telegram:user:marko",
    ]  # fmt: skip
    assert (asked(ws), shown(ws)) == ({}, set())
    ws.undo(done.operation.id)
    assert {key: scope(ws, key) for key in before} == before
    assert set(asked(ws)) == shown(ws) == set(before)


def test_words_that_are_there_already_become_one_item(ws):
    put(ws, "there", "telegram:@Ana", "Ana asked for more money", hits=3)
    ws.triage.decide([asked(ws)["rise"]], "split")
    assert "rise" not in {row.id for row in ws.items.all()}
    assert ws.items.get("there").hits >= 3


def test_where_nobody_knows_whose_it_is_a_move_asks_for_the_scope(ws):
    put(ws, "lost", "global", "needle", scope_key="channel:telegram:chat:-100987")
    with pytest.raises(BadInput, match="nobody knows where it belongs"):
        ws.triage.decide([asked(ws)["lost"]], "split")
    ws.triage.decide([asked(ws)["lost"]], "split", DecisionDetails(scope="telegram:-100987"))
    assert "lost" not in asked(ws)


@pytest.mark.parametrize("decision", ["keep", "snooze"])
def test_what_is_kept_or_put_off_here_is_not_shown_there_until_it_is_taken_back(ws, decision):
    done = ws.triage.decide([asked(ws)["job"]], decision)
    assert set(asked(ws)) == shown(ws) == {"rise", "debt"}
    ws.undo(done.operation.id)
    assert set(asked(ws)) == shown(ws) == {"job", "rise", "debt"}


def test_what_was_put_off_comes_back_on_both_when_its_time_has_come(ws):
    ws.triage.decide([asked(ws)["job"]], "snooze")
    with clock.at(clock.now() + timedelta(days=8)):
        assert "job" in shown(ws)
        assert "job" in asked(ws)


def test_what_is_moved_there_is_not_asked_about_here(ws):
    assert "job" in asked(ws)
    ws.scopes.move(["job"], ws.scopes.named("telegram:@Ana"))
    assert set(asked(ws)) == {"rise", "debt"}


def test_a_rule_takes_all_that_are_alike_where_each_belongs(ws):
    rule = rule_like(asked(ws)["job"], "split")
    assert {one.ids[0] for one in ws.triage.rules.meant(rule)} == {"job", "rise"}
    ws.triage.rules.apply(rule)
    assert set(asked(ws)) == {"debt"}


def test_a_second_look_judges_only_rows_that_changed(ws, monkeypatch):
    looked, names, judged = LeakSearch(), KnownNames(ws.items.all()), []

    def judge(row, *given, **how):
        judged.append(row)
        return find_leak(row, *given, **how)

    monkeypatch.setattr("nanomem_tui.review.leaks.find_leak", judge)
    first = looked.find(ws.items.all(), names)
    judged.clear()
    changed = put(ws, "debt", "global", "the debt of @marko is paid")
    second = looked.find(ws.items.all(), KnownNames(ws.items.all()))
    assert [row.id for row in judged] == [changed.id]
    assert len(first) == len(second) == 3
