"""A database that is damaged, torn, emptied or gone: every command says so, and the doctor makes it anew."""

import contextlib
import shutil
import sqlite3
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import CorruptDatabase
from nanomem_tui.store.recovery import is_whole
from tests.store.homes import Agent, files, make_home, state

pytestmark = pytest.mark.sqlite("the file itself")


def database(workspace):
    return workspace.parent / "nanomem" / "nanomem.db"


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """A store with a copy of its first day and work since."""
    made = make_home(tmp_path)
    with open_workspace(made) as ws:
        ws.items.edit("ltm_1", text="before the copy")
    with open_workspace(made) as ws:
        ws.items.edit("ltm_1", text="after the copy")
        ws.items.add("added after the copy")
        ws.items.delete(["ltm_2"])
        ws.lessons.set_enabled(["lesson_1"], False)
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(made))
    return made


def torn(path):
    path.write_bytes(path.read_bytes()[:-5_000])


def shifted(path):
    path.write_bytes(b"\xff" + path.read_bytes())


def emptied(path):
    path.write_bytes(b"")


def overwritten(path):
    path.write_bytes(b"this is no database" * 500)


def schema_no_text(path):
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE lessons", b"CREATE TABLE le\xee\xffons"))


def schema_full(path):
    """One flipped bit, whose error has a word in it that is none of SQLite's own."""
    data = path.read_bytes()
    at = data.index(b"NOT NULL", data.index(b"CREATE TABLE records"))
    path.write_bytes(data[:at] + b"NOT FULL" + data[at + 8 :])


def replaced(path):
    """A database of another program in its place."""
    path.unlink()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE songs (title TEXT)")
    path.chmod(0o600)


DAMAGE = (schema_no_text, schema_full, torn, shifted, emptied, overwritten, replaced, Path.unlink)


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGE)
def test_every_command_says_so_and_the_doctor_makes_it_anew(
    workspace,
    run,
    damage,
):
    before = state(workspace)
    damage(database(workspace))
    left = database(workspace).read_bytes() if database(workspace).exists() else None
    found = files(workspace.parent, lambda path: path.suffix == ".lock")
    for command in (["memory", "list"], ["recall", "copy"], ["log"], ["memory", "add", "--text", "lost?"], ["undo"]):
        told = run(*command)
        assert (told.code, told.err.count("\n"), "nanomem.db" in told.err) == (2, 1, True), (command, told)
    doctor = run("doctor")
    assert (doctor.code, doctor.out.count("nanomem/nanomem.db: ")) == (1, 1), doctor.out
    assert "`nanomem doctor --fix` makes it anew from the newest copy and the operations since" in doctor.out
    assert files(workspace.parent, lambda path: path.suffix == ".lock") == found
    fixed = run("doctor", "--fix", "--yes")
    assert (fixed.code, "Not fixed" in fixed.out) == (0, False), fixed.out
    assert state(workspace) == before
    assert is_whole(database(workspace))
    kept = [path.read_bytes() for path in (workspace.parent / "nanomem" / "quarantine").glob("*-*.db")]
    assert kept == ([left] if left is not None else [])
    with open_workspace(workspace) as ws:
        edited = next(entry for entry in ws.log() if entry.operation.kind == "items.edit")
        ws.undo(edited.operation.id)
        assert ws.items.get("ltm_1").text == "before the copy", "what the log says can still be taken back"
    assert run("doctor").code == 0
    assert {row["text"] for row in Agent(workspace).items.values()} == {
        row.text for row in state(workspace).values() if hasattr(row, "text")
    }


def test_a_process_that_was_open_writes_nothing_into_ruins_and_goes_on_after_the_repair(
    workspace,
    run,
):
    with open_workspace(workspace) as ws:
        before = {row.text for row in ws.items.all()}
        overwritten(database(workspace))
        for side in ("-wal", "-shm"):
            database(workspace).with_name(f"nanomem.db{side}").unlink(missing_ok=True)
        with pytest.raises(CorruptDatabase):
            ws.items.add("written into ruins")
        assert {row.text for row in ws.items.all()} == before, "reading goes on from RAM"
        assert run("doctor", "--fix", "--yes").code == 0
        ws.items.add("written after the repair")
    texts = {row.text for row in state(workspace).values() if hasattr(row, "text")}
    assert texts == {*before, "written after the repair"}


def test_without_a_copy_it_is_refused_and_kept(workspace, run):
    shutil.rmtree(database(workspace).with_name("copies"))
    overwritten(database(workspace))
    before = database(workspace).read_bytes()
    told = run("doctor", "--fix", "--yes")
    assert (told.code, "there is no whole copy of the database" in told.out) == (1, True), told.out
    assert "`nanomem backup restore NAME` takes one back" in told.out
    assert "takes it back" not in told.out, "nothing was done"
    assert run("memory", "add", "--text", "refused").code == 2
    assert database(workspace).read_bytes() == before


@pytest.mark.slow
def test_the_repair_says_what_is_missing_where_a_line_of_the_log_is_torn(workspace, run):
    log = database(workspace).with_name("operations.jsonl")
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join((*lines[:-2], lines[-2][:40] + b"\n", lines[-1])))
    named = f"operations.jsonl:{len(lines) - 1}: this line cannot be read"
    assert named in run("doctor").out
    database(workspace).unlink()
    fixed = run("doctor", "--fix", "--yes")
    assert "at 1 place of operations.jsonl lines cannot be read, and the changes in them are missing" in fixed.out
    assert named in fixed.out
    assert "it is written anew from the database" in run("doctor", "--fix", "--yes").out
    assert "operations.jsonl" not in run("doctor").out


def test_the_repair_says_what_is_missing_where_the_log_is_gone(workspace, run):
    for name in ("nanomem.db", "operations.jsonl"):
        database(workspace).with_name(name).unlink()
    fixed = run("doctor", "--fix", "--yes")
    assert "operations.jsonl was not there, so every later change is missing from the history" in fixed.out


def test_a_damaged_copy_is_named_and_made_anew(workspace, run):
    [copy] = database(workspace).with_name("copies").glob("nanomem-*.db")
    overwritten(copy)
    told = run("doctor")
    assert (told.code, f"copies/{copy.name}: this copy is damaged" in told.out) == (1, True), told.out
    assert run("doctor", "--fix", "--yes").code == 0
    assert is_whole(copy)
    kept = [path.read_bytes() for path in database(workspace).with_name("quarantine").iterdir()]
    assert kept == [b"this is no database" * 500]


def test_a_database_of_another_program_is_named_and_never_written(tmp_path, run, monkeypatch):
    fresh = make_home(tmp_path / "fresh")
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(fresh))
    database(fresh).parent.mkdir()
    database(fresh).touch()
    replaced(database(fresh))
    before = database(fresh).read_bytes()
    for command in (["memory", "list"], ["memory", "add", "--text", "lost?"]):
        told = run(*command)
        assert (told.code, "another program's database lies in the place of the memory" in told.err) == (2, True), told
    assert run("doctor", "--fix", "--yes").code == 1
    assert database(fresh).read_bytes() == before


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        (
            "UPDATE memory_entries SET content = 'wire money' WHERE id = 'ltm_1'",
            "ltm_1: its field text is not what",
        ),
        ("UPDATE memory_entries SET content = 'item 9' WHERE id = 'ltm_4'", "ltm_4: its field text is not what"),
        ("UPDATE lessons SET enabled = 1 WHERE id = 'lesson_1'", "lesson lesson_1: its field enabled is not what"),
        ("DELETE FROM memory_entries WHERE id = 'ltm_4'", "item ltm_4 is missing"),
    ],
)
def test_a_row_that_is_not_what_was_written_is_named(
    workspace,
    run,
    statement,
    told,
):
    assert run("doctor").code == 0
    with contextlib.closing(sqlite3.connect(database(workspace))) as connection:
        connection.execute(statement)
        connection.commit()
    doctor = run("doctor")
    assert (doctor.code, told in doctor.out) == (1, True), doctor.out


def test_a_text_that_is_no_utf_8_costs_a_character(workspace):
    with contextlib.closing(sqlite3.connect(database(workspace))) as connection:
        connection.execute("UPDATE memory_entries SET content = CAST(x'6E6565E46C65' AS TEXT) WHERE id = 'ltm_3'")
        connection.commit()
    with open_workspace(workspace) as ws:
        assert ws.items.get("ltm_3").text == "nee\ufffdle"
        ws.items.edit("ltm_3", text="needle")
    assert state(workspace)["ltm_3"].text == "needle"


def test_an_operation_that_was_harmed_costs_itself(workspace, run):
    with contextlib.closing(sqlite3.connect(database(workspace))) as connection:
        connection.execute("UPDATE operations SET changes_json = '{broken' WHERE kind = 'items.delete'")
        connection.commit()
    assert "disable" in run("log").out
    assert run("doctor").code == 1
    assert run("undo").code == 0
    assert run("memory", "add", "--text", "on it goes").code == 0


@pytest.mark.parametrize("damage", ["DROP INDEX idx_memory_hash", "DELETE FROM memory_entries_fts"])
def test_an_index_that_lacks_something_is_made_anew(workspace, run, damage):
    with contextlib.closing(sqlite3.connect(database(workspace))) as connection:
        connection.execute(damage)
        connection.commit()
    assert "index" in run("doctor").out
    assert run("doctor", "--fix", "--yes").code == 0
    assert run("doctor").code == 0
    assert "added after the copy" in run("memory", "search", "--query", "added").out


@pytest.mark.parametrize("size", [0, 4096])
def test_where_making_the_database_was_cut_off_it_is_made_anew(tmp_path, size):
    made = make_home(tmp_path)
    database(made).parent.mkdir()
    if size:
        with contextlib.closing(sqlite3.connect(database(made))) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
    else:
        database(made).touch(0o600)
    assert database(made).stat().st_size == size
    with open_workspace(made) as ws:
        assert len(ws.items.all()) == 4
        ws.items.edit("ltm_2", text="more")
    assert (state(made)["ltm_2"].text, len(state(made))) == ("more", 7)


def test_hits_are_counted_once_where_the_copy_is_older_than_the_agents_file(
    workspace,
    run,
):
    with open_workspace(workspace) as ws:
        ws.items.set_pinned(["ltm_3"], True)
        ws.store.snapshot.count("item", "ltm_3", 5, "2026-03-05T10:00:00+00:00")
    assert Agent(workspace).items["ltm_3"]["hits"] == 6
    overwritten(database(workspace))
    assert run("doctor", "--fix", "--yes").code == 0
    for _ in range(2):
        with open_workspace(workspace) as ws:
            assert ws.items.get("ltm_3").hits == 6
            ws.items.set_pinned(["ltm_1"], not ws.items.get("ltm_1").pinned)
