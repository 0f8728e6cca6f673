"""Homes for the screens: the demonstration, built once and copied for each test that changes it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from nanomem_tui.demo import build

TOLD = {
    203: ("is deployed from Frankfurt", "pays 12 EUR a month for its domain"),
    204: ("has a freeze from 20 December", "is led by Priya Nair"),
    205: ("keeps its logs for 90 days",),
    206: ("bills customers in euros", "has its repository on Codeberg"),
    207: ("serves 40 shops",),
    208: ("runs its backups on Sundays",),
}
"""What entries of the archive say of a project."""


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
    """The workspace of a nanobot 0.3.5, 80 of whose entries wait, and whose Dreams read six at a time; the first six
    say what a Dream writes."""
    workspace = sample("nb035")
    history = workspace / "memory" / "history.jsonl"
    rows = [json.loads(line) for line in history.read_text().splitlines()]
    for row in rows:
        if (told := TOLD.get(row.get("cursor"))) is not None:
            row["content"] = "\n".join(f"- [permanent] Project Kestrel {one}" for one in told)
    history.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))
    config = workspace.parent / "config.json"
    settings = json.loads(config.read_text())
    settings["agents"]["defaults"]["dream"]["maxBatchSize"] = 6
    config.write_text(json.dumps(settings))
    return workspace
