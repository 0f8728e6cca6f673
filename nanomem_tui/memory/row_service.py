"""What a person does with items and lessons alike: find one by id, enable or disable it, delete it, compact them all.

`Items` and `Lessons` are row services; the console's keys and the commands call them. Each change is one operation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from nanomem_tui.core.errors import BadInput, NotFound, NothingToDo, Refused
from nanomem_tui.core.operations import Actor, Operation, Perform, new_operation
from nanomem_tui.core.text import counted
from nanomem_tui.memory import retention
from nanomem_tui.memory.edit_conflicts import quote_start
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item, Lesson, Record, Row

if TYPE_CHECKING:
    from nanomem_tui.store.database.operation_log import LogEntry
    from nanomem_tui.store.memory_store import MemoryStore

R = TypeVar("R", Item, Lesson)
A = TypeVar("A", Item, Lesson, Record)


def find_by_id(rows: Mapping[str, A], key: str, noun: str, see: str) -> A:
    """Return the row of that id, or of the one id that begins so. Raises NotFound or BadInput."""
    row = rows.get(key)
    if row is None:
        near = [one for name, one in rows.items() if key and name.startswith(key) and not one.is_deleted]
        if len(near) > 1:
            raise BadInput(f"{len(near)} {plural(noun)} begin with that id", key, "give more of it")
        row = near[0] if near else None
    if row is None or row.is_deleted:
        raise NotFound(f"no such {noun}", key, f"see `{see}`")
    return row


def plural(noun: str) -> str:
    """Return the plural of a noun that ends in a consonant or `y`."""
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"


def refuse_waiting(row: Row) -> None:
    """Raise Refused for a row that waits: what becomes of that is decided in the inbox."""
    if row.waits:
        raise Refused("it waits in the inbox", row.id, f"`nanomem inbox accept {row.id}`, or reject it")


class RowService(Generic[R]):
    """The items or the lessons of one workspace. `layer`: which; `see`: the command that lists them."""

    layer = see = ""

    def __init__(self, store: MemoryStore, perform: Perform) -> None:
        self._store = store
        self._perform = perform

    def all(self) -> list[R]:
        """Return the active rows, newest first."""
        raise NotImplementedError

    def get(self, row_id: str) -> R:
        """Return the row of that id, or of the one id that begins so; one that waits in the inbox too."""
        rows: Mapping[str, R] = self._store.load(self.layer).table(self.layer)
        return find_by_id(rows, row_id, self.layer, self.see)

    def history(self, row_id: str) -> list[LogEntry]:
        """Return every operation that touched the row, newest first."""
        return self._store.journal.log(10_000, key=row_id)

    def set_enabled(self, ids: Sequence[str], enabled: bool) -> Operation:
        """Enable or disable rows; a disabled one is kept, whatever the agent writes, and never given."""
        return self._set(ids, "enabled", enabled, "enable" if enabled else "disable")

    def delete(self, ids: Sequence[str]) -> Operation:
        """Delete rows; `undo` brings them back."""
        return self._set(ids, "is_deleted", True, "delete")

    def compact_preview(self, limit: int | None = None) -> retention.Compaction[R]:
        """Return what a compaction to `limit` would remove (default: the setting; 0: duplicates only)."""
        setting = f"max_{self.layer}s"
        limit = getattr(self._store.settings, setting) if limit is None else limit
        if limit < 0:
            raise BadInput(f"the number of {self.layer}s cannot be negative", f"--{setting.replace('_', '-')}")
        plan: Any = retention.compact_items if self.layer == "item" else retention.compact_lessons
        found: retention.Compaction[R] = plan(self.all(), limit)
        return found

    def compact(self, limit: int | None = None, *, actor: Actor = "human") -> Operation:
        """Remove what `compact_preview` shows, as one operation. Raises NothingToDo."""
        plan = self.compact_preview(limit)
        removed, kept = len(plan.removed), len(plan.kept)
        if not removed:
            raise NothingToDo("nothing to compact", f"{counted(kept, self.layer)}, no duplicates, none beyond the cap")
        changes = [change_of(self.layer, row, row._replace(is_deleted=True)) for row, _ in plan.removed]
        gained = [(row, plan.absorbed[row.id]) for row in plan.kept if row.id in plan.absorbed]
        changes += [change_of(self.layer, row, row._replace(hits=row.hits + extra)) for row, extra in gained if extra]
        meta = {"removed": removed, "kept": kept, "found": removed + kept}
        label = f"compact: {counted(removed, self.layer)} removed, {kept:,} kept"
        label += f", more than {retention.BUFFER} times `max_items` ({plan.limit:,})" if actor == "compaction" else ""
        return self._perform(new_operation(f"{self.layer}s.compact", label, changes, actor=actor, meta=meta))

    def _active(self, row_id: str) -> R:
        row = self.get(row_id)
        refuse_waiting(row)
        return row

    def _set(self, ids: Sequence[str], field: str, value: bool, verb: str) -> Operation:
        rows = list({row.id: row for row in map(self._active, ids)}.values())
        touched = [row for row in rows if bool(getattr(row, field)) != value]
        if not touched:
            raise NothingToDo(f"nothing to {verb}", ", ".join(ids))
        back, fields = verb == "enable", cast("dict[str, Any]", {field: value})
        first: Row = touched[0]
        changes = [
            change_of(self.layer, row, (retention.clear_superseded(row) if back else row)._replace(**fields))
            for row in touched
        ]
        named = quote_start(first.text) if isinstance(first, Item) else f"lesson {quote_start(first.trigger)}"
        label = f"{verb} {named if len(touched) == 1 else counted(len(touched), self.layer)}"
        label += retention.superseded_label(touched) if back else ""
        return self._perform(new_operation(f"{self.layer}s.{verb}", label, changes))
