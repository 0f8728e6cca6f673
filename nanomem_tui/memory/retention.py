"""How long items are kept (seed 001 §9 `retention`): when one expires, the hygiene that takes expired ones away, and
the way back of deleted ones.

Taking away is a deletion that undo and `restore` bring back. Must not decide what is captured.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, NotFound, NothingToDo
from nanomem_tui.core.operations import Actor, Change, Operation, Perform, new_operation
from nanomem_tui.core.settings import Settings
from nanomem_tui.core.text import counted
from nanomem_tui.memory.labels import told
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item

if TYPE_CHECKING:
    from nanomem_tui.store.memory_store import MemoryStore

HOUR = timedelta(hours=1)
KIND = "items.expire"
_last: WeakKeyDictionary[MemoryStore, datetime] = WeakKeyDictionary()
"""When hygiene last looked at a store, in this process."""


def days(kind: str, settings: Settings) -> int:
    """Days that an item of a kind is kept; 0: for good."""
    by_kind = {
        "episodic": settings.retention_episodic_days,
        "fact": settings.retention_fact_days,
        "preference": settings.retention_preference_days,
        "decision": settings.retention_decision_days,
    }
    return by_kind.get(kind, 0)


def expires_at(kind: str, moment: datetime, settings: Settings) -> str | None:
    """When an item of a kind that is remembered at `moment` expires, UTC ISO; None: never."""
    number = days(kind, settings)
    try:
        return clock.iso(moment + timedelta(days=number)) if number else None
    except OverflowError:
        return None


def longest(items: Iterable[Item]) -> str | None:
    """When the last of some items expires, UTC ISO; None: one of them never does."""
    times = [item.expires_at for item in items]
    return None if None in times else max((time for time in times if time), default=None)


def expiry(item: Item, settings: Settings) -> str | None:
    """When an item expires as things are now, UTC ISO; None: never, as it is pinned or its kind is kept for good.

    It has the date of the settings under which it was remembered. `0` holds at once, also for what is there, and as the
    date stays, another number lets it expire again; how many days else holds for what is remembered from then on.
    """
    return item.expires_at if days(item.kind, settings) and not item.pinned else None


def is_expired(item: Item, now: datetime) -> bool:
    """Whether the time of an item is over; a pinned one's never is."""
    if item.pinned or not item.expires_at:
        return False
    moment = clock.parse(item.expires_at)
    return moment is not None and moment <= now


def expired(items: Iterable[Item], settings: Settings, now: datetime) -> list[Item]:
    """The active items whose time is over; none of a kind that is kept for good, and none that waits in the inbox."""
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
        rows = expired(snapshot.items.values(), settings, now or clock.now())
    if not rows:
        raise NothingToDo("nothing to prune", "no item is expired")
    changes = [change_of("item", row, row._replace(is_deleted=True)) for row in rows]
    label = f"prune {counted(len(rows), 'expired item')}"
    return (perform or store.perform)(new_operation(KIND, label, changes, actor=actor))


def hygiene(
    store: MemoryStore, settings: Settings, now: datetime | None = None, perform: Perform | None = None
) -> Operation | None:
    """What a turn does at most once an hour in a process: delete what is expired. None when it is not yet time, or
    nothing is expired. Raises the store's errors."""
    moment = now or clock.now()
    last = _last.get(store)
    if last is not None and timedelta(0) <= moment - last < HOUR:
        return None
    _last[store] = moment
    try:
        return prune_expired(store, settings, moment, perform, actor="compaction")
    except NothingToDo:
        return None


def taken_back(operation: Operation, store: MemoryStore) -> tuple[Change, ...]:
    """The changes that take an operation back. An item that was deleted because its time was over begins its time
    anew, as one that is restored: the next hygiene would delete it again. An item that goes as it came goes with
    whatever time it was given since."""
    changes = operation.inverse()
    if not any(change.layer == "item" for change in changes):
        return changes
    now, rows = clock.now(), store.load("item").items
    if operation.kind == KIND:
        return tuple(_anew(change, rows.get(change.key), now, store.settings) for change in changes)
    return tuple(_gone(change, rows.get(change.key)) for change in changes)


def _gone(change: Change, row: Item | None) -> Change:
    if row is None or change.layer != "item" or change.before is None or change.after is not None:
        return change
    if change.before.get("expires_at") == row.expires_at:
        return change
    return change._replace(before={**change.before, "expires_at": row.expires_at})


def _anew(change: Change, row: Item | None, now: datetime, settings: Settings) -> Change:
    if row is None or change.before is None or change.after is None or not is_expired(row, now):
        return change
    later = expires_at(row.kind, now, settings)
    return change._replace(
        before={**change.before, "expires_at": row.expires_at}, after={**change.after, "expires_at": later}
    )


def deleted(store: MemoryStore) -> list[Item]:
    """The deleted memories, the last touched first; what was only a wish to forget one is none."""
    snapshot = store.load("item")
    with snapshot.lock:
        rows = [row for row in snapshot.items.values() if _is_deleted_memory(row)]
    return sorted(rows, key=lambda row: (row.updated_at, row.id), reverse=True)


def find_deleted(store: MemoryStore, item_id: str) -> Item:
    """The deleted item of that id, or of the one id that begins so. Raises NotFound, BadInput or NothingToDo."""
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
    from nanomem_tui.memory.forgetting import target_of

    return row.is_deleted and not target_of(row)


def restore(
    store: MemoryStore, settings: Settings, ids: Sequence[str], perform: Perform | None = None
) -> tuple[Operation, list[Item]]:
    """Bring deleted items back as they were, as one operation; one whose time is over begins it anew.

    Raises NotFound, BadInput or NothingToDo, and changes nothing then.
    """
    now = clock.now()
    before = list({row.id: row for row in (find_deleted(store, item_id) for item_id in ids)}.values())
    if not before:
        raise NothingToDo("nothing to restore", "")
    after = [row._replace(is_deleted=False) for row in before]
    after = [
        row._replace(expires_at=expires_at(row.kind, now, settings)) if is_expired(row, now) else row for row in after
    ]
    changes = [change_of("item", old, new) for old, new in zip(before, after, strict=True)]
    what = told(after[0].text) if len(after) == 1 else counted(len(after), "item")
    return (perform or store.perform)(new_operation("items.restore", f"restore {what}", changes)), after
