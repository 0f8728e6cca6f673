"""Names that hold what is forgotten are told as left, each with what to do, and no name is changed."""

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from nanomem_tui.purge import run as purge_run
from nanomem_tui.purge.matchers import Words
from tests.cli.conftest import Result
from tests.purge import planted

pytestmark = pytest.mark.slow

Run = Callable[..., Result]
TEXT = "walrus parade"


@pytest.fixture
def workspace(home):
    """The home of an agent of nanobot 0.3.5."""
    return home("nb035")


def left_of(result):
    """What is left, without the reasons."""
    lines = [line for line in result.out.splitlines() if line.startswith("Left: ")]
    return [line.removeprefix("Left: ").partition(": 1 time (")[0] for line in lines]


@pytest.mark.slow
def test_files_and_folders_are_told_and_stay(workspace, run):
    (workspace / "memory" / "walrus-parade.md").write_text("- about walrus parade\n")
    (workspace / "skills" / "Walrus Parade").mkdir(parents=True)
    (workspace / "skills" / "Walrus Parade" / "SKILL.md").write_text("x\n")
    shown = run("forget", "--text", TEXT, "--dry-run")
    assert "the name of workspace/memory/walrus-parade.md: name (stays: nanomem renames nothing" in shown.out
    done = run("forget", "--text", TEXT, "--yes")
    told = ["the name of workspace/memory/walrus-parade.md", "the name of workspace/skills/Walrus Parade"]
    assert (done.code, left_of(done)) == (1, told)
    assert (workspace / "memory" / "walrus-parade.md").read_text() == ""
    assert planted.outside_git(workspace.parent, "walrus") == []  # no receipt says the name
    (workspace / "memory" / "walrus-parade.md").rename(workspace / "memory" / "other.md")
    assert left_of(run("forget", "--again", "--yes")) == told[1:]
    (workspace / "skills" / "Walrus Parade").rename(workspace / "skills" / "other")
    assert run("forget", "--again", "--yes").code == 0


def test_the_key_of_a_session_is_told_with_the_command_that_takes_it_out(workspace, run):
    key = f"cli:{TEXT}"
    folder = next((workspace.parent / "sessions").rglob("*.jsonl")).parent
    file = folder / f"{base64.urlsafe_b64encode(key.encode()).decode().rstrip('=')}.jsonl"
    lines = ({"_type": "metadata", "key": key}, {"role": "user", "content": "hello there"})
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = run("forget", "--text", TEXT, "--yes")
    assert (done.code, left_of(done)) == (1, [f"the session {key}"])
    assert f"`nanomem forget --session '{key}'` takes it out" in done.out
    assert file.exists()
    (receipt,) = run("forget", "--list", "--json").json
    assert receipt["left"][0]["where"] == "the session cli:[forgotten]"
    assert file.stem not in json.dumps(receipt)
    assert run("forget", "--session", key, "--yes").code == 0
    assert not file.exists()
    assert run("forget", "--again", "--yes").code == 0


def test_a_backup_that_holds_the_name_alone_is_told_and_removed(workspace, run):
    note = workspace / "memory" / "walrus-parade.md"
    note.write_text("nothing\n")
    made = Path(run("backup", "make", "--json").json["path"])
    note.unlink()
    assert left_of(run("forget", "--text", TEXT, "--yes")) == [made.name]
    assert run("forget", "--text", TEXT, "--yes", "--backups").code == 0
    assert not made.exists()


@pytest.mark.parametrize("name", ["MEMORY.md", "memory", "2026-02-15.md", "sessions", "history.jsonl", "master"])
def test_a_name_that_every_memory_has_is_nobodys_words(name):
    assert not purge_run.name_holds(name, Words([name.partition(".")[0]]))
    assert purge_run.name_holds(f"my {name}", Words([name.partition(".")[0]]))
    assert purge_run.masked_name(f"workspace/{name}", Words([name.partition(".")[0]])) == f"workspace/{name}"
