"""While others wait for a lock no search for garbage is begun, and threads that compute give way at once."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.store.undisturbed import HANDOVER, undisturbed


def is_undisturbed() -> bool:
    return not gc.isenabled() and sys.getswitchinterval() < 2 * HANDOVER


def is_as_ever() -> bool:
    return gc.isenabled() and sys.getswitchinterval() == pytest.approx(0.005)


@pytest.fixture(autouse=True)
def as_ever() -> Iterator[None]:
    assert is_as_ever()
    yield
    assert is_as_ever()


def test_it_lasts_to_the_end_of_the_outer_one() -> None:
    with undisturbed:
        with undisturbed:
            assert is_undisturbed()
        assert is_undisturbed()
    assert is_as_ever()
    with pytest.raises(ValueError, match="no"), undisturbed:
        raise ValueError("no")


def test_it_lasts_to_the_end_of_the_last_of_several_threads() -> None:
    begun, ended = threading.Event(), threading.Event()

    def hold() -> None:
        with undisturbed:
            begun.set()
            ended.wait(10)

    other = threading.Thread(target=hold)
    with undisturbed:
        other.start()
        assert begun.wait(10)
    assert is_undisturbed()
    ended.set()
    other.join()


def test_who_had_no_search_for_garbage_has_none_afterwards() -> None:
    gc.disable()
    try:
        with undisturbed:
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.sqlite("whose lock is a file of its own")
def test_who_decides_or_writes_is_undisturbed(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "memory").mkdir(parents=True)
    with open_workspace(workspace) as ws:
        ws.items.add("we like tea")
        with ws.store.deciding.alone():
            assert is_undisturbed()
        assert is_as_ever()
        with ws.store.database.writing():
            assert is_undisturbed()
        assert is_as_ever()
