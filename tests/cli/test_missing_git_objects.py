"""One git object that is missing or corrupt costs what needs it, and `doctor` names it."""

import json

import pytest

from tests.store.git_samples import git, needs_git, write

pytestmark = needs_git
BACKUP = "memory/HISTORY.md.bak"


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """Three commits: all files, a line in USER.md, a line in SOUL.md."""
    found = tmp_path / "w"
    (found / "memory").mkdir(parents=True)
    git(found, "init", "-q", "-b", "main")
    write(found, {"SOUL.md": "# Soul\n", "USER.md": "# U\n", BACKUP: "".join(f"{n}\n" for n in range(1000))})
    git(found, "add", "-A")
    git(found, "commit", "-q", "-m", "dream: 2026-04-09 10:02, 1 change(s)")
    write(found, {"USER.md": "# U\n- User prefers tea\n"})
    git(found, "commit", "-q", "-a", "-m", "dream: 2026-04-10 10:02, 1 change(s)")
    write(found, {"SOUL.md": "# Soul\n- Be kind\n"})
    git(found, "commit", "-q", "-a", "-m", "dream: 2026-04-11 10:02, 1 change(s)")
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(found))
    return found


def named(workspace, what):
    return git(workspace, "rev-parse", what).strip()


def loose(workspace, what):
    sha = named(workspace, what)
    return workspace / ".git" / "objects" / sha[:2] / sha[2:]


def remove(workspace, what):
    loose(workspace, what).unlink()


def corrupt(workspace, what):
    path = loose(workspace, what)
    path.chmod(0o644)
    path.write_bytes(b"\0" * 20)


def empty(workspace, what):
    path = loose(workspace, what)
    path.chmod(0o644)
    path.write_bytes(b"")


def unreadable(workspace, what):
    path = loose(workspace, what)
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("spoil", [remove, corrupt, empty, unreadable])
def test_a_blob_that_is_no_memory_file_costs_the_log_only_its_own_lines(spoil, workspace, run):
    sha, first = named(workspace, f"HEAD:{BACKUP}"), named(workspace, "HEAD~2")
    spoil(workspace, f"HEAD:{BACKUP}")
    log = run("dream", "log")
    assert log.code == 0
    assert [line.split()[0] for line in log.out.splitlines()[1:]] == [
        named(workspace, name)[:8] for name in ("HEAD", "HEAD~1", "HEAD~2")
    ]
    assert first[:8] in log.err
    assert BACKUP in log.err
    for words in (("dream", "status"), ("blame", "USER.md"), ("dream", "versions", "USER.md"),
                  ("dream", "diff", first, "HEAD~1"), ("--snapshot", "dream")):  # fmt: skip
        assert run(*(named(workspace, word) if word.startswith("HEAD") else word for word in words)).code == 0, words
    shown = run("dream", "show", first)
    assert shown.code == 0
    assert f"{BACKUP} cannot be read" in shown.out
    assert "+# U" in shown.out
    doctor = run("doctor")
    assert doctor.code == 1
    assert sha in doctor.out
    assert f"{BACKUP} in commit {first[:8]} cannot be read" in doctor.out


def test_a_dream_runs_beside_a_missing_blob_and_is_taken_back(workspace, run):
    remove(workspace, f"HEAD:{BACKUP}")
    entry = '{"cursor": 1, "timestamp": "2026-05-16 07:22", "content": "- User prefers dark mode"}\n'
    write(workspace, {"memory/history.jsonl": entry})
    assert run("--run-dream").code == 0
    assert run("dream", "restore", named(workspace, "HEAD"), "--yes").code == 0
    assert "dark mode" not in (workspace / "USER.md").read_text("utf-8")


def test_a_restore_that_needs_the_missing_text_is_refused_and_other_files_are_restored(workspace, run):
    write(workspace, {"SOUL.md": "# Soul\n- Be brief\n", "USER.md": "# U\n- User prefers coffee\n"})
    git(workspace, "commit", "-q", "-a", "-m", "dream: both")
    remove(workspace, "HEAD~1:USER.md")
    sha = named(workspace, "HEAD")
    refused = run("dream", "restore", sha, "--yes")
    assert (refused.code, "USER.md" in refused.err, "a git object is missing" in refused.err) == (2, True, True)
    assert run("dream", "restore", sha, "--file", "SOUL.md", "--yes").code == 0
    assert (workspace / "SOUL.md").read_text("utf-8") == "# Soul\n- Be kind\n"
    assert (workspace / "USER.md").read_text("utf-8") == "# U\n- User prefers coffee\n"


@pytest.mark.parametrize("spoil", [remove, corrupt])
@pytest.mark.parametrize("at", ["HEAD", "HEAD~1", "HEAD~2"])
def test_a_missing_tree_leaves_the_log_of_all_commits(at, spoil, workspace, run):
    tree, wanted = named(workspace, f"{at}^{{tree}}"), [named(workspace, name) for name in ("HEAD", "HEAD~1", "HEAD~2")]
    spoil(workspace, f"{at}^{{tree}}")
    log = run("dream", "log", "--json")
    assert log.code == 0
    assert [line["sha"] for line in json.loads(log.out)] == wanted
    assert tree in log.err
    assert run("dream", "status").code == 0
    assert run("--snapshot", "dream").code == 0
    doctor = run("doctor")
    assert (doctor.code, tree in doctor.out) == (1, True)
    others = [sha for sha in wanted if run("dream", "show", sha).code == 0]
    assert others, "the commit on the other side of the hole is shown"


def test_a_missing_parent_ends_the_log_and_is_said(workspace, run):
    gone, kept = named(workspace, "HEAD~2"), [named(workspace, name) for name in ("HEAD", "HEAD~1")]
    remove(workspace, "HEAD~2")
    log = run("dream", "log")
    assert [line.split()[0] for line in log.out.splitlines()[1:]] == [sha[:8] for sha in kept]
    assert log.code == 0
    assert f"older changes cannot be read: a git object is missing: {gone}" in log.err
    assert run("blame", "USER.md").code == 0
    assert run("dream", "versions", "USER.md").code == 0
    assert gone in run("doctor").out


def test_a_clone_without_its_blobs_has_a_log_and_status(workspace, tmp_path, run):
    git(workspace, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", "--no-checkout", f"file://{workspace}", "partial")
    partial = tmp_path / "partial"
    (partial / "memory").mkdir()
    log = run("dream", "log", "--workspace", partial)
    assert (log.code, len(log.out.splitlines())) == (0, 4)
    assert run("dream", "status", "--workspace", partial).code == 0
    assert "a git object is missing" in run("doctor", "--workspace", partial).out


def test_a_shallow_clone_is_whole_for_the_doctor(workspace, tmp_path, run):
    git(tmp_path, "clone", "-q", "--depth", "2", f"file://{workspace}", "cut")
    log = run("dream", "log", "--workspace", tmp_path / "cut")
    assert (log.code, len(log.out.splitlines()), log.err) == (0, 3, "")
    assert "git" not in run("doctor", "--workspace", tmp_path / "cut").out.replace("nanobot", "")


def test_a_broken_pack_costs_only_its_own_objects(workspace, run):
    git(workspace, "repack", "-q", "-a", "-d")
    write(workspace, {"SOUL.md": "# Soul\n- Be brief\n"})
    git(workspace, "commit", "-q", "-a", "-m", "dream: later")
    packs = workspace / ".git" / "objects" / "pack"
    (old,) = packs.glob("*.pack")
    git(workspace, "repack", "-q", "-d")
    bad = packs / f"pack-{'0' * 40}"
    bad.with_suffix(".idx").write_bytes(b"no index")
    bad.with_suffix(".pack").write_bytes(b"no pack")
    log = run("dream", "log")
    assert (log.code, len(log.out.splitlines()), log.err) == (0, 5, "")
    old.unlink()
    log = run("dream", "log")
    assert log.code == 0
    assert "dream: later" in log.out
    assert "older changes cannot be read" in log.err


def test_objects_of_another_repository_are_read_and_its_loss_is_named(workspace, tmp_path, run):
    git(tmp_path, "clone", "-q", "--shared", str(workspace), "borrowing")
    borrowing = tmp_path / "borrowing"
    write(borrowing, {"SOUL.md": "# Soul\n- Be brief\n"})
    git(borrowing, "commit", "-q", "-a", "-m", "dream: own")
    assert len(run("dream", "log", "--workspace", borrowing).out.splitlines()) == 5
    (workspace / ".git").rename(tmp_path / "away")
    log = run("dream", "log", "--workspace", borrowing)
    assert log.code == 0
    assert "dream: own" in log.out
    assert "older changes cannot be read" in log.err
    assert "cannot be read" in run("doctor", "--workspace", borrowing).out


def test_a_corrupt_copy_is_passed_over_where_a_pack_has_a_sound_one(workspace, run):
    path = loose(workspace, f"HEAD:{BACKUP}")
    git(workspace, "repack", "-q", "-a", "-d")
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"\0" * 20)
    log = run("dream", "log")
    assert (log.code, log.err) == (0, "")


@pytest.mark.parametrize("spoil", [remove, corrupt, empty])
def test_a_folder_whose_tree_is_missing_costs_only_what_is_in_it(spoil, workspace, run):
    (workspace / "skills").mkdir()
    write(workspace, {"skills/tea.md": "Boil.\n", "USER.md": "# U\n- User prefers coffee\n"})
    git(workspace, "add", "-A")
    git(workspace, "commit", "-q", "-m", "dream: with a skill")
    sha, tree = named(workspace, "HEAD"), named(workspace, "HEAD:skills")
    spoil(workspace, "HEAD:skills")
    (newest, *_) = json.loads(run("dream", "log", "--json").out)
    assert (newest["files"], newest["added"]) == (["USER.md"], 1)
    shown = run("dream", "show", sha)
    assert (shown.code, "+- User prefers coffee" in shown.out) == (0, True)
    assert "skills/ cannot be read" in shown.out
    doctor = run("doctor")
    assert f"{tree}: " in doctor.out
    assert f"skills/ in commit {sha[:8]} cannot be read" in doctor.out
    assert run("dream", "restore", sha, "--yes").code == 0
    assert (workspace / "USER.md").read_text("utf-8") == "# U\n- User prefers tea\n"


def test_a_dream_whose_memory_folder_cannot_be_read_is_taken_back_only_elsewhere(workspace, run):
    write(workspace, {"memory/MEMORY.md": "# Memory\n- Rex is a dog\n", "USER.md": "# U\n- User prefers coffee\n"})
    git(workspace, "add", "-A")
    git(workspace, "commit", "-q", "-m", "dream: both")
    remove(workspace, "HEAD~1:memory")
    sha = named(workspace, "HEAD")
    for words in ((), ("--file", "MEMORY.md")):
        refused = run("dream", "restore", sha, *words, "--yes")
        assert (refused.code, "memory/" in refused.err) == (2, True)
    assert "Rex" in (workspace / "memory" / "MEMORY.md").read_text("utf-8")
    assert run("dream", "restore", sha, "--file", "USER.md", "--yes").code == 0
    assert "coffee" not in (workspace / "USER.md").read_text("utf-8")


@pytest.mark.parametrize("lost", ["HEAD~2:USER.md", "HEAD~2^{tree}", "HEAD~2"])
def test_blame_says_where_older_versions_cannot_be_read(lost, workspace, run):
    assert run("blame", "USER.md").err == ""
    newer = named(workspace, "HEAD~1")
    remove(workspace, lost)
    blame = run("blame", "USER.md")
    assert blame.code == 0
    assert f"{newer[:8]}: the version before it cannot be read" in blame.err
    assert run("blame", "USER.md:1").err == blame.err
    assert run("blame", "SOUL.md").err == "" or lost != "HEAD~2:USER.md"


def test_a_missing_folder_above_the_workspace_costs_only_the_files_in_it(tmp_path, run):
    inner = tmp_path / "outer" / "w"
    (inner / "memory").mkdir(parents=True)
    git(tmp_path / "outer", "init", "-q", "-b", "main")
    for at in ("one", "two"):
        write(inner, {"USER.md": f"# U\n- {at}\n", "memory/MEMORY.md": f"# Memory\n- {at}\n"})
        git(tmp_path / "outer", "add", "-A")
        git(tmp_path / "outer", "commit", "-q", "-m", f"dream: {at}")
    remove(tmp_path / "outer", "HEAD:w/memory")
    shown = run("dream", "show", "--workspace", inner)
    assert (shown.code, "+- two" in shown.out) == (0, True)
    assert "memory/MEMORY.md cannot be read" in shown.out
    doctor = run("doctor", "--workspace", inner)
    assert (doctor.code, named(tmp_path / "outer", "HEAD:w/memory") in doctor.out) == (1, True)
