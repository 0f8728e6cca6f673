"""The one rule of exit codes that the README tells: what is so already is 0, a step that is not there is 1."""

import io
import json
import sys

import pytest

AGAIN = [
    ("memory", "compact", "--yes"),
    ("memory", "prune", "--older-than-days", "36500", "--yes"),
    ("memory", "backfill", "--yes"),
    ("memory", "flush"),
    ("memory", "lessons", "compact", "--yes"),
    ("inbox", "accept", "--all", "--yes"),
    ("inbox", "reject", "--all", "--yes"),
    ("session", "compact", "--all", "--yes"),
    ("consolidate", "--all", "--yes"),
    ("history", "migrate", "--yes"),
    ("history", "compact", "--yes"),
    ("wal", "recover"),
    ("recall", "--check"),
    ("config", "unset", "max_items"),
    ("config", "unset", "max_items", "--here"),
]


@pytest.mark.parametrize("line", AGAIN, ids=" ".join)
def test_a_command_that_is_run_twice_raises_no_alarm(workspace, run, line):
    run(*line)
    again = run(*line)
    assert (again.code, again.err) == (0, "")
    assert again.out.count("\n") >= 1
    assert run(*line, "--json").json is not None


def test_what_is_switched_already_is_done(workspace, run):
    item = run("memory", "add", "--text", "sits by the window", "--json").json["item"]["id"]
    lesson = run("memory", "lessons", "add", "--trigger", "seats", "--action", "ask", "--json").json["lesson"]["id"]
    for line in (("memory", "enable", item), ("memory", "lessons", "enable", lesson), ("memory", "unpin", item)):
        assert run(*line).code == 0
    for line in (("memory", "disable", item), ("memory", "lessons", "disable", lesson), ("memory", "pin", item)):
        assert [run(*line).code, run(*line).code] == [0, 0]


@pytest.mark.parametrize("line", [("undo",), ("redo",), ("--run-dream",)], ids=" ".join)
def test_a_step_that_is_not_there_is_told(workspace, run, line):
    told = run(*line)
    assert (told.code, told.out, told.err.count("\n")) == (1, "", 1)


def test_a_recovery_is_planned_and_taken_back_in_words(workspace, run, monkeypatch):
    body = {"session_key": "telegram:42", "channel": "telegram", "chat_id": "42", "sender_id": "ana"}
    asked = json.dumps({**body, "text": "Remember that I sit by the window. Send the report."})
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(asked.encode()), encoding="utf-8"))
    assert run("turn", "begin").code == 0
    planned = run("wal", "recover", "--dry-run").out
    assert "telegram:42: pending: “Remember that I sit by the window. Send the report.”" in planned
    assert "preference: “I sit by the window" in planned or "fact: “I sit by the window" in planned
    assert "scope_key" not in planned
    run("wal", "recover")
    taken = run("undo", "--dry-run").out
    assert "telegram:42: no longer pending: “Remember that I sit by the window. Send the report.”" in taken
    assert "“”" not in taken
