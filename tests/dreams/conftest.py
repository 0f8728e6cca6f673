"""A bench on a small repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dreams.pipeline import Bench
from tests.store.git_samples import small


@pytest.fixture
def on(tmp_path: Path) -> Bench:
    return Bench(small(tmp_path))
