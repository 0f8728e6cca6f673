"""What the tests of moving share: a memory with something of everything, what a person sees of it, and a second way to
end a move."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nanomem_tui import open_workspace, paths
from nanomem_tui.cli.main import run as run_line
from nanomem_tui.store.moving import move as moves
from nanomem_tui.store.moving.move import Done, Move
from nanomem_tui.workspace import Workspace
from tests.store.homes import make_home


def nothing(*_: object) -> None:
    """Progress that nobody looks at."""


def filled(base: Path, items: int = 12) -> Path:
    """A workspace whose database holds items, lessons, a fact, a journal entry, vectors, and undone operations."""
    workspace = make_home(base, items=items)
    with open_workspace(workspace) as ws:
        for number in range(items):
            ws.items.add(f"note {number}: likes tea of kind {number % 3}")
        first, second, *_ = ws.items.all()
        ws.items.edit(first.id, text="says something else now")
        ws.items.delete([second.id])
        ws.undo()
        ws.undo()
        ws.redo()
        ws.flush()
    with_vectors(workspace)
    return workspace


def with_vectors(workspace: Path) -> None:
    found = paths.locate(workspace)
    with sqlite3.connect(found.database) as connection:
        rows = connection.execute("SELECT workspace_id, id, content_hash FROM memory_entries").fetchall()
        connection.executemany(
            "INSERT INTO vectors VALUES (?, ?, 'a model', 2, ?, ?)",
            [(one, key, text_hash, b"\0\0\x80?\0\0\0\0") for one, key, text_hash in rows],
        )
    connection.close()


def seen(workspace: Path) -> dict[str, Any]:
    """All that a person sees: rows with their revisions, the log, the history of each item, what is found."""
    with open_workspace(workspace) as ws:
        rows = [*ws.items.all(), *ws.lessons.all()]
        log = [(entry.operation, entry.undone) for entry in ws.store.journal.log(10_000)]
        return {
            "rows": {row.id: row for row in rows},
            "log": log,
            "history": {row.id: [entry.operation.id for entry in ws.store.journal.log(99, key=row.id)] for row in rows},
            "found": sorted(hit.item.id for hit in ws.items.search("tea", limit=999)),
        }


def move(workspace: Path, source: str, target: str, *, replace: bool = False) -> Done:
    """Move, without the command line and the settings."""
    found = paths.locate(workspace)
    one = Move(found, paths.workspace_id(found), source, target, replace=replace)
    try:
        return one.run(nothing)
    finally:
        one.close()


def command(workspace: Path, *line: str) -> int:
    return run_line([*line, "--workspace", str(workspace)])


def at_step(step: int, end: Callable[[], None]) -> Callable[..., Any]:
    """A writer of rows that ends the move at its n-th call."""
    real, count = moves.Copying._write, [0]

    def write(self: Any, *rest: Any) -> Any:
        count[0] += 1
        if count[0] == step:
            end()
        return real(self, *rest)

    return write


def chain_is_whole(workspace: Path, capsys: Any) -> bool:
    capsys.readouterr()
    code = command(workspace, "log", "--verify", "--json")
    return code == 0 and json.loads(capsys.readouterr().out)["whole"]


__all__ = ["Workspace", "at_step", "chain_is_whole", "command", "filled", "move", "nothing", "seen"]
