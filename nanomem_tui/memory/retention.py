"""How long a memory lives: superseded by a newer one, expired, deleted, restored, or removed by the cap.

Owns the mark of a superseded row (disabled, with the winner, the time and the reason in its free fields, see
docs/decisions/0104), the expiry of each kind, and the compaction at the cap with its notice. Must not decide what is
captured.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, NanomemError, NotFound, NothingToDo, Problem
from nanomem_tui.core.operations import Actor, Operation, Perform, new_key, new_operation
from nanomem_tui.core.settings import DEFAULTS, Settings
from nanomem_tui.core.text import counted, normalised
from nanomem_tui.memory.edit_conflicts import quote_start
from nanomem_tui.store import lookup
from nanomem_tui.store.item_index import Candidate
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item, Lesson, Record, Row, dumped, identity_of_item

if TYPE_CHECKING:
    from nanomem_tui.memory.scopes import Audience
    from nanomem_tui.store.database.operation_log import LogEntry
    from nanomem_tui.store.memory_store import MemoryStore


R = TypeVar("R", Item, Lesson)
A = TypeVar("A", Item, Lesson, Record)
Why = Literal["outdated", "wrong"]
FIELD, WINNER = "superseded", "supersedes"
CHAIN = 20
"""How often one thing may have been said anew, for the words of the first time to find the last."""
TOLD: Mapping[str, str] = {"outdated": "it was so before", "wrong": "it was not so"}


class Superseded(NamedTuple):
    """By which row (its layer and id), when (UTC ISO), and why: `outdated` or `wrong`."""

    by: str
    layer: str
    at: str
    why: str


def mark_superseded(row: Row, by: Row, layer: str, why: Why, at: str) -> Row:
    """Return the row once `by` stands in its place. `layer`: that of `by`."""
    meta = {**row.meta, FIELD: {"by": by.id, "layer": layer, "at": at, "why": why}}
    return row._replace(enabled=False, meta_json=dumped(meta))


def mark_winner(row: Row, over: str) -> Row:
    """Return the row that stands, which remembers over which one."""
    meta = row.meta
    known = meta.get(WINNER)
    ids = [*(known if isinstance(known, list) else []), over]
    return row._replace(meta_json=dumped({**meta, WINNER: list(dict.fromkeys(ids))}))


def get_superseded(row: Row) -> Superseded | None:
    """By what a row is superseded; None for one that is not, or that is enabled again."""
    if row.enabled or f'"{FIELD}"' not in row.meta_json:
        return None
    mark = row.meta.get(FIELD)
    if not isinstance(mark, dict) or not isinstance(mark.get("by"), str):
        return None
    return Superseded(*(str(mark.get(name) or "") for name in Superseded._fields))


def clear_superseded(row: R) -> R:
    """Return the row without the mark, as who enables it wants it."""
    if f'"{FIELD}"' not in row.meta_json:
        return row
    return row._replace(meta_json=dumped({name: value for name, value in row.meta.items() if name != FIELD}))


def superseded_ids(row: Row) -> list[str]:
    """Return the ids over which a row was made to stand; some may stand again."""
    known = row.meta.get(WINNER) if f'"{WINNER}"' in row.meta_json else None
    return [one for one in known if isinstance(one, str)] if isinstance(known, list) else []


def find_superseded(row: Item, items: Mapping[str, Item]) -> list[Item]:
    """Return the items in whose place a row stands, and those in whose place these stood, that are still there."""
    marked = [
        (mark.by, one) for one in items.values() if not one.is_deleted and (mark := get_superseded(one)) is not None
    ]
    found = {row.id: row}
    while more := {one.id: one for by, one in marked if by in found and one.id not in found}:
        found |= more
    del found[row.id]
    return [*found.values()]


def describe_superseded(mark: Superseded, tables: Mapping[str, Mapping[str, Row]]) -> str:
    """Return the mark in words: by what, when, why. `tables`: the rows of each layer by id."""
    row = tables.get(mark.layer or "item", {}).get(mark.by)
    said = "" if row is None else f" “{row_text(row)}”"
    gone = " (deleted since)" if row is None or row.is_deleted else "" if row.enabled else " (disabled since)"
    why = f", {TOLD[mark.why]}" if mark.why in TOLD else ""
    return f"by {mark.by}{said}{gone} on {mark.at[:10]}{why}"


def superseded_label(rows: Iterable[Row]) -> str:
    """Return what a label says of superseded rows that are enabled again; empty when there are none."""
    marks = [mark for row in rows if (mark := get_superseded(row)) is not None]
    if not marks:
        return ""
    return f", which {marks[0].by} had superseded" if len(marks) == 1 else f", {len(marks):,} of them superseded"


def row_text(row: Row) -> str:
    """Return the words of an item, or what a lesson says is better."""
    return row.text if isinstance(row, Item) else row.better_action


def replace_superseded(found: Iterable[Candidate], rows: Callable[[list[str]], Mapping[str, Item]]) -> list[Candidate]:
    """Replace superseded candidates by what stands in their place, or leave them out."""
    standing: dict[str, Candidate] = {}
    waiting = []
    for one in found:
        if (mark := get_superseded(one.item)) is None:
            standing[one.item.id] = one
        else:
            waiting.append((mark, one))
    for _ in range(CHAIN):
        if not waiting:
            break
        known = rows([mark.by for mark, _ in waiting])
        several, waiting = waiting, []
        for mark, one in several:
            row = known.get(mark.by)
            if row is None or row.is_deleted:
                continue
            if (after := get_superseded(row)) is not None:
                waiting.append((after, one))
            elif row.enabled and (row.id not in standing or standing[row.id].score < one.score):
                standing[row.id] = Candidate(row, one.score, one.item)
    return [*standing.values()]


def superseded_notes(row: Row, tables: Mapping[str, Mapping[str, Row]]) -> list[tuple[str, str]]:
    """Return name and text of what supersedes a row, and of what it supersedes."""
    mark = get_superseded(row)
    found = [("Superseded", describe_superseded(mark, tables))] if mark is not None else []
    for one in superseded_ids(row):
        lost = tables["item"].get(one) or tables["lesson"].get(one)
        known = get_superseded(lost) if lost is not None and not lost.is_deleted else None
        if lost is not None and known is not None and known.by == row.id:
            why = f", {TOLD[known.why]}" if known.why in TOLD else ""
            found.append(("Supersedes", f"{one} “{row_text(lost)}” on {known.at[:10]}{why}"))
    return found


def forget_target(row: object) -> str:
    """Return the id of the item that a proposal would delete; empty for every other row."""
    held = row.meta.get("inbox") if isinstance(row, Item) and not row.enabled else None
    return str(held.get("forgets", "")) if isinstance(held, dict) else ""


# How long items are kept (seed 001 §9 `retention`): when one expires, the hygiene that takes expired ones away, and
# the way back of deleted ones.

HOUR = timedelta(hours=1)
KIND = "items.expire"
_last: WeakKeyDictionary[MemoryStore, datetime] = WeakKeyDictionary()
"""When hygiene last looked at a store, in this process."""


def days_kept(kind: str, settings: Settings) -> int:
    """Days that an item of a kind is kept; 0: for good."""
    days: Mapping[str, int] = {**DEFAULTS["retention_days"], **settings.retention_days}
    return days.get(kind, 0)


def expires_at(kind: str, moment: datetime, settings: Settings) -> str | None:
    """Return when an item of a kind that is remembered at `moment` expires, UTC ISO; None: never."""
    number = days_kept(kind, settings)
    try:
        return clock.iso(moment + timedelta(days=number)) if number else None
    except OverflowError:
        return None


def new_item(
    text: str, kind: str, scope: tuple[str, str], audience: Audience, moment: datetime, settings: Settings, **more: Any
) -> Item:
    """Return a new item of a scope (type and key) that an audience told, kept as long as its kind is."""
    at, until = clock.iso(moment), expires_at(kind, moment, settings)
    return Item(new_key("ltm"), text, kind, *scope, *audience, created_at=at, updated_at=at, expires_at=until, **more)


def latest_expiry(items: Iterable[Item]) -> str | None:
    """Return when the last of some items expires, UTC ISO; None: one of them never does."""
    times = [item.expires_at for item in items]
    return None if None in times else max((time for time in times if time), default=None)


def expiry(item: Item, settings: Settings) -> str | None:
    """Return when an item expires as things are now, UTC ISO; None: never, as it is pinned or its kind is kept for
    good.

    It has the date of the settings under which it was remembered. `0` holds at once, also for what is there, and as the
    date stays, another number lets it expire again; how many days else holds for what is remembered from then on.
    """
    return item.expires_at if days_kept(item.kind, settings) and not item.pinned else None


def is_expired(item: Item, now: datetime) -> bool:
    """Return whether the time of an item is over; a pinned one's never is."""
    if item.pinned or not item.expires_at:
        return False
    moment = clock.parse(item.expires_at)
    return moment is not None and moment <= now


def find_expired(items: Iterable[Item], settings: Settings, now: datetime) -> list[Item]:
    """Return the active items whose time is over, none that is kept for good or waits."""
    return [
        row for row in items if not row.is_deleted and expiry(row, settings) and is_expired(row, now) and not row.waits
    ]


def prune_expired(
    store: MemoryStore,
    settings: Settings,
    now: datetime | None = None,
    perform: Perform | None = None,
    *,
    actor: Actor = "human",
) -> Operation:
    """Delete what is expired, as one operation. Raises NothingToDo."""
    snapshot = store.load("item")
    with snapshot.lock:
        rows = find_expired(snapshot.items.values(), settings, now or clock.now())
    if not rows:
        raise NothingToDo("nothing to prune", "no item is expired")
    changes = [change_of("item", row, row._replace(is_deleted=True)) for row in rows]
    label = f"prune {counted(len(rows), 'expired item')}"
    return (perform or store.perform)(new_operation(KIND, label, changes, actor=actor))


def prune_hourly(
    store: MemoryStore, settings: Settings, now: datetime | None = None, perform: Perform | None = None
) -> Operation | None:
    """Delete expired items at most once an hour in a process; None when not due, or nothing is."""
    moment = now or clock.now()
    last = _last.get(store)
    if last is not None and timedelta(0) <= moment - last < HOUR:
        return None
    _last[store] = moment
    try:
        return prune_expired(store, settings, moment, perform, actor="compaction")
    except NothingToDo:
        return None


def list_deleted(store: MemoryStore) -> list[Item]:
    """Return the deleted memories, the last touched first; what was only a wish to forget one is none."""
    snapshot = store.load("item")
    with snapshot.lock:
        rows = [row for row in snapshot.items.values() if _is_deleted_memory(row)]
    return sorted(rows, key=lambda row: (row.updated_at, row.id), reverse=True)


def find_deleted(store: MemoryStore, item_id: str) -> Item:
    """Return the deleted item of that id, or of the one id that begins so. Raises NotFound, BadInput or NothingToDo."""
    rows = store.load("item").items
    row = rows.get(item_id)
    if row is None:
        near = [row for key, row in rows.items() if item_id and key.startswith(item_id) and _is_deleted_memory(row)]
        if len(near) > 1:
            raise BadInput(f"{len(near)} deleted items begin with that id", item_id, "give more of it")
        row = near[0] if near else None
    if row is None:
        raise NotFound("no deleted item of that id", item_id, "see `nanomem log` for what was deleted")
    if not row.is_deleted:
        raise NothingToDo("the item is not deleted", row.id)
    if not _is_deleted_memory(row):
        raise NothingToDo("it was a wish to forget something, and is decided", row.id, "`nanomem undo` takes that back")
    return row


def _is_deleted_memory(row: Item) -> bool:

    return row.is_deleted and not forget_target(row)


def restore(
    store: MemoryStore, settings: Settings, ids: Sequence[str], perform: Perform | None = None
) -> tuple[Operation, list[Item]]:
    """Bring deleted items back as they were, as one operation; one whose time is over begins it anew."""
    now = clock.now()
    before = list({row.id: row for row in (find_deleted(store, item_id) for item_id in ids)}.values())
    if not before:
        raise NothingToDo("nothing to restore", "")
    after = [row._replace(is_deleted=False) for row in before]
    after = [
        row._replace(expires_at=expires_at(row.kind, now, settings)) if is_expired(row, now) else row for row in after
    ]
    changes = [change_of("item", old, new) for old, new in zip(before, after, strict=True)]
    what = quote_start(after[0].text) if len(after) == 1 else counted(len(after), "item")
    return (perform or store.perform)(new_operation("items.restore", f"restore {what}", changes)), after


# What a compaction would remove, and why (seed 000 §Compaction strategy). Pure: it decides, it does not remove.


class Compaction(NamedTuple, Generic[R]):
    """A compaction that is not done yet: what stays and what goes, each with its reason.

    `absorbed`: the hits that a kept row takes over from its removed copies, by id.
    """

    kept: tuple[R, ...]
    removed: tuple[tuple[R, str], ...]
    absorbed: dict[str, int]
    limit: int


def compact_items(items: Iterable[Item], limit: int) -> Compaction[Item]:
    """Dedupe by normalised text within a scope and kind, newest first, then keep the newest `limit`. Facts of other
    names (of another domain) are no copies.

    Pinned items stay whatever the cap; disabled ones are neither removed nor counted. `limit` 0 is no cap.
    """
    rows = sorted(items, key=lambda row: (row.pinned, row.updated_at, row.id), reverse=True)
    return _compact(
        rows,
        limit,
        same=lambda row: (row.scope_key, row.kind, normalised(row.text), identity_of_item(row)),
        fixed=lambda row: not row.enabled,
        protected=lambda row: row.pinned,
    )


def compact_lessons(lessons: Iterable[Lesson], limit: int) -> Compaction[Lesson]:
    """Return the same for lessons; a disabled lesson is never removed."""
    rows = sorted(lessons, key=lambda row: (row.updated_at, row.id), reverse=True)
    return _compact(
        rows,
        limit,
        same=lambda row: (row.scope, row.session_key, *_words(row)),
        fixed=lambda row: not row.enabled,
        protected=lambda row: False,
    )


def _words(lesson: Lesson) -> tuple[str, str]:
    return normalised(lesson.trigger), normalised(lesson.better_action)


def _compact(
    rows: list[R],
    limit: int,
    *,
    same: Callable[[R], Hashable],
    fixed: Callable[[R], bool],
    protected: Callable[[R], bool],
) -> Compaction[R]:
    first: dict[Hashable, str] = {}
    kept: list[R] = []
    removed: list[tuple[R, str]] = []
    absorbed: dict[str, int] = {}
    counted = 0
    for row in rows:
        if fixed(row):
            kept.append(row)
            continue
        copy = first.get(same(row))
        if copy is not None and not protected(row):
            removed.append((row, f"same text as {copy}"))
            absorbed[copy] = absorbed.get(copy, 0) + row.hits
        elif limit and counted >= limit and not protected(row):
            removed.append((row, f"older than the newest {limit}"))
        else:
            first.setdefault(same(row), row.id)
            kept.append(row)
            counted += 1
    return Compaction(tuple(kept), tuple(removed), absorbed, limit)


# What becomes of items beyond the cap of the store (`max_items`): told before, held back for a day, told after.

CAP_KIND = "items.over_cap"
BUFFER = 1.1
"""Times the cap that there may be before a checkpoint compacts (seed 000: not at every write)."""
WAIT = timedelta(days=1)
"""How long what came at once stays after it was told that it will be compacted."""
NOTICE_FOR = timedelta(days=7)
"""How long what was told, or done, stays in the status."""
RUNAWAY = 2
"""Times as many items as were told of, from which nothing waits: something writes in a loop."""


class Overflow(NamedTuple):
    """Items beyond the cap: how many there are or would be, the cap, and how many a compaction would remove."""

    items: int
    cap: int
    removed: int

    def line(self) -> str:
        """Return what a person is told before it happens, with the setting that prevents it."""
        return (
            f"That makes {counted(self.items, 'item')}, more than {BUFFER} times `max_items` ({self.cap:,}):"
            f" {self.removed:,} of them are compacted away after a day, copies first, then the oldest."
            f" To keep them: `nanomem config set max_items {_round(self.items)}` (0: no cap)."
        )


def plan_overflow(present: Mapping[str, Item], coming: Iterable[Item], cap: int) -> Overflow | None:
    """Return what a compaction would remove once these items came; None when it would remove nothing."""
    rows = {key: row for key, row in present.items() if _counts(row)}
    before = len(rows)
    rows.update((row.id, row) for row in coming if _counts(row))
    if not is_over_cap(len(rows), cap) or len(rows) == before:
        return None
    removed = len(compact_items(rows.values(), cap).removed)
    return Overflow(len(rows), cap, removed) if removed else None


def compaction_notice(found: Overflow) -> Operation:
    """Return the entry of the log that tells what will be compacted; nothing is before `WAIT` is over."""
    label = (
        f"{counted(found.items, 'item')}, more than {BUFFER} times `max_items` ({found.cap:,}):"
        f" {found.removed:,} are compacted away after a day"
    )
    return new_operation(CAP_KIND, label, (), actor="compaction", meta=found._asdict())


def is_over_cap(items: int, cap: int) -> bool:
    """Return whether so many enabled items are compacted by a checkpoint."""
    return bool(cap) and items > BUFFER * cap


def count_enabled(items: Iterable[Item]) -> int:
    """Return how many items count for the cap."""
    return sum(map(_counts, items))


def is_announced(store: MemoryStore, items: int) -> bool:
    """Return whether it was told less than a day ago that so many items, or half of them, are beyond the cap."""
    told = store.journal.newest(CAP_KIND, "compaction")
    if told is None or not _within(told.operation.at, WAIT):
        return False
    return items <= RUNAWAY * int(told.operation.meta.get("items", 0))


def was_announced(store: MemoryStore, since: LogEntry | None) -> bool:
    """Return whether it was told in the last days, and after `since`, that items are beyond the cap."""
    told = store.journal.newest(CAP_KIND, "compaction")
    if told is None or not _within(told.operation.at, NOTICE_FOR):
        return False
    return since is None or told.operation.at > since.operation.at


def compaction_problems(store: MemoryStore) -> list[Problem]:
    """Return what the status says of a compaction that is coming, or was made by a checkpoint in the last days.

    Costs one look at the counters where there are no more rows, deleted ones too, than the cap has room for.
    """
    with contextlib.suppress(NanomemError):  # whoever reads the items says what is wrong with the database
        return _problems(store)
    return []


def _problems(store: MemoryStore) -> list[Problem]:
    cap = store.settings.max_items
    if not is_over_cap(lookup.item_rows(store), cap):
        return []
    found: list[Problem] = []
    done: LogEntry | None = store.journal.newest("items.compact", "compaction")
    told = store.journal.newest(CAP_KIND, "compaction")
    if told is not None and done is not None and told.operation.at < done.operation.at:
        told = None  # that was done
    if told is not None and _within(told.operation.at, NOTICE_FOR):
        number = sum(group[4] for group in lookup.item_groups(store) if group[3])
        if is_over_cap(number, cap):
            at = clock.parse(told.operation.at)
            after = clock.iso(at + WAIT)[:16].replace("T", " ") if at is not None else "a day"
            what = f"{counted(number, 'item')}, more than {BUFFER} times `max_items` ({cap:,}): some {number - cap:,}"
            fix = f"to keep them: `nanomem config set max_items {_round(number)}` (0: no cap)"
            found.append(Problem(f"{what} are compacted away after {after} UTC", "items", None, fix, "warning"))
    if done is not None and not done.undone and _within(done.operation.at, NOTICE_FOR):
        fix = f"`nanomem undo {done.operation.id}` brings them back, and they stay; `max_items` is the cap (0: none)"
        found.append(Problem(f"a checkpoint made this {done.operation.label}", "items", None, fix, "note"))
    return found


def _counts(row: Item) -> bool:
    return bool(row.enabled and not row.is_deleted)


def _within(at: str, time: timedelta) -> bool:
    moment = clock.parse(at)
    return moment is not None and clock.now() - moment < time


def _round(items: int) -> int:
    step = int(10 ** max(1, len(str(items)) - 2))
    return -(-items // step) * step
