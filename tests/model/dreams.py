"""One fact that waits for a Dream, and a language model that makes the Dream of it from a script."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.model.server import KEY, ModelServer, Reply, Script, says

CURSOR = 283
FACT = "The staging port is 8443"
PORT = {"section": "Infrastructure", "new": f"- {FACT}"}
"""The edit that the fact asks for."""


def with_a_fact(workspace: Path) -> Path:
    """The workspace of a nanobot 0.3.5 with one fact that waits for the next Dream."""
    entry = {"cursor": CURSOR, "timestamp": "2026-04-03 00:02", "content": f"- [durable] {FACT}"}
    with (workspace / "memory" / "history.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")
    (workspace / "memory" / ".dream_cursor").write_text(str(CURSOR - 1))
    return workspace


@contextmanager
def endpoints(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ModelServer]]:
    """`endpoint(reply, …)`: a server with that script, which is the model of this test's settings, priced."""
    with ExitStack() as opened:

        def serve(*script: Script) -> ModelServer:
            server = opened.enter_context(ModelServer(*script))
            named = {"BASE_URL": server.url, "NAME": "scripted", "KEY": KEY, "PRICES": "scripted=2/10"}
            for name, value in named.items():
                monkeypatch.setenv(f"NANOMEM_MODEL_{name}", value)
            return server

        yield serve


def study(analysis: str = "a port", **fact: Any) -> Reply:
    """The answer to the first question: the fact, or another one."""
    found = {"text": FACT, "file": "memory/MEMORY.md", "evidence": [CURSOR], **fact}
    return says({"analysis": analysis, "facts": [found]}, usage={"prompt_tokens": 1000, "completion_tokens": 100})


def step(*edits: dict[str, Any]) -> Reply:
    """The answer to the second question: these edits."""
    rows = [{"op": "add", "file": "memory/MEMORY.md", "evidence": [CURSOR], **edit} for edit in edits]
    return says({"edits": rows, "status": "done"}, usage={"prompt_tokens": 2000, "completion_tokens": 100})
