"""The Moments screen: operations, checkpoints and Dreams in time, what differs between any two of these, and the way
back.

Owns the two ends that a person compares. What the past was, and restoring, is for the moments of the workspace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from nanomem_tui.core import clock
from nanomem_tui.core.errors import NanomemError, NotFound
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.memory.filters import Kind
from nanomem_tui.screens.moments_detail import difference_blocks, file_blocks
from nanomem_tui.screens.workspace_screen import WorkspaceScreen
from nanomem_tui.widgets.columns import Column, aged
from nanomem_tui.widgets.document import Block, Body, Document, Heading, Spans

if TYPE_CHECKING:
    from nanomem_tui.agents.git import FileDiff
    from nanomem_tui.review.moments import Mark, Moment

FIRST, MOST = 100, 10_000  # marks


class MomentsScreen(WorkspaceScreen["Mark"]):
    """All moments, newest first."""

    SCREEN = "moments"
    FLASHES = False
    EMPTY = "No moments yet. Every change, checkpoint and Dream will be one."
    HELP = (
        "The memory as it was right after each change, checkpoint and Dream, newest first. The detail shows what came "
        "(+), went (-) and changed (~) from the moment at the cursor to the other end, which is now until { moves it "
        "back; > marks it. What was taken back since is dim and has a - before it. t brings back what was there at the "
        "cursor: one row, a kind, a scope, a file or all of it. esc goes back."
    )
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = {
        "id": "text", "what": "text", "kind": "text", "age": "age", "undone": "switch",
    }  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._other: Mark | None = None  # None: now
        self._without_versions = False

    # The list

    def columns(self) -> Sequence[Column[Mark]]:
        """When, what kind of moment, what was done."""
        return (
            Column("when", "When", _when, width=16, priority=3, tone="dim"),
            aged("Age", lambda row: row.at, priority=2, align="right", tone="dim"),
            Column("kind", "Moment", lambda row: row.kind, width=10, sort=lambda row: row.kind),
            Column("what", "After", lambda row: row.label, min_width=34),
        )  # fmt: skip

    def row_id(self, row: Mark) -> str:
        """The name that stays."""
        return row.id

    def load(self) -> Iterable[Sequence[Mark]]:
        """The newest, then the rest of them."""
        first = self.ws.moments.marks(FIRST)
        self._without_versions = self.ws.moments.unread is not None
        yield first
        if len(first) == FIRST:
            yield self.ws.moments.marks(MOST, FIRST)

    def search_text(self, row: Mark) -> str:
        """Words are searched in what was done."""
        return f"{row.label} {row.kind}"

    def field(self, row: Mark, name: str) -> Any:
        """The fields of the filter language."""
        return {"id": row.name, "what": row.label, "kind": row.kind, "age": row.at, "undone": row.undone}[name]

    def dimmed(self, row: Mark) -> bool:
        """What was taken back."""
        return row.undone

    def sign(self, row: Mark) -> str:
        """The other end, or what was taken back."""
        if self._other is not None and self.row_id(row) == self.row_id(self._other):
            return ">"
        return "-" if row.undone else ""

    def also_said(self) -> list[str]:
        """The other end; that the versions of the files cannot be read, about which each detail says more."""
        end = "now" if self._other is None else _when(self._other)
        damaged = ["versions unreadable"] if self._without_versions else []
        return [f"to {end}", *damaged, *super().also_said()]

    def copy_text(self) -> str:
        """The names, as `nanomem moments` takes them."""
        return "\n".join(row.id for row in self.targets())

    # The detail

    def detail(self, row: Mark) -> Document:
        """What differs from then to the other end."""
        moments, other = self.ws.moments, self._other
        ends = sorted((one for one in (row, other) if one is not None), key=_time)
        first, second = moments.of(ends[0]), moments.of(ends[1]) if len(ends) > 1 else None
        to = "now" if second is None else second.name
        blocks: list[Block] = [
            Spans((("From ", "dim"), (one_line(first.name, 200), ""))),
            Spans((("to ", "dim"), (one_line(to, 200), ""))),
        ]
        files, unread = self._files(first, second)
        blocks += unread
        try:
            found = moments.diff(first, second)
        except NotFound as error:
            return Document(
                (*blocks, Body(f"{error.what[:1].upper()}{error.what[1:]}: {error.fix}.", "warn"), *file_blocks(files))
            )
        if not found and not files:
            return Document((*blocks, Heading("Nothing differs")))
        total = [Heading(f"{counted(len(found), 'row')} {'differs' if len(found) == 1 else 'differ'}")] if found else []
        return Document((*blocks, *total, *difference_blocks(found), *file_blocks(files)))

    def _files(self, first: Moment, second: Moment | None) -> tuple[list[FileDiff], list[Block]]:
        """What differs of the files, or why that is not known."""
        try:
            return self.ws.moments.files(first, second), []
        except NanomemError as error:
            return [], [Body(f"Without the versions of the files. {error.line()}", "bad")]

    # Actions

    def do_earlier(self) -> None:
        """One moment back, whatever the order of the list."""
        self._step(1)

    def do_later(self) -> None:
        """One moment on."""
        self._step(-1)

    def do_other_earlier(self) -> None:
        """The other end one moment back."""
        self._move_other(1)

    def do_other_later(self) -> None:
        """The other end one moment on, at last to now."""
        self._move_other(-1)

    def _step(self, by: int) -> None:
        rows = sorted(self.table.rows, key=_time, reverse=True)
        to = self._place(rows, self.table.cursor_row) + by
        if 0 <= to < len(rows):
            self.table.move_to_id(self.row_id(rows[to]))

    def _move_other(self, by: int) -> None:
        rows = sorted(self.listing.rows, key=_time, reverse=True)
        to = min(self._place(rows, self._other) + by, len(rows) - 1)
        self._other = rows[to] if to >= 0 else None
        self.table.refresh()
        self.say_totals()
        self.refresh_detail()

    def _place(self, rows: Sequence[Mark], row: Mark | None) -> int:
        """The place of a moment among those sorted by time; -1 of now."""
        wanted = self.row_id(row) if row is not None else None
        return next((place for place, one in enumerate(rows) if self.row_id(one) == wanted), -1)

    def do_dream_restore(self) -> None:
        """Bring back what was there at the cursor."""
        from nanomem_tui.screens.moments_back import ask_what

        row = self.table.cursor_row
        if row is not None:
            ask_what(self, row)

    def leave(self) -> bool:
        """Back to the screen before."""
        self.console.go_back()
        return True


def _time(row: Mark) -> str:
    moment = clock.parse(row.at)
    return clock.iso(moment) if moment else row.at


def _when(row: Mark) -> str:
    """To the second where it was today: several are of one minute."""
    moment = clock.parse(row.at)
    if moment is None:
        return row.at
    today = moment.astimezone().date() == clock.now().astimezone().date()
    return f"{moment.astimezone():{'today %H:%M:%S' if today else '%Y-%m-%d %H:%M'}}"
