"""Memory files are edited and undone beside versions that cannot be read, and that no commit holds it is told."""

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.agents.git import DamagedGit
from nanomem_tui.core.errors import Refused
from nanomem_tui.core.operations import new_operation
from tests.store.git_samples import git, needs_git, small

pytestmark = needs_git
MEMORY = "memory/MEMORY.md"


def no_head(workspace):
    (workspace / ".git/HEAD").unlink()


def no_folder(workspace):
    lose(workspace, git(workspace, "rev-parse", "HEAD:memory").strip())


def not_followed(workspace):
    (workspace / ".git").rename(workspace / "elsewhere")
    (workspace / ".git").write_text("gitdir: elsewhere\n")


def lose(workspace, sha):
    (workspace / ".git/objects" / sha[:2] / sha[2:]).unlink()


@pytest.mark.parametrize("damage", [no_head, no_folder, not_followed])
def test_an_edit_beside_damaged_versions_is_made_undone_and_told(tmp_path, damage):
    paths = small(tmp_path)
    damage(paths.workspace)
    before = paths.memory_md.read_bytes()
    with open_workspace(paths.workspace) as ws:
        done = ws.documents.edit(MEMORY, "# Memory\n- mine\n")
        assert paths.memory_md.read_text() == "# Memory\n- mine\n"
        told = ws.documents.uncommitted(done)
        assert told is not None
        assert (told.where, told.severity) == (".git", "warning")
        assert "folder in the workspace" in told.fix if damage is not_followed else "git fsck" in told.fix
        undone = ws.undo()
        assert paths.memory_md.read_bytes() == before
        assert [ws.documents.uncommitted(operation) for operation in undone] == [told]


def test_an_edit_that_is_committed_is_not_told(tmp_path):
    paths = small(tmp_path)
    with open_workspace(paths.workspace) as ws:
        assert ws.documents.uncommitted(ws.documents.edit("USER.md", "# User\n- mine\n")) is None


def test_a_daily_note_beside_damaged_versions_needs_no_commit(tmp_path):
    paths = small(tmp_path)
    no_head(paths.workspace)
    with open_workspace(paths.workspace) as ws:
        assert ws.documents.uncommitted(ws.documents.edit("memory/2026-11-21.md", "# Today\n")) is None


@pytest.mark.parametrize("damage", [no_head, no_folder])
def test_what_is_to_have_a_commit_of_its_own_is_refused(tmp_path, damage):
    paths = small(tmp_path)
    damage(paths.workspace)
    before = paths.memory_md.read_bytes()
    with open_workspace(paths.workspace) as ws:
        change = ws.documents.change(MEMORY, "# Memory\n")
        with pytest.raises((Refused, DamagedGit)):
            ws.perform(new_operation("dream.run", "Dream", [change], meta={"commit": "dream: one"}))
    assert paths.memory_md.read_bytes() == before


def test_the_lost_text_of_the_last_version_keeps_no_edit_from_its_commit(tmp_path):
    paths = small(tmp_path)
    lose(paths.workspace, git(paths.workspace, "rev-parse", "HEAD:USER.md").strip())
    with open_workspace(paths.workspace) as ws:
        done = ws.documents.edit("USER.md", "# User\n- mine\n")
        assert ws.documents.uncommitted(done) is None
    assert git(paths.workspace, "show", "HEAD:USER.md") == "# User\n- mine\n"
