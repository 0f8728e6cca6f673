"""A memory of the first edition on a server: read as it is, taken over by the first change, whole or not at all.

The database and the homes in `tests/data/first-edition-server.tar.gz` were written by the first edition itself, at
commit b546d21d, with what it showed of them.
"""

from __future__ import annotations

import fcntl
import json
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.cli.main import run as run_line
from nanomem_tui.core import paths
from nanomem_tui.core.errors import Refused, StoreError
from nanomem_tui.store.first_edition import takeover
from nanomem_tui.workspace import Workspace
from tests.postgres_server import PostgresServer

pytestmark = [pytest.mark.vectors, pytest.mark.sqlite]
ARCHIVE = Path(__file__).parents[1] / "data" / "first-edition-server.tar.gz"


@pytest.fixture
def homes(
    tmp_path: Path, database_on_server: Callable[[], str], postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Two machines' homes of one workspace, whose memory lies on the server; `waiting` has two changes to write."""
    url = database_on_server()
    monkeypatch.setenv("NANOMEM_DATABASE_URL", url)
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    postgres.run(url.partition("?")[0].rpartition("/")[2], (tmp_path / "server.sql").read_text("utf-8"))
    return tmp_path


@pytest.fixture
def home(homes: Path) -> Path:
    """A workspace whose memory the first edition keeps on the server, with an edit, a deleted memory and an undo."""
    return homes / "written" / "home" / "workspace"


@pytest.fixture
def waiting(homes: Path) -> Path:
    """The same on a machine where a process of the first edition was killed before it wrote two changes."""
    return homes / "waiting" / "home" / "workspace"


@pytest.fixture
def shown(homes: Path) -> dict[str, Any]:
    """What the first edition showed of it."""
    found: dict[str, Any] = json.loads((homes / "shown.json").read_text("utf-8"))
    return {**found, "log": [tuple(entry) for entry in found["log"]]}


def seen(ws: Workspace) -> dict[str, Any]:
    rows = {row.id: row.text for row in ws.items.all()}
    lessons = {row.id: row.better_action for row in ws.lessons.all()}
    return {"rows": rows, "lessons": lessons, "log": [(e.operation.id, e.undone) for e in ws.log(limit=100)]}


def schema_of(home: Path, postgres: PostgresServer) -> list[Any]:
    name = os.environ["NANOMEM_DATABASE_URL"].partition("?")[0].rpartition("/")[2]
    key = paths.workspace_id(paths.locate(home))
    return postgres.run(name, f"SELECT tablename FROM pg_tables WHERE schemaname = '{key}'")


def moved(postgres: PostgresServer) -> list[str]:
    """What the tables of the first edition say of where the memory went."""
    name = os.environ["NANOMEM_DATABASE_URL"].partition("?")[0].rpartition("/")[2]
    return [value for (value,) in postgres.run(name, "SELECT value FROM memory_meta WHERE key LIKE '%:moved'")]


def test_it_is_read_as_it_is_and_nothing_changes(home: Path, shown: dict[str, Any], postgres: PostgresServer) -> None:
    with open_workspace(home) as ws:
        assert seen(ws) == shown
        assert [hit.item.text for hit in ws.items.search("ferry")] == ["the ferry leaves at nine"]
        assert ws.status()["store"]["operations"] == len(shown["log"])
        assert not ws.degraded
        ws.refresh()
        assert not ws.degraded
    assert schema_of(home, postgres) == []
    assert moved(postgres) == []


def test_the_first_change_takes_it_over_and_tells_the_first_edition(
    home: Path, shown: dict[str, Any], postgres: PostgresServer
) -> None:
    with open_workspace(home) as ws:
        ws.items.add("of the second edition")
        assert ws.store.taken_over is not None  # type: ignore[attr-defined]
        assert ws.store.taken_over.problems == ()  # type: ignore[attr-defined]
        assert schema_of(home, postgres)
    with open_workspace(home) as ws:
        now = seen(ws)
        assert now["log"][1:] == shown["log"]
        assert now["rows"].items() >= shown["rows"].items()
        ws.undo(shown["log"][-1][0])
        assert "the ferry leaves at nine" not in seen(ws)["rows"].values()
        assert not [problem for problem in ws.doctor() if problem.severity == "error"]
    (mark,) = moved(postgres)
    assert "by a newer nanomem" in mark


def test_what_waited_in_a_ledger_is_taken_over_too(waiting: Path) -> None:
    with open_workspace(waiting) as ws:
        assert {"recorded and not written", "edited there"} <= {*seen(ws)["rows"].values()}
        ws.items.add("and another one")
    with open_workspace(waiting) as ws:
        assert {"recorded and not written", "and another one"} <= {*seen(ws)["rows"].values()}


def test_while_the_first_edition_is_at_work_here_nothing_is_taken_over(waiting: Path, postgres: PostgresServer) -> None:
    (ledger,) = paths.locate(waiting).ledger.glob("*/*.ledger")
    with ledger.open("rb") as file, open_workspace(waiting) as ws:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(Refused, match="first edition"):
            ws.items.add("too early")
        assert "too early" not in seen(ws)["rows"].values()
    assert schema_of(waiting, postgres) == []
    with open_workspace(waiting) as ws:
        ws.items.add("now")
        assert {"recorded and not written", "now"} <= {*seen(ws)["rows"].values()}


def test_one_that_fails_leaves_the_memory_as_it_was(
    home: Path, shown: dict[str, Any], postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise StoreError("no more", "the server")

    for module, name in ((takeover, "_compare"), (takeover, "_mark_moved")):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, fails)
            with open_workspace(home) as ws, pytest.raises(StoreError):
                ws.items.add("not acknowledged")
        assert schema_of(home, postgres) == []
        assert moved(postgres) == []
        with open_workspace(home) as ws:
            assert seen(ws) == shown


def test_two_machines_that_take_it_over_at_once(home: Path) -> None:
    with open_workspace(home) as one, open_workspace(home) as other:
        one.items.all()
        other.items.all()
        one.items.add("of one")
        other.items.add("of the other")
        assert {"of one", "of the other", "edited"} <= {*seen(other)["rows"].values()}
    with open_workspace(home) as ws:
        assert len({op for op, _ in seen(ws)["log"]}) == len(seen(ws)["log"])


def test_forget_takes_it_out_of_the_rows_that_were_kept(
    home: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_workspace(home) as ws:
        ws.items.add("of the second edition")
    (home.parent / "sessions" / paths.workspace_id(paths.locate(home))).mkdir(parents=True)  # else it is named as left
    assert run_line(["forget", "--text", "ferry leaves", "--yes", "--workspace", str(home)]) == 0
    name = os.environ["NANOMEM_DATABASE_URL"].partition("?")[0].rpartition("/")[2]
    tables = postgres.run(name, "SELECT schemaname, tablename FROM pg_tables WHERE schemaname !~ '^(pg_|information_)'")
    held = [
        (schema, table)
        for schema, table in tables
        if postgres.run(name, f'SELECT 1 FROM "{schema}"."{table}" t WHERE t::text LIKE \'%ferry leaves%\' LIMIT 1')
    ]
    assert held == []
    with open_workspace(home) as ws:
        assert "of the second edition" in seen(ws)["rows"].values()


def test_what_waited_on_a_machine_where_nobody_took_it_over_is_made_there(home: Path, waiting: Path) -> None:
    with open_workspace(home) as ws:
        ws.items.edit("ltm_3", text="edited here")
    with open_workspace(waiting) as ws:
        ws.items.add("the next change there")
        texts = {*seen(ws)["rows"].values()}
        assert {"recorded and not written", "edited here", "the next change there"} <= texts
        (problem,) = [problem for problem in ws.problems() if "no longer fits" in problem.what]
        assert "first-edition-" in (problem.fix or "")


def test_the_doctor_reads_it_and_a_change_of_files_takes_it_over(home: Path, postgres: PostgresServer) -> None:
    with open_workspace(home) as ws:
        assert not [problem for problem in ws.doctor() if problem.severity == "error"]
    assert schema_of(home, postgres) == []
    with open_workspace(home) as ws:
        ws.documents.edit("USER.md", "likes ferries\n")
        assert "edited" in seen(ws)["rows"].values()
    assert schema_of(home, postgres)
