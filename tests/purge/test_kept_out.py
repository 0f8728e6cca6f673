"""What a memory said that was forgotten by its id, or with a person, comes back by no restore and no capture."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.purge import run
from tests.cli.conftest import Result
from tests.purge import planted

pytestmark = pytest.mark.slow

Run = Callable[..., Result]
Turn = Callable[..., Any]
SAID = "I decided to move to Vantablack Street next month"
WHY = "a person wanted it to be forgotten"


@pytest.fixture
def workspace(home):
    """The home of an agent of nanobot 0.3.5."""
    return home("nb035")


@pytest.fixture
def turn(run, monkeypatch):
    """`turn("zed", "I decided …")`: one whole turn in a chat, and what came of it."""

    def told(sender, text, **more):
        body = {"session_key": "telegram:77", "sender_id": sender, "text": text, "assistant": "Good luck.", **more}
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(body).encode())))
        return run("turn", "--json").json

    return told


def saved_by(turn, sender, text):
    """The id of the one memory that came of a turn."""
    (saved,) = turn(sender, text)["saved"]
    return str(saved["id"])


def reasons(ended):
    assert ended["saved"] == []
    return [one["why"] for one in ended["dropped"]]


def held(workspace, word):
    return [where for where in planted.holding(workspace.parent, word) if "nanomem-backups/" not in where]


@pytest.mark.slow
def test_a_restore_brings_back_no_trace_of_a_memory_that_went_by_its_id(workspace, run, turn):
    key = saved_by(turn, "zed", SAID)
    assert run("backup", "make").code == 0
    assert run("forget", "--id", key, "--yes").code == 1  # the backup
    assert held(workspace, "Vantablack") == []
    done = run("backup", "restore", "latest", "--yes")
    assert (done.code, "taken out again: workspace/memory/session-state/telegram_77.md" in done.out) == (0, True)
    assert held(workspace, "Vantablack") == []
    assert "Vantablack" not in run("recall", "where do I move", "--channel", "telegram", "--chat-id", "77").out


@pytest.mark.slow
def test_what_a_memory_said_is_not_captured_again_until_it_is_lifted(workspace, run, turn):
    key = saved_by(turn, "zed", SAID)
    assert run("memory", "edit", key, "--text", "zed moves to Vantablack Street").code == 0
    assert run("forget", "--id", key, "--yes").code == 0
    for text in (SAID, f"Hello! {SAID.upper()}.", "Remember that Zed moves to Vantablack street."):
        assert reasons(turn("zed", text)) == [WHY]
    assert held(workspace, "Vantablack") == []
    assert saved_by(turn, "zed", "I decided to move to Green Street next month")
    (receipt,) = run("forget", "--list", "--json").json
    assert run("forget", "--lift", receipt["id"], "--yes").code == 0
    assert saved_by(turn, "zed", SAID)


@pytest.mark.slow
def test_a_memory_of_few_letters_does_not_come_back_and_longer_ones_that_hold_it_may(workspace, run, turn):
    key = saved_by(turn, "zed", "Remember: I like Qux.")
    assert run("forget", "--id", key, "--yes").code == 0
    assert reasons(turn("zed", "Remember: i like Qux!")) == [WHY]
    assert run("memory", "add", "--text", "I like: Qux").code == 2
    assert saved_by(turn, "zed", "Remember: I like Qux with a slice of lemon.")


@pytest.mark.slow
def test_what_a_person_said_is_captured_from_nobody_but_who_said_it_too(workspace, run, turn):
    common = "I decided to drink more water every single day"
    saved_by(turn, "zed", SAID)
    saved_by(turn, "zed", common)
    turn("ann", common, session_key="telegram:78")
    assert run("forget", "--person", "zed", "--yes").code == 0
    for sender in ("zed", "ann", ""):
        assert reasons(turn(sender, SAID)) == [WHY]
    assert held(workspace, "Vantablack") == []
    assert saved_by(turn, "bob", common)
    assert reasons(turn("zed", "I decided to paint the fence green tomorrow")) == [WHY]  # and is not said to be saved


@pytest.mark.slow
def test_one_lesson_of_a_tool_that_is_forgotten_hinders_no_other(workspace, run):
    def add(trigger, better):
        return run("memory", "lessons", "add", "--trigger", trigger, "--action", better)

    assert add("tool:exec:error", "look whether the file exists first").code == 0
    key = run("memory", "lessons", "list", "--limit", "1", "--json").json[0]["id"]
    assert run("forget", "--id", key, "--yes").code == 0
    assert add("tool:exec:error", "look whether the file exists first").code == 2
    assert add("tool:read:error", "look whether the file exists first").code == 0
    assert add("tool:exec:error", "give a longer timeout").code == 0


def test_of_a_lesson_its_words_are_kept_out_and_not_when_it_holds():
    lesson = {"trigger": "a question about trains", "bad_action": "", "better_action": "give the platform as well"}
    assert run.kept_of_row([lesson]) == (
        ["give the platform as well"],
        ["a question about trains\ngive the platform as well"],
    )


@pytest.mark.slow
def test_a_document_and_an_event_that_hold_it_are_kept_out(workspace, run, tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "one.md").write_text("# Garden\n\nThe key is behind the green shelf, says Ada.\n")
    (notes / "two.md").write_text("# Kitchen\n\nThe stove is new.\n")
    assert run("knowledge", "add", notes).code == 0
    assert run("forget", "--text", "behind the green shelf", "--yes").code == 0
    (notes / "one.md").write_text("# Garden\n\nThe key is behind the green shelf, says Ada. Still.\n")
    (notes / "two.md").write_text("# Kitchen\n\nThe stove is new, and white.\n")
    synced = run("knowledge", "sync")
    assert "wanted it to be forgotten" in synced.out + synced.err
    assert "green shelf" not in run("knowledge", "search", "green shelf").out
    assert "white" in run("knowledge", "search", "new stove").out
    pushed = run("event", "push", "she looked behind the green shelf")
    assert (pushed.code, "wanted it to be forgotten" in pushed.err) == (2, True)
    assert run("event", "push", "she looked").code == 0
    with open_workspace(workspace) as ws:
        assert "green shelf" not in str([entry.data for entry in ws.operational.recent()])
