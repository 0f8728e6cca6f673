"""Small RAM-first homes, the agent that writes them, and the end of a process, for the tests of the store."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nanomem_tui import open_workspace
from nanomem_tui.core.operations import new_operation
from nanomem_tui.store.files import presence
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item, Lesson
from nanomem_tui.workspace import Workspace

if TYPE_CHECKING:
    import pytest

CREATED = "2026-02-13T09:17:00"


def item(number: int, text: str = "", **fields: Any) -> dict[str, Any]:
    """An item as the RAM-first agent writes it, of no session."""
    return {
        "id": f"ltm_{number}",
        "text": text or f"item number {number}",
        "source": "explicit_user",
        "session_key": "",
        "created_at": CREATED,
        "updated_at": f"2026-02-13T10:{number % 60:02}:00.000123",
        "hits": 1,
        **fields,
    }


def lesson(number: int, **fields: Any) -> dict[str, Any]:
    """A lesson as the RAM-first agent writes it."""
    return {
        "id": f"lesson_{number}",
        "key": f"trigger {number}|better {number}|global|",
        "trigger": f"trigger {number}",
        "bad_action": "",
        "better_action": f"better {number}",
        "scope": "global",
        "session_key": "",
        "actor_key": "",
        "source": "user_feedback",
        "confidence": 3,
        "hits": 2,
        "enabled": True,
        "created_at": CREATED,
        "updated_at": f"2026-02-14T10:{number % 60:02}:00",
        "last_applied_at": "",
        "promoted_global_key": "",
        **fields,
    }


class Agent:
    """A RAM-first agent: it loads its files once, and every flush writes what it has in RAM (tmp and replace)."""

    def __init__(self, workspace: Path) -> None:
        self.memory = workspace / "memory"
        self.items: dict[str, dict[str, Any]] = {}
        self.lessons: dict[str, dict[str, Any]] = {}
        self.load()

    def load(self) -> None:
        """What a start does."""
        self.items = {row["id"]: row for row in self.read_items()}
        self.lessons = {row["id"]: row for row in self.read_lessons()}

    def read_items(self) -> list[dict[str, Any]]:
        path = self.memory / "LTM_SNAPSHOT.json"
        return json.loads(path.read_bytes())["items"] if path.exists() else []

    def read_lessons(self) -> list[dict[str, Any]]:
        path = self.memory / "LESSONS.jsonl"
        return [json.loads(line) for line in path.read_bytes().split(b"\n") if line] if path.exists() else []

    def flush(self) -> None:
        """Write the files as the agent does: indent 2, real characters; one line a lesson."""
        top = {"version": 1, "updated_at": "2026-03-01T00:00:00.000001", "items": list(self.items.values())}
        self._replace("LTM_SNAPSHOT.json", json.dumps(top, ensure_ascii=False, indent=2))
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in self.lessons.values()]
        self._replace("LESSONS.jsonl", "".join(lines))

    def _replace(self, name: str, text: str) -> None:
        temporary = self.memory / f"{name}.tmp"
        temporary.write_text(text, "utf-8", newline="")
        os.replace(temporary, self.memory / name)


def make_home(
    base: Path, items: int = 4, lessons: int = 3, *, audit: bool = True, config: Mapping[str, Any] | None = None
) -> Path:
    """A RAM-first home below `base`; returns its workspace."""
    workspace = base / "home" / "workspace"
    (workspace / "memory").mkdir(parents=True)
    (workspace.parent / "sessions").mkdir()
    agent = Agent(workspace)
    agent.items = {row["id"]: row for row in (item(n) for n in range(1, items + 1))}
    agent.lessons = {row["id"]: row for row in (lesson(n) for n in range(1, lessons + 1))}
    agent.flush()
    if audit:
        (workspace / "memory" / "LTM_AUDIT.jsonl").write_bytes(b"")
        (workspace / "memory" / "LESSONS_AUDIT.jsonl").write_bytes(b"")
    if config is not None:
        (workspace.parent / "config.json").write_text(json.dumps(config))
    return workspace


def fill(ws: Workspace, rows: Iterable[Item | Lesson]) -> None:
    """Rows come into a memory as an import brings them."""
    changes = [change_of("item" if isinstance(row, Item) else "lesson", None, row) for row in rows]
    ws.perform(new_operation("import", "rows", changes, actor="import"))


def kill(ws: Workspace) -> None:
    """End a workspace as a killed process does: nothing is flushed, its locks are free."""
    if "writer" in ws.store.__dict__:
        ws.store.writer.writers.close()
        ws.store.writer.database.close()


def state(workspace: Path) -> dict[str, Any]:
    """What a fresh look at the workspace shows: every active item and lesson with all its fields."""
    ws = open_workspace(workspace)
    try:
        rows = [*ws.items.all(), *ws.lessons.all()]
        return {row.id: row._replace(revision=0) for row in rows}
    finally:
        ws.close()


def files(folder: Path, skip: Callable[[Path], bool] = lambda path: False) -> dict[str, bytes]:
    """Every file below a folder with its bytes, without what SQLite itself keeps beside a database that is read."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not skip(path) and not path.name.endswith(("-wal", "-shm"))
    }


def agent_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on an agent runs, for whoever looks."""
    monkeypatch.setattr(presence, "find_running_agent", lambda *_: presence.Presence(True, 42, "nanobot gateway"))
