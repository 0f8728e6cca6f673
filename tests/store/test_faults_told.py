"""A disk that fails while nanomem prepares its work: one clear error, and nothing half made stays."""

import errno
import os
import zipfile

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import atomic
from nanomem_tui.core.errors import BadInput, DiskFull, NanomemError
from nanomem_tui.store.moving import backup
from nanomem_tui.store.moving.backup import folder_of
from tests.store.homes import make_home


def failing(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_folder_or_a_lock_that_cannot_be_made_is_told(tmp_path, monkeypatch):
    with pytest.raises(NanomemError, match=r"no\.lock"), atomic.locked(tmp_path / "none" / "no.lock"):
        pass
    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(DiskFull, match="making the folder new"):
        atomic.make_folder(tmp_path / "new" / "folder")


@pytest.fixture
def ws(tmp_path):
    with open_workspace(make_home(tmp_path)) as opened:
        opened.items.add("kept")
    return opened


def test_a_backup_that_cannot_be_written_leaves_nothing(ws, monkeypatch):
    """Also where there is room again a moment later: one file of it is missing."""
    real, left = zipfile.ZipFile.open, [2]

    def once(archive, *given, **options):
        left[0] -= 1
        return (real if left[0] else failing)(archive, *given, **options)

    monkeypatch.setattr(zipfile.ZipFile, "open", once)
    with pytest.raises(DiskFull, match="making a backup"):
        backup.make_backup(ws.paths, ws.layout)
    assert list(folder_of(ws.paths).iterdir()) == []


@pytest.mark.sqlite("the file itself")
def test_a_backup_that_came_out_torn_never_has_its_name(ws, monkeypatch):
    """A disk that keeps half of what it was given."""
    real = os.fsync

    def lose(handle):
        real(handle)
        if ".nanomem-backup." in os.readlink(f"/proc/self/fd/{handle}"):
            os.truncate(handle, os.fstat(handle).st_size // 2)

    monkeypatch.setattr(os, "fsync", lose)
    with pytest.raises(BadInput, match="did not come out right"):
        backup.make_backup(ws.paths, ws.layout)
    assert list(folder_of(ws.paths).iterdir()) == []
