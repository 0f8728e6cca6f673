"""Long-term items: list, search, add, edit, pin, merge, move, delete and compact them, each change one operation.

Owns merging (the item that stays takes over hits, origin and wordings of the others), the index of facts by name, and
moving items between scopes. Must not know a screen or a file format beyond the foreign rows that are shown beside ours.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, NothingToDo, Problem, Refused
from nanomem_tui.core.operations import Change, Operation, Perform, new_key, new_operation, plan_only
from nanomem_tui.core.text import counted
from nanomem_tui.language import dates
from nanomem_tui.memory import retention, row_service, scopes
from nanomem_tui.memory.edit_conflicts import check_unchanged, quote_start, settle_conflict
from nanomem_tui.memory.recall import said_on
from nanomem_tui.memory.scopes import USER_KINDS, Scope
from nanomem_tui.store import lookup, values
from nanomem_tui.store.database.operation_log import LogEntry
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import KINDS, Fact, Hit, Identity, Item, active, dumped, fact_of, identity_of, with_value

if TYPE_CHECKING:
    from nanomem_tui.language.times_asked import Span
    from nanomem_tui.memory.recall.recall import Recall, Recalled


class KnownFacts(Mapping[Identity, Fact]):
    """The facts of one store by identity; of two rows that say they are the same fact the newer. Every look is up to
    date. Raises what loading the rows does."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._changed: set[str] | None = None
        self._facts: dict[str, Fact] = {}
        self._ids: defaultdict[Identity, set[str]] = defaultdict(set)
        self._sorted: list[Fact] | None = None

    def newest_first(self) -> list[Fact]:
        """Return every fact; the list must not be altered."""
        self._update()
        if self._sorted is None:
            self._sorted = sorted(self._facts.values(), key=_age, reverse=True)
        return self._sorted

    def _update(self) -> None:
        snapshot = self._store.load("item")
        with snapshot.lock:
            if self._changed is None:
                self._changed = snapshot.watch()
                changed = set(snapshot.items)
            else:
                changed = set(self._changed)
            self._changed.clear()
            for key in changed:
                self._forget(key)
                item = snapshot.items.get(key)
                if item is not None and (fact := _active(item)) is not None:
                    self._facts[key] = fact
                    self._ids[identity_of(fact)].add(key)
                    self._sorted = None

    def _forget(self, key: str) -> None:
        fact = self._facts.pop(key, None)
        if fact is None:
            return
        self._sorted = None
        known = identity_of(fact)
        self._ids[known].discard(key)
        if not self._ids[known]:
            del self._ids[known]

    def __getitem__(self, known: Identity) -> Fact:
        self._update()
        if known not in self._ids:
            raise KeyError(known)
        return max((self._facts[key] for key in self._ids[known]), key=_age)

    def __iter__(self) -> Iterator[Identity]:
        self._update()
        return iter(list(self._ids))

    def __len__(self) -> int:
        self._update()
        return len(self._ids)


def _active(item: Item) -> Fact | None:
    if item.is_deleted or (not item.enabled and item.waits):
        return None
    return fact_of(item)


def _age(fact: Fact) -> tuple[str, str]:
    return fact.item.updated_at, fact.id


# -- One item made of several: what it takes over from those that go. Pure --------------------------------------------

MOST = 200
"""Sources that one item keeps of those merged into it, the oldest first; the ledger has every one."""
LONG = 500
"""Characters of words beyond which they are no alias, and are kept in the ledger only."""
ORIGIN = ("session_key", "source_message_id", "source_role")
TOLD = ("source", *ORIGIN, "channel", "chat_id", "sender_id")
"""What is kept of a source, where it is known."""


def merge_into(kept: Item, others: Sequence[Item]) -> Item:
    """Return the item that stays, with the hits, origin, pin, importance, life, sources and words of all."""
    rows = [kept, *others]
    oldest = min(rows, key=lambda row: (row.created_at, row.id))
    known = min((row for row in rows if row.session_key), key=lambda row: (row.created_at, row.id), default=kept)
    recalled = [row.last_accessed_at for row in rows if row.last_accessed_at]
    kept = said_on.date_item(kept, said_on.day_said(kept)) if dates.has_relative(kept.text) else kept
    return kept._replace(
        hits=sum(row.hits for row in rows),
        created_at=oldest.created_at,
        pinned=any(row.pinned for row in rows),
        importance=max(row.importance for row in rows),
        expires_at=retention.latest_expiry(rows),
        last_accessed_at=max(recalled, default=None),
        meta_json=_merged_meta(kept, others),
        **{name: getattr(known, name) for name in ORIGIN},
    )


def merged_words(item: Item) -> Sequence[str]:
    """Return the words of items that were merged into this one, as long as its own words are those of that time."""
    if '"aliases"' not in item.meta_json:
        return ()
    found = item.meta.get("aliases")
    if not isinstance(found, dict) or found.get("of") != _print(item.text):
        return ()
    words = found.get("words")
    return [word for word in words if isinstance(word, str)] if isinstance(words, list) else ()


def _merged_meta(kept: Item, others: Sequence[Item]) -> str:
    meta = kept.meta
    told = {entry["id"]: entry for row in (kept, *others) for entry in _entries(row)}
    for row in (kept, *others):
        told.setdefault(row.id, _entry(row, kept))
    entries = sorted(told.values(), key=lambda entry: (str(entry.get("created_at")), str(entry["id"])))
    meta["merged_from"] = entries[:MOST]
    words = list(merged_words(kept))
    for row in others:
        words += [row.text, *merged_words(row)] if row.scope_key == kept.scope_key else []
    words = [word for word in dict.fromkeys(words) if word != kept.text and len(word) <= LONG]
    if words:
        meta["aliases"] = {"of": _print(kept.text), "words": words[:MOST]}
    return dumped(meta)


def _entries(row: Item) -> Iterable[dict[str, Any]]:
    found = row.meta.get("merged_from") if '"merged_from"' in row.meta_json else None
    rows = found if isinstance(found, list) else []
    return [entry for entry in rows if isinstance(entry, dict) and isinstance(entry.get("id"), str)]


def _entry(row: Item, kept: Item) -> dict[str, Any]:
    """Return a source as the merged item keeps it; words of another scope stay there."""
    told = {name: value for name in TOLD if (value := getattr(row, name))}
    if row.scope_key == kept.scope_key and row.text != kept.text and len(row.text) <= LONG:
        told["text"] = row.text
    return {"id": row.id, "hits": row.hits, "created_at": row.created_at, **told}


def _print(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


# Which item is the same memory as a text: by scope and by the words without width, case and marks, its own or those
# of an item that was merged into it.


class SameTextIndex:
    """The items of one store by scope key; texts are folded where they are first compared."""

    def __init__(self, store: MemoryStore) -> None:
        self._snapshot = store.snapshot
        self._changed: set[str] | None = None
        self._places: dict[str, str] = {}
        self._scopes: defaultdict[str, dict[str, tuple[str, ...] | None]] = defaultdict(dict)

    def find(self, scope_key: str, text: str) -> Item | None:
        """Return the item with the same text: enabled before disabled, its own words before merged ones."""
        from nanomem_tui.memory.safety import normalise

        wanted = normalise(text)
        with self._snapshot.lock:
            self._update()
            folded = self._scopes.get(scope_key, {})
            found: Item | None = None
            best = (False, False)
            for key, known in folded.items():
                item = self._snapshot.items[key]
                words = known if known is not None else tuple(map(normalise, (item.text, *merged_words(item))))
                folded[key] = words
                if wanted in words and (found is None or (bool(item.enabled), words[0] == wanted) > best):
                    found, best = item, (bool(item.enabled), words[0] == wanted)
            return found

    def of_scope(self, scope_key: str) -> list[Item]:
        """Return the items of that scope that are not deleted."""
        with self._snapshot.lock:
            self._update()
            return [self._snapshot.items[key] for key in self._scopes.get(scope_key, ())]

    def _update(self) -> None:
        items = self._snapshot.items
        if self._changed is None:
            self._changed = self._snapshot.watch()
            changed = list(items)
        else:
            changed = list(self._changed)
        self._changed.clear()
        for key in changed:
            if (old := self._places.pop(key, None)) is not None:
                del self._scopes[old][key]
            item = items.get(key)
            if item is not None and not item.is_deleted:
                self._places[key] = item.scope_key
                self._scopes[item.scope_key][key] = None


# Long-term items as a person works with them: read, find, add, edit, disable, pin, delete, merge, compact, prune.

EDITABLE = ("text", "kind", "importance", "scope_type", "scope_key", "channel", "chat_id", "sender_id")
PLACE = frozenset(EDITABLE[3:])


class Items(row_service.RowService[Item]):
    """The items of one workspace."""

    layer, see = "item", "nanomem memory list"

    def __init__(
        self, store: MemoryStore, foreign: Sequence[Path], perform: Perform, recall: Callable[[], Recall]
    ) -> None:
        super().__init__(store, perform)
        self._foreign = foreign
        self._sorted: tuple[int, list[Item]] = (-1, [])
        self._recall = recall

    @cached_property
    def _same_texts(self) -> SameTextIndex:

        return SameTextIndex(self._store)

    # -- reading ------------------------------------------------------------------------------------------------

    def all(self) -> list[Item]:
        """Return the active items, newest first; made once per change, must not be altered."""
        snapshot = self._store.load("item")
        counter = snapshot.counter
        if self._sorted[0] != counter:
            with snapshot.lock:
                rows = active(snapshot.items.values())
                self._sorted = (counter, [row for row in rows if row.enabled or not row.waits])
        return self._sorted[1]

    def first(self, limit: int) -> list[Item]:
        """Return the newest items for a first page; does not load the rest where a database holds them."""
        found = lookup.newest(self._store, limit) if not self._store.loaded else None
        return found if found is not None else self.all()[:limit]

    def foreign(self) -> list[Item]:
        """Return active rows of other systems' databases that are not here, nor deleted here by a person."""
        if not self._foreign:
            return []
        from nanomem_tui.memory.transfer.foreign import active_rows, find_undone

        rows = list(active_rows(self._store.paths, self._foreign, self._store.workspace_id))
        ours = self._store.load().items
        gone = {row["id"] for row, _ in rows if row["id"] in ours and ours[row["id"]].is_deleted}
        back = find_undone(self._store.journal, gone)
        found = [_foreign_item(row, path.name) for row, path in rows if row["id"] not in ours or row["id"] in back]
        found = values.without_known_facts(found, ours.values())
        return sorted(found, key=lambda item: (item.updated_at, item.id), reverse=True)

    def count(self) -> dict[str, Any]:
        """Count the active items by kind, scope and source; `inbox`: those that wait for a person."""
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

    def history(self, item_id: str) -> list[LogEntry]:
        """Return every operation that touched the item, newest first; also of a deleted one."""
        rows = self._store.load().items
        key = item_id if item_id in rows else self.get(item_id).id
        return self._store.journal.log(10_000, key=key)

    def search(self, query: str, **asked: Any) -> list[Hit]:
        """Return the hits of `asked`, which takes the same."""
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
        """Return the best items for the query, best first, with what the answer says beside them.

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
        item = retention.new_item(
            check_text(text), _one_of(kind, KINDS, "--kind"), (scope_type, scope_key), audience, clock.now(),
            self._store.settings, importance=_fraction(importance), source=source,
        )  # fmt: skip
        item = said_on.date_item(item, self._today())
        duplicate = self._same_texts.find(scope_key, item.text) if merge else None
        if duplicate is not None and duplicate.enabled:
            return self._confirmed(duplicate, item)
        from nanomem_tui.memory import notes

        warnings = self.warnings(item)
        mirrored = notes.mirror_changes(self._store.paths, self._store.settings, [item])
        operation = new_operation("items.add", f"add {quote_start(text)}", [change_of("item", None, item), *mirrored])
        return self._perform(operation), item, warnings

    def _confirmed(self, duplicate: Item, item: Item) -> tuple[Operation, Item, list[str]]:
        """Return the item that says what `item` says already, once it was said again."""
        after = duplicate._replace(
            hits=duplicate.hits + 1,
            updated_at=max(duplicate.updated_at, item.updated_at),
            importance=max(duplicate.importance, item.importance),
            expires_at=max(duplicate.expires_at, item.expires_at or duplicate.expires_at)
            if duplicate.expires_at
            else None,
        )

        after = said_on.date_item(after, self._today())
        fix = f"`nanomem memory edit {duplicate.id} --kind {item.kind}` changes that"
        warnings = [f"it stays a {duplicate.kind}: {fix}"] if duplicate.kind != item.kind else []
        label = f"confirm {quote_start(duplicate.text)}, which is remembered already"
        return (
            self._perform(new_operation("items.confirm", label, [change_of("item", duplicate, after)])),
            after,
            warnings,
        )

    def warnings(self, item: Item) -> list[str]:
        """Return warnings about the text of an item: it is there already, or capture would have held it back."""
        from nanomem_tui.memory import safety

        duplicates = [row for row in lookup.same_text(self._store, item.text) if row.scope_key == item.scope_key]
        duplicates = [row for row in duplicates if row.id != item.id]
        where = "waits in the inbox" if duplicates and duplicates[0].waits else "is already there"
        return [*(f"the same text {where} as {row.id}" for row in duplicates[:1]), *safety.warnings(item.text)]

    def edit(self, item_id: str, *, expected: Item | None = None, **fields: Any) -> Operation:
        """Change fields of an item; `expected`: the item as it was shown, for Conflict with somebody's change."""
        unknown = fields.keys() - set(EDITABLE)
        if unknown:
            raise BadInput(f"cannot edit {', '.join(sorted(unknown))}", item_id, f"one of {', '.join(EDITABLE)}")
        if expected is not None:
            self._store.see_others()
        row = self._active(item_id)
        if "text" in fields:
            fields["text"] = check_text(fields["text"])
        if "kind" in fields:
            fields["kind"] = _one_of(fields["kind"], KINDS, "--kind")
        if "importance" in fields:
            fields["importance"] = _fraction(fields["importance"])
        check_unchanged(row, expected, fields)
        if (
            all(getattr(row, name) == value for name, value in fields.items())
            and settle_conflict(row, fields) == row.meta_json
        ):
            raise NothingToDo("nothing to change", row.id)
        moment = clock.now()
        if fields.get("kind", row.kind) != row.kind:
            fields["expires_at"] = retention.expires_at(fields["kind"], moment, self._store.settings)
        at = row.updated_at if fields.keys() <= PLACE else clock.iso(moment)  # who moves a text does not say it again
        after = with_value(row._replace(**fields, updated_at=at, meta_json=settle_conflict(row, fields)))

        after = said_on.redate_item(row, after, self._today())
        return self._perform(
            new_operation("items.edit", f"edit {quote_start(after.text)}", [change_of("item", row, after)])
        )

    def _today(self) -> str:
        return said_on.day_of_time(clock.iso(clock.now()), said_on.agent_zone(self._store.paths))

    def set_pinned(self, ids: Sequence[str], pinned: bool) -> Operation:
        """Pin items, so that no compaction removes them, or let them go."""
        return self._set(ids, "pinned", pinned, "pin" if pinned else "unpin")

    def merge(self, ids: Sequence[str], *, into: str = "") -> Operation:
        """Make one item of several: the newest (or `into`, one of them) stays, with the hits, the oldest origin and
        all sources of the others. Raises Refused where scopes or kinds differ and no `into` says which one
        is to stand."""
        found = {row.id: row for row in map(self._active, ids)}
        rows = sorted(found.values(), key=lambda row: (row.id == into, row.updated_at))
        if len(rows) < 2:
            raise BadInput("a merge needs two or more items", ", ".join(ids), "select them with space")
        if not into and len({(row.scope_key, row.kind) for row in rows}) > 1:
            fix = "make them alike first, or `nanomem memory merge … --into ID` says which one stands"
            raise Refused("they differ in scope or kind", f"{len(rows)} items", fix)
        kept, others = rows[-1], rows[:-1]
        after = merge_into(kept, others)
        changes = [change_of("item", kept, after)] if after != kept else []
        changes += [change_of("item", row, row._replace(is_deleted=True)) for row in others]
        return self._perform(
            new_operation("items.merge", f"merge {len(rows)} items into {quote_start(kept.text)}", changes)
        )

    # -- compaction and pruning -----------------------------------------------------------------------------------

    def compact_if_over_cap(self) -> None:
        """The compaction that a checkpoint starts by itself, only beyond 1.1 times the cap (seed 000).

        What came at once (an import; more would go than stay) is told first, and stays for a day. A compaction that
        somebody took back is not made again before there are 1.1 times the items that it met.
        """
        limit, rows, journal = self._store.settings.max_items, self._store.snapshot.items, self._store.journal
        number = retention.count_enabled(rows.values()) if retention.is_over_cap(len(rows), limit) else 0
        if not retention.is_over_cap(number, limit) or retention.is_announced(self._store, number):
            return
        last = journal.newest("items.compact", "compaction")
        if last is not None and last.undone and number <= retention.BUFFER * last.operation.meta.get("found", 0):
            return
        removed = len(self.compact_preview(limit).removed)
        if 2 * removed > number and not retention.was_announced(self._store, last):
            self._perform(retention.compaction_notice(retention.Overflow(number, limit, removed)))
        elif removed:
            self.compact(limit, actor="compaction")

    def problems(self) -> list[Problem]:
        """Return what a person should know of a compaction that a checkpoint is to start, or made in the last days."""
        return retention.compaction_problems(self._store)

    def prune_preview(self, older_than_days: int, kind: str | None = None, scope: str | None = None) -> list[Item]:
        """Return the items not updated for that many days, by kind and scope; pinned ones stay."""
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


def check_text(text: str, where: str = "--text") -> str:
    """A text as an item keeps it. Raises BadInput for one that is empty, too long or no UTF-8; `where`: its option."""
    from nanomem_tui.memory.safety import MAX_TEXT

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
    items = Items(store, (), plan_only, lambda: Recall(store, store.settings))
    for item_id in ids:
        try:
            parts.append(items.edit(item_id, **fields))
        except NothingToDo:
            continue
    if not parts:
        raise NothingToDo("nothing to change", ", ".join(ids))
    if len(parts) == 1:
        return perform(parts[0])
    values = {name: quote_start(str(value)) if name == "text" else value for name, value in fields.items()}
    label = f"edit {counted(len(parts), 'item')}: {', '.join(f'{name} {value}' for name, value in values.items())}"
    return perform(new_operation("items.edit", label, [change for part in parts for change in part.changes]))


# Items moved or copied from one scope to another, many of them as one operation that one undo takes back.

Verb = Literal["move", "copy"]


class SameMemory(NamedTuple):
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
    duplicates: tuple[SameMemory, ...] = ()
    unseen: tuple[Item, ...] = ()

    @property
    def mergeable(self) -> tuple[SameMemory, ...]:
        """Those that a merge makes one of."""
        return tuple(duplicate for duplicate in self.duplicates if duplicate.mergeable)

    @property
    def notes(self) -> list[str]:
        """What a person should know, in sentences without a full stop."""
        said = [f"{counted(len(self.there), 'item')} already in {self.scope.name}"] if self.there else []
        same = len(self.mergeable)
        if same:
            said.append(f"{counted(same, 'text')} {'is' if same == 1 else 'are'} there already: merging makes one item")
        said += list(
            dict.fromkeys(f"stays: {duplicate.why}" for duplicate in self.duplicates if not duplicate.mergeable)
        )
        if self.unseen:
            kinds = ", ".join(sorted({row.kind for row in self.unseen}))
            said.append(f"nobody will see {counted(len(self.unseen), 'item')} there: {kinds} does not follow a person")
        return said


class Moving:
    """Moves and copies items of one store."""

    def __init__(self, store: MemoryStore, perform: Perform) -> None:
        self._store = store
        self._perform = perform
        self._same_texts = SameTextIndex(store)
        self._facts = KnownFacts(store)

    def plan(self, ids: Sequence[str], scope: Scope, verb: Verb = "move") -> Plan:
        """Return what would become of the items. Raises NotFound, and Refused for one that waits in the inbox."""
        rows = list({row.id: row for row in map(self._row, ids)}.values())
        if not rows:
            raise BadInput("no item is named", verb, "name the items by their ids")
        goes: list[Item] = []
        there: list[Item] = []
        duplicates: list[SameMemory] = []
        arriving: dict[object, Item] = {}
        for row in rows:
            if _is_in(row, scope):
                there.append(row)
                continue
            marks = _marks(row, scope)
            first = next((arriving[mark] for mark in marks if mark in arriving), None)
            duplicate = self._duplicate(row, scope, {one.id for one in rows} if verb == "move" else frozenset())
            if duplicate is None and first is not None:
                duplicate = _compared(row, first, scope)
            if duplicate is not None:
                duplicates.append(duplicate)
                continue
            goes.append(row)
            arriving.update(dict.fromkeys(marks, row))
        unseen = [row for row in goes if scope.scope_type == "user" and row.kind not in USER_KINDS]
        return Plan(verb, scope, tuple(goes), tuple(there), tuple(duplicates), tuple(unseen))

    def do(
        self, ids: Sequence[str], scope: Scope, verb: Verb = "move", *, merge: bool = False
    ) -> tuple[Operation, Plan]:
        """Move or copy the items, as one operation; `merge` joins those whose words are there already."""
        with self._store.deciding.alone():
            plan = self.plan(ids, scope, verb)
            changes, number = self._changes(plan, merge=merge)
            row = plan.goes[0] if plan.goes else plan.mergeable[0].item
            what = quote_start(row.text) if number == 1 else counted(number, "item")
            operation = new_operation(f"items.{verb}", f"{verb} {what} to {scope.name}", changes)
            return self._perform(operation), plan

    def changes(self, ids: Sequence[str], scope: Scope) -> list[Change]:
        """Return what moves the items, merged where their words are there already, for who performs it."""
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
        for duplicate in plan.mergeable if merge else ():
            merged.setdefault(duplicate.there.id, []).append(duplicate.item)
            before.setdefault(duplicate.there.id, duplicate.there)
        for key, rows in merged.items():
            kept = moved.get(key, before[key])
            moved[key] = merge_into(kept, [_placed(row, plan.scope) for row in rows])
        gone = [row for rows in merged.values() for row in rows]
        changes = [change_of("item", before[key], after) for key, after in moved.items()]
        changes += [change_of("item", row, row._replace(is_deleted=True)) for row in gone]
        return changes, len(plan.goes) + len(gone)

    def _copy(self, row: Item, scope: Scope, now: str) -> Change:
        """Return a new item of the same words, without hits, history and sources."""
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
        row = self._store.snapshot.items.get(key := values.id_of(identity))
        return key if row is None or row.is_deleted else new_key("fact")

    def _row(self, item_id: str) -> Item:
        row: Item = row_service.find_by_id(self._store.load("item").items, item_id, "item", Items.see)
        row_service.refuse_waiting(row)
        return row

    def _duplicate(self, row: Item, scope: Scope, leaving: frozenset[str] | set[str]) -> SameMemory | None:
        """Return what stands in the way at the target."""
        identity = values.identity_of_item(_placed(row, scope))
        fact = self._facts.get(identity) if identity is not None else None
        if fact is not None and fact.id != row.id:
            return _compared(row, fact.item, scope)
        same = self._same_texts.find(scope.scope_key, row.text)
        if same is None or same.id == row.id or (same.id in leaving and not _is_in(same, scope)):
            return None
        return _compared(row, same, scope)


def _compared(row: Item, there: Item, scope: Scope) -> SameMemory:
    from nanomem_tui.memory.safety import normalise

    if there.waits:
        return SameMemory(
            row, there, f"the same text waits in the inbox for {scope.name} ({there.id})", mergeable=False
        )
    if not there.enabled and row.enabled:
        return SameMemory(row, there, f"the same text is switched off in {scope.name} ({there.id})", mergeable=False)
    if normalise(row.text) != normalise(there.text) and values.identity_of_item(row) is not None:
        return SameMemory(row, there, f"the fact has another value in {scope.name} ({there.id})", mergeable=False)
    if row.kind != there.kind:
        return SameMemory(row, there, f"the same text is there as {there.kind} ({there.id})", mergeable=False)
    return SameMemory(row, there, f"the same text is already in {scope.name} ({there.id})", mergeable=True)


def _is_in(row: Item, scope: Scope) -> bool:
    if scope.scope_type == "global":
        return row.scope_type == "global" and not row.scope_key.startswith("channel:")
    return (row.scope_type, row.scope_key) == (scope.scope_type, scope.scope_key)


def _placed(row: Item, scope: Scope) -> Item:
    return row._replace(**scope.fields)


def _marks(row: Item, scope: Scope) -> list[object]:
    """By what an item is known at its target: its words, and the fact that it is."""
    from nanomem_tui.memory.safety import normalise

    identity = values.identity_of_item(_placed(row, scope))
    return [normalise(row.text), *([identity] if identity is not None else [])]
