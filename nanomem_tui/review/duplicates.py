"""Duplicates: clusters of items that say the same, and the decision about a cluster, as one operation.

Owns which pairs of the same words or meaning make a cluster; `pairs` judges whether two say the same.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Literal, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, Conflict, NanomemError, NotFound, NothingToDo
from nanomem_tui.core.operations import Operation, Perform, new_operation, plan_only
from nanomem_tui.core.text import counted
from nanomem_tui.language.statements.compare import asks_to_remember, compared
from nanomem_tui.memory.edit_conflicts import quote_start
from nanomem_tui.review.findings import Decision, Finding, snooze_end
from nanomem_tui.review.pairs import Pair, Pairs
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.values import Item, identity_of_item
from nanomem_tui.vectors.embedders import share_known

if TYPE_CHECKING:
    from nanomem_tui.memory.items import Items
    from nanomem_tui.review.findings import Mark
    from nanomem_tui.vectors.semantic_search import SemanticSearch


# -- Where two texts differ, in words: what a person looks at before deciding which of them stays ---------------------

MOST = 2_000
"""Characters of a text that are looked at."""
_WORDS = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]|[^\W_]+(?:[.,:'’@-][^\W_]+)*|[^\w\s.,;:!?]")


def changed_runs(one: str, other: str) -> Iterator[tuple[str, str]]:
    """Yield the runs of words in which two texts differ: those of the one, and those of the other in their place."""
    ours, theirs = list(_WORDS.finditer(one[:MOST])), list(_WORDS.finditer(other[:MOST]))
    old, new = ([word[0].casefold() for word in words] for words in (ours, theirs))
    for how, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if how != "equal":
            yield (
                one[ours[a].start() : ours[b - 1].end()] if b > a else "",
                other[theirs[c].start() : theirs[d - 1].end()] if d > c else "",
            )


def describe_differences(one: str, other: str) -> list[str]:
    """Return the differences of two texts, each as a person reads it, of the other as it stands beside the one."""
    return [
        f"“{left}” ≠ “{right}”" if left and right else f"says more: {right}" if right else f"leaves out: {left}"
        for left, right in changed_runs(one, other)
    ]


# A cluster of items that say the same, as a value: which is to stay, how alike they are, and whether that is sure.

PREFIX = "duplicate:"
MEMBERS = 200
"""Members of a cluster; of more of the same words there are several clusters."""
WIDEST = 50
"""Members of a cluster across scopes."""


class Cluster(NamedTuple):
    """Items that say the same, or nearly: the one proposed to stay comes first.

    `grade`: `same` (the same words), `near` (a person has to look), `meaning` (other words that may say the same),
    `scopes` (the same words in several scopes).
    `alike`: from 0 to 1, the least like the first. `sure`: may be merged without a look. `why`: in words.
    """

    items: tuple[Item, ...]
    grade: str
    alike: float
    sure: bool
    why: str

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the members, the one that is to stay first."""
        return tuple(item.id for item in self.items)

    @property
    def id(self) -> str:
        """Its name: the same for the same members."""
        return PREFIX + "+".join(sorted(self.ids))

    @property
    def kept(self) -> Item:
        """The one proposed to stay."""
        return self.items[0]

    @property
    def print_(self) -> str:
        """Changes with the text of a member; one part for each, in the order of the ids in `id`."""
        return "+".join(text_print(item.text) for item in sorted(self.items, key=lambda item: item.id))

    def others(self, stays: str = "") -> list[str]:
        """Return the ids of all but the one that stays: the first, or `stays`."""
        return [key for key in self.ids if key != (stays or self.kept.id)]

    @property
    def scope_keys(self) -> tuple[str, ...]:
        """The scopes of the members, each once."""
        return tuple(dict.fromkeys(item.scope_key for item in self.items))


def open_items(marks: Mapping[str, Mark], now: str) -> Callable[[Cluster], Cluster | None]:
    """Return what takes members out of a cluster that a person kept apart; `now`: UTC ISO."""
    ours = {name: mark for name, mark in marks.items() if name.startswith(PREFIX)}
    ours = {name: mark for name, mark in ours.items() if not mark.until or now < mark.until}
    if not ours:
        return lambda cluster: cluster
    apart = {pair for name, mark in ours.items() for pair in _parted(name, mark.print_)}

    def left(cluster: Cluster) -> Cluster | None:
        mark = ours.get(cluster.id)
        if mark is not None and mark.print_ == cluster.print_:
            return None
        if not apart:
            return cluster
        first = (cluster.kept.id, text_print(cluster.kept.text))
        stay = [row for row in cluster.items[1:] if _pair(first, (row.id, text_print(row.text))) not in apart]
        return cluster._replace(items=(cluster.kept, *stay)) if stay else None

    return left


def finding_of(cluster: Cluster) -> Finding:
    """Return a cluster as a finding, the one that stays last; only sure ones offer to take away."""
    first = cluster.kept
    others = [item for item in cluster.items if item.id != first.id]
    offers: tuple[Decision, ...] = ("merge", "keep", "edit", "disable", "delete", "snooze")
    shown = others[0] if others else first
    return Finding(
        cluster.id, "duplicate", "item", (*(item.id for item in others), first.id), shown.text, cluster.why,
        max(item.updated_at for item in cluster.items), 1.0 if cluster.sure else cluster.alike * 0.9, cluster.print_,
        offers if cluster.sure else ("keep", "edit", "snooze"), shown.scope_key, shown.source,
    )  # fmt: skip


Seen = tuple[str, str]


def _pair(one: Seen, other: Seen) -> tuple[Seen, Seen]:
    return (one, other) if one < other else (other, one)


def _parted(name: str, print_: str) -> Iterator[tuple[Seen, Seen]]:
    """Yield the pairs of items, each with its text, that a mark says to be no duplicates."""
    ids, prints = name.removeprefix(PREFIX).split("+"), print_.split("+")
    if len(ids) != len(prints) or len(ids) > WIDEST:
        return
    seen = list(zip(ids, prints, strict=True))
    for at, one in enumerate(seen):
        yield from (_pair(one, other) for other in seen[at + 1 :])


def text_print(text: str) -> str:
    """A short hash of a text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def proposed_winner(item: Item) -> tuple[bool, bool, bool, int, bool, str, str]:
    """Return the rank to stay: pinned, named, manual, often used, a sentence, newest."""
    named, own = identity_of_item(item) is not None, item.source == "manual"
    sentence = not item.text[:1].islower() and not asks_to_remember(item.text)
    return bool(item.pinned), named, own, item.hits, sentence, item.updated_at, item.id


def agreeing_rows(rows: Sequence[Item]) -> Iterator[list[Item]]:
    """Rows of the same words in parts that say the same as their first; parts of one row are left out."""
    rest = list(rows)
    while len(rest) > 1:
        first, others = rest[0], rest[1:]
        alike = [row for row in others if can_be_one(first, row) and is_same(first.text, row.text)]
        alike = alike[: MEMBERS - 1]
        if alike:
            yield [first, *alike]
        gone = {row.id for row in alike}
        rest = [row for row in others if row.id not in gone]


def can_be_one(one: Item, other: Item) -> bool:
    """Return whether two items can be one memory: not facts of different names."""
    names = identity_of_item(one), identity_of_item(other)
    return names[0] is None or names[1] is None or names[0][1:] == names[1][1:]


def cluster_of(rows: Sequence[Item], grade: str, alike: float = 1.0) -> Cluster:
    """A cluster of rows, the first of which is to stay, and why it is or is not sure."""
    doubts = [words for words in (_people(rows), _kinds(rows)) if words]
    if grade == "same":
        why = "the same words" if len({row.text for row in rows}) == 1 else "the same but for how it is written"
    elif grade == "scopes":
        why = f"the same words in {counted(len({row.scope_key for row in rows}), 'scope')}"
    else:
        why = _why_near(rows, "alike in meaning" if grade == "meaning" else "nearly the same")
    return Cluster(tuple(rows), grade, alike, grade == "same" and not doubts, "; ".join([why, *doubts]))


def is_same(one: str, other: str) -> bool:
    """Return whether two texts say the same, either way round."""
    return one == other or "same" in (compared(one, other).relation, compared(other, one).relation)


def _why_near(rows: Sequence[Item], how: str) -> str:
    told = describe_differences(rows[0].text, rows[1].text)[:3]
    return f"{how}: {', '.join(told)}" if told else how


def _people(rows: Collection[Item]) -> str:
    senders = {row.sender_id for row in rows if row.sender_id}
    return "said by different people" if len(senders) > 1 else ""


def _kinds(rows: Collection[Item]) -> str:
    kinds = list(dict.fromkeys(row.kind for row in rows))
    return f"of different kinds ({', '.join(kinds)})" if len(kinds) > 1 else ""


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
        """Return the open clusters: sure ones first, then the largest, the most alike."""
        pairs = self._repeated()
        groups = _joined(self._groups(), [pair for pair in pairs if pair.judged.share == 1])
        found = [*_same(groups), *_across(groups), *_alike(groups, [pair for pair in pairs if pair.judged.share < 1])]
        if self._meaning is not None:
            found += _in_meaning(self._meaning, [row for rows in groups.values() for row in rows], found)
        return self._asked(found)

    def _asked(self, found: Iterable[Cluster]) -> list[Cluster]:
        open_ = open_items(self._marks(), clock.iso(clock.now()))
        left = [one for cluster in found if (one := open_(cluster)) is not None]
        return sorted(left, key=lambda one: (not one.sure, -len(one.items), -one.alike, one.kept.id))

    def get(self, name: str) -> Cluster:
        """Return the cluster of that id, or the first that the item of that id (or its beginning) is in."""
        found = self.clusters()
        exact = next((one for one in found if one.id == name or name in one.ids), None)
        near = exact or next((one for one in found if name and any(key.startswith(name) for key in one.ids)), None)
        if near is None:
            raise NotFound("no duplicates of that", name, "see `nanomem duplicates list`")
        return near

    def cluster_of(self, ids: Sequence[str]) -> Cluster:
        """Items that a person names as one cluster, whatever they say. Raises NotFound, BadInput for fewer than two."""
        rows = self._store.load("item").items
        named = [rows[key] for key in dict.fromkeys(ids) if key in rows and not rows[key].is_deleted]
        if len(named) < len(set(ids)):
            raise NotFound("no such item", next(key for key in ids if key not in {row.id for row in named}))
        if len(named) < 2:
            raise BadInput("a merge needs two or more items", ", ".join(ids), "name them, or a cluster")
        return cluster_of(named, "near" if len({row.scope_key for row in named}) == 1 else "scopes")

    def among(self, rows: Iterable[Item]) -> list[Cluster]:
        """Return the clusters that any of these rows is in."""
        wanted = {row.id for row in rows}
        return [one for one in self.clusters() if wanted & {*one.ids}]

    # -- deciding -----------------------------------------------------------------------------------------------

    def merge(self, clusters: Sequence[Cluster], into: str = "") -> Operation:
        """Make one item of each cluster: the first of it (or `into`) stays with its words. One operation for all."""

        def plan(items: Items, cluster: Cluster) -> Operation:
            return items.merge(cluster.ids, into=into or cluster.kept.id)

        return self._decided("merge", clusters, into, plan)

    def disable_others(self, clusters: Sequence[Cluster], stays: str = "") -> Operation:
        """Disable all of each cluster but one (its first, or `stays`). Raises as `merge`."""
        return self._decided("disable", clusters, stays, lambda items, one: items.set_enabled(one.others(stays), False))

    def delete_others(self, clusters: Sequence[Cluster], stays: str = "") -> Operation:
        """Delete all of each cluster but one (its first, or `stays`). Raises as `merge`."""
        return self._decided("delete", clusters, stays, lambda items, one: items.delete(one.others(stays)))

    def dismiss(self, clusters: Sequence[Cluster]) -> Operation:
        """Say that they are no duplicates: asked again only when one of their texts changes. Raises NothingToDo."""
        return self._marked("keep", clusters)

    def snooze(self, clusters: Sequence[Cluster], until: str = "") -> Operation:
        """Put them off `until` then (UTC ISO; a week where it is empty). Raises NothingToDo."""
        return self._marked("snooze", clusters, until or snooze_end())

    def _marked(self, verb: Literal["keep", "snooze"], clusters: Sequence[Cluster], until: str = "") -> Operation:
        from nanomem_tui.review.findings import Marks

        if not clusters:
            raise NothingToDo("no duplicates are named", "duplicates", "see `nanomem duplicates list`")
        with self._store.deciding.alone():
            changes = Marks(self._store).changes([finding_of(one) for one in clusters], verb, until)
            what = quote_start(clusters[0].kept.text) if len(clusters) == 1 else counted(len(clusters), "cluster")
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
        """Return the operation of a decision on a cluster, not performed."""
        from nanomem_tui.memory.items import Items
        from nanomem_tui.memory.recall.recall import Recall

        rows = self._store.load("item").items
        for item in cluster.items:
            now = rows.get(item.id)
            if now is not None and (now.text, now.scope_key) != (item.text, item.scope_key):
                raise Conflict("somebody changed it meanwhile", item.id, "look at it again")
        return decide(Items(self._store, (), plan_only, lambda: Recall(self._store, self._store.settings)), cluster)

    # -- clusters -----------------------------------------------------------------------------------------------

    def _groups(self) -> dict[Node, list[Item]]:
        """Return the items of one scope and the same words."""
        groups: dict[Node, list[Item]] = {}
        for (_, _, words), rows in self._pairs.rows():
            for row in rows:
                if isinstance(row, Item):
                    groups.setdefault((row.scope_key, words.partition("\n")[2]), []).append(row)
        return groups

    def _repeated(self) -> list[Pair]:
        """Return the pairs of items of one scope that say the same."""
        return [
            pair
            for pair in self._pairs.all()
            if pair.judged.relation == "same"
            and isinstance(pair.older, Item)
            and isinstance(pair.newer, Item)
            and pair.older.scope_key == pair.newer.scope_key
            and can_be_one(pair.older, pair.newer)
        ]


def _joined(groups: Mapping[Node, list[Item]], pairs: Sequence[Pair]) -> dict[Node, list[Item]]:
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
    first_of = {row.id: max(rows, key=proposed_winner) for rows in groups.values() for row in rows} if pairs else {}
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
    for rows in groups.values():
        if len(rows) > 1:
            yield from (
                cluster_of(part, "same") for part in agreeing_rows(sorted(rows, key=proposed_winner, reverse=True))
            )


def _across(groups: Mapping[Node, Sequence[Item]]) -> Iterator[Cluster]:
    """Yield the same words for everybody and in a narrower scope."""
    of_words: defaultdict[str, list[Item]] = defaultdict(list)
    for (_, words), rows in sorted(groups.items()):
        of_words[words].append(max(rows, key=proposed_winner))
    for firsts in of_words.values():
        everybody = next((row for row in firsts if row.scope_type == "global"), None)
        if len(firsts) > 1 and everybody is not None:
            rest = [row for row in firsts if row.scope_type != "global"][: WIDEST - 1]
            found = [everybody, *(row for row in rest if can_be_one(everybody, row))]
            if len(found) > 1:
                yield cluster_of(found, "scopes")


def _in_meaning(meaning: NearInMeaning, rows: Sequence[Item], found: Sequence[Cluster]) -> list[Cluster]:
    """Pairs that say the same in other words, of items that are in no other cluster; the one that says more stays."""
    taken = {key for cluster in found for key in cluster.ids}
    made: list[Cluster] = []
    for one, other, alike in sorted(meaning.pairs(rows), key=lambda pair: (-pair[2], pair[0].id)):
        if one.id in taken or other.id in taken or not can_be_one(one, other):
            continue
        taken |= {one.id, other.id}
        both = sorted((one, other), key=lambda row: (bool(row.pinned), len(row.text), row.id), reverse=True)
        made.append(cluster_of(both, "meaning", alike))
    return made


# -- Items that say the same in other words: found by their vectors, where search by meaning is asked for -------------

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

    def __init__(self, meaning: Callable[[], SemanticSearch]) -> None:
        self._meaning = meaning
        self._seen: dict[str, tuple[str, Sequence[tuple[str, float]]]] = {}

    def pairs(self, rows: Sequence[Item]) -> Iterator[tuple[Item, Item, float]]:
        """Yield pairs that say the same in other words, with their likeness from 0 to 1."""
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
                    and is_same(row.text, other.text)
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
        found = [one for one in near if one[1] <= FAR] if share_known(meaning.model, row.text) >= READ else []
        self._seen[row.id] = row.text, found
        return found
