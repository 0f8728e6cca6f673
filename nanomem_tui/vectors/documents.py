"""How an item stands in a collection of Chroma: id, document and metadata as the crystallized system (seed 003) wrote
them, and what tells us which item it is.

Owns which item has which id. Must not know Chroma.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from nanomem_tui import clock
from nanomem_tui.store.fact_fields import Fact
from nanomem_tui.store.values import Item
from nanomem_tui.vectors.index import Entry
from nanomem_tui.vectors.texts import MOST, filed

ITEM, HASH = "nanomem_id", "nanomem_hash"
"""Metadata beside that of the seed: the id of the item, and the hash of the text that was embedded."""
NAMES = ("domain", "category", "sub_category", "key", "value")
"""Metadata of the seed that a fact has of its own."""
DOMAIN = "nanomem"
"""The domain of an item that is no fact, as in an export: its category is the kind, its key the id."""


class Place(NamedTuple):
    """By what a fact is called; what is no fact is called by its own id."""

    domain: str
    category: str
    key: str


def metadata(entry: Entry) -> dict[str, str]:
    """The metadata of an item, which a reader of the seed's finds as it wrote them."""
    item, fact = entry.item, filed(entry.item)
    shown = fact or Fact(item.id, DOMAIN, item.kind, None, item.id, item.text, item)
    named = {name: (getattr(shown, name) or "")[:MOST] for name in NAMES}
    return {"type": "fact" if fact else "item", **named, "updated_at": _local(item), ITEM: item.id,
            HASH: entry.text_hash}  # fmt: skip


def document(item: Item) -> str:
    """The document of an item: the four lines of the seed for a fact."""
    fact = filed(item)
    if fact is None:
        return item.text[:MOST]
    lines = f"Domain: {fact.domain or ''}\nКатегория: {fact.category}\nКлюч: {fact.key}\nЗначение: {fact.value}"
    return lines[:MOST]


def place_of(found: Mapping[str, Any]) -> Place | None:
    """By what an item is called, from its metadata."""
    if found.get("type") != "fact":
        return None
    return Place(*(str(found.get(name) or "") for name in Place._fields))


def _local(item: Item) -> str:
    """The time of a change as the seed writes it: local, whole seconds."""
    moment = clock.parse(item.updated_at)
    return clock.local_naive(moment.replace(microsecond=0)) if moment is not None else ""


class Ids:
    """The ids of the items in a collection: `fact::category::key`, with the domain where two share these, and with the
    item's own id where that is still the id of two."""

    def __init__(self) -> None:
        self.of: dict[str, str] = {}
        """Item → its id in the collection."""
        self.items: dict[str, str] = {}
        """Id in the collection → the item."""
        self._places: dict[str, Place] = {}
        self._sharing: defaultdict[tuple[str, str], set[str]] = defaultdict(set)

    def begin(self, key: str, called: str, place: Place | None) -> None:
        """An item that is in the collection under that id."""
        self.of[key], self.items[called] = called, key
        self._set(key, place)

    def change(self, put: Mapping[str, Place | None], removed: Iterable[str]) -> dict[str, str]:
        """Items come, change or go; the ids that others get by that, by item. `of` says what each was called before
        until `settle`."""
        touched = {self._places[key][1:] for key in (*put, *removed) if key in self._places}
        for key in removed:
            self._set(key, None)
        for key, place in put.items():
            self._set(key, place)
        touched |= {self._places[key][1:] for key in put if key in self._places}
        affected = {key: None for sharing in touched for key in sorted(self._sharing.get(sharing, ()))}
        given: dict[str, str] = {}  # id → item
        for key in {**dict.fromkeys(put), **affected}:
            name = self._wanted(key)
            given[f"{name}::{key}" if name in given else name] = key
        return {key: name for name, key in given.items()}

    def settle(self, called: Mapping[str, str], removed: Iterable[str]) -> None:
        """The collection has these ids now."""
        for key in (*called, *removed):
            self.items.pop(self.of.pop(key, ""), None)
        for key, name in called.items():
            self.of[key], self.items[name] = name, key

    def _set(self, key: str, place: Place | None) -> None:
        before = self._places.pop(key, None)
        if before is not None:
            self._sharing[before[1:]].discard(key)
        if place is not None:
            self._places[key] = place
            self._sharing[place[1:]].add(key)

    def _wanted(self, key: str) -> str:
        place = self._places.get(key)
        if place is None:
            return f"item::{key}"
        sharing = self._sharing[place[1:]]
        if len({self._places[other].domain for other in sharing}) == 1:
            name = f"fact::{place.category}::{place.key}"
        else:
            name = "::".join(("fact", *filter(None, place)))
        alone = sum(self._places[other] == place for other in sharing) == 1
        other = self.items.get(name)
        free = other is None or other == key or other in sharing
        return name if alone and free else f"{name}::{key}"
