"""The runs of the lifecycle as `tiers.db` keeps them: their state, and the batches by which each can be taken back.

Owns these two tables and the marks of the lifecycle. Every function works within the transaction of its caller.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Literal, NamedTuple

from nanomem_tui.store.tier_aging import Batch, What

State = Literal["open", "done", "undoing", "undone", "redoing", "final"]
"""open: begun, and not in the ledger yet; final: what it takes to undo it is no longer kept."""


class Run(NamedTuple):
    """A run: when it began (UTC ISO), and how far it is."""

    id: str
    began_at: str
    state: State


def get(connection: sqlite3.Connection, workspace_id: str, run: str) -> Run | None:
    """The run of that id."""
    query = "SELECT id, began_at, state FROM lifecycle_runs WHERE workspace_id = ? AND id = ?"
    row = connection.execute(query, (workspace_id, run)).fetchone()
    return Run(*row) if row is not None else None


def half_done(connection: sqlite3.Connection, workspace_id: str) -> list[Run]:
    """The runs of which something was begun and not ended, newest first."""
    query = (
        "SELECT id, began_at, state FROM lifecycle_runs WHERE workspace_id = ?"
        " AND state IN ('open', 'undoing', 'redoing') ORDER BY began_at DESC"
    )
    return [Run(*row) for row in connection.execute(query, (workspace_id,))]


def keep(connection: sqlite3.Connection, workspace_id: str, run: Run) -> None:
    """Write the state of a run."""
    query = (
        "INSERT INTO lifecycle_runs VALUES (?, ?, ?, ?) ON CONFLICT (workspace_id, id)"
        " DO UPDATE SET state = excluded.state"
    )
    connection.execute(query, (workspace_id, *run))


def add(connection: sqlite3.Connection, workspace_id: str, run: str, batch: Batch) -> None:
    """Keep what a batch did."""
    query = "INSERT INTO lifecycle_batches (workspace_id, run, kind, what, rows, packed) VALUES (?, ?, ?, ?, ?, ?)"
    connection.execute(query, (workspace_id, run, *batch))


def newest_first(connection: sqlite3.Connection, workspace_id: str, run: str) -> Iterator[tuple[int, Batch]]:
    """The batches of a run, each with its number."""
    query = (
        "SELECT seq, kind, what, rows, packed FROM lifecycle_batches WHERE workspace_id = ? AND run = ?"
        " ORDER BY seq DESC"
    )
    for seq, *batch in connection.execute(query, (workspace_id, run)):
        yield seq, Batch(*batch)


def drop(connection: sqlite3.Connection, seq: int) -> None:
    """Forget a batch that was taken back."""
    connection.execute("DELETE FROM lifecycle_batches WHERE seq = ?", (seq,))


def counts(connection: sqlite3.Connection, workspace_id: str, run: str) -> dict[tuple[str, What], int]:
    """How many rows the batches of a run dealt with, by kind and what was done."""
    query = (
        "SELECT kind, what, sum(rows) FROM lifecycle_batches WHERE workspace_id = ? AND run = ?"
        " GROUP BY kind, what ORDER BY min(seq)"
    )
    return {(kind, what): rows for kind, what, rows in connection.execute(query, (workspace_id, run))}


def let_go(connection: sqlite3.Connection, workspace_id: str, before: str, most: int) -> int:
    """Forget the batches of runs that began before a time (UTC ISO), at most `most` of them; how many there were."""
    old = "SELECT id FROM lifecycle_runs WHERE workspace_id = ? AND began_at < ? AND state IN ('done', 'final')"
    query = (
        "DELETE FROM lifecycle_batches WHERE seq IN (SELECT seq FROM lifecycle_batches WHERE workspace_id = ?"
        f" AND run IN ({old}) LIMIT ?)"
    )
    gone = connection.execute(query, (workspace_id, workspace_id, before, most)).rowcount
    if gone:
        query = "UPDATE lifecycle_runs SET state = 'final' WHERE workspace_id = ? AND began_at < ? AND state = 'done'"
        connection.execute(query, (workspace_id, before))
    return gone


# -- marks ----------------------------------------------------------------------------------------------------------


def mark(connection: sqlite3.Connection, workspace_id: str, name: str) -> str:
    """What was noted under a name; empty: nothing."""
    row = connection.execute("SELECT value FROM tier_meta WHERE key = ?", (f"{workspace_id}:{name}",)).fetchone()
    return str(row[0]) if row is not None else ""


def note(connection: sqlite3.Connection, workspace_id: str, name: str, value: str) -> None:
    """Note something under a name."""
    query = "INSERT INTO tier_meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"
    connection.execute(query, (f"{workspace_id}:{name}", value))
