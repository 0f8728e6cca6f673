"""`nanomem conflicts`: what cannot both be so, and which of the two stands."""

import pytest

from nanomem_tui import open_workspace
from tests.store.homes import make_home


@pytest.fixture
def ids(tmp_path, monkeypatch):
    """The ids of two homes of a person, the older first, and of a liking and its denial."""
    made = make_home(tmp_path)
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(made))
    texts = ("User lives in Berlin", "User lives in Munich\x1b", "用户喜欢咖啡", "用户不喜欢咖啡")
    with open_workspace(made) as ws:
        return [ws.items.add(text)[1].id for text in texts]


def enabled(run):
    return {row["id"]: row["enabled"] for row in run("memory", "list", "--json").json}


def test_the_list_and_one_pair_tell_what_both_say(ids, run):
    rows = run("conflicts", "list", "--json").json
    assert {(row["older"]["id"], row["newer"]["id"]) for row in rows} == {tuple(ids[:2]), tuple(ids[2:])}
    assert "2 contradictions" in run("conflicts", "list").out
    shown = run("conflicts", "show", ids[0])
    assert "not Berlin" in shown.out
    assert "\x1b" not in shown.out


@pytest.mark.parametrize(("command", "gone"), [("supersede", 0), ("keep-new", 0), ("keep-old", 1)])
def test_one_gives_way_and_comes_back(ids, run, command, gone):
    before = enabled(run)
    assert run("conflicts", command, ids[0], "--dry-run", "--json").json["superseded"] == [ids[gone]]
    assert enabled(run) == before
    assert run("conflicts", command, ids[0], "--json").json["by"] == [ids[1 - gone]]
    assert enabled(run) == {**before, ids[gone]: False}
    for one in ids[:2]:
        assert "supersede" in run("memory", "history", one).out
    run("undo")
    assert enabled(run) == before


def test_show_tells_by_what_it_is_superseded_and_enable_tells_it_too(ids, run):
    run("conflicts", "supersede", ids[0])
    assert f"by {ids[1]}" in run("memory", "show", ids[0]).out
    assert ids[0] in run("memory", "show", ids[1]).out
    assert "superseded" in run("memory", "list").out
    assert f"which {ids[1]} had superseded" in run("memory", "enable", ids[0]).out
    assert "Superseded" not in run("memory", "show", ids[0]).out


def test_several_are_decided_on_only_after_a_yes(ids, run):
    assert "add --yes" in run("conflicts", "supersede", ids[0], ids[2]).err
    run("conflicts", "supersede", ids[0], ids[2], "--yes")
    assert run("conflicts", "list").out == "Nothing contradicts anything.\n"


def test_both_are_kept_or_one_moves(ids, run):
    run("conflicts", "keep-both", ids[0])
    run("conflicts", "split", ids[2], "--scope", "telegram:42", "--move", "newer")
    assert run("conflicts", "list", "--json").json == []
    assert len(run("conflicts", "list", "--kept", "--json").json) == 2
    moved = run("memory", "show", ids[3], "--json").json
    assert moved["scope_key"] == "channel:telegram:chat:42"
