"""What the tests of servers share with those of the command line."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import run

__all__ = ["run"]


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder with a path short enough for a socket in a workspace in it."""
    with tempfile.TemporaryDirectory(prefix="nm") as folder:
        yield Path(folder)
