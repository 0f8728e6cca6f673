"""Facts as rows of a tree: domain, category, fact. Pure: which headings are folded is told to it.

Names are compared as facts are (white space collapsed, case folded), so that what is one domain is one heading.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from typing import NamedTuple

from nanomem_tui.core.text import counted, normalised
from nanomem_tui.memory.facts.facts import NO_DOMAIN
from nanomem_tui.store.values import Fact
from nanomem_tui.widgets.signs import Glyphs
from nanomem_tui.widgets.tree_table import Node

Entry = Fact | Node
"""A row of the list."""
Order = tuple[bool, str, str, str]
"""Where a fact stands: those without a domain last, then by domain, category and key."""


class Place(NamedTuple):
    """Where a fact stands: its order, and the ids of the headings above it."""

    order: Order
    domain: str
    category: str


class Group(NamedTuple):
    """A heading with what is below it: the facts of a category, the categories of a domain."""

    id: str
    name: str
    facts: Sequence[Fact]
    ids: tuple[str, ...]
    categories: Sequence[Group] = ()


class Tree(NamedTuple):
    """The rows as they are shown, and the headings among them."""

    rows: Sequence[Entry]
    headings: Mapping[str, Node]


class Places:
    """Where facts stand; remembers it, so that a filter need not reckon it again. Safe to use in threads."""

    def __init__(self) -> None:
        self._known: dict[tuple[str | None, str, str], Place] = {}

    def of(self, fact: Fact) -> Place:
        """The place of a fact."""
        names = (fact.domain, fact.category, fact.key)
        place = self._known.get(names)
        if place is None:
            domain, category = normalised(fact.domain or ""), normalised(fact.category)
            order = (fact.domain is None, domain, category, normalised(fact.key))
            place = self._known[names] = Place(order, f"domain {domain}", f"category {domain}\t{category}")
        return place

    def in_order(self, facts: Sequence[Fact]) -> list[Fact]:
        """The facts as they stand in the tree."""
        return sorted(facts, key=lambda fact: self.of(fact).order)

    def totals(self, facts: Sequence[Fact]) -> dict[str, int]:
        """How many facts there are under each heading."""
        places = [self.of(fact) for fact in facts]
        return {**Counter(place.domain for place in places), **Counter(place.category for place in places)}

    def groups(self, facts: Sequence[Fact]) -> list[Group]:
        """The facts under their headings."""
        found: list[Group] = []
        for domain, of_domain in _grouped(self.in_order(facts), lambda fact: self.of(fact).domain):
            categories = [
                Group(category, below[0].category, below, tuple(fact.id for fact in below))
                for category, below in _grouped(of_domain, lambda fact: self.of(fact).category)
            ]
            ids = tuple(chain.from_iterable(category.ids for category in categories))
            found.append(Group(domain, of_domain[0].domain or NO_DOMAIN, of_domain, ids, categories))
        return found


def tree(groups: Sequence[Group], totals: Mapping[str, int], is_open: Callable[[str, int], bool]) -> Tree:
    """The rows of `groups`; `totals`: how many facts there are under each heading without a filter, `is_open(id,
    depth)` says which are unfolded."""
    rows: list[Entry] = []
    headings: dict[str, Node] = {}

    def heading(group: Group, depth: int, under: str = "") -> bool:
        shut = not is_open(group.id, depth)
        total = max(totals.get(group.id, 0), len(group.ids))
        headings[group.id] = Node(group.id, depth, group.name, group.ids, total, shut, under)
        rows.append(headings[group.id])
        return not shut

    for domain in groups:
        if heading(domain, 0):
            for category in domain.categories:
                if heading(category, 1, domain.id):
                    rows.extend(category.facts)
    return Tree(rows, headings)


def _grouped(facts: Sequence[Fact], key: Callable[[Fact], str]) -> Iterator[tuple[str, list[Fact]]]:
    for name, group in groupby(facts, key):
        yield name, list(group)


def name_of(row: Entry, signs: Glyphs, indented: bool = True) -> str:
    """What stands in the first column: the heading with its state, or the key under the lines of its headings."""
    guide = f"{signs.separator} "
    if isinstance(row, Node):
        return f"{guide * row.depth}{signs.cursor if row.is_folded else signs.descending} {row.name}"
    return f"{guide * 2}{row.key}" if indented else row.key


def value_of(row: Entry) -> str:
    """What stands in the second column: the value, or how many facts there are."""
    if isinstance(row, Fact):
        return row.value
    return counted(row.total, "fact") if len(row.ids) == row.total else f"{len(row.ids):,} of {row.total:,} facts"


def where_of(row: Entry) -> str:
    """Domain and category of a fact."""
    return f"{row.domain or NO_DOMAIN} / {row.category}" if isinstance(row, Fact) else ""


def fact_in(row: Entry) -> Fact:
    """The row as the fact that it is; never asked of a heading."""
    assert isinstance(row, Fact)
    return row
