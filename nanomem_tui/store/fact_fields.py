"""A fact as an item keeps it (seed 003): domain, category, sub-category, key and value in the free fields, its words as
the text that is recalled. Pure.

The text is the truth of the value: who edits it anywhere edits the value.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from nanomem_tui.errors import BadInput
from nanomem_tui.store.values import Item, dumped

MAX_NAME = 300
"""Characters of a domain, a category, a sub-category or a key."""

Identity = tuple[str, str, str, str]
"""Scope, domain, category and key, white space collapsed and case folded: two facts of the same are one."""


class Fact(NamedTuple):
    """A fact and the item that holds it. `domain` and `sub_category` may be None, as in the seed's table."""

    id: str
    domain: str | None
    category: str
    sub_category: str | None
    key: str
    value: str
    item: Item

    def to_json(self) -> dict[str, Any]:
        """The fact as the command line prints it: the names of the seed's table, then what an item has."""
        item = self.item
        return {
            "id": self.id,
            "domain": self.domain,
            "category": self.category,
            "sub_category": self.sub_category,
            "key": self.key,
            "value": self.value,
            "created_at": item.created_at,
            "updated_at": item.updated_at,
            "text": item.text,
            "scope_type": item.scope_type,
            "scope_key": item.scope_key,
            "enabled": item.enabled,
            "pinned": item.pinned,
            "hits": item.hits,
            "source": item.source,
            "session_key": item.session_key,
            "source_message_id": item.source_message_id,
        }


def fact_of(item: Item) -> Fact | None:
    """The fact that an item is; None for one that is none."""
    if '"fact"' not in item.meta_json:
        return None
    fields = item.meta.get("fact")
    if not isinstance(fields, dict) or not all(isinstance(fields.get(name), str) for name in ("category", "key")):
        return None
    key = fields["key"]
    value = item.text.removeprefix(text_of(key, ""))
    domain, sub = (
        fields.get(name) if isinstance(fields.get(name), str) else None for name in ("domain", "sub_category")
    )
    return Fact(item.id, domain or None, fields["category"], sub or None, key, value, item)


def text_of(key: str, value: str) -> str:
    """The words of a fact, as they are recalled."""
    return f"{key}: {value}"


def identity_of(fact: Fact) -> Identity:
    """By what a fact is known."""
    return identity(
        fact.item.scope_key if fact.item.scope_type != "global" else "", fact.domain, fact.category, fact.key
    )


def identity_of_item(item: Item) -> Identity | None:
    """By what the fact that an item is is known; None for an item that is none."""
    fact = fact_of(item)
    return identity_of(fact) if fact is not None else None


def unknown(rows: Iterable[Item], ours: Iterable[Item]) -> list[Item]:
    """Those of the rows that hold no fact which one of ours holds, whatever their ids are."""
    named = [(row, identity_of_item(row)) for row in rows]
    known = {identity_of_item(row) for row in ours if not row.is_deleted} if any(name for _, name in named) else set()
    return [row for row, name in named if name is None or name not in known]


def identity(scope_key: str, domain: str | None, category: str, key: str) -> Identity:
    """By what a fact of these fields is known; `scope_key`: empty for a global one."""
    return scope_key, folded(domain or ""), folded(category), folded(key)


def folded(name: str) -> str:
    """A name as names are compared: composed, case folded, without what has no width, white space collapsed."""
    composed = unicodedata.normalize("NFC", name)
    if not composed.isascii():
        composed = "".join(c for c in composed if unicodedata.category(c) != "Cf")
    return " ".join(unicodedata.normalize("NFC", composed.casefold()).split())


def id_of(known: Identity) -> str:
    """The id that a new fact gets: two processes that learn the same one at once make one row."""
    return f"fact_{hashlib.sha256(json.dumps(known).encode('utf-8', 'surrogatepass')).hexdigest()[:20]}"


def with_fields(item: Item, fields: Mapping[str, Any]) -> Item:
    """The item with some fields of its fact set; None takes one away."""
    meta = item.meta
    known = meta.get("fact")
    fact = {**(known if isinstance(known, dict) else {}), **fields}
    meta["fact"] = {name: value for name, value in fact.items() if value is not None}
    return item._replace(meta_json=dumped(meta))


def with_value(item: Item) -> Item:
    """The item with the value that its text has now in the fields of its fact; itself when it is none."""
    fact = fact_of(item)
    if fact is None or item.meta["fact"].get("value") == fact.value:
        return item
    return with_fields(item, {"value": fact.value})


def with_value_of(item: Item, other: Item) -> Item:
    """The row of a fact with the value that another row of the same fact has, and with its origin."""
    fact, given = fact_of(item), fact_of(other)
    if fact is None or given is None:
        return item
    sub = given.sub_category or fact.sub_category
    new = {"value": given.value, "sub_category": sub, "said": other.meta["fact"].get("said")}
    made = with_fields(item._replace(text=text_of(fact.key, given.value)), new)
    return made._replace(
        session_key=other.session_key,
        source=other.source,
        source_message_id=other.source_message_id,
        source_role=other.source_role,
        updated_at=other.updated_at,
        enabled=True,
    )


def checked_name(value: str, where: str, *, needed: bool = True) -> str:
    """A domain, category or key as it is kept: white space collapsed. Raises BadInput for one that is empty where it is
    needed, too long, or with control characters."""
    if any((c < " " and c not in "\t\n") or "\x7f" <= c <= "\x9f" or "\ud800" <= c <= "\udfff" for c in value):
        raise BadInput("it holds control characters", where, "remove them")
    name = " ".join(value.split())
    if needed and not name:
        raise BadInput("it is empty", where, "give it a name")
    if len(name) > MAX_NAME:
        raise BadInput(f"it has {len(name):,} characters, at most {MAX_NAME} are kept", where, "shorten it")
    return name
