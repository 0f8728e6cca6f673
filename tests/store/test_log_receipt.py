"""A receipt of the log: written to a new file, it tells later what was changed behind everybody's back."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from nanomem_tui.store import chain, reader
from tests.cli.conftest import Result, home, run  # noqa: F401
from tests.store.homes import files
from tests.store.test_chain import alter, database  # noqa: F401

Run = Callable[..., Result]


@pytest.fixture
def receipt(database: Path, run: Run, tmp_path: Path) -> Path:  # noqa: F811
    """The receipt of a log of six operations."""
    path = tmp_path / "receipt.json"
    before = files(database.parent)
    assert run("log", "--verify", "--receipt", str(path)).code == 0
    assert files(database.parent) == before
    return path


def test_it_says_what_the_log_was_and_nothing_of_the_memory(receipt: Path, run: Run) -> None:  # noqa: F811
    told = json.loads(receipt.read_bytes())
    assert sorted(told) == ["at", "head", "nanomem_log", "operations", "workspace"]
    assert (told["operations"], told["head"]) == (6, run("log", "--verify", "--json").json["head"])
    assert stat.S_IMODE(receipt.stat().st_mode) == 0o600


def test_a_log_that_went_on_meets_it(receipt: Path, run: Run) -> None:  # noqa: F811
    for text in ("one more", "and one"):
        run("memory", "add", "--text", text)
    result = run("log", "--verify", "--expect", str(receipt))
    assert (result.code, "is there, 2 operations ago." in result.out) == (0, True), result.out


@pytest.mark.sqlite("the file itself")
def test_a_log_whose_chain_was_made_anew_does_not(receipt: Path, database: Path, run: Run) -> None:  # noqa: F811
    alter(database, "UPDATE operations SET body_json = replace(body_json, 'number 0', 'number 9') WHERE seq = 1")
    with reader.open_database(database) as connection:
        workspace = connection.execute("SELECT workspace_id FROM operations").fetchone()[0]
        head = chain.of(connection, workspace)
    alter(database, f"UPDATE memory_meta SET value = '{head}' WHERE key LIKE '%:chain'")
    for copy in (database.parent / "backups").rglob("*.db"):  # whoever has the account can reach these too
        copy.unlink()
    result = run("log", "--verify", "--expect", str(receipt))
    assert (result.code, "is not in the chain" in result.out) == (1, True), result.out


@pytest.mark.sqlite("the file itself")
def test_of_a_log_that_was_altered_none_is_written(database: Path, run: Run, tmp_path: Path) -> None:  # noqa: F811
    alter(database, "DELETE FROM operations WHERE seq = 2")
    result = run("log", "--verify", "--receipt", str(tmp_path / "new.json"))
    assert (result.code, "No receipt was written." in result.out) == (1, True)
    assert not (tmp_path / "new.json").exists()


def test_no_file_is_written_over(receipt: Path, run: Run) -> None:  # noqa: F811
    before = receipt.read_bytes()
    run("memory", "add", "--text", "one more")
    result = run("log", "--verify", "--receipt", str(receipt))
    assert (result.code, "there already" in result.err) == (2, True)
    assert receipt.read_bytes() == before


NO_RECEIPTS = (b"", b"{}", b"\xff", b'{"nanomem_log": 1, "operations": 2, "head": "abc"}', b"[" * 9_999)


@pytest.mark.parametrize("data", NO_RECEIPTS)
def test_what_is_no_receipt_is_named(data: bytes, database: Path, run: Run, tmp_path: Path) -> None:  # noqa: F811
    path = tmp_path / "some.json"
    path.write_bytes(data)
    result = run("log", "--verify", "--expect", str(path))
    assert (result.code, "not a receipt of a log" in result.err) == (2, True), result.err


def test_that_of_another_memory_is_refused(receipt: Path, run: Run) -> None:  # noqa: F811
    told = json.loads(receipt.read_bytes())
    receipt.write_text(json.dumps({**told, "workspace": "another"}))
    result = run("log", "--verify", "--expect", str(receipt))
    assert (result.code, "the receipt of another memory" in result.err) == (2, True)
