"""Files that reach the disk as one wait: each of them, side by side, and a failure of one is told."""

from __future__ import annotations

import _thread
import errno
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NoReturn

import pytest

from nanomem_tui.store import git_sync


@pytest.fixture
def handles(tmp_path: Path) -> Iterator[list[int]]:
    """Ten files that are written, and their folder."""
    with ExitStack() as opened:
        found = []
        for number in range(10):
            file = opened.enter_context((tmp_path / f"{number}").open("wb", buffering=0))
            file.write(b"x")
            found.append(file.fileno())
        found.append(os.open(tmp_path, os.O_RDONLY))
        opened.callback(os.close, found[-1])
        yield found


def test_each_reaches_the_disk_once(handles: Sequence[int], monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    git_sync.sync_all(handles)
    assert sorted(synced) == sorted(handles)
    git_sync.sync_all([])


def test_they_are_waited_for_together(handles: Sequence[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight wait at once: a program that waits for one after the other never gets past the first."""
    together = threading.Barrier(8)
    monkeypatch.setattr(os, "fsync", lambda handle: together.wait(60))
    git_sync.sync_all(handles[:8])
    assert not together.broken


def test_a_failure_is_told_when_all_are_done(handles: Sequence[int], monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []

    def fsync(handle: int) -> None:
        synced.append(handle)
        if handle == handles[4]:
            raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="no space left"):
        git_sync.sync_all(handles)
    assert sorted(synced) == sorted(handles)


def test_without_threads_it_is_done_alone(handles: Sequence[int], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_given: object) -> NoReturn:
        raise RuntimeError("can't start new thread")

    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    git_sync.sync_all(handles)
    assert sorted(synced) == sorted(handles)
