"""A memory of the first edition is taken over whole, or stays as it is: databases that the first edition wrote.

The homes in `tests/data/first-edition.tar.gz` were written by the first edition itself, at commit 6149e55b: each with
what it showed of them, as JSON beside it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from nanomem_tui.core import paths
from nanomem_tui.core.errors import CorruptDatabase, DiskFull, Moved, NothingToDo, Refused, StoreError
from nanomem_tui.language import tokens
from nanomem_tui.store.database.engine import SqliteDatabase
from nanomem_tui.store.database.operation_log import PLANNED
from nanomem_tui.store.first_edition import contents, takeover
from nanomem_tui.store.processes import Writers
from nanomem_tui.store.recovery import LOG
from nanomem_tui.store.values import ROW_TYPES, Item
from tests.store.stores import Store, TextFiles, add, texts

pytestmark = pytest.mark.sqlite("the first edition of a file of SQLite")
ARCHIVE = Path(__file__).parents[1] / "data" / "first-edition.tar.gz"
WITH_DATABASE = ["exchanging", "killed", "sharing"]


class Home(NamedTuple):
    """A home that the first edition left, and what it showed of it."""

    paths: paths.Paths
    id: str
    shown: dict[str, Any]

    def take_over(self):
        return takeover.take_over(self.paths, self.id)

    def store(self):
        store = Store(SqliteDatabase(self.paths.database), Writers(self.paths.data / "writers"), None, self._layer)
        store.load()
        return store

    def _layer(self, _name):
        return TextFiles(self.paths.workspace)

    def files(self):
        """Every file of ours with its bytes, but for locks."""
        found = [file for file in sorted(self.paths.data.rglob("*")) if file.is_file() and file.suffix != ".lock"]
        return {str(file.relative_to(self.paths.data)): file.read_bytes() for file in found}


@pytest.fixture
def home(tmp_path):
    def unpacked(name):
        with tarfile.open(ARCHIVE) as archive:
            archive.extractall(tmp_path, filter="data")
        found = paths.find_workspace(tmp_path / name / "workspace")
        shown = json.loads((tmp_path / f"{name}.json").read_text("utf-8"))
        assert paths.workspace_id(found) == shown["workspace_id"]
        return Home(found, shown["workspace_id"], shown)

    return unpacked


def shown_by(store):
    """The rows of a store as the archive tells them."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for layer in ROW_TYPES:
        found[layer] = {key: row._asdict() for key, row in store.snapshot.table(layer).items()}
        for row in found[layer].values():
            del row["revision"]
    return found


def merged_meta(rows):
    return {
        layer: {key: {**row, "meta_json": json.loads(row["meta_json"])} for key, row in table.items()}
        for layer, table in rows.items()
    }


@pytest.mark.parametrize("name", WITH_DATABASE)
def test_every_row_is_what_the_first_edition_showed(home, name):
    old = home(name)
    taken = old.take_over()
    assert merged_meta(shown_by(old.store())) == merged_meta(old.shown["rows"])
    assert [problem for problem in taken.problems if "workspace" not in problem.where] == []
    deleted = sum(row["is_deleted"] for row in old.shown["rows"]["item"].values())
    assert taken.counts["item"].get("deleted", 0) == deleted
    assert sum(taken.counts["item"].values()) == len(old.shown["rows"]["item"])


@pytest.mark.parametrize("name", WITH_DATABASE)
def test_every_operation_keeps_its_order_and_what_is_undone_of_it(home, name):
    old = home(name)
    taken = old.take_over()
    store = old.store()
    log = {entry.operation.id: entry for entry in store.log(1000)[::-1]}
    assert list(log) == list(old.shown["log"])
    redone = {entry.operation.meta.get("undo") for entry in log.values()}
    with store.database.reading() as connection:
        for key, told in old.shown["log"].items():
            entry = log[key]
            operation = entry.operation
            assert (operation.kind, operation.label) == (told["kind"], told["label"])
            assert (operation.undoes, operation.redoes) == (told["undoes"], told["redoes"])
            assert sorted({change.key for change in operation.changes}) == told["touched"]
            if key not in redone:
                assert entry.undone == told["undone"], operation.label
                found = connection.exec_driver_sql(
                    "SELECT key FROM operation_keys WHERE seq = ? AND undone = 0 ORDER BY key", (entry.position,)
                )
                assert [row[0] for row in found] == told["stands"], operation.label
        undone = connection.exec_driver_sql("SELECT count(*) FROM operations WHERE undone").scalar_one()
    assert taken.counts["operation"] == {"active": len(log) - undone, **({"undone": undone} if undone else {})}


@pytest.mark.parametrize("name", WITH_DATABASE)
def test_the_base_of_the_merge_with_the_agents_files_and_markers_stay(home, name):
    old = home(name)
    old.take_over()
    with contextlib.closing(sqlite3.connect(old.paths.database)) as connection:
        foreign = connection.execute("SELECT source, id, raw_json FROM foreign_rows ORDER BY 1, 2").fetchall()
        markers = dict(connection.execute("SELECT key, value FROM memory_meta"))
    assert [list(row) for row in foreign] == old.shown["foreign"]
    told = old.shown["markers"]
    kept = {key for key in told if key.startswith(("stat:", "order:", "audit_seq", "last_at", "backfill"))}
    assert {key: markers[key] for key in kept} == {key: told[key] for key in kept}
    gone = {"revision", "rows", "chain", "last_seq", "operations", "last_ms"}
    assert not gone & markers.keys()
    assert not any(old.id in key for key in markers)


def test_undo_and_redo_go_on_where_they_were(home):
    old = home("exchanging")
    old.take_over()
    store = old.store()
    assert store.snapshot.items["ltm_5"].text == "item number 5"
    store.redo()
    assert store.snapshot.items["ltm_5"].text == "fifth, edited twice"
    undone = [store.undo(), store.undo()]
    assert [operation.undoes for operation in undone][1] == old.shown["next_undo"]
    assert not store.snapshot.items["ltm_5"].pinned
    with pytest.raises(NothingToDo):
        while store.undo():
            pass
    assert texts(store)["ltm_1"] == "item number 1"
    assert store.snapshot.lessons["lesson_2"].enabled
    assert "ltm_9" in texts(store), "what the agent did stands"
    assert "the deploy runs at 9" not in texts(store).values()


def test_texts_come_over_to_the_character_and_secrets_stay_masked(home):
    old = home("exchanging")
    old.take_over()
    store = old.store()
    assert store.snapshot.items["ltm_nul"].text == "before\0after \U0010fffe"
    found = set(texts(store).values())
    assert "edited here: 咖啡不加糖，喝乌龙茶" in found
    assert "from the agent: 日本語のメモ" in found
    assert any("api key is [" in text for text in found), "it waits in the inbox"
    assert b"sk-proj-Zx81" not in old.paths.database.read_bytes()
    words = "SELECT count(*) FROM memory_entries_fts WHERE memory_entries_fts MATCH ?"
    with store.database.reading() as connection:
        assert connection.exec_driver_sql(words, (tokens.tokens("edited")[0],)).scalar() == 1


def test_counters_come_over_and_count_on(home):
    old = home("exchanging")
    old.take_over()
    store = old.store()
    hits = store.snapshot.items["ltm_9"].hits
    assert hits == old.shown["rows"]["item"]["ltm_9"]["hits"] >= 4
    store.snapshot.count("item", "ltm_9", 2, "2026-12-01T00:00:00+00:00")
    store.close()
    assert old.store().snapshot.items["ltm_9"].hits == hits + 2


def test_two_memories_that_say_the_same_are_both_taken(home):
    old = home("exchanging")
    old.take_over()
    store = old.store()
    same = [key for key, text in texts(store).items() if text == "the deploy runs at 9"]
    assert len(same) == 2


def test_what_a_killed_process_had_to_write_into_files_waits_for_the_next_writer(home):
    old = home("killed")
    old.take_over()
    store = old.store()
    planned = [entry for entry in store.log(100) if entry.state == PLANNED]
    assert [entry.operation.label for entry in planned] == ["edit USER.md"]
    assert [entry.operation.label for entry in store.settle()] in ([], ["edit USER.md"])


def test_the_old_files_are_kept_in_a_copy_and_named(home):
    old = home("killed")
    before = old.files()
    ledgers = {name for name in before if name.endswith(".ledger")}
    assert len(ledgers) == 2
    taken = old.take_over()
    assert taken.copy is not None
    assert taken.copy.parent == old.paths.backups
    assert taken.copy.name.startswith("first-edition-")
    kept = {str(file.relative_to(taken.copy)): file for file in taken.copy.rglob("*") if file.is_file()}
    assert ledgers <= kept.keys()
    assert {name: kept[name].read_bytes() for name in ledgers} == {name: before[name] for name in ledgers}
    assert contents.is_first_edition(kept["nanomem.db"])
    assert not contents.is_due(old.paths, old.id)
    assert not list(old.paths.data.rglob("*nanomem-tmp*"))
    made = [old.paths.database, old.paths.data / LOG, *kept.values()]
    assert {stat.S_IMODE(file.stat().st_mode) for file in made if file.name != "count"} == {0o600}
    again = old.take_over()
    assert (again.copy, again.problems) == (taken.copy, ())
    assert not list(old.paths.ledger.glob("*/*"))


def test_a_new_store_goes_on_behind_what_was_taken_over(home):
    old = home("exchanging")
    old.take_over()
    store = old.store()
    newest = store.log(1)[0]
    add(store, "new", "written by the new store")
    assert store.log(1)[0].position == newest.position + 1
    lines = [json.loads(line) for line in (old.paths.data / LOG).read_bytes().splitlines()]
    assert [line["id"] for line in lines] == [newest.operation.id], "the log begins where the first copy will end"


def test_of_several_workspaces_the_other_is_left_in_the_copy_and_named(home):
    old = home("sharing")
    taken = old.take_over()
    assert len(taken.problems) == 1
    assert "stays in the old database: 2 items, 1 lesson" in taken.problems[0].text()
    assert all("other workspace" not in text for text in texts(old.store()).values())
    assert taken.copy is not None
    with contextlib.closing(sqlite3.connect(taken.copy / "nanomem.db")) as connection:
        query = "SELECT count(*) FROM memory_entries WHERE content LIKE 'of the other%'"
        assert connection.execute(query).fetchone() == (2,)


@pytest.mark.parametrize("first", ["workspace", "other"])
def test_of_several_workspaces_each_can_have_a_database_of_its_own(home, first):
    old = home("sharing")
    other = paths.find_workspace(old.paths.workspace.with_name("other"))
    database = old.paths.data / "workspace-other" / "nanomem.db"
    key = paths.workspace_id(other)
    if first == "workspace":
        old.take_over()
    assert contents.is_due(other, key)
    taken = takeover.take_over(other, key)
    assert taken.counts["item"] == {"active": 2}
    assert (old.paths.ledger / key).is_file()
    assert contents.is_first_edition(old.paths.database) is (first == "other")
    if first == "other":
        old.take_over()
    assert merged_meta(shown_by(old.store())) == merged_meta(old.shown["rows"])
    store = Store(SqliteDatabase(database), Writers(old.paths.data / "w"))
    store.load()
    assert sorted(texts(store).values()) == ["of the other again", "of the other workspace"]
    assert takeover.take_over(other, key).copy == taken.copy


def test_a_memory_that_was_moved_elsewhere_is_not_taken_over(home):
    old = home("exchanging")
    mark = json.dumps({"move": "m", "source": "here", "target": "db.example/nanomem", "at": ""})
    harmed(old, f"INSERT INTO memory_meta VALUES ('{old.id}:moved', '{mark}')")
    with pytest.raises(Moved, match="example/nanomem"):
        old.take_over()
    assert contents.is_first_edition(old.paths.database)


def test_before_the_first_checkpoint_what_waits_is_of_the_agents_rows(home):
    old = home("never-written")
    assert contents.is_due(old.paths, old.id)
    rows = old.shown["rows"]["item"]
    files = [Item(**{**rows[f"ltm_{n}"], "text": f"item number {n}"}) for n in (1, 2, 3)]
    taken = takeover.take_over(old.paths, old.id, files)
    assert [problem.where for problem in taken.problems] == ["lesson_1"], "its file was not given, and it is named"
    found = texts(old.store())
    assert found["ltm_2"] == "edited before any checkpoint"
    assert min(found.values()) == "added before any checkpoint"
    assert not contents.is_due(old.paths, old.id)


@pytest.mark.parametrize("name", [*WITH_DATABASE, "never-written"])
def test_a_reader_takes_over_into_a_private_copy_and_changes_nothing(home, name):
    old = home(name)
    before = old.files()
    stamps = {file: file.stat().st_mtime_ns for file in old.paths.data.rglob("*")}
    with takeover.read_copy(old.paths, old.id) as (file, taken):
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        store = Store(SqliteDatabase(file), Writers(file.parent))
        store.load()
        found = merged_meta(shown_by(store))
        store.database.close()
        assert taken.copy is None
    assert not file.exists()
    if name != "never-written":
        assert found == merged_meta(old.shown["rows"])
    assert old.files() == before
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps
    assert contents.is_due(old.paths, old.id)


def test_a_folder_that_nobody_may_write_to_can_be_read(home):
    old = home("killed")
    folders = [old.paths.data, *(path for path in old.paths.data.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o500)
    try:
        assert contents.is_first_edition(old.paths.database)
        with takeover.read_copy(old.paths, old.id) as (_, taken):
            assert sum(taken.counts["item"].values()) == len(old.shown["rows"]["item"])
    finally:
        for folder in folders:
            folder.chmod(0o700)


# -- refused ----------------------------------------------------------------------------------------------------------


def test_while_a_process_of_the_first_edition_is_at_work_it_is_refused_by_its_pid(home):
    old = home("killed")
    before = old.files()
    live = old.paths.ledger / old.id / f"1795855700000-{os.getpid()}-abcdef.ledger"
    with live.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(Refused) as met:
            old.take_over()
        assert f"process {os.getpid()} (" in met.value.line()
        assert "python" in met.value.line()
        with takeover.read_copy(old.paths, old.id) as (_, taken):  # a reader need not wait
            assert taken.counts["item"]
    live.unlink()
    assert old.files().keys() == before.keys()
    old.take_over()


def test_while_another_program_reads_the_database_it_is_refused(home):
    old = home("killed")
    with contextlib.closing(sqlite3.connect(old.paths.database)) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM memory_entries").fetchone()
        with pytest.raises(StoreError, match="locked by another process"):
            old.take_over()
    assert contents.is_first_edition(old.paths.database)
    old.take_over()


def test_a_difference_stops_it_and_nothing_is_replaced(home, monkeypatch):
    old = home("exchanging")
    read = takeover.rows.read

    def other(*given):
        return [row._replace(updated_at="another time") for row in read(*given)]

    monkeypatch.setattr(takeover.rows, "read", other)
    with pytest.raises(StoreError, match="nothing was replaced"):
        old.take_over()
    assert contents.is_first_edition(old.paths.database)
    assert not list(old.paths.backups.glob("first-edition-*"))
    monkeypatch.undo()
    old.take_over()
    assert merged_meta(shown_by(old.store())) == merged_meta(old.shown["rows"])


def test_without_space_the_old_memory_stays_as_it_is(home, monkeypatch):
    old = home("killed")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(DiskFull):
        old.take_over()
    assert contents.is_first_edition(old.paths.database)
    assert not list(old.paths.data.rglob("*nanomem-tmp*"))
    monkeypatch.undo()
    old.take_over()


# -- damage -----------------------------------------------------------------------------------------------------------


def harmed(old, *statements):
    with contextlib.closing(sqlite3.connect(old.paths.database)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def test_rows_that_are_not_what_was_written_are_named_and_taken_as_they_were_shown(home):
    old = home("exchanging")
    harmed(
        old,
        "DROP TRIGGER item_keeps_its_source",
        "UPDATE memory_entries SET content = 'a bit flipped' WHERE id = 'ltm_1'",
        "UPDATE memory_entries SET hits = 'many' WHERE id = 'ltm_3'",
        "UPDATE lessons SET better_action = x'ff62' WHERE id = 'lesson_1'",
    )
    taken = old.take_over()
    assert sorted(problem.where for problem in taken.problems) == ["lesson_1", "ltm_1", "ltm_3"]
    store = old.store()
    assert store.snapshot.items["ltm_1"].text == "a bit flipped"
    assert store.snapshot.items["ltm_3"].hits == 0
    assert store.snapshot.lessons["lesson_1"].better_action == "\ufffdb"


def test_what_cannot_be_taken_is_named_and_stays_in_the_copy(home):
    old = home("exchanging")
    broken = next(iter(old.shown["log"]))
    harmed(
        old,
        "UPDATE memory_entries SET id = x'00ff' WHERE id = 'ltm_3'",
        f"UPDATE operations SET body_json = substr(body_json, 5) WHERE id = '{broken}'",
    )
    taken = old.take_over()
    told = [problem.text() for problem in taken.problems]
    assert len(told) == 2
    assert "row without an id" in told[0]
    assert broken in told[1]
    store = old.store()
    assert "ltm_3" not in store.snapshot.items
    assert len(store.log(1000)) == len(old.shown["log"]) - 1
    assert taken.copy is not None
    with contextlib.closing(sqlite3.connect(taken.copy / "nanomem.db")) as connection:
        assert connection.execute("SELECT count(*) FROM memory_entries WHERE id = x'00ff'").fetchone() == (1,)


def test_an_operation_that_was_harmed_is_read_from_those_kept_beside_the_database(home):
    old = home("exchanging")
    last = list(old.shown["log"])[-3]
    harmed(old, f"UPDATE operations SET body_json = 'x' || body_json WHERE id = '{last}'")
    assert old.take_over().problems == ()
    assert list(old.shown["log"]) == [entry.operation.id for entry in old.store().log(1000)[::-1]]


@pytest.mark.parametrize("how", ["gone", "noise"])
def test_of_a_damaged_database_the_newest_copy_is_taken_with_what_was_kept_since(home, how):
    old = home("exchanging")
    with contextlib.closing(sqlite3.connect(old.paths.database)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
    old.paths.database.unlink()
    if how == "noise":
        old.paths.database.write_bytes(b"no database at all" * 1000)
    old.paths.database.with_name("nanomem.db-wal").write_bytes(b"of the old one" * 1000)
    taken = old.take_over()
    assert (
        f"the database is damaged ({'it is gone' if how == 'gone' else 'file is not a database'})"
        in taken.problems[0].what
    )
    store = old.store()
    texts_before = {key: row["text"] for key, row in old.shown["rows"]["item"].items() if not row["is_deleted"]}
    unlike = {key for key, text in texts(store).items() if texts_before.get(key) != text}
    assert unlike == set()
    assert list(old.shown["log"]) == [entry.operation.id for entry in store.log(1000)[::-1]]


def test_a_page_of_noise_stops_it_where_there_is_no_copy(home):
    old = home("exchanging")
    with contextlib.closing(sqlite3.connect(old.paths.database)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
    shutil.rmtree(old.paths.backups)
    whole = bytearray(old.paths.database.read_bytes())
    whole[4096 * 5 : 4096 * 12] = b"\xa5" * 4096 * 7
    old.paths.database.write_bytes(whole)
    with pytest.raises(CorruptDatabase):
        old.take_over()
    assert old.paths.database.read_bytes() == bytes(whole)


def test_lines_of_a_ledger_that_were_harmed_cost_themselves_alone(home):
    old = home("killed")
    ledger = min((old.paths.ledger / old.id).glob("*.ledger"))
    lines = ledger.read_bytes().splitlines(keepends=True)
    lines[0] = lines[0].replace(b"edited by the first", b"edited by no one")
    ledger.write_bytes(b"".join(lines) + b'{"c":"00000000","r":{"id":"op')
    taken = old.take_over()
    named = [problem for problem in taken.problems if problem.where.startswith("ledger/")]
    where = f"ledger/{ledger.name}"
    assert [(problem.line, problem.where) for problem in named] == [(1, where), (len(lines) + 1, where)]
    assert texts(old.store())["ltm_1"] == "item number 1"


def test_the_command_that_takes_it_over_says_how_much_and_what_is_not_in_it(home, run):
    old = home("killed")
    ledger = min((old.paths.ledger / old.id).glob("*.ledger"))
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(b"".join((lines[0].replace(b"edited by the first", b"edited by no one"), *lines[1:])))
    where = ["--workspace", str(old.paths.workspace)]
    assert "a change that cannot be read" in run(*where, "memory", "list").err
    told = run(*where, "memory", "add", "--text", "new")
    items = len(old.shown["rows"]["item"])
    assert f"Note: taken over from the first edition: {items:,} items, " in told.err
    assert f"Warning: not taken over: ledger/{ledger.name}:1: a change that cannot be read" in told.err


def test_an_older_schema_lacks_tables_and_is_taken_over(home):
    old = home("exchanging")
    harmed(
        old,
        *(f"DROP VIEW {view}" for view in ("facts", "journal", "conversations", "token_usage", "reflections")),
        "DROP TABLE records", "DROP TABLE vectors", "PRAGMA user_version = 1",
    )  # fmt: skip
    taken = old.take_over()
    assert taken.counts["record"] == {}
    assert shown_by(old.store())["item"].keys() == old.shown["rows"]["item"].keys()


# -- killed -----------------------------------------------------------------------------------------------------------

KILL = """
import os, signal, sys
from pathlib import Path
from nanomem_tui.core import paths
from nanomem_tui.store.first_edition import takeover
found = paths.find_workspace(Path(sys.argv[1]))
key = paths.workspace_id(found)
def dying(name, steps):
    original = getattr(os, name)
    def call(*given, **named):
        steps[0] -= 1
        if steps[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*given, **named)
    setattr(os, name, call)
for line in sys.stdin:
    pid = os.fork()
    if not pid:
        steps = [int(line)]
        for name in ("replace", "fsync", "unlink", "mkdir"):
            dying(name, steps)
        takeover.take_over(found, key)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.crash)])
def test_killed_at_any_step_the_old_memory_or_the_new_one_is_there_whole(home, tmp_path, every):
    old = home("killed")
    untouched = tmp_path / "untouched"
    shutil.copytree(old.paths.workspace.parent, untouched)
    kinds = set()
    with subprocess.Popen(
        [sys.executable, "-c", KILL, str(old.paths.workspace)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as killing:
        assert killing.stdin is not None
        assert killing.stdout is not None
        for step in range(1, 100, every):
            print(step, file=killing.stdin, flush=True)
            ended = int(killing.stdout.readline())
            if ended == 0:
                break
            assert ended == -signal.SIGKILL
            kinds.add(contents.is_first_edition(old.paths.database))
            old.take_over()
            store = old.store()
            assert merged_meta(shown_by(store)) == merged_meta(old.shown["rows"]), f"step {step}"
            assert [entry.operation.id for entry in store.log(1000)[::-1]] == list(old.shown["log"]), f"step {step}"
            store.database.close()
            assert not contents.is_due(old.paths, old.id)
            assert not list(old.paths.data.rglob("*nanomem-tmp*"))
            kept = list(old.paths.backups.glob("first-edition-*/ledger/*/*.ledger"))
            assert len(kept) == 2, f"step {step}"
            shutil.rmtree(old.paths.workspace.parent)
            shutil.copytree(untouched, old.paths.workspace.parent)
        killing.stdin.close()
    assert step > 12
    assert kinds == {True, False}


def test_whether_it_is_due_is_asked_without_any_library():
    code = "import sys; from nanomem_tui.store import first_edition; print('sqlalchemy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
