"""Who may import whom, and what a command may load: the layers, and `sys.modules` after real commands."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hygiene.repository import ROOT

# What a command that only reads must do without; dulwich and rapidfuzz are for the commands that need them.
UNREAD = (
    "textual", "rich", "sqlmodel", "sqlalchemy", "pydantic", "numpy", "onnxruntime", "chromadb", "mcp", "grpc",
    "google", "psutil", "starlette", "psycopg",
)  # fmt: skip
HEAVY = (*UNREAD, "dulwich", "rapidfuzz", "asyncio", "watchfiles", "httpx")

RUN = """
import json, os, sys
sys.argv = ["nanomem", *json.loads(sys.argv[1])]
out = os.dup(1)
os.dup2(2, 1)
try:
    from nanomem_tui.__main__ import main
    code = main() or 0
except SystemExit as stop:
    code = stop.code or 0
os.write(out, json.dumps([code, sorted({name.split(".")[0] for name in sys.modules})]).encode())
"""


def loaded(home, *arguments):
    """The top-level packages that one successful command loaded."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("NANOMEM_", "XDG_"))},
        "HOME": str(home),
    }
    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    code, names = json.loads(done.stdout)
    assert code == 0, done.stderr
    return set(names)


@pytest.fixture
def workspace(tmp_path):
    """A small agent's workspace: memory files, a history, no database of ours."""
    folder = tmp_path / "agent" / "workspace"
    (folder / "memory").mkdir(parents=True)
    (folder / "USER.md").write_text("# User\n\n- Likes tea\n", encoding="utf-8")
    entry = {"cursor": 1, "timestamp": "2026-01-02 03:04", "content": "- [durable] likes tea"}
    (folder / "memory" / "history.jsonl").write_text(json.dumps(entry) + "\n", encoding="utf-8")
    return folder


@pytest.mark.slow
def test_layers_hold():
    program = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([program, "--no-logo"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_package_itself_loads_nothing_heavy():
    code = "import json, sys, nanomem_tui; print(json.dumps(sorted({n.split('.')[0] for n in sys.modules})))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(json.loads(done.stdout)) & {*HEAVY, "click"} == set()


@pytest.mark.slow
def test_a_workspace_and_all_that_serves_it_load_no_optional_part():
    code = (
        "import json, sys, nanomem_tui.workspace, nanomem_tui.cli.commands.serve, nanomem_tui.cli.commands.serve, "
        "nanomem_tui.servers.grpc.server; print(json.dumps(sorted({n.split('.')[0] for n in sys.modules})))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(json.loads(done.stdout)) & set(UNREAD) == set()


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["memory", "--help"]], ids=" ".join)
def test_words_about_the_program_load_nothing_heavy(tmp_path, arguments):
    assert loaded(tmp_path, *arguments) & set(HEAVY) == set()


@pytest.mark.parametrize("command", [["memory", "status"], ["memory", "list"], ["facts", "list"]], ids=" ".join)
def test_reading_an_untouched_workspace_loads_no_database_and_no_screen(tmp_path, workspace, command):
    assert loaded(tmp_path, "--workspace", str(workspace), *command, "--json") & set(UNREAD) == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [["memory", "status"], ["memory", "list"], ["memory", "search", "--query", "tea"], ["facts", "list", "--tree"]],
    ids=" ".join,
)
def test_reading_our_own_database_goes_through_the_driver(tmp_path, workspace, command):
    loaded(tmp_path, "--workspace", str(workspace), "memory", "add", "--text", "Prefers green tea in the morning")
    assert loaded(tmp_path, "--workspace", str(workspace), *command, "--json") & set(UNREAD) == set()


@pytest.mark.slow
def test_a_package_that_is_missing_is_named_in_one_line(tmp_path, workspace):
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "sqlmodel.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'sqlmodel'\", name='sqlmodel')\n", encoding="utf-8"
    )
    command = [sys.executable, "-m", "nanomem_tui", "--workspace", str(workspace), "memory", "add", "--text", "kept?"]
    environment = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": f"{tmp_path / 'packages'}{os.pathsep}{ROOT}"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=60)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "the Python package sqlmodel is not installed" in done.stderr
