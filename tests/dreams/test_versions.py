"""Every version of the memory files, on real repositories."""

import subprocess

import pytest

from nanomem_tui.core.errors import BadInput, NotFound, NothingToDo
from nanomem_tui.core.paths import TRACKED_FILES
from nanomem_tui.dreams.blame import NOW
from nanomem_tui.workspace import open_workspace
from tests.dreams.test_run import fresh


@pytest.fixture
def workspace(sample_copy):
    return sample_copy("nb035") / "home" / ".nanobot" / "workspace"


def git(workspace, *words):
    return subprocess.run(["git", *words], cwd=workspace, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_each_version_holds_what_git_says(workspace):
    shas = git(workspace, "rev-list", "--first-parent", "HEAD").split()
    with open_workspace(workspace) as ws:
        found = list(ws.dream.versions.newest_first())
        assert [version.sha for version in found if version.sha] == shas
        for sha in shas:
            for path in TRACKED_FILES:
                held = git(workspace, "ls-tree", sha, path)
                text = git(workspace, "show", f"{sha}:{path}") if held else None
                assert ws.dream.versions.text(sha[:10], path) == text
        for path in TRACKED_FILES:
            assert ws.dream.versions.text(NOW, path) == (workspace / path).read_text()


def test_where_no_versions_are_kept_there_is_only_now(tmp_path):
    on = fresh(tmp_path)
    (on.paths.workspace / "USER.md").write_text("- tea\n")
    assert list(on.dreams.versions.newest_first()) == []
    assert on.dreams.versions.text(NOW, "USER.md") == "- tea\n"
    with pytest.raises(NotFound):
        on.dreams.versions.text("abcdef12", "USER.md")


@pytest.mark.slow
def test_a_file_is_brought_back_byte_for_byte_as_one_operation(workspace):
    path = "memory/MEMORY.md"
    with open_workspace(workspace) as ws:
        for commit in ws.dream.commits()[::4]:
            held = git(workspace, "ls-tree", commit.sha, path)
            before = (workspace / path).read_bytes()
            if not held or git(workspace, "show", f"{commit.sha}:{path}").encode() == before:
                with pytest.raises((NothingToDo, NotFound)):
                    ws.dream.revert(commit.sha, path, as_of=True)
                continue
            done = ws.dream.revert(commit.sha, "MEMORY.md", as_of=True)
            assert (workspace / path).read_text() == git(workspace, "show", f"{commit.sha}:{path}")
            assert done.kind == "dream.restore"
            ws.undo()
            assert (workspace / path).read_bytes() == before


def test_bytes_that_are_no_text_are_not_brought_back_changed(workspace):
    (workspace / "USER.md").write_bytes(b"# User\n- \xff\n")
    git(workspace, "-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qam", "edit")
    sha = git(workspace, "rev-parse", "HEAD").strip()
    (workspace / "USER.md").write_text("# User\n")
    with open_workspace(workspace) as ws, pytest.raises(BadInput, match="UTF-8"):
        ws.dream.revert(sha, "USER.md", as_of=True)


def test_an_edit_that_no_commit_holds_is_named_before_it_is_lost(workspace):
    file = workspace / "USER.md"
    with open_workspace(workspace) as ws:
        oldest = [saved for saved in ws.dream.versions.of_file("USER.md") if saved.sha][-1]
        edited = file.read_text() + "- plays chess\n"
        file.write_text(edited)
        plan = ws.dream.revert_preview(oldest.sha, "USER.md", as_of=True)
        assert plan.loses_later
        assert plan.note.endswith("an edit that no commit holds yet is lost")
        assert {commit.sha for commit in plan.later_commits} == {
            saved.sha for saved in ws.dream.versions.of_file("USER.md") if saved.sha not in ("", oldest.sha)
        }
        ws.dream.revert(oldest.sha, "USER.md", as_of=True)
        assert file.read_text() == ws.dream.versions.text(oldest.sha, "USER.md")
        ws.undo()
        assert file.read_text() == edited


def test_only_one_file_alone_is_brought_back(workspace):
    with open_workspace(workspace) as ws:
        sha = ws.dream.commits()[5].sha
        for named in ({}, {"file": "USER.md", "whole": True}, {"file": "USER.md", "hunk": 0}):
            with pytest.raises(BadInput):
                ws.dream.revert_preview(sha, as_of=True, **named)


def test_the_versions_of_a_file_are_those_that_git_logs(workspace):
    (workspace / "USER.md").write_text((workspace / "USER.md").read_text() + "- plays chess\n")
    with open_workspace(workspace) as ws:
        for path in TRACKED_FILES:
            found = list(ws.dream.versions.of_file(path))
            shas = git(workspace, "log", "--first-parent", "--format=%H", "--", path).split()
            assert [saved.sha for saved in found] == ([NOW] if path == "USER.md" else []) + shas
            for saved in found[::5]:
                stats = {stat.path: (stat.added, stat.removed) for stat in ws.dream.commit(saved.sha or shas[0]).files}
                counted = ws.dream.versions.counts(saved, path)
                assert counted == (stats[path] if saved.sha else (1, 0))
