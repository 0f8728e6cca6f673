"""The Inbox screen, behind Items: what was captured or imported and held back, why, and a person's decision about it.

Shows a text as it is stored: of a secret that was masked, nothing but its kind and fingerprint is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from nanomem_tui.memory.filters import Kind
from nanomem_tui.operations import Operation
from nanomem_tui.screens.rows import LISTED, MANY, SAID, age_of, when
from nanomem_tui.screens.workspace_screen import WorkspaceScreen
from nanomem_tui.text import counted, one_line
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.document import Block, Body, Document, Field, Heading, Spans
from nanomem_tui.widgets.toast import say

if TYPE_CHECKING:
    from nanomem_tui.memory.inbox import Waiting
    from nanomem_tui.workspace import Workspace


class InboxScreen(WorkspaceScreen["Waiting"]):
    """What waits for a person."""

    SCREEN = "inbox"
    FLASHES = False  # what a person decides on goes, and that is said
    EMPTY = "Nothing waits. What reads like an order or a secret, or was not sure enough, is held back here."
    HELP = (
        "What was held back when it was captured or imported: it is in no list, never recalled and in no export until "
        "you accept it. The reason stands beside it; o shows the message that it came from."
    )
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = {
        "is": "text", "kind": "text", "why": "text", "scope": "text", "session": "text", "source": "text",
        "channel": "text", "age": "age", "hits": "number",
    }  # fmt: skip

    # The list

    def columns(self) -> Sequence[Column[Waiting]]:
        """The words, why they wait, and where they are from."""
        return (
            Column("text", "What would be remembered", lambda row: row.text, min_width=40, flex=2),
            Column("why", "Why it waits", lambda row: row.why, min_width=18, tone="warn", sort=lambda row: row.why),
            Column("origin", "From", lambda row: row.origin, width=30, priority=3, tone="dim"),
            Column("age", "Age", lambda row: age_of(row.since), width=6, priority=1, align="right", tone="dim",
                   sort=lambda row: row.since),
        )  # fmt: skip

    def row_id(self, row: Waiting) -> str:
        """The id of the item or lesson."""
        return row.id

    def load(self) -> Iterable[Sequence[Waiting]]:
        """All that waits, the newest first."""
        yield self.ws.inbox.list()

    def search_text(self, row: Waiting) -> str:
        """Words are searched in the text and in the reason."""
        return f"{row.text}\n{row.why}"

    def field(self, row: Waiting, name: str) -> Any:
        """The fields of the filter language; `is` is item or lesson."""
        values = {"is": row.layer, "why": row.why, "age": row.since, "session": row.row.session_key}
        if name == "scope":
            return getattr(row.row, "scope_key", None) or getattr(row.row, "scope", None)
        return values[name] if name in values else getattr(row.row, name, None)

    def sign(self, row: Waiting) -> str:
        """It wants a decision."""
        return "?"

    def facts(self, row: Waiting) -> frozenset[str]:
        """Whether it is known where it came from."""
        return frozenset({"source"}) if row.row.session_key else frozenset()

    def copy_text(self) -> str:
        """The words."""
        return "\n".join(row.text for row in self.targets())

    def detail(self, row: Waiting) -> Document:
        """The words, why they wait, who said them where."""
        kept = row.row
        blocks: list[Block] = [Body(row.text), Body(f"Waits: {row.why}.", "warn")]
        accept, reject, edit = (self.key_of(name) for name in ("accept", "reject", "edit"))
        blocks.append(Body(f"{accept} accepts it, {reject} rejects it, {edit} accepts it with other words.", "dim"))
        blocks.append(Heading("Where it is from"))
        named = (
            ("from", row.origin),
            ("is", f"{getattr(kept, 'kind', '')} {row.layer}".strip()),
            ("scope", getattr(kept, "scope_key", "") or getattr(kept, "scope", "")),
            ("message", getattr(kept, "source_message_id", "")),
            ("since", when(row.since)),
            ("said", f"{kept.hits:,} times" if kept.hits > 1 else ""),
            ("id", row.id),
        )
        blocks += [Field(name, str(value)) for name, value in named if value]
        held = kept.meta.get("inbox")
        if isinstance(held, Mapping):
            blocks += [Field(name, str(value)) for name, value in held.items() if name != "why" and value]
        return Document(tuple(blocks), copy=row.text)

    # Deciding

    async def do_accept(self) -> None:
        """Make what waits active."""
        await self._decide("accept", "Accept")

    async def do_reject(self) -> None:
        """Take what waits away."""
        await self._decide("reject", "Reject")

    async def _decide(self, action: str, verb: str) -> None:
        """One thing or a few at once, many after a look at them."""
        rows = self.targets()
        ids = [row.id for row in rows]

        def work(ws: Workspace) -> Operation:
            return ws.inbox.accept(ids) if action == "accept" else ws.inbox.reject(ids)

        async def decide(_yes: bool = True) -> None:
            self._done(await self.change(work))
            self.table.clear_selection()

        if len(rows) <= MANY:
            await decide()
            return
        blocks: list[Block] = [Spans((("  ", ""), (one_line(row.text, 200), "")), 2) for row in rows[:LISTED]]
        if len(rows) > LISTED:
            blocks.append(Body(f"… and {len(rows) - LISTED:,} more", "dim"))
        self.confirm(f"{verb} {counted(len(rows), 'thing')}", blocks, decide, opened_by=self.key_of(action))

    def do_edit(self) -> None:
        """Accept the one at the cursor with other words."""
        from nanomem_tui.widgets.prompt import EditScreen

        row = self.table.cursor_row
        if row is None:
            return
        words = getattr(row.row, "better_action", row.text)

        async def accept(text: str | None) -> None:
            if text:
                self._done(await self.change(lambda ws: ws.inbox.accept([row.id], text)))

        self.ask(EditScreen(f"Accept {row.id} with these words", words), accept)

    def _done(self, operations: Sequence[Operation]) -> None:
        for operation in operations:
            say(self, f"{one_line(operation.label, SAID)} (u undoes it)")

    # Elsewhere

    def do_next_list(self) -> None:
        """Back to the items."""
        self.console.go("items")

    async def do_source(self) -> None:
        """To the message that it came from, or to its session."""
        from nanomem_tui.screens.find import show_message
        from nanomem_tui.screens.origin import message_of
        from nanomem_tui.store.values import Item

        row = self.table.cursor_row
        if row is None or not row.row.session_key:
            return
        kept, key = row.row, row.row.session_key
        index = await self.console.in_thread(lambda ws: message_of(ws, kept)) if isinstance(kept, Item) else None
        if index is not None:
            show_message(self.console, key, index)
        else:
            self.console.go("sessions", key)
            say(self, "Which message it came from is not known: this is its session")
