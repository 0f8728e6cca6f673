from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing

import pytest

from nanomem_tui.agents.databases import identify_database, memory_entries, open_read_only
from nanomem_tui.core.errors import BadInput, NotFound

SCOPED = "ftswal/home/.nanobot/memory/longterm.db"


def listing(folder):
    return {path.name: (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (SCOPED, "scoped"),
        ("crystal/home/.nanobot/memory.db", "facts"),
        ("aios/working.db", "working"),
        ("aios/longterm.db", "longterm-records"),
        ("nb035/steps.json", None),
        ("nb035", None),
        ("no/such.db", None),
    ],
)
def test_a_database_is_known_by_its_tables(samples, name, kind):
    assert identify_database(samples / name) == kind


def test_the_rows_of_the_scoped_system(samples):
    folder = (samples / SCOPED).parent
    before = listing(folder)
    rows = memory_entries(samples / SCOPED)
    assert len(rows) == 200
    assert sum(row["is_deleted"] for row in rows) == 15
    assert {row["kind"] for row in rows} == {"preference", "fact", "decision", "episodic"}
    assert listing(folder) == before


def test_pending_changes_are_seen_and_nothing_is_left_beside_the_original(tmp_path, sample_copy):
    original = sample_copy("ftswal") / "home/.nanobot/memory/longterm.db"
    with closing(sqlite3.connect(original)) as writer:
        writer.execute("PRAGMA wal_autocheckpoint=0")
        writer.execute("UPDATE memory_entries SET content='new' WHERE rowid=1")
        writer.commit()
        folder = tmp_path / "live # 100% ?"
        folder.mkdir()
        for path in original.parent.iterdir():
            shutil.copyfile(path, folder / path.name)
    (folder / "longterm.db-shm").unlink()
    before = listing(folder)
    assert "longterm.db-wal" in before
    assert memory_entries(folder / "longterm.db")[0]["content"] == "new"
    assert listing(folder) == before


def test_a_database_cannot_be_changed_through_it(sample_copy):
    path = sample_copy("ftswal") / "home/.nanobot/memory/longterm.db"
    with pytest.raises(BadInput, match="readonly"), open_read_only(path) as connection:
        connection.execute("DELETE FROM memory_entries")


def test_what_is_no_database_is_one_clear_error(tmp_path, sample_copy):
    with pytest.raises(NotFound), open_read_only(tmp_path / "absent.db"):
        pass
    (tmp_path / "text.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(BadInput, match="not a database"), open_read_only(tmp_path / "text.db"):
        pass
    path = sample_copy("ftswal") / "home/.nanobot/memory/longterm.db"
    data = bytearray(path.read_bytes())
    data[4096:20000] = b"\xff" * (20000 - 4096)
    path.write_bytes(data)
    with pytest.raises(BadInput):
        memory_entries(path)


def test_an_empty_file_is_a_database_of_nobody(tmp_path):
    (tmp_path / "empty.db").touch()
    assert identify_database(tmp_path / "empty.db") is None
    with pytest.raises(BadInput, match="memory_entries"):
        memory_entries(tmp_path / "empty.db")
