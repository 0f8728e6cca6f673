"""What a store meets on a bad day: each is one clear line or a marked row, nothing is lost, the rest is usable."""

import contextlib
import errno
import fcntl
import os
import sqlite3
import subprocess

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import files as core_files
from nanomem_tui.core.errors import AccessDenied, DiskFull, NanomemError
from nanomem_tui.store.database import engine
from tests.store.homes import Agent, files, item, kill, make_home, state


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 2 MB; needs root."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("cannot mount a small file system here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place, leave):
    filler = place / "filler"
    found = os.statvfs(place)
    filler.write_bytes(b"\0" * max(0, found.f_bavail * found.f_bsize - leave))
    return filler


@pytest.mark.sqlite("the file itself")
@pytest.mark.parametrize("killed", [False, True])
def test_a_full_disk_loses_nothing_that_was_acknowledged_and_heals_by_itself(small_disk, killed):
    workspace = make_home(small_disk)
    ws = open_workspace(workspace)
    ws.items.edit("ltm_1", text="before")
    ws.flush()
    filler = fill(small_disk, 65_536)
    kept = []
    with pytest.raises(DiskFull) as caught:
        for number in range(500):
            kept.append(ws.items.add(f"on a filling disk {number} " + "x" * 400)[1])
    assert "no space left" in caught.value.line()
    assert "\n" not in caught.value.line()
    assert "no space" in ws.degraded
    assert len(ws.items.all()) == 4 + len(kept), "RAM has what was acknowledged"
    looked = state(workspace)
    assert {row.id for row in kept} <= looked.keys(), "and another process can read it on the full disk"
    if killed:
        kill(ws)
    filler.unlink()
    if killed:
        ws = open_workspace(workspace)
    ws.items.add("space again")
    assert ws.degraded == ""
    ws.close()
    rows = state(workspace)
    assert {row.id for row in kept} <= rows.keys()
    assert rows["ltm_1"].text == "before"
    assert len(Agent(workspace).items) == 5 + len(kept)


def refuse(monkeypatch, part, code, ways):
    """Make every open of a file below `part` for writing fail."""
    real = os.open

    def opened(path, flags, *rest, **named):
        if part in str(path) and flags & ways:
            raise OSError(code, os.strerror(code), str(path))
        return int(real(path, flags, *rest, **named))

    monkeypatch.setattr(os, "open", opened)


@pytest.mark.parametrize(("code", "words"), [(errno.EACCES, "no permission"), (errno.EROFS, "the disk is read-only")])
def test_without_permission_to_write_reading_goes_on(tmp_path, monkeypatch, code, words):
    workspace = make_home(tmp_path)
    before = files(tmp_path)
    ws = open_workspace(workspace)

    def no_folder(path, mode=0):
        raise OSError(code, os.strerror(code), str(path))

    monkeypatch.setattr(os, "mkdir", no_folder)
    refuse(monkeypatch, "nanomem/", code, os.O_CREAT)
    with pytest.raises(AccessDenied) as caught:
        ws.items.add("more")
    assert words in caught.value.line()
    assert len(ws.items.all()) == 4
    assert words in ws.degraded
    ws.close()
    assert files(tmp_path) == before


def test_a_file_that_cannot_be_read_is_named_and_left_alone(tmp_path, monkeypatch):
    workspace = make_home(tmp_path)
    before = (workspace / "memory" / "LTM_SNAPSHOT.json").read_bytes()
    real = core_files.opened

    def denied(path):
        if path.name == "LTM_SNAPSHOT.json":
            raise PermissionError(errno.EACCES, "denied", str(path))
        return real(path)

    with monkeypatch.context() as patch:
        patch.setattr(core_files, "opened", denied)
        with open_workspace(workspace) as ws:
            with pytest.raises(AccessDenied, match="no permission while reading"):
                ws.items.all()
            assert len(ws.lessons.all()) == 3
            assert [problem.where for problem in ws.problems()] == ["memory/LTM_SNAPSHOT.json"]
            ws.lessons.set_enabled(["lesson_1"], False)
    assert (workspace / "memory" / "LTM_SNAPSHOT.json").read_bytes() == before
    with open_workspace(workspace) as ws:
        assert len(ws.items.all()) == 4, "they come when they can be read"
        ws.items.set_pinned(["ltm_1"], True)
    assert len(state(workspace)) == 7


@pytest.mark.parametrize(
    "junk",
    [
        b"\xff",
        b"\x00",
        b'{"id": "half',
        b"\xef\xbb\xbf",
        b"\r\n",
        b"\n\n",
        b"[1,2]\n",
        b"42\n",
        b'"\\ud800"\n',
        b"\xe2\x80\xa8",
    ],
)
@pytest.mark.parametrize("place", ["front", "middle", "end"])
def test_junk_in_the_agents_files_costs_what_it_hit(tmp_path, junk, place):
    workspace = make_home(tmp_path)
    for name in ("LTM_SNAPSHOT.json", "LESSONS.jsonl"):
        path = workspace / "memory" / name
        data = path.read_bytes()
        middle = data.index(b"ltm_3" if name.endswith("json") else b"lesson_2") - 1
        at = {"front": 0, "middle": middle, "end": len(data)}[place]
        path.write_bytes(data[:at] + junk + data[at:])
    before = files(tmp_path)
    with open_workspace(workspace) as ws:
        assert {row.id for row in ws.items.all()} >= {"ltm_1", "ltm_2", "ltm_4"} - (
            {"ltm_1"} if place == "front" else set()
        )
        assert len(ws.lessons.all()) >= 2
    assert files(tmp_path) == before
    with open_workspace(workspace) as ws:
        ws.items.edit("ltm_4", text="changed")
        ws.lessons.set_enabled(["lesson_3"], False)
    rows = state(workspace)
    assert (rows["ltm_4"].text, rows["lesson_3"].enabled) == ("changed", False)
    agent = Agent(workspace)
    assert agent.items["ltm_4"]["text"] == "changed"
    assert agent.lessons["lesson_3"]["enabled"] is False


@pytest.mark.slow
def test_a_line_of_ten_megabytes_is_a_row_like_any_other(tmp_path):
    workspace = make_home(tmp_path)
    agent = Agent(workspace)
    agent.items["ltm_9"] = item(9, "longo" * 2_000_000)
    agent.lessons["lesson_1"]["bad_action"] = "x" * 10_000_000
    agent.flush()
    with open_workspace(workspace) as ws:
        assert len(ws.items.get("ltm_9").text) == 10_000_000
        ws.items.set_pinned(["ltm_1"], True)
        ws.lessons.set_enabled(["lesson_1"], False)
    assert len(state(workspace)["lesson_1"].bad_action) == 10_000_000
    assert len(agent.read_lessons()[0]["bad_action"]) == 10_000_000


@pytest.mark.sqlite("the file itself")
@pytest.mark.parametrize("name", ["nanomem.db", "store.lock"])
def test_a_link_in_place_of_our_files_is_not_followed(tmp_path, name):
    workspace = make_home(tmp_path)
    ours = workspace.parent / "nanomem"
    ours.mkdir()
    victim = tmp_path / "victim"
    victim.write_bytes(b"")
    (ours / name).symlink_to(victim)
    ws = open_workspace(workspace)
    with pytest.raises(NanomemError) as caught:
        ws.items.edit("ltm_1", text="refused")
    assert "\n" not in caught.value.line()
    kill(ws)
    assert victim.read_bytes() == b""
    with pytest.raises(NanomemError) if name == "nanomem.db" else contextlib.nullcontext():
        assert state(workspace)["ltm_1"].text == "item number 1"


@pytest.mark.sqlite("the file itself")
def test_a_busy_store_says_so_and_nothing_is_half_done(tmp_path, monkeypatch):
    workspace = make_home(tmp_path)
    with open_workspace(workspace) as ws:
        ws.items.edit("ltm_1", text="first")
    monkeypatch.setattr(engine, "BUSY_SECONDS", 0.05)
    with open_workspace(workspace) as ws:
        with (workspace.parent / "nanomem" / "store.lock").open() as another:
            fcntl.flock(another, fcntl.LOCK_EX)
            with pytest.raises(NanomemError, match="being repaired or moved"):
                ws.items.edit("ltm_2", text="second")
        with contextlib.closing(sqlite3.connect(ws.paths.database, isolation_level=None)) as another_program:
            another_program.execute("BEGIN IMMEDIATE")
            with pytest.raises(NanomemError, match="locked by another process"):
                ws.items.edit("ltm_2", text="second")
        assert ws.items.get("ltm_2").text == "item number 2"
        ws.items.edit("ltm_2", text="second")
    assert state(workspace)["ltm_2"].text == "second"


def test_an_empty_workspace_has_nothing_and_takes_something(tmp_path):
    workspace = tmp_path / "workspace"
    (workspace / "memory").mkdir(parents=True)
    with open_workspace(workspace) as ws:
        assert (ws.items.all(), ws.lessons.all(), ws.log(), ws.problems()) == ([], [], [], [])
        ws.items.add("first")
    assert [row.text for row in state(workspace).values()] == ["first"]
    assert [path.name for path in (workspace / "memory").iterdir()] == ["nanomem"]


def test_a_home_that_moves_keeps_its_rows(tmp_path):
    workspace = make_home(tmp_path)
    with open_workspace(workspace) as ws:
        ws.items.set_enabled(["ltm_1"], False)
    moved = tmp_path / "moved"
    workspace.parent.rename(moved)
    assert not state(moved / "workspace")["ltm_1"].enabled


def test_an_id_that_the_agent_makes_later_changes_nothing(tmp_path):
    workspace = make_home(tmp_path)
    with open_workspace(workspace) as ws:
        ws.items.set_enabled(["ltm_1"], False)
    (workspace / ".nanobot").mkdir()
    (workspace / ".nanobot" / "workspace-id").write_text("b320cfc38283ad9d0550a89f257ad3d8\n")
    assert not state(workspace)["ltm_1"].enabled
