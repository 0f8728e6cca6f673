"""Items moved or copied from one scope to another, many of them as one operation that one undo takes back.

Owns what stands in the way at the target: the same words, or another value of the same fact. What has gone is the same
item with the same hits and history; a copy is a new item that says which one it is of. Must not write by itself: a
change of the mirrors is none, because a mirror has one line for a text and knows no scope.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, NothingToDo, Refused
from nanomem_tui.core.operations import Change, Operation, Perform, new_key, new_operation
from nanomem_tui.core.text import counted
from nanomem_tui.memory import merging
from nanomem_tui.memory.known_facts import KnownFacts
from nanomem_tui.memory.labels import told
from nanomem_tui.memory.safety import normal
from nanomem_tui.memory.scope_names import Scope
from nanomem_tui.memory.scopes import USER_KINDS
from nanomem_tui.memory.twins import Twins
from nanomem_tui.store import values
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item, dumped

Verb = Literal["move", "copy"]


class Twin(NamedTuple):
    """An item that cannot simply go, and the one at the target that stands in its way. `why` in words; `mergeable`:
    one item can be made of the two."""

    item: Item
    there: Item
    why: str
    mergeable: bool


class Plan(NamedTuple):
    """What a move or copy comes to: items that go, those that are there already, those that something stands in the way
    of, and those of the ones that go which nobody will see there."""

    verb: Verb
    scope: Scope
    goes: tuple[Item, ...]
    there: tuple[Item, ...] = ()
    twins: tuple[Twin, ...] = ()
    unseen: tuple[Item, ...] = ()

    @property
    def mergeable(self) -> tuple[Twin, ...]:
        """Those that a merge makes one of."""
        return tuple(twin for twin in self.twins if twin.mergeable)

    @property
    def notes(self) -> list[str]:
        """What a person should know, in sentences without a full stop."""
        said = [f"{counted(len(self.there), 'item')} already in {self.scope.name}"] if self.there else []
        same = len(self.mergeable)
        if same:
            said.append(f"{counted(same, 'text')} {'is' if same == 1 else 'are'} there already: merging makes one item")
        said += list(dict.fromkeys(f"stays: {twin.why}" for twin in self.twins if not twin.mergeable))
        if self.unseen:
            kinds = ", ".join(sorted({row.kind for row in self.unseen}))
            said.append(f"nobody will see {counted(len(self.unseen), 'item')} there: {kinds} does not follow a person")
        return said


class Moving:
    """Moves and copies items of one store."""

    def __init__(self, store: MemoryStore, perform: Perform) -> None:
        self._store = store
        self._perform = perform
        self._twins = Twins(store)
        self._facts = KnownFacts(store)

    def plan(self, ids: Sequence[str], scope: Scope, verb: Verb = "move") -> Plan:
        """What would become of the items. Raises NotFound, and Refused for one that waits in the inbox."""
        rows = list({row.id: row for row in map(self._row, ids)}.values())
        if not rows:
            raise BadInput("no item is named", verb, "name the items by their ids")
        goes: list[Item] = []
        there: list[Item] = []
        twins: list[Twin] = []
        arriving: dict[object, Item] = {}
        for row in rows:
            if _is_in(row, scope):
                there.append(row)
                continue
            marks = _marks(row, scope)
            first = next((arriving[mark] for mark in marks if mark in arriving), None)
            twin = self._twin(row, scope, {one.id for one in rows} if verb == "move" else frozenset())
            if twin is None and first is not None:
                twin = _compared(row, first, scope)
            if twin is not None:
                twins.append(twin)
                continue
            goes.append(row)
            arriving.update(dict.fromkeys(marks, row))
        unseen = [row for row in goes if scope.scope_type == "user" and row.kind not in USER_KINDS]
        return Plan(verb, scope, tuple(goes), tuple(there), tuple(twins), tuple(unseen))

    def do(
        self, ids: Sequence[str], scope: Scope, verb: Verb = "move", *, merge: bool = False
    ) -> tuple[Operation, Plan]:
        """Move or copy the items, as one operation; with `merge` those whose words are there already become one item
        with those. Raises NothingToDo where nothing can go, with the reason, and what `plan` does."""
        with self._store.deciding.alone():
            plan = self.plan(ids, scope, verb)
            changes, number = self._changes(plan, merge=merge)
            row = plan.goes[0] if plan.goes else plan.mergeable[0].item
            what = told(row.text) if number == 1 else counted(number, "item")
            operation = new_operation(f"items.{verb}", f"{verb} {what} to {scope.name}", changes)
            return self._perform(operation), plan

    def changes(self, ids: Sequence[str], scope: Scope) -> list[Change]:
        """What moves the items, merged where their words are there already, for who performs it. Raises as `do`."""
        return self._changes(self.plan(ids, scope), merge=True)[0]

    def _changes(self, plan: Plan, *, merge: bool) -> tuple[list[Change], int]:
        if plan.verb == "copy":
            now = clock.iso(clock.now())
            changes, number = [self._copy(row, plan.scope, now) for row in plan.goes], len(plan.goes)
        else:
            changes, number = self._moves(plan, merge=merge)
        if not changes:
            fix = "merge them" if plan.mergeable and plan.verb == "move" else ""
            raise NothingToDo(plan.notes[0] if plan.notes else f"nothing to {plan.verb}", plan.scope.name, fix)
        return changes, number

    def _moves(self, plan: Plan, *, merge: bool) -> tuple[list[Change], int]:
        moved = {row.id: _placed(row, plan.scope) for row in plan.goes}
        before = {row.id: row for row in plan.goes}
        merged: dict[str, list[Item]] = {}
        for twin in plan.mergeable if merge else ():
            merged.setdefault(twin.there.id, []).append(twin.item)
            before.setdefault(twin.there.id, twin.there)
        for key, rows in merged.items():
            kept = moved.get(key, before[key])
            moved[key] = merging.merged(kept, [_placed(row, plan.scope) for row in rows])
        gone = [row for rows in merged.values() for row in rows]
        changes = [change_of("item", before[key], after) for key, after in moved.items()]
        changes += [change_of("item", row, row._replace(is_deleted=True)) for row in gone]
        return changes, len(plan.goes) + len(gone)

    def _copy(self, row: Item, scope: Scope, now: str) -> Change:
        """A new item of the same words: its own hits and history begin now. Of another scope's sources it says only
        which item it was copied from."""
        meta = {name: value for name, value in row.meta.items() if name not in ("merged_from", "aliases", "conflict")}
        meta["copied_from"] = row.id
        made = _placed(row, scope)._replace(
            hits=0, last_accessed_at=None, created_at=now, pinned=False, meta_json=dumped(meta), revision=0
        )
        identity = values.identity_of_item(made)
        key = new_key("ltm") if identity is None else self._free_id(identity)
        made = made._replace(id=key)
        return change_of("item", self._store.snapshot.items.get(key), made)

    def _free_id(self, identity: values.Identity) -> str:
        """The id of the fact there; one of its own where a row that lives has that."""
        row = self._store.snapshot.items.get(key := values.id_of(identity))
        return key if row is None or row.is_deleted else new_key("fact")

    def _row(self, item_id: str) -> Item:
        from nanomem_tui.core.errors import NotFound

        row = self._store.load("item").items.get(item_id)
        if row is None or row.is_deleted:
            raise NotFound("no such item", item_id, "see `nanomem memory list`")
        if row.waits:
            raise Refused("it waits in the inbox", row.id, f"`nanomem inbox accept {row.id}`, or reject it")
        return row

    def _twin(self, row: Item, scope: Scope, leaving: frozenset[str] | set[str]) -> Twin | None:
        """What stands in the way at the target."""
        identity = values.identity_of_item(_placed(row, scope))
        fact = self._facts.get(identity) if identity is not None else None
        if fact is not None and fact.id != row.id:
            return _compared(row, fact.item, scope)
        same = self._twins.find(scope.scope_key, row.text)
        if same is None or same.id == row.id or (same.id in leaving and not _is_in(same, scope)):
            return None
        return _compared(row, same, scope)


def _compared(row: Item, there: Item, scope: Scope) -> Twin:
    if there.waits:
        return Twin(row, there, f"the same text waits in the inbox for {scope.name} ({there.id})", mergeable=False)
    if not there.enabled and row.enabled:
        return Twin(row, there, f"the same text is switched off in {scope.name} ({there.id})", mergeable=False)
    if normal(row.text) != normal(there.text) and values.identity_of_item(row) is not None:
        return Twin(row, there, f"the fact has another value in {scope.name} ({there.id})", mergeable=False)
    if row.kind != there.kind:
        return Twin(row, there, f"the same text is there as {there.kind} ({there.id})", mergeable=False)
    return Twin(row, there, f"the same text is already in {scope.name} ({there.id})", mergeable=True)


def _is_in(row: Item, scope: Scope) -> bool:
    """Whether an item is of that scope; what is global under a chat's key is of none."""
    if scope.scope_type == "global":
        return row.scope_type == "global" and not row.scope_key.startswith("channel:")
    return (row.scope_type, row.scope_key) == (scope.scope_type, scope.scope_key)


def _placed(row: Item, scope: Scope) -> Item:
    """The item there. It was not said again by that: `updated_at` stays, so that no older word passes for the newer."""
    return row._replace(**scope.fields)


def _marks(row: Item, scope: Scope) -> list[object]:
    """By what an item is known at its target: its words, and the fact that it is."""
    identity = values.identity_of_item(_placed(row, scope))
    return [normal(row.text), *([identity] if identity is not None else [])]
