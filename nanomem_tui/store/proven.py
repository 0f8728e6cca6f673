"""What the operations of a database were, where that can be proven: by the head of the chain that was kept.

A past is put together of an older copy, of what was kept since, and of what the database has; it is believed when its
head is the one that was kept, and not otherwise. Reads only; it is written by `operation_mending`.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui import regular
from nanomem_tui.errors import NanomemError
from nanomem_tui.store import chain, checkpoint, ledger, reader, sql

if TYPE_CHECKING:
    from nanomem_tui.store.rows import RowStore
    from nanomem_tui.store.sql import Connection

_DOUBTS = 8
"""Operations of which both what was kept and what the database has may be right, and each is tried."""
_MOST = 2_000_000
"""Digests that are made at most for one such look."""
Said = tuple[str, str]
"""The id of an operation and its body."""


class Past(NamedTuple):
    """Operations in their order, and the places of those whose place is known by their id."""

    operations: tuple[Said, ...]
    places: Mapping[str, int]


def past(store: RowStore, connection: Connection) -> Past | None:
    """The operations that lead to the head that was kept, past the head of each copy; None where none are found that
    do. Raises the driver's errors."""
    meta = reader.meta(connection, store.workspace_id)
    head = meta.get(chain.MARK, "")
    if not head:
        return None
    heads = chain.heads_of(store.copies.found(), store.workspace_id, meta)
    places, here = _stored(connection, store.workspace_id)
    if chain.extended("", here) == head:
        return Past(tuple(here), places) if chain.meets(here, heads) else None
    kept = _kept(store)
    for copied, begun in _begun(store):
        known = {key for key, _ in begun}
        since = {key: body for key, body in kept.items() if key not in known}
        rest = [(key, body) for key, body in here if key not in known]
        start = chain.extended("", begun)
        for way in _ways(since, rest):
            if chain.extended(start, way) == head and chain.meets([*begun, *way], heads):
                return Past((*begun, *way), places | copied)
    return None


def placed(connection: Connection, workspace_id: str, found: Past) -> list[int] | None:
    """The place of each operation in the table, growing; None where one has none left. Raises the driver's errors."""
    known = _growing([found.places.get(key) for key, _ in found.operations])
    unlinked = _unlinked(connection, workspace_id)
    others = "SELECT seq FROM operations WHERE workspace_id <> ?"
    taken = {int(row[0]) for row in connection.execute(others, (workspace_id,))}
    taken |= {place for place in known if place is not None}
    result: list[int] = []
    for number, (place, (_, body)) in enumerate(zip(known, found.operations, strict=True)):
        if place is None:
            end = next((one for one in known[number:] if one is not None), None)
            place = _free(result[-1] if result else 0, end, taken, unlinked, chain.touched_by(body))  # noqa: PLW2901
            if place is None:
                return None
            taken.add(place)
        result.append(place)
    return result


def _free(
    last: int, end: int | None, taken: set[int], unlinked: Mapping[int, set[Said]], touched: set[Said]
) -> int | None:
    """A place between two: the one of which is known what was touched there, or the first that is free."""
    noted = [at for at, keys in unlinked.items() if last < at and (end is None or at < end) and keys == touched]
    if noted:
        return min(noted)
    places = itertools.count(last + 1) if end is None else range(last + 1, end)
    return next((at for at in places if at not in taken), None)


def _unlinked(connection: Connection, workspace_id: str) -> dict[int, set[Said]]:
    """What was touched, layer and key, at places where no operation of this workspace is."""
    query = (
        "SELECT seq, layer, key FROM operation_keys k WHERE workspace_id = ? AND NOT EXISTS"
        " (SELECT 1 FROM operations o WHERE o.workspace_id = k.workspace_id AND o.seq = k.seq)"
    )
    found: dict[int, set[Said]] = {}
    for seq, layer, key in connection.execute(query, (workspace_id,)):
        if isinstance(seq, int):
            found.setdefault(seq, set()).add((str(layer), str(key)))
    return found


def _growing(places: Sequence[int | None]) -> list[int | None]:
    """As many of the places as grow, None for the others: somebody moved these."""
    ends: list[int] = []
    at: list[int] = []
    before: dict[int, int] = {}
    for number, place in enumerate(places):
        if place is not None:
            length = bisect_left(ends, place)
            before[number] = at[length - 1] if length else -1
            ends[length : length + 1] = [place]
            at[length : length + 1] = [number]
    stays, number = set[int](), at[-1] if at else -1
    while number >= 0:
        stays.add(number)
        number = before[number]
    return [place if number in stays else None for number, place in enumerate(places)]


def _ways(kept: Mapping[str, str], here: Sequence[Said]) -> Iterator[list[Said]]:
    """The pasts that may have been, the likeliest first: all of what was kept, and then both together."""
    yield list(kept.items())
    found = dict(here)
    order = _joined(list(kept), [key for key, _ in here])
    doubts = [key for key in order if key not in kept or (key in found and found[key] != kept[key])]
    few = len(doubts) <= _DOUBTS and len(order) << len(doubts) <= _MOST
    choices = itertools.product((True, False), repeat=len(doubts)) if few else iter([(True,) * len(doubts)])
    for choice in choices:
        as_kept = dict(zip(doubts, choice, strict=True))
        # Of one that was not kept, True is that it is there.
        bodies = {
            key: kept[key] if key in kept and as_kept.get(key, True) else found.get(key, "")
            for key in order
            if key in kept or as_kept[key]
        }
        yield list(bodies.items())


def _joined(kept: Sequence[str], here: Sequence[str]) -> list[str]:
    """The ids of both in one order: that of what was kept, each other one behind the one that it follows."""
    order, known = list(kept), set(kept)
    last = -1
    for key in here:
        if key in known:
            last = order.index(key)
        else:
            last += 1
            order.insert(last, key)
    return order


def _begun(store: RowStore) -> Iterator[tuple[dict[str, int], list[Said]]]:
    """The operations of each copy whose own chain is whole, newest first, with their places; and then none."""
    for path in store.copies.found():
        try:
            with reader.open_database(path) as copy:
                whole = chain.is_whole(copy, store.workspace_id)
                places, found = _stored(copy, store.workspace_id)
        except NanomemError:  # what is wrong with a copy is told elsewhere
            continue
        if whole:
            yield places, found
    yield {}, []


def _stored(connection: Connection, workspace_id: str) -> tuple[dict[str, int], list[Said]]:
    query = f"SELECT seq, id, body_json FROM operations{sql.unindexed(connection)} WHERE workspace_id = ? ORDER BY seq"
    found = reader.fetched(connection, tuple, query, (workspace_id,))
    return {str(key): int(seq) for seq, key, _ in found}, [(str(key), str(body)) for _, key, body in found]


def _kept(store: RowStore) -> dict[str, str]:
    """Body by id of what was kept beside the database, as it was committed; also of files that an earlier repair put
    into the quarantine. What was kept twice was committed the second time."""
    found: dict[str, str] = {}
    for path in sorted([*_set_aside(store), *store.copies.kept_files()], key=lambda path: path.name[-_NAME:]):
        for key, body in _bodies(path):
            found.pop(key, None)
            found[key] = body
    return found


_NAME = len("000000000000.kept")


def _set_aside(store: RowStore) -> list[Path]:
    return sorted(store.paths.quarantine.glob("*-" + "[0-9]" * 12 + ".kept"))


def _bodies(path: Path) -> Iterator[Said]:
    try:
        lines = regular.read(path, regular.MOST_OF_A_LOG).split(b"\n")
    except OSError:
        return
    for line in lines:
        if (one := ledger.decode(line)) is not None:
            yield one.id, checkpoint.body_of(one, line + b"\n")
        else:
            for other in ledger.among_junk(line):
                yield other.id, checkpoint.body_of(other, ledger.encode(other))
