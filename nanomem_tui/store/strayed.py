"""Memories in our database whose workspace is not this one, and is not there any more: it was renamed, or the database
was brought here without its id. What is known of them, and how this workspace takes one over.

A workspace that is there, and may be the one of a memory, is never named: several agents of a home share a database.
"""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.errors import NanomemError, Problem
from nanomem_tui.paths import WORKSPACE_SIGNS, Paths, kept_id, sharing, workspace_id
from nanomem_tui.store import atomic, copies, reader, row_queries
from nanomem_tui.text import counted

if TYPE_CHECKING:
    from nanomem_tui.store.rows import RowStore
    from nanomem_tui.store.sql import Connection

_FREE = "left"
"""The name of a workspace that one of unknown name may get."""


class Stray(NamedTuple):
    """Such a memory. `rows`: how many of each layer it has, none deleted; `folder`: where its workspace was, None where
    nothing says it; `ours`: whether no other workspace than this one, which has nothing of its own, can be its."""

    id: str
    rows: tuple[tuple[str, int], ...]
    folder: Path | None
    ours: bool

    @property
    def what(self) -> str:
        """What there is to say of it."""
        held = ", ".join(counted(number, layer) for layer, number in self.rows)
        where = (
            f"{self.folder}, which is not there any more"
            if self.folder
            else f"{self.id}, and nothing says where it was"
        )
        return f"the database holds {held} of a workspace that is not this one: {where}"


def found(store: RowStore, *, whole: bool = False) -> list[Stray]:
    """Them all. Looked for where this workspace has no rows, or where the folder of a known one is gone; `whole`: in
    any case. Raises the store's errors."""
    if not store.has_database or store.source.damage is not None:
        return []
    known = {key: _folder(store.paths, name) for name, key in sharing(store.paths).items()}
    return store.read(lambda connection: _found(store, connection, known, whole=whole))


def _found(store: RowStore, connection: Connection, known: dict[str, Path], *, whole: bool) -> list[Stray]:
    """`known`: the folders of the others that share the database, by their ids."""
    gone = {key: folder for key, folder in known.items() if not os.path.lexists(folder)}
    own = has_rows(connection, store.workspace_id)
    if own and not gone and not whole:
        return []
    here = {store.workspace_id, *(known.keys() - gone.keys())}
    try:
        beside = {workspace_id(one) for one in _beside(store.paths)}
    except NanomemError:  # one of them has an id that cannot be read: any memory may be its
        return []
    there = copies.workspaces(connection) if store.server is None else gone  # a server has those of other machines
    ids = sorted({*there} - here - beside)
    strays = [(key, _rows(connection, key)) for key in ids]
    strays = [(key, rows) for key, rows in strays if rows]
    waits = any(file.operations for file in store.ledger.files())
    without = any(not has_rows(connection, key) for key in beside)
    ours = not own and not waits and not without and len(strays) == 1
    return [Stray(key, rows, gone.get(key), ours) for key, rows in strays]


def has_rows(connection: Connection, workspace_id: str) -> bool:
    """Whether a database has anything of a workspace. Raises the driver's errors."""
    tables = ("operations", *row_queries.row_tables(connection))
    query = "SELECT 1 FROM {} WHERE workspace_id = ? LIMIT 1"
    return any(connection.execute(query.format(table), (workspace_id,)).fetchone() is not None for table in tables)


def _rows(connection: Connection, workspace_id: str) -> tuple[tuple[str, int], ...]:
    query = "SELECT count(*) FROM {} WHERE workspace_id = ? AND NOT is_deleted"
    tables = {layer: table for layer, table in reader.ROW_TABLES.items() if table in row_queries.row_tables(connection)}
    counts = {
        layer: int(connection.execute(query.format(table), (workspace_id,)).fetchone()[0])
        for layer, table in tables.items()
    }
    return tuple((layer, number) for layer, number in counts.items() if number)


def _beside(paths: Paths) -> Iterator[Paths]:
    """The other workspaces that lie in the agent's home."""
    with contextlib.suppress(OSError):
        for folder in sorted(paths.home.iterdir()) if paths.home is not None else ():
            signs = (folder / sign for sign in WORKSPACE_SIGNS)
            if folder not in (paths.workspace, paths.data) and folder.is_dir() and any(map(os.path.lexists, signs)):
                yield Paths(folder, paths.home, paths.data)


def _folder(paths: Paths, name: str) -> Path:
    return (paths.home or paths.workspace) / name


def problems(store: RowStore, *, whole: bool = False) -> Iterator[Problem]:
    """What there is to say of them, and what to do: an error where this workspace has nothing of its own."""
    strays = found(store, whole=whole)
    own = bool(strays) and store.read(lambda connection: has_rows(connection, store.workspace_id))
    for one in strays:
        fix = "if this is that workspace, moved or renamed, `nanomem doctor --fix` takes its memory over"
        yield Problem(one.what, store.where, None, fix if one.ours else _way(store.paths, one),
                      "warning" if own else "error")  # fmt: skip


def _way(paths: Paths, one: Stray) -> str:
    """How a person comes to one that cannot be taken over without a word."""
    folder = one.folder or _folder(paths, _FREE)
    named = shlex.quote(str(folder))
    kept = Paths(folder, paths.home, paths.data).own_id
    if paths.home is None:
        return f"to see it in the place of this one, write {one.id} into {paths.own_id}"
    begin = f"mkdir {named}" if one.folder else f"mkdir {named} && echo {one.id} > {shlex.quote(str(kept))}"
    return (
        f"`{begin}` makes it a workspace again: `nanomem memory export --format jsonl --to FILE --workspace {named}`"
        " gives its memory out, `nanomem memory import FILE` takes it in here"
    )


def take_over(paths: Paths, one: Stray) -> None:
    """Let this workspace be the one of that memory, with what a person keeps beside it. Raises OSError."""
    atomic.make_folder(paths.ledger / one.id)
    atomic.make_folder(paths.own_id.parent)
    atomic.write_atomic(paths.own_id, one.id.encode())
    if one.folder is None:
        return
    was = Paths(one.folder, paths.home, paths.data)
    for old, new in ((was.habits, paths.habits), (was.drafts, paths.drafts)):
        if old != new and os.path.lexists(old) and not os.path.lexists(new):
            os.rename(old, new)
    if kept_id(was.own_id) == one.id:
        was.own_id.unlink()
    atomic.sync_folder(paths.own_id.parent)
