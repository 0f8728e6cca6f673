"""A copy of the nanobot 0.3.5 sample home with the real agent on it."""

from __future__ import annotations

import os

import pytest

from tests.conftest import samples_archive
from tests.interop.real_agent import PEER, Agent


@pytest.fixture
def agent(request: pytest.FixtureRequest) -> Agent:
    missing = [] if PEER.exists() else ["no agent to drive: run `make peers`"]
    if samples_archive() is None:
        missing.append("no sample homes: set NANOMEM_SAMPLES to workspaces.tar.gz")
    if missing:
        # In CI a missing agent is a failure: a skipped suite proves nothing.
        (pytest.fail if os.environ.get("CI") else pytest.skip)("; ".join(missing))
    return Agent(request.getfixturevalue("sample_copy")("nb035"))
