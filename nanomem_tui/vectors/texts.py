"""What of an item is embedded, and by what its vector is known to be of that text.

Must not know an embedder or an index.
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

from nanomem_tui.store.values import Item

MOST = 8_000
"""Characters of a text that are embedded; models read a few hundred words and leave out the rest."""
_FORM = 1
"""Counts the forms that `embedded` gave to texts: a vector of another form is none of this text."""


class Fields(NamedTuple):
    """The parts of a fact (seed 003); what it does not have is empty."""

    domain: str
    category: str
    sub_category: str
    key: str
    value: str


def fields_of(item: Item) -> Fields | None:
    """The parts of an item that is a fact, None for any other."""
    fact = _fact(item)
    if fact is None:
        return None
    parts = {name: value if isinstance(value := fact.get(name), str) else "" for name in Fields._fields}
    parts["value"] = item.text.removeprefix(f"{parts['key']}: ")  # an edited text is the value
    return Fields(**parts)


def _fact(item: Item) -> dict[str, Any] | None:
    """What the free fields say of a fact; None where they do not name one."""
    if item.kind != "fact" or '"fact"' not in item.meta_json:
        return None
    fact = item.meta.get("fact")
    if isinstance(fact, dict) and isinstance(fact.get("category"), str) and isinstance(fact.get("key"), str):
        return fact
    return None


def embedded(item: Item) -> str:
    """The text that stands for an item: its own; for a fact with where it belongs."""
    fact = _fact(item)
    if fact is None:
        return item.text[:MOST]
    places = (fact.get("domain"), fact["category"], fact.get("sub_category"))
    place = " ".join(dict.fromkeys(name for name in places if name and isinstance(name, str)))
    return f"{place}. {item.text}"[:MOST]


def text_hash(text: str) -> str:
    """What tells that a vector is of this text."""
    data = f"{_FORM}\n{text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=16).hexdigest()
