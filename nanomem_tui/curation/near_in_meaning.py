"""Items that say the same in other words: found by their vectors, where search by meaning is asked for.

Owns how long is looked, and that vectors alone never make two items one: what the judge does not hold to say the
same stays apart, and a person has to look at the rest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from nanomem_tui.core.errors import NanomemError
from nanomem_tui.curation.clusters import says_same
from nanomem_tui.store.values import Item
from nanomem_tui.vectors.embedders import share_read

if TYPE_CHECKING:
    from nanomem_tui.vectors.meaning import Meaning

FAR = 0.15
"""Cosine distance beyond which two items do not say the same."""
NEWEST = 300
"""Items that are looked at, the newest first."""
BUDGET = 2.0
"""Seconds that one look takes; the next one goes on."""
READ = 0.8
"""Share of the letters of a text that the model has to be able to read: of what it cannot, all is alike."""
FEW = 6
"""Neighbours of an item."""


class NearInMeaning:
    """What is near in meaning among items. Looks at each text once."""

    def __init__(self, meaning: Callable[[], Meaning]) -> None:
        self._meaning = meaning
        self._seen: dict[str, tuple[str, Sequence[tuple[str, float]]]] = {}

    def pairs(self, rows: Sequence[Item]) -> Iterator[tuple[Item, Item, float]]:
        """Of these rows those that say the same in other words, each pair once, with how alike they are, from 0 to 1;
        none where no vectors can be had."""
        newest = sorted(rows, key=lambda row: (row.updated_at, row.id), reverse=True)[:NEWEST]
        by_id = {row.id: row for row in rows}
        met: set[frozenset[str]] = set()
        end = time.monotonic() + BUDGET
        for row in newest:
            try:
                near = self._near(row, end)
            except NanomemError:  # search by meaning itself says why
                return
            for key, distance in near:
                other = by_id.get(key)
                pair = frozenset((row.id, key))
                if (
                    other is not None
                    and pair not in met
                    and other.scope_key == row.scope_key
                    and says_same(row.text, other.text)
                ):
                    met.add(pair)
                    yield row, other, 1.0 - distance

    def _near(self, row: Item, end: float) -> Sequence[tuple[str, float]]:
        known = self._seen.get(row.id)
        if known is not None and known[0] == row.text:
            return known[1]
        if time.monotonic() > end:
            return ()
        meaning = self._meaning()
        near = meaning.near(row.id, FEW)
        found = [one for one in near if one[1] <= FAR] if share_read(meaning.model, row.text) >= READ else []
        self._seen[row.id] = row.text, found
        return found
