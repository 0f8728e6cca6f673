"""`nanomem turn`, `recall` and `wal recover`: JSON in and out, the served protocol, saved questions, bad input."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.agents.session_names import key_to_name
from tests.cli.conftest import Result
from tests.store.homes import files

Feed = Callable[..., Result]
ANA = {"session_key": "telegram:42", "sender_id": "ana"}


@pytest.fixture
def feed(run, monkeypatch):
    """`feed(data, "turn", "begin")`: that line with `data` (bytes, or values as JSON lines) on stdin."""

    def call(data, *args):
        raw = data if isinstance(data, bytes) else json.dumps(data).encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8"))
        return run(*args)

    return call


def test_begin_and_end_by_two_processes(workspace, feed, run):
    begun = feed({**ANA, "text": "item number 2", "message_id": 7}, "turn", "begin").json
    parts = {"turn", "block", "hits", "related", "lessons", "working", "older", "pending", "cut", "chars", "budget"}
    assert begun.keys() == parts
    assert begun["hits"][0]["text"] == "item number 2"
    assert begun["hits"][0]["layer"] == "global"
    assert begun["chars"] == len(begun["block"])
    assert run("wal", "check").code == 1
    ended = feed({"turn": begun["turn"], "assistant": "Yes.", "pending_actions": ["look"]}, "turn", "end").json
    assert ended.keys() == {"turn", "operation", "saved", "dropped", "quarantined", "lessons", "counters"}
    assert ended["counters"]["turns_ended"] == 1
    assert run("wal", "check").code == 0
    assert run("memory", "show", begun["hits"][0]["id"], "--json").json["hits"] == 2
    again = feed({"turn": begun["turn"], "assistant": "Yes."}, "turn", "end")
    assert (again.code, "has ended" in again.err) == (1, True)


@pytest.mark.parametrize("home", [False, True])
def test_an_engine_begins_in_an_empty_folder(tmp_path, feed, run, home):
    workspace = tmp_path / "agent" / "workspace"
    workspace.mkdir(parents=True)
    if home:
        (workspace.parent / "config.json").write_text("{}")
    there = ("--workspace", str(workspace))
    told = {**ANA, "text": "Remember: I prefer the window seat.", "assistant": "Noted."}
    assert feed({**ANA, "text": "hello"}, "turn", "begin", *there).json["hits"] == []
    assert feed(told, "turn", *there).json["saved"][0]["text"]
    assert feed({**ANA, "text": "which window seat?"}, "turn", "begin", *there).json["hits"]
    assert (workspace / "memory").is_dir()
    assert run("memory", "status", "--json", *there).json["items"]["total"] == 1
    found = feed(told, "turn", "--workspace", str(workspace / "none"))
    assert (found.code, f"mkdir -p {workspace / 'none'}" in found.err) == (2, True)


def test_a_finished_turn(workspace, feed, run):
    body = {**ANA, "text": "Remember that I prefer window seats", "assistant": "Noted."}
    ended = feed(body, "turn").json
    assert ended["saved"][0]["kind"] == "preference"
    found = run("memory", "search", "--query", "window seats", "--json").json
    assert found[0]["id"] == ended["saved"][0]["id"]
    assert run("wal", "show", "telegram:42", "--json").json["turns"][0]["open"] is False


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "no JSON"),
        (b"{", "no JSON"),
        (b"[1]", "not a JSON object"),
        (b"\xff\xfe", "UTF-8"),
        (b"[" * 100_000, "no JSON"),
        (json.dumps({**ANA, "text": ""}).encode(), "empty"),
        (json.dumps({**ANA, "session_key": "a:../../x", "text": "hi"}).encode(), "../"),
        (b"x" * 8_000_001, "8,000,000 bytes"),
    ],
)
@pytest.mark.parametrize("command", [("turn", "begin"), ("turn", "end"), ("turn",)])
def test_bad_input_is_one_line_and_changes_nothing(workspace, feed, data, what, command):
    before = files(workspace.parent)
    result = feed(data, *command)
    assert (result.code, result.out) == (2, "")
    assert what in result.err
    assert result.err.count("\n") == 1
    assert files(workspace.parent) == before


def served(workspace, *lines):
    """The answers of a real process to these lines."""
    raw = b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
    line = [sys.executable, "-m", "nanomem_tui", "turn", "serve", "--workspace", str(workspace)]
    done = subprocess.run(line, input=raw, capture_output=True, check=True, timeout=60, env=dict(os.environ))
    assert done.stderr == b""
    return [json.loads(answer) for answer in done.stdout.splitlines()]


@pytest.mark.slow
def test_serve_answers_every_line_and_goes_on_after_an_error(workspace):
    answers = served(
        workspace,
        {"do": "begin", **ANA, "text": "item number 2"},
        b"no json\n",
        b"\n",
        {"do": "dance"},
        {"do": "begin", **ANA, "text": ""},
        b'{"do": "begin", "text": "' + b"x" * 8_000_001 + b'"}\n',
        {"do": "turn", **ANA, "text": "Remember that I prefer window seats", "assistant": "Noted."},
        {"do": "recall", "channel": "telegram", "chat_id": "42", "sender_id": "ana", "text": "seat", "limit": 1},
        {"do": "recall", "channel": "telegram", "chat_id": "77", "text": "window seat"},
        {"do": "flush"},
        {"do": "stop"},
        {"do": "begin", **ANA, "text": "too late"},
    )
    kinds = ["error" if "error" in answer else "block" if "block" in answer else "other" for answer in answers]
    assert kinds == ["block", "error", "error", "error", "error", "other", "block", "block", "other", "other"]
    assert [hit["text"] for hit in answers[6]["hits"]] == ["I prefer window seats"]
    assert answers[7]["hits"] == []
    with open_workspace(workspace) as ws:
        assert any(row.text == "I prefer window seats" for row in ws.items.all())


@pytest.mark.slow
def test_served_recall_finds_what_was_said_in_the_same_chat(workspace):
    folder = workspace / "sessions"
    folder.mkdir(exist_ok=True)
    rows: list[dict[str, object]] = [{"_type": "metadata", "key": "telegram:42", "metadata": {}}]
    rows += [{"role": "user", "content": "The zebra is in the yard.", "timestamp": "2026-03-01T10:00:00"}]
    (folder / key_to_name("telegram:42")).write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = {"do": "recall", "channel": "telegram", "text": "where is the zebra?"}
    ours, other = served(workspace, {**asked, "chat_id": "42"}, {**asked, "chat_id": "77"})
    assert [(one["source"], one["id"]) for one in ours["excerpts"]] == [("sessions", "telegram:42#0")]
    assert other["excerpts"] == []


@pytest.mark.slow
def test_served_recall_narrows_to_the_facts_of_a_domain_that_the_chat_may_see(workspace, run):
    for key, value in (("phone", "555"), ("mail", "ana@example.org")):
        line = ("facts", "set", "--domain", "Work", "--category", "Contact", "--key", key, "--value", value)
        assert run(*line).code == 0
    here = {"do": "recall", "channel": "telegram", "chat_id": "42"}
    narrow, all_of_it, other = served(
        workspace,
        {**here, "text": "phone", "domain": "Work", "limit": 1},
        {**here, "category": "Contact"},
        {**here, "text": "phone", "domain": "Home"},
    )
    assert [hit["text"] for hit in narrow["hits"]] == ["phone: 555"]
    assert sorted(hit["key"] for hit in all_of_it["hits"]) == ["mail", "phone"]
    assert (other["hits"], other["problems"]) == ([], [])


@pytest.mark.slow
def test_what_serve_acknowledged_survives_its_kill(workspace):
    line = [sys.executable, "-m", "nanomem_tui", "turn", "serve", "--workspace", str(workspace)]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(5):
            body = {"do": "turn", **ANA, "text": f"Remember that I like the number {number}", "assistant": "ok"}
            process.stdin.write(json.dumps(body).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["saved"]
        process.send_signal(signal.SIGKILL)
        process.wait()
    with open_workspace(workspace) as ws:
        assert sum("like the number" in row.text for row in ws.items.all()) == 5
        assert ws.wal.counts() == {"files": 1, "turns": 5, "open": 0}
        assert ws.traces.counters.read()["memory_capture_saved"] == 5


def test_unfinished_turns_are_recovered_and_taken_back(workspace, feed, run):
    feed({**ANA, "text": "send the report"}, "turn", "begin")
    before = files(workspace.parent)
    planned = run("wal", "recover", "--dry-run", "--json").json
    assert [turn["user"] for turn in planned["recovered"]] == ["send the report"]
    assert files(workspace.parent) == before
    assert run("wal", "recover", "telegram:42").out == "recover 1 unfinished turn\n"
    assert run("wal", "check").code == 0
    again = run("wal", "recover")
    assert (again.code, again.out.startswith("Nothing to recover"), again.err) == (0, True, "")
    assert run("wal", "recover", "telegram:99").code == 2
    assert "send the report" in feed({**ANA, "text": "hello"}, "turn", "begin").json["block"]
    assert run("undo").code == 0
    assert len(json.loads(run("wal", "check", "--json").out)) == 2


def test_recall_shows_what_an_agent_would_get(workspace, run):
    found = run("recall", "item number 2", "--json").json
    assert {"hits", "lessons", "working", "cut", "block"} <= found.keys()
    assert found["hits"][0]["id"] == "ltm_2"
    assert {"lexical", "terms"} <= found["hits"][0]["parts"].keys()
    assert "- [fact] item number 2" in found["block"]
    shown = run("recall", "item number 2", "--explain").out
    assert "ltm_2  terms" in shown
    cut = run("recall", "item", "--limit", "1", "--json").json["cut"]
    assert "over maxResults 1" in {one["why"] for one in cut}
    assert run("recall", "zzz").out == "Nothing is recalled.\n"


def test_where_memory_is_switched_off_recall_says_so_and_shows_nothing(workspace, run, feed):
    run("config", "set", "memory_enabled", "false", "--here")
    shown = run("recall", "item number 2")
    off = "memory is switched off (memory_enabled)"
    assert (shown.out, shown.err) == ("Nothing is recalled.\n", f"Note: {off}: no turn is given anything\n")
    found = run("recall", "item number 2", "--json").json
    assert (found["hits"], found["lessons"], found["block"], found["problem"]) == ([], [], "", off)
    for key in ("ltm_2", run("memory", "lessons", "list", "--json").json[0]["id"]):
        assert run("recall", "item number 2", "--why-not", key, "--json").json["why"] == off
    begun = feed({**ANA, "text": "item number 2"}, "turn", "begin")
    assert (json.loads(begun.out)["block"], json.loads(begun.out)["problem"]) == ("", off)
    assert json.loads(feed({**ANA, "text": "Remember: I like figs", "assistant": "ok"}, "turn").out)["problems"] == [
        off
    ]
    run("config", "set", "memory_enabled", "true", "--here")
    assert run("recall", "item number 2", "--json").json["hits"][0]["id"] == "ltm_2"


def test_recall_as_a_chat_sees_only_what_is_visible_there(workspace, run):
    run("memory", "add", "--text", "boat of chat one", "--channel", "cli", "--chat-id", "1")
    own = run("recall", "boat", "--channel", "cli", "--chat-id", "1", "--json").json
    foreign = run("recall", "boat", "--channel", "cli", "--chat-id", "2", "--json").json
    assert ([hit["layer"] for hit in own["hits"]], foreign["hits"]) == (["chat"], [])
    added = own["hits"][0]["id"]
    why = run("recall", "boat", "--channel", "cli", "--chat-id", "2", "--why-not", added, "--json").json
    assert (why["recalled"], "not visible" in why["why"]) == (False, True)


def test_recall_leaves_no_trace(workspace, run):
    before = files(workspace.parent)
    run("recall", "item number 2", "--channel", "telegram", "--chat-id", "42")
    assert files(workspace.parent) == before


@pytest.mark.parametrize("message", ["", "   ", "x" * 1_048_576])
def test_a_message_that_is_none_is_refused(workspace, run, message):
    result = run("recall", message)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)


@pytest.mark.parametrize(
    "option", [("--chat-id", "1"), ("--channel", "cli", "--chat-id", "../1"), ("--channel", "a/b", "--chat-id", "1")]
)
def test_a_scope_that_is_none_is_refused(workspace, run, option):
    assert run("recall", "boat", *option).code == 2


def test_saved_questions_tell_of_a_loss(workspace, run):
    nothing = run("recall", "--check")
    assert (nothing.code, "No saved questions" in nothing.out) == (0, True)
    assert run("recall", "--check", "none.jsonl").code == 2
    saved = run("recall", "item number 2", "--save", "ltm_2", "--json").json
    assert saved["expect"] == ["ltm_2"]
    run("recall", "number 3", "--channel", "cli", "--chat-id", "1", "--save", "ltm_3")
    checked = run("recall", "--check")
    assert (checked.code, checked.out) == (0, "2 questions, 0 with a loss.\n")
    run("memory", "disable", "ltm_3")
    checked = run("recall", "--check", "--json")
    assert checked.code == 1
    body = json.loads(checked.out)
    assert (body["questions"], body["lost"]) == (2, 1)
    assert body["results"][1]["lost"] == [{"id": "ltm_3", "why": "disabled"}]
    run("memory", "delete", "ltm_2", "--yes")
    assert "lost ltm_2" in run("recall", "--check").out
    assert run("recall", "item", "--save", "no_such").code == 2


@pytest.mark.parametrize(
    "line",
    [
        b"{", b"[1]", b'{"message": "x"}', b'{"message": "", "expect": ["a"]}', b'{"message": "x", "expect": []}',
        b'{"message": 5, "expect": ["a"]}', b'{"message": "x", "expect": ["a"], "limit": 0}', b"\xff",
        b'{"message": "x", "expect": ["a"], "wrong": 1}', b"",
    ],
)  # fmt: skip
def test_a_broken_line_of_questions_is_named_and_costs_only_itself(workspace, run, tmp_path, line):
    file = tmp_path / "questions.jsonl"
    file.write_bytes(b'{"message": "item", "expect": ["ltm_1"]}\n' * bool(line) + line + b"\n" * bool(line))
    result = run("recall", "--check", str(file))
    assert (result.code, result.err.count("\n")) == (1 if line else 2, 1)  # it cannot be asked
    assert f"{file}:2" in result.err or not line
    file.write_bytes(line + b"\n")
    assert run("recall", "--check", str(file)).code == 2, "nothing in it can be read"


def test_status_tells_counters_and_openmetrics(workspace, feed, run):
    feed({**ANA, "text": "item number 2", "assistant": "x"}, "turn")
    counters = run("memory", "status", "--json").json["counters"]
    assert counters["turns_ended"] == 1
    text = run("memory", "status", "--openmetrics").out
    assert text.endswith("# EOF\n")
    assert "nanomem_turns_ended_total 1\n" in text
    assert "# TYPE nanomem_items gauge\n" in text
    assert all(line.startswith(("#", "nanomem_")) for line in text.splitlines())
    assert run("memory", "status", "--openmetrics", "--json").code == 2


@pytest.mark.slow
def test_a_begin_says_what_memory_and_context_take_of_their_budgets(workspace, feed, run):
    (workspace / "memory" / "MEMORY.md").write_text("# Notes\n" + "- a line of notes that is rather long\n" * 200)
    with open_workspace(workspace) as ws:
        for number in range(40):
            ws.items.add(f"the ferry number {number} leaves at nine " + "and is blue " * 10)
    begun = feed({**ANA, "text": "when does the ferry leave?"}, "turn", "begin").json
    memory, context = begun["budget"]["memory"], begun["budget"]["context"]
    assert (memory["limit"], context["limit"]) == (2400, 3600)
    assert 0 < memory["used"] <= 2400
    assert 0 < context["used"] <= 3600
    assert memory["used"] + context["used"] == begun["chars"] == len(begun["block"])
    run("config", "set", "--here", "recall_max_prompt_chars", "700")
    small = feed({**ANA, "text": "when does the ferry leave?"}, "turn", "begin").json
    assert 0 < small["budget"]["memory"]["used"] <= 700
    assert run("recall", "ferry", "--json").json["budget"]["memory"]["limit"] == 700


class Served:
    """A `nanomem turn serve` of its own process."""

    def __init__(self, workspace):
        line = [sys.executable, "-m", "nanomem_tui", "turn", "serve", "--workspace", str(workspace)]
        self.process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, do, **fields):
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps({"do": do, **fields}), file=self.process.stdin, flush=True)
        answer: dict[str, object] = json.loads(self.process.stdout.readline())
        return answer

    def remember(self, text):
        assert self.ask("turn", **ANA, text=text, assistant="ok")["saved"]

    def close(self):
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def engine(workspace):
    made = Served(workspace)
    yield made
    made.close()


def written(workspace):
    """The texts in the database, whatever is only in RAM."""
    with contextlib.closing(sqlite3.connect(f"file:{data_of(workspace) / 'nanomem.db'}?mode=ro", uri=True)) as there:
        return [text for (text,) in there.execute("SELECT content FROM memory_entries")]


def data_of(workspace):
    with open_workspace(workspace) as ws:
        return ws.paths.data


@pytest.mark.slow
def test_what_a_running_engine_keeps_is_there_for_everybody_at_once(workspace, engine, run):
    engine.remember("I prefer the seat by the stove")
    assert "I prefer the seat by the stove" in written(workspace)
    assert "I prefer the seat by the stove" in run("memory", "list").out


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_running_engine_once_what_it_holds_is_written(workspace, engine, number):
    engine.remember("I prefer the seat by the stove")
    engine.process.send_signal(number)
    assert engine.process.wait(30) == 0
    assert "I prefer the seat by the stove" in written(workspace)
