"""A repository that is damaged, planted with what is no file, or changed by others at the worst moment."""

from __future__ import annotations

import os
import threading

import pytest

from nanomem_tui.agents import git as agents_git
from nanomem_tui.agents import git_history
from nanomem_tui.agents.git import DamagedGit, Head
from nanomem_tui.agents.git_history import GitHistory
from tests.store.git_samples import git, needs_git, small

pytestmark = needs_git


def opened(paths):
    history = GitHistory.open(paths)
    assert history is not None
    return history


def ended(work):
    """Whether `work` ends, however, before long: one that waits for a pipe never does."""

    def run():
        with pytest.raises(Exception, match=r".*"):
            work()
            raise ValueError

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(20)
    return not thread.is_alive()


@pytest.mark.parametrize("content", [b"", b"junk\n"])
def test_damaged_packed_refs_are_told_when_a_commit_is_made(tmp_path, content):
    paths = small(tmp_path)
    (paths.workspace / ".git/packed-refs").write_bytes(content)
    with pytest.raises(DamagedGit, match="the branches of the git repository cannot be read"):
        opened(paths).commit_files({"USER.md": b"x\n"}, "nanomem: edit")
    assert not list((paths.workspace / ".git").rglob("*.lock"))


def test_a_file_in_the_place_of_the_packs_is_told(tmp_path):
    paths = small(tmp_path)
    head = opened(paths).head() or ""
    packs, loose = paths.workspace / ".git/objects/pack", paths.workspace / ".git/objects" / head[:2] / head[2:]
    packs.rmdir()
    packs.write_bytes(b"")
    loose.chmod(0o644)
    loose.write_bytes(b"junk")
    with pytest.raises(DamagedGit):
        GitHistory(paths.workspace / ".git").raw(head)


@pytest.mark.parametrize("content", [b"", b"junk\n", None])
def test_a_branch_that_cannot_be_read_is_never_taken_from_older_packed_refs(tmp_path, content):
    paths = small(tmp_path)
    git(paths.workspace, "pack-refs", "--all")
    history = opened(paths)
    history.commit_files({"USER.md": b"newer\n"}, "nanomem: edit")
    branch = paths.workspace / ".git/refs/heads/main"
    branch.unlink()
    if content is None:
        branch.symlink_to("gone")
    else:
        branch.write_bytes(content)
    with pytest.raises(DamagedGit, match="a git branch that cannot be read"):
        history.commit_files({"USER.md": b"x\n"}, "nanomem: edit")
    branch.unlink()
    branch.mkdir()  # as git leaves it of a branch main/x
    assert history.head() is not None


def test_an_index_that_is_interrupted_while_it_is_written_stays_as_it_was(tmp_path, monkeypatch):
    import dulwich.index

    paths = small(tmp_path)
    index = (paths.workspace / ".git/index").read_bytes()

    def interrupted(file, *_, **__):
        file.write(b"DIRC half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(dulwich.index, "write_index_dict", interrupted)
    with pytest.raises(KeyboardInterrupt):
        opened(paths).commit_files({"USER.md": b"x\n"}, "nanomem: edit")
    assert (paths.workspace / ".git/index").read_bytes() == index
    assert not (paths.workspace / ".git/index.lock").exists()


@pytest.mark.parametrize("name", ["HEAD", "refs/heads/main", "refs/heads/other", "packed-refs", "index", "logs/HEAD",
                                  "object", "worktrees/x/HEAD"])  # fmt: skip
def test_a_pipe_in_the_place_of_a_file_of_git_blocks_nobody(tmp_path, name):
    paths = small(tmp_path)
    history = opened(paths)
    head = history.head() or ""
    path = paths.workspace / ".git" / (f"objects/{head[:2]}/{head[2:]}" if name == "object" else name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    assert ended(lambda: list(GitHistory(paths.workspace / ".git").missing()))
    assert ended(lambda: GitHistory(paths.workspace / ".git").commit_files({"USER.md": b"x\n"}, "nanomem: edit"))
    assert ended(lambda: git_history.find_repository(paths))
    assert ended(lambda: agents_git.staged(paths.workspace / ".git"))


@pytest.mark.parametrize("noted", ["refs/heads/away/main", "\udcff", "index"])
def test_a_note_removes_no_lock_outside_of_the_repository_and_stops_no_commit(tmp_path, noted):
    paths = small(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    (paths.workspace / ".git/refs/heads/away").symlink_to(outside)
    (paths.workspace / ".git/nanomem-locks").write_bytes(os.fsencode(noted))
    (paths.workspace / ".git/index.lock").mkdir()
    (outside / "main.lock").write_bytes(b"")
    sha = opened(paths).commit_files({"USER.md": b"x\n"}, "nanomem: edit")
    assert opened(paths).head() == sha
    assert (outside / "main.lock").exists()


def test_a_branch_that_was_left_meanwhile_gets_no_commit(tmp_path):
    paths = small(tmp_path)
    git_dir = paths.workspace / ".git"
    head = agents_git.read_head(git_dir)
    git(paths.workspace, "checkout", "-q", "-b", "other")
    first = git(paths.workspace, "rev-parse", "HEAD~1").strip()
    assert agents_git.move_branch(git_dir, head, first) is False
    assert git(paths.workspace, "rev-parse", "main", "other").split() == [head.sha, head.sha]
    assert agents_git.move_branch(git_dir, Head("refs/heads/other", head.sha), first) is True


def test_an_object_that_is_there_is_fsynced_and_an_empty_one_is_written_again(tmp_path, monkeypatch):
    paths = small(tmp_path)
    there, empty = (git(paths.workspace, "hash-object", "-w", "--stdin", given=text).strip() for text in ("x\n", "y\n"))
    path = paths.workspace / ".git/objects" / empty[:2] / empty[2:]
    path.chmod(0o644)
    path.write_bytes(b"")
    synced: list[str] = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda h: (synced.append(os.readlink(f"/proc/self/fd/{h}")), real(h))[1])
    opened(paths).commit_files({"USER.md": b"x\n", "SOUL.md": b"y\n"}, "nanomem: edit")
    assert any(name.endswith(f"objects/{there[:2]}/{there[2:]}") for name in synced)
    assert git(paths.workspace, "show", "HEAD:SOUL.md") == "y\n"


def test_a_folder_without_a_head_among_the_worktrees_hides_no_ref(tmp_path):
    paths = small(tmp_path)
    (paths.workspace / ".git/worktrees/pruned").mkdir(parents=True)
    assert "refs/heads/main" in agents_git.refs(paths.workspace / ".git")
