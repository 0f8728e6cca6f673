"""Stores of the second edition to test."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nanomem_tui.database.store import Store
from tests.database.homes import open_store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of an empty store."""
    made = tmp_path / tmp_path.name.lower().replace("-", "_")[-40:]
    made.mkdir()
    return made


@pytest.fixture
def again(folder: Path) -> Iterator[Callable[[], Store]]:
    """Opens the store of the folder once more, as another process would."""
    with contextlib.ExitStack() as opened:

        def open_again() -> Store:
            store = open_store(folder)
            opened.callback(store.database.close)
            return store

        yield open_again


@pytest.fixture
def store(again: Callable[[], Store]) -> Store:
    return again()
