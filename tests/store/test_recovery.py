"""A damaged database is made anew from a copy and the log beside it, and what nobody has is named."""

import json
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
import time_machine

from nanomem_tui.core.errors import NanomemError, StoreError
from nanomem_tui.core.operations import Change, new_operation
from nanomem_tui.store.recovery import is_whole
from tests.store.stores import Store, add, delete, edit, other_process, recovery, texts

Again = Callable[[], Store]
pytestmark = pytest.mark.sqlite("a server has backups of its own")


@pytest.fixture
def beside(folder):
    found = recovery(folder)
    assert found is not None
    return found


def harm(folder, at=0.5):
    """Overwrite a page in the middle of the file, and lose the WAL."""
    file = folder / "nanomem.db"
    with file.open("r+b") as opened:
        opened.seek(int(file.stat().st_size * at) // 4096 * 4096)
        opened.write(b"\xa5" * 4096)
    (folder / "nanomem.db-wal").unlink(missing_ok=True)


def test_a_copy_and_the_log_bring_back_every_commit(folder, again, beside):
    store = again()
    for number in range(30):
        add(store, f"a_{number}", f"text {number}")
    store.checkpoint()
    added = add(store, "late", "after the copy")
    edit(store, "a_3", text="edited")
    delete(store, "a_4", "a_5")
    undone = edit(store, "a_6", pinned=True)
    store.undo(undone.id)
    store.undo()
    expected = texts(store)
    store.checkpoint()
    store.database.close()
    harm(folder)
    assert not is_whole(folder / "nanomem.db")
    done = beside.repair()
    assert (done.replayed, done.missing) == (6, ())
    assert is_whole(folder / "nanomem.db")
    assert (folder / "quarantine" / done.quarantined).exists()
    repaired = again()
    assert texts(repaired) == expected
    repaired.redo()
    assert "a_4" not in texts(repaired)
    repaired.undo()
    repaired.undo(added.id)
    assert "late" not in texts(repaired)


def test_what_could_not_be_done_is_not_done_after_a_repair_either(folder, again, beside):
    store = again()
    add(store, "a", "first")
    store.checkpoint()
    made = store.perform(new_operation("edit", "write a file", [Change("text", "one.md", None, {"text": "new"})]))
    with pytest.raises(OSError, match="Input/output"):
        store.perform(new_operation("edit", "write another", [Change("text", "broken.md", None, {"text": "new"})]))
    expected = [(entry.operation.label, entry.undone) for entry in store.log()]
    store.checkpoint()
    store.database.close()
    harm(folder)
    beside.repair()
    repaired = again()
    assert [(entry.operation.label, entry.undone) for entry in repaired.log()] == expected
    assert repaired.undo().undoes == made.id, "what could not be done is none that stands"


def test_a_log_that_is_written_anew_says_the_same(folder, again, beside):
    store = again()
    add(store, "a", "first")
    store.snapshot.count("item", "a", 1, "2026-03-05T10:00:00+00:00")
    store.save_counts()
    add(store, "b", "second")
    before = (folder / "operations.jsonl").read_bytes()
    beside.write_anew()
    assert (folder / "operations.jsonl").read_bytes() == before
    add(store, "c", "third")
    assert (folder / "operations.jsonl").read_bytes().startswith(before)


def test_a_process_that_was_open_goes_on_in_the_repaired_file(folder, again, beside):
    store = again()
    add(store, "a", "first")
    store.checkpoint()
    add(store, "b", "second")
    beside.repair()
    add(store, "c", "third")
    assert texts(again()) == {"a": "first", "b": "second", "c": "third"}


def test_commits_that_nobody_has_are_named_by_their_number(folder, again, beside):
    store = again()
    add(store, "a", "first")
    store.checkpoint()
    for key in "bcd":
        add(store, key, f"text {key}")
    store.database.close()
    log = folder / "operations.jsonl"
    log.write_bytes(b"".join(line for line in log.read_bytes().splitlines(keepends=True) if b'"add c"' not in line))
    harm(folder, 0.2)
    assert beside.repair().missing == (3,)
    assert sorted(texts(again())) == ["a", "b", "d"]


def test_without_a_whole_copy_nothing_is_moved(folder, again, beside):
    store = again()
    add(store, "a", "first")
    store.database.close()
    with pytest.raises(StoreError, match="no whole copy"):
        beside.repair()
    assert (folder / "nanomem.db").exists()


def test_commits_that_a_power_cut_took_from_the_database_are_made_again(folder, again):
    store = again()
    add(store, "a", "first")
    store.checkpoint()
    store.database.close()
    shutil.copytree(folder, folder.with_name("before"))
    store = again()
    add(store, "b", "second", durable=False)
    add(store, "c", "third", durable=False)
    store.database.close()
    log = (folder / "operations.jsonl").read_bytes()
    shutil.rmtree(folder)
    shutil.copytree(folder.with_name("before"), folder)
    (folder / "operations.jsonl").write_bytes(log)
    store = again()
    add(store, "d", "fourth")
    assert texts(again()) == {"a": "first", "b": "second", "c": "third", "d": "fourth"}
    assert [entry.position for entry in store.log()] == [4, 3, 2, 1]


@pytest.mark.parametrize("torn", [b'{"seq": 3, "id": "op', b"\0" * 40, b"no json\n", b"\xff\xfe\n"])
def test_a_torn_end_of_the_log_costs_only_itself(folder, again, torn):
    store = again()
    add(store, "a", "first")
    add(store, "b", "second")
    with (folder / "operations.jsonl").open("ab") as log:
        log.write(torn)
    add(store, "c", "third")
    found = []
    for line in (folder / "operations.jsonl").read_bytes().splitlines():
        try:
            found.append(json.loads(line)["label"])
        except ValueError:
            continue
    assert found == ["add a", "add b", "add c"]


@pytest.mark.slow
def test_the_log_of_several_processes_has_every_commit_once_and_in_order(folder, again):
    store = again()
    for number in range(5):
        add(store, f"m_{number}", f"mine {number}")
        other_process(folder, f"add(store, 'o_{number}', 'other {number}')")
    lines = [json.loads(line) for line in (folder / "operations.jsonl").read_bytes().splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, 11))


def test_three_daily_copies_are_kept_and_the_log_begins_behind_the_oldest(folder, again):
    store = again()
    for day in range(1, 6):
        with time_machine.travel(f"2026-03-{day:02}T12:00:00+00:00"):
            add(store, f"d_{day}", f"day {day}")
            store.checkpoint()
            store.checkpoint()
    copies = sorted(file.name for file in (folder / "copies").iterdir())
    assert copies == ["nanomem-2026-03-03.db", "nanomem-2026-03-04.db", "nanomem-2026-03-05.db"]
    assert [json.loads(line)["seq"] for line in (folder / "operations.jsonl").read_bytes().splitlines()] == [4, 5]


def test_a_copy_of_the_records_from_before_a_migration_goes_as_daily_copies_do(folder, again):
    store = again()
    copy = folder / "copies" / "work-cli_2-2026-03-02-schema-0001.db"
    copy.parent.mkdir()
    kept = []
    copy.write_bytes(b"")
    for day in range(1, 6):
        with time_machine.travel(f"2026-03-{day:02}T12:00:00+00:00"):
            add(store, f"d_{day}", f"day {day}")
            store.checkpoint()
            store.checkpoint()
            kept.append(copy.exists())
    assert kept == [True, True, True, True, False]


def test_copies_made_anew_take_the_place_of_those_of_the_records_too(folder, again, beside):
    add(again(), "a", "first")
    copy = folder / "copies" / "work-2026-03-02-schema-0001.db"
    copy.parent.mkdir(exist_ok=True)
    copy.write_bytes(b"")
    beside.copy_anew()
    assert not copy.exists()


def test_no_file_is_for_anybody_else_to_read(folder, again, beside):
    store = again()
    add(store, "a", "first")
    store.checkpoint()
    beside.repair()
    add(store, "b", "second")
    files = [Path(root) / name for root, _, names in os.walk(folder) for name in names]
    assert len(files) > 5
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_a_page_that_was_harmed_anywhere_is_found(folder, again):
    store = again()
    for number in range(40):
        add(store, f"a_{number}", f"text {number} " * 20)
    store.checkpoint()
    store.database.close()
    whole = (folder / "nanomem.db").read_bytes()
    for page in range(len(whole) // 4096):
        harmed = whole[: page * 4096] + b"\xa5" * 4096 + whole[(page + 1) * 4096 :]
        (folder / "harmed.db").write_bytes(harmed)
        assert not is_whole(folder / "harmed.db"), f"page {page}"


def test_a_damaged_database_is_named_and_nothing_is_written_into_it(folder, again):
    store = again()
    add(store, "a", "first")
    store.checkpoint()
    store.database.close()
    (folder / "nanomem.db").write_bytes(b"no database at all" * 1000)
    (folder / "nanomem.db-wal").unlink(missing_ok=True)
    with pytest.raises(NanomemError) as met:
        again()
    assert "nanomem.db" in met.value.line()
    assert (folder / "nanomem.db").read_bytes() == b"no database at all" * 1000
