"""Backups: whole, private, true to the moment, and brought back even when something goes wrong in between."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nanomem_tui import open_workspace
from nanomem_tui.agents.releases import detect
from nanomem_tui.core.errors import BadInput, NanomemError, Refused
from nanomem_tui.core.paths import find_workspace
from nanomem_tui.store.moving import backup, restore
from nanomem_tui.store.moving.backup import SUFFIX

pytestmark = pytest.mark.sqlite("the file itself")


def home(folder):
    """The workspace of a new agent's home."""
    workspace = folder / "home" / "workspace"
    (workspace / "memory").mkdir(parents=True)
    (workspace / "USER.md").write_text("# User\n\n- Name: 小满\n")
    (folder / "home" / "config.json").write_text("{}")
    return workspace


@pytest.fixture
def paths(tmp_path, monkeypatch):
    """The home of an agent with two items."""
    monkeypatch.setenv("NANOMEM_CONFIG", str(tmp_path / "settings" / "config.toml"))
    workspace = home(tmp_path / "one")
    with open_workspace(workspace) as ws:
        ws.items.add("Likes tea")
        ws.items.add("Likes 茶")
    return find_workspace(workspace)


def layout(paths):
    return detect(paths)


def make(paths, **options):
    return backup.make_backup(paths, layout(paths), **options)


def texts(workspace):
    with open_workspace(workspace) as ws:
        return sorted(row.text for row in ws.items.all())


def files(folder):
    """Every file below a folder but the backups, what is kept beside databases, and locks."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
        and backup.FOLDER not in path.parts
        and not path.name.endswith(("-wal", "-shm", ".lock"))
        and path.name != "operations.jsonl"
        and "copies" not in path.parts
    }


def test_a_backup_brought_back_elsewhere_is_the_same_memory(paths, tmp_path):
    made = make(paths)
    assert paths.home is not None
    before = files(paths.home)
    place = tmp_path / "elsewhere"
    restore.restore_to(made.path, place)
    then = files(place)
    databases = {name for name in before if name.endswith(".db")}
    assert {name: data for name, data in before.items() if name not in databases} == {
        name: data for name, data in then.items() if name not in databases
    }
    assert texts(place / paths.workspace.name) == texts(paths.workspace)
    with open_workspace(place / paths.workspace.name) as ws:
        assert [entry.operation.kind for entry in ws.log(5)] == ["items.add", "items.add"]
        ws.undo()
    assert texts(place / paths.workspace.name) == ["Likes tea"]


def test_it_is_readable_by_its_owner_alone_and_reading_it_changes_nothing(paths):
    assert paths.home is not None
    before = files(paths.home)
    made = make(paths)
    assert files(paths.home) == before
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(made.path.parent.stat().st_mode) == 0o700
    _, problems = backup.check_archive(made.path)
    assert problems == []


def test_in_place_the_state_of_then_is_back_and_so_is_that_of_now_after_it(paths):
    user = paths.workspace / "USER.md"
    then, made = user.read_bytes(), make(paths)
    with open_workspace(paths.workspace) as ws:
        ws.items.delete([row.id for row in ws.items.all()])
        ws.items.add("Something wrong")
    user.write_bytes(b"overwritten\n")
    note = paths.memory / "2026-11-22.md"
    note.write_bytes(b"came since\n")
    done = restore.restore_in_place(paths, layout(paths), made.path)
    assert texts(paths.workspace) == ["Likes tea", "Likes 茶"]
    assert user.read_bytes() == then
    assert (note.read_bytes(), [*done.stays]) == (
        b"came since\n",
        [note.relative_to(paths.workspace.parent).as_posix()],
    )
    assert done.undo is not None
    restore.restore_in_place(paths, layout(paths), done.undo)
    assert texts(paths.workspace) == ["Something wrong"]
    assert user.read_bytes() == b"overwritten\n"


def test_what_is_brought_back_of_one_workspace_takes_nothing_from_another_of_the_home(paths):
    second = paths.workspace.with_name("second")
    (second / "memory").mkdir(parents=True)
    with open_workspace(second) as ws:
        ws.items.add("Of the second")
    other = find_workspace(second)
    made = make(other)
    with open_workspace(second) as ws:
        ws.items.add("Later")
    before = (paths.store / "operations.jsonl").read_bytes()
    restore.restore_in_place(other, layout(other), made.path)
    assert texts(second) == ["Of the second"]
    assert (paths.store / "operations.jsonl").read_bytes() == before
    assert texts(paths.workspace) == ["Likes tea", "Likes 茶"]


def test_what_a_first_dream_had_read_waits_again_where_what_it_wrote_is_gone(paths):
    paths.dream_cursor.unlink(missing_ok=True)
    entry = {"cursor": 1, "timestamp": "2026-11-22 10:00", "content": "- [durable] Ana prefers the canoe"}
    paths.history.write_text(json.dumps(entry) + "\n")
    made = make(paths)
    with open_workspace(paths.workspace) as ws:
        ws.dream.run()
        assert ws.history.count()["unprocessed"] == 0
    done = restore.restore_in_place(paths, layout(paths), made.path)
    with open_workspace(paths.workspace) as ws:
        assert ws.history.count()["unprocessed"] == 1
        ws.dream.run()
        assert "canoe" in "".join(ws.documents.read(name) or "" for name in ws.documents.names())
    assert done.undo is not None
    restore.restore_in_place(paths, layout(paths), done.undo)
    with open_workspace(paths.workspace) as ws:
        assert ws.history.count()["unprocessed"] == 0


def test_latest_is_what_a_person_made(paths):
    made = make(paths)
    (paths.workspace / "USER.md").write_bytes(b"changed\n")
    restore.restore_in_place(paths, layout(paths), made.path)
    assert backup.find_archive(made.path.parent, "latest") == made.path
    assert [one.reason for one in backup.list_archives(made.path.parent)] == [
        f"before {made.path.name} was restored",
        "",
    ]


@pytest.mark.slow
def test_what_was_acknowledged_before_is_in_it_while_others_write(paths, tmp_path):
    """Beside a process that adds and checkpoints as fast as it can."""
    writer = (
        "import sys\nfrom nanomem_tui import open_workspace\n"
        "with open_workspace(sys.argv[1]) as ws:\n"
        "    for number in range(100000):\n"
        "        ws.items.add(f'number {number}')\n"
        "        if number % 7 == 0: ws.flush()\n"
        "        print(number, flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", writer, paths.workspace], stdout=subprocess.PIPE, text=True
    ) as process:
        told: list[int] = []
        assert process.stdout is not None
        reader = threading.Thread(target=lambda: told.extend(int(line) for line in process.stdout or ()))
        reader.start()
        try:
            backups = []
            for number in range(6):
                while not told or told[-1] < number * 5:
                    assert process.poll() is None
                acknowledged = told[-1]
                backups.append((acknowledged, make(paths)))
        finally:
            process.kill()
            reader.join()
    for number, (acknowledged, made) in enumerate(backups):
        assert backup.check_archive(made.path)[1] == []
        place = tmp_path / f"place{number}"
        restore.restore_to(made.path, place)
        assert {f"number {one}" for one in range(acknowledged + 1)} <= set(texts(place / paths.workspace.name))


def test_links_pipes_and_what_lies_elsewhere_are_named_and_left_out(paths):
    (paths.memory / "link.md").symlink_to("/etc/passwd")
    os.mkfifo(paths.memory / "pipe")
    made = make(paths)
    assert {Path(path).name: why for path, why in made.left_out} == {"link.md": "a link", "pipe": "no regular file"}


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_damage_goes_unseen(paths, tmp_path, data):
    """Cut anywhere or with any byte changed, it is refused, or what comes out is what went in."""
    made = paths.workspace / "made"
    if not made.exists():
        make(paths, folder=made)
    [whole] = list(made.glob(f"*{SUFFIX}"))
    content = bytearray(whole.read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        del content[at:]
    else:
        content[at] ^= data.draw(st.integers(1, 255))
    bad = tmp_path / f"bad{SUFFIX}"
    bad.write_bytes(content)
    place = tmp_path / "place"
    try:
        manifest, problems = backup.check_archive(bad)
    except NanomemError:
        return
    with backup.Archive(whole) as right:
        good = {entry.path: entry.sha256 for entry in right.manifest.entries}
    if not problems:
        assert {entry.path: entry.sha256 for entry in manifest.entries} == good
    else:
        with pytest.raises(NanomemError):
            restore.restore_to(bad, place)
        assert not place.exists()


def test_any_program_takes_a_file_out_of_it_and_it_stays_private(paths, tmp_path):
    with zipfile.ZipFile(make(paths).path) as plain:
        assert plain.testzip() is None
        user = plain.getinfo("files/workspace/USER.md")
        assert plain.read(user) == (paths.workspace / "USER.md").read_bytes()
        assert {info.external_attr >> 16 & 0o777 for info in plain.infolist()} == {0o600}


def test_names_that_are_no_text_come_back(paths, tmp_path):
    names = [b"caf\xe9.md", b"caf\\xe9.md", "茶.md".encode()]
    for name in names:
        (paths.memory / os.fsdecode(name)).write_bytes(name)
    restore.restore_to(make(paths).path, tmp_path / "place")
    there = tmp_path / "place" / "workspace" / "memory"
    assert [(there / os.fsdecode(name)).read_bytes() for name in names] == names


@pytest.mark.parametrize(
    "path", ["../out", "/etc/passwd", "a/../../out", "a//b", "./a", "", "a/\0b", "workspace/../../out"]
)
def test_no_path_in_an_archive_leaves_its_place(paths, tmp_path, path):
    made = make(paths)
    evil = tmp_path / f"evil{SUFFIX}"
    with zipfile.ZipFile(made.path) as source, zipfile.ZipFile(evil, "w") as target:
        for member in source.infolist():
            content = source.read(member)
            if member.filename == "manifest.json":
                told = json.loads(content)
                told["entries"][0]["path"] = path
                content = json.dumps(told).encode()
            target.writestr(member.filename, content)
    with pytest.raises(BadInput, match="not a backup"):
        restore.restore_to(evil, tmp_path / "place")
    assert not (tmp_path / "place").exists()
    assert not (tmp_path / "out").exists()


def test_a_link_in_the_way_is_not_followed_and_nothing_is_begun(paths, tmp_path):
    made = make(paths)
    outside = tmp_path / "outside"
    outside.mkdir()
    (paths.workspace / "USER.md").unlink()
    (paths.workspace / "USER.md").symlink_to(outside / "USER.md")
    with open_workspace(paths.workspace) as ws:
        ws.items.add("since")
    with pytest.raises(Refused, match="a link is in the way"):
        restore.restore_in_place(paths, layout(paths), made.path)
    assert list(outside.iterdir()) == []
    assert "since" in texts(paths.workspace)
    assert [*backup.problems(paths)] == []


def test_a_full_place_is_refused(paths, tmp_path):
    made = make(paths)
    place = tmp_path / "place"
    place.mkdir()
    (place / "mine.txt").write_text("mine")
    with pytest.raises(Refused, match="something is there"):
        restore.restore_to(made.path, place)
    assert [path.name for path in place.iterdir()] == ["mine.txt"]


def test_for_another_memory_it_is_refused(paths, tmp_path):
    made = make(paths)
    other = home(tmp_path / "two")
    with open_workspace(other) as ws:
        ws.items.add("Somebody else's")
    elsewhere = find_workspace(other)
    with pytest.raises(Refused, match="another memory"):
        restore.restore_in_place(elsewhere, layout(elsewhere), made.path)
    assert texts(other) == ["Somebody else's"]


@pytest.mark.slow
def test_interrupted_at_any_step_it_is_told_and_done_to_the_end(paths, tmp_path, monkeypatch):
    made = make(paths)
    move = os.replace
    steps, count = 0, 1
    while steps < count:
        with open_workspace(paths.workspace) as ws:
            ws.items.add(f"since {steps}")
        (paths.workspace / "USER.md").write_bytes(b"changed %d\n" % steps)
        with backup.Archive(made.path) as archive:
            planned = restore.plan_restore(paths, layout(paths), archive).changed
        count, seen = len(planned), 0

        def stop(source, target, at=steps, planned=planned):
            nonlocal seen
            assert paths.home is not None
            if Path(target).is_relative_to(paths.home) and str(Path(target).relative_to(paths.home)) in planned:
                if seen == at:
                    raise KeyboardInterrupt
                seen += 1
            move(source, target)

        with monkeypatch.context() as patched:
            patched.setattr(os, "replace", stop)
            with pytest.raises(KeyboardInterrupt):
                restore.restore_in_place(paths, layout(paths), made.path)
        [problem] = backup.problems(paths)
        assert made.path.name in problem.fix
        restore.restore_in_place(paths, layout(paths), made.path)
        assert [*backup.problems(paths)] == []
        assert texts(paths.workspace) == ["Likes tea", "Likes 茶"]
        steps += 1
    assert steps >= 2


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_disk_that_fills_up_while_one_is_made_leaves_nothing_behind(paths, monkeypatch, call):
    backup.folder_of(paths).mkdir()
    with full_disk(monkeypatch, call), pytest.raises(NanomemError, match="no space left"):
        make(paths)
    assert list(backup.folder_of(paths).iterdir()) == []


def test_a_disk_that_fills_up_while_one_is_brought_back_changes_nothing(paths, tmp_path, monkeypatch):
    made = make(paths)
    (paths.workspace / "USER.md").write_bytes(b"changed\n")
    (paths.workspace / "AGENTS.md").write_bytes(b"since\n")
    with open_workspace(paths.workspace) as ws:
        ws.items.add("since")
    assert paths.home is not None
    before = files(paths.home)
    real, left = os.fchmod, [1]

    def full(handle, mode):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle, mode)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fchmod", full)
        with pytest.raises(NanomemError, match="no space left"):
            restore.restore_in_place(paths, layout(paths), made.path)
        with pytest.raises(NanomemError, match="no space left"):
            restore.restore_to(made.path, tmp_path / "place")
    assert files(paths.home) == before
    assert [*backup.problems(paths)] == []
    assert list((tmp_path / "place").iterdir()) == []


@contextlib.contextmanager
def full_disk(monkeypatch, call):
    """A disk that has no room for the second part of an archive, or to make it durable."""

    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        if call == "fsync":
            patched.setattr(os, "fsync", full)
        else:
            patched.setattr(zipfile.ZipFile, "open", full)
        yield


@pytest.mark.slow
def test_a_long_file_is_read_part_by_part(paths, tmp_path):
    long = paths.memory / "long.md"
    content = os.urandom(100_000) * 90
    long.write_bytes(content)
    made = make(paths)
    restore.restore_to(made.path, tmp_path / "place")
    assert (tmp_path / "place" / paths.workspace.name / "memory" / "long.md").read_bytes() == content


def test_the_agents_configuration_names_the_new_place(paths, tmp_path):
    assert paths.home is not None
    config = paths.home / "config.json"
    config.write_text(json.dumps({"agents": {"defaults": {"workspace": str(paths.workspace), "model": "x"}}, "a": "é"}))
    restore.restore_to(make(paths).path, tmp_path / "place")
    told = json.loads((tmp_path / "place" / "config.json").read_text())
    place = str(tmp_path / "place" / paths.workspace.name)
    assert told == {"agents": {"defaults": {"workspace": place, "model": "x"}}, "a": "é"}
