"""Whatever the umask, what a command makes can be read by its owner alone."""

import os
import stat

import pytest

from nanomem_tui.cli.main import run
from tests.hostile.commands import commands, line_of, on_a_terminal
from tests.store.homes import make_home

pytestmark = pytest.mark.slow

GOAL = '{"description": "Keep the kettle on", "priority": 1}'
CHANGING = (
    ["memory", "add", "--text", "Prefers tea"],
    ["memory", "lessons", "add", "--trigger", "tea", "--action", "Green tea"],
    ["record", "goal", "add", "--data", GOAL], ["journal", "add", "--text", "Tea"], ["memory", "flush"],
    ["memory", "export", "--to", "out.json"], ["memory", "export", "--format", "jsonl", "--to", "out.jsonl"],
    ["record", "export", "--to", "work.jsonl"], ["backup", "make"], ["bookmarks", "add", "items", "x"],
    ["config", "set", "max_items", "9", "--here"], ["--run-dream"], ["doctor", "--fix", "--yes"],
    ["scrub", "--mask", "--yes"], ["forget", "--text", "green tea", "--yes"], ["undo"],
)  # fmt: skip


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    home = make_home(tmp_path / "home", lessons=1)
    for name, variable in (("state", "XDG_STATE_HOME"), ("cfg", "XDG_CONFIG_HOME"), ("cache", "XDG_CACHE_HOME")):
        monkeypatch.setenv(variable, str(tmp_path / name))
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(home))
    monkeypatch.chdir(tmp_path)
    return home


def open_to_others(folder, known):
    """What others could read of what is there and was not before; an agent's own files are as it made them."""
    found = (path for path in sorted(folder.rglob("*")) if path not in known and not path.is_symlink())
    return [
        f"{path.relative_to(folder)} {oct(mode)}"
        for path in found
        if (mode := stat.S_IMODE(path.stat().st_mode)) & 0o077
    ]


def agents(name):
    """Whether it is a file that the agent must be able to read, in a mode that it chose for its own."""
    return "/.git/" in f"/{name}" or "workspace/memory/" in name


def test_what_changing_commands_make_is_their_owners(umask, workspace, tmp_path):
    known = set(tmp_path.rglob("*"))
    for line in CHANGING:
        assert run(list(line)) in (0, 1), line
    made = open_to_others(tmp_path, known)
    assert [name for name in made if not agents(name)] == [], oct(umask)


def made_by_all(workspace, folder):
    """How many files and folders all commands made below `folder`, and which of ours others could read."""
    known = {*folder.rglob("*"), folder / "lines.json"}
    lines = [line_of(path, command, "tea") for path, command in commands()]
    on_a_terminal(workspace, [*lines, *map(list, CHANGING)], folder)
    made = open_to_others(folder, known)
    return len(set(folder.rglob("*")) - known), [name for name in made if not agents(name)]


@pytest.mark.slow
def test_no_command_makes_a_file_that_others_read(umask, workspace, tmp_path):
    number, of_others = made_by_all(workspace, tmp_path)
    assert number > 20
    assert of_others == []
