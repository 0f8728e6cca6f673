"""A database that is damaged, torn, emptied or gone: shown from a copy and the operations since, and made anew."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.errors import CorruptDatabase
from nanomem_tui.memory import repairs
from nanomem_tui.store import copies, mending, verifying
from nanomem_tui.store.database import copy_into
from nanomem_tui.workspace import Workspace
from tests.store.homes import Agent, files, kill, make_home, state

pytestmark = pytest.mark.sqlite("the file itself")


def ours(workspace: Path) -> Path:
    return workspace.parent / "nanomem"


def database(workspace: Path) -> Path:
    return ours(workspace) / "nanomem.db"


def copied(workspace: Path) -> list[Path]:
    return sorted((ours(workspace) / "backups").glob("copy-*.db"))


def said(ws: Workspace) -> str:
    return "; ".join(problem.what for problem in ws.problems())


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A store with a copy of its first day and work since."""
    made = make_home(tmp_path)
    with open_workspace(made) as ws:
        ws.items.edit("ltm_1", text="before the copy")
    with open_workspace(made) as ws:
        ws.items.edit("ltm_1", text="after the copy")
        ws.items.add("added after the copy")
        ws.items.delete(["ltm_2"])
        ws.lessons.set_enabled(["lesson_1"], False)
    assert len(copied(made)) == 1
    return made


def torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5_000])


def shifted(path: Path) -> None:
    path.write_bytes(b"\xff" + path.read_bytes())


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def overwritten(path: Path) -> None:
    path.write_bytes(b"this is no database" * 500)


def schema_lost(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE lessons", b"CREETE TABLE lessons"))


def schema_no_text(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE lessons", b"CREATE TABLE le\xee\xffons"))


def schema_full(path: Path) -> None:
    """One flipped bit, whose error has a word in it that is none of SQLite's own."""
    data = path.read_bytes()
    at = data.index(b"NOT NULL", data.index(b"CREATE TABLE records"))
    path.write_bytes(data[:at] + b"NOT FULL" + data[at + 8 :])


DAMAGE = (schema_no_text, schema_full, torn, shifted, emptied, overwritten, schema_lost, Path.unlink)


@pytest.mark.parametrize("damage", DAMAGE)
def test_everything_is_shown_and_nothing_is_written_by_who_only_reads(
    workspace: Path, damage: Callable[[Path], Any]
) -> None:
    before = state(workspace)
    damage(database(workspace))
    found = files(workspace.parent)
    assert state(workspace) == before
    with open_workspace(workspace) as ws:
        status = ws.status()
        assert status["items"]["total"] == 4
        assert status["store"]["operations"] >= 1
        assert len(ws.log()) == 5
        assert "shown is the copy of" in said(ws)
        assert any("shown is the copy of" in problem.what for problem in ws.doctor())
    assert files(workspace.parent) == found


@pytest.mark.parametrize("damage", DAMAGE)
def test_answers_over_one_connection_are_those_of_what_stands_in_for_it(
    workspace: Path, damage: Callable[[Path], Any]
) -> None:
    with open_workspace(workspace) as ws:
        before = ws.items.count()
    damage(database(workspace))
    with open_workspace(workspace) as ws, ws.store.kept_open():
        assert ws.items.count() == before
        assert ws.store.source.damage is not None
        assert ws.items.count() == before


def test_answers_over_one_connection_know_what_is_written_meanwhile(workspace: Path) -> None:
    with open_workspace(workspace) as ws:
        with ws.store.kept_open():
            before = ws.items.count()["total"]
            with open_workspace(workspace) as other:
                other.items.add("one more")
                other.flush()
            assert ws.items.count()["total"] == before + 1
        assert ws.items.count()["total"] == before + 1


@pytest.mark.parametrize("damage", DAMAGE)
def test_the_next_change_makes_it_anew_and_keeps_the_damaged_file(
    workspace: Path, damage: Callable[[Path], Any]
) -> None:
    before = state(workspace)
    damage(database(workspace))
    left = database(workspace).read_bytes() if database(workspace).exists() else None
    with open_workspace(workspace) as ws:
        ws.items.set_pinned(["ltm_3"], True)
        ws.flush()
        assert "was made anew" in said(ws)
        ws.undo()
        ws.undo(ws.log()[-2].operation.id)
    after = state(workspace)
    assert after.pop("ltm_1").text == "before the copy", "what the log says can still be taken back"
    before.pop("ltm_1")
    assert after == before
    assert copies.is_whole(database(workspace))
    kept = [path.read_bytes() for path in (ours(workspace) / "quarantine").glob("*-nanomem.db")]
    assert kept == ([left] if left is not None else [])
    with open_workspace(workspace) as ws:
        assert said(ws) == ""
    assert {row["id"] for row in Agent(workspace).items.values()} == {
        row.id for row in state(workspace).values() if row.id.startswith("ltm_")
    }


def test_a_process_that_has_the_rows_goes_on_and_writes_the_database_anew(workspace: Path) -> None:
    with open_workspace(workspace) as ws:
        ws.items.all()
        overwritten(database(workspace))
        ws.items.add("written into ruins")
        ws.flush()
        assert "was made anew" in said(ws)
        shown = {row.id: row._replace(revision=0) for row in (*ws.items.all(), *ws.lessons.all())}
    assert state(workspace) == shown
    assert {"after the copy", "written into ruins"} <= {row.text for row in shown.values() if hasattr(row, "text")}


def test_two_processes_over_a_damaged_database_agree(workspace: Path) -> None:
    first, second = open_workspace(workspace), open_workspace(workspace)
    first.items.all()
    second.items.all()
    first.items.add("known to both")
    first.flush()
    second.refresh()
    torn(database(workspace))
    first.items.add("of the first")
    second.items.add("of the second")
    first.flush()
    second.flush()
    first.refresh()
    texts = {row.text for row in first.items.all()}
    assert texts >= {"known to both", "of the first", "of the second"}
    assert {row.text for row in second.items.all()} == texts
    first.close()
    second.close()
    assert {row.text for row in state(workspace).values() if hasattr(row, "text")} == texts


def test_commits_that_a_damaged_wal_lost_are_done_again(workspace: Path) -> None:
    ws = open_workspace(workspace)
    ws.items.add("only in the WAL")
    ws.items.edit("ltm_3", text="only in the WAL as well")
    ws.flush()
    wal = database(workspace).with_name("nanomem.db-wal")
    saved, base = wal.read_bytes(), database(workspace).read_bytes()
    kill(ws)
    database(workspace).write_bytes(base)
    wal.write_bytes(bytes([saved[0] ^ 1]) + saved[1:])  # SQLite takes such a WAL for none
    before = files(workspace.parent)
    texts = {row.text for row in state(workspace).values() if hasattr(row, "text")}
    assert {"only in the WAL", "only in the WAL as well"} <= texts
    assert {k: v for k, v in files(workspace.parent).items() if "nanomem.db-" not in k} == {
        k: v for k, v in before.items() if "nanomem.db-" not in k
    }
    with open_workspace(workspace) as ws:
        assert len(ws.log(limit=100)) == 7
        ws.items.set_pinned(["ltm_4"], True)
    with open_workspace(workspace) as ws:
        assert len({entry.operation.id for entry in ws.log(limit=100)}) == len(ws.log(limit=100)) == 8
        assert {row.text for row in ws.items.all()} == texts


def test_without_a_copy_the_readable_rows_are_shown_and_the_lost_ones_are_counted(tmp_path: Path) -> None:
    workspace = make_home(tmp_path, items=600)
    with open_workspace(workspace) as ws:
        ws.items.edit("ltm_1", text="one more")
    for path in (workspace / "memory").glob("L*"):
        path.unlink()
    shutil.rmtree(ours(workspace) / "backups")
    shutil.rmtree(ours(workspace) / "ledger")
    data = bytearray(database(workspace).read_bytes())
    at = data.index(b"item number 300")
    page = at // 4096 * 4096
    data[page : page + 4096] = b"\xff" * 4096
    database(workspace).write_bytes(data)
    with open_workspace(workspace) as ws:
        shown = {row.id for row in ws.items.all()}
        assert 400 < len(shown) < 600
        assert "ltm_300" not in shown
        assert f"{600 - len(shown)} rows are lost" in said(ws)
        ws.items.set_pinned([min(shown)], True)
    assert {key for key in state(workspace) if key.startswith("ltm")} == shown
    assert copies.is_whole(database(workspace))


def test_without_a_copy_and_without_a_readable_row_it_is_refused_and_kept(workspace: Path) -> None:
    for folder in ("backups", "ledger"):
        shutil.rmtree(ours(workspace) / folder)
    overwritten(database(workspace))
    before = database(workspace).read_bytes()
    with open_workspace(workspace) as ws, pytest.raises(CorruptDatabase):
        ws.items.all()
    with pytest.raises(CorruptDatabase), open_workspace(workspace) as ws:
        ws.items.add("refused")
    assert database(workspace).read_bytes() == before


def test_a_flipped_bit_in_a_row_is_put_right(workspace: Path) -> None:
    before = state(workspace)
    data = database(workspace).read_bytes()
    assert data.count(b"added after the copy") >= 1
    database(workspace).write_bytes(data.replace(b"added after the copy", b"added after the bopy"))
    assert state(workspace) == before
    with open_workspace(workspace) as ws:
        ws.items.all()
        assert "is not what was written; shown is what a copy and the log tell" in said(ws)
        ws.items.set_pinned(["ltm_3"], True)
    with open_workspace(workspace) as ws:
        assert "added after the copy" in {row.text for row in ws.items.all()}
        assert said(ws) == ""
        [kept] = [p for p in ws.doctor() if "written" in p.what]
        assert "it is kept here as it was" in kept.what


def test_a_flipped_bit_in_an_id_is_put_right(workspace: Path) -> None:
    before = state(workspace)
    with contextlib.closing(sqlite3.connect(database(workspace))) as connection:
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'memory_entries'"
        [[page]], [[size]] = connection.execute(query).fetchall(), connection.execute("PRAGMA page_size").fetchall()
    data = database(workspace).read_bytes()
    at = data.index(b"ltm_1", (page - 1) * size)  # in the table: its index has it as it was
    database(workspace).write_bytes(data[:at] + bytes([data[at] ^ 0x80]) + data[at + 1 :])
    assert state(workspace) == before
    with open_workspace(workspace) as ws:
        ws.items.all()
        assert "missing from index" in said(ws)
        _, added, _ = ws.items.add("the next change")
    with open_workspace(workspace) as ws:
        assert said(ws) == ""
        assert not any("index" in problem.what for problem in ws.doctor())
    assert {key: row for key, row in state(workspace).items() if key != added.id} == before
    [kept] = (ours(workspace) / "quarantine").glob("*nanomem.db")
    assert data[at + 1 : at + 40] in kept.read_bytes()


def test_a_row_under_another_id_stays_beside_the_one_that_was_written(workspace: Path) -> None:
    with contextlib.closing(sqlite3.connect(database(workspace))) as connection, connection:
        connection.execute("UPDATE memory_entries SET id = 'other' WHERE id = 'ltm_1'")
    with open_workspace(workspace) as ws:
        assert {"ltm_1", "other"} <= {row.id for row in ws.items.all()}
        assert "ltm_1 was missing; it is back" in said(ws)
        assert "other is not what was written: no operation made it" in said(ws)
        ws.items.add("the next change")
    with open_workspace(workspace) as ws:
        assert {"ltm_1", "other"} <= {row.id for row in ws.items.all()}


def test_a_row_that_is_missing_comes_back_from_the_copy(workspace: Path) -> None:
    before = state(workspace)
    connection = sqlite3.connect(database(workspace))
    connection.execute("DELETE FROM memory_entries WHERE id IN ('ltm_1', 'ltm_4')")
    connection.commit()
    connection.close()
    assert state(workspace) == before
    with open_workspace(workspace) as ws:
        ws.items.all()
        assert "ltm_4 was missing; it is back" in said(ws)


def test_a_flipped_bit_without_a_copy_is_named(workspace: Path) -> None:
    shutil.rmtree(ours(workspace) / "backups")
    data = database(workspace).read_bytes()
    database(workspace).write_bytes(data.replace(b"after the copy", b"bfter the copy"))
    with open_workspace(workspace) as ws:
        ws.items.all()
        assert "ltm_1 is not what was written" in said(ws)


def test_a_damaged_database_never_takes_the_place_of_a_good_copy(workspace: Path, monkeypatch: Any) -> None:
    good = copied(workspace)
    monkeypatch.setattr(mending, "VERIFIED", 0)
    monkeypatch.setattr(copies.Copies, "is_due", lambda *_: True)
    data = database(workspace).read_bytes()
    database(workspace).write_bytes(data.replace(b"item number 4", b"item number 5"))
    with open_workspace(workspace) as ws:
        ws.items.set_pinned(["ltm_3"], True)
        ws.flush()
        assert "no copy of the database could be made" in said(ws)
    assert copied(workspace) == good


def test_three_copies_are_kept_with_the_operations_since_the_oldest(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies.Copies, "is_due", lambda *_: True)
    for number in range(5):
        with open_workspace(workspace) as ws:
            ws.items.add(f"day {number}")
    assert len(copied(workspace)) == copies.GENERATIONS
    numbers = [path.stem.removeprefix("copy-") for path in copied(workspace)]
    kept = sorted(path.stem for path in (ours(workspace) / "ledger").rglob("*.kept"))
    assert kept
    assert min(kept) >= numbers[0]
    before = state(workspace)
    database(workspace).unlink()
    for path in copied(workspace)[1:]:
        path.write_bytes(b"damaged as well")
    assert state(workspace) == before, "the oldest copy and all since"


def test_a_copy_is_made_once_a_day(workspace: Path) -> None:
    first = copied(workspace)
    with open_workspace(workspace) as ws:
        ws.items.add("the same day")
    assert copied(workspace) == first
    assert first[0].stat().st_mode & 0o777 == 0o600


def test_a_copy_is_nobody_elses_to_read_while_it_is_made(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, modes = ours(workspace) / "backups" / "copy.db", dict[str, int]()

    class Watched(sqlite3.Connection):
        def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
            done = super().execute(statement, *values)
            modes.update({path.name: path.stat().st_mode & 0o777 for path in target.parent.glob(".copy.db*")})
            return done

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **named: connect(*given, factory=Watched, **named))
    before = os.umask(0o022)
    try:
        copy_into(database(workspace), target)
    finally:
        os.umask(before)
    assert set(modes.values()) == {0o600}, modes


def test_adding_an_item_imports_no_sqlalchemy(workspace: Path) -> None:
    script = (
        "import sys; from nanomem_tui import open_workspace; ws = open_workspace(sys.argv[1]);"
        "ws.items.add('quick'); ws.close();"
        "print([m for m in ('sqlmodel', 'sqlalchemy', 'pydantic') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script, str(workspace)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert "quick" in {getattr(row, "text", "") for row in state(workspace).values()}


def test_a_bad_line_of_the_agents_file_is_set_aside_so_that_the_agent_reads_the_rest(tmp_path: Path) -> None:
    workspace = make_home(tmp_path)
    path = workspace / "memory" / "LESSONS.jsonl"
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([lines[0], b'{"id": "torn in the mid\xff', *lines[1:]]) + b'{"id": "lesson_9", "trig')
    broken = path.read_bytes()
    with open_workspace(workspace) as ws:
        ws.lessons.set_enabled(["lesson_2"], False)
    assert set(Agent(workspace).lessons) == {"lesson_1", "lesson_2", "lesson_3"}, (
        "one bad line costs the agent them all"
    )
    assert broken in [kept.read_bytes() for kept in (ours(workspace) / "quarantine").iterdir()]
    with open_workspace(workspace) as ws:
        assert any("could not be read whole" in problem.what for problem in ws.doctor())


def test_a_torn_line_of_the_agents_log_stays_where_it_is(tmp_path: Path) -> None:
    workspace = make_home(tmp_path)
    log = workspace / "memory" / "LTM_AUDIT.jsonl"
    log.write_bytes(b'{"type": "memory_add", "id": "ltm_1"}\n\xff broken\n{"type": "memory_up')
    before = log.read_bytes()
    with open_workspace(workspace) as ws:
        ws.items.edit("ltm_1", text="changed")
    after = log.read_bytes()
    assert after.startswith(before + b"\n{")
    assert after.endswith(b"}\n")


def kept_file(workspace: Path) -> Path:
    return max((ours(workspace) / "ledger").glob("*/kept/*.kept"))


def spoiled(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"added after the copy", b"never was in the copy", 1))


@pytest.mark.parametrize("spoil", [spoiled, Path.unlink])
def test_what_is_kept_is_held_against_the_chain_and_a_new_copy_needs_none_of_it(
    workspace: Path, spoil: Callable[[Path], Any]
) -> None:
    spoil(kept_file(workspace))
    with open_workspace(workspace) as ws:
        told = [one for one in ws.doctor() if "gone" in one.what]
        assert {one.severity for one in told} == {"warning"}
        assert not verifying.verify(ws.store).whole
        assert [one for one, why in repairs.mend(ws, repairs.repairs(ws)) if why] == []
        assert verifying.verify(ws.store).whole
        assert [one.what for one in ws.doctor() if "gone" in one.what] == []
    emptied(database(workspace))
    with open_workspace(workspace) as ws:
        assert len(ws.log()) == 6  # that of the doctor among them
        assert "with every operation since" in said(ws)


@pytest.mark.parametrize(("spoil", "back", "gone"), [(spoiled, 3, "1 operation is gone"), (Path.unlink, 0, "4 op")])
def test_a_recovery_says_how_many_operations_are_gone(
    workspace: Path, spoil: Callable[[Path], Any], back: int, gone: str
) -> None:
    with open_workspace(workspace) as ws:
        known = {entry.operation.id for entry in ws.log()}
    spoil(kept_file(workspace))
    emptied(database(workspace))
    with open_workspace(workspace) as ws:
        ws.store.load()
        assert f"with {back} operations since; {gone}" in said(ws)
        assert [why for one, why in repairs.mend(ws, repairs.repairs(ws)) if why] == []
        assert len(known & {entry.operation.id for entry in ws.log()}) == 1 + back


def test_half_a_line_that_a_kill_left_of_what_is_kept_goes_to_the_quarantine(workspace: Path) -> None:
    whole = kept_file(workspace).read_bytes()
    line = whole.split(b"\n")[0]
    kept_file(workspace).write_bytes(whole + line[: len(line) // 2])
    with open_workspace(workspace) as ws:
        ws.items.add("on it goes")
    assert kept_file(workspace).read_bytes().startswith(whole + b'{"c":"'), "the rest is as it was"
    assert line[: len(line) // 2] in [path.read_bytes() for path in (ours(workspace) / "quarantine").iterdir()]
    with open_workspace(workspace) as ws:
        wrong = [one for one in ws.doctor() if one.severity != "note"]
        assert [one for one in wrong if "/quarantine/" not in one.where] == []
        assert verifying.verify(ws.store).whole


def test_where_nobody_noted_how_many_there_were_only_what_was_kept_is_promised(workspace: Path) -> None:
    next((ours(workspace) / "ledger").glob("*/count")).unlink()
    emptied(database(workspace))
    with open_workspace(workspace) as ws:
        ws.store.load()
        assert "with the 4 operations since that were kept" in said(ws)


@pytest.mark.parametrize(
    ("place", "bit"),
    [
        (18, 0),  # a format that may be read and not written
        (35, 1),  # where the free pages begin, of which there are none
        (62, 1),  # the schema number, beyond every release
    ],
)
def test_a_flipped_bit_of_the_header_keeps_no_change_from_being_written(workspace: Path, place: int, bit: int) -> None:
    data = bytearray(database(workspace).read_bytes())
    data[place] ^= 1 << bit
    database(workspace).write_bytes(data)
    with open_workspace(workspace) as ws:
        ws.items.add("added then")
        ws.flush()
        assert ws.degraded == ""
        assert verifying.verify(ws.store).whole
    texts = {getattr(row, "text", "") for row in state(workspace).values()}
    assert texts >= {"after the copy", "added after the copy", "added then"}
    kept = [path.read_bytes() for path in (ours(workspace) / "quarantine").glob("*-nanomem.db")]
    assert bytes(data) in kept or place == 35  # a change that needs no new page does not meet it
