"""A file exchanged under programs that take no lock: whatever they write, and whenever, is there afterwards."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nanomem_tui.core import atomic
from nanomem_tui.core.errors import Conflict, DiskFull, NanomemError
from tests.crash.harness import fork
from tests.store.exchanging import needs_exchange

Act = Callable[[], object]
OLD, OURS, THEIRS = b"- old\n", b"- old\n- ours\n", b"- old\n- theirs\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file, on a system that can exchange files."""
    path = tmp_path / "MEMORY.md"
    path.write_bytes(OLD)
    needs_exchange(tmp_path)
    return path


def by_rename(path: Path) -> None:
    """As a careful program writes."""
    fresh = path.with_name("fresh")
    fresh.write_bytes(THEIRS)
    os.replace(fresh, path)


def by_truncation(path: Path) -> None:
    """As most agents and editors write."""
    path.write_bytes(THEIRS)


def by_appending(path: Path) -> None:
    with path.open("ab") as file:
        file.write(THEIRS.removeprefix(OLD))


WRITERS = pytest.mark.parametrize("write", [by_rename, by_truncation, by_appending])


def around(monkeypatch: pytest.MonkeyPatch, *, before: dict[int, Act] | None = None) -> list[bool]:
    """Do something right before the n-th exchange (from 0); returns what the exchanges returned so far."""
    real, done = atomic.exchange, list[bool]()

    def exchange(one: Path, other: Path) -> bool:
        (before or {}).get(len(done), lambda: None)()
        done.append(real(one, other))
        return done[-1]

    monkeypatch.setattr(atomic, "exchange", exchange)
    return done


def write_ours(path: Path) -> None:
    atomic.write_atomic(path, OURS, expected=atomic.sha256(OLD))


def names(path: Path) -> list[str]:
    return sorted(os.listdir(path.parent))


def kept(path: Path) -> list[bytes]:
    return [found.read_bytes() for found in path.parent.glob(f"*{atomic.KEPT}")]


def test_the_file_is_exchanged_once_and_nothing_is_left(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = around(monkeypatch)
    path.chmod(0o640)
    write_ours(path)
    assert (done, path.read_bytes(), names(path)) == ([True], OURS, ["MEMORY.md"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@WRITERS
def test_what_is_written_between_the_look_and_the_exchange_is_put_back(
    path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], None]
) -> None:
    done = around(monkeypatch, before={0: lambda: write(path)})
    with pytest.raises(Conflict, match="changed meanwhile"):
        write_ours(path)
    assert (done, path.read_bytes(), names(path)) == ([True, True], THEIRS, ["MEMORY.md"])


def test_a_writer_that_has_truncated_the_file_and_writes_later_finds_its_own_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Any] = []
    around(monkeypatch, before={0: lambda: opened.append(path.open("wb"))})
    with pytest.raises(Conflict):
        write_ours(path)
    with opened[0] as file:
        file.write(THEIRS)
    assert (path.read_bytes(), names(path)) == (THEIRS, ["MEMORY.md"])


def displaced(monkeypatch: pytest.MonkeyPatch, path: Path, act: Callable[[Path], object]) -> None:
    """Do something to the old file while the new names are made durable."""
    real = os.fsync

    def fsync(handle: int) -> None:
        real(handle)
        for aside in path.parent.glob(f".*{atomic.SWAPPED}"):
            act(aside)

    monkeypatch.setattr(os, "fsync", fsync)


def test_what_is_written_to_the_old_file_after_the_exchange_is_put_back(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is looked at twice."""
    displaced(monkeypatch, path, by_appending)
    with pytest.raises(Conflict):
        write_ours(path)
    assert (path.read_bytes(), names(path)) == (THEIRS, ["MEMORY.md"])


def test_a_file_that_is_taken_away_meanwhile_stays_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    around(monkeypatch, before={0: path.unlink})
    with pytest.raises(Conflict):
        write_ours(path)
    assert names(path) == []


def test_a_link_that_is_put_there_meanwhile_stays_there(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link() -> None:
        path.unlink()
        path.symlink_to("elsewhere")

    around(monkeypatch, before={0: link})
    with pytest.raises(Conflict):
        write_ours(path)
    assert (os.readlink(path), names(path)) == ("elsewhere", ["MEMORY.md"])


def test_of_two_writers_in_one_moment_both_are_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    around(monkeypatch, before={0: lambda: by_rename(path), 1: lambda: path.write_bytes(b"third\n")})
    with pytest.raises(Conflict):
        write_ours(path)
    assert (path.read_bytes(), kept(path)) == (THEIRS, [b"third\n"])
    assert len(names(path)) == 2


def test_what_cannot_be_put_back_because_the_file_is_gone_gets_its_name(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    around(monkeypatch, before={0: lambda: by_rename(path), 1: path.unlink})
    with pytest.raises(Conflict):
        write_ours(path)
    assert (path.read_bytes(), names(path)) == (THEIRS, ["MEMORY.md"])


def test_a_file_that_somebody_makes_meanwhile_is_not_replaced(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.unlink()
    look = atomic.check_unchanged

    def and_then(target: Path, expected: str) -> None:
        look(target, expected)
        by_truncation(path)

    monkeypatch.setattr(atomic, "check_unchanged", and_then)
    with pytest.raises(Conflict):
        atomic.write_atomic(path, OURS, expected="")
    assert (path.read_bytes(), names(path)) == (THEIRS, ["MEMORY.md"])


def test_a_file_that_somebody_else_takes_away_first_is_a_conflict(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    look = atomic.check_unchanged

    def and_then(target: Path, expected: str) -> None:
        look(target, expected)
        path.unlink()

    monkeypatch.setattr(atomic, "check_unchanged", and_then)
    with pytest.raises(Conflict):
        atomic.remove_expected(path, atomic.sha256(OLD))
    assert names(path) == []


@WRITERS
def test_a_file_that_is_written_is_not_taken_away(
    path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], None]
) -> None:
    look = atomic.check_unchanged

    def and_then(target: Path, expected: str) -> None:
        look(target, expected)
        write(path)

    with monkeypatch.context() as patch:
        patch.setattr(atomic, "check_unchanged", and_then)
        with pytest.raises(Conflict):
            atomic.remove_expected(path, atomic.sha256(OLD))
    assert (path.read_bytes(), names(path)) == (THEIRS, ["MEMORY.md"])
    atomic.remove_expected(path, atomic.sha256(THEIRS))
    assert names(path) == []
    atomic.remove_expected(path, "")
    path.write_bytes(OLD)
    with pytest.raises(Conflict):
        atomic.remove_expected(path, "")


def test_a_full_disk_after_the_exchange_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fsync

    def fsync(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(28, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(DiskFull):
        write_ours(path)
    assert (path.read_bytes(), names(path)) == (OLD, ["MEMORY.md"])


@pytest.mark.parametrize("missing", ["the exchange", "the function", "links too"])
def test_where_files_cannot_change_places_they_are_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    path = tmp_path / "MEMORY.md"
    if missing == "the exchange":
        monkeypatch.setattr(atomic, "exchange", lambda *_: False)
    else:
        monkeypatch.setattr(atomic, "_renameat2", lambda: None)
    if missing == "links too":
        monkeypatch.setattr(os, "link", _unsupported)
    atomic.write_atomic(path, OLD, expected="")
    with pytest.raises(Conflict):
        atomic.write_atomic(path, OURS, expected="")
    write_ours(path)
    with pytest.raises(Conflict):
        write_ours(path)
    assert (path.read_bytes(), names(path)) == (OURS, ["MEMORY.md"])
    atomic.remove_expected(path, atomic.sha256(OURS))
    assert names(path) == []


def test_a_rename_that_fails_leaves_nothing_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "MEMORY.md"
    path.write_bytes(OLD)
    monkeypatch.setattr(atomic, "exchange", lambda *_: False)
    monkeypatch.setattr(os, "replace", _unsupported)
    with pytest.raises(NanomemError):
        write_ours(path)
    assert (path.read_bytes(), names(path)) == (OLD, ["MEMORY.md"])


def _unsupported(*_: object, **__: object) -> None:
    raise OSError(95, "Operation not supported")


# -- what a killed process left ---------------------------------------------------------------------------------------


@pytest.fixture
def killed(path: Path) -> Iterator[Callable[[Act], None]]:
    """Write ours in a process that ends right after the exchange, before which somebody did something."""

    def run(before: Act) -> None:
        child = fork()
        if child == 0:
            with pytest.MonkeyPatch.context() as patch:
                real = atomic.exchange

                def exchange(one: Path, other: Path) -> bool:
                    before()
                    real(one, other)
                    os._exit(0)

                patch.setattr(atomic, "exchange", exchange)
                try:
                    write_ours(path)
                finally:
                    os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        assert path.read_bytes() == OURS
        assert len(names(path)) == 2

    yield run
    atomic.finish_exchange(path)
    assert not list(path.parent.glob(f".*{atomic.SWAPPED}"))


def test_after_a_kill_what_was_expected_goes(path: Path, killed: Callable[[Act], None]) -> None:
    killed(lambda: None)
    atomic.finish_exchange(path)
    assert (path.read_bytes(), names(path)) == (OURS, ["MEMORY.md"])


@WRITERS
def test_after_a_kill_what_somebody_wrote_gets_its_name_back(
    path: Path, killed: Callable[[Act], None], write: Callable[[Path], None]
) -> None:
    killed(lambda: write(path))
    with pytest.raises(Conflict):  # whoever writes next settles it first
        atomic.write_atomic(path, b"next", expected=atomic.sha256(OURS))
    assert (path.read_bytes(), names(path)) == (THEIRS, ["MEMORY.md"])


def test_after_a_kill_both_are_kept_where_the_file_was_written_anew(path: Path, killed: Callable[[Act], None]) -> None:
    killed(lambda: by_rename(path))
    path.write_bytes(b"anew\n")
    atomic.finish_exchange(path)
    assert (path.read_bytes(), kept(path)) == (b"anew\n", [THEIRS])


def test_after_a_kill_what_somebody_wrote_takes_the_name_of_a_file_that_is_gone(
    path: Path, killed: Callable[[Act], None]
) -> None:
    killed(lambda: by_rename(path))
    path.unlink()
    atomic.finish_exchange(path)
    assert (path.read_bytes(), names(path)) == (THEIRS, ["MEMORY.md"])


def test_a_file_of_a_like_name_and_a_very_long_one_are_told_apart(path: Path, tmp_path: Path) -> None:
    long = tmp_path / ("长" * 80)
    atomic.write_atomic(long, OLD, expected="")
    atomic.write_atomic(long, OURS, expected=atomic.sha256(OLD))
    assert long.read_bytes() == OURS
    other = tmp_path / f".{path.name}.other.0-0.abc{atomic.SWAPPED}"
    other.write_bytes(b"of another file")
    atomic.finish_exchange(path)
    assert path.read_bytes() == OLD
    assert b"of another file" in [found.read_bytes() for found in tmp_path.iterdir()]
