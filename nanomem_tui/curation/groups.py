"""Statements by what they must have in common to be compared: their scope, and the words that another has to have too.

Owns that this takes little memory: most statements are alone with their numbers and names. Must not compare any.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from nanomem_tui.curation import shingles

Node = tuple[str, str]
"""Scope key, and the key of a statement."""


class Groups:
    """The statements of one workspace, each in one group."""

    def __init__(self) -> None:
        self._at: dict[int, Node | set[Node]] = {}  # by a hash, under which more than one group may be

    def add(self, node: Node) -> None:
        """Take a statement in."""
        place = hash(_common(node))
        found = self._at.get(place)
        if found is None or found == node:
            self._at[place] = node
        elif isinstance(found, set):
            found.add(node)
        else:
            self._at[place] = {found, node}

    def discard(self, node: Node) -> None:
        """Leave a statement out."""
        place = hash(_common(node))
        found = self._at.get(place)
        if isinstance(found, set):
            found.discard(node)
        elif found == node:
            del self._at[place]

    def of(self, node: Node) -> list[str]:
        """The keys of the group of a statement."""
        common = _common(node)
        found = self._at.get(hash(common))
        if found is None:
            return []
        nodes = found if isinstance(found, set) else {found}
        return [other[1] for other in nodes if _common(other) == common]

    def several(self) -> Iterator[tuple[str, list[str]]]:
        """Scope key and keys of each group of more than one."""
        for found in self._at.values():
            if not isinstance(found, set):
                continue
            parted: defaultdict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
            for node in found:
                parted[_common(node)].append(node[1])
            yield from ((scope, keys) for (scope, _), keys in parted.items() if len(keys) > 1)


def _common(node: Node) -> tuple[str, tuple[str, ...]]:
    return node[0], shingles.telling(node[1])
