"""The list of the Knowledge screen: facts as a tree that folds, or sorted in one list.

Owns which headings are folded and what a heading stands for. What a fact tells, and how it is changed, is elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from textual import on

from nanomem_tui.core.errors import NanomemError
from nanomem_tui.memory.facts.facts import NO_DOMAIN
from nanomem_tui.memory.scopes import is_foreign, scope_of, source_of
from nanomem_tui.screens.item_columns import sign_of
from nanomem_tui.screens.knowledge_detail import Valued
from nanomem_tui.screens.knowledge_tree import Entry, Group, Places, fact_in, name_of, tree, value_of, where_of
from nanomem_tui.screens.parts_screen import PartsScreen
from nanomem_tui.screens.rows import RowsScreen
from nanomem_tui.store.values import Fact, fact_of
from nanomem_tui.widgets.columns import Column, aged
from nanomem_tui.widgets.line_table import LineTable
from nanomem_tui.widgets.look import glyphs
from nanomem_tui.widgets.toast import say
from nanomem_tui.widgets.tree_table import Node, TreeTable, Turned

FOLDED_FROM = 200  # facts from which on categories are folded at first


class FactList(RowsScreen[Entry], PartsScreen[Entry]):
    """Facts under their headings."""

    LAYER = "item"
    NOUN = "fact"

    def __init__(self) -> None:
        super().__init__()
        self._places = Places()
        self._totals: Mapping[str, int] = {}
        self._headings: Mapping[str, Node] = {}
        self._groups: Sequence[Group] = ()
        self._leaves_wanted: Sequence[Fact] = ()  # the facts that are wanted, also those under folded headings
        self._folds_at_first: bool | None = None  # None: nothing was read yet
        self._turned: dict[str, bool] = {}  # headings that were unfolded, or folded
        self._turned_in_filter: dict[str, bool] = {}

    def part(self) -> Any:
        """Facts are items."""
        return self.ws.items

    # The list

    def make_table(self) -> LineTable[Entry]:
        """A tree."""
        return TreeTable(self.columns(), self.row_id, self._wanted_ids, sign=self.sign, dimmed=self.dimmed, id="list")

    @property
    def outline(self) -> TreeTable[Entry]:
        """The list, as what it is."""
        return self.query_one("#list", TreeTable)

    def _wanted_ids(self) -> Sequence[str]:
        return [fact.id for fact in self._leaves_wanted]

    @property
    def _is_flat(self) -> bool:
        """Whether the list has an order of its own, without headings."""
        return bool(self.listing.sorted_by)

    def columns(self) -> Sequence[Column[Entry]]:
        """Key and value under their headings; in a list without headings also where each stands."""
        signs, flat = glyphs(self), self._is_flat
        name = Column[Entry]("key", "Fact", lambda row: name_of(row, signs, not flat), min_width=22,
                             sort=lambda row: fact_in(row).key.casefold())  # fmt: skip
        value = Column[Entry]("value", "Value", value_of, min_width=34, flex=2)
        where = Column[Entry]("where", "Domain / category", where_of, width=22, priority=2, tone="dim",
                              sort=where_of)  # fmt: skip
        return (
            name,
            value,
            *((where,) if flat else ()),
            Column("hits", "Hits", lambda row: _of_fact(row, lambda fact: str(fact.item.hits)), width=5, priority=4,
                   align="right", sort=lambda row: fact_in(row).item.hits),
            Column("scope", "Scope", lambda row: _of_fact(row, lambda fact: scope_of(fact.item)), width=14, priority=5,
                   tone="dim"),
            aged("Age", lambda row: _of_fact(row, lambda fact: fact.item.updated_at),
                   priority=1, align="right", tone="dim", sort=lambda row: fact_in(row).item.updated_at),
        )  # fmt: skip

    def load(self) -> Iterable[Sequence[Entry]]:
        """All facts, in the order of the tree; also those of other systems, which can only be read."""
        found = list(self.ws.facts.all())
        try:
            found += [fact for item in self.ws.items.foreign() if (fact := fact_of(item)) is not None]
        except NanomemError as error:
            self.app.call_later(say, self, error.line(), "warning")
        rows = self._places.in_order(found)
        self._totals = self._places.totals(rows)
        if self._folds_at_first is None:
            self._folds_at_first = len(rows) > FOLDED_FROM
        yield rows

    def row_id(self, row: Entry) -> str:
        """The id of the fact, or of the heading."""
        return row.id

    def search_text(self, row: Entry) -> str:
        """Words are searched in the names and in the value."""
        if isinstance(row, Node):
            return row.name
        return "\n".join((row.item.text, row.domain or "", row.category, row.sub_category or ""))

    def field(self, row: Entry, name: str) -> Any:
        """The fields of the filter language."""
        fact = fact_in(row)
        if name == "domain":
            return fact.domain or NO_DOMAIN
        if name in {"category", "key"}:
            return getattr(fact, name)
        if name == "sub":
            return fact.sub_category
        item = fact.item
        if name == "scope":
            return {item.scope_type, item.scope_key, scope_of(item)}
        if name == "age":
            return item.updated_at
        if name == "session":
            return item.session_key
        if name == "source":
            return {item.source, source_of(item)}
        return "conflict" in item.meta if name == "conflict" else getattr(item, name)

    def sign(self, row: Entry) -> str:
        """The state of a fact in one character."""
        if isinstance(row, Node):
            return ""
        return sign_of(row.item)

    def foreign(self, row: Entry) -> bool:
        """Whether the fact is shown from another system's database."""
        return isinstance(row, Fact) and is_foreign(row.item)

    def row_read_only(self, row: Entry) -> str:
        """Whose fact it is, and how to have it."""
        if not self.foreign(row):
            return ""
        whose = source_of(fact_in(row).item)
        return f"read-only: a fact of {whose}, which its agent owns; on Items : import takes it over"

    def dimmed(self, row: Entry) -> bool:
        """Disabled facts are never recalled."""
        return isinstance(row, Fact) and not row.item.enabled

    def facts(self, row: Entry) -> frozenset[str]:
        """Whether it is known where the fact, or the value at the cursor, came from."""
        part = self.view.current if self._pane == "detail" else None
        session = part.value.session_key if isinstance(part, Valued) else None
        session = session or (row.item.session_key if isinstance(row, Fact) else None)
        return frozenset({"source"}) if session else frozenset()

    def targets(self) -> list[Entry]:
        """The selected facts, else the one at the cursor, or those below the heading there."""
        row = self.table.cursor_row
        if self.table.selected or not isinstance(row, Node):
            return super().targets()
        below = set(row.ids)
        return [fact for fact in self.listing.rows if fact.id in below]

    def is_gone(self, row_id: str) -> bool:
        """A heading is no row of memory: it goes with the order, and with its last fact."""
        return not row_id.startswith(("domain ", "category ")) and super().is_gone(row_id)

    def arranged(self, rows: Sequence[Entry]) -> Sequence[Entry]:
        """The facts that are wanted, under their headings."""
        self._leaves_wanted = [row for row in rows if isinstance(row, Fact)]
        row = self.table.cursor_row
        if self._is_flat:
            self._from_top = self._from_top or isinstance(row, Node)
            self._headings = {}
            self.outline.set_nodes(self._headings)
            return self._leaves_wanted
        if isinstance(row, Fact) and any(fact.id == row.id for fact in self._leaves_wanted):
            self._unfold_above(row)
        self._groups = self._places.groups(self._leaves_wanted)
        return self._tree_rows()

    def export_rows(self) -> Sequence[Entry]:
        """Facts, without headings, also those that are folded away."""
        return self.targets() if self.table.selected else self._leaves_wanted

    def shown(self) -> int:
        """Facts, without headings, also those that are folded away."""
        return len(self._leaves_wanted)

    # Folding

    def _is_open(self, row_id: str, depth: int) -> bool:
        if self.listing.filter:
            return self._turned_in_filter.get(row_id, True)
        return self._turned.get(row_id, not (self._folds_at_first and depth))

    def _turn(self, row_id: str, is_open: bool) -> None:
        turned = self._turned_in_filter if self.listing.filter else self._turned
        turned[row_id] = is_open

    def _unfold_above(self, fact: Fact) -> None:
        place = self._places.of(fact)
        for row_id in (place.domain, place.category):
            if row_id in self._headings and self._headings[row_id].is_folded:
                self._turn(row_id, True)

    def _tree_rows(self) -> Sequence[Entry]:
        made = tree(self._groups, self._totals, self._is_open)
        self._headings = made.headings
        self.outline.set_nodes(made.headings)
        return made.rows

    def _fold(self, row_id: str, is_open: bool) -> None:
        self._turn(row_id, is_open)
        self.table.set_rows(self._tree_rows())

    @on(Turned)
    def _wants_to_turn(self, event: Turned) -> None:
        row = self.table.cursor_row
        if row is None or self._is_flat:
            return
        if isinstance(row, Node) and row.is_folded == event.unfold:
            self._fold(row.id, event.unfold)
        elif event.unfold:
            self.table.move_by(1 if isinstance(row, Node) else 0)
        else:
            above = row.under if isinstance(row, Node) else self._places.of(row).category
            self.table.move_to_id(above)

    def do_fold_all(self) -> None:
        """Fold every category, or unfold all of them."""
        row = self.table.cursor_row
        if self._is_flat or row is None:
            say(self, "There are no headings in this order; s goes on to the next", "warning")
            return
        categories = [node for node in self._headings.values() if node.depth]
        fold = any(not node.is_folded for node in categories)
        if isinstance(row, Fact):
            self.table.move_to_id(self._places.of(row).category)
        for domain in self._groups:
            self._turn(domain.id, True)
            for category in domain.categories:
                self._turn(category.id, not fold)
        self.table.set_rows(self._tree_rows())

    def open_row(self, row: Entry) -> None:
        """Enter: unfold or fold the heading; to the detail of a fact."""
        if isinstance(row, Node):
            self._fold(row.id, row.is_folded)
        else:
            super().open_row(row)

    def sort_by(self, column: Column[Entry] | None, descending: bool = False) -> None:
        """Sort by a column, or as a tree."""
        self.listing.sorted_by = column.key if column else ""
        self.outline.set_columns(self.columns())
        super().sort_by(column, descending)

    def _go_to_wanted(self) -> None:
        wanted = self._wanted_row
        fact = next((fact for fact in self._leaves_wanted if fact.id == wanted), None)
        if fact is not None and not self._is_flat:
            self._unfold_above(fact)
            self.table.set_rows(self._tree_rows())
        super()._go_to_wanted()

    def asked_for(self, query: str) -> None:
        """Another filter begins with every heading unfolded."""
        self._turned_in_filter = {}
        super().asked_for(query)

    # What changed

    def _now(self, key: str) -> Entry | None:
        try:
            fact = self.ws.facts.get(key)
        except NanomemError:
            return None
        return None if fact.item.waits else fact

    def _step_off(self, now: dict[str, Entry | None]) -> None:
        """Move the cursor off a row that goes, or whose last fact goes, to the next fact that stays."""

        def stays(row: Entry) -> bool:
            return now.get(row.id, row) is not None if isinstance(row, Fact) else any(map(stays_id, row.ids))

        def stays_id(fact_id: str) -> bool:
            return now.get(fact_id, True) is not None

        rows, at = self.table.rows, self.table.cursor
        if self.table.cursor_row is None or stays(self.table.cursor_row):
            return
        facts = [index for index, row in enumerate(rows) if stays(row)]
        after = [index for index in facts if index > at and isinstance(rows[index], Fact)]
        if facts:
            self.table.move_cursor(after[0] if after else facts[-1])

    def _place_of(self, row: Entry, rows: Sequence[Entry]) -> int:
        return 0  # the tree puts it where it belongs

    def _show_changed(self, rows: list[Entry], now: dict[str, Entry | None], missing: list[Entry]) -> None:
        self._totals = self._places.totals([fact_in(row) for row in rows])
        self._changed = frozenset(key for key, row in now.items() if row is not None)
        self._make_view()
        if len(missing) == 1:
            self.show_row(missing[0].id)


def _of_fact(row: Entry, told: Callable[[Fact], str]) -> str:
    """A cell that headings have not."""
    return told(row) if isinstance(row, Fact) else ""
