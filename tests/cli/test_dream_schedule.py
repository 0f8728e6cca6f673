"""`nanomem dream schedule`: one look, the foreground program and its end, and the units that are printed."""

from __future__ import annotations

import configparser
import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from nanomem_tui.cli.commands.dream_schedule import Ending
from tests.model.server import KEY, ModelServer, says, status
from tests.store.git_samples import needs_git

pytestmark = [needs_git, pytest.mark.slow]
ENTRY = {"cursor": 1, "timestamp": "2026-04-03 00:02", "content": "- [durable] User likes tea"}


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """A workspace with one entry, of no agent that dreams."""
    made = tmp_path / "of %u's $HOME" / "workspace"
    (made / "memory").mkdir(parents=True)
    (made / "memory" / "LESSONS.jsonl").write_text("")  # of the RAM-first system
    (made / "memory" / "history.jsonl").write_text(json.dumps(ENTRY) + "\n")
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(made))
    monkeypatch.setenv("NANOMEM_CONFIG", str(tmp_path / "own.toml"))
    return made


def user(workspace):
    file = workspace / "USER.md"
    return file.read_text() if file.exists() else ""


def test_one_look_dreams_when_it_is_due_and_says_when_it_is_not(workspace, run):
    first = run("dream", "schedule", "--once")
    assert (first.code, "dreamt over 1 entry: USER.md +" in first.out) == (0, True)
    assert "- User likes tea" in user(workspace)
    again = run("dream", "schedule", "--once")
    assert (again.code, "waiting: not due before" in again.out) == (1, True)
    assert run("dream", "schedule", "--once", "--json").json["kind"] == "waiting"
    assert run("undo").code == 1, "what a schedule did is no change of a person"


def test_a_cursor_below_zero_counts_as_no_entry_read(workspace, run):
    (workspace / "memory" / ".dream_cursor").write_text("-5")
    assert run("dream", "run").code == 0
    assert "the cursor goes back from 1 to 0: the next Dream reads 1 entry again" in run("undo").out
    assert (workspace / "memory" / ".dream_cursor").read_text() == "-5"


def test_a_cursor_ahead_of_the_last_entry_is_told_wherever_what_waits_is(workspace, run):
    cursor = workspace / "memory" / ".dream_cursor"
    cursor.write_text("8")
    os.utime(cursor, (0, 0))  # so that one is due
    said = "the cursor says 8, 7 ahead of the last entry (1): no Dream would ever read the 7 entries to come"
    shown = run("dream", "status")
    assert (shown.code, said in shown.out, "0 wait" in shown.out) == (0, True, False)
    assert "0 has all of them read again" in shown.out
    assert run("dream", "status", "--json").json["ahead"]["by"] == 7
    memory = run("memory", "status").out
    assert "cursor 8, 7 ahead of the last entry" in memory
    assert ("not yet dreamt is not known" in memory, said in memory) == (True, True)
    for command in (("dream", "run"), ("--run-dream",), ("--run-dream", "--dry-run")):
        refused = run(*command)
        assert (refused.code, said in refused.err) == (2, True)
    looked = run("dream", "schedule", "--once")
    assert (looked.code, said in looked.err) == (2, True)
    cursor.write_text("0")
    assert run("dream", "run").code == 0


def test_a_dream_that_a_person_took_back_does_not_come_back_by_itself(workspace, run):
    run("config", "set", "dream_schedule", "on")
    assert run("dream", "run").code == 0
    undone = run("undo")
    assert "the cursor goes back from 1 to 0: the next Dream reads 1 entry again" in undone.out
    assert user(workspace) == ""
    assert "took back the last Dream" in run("dream", "status").out
    (workspace / "memory" / ".dream_cursor").unlink(missing_ok=True)  # it is due: nobody dreamt here yet
    look = run("dream", "schedule", "--once")
    assert "a person took back the last Dream" in look.out
    assert user(workspace) == ""
    assert run("dream", "run").code == 0
    assert "- User likes tea" in user(workspace)
    assert "took back" not in run("dream", "status").out


def test_off_says_why_and_is_exit_code_1(workspace, run):
    run("config", "set", "dream_schedule", "off")
    off = run("dream", "schedule", "--once")
    assert (off.code, "off: dream_schedule is off" in off.out, user(workspace)) == (1, True, "")
    shown = run("dream", "status")
    assert "Schedule  off: dream_schedule is off" in shown.out
    assert "Next" not in shown.out
    assert run("dream", "status", "--json").json["schedule"]["next_at"] is None
    assert "no Dream would run" in run("dream", "schedule", "--print", "cron").err


def test_a_failure_is_told_on_stderr_with_exit_code_2_and_in_the_status(workspace, run):
    (workspace / "USER.md").write_bytes(b"\xff")
    failed = run("dream", "schedule", "--once")
    assert (failed.code, failed.out, failed.err.count("\n")) == (2, "", 1)
    assert "bytes that are no UTF-8" in failed.err
    assert "tried again at" in failed.err
    assert "1 time in a row: a memory file holds bytes" in run("dream", "status").out


def test_the_status_says_how_often_and_when(workspace, run):
    shown = run("dream", "status").out
    assert "every 2 h in the console and `nanomem dream schedule`: no agent dreams here by itself" in shown
    run("config", "set", "dream_cron", "0 */6 * * *")
    assert "cron 0 */6 * * *" in run("dream", "status").out
    found = run("dream", "status", "--json").json["schedule"]
    assert (found["on"], found["every_h"], found["cron"], found["failures"]) == (True, 2.0, "0 */6 * * *", 0)


def test_a_unit_of_systemd_is_read_back_as_it_was_meant(workspace, run, tmp_path):
    text = run("dream", "schedule", "--print", "systemd").out
    unit = configparser.ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str
    unit.read_string(text)
    assert set(unit) == {"DEFAULT", "Unit", "Service", "Install"}
    words = [word.replace("$$", "$").replace("%%", "%") for word in shlex.split(unit["Service"]["ExecStart"])]
    assert words[-4:] == ["--workspace", str(workspace), "dream", "schedule"]
    assert Path(words[0]).is_absolute()
    assert "%%u's $$HOME" in text
    assert str(tmp_path / "own.toml") in unit["Service"]["Environment"]
    assert unit["Service"]["Restart"] == "on-failure"
    assert user(workspace) == ""


def test_cron_looks_at_the_minutes_of_the_cron_line(workspace, run):
    for cron, minutes in (("*/3 * * * *", "*/3"), ("17 4 * * *", "17")):
        run("config", "set", "dream_cron", cron)
        line = run("dream", "schedule", "--print", "cron").out.splitlines()[-1]
        assert line.startswith(f"{minutes} * * * * ")


@pytest.mark.parametrize(
    ("facts", "minutes"),
    [("0 3 * * *", "*/10"), ("*/5 * * * *", "*/5"), ("* * * * *", "*"), ("15 3 * * *", "0,10,15,20,30,40,50")],
)
def test_cron_looks_at_the_minutes_of_facts_too_and_names_none_twice(facts, minutes, workspace, run):
    run("config", "set", "crystallize_schedule", facts)
    line = run("dream", "schedule", "--print", "cron").out.splitlines()[-1]
    assert line.startswith(f"{minutes} * * * * ")
    assert f"cron {facts}" in run("dream", "status").out


def test_a_cron_line_that_is_not_understood_is_said(workspace, run, monkeypatch):
    run("config", "set", "dream_cron", "*/3 * * * *")
    monkeypatch.setattr("nanomem_tui.dreams.schedule.cron_trouble", lambda cron: "five fields are wanted")
    said = "Note: the cron line '*/3 * * * *' is not understood (five fields are wanted), the interval counts\n"
    once = run("dream", "schedule", "--once")
    assert (once.code, once.err) == (0, said)
    assert said in run("dream", "schedule", "--print", "cron").err


def test_a_line_of_cron_is_one_that_a_shell_reads_back(workspace, run):
    line = run("dream", "schedule", "--print", "cron").out.splitlines()[-1]
    fields, command = line.split()[:5], line.split(maxsplit=5)[5]
    assert fields == ["*/10", "*", "*", "*", "*"]
    assert "\\%u" in command, "cron takes a bare percent sign for a line end"
    words = shlex.split(command.replace("\\%", "%"))
    assert words[-6:-1] == ["--workspace", str(workspace), "dream", "schedule", "--once"]
    run("config", "set", "dream_interval_h", "0.1")
    assert run("dream", "schedule", "--print", "cron").out.splitlines()[-1].startswith("* * * * *")
    assert run("dream", "schedule", "--print", "cron", "--json").json["unit"] == "cron"


def program(*args):
    line = [sys.executable, "-m", "nanomem_tui", "dream", "schedule", *args]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1)


def said(process, what, seconds=60):
    """The next line that holds `what`."""
    assert process.stdout is not None
    patience = threading.Timer(seconds, process.kill)
    patience.start()
    try:
        for line in process.stdout:
            if what in line:
                return line
    finally:
        patience.cancel()
    raise AssertionError(f"it never said {what}: {process.communicate()}")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_program_dreams_waits_and_ends_cleanly(workspace, number):
    process = program()
    said(process, "dreamt over 1 entry")
    said(process, "waiting: not due before")
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err, "ended: told to end" in out) == (0, "", True)
    assert "- User likes tea" in user(workspace)


def test_its_json_is_one_object_a_line(workspace):
    process = program("--json")
    first = json.loads(said(process, "dreamt"))
    assert (first["kind"], first["result"]["read"], first["result"]["usage"]["tokens_in"]) == ("dreamt", 1, 0)
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 0


def test_a_workspace_that_is_not_there_is_refused_at_once(run, tmp_path):
    refused = run("dream", "schedule", "--workspace", tmp_path / "none")
    assert (refused.code, refused.err.count("\n")) == (2, 1)


def test_signals_are_as_before_when_it_is_over():
    before = [signal.getsignal(number) for number in Ending.SIGNALS]
    with Ending() as ending:
        assert not ending.wait(0)
        os.kill(os.getpid(), signal.SIGTERM)
        started = time.monotonic()
        assert ending.wait(60)
        assert time.monotonic() - started < 20
    assert [signal.getsignal(number) for number in Ending.SIGNALS] == before


# With a language model


def hurry(workspace):
    """Make the next try due now; returns what the schedule remembers."""
    file = workspace / "memory" / "nanomem" / "dream-schedule.json"
    kept: dict[str, Any] = json.loads(file.read_text())
    file.write_text(json.dumps({**kept, "at": "2020-01-01T00:00:00+00:00"}))
    return kept


def of_model(monkeypatch, server):
    settings = {"DREAM_DREAMER": "model", "MODEL_BASE_URL": server.url, "MODEL_NAME": "scripted", "MODEL_KEY": KEY}
    for name, value in settings.items():
        monkeypatch.setenv(f"NANOMEM_{name}", value)


def declines_poison(asked):
    return status(400) if "poison" in asked.text else says({"analysis": "nothing new", "facts": []})


def test_what_a_model_will_not_read_is_read_by_rules_and_the_rest_by_the_model(workspace, run, monkeypatch):
    contents = ["- tea", "- coffee", "- [durable] User keeps poison ivy", "- rain"]
    rows = [{**ENTRY, "cursor": cursor, "content": content} for cursor, content in enumerate(contents, 1)]
    (workspace / "memory" / "history.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with ModelServer(*[declines_poison] * 40) as server:
        of_model(monkeypatch, server)
        codes = []
        while json.loads(run("dream", "status", "--json").out)["unprocessed"]:
            codes.append(run("dream", "schedule", "--once").code)
            hurry(workspace)
            assert len(codes) < 20, "it must come to an end"
            cursor = workspace / "memory" / ".dream_cursor"
            if cursor.exists():
                os.utime(cursor, (0, 0))
    assert 2 in codes
    assert "poison ivy" in user(workspace)
    assert KEY.encode() not in b"".join(path.read_bytes() for path in workspace.rglob("*") if path.is_file())


def test_nobody_there_is_told_and_no_entry_is_given_up(workspace, run, monkeypatch):
    monkeypatch.setenv("NANOMEM_MODEL_TIMEOUT_SECONDS", "1")
    with ModelServer() as server:
        of_model(monkeypatch, server)
    for tries in range(1, 5):
        failed = run("dream", "schedule", "--once")
        assert (failed.code, failed.err.count("\n"), KEY in failed.err) == (2, 1, False)
        assert hurry(workspace)["failures"] == tries
    assert run("dream", "status", "--json").json["unprocessed"] == 1


def test_told_to_end_while_a_model_thinks_it_ends_and_changes_nothing(workspace, monkeypatch):
    with ModelServer(says({"analysis": "late", "facts": []}, wait=30)) as server:
        of_model(monkeypatch, server)
        process = program()
        end = time.monotonic() + 60
        while not server.asked and time.monotonic() < end:
            time.sleep(0.01)
        assert server.asked
        process.terminate()
        started = time.monotonic()
        out, err = process.communicate(timeout=60)
        assert (process.returncode, err, time.monotonic() - started < 25) == (0, "", True)
    assert "ended: told to end" in out
    assert (user(workspace), (workspace / "memory" / ".dream_cursor").exists()) == ("", False)
    assert not (workspace / "memory" / "nanomem" / "dream-schedule.json").exists(), "it is no failure"
