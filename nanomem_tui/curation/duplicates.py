"""Items that say what another one says: clusters of them, and what a person makes of a cluster.

Owns which pairs of the same words or meaning make a cluster; whether two say the same is judged elsewhere (`pairs`).
Every decision is one operation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, Conflict, NotFound, NothingToDo
from nanomem_tui.core.operations import Operation, Perform, new_operation
from nanomem_tui.core.text import counted
from nanomem_tui.curation.clusters import (
    WIDEST,
    Cluster,
    agreeing,
    cluster_of,
    finding_of,
    left_open,
    of_one,
    stays,
)
from nanomem_tui.curation.marks import snoozed_until
from nanomem_tui.curation.pairs import Pair, Pairs
from nanomem_tui.memory.edits import told
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.values import Item

if TYPE_CHECKING:
    from nanomem_tui.curation.marks import Mark
    from nanomem_tui.curation.near_in_meaning import NearInMeaning
    from nanomem_tui.memory.items import Items
Node = tuple[str, str]
"""Scope key and words."""


class Duplicates:
    """The duplicates of one workspace."""

    def __init__(
        self,
        store: MemoryStore,
        marks: Callable[[], Mapping[str, Mark]],
        perform: Perform,
        meaning: NearInMeaning | None = None,
        pairs: Pairs | None = None,
    ) -> None:
        """`marks`: what a person kept or put off, by the id of the finding; `meaning`: what is near in meaning, where
        that is searched; `pairs`: how memories stand to each other, where others ask that too."""
        self._meaning = meaning
        self._store = store
        self._perform = perform
        self._marks = marks
        self._pairs = pairs or Pairs(store)

    # -- what there is ------------------------------------------------------------------------------------------

    def clusters(self) -> list[Cluster]:
        """All clusters but those that a person kept or put off: sure ones first, then the largest, the most alike."""
        pairs = self._repeated()
        groups = _joined(self._groups(), [pair for pair in pairs if pair.judged.share == 1])
        found = [*_same(groups), *_across(groups), *_alike(groups, [pair for pair in pairs if pair.judged.share < 1])]
        if self._meaning is not None:
            found += _in_meaning(self._meaning, [row for rows in groups.values() for row in rows], found)
        return self._asked(found)

    def _asked(self, found: Iterable[Cluster]) -> list[Cluster]:
        open_ = left_open(self._marks(), clock.iso(clock.now()))
        left = [one for cluster in found if (one := open_(cluster)) is not None]
        return sorted(left, key=lambda one: (not one.sure, -len(one.items), -one.alike, one.kept.id))

    def get(self, name: str) -> Cluster:
        """The cluster of that id, or the first that the item of that id (or its beginning) is in. Raises NotFound."""
        found = self.clusters()
        exact = next((one for one in found if one.id == name or name in one.ids), None)
        near = exact or next((one for one in found if name and any(key.startswith(name) for key in one.ids)), None)
        if near is None:
            raise NotFound("no duplicates of that", name, "see `nanomem duplicates list`")
        return near

    def of(self, ids: Sequence[str]) -> Cluster:
        """Items that a person names as one cluster, whatever they say. Raises NotFound, BadInput for fewer than two."""
        rows = self._store.load("item").items
        named = [rows[key] for key in dict.fromkeys(ids) if key in rows and not rows[key].is_deleted]
        if len(named) < len(set(ids)):
            raise NotFound("no such item", next(key for key in ids if key not in {row.id for row in named}))
        if len(named) < 2:
            raise BadInput("a merge needs two or more items", ", ".join(ids), "name them, or a cluster")
        return cluster_of(named, "near" if len({row.scope_key for row in named}) == 1 else "scopes")

    def among(self, rows: Iterable[Item]) -> list[Cluster]:
        """The clusters that any of these rows is in."""
        wanted = {row.id for row in rows}
        return [one for one in self.clusters() if wanted & {*one.ids}]

    # -- deciding -----------------------------------------------------------------------------------------------

    def merge(self, clusters: Sequence[Cluster], into: str = "") -> Operation:
        """Make one item of each cluster: the first of it (or `into`) stays with its words. One operation for all.

        Raises BadInput for several clusters of which one needs a look, and for one of several scopes without `into`;
        Conflict when a text was changed since the cluster was found, NotFound, NothingToDo.
        """

        def plan(items: Items, cluster: Cluster) -> Operation:
            return items.merge(cluster.ids, into=into or cluster.kept.id)

        return self._decided("merge", clusters, into, plan)

    def disable_others(self, clusters: Sequence[Cluster], stays: str = "") -> Operation:
        """Disable all of each cluster but one (its first, or `stays`). Raises as `merge`."""
        return self._decided("disable", clusters, stays, lambda items, one: items.set_enabled(one.others(stays), False))

    def delete_others(self, clusters: Sequence[Cluster], stays: str = "") -> Operation:
        """Delete all of each cluster but one (its first, or `stays`). Raises as `merge`."""
        return self._decided("delete", clusters, stays, lambda items, one: items.delete(one.others(stays)))

    def keep(self, clusters: Sequence[Cluster]) -> Operation:
        """Say that they are no duplicates: asked again only when one of their texts changes. Raises NothingToDo."""
        return self._marked("keep", clusters)

    def snooze(self, clusters: Sequence[Cluster], until: str = "") -> Operation:
        """Put them off `until` then (UTC ISO; a week where it is empty). Raises NothingToDo."""
        return self._marked("snooze", clusters, until or snoozed_until())

    def _marked(self, verb: Literal["keep", "snooze"], clusters: Sequence[Cluster], until: str = "") -> Operation:
        from nanomem_tui.curation.marks import Marks

        if not clusters:
            raise NothingToDo("no duplicates are named", "duplicates", "see `nanomem duplicates list`")
        with self._store.deciding.alone():
            changes = Marks(self._store).changes([finding_of(one) for one in clusters], verb, until)
            what = told(clusters[0].kept.text) if len(clusters) == 1 else counted(len(clusters), "cluster")
            label = f"keep all of {what}" if verb == "keep" else f"put off {what}"
            return self._perform(new_operation(f"duplicates.{verb}", label, changes))

    def _decided(
        self, verb: str, clusters: Sequence[Cluster], stays: str, decide: Callable[[Items, Cluster], Operation]
    ) -> Operation:
        """One operation of what is decided on each cluster, having seen what others did."""
        if not clusters:
            raise NothingToDo("no duplicates are named", "duplicates", "see `nanomem duplicates list`")
        doubtful = [one for one in clusters if not one.sure]
        if len(clusters) > 1 and doubtful:
            what = f"{counted(len(doubtful), 'cluster')} of these need a look"
            raise BadInput(what, doubtful[0].why, "decide on those one by one")
        if stays and stays not in clusters[0].ids:
            raise BadInput("that is none of them", stays, f"one of {', '.join(clusters[0].ids)}")
        if len(clusters[0].scope_keys) > 1 and not stays:
            raise BadInput("they are of different scopes", clusters[0].why, "say which one stays: --into ID")
        with self._store.deciding.alone():
            plans = [self._planned(one, decide) for one in clusters]
            if len(plans) == 1:
                return self._perform(plans[0])
            changes = [change for plan in plans for change in plan.changes]
            label = (
                f"{verb} the others of {len(plans):,} clusters" if verb != "merge" else f"merge {len(plans):,} clusters"
            )
            return self._perform(new_operation(f"duplicates.{verb}", f"{label} of duplicates", changes))

    def _planned(self, cluster: Cluster, decide: Callable[[Items, Cluster], Operation]) -> Operation:
        """The operation of a decision on a cluster, not performed. Raises Conflict when one of its texts changed."""
        from nanomem_tui.memory.items import Items
        from nanomem_tui.memory.recall.recall import Recall

        rows = self._store.load("item").items
        for item in cluster.items:
            now = rows.get(item.id)
            if now is not None and (now.text, now.scope_key) != (item.text, item.scope_key):
                raise Conflict("somebody changed it meanwhile", item.id, "look at it again")
        made: list[Operation] = []

        def take(operation: Operation) -> Operation:
            made.append(operation)
            return operation

        decide(Items(self._store, (), take, lambda: Recall(self._store, self._store.settings)), cluster)
        return made[0]

    # -- clusters -----------------------------------------------------------------------------------------------

    def _groups(self) -> dict[Node, list[Item]]:
        """The items of one scope and the same words."""
        groups: dict[Node, list[Item]] = {}
        for (_, _, words), rows in self._pairs.rows():
            for row in rows:
                if isinstance(row, Item):
                    groups.setdefault((row.scope_key, words.partition("\n")[2]), []).append(row)
        return groups

    def _repeated(self) -> list[Pair]:
        """The pairs of items of one scope that say the same."""
        return [
            pair
            for pair in self._pairs.all()
            if pair.judged.relation == "same"
            and isinstance(pair.older, Item)
            and isinstance(pair.newer, Item)
            and pair.older.scope_key == pair.newer.scope_key
            and of_one(pair.older, pair.newer)
        ]


def _joined(groups: Mapping[Node, list[Item]], pairs: Sequence[Pair]) -> dict[Node, list[Item]]:
    """The groups, joined where two items differ only in how they are written."""
    joined = dict(groups)
    node_of = {row.id: node for node, rows in groups.items() for row in rows} if pairs else {}
    for pair in pairs:
        one, other = node_of[pair.older.id], node_of[pair.newer.id]
        if one != other:
            node_of.update((row.id, one) for row in joined[other])
            joined[one] = [*joined[one], *joined.pop(other)]
    return joined


def _alike(groups: Mapping[Node, Sequence[Item]], pairs: Sequence[Pair]) -> Iterator[Cluster]:
    """Items that say in other words what a first one says, which is pinned or the longest; each is in one cluster."""
    first_of = {row.id: max(rows, key=stays) for rows in groups.values() for row in rows} if pairs else {}
    near: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for pair in pairs:
        one, other = first_of[pair.older.id].id, first_of[pair.newer.id].id
        near[one][other] = near[other][one] = pair.judged.share
    rows = {row.id: row for row in first_of.values()}
    taken: set[str] = set()
    for key in sorted(near, key=lambda key: (rows[key].pinned, len(near[key]), len(rows[key].text), key), reverse=True):
        others = {name: share for name, share in near[key].items() if name not in taken and name != key}
        if key not in taken and others:
            taken |= {key, *others}
            yield cluster_of([rows[name] for name in (key, *others)], "near", min(others.values()))


def _same(groups: Mapping[Node, Sequence[Item]]) -> Iterator[Cluster]:
    """Items of the same words, each with those that say the same as the first."""
    for rows in groups.values():
        if len(rows) > 1:
            yield from (cluster_of(part, "same") for part in agreeing(sorted(rows, key=stays, reverse=True)))


def _across(groups: Mapping[Node, Sequence[Item]]) -> Iterator[Cluster]:
    """The same words for everybody and in a narrower scope."""
    of_words: defaultdict[str, list[Item]] = defaultdict(list)
    for (_, words), rows in sorted(groups.items()):
        of_words[words].append(max(rows, key=stays))
    for firsts in of_words.values():
        everybody = next((row for row in firsts if row.scope_type == "global"), None)
        if len(firsts) > 1 and everybody is not None:
            rest = [row for row in firsts if row.scope_type != "global"][: WIDEST - 1]
            found = [everybody, *(row for row in rest if of_one(everybody, row))]
            if len(found) > 1:
                yield cluster_of(found, "scopes")


def _in_meaning(meaning: NearInMeaning, rows: Sequence[Item], found: Sequence[Cluster]) -> list[Cluster]:
    """Pairs that say the same in other words, of items that are in no other cluster; the one that says more stays."""
    taken = {key for cluster in found for key in cluster.ids}
    made: list[Cluster] = []
    for one, other, alike in sorted(meaning.pairs(rows), key=lambda pair: (-pair[2], pair[0].id)):
        if one.id in taken or other.id in taken or not of_one(one, other):
            continue
        taken |= {one.id, other.id}
        both = sorted((one, other), key=lambda row: (bool(row.pinned), len(row.text), row.id), reverse=True)
        made.append(cluster_of(both, "meaning", alike))
    return made
