"""A memory that the first edition keeps on a server is not taken over from there, and nobody takes it for an empty one.

The database and the homes in `tests/data/first-edition-server.tar.gz` were written by the first edition itself, at
commit b546d21d.
"""

import tarfile
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import paths
from nanomem_tui.core.errors import Refused

pytestmark = [pytest.mark.vectors, pytest.mark.sqlite]
ARCHIVE = Path(__file__).parents[1] / "data" / "first-edition-server.tar.gz"


def test_who_reads_and_who_writes_is_told_how_to_move_it(tmp_path, database_on_server, postgres, monkeypatch):
    url = database_on_server()
    name = url.partition("?")[0].rpartition("/")[2]
    monkeypatch.setenv("NANOMEM_DATABASE_URL", url)
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    postgres.run(name, (tmp_path / "server.sql").read_text("utf-8"))
    home = tmp_path / "written" / "home" / "workspace"
    with open_workspace(home) as ws:
        for act in (ws.items.all, lambda: ws.items.add("new"), ws.flush):
            with pytest.raises(
                Refused, match="the first edition of nanomem keeps this memory on the server"
            ) as refused:
                act()
            assert "migrate-store" in refused.value.fix
    key = paths.workspace_id(paths.find_workspace(home))
    assert postgres.run(name, f"SELECT tablename FROM pg_tables WHERE schemaname = '{key}'") == []
    with open_workspace(home) as ws:
        postgres.run(name, f"INSERT INTO memory_meta (key, value) VALUES ('{key}:moved', '')")
        ws.items.add("the memory moved from there")
