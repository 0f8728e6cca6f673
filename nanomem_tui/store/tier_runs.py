"""The runs of the lifecycle as `tiers.db` keeps them: their state, and the batches by which each can be taken back.

Owns these two tables and the marks of the lifecycle. Every function works within the transaction of its caller.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from nanomem_tui.store import sql, tier_meta, tier_numbers
from nanomem_tui.store.sql import Connection
from nanomem_tui.store.tier_aging import Batch, What

State = Literal["open", "done", "undoing", "undone", "redoing", "final"]
"""open: begun, and not in the ledger yet; final: what it takes to undo it is no longer kept."""


class Run(NamedTuple):
    """A run: when it began (UTC ISO), and how far it is."""

    id: str
    began_at: str
    state: State


def get(connection: Connection, workspace_id: str, run: str) -> Run | None:
    """The run of that id."""
    query = "SELECT id, began_at, state FROM lifecycle_runs WHERE workspace_id = ? AND id = ?"
    row = connection.execute(query, (workspace_id, run)).fetchone()
    return Run(*row) if row is not None else None


def half_done(connection: Connection, workspace_id: str) -> list[Run]:
    """The runs of which something was begun and not ended, newest first."""
    query = (
        "SELECT id, began_at, state FROM lifecycle_runs WHERE workspace_id = ?"
        " AND state IN ('open', 'undoing', 'redoing') ORDER BY began_at DESC"
    )
    return [Run(*row) for row in connection.execute(query, (workspace_id,))]


def keep(connection: Connection, workspace_id: str, run: Run) -> None:
    """Write the state of a run."""
    query = (
        "INSERT INTO lifecycle_runs VALUES (?, ?, ?, ?) ON CONFLICT (workspace_id, id)"
        " DO UPDATE SET state = excluded.state"
    )
    connection.execute(query, (workspace_id, *run))


def add(connection: Connection, workspace_id: str, run: str, batch: Batch) -> None:
    """Keep what a batch did."""
    columns = ("workspace_id", "run", "kind", "what", "rows", "packed")
    tier_numbers.add(connection, workspace_id, "lifecycle_batches", columns, (workspace_id, run, *batch))


def newest_first(connection: Connection, workspace_id: str, run: str) -> Iterator[tuple[int, Batch]]:
    """The batches of a run, each with its number."""
    query = (
        "SELECT seq, kind, what, rows, packed FROM lifecycle_batches WHERE workspace_id = ? AND run = ?"
        " ORDER BY seq DESC"
    )
    for seq, *batch in sql.each(connection, query, (workspace_id, run)):
        yield seq, Batch(*batch)


def newest(connection: Connection, workspace_id: str, run: str) -> tuple[int, Batch] | None:
    """The last batch of a run, with its number."""
    query = (
        "SELECT seq, kind, what, rows, packed FROM lifecycle_batches WHERE workspace_id = ? AND run = ?"
        " ORDER BY seq DESC LIMIT 1"
    )
    row = connection.execute(query, (workspace_id, run)).fetchone()
    return (row[0], Batch(*row[1:])) if row is not None else None


def drop(connection: Connection, workspace_id: str, seq: int) -> None:
    """Forget a batch that was taken back."""
    own = sql.beside_number(connection)
    connection.execute(f"DELETE FROM lifecycle_batches WHERE seq = ? AND {own} = ?", (seq, workspace_id))


def counts(connection: Connection, workspace_id: str, run: str) -> dict[tuple[str, What], int]:
    """How many rows the batches of a run dealt with, by kind and what was done."""
    query = (
        "SELECT kind, what, sum(rows) FROM lifecycle_batches WHERE workspace_id = ? AND run = ?"
        " GROUP BY kind, what ORDER BY min(seq)"
    )
    return {(kind, what): int(rows) for kind, what, rows in connection.execute(query, (workspace_id, run))}


def let_go(connection: Connection, workspace_id: str, before: str, most: int) -> int:
    """Forget the batches of runs that began before a time (UTC ISO), at most `most` of them; how many there were."""
    old = "SELECT id FROM lifecycle_runs WHERE workspace_id = ? AND began_at < ? AND state IN ('done', 'final')"
    query = (
        f"DELETE FROM lifecycle_batches WHERE {sql.beside_number(connection)} = ? AND seq IN"
        f" (SELECT seq FROM lifecycle_batches WHERE workspace_id = ? AND run IN ({old}) LIMIT ?)"
    )
    gone = connection.execute(query, (workspace_id, workspace_id, workspace_id, before, most)).rowcount
    if gone:
        query = "UPDATE lifecycle_runs SET state = 'final' WHERE workspace_id = ? AND began_at < ? AND state = 'done'"
        connection.execute(query, (workspace_id, before))
    return gone


# -- marks ----------------------------------------------------------------------------------------------------------


def mark(connection: Connection, workspace_id: str, name: str) -> str:
    """What was noted under a name; empty: nothing."""
    return tier_meta.get(connection, workspace_id, f"{workspace_id}:{name}") or ""


def note(connection: Connection, workspace_id: str, name: str, value: str) -> None:
    """Note something under a name."""
    tier_meta.put(connection, workspace_id, f"{workspace_id}:{name}", value)
