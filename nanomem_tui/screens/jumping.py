"""Jump to anything: one field in which typing finds any screen, item, session, file, Dream or record; enter goes there.

Owns the dialog, its thread and the way to a place. What there is to find, and what comes first, is not its matter.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import on, work
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input
from textual.worker import get_current_worker

from nanomem_tui.actions import SCREENS
from nanomem_tui.curation.places import Found, Place, Places
from nanomem_tui.errors import in_words
from nanomem_tui.widgets.choosing import PAGE_KEYS, ChoosingDialog
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.filter_bar import LineInput
from nanomem_tui.widgets.line_table import LineTable

if TYPE_CHECKING:
    from nanomem_tui.app import NanomemApp
    from nanomem_tui.screens.tiers_trail import TrailScreen
    from nanomem_tui.workspace import Workspace

BETWEEN = 0.1  # seconds between two paintings of what was found so far
PAUSE = 0.001  # seconds in which keys are answered while rows are looked through


def show_place(console: NanomemApp, screen: str, row: str, part: str = "") -> None:
    """Go to a screen, with the cursor on a row when one is named; a screen behind another opens as by its keys."""
    if not row:
        console.go(screen)
    elif screen == "trail" and part:
        console.go("trail")
        trail = cast("TrailScreen", console.get_screen("trail"))
        trail.call_later(trail.show_record, part, row)
    else:
        console.go(screen, row)


class JumpScreen(ChoosingDialog[Place]):
    """A field and what it finds, the best first; the result is the place chosen, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *PAGE_KEYS,
        Binding("ctrl+o", "everywhere", "in all workspaces", show=False, priority=True),
    ]

    class Results(Message):
        """From the searching thread: what was found so far for `query`; `error` says why not all of it."""

        def __init__(self, query: str, found: Found, error: str = "") -> None:
            super().__init__()
            self.query = query
            self.found = found
            self.error = error

    def __init__(self, workspace: Callable[[], Workspace], everywhere: Callable[[str], None], asked: str = "") -> None:
        """`everywhere` looks for what was typed in all workspaces; `asked` is typed already."""
        super().__init__("Jump to anything", tall=True)
        self._places = Places(workspace, SCREENS)
        self._everywhere = everywhere
        self._asked = asked
        self._chose = False  # whether the cursor was moved since the words were typed

    def inside(self) -> list[Widget]:
        """The field and the list."""
        columns: list[Column[Place]] = [
            Column("kind", "What", lambda place: place.part or place.kind, width=12, tone="accent"),
            Column("title", "Words", lambda place: place.title, min_width=24),
            Column("at", "When", lambda place: place.at[:10], width=10, priority=1, tone="dim"),
        ]
        table = LineTable(columns, lambda place: f"{place.kind} {place.part} {place.row or place.screen}")
        table.can_focus = False
        return [LineInput(self._asked, 'a part of it   kind:session   "exact"'), table]

    def keys(self) -> list[tuple[str, str]]:
        """How to choose."""
        return [
            (" enter", "key"),
            (" go there ", ""),
            (" ^o", "key"),
            (" everywhere ", ""),
            (" esc", "key"),
            (" back", ""),
        ]

    def on_mount(self) -> None:
        """The screens, until something is typed."""
        self._search(self._asked)

    def action_everywhere(self) -> None:
        """Look for the same in every workspace."""
        self.dismiss(None)
        self._everywhere(self._asked)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self._asked = event.value.strip()
        self._chose = False
        self._search(self._asked)

    def action_move(self, rows: int) -> None:
        """From now on the cursor stays on its row, whatever else is found."""
        self._chose = True
        super().action_move(rows)

    @work(thread=True, exclusive=True, group="view", exit_on_error=False)
    def _search(self, query: str) -> None:
        worker = get_current_worker()

        def stop() -> bool:
            time.sleep(PAUSE)
            return worker.is_cancelled

        shown = 0.0
        try:
            for found in self._places.find(query or "kind:screen", stop=stop):
                if worker.is_cancelled:
                    return
                if found.done or time.monotonic() - shown > BETWEEN:
                    shown = time.monotonic()
                    self.post_message(self.Results(query, found))
        except Exception as error:  # noqa: BLE001 - said below the list; the dialog stays usable
            if not worker.is_cancelled:
                self.post_message(self.Results(query, Found((), 0, done=True), in_words(error).line()))

    @on(Results)
    def _results(self, event: Results) -> None:
        event.stop()
        if event.query != self._asked:
            return
        found = event.found
        if event.error:
            self.say_keys([(f" {event.error}", "bad")])
            return
        self.table.set_rows(found.places, empty="Nothing found." if found.done else "Searching …")
        if not self._chose:
            self.table.move_cursor(0)
        self.say_keys([*self.keys(), (f"  {_counted(found)}", "dim")])


def _counted(found: Found) -> str:
    count = f"{found.total:,} found" if found.total <= len(found.places) else f"the best of {found.total:,}"
    if found.fuzzy and found.places:
        count = f"none found, {len(found.places):,} similar"
    if not found.done:
        count += ", searching …"
    return f"{count}; not in {found.left_out}" if found.left_out else count


def jump(screen: Any, asked: str = "") -> None:
    """Ask where to go, and go there."""
    console = cast("NanomemApp", screen.console)

    async def chosen(place: Place | None) -> None:
        if place is not None:  # None is never handed on
            show_place(console, place.screen, place.row, place.part)

    def everywhere(typed: str) -> None:
        from nanomem_tui.screens.workspaces import look_everywhere

        look_everywhere(screen, typed)

    screen.ask(JumpScreen(console.opening.workspace, everywhere, asked), chosen)
