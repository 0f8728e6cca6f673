"""What was forgotten stays forgotten whatever backup is brought back in place."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from nanomem_tui.core.paths import find_workspace
from nanomem_tui.store import forgotten
from tests.cli.conftest import Result
from tests.purge import planted

Run = Callable[..., Result]


def outside_backups(workspace, word=planted.WORD):
    return [
        where
        for where in planted.holding(workspace.parent, word)
        if "nanomem-backups/" not in where and ".git/" not in where
    ]


@pytest.mark.slow
def test_a_restore_brings_back_nothing_that_was_forgotten(home, run):
    workspace = home("nb035")
    planted.plant(workspace, run)
    made = Path(run("backup", "make", "--json").json["path"]).name
    assert run("memory", "add", "--text", "came since").code == 0
    assert run("forget", "--text", planted.TEXT, "--yes").code == 1  # the backup
    assert outside_backups(workspace) == []
    receipts = run("forget", "--list", "--json").json
    told = run("backup", "restore", made, "--dry-run")
    assert "Stays forgotten: 1 thing; what comes back of it is taken out again" in told.out
    done = run("backup", "restore", made, "--yes")
    assert done.code == 0, done.err
    assert re.search(r"Forgotten, and taken out again: (nanomem.db|PostgreSQL .*), memory_entries", done.out)
    assert outside_backups(workspace) == []
    assert run("forget", "--list", "--json").json == receipts
    texts = [one["text"] for one in run("memory", "list", "--json").json]
    assert "came since" not in texts
    assert "tea is black" in texts
    assert run("memory", "add", "--text", planted.TEXT).code == 2
    assert run("doctor").code == 0
    planted.git(workspace, "fsck", "--full", "--strict")


@pytest.mark.slow
def test_a_conversation_and_a_memory_by_its_id_stay_away_too(home, run):
    workspace = home("nb035")
    ids = planted.plant(workspace, run)
    made = Path(run("backup", "make", "--json").json["path"]).name
    run("forget", "--session", "cli:direct", "--id", ids[0], "--yes")
    assert run("backup", "restore", made, "--yes").code == 0
    assert "cli:direct" not in [one["key"] for one in run("session", "list", "--json").json]
    assert ids[0] not in [one["id"] for one in run("memory", "list", "--json").json]


@pytest.mark.slow
def test_what_a_backup_has_as_forgotten_is_joined(workspace, run):
    assert run("memory", "add", "--text", "the red hat is old").code == 0
    assert run("forget", "--text", "red hat", "--yes").code == 0
    paths = find_workspace(workspace)
    made = Path(run("backup", "make", "--json").json["path"]).name
    (paths.data / "forgotten.json").unlink()
    assert run("memory", "add", "--text", "the red hat is new").code == 0
    assert run("memory", "add", "--text", "the green hat is new").code == 0
    assert run("forget", "--text", "green hat", "--yes").code == 0  # under another key
    assert run("backup", "restore", made, "--yes").code == 0
    for text in ("red hat", "green hat"):
        assert run("memory", "add", "--text", f"my {text}").code == 2
    receipts = run("forget", "--list", "--json").json
    assert len(receipts) == 2
    for one in receipts:
        assert run("forget", "--lift", one["id"], "--yes").code == 0
    assert run("memory", "add", "--text", "my red hat and green hat").code == 0


def test_a_copy_at_a_new_place_is_said_to_hold_what_was_forgotten_since(workspace, run, tmp_path):
    assert run("memory", "add", "--text", "the red hat is old").code == 0
    run("backup", "make")
    assert "forgotten" not in run("backup", "restore", "latest", "--to", tmp_path / "before").out
    assert run("forget", "--text", "red hat", "--yes").code == 1  # the backup
    told = run("backup", "restore", "latest", "--to", tmp_path / "new")
    assert (told.code, "it holds what was forgotten since: 1 thing" in told.out) == (0, True)
    run("backup", "make")
    assert "forgotten" not in run("backup", "restore", "latest", "--to", tmp_path / "after").out


@pytest.fixture
def paths(workspace):
    """The small home."""
    return find_workspace(workspace)


def test_the_same_key_is_one_list(paths):
    forgotten.add(paths, "a", {"text": ["red hat"]})
    then = (paths.data / forgotten.FILE).read_bytes()
    forgotten.add(paths, "b", {"text": ["green hat"]})
    forgotten.lift(paths, "a")
    forgotten.add_file(paths, then)
    kept = forgotten.load(paths)
    assert [mark.receipt for mark in kept.marks] == ["b", "a"]
    assert kept.others == ()


@pytest.mark.slow
def test_that_the_backup_of_before_holds_what_an_agent_wrote_again_is_said(workspace, run):
    assert run("forget", "--text", "red hat", "--yes").code == 0
    (workspace / "memory" / "MEMORY.md").write_text("# M\n")
    made = Path(run("backup", "make", "--json").json["path"]).name
    (workspace / "memory" / "MEMORY.md").write_text("# M\n\n- the red hat is old\n")
    done = run("backup", "restore", made, "--yes")
    undo = next(one["id"] for one in run("backup", "list", "--json").json if one["reason"])
    assert f"Forgotten, and left: {undo}: 1 time (a backup: `nanomem forget --again --backups`" in done.out
    assert run("forget", "--again", "--backups", "--yes").code == 0
    assert [one["id"] for one in run("backup", "list", "--json").json] == [made]
    assert "left" not in run("backup", "restore", made, "--yes").out
