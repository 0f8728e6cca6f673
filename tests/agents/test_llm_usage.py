"""The agent's token log is summed up where it lies, whatever it is like, and nothing beside it changes."""

import os
import sqlite3
import time
from contextlib import closing
from datetime import datetime

import pytest

from nanomem_tui.agents import databases
from nanomem_tui.agents.databases import Calls

COLUMNS = (
    "started_at_ms", "duration_ms", "provider", "model", "source", "stream", "finish_reason", "input_tokens",
    "output_tokens", "total_tokens", "estimated_tokens",
)  # fmt: skip


@pytest.fixture(autouse=True)
def in_berlin(monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def call(at, model="gpt-4o", source="user", tokens=(10, 5, 15, 0), finish="stop"):
    started = int(datetime.fromisoformat(at).timestamp() * 1000)
    return (started, 900, "openai", model, source, 1, finish, *tokens)


def made(path, *rows, version=1, columns=COLUMNS):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"CREATE TABLE llm_calls (id INTEGER PRIMARY KEY, {', '.join(columns)})")
        marks = ", ".join("?" * len(columns))
        connection.executemany(f"INSERT INTO llm_calls ({', '.join(columns)}) VALUES ({marks})", rows)
        connection.execute(f"PRAGMA user_version={version}")
        connection.commit()
    return path


def test_calls_are_summed_by_local_day_model_and_source(tmp_path):
    path = made(
        tmp_path / "log.sqlite3",
        call("2026-03-01T22:59:00+00:00"),
        call("2026-03-01T23:30:00+00:00"),  # the next day in Berlin
        call("2026-03-02T10:00:00+00:00", tokens=(20, 10, 45, 45)),  # hidden reasoning: more than the sum
        call("2026-03-02T10:00:00+00:00", source="dream", tokens=(None, None, None, None), finish="error"),
        call("2026-07-01T22:30:00+00:00", model="qwen3"),  # two hours of summer
    )
    found = databases.read_llm_usage(path, "log")
    assert found.calls == (
        Calls("2026-03-01", "gpt-4o", "user", 10, 5, 15, 1, 0, 0),
        Calls("2026-03-02", "gpt-4o", "dream", 0, 0, 0, 1, 1, 0),
        Calls("2026-03-02", "gpt-4o", "user", 30, 15, 60, 2, 0, 45),
        Calls("2026-07-02", "qwen3", "user", 10, 5, 15, 1, 0, 0),
    )
    assert found.problems == ()


def test_the_calls_since_a_local_day(tmp_path):
    path = made(tmp_path / "log", call("2026-03-01T22:59:59+00:00"), call("2026-03-01T23:00:00+00:00"))
    assert [one.day for one in databases.read_llm_usage(path, "log", "2026-03-02").calls] == ["2026-03-02"]
    assert len(databases.read_llm_usage(path, "log", "no day").calls) == 2


def test_where_there_is_no_log_there_is_nothing_and_no_problem(tmp_path):
    assert databases.read_llm_usage(tmp_path / "none", "log") == databases.Report()
    (tmp_path / "empty").touch()
    assert databases.read_llm_usage(tmp_path / "empty", "log") == databases.Report()


def test_what_a_live_agent_has_not_moved_into_its_file_is_read_and_no_byte_changes(tmp_path):
    path = made(tmp_path / "log", call("2026-03-01T10:00:00+00:00"))
    with closing(sqlite3.connect(path)) as agent:
        agent.execute("PRAGMA wal_autocheckpoint=0")
        agent.execute(f"INSERT INTO llm_calls ({', '.join(COLUMNS)}) SELECT {', '.join(COLUMNS)} FROM llm_calls")
        agent.commit()
        before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
        assert any(name.endswith("-wal") for name in before)
        assert [one.requests for one in databases.read_llm_usage(path, "log").calls] == [2]
        assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.parametrize("data", [b"no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 2000])
def test_a_broken_log_is_one_problem(tmp_path, data):
    (tmp_path / "log").write_bytes(data)
    found = databases.read_llm_usage(tmp_path / "log", "llm_usage.sqlite3")
    assert found.calls == ()
    assert [problem.where for problem in found.problems] == ["llm_usage.sqlite3"]


def test_a_log_that_is_torn_in_the_middle_is_one_problem(tmp_path):
    path = made(tmp_path / "log", *(call("2026-03-01T10:00:00+00:00", model=f"m{n}" * 50) for n in range(500)))
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    found = databases.read_llm_usage(path, "log")
    assert found.calls == ()
    assert len(found.problems) == 1


def test_a_log_that_may_not_be_read_is_one_problem(tmp_path, monkeypatch):
    path = made(tmp_path / "log", call("2026-03-01T10:00:00+00:00"))

    def denied(*_, **__):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("nanomem_tui.agents.databases.source_uri", denied)
    found = databases.read_llm_usage(path, "log")
    assert (found.calls, len(found.problems)) == ((), 1)


def test_a_newer_log_is_read_with_a_warning_and_one_of_another_form_is_not(tmp_path):
    newer = databases.read_llm_usage(made(tmp_path / "newer", call("2026-03-01T10:00:00+00:00"), version=2), "log")
    assert [one.requests for one in newer.calls] == [1]
    assert [problem.severity for problem in newer.problems] == ["warning"]
    other = databases.read_llm_usage(made(tmp_path / "other", (1, "m"), columns=("started_at_ms", "model")), "log")
    assert other.calls == ()
    assert "input_tokens" in other.problems[0].what
    with closing(sqlite3.connect(tmp_path / "foreign")) as connection:
        connection.execute("CREATE TABLE facts (id)")
    foreign = databases.read_llm_usage(tmp_path / "foreign", "log")
    assert (foreign.calls, len(foreign.problems)) == ((), 1)


def test_an_older_log_without_the_fields_beside_the_tokens_is_read(tmp_path):
    columns = ("started_at_ms", "model", "source", "input_tokens", "output_tokens", "total_tokens")
    path = made(tmp_path / "log", (1_772_359_200_000, "m", "user", 1, 2, 3), columns=columns)
    assert databases.read_llm_usage(path, "log").calls == (Calls("2026-03-01", "m", "user", 1, 2, 3, 1, 0, 0),)


def test_values_that_are_none_cost_only_themselves(tmp_path):
    at = "2026-03-01T10:00:00+00:00"
    path = made(
        tmp_path / "log",
        call(at, tokens=(-5, "many", 2**62, 0)),
        call(at, tokens=(1, 2, 2**62, 0)),
        ("yesterday", *call(at)[1:]),
        (2**62, *call(at)[1:]),
        call(at, model=b"\xff\xfe"),
        call(at, model=None, source=None, finish=None),
    )
    found = databases.read_llm_usage(path, "log")
    assert [(one.model, one.prompt_tokens, one.completion_tokens, one.requests) for one in found.calls] == [
        ("", 10, 5, 1),
        ("gpt-4o", 1, 2, 2),
        ("��", 10, 5, 1),
    ]
    assert [problem.what for problem in found.problems] == ["2 calls without a time are left out"]


def test_reading_leaves_the_log_as_it_was_on_disk(tmp_path):
    path = made(tmp_path / "log", call("2026-03-01T10:00:00+00:00"))
    before = (os.stat(path).st_mtime_ns, sorted(os.listdir(tmp_path)))
    databases.read_llm_usage(path, "log")
    assert (os.stat(path).st_mtime_ns, sorted(os.listdir(tmp_path))) == before
