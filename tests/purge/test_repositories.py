"""A history in git is looked through, told with the command that takes a text out of it, and never written."""

import gzip
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Result
from tests.purge import planted
from tests.store import git_samples
from tests.store.git_samples import git, needs_git, write

Run = Callable[..., Result]
SECRET = "Hk2uPq9zzR"
LINE = f"- password: {SECRET}\n"
CLEAN = "# M\n- nothing\n"

pytestmark = needs_git


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """A small history in which one commit brings a secret, and the next takes it away."""
    found = git_samples.small(tmp_path / "home").workspace
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(found))
    for text in (LINE, CLEAN):
        write(found, {"memory/MEMORY.md": text, ".gitignore": "nanomem*\n.nanobot\n"})
        git(found, "add", "-A")
        git(found, "commit", "-q", "-m", "x")
    return found


def in_git(workspace):
    return {where: data for where, data in planted.everything(workspace.parent) if "/.git/" in f"/{where}"}


def append(path, line):
    path.write_text(path.read_text() + line)


def staged(workspace):
    append(workspace / "USER.md", LINE)
    git(workspace, "add", "USER.md")
    write(workspace, {"USER.md": CLEAN})


def stashed(workspace):
    append(workspace / "USER.md", LINE)
    git(workspace, "stash", "-q")


def only_logged(workspace):
    git(workspace, "commit", "-q", "--allow-empty", "-m", f"learned password: {SECRET}")
    git(workspace, "reset", "-q", "--hard", "HEAD~1")


def in_a_note(workspace):
    git(workspace, "notes", "add", "-m", LINE)


def in_a_tag(workspace):
    git(workspace, "tag", "-a", "-m", LINE, "v1")


def packed(workspace):
    (workspace / "old.gz").write_bytes(gzip.compress(LINE.encode()))
    git(workspace, "add", "-f", "old.gz")
    (workspace / "old.gz").unlink()


def wide(workspace):
    (workspace / "wide.txt").write_bytes(LINE.encode("utf-16"))
    git(workspace, "add", "-f", "wide.txt")
    (workspace / "wide.txt").unlink()


@pytest.mark.parametrize("line", [("scrub", "--mask"), ("forget", "--text", SECRET)])
def test_the_command_is_told_and_no_byte_of_it_changes(workspace, run, line):
    git(workspace, "gc", "-q")
    run("scrub")  # what a first look makes of its own
    before = in_git(workspace)
    done = run(*line, "--yes")
    assert done.code == 1
    assert (
        f"nanomem writes no history anew: `git -C {shlex.quote(str(workspace))} filter-repo --force --replace-text FILE"
        in done.out
    )
    assert "In git: commit what is open first" in done.out
    assert in_git(workspace) == before


@pytest.mark.parametrize("put", [staged, stashed, only_logged, in_a_note, in_a_tag, packed, wide])
def test_what_no_branch_leads_to_is_found_too(put, tmp_path, monkeypatch, run):
    workspace = git_samples.small(tmp_path / "home").workspace
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(workspace))
    put(workspace)
    told = run("scrub")
    assert told.code == 1
    assert re.search(r"^\.git: .*password #\w+.*nanomem writes no history anew", told.out, re.MULTILINE)


@pytest.mark.parametrize("line", [("scrub", "--mask"), ("forget", "--text", SECRET)])
def test_the_option_that_wrote_it_anew_is_gone(workspace, run, line):
    done = run(*line, "--git", "--yes")
    assert (done.code, done.out) == (2, "")
    assert "no option '--git'" in done.err
    assert "--git" not in run(line[0], "--help").out


def test_a_git_that_is_a_file_is_told_as_not_looked_through(workspace, run):
    shutil.move(workspace / ".git", workspace.parent / "moved.git")
    (workspace / ".git").write_text("gitdir: ../moved.git\n")
    told = run("scrub")
    assert told.code == 1
    assert "Could not be looked through: .git: a .git that is no folder" in told.out


@pytest.mark.slow
def test_the_command_that_is_named_takes_all_of_it_out(workspace, run, tmp_path):
    stashed(workspace)
    only_logged(workspace)
    in_a_note(workspace)
    told = run("forget", "--text", SECRET, "--yes").out
    (tmp_path / "FILE").write_text(f"regex:(?i){SECRET}==>[forgotten]\n")
    (command,) = re.findall(r"`(git -C [^`]*)`", told)
    command = command.replace("FILE", str(tmp_path / "FILE"))
    found = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(command, shell=True, check=True, capture_output=True, cwd=tmp_path, env=found)
    assert planted.holding(workspace.parent, SECRET) == ["workspace/.git/COMMIT_EDITMSG"]
    assert "Left: .git: 1 time (nanomem writes no history anew" in run("forget", "--again", "--yes").out
    (workspace / ".git" / "COMMIT_EDITMSG").unlink()
    assert run("forget", "--again", "--yes").code == 0
    assert git(workspace, "stash", "list").count("\n") == 1


def test_the_doctor_names_what_leads_to_a_missing_object(workspace, run):
    linked = workspace.parent / "linked"
    git(workspace, "worktree", "add", "-q", "--detach", str(linked))
    git(linked, "commit", "-q", "--allow-empty", "-m", "in the worktree")
    stashed(workspace)
    git(workspace, "branch", "other", git(workspace, "commit-tree", "-m", "x", "HEAD^{tree}").strip())
    assert "missing" not in run("doctor").out
    for folder, name in ((workspace, "refs/stash"), (linked, "HEAD"), (workspace, "other")):
        sha = git(folder, "rev-parse", name).strip()
        (workspace / ".git" / "objects" / sha[:2] / sha[2:]).unlink()
    done = run("doctor")
    assert done.code == 1
    for name, what in ((".git: refs/stash", "the stash"), (".git: worktrees/linked/HEAD", "a linked worktree"),
                       (".git: refs/heads/other", "a ref")):  # fmt: skip
        assert f"{name}: {what} leads to a git object that is missing" in done.out
