"""How many records each tier has, told at once whatever their number: for who asks often, and wants no scan."""

from __future__ import annotations

from typing import NamedTuple

from nanomem_tui.store import sql
from nanomem_tui.store.sql import Connection
from nanomem_tui.store.tier_kinds import KINDS, TIERS

FEW = 20_000
"""Rows of a table that are counted; of more their numbers tell about how many there are."""


class About(NamedTuple):
    """How many records the tiers have; not `exact`: at most so many."""

    working: int
    longterm: int
    exact: bool


def about(connection: Connection, workspace_id: str) -> About:
    """The records of a workspace; where they are not counted, those of all workspaces of the file."""
    every, own = sql.whole(connection, workspace_id)
    found = dict.fromkeys(TIERS, 0)
    exact = True
    for kind in KINDS.values():
        for tier, table in kind.tables.items():
            # Two statements: each of them alone takes a look at one end of the table.
            first, last = (
                connection.execute(f"SELECT {end}(number) FROM {table}{every}", own).fetchone()[0]
                for end in ("min", "max")
            )
            span = 0 if last is None else last - first + 1
            if 0 < span <= FEW:
                query = f"SELECT count(*) FROM {table} WHERE workspace_id = ?"
                span = connection.execute(query, (workspace_id,)).fetchone()[0]
            elif span:
                exact = False
            found[tier] += span
    return About(found["working"], found["longterm"], exact)
