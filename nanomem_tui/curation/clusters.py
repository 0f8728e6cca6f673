"""A cluster of items that say the same, as a value: which is to stay, how alike they are, and whether that is sure.

Owns what makes a cluster sure, and how it becomes a finding and is known again once a person has kept it. Must not look
for clusters or change an item.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.core.text import counted
from nanomem_tui.curation.differing import differing
from nanomem_tui.curation.values import Decision, Finding
from nanomem_tui.language.compare import asks_to_remember, compared
from nanomem_tui.store.values import Item, identity_of_item

if TYPE_CHECKING:
    from nanomem_tui.curation.marks import Mark

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
        """The ids of all but the one that stays: the first, or `stays`."""
        return [key for key in self.ids if key != (stays or self.kept.id)]

    @property
    def scope_keys(self) -> tuple[str, ...]:
        """The scopes of the members, each once."""
        return tuple(dict.fromkeys(item.scope_key for item in self.items))


def left_open(marks: Mapping[str, Mark], now: str) -> Callable[[Cluster], Cluster | None]:
    """What is left of a cluster once those are out that a person said to be no duplicates of the first; None: nothing,
    or it is put off. `now`: UTC ISO."""
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
    """A cluster as a finding; its ids end with the one that is to stay. What takes something away is offered for a sure
    one only, so that no rule and nobody who decides on many at once does it to another; a person can, one by one."""
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
    """The pairs of items, each with its text, that a mark says to be no duplicates."""
    ids, prints = name.removeprefix(PREFIX).split("+"), print_.split("+")
    if len(ids) != len(prints) or len(ids) > WIDEST:
        return
    seen = list(zip(ids, prints, strict=True))
    for at, one in enumerate(seen):
        yield from (_pair(one, other) for other in seen[at + 1 :])


def text_print(text: str) -> str:
    """A short hash of a text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def stays(item: Item) -> tuple[bool, bool, bool, int, bool, str, str]:
    """What is proposed to stay of the same words: pinned, a fact with a name, a person's own, often used, a sentence
    of its own, newest."""
    named, own = identity_of_item(item) is not None, item.source == "manual"
    sentence = not item.text[:1].islower() and not asks_to_remember(item.text)
    return bool(item.pinned), named, own, item.hits, sentence, item.updated_at, item.id


def agreeing(rows: Sequence[Item]) -> Iterator[list[Item]]:
    """Rows of the same words in parts that say the same as their first; parts of one row are left out."""
    rest = list(rows)
    while len(rest) > 1:
        first, others = rest[0], rest[1:]
        alike = [row for row in others if of_one(first, row) and says_same(first.text, row.text)]
        alike = alike[: MEMBERS - 1]
        if alike:
            yield [first, *alike]
        gone = {row.id for row in alike}
        rest = [row for row in others if row.id not in gone]


def of_one(one: Item, other: Item) -> bool:
    """Whether two items can be one memory: not facts of different names."""
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


def says_same(one: str, other: str) -> bool:
    """Whether two texts say the same, either way round."""
    return one == other or "same" in (compared(one, other).relation, compared(other, one).relation)


def _why_near(rows: Sequence[Item], how: str) -> str:
    told = differing(rows[0].text, rows[1].text)[:3]
    return f"{how}: {', '.join(told)}" if told else how


def _people(rows: Collection[Item]) -> str:
    senders = {row.sender_id for row in rows if row.sender_id}
    return "said by different people" if len(senders) > 1 else ""


def _kinds(rows: Collection[Item]) -> str:
    kinds = list(dict.fromkeys(row.kind for row in rows))
    return f"of different kinds ({', '.join(kinds)})" if len(kinds) > 1 else ""
