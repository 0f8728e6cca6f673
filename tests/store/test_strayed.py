"""A memory whose workspace was renamed, or that came here without its id: it is named, and can be taken over."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.errors import Problem
from nanomem_tui.store.habits import NamedFilter
from tests.cli.conftest import Run, run  # noqa: F401

pytestmark = pytest.mark.sqlite("the file itself")
TEXT = "Ana has two cats"
SAID = "of a workspace that is not this one"


def empty(folder: Path) -> Path:
    (folder / "workspace" / "memory").mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An agent's home with one item of ours; `workspace` is its workspace."""
    folder = empty(tmp_path / "home")
    with open_workspace(folder / "workspace") as ws:
        ws.items.add(TEXT)
    return folder


def texts(workspace: Path) -> set[str]:
    with open_workspace(workspace) as ws:
        return {item.text for item in ws.items.all()}


def told(workspace: Path) -> list[Problem]:
    with open_workspace(workspace) as ws:
        return [problem for problem in ws.doctor() if SAID in problem.what]


def renamed(home: Path) -> Path:
    return (home / "workspace").rename(home / "brain")


def test_a_renamed_workspace_is_told_of_its_memory_and_takes_it_over(home: Path, run: Run) -> None:  # noqa: F811
    with open_workspace(home / "workspace") as ws:
        ws.habits.save_filter(NamedFilter("cats", "items", "cat"))
    workspace = renamed(home)
    place = ["--workspace", str(workspace)]
    for command in (["memory", "list"], ["memory", "search", "--query", "cats"], ["log"], ["log", "--verify"]):
        shown = run(*command, *place)
        assert SAID in shown.err
        assert str(home / "workspace") in shown.err
        assert TEXT not in shown.out
    assert SAID in run("memory", "status", *place).out
    assert [problem.severity for problem in told(workspace)] == ["error"]
    fixed = run("doctor", "--fix", "--yes", *place)
    assert fixed.code == 0, fixed.out
    shown = run("memory", "list", *place)
    assert TEXT in shown.out
    assert SAID not in shown.err
    assert sorted(path.name for path in (home / "nanomem" / "ids").iterdir()) == ["brain"]
    assert TEXT in run("memory", "list", "--filter", "cats", *place).out
    assert "put right 1 thing" in run("log", *place).out
    verified = run("log", "--verify", *place)
    assert (verified.code, verified.out.partition(";")[0]) == (0, "2 operations")
    assert told(workspace) == []


def test_the_backup_of_before_takes_it_back(home: Path, run: Run) -> None:  # noqa: F811
    place = ["--workspace", str(renamed(home))]
    assert run("doctor", "--fix", "--yes", *place).code == 0
    made = next((home / "nanomem-backups").iterdir()).name
    assert run("backup", "restore", made, "--yes", "--with-others", *place).code == 0
    assert SAID in run("memory", "list", *place).err
    (home / "brain").rename(home / "workspace")
    assert TEXT in texts(home / "workspace")


def test_a_database_that_came_without_its_id_is_taken_over(home: Path, run: Run, tmp_path: Path) -> None:  # noqa: F811
    fresh = empty(tmp_path / "fresh")
    (fresh / "nanomem").mkdir(mode=0o700)
    shutil.copy(home / "nanomem" / "nanomem.db", fresh / "nanomem" / "nanomem.db")
    assert [problem.severity for problem in told(fresh / "workspace")] == ["error"]
    assert run("doctor", "--fix", "--yes", "--workspace", str(fresh / "workspace")).code == 0
    assert TEXT in texts(fresh / "workspace")


def test_a_home_that_was_moved_without_its_ids_is_told(home: Path, run: Run) -> None:  # noqa: F811
    shutil.rmtree(home / "nanomem" / "ids")
    moved = home.rename(home.with_name("moved"))
    assert [problem.severity for problem in told(moved / "workspace")] == ["error"]
    assert run("doctor", "--fix", "--yes", "--workspace", str(moved / "workspace")).code == 0
    assert TEXT in texts(moved / "workspace")


@pytest.mark.parametrize("known", [True, False])
def test_a_living_workspace_of_the_same_home_is_never_named(home: Path, known: bool) -> None:
    (home / "other" / "memory").mkdir(parents=True)
    if not known:  # one that began with an older release
        (home / "nanomem" / "ids" / "workspace").unlink()
    assert told(home / "other") == []
    with open_workspace(home / "other") as ws:
        ws.items.add("of the other")
    assert texts(home / "other") == {"of the other"}
    assert told(home / "other") == told(home / "workspace") == []


def test_a_memory_that_may_be_that_of_two_is_left_to_a_person(home: Path, run: Run) -> None:  # noqa: F811
    workspace = renamed(home)
    (home / "helper" / "memory").mkdir(parents=True)
    for one in (workspace, home / "helper"):
        [problem] = told(one)
        assert "makes it a workspace again" in problem.fix
        assert run("doctor", "--fix", "--yes", "--workspace", str(one)).code == 1
        assert TEXT not in texts(one)


@pytest.mark.parametrize("known", [True, False])
def test_beside_a_memory_of_its_own_it_is_named_and_what_is_said_brings_it_in(
    home: Path,
    run: Run,  # noqa: F811
    tmp_path: Path,
    known: bool,
) -> None:
    workspace = renamed(home)
    if not known:
        (home / "nanomem" / "ids" / "workspace").unlink()
    with open_workspace(workspace) as ws:
        ws.items.add("Ana plays chess")
    [problem] = told(workspace)
    assert problem.severity == "warning"
    assert run("doctor", "--fix", "--yes", "--workspace", str(workspace)).code == 0
    begin, export, import_ = problem.fix.split("`")[1::2]
    for part in begin.split(" && "):
        words = shlex.split(part)
        if words[0] == "mkdir":
            Path(words[1]).mkdir()
        else:
            Path(words[3]).write_text(words[1])
    file = str(tmp_path / "out.jsonl")
    for command in (export, f"{import_} --yes --workspace {workspace}"):
        done = run(*[file if word == "FILE" else word for word in shlex.split(command)[1:]])
        assert done.code == 0, done.err
    assert {TEXT, "Ana plays chess"} <= texts(workspace)
