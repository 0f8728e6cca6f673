"""A backup holds a memory that lies on a server, and brings it back: there, or as a file in a new place."""

import json
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import paths
from nanomem_tui.store.database import bookkeeping
from tests.store.homes import make_home
from tests.store.test_migrate_store import command, migrate, on_server, seen

pytestmark = [pytest.mark.vectors, pytest.mark.sqlite]
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def url(database_on_server):
    return database_on_server()


@pytest.fixture
def workspace(tmp_path, url):
    """A memory that moved from its file to the server, with something that was said there."""
    found = make_home(tmp_path / "agent", items=3)
    (found.parent / "config.json").write_text("{}")
    with open_workspace(found) as ws:
        ws.items.add("likes tea")
    assert migrate(found, "sqlite", url) == 0
    with open_workspace(found) as ws:
        ws.items.add("said on the server")
    return found


def newest(workspace):
    return str(max((workspace.parent / "nanomem-backups").iterdir()))


def test_it_holds_them_and_brings_them_back(workspace, capsys):
    before = seen(workspace)
    assert command(workspace, "backup", "make") == 0
    assert command(workspace, "backup", "check") == 0
    capsys.readouterr()
    assert command(workspace, "backup", "restore", "latest", "--dry-run") == 0
    assert "nanomem/nanomem.db" not in capsys.readouterr().out
    with open_workspace(workspace) as ws:
        ws.items.add("came later")
        ws.items.delete([next(iter(before["rows"]))])
    later = seen(workspace)
    capsys.readouterr()
    with open_workspace(workspace) as beside:  # another machine's console would be this one
        beside.items.all()
    assert command(workspace, "backup", "restore", "latest", "--yes", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert "nanomem/nanomem.db" in told["changed"]
    assert seen(workspace) == before
    assert on_server(workspace)
    with open_workspace(workspace) as ws:
        ws.items.add("and it goes on")
        assert not ws.degraded
        ws.undo()
    assert command(workspace, "backup", "restore", Path(told["undo"]).name, "--yes") == 0
    assert seen(workspace) == later


def test_it_is_brought_to_a_place_of_its_own_and_moves_from_there(workspace, tmp_path, database_on_server):
    before = seen(workspace)
    assert command(workspace, "backup", "make") == 0
    place = tmp_path / "looked at"
    assert command(workspace, "backup", "restore", newest(workspace), "--to", str(place)) == 0
    there = place / workspace.name
    assert not on_server(there)
    assert seen(there)["log"] == before["log"]
    with open_workspace(there) as ws:
        ws.items.add("of that place alone")
    assert seen(workspace) == before
    assert {*seen(there)["rows"]} > {*before["rows"]}
    of_there = seen(there)
    assert migrate(there, "sqlite", database_on_server()) == 0
    assert seen(there) == of_there


def test_a_server_that_is_away_makes_no_backup(workspace, capsys, postgres):
    settings = paths.find_workspace(workspace).settings
    settings.write_text(settings.read_text().replace(str(postgres.folder), str(postgres.folder / "nobody")))
    capsys.readouterr()
    assert command(workspace, "backup", "make") == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not list((workspace.parent / "nanomem-backups").glob("*.nanomem-backup"))


def test_one_of_another_store_is_refused(workspace, url, capsys):
    assert command(workspace, "backup", "make") == 0
    assert migrate(workspace, url, "sqlite") == 0
    before = seen(workspace)
    capsys.readouterr()
    assert command(workspace, "backup", "restore", "latest", "--yes") == 2
    assert "migrate-store" in capsys.readouterr().err
    assert seen(workspace) == before
    assert migrate(workspace, "sqlite", url) == 0
    assert command(workspace, "backup", "restore", "latest", "--yes") == 0


def test_a_restore_that_is_cut_off_leaves_the_server_as_it_was_and_is_done_again(workspace, monkeypatch):
    before = seen(workspace)
    assert command(workspace, "backup", "make") == 0
    name = Path(newest(workspace)).name
    with open_workspace(workspace) as ws:
        ws.items.add("came later")
    later = seen(workspace)

    def end(*_, on_server, **__):
        if on_server:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(bookkeeping, "rename_for_storage", end)
        assert command(workspace, "backup", "restore", name, "--yes") not in (0, None)
    assert {*seen(workspace)["rows"]} == {*later["rows"]}
    assert command(workspace, "backup", "restore", name, "--yes") == 0
    assert seen(workspace) == before
