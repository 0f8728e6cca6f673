from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing

import pytest

from nanomem_tui.agents import work_records
from nanomem_tui.core.errors import BadInput, NotFound

SEED = """
CREATE TABLE goals (id TEXT PRIMARY KEY, description TEXT NOT NULL, status TEXT NOT NULL, priority INTEGER NOT NULL,
    created_at TIMESTAMP NOT NULL, completed_at TIMESTAMP, result TEXT, metadata JSON);
CREATE TABLE tasks (id TEXT PRIMARY KEY, goal_id TEXT REFERENCES goals(id), description TEXT NOT NULL, agent TEXT NOT
    NULL, status TEXT NOT NULL, input JSON, output JSON, started_at TIMESTAMP, completed_at TIMESTAMP, duration_ms
    INTEGER, error TEXT);
CREATE TABLE tool_calls (id TEXT PRIMARY KEY, task_id TEXT REFERENCES tasks(id), tool_name TEXT NOT NULL, agent TEXT
    NOT NULL, input JSON NOT NULL, output JSON, success BOOLEAN, duration_ms INTEGER, reason TEXT, timestamp TIMESTAMP
    NOT NULL);
CREATE TABLE procedures (id TEXT PRIMARY KEY, name TEXT NOT NULL, description TEXT NOT NULL, steps JSON NOT NULL,
    success_count INTEGER DEFAULT 0, fail_count INTEGER DEFAULT 0, avg_duration_ms INTEGER, tags TEXT[], created_at
    TIMESTAMP, last_used TIMESTAMP);
CREATE TABLE config_history (id TEXT PRIMARY KEY, file_path TEXT NOT NULL, content TEXT NOT NULL, changed_by TEXT,
    reason TEXT, timestamp TIMESTAMP NOT NULL);
CREATE TABLE archived_goals AS SELECT * FROM goals;
"""


@pytest.fixture
def database(tmp_path):
    """Makes a database of the seed's own tables, with these rows."""

    def make(**rows):
        path = tmp_path / "working.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(SEED)
            for table, (columns, *values) in rows.items():
                marks = ", ".join("?" * len(columns.split(",")))
                connection.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", values)
            connection.commit()
        return path

    return make


def only(found):
    (row,) = found.rows
    return row


def test_the_databases_of_the_real_system_are_read_whole(samples):
    working = work_records.read_work_records(samples / "aios/working.db", "working.db")
    longterm = work_records.read_work_records(samples / "aios/longterm.db", "longterm.db")
    assert Counter(row.kind for row in working.rows) == {
        "goal": 40, "task": 120, "tool-call": 120, "decision": 40, "pattern": 40, "agent-state": 1,
    }  # fmt: skip
    assert Counter(row.kind for row in longterm.rows) == {"procedure": 20, "incident": 20, "config-change": 20}
    assert not working.problems
    assert not longterm.problems
    rows = {(row.kind, row.id): row for row in (*working.rows, *longterm.rows)}
    assert rows["tool-call", "tc0_0"].fields["input"] == {"path": "/etc/hosts"}
    assert rows["goal", "g0"].fields["created_at"] == "2026-02-14T00:00:00+00:00"
    assert rows["agent-state", "system-agent"].fields["state"] == {}
    assert rows["procedure", "proc0"].fields["tags"] == ["nginx", "restart"]
    assert "embedding" not in rows["procedure", "proc0"].fields
    assert rows["tool-call", "tc0_0"].place == "tool_calls 1"


def test_the_form_of_the_seed_is_read_too(database):
    path = database(
        goals=(
            "id, description, status, priority, created_at, metadata",
            ("g", "ship it", "active", 1, "2026-02-15 09:30:00", '{"a": [1, null]}'),
        ),
        procedures=(
            "id, name, description, steps, tags",
            ("p", "restart", "Restart nginx", '[{"tool": "sh"}]', '{nginx,"web server"}'),
        ),
        config_history=("id, file_path, content, timestamp", ("c", "/etc/x", "a=1", "2026-02-15T09:30:00+02:00")),
    )
    rows = {row.kind: row for row in work_records.read_work_records(path, "x").rows}
    assert rows["goal"].fields["created_at"] == "2026-02-15T09:30:00+00:00"  # a database's own clock is UTC
    assert rows["goal"].fields["metadata"] == {"a": [1, None]}
    assert rows["procedure"].fields["steps"] == [{"tool": "sh"}]
    assert rows["procedure"].fields["tags"] == ["nginx", "web server"]
    assert "created_at" not in rows["procedure"].fields
    assert rows["config-change"].fields["timestamp"] == "2026-02-15T07:30:00+00:00"


def test_what_long_term_memory_archived_is_read_as_what_it_was(database):
    path = database(
        archived_goals=("id, description, status, priority, created_at", ("old", "done", "completed", 2, 1_700_000_000))
    )
    row = only(work_records.read_work_records(path, "x"))
    assert (row.kind, row.id, row.place) == ("goal", "old", "archived_goals 1")


@pytest.mark.parametrize(
    ("stored", "read"),
    [
        ('{"deep": {"er": 1}}', {"deep": {"er": 1}}),
        (b"[1, 2]", [1, 2]),
        ("5", 5),
        ("", None),
        (None, None),
        ("not json", "not json"),
        ("NaN", "NaN"),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_json_is_read_as_what_it_says_and_other_text_as_it_stands(database, stored, read):
    path = database(
        tool_calls=("id, tool_name, agent, input, output, timestamp", ("t", "sh", "a", "{}", stored, 1_771_027_200))
    )
    row = only(work_records.read_work_records(path, "x"))
    assert row.fields.get("output") == read
    assert ("output is no JSON: kept as text" in row.note) == (isinstance(read, str))


@pytest.mark.parametrize(
    ("column", "value", "what"),
    [
        ("created_at", "yesterday", "created_at is no time"),
        ("created_at", 9e18, "created_at is no time"),
        ("priority", "high", "priority is no whole number"),
        ("priority", 1.5, "priority is no whole number"),
        ("description", b"\xff\xfe", "description is no text"),
        ("id", None, "it has no id"),
    ],
)
def test_a_row_that_cannot_be_read_is_left_out_with_the_reason(database, column, value, what):
    row = {"id": "g", "description": "d", "status": "active", "priority": 1, "created_at": 1, column: value}
    good = ("h", "other", "active", 2, 1_771_027_200)
    found = work_records.read_work_records(database(goals=(",".join(row), tuple(row.values()), good)), "theirs.db")
    assert [one.id for one in found.rows] == ["h"]
    assert [(problem.what, problem.where) for problem in found.problems] == [(f"goals 1: {what}", "theirs.db")]
    assert found.refused == {"goal": 1}


def test_what_says_nothing_is_left_out(database):
    columns = "id, goal_id, description, agent, status, error, started_at, completed_at, duration_ms"
    path = database(tasks=(columns, ("t", "", "d", "", "failed", "", 1_771_027_200.5, 0, 12.0)))
    assert dict(only(work_records.read_work_records(path, "x")).fields) == {
        "description": "d", "status": "failed", "started_at": "2026-02-14T00:00:00.500000+00:00", "duration_ms": 12,
    }  # fmt: skip


def test_reading_leaves_the_file_as_it_was(database):
    path = database(goals=("id, description, status, priority, created_at", ("g", "d", "active", 1, 1)))
    before = path.read_bytes(), path.stat().st_mtime_ns
    work_records.read_work_records(path, "x")
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert [one.name for one in path.parent.iterdir()] == ["working.db"]


def test_a_damaged_page_costs_its_rows(database):
    many = [(f"g{n}", json.dumps(["word"] * 100), "active", 1, 1_771_027_200) for n in range(500)]
    path = database(goals=("id, description, status, priority, created_at", *many))
    data = bytearray(path.read_bytes())
    data[len(data) // 2 // 4096 * 4096 : len(data) // 2 // 4096 * 4096 + 4096] = b"\xa5" * 4096
    path.write_bytes(data)
    found = work_records.read_work_records(path, "x")
    assert 400 < len(found.rows) < 500
    assert any("cannot be read beyond row" in problem.what for problem in found.problems)


def test_what_is_no_database_is_told(tmp_path):
    with pytest.raises(NotFound):
        work_records.read_work_records(tmp_path / "none.db", "x")
    (tmp_path / "text.db").write_text("hello")
    with pytest.raises(BadInput):
        work_records.read_work_records(tmp_path / "text.db", "x")
