"""Stores of the second edition to test."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nanomem_tui.core.operations import Layer
from tests.cli.conftest import run as run
from tests.conftest import let_go
from tests.postgres_server import PostgresServer
from tests.store.stores import Store, open_store

_NUMBERS = itertools.count(1)


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

        def open_again(layer_of: Callable[[str], Layer] | None = None) -> Store:
            store = open_store(folder, layer_of)
            opened.callback(store.database.close)
            return store

        yield open_again


@pytest.fixture
def store(again: Callable[[], Store]) -> Store:
    return again()


@pytest.fixture
def database_on_server(postgres: PostgresServer) -> Iterator[Callable[[], str]]:
    """Gives the address of an empty database on the server, another one at each call."""
    made = []

    def make() -> str:
        made.append(f"d{os.getpid()}_{next(_NUMBERS)}")
        postgres.run("postgres", f"CREATE DATABASE {made[-1]}")
        return postgres.url(made[-1])

    yield make
    for name in made:
        let_go(postgres.url(name))
        postgres.run("postgres", f"DROP DATABASE {name} WITH (FORCE)")
