"""`nanomem find`, `bookmarks`, `filters` and `macro`: what the console's keys J ; ' | # @ do, without a console."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.store.files.user import Macro, Step
from tests.cli.conftest import Run


@pytest.fixture
def boats(workspace: Path) -> Path:
    with open_workspace(workspace) as ws:
        for text in ("the boat is green", "the boat is red"):
            ws.items.add(text)
        ws.habits.save_macro(Macro("off", (Step("toggle", "items", "shown", "boat", {"enabled": False}),)))
        ws.habits.save_macro(Macro("this", (Step("pin", "items", "cursor", "", {"pinned": True}),)))
    return workspace


def test_anything_is_found_by_a_part_of_it(boats: Path, run: Run) -> None:
    found = run("find", "boat", "--json").json
    assert [place["title"] for place in found["places"]] == ["the boat is red", "the boat is green"]
    assert found["places"][0]["screen"] == "items"
    assert run("find", "ledger").out.splitlines()[1].split() == ["screen", "ledger", "Ledger"]
    assert run("find", "boat", "--in", "session").out == "Nothing found.\n"
    assert "this is similar" in run("find", "greem").err
    assert run("find").code == 2


def test_a_filter_lists_what_it_lets_through(boats: Path, run: Run) -> None:
    assert [row["text"] for row in run("memory", "list", "--filter", "boat -red", "--json").json] == [
        "the boat is green"
    ]
    assert run("memory", "list", "--filter", "kind:decision boat", "--json").json == []
    wrong = run("memory", "list", "--filter", "hits:many")
    assert (wrong.code, "is no number" in wrong.err) == (2, True)


def test_a_filter_has_a_name(boats: Path, run: Run) -> None:
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


def test_a_bookmark_is_set_listed_and_forgotten(boats: Path, run: Run) -> None:
    assert run("bookmarks", "add", "sessions", "cli:1", "--title", "[/red]\x1b[31m").code == 0
    listed = run("bookmarks", "list")
    assert "[/red]␛[31m" in listed.out
    assert run("bookmarks", "list", "--json").json[0]["id"] == "cli:1"
    assert run("bookmarks", "delete", "sessions", "cli:1", "--dry-run").out.startswith("Would")
    assert run("bookmarks", "delete", "sessions", "cli:1", "--yes").code == 0
    assert run("bookmarks", "delete", "sessions", "cli:1", "--yes").code == 2


def test_a_macro_is_shown_before_it_is_done_and_one_undo_takes_it_back(boats: Path, run: Run) -> None:
    def enabled() -> int:
        return sum(row["enabled"] for row in run("memory", "list", "--filter", "boat", "--json").json)

    assert "disable: all that “boat” lets through of items" in run("macro", "show", "off").out
    shown = run("macro", "run", "off", "--dry-run")
    assert "1. disable: all that “boat” lets through of items: 2 rows" in shown.out
    asked = run("macro", "run", "off")  # nobody there to ask
    assert (asked.code, enabled()) == (2, 2)
    done = run("macro", "run", "off", "--yes", "--json").json
    assert done["operation"]["label"] == "macro off: 2 rows"
    assert enabled() == 0
    assert run("undo").code == 0
    assert enabled() == 2


def test_a_macro_for_the_cursor_wants_a_row(boats: Path, run: Run) -> None:
    row = run("memory", "list", "--filter", "green", "--json").json[0]["id"]
    assert "name the rows: --row ID" in run("macro", "run", "this", "--yes").err
    assert run("macro", "run", "this", "--row", row, "--yes").code == 0
    assert run("memory", "show", row, "--json").json["pinned"]
    assert "changes nothing" in run("macro", "run", "this", "--row", row, "--yes").out
    assert "there are: off, this" in run("macro", "run", "that").err
    assert run("macro", "delete", "this", "--yes").code == 0
    assert [one["name"] for one in run("macro", "list", "--json").json] == ["off"]


def test_what_cannot_be_read_is_no_empty_list(boats: Path, run: Run) -> None:
    with open_workspace(boats) as ws:
        ws.paths.habits.write_text("junk")
    for command in (("bookmarks", "list"), ("filters", "list"), ("macro", "list")):
        told = run(*command)
        assert told.code != 0
        assert "cannot be read" in told.err
    assert "cannot be read" in run("doctor").out
