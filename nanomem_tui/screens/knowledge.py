"""The Knowledge screen: facts as a tree by domain and category, or by semantic distance; edit, move and merge them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from textual import on, work
from textual.message import Message
from textual.worker import get_current_worker

from nanomem_tui.core.errors import BadInput, Conflict, Refused, shown_error
from nanomem_tui.core.operations import Operation
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.memory.filters import FIELDS, Filter, Kind, parse
from nanomem_tui.memory.recall.scoring import MAX_DISTANCE
from nanomem_tui.memory.scopes import scope_label
from nanomem_tui.screens.base.console import show_message
from nanomem_tui.screens.base.editable_rows import MANY
from nanomem_tui.screens.base.forms import TextForm, Typed, ask_fields
from nanomem_tui.screens.base.parts_screen import DetailParts
from nanomem_tui.screens.knowledge_list import (
    Entry,
    FactList,
    Near,
    Neighbour,
    Valued,
    fact_in,
    heading_parts,
    near_words,
    neighbours,
    parts_of,
    where_of,
)
from nanomem_tui.store.values import Fact, checked_name
from nanomem_tui.widgets.bars import FilterBar, LineInput, say
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.dialogs import FormField
from nanomem_tui.widgets.paged_table import Node
from nanomem_tui.widgets.text_view import Block, Body, Document, Spans

# Search by meaning on the Knowledge screen: ``~`` before the words of a filter brings the nearest facts first.

NEAREST = 50  # facts that are shown
ROOM = 44  # characters of a note that are seen beside the filter
REST = 0.15  # seconds without a key before a search begins
MEANING = "~"


# -- A fact as a person writes it: its fields in a form of lines, or all of them in one text. Pure --------------------

FORM = TextForm(
    {"DOMAIN": "domain", "CATEGORY": "category", "SUB-CATEGORY": "sub_category", "KEY": "key", "VALUE": "value"},
    "the edited fact",
)
"""The parts of a fact as a text; the value last, so that a line of it is never taken for a name."""
HINTS = {
    "domain": "what it belongs to at large: work, home; may be empty",
    "category": "what kind of fact: person, project, preference",
    "sub_category": "a finer kind; may be empty",
    "key": "what it is about; one fact for each domain, category and key",
    "value": "what is so",
}
OPTIONAL = frozenset({"domain", "sub_category"})


def fields_of(fact: Fact) -> list[FormField]:
    """The fields of a form for a fact."""
    return [FormField(name, getattr(fact, name) or "", hint, name in OPTIONAL) for name, hint in HINTS.items()]


def fields_for(near: Fact | None, *, with_category: bool) -> list[FormField]:
    """The fields of a form for a new fact, with the domain of one that stands `near`, and its category."""
    given = {
        "domain": (near.domain or "") if near is not None else "",
        "category": near.category if near is not None and with_category else "",
    }
    return [FormField(name, given.get(name, ""), hint, name in OPTIONAL) for name, hint in HINTS.items()]


def check(typed: Mapping[str, str]) -> None:
    """Raises BadInput for a name that can't be one."""
    for name, text in typed.items():
        if name != "value":
            checked_name(text, name, needed=name not in OPTIONAL)


def check_all(typed: Mapping[str, str]) -> None:
    """Raises BadInput too where something is missing that a fact needs."""
    missing = [name for name in HINTS if name not in OPTIONAL and not typed.get(name)]
    if missing:
        raise BadInput(f"{' and '.join(missing)} missing", "the new fact", "fill it in")
    check(typed)


NEIGHBOURS = 6  # facts that are shown as near to one


class KnowledgeScreen(FactList):
    """Facts."""

    SCREEN = "knowledge"
    EMPTY = (
        "No facts yet. a writes one; `nanomem crystallize` finds them in what was said, `nanomem memory import` takes "
        "over those of another system."
    )
    HELP = (
        "Facts by domain and category. enter, left and right fold; O folds all. s sorts all of them in one list. / "
        "filters: domain:work category:* key:name; ~ searches by meaning: Far is the distance, 0 the same; what "
        "is further than recall takes for near is dimmed. On a heading x and d are for all "
        "facts under it, which are shown first. In the detail every value that the fact had, and what is near it: "
        "enter goes there. Signs before a row: - disabled, ! in conflict, ^ pinned."
    )
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = {
        "domain": "text", "category": "text", "sub": "text", "key": "text",
        **{name: kind for name, kind in FIELDS.items() if name != "kind"}, "conflict": "switch",
    }  # fmt: skip

    class Nearest(Message):
        """From the searching thread: what is nearest in meaning to what was asked."""

        def __init__(self, asked: str, near: Near | Exception) -> None:
            super().__init__()
            self.asked = asked
            self.near = near

    def __init__(self) -> None:
        super().__init__()
        self._asked = ""  # the words that something near is looked for
        self._looks = False
        self._near: Near | None = None  # what is shown; until more is found, what was found before
        self._far: Mapping[str, float] = {}
        self._told = ""  # the id of the row that the detail shows

    @property
    def _is_flat(self) -> bool:
        return self._near is not None or super()._is_flat

    def columns(self) -> Sequence[Column[Entry]]:
        """How far each is, where that is the order."""
        if self._near is None:
            return super().columns()
        far = Column[Entry]("far", "Far", lambda row: f"{self._far[fact_in(row).id]:.2f}", width=4, tone="accent")
        return (far, *super().columns())

    def _say_totals(self) -> None:
        super()._say_totals()
        if self._looks:
            self.query_one(FilterBar).say("looking …")
        elif self._near is not None:
            near, total = self._near, f"of {len(self.listing.rows):,}"
            far = sum(not self._is_near(away) for _, away in near.found)
            said = f"{len(near.found) - far} near{f', {far} far' if far else ''} {total}"
            if near.by == "words":
                said = f"{len(near.found)} nearest {total}, by words"
            self.say_counts(said)
            self.query_one(FilterBar).say(near.fix if near.fix and len(near.note) > ROOM else near.note, "warn")

    def _is_near(self, away: float) -> bool:
        """Nearer than what recall takes for near. Words are only found where they are alike."""
        near = self._near
        return near is None or near.by == "words" or away < MAX_DISTANCE

    def dimmed(self, row: Entry) -> bool:
        """Also what is far from what was asked."""
        return super().dimmed(row) or not self._is_near(self._far.get(row.id, 0.0))

    def do_by_meaning(self) -> None:
        """Type what is looked for."""
        self.do_filter()
        line = self.query_one(FilterBar).query_one(LineInput)
        if not line.value.startswith(MEANING):
            line.value = f"{MEANING}{line.value}"
        line.cursor_position = len(line.value)

    def asked_for(self, query: str) -> None:
        """A filter; behind ~ words whose nearest facts are wanted, with fields that the facts must have."""
        typed = query[1:].strip() if query.startswith(MEANING) else ""
        wanted = parse(typed, self.FILTER_FIELDS)
        if wanted.words or wanted.phrases:
            if typed != self._asked:
                self._asked, self._looks = typed, True
                self._say_totals()
                self._look_for(typed)
            return
        plain = query.removeprefix(MEANING)
        if not self._asked:
            super().asked_for(plain)
            return
        self.workers.cancel_group(self, "view")
        self._asked, self._looks, self._near = "", False, None
        self.outline.set_columns(self.columns())
        self.listing.set_query(plain)
        self._make_view()

    @work(thread=True, exclusive=True, group="view", exit_on_error=False)
    def _look_for(self, asked: str) -> None:
        worker = get_current_worker()
        time.sleep(REST)
        if worker.is_cancelled:
            return
        try:
            found: Near | Exception = self._found(parse(asked, self.FILTER_FIELDS))
        except Exception as error:  # noqa: BLE001 - said beside the filter; the list stays usable
            found = error
        if not worker.is_cancelled:
            self.post_message(self.Nearest(asked, found))

    def _found(self, wanted: Filter) -> Near:
        passes = wanted.predicate(self.field)
        facts = [fact for fact in self.ws.facts.all() if passes is None or passes(fact)]
        return near_words(self.ws, " ".join(wanted.words + wanted.phrases), facts, NEAREST)

    @on(Nearest)
    def _nearest_found(self, event: Nearest) -> None:
        event.stop()
        if event.asked != self._asked:
            return
        self._looks = False
        if isinstance(event.near, Exception):
            error = shown_error(event.near)
            self._near = Near(by="words", note=error.line())
        else:
            self._near = event.near
        self._far = {fact.id: far for fact, far in self._near.found}
        self._from_top = True
        self.outline.set_columns(self.columns())
        self._make_view()

    def _make_view(self) -> None:
        if self._near is None:
            super()._make_view()
            return
        rows = {row.id: row for row in self.listing.rows}
        found = [rows[fact.id] for fact, _ in self._near.found if fact.id in rows]
        asked = f"“{one_line(self._asked, 60)}”"
        empty = f"Nothing is near {asked}."
        if self._near.by == "words":
            empty = f"No fact has words like {asked}, and by meaning nothing was searched: {self._near.note}"
        self.table.set_rows(self.arranged(found), self._changed, empty, from_top=self._from_top)
        self._from_top, self._changed = False, frozenset()
        self._say_totals()
        self.console.rows_came.set()

    def do_sort(self) -> None:
        """By the next column, in one list; after the last the tree again. What is found by meaning keeps its order."""
        if self._near is not None:
            say(self, "The nearest stand first; esc leaves the search by meaning", "warning")
        else:
            super().do_sort()

    def _go_to_wanted(self) -> None:
        if self._near is not None and all(row.id != self._wanted_row for row in self.table.rows):
            self.filter_by("")
        else:
            super()._go_to_wanted()

    # The detail

    def detail(self, row: Entry) -> DetailParts:
        """A heading in numbers; a fact with its values, at first without what is near it."""
        if isinstance(row, Node):
            below = set(row.ids)
            facts = [fact for fact in self.listing.rows if isinstance(fact, Fact) and fact.id in below]
            names = Counter(fact.category for fact in facts).most_common() if not row.depth else []
            return DetailParts(row.id, heading_parts(row, facts, names))
        history = self.history_blocks(row)
        self.post_message(self.DetailReady(row.id, DetailParts(row.id, parts_of(self.ws, row, None, history))))
        near = neighbours(self.ws, row, self.ws.facts.all(), NEIGHBOURS)
        return DetailParts(row.id, parts_of(self.ws, row, near, history))

    def show_detail(self, detail: Any) -> None:
        """From its beginning; where it is when it is the same fact."""
        if isinstance(detail, DetailParts):
            same = bool(self.view.parts) and self._told == detail.row_id
            self._told = detail.row_id
            self.view.show(detail.parts, keep_place=same)
            if not same:
                self.view.move_to_part(detail.parts[0].key)
        elif isinstance(detail, Document):
            self.view.show((), empty="No fact is chosen.")

    def do_open(self) -> None:
        """Enter in the detail: to the fact that is near, to the source of the value."""
        part = self.view.current
        if isinstance(part, Neighbour):
            self.show_row(part.fact.id)
        elif isinstance(part, Valued):
            self.run_worker(self.action_do("source"), exit_on_error=False)

    def copy_rows(self) -> str:
        """The words of the fact, or of the selected ones."""
        return "\n".join(fact_in(row).item.text for row in self.targets())

    async def do_source(self) -> None:
        """To the message that the fact, or the value at the cursor, came from."""
        from nanomem_tui.review.finders.rows import message_of

        row, part = self.table.cursor_row, self.view.current if self._pane == "detail" else None
        if not isinstance(row, Fact):
            return
        item = row.item
        if isinstance(part, Valued) and part.value.session_key:
            value = part.value
            item = item._replace(session_key=value.session_key, source_message_id=value.source_message_id,
                                 text=value.value, created_at=value.since)  # fmt: skip
        index = await self.console.in_thread(lambda ws: message_of(ws, item))
        if index is not None:
            show_message(self.console, item.session_key or "", index)
            return
        self.console.go("sessions", item.session_key)
        say(self, "Which message it came from is not known, or it was compacted away: this is its session")

    # Actions

    def headline(self, row: Entry) -> str:
        """Its words."""
        return row.name if isinstance(row, Node) else row.item.text

    def edit_form(self, row: Entry) -> str:
        """All its fields as one text."""
        return FORM.text(fact_in(row)._asdict())

    def save_form(self, row: Entry, text: str) -> Operation:
        """Save those fields that were edited."""
        edited = FORM.edited(self.edit_form(row), text)
        return self.ws.facts.edit(row.id, expected=fact_in(row).item, **edited)

    def again(self, row: Entry, now: Entry, text: str) -> str:
        """The fields that were edited as they were typed, the others as they are now."""
        edited = FORM.edited(self.edit_form(row), text)
        return FORM.text({**fact_in(now)._asdict(), **edited})

    def do_edit(self) -> None:
        """Edit the fields of the fact; a value of several lines together with them, as one text."""
        row = fact_in(self._row_to_edit())
        if one_line(row.value) != row.value:
            super().do_edit()
        else:
            self._edit_fields(row)

    def _edit_fields(self, row: Fact, typed: Typed | None = None, why: str = "") -> None:
        async def save(changed: Typed) -> None:
            try:
                await self.done(await self.change(lambda ws: ws.facts.edit(row.id, expected=row.item, **changed)))
            except Conflict as error:
                now = self._now(row.id)
                if not isinstance(now, Fact):
                    raise
                self._edit_fields(now, changed, error.line())

        fields = fields_of(row)
        ask_fields(self, f"Edit {row.id}", fields, save, check=check, typed=typed, why=why, at="value")

    def do_add(self) -> None:
        """Write a new fact, at first under the headings of the row at the cursor."""
        row = self.table.cursor_row
        below = row.ids[0] if isinstance(row, Node) else ""
        near = row if isinstance(row, Fact) else next((one for one in self._leaves_wanted if one.id == below), None)
        fields = fields_for(near, with_category=not (isinstance(row, Node) and not row.depth))
        given = {field.name: field.value for field in fields}

        async def add(changed: Typed) -> None:
            wanted = {**given, **changed}
            warnings: list[str] = []

            def add_fact(ws: Any) -> Operation:
                operation, _, said = ws.facts.set(**wanted)
                warnings.extend(said)
                return operation  # type: ignore[no-any-return] # ws is Any here

            await self.done(await self.change(add_fact))
            for warning in warnings:
                say(self, warning, "warning")

        ask_fields(self, "A new fact", fields, add, check=lambda changed: check_all({**given, **changed}))

    async def do_toggle(self) -> None:
        """Disable or enable: all of the facts become what the first one is not."""
        rows = [fact_in(row) for row in self.own_targets()]
        enabled = not rows[0].item.enabled
        touched = [row for row in rows if row.item.enabled is not enabled]
        verb = "Enable" if enabled else "Disable"
        most = self._at_once(MANY)
        await self.change_rows("toggle", verb, touched, lambda ids: self.ws.items.set_enabled(ids, enabled), most)

    async def do_delete(self) -> None:
        """Delete one fact at once, several and those of a heading after a look at them."""
        work = self.ws.facts.delete
        await self.change_rows("delete", "Delete", self.own_targets(), work, self._at_once(1))

    def _at_once(self, most: int) -> int:
        """So many facts are changed without a look at them: none where a heading stands for them."""
        return 0 if isinstance(self.table.cursor_row, Node) and not self.table.selected else most

    def do_merge(self) -> None:
        """Make one fact of the selected ones, after a look at which stays."""
        rows = [fact_in(row) for row in self.own_targets()]
        at = self.table.cursor_id
        stays = next((row for row in rows if row.id == at), None) or max(rows, key=lambda row: row.item.updated_at)
        ids = [row.id for row in rows]
        blocks: list[Block] = []
        for row in (stays, *(row for row in rows if row is not stays)):
            what, tone = ("goes   ", "bad") if blocks else ("stays  ", "good")
            place = f"  {where_of(row)}, {scope_label(row.item)}"
            blocks.append(Spans(((what, tone), (one_line(row.item.text, 200), ""), (place, "dim")), 7))
        blocks.append(Body("Put the cursor on the one that is to stay. The values of the others go on in its history.",
                           "dim"))  # fmt: skip

        async def merge(_yes: bool) -> None:
            await self.done(await self.change(lambda ws: ws.facts.merge(ids, into=stays.id)))
            self.table.clear_selection()

        self.confirm(f"Merge {counted(len(rows), 'fact')} into one", blocks, merge, opened_by=self.key_of("merge"))

    def _row_to_edit(self) -> Entry:
        row = super()._row_to_edit()
        if isinstance(row, Node):
            raise Refused("this is a heading", row.name, "choose one of the facts below it")
        return row
