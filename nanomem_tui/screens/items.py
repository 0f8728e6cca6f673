"""The Items screen: long-term memories, where each came from, and every way to correct it.

What every list of rows has (`x` and the like: `do_toggle`, `do_edit`, `do_delete`) is in `base/editable_rows.py`; it
calls `ws.items`, of which `RowService` (`memory/row_service.py`) enables, disables and deletes rows.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from nanomem_tui.core.errors import NanomemError, NotFound
from nanomem_tui.core.operations import Operation
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.memory import edit_conflicts, retention
from nanomem_tui.memory.filters import ITEM_FIELDS, Kind, item_field
from nanomem_tui.memory.items import merged_words
from nanomem_tui.memory.scopes import FOREIGN, is_foreign, scope_label
from nanomem_tui.opening import FIRST_PAGE
from nanomem_tui.screens.base.console import show_message, show_why_not
from nanomem_tui.screens.base.editable_rows import EditableRowsScreen, format_time
from nanomem_tui.screens.item_columns import item_columns, sign_of
from nanomem_tui.store.values import KINDS, Item
from nanomem_tui.widgets.bars import say
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.text_view import Block, Body, Document, Field, Heading, Spans

# What an item was made of: the sources that were merged into it, and the other words by which it is known.

FIELDS = frozenset({"merged_from", "aliases"})
"""The free fields that are shown here."""
SHOWN = 20
LINE = 200


def merged_blocks(row: Item) -> list[Block]:
    """Each source of an item that was made of several, the oldest first, with its words where they are kept."""
    entries = row.meta.get("merged_from") if '"merged_from"' in row.meta_json else None
    found = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    if not found:
        return []
    blocks: list[Block] = [Heading(f"Merged from ({len(found)})")]
    for entry in found[:SHOWN]:
        named = ("source", "session_key", "sender_id")
        told = ", ".join(dict.fromkeys(str(entry[name]) for name in named if entry.get(name)))
        hits = entry.get("hits")
        times = counted(hits, "hit") if isinstance(hits, int) else ""
        head = f"{format_time(str(entry.get('created_at') or ''))}  {told}  {times}"
        words = one_line(str(entry.get("text") or "the words that stand"), LINE)
        blocks.append(Spans(((f"{head}  ", "dim"), (words, "")), 2))
    if len(found) > SHOWN:
        blocks.append(Body(f"… and {len(found) - SHOWN:,} more", "dim"))
    if merged_words(row):
        blocks.append(Body("Captured again in any of these words it is known to be this item.", "dim"))
    return blocks


NOT_ITEMS = (
    "No items here: this is a home of {}, which keeps its memory in files. ] shows the files, 5 its Dreams, "
    "3 its conversations. a writes an item of your own, : take in notes makes items of MEMORY.md."
)


TOLD = frozenset((retention.FIELD, retention.WINNER))
"""Free fields of an item that are told in words."""


class ItemsScreen(EditableRowsScreen[Item]):
    """Long-term items."""

    DEFAULT_CSS = "ItemsScreen.-widest #list { width: 12fr; } ItemsScreen.-widest #detail { width: 8fr; }"
    SCREEN = "items"
    LAYER = "item"
    NOUN = "item"
    EMPTY = "No items yet. The agent has stored nothing for long; a writes the first one."
    HELP = (
        "What the agent believes for long. Signs before a row: - disabled, < superseded (superseded:yes finds those), "
        "! in conflict, ^ pinned, = of another system and read-only."
    )
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = ITEM_FIELDS

    def service(self) -> Any:
        """The items of the workspace."""
        return self.ws.items

    def cap(self) -> int:
        """The setting `max_items`."""
        return self.ws.settings.max_items

    # The list

    def columns(self) -> Sequence[Column[Item]]:
        """The text, and as much about it as fits."""
        return item_columns()

    def reload(self) -> None:
        """Read the rows again; at the start the first page may be there already, for the very first frame."""
        super().reload()
        if not self.listing.rows and self.console.opening.first_page:
            self.table.set_rows(self.console.opening.first_page)

    def load(self) -> Iterable[Sequence[Item]]:
        """A first page straight from the database, then everything, then other systems' rows."""
        ws = self.ws
        if not self.listing.rows:
            first = ws.items.first(FIRST_PAGE)
            if first:
                self.post_message(self.RowsLoaded(self._load_turn, first, False, frozenset(), frozenset()))
                self.console.wait_for_first_rows()  # what comes next would slow their painting
        with contextlib.nullcontext() if self.listing.rows else _no_garbage():
            rows = list(ws.items.all())
        if not rows and ws.layout.has_history_jsonl:
            self.EMPTY = NOT_ITEMS.format(ws.layout.release)  # type: ignore[misc] # what is said depends on the home
        try:
            rows += ws.items.foreign()
        except NanomemError as error:
            self.app.call_later(say, self, error.line(), "warning")
        yield rows

    def search_text(self, row: Item) -> str:
        """Words are searched in the text."""
        return row.text

    def field(self, row: Item, name: str) -> Any:
        """The fields of the filter language."""
        return item_field(row, name)

    def foreign(self, row: Item) -> bool:
        """Whether the row is shown from another system's database."""
        return is_foreign(row)

    def sign(self, row: Item) -> str:
        """The state of a row in one character."""
        return sign_of(row)

    def dimmed(self, row: Item) -> bool:
        """Disabled items are never recalled."""
        return not row.enabled

    def facts(self, row: Item) -> frozenset[str]:
        """Whether it is known where the item came from."""
        return frozenset({"source"}) if row.session_key else frozenset()

    # The detail

    def headline(self, row: Item) -> str:
        """The text."""
        return row.text

    def copy_text(self) -> str:
        """The text of the item, or of the selected ones."""
        return "\n".join(row.text for row in self.targets())

    def detail(self, row: Item) -> Document:
        """The whole text, every field, and what the item has been through."""
        blocks: list[Block] = [Body(row.text), *self._states(row), Heading("Fields")]
        named = (
            ("kind", row.kind),
            ("scope", row.scope_type if row.scope_type == "global" else f"{row.scope_type} {row.scope_key}"),
            ("source", row.source),
            ("session", row.session_key),
            ("channel", row.channel),
            ("chat", row.chat_id),
            ("sender", row.sender_id),
            ("message", row.source_message_id),
            ("role", row.source_role),
            ("hits", f"{row.hits:,}"),
            ("importance", f"{row.importance:.2f}"),
            ("confidence", f"{row.confidence:.2f}"),
            ("created", format_time(row.created_at)),
            ("updated", format_time(row.updated_at)),
            ("recalled", format_time(row.last_accessed_at) if row.last_accessed_at else None),
            ("expires", format_time(until) if (until := retention.expiry(row, self.ws.settings)) else None),
            ("id", row.id),
        )
        blocks += [Field(name, str(value)) for name, value in named if value]
        turns = [] if self.foreign(row) else self.ws.traces.injections.of_item(row.id)
        if turns:
            from nanomem_tui.screens.recall.recall import injected_field

            blocks.append(injected_field(turns))
        shown = FIELDS | {"conflict"}
        blocks += [Field(name, str(value)) for name, value in row.meta.items() if name not in shown | TOLD and value]
        blocks += merged_blocks(row)
        return Document(tuple(blocks + self.history_blocks(row)), copy=row.text)

    def _states(self, row: Item) -> list[Block]:
        said: list[Block] = []
        known = retention.superseded_notes(
            row, {name: self.ws.store.snapshot.table(name) for name in ("item", "lesson")}
        )
        said += [Body(f"{name} {words}", "warn" if name == "Superseded" else "dim") for name, words in known]
        if not row.enabled:
            said.append(Body("Disabled: kept, never recalled (x enables it).", "warn"))
        if row.pinned:
            said.append(Body("Pinned: no compaction removes it (p lets it go).", "accent"))
        if self.foreign(row):
            said.append(Body(f"A row of {row.source.removeprefix(FOREIGN)}: it can be read here, not changed.", "warn"))
        if lines := edit_conflicts.conflict_lines(row):
            said += [Body(line, "bad") for line in lines]
            said.append(Body("e edits it to what is true and settles this.", "dim"))
        return said

    # Actions

    def edit_form(self, row: Item) -> str:
        """The text."""
        return row.text

    def save_form(self, row: Item, text: str) -> Operation:
        """Save the text."""
        return self.ws.items.edit(row.id, expected=row, text=text)

    def offer_gone(self, row: Item, text: str, gone: NotFound) -> None:
        """Offer again what was typed for an item that was deleted meanwhile, as a new one in its place."""
        kind = row.kind if row.kind in KINDS else "fact"
        place = {name: getattr(row, name) for name in ("scope_type", "channel", "chat_id", "sender_id")}
        self._ask_new(text, f"{gone.line()}; ^s saves what you typed as a new one", kind=kind, **place)

    def do_add(self) -> None:
        """Write a new item."""
        self._ask_new()

    def _ask_new(self, typed: str | None = None, why: str = "", **fields: Any) -> None:
        async def add(text: str) -> None:
            warnings: list[str] = []

            def work(ws: Any) -> Operation:
                operation, _item, said = ws.items.add(text, **fields, merge=True)
                warnings.extend(said)
                return operation  # type: ignore[no-any-return] # ws is Any here

            await self.done(await self.change(work))
            for warning in warnings:
                say(self, warning, "warning")

        self.ask_text("A new item", "", add, typed, why)

    def do_fields(self) -> None:
        """Set kind, importance and scope of the row or of the selected ones, as one change."""
        from nanomem_tui.memory.items import edit_items
        from nanomem_tui.screens.base.forms import fields_of, read_fields
        from nanomem_tui.widgets.dialogs import FormScreen

        rows = self.own_targets()
        ids = [row.id for row in rows]
        whose = one_line(rows[0].text, 40) if len(rows) == 1 else counted(len(rows), "item")

        async def change(fields: Mapping[str, Any] | None) -> None:
            if fields:
                await self.done(await self.change(lambda ws: edit_items(ws.store, ws.perform, ids, fields)))

        title = f"Kind, importance and scope of {whose}"
        self.ask(FormScreen(title, fields_of(rows), lambda typed: read_fields(typed, self.ws.id)), change)

    async def do_pin(self) -> None:
        """Pin or unpin: all of the rows become what the first one is not."""
        rows = self.own_targets()
        pinned = not rows[0].pinned
        touched = [row for row in rows if bool(row.pinned) is not pinned]
        verb = "Pin" if pinned else "Unpin"
        await self.change_rows("pin", verb, touched, lambda ids: self.ws.items.set_pinned(ids, pinned))

    def do_merge(self) -> None:
        """Make one item of the selected ones, after a look at what stays."""
        rows = sorted(self.own_targets(), key=lambda row: row.updated_at, reverse=True)
        ids = [row.id for row in rows]
        whose = [f"{row.kind}, {scope_label(row)}" for row in rows]
        differ = len({(row.scope_key, row.kind) for row in rows}) > 1
        blocks: list[Block] = []
        for row, place in zip(rows, whose, strict=True):
            what, tone = ("goes   ", "bad") if blocks else ("stays  ", "good")
            blocks.append(Spans(((what, tone), (one_line(row.text, 200), ""), (f"  {place}" * differ, "dim")), 7))
        blocks.append(Body(f"Its hits become {sum(row.hits for row in rows):,}.", "dim"))

        async def merge(_yes: bool) -> None:
            await self.done(await self.change(lambda ws: ws.items.merge(ids)))
            self.table.clear_selection()

        title, refused = f"Merge {len(rows)} items into the newest", ""
        if differ:
            how = f"press {self.key_of('fields')} to give the selected items one kind and scope, then merge them"
            kinds = list(dict.fromkeys(whose))
            more = f"; and {len(kinds) - 4:,} more" if len(kinds) > 4 else ""
            refused = f"They differ in scope or kind ({'; '.join(kinds[:4])}{more}): {how}."
        self.confirm(title, blocks, merge, opened_by=self.key_of("merge"), refused=refused)

    def do_split(self) -> None:
        """Move or copy the row, or the selected ones, to another scope."""
        from nanomem_tui.screens.scopes import ask_where

        rows = self.own_targets()
        whose = one_line(rows[0].text, 40) if len(rows) == 1 else counted(len(rows), "item")
        ask_where(self, [row.id for row in rows], whose)

    def do_back(self) -> None:
        """Stop the import that is under way, else one step back."""
        from nanomem_tui.screens.transfer import stop

        if not stop(self):
            super().do_back()

    def do_import_file(self) -> None:
        """Take memories from a file."""
        from nanomem_tui.screens.transfer import import_file

        import_file(self)

    def do_export_file(self) -> None:
        """Write memories to a file."""
        from nanomem_tui.screens.transfer import export_file

        export_file(self)

    def do_backfill(self) -> None:
        """Take in the notes."""
        from nanomem_tui.screens.transfer import backfill

        backfill(self)

    def do_why_not(self) -> None:
        """Ask on the Recall screen why the item at the cursor is not recalled."""
        row = self.table.cursor_row
        if row is not None:
            show_why_not(self.console, row.id)

    async def do_source(self) -> None:
        """Jump to the message that the item came from, or to its session when that is not known."""
        row = self.table.cursor_row
        if row is None or not row.session_key:
            return
        from nanomem_tui.review.finders.rows import message_of  # the finders are no part of the start

        index = await self.console.in_thread(lambda ws: message_of(ws, row))
        if index is not None:
            show_message(self.console, row.session_key, index)
            return
        self.console.go("sessions", row.session_key)
        say(self, "Which message it came from is not known, or it was compacted away: this is its session")


@contextlib.contextmanager
def _no_garbage() -> Iterator[None]:
    """While many rows are made: no search for garbage among them, then or later. Saves pauses of 0.1 s at 100,000."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
