"""A memory on a server of the tests' own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import empty_schema
from tests.postgres_server import PostgresServer
from tests.store.homes import make_home


@pytest.fixture
def url(postgres: PostgresServer) -> Iterator[str]:
    with empty_schema(postgres) as found:
        yield found


@pytest.fixture
def home(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace whose memory lies on the server."""
    monkeypatch.setenv("NANOMEM_DATABASE_URL", url)
    return make_home(tmp_path)
