"""A copy of the nanobot 0.3.5 sample home with the real agent on it."""

from __future__ import annotations

import pytest

from tests.conftest import samples_archive
from tests.interop.real_agent import PEER, Agent, need


@pytest.fixture
def agent(request: pytest.FixtureRequest) -> Agent:
    need(PEER.exists(), "no agent to drive: run `make peers`")
    need(samples_archive() is not None, "no sample homes: set NANOMEM_SAMPLES to workspaces.tar.gz")
    return Agent(request.getfixturevalue("sample_copy")("nb035"))
