"""What a database holds is read as values, the same through `sqlite3` alone as through SQLAlchemy."""

import contextlib
import json
import re
import sqlite3
import subprocess
import sys

import pytest

from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.operations import LaterChanges, new_operation
from nanomem_tui.store import lookup
from nanomem_tui.store.database import reading
from nanomem_tui.store.database.operation_log import Journal
from nanomem_tui.store.database.queries import CoreReading
from nanomem_tui.store.database.reading import SqliteReading
from nanomem_tui.store.database.statements import STATEMENTS
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item, Lesson, Record
from tests.hygiene.repository import ROOT
from tests.store.stores import AT, add, delete, edit

INBOX = '{"inbox": {"why": "a tool said so"}}'


def insert(store, *rows, kind="import"):
    layers = {Item: "item", Lesson: "lesson", Record: "record"}
    changes = [change_of(layers[type(row)], None, row) for row in rows]
    return store.perform(new_operation(kind, f"{kind} {len(rows)}", changes, actor="import"))


class Memory:
    """A store as its readers ask it: rows in RAM, or in the database alone."""

    def __init__(self, store, of, *, loaded=False, database_is_all=True):
        self._store = store
        self.reading = of
        self.loaded = loaded
        self.database_is_all = database_is_all

    def load(self):
        return self._store.load()


@pytest.fixture(params=["driver", "core"])
def read(store, folder, request):
    """The database of `store`, through the driver alone where it is a file, or through SQLAlchemy."""
    if request.param == "core" or not (folder / "nanomem.db").exists():
        return CoreReading(store.database.reading)
    return SqliteReading(folder / "nanomem.db")


def test_rows_are_read_as_they_were_written(store, read):
    item = Item("a", "text \0 with \U0010fffe signs", enabled=False, pinned=True, hits=3, last_accessed_at=AT)
    insert(
        store, item, Item("b", "another"), Lesson("l", trigger="t", hits=2, last_applied_at=AT), Record("r", about="d")
    )
    delete(store, "b")
    found = {row.id: row for layer in ("item", "lesson", "record") for row in reading.rows(read, layer)}
    assert found == {**store.snapshot.items, **store.snapshot.lessons, **store.snapshot.records}
    assert found["a"] == item._replace(revision=1)
    assert found["a"].enabled is False
    assert found["b"].is_deleted is True


def test_rows_of_some_ids_and_those_written_since_a_commit_are_read_alone(store, read):
    insert(store, *(Item(f"a_{number}", f"text {number}") for number in range(1_200)))
    edit(store, "a_7", text="edited")
    wanted = [f"a_{number}" for number in range(0, 1_200, 2)]
    assert sorted(row.id for row in reading.rows(read, "item", ids=[*wanted, "none"])) == sorted(wanted)
    assert [row.id for row in reading.rows(read, "item", since=1)] == ["a_7"]
    store.snapshot.count("item", "a_3", 2, AT)
    store.save_counts()
    assert reading.counted_since(read, "item", 2) == ["a_3"]
    assert reading.meta(read)[0] == 3


def test_a_block_of_questions_sees_one_moment_and_a_kept_connection_the_newest(store, read, again):
    add(store, "a", "first")
    with read.open():
        before = reading.meta(read)
        add(again(), "b", "second")
        assert reading.meta(read) == before
        assert Journal(lambda: read).count() == 1
    with read.kept_open():
        assert Journal(lambda: read).count() == 2
        add(again(), "c", "third")
        assert Journal(lambda: read).count() == 3
    assert len(Journal(lambda: read).log(10)) == len(store.log())


def test_the_log_is_given_as_the_product_shows_it(store, read):
    first = add(store, "a", "first")
    second = edit(store, "a", text="second")
    add(store, "b", "of the agent", actor="agent")
    undone = store.undo(second.id)
    entries = Journal(lambda: read).log(10)
    assert [(entry.operation.id, entry.undone, entry.position) for entry in entries] == [
        (entry.operation.id, entry.undone, entry.position) for entry in store.log()
    ]
    assert [entry.operation for entry in entries] == [entry.operation for entry in store.log()]
    assert [entry.operation.id for entry in Journal(lambda: read).log(2, offset=2)] == [second.id, first.id]
    assert [entry.operation.id for entry in Journal(lambda: read).log(10, key="a")] == [undone.id, second.id, first.id]
    found = Journal(lambda: read).find(second.id)
    assert found is not None
    assert found.undone
    assert Journal(lambda: read).find("op_none") is None
    by_agent = Journal(lambda: read).newest("add", "agent")
    assert by_agent is not None
    assert by_agent.operation.label == "add b"
    assert [entry.position for entry in Journal(lambda: read).after(2)] == [3, 4]
    assert [done.id for done in Journal(lambda: read).touching(["b", "none"], "agent")] == [by_agent.operation.id]


def test_what_a_person_started_is_undone_as_what_he_did(store):
    add(store, "a", "first")
    change = change_of("item", None, Item("b", "dreamed"))
    dream = store.perform(new_operation("dream", "Dream", [change], actor="dream", meta={"started_by": "human"}))
    assert store.undo().undoes == dream.id


def test_the_changes_of_a_large_operation_are_read_when_somebody_asks(store, read):
    done = insert(store, *(Item(f"a_{number}", f"text {number}") for number in range(150)))
    with read.open():
        (entry,) = Journal(lambda: read).log(1)
    changes = entry.operation.changes
    assert isinstance(changes, LaterChanges)
    assert len(changes) == 150
    assert set(entry.operation.keys()) == {f"a_{number}" for number in range(150)}
    assert entry.operation.changes_of("a_7") == [change for change in done.changes if change.key == "a_7"]
    assert entry.operation == done
    assert Journal(lambda: read).after(0)[0].operation.changes == done.changes


@pytest.mark.parametrize("in_ram", [False, True], ids=["of the database", "of the rows in RAM"])
def test_counts_are_the_same_from_the_database_and_from_ram(store, read, in_ram):
    insert(
        store,
        Item("a", "one", "fact", source="manual"),
        Item("b", "two", "fact", source="manual"),
        Item("c", "three", "preference", source="dream", enabled=False, meta_json=INBOX),
        Item("d", "four", "preference", source="dream", enabled=False, meta_json='{"inbox": ""}'),
        Item("e", "five"),
        Lesson("l", trigger="t", scope="global"),
        Lesson("m", trigger="u", scope="global", enabled=False, meta_json=INBOX),
        Record("r", about="2026-03-01"),
        Record("s", about="2026-03-01"),
        Record("t", "usage", source="nanomem", meta_json='{"requests": 2, "total_tokens": 50}'),
        Record("u", "usage", source="nanomem", meta_json='{"requests": 1, "total_tokens": "many"}'),
        Record("v", "usage", source="nanomem", meta_json="[]"),
    )
    delete(store, "e")
    memory = Memory(store, read, loaded=in_ram)
    assert sorted(lookup.item_groups(memory)) == [
        ("fact", "global", "manual", True, 2, 0), ("preference", "global", "dream", False, 2, 1),
    ]  # fmt: skip
    assert sorted(lookup.lesson_groups(memory)) == [("global", False, 1, 1), ("global", True, 1, 0)]
    assert sorted(lookup.record_groups(memory)) == [
        ("journal", "manual", 2, 0, 0), ("usage", "nanomem", 3, 3, 50),
    ]  # fmt: skip
    assert sorted(row.id for row in lookup.records(memory, "journal")) == ["r", "s"]
    assert lookup.record_subjects(memory, "journal") == 1
    assert sorted(row.id for row in lookup.lessons(memory)) == ["l", "m"]


def test_the_newest_items_come_without_those_that_wait_in_the_inbox(store, read):
    for number in range(9):
        waits = {"enabled": False, "meta_json": INBOX} if number in {6, 7, 8} else {}
        insert(
            store, Item(f"a_{number}", f"text {number}", updated_at=f"2026-03-0{number + 1}T10:00:00+00:00", **waits)
        )
    found = lookup.newest(Memory(store, read), 2)
    assert found is not None
    assert [item.id for item in found] == ["a_5", "a_4"]
    assert len(lookup.newest(Memory(store, read), 100) or []) == 6


@pytest.mark.parametrize("database_is_all", [True, False])
def test_the_same_words_are_found_however_they_are_written(store, read, database_is_all):
    add(store, "a", "Likes  Green\ntea")
    add(store, "b", "likes black tea")
    add(store, "c", "gone")
    delete(store, "c")
    memory = Memory(store, read, database_is_all=database_is_all)
    assert [item.id for item in lookup.same_text(memory, "likes green TEA")] == ["a"]
    assert lookup.same_text(memory, "gone") == []


@pytest.mark.sqlite("about the file")
def test_where_nothing_was_written_yet_there_is_nothing_to_read(tmp_path, store):
    file = tmp_path / "new" / "nanomem.db"
    assert not SqliteReading(file).exists
    assert not file.parent.exists()
    file.parent.mkdir()
    file.touch()
    assert not SqliteReading(file).exists
    memory = Memory(store, SqliteReading(file))
    assert lookup.newest(memory, 3) is None
    assert lookup.records(memory, "journal") == []
    assert lookup.record_groups(memory) == []
    assert lookup.full_text(memory, lambda *_: "found") is None
    assert file.stat().st_size == 0


@pytest.mark.sqlite("about the file")
def test_a_file_that_is_no_database_is_named(tmp_path):
    file = tmp_path / "nanomem.db"
    file.write_bytes(b"no database " * 1_000)
    with pytest.raises(NanomemError, match="cannot be read") as told:
        reading.meta(SqliteReading(file))
    assert told.value.where == str(file)
    file.unlink()
    with pytest.raises(NanomemError, match="is gone"):
        reading.meta(SqliteReading(file))


@pytest.mark.sqlite("about the file")
@pytest.mark.parametrize("killed", [False, True], ids=["all is in the file", "the last commits are in the WAL"])
def test_where_sqlite_can_make_no_file_beside_it_the_database_is_read_all_the_same(store, folder, killed):
    add(store, "a", "first")
    if killed:
        kept = {name: (folder / name).read_bytes() for name in ("nanomem.db", "nanomem.db-wal")}
    store.database.close()
    if killed:
        for name, data in kept.items():
            (folder / name).write_bytes(data)
    (folder / "nanomem.db-shm").mkdir()  # as on a full disk, where none can be made
    assert [row.id for row in reading.rows(SqliteReading(folder / "nanomem.db"), "item")] == ["a"]


@pytest.mark.sqlite("about the file")
def test_reading_leaves_the_file_as_it_is(store, folder):
    add(store, "a", "first")
    store.database.close()
    file = folder / "nanomem.db"
    before = file.read_bytes(), file.stat().st_mtime_ns
    assert Journal(lambda: SqliteReading(file)).log(5)
    assert (file.read_bytes(), file.stat().st_mtime_ns) == before


@pytest.mark.sqlite("a server is asked through SQLAlchemy")
def test_a_process_that_only_reads_loads_neither_sqlalchemy_nor_textual(store, folder):
    insert(store, Item("a", "likes green tea"), Item("b", "drinks coffee"), Record("r"))
    code = """
import json, sys
from pathlib import Path
from nanomem_tui.store import lookup
from nanomem_tui.store.database import reading
from nanomem_tui.store.database.operation_log import Journal
from nanomem_tui.store.snapshot import Snapshot
from nanomem_tui.store.database.statements import STATEMENTS

class Memory:
    reading = reading.SqliteReading(Path(sys.argv[1]))
    loaded = False
    database_is_all = True

snapshot = Snapshot()
snapshot.put("item", reading.rows(Memory.reading, "item"))
found = lookup.full_text(Memory, lambda index, _: [row.id for row in index.candidates(["tea"], lambda item: True)])
log = Journal(lambda: Memory.reading).log(5)
groups = lookup.item_groups(Memory), lookup.record_groups(Memory), lookup.newest(Memory, 1)
heavy = {"sqlalchemy", "sqlmodel", "pydantic", "textual", "rich"} & {name.split(".")[0] for name in sys.modules}
print(json.dumps([sorted(snapshot.items), found, len(log), len(groups), sorted(heavy)]))
"""
    command = [sys.executable, "-c", code, str(folder / "nanomem.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [["a", "b"], ["a"], 1, 3, []]


@pytest.mark.sqlite("about the plans of SQLite")
@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("items_newest", "idx_memory_updated"),
        ("items_of_words", "idx_memory_hash (content_hash=?)"),
        ("item_groups", "COVERING INDEX idx_memory_counts"),
        ("item_inbox", "idx_memory_counts (enabled=?)"),
        ("item_rows_since", "idx_memory_revision"),
        ("item_rows_by_id", "(id=?)"),
        ("records_of_kind", "idx_records_kind_about"),
        ("log_of_key", "(key=?)"),
        ("log_touching", "(key=?)"),
        ("operations_after", "PRIMARY KEY"),
    ],
)
def test_no_question_of_a_few_rows_reads_all_of_them(store, folder, name, index):
    with contextlib.closing(sqlite3.connect(folder / "nanomem.db")) as connection:
        parameters = dict.fromkeys(re.findall(r":(\w+)", STATEMENTS[name]), "[]")
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {STATEMENTS[name]}", parameters)]
    assert any(index in step for step in plan), plan
    assert not any(step in {"SCAN memory_entries", "SCAN operation_keys", "SCAN records"} for step in plan), plan


@pytest.mark.slow
def test_the_statements_of_reading_are_those_of_the_models():
    line = [sys.executable, str(ROOT / "scripts" / "statements.py"), "--check"]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=60, cwd=ROOT)
    assert (done.returncode, done.stdout) == (0, "")
