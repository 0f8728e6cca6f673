"""Where the crash tests work: in memory where the system has a file system there.

A killed process loses nothing that it gave to the system, so waiting for a disk proves nothing here; thousands of kills
wait for each other on a busy one.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")
ROOM = 32 * 1024 * 1024


def _has_room(folder: Path) -> bool:
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    return os.access(folder, os.W_OK) and found.f_bavail * found.f_frsize > ROOM


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is room, else the usual one."""
    if not _has_room(MEMORY):
        yield tmp_path
        return
    folder = Path(tempfile.mkdtemp(prefix="nanomem-crash-", dir=MEMORY))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
