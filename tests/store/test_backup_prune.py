"""Old backups go by count; those that stay are read first, and a damaged one counts for nothing."""

import os

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.agents.releases import detect
from nanomem_tui.core.errors import BadInput
from nanomem_tui.store.moving import backup, restore
from tests.store.test_backup import make, paths, texts

pytestmark = pytest.mark.sqlite("the file itself")

__all__ = ["paths"]  # a fixture

NUMBER = 5


@pytest.fixture
def made(paths):
    """Backups of five moments, the newest first."""
    names = []
    for number in range(NUMBER):
        with open_workspace(paths.workspace) as ws:
            ws.items.add(f"of moment {number}")
        names.append(make(paths).path.name)
    return names[::-1]


def folder(paths):
    return backup.folder_of(paths)


def prune(paths, keep):
    plan = backup.prune_plan(folder(paths), keep)
    backup.prune(folder(paths), plan)
    return plan


def damage(path):
    """Spoil a stretch in the middle of it: a bit alone may be of the time of a file, which means nothing."""
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 300] = bytes(byte ^ 0xFF for byte in data[middle : middle + 300])
    path.write_bytes(data)


def test_the_newest_stay_and_can_be_brought_back(paths, made, tmp_path):
    size = sum((folder(paths) / name).stat().st_size for name in made[2:])
    done = prune(paths, 2)
    assert (list(done.removed), list(done.kept), done.freed) == (made[2:], made[:2], size)
    assert sorted(os.listdir(folder(paths))) == sorted(made[:2])
    restore.restore_to(folder(paths) / made[1], tmp_path / "there")
    assert f"of moment {NUMBER - 2}" in texts(tmp_path / "there" / "workspace")


def test_a_plan_changes_nothing(paths, made):
    before = {name: (folder(paths) / name).read_bytes() for name in made}
    backup.prune_plan(folder(paths), 1)
    assert {path.name: path.read_bytes() for path in folder(paths).iterdir()} == before


def test_a_damaged_one_is_named_and_an_older_one_stays_in_its_stead(paths, made):
    damage(folder(paths) / made[0])
    (folder(paths) / made[1]).write_bytes((folder(paths) / made[1]).read_bytes()[:1000])
    done = prune(paths, 1)
    assert ([name for name, _ in done.damaged], list(done.unread)) == ([made[0]], [made[1]])
    assert sorted(os.listdir(folder(paths))) == sorted(made[:3])
    assert backup.check_archive(folder(paths) / made[2])[1] == []


def test_what_nanomem_made_by_itself_is_counted_apart(paths, made):
    own = [backup.make_backup(paths, detect(paths), reason="before a fix").path.name for _ in range(3)]
    assert list(backup.prune_plan(folder(paths), 2).kept) == [own[2], own[1], made[0], made[1]]


def test_what_is_young_stays(paths, made):
    assert backup.prune_plan(folder(paths), 1, days=1).removed == ()


def test_none_may_go_that_an_interrupted_restore_needs(paths, made, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        restore.restore_in_place(paths, detect(paths), folder(paths) / made[-1], then=lambda: stop())
    [before] = [one.path.name for one in backup.list_archives(folder(paths)) if one.reason]
    assert {made[-1], before} <= set(backup.prune_plan(folder(paths), 1).kept)


def test_one_has_to_stay(paths):
    with pytest.raises(BadInput, match="at least one"):
        backup.prune_plan(folder(paths), 0)
