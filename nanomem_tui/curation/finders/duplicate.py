"""Duplicates as findings. What is sure comes first; the rest a person has to look at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from nanomem_tui.core.errors import NanomemError
from nanomem_tui.curation.clusters import Cluster, finding_of
from nanomem_tui.curation.values import Evidence, Finding

if TYPE_CHECKING:
    from nanomem_tui.curation.duplicates import Duplicates
    from nanomem_tui.store.values import Item

SHOWN = 12
"""Members of a cluster that stand beside a finding."""


class SaysTheSame:
    """Finds items that say what another one says."""

    kinds = ("duplicate",)

    def __init__(self, duplicates: Duplicates) -> None:
        self._duplicates = duplicates

    def find(self) -> Iterable[Finding]:
        """A finding for each cluster."""
        return [finding_of(one) for one in self._duplicates.clusters()]

    def evidence(self, finding: Finding) -> Sequence[Evidence]:
        """The members of its cluster, the one that is to stay first, each with its hits and where it is from."""
        try:
            cluster = self._duplicates.of([finding.ids[-1], *finding.ids[:-1]])
        except NanomemError:
            return ()
        return [_evidence(cluster, item) for item in cluster.items[:SHOWN]]


def _evidence(cluster: Cluster, item: Item) -> Evidence:
    from nanomem_tui.memory.inbox import origin

    label = "stays" if item.id == cluster.kept.id else "says the same"
    from_where = ", ".join(filter(None, (origin(item), item.source, f"{item.hits:,} hits")))
    return Evidence(label, item.text, item.created_at, from_where, item.id)
