"""Backups named by their content."""

import os
import stat

import pytest

from nanomem_tui.core import atomic
from nanomem_tui.core.errors import BadInput, NanomemError, NotFound


def test_what_was_put_comes_back(tmp_path):
    data = b'{"a": "\xe2\x80\xa8"}\n\x00\xff'
    assert atomic.get_blob(tmp_path / "backups", atomic.put_blob(tmp_path / "backups", data)) == data


def test_the_same_bytes_are_kept_once(tmp_path):
    assert atomic.put_blob(tmp_path, b"one") == atomic.put_blob(tmp_path, b"one") != atomic.put_blob(tmp_path, b"two")
    assert len(os.listdir(tmp_path)) == 2


def test_backups_are_private(tmp_path):
    name = atomic.put_blob(tmp_path / "home" / "backups", b"secret")
    assert stat.S_IMODE(os.stat(tmp_path / "home" / "backups").st_mode) == 0o700
    assert stat.S_IMODE(os.stat(tmp_path / "home" / "backups" / name).st_mode) == 0o600


def test_a_backup_cut_short_by_a_crash_is_written_again(tmp_path):
    name = atomic.put_blob(tmp_path, b"whole text")
    (tmp_path / name).write_bytes(b"whole")
    with pytest.raises(BadInput, match="damaged"):
        atomic.get_blob(tmp_path, name)
    atomic.put_blob(tmp_path, b"whole text")
    assert atomic.get_blob(tmp_path, name) == b"whole text"


def test_a_missing_backup_says_so(tmp_path):
    with pytest.raises(NotFound):
        atomic.get_blob(tmp_path, "0" * 64)


@pytest.mark.parametrize("name", ["", "../secret", "0" * 63, "G" * 64, "/etc/passwd"])
def test_a_name_never_leads_out_of_the_folder(tmp_path, name):
    with pytest.raises(BadInput):
        atomic.get_blob(tmp_path, name)


def test_a_link_in_the_folder_is_not_followed(tmp_path):
    outside = tmp_path / "outside"
    outside.write_bytes(b"x")
    name = atomic.sha256(b"x")
    (tmp_path / "backups").mkdir()
    (tmp_path / "backups" / name).symlink_to(outside)
    with pytest.raises(NanomemError):
        atomic.get_blob(tmp_path / "backups", name)
