"""A history in git that is written anew: whatever named something still names it, in a bundle it is as it was, and the
secret is in no object. Where that cannot be, one line says so before anything changes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Result
from tests.purge import planted
from tests.purge.test_interrupted import killed
from tests.store import git_samples
from tests.store.git_samples import git, needs_git, write

Run = Callable[..., Result]
SECRET = "Hk2uPq9zzR"
LINE = f"- password: {SECRET}\n"
SCRUB = ("scrub", "--mask", "--git", "--yes")

pytestmark = needs_git


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small history whose last commit brings a secret."""
    found = git_samples.small(tmp_path / "home").workspace
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(found))
    write(found, {"memory/MEMORY.md": "# M\n" + LINE, ".gitignore": "nanomem*\n.nanobot\n"})
    git(found, "add", "-A")
    git(found, "commit", "-q", "-m", "x")
    return found


def holding(workspace: Path) -> list[str]:
    return [where for where in planted.holding(workspace.parent, SECRET) if where.startswith("workspace/.git/")]


def bundle_of(workspace: Path) -> Path:
    (found,) = workspace.parent.rglob("*.bundle")
    return found


def objects(folder: Path) -> set[str]:
    return set(git(folder, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)", "--unordered").split())


def append(path: Path, line: str) -> None:
    path.write_text(path.read_text() + line)


def furnish(workspace: Path) -> Path:
    """Two stashed edits, a note, a tag, a linked worktree with a commit, the commit of a branch that is gone."""
    for edit in ("one", "two"):
        append(workspace / "USER.md", f"- {edit}\n")
        git(workspace, "stash", "-q")
    git(workspace, "notes", "add", "-m", "a note")
    git(workspace, "tag", "-a", "-m", "a release", "v1")
    linked = workspace.parent / "linked"
    git(workspace, "worktree", "add", "-q", "--detach", str(linked))
    append(linked / "SOUL.md", "- of the worktree\n")
    git(linked, "commit", "-q", "-am", "in the worktree")
    git(workspace, "checkout", "-q", "-b", "side")
    append(workspace / "USER.md", "- of a branch that is gone\n")
    git(workspace, "commit", "-q", "-am", "on the side")
    git(workspace, "checkout", "-q", "main")
    git(workspace, "branch", "-q", "-D", "side")
    return linked


@pytest.mark.parametrize("packed", [False, True], ids=["loose", "packed"])
def test_the_stash_notes_worktrees_and_reflogs_follow(workspace: Path, run: Run, packed: bool) -> None:
    linked = furnish(workspace)
    append(workspace / "SOUL.md", "- staged\n")
    git(workspace, "add", "SOUL.md")
    if packed:
        git(workspace, "pack-refs", "--all")
        git(workspace, "gc", "-q")
    logged = git(workspace, "reflog", "--format=%gs")
    history = git(workspace, "log", "--all", "--format=%s")
    assert run(*SCRUB).code == 1  # the bundle, and the files of the worktree
    assert holding(workspace) == []
    assert "error" not in git(workspace, "fsck", "--full", "--strict")
    assert git(workspace, "notes", "show", "HEAD") == "a note\n"
    assert git(workspace, "rev-parse", "v1^{}") == git(workspace, "rev-parse", "HEAD")
    assert git(workspace, "reflog", "--format=%gs") == logged
    assert sorted(git(workspace, "log", "--all", "--format=%s").split("\n")) == sorted(history.split("\n"))
    assert "- of a branch that is gone" in git(workspace, "show", "HEAD@{1}:USER.md")
    assert git(workspace, "diff", "--cached", "--name-only") == "SOUL.md\n"
    assert (git(linked, "log", "-1", "--format=%s"), git(linked, "rev-parse", "HEAD~1")) == (
        "in the worktree\n", git(workspace, "rev-parse", "HEAD"),
    )  # fmt: skip
    assert git(linked, "diff", "--name-only") == "memory/MEMORY.md\n"  # nobody but its owner writes there
    git(linked, "commit", "-q", "--allow-empty", "-m", "more")
    git(workspace, "commit", "-q", "-m", "what was staged")
    git(workspace, "stash", "pop", "-q", "stash@{1}")
    assert git(workspace, "diff", "-U0", "USER.md").endswith("+- one\n")
    git(workspace, "checkout", "-q", "USER.md")
    git(workspace, "stash", "pop", "-q")
    assert git(workspace, "diff", "-U0", "USER.md").endswith("+- two\n")
    assert holding(workspace) == []


def test_the_bundle_holds_all_that_was(workspace: Path, run: Run, tmp_path: Path) -> None:
    linked = furnish(workspace)
    before = objects(workspace)
    head, stash, of_linked = (git(folder, "rev-parse", name) for folder, name in (
        (workspace, "HEAD"), (workspace, "stash@{1}"), (linked, "HEAD")))  # fmt: skip
    lost = git(workspace, "rev-parse", "HEAD@{1}")
    run(*SCRUB)
    bundle = bundle_of(workspace)
    git(tmp_path, "clone", "-q", str(bundle), "old")
    assert git(tmp_path / "old", "rev-parse", "HEAD") == head
    assert SECRET in (tmp_path / "old" / "memory" / "MEMORY.md").read_text()
    git(tmp_path, "clone", "-q", "--mirror", str(bundle), "all")
    assert objects(tmp_path / "all") == before
    git(tmp_path / "all", "fsck", "--full", "--strict")
    named = git(tmp_path / "all", "for-each-ref", "--format=%(objectname) %(refname)", "refs/nanomem/kept")
    assert f"{stash.strip()} refs/nanomem/kept/stash/1" in named
    assert f"{of_linked.strip()} refs/nanomem/kept/worktrees/linked/HEAD" in named
    assert lost.strip() in git(tmp_path / "all", "rev-list", "--all")
    assert git(tmp_path / "all", "notes", "show", head.strip()) == "a note\n"


def staged(workspace: Path) -> None:
    git(workspace, "add", "USER.md")


def blob_that_nothing_names(workspace: Path) -> None:
    git(workspace, "add", "USER.md")
    git(workspace, "reset", "-q")


def stashed(workspace: Path) -> None:
    git(workspace, "stash", "-q")


def only_logged(workspace: Path) -> None:
    git(workspace, "commit", "-q", "-am", f"learned password: {SECRET}")
    git(workspace, "reset", "-q", "--hard", "HEAD~1")


def in_a_note(workspace: Path) -> None:
    git(workspace, "notes", "add", "-m", LINE)


@pytest.mark.parametrize("put", [staged, blob_that_nothing_names, stashed, only_logged, in_a_note])
def test_a_secret_that_no_branch_leads_to_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run,
                                               put: Callable[[Path], None]) -> None:  # fmt: skip
    workspace = git_samples.small(tmp_path / "home").workspace
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(workspace))
    head = git(workspace, "rev-parse", "HEAD")
    append(workspace / "USER.md", LINE)
    put(workspace)
    assert holding(workspace) != []
    run(*SCRUB)
    assert holding(workspace) == []
    assert git(workspace, "rev-parse", "HEAD") == head
    git(workspace, "fsck", "--full", "--strict")
    assert SECRET.encode() in b"".join(data for _, data in planted.everything(bundle_of(workspace).parent))


def test_notes_in_folders_and_two_notes_in_a_row_follow(workspace: Path, run: Run) -> None:
    first, last = git(workspace, "rev-parse", "HEAD~1").strip(), git(workspace, "rev-parse", "HEAD").strip()
    tops = []
    for commit in (first, last):
        blob = git(workspace, "hash-object", "-w", "--stdin", given=f"at {commit == last}\n").strip()
        inner = git(workspace, "mktree", given=f"100644 blob {blob}\t{commit[2:]}\n").strip()
        tops.append(f"040000 tree {inner}\t{commit[:2]}\n")
    tree = git(workspace, "mktree", given="".join(tops)).strip()
    git(workspace, "update-ref", "refs/notes/commits", git(workspace, "commit-tree", "-m", "notes", tree).strip())
    git(workspace, "notes", "append", "-m", "more")
    run(*SCRUB)
    git(workspace, "fsck", "--full", "--strict")
    assert git(workspace, "rev-parse", "HEAD~1").strip() == first
    assert git(workspace, "rev-parse", "HEAD").strip() != last
    assert git(workspace, "notes", "show", "HEAD") == "at True\n\nmore\n"
    assert git(workspace, "notes", "show", "HEAD~1") == "at False\n"
    assert git(workspace, "ls-tree", "-r", "--name-only", "refs/notes/commits~1").count("/") == 2


def test_notes_of_two_commits_that_become_one_are_one(workspace: Path, run: Run) -> None:
    said = ("keeps a zebrafish here", "keeps a quagga here")
    for number, line in enumerate(said):
        blob = git(workspace, "hash-object", "-w", "--stdin", given=f"a\n{line}\n").strip()
        tree = git(workspace, "mktree", given=f"100644 blob {blob}\tf.md\n").strip()
        body = f"tree {tree}\nauthor a <a@x> 1 +0000\ncommitter a <a@x> 1 +0000\n\nm\n"
        commit = git(workspace, "hash-object", "-w", "-t", "commit", "--stdin", given=body).strip()
        git(workspace, "update-ref", f"refs/heads/b{number}", commit)
        git(workspace, "notes", "add", "-m", f"note {number}", commit)
    run("forget", "--text", said[0], "--text", said[1], "--git", "--yes")
    assert git(workspace, "rev-parse", "b0") == git(workspace, "rev-parse", "b1")
    assert sorted(git(workspace, "notes", "show", "b0").split("\n")) == ["", "", "note 0", "note 1"]
    git(workspace, "fsck", "--full", "--strict")


def test_a_repository_without_a_commit_is_cleaned_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run,
                                                           ) -> None:  # fmt: skip
    workspace = tmp_path / "home" / "workspace"
    (workspace / "memory").mkdir(parents=True)
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(workspace))
    write(workspace, {"memory/MEMORY.md": LINE})
    git(workspace, "init", "-q", "-b", "main")
    git(workspace, "add", "-A")
    run(*SCRUB)
    assert holding(workspace) == []
    assert "A  memory/MEMORY.md" in git(workspace, "status", "--porcelain")
    git(workspace, "fetch", "-q", str(bundle_of(workspace)), "refs/*:refs/old/*")
    assert git(workspace, "show", "refs/old/nanomem/kept/1") == LINE


@pytest.mark.parametrize("version", [2, 4])
def test_a_staging_area_keeps_its_flags(workspace: Path, run: Run, version: int) -> None:
    submodule = "1" * 40
    git(workspace, "update-index", "--add", "--cacheinfo", f"160000,{submodule},inner")
    write(workspace, {"new.md": "later\n"})
    git(workspace, "add", "--intent-to-add", "new.md")
    git(workspace, "update-index", "--skip-worktree", "SOUL.md")
    git(workspace, "update-index", "--index-version", str(version))
    run(*SCRUB)
    git(workspace, "fsck", "--full", "--strict")
    assert "S SOUL.md" in git(workspace, "ls-files", "-v")
    assert f"160000 {submodule} 0\tinner" in git(workspace, "ls-files", "-s")
    shown = git(workspace, "status", "--porcelain")
    assert " A new.md" in shown
    assert "MEMORY.md" not in shown


def test_a_conflict_of_a_stash_stays_one(workspace: Path, run: Run) -> None:
    append(workspace / "memory" / "MEMORY.md", "- stashed\n")
    git(workspace, "stash", "-q")
    append(workspace / "memory" / "MEMORY.md", "- committed\n")
    git(workspace, "commit", "-q", "-am", "other")
    git(workspace, "stash", "pop", "-q", check=False)
    assert "UU memory/MEMORY.md" in git(workspace, "status", "--porcelain")
    run(*SCRUB)
    assert holding(workspace) == []
    git(workspace, "fsck", "--full", "--strict")
    assert "UU memory/MEMORY.md" in git(workspace, "status", "--porcelain")
    assert git(workspace, "show", ":3:memory/MEMORY.md").endswith("- stashed\n")


def test_signatures_go_with_what_they_signed_and_stay_elsewhere(workspace: Path, run: Run) -> None:
    body = git(workspace, "cat-file", "commit", "HEAD~1")
    head, _, said = body.partition("\n\n")
    signed = f"{head}\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n iQEz\n -----END PGP SIGNATURE-----\n\n{said}"
    first = git(workspace, "hash-object", "-w", "-t", "commit", "--stdin", given=signed).strip()
    tree = git(workspace, "rev-parse", "HEAD^{tree}").strip()
    merged = (
        f"mergetag object {first}\n type commit\n tag v0\n tagger a <a@x> 1 +0000\n \n password: {SECRET}\n"
        " -----BEGIN PGP SIGNATURE-----\n \n iQEz\n -----END PGP SIGNATURE-----"
    )
    person = "a <a@x> 1 +0000"
    both = f"tree {tree}\nparent {first}\nauthor {person}\ncommitter {person}\n{merged}\n\nmerged\n"
    last = git(workspace, "hash-object", "-w", "-t", "commit", "--stdin", given=both).strip()
    tag = f"object {last}\ntype commit\ntag v1\ntagger {person}\n\na release\n-----BEGIN PGP SIGNATURE-----\n\niQEz\n"
    named = git(workspace, "hash-object", "-w", "-t", "tag", "--stdin", given=tag).strip()
    git(workspace, "update-ref", "refs/tags/v1", named)
    git(workspace, "reset", "-q", "--hard", last)
    run(*SCRUB)
    assert holding(workspace) == []
    git(workspace, "fsck", "--full", "--strict")
    assert git(workspace, "rev-parse", "HEAD~1").strip() == first
    assert "mergetag" not in git(workspace, "cat-file", "commit", "HEAD")
    assert git(workspace, "cat-file", "tag", "v1").endswith("\n\na release\n")


def test_a_clone_with_refs_of_its_origin_is_written_anew(workspace: Path, run: Run) -> None:
    elsewhere = workspace.parent / "origin.git"
    git(workspace, "clone", "-q", "--bare", str(workspace), str(elsewhere))
    git(workspace, "remote", "add", "origin", str(elsewhere))
    git(workspace, "fetch", "-q", "origin")
    git(workspace, "remote", "set-head", "origin", "main")
    run(*SCRUB)
    assert holding(workspace) == []
    git(workspace, "fsck", "--full", "--strict")
    assert git(workspace, "rev-parse", "origin/HEAD") == git(workspace, "rev-parse", "HEAD")


def merging(workspace: Path) -> None:
    git(workspace, "checkout", "-q", "-b", "side", "HEAD~1")
    append(workspace / "USER.md", "- side\n")
    git(workspace, "commit", "-q", "-am", "side")
    git(workspace, "merge", "-q", "--no-commit", "main")


def picking(workspace: Path) -> None:
    conflict(workspace)
    git(workspace, "cherry-pick", "main", check=False)


def rebasing(workspace: Path) -> None:
    conflict(workspace)
    git(workspace, "rebase", "main", check=False)


def conflict(workspace: Path) -> None:
    git(workspace, "checkout", "-q", "-b", "side", "HEAD~1")
    write(workspace, {"memory/MEMORY.md": "another\n"})
    git(workspace, "commit", "-q", "-am", "side")


def bisecting(workspace: Path) -> None:
    git(workspace, "bisect", "start")


def merging_in_a_worktree(workspace: Path) -> None:
    git(workspace, "worktree", "add", "-q", "--detach", "../linked", "HEAD~1")
    linked = workspace.parent / "linked"
    append(linked / "USER.md", "- side\n")
    git(linked, "commit", "-q", "-am", "side")
    git(linked, "merge", "-q", "--no-commit", "main")


def shallow(workspace: Path) -> None:
    again(workspace, "--depth", "1")


def borrowing(workspace: Path) -> None:
    again(workspace, "--shared")


def again(workspace: Path, option: str, *more: str) -> None:
    origin = f"file://{workspace}" if more else str(workspace)
    git(workspace.parent, "clone", "-q", "--bare", option, *more, origin, "b.git")
    shutil.move(workspace / ".git", workspace.parent / "first.git")
    shutil.move(workspace.parent / "b.git", workspace / ".git")
    for path in (workspace / ".git" / "objects" / "info").glob("alternates"):
        path.write_text(f"{workspace.parent / 'first.git' / 'objects'}\n")
    git(workspace, "config", "core.bare", "false")
    git(workspace, "reset", "-q")


def split(workspace: Path) -> None:
    git(workspace, "update-index", "--split-index")


def locking(workspace: Path) -> None:
    (workspace / ".git" / "packed-refs.lock").touch()


def replacing(workspace: Path) -> None:
    git(workspace, "replace", "--graft", "HEAD")


def losing_the_stash(workspace: Path) -> None:
    (workspace / ".git" / "refs" / "stash").write_text("1" * 40 + "\n")


def linking(workspace: Path) -> None:
    shutil.move(workspace / ".git" / "logs", workspace / "logs")
    (workspace / ".git" / "logs").symlink_to("../logs")


@pytest.mark.parametrize(("into", "said"), [
    (merging, "in the midst of a merge"), (picking, "in the midst of a cherry-pick"),
    (rebasing, "in the midst of a rebase"), (bisecting, "in the midst of a bisect"),
    (merging_in_a_worktree, "in the midst of a merge"), (shallow, "a shallow clone"), (borrowing, "another repository"),
    (split, "split"), (locking, "has locked it"), (replacing, "replacements"), (losing_the_stash, "the stash leads to"),
    (linking, "is a link"),
])  # fmt: skip
def test_what_cannot_be_written_anew_is_refused_in_a_line_before_anything_changes(
    workspace: Path, run: Run, into: Callable[[Path], None], said: str
) -> None:
    into(workspace)
    run("scrub")  # what a first look makes of its own
    before = dict(planted.everything(workspace.parent))
    for line in (SCRUB, ("forget", "--text", SECRET, "--git", "--yes")):
        done = run(*line)
        assert (done.code, done.out) == (2, "")
        assert (done.err.count("\n"), said in done.err, "leave out --git" in done.err) == (1, True, True), done.err
    assert dict(planted.everything(workspace.parent)) == before
    shown = run("scrub", "--mask", "--git", "--dry-run").out
    assert ("Would stay: .git: " in shown, said in shown) == (into is not borrowing, True)


def test_a_git_that_is_a_file_is_told_as_not_looked_through(workspace: Path, run: Run) -> None:
    shutil.move(workspace / ".git", workspace.parent / "moved.git")
    (workspace / ".git").write_text("gitdir: ../moved.git\n")
    refused = run(*SCRUB)
    assert refused.code == 2
    assert "a .git that is no folder" in refused.err
    done = run("scrub", "--mask", "--yes")
    assert done.code == 1
    assert "Could not be looked through: .git: a .git that is no folder" in done.out


@pytest.mark.parametrize("packed", [False, True], ids=["loose", "packed"])
def test_killed_at_any_step_nothing_is_lost(workspace: Path, run: Run, tmp_path: Path, packed: bool) -> None:
    furnish(workspace)
    if packed:
        git(workspace, "gc", "-q")
        append(workspace / "USER.md", "- three\n")
        git(workspace, "stash", "-q")
        git(workspace, "repack", "-q", "-d")
    before = objects(workspace)
    count = len(git(workspace, "stash", "list").split("\n"))
    at = 0
    while killed(at, *SCRUB) == -9:
        at += 9
        git(workspace, "fsck", "--connectivity-only")
    git(workspace, "fsck", "--full", "--strict")
    assert holding(workspace) == []
    assert len(git(workspace, "stash", "list").split("\n")) == count
    assert git(workspace, "notes", "show", "HEAD") == "a note\n"
    kept: set[str] = set()
    for number, bundle in enumerate(workspace.parent.rglob("*.bundle")):
        git(tmp_path, "clone", "-q", "--mirror", str(bundle), str(number))
        kept |= objects(tmp_path / str(number))
    assert before <= kept


def test_the_doctor_names_what_leads_to_a_missing_object(workspace: Path, run: Run) -> None:
    linked = furnish(workspace)
    assert "missing" not in run("doctor").out
    lost = [git(folder, "rev-parse", name).strip() for folder, name in ((workspace, "refs/stash"), (linked, "HEAD"))]
    git(workspace, "update-ref", "refs/heads/other", git(workspace, "rev-parse", "HEAD@{1}").strip())
    lost.append(git(workspace, "rev-parse", "other").strip())
    for sha in lost:
        (workspace / ".git" / "objects" / sha[:2] / sha[2:]).unlink()
    done = run("doctor")
    assert done.code == 1
    for name, what in ((".git: refs/stash", "the stash"), (".git: worktrees/linked/HEAD", "a linked worktree"),
                       (".git: refs/heads/other", "a ref")):  # fmt: skip
        assert f"{name}: {what} leads to a git object that is missing" in done.out
