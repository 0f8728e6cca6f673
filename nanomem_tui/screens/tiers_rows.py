"""How the list of records comes from the database: in pages, or as what a filter lets through. Runs in threads.

Knows no widget and no screen; a row is a record with the beginnings of its fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.memory.filters import FieldTest, Filter, fold
from nanomem_tui.screens.tiers_kinds import field_of, full_name
from nanomem_tui.store.work import records as work_records
from nanomem_tui.store.work.kinds import KINDS, TIERS, Tier
from nanomem_tui.store.work.values import Among, Stretch, TierRecord
from nanomem_tui.tiers.records import TierRecords
from nanomem_tui.widgets.paged_table import MOST_SELECTED, PAGE, UNREAD

FOUND = 2_000
"""Records that a filter shows, the newest."""
BEST = 200
"""Records that words show, the best."""
NEWEST = 20_000
"""Records that are looked through for parts of words, when none holds the words."""
STEP = 2_000

Pages = Mapping[int, Sequence[TierRecord]]


class Beginning(NamedTuple):
    """The first look at a list: how many records there are, the pages that are seen first, and where the record is
    that was asked for (None: it is not among them)."""

    total: int
    pages: Pages
    place: int | None


class Sought(NamedTuple):
    """What a filter let through so far: the records, how many were looked at out of how many, and why there are no
    more: `done` when all were looked at, `note` in words otherwise."""

    rows: tuple[TierRecord, ...]
    looked: int
    total: int
    done: bool = False
    note: str = ""


def unread(kind: str) -> Callable[[int], TierRecord]:
    """What stands in place of a record that is not read yet."""
    empty: dict[str, Any] = dict.fromkeys(field.name for field in KINDS[kind].fields)
    return lambda index: TierRecord(kind, f"{UNREAD}{index}", empty)


def begin(records: TierRecords, wanted: Stretch, near: str, at: int) -> Beginning:
    """Count, and read the pages around the record `near`, or around the row `at` when it is not there. Raises the
    errors of the store."""

    def look(connection: Any) -> Beginning:
        total = work_records.count_within(connection, wanted)
        place = work_records.place_of(connection, wanted, near) if near else None
        middle = min(at if place is None else place, max(total - 1, 0)) // PAGE
        last = max(total - 1, 0) // PAGE
        numbers = range(last + 1) if total <= MOST_SELECTED else range(max(middle - 1, 0), min(middle + 1, last) + 1)
        return Beginning(total, _pages(connection, wanted, total, numbers), place)

    return records.database.ask(look, Beginning(0, {}, None))


def more(records: TierRecords, wanted: Stretch, total: int, numbers: Iterable[int]) -> Pages:
    """Pages of a list of `total` records. Raises the errors of the store."""
    none: Pages = {}
    return records.database.ask(lambda connection: _pages(connection, wanted, total, numbers), none)


def _pages(connection: Any, wanted: Stretch, total: int, numbers: Iterable[int]) -> Pages:
    return {number: _page(connection, wanted, total, number) for number in numbers}


def _page(connection: Any, wanted: Stretch, total: int, number: int) -> list[TierRecord]:
    """A page, counted from whichever end of the list is nearer."""
    start = number * PAGE
    limit = min(PAGE, total - start)
    if start <= total // 2:
        return work_records.page(connection, wanted, limit, start)
    other = wanted._replace(oldest_first=not wanted.oldest_first)
    return work_records.page(connection, other, limit, total - start - limit)[::-1]


# -- a filter ---------------------------------------------------------------------------------------------------------


def seek(records: TierRecords, wanted: Stretch, by: Filter) -> Iterator[Sought]:
    """What the filter lets through, as far as it was looked for. Raises the errors of the store."""
    total = records.count_within(wanted)
    wanted = narrowed(wanted, by)
    accepts = by.predicate(field_of) or (lambda row: True)
    words = " ".join((*by.words, *by.phrases))
    most, note = total, ""
    if words and wanted.kind.words:
        hits = [hit.record for hit in records.search(words, (wanted.kind.name,), wanted.tier, BEST)]
        best = tuple(hit for hit in hits if accepts(hit) and not _holds(hit, by.excluded, any))
        if best:
            yield Sought(
                best, len(hits), total, True, f"the best {BEST}, by words" if len(hits) == BEST else "by words"
            )
            return
        most = min(total, NEWEST)
        note = f"parts of words in the newest {most:,}"
    found: list[TierRecord] = []
    looked = 0
    for rows in _each(records, wanted, most):
        looked = total if wanted.among else looked + len(rows)
        found += [
            row
            for row in rows
            if accepts(row) and _holds(row, (*by.words, *by.phrases), all) and not _holds(row, by.excluded, any)
        ]
        if len(found) >= FOUND:
            yield Sought(tuple(found[:FOUND]), looked, total, True, f"the first {FOUND:,} of them")
            return
        yield Sought(tuple(found), looked, total)
    yield Sought(tuple(found), looked, total, True, note)


def _each(records: TierRecords, wanted: Stretch, most: int) -> Iterator[list[TierRecord]]:
    """The records in their order, in steps, each of which is a look of its own."""
    at, seen, looked = "", 0, 0
    while looked < most:
        stretch = wanted
        if at:
            stretch = wanted._replace(since=at) if wanted.oldest_first else wanted._replace(until=at)
        rows = _step(records, stretch, min(STEP, most - looked), seen)
        if not rows:
            return
        yield rows
        looked += len(rows)
        same = sum(row.at == rows[-1].at for row in rows)
        seen = seen + same if rows[-1].at == at and same == len(rows) else same
        at = rows[-1].at


def _step(records: TierRecords, stretch: Stretch, limit: int, offset: int) -> list[TierRecord]:
    none: list[TierRecord] = []
    return records.database.ask(lambda connection: work_records.page(connection, stretch, limit, offset), none)


def _holds(row: TierRecord, texts: Sequence[str], how: Callable[[Iterable[bool]], bool]) -> bool:
    if not texts:
        return how is all
    said = fold(" ".join(str(value) for value in (row.id, *row.fields.values()) if value is not None))
    return how(text in said for text in texts)


def narrowed(wanted: Stretch, by: Filter) -> Stretch:
    """The stretch in which all records lie that the filter may let through, as far as the database can tell."""
    now = clock.now()
    for test in by.fields:
        if test.excluded:
            continue
        if test.field == "tier":
            tiers: list[Tier] = [tier for tier in TIERS if test.accepts(tier, now)]
            wanted = wanted._replace(tier=tiers[0]) if len(tiers) == 1 else wanted
        elif test.field == "age":
            wanted = _of_age(wanted, test)
        elif (among := _among(wanted, test)) is not None:
            wanted = wanted._replace(among=(*wanted.among, among))
    return wanted


def _among(wanted: Stretch, test: FieldTest) -> Among | None:
    """The test as the database makes it; None for what only `accepts` can tell."""
    name = full_name(wanted.kind.name, test.field)
    if test.kind == "switch":
        return Among(name, low=float(test.switch), high=float(test.switch)) if test.switch else None
    if test.kind == "number":
        return Among(name, low=test.low, high=test.high)
    if not test.value.isascii() or "[" in test.value:
        return None
    return Among(name, tuple(fold(one) for one in test.value.split(",") if one))


def _of_age(wanted: Stretch, test: FieldTest) -> Stretch:
    def ago(seconds: float) -> str:
        return clock.iso(clock.now() - timedelta(seconds=min(seconds, 3e9)))

    if test.low:
        wanted = wanted._replace(until=min(filter(None, (wanted.until, ago(test.low)))))
    if test.high is not None:
        wanted = wanted._replace(since=max(wanted.since, ago(test.high)))
    return wanted
