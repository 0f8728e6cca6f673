"""Checkpoints: seed 000's triggers, their cost, what they export, the compaction that they start."""

import sqlite3
import stat

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import DiskFull
from nanomem_tui.store import memory_store
from nanomem_tui.store.values import Item
from tests.store.homes import Agent, files, item, kill, make_home, state


class Clock:
    """A monotonic clock that a test turns."""

    def __init__(self):
        self.at = 1000.0

    def monotonic(self):
        return self.at

    @staticmethod
    def perf_counter():
        return 0.0


@pytest.fixture
def time(monkeypatch):
    turned = Clock()
    monkeypatch.setattr(memory_store, "time", turned)
    return turned


def stored(workspace, query="SELECT count(*) FROM operations"):
    path = workspace.parent / "nanomem" / "nanomem.db"
    if not path.exists():
        return [0]
    connection = sqlite3.connect(path)
    try:
        return [row[0] for row in connection.execute(query)]
    finally:
        connection.close()


# -- the four triggers ------------------------------------------------------------------------------------------------


@pytest.mark.sqlite("asks the database")
def test_due_after_enough_changes(tmp_path, time):
    with open_workspace(make_home(tmp_path, items=10)) as ws:
        for number in range(1, 9):
            assert ws.checkpoint_if_due() is None, f"after {number - 1} changes"
            ws.items.set_pinned([f"ltm_{number}"], True)
        assert ws.checkpoint_state()["dirty"] == 8
        result = ws.checkpoint_if_due()
        assert result is not None
        assert result.operations == 8
        assert ws.checkpoint_if_due() is None


@pytest.mark.sqlite("asks the database")
def test_the_number_is_a_setting_of_the_agent(tmp_path, time):
    workspace = make_home(tmp_path, config={"agents": {"memory": {"flushEveryUpdates": 2, "flushIntervalSeconds": 9}}})
    with open_workspace(workspace) as ws:
        ws.items.set_pinned(["ltm_1"], True)
        time.at += 8.9
        assert ws.checkpoint_if_due() is None
        ws.items.set_pinned(["ltm_2"], True)
        assert ws.checkpoint_if_due() is not None
        ws.items.set_pinned(["ltm_3"], True)
        time.at += 9
        assert ws.checkpoint_if_due() is not None


def test_due_after_enough_time_with_a_change(tmp_path, time):
    with open_workspace(make_home(tmp_path)) as ws:
        time.at += 1000
        assert ws.checkpoint_if_due() is None, "nothing changed"
        ws.items.set_pinned(["ltm_1"], True)
        time.at += 119
        ws.items.set_pinned(["ltm_2"], True)
        assert ws.checkpoint_if_due() is None
        time.at += 1
        assert ws.checkpoint_if_due() is not None, "120 s after the first of them"
        time.at += 1000
        assert ws.checkpoint_if_due() is None


def _of_sqlite(path):
    return path.name.endswith(("-wal", "-shm"))


def test_stopping_after_reading_writes_nothing(tmp_path):
    workspace = make_home(tmp_path)
    agent = Agent(workspace)
    for _ in range(2):
        before = files(tmp_path, _of_sqlite)
        with open_workspace(workspace) as ws:
            ws.items.all()
            ws.lessons.all()
            ws.status()
            ws.log()
            ws.refresh()
        assert files(tmp_path, _of_sqlite) == before
        with open_workspace(workspace) as ws:
            ws.items.set_pinned(["ltm_1"], not ws.items.get("ltm_1").pinned)
        agent.items["ltm_2"]["hits"] += 1
        agent.flush()


def test_on_a_thread_beside_the_work(tmp_path, monkeypatch):

    monkeypatch.setattr(memory_store, "LOOK", 0.01)
    monkeypatch.setattr(memory_store, "PAUSE", 0.01)
    monkeypatch.setenv("NANOMEM_FLUSH_EVERY_UPDATES", "3")
    workspace = make_home(tmp_path)
    with open_workspace(workspace) as ws:
        ws.start_checkpoints()
        ws.start_checkpoints()
        for number in range(30):
            ws.items.add(f"while it writes {number}")
            ws.store.snapshot.count("item", "ltm_1", 1, "2026-03-05T10:00:00+00:00")
        with monkeypatch.context() as patch:
            patch.setattr(ws.store.writer, "save_counts", _fails)
            ws.store.snapshot.count("item", "ltm_1", 1, "2026-03-05T10:00:00+00:00")
            for number in range(3):
                ws.items.add(f"while it cannot save {number}")
            _until(lambda: "no space" in ws.degraded)
        _until(lambda: not ws.degraded)
        ws.stop_checkpoints()
        ws.stop_checkpoints()
    rows = state(workspace)
    assert (len(rows), rows["ltm_1"].hits) == (7 + 33, 1 + 31)
    assert len(Agent(workspace).items) == 4 + 33


def _fails(*_):
    raise DiskFull("no space left for the database", "nanomem.db")


def _until(true):
    import time

    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)


# -- exports ----------------------------------------------------------------------------------------------------------


@pytest.mark.sqlite("asks the database")
def test_exports_come_at_most_once_in_an_interval_and_at_the_end(tmp_path, time):
    workspace = make_home(tmp_path)
    agent = Agent(workspace)
    with open_workspace(workspace) as ws:
        for number in range(8):
            ws.items.add(f"added {number}")
        result = ws.checkpoint_if_due()
        assert result is not None
        assert (result.operations, result.exported) == (8, ()), "too early for the files"
        assert len(agent.read_items()) == 4
        time.at += 120
        result = ws.checkpoint_if_due()
        assert result is not None
        assert result.exported == ("LTM_SNAPSHOT.json",)
        assert ws.checkpoint_if_due() is None
        ws.items.add("the last")
    assert len(agent.read_items()) == 13


@pytest.mark.sqlite("asks the database")
def test_an_export_that_a_kill_prevented_is_made_good(tmp_path, time):
    workspace = make_home(tmp_path)
    ws = open_workspace(workspace)
    for number in range(8):
        ws.items.add(f"added {number}")
    assert ws.checkpoint_if_due() is not None
    kill(ws)
    assert len(Agent(workspace).items) == 4
    with open_workspace(workspace) as console:
        console.items.all()
        assert console.checkpoint_if_due() is None
        time.at += 120
        assert console.checkpoint_if_due() is not None
        assert len(Agent(workspace).items) == 12
        time.at += 120
        assert console.checkpoint_if_due() is None
    with open_workspace(workspace) as console:
        console.items.all()
        time.at += 120
        assert console.checkpoint_if_due() is None, "and is not owed any more"


def test_audit_lines_that_a_kill_left_unmarked_are_not_written_twice(tmp_path, monkeypatch):
    workspace = make_home(tmp_path)
    ws = open_workspace(workspace)
    ws.items.delete(["ltm_1"])
    steps = iter((ws.store.writer.remember, _fails))  # what was written into the files is not remembered
    with monkeypatch.context() as patch:
        patch.setattr(ws.store.writer, "remember", lambda write: next(steps)(write))
        with pytest.raises(DiskFull):
            ws.flush()
    kill(ws)
    log = workspace / "memory" / "LTM_AUDIT.jsonl"
    assert log.read_bytes().count(b"memory_delete") == 1
    with open_workspace(workspace) as ws:
        ws.items.delete(["ltm_2"])
    assert [line.count(b"memory_delete") for line in log.read_bytes().split(b"\n")] == [1, 1, 0]
    with open_workspace(workspace) as ws:
        assert {row.id for row in ws.items.all()} == {"ltm_3", "ltm_4"}


# -- the compaction that a checkpoint starts -----------------------------------------------------------------


def test_items_are_compacted_only_beyond_the_buffer_and_undoably(tmp_path, monkeypatch):
    monkeypatch.setenv("NANOMEM_MAX_ITEMS", "10")
    workspace = make_home(tmp_path, items=10)
    with open_workspace(workspace) as ws:
        ws.items.add("the eleventh")
        ws.flush()
        assert len(ws.items.all()) == 11, "11 is not beyond 1.1 times 10"
        before = state(workspace)
        added = ws.items.add("the twelfth")[1]
        ws.flush()
        assert len(ws.items.all()) == 10
        operation = ws.log()[0].operation
        assert (operation.actor, operation.kind, operation.meta["removed"]) == ("compaction", "items.compact", 2)
    with open_workspace(workspace) as ws:
        ws.undo(operation.id)
        ws.flush()
        assert len(ws.items.all()) == 12, "not done again at once"
    assert {key: row for key, row in state(workspace).items() if key != added.id} == before
    with open_workspace(workspace) as ws:
        for number in range(2):
            ws.items.add(f"and more {number}")
        ws.flush()
        assert len(ws.items.all()) == 10, "again once it grew by another tenth"


def test_no_cap_no_compaction(tmp_path, monkeypatch):
    monkeypatch.setenv("NANOMEM_MAX_ITEMS", "0")
    with open_workspace(make_home(tmp_path, items=50)) as ws:
        ws.items.set_pinned(["ltm_1"], True)
        ws.flush()
        assert len(ws.items.all()) == 50


# -- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.sqlite("the file itself")
def test_everything_of_ours_is_private(tmp_path):
    import os

    before = os.umask(0)
    try:
        workspace = make_home(tmp_path)
        ws = open_workspace(workspace)
        ws.items.set_pinned(["ltm_1"], True)
        ws.flush()
        ws.items.set_pinned(["ltm_2"], True)
        ours = workspace.parent / "nanomem"
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [ours, *ours.rglob("*")]}
        folders = {path.name for path in [ours, *ours.rglob("*")] if path.is_dir()}
        assert {"nanomem.db", "nanomem.db-wal", "nanomem.db-shm", "store.lock", "nanomem", "copies"} <= modes.keys()
        assert {name: mode for name, mode in modes.items() if mode != (0o700 if name in folders else 0o600)} == {}
        ws.close()
    finally:
        os.umask(before)


@pytest.mark.slow
@pytest.mark.sqlite("a server keeps no NUL: tests/postgres has the others")
def test_texts_of_every_kind_come_back_from_the_database(tmp_path):
    texts = [
        "plain",
        "小满 记住",
        "emoji 🧠👨‍👩‍👧",
        "nul \0 in it",
        "line\u2028sep\nnew\ttab",
        "\x1b[31mred",
        "' -- \"; %",
        "x" * 300_000,
    ]
    workspace = make_home(tmp_path, items=0)
    with open_workspace(workspace) as ws:
        for text in texts:
            ws.items.add(text)
    assert sorted(row.text for row in state(workspace).values() if isinstance(row, Item)) == sorted(texts)
    assert sorted(row["text"] for row in Agent(workspace).read_items()) == sorted(texts)


def test_the_agent_finds_a_file_of_its_own_form(tmp_path):
    workspace = make_home(tmp_path)
    with open_workspace(workspace) as ws:
        ws.items.delete(["ltm_1"])
    data = (workspace / "memory" / "LTM_SNAPSHOT.json").read_bytes()
    rest = b",\n    ".join(
        __import__("json").dumps(item(n), indent=2).replace("\n", "\n    ").encode() for n in (2, 3, 4)
    )
    assert data.endswith(b'"items": [\n    ' + rest + b"\n  ]\n}")
