"""The Knowledge screen: facts as a tree by domain and category, what each value was, what is near it, and every way to
correct it. Behind its key: the journal, reflections, the use of tokens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar

from nanomem_tui.core.errors import Conflict, Refused
from nanomem_tui.core.operations import Operation
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.memory.filters import FIELDS, Kind
from nanomem_tui.memory.scopes import scope_of
from nanomem_tui.screens import fact_form
from nanomem_tui.screens.forms import Typed, ask_fields
from nanomem_tui.screens.knowledge_detail import Neighbour, Shown, Valued, heading_parts, parts_of
from nanomem_tui.screens.knowledge_near import NearFacts
from nanomem_tui.screens.knowledge_tree import Entry, fact_in, where_of
from nanomem_tui.screens.nearness import neighbours
from nanomem_tui.screens.rows import MANY
from nanomem_tui.store.values import Fact
from nanomem_tui.widgets.document import Block, Body, Document, Spans
from nanomem_tui.widgets.toast import say
from nanomem_tui.widgets.tree_table import Node

NEIGHBOURS = 6  # facts that are shown as near to one


class KnowledgeScreen(NearFacts):
    """Facts."""

    SCREEN = "knowledge"
    EMPTY = (
        "No facts yet. a writes one; `nanomem crystallize` finds them in what was said, `nanomem memory import` takes "
        "over those of another system."
    )
    HELP = (
        "Facts by domain and category. enter, left and right fold; O folds all. s sorts all of them in one list. / "
        "filters: domain:work category:* key:name; ~ searches by meaning: Far is the distance, 0 the same; what "
        "is further than recall takes for near (recall_max_distance) is dimmed. On a heading x and d are for all "
        "facts under it, which are shown first. In the detail every value that the fact had, and what is near it: "
        "enter goes there. l shows the journal, reflections, the use of tokens. Signs before a "
        "row: - disabled, ! in conflict, ^ pinned."
    )
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = {
        "domain": "text", "category": "text", "sub": "text", "key": "text",
        **{name: kind for name, kind in FIELDS.items() if name != "kind"}, "conflict": "switch",
    }  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._told = ""  # the id of the row that the detail shows

    # The detail

    def detail(self, row: Entry) -> Shown:
        """A heading in numbers; a fact with its values, at first without what is near it."""
        if isinstance(row, Node):
            below = set(row.ids)
            facts = [fact for fact in self.listing.rows if isinstance(fact, Fact) and fact.id in below]
            names = Counter(fact.category for fact in facts).most_common() if not row.depth else []
            return Shown(row.id, heading_parts(row, facts, names))
        history = self.history_blocks(row)
        self.post_message(self.DetailReady(row.id, Shown(row.id, parts_of(self.ws, row, None, history))))
        near = neighbours(self.ws, row, self.ws.facts.all(), NEIGHBOURS)
        return Shown(row.id, parts_of(self.ws, row, near, history))

    def show_detail(self, detail: Any) -> None:
        """From its beginning; where it is when it is the same fact."""
        if isinstance(detail, Shown):
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
        from nanomem_tui.screens.find import show_message
        from nanomem_tui.screens.origin import message_of

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
        return fact_form.FORM.text(fact_in(row)._asdict())

    def save_form(self, row: Entry, text: str) -> Operation:
        """Save those fields that were edited."""
        edited = fact_form.FORM.edited(self.edit_form(row), text)
        return self.ws.facts.edit(row.id, expected=fact_in(row).item, **edited)

    def again(self, row: Entry, now: Entry, text: str) -> str:
        """The fields that were edited as they were typed, the others as they are now."""
        edited = fact_form.FORM.edited(self.edit_form(row), text)
        return fact_form.FORM.text({**fact_in(now)._asdict(), **edited})

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

        fields = fact_form.fields_of(row)
        ask_fields(self, f"Edit {row.id}", fields, save, check=fact_form.check, typed=typed, why=why, at="value")

    def do_add(self) -> None:
        """Write a new fact, at first under the headings of the row at the cursor."""
        row = self.table.cursor_row
        below = row.ids[0] if isinstance(row, Node) else ""
        near = row if isinstance(row, Fact) else next((one for one in self._leaves_wanted if one.id == below), None)
        fields = fact_form.fields_for(near, with_category=not (isinstance(row, Node) and not row.depth))
        given = {field.name: field.value for field in fields}

        async def add(changed: Typed) -> None:
            wanted = {**given, **changed}
            warnings: list[str] = []

            def keep(ws: Any) -> Operation:
                operation, _, said = ws.facts.set(**wanted)
                warnings.extend(said)
                return operation  # type: ignore[no-any-return] # ws is Any here

            await self.done(await self.change(keep))
            for warning in warnings:
                say(self, warning, "warning")

        ask_fields(self, "A new fact", fields, add, check=lambda changed: fact_form.check_all({**given, **changed}))

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
            place = f"  {where_of(row)}, {scope_of(row.item)}"
            blocks.append(Spans(((what, tone), (one_line(row.item.text, 200), ""), (place, "dim")), 7))
        blocks.append(Body("Put the cursor on the one that is to stay. The values of the others go on in its history.",
                           "dim"))  # fmt: skip

        async def merge(_yes: bool) -> None:
            await self.done(await self.change(lambda ws: ws.facts.merge(ids, into=stays.id)))
            self.table.clear_selection()

        self.confirm(f"Merge {counted(len(rows), 'fact')} into one", blocks, merge, opened_by=self.key_of("merge"))

    def do_next_list(self) -> None:
        """To the journal."""
        self.console.go("journal")

    def _row_to_edit(self) -> Entry:
        row = super()._row_to_edit()
        if isinstance(row, Node):
            raise Refused("this is a heading", row.name, "choose one of the facts below it")
        return row
