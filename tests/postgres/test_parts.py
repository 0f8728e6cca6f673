"""Tables that are made of parts, by workspace, as the address says when they are made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.errors import NotYetWritten
from nanomem_tui.memory.recall import Question
from nanomem_tui.store import chain
from nanomem_tui.store.postgres import schema, tier_schema
from tests.postgres.moving import command, filled, seen
from tests.postgres_server import PostgresServer, schema_in
from tests.store.homes import make_home

pytestmark = pytest.mark.vectors


@pytest.fixture
def parted(url: str) -> str:
    """An address that asks for four parts."""
    return f"{url}%20-cnanomem.partitions%3D4"


def asking(url: str) -> Any:
    """A connection of the driver, which is not there where these tests are left out."""
    import psycopg

    return psycopg.connect(url.replace("+psycopg", ""), autocommit=True)


def parts_of(url: str) -> dict[str, int]:
    with asking(url) as raw:
        asked = (
            "SELECT p.relname, count(*) FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhparent"
            " WHERE p.relkind = 'p' AND p.relnamespace = current_schema()::regnamespace GROUP BY 1"
        )
        return dict(raw.execute(asked).fetchall())


def test_a_memory_lies_in_parts(tmp_path: Path, parted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NANOMEM_DATABASE_URL", parted)
    homes = [make_home(tmp_path / f"agent{number}") for number in range(3)]
    for number, home in enumerate(homes):
        with open_workspace(home) as ws:
            before = {row.id: row.text for row in ws.items.all()}
            ws.items.add(f"the ferry of agent {number} leaves at nine")
            ws.items.edit("ltm_1", text="edited")
            ws.items.delete(["ltm_2"])
            ws.records.store("task", {"description": f"book the ferry of {number}"})
            ws.flush()
            ws.undo(count=3)
            assert {row.id: row.text for row in ws.items.all()} == before
            ws.redo(count=3)
            ws.flush()
    assert parts_of(parted) == dict.fromkeys({*schema.TABLES, *tier_schema.tables()}, 4)
    for number, home in enumerate(homes):
        with open_workspace(home) as ws:
            found = ws.recall.ask(Question("when does the ferry leave?")).hits
            assert [hit.item.text for hit in found] == [f"the ferry of agent {number} leaves at nine"]
            assert [row.fields["description"] for row in ws.records.of("task")] == [f"book the ferry of {number}"]
            told = [problem.what for problem in ws.doctor() if problem.severity != "note"]
            assert [one for one in told if not one.startswith("synchronous_commit is off")] == []  # which tests have
            with ws.store.opened() as connection:
                assert chain.verify(connection, ws.id).whole


def test_no_part_shows_what_its_table_hides(
    tmp_path: Path, parted: str, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NANOMEM_DATABASE_URL", parted)
    with open_workspace(make_home(tmp_path / "theirs")) as ws:
        ws.items.add("a secret of theirs")
        ws.records.store("task", {"description": "a secret of theirs"})
        ws.flush()
        theirs = ws.id
    place = schema_in(parted)
    postgres.run(
        "postgres", "DROP ROLE IF EXISTS peeper", "CREATE ROLE peeper LOGIN",
        f"GRANT USAGE ON SCHEMA {place} TO peeper", f"GRANT SELECT ON ALL TABLES IN SCHEMA {place} TO peeper",
    )  # fmt: skip
    with asking(parted.replace("postgres@", "peeper@")) as raw:
        raw.execute("SELECT set_config('nanomem.workspace', %s, false)", (theirs,))
        names = [*schema.TABLES, *tier_schema.tables()]
        for name in (one for like in names for one in (like, *(f"{like}_part{number}" for number in range(4)))):
            assert raw.execute(f"SELECT count(*) FROM {name}").fetchone() == (0,), name


@pytest.mark.parametrize("said", ["many", "-1", "0", "5000"])
def test_a_number_of_parts_that_is_none_is_refused(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setenv("NANOMEM_DATABASE_URL", f"{url}%20-cnanomem.partitions%3D{said}")
    home = make_home(tmp_path)
    with pytest.warns(NotYetWritten, match=rf"nanomem\.partitions is '{said}'"), open_workspace(home) as ws:
        ws.items.add("x")
    assert parts_of(url) == {}
    monkeypatch.setenv("NANOMEM_DATABASE_URL", url)
    with open_workspace(home) as ws:
        ws.flush()
        assert "x" in {item.text for item in ws.items.all()}


def test_a_memory_moves_into_parts_and_out_of_them(tmp_path: Path, parted: str) -> None:
    workspace = filled(tmp_path)
    before = seen(workspace)
    assert command(workspace, "migrate-store", "sqlite", parted, "--yes") == 0
    assert seen(workspace) == before
    assert parts_of(parted)["operations"] == 4
    assert command(workspace, "migrate-store", parted, "sqlite", "--yes") == 0
    assert seen(workspace) == before


def test_a_policy_that_is_gone_is_named_with_what_brings_it_back(
    tmp_path: Path, parted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NANOMEM_DATABASE_URL", parted)
    with open_workspace(make_home(tmp_path)) as ws:
        ws.items.add("the ferry leaves at nine")
        ws.flush()
        with asking(parted) as raw:
            for name in ("lessons", "memory_entries_part2"):
                raw.execute(f"DROP POLICY {name}_of_one_workspace ON {name}")
            told = [problem for problem in ws.doctor() if "policy" in problem.what]
            assert [one.what for one in told] == [
                f"the policy of {name} is gone: nobody sees a row of it" for name in ("lessons", "memory_entries_part2")
            ]
            for problem in told:
                raw.execute(problem.fix.partition(" run: ")[2])
        assert [problem for problem in ws.doctor() if "policy" in problem.what] == []
