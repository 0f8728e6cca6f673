"""The homes that the screens' tests use, and the servers that the console is reached through."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from benchmarks._ssh import Serving, serving
from benchmarks._sshd import missing, openssh_serving
from tests.hygiene.repository import ROOT
from tests.screens.conftest import built_demo, demo, sample

__all__ = ["built_demo", "demo", "sample"]

START = "from nanomem_tui.__main__ import main; raise SystemExit(main())"
ServerOf = Callable[..., AbstractAsyncContextManager[Serving]]


@pytest.fixture(params=["asyncssh", pytest.param("openssh", marks=pytest.mark.slow)])
def server_of(request: pytest.FixtureRequest) -> ServerOf:
    """`server_of(workspace, **env)`: a server that shows the console of a workspace to who logs in."""
    if request.param == "openssh" and missing():
        pytest.skip(missing())
    kind = openssh_serving if request.param == "openssh" else serving

    @asynccontextmanager
    async def begun(workspace: Path, **env: str) -> AsyncIterator[Serving]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        command = [sys.executable, "-c", START, "--workspace", str(workspace)]
        async with kind(command, {**kept, "PYTHONPATH": str(ROOT), "COLORTERM": "truecolor", **env}) as server:
            yield server

    return begun
