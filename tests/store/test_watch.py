"""The watch: which parts of a workspace changed, and no alarm for what is nobody's business."""

import os
import time

import pytest

from nanomem_tui.core.atomic import write_atomic
from nanomem_tui.core.paths import find_workspace
from nanomem_tui.store.files.presence import LAYERS, Watch


@pytest.fixture
def place(tmp_path):
    home = tmp_path / "home"
    for folder in ("workspace/memory/session-state", "workspace/.git/refs/heads", "sessions/id", "memory"):
        (home / folder).mkdir(parents=True)
    (home / "config.json").write_text("{}")
    return home


@pytest.fixture
def watch(place):
    return Watch(find_workspace(place), lambda: place / "sessions" / "id")


def test_nothing_changed(watch):
    assert watch.changed_layers() == set()


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("workspace/memory/LTM_SNAPSHOT.json", "items"),
        ("memory/longterm.db", "foreign"),
        ("memory/longterm.db-wal", "foreign"),
        ("workspace/memory/LESSONS.jsonl", "lessons"),
        ("sessions/id/Y2xpOmRpcmVjdA.jsonl", "sessions"),
        ("sessions/id/Y2xpOmRpcmVjdA.checkpoint.json", "sessions"),
        ("workspace/memory/session-state/cli_direct.md", "wal"),
        ("workspace/memory/history.jsonl", "history"),
        ("workspace/memory/HISTORY.md", "history"),
        ("workspace/memory/.cursor", "history"),
        ("workspace/memory/.dream_cursor", "dream"),
        ("workspace/.git/HEAD", "dream"),
        ("workspace/.git/refs/heads/master", "dream"),
        ("workspace/.git/refs/heads/team/main", "dream"),
        ("workspace/.git/packed-refs", "dream"),
        ("workspace/SOUL.md", "documents"),
        ("workspace/USER.md", "documents"),
        ("workspace/memory/MEMORY.md", "documents"),
        ("workspace/memory/2026-02-21.md", "notes"),
        ("workspace/memory/episodic/2026-02-21.md", "notes"),
        ("workspace/memory/semantic/facts.md", "notes"),
        ("llm_usage.sqlite3", "usage"),
    ],
)
def test_each_file_belongs_to_one_layer_made_changed_and_removed(place, watch, name, layer):
    path = place / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("one")
    assert watch.changed_layers() == {layer}
    assert watch.changed_layers() == set()
    path.write_text("another")
    assert watch.changed_layers() == {layer}
    path.unlink()
    assert watch.changed_layers() == {layer}
    assert watch.changed_layers() == set()


def test_a_replacement_of_the_same_size_and_time_is_seen(place, watch):
    path = place / "workspace" / "USER.md"
    path.write_text("one")
    before = os.stat(path)
    watch.changed_layers()
    write_atomic(path, b"two")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert watch.changed_layers() == {"documents"}


@pytest.mark.parametrize(
    "name",
    [
        "workspace/memory/.MEMORY.md.0123456789ab.nanomem-tmp",
        "workspace/memory/history.jsonl.tmp",
        "sessions/id/.Y2xp.jsonl.0123456789abcdef.tmp",
        "sessions/id/.session-files.lock",
        "workspace/.git/refs/heads/master.lock",
        "workspace/.git/index",
        "nanomem/nanomem.db",
    ],
)
def test_temporary_files_locks_and_our_own_folder_are_ignored(place, watch, name):
    (place / name).parent.mkdir(exist_ok=True)
    (place / name).write_text("x")
    assert watch.changed_layers() == set()


def test_our_own_change_can_be_taken_as_seen(place, watch):
    (place / "workspace" / "USER.md").write_text("ours")
    (place / "workspace" / "memory" / "LESSONS.jsonl").write_text("theirs")
    watch.seen("documents")
    assert watch.changed_layers() == {"lessons"}


def test_a_workspace_without_any_of_it_can_be_watched(tmp_path):
    (tmp_path / "SOUL.md").write_text("x")
    watch = Watch(find_workspace(tmp_path))
    (tmp_path / "SOUL.md").unlink()
    (tmp_path / "memory").mkdir()
    assert watch.changed_layers() == {"documents"}
    assert len(LAYERS) == 12


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("workspace/memory/LTM_SNAPSHOT.json", "items"),
        ("sessions/id/Y2xpOmRpcmVjdA.jsonl", "sessions"),
        ("workspace/memory/history.jsonl", "history"),
        ("workspace/USER.md", "documents"),
        ("workspace/memory/2026-03-01.md", "notes"),
        ("workspace/.git/refs/heads/master", "dream"),
    ],
)
def test_what_was_written_before_it_was_made_is_told_once(place, name, layer):
    old = place / "workspace" / "SOUL.md"
    old.write_text("old")
    time.sleep(0.05)
    opened = time.time_ns()
    path = place / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("written after the opening")
    late = Watch(find_workspace(place), lambda: place / "sessions" / "id", since=opened)
    assert layer in late.changed_layers()
    assert late.changed_layers() == set()


def test_what_was_removed_before_it_was_made_is_told(place):
    gone = place / "sessions" / "id" / "Y2xpOmRpcmVjdA.jsonl"
    gone.write_text("{}")
    time.sleep(0.05)
    opened = time.time_ns()
    gone.unlink()
    assert Watch(find_workspace(place), lambda: place / "sessions" / "id", since=opened).changed_layers() == {
        "sessions"
    }


def test_what_is_old_is_not_told(place):
    (place / "workspace" / "USER.md").write_text("old")
    time.sleep(0.05)
    assert (
        Watch(find_workspace(place), lambda: place / "sessions" / "id", since=time.time_ns()).changed_layers() == set()
    )
