"""Operational memory on a small home, its end by a kill, and what working memory has of it."""

from __future__ import annotations

from pathlib import Path

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import StoreError
from nanomem_tui.workspace import Workspace


def small_home(base: Path) -> Path:
    """A workspace in which nothing is remembered yet."""
    workspace = base / "home" / "workspace"
    (workspace / "memory").mkdir(parents=True)
    return workspace


def opened(workspace: Path, **changed: object) -> Workspace:
    """The workspace with some settings changed."""
    ws = open_workspace(workspace)
    ws.settings = ws.settings._replace(**changed)
    return ws


def kill(ws: Workspace) -> None:
    """End as a killed process does: nothing is written, the locks are free."""
    ws.tier_database.database.close()


def told(ws: Workspace) -> list[object]:
    """What the events of working memory say, oldest first."""
    return [record.fields["data"] for record in reversed(ws.records.list_records("event"))]


def push(ws: Workspace, *said: object) -> list[str]:
    """Events that say these words, and their ids."""
    return [ws.operational.push("event", {"message": str(word)}, "tests") for word in said]


def messages(ws: Workspace) -> list[str]:
    """What the entries of now say, oldest first."""
    return [entry.data["message"] for entry in reversed(ws.operational.recent(None))]


def refusing(*_: object, **__: object) -> None:
    """What a database does that is broken."""
    raise StoreError("the database is broken")
