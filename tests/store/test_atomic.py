"""Files are replaced whole, appended to in one write, and read only when they hold still."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import threading
import time

import pytest

from nanomem_tui.core import atomic
from nanomem_tui.core.errors import AccessDenied, Conflict, DiskFull, Refused


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(autouse=True)
def open_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_a_new_file_is_private_and_an_old_one_keeps_its_mode(tmp_path):
    path = tmp_path / "file"
    atomic.write_atomic(path, b"one")
    assert (path.read_bytes(), mode(path)) == (b"one", 0o600)
    path.chmod(0o644)
    atomic.write_atomic(path, b"two")
    assert (path.read_bytes(), mode(path)) == (b"two", 0o644)
    assert os.listdir(tmp_path) == ["file"]


def test_a_link_stays_a_link(tmp_path):
    target = tmp_path / "elsewhere"
    target.mkdir()
    (target / "real").write_bytes(b"old")
    link = tmp_path / "link"
    link.symlink_to(target / "real")
    atomic.write_atomic(link, b"new")
    assert link.is_symlink()
    assert (target / "real").read_bytes() == b"new"


def test_a_file_that_changed_is_not_replaced(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"theirs")
    with pytest.raises(Conflict):
        atomic.write_atomic(path, b"ours", expected=atomic.sha256(b"what we read"))
    with pytest.raises(Conflict):
        atomic.write_atomic(path, b"ours", expected="")
    assert path.read_bytes() == b"theirs"
    atomic.write_atomic(path, b"ours", expected=atomic.sha256(b"theirs"))
    atomic.write_atomic(tmp_path / "new", b"ours", expected="")
    assert path.read_bytes() == (tmp_path / "new").read_bytes() == b"ours"


@pytest.mark.parametrize("act", ["replace", "remove"])
def test_what_somebody_writes_into_the_old_file_in_that_moment_is_put_back(tmp_path, monkeypatch, act):
    path = tmp_path / "file"
    path.write_bytes(b"- old\n")
    path.chmod(0o644)
    with path.open("ab") as theirs:
        fsync = os.fsync

        def and_write(handle):
            if stat.S_ISDIR(os.fstat(handle).st_mode) and not theirs.closed:
                theirs.write(b"- theirs\n")
                theirs.close()
            fsync(handle)

        monkeypatch.setattr(os, "fsync", and_write)
        with pytest.raises(Conflict):
            if act == "replace":
                atomic.write_atomic(path, b"- ours\n", expected=atomic.sha256(b"- old\n"))
            else:
                atomic.remove_expected(path, atomic.sha256(b"- old\n"))
    assert (path.read_bytes(), mode(path)) == (b"- old\n- theirs\n", 0o644)
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_is_taken_away_only_as_what_it_was(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"theirs")
    for expected in (atomic.sha256(b"ours"), ""):
        with pytest.raises(Conflict):
            atomic.remove_expected(path, expected)
    atomic.remove_expected(path, atomic.sha256(b"theirs"))
    atomic.remove_expected(path, "")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("step", ["write", "fsync", "replace", "fchmod"])
@pytest.mark.parametrize(("code", "error"), [(errno.ENOSPC, DiskFull), (errno.EACCES, AccessDenied)])
def test_a_failure_at_any_step_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, step, code, error):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail(*_):
        raise OSError(code, os.strerror(code), str(path))

    with monkeypatch.context() as patch:
        patch.setattr(os, step, fail)
        with pytest.raises(error):
            atomic.write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_the_bytes_and_then_the_name_are_synced(tmp_path, monkeypatch):
    steps: list[str] = []
    fsync, replace = os.fsync, os.replace

    def note_fsync(handle):
        steps.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        fsync(handle)

    def note_replace(source, target):
        steps.append("replace")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(os, "replace", note_replace)
    atomic.write_atomic(tmp_path / "file", b"x")
    assert steps == ["file", "replace", "folder"]
    steps.clear()
    atomic.make_folder(tmp_path / "a" / "b")
    assert steps == ["folder", "folder"]
    assert mode(tmp_path / "a") == mode(tmp_path / "a" / "b") == 0o700


def test_a_line_never_joins_a_torn_tail(tmp_path):
    path = tmp_path / "log"
    atomic.append_line(path, b"one\n", durable=True)
    path.write_bytes(b'one\n{"torn')
    atomic.append_line(path, b"two\n")
    assert path.read_bytes() == b'one\n{"torn\ntwo\n'
    assert mode(path) == 0o600


def test_a_short_write_is_taken_back(tmp_path, monkeypatch):
    path = tmp_path / "log"
    path.write_bytes(b"one\n")
    real = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda handle, data: real(handle, data[:3]))
        with pytest.raises(DiskFull):
            atomic.append_line(path, b"two and more\n")
    assert path.read_bytes() == b"one\n"


def test_a_disk_that_takes_ever_less_is_full(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    real = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda handle, data: real(handle, data[: len(data) // 2]))
        with pytest.raises(DiskFull):
            atomic.write_atomic(path, b"new and longer")
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"old", ["file"])


def test_an_append_goes_through_no_link(tmp_path):
    (tmp_path / "victim").write_bytes(b"safe")
    (tmp_path / "log").symlink_to(tmp_path / "victim")
    with pytest.raises(Exception, match="appending"):
        atomic.append_line(tmp_path / "log", b"x\n")
    assert (tmp_path / "victim").read_bytes() == b"safe"


def test_lines_of_many_threads_stay_whole(tmp_path):
    path = tmp_path / "log"
    line = b"x" * 5_000 + b"\n"
    threads = [threading.Thread(target=lambda: [atomic.append_line(path, line) for _ in range(20)]) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() == line * 100


def test_a_lock_is_waited_for_and_then_refused(tmp_path):
    path = tmp_path / "lock"
    with atomic.locked(path):
        with pytest.raises(Refused), atomic.locked(path, wait=0.05):
            pass
        opened = os.open(path, os.O_RDWR)
        assert not atomic.try_lock(opened)
    assert atomic.try_lock(opened)
    threading.Timer(0.1, lambda: fcntl.flock(opened, fcntl.LOCK_UN)).start()
    with atomic.locked(path, wait=60):
        pass
    os.close(opened)
    assert mode(path) == 0o600


def test_a_file_in_the_middle_of_a_rewrite_is_read_again(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"")

    def finish():
        time.sleep(0.05)
        path.write_bytes(b"whole")

    thread = threading.Thread(target=finish)
    thread.start()
    assert atomic.read_stable(path) == b"whole"
    thread.join()


def test_an_empty_file_is_believed_at_last_and_at_once_when_it_is_old(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"")
    assert atomic.read_stable(path) == b""
    os.utime(path, (1, 1))
    started = time.monotonic()
    assert atomic.read_stable(path) == b""
    assert time.monotonic() - started < 0.15
    with pytest.raises(FileNotFoundError):
        atomic.read_stable(tmp_path / "none")


def test_the_same_bytes_are_set_aside_once_and_no_name_leaves_the_folder(tmp_path):
    folder = tmp_path / "quarantine"
    first = atomic.quarantine(folder, "../../etc/passwd", b"bad\xff")
    assert atomic.quarantine(folder, "../../etc/passwd", b"bad\xff") == first
    other = atomic.quarantine(folder, "x" * 300, b"other")
    assert sorted(os.listdir(folder)) == sorted([first.name, other.name])
    assert first.read_bytes() == b"bad\xff"
    assert (mode(folder), mode(first)) == (0o700, 0o600)
