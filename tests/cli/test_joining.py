"""`nanomem memory merge` across scopes and kinds: nothing is widened or lost without a word."""

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import Refused
from tests.store.homes import make_home


@pytest.fixture
def ids(tmp_path, monkeypatch):
    """An item of one chat, and a newer global one."""
    workspace = make_home(tmp_path)
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(workspace))
    with open_workspace(workspace) as ws:
        _, chat, _ = ws.items.add("the boat is green", channel="telegram", chat_id="42")
        _, everyone, _ = ws.items.add("the boat is red", kind="decision")
        with pytest.raises(Refused, match="differ in scope or kind"):
            ws.items.merge([chat.id, everyone.id])
    return chat.id, everyone.id


def test_it_is_refused_until_somebody_says_which_scope_stands(ids, run):
    asked = run("memory", "merge", *ids)
    assert asked.code == 2
    assert "--yes" in asked.err
    assert f"{ids[0]}  fact, chat " in asked.out
    assert f"What stands is {ids[1]}: decision, global; the other texts go." in asked.out
    assert run("memory", "show", ids[0]).code == 0, "nothing was changed"


def test_a_dry_run_shows_scopes_and_kinds(ids, run):
    told = run("memory", "merge", *ids, "--dry-run")
    assert (told.code, "What stands is" in told.out) == (0, True)
    assert run("memory", "merge", *ids, "--dry-run", "--json").json["differ"] is True


def test_yes_keeps_the_newest_and_into_the_named_one(ids, run):
    done = run("memory", "merge", *ids, "--yes", "--json").json
    assert (done["item"]["id"], done["item"]["scope_type"]) == (ids[1], "global")
    assert run("undo").code == 0
    done = run("memory", "merge", *ids, "--into", ids[0], "--json").json["item"]
    assert (done["id"], done["scope_type"], done["text"]) == (ids[0], "chat", "the boat is green")
    assert run("memory", "show", ids[1]).code == 2


def test_items_that_are_alike_need_no_word(tmp_path, run, monkeypatch):
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(make_home(tmp_path)))
    assert run("memory", "merge", "ltm_1", "ltm_2").code == 0
