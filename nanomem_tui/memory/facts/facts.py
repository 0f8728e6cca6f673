"""Facts (seed 003): set, filter, look up, merge, and what each value was before.

A fact is an item with a domain, a category and a key; every change is one operation on items.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, NotFound, NothingToDo, Refused
from nanomem_tui.core.operations import Actor, Change, Operation, new_operation
from nanomem_tui.core.text import counted, normalised
from nanomem_tui.memory import retention, scopes
from nanomem_tui.memory.edit_conflicts import check_unchanged, quote_start, settle_conflict
from nanomem_tui.memory.items import Items, KnownFacts, check_text
from nanomem_tui.memory.recall import said_on
from nanomem_tui.store import values
from nanomem_tui.store.database.operation_log import LogEntry, takes_back_all
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Fact, Identity, Item, checked_name, dumped, fact_of, fold_key, identity_of, text_of

# -- The values that a fact had, as its operations tell them. Reads only ----------------------------------------------


class Value(NamedTuple):
    """One value that a fact had: from when to when (UTC ISO; until "": it is so now), who gave it by which operation
    ("": it came with the row), and the session and message that it is from."""

    value: str
    since: str
    until: str
    actor: str
    operation: str
    session_key: str | None
    source_message_id: str | None

    def to_json(self) -> dict[str, Any]:
        """Return the value as the command line prints it."""
        return self._asdict()


def value_history(
    item: Item,
    log_of: Callable[[str], Sequence[LogEntry]],
    rows: Mapping[str, Item],
    seen: frozenset[str] = frozenset(),
) -> list[Value]:
    """Return the values that the fact of this row had, newest first, also of what was merged into it. `log_of`: the
    operations that touched the row of an id, newest first; `rows`: all rows."""
    seen |= {item.id}
    given = _logged_values(item, log_of(item.id))
    found = [*sorted([*_imported_values(item), *given[:-1]], key=lambda one: one.since), given[-1]]
    ends = [*(one.since for one in found[1:]), ""]
    values = [one._replace(until=end) for one, end in zip(found, ends, strict=True)]
    for other in merged_ids(item):
        gone = rows.get(other)
        if gone is not None and other not in seen:
            before = value_history(gone, log_of, rows, seen)
            values += [one._replace(until=one.until or item.updated_at) for one in before]
    return sorted(values, key=lambda one: (one.until == "", one.since), reverse=True)


def _logged_values(item: Item, entries: Sequence[LogEntry]) -> list[Value]:
    """Return the values that operations gave, oldest first, at least the present one."""
    now = _value(item._asdict(), item.created_at, "", "")
    found = _replayed(item, [entry for entry in entries if not _is_taken_back(entry)])
    if not found or found[-1].value != now.value:  # an undo of a part, say: what happened, step by step
        found = _replayed(item, entries)
    return found or [now]


def _is_taken_back(entry: LogEntry) -> bool:
    operation = entry.operation
    return entry.undone or operation.kind == "redo" or (operation.kind == "undo" and takes_back_all(operation))


def _replayed(item: Item, entries: Sequence[LogEntry]) -> list[Value]:
    row: dict[str, Any] = {}
    found: list[Value] = []
    for entry in reversed(entries):
        operation = entry.operation
        for change in operation.changes_of(item.id):
            if change.layer != "item" or change.after is None or operation.kind == "void":
                continue
            if not row and change.before is not None:
                row = {**item._asdict(), **change.before}
                found.append(_value(row, item.created_at, "", ""))
            if row.get("is_deleted") and not change.after.get("is_deleted", True):
                found.clear()
            row.update(change.after)
            came = operation.kind == "memory.import" and change.before is None
            since = str(row.get("updated_at") or operation.at) if came else operation.at
            value = _value(row, since, operation.actor, operation.id)
            said = _said_at(row, value.value)
            if said and (not found or said >= found[-1].since):
                value = value._replace(since=said)
            if not row.get("is_deleted") and (not found or found[-1].value != value.value):
                found.append(value)
    return found


def merged_ids(item: Item) -> list[str]:
    """Return the ids of the facts that were merged into the one of this row."""
    fields = item.meta.get("fact")
    ids = fields.get("merged") if isinstance(fields, dict) else None
    return [one for one in ids if isinstance(one, str)] if isinstance(ids, list) else []


def _imported_values(item: Item) -> list[Value]:
    """Return the values that came with the row, oldest first: those that another system had for it before."""
    fields = item.meta.get("fact")
    told = fields.get("earlier") if isinstance(fields, dict) else None
    kept = [one for one in told if isinstance(one, dict)] if isinstance(told, list) else []
    values = [
        Value(str(one.get("value")), str(one.get("since")), "", str(one.get("actor") or "import"), "",
              one.get("session_key"), one.get("source_message_id"))
        for one in kept
    ]  # fmt: skip
    return sorted(values, key=lambda one: one.since)


def _said_at(row: Mapping[str, Any], value: str) -> str:
    fields = Item(id="", text="", meta_json=str(row.get("meta_json", "{}"))).meta.get("fact")
    said = fields.get("said") if isinstance(fields, dict) else None
    return str(said.get("at") or "") if isinstance(said, dict) and said.get("value") == value else ""


def _value(row: Mapping[str, Any], since: str, actor: str, operation: str) -> Value:
    fact = fact_of(Item(id="", text=str(row["text"]), meta_json=str(row.get("meta_json", "{}"))))
    value = fact.value if fact is not None else str(row["text"])
    return Value(value, since, "", actor, operation, row.get("session_key"), row.get("source_message_id"))


NO_DOMAIN = "(no domain)"
"""What stands for the domain of a fact that has none, in a tree and as a filter."""


class FactValue(NamedTuple):
    """A fact to be kept: its fields, and where it came from."""

    category: str
    key: str
    value: str
    domain: str | None = None
    sub_category: str | None = None
    scope_type: str = "global"
    channel: str | None = None
    chat_id: str | None = None
    sender_id: str | None = None
    session_key: str | None = None
    source_message_id: str | None = None
    source_role: str | None = None
    source: str = "manual"
    confidence: float = 1.0
    importance: float = 0.7
    said_at: str = ""
    """When it was said (UTC ISO), if that is known: since then it is so."""
    earlier: Sequence[Mapping[str, str]] = ()
    """The values that it had before and that were never kept: value, since, and where they are from."""


class Facts:
    """The facts of one workspace."""

    def __init__(self, store: MemoryStore, items: Items, perform: Callable[[Operation], Operation]) -> None:
        self._store = store
        self._items = items
        self._perform = perform
        self._known = KnownFacts(store)

    # -- reading ------------------------------------------------------------------------------------------------

    def all(
        self,
        *,
        domain: str | None = None,
        category: str | None = None,
        sub_category: str | None = None,
        key: str | None = None,
        audience: scopes.Audience | None = None,
        enabled_only: bool = False,
        foreign: bool = False,
    ) -> list[Fact]:
        """Return the facts with these fields, newest first (the seed's `get_facts_filtered`); case does not matter.

        None: any; `domain` "" or `NO_DOMAIN`: those without one. `audience`: only what it may see, and only what is
        enabled. `foreign`: those of databases that are not imported too, which can only be read.
        """
        wanted = {
            name: fold_key(value)
            for name, value in (("category", category), ("sub_category", sub_category), ("key", key))
            if value is not None
        }
        if domain is not None:
            wanted["domain"] = "" if domain == NO_DOMAIN else fold_key(domain)
        also = self._store.settings.private_in_groups
        asked = audience is not None and not audience.is_owner
        layer_of = scopes.visible_layers(audience, private_in_groups=also) if audience is not None and asked else None
        facts = self._known.newest_first()
        if foreign and (more := [fact for item in self._items.foreign() if (fact := fact_of(item)) is not None]):
            facts = sorted([*facts, *more], key=lambda fact: (fact.item.updated_at, fact.id), reverse=True)
        return [
            fact
            for fact in facts
            if all(fold_key(getattr(fact, name) or "") == value for name, value in wanted.items())
            and (layer_of is None or layer_of(fact.item) is not None)
            and (fact.item.enabled or not (enabled_only or audience is not None))
        ]

    def get(self, fact_id: str) -> Fact:
        """Return the fact of that id, or of the one id that begins so."""
        try:
            item = self._items.get(fact_id)
        except NotFound:
            raise NotFound("no such fact", fact_id, "see `nanomem facts list`") from None
        fact = fact_of(item)
        if fact is None:
            raise Refused("it is no fact with a category and a key", item.id, f"see `nanomem memory show {item.id}`")
        return fact

    def find(
        self, category: str, key: str, domain: str | None = None, audience: scopes.Audience | None = None
    ) -> list[Fact]:
        """Return the facts of that category and key, in one domain or (None) in any."""
        return self.all(domain=domain, category=category, key=key, audience=audience)

    def by_identity(self) -> Mapping[Identity, Fact]:
        """Return the fact of each identity, as things are at each look."""
        return self._known

    def tree(self, facts: Iterable[Fact] | None = None) -> dict[str, dict[str, list[Fact]]]:
        """Return the facts (None: all) by domain and category, each in the order of their names; `NO_DOMAIN` last."""
        found: dict[str, dict[str, list[Fact]]] = {}
        order = sorted(
            self._known.newest_first() if facts is None else facts,
            key=lambda fact: (fact.domain is None, normalised(fact.domain or ""), normalised(fact.category), fact.key),
        )
        for fact in order:
            found.setdefault(fact.domain or NO_DOMAIN, {}).setdefault(fact.category, []).append(fact)
        return found

    def history(self, fact_id: str) -> list[Value]:
        """Return the values that a fact had, newest first, also of what was merged into it. Raises what `get` does."""
        return value_history(self.get(fact_id).item, self._items.history, self._store.snapshot.items)

    # -- changing -----------------------------------------------------------------------------------------------

    def set(
        self,
        category: str,
        key: str,
        value: str,
        *,
        domain: str | None = None,
        sub_category: str | None = None,
        scope_type: str | None = None,
        channel: str | None = None,
        chat_id: str | None = None,
        sender_id: str | None = None,
        source: str = "manual",
        session_key: str | None = None,
        source_message_id: str | None = None,
    ) -> tuple[Operation, Fact, list[str]]:
        """Give a fact its value: the operation, the fact, and warnings.

        Without scope and channel it is global; with a channel and chat it belongs to that chat. The value that a known
        fact had stays in its history. Raises BadInput, and NothingToDo when it is so already.
        """
        from nanomem_tui.memory import safety

        wanted = FactValue(
            category, key, value, domain, sub_category, scope_type or ("global" if channel is None else "chat"),
            channel, chat_id, sender_id, session_key, source_message_id, source=source,
        )  # fmt: skip
        if wanted.scope_type == "global" and (chat_id or sender_id):
            raise BadInput(
                "a fact for a chat or a person is not global", "--scope", "give --channel too, or leave out the chat"
            )
        with self._store.deciding.alone():
            before, after = self._pair(wanted)
            if before == after:
                raise NothingToDo("it is so already", after.id)
            operation = self._write([(before, after)], "human", "facts.set", "")
        fact = fact_of(after)
        assert fact is not None
        return operation, fact, safety.warnings(after.text)

    def set_many(
        self, values: Sequence[FactValue], *, actor: Actor, kind: str, label: str, beside: Sequence[Change] = ()
    ) -> tuple[Operation, list[Fact]]:
        """Keep several facts as one operation, the later of two values; `beside`: changes of other layers."""
        known: dict[Identity, Fact] = {}
        first: dict[str, Item | None] = {}
        made: dict[str, Item] = {}
        for wanted in values:
            before, after = self._pair(wanted, known)
            first.setdefault(after.id, before)
            made[after.id] = after
            fact = fact_of(after)
            assert fact is not None
            known[identity_of(fact)] = fact
        pairs = [(first[key], after) for key, after in made.items() if first[key] != after]
        if not pairs and not beside:
            raise NothingToDo("every one of these facts is known", "", "")
        operation = self._write(pairs, actor, kind, label, beside)
        return operation, [fact for _, after in pairs if (fact := fact_of(after)) is not None]

    def edit(self, fact_id: str, *, expected: Item | None = None, **fields: str | None) -> Operation:
        """Change `value`, `key`, `category`, `domain` or `sub_category` of a fact; `expected`: its item as shown."""
        with self._store.deciding.alone():
            return self._edit(fact_id, expected, fields)

    def _edit(self, fact_id: str, expected: Item | None, fields: Mapping[str, str | None]) -> Operation:
        fact = self.get(fact_id)
        new = {**fact._asdict(), **fields}
        names = _checked_names(new["category"], new["key"], new["domain"], new["sub_category"])
        value = check_text(str(new["value"]), "--value")
        text = check_text(text_of(str(names["key"]), value))
        check_unchanged(fact.item, expected, {"text": text})
        row = fact.item._replace(text=text, meta_json=settle_conflict(fact.item, ["text"]))
        after = values.with_fields(row, {**names, "value": value})
        if after == fact.item:
            raise NothingToDo("nothing to change", fact.id)
        made = fact_of(after)
        assert made is not None
        duplicate = self.by_identity().get(identity_of(made))
        if duplicate is not None and duplicate.id != fact.id:
            raise Refused(
                "another fact has these names", duplicate.id, f"`nanomem facts merge {duplicate.id} {fact.id}`"
            )
        after = after._replace(updated_at=clock.iso(clock.now()))
        label = _edited(fact, made)
        return self._perform(new_operation("facts.edit", label, [change_of("item", fact.item, after)]))

    def delete(self, ids: Sequence[str]) -> Operation:
        """Delete facts; `undo` brings them back. Raises what `get` does."""
        return self._items.delete([self.get(one).id for one in ids])

    def merge(self, ids: Sequence[str], *, into: str = "") -> Operation:
        """Make one fact of several: the newest (or `into`) stays, with the values of the others as its history."""
        facts = list({fact.id: fact for fact in map(self.get, ids)}.values())
        kept = self.get(into) if into else max(facts, key=lambda fact: fact.item.updated_at, default=None)
        if kept is None or len(facts) < 2:
            raise BadInput("a merge needs two or more facts", ", ".join(ids), "name them, or select them with space")
        if kept.id not in {fact.id for fact in facts}:
            raise BadInput("the fact that stays is one of those that are merged", into, "name it among the others too")
        others = [fact for fact in facts if fact.id != kept.id]
        if any(other.item.scope_key != kept.item.scope_key for other in others):
            fix = "what one chat told is no value of another's fact: `nanomem memory edit ID --scope` first"
            raise Refused("they belong to different chats or people", f"{len(facts)} facts", fix)
        merged = [*merged_ids(kept.item), *(other.id for other in others)]
        meta = {**kept.item.meta, "fact": {**kept.item.meta["fact"], "merged": list(dict.fromkeys(merged))}}
        rows = [fact.item for fact in facts]
        after = kept.item._replace(
            hits=sum(row.hits for row in rows),
            created_at=min(row.created_at for row in rows),
            pinned=any(row.pinned for row in rows),
            importance=max(row.importance for row in rows),
            expires_at=retention.latest_expiry(rows),
            meta_json=dumped(meta),
        )
        changes = [change_of("item", kept.item, after)]
        changes += [change_of("item", other.item, other.item._replace(is_deleted=True)) for other in others]
        label = f"merge {counted(len(facts), 'fact')} into {quote_start(kept.item.text)}"
        return self._perform(new_operation("facts.merge", label, changes))

    def _pair(
        self, wanted: FactValue, known: Mapping[Identity, Fact] = MappingProxyType({})
    ) -> tuple[Item | None, Item]:
        """Return the row of a fact before and after it gets that value; `known`: those being made beside."""
        names = _checked_names(wanted.category, wanted.key, wanted.domain, wanted.sub_category)
        value = check_text(wanted.value, "--value")
        audience = scopes.Audience(wanted.channel or None, wanted.chat_id or None, wanted.sender_id or None)
        scope_key = scopes.key_for(wanted.scope_type, audience, self._store.workspace_id)
        own = "" if wanted.scope_type == "global" else scope_key
        one = values.identity(own, names["domain"], str(names["category"]), str(names["key"]))
        moment = clock.now()
        now = clock.iso(moment)
        zone = said_on.agent_zone(self._store.paths)
        origin: dict[str, Any] = {
            "session_key": wanted.session_key,
            "source": wanted.source,
            "source_message_id": wanted.source_message_id,
            "source_role": wanted.source_role,
        }
        fact = known.get(one) or self._known.get(one)
        if fact is not None:
            row = fact.item
            sub = names["sub_category"] or fact.sub_category  # the seed keeps what a new value says nothing of
            if fact.value == value and sub == fact.sub_category:
                return row, row
            text = check_text(text_of(fact.key, value))
            after = values.with_fields(
                row._replace(text=text), {"value": value, "sub_category": sub, **_dated_fields(wanted, row)}
            )
            after = after._replace(**origin, updated_at=now, enabled=True)
            return row, said_on.redate_item(row, after, said_on.day_of_time(wanted.said_at or now, zone))
        text = check_text(text_of(str(names["key"]), value))
        row = Item(
            id=self._free_id(one), text=text, kind="fact", scope_type=wanted.scope_type, scope_key=scope_key,
            channel=wanted.channel, chat_id=wanted.chat_id, sender_id=wanted.sender_id, importance=wanted.importance,
            confidence=wanted.confidence, created_at=now, updated_at=now,
            expires_at=retention.expires_at("fact", moment, self._store.settings), **origin,
        )  # fmt: skip
        row = values.with_fields(row, {**names, "value": value, **_dated_fields(wanted, row)})
        row = said_on.date_item(row, said_on.day_of_time(wanted.said_at or now, zone))
        present = self._store.snapshot.items.get(row.id)
        return (present if present is not None and present.is_deleted else None), row

    def _free_id(self, known: Identity) -> str:
        """Return the id of a new fact; another one where the row of that id got other names since."""
        rows, tried = self._store.snapshot.items, known
        while (row := rows.get(found := values.id_of(tried))) is not None and not row.is_deleted:
            tried = (*tried[:3], f"{tried[3]} ")
        return found

    def _write(
        self,
        pairs: Iterable[tuple[Item | None, Item]],
        actor: Actor,
        kind: str,
        label: str,
        beside: Sequence[Change] = (),
    ) -> Operation:
        from nanomem_tui.memory import notes

        found = list(pairs)
        changes = [change_of("item", before, after) for before, after in found]
        new = [after for before, after in found if before is None or before.is_deleted]
        changes += notes.mirror_changes(self._store.paths, self._store.settings, new)
        verb = "change" if found and found[0][0] is not None and not found[0][0].is_deleted else "add"
        label = label or f"{verb} {quote_start(found[0][1].text)}"
        return self._perform(new_operation(kind, label, [*changes, *beside], actor=actor))


def _edited(before: Fact, after: Fact) -> str:
    """Return what an edit did, in words: the names that are others now stand first."""
    names = [
        f"{name.replace('_', '-')} {quote_start(old) if old else 'none'} → {quote_start(new) if new else 'none'}"
        for name in ("domain", "category", "sub_category", "key")
        if (old := getattr(before, name)) != (new := getattr(after, name))
    ]
    if names and before.value != after.value:
        names.append("the value")
    return f"edit {', '.join(names)}{' of ' if names else ''}{quote_start(after.item.text)}"


def _dated_fields(wanted: FactValue, row: Item) -> dict[str, Any]:
    """Return when a value was said, and those before it, beside the fields of a fact."""
    said = {"value": wanted.value, "at": wanted.said_at} if wanted.said_at else None
    if not wanted.earlier:
        return {"said": said}
    fields = row.meta.get("fact")
    known = fields.get("earlier") if isinstance(fields, dict) else None
    return {"said": said, "earlier": [*(known if isinstance(known, list) else []), *map(dict, wanted.earlier)]}


def _checked_names(category: str, key: str, domain: str | None, sub_category: str | None) -> dict[str, str | None]:
    return {
        "domain": checked_name(domain or "", "--domain", needed=False) or None,
        "category": checked_name(category, "--category"),
        "sub_category": checked_name(sub_category or "", "--sub-category", needed=False) or None,
        "key": checked_name(key, "--key"),
    }


# The earlier values of many facts at once, for an export: the log is read once, not once a fact. Reads only.

FEW = 20
"""Facts whose operations are asked for one by one."""
MOST = 1_000_000
_TOLD = ("value", "since", "until", "actor", "session_key", "source_message_id")


def earlier_values(store: MemoryStore, facts: Iterable[Item]) -> dict[str, list[dict[str, Any]]]:
    """Return what each of these facts was before, newest first, by its id; those that were never anything else are left
    out.

    Each value: what, since and until when, who gave it, and the session and message that it is from.
    """
    rows = store.load().items
    wanted = [row for row in facts if '"fact"' in row.meta_json and _may_have(row)]
    by_key: Mapping[str, list[LogEntry]] | None = _by_key(store) if len(wanted) > FEW else None

    def log_of(key: str) -> list[LogEntry]:
        return by_key.get(key, []) if by_key is not None else store.journal.log(10_000, key=key)

    found: dict[str, list[dict[str, Any]]] = {}
    for row in wanted:
        values = [one.to_json() for one in value_history(row, log_of, rows) if one.until]
        if values:
            found[row.id] = [{name: one[name] for name in _TOLD if one[name]} for one in values]
    return found


def _may_have(row: Item) -> bool:
    return row.updated_at != row.created_at or '"merged"' in row.meta_json or '"earlier"' in row.meta_json


def _by_key(store: MemoryStore) -> Mapping[str, list[LogEntry]]:
    """Return the operations on each fact, newest first, each with its changes of that fact alone."""
    found: dict[str, list[LogEntry]] = defaultdict(list)
    rows = store.load().items
    for entry in store.journal.log(MOST):
        changes: dict[str, list[Change]] = defaultdict(list)
        for change in entry.operation.changes:
            if change.layer == "item" and change.key in rows and '"fact"' in rows[change.key].meta_json:
                changes[change.key].append(change)
        for key, own in changes.items():
            found[key].append(entry._replace(operation=entry.operation._replace(changes=own)))
    return found
