"""The pattern for a situation: the one with the best record among those whose trigger fits.

Owns what fits, and the statements. Works within the transaction of its caller.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nanomem_tui import tokens
from nanomem_tui.store import sql, tier_rows, tier_words
from nanomem_tui.store.sql import Connection
from nanomem_tui.store.tier_kinds import KINDS
from nanomem_tui.store.tier_values import TierRecord
from nanomem_tui.text import normalised

MOST = 10_000
"""Patterns that share a word with the situation and are looked at, the newest."""
ABOUT_AS_WELL = 0.85
"""The share of the best fit from which on the record decides."""
_KIND = KINDS["pattern"]
_WORTH = "success_rate DESC, uses DESC, id DESC"


class _Fit(NamedTuple):
    """How well a pattern fits, its record, and its number."""

    fit: float
    rate: float
    uses: int
    id: str
    number: int


def best(connection: Connection, workspace_id: str, situation: str, least: float) -> TierRecord | None:
    """The pattern to use: one of just that trigger, else of those that fit about as well as any the one that succeeded
    most, then the one used most. `least`: the success rate below which none counts."""
    fits = list(_fitting(connection, workspace_id, situation, least))
    nearest = max((one.fit for one in fits), default=0.0)
    about = [one for one in fits if one.fit >= (nearest if nearest > 1 else nearest * ABOUT_AS_WELL)]
    chosen = max(about, key=lambda one: (one.rate, one.uses, one.id), default=None)
    if chosen is None:
        return None
    return tier_rows.by_numbers(connection, workspace_id, _KIND, _KIND.table, [chosen.number])[chosen.number]


def _fitting(connection: Connection, workspace_id: str, situation: str, least: float) -> Iterator[_Fit]:
    names = "number, id, trigger, success_rate, uses"
    equal, values = tier_rows.equals(connection, _KIND, _KIND.table, "trigger", situation)
    where = f"WHERE workspace_id = ? AND {equal} AND success_rate >= ?"
    same = f"SELECT {names} FROM {_KIND.table} {where} ORDER BY {_WORTH} LIMIT 1"
    found = connection.execute(same, (workspace_id, *values, least)).fetchall()
    words = frozenset(tokens.query_tokens(situation))
    if words:
        found += _near(connection, workspace_id, names, sorted(words), least)
    plain = normalised(situation)
    for number, record_id, trigger, rate, uses in found:
        fit = 2.0 if normalised(trigger) == plain else _fit(words, frozenset(tokens.query_tokens(trigger)))
        if fit:
            yield _Fit(fit, rate, uses, record_id, number)


def _near(
    connection: Connection, workspace_id: str, names: str, words: Sequence[str], least: float
) -> list[tuple[int, str, str, float, int]]:
    """The newest patterns that share a word."""
    if not sql.is_sqlite(connection):
        numbers = tier_words.of_any(connection, workspace_id, _KIND.table, words, MOST)
        found: list[tuple[int, str, str, float, int]] = []
        for part in tier_words.parts(numbers):
            marks = ", ".join("?" * len(part))
            query = (
                f"SELECT {names} FROM {_KIND.table} WHERE workspace_id = ? AND number IN ({marks})"
                " AND success_rate >= ? ORDER BY number DESC"
            )
            found += connection.execute(query, (workspace_id, *part, least)).fetchall()
        return found
    index = f"{_KIND.table}_words"
    query = (
        f"SELECT {names} FROM {_KIND.table} JOIN {index} ON number = {index}.rowid WHERE {index} MATCH ?"
        f" AND workspace_id = ? AND success_rate >= ? ORDER BY {index}.rowid DESC LIMIT {MOST}"
    )
    any_of = " OR ".join(f'"{word}"' for word in words)
    return connection.execute(query, (any_of, workspace_id, least)).fetchall()


def _fit(asked: frozenset[str], trigger: frozenset[str]) -> float:
    """The share of their words that a situation and a trigger have in common (0 to 1); 0 where that is no fit: less
    than half of the situation, and not all of the trigger."""
    shared = len(asked & trigger)
    # A trigger of one word, as `nginx is down` is, would fit every long text about nginx.
    whole = shared == len(trigger) and (shared > 1 or len(asked) <= 3)
    return 2 * shared / (len(asked) + len(trigger)) if whole or 2 * shared >= len(asked) else 0.0
