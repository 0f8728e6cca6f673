"""Long-term items as a person works with them: read, find, add, edit, disable, pin, delete, merge, compact, prune.

Every change is one operation handed to the store. Must not know a screen or a file format beyond the foreign rows
that it shows read-only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, NotFound, NothingToDo, Problem, Refused
from nanomem_tui.core.operations import Actor, Change, Operation, Perform, new_key, new_operation
from nanomem_tui.core.text import counted
from nanomem_tui.memory import merging, retention, scopes, superseded
from nanomem_tui.memory.edits import as_shown, settled, told
from nanomem_tui.memory.known_facts import KnownFacts
from nanomem_tui.memory.merging import Twins
from nanomem_tui.memory.recall.recall import Recall
from nanomem_tui.memory.safety import normal
from nanomem_tui.memory.scopes import USER_KINDS, Scope
from nanomem_tui.store import lookup, values
from nanomem_tui.store.database.operation_log import LogEntry
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import KINDS, Hit, Item, active, dumped, with_value

if TYPE_CHECKING:
    from nanomem_tui.language.times_asked import Span
    from nanomem_tui.memory.recall.recall import Recalled
    from nanomem_tui.memory.retention import Compaction


MAX_TEXT = 1_000_000
EDITABLE = ("text", "kind", "importance", "scope_type", "scope_key", "channel", "chat_id", "sender_id")
PLACE = frozenset(EDITABLE[3:])


class Items:
    """The items of one workspace."""

    def __init__(
        self, store: MemoryStore, foreign: Sequence[Path], perform: Perform, recall: Callable[[], Recall]
    ) -> None:
        self._store = store
        self._foreign = foreign
        self._perform = perform
        self._sorted: tuple[int, list[Item]] = (-1, [])
        self._recall = recall

    @cached_property
    def _twins(self) -> Twins:

        return Twins(self._store)

    # -- reading ------------------------------------------------------------------------------------------------

    def all(self) -> list[Item]:
        """The active items, newest first, without those that wait in the inbox; the list is made once per change and
        must not be altered."""
        snapshot = self._store.load("item")
        counter = snapshot.counter
        if self._sorted[0] != counter:
            with snapshot.lock:
                rows = active(snapshot.items.values())
                self._sorted = (counter, [row for row in rows if row.enabled or not row.waits])
        return self._sorted[1]

    def first(self, limit: int) -> list[Item]:
        """The newest items for a first page; does not load the rest where a database holds them."""
        found = lookup.newest(self._store, limit) if not self._store.loaded else None
        return found if found is not None else self.all()[:limit]

    def foreign(self) -> list[Item]:
        """The active rows of other systems' databases that are not imported, or whose import was taken back; not
        those that a person deleted here. Read-only."""
        if not self._foreign:
            return []
        from nanomem_tui.memory.foreign import active, taken_back

        rows = list(active(self._store.paths, self._foreign, self._store.workspace_id))
        ours = self._store.load().items
        gone = {row["id"] for row, _ in rows if row["id"] in ours and ours[row["id"]].is_deleted}
        back = taken_back(self._store.journal, gone)
        found = [_foreign_item(row, path.name) for row, path in rows if row["id"] not in ours or row["id"] in back]
        found = values.without_known_facts(found, ours.values())
        return sorted(found, key=lambda item: (item.updated_at, item.id), reverse=True)

    def count(self) -> dict[str, Any]:
        """`total`, `enabled` and the counts by kind, scope and source of the active items; `inbox`: how many wait for
        a person beside them."""
        groups = lookup.item_groups(self._store)
        totals = {"by_kind": Counter[str](), "by_scope": Counter[str](), "by_source": Counter[str]()}
        found = {"total": 0, "enabled": 0, "inbox": 0}
        for kind, scope, source, is_enabled, number, waiting in groups:
            active = number - waiting
            found["total"] += active
            found["enabled"] += active if is_enabled else 0
            found["inbox"] += waiting
            for name, value in (("by_kind", kind), ("by_scope", scope), ("by_source", source)) if active else ():
                totals[name][value] += active
        return {**found, **{name: dict(sorted(c.items())) for name, c in totals.items()}}

    def known_kind(self, kind: str | None) -> None:
        """Raise BadInput for a kind that is neither one of ours nor that of any item, foreign ones too."""
        if kind is None or kind in KINDS or kind in self.count()["by_kind"]:
            return
        others = {row.kind for row in self.foreign()}
        if kind not in others:
            known = [*KINDS, *sorted({*self.count()["by_kind"], *others} - {*KINDS})]
            raise BadInput(f"unknown kind `{kind}`", "--kind", f"one of {', '.join(known)}")

    def get(self, item_id: str) -> Item:
        """The item of that id, or of the one id that begins so; also one that waits in the inbox, which `waits` tells.

        Raises NotFound or BadInput.
        """
        rows = self._store.load().items
        row = rows.get(item_id)
        if row is None:
            near = [item for key, item in rows.items() if item_id and key.startswith(item_id) and not item.is_deleted]
            if len(near) > 1:
                raise BadInput(f"{len(near)} items begin with that id", item_id, "give more of it")
            row = near[0] if near else None
        if row is None or row.is_deleted:
            raise NotFound("no such item", item_id, "see `nanomem memory list`")
        return row

    def _active(self, item_id: str) -> Item:
        """As `get`, for a change. Raises Refused for one that waits: what becomes of that is decided in the inbox."""
        row = self.get(item_id)
        if row.waits:
            raise Refused("it waits in the inbox", row.id, f"`nanomem inbox accept {row.id}`, or reject it")
        return row

    def history(self, item_id: str) -> list[LogEntry]:
        """Every operation that touched the item, newest first; also of a deleted one."""
        rows = self._store.load().items
        key = item_id if item_id in rows else self.get(item_id).id
        return self._store.journal.log(10_000, key=key)

    def search(self, query: str, **asked: Any) -> list[Hit]:
        """The hits of `asked`, which takes the same."""
        return list(self.asked(query, **asked).hits)

    def asked(
        self,
        query: str,
        *,
        channel: str | None = None,
        chat_id: str | None = None,
        sender_id: str | None = None,
        scope: str | None = None,
        kind: str | None = None,
        limit: int = 20,
        within: Span | None = None,
    ) -> Recalled:
        """The best items for the query, best first, with what the answer says beside them.

        Without channel, chat and sender every scope is searched (the owner's view); with any of them only what is
        visible there: that chat, that sender, and what is global. `within`: only what was said in these days or is
        about them; without words all of that. Raises BadInput: an unknown scope or kind, a chat or a sender without a
        channel.
        """
        from nanomem_tui.memory.recall.recall import Question

        self.known_kind(kind)
        audience = scopes.Audience(channel, chat_id, sender_id)
        kinds = () if kind is None else (kind,)
        question = Question(query, "", audience, scope or "all", kinds, limit, whole=True, within=within)
        return self.recall.ask(question, beside=[item for item in self.foreign() if item.enabled])

    @property
    def recall(self) -> Recall:
        """The recall over these items."""
        return self._recall()

    # -- changing -----------------------------------------------------------------------------------------------

    def add(
        self,
        text: str,
        kind: str = "fact",
        scope_type: str | None = None,
        channel: str | None = None,
        chat_id: str | None = None,
        sender_id: str | None = None,
        importance: float = 0.7,
        source: str = "manual",
        *,
        merge: bool = False,
    ) -> tuple[Operation, Item, list[str]]:
        """A new item: the operation, the item, and warnings (an equal text is already there). With `merge` the enabled
        item of that scope that says the same is confirmed in its place, as a turn confirms it.

        Without scope and channel it is global; with a channel and chat it belongs to that chat. Raises BadInput.
        """
        scope_type = scope_type or ("global" if channel is None else "chat")
        audience = scopes.Audience(channel or None, chat_id or None, sender_id or None)
        scope_key = scopes.key_for(scope_type, audience, self._store.workspace_id)
        now = clock.iso(moment := clock.now())
        item = Item(
            id=new_key("ltm"),
            text=checked(text),
            kind=_one_of(kind, KINDS, "--kind"),
            scope_type=scope_type,
            scope_key=scope_key,
            channel=channel,
            chat_id=chat_id,
            sender_id=sender_id,
            importance=_fraction(importance),
            source=source,
            created_at=now,
            updated_at=now,
            expires_at=retention.expires_at(kind, moment, self._store.settings),
        )
        from nanomem_tui.memory.recall import times  # a reading command reads no dates

        item = times.dated(item, self._today())
        twin = self._twins.find(scope_key, item.text) if merge else None
        if twin is not None and twin.enabled:
            return self._confirmed(twin, item)
        from nanomem_tui.memory import notes

        warnings = self.warnings(item)
        mirrored = notes.changes(self._store.paths, self._store.settings, [item])
        operation = new_operation("items.add", f"add {told(text)}", [change_of("item", None, item), *mirrored])
        return self._perform(operation), item, warnings

    def _confirmed(self, twin: Item, item: Item) -> tuple[Operation, Item, list[str]]:
        """The item that says what `item` says already, once it was said again."""
        after = twin._replace(
            hits=twin.hits + 1,
            updated_at=max(twin.updated_at, item.updated_at),
            importance=max(twin.importance, item.importance),
            expires_at=max(twin.expires_at, item.expires_at or twin.expires_at) if twin.expires_at else None,
        )
        from nanomem_tui.memory.recall import times  # a reading command reads no dates

        after = times.dated(after, self._today())
        fix = f"`nanomem memory edit {twin.id} --kind {item.kind}` changes that"
        warnings = [f"it stays a {twin.kind}: {fix}"] if twin.kind != item.kind else []
        label = f"confirm {told(twin.text)}, which is remembered already"
        return self._perform(new_operation("items.confirm", label, [change_of("item", twin, after)])), after, warnings

    def warnings(self, item: Item) -> list[str]:
        """What a person should know who gave an item its text: the same text is there already, or the filters of
        captured text would have held it. It is kept as given all the same."""
        from nanomem_tui.memory import safety

        twins = [row for row in lookup.same_text(self._store, item.text) if row.scope_key == item.scope_key]
        twins = [row for row in twins if row.id != item.id]
        where = "waits in the inbox" if twins and twins[0].waits else "is already there"
        return [*(f"the same text {where} as {row.id}" for row in twins[:1]), *safety.warnings(item.text)]

    def edit(self, item_id: str, *, expected: Item | None = None, **fields: Any) -> Operation:
        """Change fields of an item (`text`, `kind`, `importance`, scope); `warnings` tells what is odd about a text.

        `expected`: the item as it was shown to who edits it. Raises Conflict when somebody changed one of the fields
        since, BadInput, NotFound, NothingToDo, and Refused for an item that waits in the inbox, as every change does.
        """
        unknown = fields.keys() - set(EDITABLE)
        if unknown:
            raise BadInput(f"cannot edit {', '.join(sorted(unknown))}", item_id, f"one of {', '.join(EDITABLE)}")
        if expected is not None:
            self._store.see_others()
        row = self._active(item_id)
        if "text" in fields:
            fields["text"] = checked(fields["text"])
        if "kind" in fields:
            fields["kind"] = _one_of(fields["kind"], KINDS, "--kind")
        if "importance" in fields:
            fields["importance"] = _fraction(fields["importance"])
        as_shown(row, expected, fields)
        if all(getattr(row, name) == value for name, value in fields.items()) and settled(row, fields) == row.meta_json:
            raise NothingToDo("nothing to change", row.id)
        moment = clock.now()
        if fields.get("kind", row.kind) != row.kind:
            fields["expires_at"] = retention.expires_at(fields["kind"], moment, self._store.settings)
        at = row.updated_at if fields.keys() <= PLACE else clock.iso(moment)  # who moves a text does not say it again
        after = with_value(row._replace(**fields, updated_at=at, meta_json=settled(row, fields)))
        from nanomem_tui.memory.recall import times  # a reading command reads no dates

        after = times.reworded(row, after, self._today())
        return self._perform(new_operation("items.edit", f"edit {told(after.text)}", [change_of("item", row, after)]))

    def _today(self) -> str:
        """The day in the agent's zone."""
        from nanomem_tui.memory.recall import times  # a reading command reads no dates

        return times.day_of_time(clock.iso(clock.now()), times.agent_zone(self._store.paths))

    def set_enabled(self, ids: Sequence[str], enabled: bool) -> Operation:
        """Enable or disable items; a disabled item is kept and never recalled. Who enables a superseded one is told so.
        Raises NotFound, NothingToDo."""
        return self._set(ids, "enabled", enabled, "enable" if enabled else "disable")

    def set_pinned(self, ids: Sequence[str], pinned: bool) -> Operation:
        """Pin items, so that no compaction removes them, or let them go."""
        return self._set(ids, "pinned", pinned, "pin" if pinned else "unpin")

    def delete(self, ids: Sequence[str]) -> Operation:
        """Delete items; `undo` brings them back. Raises NotFound."""
        return self._set(ids, "is_deleted", True, "delete")

    def _set(self, ids: Sequence[str], field: str, value: Any, verb: str) -> Operation:
        rows = list({row.id: row for row in map(self._active, ids)}.values())
        touched = [row for row in rows if bool(getattr(row, field)) != value]
        if not touched:
            raise NothingToDo(f"nothing to {verb}", ", ".join(ids))
        back = verb == "enable"
        changes = [
            change_of("item", row, (superseded.cleared(row) if back else row)._replace(**{field: value}))
            for row in touched
        ]
        label = f"{verb} {told(touched[0].text) if len(touched) == 1 else counted(len(touched), 'item')}"
        label += superseded.noted(touched) if back else ""
        return self._perform(new_operation(f"items.{verb}", label, changes))

    def merge(self, ids: Sequence[str], *, into: str = "") -> Operation:
        """Make one item of several: the newest (or `into`, one of them) stays, with the hits, the oldest origin and
        all sources of the others (`merging`). Raises Refused where scopes or kinds differ and no `into` says which one
        is to stand."""
        found = {row.id: row for row in map(self._active, ids)}
        rows = sorted(found.values(), key=lambda row: (row.id == into, row.updated_at))
        if len(rows) < 2:
            raise BadInput("a merge needs two or more items", ", ".join(ids), "select them with space")
        if not into and len({(row.scope_key, row.kind) for row in rows}) > 1:
            fix = "make them alike first, or `nanomem memory merge … --into ID` says which one stands"
            raise Refused("they differ in scope or kind", f"{len(rows)} items", fix)
        kept, others = rows[-1], rows[:-1]
        after = merging.merged(kept, others)
        changes = [change_of("item", kept, after)] if after != kept else []
        changes += [change_of("item", row, row._replace(is_deleted=True)) for row in others]
        return self._perform(new_operation("items.merge", f"merge {len(rows)} items into {told(kept.text)}", changes))

    # -- compaction and pruning -----------------------------------------------------------------------------------

    def compact_preview(self, max_items: int | None = None) -> Compaction[Item]:
        """What a compaction to `max_items` would remove (default: the cap of the settings; 0: duplicates only)."""
        from nanomem_tui.memory.retention import compact_items

        limit = self._store.settings.max_items if max_items is None else max_items
        if limit < 0:
            raise BadInput("the number of items cannot be negative", "--max-items")
        return compact_items(self.all(), limit)

    def compact(self, max_items: int | None = None, *, actor: Actor = "human") -> Operation:
        """Remove what `compact_preview` shows, as one operation. Raises NothingToDo."""
        plan = self.compact_preview(max_items)
        if not plan.removed:
            rest = counted(len(plan.kept), "item")
            raise NothingToDo("nothing to compact", f"{rest}, no duplicates, none beyond the cap")
        changes = [change_of("item", row, row._replace(is_deleted=True)) for row, _ in plan.removed]
        gained = [(row, plan.absorbed[row.id]) for row in plan.kept if row.id in plan.absorbed]
        changes += [change_of("item", row, row._replace(hits=row.hits + extra)) for row, extra in gained if extra]
        removed, kept = len(plan.removed), len(plan.kept)
        meta = {"removed": removed, "kept": kept, "found": removed + kept}
        label = f"compact: {counted(len(plan.removed), 'item')} removed, {len(plan.kept):,} kept"
        label += f", more than {retention.BUFFER} times `max_items` ({plan.limit:,})" if actor == "compaction" else ""
        return self._perform(new_operation("items.compact", label, changes, actor=actor, meta=meta))

    def compact_if_over_cap(self) -> None:
        """The compaction that a checkpoint starts by itself, only beyond 1.1 times the cap (seed 000).

        What came at once (an import; more would go than stay) is told first, and stays for a day. A compaction that
        somebody took back is not made again before there are 1.1 times the items that it met.
        """
        limit, rows, journal = self._store.settings.max_items, self._store.snapshot.items, self._store.journal
        number = retention.enabled(rows.values()) if retention.is_over(len(rows), limit) else 0
        if not retention.is_over(number, limit) or retention.waits(self._store, number):
            return
        last = journal.newest("items.compact", "compaction")
        if last is not None and last.undone and number <= retention.BUFFER * last.operation.meta.get("found", 0):
            return
        removed = len(self.compact_preview(limit).removed)
        if 2 * removed > number and not retention.is_told(self._store, last):
            self._perform(retention.notice(retention.Overflow(number, limit, removed)))
        elif removed:
            self.compact(limit, actor="compaction")

    def problems(self) -> list[Problem]:
        """What a person should know of a compaction that a checkpoint is to start, or made in the last days."""
        return retention.problems(self._store)

    def prune_preview(self, older_than_days: int, kind: str | None = None, scope: str | None = None) -> list[Item]:
        """The items not updated for that many days, by kind and scope; pinned ones stay."""
        if older_than_days < 0:
            raise BadInput("days cannot be negative", "--older-than-days")
        self.known_kind(kind)
        limit = clock.iso(clock.days_ago(older_than_days))
        return [
            item
            for item in self.all()
            if item.updated_at < limit
            and not item.pinned
            and (kind is None or item.kind == kind)
            and (scope in (None, "all") or item.scope_type == scope)
        ]

    def prune(self, older_than_days: int, kind: str | None = None, scope: str | None = None) -> Operation:
        """Delete what `prune_preview` shows, as one operation. Raises NothingToDo."""
        rows = self.prune_preview(older_than_days, kind, scope)
        if not rows:
            raise NothingToDo("nothing to prune", f"no item is older than {counted(older_than_days, 'day')}")
        changes = [change_of("item", row, row._replace(is_deleted=True)) for row in rows]
        label = f"prune {counted(len(rows), 'item')} older than {counted(older_than_days, 'day')}"
        return self._perform(new_operation("items.prune", label, changes))


def _foreign_item(row: dict[str, Any], name: str) -> Item:
    known = {field: row[field] for field in Item._fields if field in row and row[field] is not None}
    return Item(**{**known, "text": row["content"], "source": f"foreign:{name}", "revision": 0})


def checked(text: str, where: str = "--text") -> str:
    """A text as an item keeps it. Raises BadInput for one that is empty, too long or no UTF-8; `where`: its option."""
    if not text.strip():
        raise BadInput("the text is empty", where, "give the words to remember")
    if len(text) > MAX_TEXT:
        raise BadInput(f"the text has {len(text):,} characters, at most {MAX_TEXT:,} are kept", where, "split it")
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise BadInput("the text holds a lone surrogate, which is no UTF-8", where, "remove it")
    return text.strip()


def _one_of(value: str, known: Sequence[str], where: str) -> str:
    if value not in known:
        raise BadInput(f"unknown value `{value}`", where, f"one of {', '.join(known)}")
    return value


def _fraction(value: float) -> float:
    if not 0 <= value <= 1:
        raise BadInput("importance goes from 0 to 1", "--importance")
    return float(value)


# -- Editing several items at once, as one operation that one undo takes back -----------------------------------------


def edit_items(store: MemoryStore, perform: Perform, ids: Sequence[str], fields: Mapping[str, Any]) -> Operation:
    """Set `fields` of every item of `ids`; rows that are so already stay. Raises what `Items.edit` does."""
    parts: list[Operation] = []

    def keep(operation: Operation) -> Operation:
        parts.append(operation)
        return operation

    items = Items(store, (), keep, lambda: Recall(store, store.settings))
    for item_id in ids:
        try:
            items.edit(item_id, **fields)
        except NothingToDo:
            continue
    if not parts:
        raise NothingToDo("nothing to change", ", ".join(ids))
    if len(parts) == 1:
        return perform(parts[0])
    values = {name: told(str(value)) if name == "text" else value for name, value in fields.items()}
    label = f"edit {counted(len(parts), 'item')}: {', '.join(f'{name} {value}' for name, value in values.items())}"
    return perform(new_operation("items.edit", label, [change for part in parts for change in part.changes]))


# Items moved or copied from one scope to another, many of them as one operation that one undo takes back.

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
