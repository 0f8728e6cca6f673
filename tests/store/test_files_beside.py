"""The file layer while somebody writes the same file between its last look and its rename: both changes are there."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nanomem_tui.agents.git_history import GitHistory
from nanomem_tui.core.errors import Conflict, DiskFull
from nanomem_tui.core.operations import new_operation
from nanomem_tui.store.files import layer as files_layer
from nanomem_tui.store.files.layer import FileLayer
from tests.store.git_samples import git, needs_git, small

pytestmark = needs_git
KEY = "USER.md"
OLD, OURS = "# User\n- a\n- b\n- c\n", "# User\n- a\n- b\n- c\n- ours\n"
THEIRS, BOTH = "# User\n- theirs\n- a\n- b\n- c\n", "# User\n- theirs\n- a\n- b\n- c\n- ours\n"
Write = Callable[[Path, str], None]


@pytest.fixture
def paths(tmp_path):
    """A workspace with a repository."""
    return small(tmp_path)


def by_truncation(path, text):
    path.write_text(text)


def renamed(path, text):
    fresh = path.with_name("fresh")
    fresh.write_text(text)
    fresh.replace(path)


WRITERS = pytest.mark.parametrize("write", [by_truncation, renamed])


def before_looks(monkeypatch, acts):
    """Do something when the n-th new file is durable, counted from 0, and the old one is about to be looked at."""
    real, count = os.fsync, [0]

    def fsync(handle):
        real(handle)
        if ".nanomem-tmp" in os.readlink(f"/proc/self/fd/{handle}"):
            count[0] += 1
            acts.get(count[0] - 1, lambda: None)()

    monkeypatch.setattr(os, "fsync", fsync)


def edit(paths, text=OURS):
    layer = FileLayer(paths, lambda: GitHistory.open(paths))
    operation = layer.edit_operation(KEY, text, "ours")
    layer.check(operation.changes)
    layer.apply(operation, operation.changes)
    return layer, operation


def told(paths, count):
    return git(paths.workspace, "log", f"-{count}", "--format=%s").splitlines()


@WRITERS
def test_both_lines_are_there_and_each_is_committed_on_its_own(paths, monkeypatch, write):
    before_looks(monkeypatch, {0: lambda: write(paths.user, THEIRS)})
    layer, operation = edit(paths)
    assert paths.user.read_text() == BOTH == git(paths.workspace, "show", f"HEAD:{KEY}")
    assert told(paths, 2) == ["nanomem: ours", "nanomem: keep what was edited outside"]
    assert git(paths.workspace, "show", f"HEAD^:{KEY}") == THEIRS
    back = new_operation("undo", "undo: ours", operation.inverse(), undoes=operation.id)
    layer.apply(back, back.changes)
    assert paths.user.read_text() == THEIRS


@WRITERS
def test_a_writer_that_comes_again_and_again_is_merged_as_often(paths, monkeypatch, write):
    more = THEIRS + "- more\n"
    before_looks(monkeypatch, {0: lambda: write(paths.user, THEIRS), 1: lambda: write(paths.user, more)})
    edit(paths, OURS.replace("# User\n", "# User\n- first\n").replace("- ours\n", ""))
    assert paths.user.read_text().splitlines() == ["# User", "- theirs", "- first", "- a", "- b", "- c", "- more"]


@WRITERS
def test_the_same_line_is_a_conflict_and_theirs_stays(paths, monkeypatch, write):
    theirs = OLD.replace("- b\n", "- b of theirs\n")
    before_looks(monkeypatch, {0: lambda: write(paths.user, theirs)})
    with pytest.raises(Conflict, match="line 3"):
        edit(paths, OLD.replace("- b\n", "- b of ours\n"))
    assert paths.user.read_text() == theirs
    assert "nanomem: ours" not in told(paths, 2)


def test_a_writer_in_the_middle_of_its_work_is_waited_for(paths, monkeypatch):
    opened: list[Any] = []
    before_looks(monkeypatch, {0: lambda: opened.append(paths.user.open("w"))})

    def finished(_):
        if not opened[0].closed:
            opened[0].write(THEIRS)
            opened[0].close()

    monkeypatch.setattr(time, "sleep", finished)
    edit(paths)
    assert paths.user.read_text() == BOTH


def test_one_that_never_ends_is_a_conflict(paths, monkeypatch):
    def begun(path, _=0):
        with path.open("a") as file:
            file.write("- and on\n")

    before_looks(monkeypatch, {number: lambda: begun(paths.user) for number in range(20)})
    with pytest.raises(Conflict, match="changed meanwhile"):
        edit(paths, OLD.replace("# User", "# Me"))
    assert paths.user.read_text().startswith(OLD + "- and on\n- and on\n")
    assert list(paths.workspace.glob("*.nanomem-*")) == []


def test_what_was_merged_stays_when_the_rest_cannot_be_done(paths, monkeypatch):
    layer = FileLayer(paths, lambda: GitHistory.open(paths))
    changes = [layer.change(KEY, OURS), layer.change("memory/.dream_cursor", "40")]
    before_looks(monkeypatch, {0: lambda: renamed(paths.user, THEIRS), 2: _full})
    with pytest.raises(DiskFull):
        layer.apply(new_operation("dream.run", "Dream", changes), changes)
    assert (paths.user.read_text(), paths.dream_cursor.read_text()) == (THEIRS, "20")
    assert git(paths.workspace, "show", f"HEAD:{KEY}") == THEIRS
    assert git(paths.workspace, "show", "HEAD:memory/.dream_cursor") == "20"


def _full():
    raise OSError(28, "No space left on device")


def test_a_line_written_after_ours_stays_when_the_rest_cannot_be_done(paths, monkeypatch):
    def commit(*_, **__):
        paths.user.write_text(BOTH)
        raise DiskFull("no space left")

    monkeypatch.setattr(GitHistory, "commit_files", commit)
    with pytest.raises(DiskFull):
        edit(paths)
    assert paths.user.read_text() == THEIRS


def test_a_file_that_is_to_go_and_is_written_meanwhile_stays_with_what_is_new(paths, monkeypatch):
    layer = FileLayer(paths, lambda: GitHistory.open(paths))
    note = paths.memory / "2026-11-21.md"
    note.write_text("- ours\n")
    real, left = os.unlink, ["- ours\n- theirs\n"]

    def unlink(path, **options):
        if path == note and left:
            note.write_text(left.pop())
        real(path, **options)

    monkeypatch.setattr(os, "unlink", unlink)
    changes = [layer.change("memory/2026-11-21.md", None)]
    layer.apply(new_operation("file.edit", "remove", changes), changes)
    assert note.read_text() == "- theirs\n"


@WRITERS
def test_ours_is_made_again_in_what_was_written_over_it_from_the_text_before(paths, monkeypatch, write):
    monkeypatch.setattr(files_layer, "wait_for_stale", lambda _: write(paths.user, THEIRS))
    layer, operation = edit(paths)
    assert paths.user.read_text() == BOTH == git(paths.workspace, "show", f"HEAD:{KEY}")
    again, kept, ours = told(paths, 3)
    assert (again, kept, ours) == (
        "nanomem: make a change again that was written over", "nanomem: keep what was edited outside", "nanomem: ours",
    )  # fmt: skip
    assert layer.commit_of(operation) == git(paths.workspace, "rev-parse", "HEAD").strip()
    monkeypatch.undo()
    back = new_operation("undo", "undo: ours", operation.inverse(), undoes=operation.id)
    layer.apply(back, back.changes)
    assert paths.user.read_text() == THEIRS


def test_a_line_that_went_and_was_written_back_from_the_text_before_goes_again(paths, monkeypatch):
    monkeypatch.setattr(files_layer, "wait_for_stale", lambda _: paths.user.write_text(THEIRS))
    edit(paths, OLD.replace("- b\n", ""))
    assert paths.user.read_text() == THEIRS.replace("- b\n", "")


@pytest.mark.parametrize("later", [BOTH, OURS + "- more\n", OURS.replace("- a\n", "")])
def test_what_somebody_made_of_ours_stays_as_it_is(paths, monkeypatch, later):
    monkeypatch.setattr(files_layer, "wait_for_stale", lambda _: paths.user.write_text(later))
    edit(paths)
    assert paths.user.read_text() == later
    assert told(paths, 1) == ["nanomem: ours"]


def test_where_both_changed_one_line_theirs_stays_and_ours_is_in_the_history(paths, monkeypatch):
    theirs = OLD.replace("- b\n", "- b of theirs\n")
    monkeypatch.setattr(files_layer, "wait_for_stale", lambda _: paths.user.write_text(theirs))
    edit(paths, OLD.replace("- b\n", "- b of ours\n"))
    assert paths.user.read_text() == theirs
    assert "- b of ours" in git(paths.workspace, "show", f"HEAD:{KEY}")
