"""The registry of actions is complete, speaks plainly, and no key means two things."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nanomem_tui.actions import ACTIONS, BY_NAME, SCREENS, Context, actions_on, conflicts, remap


def test_no_key_does_two_things_on_a_screen():
    assert conflicts() == []


def test_no_key_means_two_things_anywhere():
    meanings: dict[str, set[str]] = {}
    for action in ACTIONS:
        for key in action.keys:
            meanings.setdefault(key, set()).add(action.name)
    assert {key: names for key, names in meanings.items() if len(names) > 1} == {}


def test_every_action_has_its_own_name_and_words():
    assert len(BY_NAME) == len(ACTIONS)
    for action in ACTIONS:
        assert action.help.endswith((".", ";")), action.name
        assert set(action.screens) <= set(SCREENS), action.name
        assert len(action.label) <= 13, action.name


def test_what_cannot_be_done_says_why():
    nothing = Context("items")
    assert BY_NAME["edit"].enabled(nothing) == "there is no row here"
    assert (
        BY_NAME["edit"].enabled(Context("items", rows=1, read_only="the database is newer")) == "the database is newer"
    )
    assert BY_NAME["merge"].enabled(Context("items", rows=5, selected=1)) == "select two or more rows first (space)"
    assert BY_NAME["undo"].enabled(nothing) == "No more of your changes; U opens history"
    assert BY_NAME["undo"].enabled(Context("items", can_undo=True)) is None
    assert "agent is running" in str(BY_NAME["compact"].enabled(Context("sessions", rows=1, agent_alive=True)))
    assert BY_NAME["compact"].enabled(Context("items", rows=1, agent_alive=True)) is None
    assert BY_NAME["source"].enabled(Context("archive", rows=1)) == "where this came from is not known"
    assert BY_NAME["dream_run"].enabled(Context("dream", read_only="the disk is full")) == "the disk is full"


def test_keys_can_be_moved_but_not_onto_each_other():
    keymap, problems = remap({"delete": "f7", "toggle": "d", "fly": "f", "pin": "f7"})
    assert keymap == {"delete": ("f7",), "toggle": ("d",)}
    assert len(problems) == 2
    assert "no action “fly”" in problems[0]
    assert "f7 is both delete and pin" in problems[1]
    assert remap({"delete": "x", "toggle": "d"}) == ({"delete": ("x",), "toggle": ("d",)}, [])


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"doctor": "ctrl+shift+mega"}, "there is no key “ctrl+shift+mega”, for “doctor”"),
        ({"doctor": "strg+d"}, "there is no key “strg+d”"),
        ({"doctor": "shift+d"}, "no terminal sends shift+d: write D"),
        ({"disable": "f6"}, "no action “disable”; did you mean `toggle`?"),
        ({"delte": "f6"}, "no action “delte”; did you mean `delete`?"),
    ],
)
def test_what_is_no_key_and_no_action_is_said_with_what_may_be_meant(wanted, said):
    moved, problems = remap(wanted)
    assert moved == {}
    assert said in problems[0]


@pytest.mark.parametrize("key", ["escape", "f24", "ctrl+backslash", "alt+x", "ctrl+shift+left", "shift+tab", "ä", "+"])
def test_what_a_terminal_sends_is_a_key(key):
    assert not [said for said in remap({"doctor": key})[1] if "key “" in said or "sends" in said]


def test_a_key_may_be_written_as_its_sign_or_by_its_name():
    assert remap({"doctor": "ctrl+f2, percent_sign , plus,f9"})[0] == {"doctor": ("ctrl+f2", "%", "+", "f9")}
    assert "? is both doctor and help" in remap({"doctor": "question_mark"})[1][0]
    assert remap({"doctor": " , "}) == ({}, ["keys: no key is given for “doctor”"])


def test_the_key_page_lists_every_action():
    page = (Path(__file__).parents[1] / "docs" / "keys.md").read_text("utf-8")
    for action in ACTIONS:
        assert action.help.replace("|", "\\|") in page
    assert "`nanomem memory lessons delete ID --yes`" in page
    for command in ("memory lessons edit ID", "memory merge ID ID", "memory pin ID", "memory unpin ID"):
        assert f"`nanomem {command}`" in page
    assert "Cut a conversation down to its newest messages; can be undone. Shows first" in page
    assert "Delete one row at once, u brings it back; several are shown first. |" in page


def test_a_screen_shows_its_own_and_the_global_actions():
    names = {action.name for action in actions_on("wal")}
    assert {"follow", "undo", "go_items"} <= names
    assert "pin" not in names


def test_the_registry_needs_no_textual():
    code = "import sys, nanomem_tui.actions; print('textual' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
