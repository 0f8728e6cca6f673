"""Databases of other memory systems around a workspace: find them and read their rows, read-only.

Owns which databases belong to a workspace and which of their rows are shown beside ours. Never writes.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nanomem_tui.agents import databases as agents_databases
from nanomem_tui.core.files import Stamp, stamp_of
from nanomem_tui.core.operations import failed_in
from nanomem_tui.core.paths import Paths
from nanomem_tui.core.settings import Settings
from nanomem_tui.store.database.operation_log import Journal, LogEntry

Raw = dict[str, Any]
SHOWN = ("scoped", "facts")
"""The kinds of database whose memories are told beside ours."""
_read: dict[tuple[Path, str], tuple[object, list[Raw]]] = {}
"""The facts of databases as they were read last, and the state of the files then."""


def folder_id(paths: Paths) -> str:
    """Return the id by which the scoped system knows this workspace: 16 digits of the sha1 of its path."""
    import hashlib

    return hashlib.sha1(str(paths.workspace).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def configured_database(paths: Paths, settings: Settings) -> Path | None:
    """Return the database that the agent's settings name (`memory.dbPath`), whether it is there or not."""
    if not settings.memory_db_path:
        return None
    path = Path(settings.memory_db_path)
    with contextlib.suppress(RuntimeError):  # `~` of nobody
        path = path.expanduser()
    return path if path.is_absolute() else (paths.home or paths.workspace) / path


def find_databases(paths: Paths, settings: Settings) -> tuple[Path, ...]:
    """Return the databases of other systems: in the agent's home, then the one named by its settings."""
    found = [paths.longterm_db] if paths.longterm_db is not None else []
    others = (configured_database(paths, settings), paths.facts_db)
    for other in others:
        if other is not None and other.is_file() and not any(same_file(other, path) for path in found):
            found += [other] if agents_databases.identify_database(other) in SHOWN else []
    return tuple(found)


def read_rows(paths: Paths, path: Path, workspace_id: str) -> list[Raw]:
    """Return the rows of such a database that are told here, deleted ones too, in their order; of one of facts, its
    facts.

    Those in the agent's home are all its own; of a database elsewhere, which several workspaces may share, only what it
    keeps for this one. Raises like `agents.databases`.
    """
    if agents_databases.identify_database(path) == "facts":
        return _facts(path, workspace_id)
    entries = agents_databases.memory_entries(path)
    if paths.home is not None and path.resolve().is_relative_to(paths.home.resolve()):
        return entries
    return [row for row in entries if row.get("workspace_id") in (workspace_id, folder_id(paths))]


def _facts(path: Path, workspace_id: str) -> list[Raw]:
    stamps = database_state(path)
    kept = _read.get((path, workspace_id))
    if kept is None or kept[0] != stamps:
        from nanomem_tui.memory.transfer import crystallized

        found = [{**item._asdict(), "content": item.text} for item in crystallized.read_facts(path, workspace_id)]
        kept = _read[path, workspace_id] = (stamps, found)
    return kept[1]


def database_state(path: Path) -> tuple[Stamp, ...]:
    """Return what changes with every write to a SQLite file."""
    found = []
    for suffix in ("", "-wal", "-journal"):
        with contextlib.suppress(OSError):
            found.append(stamp_of(os.stat(f"{path}{suffix}")))
    return tuple(found)


def active_rows(paths: Paths, databases: Sequence[Path], workspace_id: str) -> Iterator[tuple[Raw, Path]]:
    """Yield the rows of all of them that are not deleted there, each id once, and where each lies."""
    seen: set[Any] = set()
    for path in databases:
        for row in read_rows(paths, path, workspace_id):
            if not row.get("is_deleted") and row["id"] not in seen:
                seen.add(row["id"])
                yield row, path


def find_undone(journal: Journal, ids: set[str]) -> set[str]:
    """Return those of the deleted items that went because what brought them was undone; not those that somebody
    deleted.

    Reads no more of the log than it must; nothing of it when there are no `ids`.
    """
    found: dict[str, bool] = {}

    def all_told(entries: Sequence[LogEntry]) -> bool | None:
        found.clear()
        for key, by_undo in _last_words(entries):
            if key in ids:
                found.setdefault(key, by_undo)
        return True if len(found) == len(ids) else None

    if ids:
        journal.first_answer(all_told)
    return {key for key, by_undo in found.items() if by_undo}


def _last_words(entries: Sequence[LogEntry]) -> Iterator[tuple[str, bool]]:
    """(item, whether an undo made it as if it had never been) of every change that was done, newest first. What an
    undo put back as it was before says nothing, nor does what it took back."""
    failed = failed_in(entry.operation for entry in entries)
    back: set[tuple[str, str]] = set()
    for operation in (entry.operation for entry in entries if entry.operation.id not in failed):
        for change in operation.changes:
            if change.layer != "item" or (operation.redoes or operation.id, change.key) in back:
                continue
            if operation.kind == "undo" and operation.undoes and change.after is not None:
                back.add((operation.undoes, change.key))
            else:
                yield change.key, operation.kind == "undo" and change.after is None


def same_file(one: Path, other: Path) -> bool:
    """Return whether two paths lead to one file; False for one that leads nowhere."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False
