"""The home whose pictures are kept: the demonstration at a fixed moment, in a fixed time zone."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_textual_snapshot

from nanomem_tui import app
from nanomem_tui.core import clock
from nanomem_tui.demo import build
from nanomem_tui.memory.facts import journal
from nanomem_tui.memory.recall.recall import Recall
from nanomem_tui.memory.turns import engine
from nanomem_tui.screens.work import tiers
from nanomem_tui.tiers.records import NewRecord
from nanomem_tui.widgets.bars import Status
from nanomem_tui.workspace import Workspace, open_workspace

# One name for the pictures, whichever version of syrupy asks under which of its names for it.
pytest_textual_snapshot.SVGImageExtension.file_extension = "svg"
pytest_textual_snapshot.SVGImageExtension._file_extension = "svg"

MOMENT = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


@pytest.fixture(scope="session")
def utc() -> Iterator[None]:
    """Local time is UTC, whatever the machine's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture(scope="session")
def pictured_home(tmp_path_factory: pytest.TempPathFactory, clean_home: Path, utc: None) -> Path:
    """The demonstration as it was made at `MOMENT`; not to be changed."""
    home = tmp_path_factory.mktemp("pictured") / ".nanobot"
    numbers = itertools.count(1)
    with clock.at(MOMENT), pytest.MonkeyPatch.context() as patch:
        for module in (journal, journal):  # an id is shown: the same one in every run
            patch.setattr(module, "new_key", lambda kind: f"{kind}_{next(numbers):013}")
        # A log of turns holds their ids, and its size is shown: ids of one length.
        patch.setattr(engine, "new_key", lambda kind: f"{kind}_{clock.now_ms()}_{next(numbers):06}")
        build(home)
        _work(home / "workspace")
    for path in (*home.rglob("*.md"), *home.rglob(".dream_cursor")):  # a note and a Dream are as old as their files
        os.utime(path, (MOMENT.timestamp() - 3600, MOMENT.timestamp() - 3600))
    return home


def _work(workspace: Path) -> None:
    """The trail of an agent's work: a goal down to its tool call, a decision, states of a file, metrics."""

    def ago(hours: float) -> str:
        return clock.iso(MOMENT - timedelta(hours=hours))

    records: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("goal", "goal_site", {"description": "Keep the site up 🌐", "status": "active", "priority": 0,
                               "created_at": ago(5), "metadata": {"asked_by": "mira"}}),
        ("goal", "goal_notes", {"description": "发布说明：写好并发出", "status": "completed", "created_at": ago(30),
                                "completed_at": ago(20), "result": "sent"}),
        ("task", "task_restart", {"goal_id": "goal_site", "description": "Restart nginx after the 502s", "agent": "ops",
                                  "status": "failed", "started_at": ago(3), "completed_at": ago(2.9),
                                  "duration_ms": 8123, "error": "exit 1: port 80 is in use",
                                  "input": {"unit": "nginx"}}),
        ("task", "task_port", {"goal_id": "goal_site", "description": "Free port 80", "agent": "ops",
                               "status": "completed", "started_at": ago(2), "completed_at": ago(1.9),
                               "duration_ms": 4210, "procedure_id": "proc_port"}),
        ("tool-call", "call_restart", {"task_id": "task_restart", "tool_name": "service.restart", "agent": "ops",
                                       "input": {"unit": "nginx", "flags": ["--no-block"]}, "success": False,
                                       "duration_ms": 8001, "reason": "nginx answers 502 to every request",
                                       "output": {"stderr": "bind() to 0.0.0.0:80 failed"}, "timestamp": ago(3)}),
        ("decision", "dec_reload", {"task_id": "task_port", "context": "nginx answers 502 after the restart",
                                    "options": [{"name": "reload", "why": "keeps connections"}, "restart", "wait"],
                                    "chosen": "reload", "reasoning": "Less disruptive: open connections go on.",
                                    "intelligence_level": "tactical", "model_used": "small", "important": True,
                                    "outcome": "It worked after the old process was gone.", "timestamp": ago(1)}),
        ("procedure", "proc_port", {"name": "free port 80", "description": "Find who holds the port, end it",
                                    "steps": [{"tool": "net.listeners", "input": {"port": 80}}, "start nginx"],
                                    "success_count": 12, "fail_count": 2, "tags": ["nginx"], "created_at": ago(900)}),
        ("incident", "inc_502", {"description": "The site answered 502", "symptoms": ["502 on every page"],
                                 "root_cause": "out of memory", "resolution": "more memory", "timestamp": ago(50)}),
        ("config-change", "conf_1", {"file_path": "/etc/nginx.conf", "content": "workers 1;\nlisten 80;\n",
                                     "timestamp": ago(9)}),
        ("config-change", "conf_2", {"file_path": "/etc/nginx.conf", "content": "workers 4;\nlisten 80;\n",
                                     "changed_by": "ops", "reason": "more load", "timestamp": ago(8)}),
    )  # fmt: skip
    with open_workspace(workspace) as ws:
        ws.records.store_many([NewRecord(kind, fields, record_id) for kind, record_id, fields in records])
        for number in range(40):
            data = {"name": "cpu.percent", "value": 30 + number * 37 % 50, "unit": "%"}
            ws.operational.push("metric", data, "collector")
        ws.operational.push("event", {"level": "warning", "text": "the disk is almost full"}, "disk")
        ws.operational.push("event", {"agent": "ops", "state": {"on": "nginx"}}, "ops")


@pytest.fixture
def pictured(pictured_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The workspace of a copy of it, which tells nothing of the machine: paths, versions, how long something took."""
    home = tmp_path / ".nanobot"
    shutil.copytree(pictured_home, home, symlinks=True)
    real = Workspace.status

    def status(workspace: Workspace) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(json.dumps(real(workspace)).replace(str(home), "/home/mira/.nanobot"))
        found["store"]["sqlite"] = "3"
        found["checkpoint"]["last_ms"] = 4.0
        return found

    line = app.status_line

    def status_line(*given: Any) -> Status:
        said = line(*given)
        return replace(said, workspace="~/.nanobot/workspace", cost_ms=None if said.cost_ms is None else 4.0)

    monkeypatch.setattr(app, "status_line", status_line)
    ask = Recall.ask
    monkeypatch.setattr(Recall, "ask", lambda *asked, **options: ask(*asked, **options)._replace(ms=0.4))
    monkeypatch.setenv("NANOMEM_EMBEDDING_ENABLED", "false")  # a distance may differ in its last digit
    monkeypatch.setattr(Workspace, "status", status)
    monkeypatch.setattr(tiers, "bytes_of", lambda ws: 240_000)
    monkeypatch.setattr(clock, "now", lambda: MOMENT)  # in every thread
    return home / "workspace"
