"""Whether files can change places in one step here: without it, what a test of that promises cannot be kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanomem_tui.core import atomic


def can_exchange(folder: Path) -> bool:
    """Tried with two files in a new folder below `folder`."""
    place = folder / "can-exchange"
    place.mkdir()
    one, other = place / "one", place / "other"
    one.touch()
    other.touch()
    can = atomic.exchange(one, other)
    one.unlink()
    other.unlink()
    place.rmdir()
    return can


def needs_exchange(folder: Path) -> None:
    """Skip the test where they cannot."""
    if not can_exchange(folder):
        pytest.skip("this system cannot exchange files")
