"""`--dry-run` of every change: it says what would change, ends as the real one would, and no byte is written."""

import os

import click
import pytest

from nanomem_tui.cli.main import root
from tests.store.homes import files

CHANGING = [
    "memory add", "memory edit", "memory enable", "memory disable", "memory delete", "memory flush", "memory compact",
    "memory prune", "memory reindex", "memory lessons add", "memory lessons edit", "memory lessons enable",
    "memory lessons disable", "memory lessons delete", "memory lessons compact", "memory lessons reset",
    "session compact", "dream run", "dream restore", "undo", "redo", "config set",
]  # fmt: skip


def commands(group, path=""):
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, f"{path}{name} ")
        else:
            yield f"{path}{name}", command


def content(workspace):
    """Every file of the agent's home, ours too."""
    return files(workspace.parent)


def an_item(run):
    return str(run("memory", "list", "--limit", "1", "--offset", "3", "--json").json[0]["id"])


def a_lesson(run):
    return str(run("memory", "lessons", "list", "--limit", "1", "--json").json[0]["id"])


def test_every_command_that_changes_something_can_be_rehearsed():
    able = {name for name, command in commands(root) if any(p.name == "dry_run" for p in command.params)}
    assert set(CHANGING) <= able


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("memory add --text tea", "Would add “tea”"),
        ("memory edit ITEM --text tea --importance 0.1", "importance: 0.7 → 0.1"),
        ("memory disable ITEM", "enabled: yes → no"),
        ("memory enable ITEM", "Already enabled."),
        ("memory delete ITEM", "Would delete 1 item:"),
        ("memory prune --older-than-days 0", "Would delete 15"),
        ("memory lessons add --trigger x --action tea", "better_action: “tea”"),
        ("memory lessons edit LESSON --confidence 9", "→ 9"),
        ("memory lessons disable LESSON", "enabled: yes → no"),
        ("memory lessons enable LESSON", "Already enabled."),
        ("memory lessons delete LESSON", "Would delete:"),
        ("memory lessons compact --max-lessons 3", "Would remove:"),
        ("memory lessons reset", "Would delete every lesson:"),
        ("session compact --all --keep 20", "Would compact:"),
        ("config set max_items 7", "max_items = 7"),
    ],
)
def test_a_rehearsal_says_what_would_change_and_writes_nothing(line, said, ramfirst, run):
    words = [
        {"ITEM": an_item, "LESSON": a_lesson}.get(word, lambda _run, word=word: word)(run) for word in line.split()
    ]
    before = content(ramfirst)
    result = run(*words, "--dry-run")
    assert (result.code, result.err) == (0, "")
    assert said in result.out
    body = run(*words, "--dry-run", "--json").json
    assert body.get("operation") is None
    assert body["dry_run"] is True
    assert content(ramfirst) == before


@pytest.mark.parametrize("line", ["memory edit nobody --text x", "memory disable nobody", "memory add --text=", "undo"])
def test_a_rehearsal_ends_as_the_change_would(line, ramfirst, run):
    rehearsed = run(*line.split(), "--dry-run")
    real = run(*line.split())
    assert (rehearsed.code, rehearsed.err) == (real.code, real.err)
    assert real.code in (1, 2)


@pytest.mark.slow
def test_undo_and_redo_are_rehearsed_step_by_step(ramfirst, run):
    key = an_item(run)
    run("memory", "edit", key, "--text", "first")
    run("memory", "edit", key, "--text", "second")
    before = content(ramfirst)
    result = run("undo", "9", "--dry-run")
    assert result.code == 0
    assert "text: “second” → “first”" in result.out
    assert result.out.endswith("would undo 2; nothing more to undo\n")
    assert run("undo", "--dry-run", "--json").json["planned"][0]["kind"] == "undo"
    assert content(ramfirst) == before
    run("undo", "2")
    assert "text: “first” → “second”" in run("redo", "2", "--dry-run").out
    assert run("memory", "show", key, "--json").json["text"] not in ("first", "second")


def test_a_session_and_a_document_are_rehearsed_too(home, run):
    workspace = home("nb035")
    run("dream", "run", "--max-batch-size", "3")
    run("session", "compact", "cli:direct", "--keep", "4", "--yes")
    before = content(workspace)
    result = run("undo", "2", "--dry-run")
    assert result.code == 0, result.err
    assert "cli:direct: 5 messages → 16 messages" in result.out
    assert "memory/.dream_cursor: “205” → “202”" in result.out
    assert content(workspace) == before


def test_a_rehearsed_compaction_is_refused_as_the_real_one(ramfirst, run):
    (ramfirst.parent / "sessions" / "cli_direct.checkpoint.json").write_text("{}")
    line = ("session", "compact", "cli:direct", "--keep", "20")
    rehearsed = run(*line, "--dry-run")
    assert (rehearsed.code, run(*line, "--yes").code) == (2, 2)
    assert "turn" in rehearsed.out
    assert (run(*line, "--force", "--dry-run").code, run(*line, "--force", "--yes").code) == (0, 0)


def test_a_rehearsed_undo_meets_the_conflict_of_the_real_one(ramfirst, run):
    key = an_item(run)
    first = run("memory", "edit", key, "--text", "first", "--json").json["operation"]["id"]
    run("memory", "edit", key, "--text", "second")
    rehearsed, real = run("undo", first, "--dry-run"), run("undo", first)
    assert (rehearsed.code, real.code) == (2, 2)
    assert "changed since" in rehearsed.err
    assert "changed since by human: edit “second”" in real.err


def test_a_rehearsal_in_a_folder_that_cannot_be_written_is_refused(ramfirst, run, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    result = run("memory", "add", "--text", "tea", "--dry-run")
    assert result.code == 2
    assert "no permission" in result.err


@pytest.mark.slow
def test_what_is_to_stay_forgotten_is_refused_in_a_rehearsal_too(ramfirst, run):
    key = an_item(run)
    run("memory", "edit", key, "--text", "Rides a blue bicycle")
    run("forget", "--text", "blue bicycle", "--yes")
    line = ("memory", "add", "--text", "Rides a blue bicycle")
    assert (run(*line).code, run(*line, "--dry-run").code) == (2, 2)
    assert run(*line).err == run(*line, "--dry-run").err
