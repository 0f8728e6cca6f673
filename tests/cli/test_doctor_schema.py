"""A schema that a flipped bit or another program changed: told by the doctor and by `log --verify`, and put right."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Run

pytestmark = pytest.mark.sqlite("the file itself")
TRIGGER = "item_waits_for_a_person"
HARMLESS = f"CREATE TRIGGER {TRIGGER} BEFORE UPDATE ON memory_entries WHEN 0 BEGIN SELECT 1; END"
STRANGE = "CREATE TRIGGER mine AFTER INSERT ON operations BEGIN DELETE FROM operations WHERE 0; END"


@pytest.fixture
def database(home: Callable[[str], Path], run: Run) -> Path:
    workspace = home("ramfirst")
    assert run("memory", "add", "--text", "Prefers trains").code == 0
    return workspace.parent / "nanomem" / "nanomem.db"


def alter(database: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(database)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def schema(database: Path) -> set[tuple[str, ...]]:
    with contextlib.closing(sqlite3.connect(database)) as connection:
        return {*connection.execute("SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE '%fts%'")}


def write_over(database: Path, behind: bytes, old: bytes, new: bytes) -> None:
    data = database.read_bytes()
    at = data.index(old, data.index(behind))
    database.write_bytes(data[:at] + new + data[at + len(old) :])


@pytest.mark.parametrize(
    ("statements", "told"),
    [
        ([f"DROP TRIGGER {TRIGGER}"], f"lacks trigger {TRIGGER}"),
        ([f"DROP TRIGGER {TRIGGER}", HARMLESS], f"its trigger {TRIGGER} is not as it was made"),
        ([STRANGE], "has a trigger mine, which is none of nanomem's"),
        (["DROP VIEW facts", "CREATE VIEW facts AS SELECT 1"], "its view facts is not as it was made"),
        (["DROP INDEX idx_memory_hash"], "lacks index idx_memory_hash"),
    ],
)
def test_what_was_taken_out_exchanged_or_put_in_is_told_and_put_right(
    statements: list[str], told: str, database: Path, run: Run
) -> None:
    before = schema(database)
    alter(database, *statements)
    doctor, verified = run("doctor"), run("log", "--verify")
    assert (doctor.code, told in doctor.out) == (1, True)
    assert (verified.code, f"Broken: the database: {told}" in verified.out) == (1, True)
    done = run("doctor", "--fix", "--yes")
    assert (done.code, f"Fixed: nanomem/nanomem.db: {told}" in done.out) == (0, True)
    assert schema(database) == before
    assert run("log", "--verify").code == 0
    kept = "".join(path.read_text() for path in (database.parent / "quarantine").glob("*.sql"))
    assert all(statement in kept for statement in statements if statement.startswith("CREATE"))


def test_a_guard_with_a_flipped_bit_holds_back_no_change_for_ever(database: Path, run: Run) -> None:
    write_over(database, f"CREATE TRIGGER {TRIGGER}".encode(), b"OLD.meta_json", b"OMD.meta_json")
    key = run("memory", "list", "--json").json[0]["id"]
    assert "degraded" in run("memory", "disable", key).err
    assert run("doctor").code == 1
    assert run("doctor", "--fix", "--yes").code == 0
    assert "degraded" not in run("memory", "edit", key, "--text", "Prefers night trains").err
    assert run("memory", "reindex").code == 0
    assert "Nothing was changed." in run("log", "--verify").out


def test_an_index_that_lacks_rows_is_made_anew_from_its_table(database: Path, run: Run) -> None:
    with contextlib.closing(sqlite3.connect(database)) as connection:
        page = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'idx_memory_hash'").fetchone()[0]
        other = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'idx_lessons_revision'").fetchone()
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    data = bytearray(database.read_bytes())
    data[(page - 1) * size : page * size] = data[(other[0] - 1) * size : other[0] * size]
    database.write_bytes(data)
    doctor = run("doctor")
    assert doctor.code == 1
    assert "its indexes do not have what its tables have: row 1 missing from index idx_memory_hash" in doctor.out
    assert run("doctor", "--fix", "--yes").code == 0
    with contextlib.closing(sqlite3.connect(database)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert run("memory", "list", "--json").out.count("Prefers trains") == 1
    assert run("log", "--verify").code == 0


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_schema_number_of_before_is_damage_where_the_schema_is_of_today(
    version: int, database: Path, run: Run
) -> None:
    alter(database, f"PRAGMA user_version = {version}")
    assert run("memory", "add", "--text", "Prefers night trains").code == 0
    assert len([line for line in run("log").out.splitlines() if "trains" in line]) == 2
    assert run("doctor").code == 0
    assert run("log", "--verify").code == 0


@pytest.mark.parametrize("table", ["operation_keys", "operations"])
def test_a_table_that_is_gone_comes_back_from_the_copy(table: str, database: Path, run: Run) -> None:
    before = shutil.copy(database, database.with_suffix(".before"))
    alter(database, f"DROP TABLE {table}")
    assert f"damaged: lacks table {table}" in run("doctor").out
    assert run("doctor", "--fix", "--yes").code == 0
    assert schema(database) == schema(Path(before))
    assert run("log", "--verify").code == 0
