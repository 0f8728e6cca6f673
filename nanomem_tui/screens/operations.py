"""The History screen: every change by anyone, newest first, what each touched, and how to undo it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from nanomem_tui.core import clock
from nanomem_tui.core.errors import Refused
from nanomem_tui.core.operations import SIGNED, Change, Operation
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.memory.filters import Kind
from nanomem_tui.screens.base.editable_rows import SAID, format_change, format_time
from nanomem_tui.screens.base.workspace_screen import WorkspaceScreen
from nanomem_tui.store.database.operation_log import BOOKKEEPING, LogEntry
from nanomem_tui.widgets.bars import say
from nanomem_tui.widgets.columns import Column, aged
from nanomem_tui.widgets.text_view import Block, Body, Document, Field, Heading, Spans

if TYPE_CHECKING:
    from nanomem_tui.workspace import Workspace

FIRST, MOST = 100, 10_000  # operations
SHOWN_CHANGES = 100
LISTED = 20  # operations of a preview


class OperationsScreen(WorkspaceScreen[LogEntry]):
    """All operations."""

    SCREEN = "ledger"
    EMPTY = "No changes yet. Every change by you, a Dream, a compaction or the agent will be listed here."
    HELP = (
        "Every change, newest first. t takes back the one at the cursor, or the selected ones. esc goes back. "
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
            Column("who", "Who", lambda row: row.operation.who, width=14, priority=1,
                   sort=lambda row: row.operation.who),
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
        if name == "who":  # `who:agent` finds all agents, `who:NAME` one of them
            return (operation.actor, operation.agent)
        return {"id": operation.id, "kind": operation.kind, "age": operation.at}[name]

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
            ("who", operation.who),
            ("when", format_time(operation.at)),
            ("kind", operation.kind),
            ("takes back", operation.undoes or ""),
            ("does again", operation.redoes or ""),
            ("id", operation.id),
        )
        blocks += [Field(name, value) for name, value in named if value]
        blocks += [Field(str(name), str(value)) for name, value in operation.meta.items() if name != SIGNED]
        return Document((*blocks, *changes_of(operation)), copy=operation.id)

    # Actions

    def do_dream_restore(self) -> None:
        """Take back the change at the cursor, or all that are selected, the newest first, after a look at what that
        changes."""
        rows = self.targets()
        for row in rows:
            if row.operation.kind in BOOKKEEPING:
                raise Refused(
                    "that line only says something about another change", row.operation.label, "choose that one"
                )
        standing = sorted((row for row in rows if not row.undone), key=lambda row: row.position, reverse=True)
        if not standing:
            if rows:
                raise Refused(
                    "that change is taken back already", rows[0].operation.label, "^r does the last one again"
                )
            return

        async def take_back(_yes: bool) -> None:
            made: list[Operation] = []
            try:
                for row in standing:
                    made += await self.change(partial(_undone, row.operation.id))
            finally:  # also where one of them is refused: those before it are taken back
                if made:
                    label = (
                        one_line(made[0].label, SAID) if len(made) == 1 else f"took back {counted(len(made), 'change')}"
                    )
                    say(self, f"{label} (^r does it again)")
            self.table.clear_selection()

        what = one_line(standing[0].operation.label, 50) if len(standing) == 1 else counted(len(standing), "change")
        blocks = [block for row in standing[:LISTED] for block in _taken_back(row, alone=len(standing) == 1)]
        if len(standing) > LISTED:
            blocks.append(Body(f"… and {len(standing) - LISTED:,} more", "dim"))
        self.confirm(f"Take back: {what}", blocks, take_back, opened_by=self.key_of("dream_restore"))

    def leave(self) -> bool:
        """Back to the screen before."""
        self.console.go_back()
        return True


def _when(row: LogEntry) -> str:
    moment = clock.parse(row.operation.at)
    return f"{moment.astimezone():%Y-%m-%d %H:%M}" if moment else row.operation.at


def _undone(key: str, ws: Workspace) -> list[Operation]:
    return ws.undo(key)


def _taken_back(row: LogEntry, *, alone: bool) -> list[Block]:
    operation = row.operation
    back = changes_of(Operation(operation.id, "", operation.actor, "", "", operation.inverse()))
    return back if alone else [Body(one_line(operation.label, 300)), *back]


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
        label, old, new = format_change(name, before.get(name), after.get(name))
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
