"""Backups: whole, private, true to the moment, and brought back even when something goes wrong in between."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
import tarfile
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nanomem_tui import open_workspace
from nanomem_tui.errors import BadInput, NanomemError, NotFound, Refused
from nanomem_tui.formats.agent_home import Layout, detect
from nanomem_tui.paths import Paths, locate
from nanomem_tui.store import backup, backup_archive, backup_files, backup_health, backup_place
from nanomem_tui.store.backup_archive import SUFFIX

pytestmark = pytest.mark.sqlite("the file itself")


def home(folder: Path) -> Path:
    """The workspace of a new agent's home."""
    workspace = folder / "home" / "workspace"
    (workspace / "memory").mkdir(parents=True)
    (workspace / "USER.md").write_text("# User\n\n- Name: 小满\n")
    (folder / "home" / "config.json").write_text("{}")
    return workspace


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paths:
    """The home of an agent with two items."""
    monkeypatch.setenv("NANOMEM_CONFIG", str(tmp_path / "settings" / "config.toml"))
    workspace = home(tmp_path / "one")
    with open_workspace(workspace) as ws:
        ws.items.add("Likes tea")
        ws.items.add("Likes 茶")
    return locate(workspace)


def layout(paths: Paths) -> Layout:
    return detect(paths)


def make(paths: Paths, **options: object) -> backup.Made:
    return backup.make(paths, layout(paths), **options)  # type: ignore[arg-type]


def texts(workspace: Path) -> list[str]:
    with open_workspace(workspace) as ws:
        return sorted(row.text for row in ws.items.all())


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder but the backups, what SQLite keeps beside databases, and locks."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
        and backup_files.FOLDER not in path.parts
        and not path.name.endswith(("-wal", "-shm", ".lock"))
    }


def test_a_backup_brought_back_elsewhere_is_the_same_memory(paths: Paths, tmp_path: Path) -> None:
    made = make(paths)
    assert paths.home is not None
    before = files(paths.home)
    place = tmp_path / "elsewhere"
    backup.restore_to(made.path, place)
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


def test_it_is_readable_by_its_owner_alone_and_reading_it_changes_nothing(paths: Paths) -> None:
    assert paths.home is not None
    before = files(paths.home)
    made = make(paths)
    assert files(paths.home) == before
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(made.path.parent.stat().st_mode) == 0o700
    _, problems = backup.check(made.path)
    assert problems == []


def test_the_next_one_holds_what_changed_alone(paths: Paths) -> None:
    (paths.workspace / "AGENTS.md").write_bytes(os.urandom(300_000))
    first, second = make(paths), make(paths)
    assert (first.base, second.base) == ("", first.path.name)
    assert second.stored < first.stored - 300_000
    assert make(paths, whole=True).base == ""
    first.path.unlink()
    with pytest.raises(NotFound, match=f"needs {first.path.name}, which is gone"):
        backup.check(second.path)
    assert [bool(one.problem) for one in backup.listed(second.path.parent)] == [False, True]


def test_in_place_the_state_of_then_is_back_and_so_is_that_of_now_after_it(paths: Paths) -> None:
    user = paths.workspace / "USER.md"
    then, made = user.read_bytes(), make(paths)
    with open_workspace(paths.workspace) as ws:
        ws.items.delete([row.id for row in ws.items.all()])
        ws.items.add("Something wrong")
    user.write_bytes(b"overwritten\n")
    note = paths.memory / "2026-11-22.md"
    note.write_bytes(b"came since\n")
    done = backup.restore(paths, layout(paths), made.path)
    assert texts(paths.workspace) == ["Likes tea", "Likes 茶"]
    assert user.read_bytes() == then
    assert (note.read_bytes(), [*done.stays]) == (
        b"came since\n",
        [note.relative_to(paths.workspace.parent).as_posix()],
    )
    assert done.undo is not None
    backup.restore(paths, layout(paths), done.undo)
    assert texts(paths.workspace) == ["Something wrong"]
    assert user.read_bytes() == b"overwritten\n"


def test_what_a_first_dream_had_read_waits_again_where_what_it_wrote_is_gone(paths: Paths) -> None:
    paths.dream_cursor.unlink(missing_ok=True)
    entry = {"cursor": 1, "timestamp": "2026-11-22 10:00", "content": "- [durable] Ana prefers the canoe"}
    paths.history.write_text(json.dumps(entry) + "\n")
    made = make(paths)
    with open_workspace(paths.workspace) as ws:
        ws.dream.run()
        assert ws.history.count()["unprocessed"] == 0
    done = backup.restore(paths, layout(paths), made.path)
    with open_workspace(paths.workspace) as ws:
        assert ws.history.count()["unprocessed"] == 1
        ws.dream.run()
        assert "canoe" in "".join(ws.documents.read(name) or "" for name in ws.documents.names())
    assert done.undo is not None
    backup.restore(paths, layout(paths), done.undo)
    with open_workspace(paths.workspace) as ws:
        assert ws.history.count()["unprocessed"] == 0


def test_latest_is_what_a_person_made(paths: Paths) -> None:
    made = make(paths)
    (paths.workspace / "USER.md").write_bytes(b"changed\n")
    backup.restore(paths, layout(paths), made.path)
    assert backup.named(made.path.parent, "latest") == made.path
    assert [one.reason for one in backup.listed(made.path.parent)] == [f"before {made.path.name} was restored", ""]


def test_what_was_acknowledged_before_is_in_it_while_others_write(paths: Paths, tmp_path: Path) -> None:
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
        assert backup.check(made.path)[1] == []
        place = tmp_path / f"place{number}"
        backup.restore_to(made.path, place)
        assert {f"number {one}" for one in range(acknowledged + 1)} <= set(texts(place / paths.workspace.name))


@pytest.mark.sqlite("the file itself")
def test_what_is_kept_beside_the_database_is_of_its_moment(paths: Paths, tmp_path: Path) -> None:
    from nanomem_tui.store import verifying

    def write(number: int, _of: int) -> None:
        with open_workspace(paths.workspace) as ws:
            ws.items.add(f"between two files, the {number}th")

    write(-1, 0)
    backup.restore_to(make(paths, progress=write).path, place := tmp_path / "place")
    with open_workspace(place / "workspace") as ws:
        found = verifying.verify(ws.store)
        assert (found.whole, [*found.lines()]) == (True, [])


def test_links_pipes_and_what_lies_elsewhere_are_named_and_left_out(paths: Paths) -> None:
    (paths.memory / "link.md").symlink_to("/etc/passwd")
    os.mkfifo(paths.memory / "pipe")
    made = make(paths)
    assert {Path(path).name: why for path, why in made.left_out} == {"link.md": "a link", "pipe": "no regular file"}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_damage_goes_unseen(paths: Paths, tmp_path: Path, data: st.DataObject) -> None:
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
        manifest, problems = backup.check(bad)
    except NanomemError:
        return
    with backup_archive.Archive(whole) as right:
        good = {entry.path: entry.sha256 for entry in right.manifest.entries}
    if not problems:
        assert {entry.path: entry.sha256 for entry in manifest.entries} == good
    else:
        with pytest.raises(NanomemError):
            backup.restore_to(bad, place)
        assert not place.exists()


def test_a_changed_name_in_the_manifest_is_seen(paths: Paths, tmp_path: Path) -> None:
    content = make(paths).path.read_bytes()
    at = content.rindex(b"nanomem/backups")
    bad = tmp_path / f"bad{SUFFIX}"
    bad.write_bytes(content[:at] + b"o" + content[at + 1 :])
    with pytest.raises(BadInput, match="or a damaged one"):
        backup.check(bad)


@pytest.mark.parametrize(
    "path", ["../out", "/etc/passwd", "a/../../out", "a//b", "./a", "", "a/\0b", "workspace/../../out"]
)
def test_no_path_in_an_archive_leaves_its_place(paths: Paths, tmp_path: Path, path: str) -> None:
    made = make(paths)
    evil = tmp_path / f"evil{SUFFIX}"
    with tarfile.open(made.path) as source, tarfile.open(evil, "w") as target:
        for member in source.getmembers():
            stream = source.extractfile(member)
            assert stream is not None
            content = stream.read()
            if member.name == "manifest.json":
                told = json.loads(content)
                told["entries"][0]["path"] = path
                content = json.dumps(told).encode()
                member.size = len(content)
            target.addfile(member, io.BytesIO(content))
    with pytest.raises(BadInput, match="not a backup"):
        backup.restore_to(evil, tmp_path / "place")
    assert not (tmp_path / "place").exists()
    assert not (tmp_path / "out").exists()


def test_a_link_in_the_way_is_not_followed_and_nothing_is_begun(paths: Paths, tmp_path: Path) -> None:
    made = make(paths)
    outside = tmp_path / "outside"
    outside.mkdir()
    (paths.workspace / "USER.md").unlink()
    (paths.workspace / "USER.md").symlink_to(outside / "USER.md")
    with open_workspace(paths.workspace) as ws:
        ws.items.add("since")
    with pytest.raises(Refused, match="a link is in the way"):
        backup.restore(paths, layout(paths), made.path)
    assert list(outside.iterdir()) == []
    assert "since" in texts(paths.workspace)
    assert [*backup_health.interrupted(paths, layout(paths))] == []


def test_a_full_place_is_refused(paths: Paths, tmp_path: Path) -> None:
    made = make(paths)
    place = tmp_path / "place"
    place.mkdir()
    (place / "mine.txt").write_text("mine")
    with pytest.raises(Refused, match="something is there"):
        backup.restore_to(made.path, place)
    assert [path.name for path in place.iterdir()] == ["mine.txt"]


def test_beside_another_console_and_for_another_memory_it_is_refused(paths: Paths, tmp_path: Path) -> None:
    made = make(paths)
    with open_workspace(paths.workspace) as ws:
        ws.items.add("Open")
        with pytest.raises(Refused, match="another nanomem"):
            backup.restore(paths, layout(paths), made.path)
    other = home(tmp_path / "two")
    with open_workspace(other) as ws:
        ws.items.add("Somebody else's")
    elsewhere = locate(other)
    with pytest.raises(Refused, match="another memory"):
        backup.restore_plan(elsewhere, layout(elsewhere), made.path)
    assert texts(other) == ["Somebody else's"]


def test_who_shares_the_database_is_not_taken_back_unasked(paths: Paths) -> None:
    made = make(paths)
    beside = paths.workspace.with_name("second")
    (beside / "memory").mkdir(parents=True)
    with open_workspace(beside) as ws:
        ws.items.add("Of the second")
    with pytest.raises(Refused, match="second"):
        backup.restore(paths, layout(paths), made.path)
    assert texts(beside) == ["Of the second"]
    backup.restore(paths, layout(paths), made.path, others=True)
    assert texts(beside) == []


def test_interrupted_at_any_step_it_is_told_and_done_to_the_end(
    paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make(paths)
    write = backup_place.write
    steps, count = 0, 1
    while steps < count:
        with open_workspace(paths.workspace) as ws:
            ws.items.add(f"since {steps}")
        (paths.workspace / "USER.md").write_bytes(b"changed %d\n" % steps)
        seen = 0

        def stop(*args: object, at: int = steps) -> None:
            nonlocal seen
            if seen == at:
                raise KeyboardInterrupt
            seen += 1
            write(*args)  # type: ignore[arg-type]

        plan = backup.restore_plan(paths, layout(paths), made.path)
        count = len(plan.changed)
        with monkeypatch.context() as patched:
            patched.setattr(backup_place, "write", stop)
            with pytest.raises(KeyboardInterrupt):
                backup.restore(paths, layout(paths), made.path)
        [problem] = backup_health.interrupted(paths, layout(paths))
        assert made.path.name in problem.fix
        backup.restore(paths, layout(paths), made.path)
        assert [*backup_health.interrupted(paths, layout(paths))] == []
        assert texts(paths.workspace) == ["Likes tea", "Likes 茶"]
        steps += 1
    assert steps >= 2


def test_a_disk_that_fills_up_leaves_nothing_behind(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backup_archive.Writer, "_add", full)
    with pytest.raises(NanomemError, match="no space left"):
        make(paths)
    assert list(backup_files.folder_of(paths).iterdir()) == []


def test_a_long_file_is_read_piece_by_piece(paths: Paths, tmp_path: Path) -> None:
    long = paths.memory / "long.md"
    content = os.urandom(100_000) * 90
    long.write_bytes(content)
    made = make(paths)
    backup.restore_to(made.path, tmp_path / "place")
    assert (tmp_path / "place" / paths.workspace.name / "memory" / "long.md").read_bytes() == content


def test_the_agents_configuration_names_the_new_place(paths: Paths, tmp_path: Path) -> None:
    assert paths.home is not None
    config = paths.home / "config.json"
    config.write_text(json.dumps({"agents": {"defaults": {"workspace": str(paths.workspace), "model": "x"}}, "a": "é"}))
    backup.restore_to(make(paths).path, tmp_path / "place")
    told = json.loads((tmp_path / "place" / "config.json").read_text())
    place = str(tmp_path / "place" / paths.workspace.name)
    assert told == {"agents": {"defaults": {"workspace": place, "model": "x"}}, "a": "é"}
