"""A workspace and a scripted endpoint: Dreams by a model, and the answers that scripts are made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nanomem_tui.core.settings import Settings
from nanomem_tui.dreams.run import DreamResult
from tests.dreams.pipeline import Bench
from tests.model.server import Asked, ModelServer, Reply, Script, says
from tests.store.git_samples import small

TEA, BERLIN = "- User prefers tea", "- [durable] Moved to Berlin in 2025"
USAGE = {"prompt_tokens": 100, "completion_tokens": 10}


def fact(text: str, *evidence: int, file: str = "USER.md") -> dict[str, Any]:
    return {"text": text, "file": file, "evidence": list(evidence)}


def study(*facts: dict[str, Any], analysis: str = "new things") -> Reply:
    return says({"analysis": analysis, "facts": list(facts)}, usage=USAGE)


def edit(op: str, *evidence: int, file: str = "USER.md", **fields: Any) -> dict[str, Any]:
    return {"op": op, "file": file, "evidence": list(evidence), **fields}


def step(*edits: dict[str, Any], read: Any = (), status: str = "done") -> Reply:
    return says({"read": list(read), "edits": list(edits), "status": status}, usage=USAGE)


NOTHING_MORE = step()


class Dreaming:
    """A workspace of three small files with `entries` waiting (from 21), and an endpoint with a script."""

    def __init__(self, tmp_path: Path, entries: tuple[str, ...], *script: Script, **settings: Any) -> None:
        self.server = ModelServer(*script)
        named = {"model_base_url": self.server.url, "model_name": "scripted", "model_timeout_seconds": 10.0}
        self.bench = Bench(small(tmp_path), settings=Settings(**{**named, **settings}))
        self.bench.remember(*entries, first=21)
        self.bench.dreams.status()

    def run(self, **named: Any) -> DreamResult:
        with self.server:
            return self.bench.dreams.run(dreamer="model", **named)

    def fails(self, kind: type[Exception], **named: Any) -> str:
        """The error that ends the Dream, after which nothing has changed."""
        before = self.state()
        with pytest.raises(kind) as caught:
            self.run(**named)
        assert self.state() == before
        return str(caught.value)

    def state(self) -> dict[str, bytes]:
        ours = self.bench.paths.data
        files = (path for path in self.bench.paths.workspace.rglob("*") if path.is_file())
        return {str(path): path.read_bytes() for path in files if ours not in path.parents}

    @property
    def user(self) -> str:
        return self.bench.texts()["USER.md"] or ""

    @property
    def cursor(self) -> str:
        return self.bench.paths.dream_cursor.read_text()

    @property
    def asked(self) -> list[Asked]:
        return self.server.asked
