"""The use of tokens: ours added up in rows of ours, the agent's read in its own log, and what it cost where known."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.operations import new_operation
from nanomem_tui.memory.facts.usage import UsageRow, sum_rows
from nanomem_tui.model.client import Usage as Spent
from nanomem_tui.store.database import engine
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Record
from tests.agents.test_llm_usage import COLUMNS, call, made

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("NANOMEM_CONFIG", str(tmp_path / "user.toml"))
    folder = tmp_path / "home" / "workspace"
    (folder / "memory").mkdir(parents=True)
    (tmp_path / "home" / "config.json").write_text("{}")
    return folder


@pytest.fixture
def ws(place):
    with open_workspace(place) as opened, clock.at(NOON):
        yield opened


def seed_row(ws, day, model, asked, answered, both):
    """A row as an import leaves it, with a total that is another than the sum."""
    counts = {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": both, "requests": 2}
    meta = json.dumps({"model": model, "source": "import", **counts})
    row = Record(f"usage_{day}_{model}", "usage", day, source="import", at=f"{day}T10:00:00+00:00", meta_json=meta)
    ws.perform(new_operation("import", "import", [change_of("record", None, row)], actor="import"))


def test_what_is_added_in_a_day_stands_in_one_row_for_each_model_and_source(ws):
    ws.usage.add("dream", "gpt-4o", 100, 10)
    ws.usage.add("dream", "gpt-4o", 200, 20, requests=3)
    ws.usage.add("consolidate", "gpt-4o", 5, 5, total_tokens=40)
    with clock.at(NOON + timedelta(days=1)):
        ws.usage.add("dream", "gpt-4o", 1, 1)
    assert ws.usage.rows() == [
        UsageRow("2026-03-03", "gpt-4o", "dream", "nanomem", 1, 1, 2, 1),
        UsageRow("2026-03-02", "gpt-4o", "consolidate", "nanomem", 5, 5, 40, 1),
        UsageRow("2026-03-02", "gpt-4o", "dream", "nanomem", 300, 30, 330, 4),
    ]
    assert len(ws.store.load("record").records) == 3


def test_a_day_is_one_of_here(place):
    late = datetime(2026, 3, 2, 23, 30).astimezone()
    with open_workspace(place) as ws, clock.at(late):
        ws.usage.add("dream", "m", 1, 1)
        assert [row.day for row in ws.usage.rows(1)] == ["2026-03-02"]


@pytest.mark.sqlite("the file itself")
def test_rows_outlive_the_process_and_stand_in_the_table_of_the_seed(ws):
    ws.usage.add("dream", "gpt-4o", 100, 10)
    ws.flush()
    with open_workspace(ws.paths.workspace) as again:
        again.usage.add("dream", "gpt-4o", 1, 1)
        again.flush()
    with closing(sqlite3.connect(ws.paths.database)) as connection:
        columns = "date, model, source, prompt_tokens, completion_tokens, total_tokens, requests"
        assert connection.execute(f"SELECT {columns} FROM token_usage").fetchall() == [
            ("2026-03-02", "gpt-4o", "dream", 101, 11, 112, 2)
        ]


def test_counting_is_no_operation_that_a_plain_undo_takes_back_but_one_by_its_id(ws):
    item = ws.items.add("the last thing a person did")[1]
    done = ws.usage.add("dream", "gpt-4o", 100, 10)
    ws.undo()
    assert item.id not in [row.id for row in ws.items.all()]
    assert len(ws.usage.rows()) == 1
    ws.undo(done.id)
    assert ws.usage.rows() == []


@pytest.mark.parametrize(
    ("source", "model", "counts"), [("", "m", (1, 1)), ("dream", " ", (1, 1)), ("dream", "m", (-1, 1))]
)
def test_what_is_no_use_of_tokens_is_refused(ws, source, model, counts):
    with pytest.raises(BadInput):
        ws.usage.add(source, model, *counts)
    with pytest.raises(BadInput):
        ws.usage.rows(0)


def test_the_agents_own_log_is_shown_beside_our_rows_and_never_becomes_one(ws):
    made(
        ws.paths.workspace.parent / "llm_usage.sqlite3",
        call("2026-03-02T10:00:00+00:00"),
        call("2026-03-01T10:00:00+00:00", source="cron", finish="error", tokens=(None, None, None, None)),
    )
    ws.usage.add("dream", "gpt-4o", 100, 10)
    seed_row(ws, "2026-02-15", "gemini", 7955, 1171, 18000)
    rows = [(row.day, row.source, row.origin, row.total_tokens, row.failed) for row in ws.usage.rows()]
    assert rows == [
        ("2026-03-02", "user", "agent", 15, 0),
        ("2026-03-02", "dream", "nanomem", 110, 0),
        ("2026-03-01", "cron", "agent", 0, 1),
        ("2026-02-15", "import", "import", 18000, 0),
    ]
    assert {one.name: one.total_tokens for one in ws.usage.by("origin")} == {
        "import": 18000,
        "nanomem": 110,
        "agent": 15,
    }
    assert [one.name for one in ws.usage.by("day")] == ["2026-03-02", "2026-03-01", "2026-02-15"]
    assert [one.name for one in ws.usage.by("model", days=2)] == ["gpt-4o"]
    assert len(ws.store.load("record").records) == 2


def test_a_log_that_goes_on_is_read_again(ws):
    path = made(ws.paths.workspace.parent / "llm_usage.sqlite3", call("2026-03-02T10:00:00+00:00"))
    assert sum_rows(ws.usage.rows()).requests == 1
    with closing(sqlite3.connect(path)) as agent:
        agent.execute(f"INSERT INTO llm_calls ({', '.join(COLUMNS)}) SELECT {', '.join(COLUMNS)} FROM llm_calls")
        agent.commit()
    assert sum_rows(ws.usage.rows()).requests == 2


def test_a_broken_log_is_one_problem_and_takes_nothing_else_down(ws):
    (ws.paths.workspace.parent / "llm_usage.sqlite3").write_bytes(b"no database" * 500)
    ws.usage.add("dream", "gpt-4o", 100, 10)
    assert [row.origin for row in ws.usage.rows()] == ["nanomem"]
    assert [problem.where for problem in ws.usage.problems()] == ["llm_usage.sqlite3"]


# -- what it cost ------------------------------------------------------------------------------------------------------


def with_settings(place, text):
    (place.parent.parent / "user.toml").write_text(text)
    return open_workspace(place)


def test_cost_comes_from_the_prices_and_an_unknown_price_is_said(place):
    made(
        place.parent / "llm_usage.sqlite3", call("2026-03-02T10:00:00+00:00", tokens=(2_000_000, 100_000, 2_500_000, 0))
    )
    with with_settings(place, '[model_prices]\n"gpt-4o" = [2.5, 10]\n') as ws, clock.at(NOON):
        ws.usage.add("dream", "unknown-model", 10, 10)
        ws.usage.add("dream", "gpt-4o-2024", 0, 100_000)
        assert {row.model: row.cost for row in ws.usage.rows()} == {
            "gpt-4o": 6.0, "gpt-4o-2024": 1.0, "unknown-model": None,
        }  # fmt: skip
        both = sum_rows(ws.usage.rows())
        assert (both.cost, both.unpriced, both.is_whole) == (7.0, ("unknown-model",), False)
        own = next(one for one in ws.usage.by("model") if one.name == "unknown-model")
        assert (own.cost, own.unpriced) == (None, ("unknown-model",))


def test_what_the_endpoint_said_that_it_costs_counts_more_than_a_price(place):
    with with_settings(place, '[model_prices]\n"m" = [1, 1]\n') as ws, clock.at(NOON):
        ws.usage.add("dream", "m", 1_000_000, 0, cost=0.25)
        ws.usage.add("dream", "m", 1_000_000, 0, cost=0.5)
        assert [row.cost for row in ws.usage.rows()] == [0.75]
        ws.usage.add("dream", "m", 1_000_000, 0)  # this time it does not say: then all of it goes by the price
        assert [row.cost for row in ws.usage.rows()] == [3.0]


def test_tokens_of_which_only_the_total_is_known_have_no_cost(place):
    with with_settings(place, '[model_prices]\n"m" = [1, 1]\n') as ws, clock.at(NOON):
        seed_row(ws, "2026-03-01", "m", 0, 0, 500)
        seed_row(ws, "2026-02-28", "m", 0, 0, 0)
        assert [row.cost for row in ws.usage.rows()] == [None, 0.0]


def test_a_row_whose_counts_are_none_is_shown_as_nothing(ws):
    meta = json.dumps({"model": 5, "prompt_tokens": "many", "completion_tokens": True, "total_tokens": -3, "cost": "x"})
    row = Record("usage_odd", "usage", "2026-03-01", source="import", meta_json=meta)
    ws.perform(new_operation("import", "import", [change_of("record", None, row)], actor="import"))
    assert ws.usage.rows() == [UsageRow("2026-03-01", "5", "", "import", 0, 0, 0, 0, cost=0.0)]


# -- our own model -----------------------------------------------------------------------------------------------------


def test_what_questions_to_a_model_took_is_kept_with_its_source(ws):
    ws.usage.spent("dream", Spent(2, 100, 50, 0.5, 1.0, "gpt-4o", estimated=True))
    ws.usage.spent("dream", Spent())  # nothing was asked
    assert ws.usage.rows() == [UsageRow("2026-03-02", "gpt-4o", "dream", "nanomem", 100, 50, 150, 2, 0, 150, 0.5)]


@pytest.mark.sqlite("another program holds the file")
def test_that_it_cannot_be_kept_is_no_failure_of_what_was_asked(ws, monkeypatch):
    monkeypatch.setattr(engine, "BUSY_SECONDS", 0.05)
    ws.usage.spent("dream", Spent(2, 100, 50, 0.5, 1.0, "gpt-4o"))
    before = ws.usage.rows()
    with closing(sqlite3.connect(ws.paths.database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        ws.usage.spent("dream", Spent(1, 1, 1, None, 1.0, "gpt-4o"))
        assert ws.usage.rows() == before


ADDER = """
import sys
from nanomem_tui import open_workspace
with open_workspace(sys.argv[1]) as ws:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(25):
        ws.usage.add("dream", "gpt-4o", 3, 2)
        if number % 5 == 0:
            ws.flush()
"""


@pytest.mark.slow
@pytest.mark.parametrize("known", [True, False])
def test_processes_that_add_at_the_same_time_add_up(place, known):
    if known:
        with open_workspace(place) as ws:
            ws.usage.add("dream", "gpt-4o", 0, 0, requests=0)
    adders = [
        subprocess.Popen([sys.executable, "-c", ADDER, place], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for adder in adders:
        assert adder.stdout.readline() == "ready\n"
    for adder in adders:
        adder.stdin.write("go\n")
        adder.stdin.flush()
    for adder in adders:
        adder.communicate(timeout=120)
        assert adder.returncode == 0
    with open_workspace(place) as ws:
        rows = ws.usage.rows()
        assert [(row.prompt_tokens, row.completion_tokens, row.total_tokens, row.requests) for row in rows] == [
            (150, 100, 250, 50)
        ]
        found = len(ws.store.load("record").records)
        assert found == 1 if known else found <= 2  # two may both have been the first of all
