"""Who else has a memory open while something is forgotten: seen, named, and unable to write it back."""

import subprocess
import sys
from collections.abc import Callable

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import Conflict, NotFound, Refused
from nanomem_tui.core.operations import Change, new_operation
from nanomem_tui.core.paths import find_workspace
from nanomem_tui.store import processes
from tests.cli.conftest import Result
from tests.purge import planted

Run = Callable[..., Result]
SAID = "the Quxwhalery safe"


@pytest.fixture
def home_of_one(workspace, run):
    """A small home with one memory of ours in it."""
    assert run("memory", "add", "--text", SAID).code == 0
    assert run("memory", "flush").code == 0
    return workspace


@pytest.fixture
def engine(home_of_one):
    """An engine that waits for turns, and has changed nothing."""
    line = [sys.executable, "-m", "nanomem_tui", "turn", "serve", "--workspace", str(home_of_one)]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"do": "recall", "query": "safe"}\n')
        process.stdin.flush()
        process.stdout.readline()
        yield process
        process.stdin.close()
        process.wait(20)


@pytest.mark.slow
def test_who_only_looks_is_seen_and_named(engine, home_of_one, run):
    run("memory", "add", "--text", "the api key is sk-proj-Ab3dE5fGh7Jk9LmN0pQr2StU4vWx6Yz8")
    made = run("backup", "make")
    assert made.code == 0
    run("memory", "add", "--text", "and more")
    for line in (["forget", "--text", SAID], ["scrub", "--mask"], ["backup", "restore", "latest"]):
        refused = run(*line, "--yes")
        assert refused.code == 2, (line, refused.out)
        assert len(refused.err.splitlines()) == 1
        assert str(engine.pid) in refused.err
        assert "`nanomem turn serve`" in refused.err
    assert SAID in run("memory", "list", "--json").out
    assert not (home_of_one / "memory" / "nanomem" / "forgotten.json").exists()


def test_looking_is_no_hindrance_and_changes_no_byte(home_of_one):
    paths = find_workspace(home_of_one)
    before = {path: path.stat().st_mtime_ns for path in (home_of_one, *home_of_one.rglob("*"))}
    with processes.shared_use(paths), processes.shared_use(paths):
        pass
    with processes.exclusive_use(paths), pytest.raises(Refused), processes.shared_use(paths):
        pass
    assert {path: path.stat().st_mtime_ns for path in (home_of_one, *home_of_one.rglob("*"))} == before


def test_what_is_in_ram_elsewhere_is_read_anew_and_not_written_back(home_of_one, run):
    with open_workspace(home_of_one) as other:
        (row,) = [item for item in other.store.load().items.values() if item.text == SAID]
        assert run("forget", "--text", SAID, "--yes").code == 0
        other.refresh()
        assert SAID not in [item.text for item in other.store.load().items.values()]
        with pytest.raises(Refused):
            other.items.add(SAID)
        other.items.add("tea is green")
        assert row.id not in other.store.load().items
    assert planted.outside_git(home_of_one.parent) == []
    assert "tea is green" in run("memory", "list", "--json").out


def test_who_has_not_looked_since_changes_nothing_that_is_gone(home_of_one, run):
    with open_workspace(home_of_one) as other:
        (row,) = [item for item in other.store.load().items.values() if item.text == SAID]
        assert run("forget", "--text", SAID, "--yes").code == 0
        change = Change("item", row.id, {"text": SAID}, {"text": "nothing of it"})
        with pytest.raises((Conflict, NotFound)):
            other.perform(new_operation("memory.edit", "edit", (change,), actor="agent"))
    assert planted.outside_git(home_of_one.parent) == []


def test_who_stays_hinders_no_dream(home_of_one, run):
    with processes.shared_use(find_workspace(home_of_one)):
        assert "busy" not in run("dream", "run").err
        assert run("forget", "--text", SAID, "--yes").code == 2
