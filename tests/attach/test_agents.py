"""Finding the agent and what starts it attached; nothing here needs an agent."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nanomem_tui.attach import agents


def script(folder, text, name="nanobot"):
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_the_python_of_a_console_script_is_told_by_its_first_lines(tmp_path):
    python = script(tmp_path, "", "python3.11")
    for text in (
        f"#!{python}\nimport nanobot\n",
        f"#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\nimport nanobot\n",
        f"#!/bin/sh\n'''exec' {python} \"$0\" \"$@\"\n",
    ):
        path = script(tmp_path, text)
        assert agents.find_agent(str(path)) == agents.Agent((str(path),), str(python))


def test_a_script_whose_python_ignores_the_environment_is_started_as_a_module(tmp_path):
    python = script(tmp_path, "", "python3")
    for flags in ("-I", "-sE"):
        found = agents.find_agent(str(script(tmp_path, f"#!{python} {flags}\n")))
        assert found == agents.Agent((str(python), "-m", "nanobot"), str(python))


def test_a_python_may_be_named_and_anything_else_is_started_as_it_is(tmp_path):
    python = script(tmp_path, "#!/bin/sh\nexit 0\n", "python")
    assert agents.find_agent(str(python)) == agents.Agent((str(python), "-m", "nanobot"), str(python))
    other = script(tmp_path, "\x7fELF")
    assert agents.find_agent(str(other)) == agents.Agent((str(other),), None)


def test_a_python_is_an_agent_where_it_finds_one(tmp_path, monkeypatch):
    assert agents.find_agent(sys.executable) is None
    assert agents.why_none(sys.executable) == f"`{sys.executable}` is a Python without nanobot"
    broken = script(tmp_path, "\x7fELF", "python3.12")
    assert agents.find_agent(str(broken)) is None
    (tmp_path / "nanobot").mkdir()
    (tmp_path / "nanobot" / "__init__.py").write_text("raise SystemExit('nobody imports the agent')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = agents.find_agent(sys.executable)
    assert found == agents.Agent((sys.executable, "-m", "nanobot"), sys.executable)


def test_without_a_command_there_is_no_agent(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert agents.find_agent(None) is None
    path = script(tmp_path, "#!/nowhere/python\n")
    assert agents.find_agent(None) == agents.Agent((str(path),), None)


def test_the_environment_adds_our_folder_before_others_once():
    values = agents.environment("/w", {"PYTHONPATH": "/their/own", "NANOMEM_COMMAND": "mine"})
    again = agents.environment(None, values)
    startup, theirs = again["PYTHONPATH"].split(os.pathsep)
    assert Path(startup, "sitecustomize.py").is_file()
    assert theirs == "/their/own"
    assert (again["NANOMEM_COMMAND"], again["NANOMEM_WORKSPACE"]) == ("mine", "/w")
    assert "NANOMEM_CAPTURE_CHANNELS" not in again
    chosen = agents.environment(None, {"NANOMEM_CAPTURE_CHANNELS": "cli"}, ("cli", "websocket"))
    assert chosen["NANOMEM_CAPTURE_CHANNELS"] == "cli"


@pytest.mark.slow
def test_a_release_is_asked_of_its_python():
    here = agents.release_of(agents.Agent(("nanobot",), sys.executable))
    assert here.tested is False, "the agent is never in our environment"
    assert agents.release_of(agents.Agent(("nanobot",), None)) == agents.Release(None, None, tool=False)
    assert agents.release_of(agents.Agent(("nanobot",), "/nowhere/python")).version is None
    assert agents.Release("0.3.9", None, tool=False).tested
    assert not agents.Release("0.30.0", None, tool=False).tested


def test_this_nanomem_can_be_started_from_anywhere(tmp_path):
    done = subprocess.run(
        [*agents.own_command(), "--version"], cwd=tmp_path, capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout.startswith("nanomem ")


def test_an_attached_process_is_known_by_its_environment():
    code = "print('up', flush=True); input()"
    for environment, expected in ((agents.environment(None), True), ({"PATH": os.environ["PATH"]}, False)):
        with subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"up\n"
            found = agents.is_attached(process.pid)
            process.communicate(b"\n")
        assert found is expected
    assert agents.is_attached(2**22 + 1) is None
