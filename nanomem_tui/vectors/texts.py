"""What of an item is embedded, and by what its vector is known to be of that text.

Must not know an embedder or an index.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

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
    fact = item.meta.get("fact") if item.kind == "fact" and '"fact"' in item.meta_json else None
    if not isinstance(fact, dict):
        return None
    parts = {name: value for name in Fields._fields if isinstance(value := fact.get(name), str)}
    if "category" not in parts or "key" not in parts:
        return None
    shown = item.text.removeprefix(f"{parts['key']}: ")  # an edited text is the value
    return Fields(**{**dict.fromkeys(Fields._fields, ""), **parts, "value": shown})


def embedded(item: Item) -> str:
    """The text that stands for an item: its own; for a fact with where it belongs."""
    fields = fields_of(item)
    if fields is None:
        return item.text[:MOST]
    place = " ".join(dict.fromkeys(filter(None, (fields.domain, fields.category, fields.sub_category))))
    return f"{place}. {item.text}"[:MOST]


def text_hash(text: str) -> str:
    """What tells that a vector is of this text."""
    data = f"{_FORM}\n{text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=16).hexdigest()
