"""The file layer: compare-and-swap, merges, one commit for each operation, the cursor after the commit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nanomem_tui.agents.git_history import GitHistory
from nanomem_tui.core import atomic, clock
from nanomem_tui.core.errors import BadInput, Conflict, DiskFull, NothingToDo, Refused
from nanomem_tui.core.operations import Change, Operation, new_operation
from nanomem_tui.core.paths import find_workspace
from nanomem_tui.store.files.layer import FileLayer
from tests.store.git_samples import git, needs_git, sample, small, write

pytestmark = needs_git


def layer_of(paths):
    return FileLayer(paths, lambda: GitHistory.open(paths))


def perform(layer, operation):
    """The pipeline without a ledger: check, then apply."""
    layer.check(operation.changes)
    layer.apply(operation, operation.changes)
    return operation


def undo(operation):
    return new_operation("undo", f"undo: {operation.label}", operation.inverse(), undoes=operation.id)


def subjects(paths):
    history = GitHistory.open(paths)
    return [commit.subject for commit in history.commits()] if history else []


def test_an_edit_is_written_and_committed_and_undone_byte_for_byte(tmp_path):
    paths = sample("nb035", tmp_path)
    layer = layer_of(paths)
    before = paths.user.read_bytes()
    done = perform(layer, layer.edit_operation("USER.md", (layer.read("USER.md") or "") + "- likes tea\n", "likes tea"))
    assert paths.user.read_text().endswith("- likes tea\n")
    assert git(paths.workspace, "show", "HEAD:USER.md") == paths.user.read_text()
    assert git(paths.workspace, "log", "-1", "--format=%an <%ae>|%s").strip() == (
        "nanomem <nanomem@localhost>|nanomem: likes tea"
    )
    assert layer.commit_of(done) == git(paths.workspace, "rev-parse", "HEAD").strip()
    perform(layer, undo(done))
    assert paths.user.read_bytes() == before
    assert subjects(paths)[:2] == ["nanomem: undo: likes tea", "nanomem: likes tea"]
    assert git(paths.workspace, "status", "--porcelain", "--untracked-files=no") == ""


def test_what_somebody_edited_outside_is_committed_on_its_own_before_our_edit(tmp_path):
    paths = small(tmp_path)
    layer = layer_of(paths)
    write(paths.workspace, {"USER.md": "# User\n- a\n- b\n- c\n- by hand\n", "SOUL.md": "# other file\n"})
    perform(layer, layer.edit_operation("USER.md", "# User\n- b\n- c\n- by hand\n"))
    assert subjects(paths)[:2] == ["nanomem: edit USER.md", "nanomem: keep what was edited outside"]
    history = GitHistory.open(paths)
    assert history is not None
    ours, outside = history.commits()[:2]
    assert [(s.path, s.added, s.removed) for s in ours.files] == [("USER.md", 0, 1)]
    assert [(s.path, s.added, s.removed) for s in outside.files] == [("USER.md", 1, 0)]


def test_an_old_edit_is_undone_by_a_merge_that_keeps_later_ones(tmp_path):
    paths = small(tmp_path)
    layer = layer_of(paths)
    done = perform(layer, layer.edit_operation("USER.md", "# User\n- a\n- B!\n- c\n"))
    write(paths.workspace, {"USER.md": "# User\n- first\n- a\n- B!\n- c\n- last\n"})
    perform(layer, undo(done))
    assert paths.user.read_text() == "# User\n- first\n- a\n- b\n- c\n- last\n"


def test_an_undo_that_cannot_be_merged_is_a_conflict_that_names_file_and_line(tmp_path):
    paths = small(tmp_path)
    layer = layer_of(paths)
    done = perform(layer, layer.edit_operation("USER.md", "# User\n- a\n- B!\n- c\n"))
    write(paths.workspace, {"USER.md": "# User\n- a\n- B again\n- c\n"})
    with pytest.raises(Conflict) as caught:
        layer.check(undo(done).changes)
    assert (caught.value.where, "line 3" in caught.value.what) == ("USER.md", True)
    assert paths.user.read_text() == "# User\n- a\n- B again\n- c\n"


def test_a_line_that_the_agent_adds_while_a_person_edits_is_kept(tmp_path):
    paths = small(tmp_path)
    layer = layer_of(paths)
    operation = layer.edit_operation("USER.md", "# User\n- a\n- b\n- c\n- mine\n")
    write(paths.workspace, {"USER.md": "# User\n- a\n- b\n- c\n- the agent's\n"})
    perform(layer, operation)
    assert paths.user.read_text() == "# User\n- a\n- b\n- c\n- the agent's\n- mine\n"


def test_a_line_added_while_the_text_was_before_a_person_is_kept(tmp_path):
    paths = small(tmp_path)
    layer = layer_of(paths)
    shown = layer.read("USER.md") or ""
    write(paths.workspace, {"USER.md": "# User\n- the agent's\n- a\n- b\n- c\n"})
    done = perform(layer, layer.edit_operation("USER.md", f"{shown}- mine\n", base=shown))
    assert paths.user.read_text() == "# User\n- the agent's\n- a\n- b\n- c\n- mine\n"
    perform(layer, undo(done))
    assert paths.user.read_text() == "# User\n- the agent's\n- a\n- b\n- c\n"
    with pytest.raises(NothingToDo):
        layer.edit_operation("USER.md", shown, base=shown)
    with pytest.raises(Conflict):
        perform(layer, layer.edit_operation("USER.md", "# User\n- A\n", base="# User\n- somebody rewrote this\n"))


def test_the_cursor_file_moves_after_the_commit_that_carries_it(tmp_path, monkeypatch):
    paths = small(tmp_path)
    layer = layer_of(paths)
    order: list[str] = []
    write_atomic, commit_files = atomic.write_atomic, GitHistory.commit_files

    def written(path, data, **options):
        order.append(path.name)
        write_atomic(path, data, **options)

    def committed(self, *arguments, **options):
        order.append("commit")
        return commit_files(self, *arguments, **options)

    monkeypatch.setattr(atomic, "write_atomic", written)
    monkeypatch.setattr(GitHistory, "commit_files", committed)
    changes = [layer.change("memory/.dream_cursor", "40"), layer.change("USER.md", "# User\n- new\n")]
    perform(layer, new_operation("dream.run", "Dream", changes, actor="dream", meta={"commit": "dream: nanomem rules"}))
    assert order == ["USER.md", "commit", ".dream_cursor"]
    assert git(paths.workspace, "show", "HEAD:memory/.dream_cursor") == "40"
    assert subjects(paths)[0] == "dream: nanomem rules"


def test_an_undone_dream_is_no_dream_and_gives_the_cursor_back_unless_a_later_one_moved_it(tmp_path):
    paths = small(tmp_path)
    layer = layer_of(paths)
    changes = [layer.change("USER.md", "# User\n- new\n"), layer.change("memory/.dream_cursor", "40")]
    operation = new_operation("dream.run", "Dream", changes, actor="dream", meta={"commit": "dream: nanomem rules"})
    done = perform(layer, operation)
    back = new_operation("undo", "undo: Dream", done.inverse(), undoes=done.id, meta=done.meta)
    perform(layer, back)
    assert paths.dream_cursor.read_text() == "20"
    assert subjects(paths)[0] == "nanomem: undo: Dream"
    perform(layer, new_operation("redo", "redo: Dream", changes, redoes=done.id))
    write(paths.workspace, {"memory/.dream_cursor": "60"})
    perform(layer, back)
    assert paths.dream_cursor.read_text() == "60"
    assert paths.user.read_text() == "# User\n- a\n- b\n- c\n"


def test_a_dream_that_lost_the_race_for_the_cursor_is_refused(tmp_path):
    paths = small(tmp_path)
    layer = layer_of(paths)
    change = layer.change("memory/.dream_cursor", "40")
    write(paths.workspace, {"memory/.dream_cursor": "30"})
    with pytest.raises(Conflict, match="cursor"):
        layer.check([change])


@pytest.mark.parametrize(
    "key",
    [
        "../outside.md", "memory/../SOUL.md", "/etc/passwd", "memory/history.jsonl", "memory/.cursor", "AGENTS.md", "",
        "memory/HISTORY.md", "memory/2026-13-01.md", "notes/2026-01-01.md", ".git/config", "USER.md\0", "memory/",
    ],
)  # fmt: skip
def test_only_memory_files_can_be_named(tmp_path, key):
    layer = layer_of(small(tmp_path))
    for act in (layer.read, lambda key: layer.edit_operation(key, "x"), lambda key: layer.change(key, "x")):
        with pytest.raises(BadInput):
            act(key)


def test_a_daily_note_is_made_without_a_commit(tmp_path):
    paths = small(tmp_path)
    layer = layer_of(paths)
    done = perform(layer, layer.edit_operation("memory/2026-11-21.md", "# Today\n"))
    assert (paths.memory / "2026-11-21.md").read_text() == "# Today\n"
    assert (layer.commit_of(done), len(subjects(paths))) == (None, 2)
    perform(layer, undo(done))
    assert not (paths.memory / "2026-11-21.md").exists()


def test_a_link_out_of_the_workspace_is_refused_and_one_inside_is_written_through(tmp_path):
    paths = small(tmp_path)
    layer = layer_of(paths)
    outside = tmp_path / "secret.md"
    outside.write_text("secret")
    paths.user.unlink()
    paths.user.symlink_to(outside)
    for act in (layer.read, lambda key: layer.edit_operation(key, "x")):
        with pytest.raises(Refused, match="out of the workspace"):
            act("USER.md")
    paths.soul.rename(paths.workspace / "real.md")
    paths.soul.symlink_to("real.md")
    perform(layer, layer.edit_operation("SOUL.md", "through\n"))
    assert paths.soul.is_symlink()
    assert (paths.workspace / "real.md").read_text() == "through\n"
    paths.memory_md.unlink()
    os.mkfifo(paths.memory_md)
    with pytest.raises(Refused, match="regular"):
        layer.read("memory/MEMORY.md")


def test_text_that_is_no_utf8_is_refused_before_anything_is_written(tmp_path):
    paths = small(tmp_path)
    layer = layer_of(paths)
    with pytest.raises(BadInput, match="UTF-8"):
        layer.edit_operation("USER.md", "a\ud800b")
    with pytest.raises(BadInput, match="UTF-8"):
        layer.check([Change("file", "USER.md", {"text": "x"}, {"text": "\udcff"})])
    for cursor in ("x", "4 0"):
        with pytest.raises(BadInput, match="cursor"):
            layer.check([layer.change("memory/.dream_cursor", cursor)])


def test_bad_bytes_are_reported_repaired_by_an_edit_and_brought_back_by_undo(tmp_path):
    paths = small(tmp_path)
    layer = layer_of(paths)
    paths.user.write_bytes(b"# User\n- caf\xe9\n")
    loaded = layer.load("USER.md")
    assert loaded.text == "# User\n- caf\ufffd\n"
    assert [(problem.where, problem.line) for problem in loaded.problems] == [("USER.md", 2)]
    done = perform(layer, layer.edit_operation("USER.md", "# User\n- café\n"))
    assert paths.user.read_text() == "# User\n- café\n"
    perform(layer, undo(Operation.from_json(done.to_json())))
    assert paths.user.read_bytes() == b"# User\n- caf\xe9\n"


def test_line_ends_and_mode_stay_as_they_were(tmp_path):
    paths = small(tmp_path)
    layer = layer_of(paths)
    paths.user.write_bytes(b"# User\r\n- a\r\n")
    paths.user.chmod(0o640)
    perform(layer, layer.edit_operation("USER.md", "# User\n- a\n- b\n"))
    assert paths.user.read_bytes() == b"# User\r\n- a\r\n- b\r\n"
    assert paths.user.stat().st_mode & 0o777 == 0o640


def test_the_documents_and_their_problems_are_listed(tmp_path):
    paths = small(tmp_path)
    layer = layer_of(paths)
    paths.soul.unlink()
    assert (layer.names(), layer.problems()) == (("USER.md", "memory/MEMORY.md"), [])
    paths.memory_md.write_bytes(b"ok\n\xff\n")
    (paths.workspace / ".git/HEAD").unlink()
    assert [(problem.where, problem.line) for problem in layer.problems()] == [(".git", None), ("memory/MEMORY.md", 2)]


def test_an_edit_that_changes_nothing_says_so(tmp_path):
    layer = layer_of(small(tmp_path))
    with pytest.raises(NothingToDo):
        layer.edit_operation("SOUL.md", layer.read("SOUL.md") or "")


@pytest.mark.parametrize("fails", ["commit", "second", "cursor"])
def test_a_change_that_cannot_be_finished_leaves_everything_as_it_was(tmp_path, monkeypatch, fails):
    paths = small(tmp_path)
    layer = layer_of(paths)
    keys = ("USER.md", "SOUL.md", "memory/.dream_cursor")
    before = [(paths.workspace / key).read_bytes() for key in keys]
    tree = git(paths.workspace, "rev-parse", "HEAD^{tree}")
    changes = [layer.change(key, text) for key, text in zip(keys, ("u\n", "s\n", "40"), strict=True)]
    write_atomic = atomic.write_atomic

    def full(path, data, **options):
        if path.name == {"second": "SOUL.md", "cursor": ".dream_cursor"}.get(fails) and data in (b"s\n", b"40"):
            raise DiskFull("no space left")
        write_atomic(path, data, **options)

    monkeypatch.setattr(atomic, "write_atomic", full)
    if fails == "commit":
        monkeypatch.setattr(GitHistory, "commit_files", _raise(DiskFull("no space left")))
    with pytest.raises(DiskFull):
        perform(layer, new_operation("dream.run", "Dream", changes))
    assert [(paths.workspace / key).read_bytes() for key in keys] == before
    assert git(paths.workspace, "rev-parse", "HEAD^{tree}") == tree


def _raise(error):
    def act(*_, **__):
        raise error

    return act


def test_applying_twice_is_applying_once(tmp_path):
    """A process killed after the ledger line may leave the change half made; applying it again completes it."""
    paths = small(tmp_path)
    layer = layer_of(paths)
    operation = layer.edit_operation("USER.md", "# User\n- new\n")
    perform(layer, operation)
    count = len(subjects(paths))
    perform(layer, operation)
    assert (len(subjects(paths)), paths.user.read_text()) == (count, "# User\n- new\n")


def test_without_a_repository_edits_are_just_written(tmp_path):
    (tmp_path / "memory").mkdir()
    layer = layer_of(find_workspace(tmp_path))
    perform(layer, layer.edit_operation("memory/MEMORY.md", "# M\n"))
    assert (tmp_path / "memory/MEMORY.md").read_text() == "# M\n"
    assert not (tmp_path / ".git").exists()


lines = st.lists(st.sampled_from(["# H", "- a", "- b", "", "你好", "x\r"]), max_size=6).map("\n".join).filter(bool)


@pytest.mark.slow
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(lines, min_size=1, max_size=5))
def test_edits_are_taken_back_in_any_depth(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("files")
    (folder / "memory").mkdir()
    layer = layer_of(find_workspace(folder))
    states, done = [layer.load("USER.md").data], []
    for text in texts:
        try:
            done.append(perform(layer, layer.edit_operation("USER.md", text)))
        except NothingToDo:
            continue
        states.append(layer.load("USER.md").data)
    for operation, state in zip(reversed(done), reversed(states[:-1]), strict=True):
        perform(layer, undo(operation))
        assert layer.load("USER.md").data == state


@pytest.mark.slow
@pytest.mark.parametrize("stage", range(12))
def test_a_kill_at_any_system_call_leaves_whole_files_and_a_whole_repository(tmp_path, stage):
    """Kill the process at the n-th rename, replace, unlink or fsync; the next writer finishes the work."""
    paths, began = small(tmp_path), clock.iso(clock.now())
    code = f"""
import os, signal
from nanomem_tui.core.paths import find_workspace
from nanomem_tui.store.files.layer import FileLayer
from nanomem_tui.agents.git_history import GitHistory
from nanomem_tui.core.operations import new_operation
paths = find_workspace({str(paths.workspace)!r})
layer = FileLayer(paths, lambda: GitHistory.open(paths))
changes = [layer.change("USER.md", "# User\\n- new\\n"), layer.change("memory/.dream_cursor", "40")]
count = [0]
def wrap(name):
    real = getattr(os, name)
    def call(*a, **k):
        count[0] += 1
        if count[0] > {stage} * 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*a, **k)
    setattr(os, name, call)
for name in ("rename", "replace", "unlink", "fsync"):
    wrap(name)
layer.apply(new_operation("dream.run", "Dream", changes, meta={{"commit": "dream: x"}}), changes)
"""
    subprocess.run([sys.executable, "-c", code], cwd=Path.cwd(), check=False)
    assert paths.user.read_text() in ("# User\n- a\n- b\n- c\n", "# User\n- new\n")
    cursor = paths.dream_cursor.read_text()
    assert git(paths.workspace, "fsck", "--strict", "--no-dangling") == ""
    history = GitHistory.open(paths)
    assert history is not None
    assert int(cursor) <= (history.commits()[0].cursor_after or 0)
    layer = layer_of(paths)
    values = ({"text": "# User\n- a\n- b\n- c\n"}, {"text": "# User\n- new\n"})
    cursor_change = Change("file", "memory/.dream_cursor", {"text": "20"}, {"text": "40"})
    changes = [Change("file", "USER.md", *values), cursor_change]
    layer.resume(new_operation("dream.run", "Dream", changes, meta={"commit": "dream: x"})._replace(at=began), changes)
    assert (paths.user.read_text(), paths.dream_cursor.read_text()) == ("# User\n- new\n", "40")
    assert git(paths.workspace, "show", "HEAD:memory/.dream_cursor") == "40"
    assert git(paths.workspace, "status", "--porcelain", "--untracked-files=no") == ""
