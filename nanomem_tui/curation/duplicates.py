"""Items that say what another one says: clusters of them, and what a person makes of a cluster.

Owns which items are compared, and that its view of them follows what changes. Composes the guard, the shingles and the
marks; every decision is one operation.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from nanomem_tui import clock
from nanomem_tui.curation import shingles, value_guard
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
from nanomem_tui.curation.groups import Groups, Node
from nanomem_tui.curation.marks import snoozed_until
from nanomem_tui.curation.statements import key_of
from nanomem_tui.errors import BadInput, Conflict, NotFound, NothingToDo
from nanomem_tui.memory.labels import told
from nanomem_tui.operations import Operation, Perform, new_operation
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.values import Item
from nanomem_tui.text import counted

if TYPE_CHECKING:
    from nanomem_tui.curation.marks import Mark
    from nanomem_tui.curation.near_in_meaning import NearInMeaning
    from nanomem_tui.memory.items import Items

NEAR = 72.0
"""Per cent of the letters of two keys that agree, from which a person is asked."""
Like = tuple[float, value_guard.Verdict]
"""Per cent of the letters that agree, and what the guard says: `same` or `near`."""


class Duplicates:
    """The duplicates of one workspace."""

    def __init__(
        self,
        store: MemoryStore,
        marks: Callable[[], Mapping[str, Mark]],
        perform: Perform,
        meaning: NearInMeaning | None = None,
    ) -> None:
        """`marks`: what a person kept or put off, by the id of the finding; `meaning`: what is near in meaning, where
        that is searched."""
        self._meaning = meaning
        self._store = store
        self._perform = perform
        self._marks = marks
        self._lock = threading.Lock()
        self._changed: set[str] | None = None
        self._nodes: dict[str, Node] = {}
        self._members: dict[Node, Item | list[Item]] = {}  # most statements are of one row: no list for each
        self._groups = Groups()
        self._paired = False
        self._near: defaultdict[Node, dict[Node, Like]] = defaultdict(dict)
        self._agree: dict[Node, list[Cluster]] = {}

    # -- what there is ------------------------------------------------------------------------------------------

    def clusters(self) -> list[Cluster]:
        """All clusters but those that a person kept or put off: sure ones first, then the largest, the most alike."""
        with self._lock:
            self._update()
            self._pair()
            found = [*self._same(), *self._across(), *self._alike()]
            rows = [row for node in self._members for row in self._rows(node)] if self._meaning is not None else []
        if self._meaning is not None:
            found += _in_meaning(self._meaning, rows, found)
        return self._asked(found)

    def same_words(self) -> list[Cluster]:
        """The clusters of the same words, as `clusters` gives them; in a third of the time, at the first look."""
        with self._lock:
            self._update()
            found = [*self._same(), *self._across()]
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
        from nanomem_tui.memory.recall import Recall

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

    # -- the view of the rows -----------------------------------------------------------------------------------

    def _update(self) -> None:
        first, changed = self._look()
        if first:
            for item in changed.values():
                if item is not None:
                    self._put(item)
            return
        for key, item in changed.items():
            before = self._drop(key)
            known = before[1] if before is not None and item and before[0].text == item.text else ""
            node = self._put(item, known) if item is not None else None
            if self._paired and node is not None and len(self._rows(node)) == 1:
                for other, score in shingles.near(node[1], self._groups.of(node), NEAR):
                    self._link(node, (node[0], other), score)

    def _pair(self) -> None:
        """Find what is nearly the same among all there is; from then on only what changes is compared."""
        if self._paired:
            return
        for scope, keys in self._groups.several():
            for one, other, score in shingles.pairs(sorted(keys), NEAR):
                self._link((scope, one), (scope, other), score)
        self._paired = True

    def _look(self) -> tuple[bool, Mapping[str, Item | None]]:
        """Whether this is the first look, and what changed since the last one: who writes does not wait for more."""
        snapshot = self._store.load("item")
        with snapshot.lock:
            items = snapshot.items
            if self._changed is None:
                self._changed = snapshot.watch()
                return True, dict(items)
            changed = {key: items.get(key) for key in self._changed}
            self._changed.clear()
            return False, changed

    def _put(self, item: Item, known: str = "") -> Node | None:
        """Take a row into the view; its node, None where it is not looked at. `known`: the key of its text."""
        key = "" if item.is_deleted or not item.enabled else known or key_of(item.text)
        if not key:
            return None
        node = (item.scope_key, key)
        self._nodes[item.id] = node
        self._agree.pop(node, None)
        before = self._members.get(node)
        if before is None:
            self._members[node] = item
            self._groups.add(node)
        elif isinstance(before, list):
            before.append(item)
        else:
            self._members[node] = [before, item]
        return node

    def _drop(self, key: str) -> tuple[Item, str] | None:
        """Leave a row out of the view: it as it was, and the key of its text; None where it was not in it."""
        node = self._nodes.pop(key, None)
        if node is None:
            return None
        rows = self._rows(node)
        was = next(row for row in rows if row.id == key)
        self._agree.pop(node, None)
        if len(rows) > 1:
            self._members[node] = [row for row in rows if row is not was]
        else:
            del self._members[node]
            self._groups.discard(node)
            for other in self._near.pop(node, {}):
                self._near[other].pop(node, None)
        return was, node[1]

    def _link(self, one: Node, other: Node, score: float) -> None:
        """Two statements that are alike, unless the guard parts them."""
        texts = [min(self._rows(node), key=lambda row: row.id).text for node in (one, other)]
        verdict, _ = value_guard.judge(*texts)
        if verdict != "different":
            self._near[one][other] = self._near[other][one] = score, verdict

    # -- clusters -----------------------------------------------------------------------------------------------

    def _rows(self, node: Node) -> Sequence[Item]:
        """The rows of a statement."""
        found = self._members.get(node)
        return found if isinstance(found, list) else [] if found is None else [found]

    def _of(self, node: Node) -> list[Item]:
        """The rows of a statement, the one to stay first."""
        return sorted(self._rows(node), key=stays, reverse=True)

    def _same(self) -> Iterator[Cluster]:
        """Statements of one key, each with those that no guard parts from the first."""
        for node, members in self._members.items():
            if isinstance(members, list) and len(members) > 1:
                if node not in self._agree:
                    self._agree[node] = [cluster_of(rows, "same") for rows in agreeing(self._of(node))]
                yield from self._agree[node]

    def _across(self) -> Iterator[Cluster]:
        """The same words for everybody and in a narrower scope."""
        scopes_of: defaultdict[str, list[str]] = defaultdict(list)
        if len({scope for scope, _ in self._members}) > 1:
            for scope, key in self._members:
                scopes_of[key].append(scope)
        for key, scopes in scopes_of.items():
            if len(scopes) < 2:
                continue
            firsts = [rows[0] for scope in sorted(scopes) if (rows := self._of((scope, key)))]
            everybody = [row for row in firsts if row.scope_type == "global"]
            if everybody:
                rest = [row for row in firsts if row.scope_type != "global"][: WIDEST - 1]
                rows = [everybody[0], *(row for row in rest if of_one(everybody[0], row))]
                if len(rows) > 1:
                    yield cluster_of(rows, "scopes")

    def _alike(self) -> Iterator[Cluster]:
        """Statements that are nearly those of a first one, which says the most; each is in one cluster."""
        firsts: dict[Node, Item] = {node: rows[0] for node in self._near if (rows := self._of(node))}
        taken: set[Node] = set()
        for node in sorted(firsts, key=lambda node: (-len(self._near[node]), -len(node[1]), node)):
            if node in taken:
                continue
            rows = [firsts[node]]
            least, slips = 100.0, True
            for other, (score, verdict) in sorted(self._near[node].items(), key=lambda pair: (-pair[1][0], pair[0])):
                if other in taken or other not in firsts or not of_one(firsts[node], firsts[other]):
                    continue
                taken.add(other)
                rows.append(firsts[other])
                least, slips = min(least, score), slips and verdict == "same"
            if len(rows) > 1:
                taken.add(node)
                yield cluster_of(rows, "same" if slips else "near", least / 100)


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
