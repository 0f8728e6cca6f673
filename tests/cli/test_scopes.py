"""`nanomem scopes`: what it prints, what it changes, and that a rehearsal changes nothing."""

import pytest

from nanomem_tui import open_workspace
from tests.review.test_scopes import put
from tests.store.homes import make_home


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """Ana in one chat, Bo in another, and what is known of them; a global item that tells of Ana."""
    made = make_home(tmp_path)
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(made))
    with open_workspace(made) as ws:
        for row in ws.items.all():
            ws.items.delete([row.id])
        put(ws, "of_ana", "telegram:@Ana", "needle tea", chat_id="-100987", kind="preference")
        put(ws, "of_chat", "telegram:-100987", "needle plan\x1b]0;x\x07", sender_id="Ana", kind="decision")
        put(ws, "of_bo", "telegram:-200123", "needle boat", sender_id="Bo77")
        put(ws, "told", "global", "Ana looks for another job", channel="telegram", chat_id="-100987")
    return made


def test_the_list_counts_by_kind_and_says_what_each_asker_sees(workspace, run):
    found = run("scopes", "list", "--json").json
    scopes = {row["scope"]: row for row in found["scopes"]}
    assert scopes["telegram:-100987"]["kinds"] == {"decision": 1}
    assert scopes["telegram:@Ana"]["seen_by"] == ["telegram:* Ana", "telegram:-100987 Ana"]
    ana = next(row for row in found["askers"] if (row["chat_id"], row["sender_id"]) == ("-100987", "Ana"))
    assert ana["layers"] == {"chat": 1, "user": 1, "global": 1}
    out = run("scopes", "list").out
    assert out.splitlines()[0].split()[:5] == ["Scope", "Preference", "Fact", "Decision", "Items"]
    assert "telegram:-100987 Ana" in out


def test_what_a_chat_sees_is_shown_by_layer_and_nothing_else(workspace, run):
    ana = ("--channel", "telegram", "--chat-id", "-100987", "--sender-id", "Ana")
    seen = {row["id"]: row["layer"] for row in run("scopes", "show", *ana, "--json").json}
    assert seen == {"of_ana": "user", "of_chat": "chat", "told": "global"}
    out = run("scopes", "show", *ana).out
    assert "boat" not in out
    assert "\x1b" not in out
    assert [row["id"] for row in run("scopes", "show", "telegram:-200123", "--json").json] == ["of_bo"]
    assert run("scopes", "show").code == 2
    assert run("scopes", "show", "nowhere").code == 2


def test_leaks_say_why_and_where_the_item_belongs(workspace, run):
    [leak] = run("scopes", "leaks", "--json").json
    assert (leak["id"], leak["kind"], leak["belongs"]) == ("told", "names", "telegram:@Ana")
    assert "it names the person telegram:@Ana; every chat sees it" in leak["why"]
    run("scopes", "move", "told", "--to", leak["belongs"])
    assert run("scopes", "leaks").out == "Nothing leaks: no item names anybody of another chat.\n"


def test_a_move_and_a_copy_are_one_operation_each_that_undo_takes_back(workspace, run):
    made = run("scopes", "move", "of_chat", "of_bo", "--to", "global", "--json").json
    assert made["operation"]["label"] == "move 2 items to global"
    assert made["goes"] == ["of_chat", "of_bo"]
    run("undo")
    assert [row["id"] for row in run("scopes", "show", "telegram:-200123", "--json").json] == ["of_bo"]
    assert "copy “needle boat” to telegram:@Ana" in run("scopes", "copy", "of_bo", "--to", "telegram:@Ana").out
    assert len(run("scopes", "show", "telegram:@Ana", "--json").json) == 2
    run("undo")
    assert len(run("scopes", "show", "telegram:@Ana", "--json").json) == 1


def test_a_rehearsal_says_what_would_go_and_changes_nothing(workspace, run):
    before = run("scopes", "list", "--json").json
    done = run("scopes", "move", "--from", "telegram:-100987", "--to", "telegram:@Ana", "--dry-run")
    assert "Would move to telegram:@Ana (telegram:@Ana, in every chat)" in done.out
    assert "nobody will see 1 item there: decision does not follow a person" in done.out
    assert run("scopes", "list", "--json").json == before


def test_the_whole_of_a_scope_moves_only_after_a_yes(workspace, run):
    there = ("scopes", "move", "--from", "telegram:-200123", "--to", "global")
    refused = run(*there)
    assert refused.code != 0
    assert "--yes" in refused.err
    assert run(*there, "--yes", "--json").json["goes"] == ["of_bo"]
    assert run(*there, "--yes").out == "No items in telegram:-200123.\n"


def test_the_same_text_at_the_target_is_merged_only_when_asked(workspace, run):
    with open_workspace(workspace) as ws:
        put(ws, "twin", "global", "needle boat", hits=2)
    refused = run("scopes", "move", "of_bo", "--to", "global")
    assert refused.code != 0
    assert "1 text is there already" in refused.err
    assert run("scopes", "move", "of_bo", "--to", "global", "--merge", "--json").json["merged"] == {"of_bo": "twin"}
