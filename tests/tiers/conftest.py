"""An empty home and its workspace, for the tests of this folder; a module says with `NOW` what time it is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.workspace import Workspace
from tests.tiers.happened import small_home


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return small_home(tmp_path)


@pytest.fixture
def ws(place: Path, request: pytest.FixtureRequest) -> Iterator[Workspace]:
    now = getattr(request.module, "NOW", None)
    with clock.at(now) if now else contextlib.nullcontext(), open_workspace(place) as opened:
        yield opened
