"""The search index made anew: whatever it lacks or holds too much of, afterwards it is what the rows say."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.errors import Conflict, NewerDatabase, Refused
from nanomem_tui.operations import new_operation
from nanomem_tui.store import reader, reindex
from nanomem_tui.store.database import copy_into
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item
from nanomem_tui.tokens import tokens
from tests.cli.conftest import Run, run  # noqa: F401


@pytest.fixture
def workspace(sample_copy: Callable[[str], Path]) -> Path:
    """A RAM-first workspace with a database: 156 items and one of ours."""
    folder = sample_copy("ramfirst") / "home" / ".nanobot" / "workspace"
    with open_workspace(folder) as ws:
        ws.items.add("zebras graze at dawn")
        ws.flush()
    return folder


def spoil(workspace: Path, *statements: str) -> None:
    connection = sqlite3.connect(workspace.parent / "nanomem" / "nanomem.db")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.sqlite("the index of the file")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE memory_entries_fts SET content = 'evil' WHERE content LIKE '%zebra%'",
        "UPDATE memory_entries_fts SET content = 'evil'",
        "UPDATE memory_entries_fts SET entry_id = 'x' WHERE content LIKE '%zebra%'",
        "UPDATE memory_entries_fts_content SET c1 = 'evil' WHERE c1 LIKE '%zebra%'",
        "UPDATE memory_entries_fts_content SET c1 = x'ff' WHERE c1 LIKE '%zebra%'",
        "DELETE FROM memory_entries_fts_data WHERE id > 10",
        "UPDATE memory_entries SET number = 7777 WHERE content LIKE '%zebra%'",
    ],
)
def test_an_index_that_says_something_else_is_named_and_the_doctor_makes_it_anew(
    workspace: Path, run: Run, statement: str  # noqa: F811
) -> None:
    place = ["--workspace", str(workspace)]
    assert "the search index" not in run("doctor", *place).out
    spoil(workspace, statement)
    assert "the search index" in run("doctor", *place).out
    fixed = run("doctor", "--fix", "--yes", *place)
    assert "Fixed: nanomem/nanomem.db: the search index" in fixed.out
    assert "the search index" not in run("doctor", *place).out
    assert found(workspace, "zebras") == ["zebras graze at dawn"]
    assert found(workspace, "evil") == []


@pytest.mark.sqlite("the index of the file")
def test_a_search_in_an_index_that_says_something_else_finds_what_the_rows_say(workspace: Path) -> None:
    spoil(workspace, "UPDATE memory_entries_fts SET content = 'evil' WHERE content LIKE '%zebra%'")
    assert found(workspace, "zebras") == ["zebras graze at dawn"]
    assert found(workspace, "evil") == []


def found(workspace: Path, words: str) -> list[str]:
    with open_workspace(workspace) as ws:
        return [hit.item.text for hit in ws.items.search(words)]


@pytest.mark.sqlite("the index of the file")
@pytest.mark.parametrize(
    ("damage", "indexed"),
    [
        ("DELETE FROM memory_entries_fts WHERE rowid > 100", 100),
        ("UPDATE memory_meta SET value = '0' WHERE key LIKE '%:tokens'", 157),
        ("DROP TABLE memory_entries_fts", 0),
        ("UPDATE memory_entries SET is_deleted = 1 WHERE number = 1", 156),
    ],
)
def test_a_spoilt_index_is_seen_and_made_anew(workspace: Path, damage: str, indexed: int) -> None:
    spoil(workspace, damage)
    with open_workspace(workspace) as ws:
        before = reindex.state(ws.store)
        assert (before.indexed, before.current) == (indexed, False)
        after = reindex.rebuild(ws.store)
        assert after.current
        assert after.indexed == after.items
    assert found(workspace, "zebras") == ["zebras graze at dawn"]


@pytest.mark.sqlite("the index of the file")
def test_an_index_merges_as_seldom_as_it_may_also_when_it_is_made_anew(workspace: Path) -> None:
    asked = "SELECT v FROM memory_entries_fts_config WHERE k = 'automerge'"
    with open_workspace(workspace) as ws:
        for _ in range(2):
            with ws.store.opened() as connection:
                assert connection.execute(asked).fetchone() == (16,)
            reindex.make_anew(ws.store)


def test_an_index_that_is_well_stays_well(workspace: Path) -> None:
    with open_workspace(workspace) as ws:
        assert reindex.state(ws.store) == (157, 157, True)
        assert reindex.rebuild(ws.store) == (157, 157, True)


@pytest.mark.sqlite("the index of the file")
def test_what_is_written_while_it_is_counted_makes_no_index_look_wrong(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening = reader.open_database

    @contextmanager
    def opened(path: Path, *newest: int) -> Iterator[sqlite3.Connection]:
        with opening(path, *newest) as connection:
            connection.set_trace_callback(lambda sql: write() if "memory_entries_fts" in sql else None)
            yield connection

    def write() -> None:
        if len(other.items.all()) > 158:
            return
        other.items.add("zebras sleep at noon")
        other.store.checkpoint()

    with open_workspace(workspace) as other, open_workspace(workspace) as ws:
        other.items.add("zebras drink in the evening")
        other.store.checkpoint()
        with monkeypatch.context() as patched:
            patched.setattr(reader, "open_database", opened)
            assert reindex.state(ws.store) == (158, 158, True)
        assert reindex.state(ws.store) == (159, 159, True)


def test_without_a_database_there_is_nothing_to_make(sample_copy: Callable[[str], Path]) -> None:
    folder = sample_copy("ramfirst") / "home" / ".nanobot" / "workspace"
    with open_workspace(folder) as ws:
        assert reindex.rebuild(ws.store) == (0, 0, True)
    assert not (folder.parent / "nanomem").exists()


@pytest.mark.sqlite("the index of the file")
def test_the_index_of_a_later_version_is_left_alone(workspace: Path) -> None:
    spoil(workspace, "PRAGMA user_version = 99")
    with open_workspace(workspace) as ws, pytest.raises(NewerDatabase):
        reindex.rebuild(ws.store)


# -- beside others ----------------------------------------------------------------------------------------------------


def many(workspace: Path, number: int = 3_000) -> None:
    """Items enough that the index takes several transactions."""
    with open_workspace(workspace) as ws:
        rows = [Item(f"many_{n}", f"walrus number {n}", updated_at="2026-01-01T00:00:00+00:00") for n in range(number)]
        ws.perform(new_operation("import", "many", [change_of("item", None, row) for row in rows], actor="import"))


def tables(workspace: Path) -> list[str]:
    with closing(sqlite3.connect(workspace.parent / "nanomem" / "nanomem.db")) as connection:
        query = "SELECT name FROM sqlite_master WHERE name LIKE 'memory_entries_fts%' ORDER BY name"
        return [row[0] for row in connection.execute(query)]


def start(code: str, workspace: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, str(workspace)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


WRITER = """
import sys, time
from nanomem_tui import open_workspace
ws = open_workspace(sys.argv[1])
ws.items.add("quagga before all")
ws.store.checkpoint()
print("writes", flush=True)
number, longest, end = 0, 0.0, time.monotonic() + 60
while time.monotonic() < end and not ws.paths.data.joinpath("stop").exists():
    ws.items.add(f"quagga {number}")
    ws.items.edit(f"many_{number % 1000 * 3}", text=f"okapi {number}")
    if number < 1000:
        ws.items.delete([f"many_{number * 3 + 1}"])
    number += 1
    started = time.monotonic()
    ws.store.checkpoint()
    longest = max(longest, time.monotonic() - started)
    if number == 6:
        ws.paths.data.joinpath("enough").touch()
ws.close()
print(number, longest, flush=True)
"""


@pytest.mark.slow
def test_what_another_process_writes_meanwhile_is_in_the_new_index(workspace: Path) -> None:
    many(workspace)
    spoil(workspace, "DELETE FROM memory_entries_fts WHERE rowid % 2")
    writer = start(WRITER, workspace)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "writes\n"
    with open_workspace(workspace) as ws:
        began, made = time.monotonic(), 0
        while made < 3 or not (workspace.parent / "nanomem" / "enough").exists():
            assert writer.poll() is None, writer.communicate()
            reindex.rebuild(ws.store)
            made += 1
        took = (time.monotonic() - began) / made
    (workspace.parent / "nanomem" / "stop").touch()
    said, trouble = writer.communicate(timeout=60)
    assert writer.returncode == 0, trouble
    number, longest = said.split()
    assert int(number) > 5, "it wrote while the index was made"
    assert float(longest) < 2.0 + took, "and waited for a chunk, not for the index"
    with open_workspace(workspace) as ws:
        assert reindex.state(ws.store).current
        assert len(ws.items.search("quagga", limit=10_000)) >= min(200, int(number))
        assert not ws.store.loaded
        expected = {row.text for row in ws.items.all()}
    with closing(sqlite3.connect(workspace.parent / "nanomem" / "nanomem.db")) as connection:
        query = "SELECT e.content, f.content FROM memory_entries_fts f JOIN memory_entries e ON e.number = f.rowid"
        rows = dict(connection.execute(query).fetchall())
        assert rows.keys() == expected
        assert all(" ".join(tokens(text)) == indexed for text, indexed in rows.items())
    assert tables(workspace) == INDEX


INDEX = ["memory_entries_fts", *(f"memory_entries_fts_{part}" for part in "config content data docsize idx".split())]
REINDEX = """
import sys
import time
from nanomem_tui import open_workspace
from nanomem_tui.store import reader, reindex
ws = open_workspace(sys.argv[1])
step, real = 0, reindex.time.sleep
def sleep(seconds):
    global step
    step += 1
    if step == int(sys.argv[2]):
        print("here", flush=True)
        real(60)
reindex.time.sleep = sleep
reindex.rebuild(ws.store)
"""


@pytest.mark.slow
@pytest.mark.sqlite("the index of the file")
@pytest.mark.parametrize("step", [1, 4, 7, 9])
def test_killed_half_way_the_old_index_answers_and_the_next_run_cleans_up(workspace: Path, step: int) -> None:
    many(workspace, 2_500)
    command = [sys.executable, "-c", REINDEX, str(workspace), str(step)]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    assert running.stdout.readline() == "here\n"
    with open_workspace(workspace) as ws, pytest.raises(Refused, match="another process"):
        reindex.rebuild(ws.store)
    running.kill()
    running.communicate()
    assert tables(workspace) != INDEX
    assert found(workspace, "zebras") == ["zebras graze at dawn"]
    with open_workspace(workspace) as ws:
        ws.items.add("zebras at night")
    assert set(found(workspace, "zebras")) == {"zebras graze at dawn", "zebras at night"}
    with open_workspace(workspace) as ws:
        assert reindex.rebuild(ws.store) == (2_658, 2_658, True)
    assert tables(workspace) == INDEX
    assert set(found(workspace, "zebras")) == {"zebras graze at dawn", "zebras at night"}


@pytest.mark.sqlite("the index of the file")
def test_a_database_exchanged_beneath_ends_the_run(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many(workspace, 1_200)
    database = workspace.parent / "nanomem" / "nanomem.db"
    copy = database.with_name("copy.db")
    steps = iter(range(100))

    def sleep(_seconds: float) -> None:
        step = next(steps)
        if step == 0:
            copy_into(database, copy)
        elif step == 1:
            for end in ("-wal", "-shm"):
                database.with_name(database.name + end).unlink(missing_ok=True)
            copy.replace(database)

    monkeypatch.setattr(reindex, "time", SimpleNamespace(sleep=sleep))
    with open_workspace(workspace) as ws:
        with pytest.raises(Conflict, match="exchanged"):
            reindex.rebuild(ws.store)
        assert reindex.state(ws.store).current, "the old index is still the one in use"
        assert reindex.rebuild(ws.store) == (1_357, 1_357, True)


@pytest.mark.sqlite("the index of the file")
@pytest.mark.parametrize("part", ["data", "idx", "content", "docsize", "config"])
def test_an_index_that_lost_one_of_its_tables_is_made_anew(workspace: Path, part: str) -> None:
    spoil(workspace, f"DROP TABLE memory_entries_fts_{part}")
    with open_workspace(workspace) as ws:
        assert reindex.rebuild(ws.store) == (157, 157, True)
        assert ws.store.read(lambda c: c.execute("PRAGMA integrity_check").fetchall()) == [("ok",)]
    assert tables(workspace) == INDEX
    assert found(workspace, "zebras") == ["zebras graze at dawn"]
