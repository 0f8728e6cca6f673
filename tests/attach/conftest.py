"""A server to talk to in place of ours, with its log, and a logger that forgets what it said."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nanomem_tui.attach import say
from nanomem_tui.attach.client import Client

SERVE = Path(__file__).with_name("serve.py")


class Server:
    """The stand-in's command line and what it was asked."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "log"

    def command(self, fault: str = "") -> str:
        return " ".join([sys.executable, str(SERVE), str(self.log), *([fault] if fault else [])])

    @property
    def asked(self) -> list[dict[str, Any]]:
        if not self.log.exists():
            return []
        return [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]

    def dos(self) -> list[str]:
        return [row["do"] for row in self.asked]


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path)


@pytest.fixture
def make_client(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Client]]:
    """Clients of a server with a fault; closed at the end."""
    importlib.reload(say)  # as in a process that has said nothing yet
    made: list[Client] = []

    def make(fault: str = "", **options: Any) -> Client:
        monkeypatch.setenv("NANOMEM_COMMAND", server.command(fault))
        made.append(Client("/somewhere", **options))
        return made[-1]

    yield make
    for client in made:
        client.close()
