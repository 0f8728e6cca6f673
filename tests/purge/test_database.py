"""`forget` and `scrub` on the database: no byte of it is left below the data folder, in rows,
operations, the log, copies or the quarantine; and nothing brings it back."""

import contextlib
import json
import shutil
import sqlite3
from collections.abc import Callable

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import NanomemError
from nanomem_tui.store.database.engine import SqliteDatabase
from nanomem_tui.store.recovery import DatabaseRecovery
from tests.cli.conftest import Result
from tests.purge import planted

Run = Callable[..., Result]
SECRET = "sk-proj-Ab3dE5fGh7Jk9LmN0pQr2StU4vWx6Yz8"
pytestmark = pytest.mark.sqlite("files of SQLite, and what lies beside them")


@pytest.fixture
def data(workspace):
    """The folder of our own files."""
    return workspace.parent / "nanomem"


def planted_in(data, run, text=planted.TEXT):
    """Put a text into rows, operations, the log, a copy, and a damaged database in the quarantine; the ids of a memory
    that says it, and of one that said it once."""
    assert run("memory", "add", "--text", f"Remember: {text}.").code == 0
    key = run("memory", "list", "--limit", "1", "--json").json[0]["id"]
    assert run("memory", "add", "--text", "tea is green").code == 0
    other = run("memory", "list", "--limit", "1", "--json").json[0]["id"]
    for words in (f"No, {text}!", "tea is black"):
        assert run("memory", "edit", other, "--text", words).code == 0
    assert run("memory", "lessons", "add", "--trigger", f"when {text}", "--action", "look there").code == 0
    assert run("journal", "add", f"Today I learned that {text}").code == 0
    assert run("memory", "add", "--text", f"Once {text}").code == 0
    assert run("undo").code == 0
    shutil.rmtree(data / "copies", ignore_errors=True)
    recovery(data).copy_if_due()
    assert run("memory", "add", "--text", f"Twice {text}").code == 0
    quarantine = data / "quarantine"
    quarantine.mkdir(exist_ok=True)
    shutil.copyfile(data / "nanomem.db", quarantine / "nanomem-2026-01-01T000000.db")
    shutil.copyfile(data / "nanomem.db", quarantine / "nanomem-2026-01-02T000000.db-wal")
    return key, other


def recovery(data):
    return DatabaseRecovery(SqliteDatabase(data / "nanomem.db"), data / "copies", data / "quarantine")


def said(run):
    return [one["text"] for one in run("memory", "list", "--limit", "1000", "--json").json]


@pytest.fixture
def opened(workspace):
    """Opens the memory as another process has it, with its rows in RAM."""
    with contextlib.ExitStack() as stack:

        def open_it():
            ws = stack.enter_context(open_workspace(workspace))
            ws.store.load()
            return ws

        yield open_it


@pytest.mark.slow
def test_no_byte_of_a_text_is_left_and_the_rest_stays(data, run):
    planted_in(data, run)
    held = planted.holding(data)
    wanted = ("nanomem.db", "operations.jsonl", "copies/", "quarantine/nanomem-2026-01-02T000000.db-wal")
    assert [name for name in wanted if not any(where.startswith(name) for where in held)] == []
    others = [text for text in said(run) if planted.WORD not in text]
    done = run("forget", "--text", planted.TEXT, "--yes")
    assert (done.code, planted.holding(data)) == (0, []), done.out
    assert said(run) == others
    assert run("memory", "search", "--query", "tea", "--json").json[0]["text"] == "tea is black"
    assert "Taken out: nanomem/operations.jsonl" in done.out
    assert "Taken out: nanomem/quarantine/nanomem-2026-01-01T000000.db" in done.out
    assert run("doctor").code == 0


@pytest.mark.slow
def test_looking_changes_no_byte(data, run):
    planted_in(data, run)

    def state():
        return {where: held for where, held in planted.everything(data) if not where.endswith(("-wal", "-shm"))}

    before = state()
    told = run("forget", "--text", planted.TEXT, "--dry-run").out
    assert "Goes: memory_entries ltm_" in told
    assert "nanomem.db, operations: " in told
    assert state() == before


@pytest.mark.slow
def test_undo_and_redo_bring_nothing_back(data, run):
    planted_in(data, run)
    held = [one["id"] for one in run("log", "--limit", "50", "--json").json if planted.WORD in json.dumps(one)]
    assert held
    assert run("forget", "--text", planted.TEXT, "--yes").code == 0
    for line in (["redo"], ["undo"], *(["undo", key] for key in held)):
        assert run(*line).code in (1, 2)
    assert planted.WORD not in run("log", "--limit", "50", "--json").out
    assert planted.outside_git(data) == []
    assert "tea is black" in said(run)


@pytest.mark.slow
def test_a_repair_brings_nothing_back(data, run):
    planted_in(data, run)
    assert run("forget", "--text", planted.TEXT, "--yes").code == 0
    assert run("memory", "add", "--text", "coffee at nine").code == 0
    before = said(run)
    (data / "nanomem.db-wal").unlink(missing_ok=True)
    (data / "nanomem.db").write_bytes(b"SQLite format 3\0" + b"\xa5" * 8192)
    done = recovery(data).repair()
    assert done.copy
    assert sorted(said(run)) == sorted(before)
    assert planted.outside_git(data) == []


@pytest.mark.slow
def test_an_import_brings_nothing_back(data, run, tmp_path):
    planted_in(data, run)
    exported = tmp_path / "exported.jsonl"
    assert run("memory", "export", "--format", "jsonl", "--to", exported).code == 0
    assert planted.WORD in exported.read_text()
    assert run("forget", "--text", planted.TEXT, "--yes").code == 0
    run("memory", "import", exported, "--restore", "--trust", "--yes")
    assert planted.outside_git(data) == []


@pytest.mark.slow
def test_a_backup_brings_nothing_back(data, run):
    planted_in(data, run)
    assert run("backup", "make").code == 0
    assert run("forget", "--text", planted.TEXT, "--yes").code == 1  # the backup is left
    done = run("backup", "restore", "latest", "--yes")
    assert "Forgotten, and taken out again: nanomem.db, memory_entries" in done.out
    assert planted.outside_git(data) == []
    assert "tea is black" in said(run)


@pytest.mark.slow
def test_a_process_that_had_it_in_ram_writes_nothing_of_it(data, run, opened):
    added, _ = planted_in(data, run)
    other = opened()
    held = other.items.get(added)
    other.store.snapshot.count("item", held.id, 3, "2026-03-01T10:00:00+00:00")  # waits for a checkpoint
    assert run("forget", "--text", planted.TEXT, "--yes").code == 0
    with pytest.raises(NanomemError):
        other.items.edit(held.id, text=f"{planted.TEXT} again")
    other.items.add("milk is white")
    other.flush()
    assert all(planted.WORD not in one.text for one in other.items.all())
    assert planted.outside_git(data.parent) == []
    assert {"milk is white", "tea is black"} <= set(said(run))


@pytest.mark.slow
def test_what_a_reader_keeps_in_the_wal_is_told_and_goes_with_the_same_command(data, run, monkeypatch):
    planted_in(data, run)
    monkeypatch.setattr("nanomem_tui.store.database.engine.BUSY_SECONDS", 0.2)
    with contextlib.closing(sqlite3.connect(data / "nanomem.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM memory_entries").fetchone()
        done = run("forget", "--text", planted.TEXT, "--yes")
        assert done.code == 1
        assert "while another process reads" in done.out
        reader.execute("COMMIT")
    assert run("forget", "--text", planted.TEXT, "--yes").code == 0
    assert planted.outside_git(data) == []


@pytest.mark.slow
def test_a_secret_is_masked_in_rows_and_taken_from_operations_and_copies(data, run):
    planted_in(data, run, f"my key is {SECRET}")
    assert SECRET.encode() in (data / "operations.jsonl").read_bytes()
    done = run("scrub", "--mask", "--yes")
    assert (done.code, planted.holding(data, SECRET)) == (0, []), done.out
    assert any("[OpenAI key #" in text for text in said(run))
    assert run("doctor").code == 0
    assert run("scrub").code == 0
