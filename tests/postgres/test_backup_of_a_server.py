"""A backup holds the rows that lie on a server, and brings them back: there, or as a file in a new place."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from nanomem_tui import open_workspace, paths
from nanomem_tui.store.moving import copying
from tests.postgres.moving import chain_is_whole, command, filled, move, seen
from tests.postgres_server import PostgresServer

pytestmark = [pytest.mark.vectors, pytest.mark.sqlite]
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def workspace(tmp_path: Path, postgres: PostgresServer) -> Path:
    found = filled(tmp_path / "agent")
    (found.parent / "config.json").write_text("{}")
    assert command(found, "migrate-store", "sqlite", postgres.fresh()[1], "--yes") == 0
    with open_workspace(found) as ws:
        ws.items.add("said on the server")
    return found


def test_it_holds_them_and_brings_them_back(workspace: Path, capsys: Capture) -> None:
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
    assert command(workspace, "backup", "restore", "latest", "--yes", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert "nanomem/nanomem.db" in told["changed"]
    assert seen(workspace) == before
    assert chain_is_whole(workspace, capsys)
    with open_workspace(workspace) as ws:
        assert ws.store.server is not None
        ws.items.add("and it goes on")
        assert not ws.degraded
        ws.undo()
    assert command(workspace, "backup", "restore", Path(told["undo"]).name, "--yes") == 0
    assert seen(workspace) == later


def test_it_is_brought_to_a_place_of_its_own(workspace: Path, tmp_path: Path) -> None:
    before = seen(workspace)
    assert command(workspace, "backup", "make") == 0
    made = next(iter(sorted((workspace.parent / "nanomem-backups").iterdir())))
    place = tmp_path / "looked at"
    assert command(workspace, "backup", "restore", str(made), "--to", str(place)) == 0
    there = place / workspace.name
    with open_workspace(there) as ws:
        assert ws.store.server is None
        ws.items.add("of that place alone")
    assert seen(workspace) == before
    assert {*seen(there)["rows"]} > {*before["rows"]}


def test_a_server_that_is_away_makes_no_backup(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, postgres: PostgresServer
) -> None:
    gone = paths.locate(workspace).settings.read_text().replace(str(postgres.folder), str(postgres.folder / "nobody"))
    paths.locate(workspace).settings.write_text(gone)
    capsys.readouterr()
    assert command(workspace, "backup", "make") == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not list((workspace.parent / "nanomem-backups").glob("*.nanomem-backup"))


def test_one_of_another_store_is_refused(workspace: Path, postgres: PostgresServer, capsys: Capture) -> None:
    assert command(workspace, "backup", "make") == 0
    url = _url(workspace)
    assert command(workspace, "migrate-store", url, "sqlite", "--yes") == 0
    before = seen(workspace)
    capsys.readouterr()
    assert command(workspace, "backup", "restore", "latest", "--yes") == 2
    assert "migrate-store" in capsys.readouterr().err
    assert seen(workspace) == before
    assert command(workspace, "migrate-store", "sqlite", url, "--yes") == 0
    assert command(workspace, "backup", "restore", "latest", "--yes") == 0


def _url(workspace: Path) -> str:
    with open_workspace(workspace) as ws:
        return ws.settings.database_url


def test_a_restore_that_is_cut_off_is_done_to_the_end(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    before = seen(workspace)
    assert command(workspace, "backup", "make") == 0
    with open_workspace(workspace) as ws:
        ws.items.add("came later")
    later = seen(workspace)
    with monkeypatch.context() as patch:
        real = copying.write

        def write(connection: object, wid: str, table: object, *rest: object) -> None:
            real(connection, wid, table, *rest)
            raise KeyboardInterrupt

        patch.setattr(copying, "write", write)
        patch.setattr("nanomem_tui.store.backup.make", lambda *_, **__: _made(workspace))
        assert command(workspace, "backup", "restore", "latest", "--yes") not in (0, None)
    assert {*seen(workspace)["rows"]} == {*later["rows"]}
    assert command(workspace, "backup", "restore", "latest", "--yes") == 0
    assert seen(workspace) == before


def _made(workspace: Path) -> object:
    from nanomem_tui.store import backup

    return backup.listed(workspace.parent / "nanomem-backups")[0]


def test_what_was_left_behind_is_no_part_of_it(workspace: Path, tmp_path: Path) -> None:
    """The file that a move left is not what the memory is."""
    assert command(workspace, "backup", "make") == 0
    made = next(iter(sorted((workspace.parent / "nanomem-backups").iterdir())))
    place = tmp_path / "looked at"
    assert command(workspace, "backup", "restore", str(made), "--to", str(place)) == 0
    database = paths.locate(place / workspace.name).database
    with sqlite3.connect(database) as connection:
        texts = {text for (text,) in connection.execute("SELECT content FROM memory_entries")}
        marks = connection.execute("SELECT count(*) FROM memory_meta WHERE key LIKE '%:moved'").fetchone()[0]
    connection.close()
    assert "said on the server" in texts
    assert marks == 0


def test_a_move_of_a_restored_place(workspace: Path, tmp_path: Path, postgres: PostgresServer) -> None:
    assert command(workspace, "backup", "make") == 0
    made = next(iter(sorted((workspace.parent / "nanomem-backups").iterdir())))
    place = tmp_path / "looked at"
    assert command(workspace, "backup", "restore", str(made), "--to", str(place)) == 0
    there = place / workspace.name
    before = seen(there)
    _, url = postgres.fresh()
    move(there, "sqlite", url)
    assert command(there, "config", "set", "--here", "database_url", url) == 0
    assert seen(there) == before


def test_the_server_that_the_user_named_since_stays_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgres: PostgresServer, capsys: Capture
) -> None:
    """A backup of the file of before goes to where the memory lies now, and says so."""
    user = tmp_path / "user" / "config.toml"
    monkeypatch.setenv("NANOMEM_CONFIG", str(user))
    found = filled(tmp_path / "agent")
    (found.parent / "config.json").write_text("{}")
    assert command(found, "config", "set", "max_items", "5000") == 0
    assert command(found, "backup", "make") == 0
    before, url = seen(found), postgres.fresh()[1]
    assert command(found, "migrate-store", "sqlite", url, "--keep-settings", "--yes") == 0
    assert command(found, "config", "set", "database_url", url) == 0
    with open_workspace(found) as ws:
        ws.items.add("said on the server")
    now = user.read_text()

    capsys.readouterr()
    assert command(found, "backup", "restore", "latest", "--user-settings", "--yes") == 2
    assert "would lie" not in (told := capsys.readouterr().err)
    assert "the memory lay in the file nanomem.db then, and lies in postgresql" in told
    assert user.read_text() == now

    assert command(found, "backup", "restore", "latest", "--yes") == 0
    told = capsys.readouterr().out
    assert "Note: the memory lay in the file nanomem.db then; it is brought back to where it lies now" in told
    assert user.read_text() == now
    assert {*seen(found)["rows"]} == {*before["rows"]}
