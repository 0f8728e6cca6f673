"""`nanomem triage`: what wants a person is listed with its evidence, decided on by name or by kind, and undone."""

import pytest

from nanomem_tui import open_workspace
from tests.memory.test_inbox import hold
from tests.review.lookers import look_for_junk
from tests.store.homes import make_home


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """A home with junk, two items that say the same, and one thing held back."""
    look_for_junk(monkeypatch)
    made = make_home(tmp_path)
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(made))
    with open_workspace(made) as ws:
        for text in ("junk one", "junk \x1b]52;c;AAAA\x07 two", "same tea a", "same tea b"):
            ws.items.add(text)
        hold(ws)
    return made


def ids(run, *kinds):
    return [one["id"] for one in run("triage", "list", *(part for k in kinds for part in ("--kind", k)), "--json").json]


def test_the_list_tells_what_wants_a_person_and_why(workspace, run):
    rows = run("triage", "list", "--json").json
    assert [row["kind"] for row in rows] == ["waiting", "duplicate", "long", "long"]
    assert list(rows[0]) == [
        "id", "kind", "layer", "ids", "text", "why", "since", "weight", "offers", "scope_key", "source", "print",
    ]  # fmt: skip
    out = run("triage", "list").out
    assert "it orders" in out
    assert "4 findings" in out
    assert "\x1b" not in out
    assert "1 of 2 findings" in run("triage", "list", "--kind", "long", "--limit", "1").out


def test_one_is_shown_with_the_evidence_beside_it(workspace, run):
    [key] = ids(run, "duplicate")
    shown = run("triage", "show", key, "--json").json
    assert [one["label"] for one in shown["evidence"]] == ["the other item"] * 2
    out = run("triage", "show", key).out
    assert out.startswith("same tea a\n")
    assert "says what another says" in out
    assert f"beside {shown['ids'][1]}" in out
    assert run("triage", "show", "nothing").code == 2


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        ("long", ["keep"]),
        ("long", ["reject", "--yes"]),
        ("long", ["disable"]),
        ("long", ["delete", "--yes"]),
        ("long", ["edit", "--text", "fine"]),
        ("long", ["snooze", "--days", "3"]),
        ("duplicate", ["merge", "--yes"]),
        ("waiting", ["keep"]),
    ],
)
def test_a_decision_leaves_the_queue_and_undo_brings_it_back(workspace, run, kind, command):
    key = ids(run, kind)[0]
    looked = run("triage", command[0], key, *(part for part in command[1:] if part != "--yes"), "--dry-run", "--json")
    assert looked.json["dry_run"] is True
    assert [one["id"] for one in looked.json["decided"]] == [key]
    assert key in ids(run)
    made = run("triage", command[0], key, *command[1:], "--json").json
    assert made["operation"]["label"]
    assert [one["id"] for one in made["decided"]] == [key]
    assert key not in ids(run)
    run("undo")
    assert key in ids(run)


def test_what_is_moved_is_in_the_other_scope(workspace, run):
    key = ids(run, "long")[0]
    run("triage", "split", key, "--scope", "telegram:42")
    assert run("triage", "show", key, "--json").json["scope_key"] == "channel:telegram:chat:42"
    assert run("triage", "split", key, "--scope", "nowhere").code == 2


def test_what_takes_away_asks_first(workspace, run):
    refused = run("triage", "delete", "--kind", "long", "--all")
    assert refused.code == 2
    assert "Would delete:" in refused.out
    assert "add --yes" in refused.err
    assert len(ids(run, "long")) == 2
    assert run("triage", "delete", "--kind", "long", "--all", "--yes").out == "delete 2 findings\n"
    assert ids(run, "long") == []
    assert run("triage", "delete", "--kind", "long", "--all", "--yes").out == "Nothing to review.\n"


def test_ids_and_all_are_one_or_the_other(workspace, run):
    assert run("triage", "keep").code == 2
    assert run("triage", "keep", "long:x", "--all").code == 2
    assert run("triage", "keep", "--kind", "long").code == 2
    assert run("triage", "merge", "a", "b", "--into", "a").code == 2
    assert run("triage", "--dry-run", "list").code == 2


def test_the_status_tells_what_is_left_and_how_fast_it_goes(workspace, run):
    run("triage", "keep", "--kind", "long", "--all", "--yes")
    status = run("triage", "status", "--json").json
    assert status["counts"] == {"waiting": 1, "duplicate": 1}
    assert (status["decided"], status["left"], status["kept"], status["rules"]) == (2, 2, 2, 0)
    assert "2 done, 6 a minute, 2 left" in run("triage", "status").out
    assert [one["decision"] for one in run("triage", "list", "--kept", "--json").json] == ["keep", "keep"]
    assert "2 findings" in run("triage", "list", "--kept", "--kind", "long").out
    assert run("triage", "list", "--kept", "--kind", "stale").out == "Nothing was kept or put off.\n"


def test_all_like_one_goes_by_a_rule_that_is_kept_and_applied_again(workspace, run):
    key = ids(run, "long")[0]
    looked = run("triage", "like", key, "delete", "--dry-run", "--json").json
    assert len(looked["decided"]) == 2
    assert run("triage", "like", key, "delete").code == 2
    assert run("triage", "like", key, "delete", "--yes").out == "delete 2 findings\n"
    [rule] = run("triage", "rules", "list", "--json").json
    assert (rule["decision"], rule["kind"], rule["why"], rule["findings"]) == (
        "delete",
        "long",
        "it has * characters",
        0,
    )
    assert run("triage", "--apply-rules", "--yes").out == "No rule is about anything now.\n"
    with open_workspace(workspace) as ws:
        ws.items.add("junk of another day")
    assert "junk of another day" in run("triage", "rules", "show", rule["id"]).out
    assert len(run("triage", "rules", "apply", "--dry-run", "--json").json["decided"]) == 1
    assert run("triage", "--apply-rules").code == 2
    assert len(run("triage", "--apply-rules", "--yes", "--json").json["decided"]) == 1
    assert ids(run, "long") == []
    run("undo")
    assert len(ids(run, "long")) == 1
    assert run("triage", "rules", "delete", rule["id"]).code == 2
    assert run("triage", "rules", "delete", rule["id"], "--yes").code == 0
    assert run("triage", "rules", "list").out == "There are no rules.\n"


def test_a_rule_can_be_wider_be_for_later_or_for_once(workspace, run):
    with open_workspace(workspace) as ws:
        ws.items.add("junk of a chat", channel="telegram", chat_id="42")
    key = ids(run, "long")[-1]
    options = ("--any-scope", "--any-source", "--any-reason")
    assert run("triage", "like", key, "keep", *options, "--later", "--json").json["rule"]["why"] == ""
    assert len(ids(run, "long")) == 3
    run("triage", "like", key, "disable", *options, "--once", "--yes")
    assert ids(run, "long") == []
    assert len(run("triage", "rules", "list", "--json").json) == 1
    assert run("triage", "like", key, "keep", "--later", "--once").code == 2


def test_alone_it_tells_what_it_can_do(workspace, run):
    assert "--apply-rules" in run("triage").out


@pytest.mark.slow
def test_what_leaks_is_listed_and_goes_where_it_belongs_without_a_scope(tmp_path, run, monkeypatch):
    from tests.review.test_scopes import put

    home = make_home(tmp_path)
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(home))
    with open_workspace(home) as ws:
        for name, chat in (("Ana", "-100987"), ("marko", "-200123")):
            put(ws, f"at_{name}", f"telegram:{chat}", "hello", channel="telegram", chat_id=chat, sender_id=name)
        put(ws, "job", "global", "Ana is looking for another job")
    [leak] = run("triage", "list", "--kind", "leak", "--json").json
    assert (leak["id"], leak["offers"][0]) == ("leak:job", "split")
    assert run("triage", "split", "--kind", "leak", "--all", "--dry-run").code == 0
    run("triage", "split", "--kind", "leak", "--all", "--yes")
    assert run("memory", "show", "job", "--json").json["scope_key"] == "channel:telegram:user:Ana"
    assert ids(run, "leak") == []
    run("undo")
    assert ids(run, "leak") == ["leak:job"]
    assert "channel:telegram:user:Ana" in run("triage", "like", "leak:job", "split", "--once", "--dry-run").out
    assert run("triage", "like", "leak:job", "split", "--once", "--yes").code == 0
    assert ids(run, "leak") == []
    run("undo")
    run("triage", "snooze", "leak:job")
    assert run("scopes", "leaks", "--json").json == []
