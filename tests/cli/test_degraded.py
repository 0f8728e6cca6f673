"""What becomes of a command where the database cannot be read or written; what a read-only home still gives."""

import io
import json
import os
import sqlite3
import sys
from contextlib import closing

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import atomic
from nanomem_tui.core.errors import AccessDenied
from nanomem_tui.memory.turns import traces
from nanomem_tui.store.database import engine
from tests.store.homes import make_home

ANA = {"session_key": "telegram:42", "sender_id": "ana"}


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """A home with a database, which is the default one."""
    found = make_home(tmp_path)
    with open_workspace(found) as ws:
        ws.items.add("the first train of all")
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(found))
    return found


@pytest.fixture
def locked(workspace, monkeypatch):
    """Another program holds the database."""
    connection = sqlite3.connect(next(workspace.parent.rglob("nanomem.db")), isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr(engine, "BUSY_SECONDS", 0.2)
    yield connection
    connection.close()


def give(monkeypatch, body):
    line = json.dumps(body).encode() + b"\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(line), encoding="utf-8"))


def texts(workspace):
    with open_workspace(workspace) as ws:
        return [row.text for row in ws.items.all()]


def test_a_change_on_a_locked_database_fails_in_one_line(workspace, locked, run):
    done = run("memory", "add", "--text", "the second one")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("nanomem: the database is locked by another process: ")
    assert done.err.count("\n") == 1
    locked.execute("ROLLBACK")
    assert run("memory", "add", "--text", "the third one").code == 0
    assert "the second one" not in texts(workspace)


def test_a_turn_on_a_locked_database_says_so(workspace, locked, run, monkeypatch):
    give(monkeypatch, {"do": "turn", **ANA, "text": "Remember that I prefer window seats", "assistant": "Noted."})
    done = run("turn")
    assert (done.code, "locked by another process" in done.err, done.err.count("\n")) == (2, True, 1), done
    give(monkeypatch, {"do": "turn", **ANA, "text": "Remember that I prefer window seats", "assistant": "Noted."})
    served = run("turn", "serve")
    assert (served.code, "locked by another process" in served.out) == (2, True), served
    assert "1 change of turns could not be saved: the database is locked" in served.err
    locked.execute("ROLLBACK")
    give(monkeypatch, {"do": "turn", **ANA, "text": "Remember that I prefer window seats", "assistant": "Noted."})
    assert len(json.loads(run("turn").out)["saved"]) == 1
    assert "I prefer window seats" in texts(workspace)


def unwritable(monkeypatch):
    """Nothing of ours can be written any more, whoever runs the tests."""

    def refuse(path, *_, **__):
        raise AccessDenied("no permission while writing", str(path), "check its owner and mode")

    for name in ("open_locked", "append_lines"):
        monkeypatch.setattr(traces, name, refuse)
    monkeypatch.setattr(os, "access", lambda *_, **__: False)


def test_a_read_only_home_still_gives_the_block(workspace, run, monkeypatch):
    unwritable(monkeypatch)
    give(monkeypatch, {**ANA, "text": "the first train of all"})
    begun = run("turn", "begin")
    told = json.loads(begun.out)
    assert begun.code == 0
    assert "the first train of all" in told["block"]
    assert "no permission while writing" in told["problem"]
    assert begun.err == f"Note: {told['problem']}\n"
    give(monkeypatch, {"turn": told["turn"], "assistant": "Yes."})
    ended = run("turn", "end")
    assert (ended.code, ended.out) == (2, "")
    assert "no turn can be kept here, as nothing can be written" in ended.err


def test_a_change_that_the_agent_s_file_could_not_take_is_saved_and_told(workspace, run, monkeypatch):
    file = workspace / "memory" / "LTM_SNAPSHOT.json"
    before, real = file.read_bytes(), atomic.write_atomic

    def refuse(path, *given, **options):
        if path == file:
            raise AccessDenied(f"no permission while writing {path.name}", str(path), "check its owner and mode")
        real(path, *given, **options)

    with monkeypatch.context() as patch:
        patch.setattr(atomic, "write_atomic", refuse)
        for line in (("memory", "add", "--text", "the second one"), ("memory", "pin", "ltm_1")):
            done = run(*line)
            assert (done.code, done.err.count("\n")) == (0, 1), done
            assert done.err.startswith("Note: saved, but a file of the agent is written later: LTM_SNAPSHOT.json: ")
        assert run("memory", "list").err == ""
    assert file.read_bytes() == before
    done = run("memory", "add", "--text", "the third one")
    assert (done.code, done.err) == (0, "")
    assert b"the second one" in file.read_bytes()


@pytest.mark.slow
def test_what_is_too_long_is_read_in_part_and_said_so(workspace, run, monkeypatch):
    begun = {**ANA, "text": "the first train of all " + "x" * 600_000}
    give(monkeypatch, begun)
    told = run("turn", "begin").json
    assert told["clipped"] == {"text": 500_000}
    assert "the first train of all" in told["block"]
    give(monkeypatch, {**ANA, "text": "I prefer window seats.", "assistant": "y" * 600_000})
    ended = run("turn").json
    assert ended["clipped"] == {"assistant": 500_000}
    assert [item["text"] for item in ended["saved"]] == ["I prefer window seats."]
    give(monkeypatch, {**ANA, "text": "I prefer tea. " * 40_000, "assistant": "ok"})
    (dropped,) = run("turn").json["dropped"]
    assert len(dropped["text"]) == 200


def test_what_was_to_be_remembered_of_a_long_message_waits_for_a_person(workspace, run, monkeypatch):
    give(monkeypatch, {**ANA, "text": "Remember that my boat lies in Kiel. " + "It is green. " * 400})
    told = run("turn").json
    (held,) = told["quarantined"]
    assert held["text"] == "my boat lies in Kiel."
    assert "the beginning of a message of" in held["why"]
    give(monkeypatch, {**ANA, "text": "Remember this: " + "x" * 5_000})
    told = run("turn").json
    assert (told["quarantined"], [one["why"] for one in told["dropped"]]) == (
        [], ["a message of more than 4000 characters"],
    )  # fmt: skip
    assert "my boat" in run("inbox", "list").out
    assert run("memory", "search", "--query", "boat", "--json").json == []


@pytest.mark.slow
@pytest.mark.sqlite("the file itself")
def test_an_emptied_index_is_named_and_made_anew(run, home):
    database = home("ramfirst").parent / "nanomem" / "nanomem.db"
    run("memory", "add", "--text", "Prefers trains over planes")
    assert "search index" not in run("doctor").out + run("memory", "search", "trains").err
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("DELETE FROM memory_entries_fts")
        connection.commit()
    assert "the search index holds 0 of 1" in run("doctor").out
    assert run("memory", "reindex").code == 0
    assert "search index" not in run("doctor").out
    assert "Prefers trains over planes" in run("memory", "search", "trains").out


@pytest.mark.sqlite("the file itself")
def test_an_index_of_another_release_is_no_problem(run, home):
    database = home("ramfirst").parent / "nanomem" / "nanomem.db"
    run("memory", "add", "--text", "Prefers trains over planes")
    before = run("doctor")
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("UPDATE memory_meta SET value = '1' WHERE key = 'tokens'")
        connection.commit()
    doctor = run("doctor")
    (note,) = (line for line in doctor.out.splitlines() if "the search index" in line)
    assert note.startswith("note ")
    assert "is of another release (it is made anew by itself" in note
    assert "All is well." in doctor.out
    assert doctor.code == before.code
    run("memory", "add", "--text", "Likes window seats")
    assert "search index" not in run("doctor").out


@pytest.fixture
def away(workspace, tmp_path, monkeypatch):
    """The store cannot be read: a pipe lies in the place of its database."""
    monkeypatch.setenv("NANOMEM_CONFIG", str(tmp_path / "user.toml"))
    database = workspace.parent / "nanomem" / "nanomem.db"
    database.parent.mkdir(exist_ok=True)
    database.unlink(missing_ok=True)
    os.mkfifo(database)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("memory list", 2), ("--snapshot items", 2), ("--snapshot lessons", 2), ("find first", 1),
        ("find first --all-workspaces", 1), ("workspaces list", 1),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("away")
def test_what_could_not_be_read_is_no_success(run, line, code):
    told = run(*line.split())
    assert told.code == code, told
    assert "Nothing found.\n" not in told.out


@pytest.mark.usefixtures("away")
def test_a_snapshot_of_what_could_not_be_read_writes_no_rows(tmp_path, run):
    told = run("--snapshot", "items", "--rows", tmp_path / "rows.json")
    assert (told.code, told.out, told.err.count("\n")) == (2, "", 1)
    assert "a pipe lies in the place of the database" in told.err
    assert not (tmp_path / "rows.json").exists()
