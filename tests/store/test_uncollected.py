"""While others wait for a lock no search for garbage is begun, which among many rows takes a quarter of a second."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.store.uncollected import uncollected


def test_it_is_put_off_and_as_it_was_afterwards() -> None:
    with uncollected():
        assert not gc.isenabled()
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ValueError, match="no"), uncollected():
        raise ValueError("no")
    assert gc.isenabled()
    gc.disable()
    try:
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.sqlite("whose lock is a file of its own")
def test_who_decides_or_writes_puts_it_off(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "memory").mkdir(parents=True)
    with open_workspace(workspace) as ws:
        ws.items.add("we like tea")
        with ws.store.deciding.alone():
            assert not gc.isenabled()
        assert gc.isenabled()
        with ws.store.database.writing():
            assert not gc.isenabled()
        assert gc.isenabled()
