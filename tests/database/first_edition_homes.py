"""Homes that the first edition wrote, for the tests of the takeover; run as a program, packs them into `tests/data`.

Goes with the store of the first edition: its tests need the archive alone.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sqlite3
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nanomem_tui import open_workspace
from nanomem_tui.memory.turn_values import TurnEnd, TurnInput
from nanomem_tui.operations import new_operation
from nanomem_tui.store import oplog
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item, Record
from tests.store.homes import Agent, item, kill, make_home

ARCHIVE = Path(__file__).parents[1] / "data" / "first-edition.tar.gz"
SECRET = "my api key is sk-proj-Zx81Kq2mWv93LrT7Yb40HdNs6Pf5Gc"


def described(workspace: Path) -> dict[str, Any]:
    """What the first edition shows of a workspace: every row, what is undone of which operation, and what it remembers
    of the agent's files."""
    ws = open_workspace(workspace)
    store = ws.store
    store.load()
    log = ws.log(100_000)[::-1]
    entries = {
        entry.operation.id: {
            "kind": entry.operation.kind, "label": entry.operation.label, "undone": entry.undone,
            "undoes": entry.operation.undoes, "redoes": entry.operation.redoes,
            "touched": sorted({change.key for change in entry.operation.changes}),
            "stands": [] if entry.undone else sorted(oplog.standing(log[::-1], entry.operation)),
        }
        for entry in log
    }  # fmt: skip
    rows = {
        layer: {key: plain(row) for key, row in store.snapshot.table(layer).items()}
        for layer in ("item", "lesson", "record")
    }
    redo = oplog.redo_target(log[::-1])
    undo = oplog.undo_target(log[::-1])
    found = {
        "workspace_id": ws.id, "rows": rows, "log": entries,
        "next_undo": undo.operation.id if undo else None, "next_redo": redo.id if redo else None,
        "foreign": [], "markers": {},
    }  # fmt: skip
    database = ws.paths.database
    kill(ws)
    if database.exists():
        with contextlib.closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
            query = "SELECT source, id, raw_json FROM foreign_rows WHERE workspace_id = ? ORDER BY 1, 2"
            found["foreign"] = [list(row) for row in connection.execute(query, (ws.id,))]
            meta = dict(connection.execute("SELECT key, value FROM memory_meta"))
            found["markers"] = {key.rpartition(f"{ws.id}:")[2]: value for key, value in meta.items() if ws.id in key}
    return found


def plain(row: Any) -> dict[str, Any]:
    """A row as JSON has it, without its revision."""
    fields = row._asdict()
    del fields["revision"]
    truths = {"enabled", "pinned", "is_deleted"}
    return {name: bool(value) if name in truths else value for name, value in fields.items()}


def exchanging(base: Path) -> Path:
    """A RAM-first agent's home: its files merged both ways, hits, deleted and added again, secrets, NUL, CJK."""
    workspace = make_home(base, items=5, lessons=3)
    with open_workspace(workspace) as ws:
        ws.items.edit("ltm_1", text="edited here: 咖啡不加糖，喝乌龙茶")
        ws.items.delete(["ltm_2"])
        ws.items.set_pinned(["ltm_3"], True)
        ws.lessons.set_enabled(["lesson_2"], False)
        ws.items.add("the deploy runs at 9", kind="decision")
        ws.items.add("the deploy runs at 9", kind="decision")
    agent = Agent(workspace)
    agent.items["ltm_9"] = item(9, "from the agent: 日本語のメモ", hits=4)
    agent.items["ltm_1"]["hits"] = 7
    del agent.items["ltm_4"]
    agent.flush()
    with open_workspace(workspace) as ws:
        ws.refresh()
        told = TurnInput("cli:direct", "cli", "direct", text=f"Remember that I like tea, and {SECRET}")
        ws.engine.end_turn(TurnEnd(ws.engine.begin_turn(told).turn, told, "Noted."))
        at = "2026-03-04T10:00:00.000000+00:00"
        with_nul = Item("ltm_nul", "before\0after \U0010fffe", created_at=at, updated_at=at)
        ws.perform(new_operation("items.add", "add a NUL", [change_of("item", None, with_nul)]))
        ws.journal.add("walked to the river, 走到河边", "2026-02-20")
        _, entry, _ = ws.journal.add("to be deleted", "2026-02-21")
        ws.journal.delete([entry.id])
        ws.lessons.add("the build fails", "clean first", "build again")
        pinned = ws.items.set_pinned(["ltm_1", "ltm_3", "ltm_5"], True)
        ws.undo(pinned.id, keys=["ltm_1"])
        deleted = ws.items.delete(["ltm_3", "ltm_5"])
        ws.undo(deleted.id, keys=["ltm_5"])
        ws.redo()
        ws.undo(deleted.id, keys=["ltm_3"])
        ws.undo()
        ws.engine.begin_turn(
            TurnInput("cli:direct", "cli", "direct", text="who drinks 乌龙茶 here? I prefer answers in German.")
        )
    with open_workspace(workspace) as ws:
        ws.items.edit("ltm_5", text="fifth, edited twice")
        ws.undo()
    return workspace


def killed(base: Path) -> Path:
    """Two processes that were killed: what they did waits in two ledger files, also undos, a void, a conflict of both,
    and a file that was not written."""
    workspace = make_home(base, items=6, lessons=2)
    with open_workspace(workspace) as ws:
        ws.items.set_pinned(["ltm_1", "ltm_2", "ltm_3"], True)
        ws.items.add("stands in the database", kind="preference")
    first, second = open_workspace(workspace), open_workspace(workspace)
    first.items.edit("ltm_1", text="edited by the first")
    second.refresh()
    second.items.edit("ltm_2", text="edited by the second")
    operation = next(
        e.operation for e in second.log() if e.operation.kind.startswith("items.") and len(e.operation.changes) > 2
    )
    second.undo(operation.id, keys=["ltm_3"])
    first.refresh()
    _, added, _ = first.items.add("waits 等待中", kind="decision")
    first.items.delete([added.id])
    first.undo()
    # Changes of agents wait for nobody, so that these two do not know of each other.
    before, theirs = first.store.load().items["ltm_4"], second.store.load().items["ltm_4"]
    for ws, row, text, at in (
        (first, before, "an agent's first words", "2026-03-02T10:00:00.000000+00:00"),
        (second, theirs, "an agent's second words", "2026-03-02T10:00:01.000000+00:00"),
    ):
        change = change_of("item", row, row._replace(text=text, updated_at=at))
        ws.perform(new_operation("turn", f"say {text}", [change], actor="agent"))
    gone = second.store.load().items["ltm_5"]
    edit = change_of(
        "item", gone, gone._replace(text="edited while it was deleted", updated_at="2026-03-03T10:00:00+00:00")
    )
    deleted = first.store.load().items["ltm_5"]
    delete = change_of("item", deleted, deleted._replace(is_deleted=True, updated_at="2026-03-03T11:00:00+00:00"))
    second.perform(new_operation("turn", "edit the fifth", [edit], actor="agent"))
    first.perform(new_operation("turn", "delete the fifth", [delete], actor="agent"))
    first.perform(new_operation("usage", "note tokens", [change_of("record", None, tokens())], actor="agent"))
    user = workspace / "USER.md"
    user.write_text("- before\n")
    with contextlib.suppress(SystemExit):
        layer = second.documents
        layer.apply = _interrupted  # type: ignore[method-assign]
        layer.edit("USER.md", "- after\n")
    for ws in (first, second):
        kill(ws)
    return workspace


def never_written(base: Path) -> Path:
    """A process that was killed before the first checkpoint: there is a ledger file and no database."""
    workspace = make_home(base, items=3, lessons=1)
    ws = open_workspace(workspace)
    ws.items.edit("ltm_2", text="edited before any checkpoint")
    ws.items.add("added before any checkpoint")
    ws.lessons.set_enabled(["lesson_1"], False)
    kill(ws)
    return workspace


def sharing(base: Path) -> Path:
    """Two workspaces of one home, whose memories lie in one database; the first of them is described."""
    workspace = make_home(base, items=2, lessons=1)
    other = workspace.with_name("other")
    (other / "memory").mkdir(parents=True)
    with open_workspace(other) as ws:
        ws.items.add("of the other workspace")
        ws.lessons.add("of the other", "also")
    with open_workspace(workspace) as ws:
        ws.items.edit("ltm_1", text="of the first workspace")
    with open_workspace(other) as ws:
        ws.items.add("of the other again")
    with open_workspace(workspace) as ws:
        ws.undo()
        ws.items.add("last")
    return workspace


def tokens() -> Record:
    """The use of tokens of a day."""
    return Record(
        "usage_1", "usage", "2026-03-01", meta_json='{"model": "m", "total_tokens": 12}', created_at="2026-03-01"
    )


def _interrupted(*_: object) -> None:
    """Stands for a kill in the middle of a change of a file."""
    raise SystemExit


HOMES: dict[str, Callable[[Path], Path]] = {
    "exchanging": exchanging, "killed": killed, "never-written": never_written, "sharing": sharing,
}  # fmt: skip


def pack(archive: Path) -> None:
    """Make the homes and pack them, each with what the first edition shows of it."""
    with tempfile.TemporaryDirectory() as name, tarfile.open(archive, "w:gz", compresslevel=9) as packed:
        os.environ["HOME"] = name
        for home, make in HOMES.items():
            workspace = make(Path(name, home))
            packed.add(workspace.parent, home)
            data = json.dumps(described(workspace), ensure_ascii=False, indent=1).encode()
            told = tarfile.TarInfo(f"{home}.json")
            told.size = len(data)
            packed.addfile(told, io.BytesIO(data))


if __name__ == "__main__":
    pack(Path(sys.argv[1]) if len(sys.argv) > 1 else ARCHIVE)
