"""A memory that moves to a server and back while threads and another process write to it is the same as a plain dict of
what was acknowledged, whatever ends a move in between."""

from __future__ import annotations

import contextlib
import json
import random
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any, Self

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.errors import Moved, NanomemError, NotYetWritten
from nanomem_tui.store.moving import copying
from tests.hygiene.repository import ROOT
from tests.postgres.moving import chain_is_whole, command, filled, seen
from tests.postgres_server import PostgresServer

pytestmark = [pytest.mark.vectors, pytest.mark.sqlite]

WRITER = """
import contextlib, json, sys, random
from nanomem_tui import open_workspace
from nanomem_tui.errors import NanomemError
rng, workspace, name = random.Random(int(sys.argv[1])), sys.argv[2], sys.argv[3]
number, done = 0, {}
import warnings
warnings.simplefilter("ignore")
while not sys.stdin.closed:
    with open_workspace(workspace) as ws:
        for _ in range(rng.randint(1, 8)):
            number += 1
            text = f"{name} says {number}"
            _, item, _ = ws.items.add(text)
            print(json.dumps([item.id, text]), flush=True)
            if rng.random() < 0.3:
                ws.items.edit(item.id, text=text + " anew")
                print(json.dumps([item.id, text + " anew"]), flush=True)
            if rng.random() < 0.2:
                ws.items.delete([item.id])
                print(json.dumps([item.id, None]), flush=True)
            if rng.random() < 0.3:
                with contextlib.suppress(NanomemError):
                    ws.flush()
            if number >= int(sys.argv[4]):
                sys.exit(0)
"""


class Threads:
    """Threads that write by one open workspace each, which they close and open anew now and then."""

    def __init__(self, workspace: Path, seed: int, count: int) -> None:
        self.model: dict[str, str | None] = {}
        self.errors: list[BaseException] = []
        self._stop = threading.Event()
        self._workspace = workspace
        self._threads = [threading.Thread(target=self._write, args=(seed * 100 + n,)) for n in range(count)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _write(self, seed: int) -> None:
        rng, number = random.Random(seed), 0
        try:
            while not self._stop.is_set():
                ws = open_workspace(self._workspace)
                for _ in range(rng.randint(1, 12)):
                    number += 1
                    text = f"thread {seed} says {number}"
                    _, item, _ = ws.items.add(text)
                    self.model[item.id] = text
                    what = rng.random()
                    if what < 0.3:
                        ws.items.edit(item.id, text=f"{text} anew")
                        self.model[item.id] = f"{text} anew"
                    elif what < 0.4:
                        ws.items.delete([item.id])
                        self.model[item.id] = None
                    if rng.random() < 0.3:
                        with contextlib.suppress(Moved):
                            ws.flush()
                    time.sleep(rng.random() * 0.01)
                with contextlib.suppress(NanomemError):  # it is in the ledger
                    ws.close()
        except BaseException as error:
            self.errors.append(error)


@pytest.mark.parametrize("seed", range(6))
def test_what_was_acknowledged_is_there(
    seed: int, tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    rng = random.Random(seed)
    workspace = filled(tmp_path, items=rng.randint(1, 60))
    _, url = postgres.fresh()
    before = {key: row.text for key, row in seen(workspace)["rows"].items() if hasattr(row, "text")}
    line = [sys.executable, "-c", WRITER, str(seed), str(workspace), "process", "40"]
    with (
        subprocess.Popen(line, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process,
        Threads(workspace, seed, 2) as threads,
    ):
        for way in (("sqlite", url), (url, "sqlite"), ("sqlite", url), (url, "sqlite")):
            time.sleep(rng.random())
            if rng.random() < 0.6:
                _cut_off(workspace, way, rng, monkeypatch)
            assert command(workspace, "migrate-store", *way, "--yes") == 0, capsys.readouterr().err
        assert process.stdout is not None
        told = process.stdout.read()
    assert process.returncode == 0
    assert threads.errors == []
    model: dict[str, str | None] = {**before, **threads.model}
    model |= dict(map(json.loads, told.splitlines()))
    with open_workspace(workspace) as ws:
        ws.flush()
        assert ws.store.ledger.files() == []
        there = {item.id: item.text for item in ws.items.all()}
        ids = [entry.operation.id for entry in ws.log(100_000)]
    assert there == {key: text for key, text in model.items() if text is not None}
    assert len(ids) == len(set(ids))
    assert chain_is_whole(workspace, capsys)


class CutOff(BaseException):
    """The process ends here."""


def _cut_off(workspace: Path, way: tuple[str, str], rng: random.Random, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin a move that ends at a random step."""
    left = rng.randint(1, 12)
    real = copying.Copying._write

    def write(self: Any, *rest: Any) -> int:
        nonlocal left
        left -= 1
        if not left:
            raise CutOff
        return real(self, *rest)

    with monkeypatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", NotYetWritten)
        patch.setattr(copying.Copying, "_write", write)
        with contextlib.suppress(CutOff):
            command(workspace, "migrate-store", *way, "--yes")
