"""The Inbox screen, behind Items: items, lessons and edits of Dreams that were held back, why, and a person's decision.

Shows a text as it is stored: of a secret that was masked, nothing but its kind and fingerprint is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

from nanomem_tui.curation.waiting import EDIT, Waits
from nanomem_tui.errors import BadInput
from nanomem_tui.memory.filters import Kind
from nanomem_tui.memory.forgetting import target_of
from nanomem_tui.operations import Operation
from nanomem_tui.screens.rows import LISTED, MANY, SAID, when
from nanomem_tui.screens.workspace_screen import WorkspaceScreen
from nanomem_tui.text import counted, one_line
from nanomem_tui.widgets.columns import Column, aged
from nanomem_tui.widgets.diff import DiffLine, Hunk, spans_of
from nanomem_tui.widgets.document import Block, Body, Document, Field, Heading, Spans
from nanomem_tui.widgets.toast import say

if TYPE_CHECKING:
    from nanomem_tui.curation.waiting import Done, WaitingEdit
    from nanomem_tui.memory.inbox import Waiting
    from nanomem_tui.store.values import Row
    from nanomem_tui.workspace import Workspace

    Held = Waiting | WaitingEdit


class InboxScreen(WorkspaceScreen["Held"]):
    """What waits for a person."""

    SCREEN = "inbox"
    FLASHES = False  # what a person decides on goes, and that is said
    EMPTY = "Nothing waits. What reads like an order or a secret, or was not sure enough, is held back here."
    HELP = (
        "What was held back when it was captured, imported or dreamt: it is in no list and no file, never recalled and "
        "in no export until you accept it. The reason stands beside it; o shows the message that it came from. Of an "
        "edit of a Dream the line that goes and the line that comes are shown, and the entries that ask for it."
    )
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = {
        "is": "text", "kind": "text", "why": "text", "scope": "text", "session": "text", "source": "text",
        "channel": "text", "file": "text", "age": "age", "hits": "number",
    }  # fmt: skip

    # The list

    def columns(self) -> Sequence[Column[Held]]:
        """The words, why they wait, and where they are from."""
        return (
            Column("is", "Is", lambda row: row.layer, width=6, priority=2, tone="dim", sort=lambda row: row.layer),
            Column("text", "What would be remembered", lambda row: row.text, min_width=36, flex=2),
            Column("why", "Why it waits", lambda row: row.why, min_width=18, tone="warn", sort=lambda row: row.why),
            Column("origin", "From", lambda row: row.origin, width=30, priority=3, tone="dim"),
            aged("Age", lambda row: row.since, priority=1, align="right", tone="dim",
                   sort=lambda row: row.since),
        )  # fmt: skip

    def row_id(self, row: Held) -> str:
        """The id of the item, lesson or edit."""
        return row.id

    def load(self) -> Iterable[Sequence[Held]]:
        """All that waits, the newest first."""
        yield Waits(self.ws).list()

    def search_text(self, row: Held) -> str:
        """Words are searched in the text and in the reason."""
        return f"{row.text}\n{row.why}"

    def field(self, row: Held, name: str) -> Any:
        """The fields of the filter language; `is` is item, lesson or edit."""
        values = {"is": row.layer, "why": row.why, "age": row.since}
        kept = _kept(row)
        if name in values:
            return values[name]
        if kept is None:
            edit = cast("WaitingEdit", row).hunk.edit
            return {edit.file, edit.to_file} if name == "file" else row.layer if name == "kind" else None
        if name == "scope":
            return getattr(kept, "scope_key", None) or getattr(kept, "scope", None)
        return getattr(kept, "session_key" if name == "session" else name, None)

    def sign(self, row: Held) -> str:
        """It wants a decision."""
        return "?"

    def facts(self, row: Held) -> frozenset[str]:
        """Whether it is known where it came from."""
        kept = _kept(row)
        return frozenset({"source"}) if kept is not None and kept.session_key else frozenset()

    def copy_text(self) -> str:
        """The words."""
        return "\n".join(row.text for row in self.targets())

    def detail(self, row: Held) -> Document:
        """The words, why they wait, who said them where; of an edit the diff and what asks for it."""
        kept = _kept(row)
        accept, reject, edit = (self.key_of(name) for name in ("accept", "reject", "edit"))
        keys = Body(f"{accept} accepts it, {reject} rejects it, {edit} accepts it with other words.", "dim")
        waits = Body(f"Waits: {row.why.removeprefix('waits ')}.", "warn")
        if kept is None:
            return _edit_document(Waits(self.ws), cast("WaitingEdit", row), waits, (accept, reject, edit))
        if target_of(kept):
            keys = Body(f"{accept} deletes that memory (u brings it back), {reject} keeps it.", "dim")
        blocks: list[Block] = [Body(row.text), waits, keys, Heading("Where it is from")]
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
        """Make what waits active, and edits in their files."""
        await self._decide("accept", "Accept")

    async def do_reject(self) -> None:
        """Take what waits away."""
        await self._decide("reject", "Reject")

    async def _decide(self, action: str, verb: str) -> None:
        """One thing or a few at once, many after a look at them."""
        rows = self.targets()
        ids = [row.id for row in rows]

        async def decide(_yes: bool = True) -> None:
            await self._do(lambda waits: waits.accept(ids) if action == "accept" else waits.reject(ids))
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
        kept = _kept(row)
        if kept is None:
            edit = cast("WaitingEdit", row)
            if not edit.new:
                raise BadInput("a removal has no words", edit.place, "accept or reject it")
            words = edit.new
        elif target_of(kept):
            raise BadInput("what is to be forgotten has no words", kept.id, "accept or reject it")
        else:
            words = getattr(kept, "better_action", row.text)

        async def accept(text: str | None) -> None:
            if text:
                await self._do(lambda waits: waits.accept([row.id], text))

        def wrong(text: str) -> str:
            return Waits(self.ws).now(cast("WaitingEdit", row), text) if kept is None else ""

        self.ask(EditScreen(f"Accept {row.id} with these words", words, wrong=wrong), accept)

    async def _do(self, decide: Callable[[Waits], Done]) -> None:
        """Decide in a thread, then say what was done, and what had to stay."""
        made: list[Done] = []

        def work(ws: Workspace) -> Sequence[Operation]:
            made.append(decide(Waits(ws)))
            return [made[0].operation]

        for operation in await self.change(work):
            say(self, f"{one_line(operation.label, SAID)} (u undoes it)")
        left = made[0].left
        if left:
            first = f"{one_line(left[0][0].text, SAID)}: {left[0][1].what}"
            more = f" and {counted(len(left) - 1, 'more edit')}" if len(left) > 1 else ""
            say(self, f"Still in the inbox: {first}{more}", "warning")

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
        kept = None if row is None else _kept(row)
        if kept is None or not kept.session_key:
            return
        key = kept.session_key
        index = await self.console.in_thread(lambda ws: message_of(ws, kept)) if isinstance(kept, Item) else None
        if index is not None:
            show_message(self.console, key, index)
        else:
            self.console.go("sessions", key)
            say(self, "Which message it came from is not known: this is its session")


def _kept(row: Held) -> Row | None:
    """The item or lesson that waits; None for an edit."""
    return None if row.layer == EDIT else cast("Waiting", row).row


def _edit_document(waits: Waits, row: WaitingEdit, why: Block, named_keys: tuple[str, str, str]) -> Document:
    """The line that goes and the line that comes, word by word; why it waits, and the entries that ask for it."""
    blocks: list[Block] = [Spans(((row.place, "heading"),)), *_diff(row.old, row.new), why]
    accept, reject, edit_key = named_keys
    gone, mends = waits.now(row), not waits.now(row, "other words")
    if gone:
        blocks.append(Body(f"It cannot be made as it is: {gone}.", "bad"))
    said = "" if gone else f"{accept} accepts it, "
    said += f"{reject} rejects it" + (f", {edit_key} accepts it with other words." if mends else ".")
    blocks += [Body(said, "dim"), Heading("What asks for it")]
    entries = waits.evidence(row)
    for entry in entries:
        said = entry.text if entry.timestamp else "not in the history any more"
        head = " ".join(filter(None, (entry.timestamp, entry.session_key)))
        blocks.append(Spans(((f"#{entry.cursor} ", "accent"), (f"{head} ", "dim"), (said, "")), 2))
    if not entries:
        blocks.append(Body("No history entry is named.", "dim"))
    edit = row.hunk.edit
    named = (
        ("is", f"edit of a Dream ({row.hunk.dreamer}): {edit.op}"),
        ("reason", edit.why),
        ("since", when(row.since)),
        ("id", row.id),
    )
    blocks += [Heading("Where it is from"), *(Field(name, value) for name, value in named if value)]
    return Document(tuple(blocks), copy=row.new or row.old)


def _diff(old: str, new: str) -> Iterable[Block]:
    lines = [DiffLine("-", old)] if old else []
    lines += [DiffLine("+", new)] if new else []
    for line, spans in spans_of(Hunk(tuple(lines))):
        tone = "added" if line.sign == "+" else "removed"
        yield Spans(((f"{line.sign} ", tone), *spans), 2)
