"""A memory behind a real PgBouncer that hands out its connections by transaction."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.memory.recall import Question
from nanomem_tui.memory.turn_values import turn_end, turn_input
from nanomem_tui.store import chain
from nanomem_tui.store.postgres.server import Server
from nanomem_tui.vectors.pgvector import PgServer
from tests import postgres_pooler
from tests.postgres_server import PostgresServer
from tests.store.homes import make_home

pytestmark = pytest.mark.vectors


@pytest.fixture
def pooled(postgres: PostgresServer) -> Iterator[str]:
    with postgres_pooler.database(postgres) as url:
        yield url


@pytest.fixture
def home(tmp_path: Path, pooled: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NANOMEM_DATABASE_URL", pooled)
    return make_home(tmp_path)


def test_a_memory_lives_behind_a_pool(home: Path) -> None:
    with open_workspace(home) as ws:
        for number in range(12):  # more often than a driver waits before it prepares a statement
            said = {"session_key": "cli:direct", "text": f"Remember that door {number} opens with code {number * 7919}"}
            begun = ws.engine.begin_turn(turn_input({**said, "channel": "cli", "chat_id": "direct", "sender_id": "a"}))
            assert ws.engine.end_turn(turn_end({"turn": begun.turn, "assistant": "Noted."})).saved
            ws.items.add(f"the ferry {number} leaves at nine")
            ws.flush()
            assert not ws.degraded
        before = {item.id for item in ws.items.all()}
        other = [sys.executable, "-W", "ignore", "-m", "nanomem_tui", "--workspace", str(home)]
        add = [*other, "memory", "add", "--text", "said elsewhere"]
        added = subprocess.run(add, check=False, capture_output=True, text=True)
        assert added.returncode == 0, added.stderr
        ws.items.add("one more")  # who decides sees what others did
        assert len({item.id for item in ws.items.all()} - before) == 2
        ws.undo()
        found = subprocess.run([*other, "log", "--verify"], check=False, capture_output=True, text=True)
        assert found.returncode == 0, found.stdout
    with open_workspace(home) as ws:
        assert "ferry 11" in ws.recall.ask(Question("when does ferry 11 leave?")).hits[0].item.text
        assert len(ws.items.all()) == len(before) + 1
        with ws.store.opened() as connection:
            assert chain.verify(connection, ws.id).whole


def test_nothing_of_ours_stays_on_connections_that_others_get(home: Path, pooled: str) -> None:
    with open_workspace(home) as ws:
        for number in range(8):
            ws.items.add(f"the ferry {number} leaves at nine")
            ws.flush()
            ws.items.all()
    with Server(pooled, "someone").alone() as raw:
        asked = (
            "SELECT (SELECT count(*) FROM pg_prepared_statements), (SELECT count(*) FROM pg_listening_channels()),"
            " coalesce(current_setting('nanomem.workspace', true), ''), current_setting('lock_timeout'),"
            " current_setting('statement_timeout')"
        )
        assert raw.execute(asked).fetchone() == (0, 0, "", "0", "0")
    vectors = PgServer(pooled)
    for _ in range(8):
        assert vectors.run(lambda connection: connection.execute("SELECT 1").fetchone()) == (1,)
    vectors.close()


def test_a_transaction_behind_a_pool_has_its_limits(pooled: str) -> None:
    server = Server(pooled, "someone")
    with server.writing() as connection:
        assert limits(connection) == ("30s", "2min")
    server.close()


def test_a_connection_of_ours_has_its_limits(url: str) -> None:
    with Server(url, "someone").alone() as raw:
        assert limits(raw) == ("30s", "2min")
    with Server(f"{url}%20-cstatement_timeout%3D5s", "someone").alone() as raw:
        assert limits(raw) == ("0", "5s")


def limits(connection: Any) -> tuple[str, str]:
    """How long a connection waits for a lock, and for a statement."""
    return tuple(connection.execute(f"SHOW {name}").fetchone()[0] for name in ("lock_timeout", "statement_timeout"))  # type: ignore[return-value]
