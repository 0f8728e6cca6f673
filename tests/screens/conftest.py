"""Homes for the screens: the demonstration, built once and copied for each test that changes it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from nanomem_tui.demo import build


@pytest.fixture(scope="session")
def built_demo(tmp_path_factory: pytest.TempPathFactory, clean_home: Path) -> Path:
    """The home of a demonstration; not to be changed."""
    home = tmp_path_factory.mktemp("demo") / ".nanobot"
    build(home)
    return home


@pytest.fixture
def demo(built_demo: Path, tmp_path: Path) -> Path:
    """The workspace of a fresh demonstration home."""
    home = tmp_path / ".nanobot"
    shutil.copytree(built_demo, home, symlinks=True)
    return home / "workspace"


@pytest.fixture
def sample(sample_copy: Callable[[str], Path]) -> Callable[[str], Path]:
    """`sample("nb035")`: the workspace of a fresh copy of a sample home."""
    return lambda name: sample_copy(name) / "home" / ".nanobot" / "workspace"


@pytest.fixture
def small_dreams(sample: Callable[[str], Path]) -> Path:
    """The workspace of a nanobot 0.3.5, 80 of whose entries wait, and whose Dreams read six at a time."""
    workspace = sample("nb035")
    config = workspace.parent / "config.json"
    settings = json.loads(config.read_text())
    settings["agents"]["defaults"]["dream"]["maxBatchSize"] = 6
    config.write_text(json.dumps(settings))
    return workspace
