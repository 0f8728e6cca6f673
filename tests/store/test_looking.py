"""Looking: it leaves no trace, reads what a kill left, and no more than it needs; a newer database is refused."""

import os
import sqlite3
import stat
import subprocess
import sys
from types import SimpleNamespace

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import AccessDenied, CorruptDatabase, DiskFull, NewerDatabase, StoreError
from nanomem_tui.store.database import reading
from tests.store.homes import files, kill, make_home, state


@pytest.fixture
def workspace(tmp_path):
    made = make_home(tmp_path)
    with open_workspace(made) as ws:
        ws.items.edit("ltm_1", text="needle", importance=0.25)
        ws.items.delete(["ltm_2"])
        ws.lessons.set_enabled(["lesson_1"], False)
    return made


def database(workspace):
    return workspace.parent / "nanomem" / "nanomem.db"


def damage(workspace, statement, *values):
    connection = sqlite3.connect(database(workspace))
    connection.execute(statement, values)
    connection.commit()
    connection.close()


def _of_sqlite(path):
    return path.name.endswith(("-wal", "-shm"))


@pytest.mark.sqlite("the file itself")
def test_a_newer_database_is_refused_and_not_touched(workspace):
    damage(workspace, "UPDATE alembic_version SET version_num = '0987'")
    before = files(workspace.parent, _of_sqlite)
    ws = open_workspace(workspace)
    with pytest.raises(NewerDatabase, match="install a newer nanomem"):
        ws.items.all()
    with pytest.raises(NewerDatabase):
        ws.items.add("more")
    ws.close()
    assert files(workspace.parent, _of_sqlite) == before


@pytest.mark.slow
@pytest.mark.sqlite("the file itself")
def test_a_wal_that_a_kill_left_is_read_and_not_changed(workspace):
    ws = open_workspace(workspace)
    ws.items.edit("ltm_3", text="only in the wal")
    ws.flush()
    kill(ws)
    ours = database(workspace).parent
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
def test_what_the_driver_says_becomes_what_a_person_can_do(tmp_path, monkeypatch, said, free, error):
    blocks = os.statvfs(tmp_path)
    left = SimpleNamespace(f_flag=0, f_frsize=blocks.f_frsize, f_bavail=blocks.f_bavail if free else 0)
    monkeypatch.setattr(os, "statvfs", lambda _folder: left)
    (tmp_path / "nanomem.db").touch()
    got = reading.error_from_driver(sqlite3.OperationalError(said), tmp_path / "nanomem.db")
    assert type(got) is error
    assert got.fix


def test_a_first_page_does_not_read_the_rest(workspace):
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
def test_opening_and_reading_a_sample_changes_no_byte(sample_copy, name, items, lessons):
    folder = sample_copy(name) / "home" / ".nanobot"
    before, modes = files(folder), _times(folder)
    with open_workspace(folder / "workspace") as ws:
        assert (len(ws.items.all()), len(ws.lessons.all())) == (items, lessons)
        for read in (ws.items.foreign, ws.status, ws.log, ws.problems, ws.refresh, ws.checkpoint_if_due):
            read()
        assert bool(ws.items.search("dark mode")) == (name in ("ramfirst", "torn", "ftswal"))
    assert files(folder) == before
    assert _times(folder) == modes


def _times(folder):
    return {
        str(path): (stat.S_IMODE(path.lstat().st_mode), path.lstat().st_mtime_ns) for path in sorted(folder.rglob("*"))
    }
