"""What of an item is embedded, and by what its vector is known to be of that text.

Must not know an embedder or an index.
"""

from __future__ import annotations

import hashlib

from nanomem_tui.store.fact_fields import Fact, fact_of
from nanomem_tui.store.values import Item

MOST = 8_000
"""Characters of a text that are embedded; models read a few hundred words and leave out the rest."""
_FORM = 1
"""Counts the forms that `embedded` gave to texts: a vector of another form is none of this text."""


def filed(item: Item) -> Fact | None:
    """The fact that an item of kind fact is; None for any other."""
    return fact_of(item) if item.kind == "fact" else None


def embedded(item: Item) -> str:
    """The text that stands for an item: its own; for a fact with where it belongs."""
    fact = filed(item)
    if fact is None:
        return item.text[:MOST]
    place = " ".join(dict.fromkeys(filter(None, (fact.domain, fact.category, fact.sub_category))))
    return f"{place}. {item.text}"[:MOST]


def text_hash(text: str) -> str:
    """What tells that a vector is of this text."""
    data = f"{_FORM}\n{text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=16).hexdigest()
