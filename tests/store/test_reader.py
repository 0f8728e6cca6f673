"""Reads through the driver: held to the models, tolerant of damage, and leaving no trace."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.errors import AccessDenied, CorruptDatabase, DiskFull, NewerDatabase, StoreError
from nanomem_tui.store import driver_errors, models, reader, stored_operations
from nanomem_tui.store.values import Item, Lesson, row_hash
from tests.store.homes import files, kill, make_home, state

OWN_ITEM_COLUMNS = {"workspace_id", "number", "content_norm", "content_hash", "row_hash"}
OWN_LESSON_COLUMNS = {"workspace_id", "row_hash"}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = make_home(tmp_path)
    with open_workspace(made) as ws:
        ws.items.edit("ltm_1", text="needle", importance=0.25)
        ws.items.delete(["ltm_2"])
        ws.lessons.set_enabled(["lesson_1"], False)
    return made


def database(workspace: Path) -> Path:
    return workspace.parent / "nanomem" / "nanomem.db"


def without_copies(workspace: Path) -> None:
    """As a store of before there were copies: there is nothing to put things right from."""
    for folder in ("backups", "ledger"):
        shutil.rmtree(database(workspace).with_name(folder), ignore_errors=True)


def damage(workspace: Path, statement: str, *values: object) -> None:
    connection = sqlite3.connect(database(workspace))
    connection.execute(statement, values)
    connection.commit()
    connection.close()


def test_the_columns_are_those_of_the_models() -> None:
    entries = models.MemoryEntry.__table__.columns  # type: ignore[attr-defined]
    lessons = models.LessonRow.__table__.columns  # type: ignore[attr-defined]
    assert {c.name for c in entries} == set(reader.ITEM_COLUMNS) | OWN_ITEM_COLUMNS
    assert {c.name for c in lessons} == set(reader.LESSON_COLUMNS) | OWN_LESSON_COLUMNS
    assert [n.replace("content", "text") for n in reader.ITEM_COLUMNS] == list(Item._fields)
    assert Lesson._fields == reader.LESSON_COLUMNS
    for table, row, columns in ((entries, Item, reader.ITEM_COLUMNS), (lessons, Lesson, reader.LESSON_COLUMNS)):
        optional = {c.name for c in table if c.nullable}
        kinds = {name: str(row.__annotations__["text" if name == "content" else name]) for name in columns}
        assert optional == {name for name, kind in kinds.items() if "None" in kind}


@pytest.mark.sqlite("the file itself")
def test_the_tables_that_the_reader_names_exist(workspace: Path) -> None:
    names = {
        table.__tablename__
        for table in (models.MemoryEntry, models.LessonRow, models.OperationRow, models.OperationKey, models.Meta)
    }
    connection = sqlite3.connect(database(workspace))
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    connection.close()
    assert names | {"foreign_rows", "memory_entries_fts"} <= there


def test_reading_imports_no_heavy_library_and_leaves_no_file(workspace: Path) -> None:
    before = files(workspace.parent)
    script = (
        "import sys; from nanomem_tui import open_workspace; ws = open_workspace(sys.argv[1]);"
        "ws.status(); ws.items.all(); ws.items.search('needle'); ws.log(); ws.close();"
        "print([m for m in ('sqlmodel', 'sqlalchemy', 'pydantic', 'textual', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script, str(workspace)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert files(workspace.parent) == before


@pytest.mark.sqlite("the file itself")
def test_both_sides_know_the_same_rows(workspace: Path) -> None:
    with reader.open_database(database(workspace)) as connection:
        ws_id = open_workspace(workspace).id
        rows = reader.items(connection, ws_id)
        assert {row.id for row in rows} == {f"ltm_{n}" for n in range(1, 5)}
        assert [row.id for row in rows if row.is_deleted] == ["ltm_2"]
        assert reader.items_by_id(connection, ws_id, ["ltm_1", "none"])["ltm_1"].importance == 0.25
        newest = reader.newest_items(connection, ws_id, 2)
        assert [row.id for row in newest] == ["ltm_1", "ltm_4"]
        revision = reader.revision(connection, ws_id)
        assert reader.items(connection, ws_id, after_revision=revision) == []
        stored = stored_operations.operations(connection, ws_id, limit=2)
        assert [s.operation.kind for s in stored] == ["lessons.disable", "items.delete"]
        assert [s.seq for s in stored_operations.operations_after(connection, ws_id, stored[1].seq)] == [stored[0].seq]
        assert stored_operations.operations(connection, ws_id, limit=9, key="ltm_1")[0].operation.kind == "items.edit"
        assert reader.items(connection, "another workspace") == []


@pytest.mark.sqlite("the file itself")
def test_each_row_carries_a_hash_of_what_it_was(workspace: Path) -> None:
    connection = sqlite3.connect(database(workspace))
    hashes = dict(connection.execute("SELECT id, row_hash FROM memory_entries"))
    hashes |= dict(connection.execute("SELECT id, row_hash FROM lessons"))
    connection.close()
    with reader.open_database(database(workspace)) as opened:
        ws_id = open_workspace(workspace).id
        rows = [*reader.items(opened, ws_id), *reader.lessons(opened, ws_id)]
    assert {row.id: row_hash(row) for row in rows} == hashes
    changed = next(row for row in rows if row.id == "ltm_1")._replace(text="noodle")
    assert row_hash(changed) != hashes["ltm_1"]


@pytest.mark.sqlite("the file itself")
def test_a_flipped_bit_in_a_text_costs_a_character(workspace: Path) -> None:
    without_copies(workspace)
    damage(workspace, "UPDATE memory_entries SET content = CAST(? AS TEXT) WHERE id = 'ltm_1'", b"nee\xe4le")
    damage(workspace, "UPDATE lessons SET trigger = CAST(? AS TEXT) WHERE id = 'lesson_2'", b"\xff")
    with open_workspace(workspace) as ws:
        assert ws.items.first(1)[0].text == "nee\ufffdle"
        assert ws.items.get("ltm_1").text == "nee\ufffdle"
        assert ws.lessons.get("lesson_2").trigger == "\ufffd"
        ws.items.edit("ltm_1", text="needle")
    assert state(workspace)["ltm_1"].text == "needle"


@pytest.mark.sqlite("the file itself")
def test_the_doctor_finds_what_changed_in_silence(workspace: Path) -> None:
    without_copies(workspace)
    with open_workspace(workspace) as ws:
        assert not [problem for problem in ws.doctor() if "not what was written" in problem.what]
    damage(workspace, "UPDATE memory_entries SET content = 'noodle' WHERE id = 'ltm_1'")
    damage(workspace, "UPDATE lessons SET confidence = 9 WHERE id = 'lesson_2'")
    with open_workspace(workspace) as ws:
        found = {problem.what.split()[0] for problem in ws.doctor() if "not what was written" in problem.what}
        assert found == {"ltm_1", "lesson_2"}
        ws.items.edit("ltm_1", text="needle")
    with open_workspace(workspace) as ws:
        assert not [problem for problem in ws.doctor() if problem.what.startswith("ltm_1")]


@pytest.mark.sqlite("the file itself")
def test_a_damaged_operation_costs_itself(workspace: Path) -> None:
    damage(workspace, "UPDATE operations SET body_json = '{broken' WHERE kind = 'items.delete'")
    damage(workspace, "UPDATE operations SET body_json = CAST(? AS TEXT) WHERE kind = 'items.edit'", b"\xff\xfe")
    damage(workspace, "UPDATE foreign_rows SET raw_json = '[' WHERE id = 'ltm_3'")
    with open_workspace(workspace) as ws:
        assert [e.operation.kind for e in ws.log()] == ["lessons.disable"]
        ws.undo()
        ws.items.set_pinned(["ltm_3"], True)


@pytest.mark.sqlite("the file itself")
def test_a_newer_database_is_refused_and_not_touched(workspace: Path) -> None:
    damage(workspace, f"PRAGMA user_version = {reader.SCHEMA_VERSION + 1}")
    before = files(workspace.parent)
    ws = open_workspace(workspace)
    with pytest.raises(NewerDatabase, match="install a newer nanomem"):
        ws.items.all()
    with pytest.raises(NewerDatabase):
        ws.items.add("more")
    status = ws.status()
    assert (status["items"]["total"], status["sessions"]) == (None, 0)
    assert any("schema" in problem["what"] for problem in status["problems"])
    ws.close()
    assert files(workspace.parent) == before


@pytest.mark.sqlite("the file itself")
def test_a_schema_number_that_nobody_gave_is_damage(workspace: Path) -> None:
    before = state(workspace)
    damage(workspace, f"PRAGMA user_version = {reader.SCHEMA_VERSION | 1 << 18}")
    assert state(workspace) == before
    with open_workspace(workspace) as ws:
        ws.items.all()
        assert "shown is the copy of" in ws.problems()[0].what


@pytest.mark.sqlite("the file itself")
@pytest.mark.parametrize("kind", ["head", "middle", "text", "cut"])
def test_a_corrupt_database_is_one_clear_line_and_is_kept(workspace: Path, kind: str) -> None:
    without_copies(workspace)
    path = database(workspace)
    data = bytearray(path.read_bytes())
    match kind:
        case "head":
            data[:16] = b"\xef\xbb\xbfSQLite format"
        case "middle":
            data[4096:] = os.urandom(len(data) - 4096)
        case "text":
            data = bytearray(b"not a database at all, but a text of some length" * 200)
        case _:
            del data[6000:]
    path.write_bytes(data)
    before = files(workspace.parent)
    ws = open_workspace(workspace)
    for broken in (ws.items.all, lambda: ws.items.add("more"), ws.flush, lambda: ws.items.search("needle")):
        with pytest.raises(CorruptDatabase, match="nanomem doctor") as caught:
            broken()
        assert "\n" not in caught.value.line()
    status = ws.status()
    assert (status["items"]["total"], status["history"]["entries"]) == (None, 0), "the rest stays usable"
    assert any("nanomem.db" in problem["where"] for problem in status["problems"])
    ws.close()
    after = files(workspace.parent)
    assert {name: data for name, data in after.items() if not name.endswith("store.lock")} == {
        name: data for name, data in before.items() if not name.endswith("store.lock")
    }


@pytest.mark.sqlite("the file itself")
@pytest.mark.parametrize("size", [0, 4096])
def test_where_making_the_database_was_cut_off_it_is_made_anew(tmp_path: Path, size: int) -> None:
    workspace = make_home(tmp_path)
    ws = open_workspace(workspace)
    ws.items.edit("ltm_1", text="acknowledged")
    kill(ws)
    path = database(workspace)
    if size:
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.close()
        assert path.stat().st_size == size
    else:
        path.touch(0o600)
    with open_workspace(workspace) as ws:
        assert ws.status()["store"]["database"] is None
        assert ws.items.get("ltm_1").text == "acknowledged"
        ws.items.edit("ltm_2", text="more")
    rows = state(workspace)
    assert (rows["ltm_1"].text, rows["ltm_2"].text, len(rows)) == ("acknowledged", "more", 7)


@pytest.mark.sqlite("the file itself")
def test_a_wal_that_a_kill_left_is_read_and_not_changed(workspace: Path) -> None:
    ws = open_workspace(workspace)
    ws.items.edit("ltm_3", text="only in the wal")
    ws.flush()
    kill(ws)
    ours = database(workspace).parent
    # the engine's own close folds the WAL in: put it back as a kill leaves it
    subprocess.run([sys.executable, "-c", KILLED, str(workspace)], check=False)
    assert (ours / "nanomem.db-wal").stat().st_size > 0
    before = files(ours, lambda path: path.name.endswith("-shm"))
    assert state(workspace)["ltm_4"].text == "killed after its commit"
    assert files(ours, lambda path: path.name.endswith("-shm")) == before


KILLED = """
import os, signal, sys
from nanomem_tui import open_workspace
ws = open_workspace(sys.argv[1])
ws.items.edit("ltm_4", text="killed after its commit")
ws.flush()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.sqlite("the file itself")
def test_a_copy_is_read_where_sqlite_cannot_make_its_files(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(workspace)], check=False)
    real, opened = sqlite3.connect, []

    def connect(name: str, **rest: Any) -> sqlite3.Connection:
        opened.append(name)
        if name.endswith("mode=ro"):
            raise sqlite3.OperationalError("disk I/O error")
        return real(name, **rest)

    monkeypatch.setattr(sqlite3, "connect", connect)
    assert state(workspace)["ltm_4"].text == "killed after its commit"
    copies = [Path(uri.removeprefix("file://").split("?")[0]) for uri in opened if uri.endswith("mode=rw")]
    assert copies
    assert not any(path.parent.exists() for path in copies)


@pytest.mark.parametrize(
    ("said", "free", "error"),
    [
        ("unable to open database file", True, AccessDenied),
        ("attempt to write a readonly database", True, AccessDenied),
        ("database is locked", True, StoreError),
        ("database or disk is full", True, DiskFull),
        ("disk I/O error", False, DiskFull),
        ("disk I/O error", True, StoreError),
        ("database disk image is malformed", True, CorruptDatabase),
        ("file is not a database", True, CorruptDatabase),
        ('near "FULL": syntax error', True, CorruptDatabase),
        ("no such column: busy.readonly", True, CorruptDatabase),
    ],
)
def test_what_the_driver_says_becomes_what_a_person_can_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, free: bool, error: type[Exception]
) -> None:
    monkeypatch.setattr(driver_errors, "_disk", lambda _folder: "" if free else "full")
    got = driver_errors.in_our_words(sqlite3.OperationalError(said), tmp_path / "nanomem.db")
    assert type(got) is error
    assert got.fix


def test_a_first_page_does_not_read_the_rest(workspace: Path) -> None:
    with open_workspace(workspace) as ws:
        assert [row.id for row in ws.items.first(2)] == ["ltm_1", "ltm_4"]
        assert not ws.store.loaded
        counts = ws.items.count()
        assert (counts["total"], counts["enabled"], ws.lessons.count()["enabled"]) == (3, 3, 2)
        assert ws.items.search("needle")[0].item.id == "ltm_1"
        assert not ws.store.loaded
        loaded = ws.items.all()
        assert counts == ws.items.count()
        assert loaded[0].id == "ltm_1"


@pytest.mark.parametrize(
    ("name", "items", "lessons"),
    [("nb035", 0, 0), ("v0_1_5", 0, 0), ("ramfirst", 156, 61), ("torn", 129, 60), ("ftswal", 0, 0)],
)
def test_opening_and_reading_a_sample_changes_no_byte(
    sample_copy: Callable[[str], Path], name: str, items: int, lessons: int
) -> None:
    folder = sample_copy(name) / "home" / ".nanobot"
    before, modes = files(folder), _times(folder)
    with open_workspace(folder / "workspace") as ws:
        assert (len(ws.items.all()), len(ws.lessons.all())) == (items, lessons)
        for read in (ws.items.foreign, ws.status, ws.log, ws.problems, ws.refresh, ws.checkpoint_if_due):
            read()
        assert bool(ws.items.search("dark mode")) == (name in ("ramfirst", "torn", "ftswal"))
    assert files(folder) == before
    assert _times(folder) == modes


def _times(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path): (stat.S_IMODE(path.lstat().st_mode), path.lstat().st_mtime_ns) for path in sorted(folder.rglob("*"))
    }
