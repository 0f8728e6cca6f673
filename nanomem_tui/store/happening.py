"""The table of what happens now: entries of the last hour, until they age into events and metrics.

Every function works inside the transaction of its caller. Must not know what an entry says, nor when it is old.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, Select, bindparam, delete, func, insert, select, update

from nanomem_tui.store import work_models
from nanomem_tui.store.reading import escaped, unescaped

_ROWS = work_models.table(work_models.HappeningRow)
_COLUMNS = tuple(_ROWS.c.keys())
_TEXTS = ("name", "agent", "source", "data_json")
_ADD = insert(_ROWS)
_NEWEST = select(_ROWS).order_by(_ROWS.c.number.desc())
_TOO_MANY = select(_ROWS.c.number).order_by(_ROWS.c.number.desc()).offset(bindparam("keep")).limit(1)
_YOUNG = select(func.min(_ROWS.c.number)).where(_ROWS.c.at >= bindparam("before"))
_LAST = select(func.max(_ROWS.c.number))
_SUMMED = func.sum(func.length(_ROWS.c.data_json)).over(order_by=_ROWS.c.number.desc())
_SUMS = select(_ROWS.c.number, _SUMMED.label("size")).subquery()
_TOO_LARGE = select(func.max(_SUMS.c.number)).where(_SUMS.c.size > bindparam("most"))


def add(connection: Connection, row: Mapping[str, Any]) -> None:
    """Keep an entry."""
    connection.execute(_ADD, {**row, **{name: escaped(row[name]) for name in _TEXTS}})


def newest(
    connection: Connection, category: str = "", *, since: str = "", limit: int | None = None, **equal: str
) -> Iterator[dict[str, Any]]:
    """Yield entries, newest first: of a category alone, from a time on (UTC ISO), whose columns equal values."""
    wanted = equal | ({"category": category} if category else {})
    asked = _NEWEST.where(*(_ROWS.c[name] == escaped(value) for name, value in wanted.items())).limit(limit)
    return _rows(connection, asked.where(_ROWS.c.at >= since) if since else asked)


def newest_of_each(connection: Connection, category: str) -> list[dict[str, Any]]:
    """List the newest entry on each metric, task or tool."""
    last = select(func.max(_ROWS.c.number)).where(_ROWS.c.category == category).group_by(_ROWS.c.name)
    return list(_rows(connection, _NEWEST.where(_ROWS.c.number.in_(last))))


def newest_of_agents(connection: Connection) -> list[dict[str, Any]]:
    """List the newest entry that tells the state of each agent."""
    last = select(func.max(_ROWS.c.number)).where(_ROWS.c.agent != "").group_by(_ROWS.c.agent)
    return list(_rows(connection, _NEWEST.where(_ROWS.c.number.in_(last))))


def count(connection: Connection) -> tuple[int, str]:
    """Return how many entries there are, and when the first of them was."""
    first = select(_ROWS.c.at).order_by(_ROWS.c.number).limit(1)
    rows = connection.execute(select(func.count()).select_from(_ROWS)).scalar_one()
    return rows, connection.execute(first).scalar() or ""


def due(connection: Connection, keep: int, before: str, most: int | None = None) -> int:
    """Return the number up to which entries leave: those beyond the newest `keep`, or the newest `most` characters, and
    those that came before the first one from a time on (UTC ISO), all where there is no such one. 0 for none."""
    too_many = connection.execute(_TOO_MANY, {"keep": keep}).scalar() or 0
    too_large = (connection.execute(_TOO_LARGE, {"most": most}).scalar() or 0) if most is not None else 0
    young = connection.execute(_YOUNG, {"before": before}).scalar()
    aged = connection.execute(_LAST if young is None else _LAST.where(_ROWS.c.number < young)).scalar() or 0
    return max(too_many, too_large, aged)


def take(connection: Connection, upto: int, most: int) -> list[dict[str, Any]]:
    """Take the oldest entries away, up to a number, at most so many; return them, oldest first."""
    asked = select(_ROWS).where(_ROWS.c.number <= upto).order_by(_ROWS.c.number).limit(most)
    taken = list(_rows(connection, asked))
    if taken:
        connection.execute(delete(_ROWS).where(_ROWS.c.number <= taken[-1]["number"]))
    return taken


def rewrite(connection: Connection, number: int, texts: Mapping[str, str] | None) -> None:
    """Put other texts in place of those of an entry; None takes it away."""
    here = _ROWS.c.number == number
    if texts is None:
        connection.execute(delete(_ROWS).where(here))
    else:
        connection.execute(update(_ROWS).where(here).values({name: escaped(text) for name, text in texts.items()}))


def _rows(connection: Connection, asked: Select[Any]) -> Iterator[dict[str, Any]]:
    with connection.execute(asked, execution_options={"yield_per": 100}) as found:  # who asks may stop at the first
        for row in found:
            named = dict(zip(_COLUMNS, row, strict=True))
            for name in _TEXTS:
                named[name] = unescaped(named[name])
            yield named
