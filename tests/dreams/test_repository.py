"""Dreams beside repositories that keep no version of all files, that are another's, or that are cut short."""

import shutil

import pytest

from nanomem_tui.agents import git_history
from nanomem_tui.core.errors import Refused
from tests.dreams.pipeline import Bench
from tests.store.git_samples import git, needs_git, small, write

pytestmark = needs_git
NUTS, MUGS = "- [permanent] User is allergic to nuts", "- [durable] Carla bought 3 mugs for the kitchen"


def of_memory(tmp_path):
    """A workspace whose repository is that of `memory/`."""
    paths = small(tmp_path)
    shutil.rmtree(paths.workspace / ".git")
    git(paths.memory, "init", "-q")
    git(paths.memory, "add", "-A")
    git(paths.memory, "commit", "-q", "-m", "mine")
    return Bench(paths)


def test_what_a_repository_of_memory_cannot_hold_waits_and_is_told_before_and_after(tmp_path):
    on = of_memory(tmp_path)
    on.remember(NUTS, MUGS, first=21)
    user = on.texts()["USER.md"]
    assert on.dreams.status()["unversioned"] == ["SOUL.md", "USER.md"]
    for dry in (True, False):
        result = on.dreams.run(dry_run=dry)
        assert [edit.file for edit in result.edits] == ["memory/MEMORY.md"]
        assert [(one.edit.file, one.why) for one in result.refused] == [
            ("USER.md", "memory/.git keeps no versions of USER.md")
        ]
        assert "memory/.git keeps no versions of SOUL.md and USER.md" in " ".join(result.notes)
    assert on.texts()["USER.md"] == user
    said = on.dreams.commits()[0].message
    assert ("memory/MEMORY.md: +" in said, "USER.md" in said) == (True, False)
    assert {stat.path for stat in on.dreams.commits()[0].files} == {"memory/MEMORY.md", "memory/.dream_cursor"}
    (hunk,) = on.review.waiting()
    on.review.accept([hunk.id])
    assert "- User is allergic to nuts" in (on.texts()["USER.md"] or "")
    on.undo()
    assert on.texts()["USER.md"] == user


def test_a_commit_claims_no_file_that_a_person_chose_and_it_cannot_hold(tmp_path):
    on = of_memory(tmp_path)
    on.remember(NUTS, MUGS, first=21)
    proposed = on.dreams.run(dry_run=True)
    chosen = [*proposed.edits, *(one.edit for one in proposed.refused)]
    result = on.dreams.runner.apply(proposed, chosen)
    assert set(result.files) == {"USER.md", "memory/MEMORY.md"}
    assert "USER.md" not in on.dreams.commits()[0].message
    assert "1 memory file changed" in on.dreams.commits()[0].message


def sha256(workspace):
    shutil.rmtree(workspace / ".git")
    git(workspace, "init", "-q", "--object-format=sha256")
    git(workspace, "add", "-A")
    git(workspace, "commit", "-q", "-m", "mine")


def empty_sha256(workspace):
    shutil.rmtree(workspace / ".git")
    git(workspace, "init", "-q", "--object-format=sha256")


def reftable(workspace):
    with (workspace / ".git/config").open("a") as file:
        file.write("[extensions]\n\trefStorage = reftable\n")


def git_file(workspace):
    (workspace / ".git").rename(workspace / "elsewhere")
    (workspace / ".git").write_text("gitdir: elsewhere\n")


def no_head(workspace):
    (workspace / ".git/HEAD").unlink()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (sha256, "SHA-256, which nanomem does not support"),
        (empty_sha256, "SHA-256, which nanomem does not support"),
        (reftable, "reftable, which nanomem does not support"),
        (git_file, r"no folder \(a worktree or a submodule\) is not followed"),
        (no_head, "has no HEAD"),
    ],
)
def test_no_dream_runs_beside_versions_that_cannot_be_kept(on, make, says):
    make(on.paths.workspace)
    on.remember(NUTS, first=21)
    before = on.texts(), on.paths.dream_cursor.read_bytes()
    foreseen = " ".join(on.dreams.run(dry_run=True).notes)
    assert "a Dream would be refused: .git: " in foreseen
    with pytest.raises(Refused, match=says) as caught:
        on.dreams.run()
    assert caught.value.what.removeprefix("the versions of the memory files: ") in foreseen
    assert (on.texts(), on.paths.dream_cursor.read_bytes()) == before


def test_a_sound_repository_of_another_format_is_not_called_damaged(tmp_path):
    paths = small(tmp_path)
    sha256(paths.workspace)
    (problem,) = git_history.find_repository(paths).problems
    assert "nothing is wrong with it" in problem.fix
    assert "away" not in problem.fix


def test_a_worktree_is_refused(tmp_path):
    paths = small(tmp_path)
    git(paths.workspace, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "other")
    on = Bench(paths._replace(workspace=tmp_path / "tree", data=tmp_path / "tree/memory/nanomem"))
    on.remember(NUTS, first=21)
    with pytest.raises(Refused, match="is not followed"):
        on.dreams.run()
    assert "nuts" not in (on.texts()["USER.md"] or "")


def test_a_shallow_clone_is_a_history_that_begins_where_it_was_cut(tmp_path):
    paths = small(tmp_path)
    for number in range(3):
        write(paths.workspace, {"USER.md": f"# User\n- {number}\n"})
        git(paths.workspace, "commit", "-q", "-a", "-m", f"dream: {number}")
    git(tmp_path, "clone", "-q", "--depth", "2", f"file://{paths.workspace}", "cut")
    on = Bench(paths._replace(workspace=tmp_path / "cut", data=tmp_path / "cut/memory/nanomem"))
    first = on.dreams.commits()[-1]
    assert [(run.message, run.added) for run in on.dreams.runs()] == [("dream: 2", 1), ("dream: 1", 5)]
    assert on.dreams.show(first.sha)[1]
    with pytest.raises(Refused, match="the first commit cannot be taken back"):
        on.dreams.revert_preview(first.sha)
    on.remember(NUTS, first=21)
    done = on.dreams.run()
    assert git(on.paths.workspace, "rev-parse", f"{done.sha}~1").strip() == on.dreams.commits()[1].sha
    assert git(on.paths.workspace, "fsck") == ""
