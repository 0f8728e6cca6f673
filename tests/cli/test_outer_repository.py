"""Dreams in a home inside somebody's own git repository: seen, committed beside their work; nothing of it ever runs."""

import json
import os

import pytest

from tests.store.git_samples import git, needs_git, write

pytestmark = needs_git
TEA = "- User prefers tea with honey."


def make(root, inside="agents/home/workspace", entry=TEA):
    """Return a workspace below the repository `root`, its files committed, with one entry that waits for a Dream."""
    workspace = root / inside
    (workspace / "memory").mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    write(workspace, {"SOUL.md": "# Soul\n", "USER.md": "# User\n\n## Preferences\n\n- Short answers.\n"})
    line = {"cursor": 1, "timestamp": "2026-05-16 07:22", "content": entry}
    write(workspace, {"memory/history.jsonl": json.dumps(line) + "\n"})
    write(root, {"notes.txt": "one\n", "other.txt": "one\n"})
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "everything")
    write(root, {"notes.txt": "one\ntwo\n"})
    git(root, "commit", "-q", "-a", "-m", "notes only")
    return workspace


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    found = make(tmp_path / "outer")
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(found))
    return found


def test_a_dream_is_committed_to_the_repository_above_and_seen_in_its_log(workspace, tmp_path, run):
    assert run("--run-dream").code == 0
    rows = run("dream", "log", "--json").json
    assert [(row["who"], row["message"]) for row in rows] == [
        ("nanomem dream", "dream: nanomem rules, 1 entry"), ("outside", "everything"),
    ]  # fmt: skip
    assert rows[0]["files"] == ["USER.md"]
    assert rows[0]["entries"] == 1
    status = run("dream", "status", "--json").json
    assert (status["runs"], status["git"], status["outer_repository"]) == (1, True, str(tmp_path / "outer"))
    assert str(tmp_path / "outer") in run("dream", "status").out
    assert "nanomem dream" in run("blame", "USER.md").out
    assert f"+{TEA}" in run("dream", "show", rows[0]["sha"]).out
    assert [row["who"] for row in run("dream", "versions", "USER.md", "--json").json] == ["nanomem dream", "outside"]
    assert f"+{TEA}" in run("dream", "diff", rows[1]["sha"], rows[0]["sha"]).out
    assert git(tmp_path / "outer", "fsck") == ""


def test_a_dream_that_the_repository_above_holds_is_reverted_there(workspace, tmp_path, run):
    before = (workspace / "USER.md").read_bytes()
    run("--run-dream")
    sha = run("dream", "log", "--json").json[0]["sha"]
    assert run("dream", "restore", sha, "--yes").code == 0
    assert (workspace / "USER.md").read_bytes() == before
    assert git(tmp_path / "outer", "status", "--short", "--untracked-files=no") == ""
    assert git(tmp_path / "outer", "log", "-1", "--format=%s").startswith("nanomem: take back dream")


def test_a_dream_commits_nothing_that_a_person_staged_or_changed(workspace, tmp_path, run):
    root = tmp_path / "outer"
    write(root, {"notes.txt": "staged\n", "other.txt": "changed\n", "new.txt": "new\n"})
    git(root, "add", "notes.txt")
    write(workspace, {"SOUL.md": "# Soul\n- a person's own line, not committed\n"})
    status = git(root, "status", "--short", "--untracked-files=no")
    run("--run-dream")
    changed = git(root, "show", "--format=", "--name-only", "HEAD").split()
    assert changed == ["agents/home/workspace/USER.md", "agents/home/workspace/memory/.dream_cursor"]
    assert git(root, "status", "--short", "--untracked-files=no") == status
    assert git(root, "diff", "--cached", "--name-only").split() == ["notes.txt"]


def test_lines_of_a_person_in_the_same_file_stay_uncommitted(workspace, tmp_path, run):
    root, name = tmp_path / "outer", "agents/home/workspace/USER.md"
    write(workspace, {"USER.md": "# User\n- mine, not committed\n\n## Preferences\n\n- Short answers.\n"})
    run("--run-dream")
    assert TEA in git(root, "show", f"HEAD:{name}")
    assert "mine, not committed" not in git(root, "log", "-p", "--", name)
    assert "+- mine, not committed" in git(root, "diff", "--", name)
    assert TEA not in git(root, "diff", "HEAD", "--", name).replace(f" {TEA}", "")
    assert "mine, not committed" in (workspace / "USER.md").read_text("utf-8")


def test_a_memory_file_that_a_person_staged_is_left_out_and_the_dream_says_so(workspace, tmp_path, run):
    root, name = tmp_path / "outer", "agents/home/workspace/USER.md"
    write(workspace, {"USER.md": "# User\n- staged\n\n## Preferences\n\n- Short answers.\n"})
    git(root, "add", name)
    found = run("--run-dream")
    assert TEA in (workspace / "USER.md").read_text("utf-8")
    assert name not in git(root, "show", "--format=", "--name-only", "HEAD")
    assert "staged" in found.out
    assert git(root, "diff", "--cached", "--name-only").split() == [name]


def test_a_dream_during_a_merge_changes_the_file_and_commits_nothing(workspace, tmp_path, run):
    root = tmp_path / "outer"
    head = git(root, "rev-parse", "HEAD")
    (root / ".git" / "MERGE_HEAD").write_text(head)
    found = run("--run-dream")
    assert "in the midst of a merge" in found.out
    assert TEA in (workspace / "USER.md").read_text("utf-8")
    assert git(root, "rev-parse", "HEAD") == head


@pytest.mark.slow
def test_a_new_memory_file_is_committed_unless_the_repository_ignores_it(tmp_path, run):
    for name, rule in (("kept", "*.log\n"), ("ignored", "memory/\n"), ("excluded", "")):
        root = tmp_path / name
        workspace = make(root, "workspace", "- [durable] Carla bought 3 mugs for the kitchen")
        write(root, {".gitignore": rule})
        if name == "excluded":
            (root / ".git" / "info" / "exclude").write_text("MEMORY.md\n")
        assert run("--run-dream", "--workspace", workspace).code == 0
        assert "mugs" in (workspace / "memory" / "MEMORY.md").read_text("utf-8")
        held = git(root, "ls-tree", "-r", "--name-only", "HEAD").split()
        assert ("workspace/memory/MEMORY.md" in held) == (name == "kept")
        said = run("dream", "status", "--workspace", workspace).out
        assert ("memory/MEMORY.md: it does not track them" in said) == (name != "kept")


@pytest.mark.parametrize("how", ["ignored", "untracked", "no commit yet"])
def test_a_repository_that_does_not_track_the_files_is_not_taken_for_their_history(how, tmp_path, monkeypatch, run):
    root = tmp_path / "dotfiles"
    workspace = make(root, ".nanobot/workspace")
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(workspace))
    if how == "no commit yet":
        git(root, "update-ref", "-d", "HEAD")
    else:
        git(root, "rm", "-r", "-q", "--cached", ".nanobot")
        write(root, {".gitignore": "/.nanobot\n" if how == "ignored" else "*.bak\n"})
        git(root, "add", ".gitignore")
        git(root, "commit", "-q", "-m", "dotfiles")
    state = git(root, "for-each-ref") + git(root, "status", "--short", ".gitignore")
    assert run("dream", "log").out.startswith("No versions of the memory files are kept: ")
    found = run("--run-dream")
    assert (found.code, "no version is kept" in found.out) == (0, True)
    assert git(root, "for-each-ref") + git(root, "status", "--short", ".gitignore") == state
    assert not (workspace / ".git").exists()
    assert run("dream", "log", "--json").json == []
    status = run("dream", "status", "--json").json
    assert (status["runs"], status["commits"], status["git"]) == (1, 0, False)
    for words in (("dream", "log"), ("dream", "status"), ("dream", "restore"),
                  ("dream", "versions", "USER.md"), ("blame", "USER.md"), ("blame", "USER.md:1")):  # fmt: skip
        said = " ".join(run(*words).out.split())
        none = (
            "1 Dream ran here, but no versions of the memory files are kept: the workspace lies in the git repository"
        )
        assert f"{none} {root}" in said, words
        assert "No Dream has run" not in said
    refused = run("dream", "show", "abcd1234")
    assert (refused.code, "1 Dream ran here" in refused.err) == (2, True)
    assert run("undo").code == 0
    assert TEA not in (workspace / "USER.md").read_text("utf-8")


def test_nothing_that_a_hostile_repository_above_names_is_run(workspace, tmp_path, run):
    root, mark = tmp_path / "outer", tmp_path / "ran"
    evil = tmp_path / "evil.sh"
    evil.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    evil.chmod(0o755)
    for hook in ("pre-commit", "post-commit", "commit-msg", "reference-transaction", "post-index-change"):
        (root / ".git" / "hooks" / hook).write_text(evil.read_text())
        (root / ".git" / "hooks" / hook).chmod(0o755)
    (tmp_path / "included").write_text(f"[core]\n\teditor = {evil}\n[alias]\n\tlog = !{evil}\n")
    with (root / ".git" / "config").open("a") as config:
        config.write(
            f"[core]\n\tfsmonitor = {evil}\n\thooksPath = {root}/.git/hooks\n\tpager = {evil}\n"
            f'[filter "evil"]\n\tclean = {evil}\n\tsmudge = {evil}\n\tprocess = {evil}\n\trequired = true\n'
            f'[diff "evil"]\n\ttextconv = {evil}\n[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = {evil}\n'
            f"[include]\n\tpath = {tmp_path}/included\n"
        )
    (root / ".gitattributes").write_text("* filter=evil diff=evil\n")
    (workspace / ".gitattributes").write_text("* filter=evil diff=evil\n")
    os.mkfifo(workspace / "memory" / ".gitignore")
    assert run("--run-dream").code == 0
    sha = run("dream", "log", "--json").json[0]["sha"]
    for words in (("dream", "status"), ("dream", "show", sha), ("blame", "USER.md"), ("doctor",),
                  ("dream", "restore", sha, "--yes"), ("undo",)):  # fmt: skip
        run(*words)
    assert not mark.exists()


@pytest.mark.parametrize("lead_out", ["git", "objects", "HEAD"])
def test_a_repository_above_that_leads_elsewhere_is_not_followed(lead_out, workspace, tmp_path, run):
    part = tmp_path / "outer" / ".git" / ("" if lead_out == "git" else lead_out)
    part.rename(tmp_path / "elsewhere")
    part.symlink_to(tmp_path / "elsewhere")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "elsewhere").rglob("*")}
    assert "leads out" in run("dream", "log").out
    assert run("--run-dream").code == 0
    assert TEA in (workspace / "USER.md").read_text("utf-8")
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "elsewhere").rglob("*")} == before


def test_plain_text_does_not_go_where_a_repository_keeps_the_file_encrypted(workspace, tmp_path, run):
    root, plain = tmp_path / "outer", (workspace / "USER.md").read_bytes()
    (workspace / "USER.md").write_bytes(b"\0GITCRYPT\0" + b"x" * 40)
    git(root, "commit", "-q", "-a", "-m", "encrypted")
    (workspace / "USER.md").write_bytes(plain)
    assert run("--run-dream").code == 0
    assert TEA in (workspace / "USER.md").read_text("utf-8")
    assert TEA not in git(root, "log", "-p", "--text", "--", "agents/home/workspace/USER.md")


def test_a_repository_of_the_workspace_itself_comes_before_one_above(workspace, tmp_path, run):
    head = git(tmp_path / "outer", "rev-parse", "HEAD")
    git(workspace, "init", "-q")
    git(workspace, "add", "USER.md", "SOUL.md")
    git(workspace, "commit", "-q", "-m", "its own")
    run("--run-dream")
    assert [row["message"] for row in run("dream", "log", "--json").json] == [
        "dream: nanomem rules, 1 entry", "its own",
    ]  # fmt: skip
    assert git(tmp_path / "outer", "rev-parse", "HEAD") == head


def test_forgetting_names_the_repository_above_as_not_reached(workspace, tmp_path, run):
    run("--run-dream")
    found = run("forget", "--text", "honey", "--dry-run")
    assert str(tmp_path / "outer" / ".git") in found.out + found.err


@pytest.mark.parametrize("name", ["SOUL.md", "USER.md"])
def test_a_missing_object_of_the_repository_above_costs_what_needs_it(name, workspace, tmp_path, run):
    root = tmp_path / "outer"
    sha = git(root, "rev-parse", f"HEAD:agents/home/workspace/{name}").strip()
    (root / ".git" / "objects" / sha[:2] / sha[2:]).unlink()
    log = run("dream", "log")
    assert (log.code, "everything" in log.out, sha in log.err) == (0, True, True)
    assert run("dream", "status").code == 0
    assert run("--run-dream").code == 0
    assert TEA in (workspace / "USER.md").read_text("utf-8")
    assert sha in run("doctor").out
