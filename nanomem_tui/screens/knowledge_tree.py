"""Facts as rows of a tree: domain, category, fact. Pure: which headings are folded is told to it.

Names are compared as facts are (white space collapsed, case folded), so that what is one domain is one heading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from nanomem_tui.facts.facts import NO_DOMAIN
from nanomem_tui.memory.fact_fields import Fact
from nanomem_tui.text import counted, normalised
from nanomem_tui.widgets.signs import Glyphs
from nanomem_tui.widgets.tree_table import Node

Entry = Fact | Node
"""A row of the list."""
Order = tuple[bool, str, str, str]
"""Where a fact stands: those without a domain last, then by domain, category and key."""


class Tree(NamedTuple):
    """The rows as they are shown, and the headings among them."""

    rows: Sequence[Entry]
    nodes: Mapping[str, Node]


class Places:
    """Where facts stand; remembers it, so that a filter need not reckon it again. Safe to use in threads."""

    def __init__(self) -> None:
        self._known: dict[tuple[str | None, str, str], Order] = {}

    def of(self, fact: Fact) -> Order:
        """The place of a fact."""
        names = (fact.domain, fact.category, fact.key)
        place = self._known.get(names)
        if place is None:
            place = (
                fact.domain is None,
                normalised(fact.domain or ""),
                normalised(fact.category),
                normalised(fact.key),
            )
            self._known[names] = place
        return place

    def in_order(self, facts: Sequence[Fact]) -> list[Fact]:
        """The facts as they stand in the tree."""
        return sorted(facts, key=self.of)

    def above(self, fact: Fact) -> tuple[str, str]:
        """The ids of the domain and of the category that a fact stands under."""
        return _domain_id(self.of(fact)), _category_id(self.of(fact))

    def totals(self, facts: Sequence[Fact]) -> dict[str, int]:
        """How many facts there are under each heading."""
        found: dict[str, int] = {}
        for fact in facts:
            for heading in self.above(fact):
                found[heading] = found.get(heading, 0) + 1
        return found

    def tree(self, facts: Sequence[Fact], totals: Mapping[str, int], is_open: Callable[[str, int], bool]) -> Tree:
        """The tree of `facts`; `is_open(id, depth)` says which headings are."""
        rows: list[Entry] = []
        nodes: dict[str, Node] = {}

        def heading(row_id: str, depth: int, name: str, below: Sequence[Fact], under: str = "") -> bool:
            shut = not is_open(row_id, depth)
            ids = tuple(fact.id for fact in below)
            node = Node(row_id, depth, name, ids, max(totals.get(row_id, 0), len(ids)), shut, under)
            nodes[row_id] = node
            rows.append(node)
            return not shut

        for domain_id, of_domain in _groups(self.in_order(facts), lambda fact: _domain_id(self.of(fact))):
            if not heading(domain_id, 0, of_domain[0].domain or NO_DOMAIN, of_domain):
                continue
            for category_id, below in _groups(of_domain, lambda fact: _category_id(self.of(fact))):
                if heading(category_id, 1, below[0].category, below, domain_id):
                    rows.extend(below)
        return Tree(rows, nodes)


def _groups(facts: Sequence[Fact], key: Callable[[Fact], str]) -> Iterator[tuple[str, list[Fact]]]:
    for name, group in groupby(facts, key):
        yield name, list(group)


def _domain_id(place: Order) -> str:
    return f"domain {place[1]}"


def _category_id(place: Order) -> str:
    return f"category {place[1]}\t{place[2]}"


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
