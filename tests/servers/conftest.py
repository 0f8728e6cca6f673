"""What the tests of servers share with those of the command line."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import run

if TYPE_CHECKING:
    from nanomem_tui.servers.grpc.client import MemoryClient
    from nanomem_tui.servers.grpc.service import MemoryServiceStub
    from tests.servers.grpc_serving import Served

__all__ = ["run"]


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder with a path short enough for a socket in a workspace in it."""
    with tempfile.TemporaryDirectory(prefix="nm") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def kept_empty() -> Iterator[Served]:
    """A memory service for a whole module, whose tests store nothing in it."""
    from tests.servers.grpc_serving import serving

    with tempfile.TemporaryDirectory(prefix="nm") as folder, serving(Path(folder)) as found:
        yield found


@pytest.fixture
def served(short: Path) -> Iterator[Served]:
    """A memory service of a new memory."""
    from tests.servers.grpc_serving import serving

    with serving(short) as found:
        yield found


@pytest.fixture
def memory(served: Served) -> Iterator[MemoryClient]:
    """Our client of that service."""
    with served.client() as client:
        yield client


@pytest.fixture
def stub(served: Served) -> Iterator[MemoryServiceStub]:
    """Its rpcs without our client."""
    import grpc

    from nanomem_tui.servers.grpc.service import MemoryServiceStub

    with grpc.insecure_channel(served.target) as channel:
        yield MemoryServiceStub(channel)
