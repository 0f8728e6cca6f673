"""A restored database: nobody mistakes it for the one before, and no log beside it brings later commits back."""

from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.agents.releases import detect
from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.paths import find_workspace
from nanomem_tui.store.moving import backup, restore
from nanomem_tui.store.moving.backup import Archive
from tests.store.stores import add, open_store, other_process, texts

pytestmark = pytest.mark.sqlite("a server has backups of its own")


@pytest.fixture
def paths(tmp_path, monkeypatch):
    monkeypatch.delenv("NANOMEM_DATABASE_URL", raising=False)
    (tmp_path / "home" / "workspace" / "memory").mkdir(parents=True)
    (tmp_path / "home" / "config.json").write_text("{}")
    (tmp_path / "home" / "workspace" / "USER.md").write_text("# User\n")
    found = find_workspace(tmp_path / "home" / "workspace")
    found.data.mkdir()
    return found


def bring_back(paths, made):
    return restore.restore_in_place(paths, detect(paths), made.path)


def test_its_log_and_copies_bring_nothing_later_back(paths):
    store = open_store(paths.data)
    add(store, "a_1", "one")
    store.checkpoint()
    made = backup.make_backup(paths, detect(paths))
    add(store, "a_2", "two")
    store.checkpoint()
    store.close()
    assert bring_back(paths, made).undo is not None
    aside = paths.quarantine / "before-restore"
    assert b"two" in (aside / "operations.jsonl").read_bytes()
    assert list((aside / "copies").iterdir())
    held = [entry.path for entry in backup.check_archive(backup.make_backup(paths, detect(paths)).path)[0].entries]
    assert not [path for path in held if "copies" in path or "operations.jsonl" in path]
    again = open_store(paths.data)
    add(again, "a_3", "three")
    assert texts(again) == {"a_1": "one", "a_3": "three"}
    again.checkpoint()
    assert b"two" not in (paths.data / "operations.jsonl").read_bytes()


@pytest.mark.slow
def test_who_had_the_database_open_loads_it_anew(paths):
    store = open_store(paths.data)
    add(store, "a_1", "one")
    made = backup.make_backup(paths, detect(paths))
    for expected in ({"a_1": "one"}, {"a_1": "one"}):
        add(store, "a_2", "two")
        bring_back(paths, made)
        assert texts(store) == expected  # also at the second time, where the backup is the same
    add(store, "a_3", "three")
    assert other_process(paths.data, "print(sorted(store.load().items))") == "['a_1', 'a_3']\n"


def test_what_is_as_it_was_is_seen_whatever_its_epoch_and_wal(paths):
    store = open_store(paths.data)
    add(store, "a_1", "one")
    made = backup.make_backup(paths, detect(paths))
    add(store, "a_2", "two")

    def changed():
        with Archive(made.path) as archive:
            return restore.plan_restore(paths, detect(paths), archive).changed

    assert changed() == ("nanomem/nanomem.db",)
    bring_back(paths, made)
    assert changed() == ()
    store.refresh()
    assert changed() == ()
    add(store, "a_3", "three")
    assert changed() == ("nanomem/nanomem.db",)


@pytest.mark.parametrize("way", ["in place", "elsewhere"])
def test_a_memory_that_came_back_is_missed_when_it_goes(paths, tmp_path, way):
    workspace = paths.workspace
    with open_workspace(workspace) as ws:
        ws.items.add("kept")
    made = backup.make_backup(paths, detect(paths))
    if way == "in place":
        bring_back(paths, made)
    else:
        workspace = Path(restore.restore_to(made.path, tmp_path / "place").workspace)
    database = find_workspace(workspace).database
    assert list((database.parent / "copies").glob("nanomem-*.db"))
    assert (database.parent / "operations.jsonl").stat().st_size
    database.unlink()
    with pytest.raises(NanomemError, match="gone"), open_workspace(workspace) as ws:
        ws.items.all()
