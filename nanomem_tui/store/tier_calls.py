"""The result that a call of a tool gave before. Works within the transaction of its caller."""

from __future__ import annotations

from typing import Any

from nanomem_tui.errors import BadInput
from nanomem_tui.store import tier_rows
from nanomem_tui.store.sql import Connection
from nanomem_tui.store.tier_kinds import KINDS
from nanomem_tui.store.tier_values import TierRecord, written

MOST = 50_000
"""Calls of a tool that are looked at, the newest: some 40 ms, and fourteen calls a second for an hour."""
_KIND = KINDS["tool-call"]


def length(given: Any) -> int:
    """The characters that an input has as it is kept; equal ones have as many. Raises BadInput for what is no JSON."""
    field = _KIND.field("input")
    assert field is not None
    try:
        return len(written(field, given).decode())
    except (TypeError, ValueError, RecursionError):
        raise BadInput("the input is no JSON", "", "give texts, numbers, lists and objects") from None


def newest(connection: Connection, workspace_id: str, tool: str, given: Any, since: str) -> TierRecord | None:
    """The newest successful call of a tool with just that input from `since` on (UTC ISO), among its newest `MOST`."""
    named, values = tier_rows.equals(connection, _KIND, _KIND.table, "tool_name", tool)
    calls = (
        f"SELECT number, success, input FROM {_KIND.table} WHERE workspace_id = ? AND {named} AND at >= ?"
        f" ORDER BY at DESC, number DESC LIMIT {MOST}"
    )
    query = f"SELECT number FROM ({calls}) AS calls WHERE success = 1 AND length(input) = ?"
    for (number,) in connection.execute(query, (workspace_id, *values, since, length(given))):
        call = tier_rows.by_numbers(connection, workspace_id, _KIND, _KIND.table, [number])[number]
        if call.fields["input"] == given:
            return call
    return None
