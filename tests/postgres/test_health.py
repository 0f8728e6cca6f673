"""What keeps a memory from its server is named by the doctor, before anybody wonders where the changes are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.errors import NotYetWritten, Problem, StoreError
from tests.postgres.moving import command
from tests.postgres_server import PostgresServer, schema_in
from tests.store.homes import make_home

pytestmark = pytest.mark.vectors
Name = Callable[[str], None]


@pytest.fixture
def name(monkeypatch: pytest.MonkeyPatch) -> Name:
    """`name(url)`: the server that the settings name."""
    return lambda url: monkeypatch.setenv("NANOMEM_DATABASE_URL", url)


def errors(workspace: Path) -> list[Problem]:
    with open_workspace(workspace) as ws:
        return [one for one in ws.doctor() if one.severity == "error"]


@contextmanager
def database(postgres: PostgresServer, name: str, how: str = "") -> Iterator[str]:
    postgres.run("postgres", f"CREATE DATABASE {name} {how}")
    try:
        yield postgres.url(name).replace("postgresql://", "postgresql+psycopg://")
    finally:
        postgres.run("postgres", f"DROP DATABASE {name} WITH (FORCE)")


def test_a_role_that_is_no_member_is_told_what_makes_it_one(
    tmp_path: Path, url: str, postgres: PostgresServer, name: Name
) -> None:
    name(url)
    with open_workspace(make_home(tmp_path / "other")) as ws:
        ws.items.add("of another")
        ws.flush()
    place = schema_in(url)
    postgres.run(
        "postgres", "DROP ROLE IF EXISTS outsider", "CREATE ROLE outsider LOGIN",
        f"GRANT USAGE ON SCHEMA {place} TO outsider",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {place} TO outsider",
    )  # fmt: skip
    name(url.replace("postgres@", "outsider@"))
    home = make_home(tmp_path / "mine")
    with pytest.warns(NotYetWritten, match="a right is missing"), open_workspace(home) as ws:
        ws.items.add("of mine")
    (found,) = errors(home)
    assert found.what.startswith("the role outsider is no member of this workspace")
    postgres.run("postgres", f"SET search_path = {place}; {found.fix.partition(' run: ')[2]}")
    assert errors(home) == []
    with open_workspace(home) as ws:
        ws.flush()
        assert "of mine" in {item.text for item in ws.items.all()}


def test_a_server_that_takes_no_changes_is_named(tmp_path: Path, postgres: PostgresServer, name: Name) -> None:
    with database(postgres, "still") as url:
        home = make_home(tmp_path)
        name(url)
        postgres.run("postgres", "ALTER DATABASE still SET default_transaction_read_only = on")
        with pytest.warns(NotYetWritten), open_workspace(home) as ws:
            ws.items.add("x")
        assert [one.what for one in errors(home)] == [
            "the server takes no changes (transaction_read_only): they wait in the ledger"
        ]
        postgres.run("postgres", "ALTER DATABASE still SET default_transaction_read_only = off")
        with open_workspace(home) as ws:
            ws.flush()
        assert errors(home) == []


def test_a_database_that_does_not_hold_every_text_is_refused(
    tmp_path: Path, postgres: PostgresServer, name: Name, capsys: pytest.CaptureFixture[str]
) -> None:
    with database(postgres, "latin", "ENCODING LATIN1 LOCALE 'C' TEMPLATE template0") as url:
        home = make_home(tmp_path)
        assert command(home, "migrate-store", "sqlite", url, "--yes") == 2
        assert "createdb -E UTF8" in capsys.readouterr().err
        name(url)
        ws = open_workspace(home)
        ws.items.add("naïve plans for 北京")
        with pytest.raises(StoreError, match="encoding LATIN1"):
            ws.flush()
        with pytest.raises(StoreError, match="encoding LATIN1"):
            ws.close()
        assert [one.what for one in errors(home)] == [
            "the database is of the encoding LATIN1, which does not hold every text"
        ]


@pytest.mark.parametrize(
    ("option", "what"),
    [
        ("search_path%3Dnowhere", "none of the schemas of the search path is there"),
        ("nanomem.partitions%3Dabc", "nanomem.partitions is 'abc', not a number"),
    ],
)
def test_what_keeps_tables_from_being_made_is_named(
    tmp_path: Path, postgres: PostgresServer, name: Name, option: str, what: str
) -> None:
    with database(postgres, "fresh_one") as url:
        joint = "&" if "?" in url else "?"
        name(f"{url}{joint}options=-c{option}")
        (found,) = errors(make_home(tmp_path))
        assert found.what.startswith(what)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("postgres@", "nobody_here@"), "PostgreSQL refuses the connection"),
        (("host=", "port=notaport&host="), "PostgreSQL refuses the connection"),
        (("host=", "sslmode=bogus&host="), "PostgreSQL refuses the connection"),
        (("host=", "host=/nowhere"), "PostgreSQL does not answer"),
    ],
)
def test_what_no_waiting_mends_is_not_called_a_server_that_is_away(
    tmp_path: Path, url: str, name: Name, wrong: tuple[str, str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name(url.replace(*wrong, 1))
    assert command(make_home(tmp_path), "memory", "list") == 2
    line = capsys.readouterr().err
    assert said in line
    assert "what was acknowledged waits in the ledger" in line


def test_an_extension_that_is_missing_is_named(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with database(postgres, "bare") as url:
        monkeypatch.setenv("NANOMEM_VECTOR_INDEX", "pgvector")
        monkeypatch.setenv("NANOMEM_PGVECTOR_URL", url)
        with open_workspace(make_home(tmp_path)) as ws:
            told: list[Any] = [one for one in ws.doctor() if "pgvector" in one.what]
        assert len(told) == 1
        assert "CREATE EXTENSION vector" in told[0].fix


def test_the_status_says_which_workspace_and_which_server(home: Path) -> None:
    with open_workspace(home) as ws:
        ws.items.add("x")
        ws.flush()
        found = ws.status()
        assert found["id"] == ws.id
        assert found["store"]["server"].split(".")[0].isdecimal()
