"""The Ledger screen: every change by anyone, newest first, what each touched, and the way back from any of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from nanomem_tui import clock
from nanomem_tui.errors import Refused
from nanomem_tui.memory.filters import Kind
from nanomem_tui.operations import Change, Operation
from nanomem_tui.screens.rows import SAID, in_pairs, when
from nanomem_tui.screens.workspace_screen import WorkspaceScreen
from nanomem_tui.store.oplog import BOOKKEEPING, LogEntry
from nanomem_tui.text import counted, one_line
from nanomem_tui.widgets.columns import Column, aged
from nanomem_tui.widgets.document import Block, Body, Document, Field, Heading, Spans
from nanomem_tui.widgets.toast import say

FIRST, MOST = 100, 10_000  # operations
SHOWN_CHANGES = 100


class LedgerScreen(WorkspaceScreen[LogEntry]):
    """All operations."""

    SCREEN = "ledger"
    EMPTY = "No changes yet. Every change by you, a Dream, a compaction or the agent will be listed here."
    HELP = (
        "Every change, newest first. t takes back the one at the cursor, whatever came after it. esc goes back. "
        "What was taken back says so, is dim and has a - before it; undone:yes finds it."
    )
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = {
        "id": "text", "who": "text", "kind": "text", "key": "text", "age": "age", "undone": "switch",
    }  # fmt: skip

    def columns(self) -> Sequence[Column[LogEntry]]:
        """When, who, what."""
        return (
            Column("when", "When", _when, width=16, priority=4, tone="dim"),
            aged("Age", lambda row: row.operation.at, priority=3, align="right", tone="dim"),
            Column("who", "Who", lambda row: row.operation.actor, width=10, priority=1,
                   sort=lambda row: row.operation.actor),
            Column("state", "State", lambda row: "taken back" if row.undone else "", width=10, tone="warn",
                   sort=lambda row: row.undone),
            Column("what", "What", lambda row: row.operation.label, min_width=24),
            Column("touched", "Rows", lambda row: f"{len(row.operation.changes):,}", width=7, priority=2, align="right",
                   sort=lambda row: len(row.operation.changes)),
        )  # fmt: skip

    def row_id(self, row: LogEntry) -> str:
        """The id of the operation."""
        return row.operation.id

    def load(self) -> Iterable[Sequence[LogEntry]]:
        """The newest, then the rest of them."""
        first = self.ws.log(limit=FIRST)
        yield first
        if len(first) == FIRST:
            yield self.ws.log(limit=MOST, offset=FIRST)

    def search_text(self, row: LogEntry) -> str:
        """Words are searched in what was done."""
        return f"{row.operation.label} {row.operation.kind}"

    def field(self, row: LogEntry, name: str) -> Any:
        """The fields of the filter language."""
        operation = row.operation
        if name == "key":
            return operation.keys()
        if name == "undone":
            return row.undone
        return {"id": operation.id, "who": operation.actor, "kind": operation.kind, "age": operation.at}[name]

    def dimmed(self, row: LogEntry) -> bool:
        """What was taken back counts no more."""
        return row.undone

    def sign(self, row: LogEntry) -> str:
        """Taken back, or only bookkeeping."""
        return "-" if row.undone else ""

    def copy_text(self) -> str:
        """The id, as `nanomem undo ID` takes it."""
        return "\n".join(row.operation.id for row in self.targets())

    def detail(self, row: LogEntry) -> Document:
        """Who, when, and each thing touched, before and after."""
        operation = row.operation
        blocks: list[Block] = [Body(operation.label)]
        if row.undone:
            blocks.append(Body("Taken back.", "warn"))
        named = (
            ("who", operation.actor),
            ("when", when(operation.at)),
            ("kind", operation.kind),
            ("takes back", operation.undoes or ""),
            ("does again", operation.redoes or ""),
            ("id", operation.id),
        )
        blocks += [Field(name, value) for name, value in named if value]
        blocks += [Field(str(name), str(value)) for name, value in operation.meta.items()]
        return Document((*blocks, *changes_of(operation)), copy=operation.id)

    # Actions

    def do_dream_restore(self) -> None:
        """Take back the change at the cursor, after a look at what that changes."""
        row = self.table.cursor_row
        if row is None:
            return
        operation = row.operation
        if operation.kind in BOOKKEEPING:
            raise Refused("that line only says something about another change", operation.label, "choose that one")
        if row.undone:
            raise Refused("that change is taken back already", operation.label, "^r does the last one again")
        blocks = changes_of(Operation(operation.id, "", operation.actor, "", "", operation.inverse()))

        async def take_back(_yes: bool) -> None:
            for done in await self.change(lambda ws: ws.undo(operation.id)):
                say(self, f"{one_line(done.label, SAID)} (^r does it again)")

        title = f"Take back: {one_line(operation.label, 50)}"
        self.confirm(title, blocks, take_back, opened_by=self.key_of("dream_restore"))

    def leave(self) -> bool:
        """Back to the screen before."""
        self.console.go_back()
        return True


def _when(row: LogEntry) -> str:
    moment = clock.parse(row.operation.at)
    return f"{moment.astimezone():%Y-%m-%d %H:%M}" if moment else row.operation.at


def changes_of(operation: Operation) -> list[Block]:
    """Each thing that an operation touches, before and after."""
    total = len(operation.changes)
    blocks: list[Block] = [Heading(f"{counted(total, 'thing')} touched")]
    for change in operation.changes[:SHOWN_CHANGES]:
        blocks += _one(change)
    if total > SHOWN_CHANGES:
        blocks.append(Body(f"… and {total - SHOWN_CHANGES:,} more", "dim"))
    return blocks


def _one(change: Change) -> list[Block]:
    blocks: list[Block] = [Spans((("", ""), (f"{change.layer} ", "dim"), (change.key, "accent")), 2)]
    before, after = (_fields(change, value) for value in (change.before, change.after))
    for name in dict.fromkeys((*before, *after)):
        label, old, new = in_pairs(name, before.get(name), after.get(name))
        if name in {"updated_at", "key"} or old == new:
            continue
        if change.before is not None:
            blocks.append(Spans((("  - ", "removed"), (label, "dim"), (one_line(old, 300), "removed")), 4))
        if change.after is not None:
            blocks.append(Spans((("  + ", "added"), (label, "dim"), (one_line(new, 300), "added")), 4))
    return blocks


def _fields(change: Change, value: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The fields on one side of a change; those of a record of an agent's work stand one deeper."""
    found: Mapping[str, Any] = value or {}
    return found.get("fields", found) if change.layer == "tier" else found
