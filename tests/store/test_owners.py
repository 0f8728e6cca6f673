"""A file belongs to the user whose agent works there, whoever writes it; where that cannot be, nothing is written."""

import os
import shutil

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import atomic
from nanomem_tui.core.errors import AccessDenied, Refused
from tests.dreams.pipeline import Bench
from tests.store.git_samples import git, needs_git, small

AGENT, GROUP = 12345, 12346
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


def given(folder):
    """The folder and all in it, handed to the user of the agent."""
    for path in (folder, *folder.rglob("*")):
        os.chown(path, AGENT, GROUP, follow_symlinks=False)
    return folder


def others(folder):
    """What in the folder is not the agent's."""
    found = ((path, path.lstat()) for path in (folder, *folder.rglob("*")))
    return [path for path, stat in found if (stat.st_uid, stat.st_gid) != (AGENT, GROUP)]


@needs_root
def test_what_replaces_a_file_and_what_is_new_belong_to_the_agent(tmp_path):
    folder = tmp_path / "home"
    folder.mkdir()
    given(folder)
    old = folder / "old"
    old.write_bytes(b"one")
    old.chmod(0o640)
    os.chown(old, AGENT + 7, GROUP + 7)
    for expected in (None, atomic.sha256(b"two")):
        atomic.write_atomic(old, b"two", expected=expected)
        found = old.stat()
        assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (AGENT + 7, GROUP + 7, 0o640)
    old.unlink()
    atomic.write_atomic(folder / "new", b"")
    atomic.make_folder(folder / "made/deep")
    atomic.append_line(folder / "log", b"line\n")
    with atomic.locked(folder / "lock"):
        pass
    assert others(folder) == []


@needs_root
def test_in_a_folder_for_everybody_a_new_file_stays_ours(tmp_path):
    folder = tmp_path / "shared"
    folder.mkdir()
    given(folder).chmod(0o1777)
    atomic.write_atomic(folder / "ours", b"private")
    assert (folder / "ours").stat().st_uid == os.geteuid()


@needs_root
@needs_git
@pytest.mark.parametrize("versioned", [True, False])
def test_a_dream_by_root_leaves_everything_to_the_agent(tmp_path, versioned):
    paths = small(tmp_path)
    (paths.workspace / "USER.md").chmod(0o600)
    if not versioned:
        shutil.rmtree(paths.workspace / ".git")
    given(tmp_path)
    on = Bench(paths)
    on.remember("- User prefers tea", first=21)
    given(tmp_path)
    on.dreams.run()
    assert on.texts()["USER.md"].endswith("- User prefers tea\n")
    assert others(tmp_path) == []
    assert (paths.workspace / "USER.md").stat().st_mode & 0o777 == 0o600


@pytest.mark.sqlite("the file itself")
@needs_root
def test_what_root_remembers_and_checkpoints_is_the_agents(tmp_path):
    workspace = tmp_path / "home/workspace"
    (workspace / "memory").mkdir(parents=True)
    (tmp_path / "home/config.json").write_text("{}")
    given(tmp_path)
    with open_workspace(workspace) as ws:
        ws.items.add("Ana likes tea")
        ws.flush()
    assert ws.paths.database.exists()
    assert others(tmp_path) == []


@needs_git
def test_who_may_not_keep_the_owner_is_refused_before_anything_is_changed(tmp_path, monkeypatch):
    on = Bench(small(tmp_path))
    on.remember("- User prefers tea", first=21)
    before = {path: path.read_bytes() for path in on.paths.workspace.rglob("*") if path.is_file()}
    owner = os.stat(on.paths.user).st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)  # we are somebody else
    with pytest.raises(Refused, match=rf"belongs to another user \(uid {owner}\).*run this as that user, or as root"):
        on.dreams.run()
    after = {path: path.read_bytes() for path in on.paths.workspace.rglob("*") if path.is_file()}
    assert after == before


@needs_root
@needs_git
def test_a_branch_of_another_user_is_not_moved(tmp_path, monkeypatch):
    paths = small(tmp_path)
    given(tmp_path)
    branch = git(paths.workspace, "symbolic-ref", "HEAD").strip()
    os.chown(paths.workspace / ".git" / branch, AGENT + 1, GROUP)
    monkeypatch.setattr(os, "geteuid", lambda: AGENT)
    monkeypatch.setattr(os, "getegid", lambda: GROUP)
    with open_workspace(paths.workspace) as ws, pytest.raises(Refused, match=rf"another user .*\.git/{branch}"):
        ws.documents.edit("USER.md", "other\n")
    assert "other" not in paths.user.read_text()


@needs_root
def test_a_write_that_may_not_keep_the_owner_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"theirs")
    os.chown(path, AGENT, GROUP)
    monkeypatch.setattr(os, "fchown", _refuse)
    with pytest.raises(AccessDenied, match="check the owner"):
        atomic.write_atomic(path, b"ours")
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"theirs", ["file"])


@needs_root
@pytest.mark.parametrize(("mode", "counts"), [(0o660, True), (0o644, False), (0o600, False), (0o640, True)])
def test_a_group_that_has_rights_is_kept_or_the_write_is_refused(tmp_path, monkeypatch, mode, counts):
    path = tmp_path / "file"
    path.write_bytes(b"theirs")
    path.chmod(mode)
    os.chown(path, os.geteuid(), GROUP)
    monkeypatch.setattr(os, "fchown", _refuse)
    if counts:
        with pytest.raises(AccessDenied):
            atomic.write_atomic(path, b"ours")
    else:
        atomic.write_atomic(path, b"ours")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"theirs" if counts else b"ours", mode)
    os.chown(path, AGENT, GROUP)
    monkeypatch.setattr(os, "geteuid", lambda: AGENT)
    if counts:
        with pytest.raises(Refused, match=rf"a group that you are not in \(gid {GROUP}\)"):
            atomic.refuse_foreign(path, "file")
    else:
        atomic.refuse_foreign(path, "file")


def _refuse(*_):
    raise PermissionError(1, "Operation not permitted")
