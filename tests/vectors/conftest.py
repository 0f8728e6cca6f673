"""A small home with a database, open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.workspace import Workspace
from tests.store.homes import make_home


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Four items of the agent's and three of ours, in a database."""
    folder = make_home(tmp_path)
    with open_workspace(folder) as opened:
        for text in ("the cat sleeps on the sofa", "rust compiles slowly", "tea without sugar"):
            opened.items.add(text)
        opened.flush()
    return folder


@pytest.fixture
def ws(workspace: Path) -> Iterator[Workspace]:
    with open_workspace(workspace) as opened:
        yield opened
