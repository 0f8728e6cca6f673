"""`nanomem find`, `bookmarks` and `filters`: what the console's keys J ; ' | do, without a console."""

import pytest

from nanomem_tui import open_workspace


@pytest.fixture
def boats(workspace):
    with open_workspace(workspace) as ws:
        for text in ("the boat is green", "the boat is red"):
            ws.items.add(text)
    return workspace


def test_anything_is_found_by_a_part_of_it(boats, run):
    found = run("find", "boat", "--json").json
    assert [place["title"] for place in found["places"]] == ["the boat is red", "the boat is green"]
    assert found["places"][0]["screen"] == "items"
    assert run("find", "ledger").out.splitlines()[1].split() == ["screen", "ledger", "History"]
    assert run("find", "boat", "--in", "session").out == "Nothing found.\n"
    assert "this is similar" in run("find", "greem").err
    assert run("find").code == 2


def test_a_filter_lists_what_it_lets_through(boats, run):
    assert [row["text"] for row in run("memory", "list", "--filter", "boat -red", "--json").json] == [
        "the boat is green"
    ]
    assert run("memory", "list", "--filter", "kind:decision boat", "--json").json == []
    wrong = run("memory", "list", "--filter", "hits:many")
    assert (wrong.code, "is no number" in wrong.err) == (2, True)


def test_a_filter_has_a_name(boats, run):
    assert run("filters", "save", "green ones", "green", "--dry-run").out.startswith("Would keep")
    assert run("filters", "list", "--json").json == []
    assert run("filters", "save", "green ones", "boat green").code == 0
    assert len(run("memory", "list", "--filter", "green ones", "--json").json) == 1
    assert "it was: boat green" in run("filters", "save", "green ones", "green").out
    assert run("filters", "save", "wrong", "hits:many").code == 2
    assert run("filters", "save", "x", "y", "--screen", "nowhere").code == 2
    assert run("filters", "delete", "green ones", "--dry-run").out.startswith("Would forget")
    assert run("filters", "delete", "green ones", "--yes").code == 0
    assert run("filters", "delete", "green ones", "--yes").code == 2


def test_a_bookmark_is_set_listed_and_forgotten(boats, run):
    assert run("bookmarks", "add", "sessions", "cli:1", "--title", "[/red]\x1b[31m").code == 0
    listed = run("bookmarks", "list")
    assert "[/red]␛[31m" in listed.out
    assert run("bookmarks", "list", "--json").json[0]["id"] == "cli:1"
    assert run("bookmarks", "delete", "sessions", "cli:1", "--dry-run").out.startswith("Would")
    assert run("bookmarks", "delete", "sessions", "cli:1", "--yes").code == 0
    assert run("bookmarks", "delete", "sessions", "cli:1", "--yes").code == 2


def test_what_cannot_be_read_is_no_empty_list(boats, run):
    with open_workspace(boats) as ws:
        ws.paths.habits.write_text("junk")
    for command in (("bookmarks", "list"), ("filters", "list")):
        told = run(*command)
        assert told.code != 0
        assert "cannot be read" in told.err
    assert "cannot be read" in run("doctor").out
