"""Homes for the screens: the demonstration, built once and copied for each test that changes it."""

from __future__ import annotations

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
