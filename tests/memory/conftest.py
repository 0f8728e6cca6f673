"""A small home of the RAM-first agent, and its memory open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.workspace import Workspace
from tests.store.homes import make_home


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return make_home(tmp_path)


@pytest.fixture
def ws(workspace: Path) -> Iterator[Workspace]:
    with open_workspace(workspace) as opened:
        yield opened
