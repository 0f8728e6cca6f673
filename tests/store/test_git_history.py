"""The git history: read as the real git reads it, extended so that the real git agrees."""

from __future__ import annotations

import gc
import os
import stat
import threading
from pathlib import Path

import pytest

from nanomem_tui.agents import git as agents_git
from nanomem_tui.agents import git_history
from nanomem_tui.agents.git_history import GitHistory
from nanomem_tui.core.errors import Conflict, NotFound, Refused
from nanomem_tui.core.paths import find_workspace
from tests.store.git_samples import git, needs_git, sample, small, write

pytestmark = needs_git


def opened(paths):
    history = GitHistory.open(paths)
    assert history is not None
    return history


@pytest.mark.parametrize(("name", "commits", "dreams"), [("nb035", 22, 20), ("v0_1_5", 13, 11)])
def test_the_commits_of_real_agents_are_those_that_git_lists(tmp_path, name, commits, dreams):
    paths = sample(name, tmp_path)
    found = opened(paths).commits()
    log = git(paths.workspace, "log", "--format=%H|%an <%ae>|%s|%ct").strip().split("\n")
    assert [commit.sha for commit in found] == [row.split("|")[0] for row in log]
    assert [(commit.author, commit.subject) for commit in found] == [tuple(row.split("|")[1:3]) for row in log]
    assert len(found) == commits
    assert sum(commit.is_dream for commit in found) == dreams
    assert {commit.actor for commit in found} == {"dream", "agent"}


@pytest.mark.parametrize("name", ["nb035", "v0_1_5"])
def test_the_line_counts_are_those_of_git(tmp_path, name):
    paths = sample(name, tmp_path)
    for commit in opened(paths).commits():
        rows = git(paths.workspace, "show", "--numstat", "--format=", commit.sha).strip().split("\n")
        expected = {row.split("\t")[2]: tuple(map(int, row.split("\t")[:2])) for row in rows if row}
        assert {s.path: (s.added, s.removed) for s in commit.files} == expected


def test_the_cursor_and_the_entries_of_each_dream_are_told(tmp_path):
    history = opened(sample("nb035", tmp_path))
    dream = history.commit("51617caa")
    assert (dream.cursor_before, dream.cursor_after, dream.entries) == (252, 265, 13)
    revert = history.commit("a303f8f1")
    assert (revert.actor, revert.is_dream, revert.entries) == ("agent", False, None)
    assert revert.cursor_after == 202
    assert [d.path for d in history.diff("51617caa")] == ["USER.md", "memory/.dream_cursor"]


def test_a_short_id_of_an_old_release_is_decoded(tmp_path):
    history = opened(sample("v0_1_5", tmp_path))
    assert history.commit("33353532").short == "355216c5"
    assert history.commit("355216c541147791a5eca3a02280bcae66b643aa").short == "355216c5"
    for wrong in ("deadbeef", "zz", "", "3", "../HEAD"):
        with pytest.raises(NotFound):
            history.commit(wrong)


def test_a_diff_shows_the_texts_and_hunks_of_a_commit(tmp_path):
    paths = small(tmp_path)
    history = opened(paths)
    user = next(d for d in history.diff(history.commits()[0].sha) if d.path == "USER.md")
    assert (user.before, user.after) == ("# User\n- a\n- b\n", "# User\n- a\n- b\n- c\n")
    assert [(line.tag, line.text) for line in user.hunks[0].lines][-1] == ("insert", "- c")
    assert user.unified().endswith("+- c\n")
    assert history.file_at(history.commits()[1].sha, "USER.md") == b"# User\n- a\n- b\n"
    assert history.file_at(history.commits()[1].sha, "memory/.dream_cursor") is None


def test_packed_objects_and_packed_refs_are_read_and_extended(tmp_path):
    paths = sample("nb035", tmp_path)
    git(paths.workspace, "gc", "-q", "--prune=now")
    git(paths.workspace, "pack-refs", "--all")
    assert not (paths.workspace / ".git/refs/heads/master").exists()
    history = opened(paths)
    assert len(history.commits()) == 22
    assert sum(stat.added for commit in history.commits() for stat in commit.files) > 50
    history.commit_files({"USER.md": b"new\n"}, "nanomem: x")
    assert len(opened(paths).commits()) == 23
    assert git(paths.workspace, "fsck", "--strict", "--full") == ""


def test_a_commit_of_ours_is_right_for_git_and_leaves_a_clean_status(tmp_path):
    paths = sample("nb035", tmp_path)
    before = git(paths.workspace, "status", "--porcelain")
    history = opened(paths)
    head = history.head()
    write(paths.workspace, {"USER.md": "# User\n- only\n", "memory/MEMORY.md": "# M\n- ü 你\n"})
    sha = history.commit_files(
        {"USER.md": b"# User\n- only\n", "memory/MEMORY.md": "# M\n- ü 你\n".encode(), "memory/.dream_cursor": b"202"},
        "nanomem: edit USER.md\n\nbody ünï",
    )
    assert git(paths.workspace, "rev-parse", "HEAD").strip() == sha
    assert git(paths.workspace, "rev-parse", "HEAD~1").strip() == head
    shown = git(paths.workspace, "show", "--stat", "--format=%an|%ae|%s|%b").strip()
    assert shown.startswith("nanomem|nanomem@localhost|nanomem: edit USER.md|body ünï")
    assert ".dream_cursor" not in shown
    assert git(paths.workspace, "ls-tree", "-r", "--name-only", "HEAD").split() == [
        ".gitignore", "SOUL.md", "USER.md", "memory/.dream_cursor", "memory/MEMORY.md",
    ]  # fmt: skip
    assert git(paths.workspace, "fsck", "--strict", "--full") == ""
    assert git(paths.workspace, "status", "--porcelain") == before
    assert "commit: nanomem: edit USER.md" in git(paths.workspace, "reflog", "-1")
    assert not list(paths.workspace.rglob("*.lock"))
    assert not list(paths.workspace.rglob("*nanomem*tmp"))


def test_the_agents_own_way_to_commit_works_after_ours(tmp_path):
    """Stage the tracked files with dulwich, look at the status, commit: what the agent does after a Dream."""
    from dulwich import porcelain

    paths = sample("nb035", tmp_path)
    opened(paths).commit_files({"USER.md": b"ours\n"}, "nanomem: edit")
    write(paths.workspace, {"USER.md": "ours\n", "SOUL.md": "agent\n"})
    root = str(paths.workspace)
    porcelain.add(root, paths=[str(paths.workspace / n) for n in git_history.VERSIONED])
    staged = porcelain.status(root).staged
    assert [name for names in staged.values() for name in names] == [b"SOUL.md"]
    porcelain.commit(root, message=b"dream: manual run", author=b"nanobot <nanobot@dream>")
    newest = opened(paths).commits()[0]
    assert [stat.path for stat in newest.files] == ["SOUL.md"]
    assert opened(paths).file_at(newest.sha, "USER.md") == b"ours\n"


def test_an_entry_that_a_person_staged_stays_staged(tmp_path):
    paths = small(tmp_path)
    write(paths.workspace, {"USER.md": "staged\n"})
    git(paths.workspace, "add", "USER.md")
    opened(paths).commit_files({"USER.md": b"ours\n", "SOUL.md": b"ours\n"}, "nanomem: edit")
    assert git(paths.workspace, "show", ":USER.md") == "staged\n"
    assert git(paths.workspace, "show", ":SOUL.md") == "ours\n"


def test_a_removed_file_leaves_tree_and_index(tmp_path):
    paths = small(tmp_path)
    (paths.workspace / "memory/.dream_cursor").unlink()
    (paths.workspace / "memory/MEMORY.md").unlink()
    opened(paths).commit_files({"memory/.dream_cursor": None, "memory/MEMORY.md": None, "no": None}, "nanomem: remove")
    assert git(paths.workspace, "ls-tree", "-r", "--name-only", "HEAD").split() == ["SOUL.md", "USER.md"]
    assert git(paths.workspace, "status", "--porcelain") == ""


def test_nothing_to_commit_leaves_head(tmp_path):
    history = opened(small(tmp_path))
    assert history.commit_files({"SOUL.md": b"# Soul\n- calm\n"}, "nanomem: same") == history.head()
    assert len(history.commits()) == 2


def test_a_held_index_lock_stops_no_commit_and_stays(tmp_path):
    paths = small(tmp_path)
    held = paths.workspace / ".git/index.lock"
    held.write_bytes(b"")
    index = (paths.workspace / ".git/index").read_bytes()
    sha = opened(paths).commit_files({"USER.md": b"x\n"}, "nanomem: edit")
    assert opened(paths).head() == sha
    assert held.exists()
    assert (paths.workspace / ".git/index").read_bytes() == index


def test_a_foreign_ref_lock_refuses_and_stays(tmp_path, monkeypatch):
    paths = small(tmp_path)
    held = paths.workspace / ".git/refs/heads/main.lock"
    held.write_bytes(b"")
    head = opened(paths).head()
    monkeypatch.setattr(agents_git.time, "monotonic", iter(range(0, 1000, 3)).__next__)
    with pytest.raises(Refused, match="locked"):
        opened(paths).commit_files({"USER.md": b"x\n"}, "nanomem: edit")
    assert held.exists()
    assert opened(paths).head() == head


def test_a_detached_head_moves_and_the_branch_stays(tmp_path):
    paths = small(tmp_path)
    git(paths.workspace, "checkout", "-q", "--detach")
    branch = git(paths.workspace, "rev-parse", "main")
    sha = opened(paths).commit_files({"USER.md": b"x\n"}, "nanomem: edit")
    assert git(paths.workspace, "rev-parse", "HEAD").strip() == sha
    assert git(paths.workspace, "rev-parse", "main") == branch
    assert git(paths.workspace, "symbolic-ref", "-q", "HEAD", check=False) == ""


def test_when_head_moves_meanwhile_the_commit_goes_on_top_unless_the_file_changed(tmp_path, monkeypatch):
    paths = small(tmp_path)
    history = opened(paths)
    real = agents_git.move_branch

    def late(*given):
        """Somebody is quicker, once."""
        monkeypatch.setattr(agents_git, "move_branch", real)
        opened(paths).commit_files({"SOUL.md": f"agent {len(history.commits())}\n".encode()}, "dream: other")
        return real(*given)

    monkeypatch.setattr(agents_git, "move_branch", late)
    sha = history.commit_files({"USER.md": b"ours\n"}, "nanomem: edit")
    assert sha == git(paths.workspace, "rev-parse", "HEAD").strip()
    assert (history.file_at(sha, "SOUL.md") or b"").startswith(b"agent")
    monkeypatch.setattr(agents_git, "move_branch", late)
    with pytest.raises(Conflict) as caught:
        history.commit_files({"SOUL.md": b"ours\n"}, "nanomem: edit")
    assert caught.value.where == "SOUL.md"
    assert history.file_at(history.head() or "", "SOUL.md") != b"ours\n"


def test_two_writers_lose_no_commit(tmp_path):
    paths = small(tmp_path)

    def work(name):
        history = opened(paths)
        for number in range(8):
            history.commit_files({name: f"{name} {number}\n".encode()}, f"nanomem: {name} {number}")

    threads = [threading.Thread(target=work, args=(name,)) for name in ("SOUL.md", "USER.md", "memory/MEMORY.md")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened(paths).commits()) == 2 + 24
    assert git(paths.workspace, "fsck", "--strict", "--no-dangling") == ""


def test_planted_hooks_filters_monitors_and_includes_never_run(tmp_path):
    paths = small(tmp_path)
    trap = tmp_path / "trap"
    script = f"#!/bin/sh\ntouch {trap}\n"
    for name in ("pre-commit", "post-commit", "reference-transaction", "post-index-change", "commit-msg"):
        hook = paths.workspace / ".git/hooks" / name
        hook.write_text(script)
        hook.chmod(hook.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "run").write_text(script)
    (tmp_path / "run").chmod(0o755)
    (tmp_path / "included").write_text(f"[core]\n\tfsmonitor = {tmp_path}/run\n")
    config = paths.workspace / ".git/config"
    run = f"{tmp_path}/run"
    planted = (
        f"[core]\n\tfsmonitor = {run}\n\thooksPath = .git/hooks\n\tworktree = /\n[include]\n"
        f"\tpath = {tmp_path}/included\n"
        f'[filter "x"]\n\tclean = {run}\n\tsmudge = {run}\n[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = {run}\n'
        f'[diff "x"]\n\ttextconv = {run}\n\tcommand = {run}\n[user]\n\tname = evil\n'
    )
    config.write_text(config.read_text() + planted)
    (paths.workspace / ".gitattributes").write_text("* filter=x diff=x\n")
    history = opened(paths)
    history.commit_files({"USER.md": b"x\n"}, "nanomem: edit")
    assert [commit.files for commit in history.commits()]
    assert history.diff(history.commits()[0].sha)
    assert history.commits()[0].author == git_history.AUTHOR
    assert not trap.exists()


@pytest.mark.parametrize(
    "plant",
    [
        lambda g: (g / "HEAD").unlink(),
        lambda g: (g / "HEAD").write_text("ref: refs/heads/../../../evil"),
        lambda g: (g / "HEAD").write_bytes(b"\xff\0\n"),
        lambda g: (g / "HEAD").write_text("f" * 40),
        lambda g: (g / "refs/heads/main").write_text("not an id\n"),
        lambda g: (g / "refs/heads/main").write_bytes(b""),
        lambda g: (g / "objects").rename(g / "elsewhere"),
        lambda g: [p.chmod(0o644) or p.write_bytes(b"junk") for p in (g / "objects").rglob("*") if len(p.name) == 38],
    ],
)  # fmt: skip
def test_a_broken_repository_is_a_problem_and_no_crash(tmp_path, plant):
    paths = small(tmp_path)
    plant(paths.workspace / ".git")
    found = git_history.find_repository(paths)
    assert found.history is None
    assert [problem.where for problem in found.problems] == [".git"]
    assert GitHistory.open(paths) is None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # older dulwich leaves the pack open
@needs_git
@pytest.mark.parametrize("damage", [lambda data: data[: len(data) // 2], lambda data: data[:20], lambda _: b""])
@pytest.mark.parametrize("suffix", ["pack", "idx"])
def test_a_cut_pack_is_a_damaged_repository_and_its_file_is_named(tmp_path, suffix, damage):
    paths = small(tmp_path)
    git(paths.workspace, "gc", "-q")
    pack = next((paths.workspace / ".git/objects/pack").glob(f"*.{suffix}"))
    pack.chmod(0o644)
    pack.write_bytes(damage(pack.read_bytes()))
    found = git_history.find_repository(paths)
    assert found.history is None
    assert [(problem.where, problem.fix) for problem in found.problems] == [(".git", git_history.MENDING)]
    assert f"objects/pack/{pack.name}" in found.problems[0].what
    gc.collect()


@pytest.mark.parametrize("packed", [False, True])
def test_a_head_that_names_another_branch_hides_no_history(tmp_path, packed):
    """One flipped bit in HEAD: `refs/heads/main` becomes `refs/heads/lain`, which git takes for a new branch."""
    paths = small(tmp_path)
    if packed:
        git(paths.workspace, "pack-refs", "--all")
    git(paths.workspace, "symbolic-ref", "HEAD", "refs/heads/lain")
    found = git_history.find_repository(paths)
    assert found.history is None
    assert "lain, which has no commit, while refs/heads/main has" in found.problems[0].what
    assert found.problems[0].fix == "`git symbolic-ref HEAD refs/heads/main` goes back to it"
    git(paths.workspace, "symbolic-ref", "HEAD", "refs/heads/main")
    assert len(opened(paths).commits()) == 2


def test_a_git_file_and_a_git_link_out_of_the_workspace_are_not_followed(tmp_path):
    paths = small(tmp_path)
    (paths.workspace / ".git").rename(tmp_path / "outside")
    (paths.workspace / ".git").write_text(f"gitdir: {tmp_path}/outside\n")
    assert "no folder" in git_history.find_repository(paths).problems[0].what
    (paths.workspace / ".git").unlink()
    (paths.workspace / ".git").symlink_to(tmp_path / "outside")
    assert "leads out" in git_history.find_repository(paths).problems[0].what


def test_without_a_repository_there_is_neither_history_nor_problem(tmp_path):
    (tmp_path / "memory").mkdir()
    assert git_history.find_repository(find_workspace(tmp_path)) == git_history.Repository(None)


def test_a_shallow_or_damaged_past_shows_what_can_be_read(tmp_path):
    paths = small(tmp_path)
    first = opened(paths).commits()[1].sha
    lost = paths.workspace / ".git/objects" / first[:2] / first[2:]
    lost.unlink()
    assert [commit.subject for commit in opened(paths).commits()] == ["dream: manual run"]


def test_a_repository_inside_memory_is_read_and_extended(tmp_path):
    memory = tmp_path / "workspace/memory"
    memory.mkdir(parents=True)
    (memory / "MEMORY.md").write_text("# M\n")
    git(memory, "init", "-q")
    git(memory, "add", "-A")
    git(memory, "commit", "-q", "-m", "dream: first")
    paths = find_workspace(tmp_path / "workspace")
    history = opened(paths)
    assert [stat.path for stat in history.commits()[0].files] == ["memory/MEMORY.md"]
    assert history.tracks("memory/MEMORY.md")
    assert not history.tracks("USER.md")
    sha = history.commit_files({"memory/MEMORY.md": b"# N\n", "memory/.dream_cursor": b"3"}, "dream: second")
    assert sha
    assert history.file_at(sha, "memory/MEMORY.md") == b"# N\n"
    assert git(memory, "ls-tree", "-r", "--name-only", "HEAD").split() == [".dream_cursor", "MEMORY.md"]


@needs_git
def test_files_beside_memory_md_in_a_repository_inside_memory_move_none_of_its_files(tmp_path):
    workspace = tmp_path / "workspace"
    memory = workspace / "memory"
    memory.mkdir(parents=True)
    git(memory, "init", "-q", "-b", "main")
    write(memory, {"MEMORY.md": "# M\n", "SOUL.md": "# Soul\n", "USER.md": "# User\n"})
    git(memory, "add", "-A")
    git(memory, "commit", "-q", "-m", "init: nanobot memory store")
    write(memory, {"MEMORY.md": "# M\n- Cat: Mimi\n"})
    git(memory, "commit", "-q", "-a", "-m", "dream: 3 entries")
    history = opened(find_workspace(workspace))
    newest = history.commits()[0]
    assert [(stat.path, stat.added) for stat in newest.files] == [("memory/MEMORY.md", 1)]
    assert history.file_at(newest.sha, "memory/MEMORY.md") == b"# M\n- Cat: Mimi\n"
    assert not history.tracks("SOUL.md")  # that of the workspace is another file
    history.commit_files({"memory/MEMORY.md": b"# M\n- ours\n"}, "x")
    assert git(memory, "ls-tree", "-r", "--name-only", "HEAD").split() == ["MEMORY.md", "SOUL.md", "USER.md"]
    assert git(memory, "show", "HEAD:MEMORY.md") == "# M\n- ours\n"


def test_init_makes_the_repository_as_the_agent_does(tmp_path):
    workspace = tmp_path / "workspace"
    (workspace / "memory").mkdir(parents=True)
    write(workspace, {"SOUL.md": "s\n", "memory/MEMORY.md": "m", ".gitignore": "*.pyc"})
    write(workspace, {"memory/history.jsonl": "{}\n", "private.txt": "secret\n"})
    history = GitHistory.init(find_workspace(workspace))
    assert history is not None
    assert git(workspace, "log", "--format=%an <%ae>") == "nanobot <nanobot@dream>\n"
    assert git(workspace, "log", "--format=%s") == "init: nanobot memory store\n"
    assert git(workspace, "branch", "--show-current").strip() == "master"
    assert git(workspace, "ls-files").split() == [".gitignore", "SOUL.md", "memory/MEMORY.md"]
    assert (workspace / ".gitignore").read_text().split() == [
        "*.pyc", "/*", "!memory/", "!SOUL.md", "!USER.md", "!memory/MEMORY.md", "!.gitignore",
    ]  # fmt: skip
    assert git(workspace, "fsck", "--strict") == ""
    assert git(workspace, "status", "--porcelain") == "?? memory/history.jsonl\n"
    again = GitHistory.init(find_workspace(workspace))
    assert again is not None
    assert len(again.commits()) == 1


def test_init_makes_no_repository_inside_another(tmp_path):
    (tmp_path / "workspace/memory").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    assert GitHistory.init(find_workspace(tmp_path / "workspace")) is None
    assert not (tmp_path / "workspace/.git").exists()


def test_a_branch_name_never_leaves_the_refs(tmp_path):
    paths = small(tmp_path)
    for ref in ("refs/heads/..", "refs/heads/a..b", "refs/../HEAD", "refs/heads/x.lock", "refs/heads/.hidden",
                "/etc/passwd", "refs/heads/", "refs/heads/@{x", "index"):  # fmt: skip
        (paths.workspace / ".git/HEAD").write_text(f"ref: {ref}\n")
        assert git_history.find_repository(paths).history is None, ref


def test_a_lock_that_is_let_go_is_waited_for(tmp_path):
    paths = small(tmp_path)
    held = paths.workspace / ".git/refs/heads/main.lock"
    held.write_bytes(b"")
    timer = threading.Timer(0.2, held.unlink)
    timer.start()
    sha = opened(paths).commit_files({"USER.md": b"x\n"}, "nanomem: edit")
    timer.join()
    assert opened(paths).head() == sha


@pytest.mark.parametrize("name", ["refs/heads/main", "index"])
def test_the_lock_that_a_killed_process_of_ours_noted_is_taken_away(tmp_path, name):
    paths = small(tmp_path)
    (paths.workspace / ".git/nanomem-locks").write_text(name)
    (paths.workspace / f".git/{name}.lock").write_bytes(b"")
    opened(paths).commit_files({"USER.md": b"x\n"}, "nanomem: edit")
    assert git(paths.workspace, "show", ":USER.md", "HEAD:USER.md") == "x\nx\n"
    assert not list((paths.workspace / ".git").rglob("*.lock"))


@pytest.mark.parametrize("age", [-60, 60])
def test_a_lock_of_another_program_stays_whatever_we_noted(tmp_path, age):
    paths = small(tmp_path)
    held, note = paths.workspace / ".git/index.lock", paths.workspace / ".git/nanomem-locks"
    note.write_text("index")
    held.write_bytes(b"")
    os.utime(held, (note.stat().st_mtime + age,) * 2)
    opened(paths).commit_files({"USER.md": b"x\n"}, "nanomem: edit")
    assert held.exists()


def test_the_half_written_object_of_a_killed_process_is_written_again(tmp_path):
    paths = small(tmp_path)
    sha = git(paths.workspace, "hash-object", "--stdin", given="x\n").strip()
    left = paths.workspace / ".git/objects" / sha[:2] / f"{sha[2:]}.lock"
    left.parent.mkdir(exist_ok=True)
    left.write_bytes(b"x")
    opened(paths).commit_files({"USER.md": b"x\n"}, "nanomem: edit")
    assert git(paths.workspace, "show", "HEAD:USER.md") == "x\n"
    assert not left.exists()


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_an_index_of_any_version_is_brought_up_to_date(tmp_path, version):
    paths = small(tmp_path)
    git(paths.workspace, "status")
    git(paths.workspace, "update-index", "--index-version", version)
    opened(paths).commit_files({"SOUL.md": b"x\n", "memory/.dream_cursor": None}, "nanomem: x")
    assert git(paths.workspace, "write-tree").strip() == git(paths.workspace, "rev-parse", "HEAD^{tree}").strip()


def test_an_index_that_cannot_be_read_is_left_as_it_is(tmp_path):
    paths = small(tmp_path)
    index = paths.workspace / ".git/index"
    index.write_bytes(b"junk")
    sha = opened(paths).commit_files({"SOUL.md": b"x\n"}, "nanomem: x")
    assert opened(paths).head() == sha
    assert index.read_bytes() == b"junk"


def test_objects_are_on_disk_before_the_branch_moves(tmp_path, monkeypatch):
    paths = small(tmp_path)
    order: list[str] = []
    real_fsync, real_replace = os.fsync, os.replace

    def name(handle):
        return os.readlink(f"/proc/self/fd/{handle}").split(".git/")[-1]

    monkeypatch.setattr(os, "fsync", lambda h: (order.append("sync " + name(h)), real_fsync(h))[1])
    monkeypatch.setattr(
        os, "replace", lambda a, b: (order.append("move " + os.fsdecode(b).split(".git/")[-1]), real_replace(a, b))[1]
    )
    opened(paths).commit_files({"memory/MEMORY.md": b"new\n"}, "nanomem: x")
    moved = order.index("move refs/heads/main")
    objects = [step.removeprefix("move ") for step in order if step.startswith("move objects/")]
    assert len(objects) == 4
    for path in objects:  # its content, then its name, then the folder that holds its name
        assert order.index(f"sync {path}.lock") < order.index(f"move {path}") < moved
        assert order.index(f"move {path}") < order.index(f"sync {Path(path).parent}") < moved
    assert "sync refs/heads" in order[moved:]
