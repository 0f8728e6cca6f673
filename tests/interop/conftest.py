"""A copy of the nanobot 0.3.5 sample home with the real agent on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.workspace import Workspace
from tests.conftest import need
from tests.interop.real_agent import PEER, Agent


@pytest.fixture
def agent(request: pytest.FixtureRequest) -> Agent:
    need(PEER.exists(), "no agent to drive: run `make peers`")
    return Agent(request.getfixturevalue("sample_copy")("nb035"))


@pytest.fixture
def ws(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    """The agent's workspace, opened by us."""
    monkeypatch.setenv("HOME", str(agent.home))
    with open_workspace(agent.workspace) as workspace:
        yield workspace
