"""Facts as a tree that folds or as one sorted list, what a fact shows in the detail, and which facts are near."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from textual import on

from nanomem_tui.core import clock
from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.text import counted, normalised
from nanomem_tui.memory import edit_conflicts, retention
from nanomem_tui.memory.facts.facts import NO_DOMAIN, Value
from nanomem_tui.memory.filters import fold
from nanomem_tui.memory.recall.scoring import MAX_DISTANCE
from nanomem_tui.memory.scopes import is_foreign, scope_label, source_label
from nanomem_tui.screens.base.editable_rows import EditableRowsScreen, format_time
from nanomem_tui.screens.base.parts_screen import PartsScreen
from nanomem_tui.screens.item_columns import sign_of
from nanomem_tui.store.values import Fact, fact_of
from nanomem_tui.widgets.bars import say
from nanomem_tui.widgets.columns import Column, aged
from nanomem_tui.widgets.paged_table import Node, TreeTable, Turned
from nanomem_tui.widgets.parts_view import Part, Preface
from nanomem_tui.widgets.table import LineTable
from nanomem_tui.widgets.text_view import Block, Body, Field, Heading, Line, Spans, lay_out
from nanomem_tui.widgets.theme import Glyphs, glyphs

if TYPE_CHECKING:
    from nanomem_tui.workspace import Workspace


# -- Facts as rows of a tree: domain, category, fact. Pure: which headings are folded is told to it -------------------

Entry = Fact | Node
"""A row of the list."""
Order = tuple[bool, str, str, str]
"""Where a fact stands: those without a domain last, then by domain, category and key."""


class TreePlace(NamedTuple):
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
        self._known: dict[tuple[str | None, str, str], TreePlace] = {}

    def get(self, fact: Fact) -> TreePlace:
        """The place of a fact."""
        names = (fact.domain, fact.category, fact.key)
        place = self._known.get(names)
        if place is None:
            domain, category = normalised(fact.domain or ""), normalised(fact.category)
            order = (fact.domain is None, domain, category, normalised(fact.key))
            place = self._known[names] = TreePlace(order, f"domain {domain}", f"category {domain}\t{category}")
        return place

    def in_order(self, facts: Sequence[Fact]) -> list[Fact]:
        """The facts as they stand in the tree."""
        return sorted(facts, key=lambda fact: self.get(fact).order)

    def totals(self, facts: Sequence[Fact]) -> dict[str, int]:
        """How many facts there are under each heading."""
        places = [self.get(fact) for fact in facts]
        return {**Counter(place.domain for place in places), **Counter(place.category for place in places)}

    def groups(self, facts: Sequence[Fact]) -> list[Group]:
        """The facts under their headings."""
        found: list[Group] = []
        for domain, of_domain in _grouped(self.in_order(facts), lambda fact: self.get(fact).domain):
            categories = [
                Group(category, below[0].category, below, tuple(fact.id for fact in below))
                for category, below in _grouped(of_domain, lambda fact: self.get(fact).category)
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


# Which facts are near to words or to a fact: in meaning, and where nothing can be found so, in words, with the
# reason.

ALIKE = 60.0  # percent of the words that two texts have in common at least
LONGEST = 2_000  # characters of a text that are compared in words


class Near(NamedTuple):
    """Facts, nearest first, each with its distance: 0 the same, 1 nothing in common (in meaning up to 2).

    `by` what they were found; `note`: why not by meaning, or what is missing of it; "" when nothing is. `fix`: what
    helps against it, where something does.
    """

    found: tuple[tuple[Fact, float], ...] = ()
    by: Literal["meaning", "words"] = "meaning"
    note: str = ""
    fix: str = ""


def near_words(ws: Workspace, words: str, facts: Sequence[Fact], limit: int) -> Near:
    """The facts among `facts` that are nearest to what somebody typed."""
    rows = {fact.id: fact for fact in facts}
    meaning = ws.meaning
    try:
        meaning.maker()
        found = meaning.nearest(words, limit, rows.keys())
        meaning.start()  # what has no vector yet gets one meanwhile
        return Near(tuple((rows[key], far) for key, far in found if key in rows), note=meaning.progress)
    except NanomemError as error:
        return Near(_in_words(words, facts, limit), "words", error.line(), error.fix)


def neighbours(ws: Workspace, fact: Fact, facts: Sequence[Fact], limit: int) -> Near:
    """The facts among `facts` that are nearest to one of them."""
    rows = {one.id: one for one in facts if one.id != fact.id}
    meaning = ws.meaning
    try:
        meaning.maker()
        found = meaning.near(fact.id, limit, rows.keys())
        meaning.start()
        return Near(tuple((rows[key], far) for key, far in found if key in rows), note=meaning.progress)
    except NanomemError as error:
        return Near(_in_words(fact.item.text, list(rows.values()), limit), "words", error.line(), error.fix)


def _in_words(words: str, facts: Sequence[Fact], limit: int) -> tuple[tuple[Fact, float], ...]:
    from rapidfuzz import fuzz, process

    texts = [fold(fact.item.text[:LONGEST]) for fact in facts]
    wanted = fold(words[:LONGEST])
    found = process.extract(wanted, texts, scorer=fuzz.token_set_ratio, score_cutoff=ALIKE, limit=limit)
    return tuple((facts[index], round(1 - score / 100, 4)) for _, score, index in found)


# What the right pane of the Knowledge screen shows of a fact: its fields, every value that it had, what is near it.

NAMED = 20  # categories that the detail of a domain names


@dataclass(frozen=True, slots=True)
class Title:
    """The heading of the parts that follow, and a sentence about them."""

    key: str
    text: str
    note: str = ""
    tone: str = "dim"
    stops: bool = False

    def lines(self, width: int, unfolded: bool, wrapped: bool) -> list[Line]:
        """An empty line, the heading, the sentence."""
        blocks: list[Block] = [Heading(self.text)]
        if self.note:
            blocks.append(Body(self.note, self.tone))
        return [(), *lay_out(blocks, width, wrapped)]

    def plain(self) -> str:
        """The heading."""
        return self.text


@dataclass(frozen=True, slots=True)
class Valued:
    """One value that the fact had."""

    number: int
    value: Value
    stops: bool = True

    @property
    def key(self) -> str:
        """Its own among the parts."""
        return f"value {self.number}"

    def lines(self, width: int, unfolded: bool, wrapped: bool) -> list[Line]:
        """From when to when, by whom, from where; the value."""
        value = self.value
        until = _minute(value.until) if value.until else "now"
        head = [(f"{_minute(value.since)} to {until}", "dim" if value.until else "good"), ("  ", "")]
        head.append((value.actor or "came with the row", "accent" if value.actor else "dim"))
        from_where = " ".join(filter(None, (value.session_key, value.source_message_id)))
        if from_where:
            head.append((f"  {from_where}", "label"))
        return lay_out((Spans(tuple(head), 2), Body(value.value, "removed" if value.until else "", 2)), width, wrapped)

    def plain(self) -> str:
        """The value."""
        return self.value.value


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A fact that is among the nearest; `is_near`: nearer than what recall takes for near."""

    fact: Fact
    distance: float
    is_near: bool
    stops: bool = True

    @property
    def key(self) -> str:
        """Its own among the parts."""
        return f"near {self.fact.id}"

    def lines(self, width: int, unfolded: bool, wrapped: bool) -> list[Line]:
        """How far, where it stands, what it says."""
        fact = self.fact
        off = [("  (disabled)", "warn")] if not fact.item.enabled else []
        far, words = ("accent", "") if self.is_near else ("dim", "dim")
        parts = ((f"{self.distance:.2f}  ", far), (f"{fact.domain or NO_DOMAIN} / {fact.category}  ", "dim"))
        return lay_out((Spans((*parts, (fact.item.text, words), *off), 6),), width, wrapped)

    def plain(self) -> str:
        """Its words."""
        return self.fact.item.text


def parts_of(ws: Workspace, fact: Fact, near: Near | None, history: Sequence[Block]) -> tuple[Part, ...]:
    """The parts of a fact; `near` is None while it is looked for, `history` what the row has been through."""
    values = ws.facts.history(fact.id)
    parts: list[Part] = [Preface(tuple(_head(fact)))]
    parts.append(Title("values", f"Values ({len(values):,})"))
    parts += [Valued(number, value) for number, value in enumerate(values)]
    if near is None:
        parts.append(Title("near", "Near it", "looking …"))
    else:
        how = "in meaning" if near.by == "meaning" else "in words"
        nothing = "" if near.found else "Nothing is near. "
        parts.append(Title("near", f"Near it {how} ({len(near.found)})", f"{nothing}{near.note}".strip()))
        parts += [Neighbour(one, distance, distance < MAX_DISTANCE) for one, distance in near.found]
    return (*parts, Preface((Body(""), *_fields(ws, fact), *history), "fields"))


def heading_parts(node: Node, facts: Sequence[Fact], names: Sequence[tuple[str, int]]) -> tuple[Part, ...]:
    """The parts of a heading: how many facts, which categories, the newest of them."""
    blocks: list[Block] = [Spans(((node.name, "heading"),)), Field("facts", f"{node.total:,}")]
    off = sum(not fact.item.enabled for fact in facts)
    if len(facts) < node.total:
        blocks.append(Field("shown", f"{len(facts):,}, the filter hides the others"))
    if off:
        blocks.append(Field("disabled", f"{off:,}"))
    if facts:
        newest = max(facts, key=lambda fact: fact.item.updated_at)
        blocks += [Field("newest", format_time(newest.item.updated_at)), Body(newest.item.text, indent=13)]
    if names:
        blocks.append(Heading(counted(len(names), "category", "categories")))
        blocks += [Spans(((f"{count:>6,}  ", "dim"), (name, ""))) for name, count in names[:NAMED]]
        if len(names) > NAMED:
            blocks.append(Body(f"… and {len(names) - NAMED:,} more", "dim"))
    return (Preface(tuple(blocks)),)


def _head(fact: Fact) -> list[Block]:
    row = fact.item
    blocks: list[Block] = [Spans(((fact.key, "accent"),)), Body(fact.value)]
    if not row.enabled:
        blocks.append(Body("Disabled: kept, never recalled (x enables it).", "warn"))
    blocks += [Body(line, "bad") for line in edit_conflicts.conflict_lines(row)]
    blocks += [Field("domain", fact.domain or NO_DOMAIN), Field("category", fact.category)]
    return [*blocks, Field("sub-category", fact.sub_category)] if fact.sub_category else blocks


def _fields(ws: Workspace, fact: Fact) -> list[Block]:
    row = fact.item
    expires = retention.expiry(row, ws.settings)
    named = (
        ("scope", scope_label(row)),
        ("source", row.source),
        ("session", row.session_key),
        ("message", row.source_message_id),
        ("role", row.source_role),
        ("sender", row.sender_id),
        ("hits", f"{row.hits:,}"),
        ("importance", f"{row.importance:.2f}"),
        ("confidence", f"{row.confidence:.2f}"),
        ("created", format_time(row.created_at)),
        ("updated", format_time(row.updated_at)),
        ("recalled", format_time(row.last_accessed_at) if row.last_accessed_at else None),
        ("expires", format_time(expires) if expires else None),
        ("id", row.id),
    )
    blocks: list[Block] = [Heading("Fields"), *(Field(name, str(value)) for name, value in named if value)]
    free = {name: value for name, value in row.meta.items() if name not in {"fact", "conflict"} and value}
    return [*blocks, *(Field(name, str(value)) for name, value in free.items())]


def _minute(at: str) -> str:
    moment = clock.parse(at)
    return f"{moment.astimezone():%Y-%m-%d %H:%M}" if moment else at or "the beginning"


FOLDED_FROM = 200  # facts from which on categories are folded at first


class FactList(EditableRowsScreen[Entry], PartsScreen[Entry]):
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

    def service(self) -> Any:
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
            Column("scope", "Scope", lambda row: _of_fact(row, lambda fact: scope_label(fact.item)), width=14,
                   priority=5, tone="dim"),
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
            return {item.scope_type, item.scope_key, scope_label(item)}
        if name == "age":
            return item.updated_at
        if name == "session":
            return item.session_key
        if name == "source":
            return {item.source, source_label(item)}
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
        whose = source_label(fact_in(row).item)
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
        place = self._places.get(fact)
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
            above = row.under if isinstance(row, Node) else self._places.get(row).category
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
            self.table.move_to_id(self._places.get(row).category)
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
