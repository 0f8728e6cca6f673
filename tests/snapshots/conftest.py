"""The home whose pictures are kept: the demonstration at a fixed moment, in a fixed time zone."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import pytest_textual_snapshot

from nanomem_tui import clock
from nanomem_tui.demo import build
from nanomem_tui.facts import journal, reflections
from nanomem_tui.memory.recall import Recall
from nanomem_tui.workspace import Workspace

# One name for the pictures, whichever version of syrupy asks under which of its names for it.
pytest_textual_snapshot.SVGImageExtension.file_extension = "svg"
pytest_textual_snapshot.SVGImageExtension._file_extension = "svg"

MOMENT = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


@pytest.fixture(scope="session")
def utc() -> Iterator[None]:
    """Local time is UTC, whatever the machine's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture(scope="session")
def pictured_home(tmp_path_factory: pytest.TempPathFactory, clean_home: Path, utc: None) -> Path:
    """The demonstration as it was made at `MOMENT`; not to be changed."""
    home = tmp_path_factory.mktemp("pictured") / ".nanobot"
    numbers = itertools.count(1)
    with clock.at(MOMENT), pytest.MonkeyPatch.context() as patch:
        for module in (journal, reflections):  # an id is shown: the same one in every run
            patch.setattr(module, "new_key", lambda kind: f"{kind}_{next(numbers):013}")
        build(home)
    for path in (*home.rglob("*.md"), *home.rglob(".dream_cursor")):  # a note and a Dream are as old as their files
        os.utime(path, (MOMENT.timestamp() - 3600, MOMENT.timestamp() - 3600))
    return home


@pytest.fixture
def pictured(pictured_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The workspace of a copy of it, which tells nothing of the machine: paths, versions, how long something took."""
    home = tmp_path / ".nanobot"
    shutil.copytree(pictured_home, home, symlinks=True)
    real = Workspace.status

    def status(workspace: Workspace) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(json.dumps(real(workspace)).replace(str(home), "/home/mira/.nanobot"))
        found["store"]["sqlite"] = "3"
        found["checkpoint"]["last_ms"] = 4.0
        return found

    ask = Recall.ask
    monkeypatch.setattr(Recall, "ask", lambda *asked, **options: ask(*asked, **options)._replace(ms=0.4))
    monkeypatch.setenv("NANOMEM_EMBEDDING_ENABLED", "false")  # a distance may differ in its last digit
    monkeypatch.setattr(Workspace, "status", status)
    monkeypatch.setattr(clock, "now", lambda: MOMENT)  # in every thread
    return home / "workspace"
