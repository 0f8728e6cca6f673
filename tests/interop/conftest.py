"""A copy of the nanobot 0.3.5 sample home with the real agent on it."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest

from tests.interop.real_agent import PEER, ROOT, Agent

SAMPLES = Path(os.environ.get("NANOMEM_SAMPLES", ROOT.parent / "shared" / "data" / "workspaces.tar.gz"))


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    needed = ((PEER, "no agent, run `make peers`"), (SAMPLES, "no sample homes"))
    if missing := "; ".join(f"{what} ({path.name})" for path, what in needed if not path.exists()):
        # In CI a missing agent is a failure: a skipped suite proves nothing.
        (pytest.fail if os.environ.get("CI") else pytest.skip)(missing)
    with tarfile.open(SAMPLES) as archive:
        archive.extractall(tmp_path, [m for m in archive.getmembers() if m.name.startswith("nb035/")], filter="data")
    return Agent(tmp_path / "nb035")
