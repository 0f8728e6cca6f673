"""Rows of one table in two places: read part by part in order, held side by side, and the differences written.

What is written is what the other place has, hash and revision included; numbers are given anew in the same order. Must
not know why, nor in which transaction.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.store import item_words, sql, tier_numbers
from nanomem_tui.store.moving import index
from nanomem_tui.store.moving.tables import ITEMS, WORK, Row, Table
from nanomem_tui.store.values import Lesson

if TYPE_CHECKING:
    from nanomem_tui.store.sql import Connection

AT_ONCE = 250
"""Rows that one query names."""
Reading = Callable[[], AbstractContextManager["Connection"]]


class Ranks:
    """The numbers of a table in order: the same row has the same rank in both places, whatever its number."""

    def __init__(self, connection: Connection, table: Table, workspace_id: str) -> None:
        query = f"SELECT {table.number} FROM {table.name} WHERE workspace_id = ? ORDER BY {table.number}"
        self._numbers = array("q", (row[0] for row in connection.execute(query, (workspace_id,))))

    def __len__(self) -> int:
        return len(self._numbers)

    def rank(self, number: int) -> int:
        """The rank of a number; -1 for one that is not there."""
        at = bisect_left(self._numbers, number)
        return at if at < len(self._numbers) and self._numbers[at] == number else -1

    def up_to(self, number: int) -> int:
        """How many numbers are not larger."""
        return bisect_right(self._numbers, number)

    def number(self, rank: int) -> int:
        """The number of a rank."""
        return int(self._numbers[rank])


class Found(NamedTuple):
    """A row as it was read: the number that it has, or refers to, in its place, and what both places have the same of
    it, with the rank in place of a number that it refers to."""

    number: int
    row: Row


class Difference(NamedTuple):
    """What a row is to be (None: gone), and what it is (None: not there)."""

    new: Found | None
    old: Found | None

    @property
    def is_same(self) -> bool:
        """Whether nothing has to be done."""
        return self.new is not None and self.old is not None and self.new.row == self.old.row


def found(reading: Reading, table: Table, workspace_id: str, ranks: Ranks | None = None) -> Iterator[Found]:
    """Every row in order, a page at a time. `ranks`: of the table that it refers to; -1 stands for what is not there.

    Each page is a read of its own, so that no reader keeps others waiting; what is written behind is seen.
    """
    first, names = table.number or table.refers, ", ".join(map(_quoted, table.columns))
    order = [table.number] if table.number else list(table.key)
    select = f"SELECT {_quoted(first) if first else '0'}, {names} FROM {table.name} WHERE workspace_id = ?"
    behind = f" AND ({', '.join(map(_quoted, order))}) > ({', '.join('?' * len(order))})"
    end = f" ORDER BY {', '.join(map(_quoted, order))} LIMIT {table.page}"
    last: Row = ()
    while True:
        with reading() as connection:
            query = f"{select}{behind if last else ''}{end}"
            page = connection.execute(query, (workspace_id, *last)).fetchall()
        for number, *values in page:
            yield Found(number, tuple(values) if ranks is None else (*values, ranks.rank(number)))
        if len(page) < table.page:
            return
        named = dict(zip(table.columns, page[-1][1:], strict=True)) | {first: page[-1][0]}
        last = tuple(named[name] for name in order)


def whole(connection: Connection, table: Table, workspace_id: str, lightly: Iterable[Found | None]) -> dict[Row, Found]:
    """The whole rows of some that were read lightly, by key; those that are gone are left out."""
    if not table.light:
        return {key_of(table, one.row): one for one in lightly if one is not None}
    names = [table.number] if table.number else list(table.key)
    places = [_place(table.lightly, one) for one in lightly if one is not None]
    columns = ", ".join(map(_quoted, (*([table.number] if table.number else []), *table.columns)))
    made: dict[Row, Found] = {}
    for start in range(0, len(places), AT_ONCE):
        part = places[start : start + AT_ONCE]
        if len(names) == 1:
            among = ", ".join("?" * len(part))
        else:
            among = "VALUES " + ", ".join([f"({', '.join('?' * len(names))})"] * len(part))
        query = f"SELECT {columns} FROM {table.name} WHERE workspace_id = ?"
        which = f" AND ({', '.join(map(_quoted, names))}) IN ({among})"
        values = [value for place in part for value in place]
        for row in connection.execute(query + which, (workspace_id, *values)).fetchall():
            one = Found(row[0], tuple(row[1:])) if table.number else Found(0, tuple(row))
            made[key_of(table, one.row)] = one
    return made


def as_held(rows: Iterable[Found], table: Table, workspace_id: str, *, on_server: bool) -> Iterator[Found]:
    """Rows as a place holds them: a server has no NUL in a text, and no item that does not say where it is from."""
    if not on_server:
        yield from rows
        return
    from nanomem_tui.store.moving.fitting import fitted

    yield from (Found(one.number, fitted(table, one.row, workspace_id)) for one in rows)


def differences(new: Iterator[Found], old: Iterator[Found], table: Table) -> Iterator[Difference]:
    """Every row of both, beside each other. Rows with a number come in its order, and where the two orders differ what
    is in the way goes: it comes again at its place."""
    one, other = next(new, None), next(old, None)
    while one is not None or other is not None:
        if one is None or other is None:
            first = other is None
        else:
            here, there = key_of(table, one.row), key_of(table, other.row)
            if here == there:
                yield Difference(one, other)
                one, other = next(new, None), next(old, None)
                continue
            first = not table.number and here < there
        if first:
            yield Difference(one, None)
            one = next(new, None)
        else:
            yield Difference(None, other)
            other = next(old, None)


def key_of(table: Table, row: Row) -> Row:
    """What a row is known by."""
    return tuple(row[place] for place in table.places)


def write(
    connection: Connection, workspace_id: str, table: Table, changes: Sequence[Difference], ranks: Ranks | None
) -> None:
    """Make these rows what they are to be, with what finds them. `ranks`: those of this place."""
    gone = [one.old for one in changes if one.new is None and one.old is not None]
    new = [one.new.row for one in changes if one.old is None and one.new is not None]
    both = [(one.new.row, one.old) for one in changes if one.new is not None and one.old is not None]
    beside = _Beside(connection, table)
    which = _which(table)
    connection.executemany(
        f"DELETE FROM {table.name} WHERE {which}", [(workspace_id, *_place(table, old)) for old in gone]
    )
    set_to = ", ".join(f"{_quoted(name)} = ?" for name in (*table.columns, *beside.columns))
    connection.executemany(
        f"UPDATE {table.name} SET {set_to} WHERE {which}",
        [(*_plain(table, row), *beside.values(row), workspace_id, *_place(table, old)) for row, old in both],
    )
    numbers = _numbers(connection, workspace_id, table, new, ranks)
    first = [name for name in (table.number or table.refers,) if name]
    names = ("workspace_id", *first, *table.columns, *beside.columns)
    connection.executemany(
        f"INSERT INTO {table.name} ({', '.join(map(_quoted, names))}) VALUES ({', '.join('?' * len(names))})",
        [(workspace_id, *number, *_plain(table, row), *beside.values(row))
         for number, row in zip(numbers, new, strict=True)],
    )  # fmt: skip
    changed = [
        *(index.Changed(old.number, old.row, None) for old in gone),
        *(index.Changed(old.number, old.row, row) for row, old in both),
        *(index.Changed(number[0], None, row) for number, row in zip(numbers, new, strict=True) if table.number),
    ]
    if table in WORK and table.number:
        for number in (*(old.number for old in gone), *(number[0] for number in numbers[-1:])):
            tier_numbers.gone(connection, workspace_id, table.name, number)
    index.write(connection, workspace_id, table, changed)


def _numbers(
    connection: Connection, workspace_id: str, table: Table, new: Sequence[Row], ranks: Ranks | None
) -> list[tuple[int, ...]]:
    """The numbers of new rows: none, the next ones, or those that they refer to."""
    if table.refers:
        assert ranks is not None
        return [(ranks.number(row[-1]),) for row in new]
    if not table.number:
        return [() for _ in new]
    if table in WORK:
        first = tier_numbers.following(connection, workspace_id, table.name)
    else:
        first = sql.next_number(connection, table.name, table.number, workspace_id)
    return [(number,) for number in range(first, first + len(new))]


def _plain(table: Table, row: Row) -> Row:
    """The columns that are carried as they are."""
    return row[: len(table.columns)]


def _which(table: Table) -> str:
    names = [table.number] if table.number else table.key
    return " AND ".join(("workspace_id = ?", *(f"{_quoted(name)} = ?" for name in names)))


def _place(table: Table, old: Found) -> Row:
    """What `_which` asks for of a row that is there."""
    if table.number:
        return (old.number,)
    named: Mapping[str, Any] = dict(zip(table.columns, old.row, strict=False)) | {table.refers: old.number}
    return tuple(named[name] for name in table.key)


class _Beside:
    """The columns that stand beside those of a row in one place only, and find it there."""

    def __init__(self, connection: Connection, table: Table) -> None:
        self.columns: tuple[str, ...] = ()
        self.values: Callable[[Row], Row] = lambda row: ()
        if table is ITEMS:
            words = item_words.of(connection)
            self.columns, self.values = words.columns, lambda row: words.values(index.item_of(row))
        elif table.name == "lessons" and not sql.is_sqlite(connection):
            self.columns, self.values = ("waits",), lambda row: (Lesson._make(row[: len(Lesson._fields)]).waits,)


def _quoted(name: str) -> str:
    return f'"{name}"'
