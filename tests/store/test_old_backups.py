"""Backups of the first edition: one that is whole, and one in pieces that builds on it."""

import shutil
import tarfile
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.agents.releases import detect
from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.paths import find_workspace
from nanomem_tui.store.moving import backup, restore

pytestmark = pytest.mark.sqlite("the file itself")

OLD = Path(__file__).parents[1] / "data" / "old-backups.tar.gz"


@pytest.fixture
def old(tmp_path):
    """Both, the older first."""
    with tarfile.open(OLD) as tar:
        tar.extractall(tmp_path / "nanomem-backups", filter="data")
    whole, in_pieces = sorted((tmp_path / "nanomem-backups").iterdir())
    return whole, in_pieces


def test_they_are_listed_and_whole(old):
    whole, in_pieces = old
    assert [(one.path, one.base, one.problem) for one in backup.list_archives(whole.parent)] == [
        (in_pieces, whole.name, ""),
        (whole, "", ""),
    ]
    assert [backup.check_archive(path)[1] for path in old] == [[], []]


def test_they_are_brought_to_a_place_of_their_own(old, tmp_path):
    for path, expected in zip(old, (["Prefers trains"], ["Prefers trains", "Prefers window seats"]), strict=True):
        workspace = Path(restore.restore_to(path, tmp_path / path.name).workspace)
        with open_workspace(workspace) as ws:
            assert sorted(row.text for row in ws.items.all() if row.text.startswith("Prefers")) == expected
        assert (workspace / "memory" / "2026-02-22.md").stat().st_size > 512 * 1024
        assert (workspace / "SOUL.md").exists() == (len(expected) == 2)


def test_they_are_brought_back_in_place_and_that_is_taken_back(old, tmp_path):
    whole, in_pieces = old
    paths = find_workspace(Path(restore.restore_to(in_pieces, tmp_path / "home").workspace))
    done = restore.restore_in_place(paths, detect(paths), whole)
    assert done.undo is not None
    with open_workspace(paths.workspace) as ws:
        assert "Prefers window seats" not in [row.text for row in ws.items.all()]
    restore.restore_in_place(paths, detect(paths), done.undo)
    with open_workspace(paths.workspace) as ws:
        assert "Prefers window seats" in [row.text for row in ws.items.all()]


def test_what_one_builds_on_stays_with_it_and_is_missed(old):
    whole, in_pieces = old
    assert backup.prune_plan(whole.parent, 1).removed == ()
    kept = shutil.copyfile(whole, whole.parent.parent / "kept")
    whole.write_bytes(b"\0" + whole.read_bytes()[1:])
    with pytest.raises(NanomemError, match=f"needs {whole.name}, which is damaged"):
        backup.check_archive(in_pieces)
    whole.unlink()
    with pytest.raises(NanomemError, match=f"needs {whole.name}, which is gone"):
        backup.check_archive(in_pieces)
    shutil.copyfile(kept, whole)
    assert backup.check_archive(in_pieces)[1] == []


@pytest.mark.parametrize("share", range(1, 20))
def test_no_flipped_bit_goes_unseen(old, tmp_path, share):
    whole, _ = old
    good = {entry.path: entry.sha256 for entry in backup.check_archive(whole)[0].entries}
    data = bytearray(whole.read_bytes())
    data[len(data) * share // 20] ^= 1
    whole.write_bytes(data)
    try:
        manifest, problems = backup.check_archive(whole)
    except NanomemError:
        return
    assert problems or {entry.path: entry.sha256 for entry in manifest.entries} == good
