"""The short way of the commands asked most often: the same output as the long way, and nothing odd goes by it."""

import json
import subprocess
import sys

import pytest

from nanomem_tui.cli import fast_path

PLAIN = [
    ["memory", "status"],
    ["memory", "status", "--json"],
    ["memory", "list"],
    ["memory", "list", "--limit", "3", "--offset", "2"],
    ["memory", "list", "--kind", "fact", "--scope", "global", "--json"],
    ["memory", "list", "--source", "nobody", "--session", "cli:none", "--disabled"],
    ["memory", "search", "--query", "coffee"],
    ["memory", "search", "coffee", "black"],
    ["memory", "search", "black", "--query", "coffee", "--explain", "--limit", "4"],
    ["memory", "search", "--query", "coffee", "--channel", "telegram", "--chat-id", "7", "--sender-id", "9", "--json"],
    ["memory", "search", "--query", "no such word anywhere"],
    ["memory", "search", "--kind", "fact", "--offset", "1", "咖啡"],
]
ODD = [
    [],
    ["memory"],
    ["memory", "show", "ltm_1"],
    ["--json", "memory", "status"],
    ["memory", "status", "more"],
    ["memory", "status", "--help"],
    ["memory", "status", "--json", "--json"],
    ["memory", "list", "--sort", "hits"],
    ["memory", "list", "--limit=3"],
    ["memory", "list", "--limit", "-1"],
    ["memory", "list", "--limit", "+3"],
    ["memory", "list", "--limit", "٣"],
    ["memory", "list", "--limit"],
    ["memory", "list", "--kind", ""],
    ["memory", "list", "-h"],
    ["memory", "search"],
    ["memory", "search", "--query", "  "],
    ["memory", "search", "--query", "--json"],
    ["memory", "search", "--query", "a", "--query", "b"],
    ["memory", "search", "--chat_id", "7", "x"],
    ["memory", "search", "--scope", "chat", "x"],
    ["memory", "search", "\udcff"],
    ["memory", "search", "--", "x"],
    ["memory", "search", "-x"],
]


@pytest.mark.parametrize("line", PLAIN, ids=" ".join)
def test_a_plain_line_prints_what_the_long_way_prints(ramfirst, run, capsys, line):
    expected = run(*line)
    assert expected.code == 0
    assert fast_path.run(line)
    assert capsys.readouterr() == (expected.out, expected.err)


def test_a_workspace_may_be_named(ramfirst, run, capsys, monkeypatch):
    monkeypatch.setenv("NANOMEM_WORKSPACE", "/nowhere")
    line = ["memory", "status", "--workspace", str(ramfirst)]
    expected = run(*line)
    assert fast_path.run(line)
    assert capsys.readouterr().out == expected.out


@pytest.mark.parametrize("line", ODD, ids=ascii)
def test_an_odd_line_is_left_to_the_long_way(line, monkeypatch):
    monkeypatch.setenv("NANOMEM_WORKSPACE", "/nowhere")  # where any command would fail
    assert not fast_path.run(line)


@pytest.mark.parametrize("line", [PLAIN[0], PLAIN[6]], ids=" ".join)
def test_an_error_is_the_line_and_the_exit_code_of_the_long_way(tmp_path, run, line):
    line = [*line, "--workspace", str(tmp_path / "none")]
    expected = run(*line)
    done = subprocess.run([sys.executable, "-m", "nanomem_tui", *line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (expected.code, expected.out, expected.err)


@pytest.mark.parametrize("home", ["ramfirst", "nb035"])
@pytest.mark.parametrize("line", [PLAIN[0], PLAIN[2], PLAIN[6]], ids=" ".join)
def test_a_plain_line_loads_nothing_slow(sample_copy, home, line):
    """No parser of command lines, and no dataclass: their module alone takes as long to import as Python to start. Only
    `memory status` of a home with versions looks at them, with dulwich, which has dataclasses."""
    workspace = sample_copy(home) / "home" / ".nanobot" / "workspace"
    code = "import json, sys; from nanomem_tui.__main__ import main; main(); print(json.dumps(list(sys.modules)))"
    command = [sys.executable, "-c", code, *line, "--workspace", str(workspace)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout.splitlines()[-1]))
    of_versions = {"dataclasses", "inspect"} if line == PLAIN[0] and home == "nb035" else set()
    assert loaded & {"click", "dataclasses", "inspect", "tomllib", "uuid", "sqlmodel", "textual"} == of_versions
