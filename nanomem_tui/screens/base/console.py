"""The console as its screens see it, and the ways from one screen to a row of another.

Screens know each other by name only: each function below goes to a screen and calls it back when it is shown.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from nanomem_tui.core.errors import Refused
from nanomem_tui.core.paths import TRACKED_FILES
from nanomem_tui.widgets.bars import say

if TYPE_CHECKING:
    from textual.screen import Screen

    from nanomem_tui.actions import Context, Moved
    from nanomem_tui.background import State
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.opening import Opening
    from nanomem_tui.widgets.tour import Tour
    from nanomem_tui.workspace import Workspace
    from nanomem_tui.workspaces import Known

Result = TypeVar("Result")


class Running:
    """Work that runs: what it is at, for how long, and whether a person wants it to stop."""

    def __init__(self, at: str, doing: str = "Dreaming", what: str = "the Dream") -> None:
        self.stopped = threading.Event()
        self._at, self._doing, self.what = at, doing, what
        self._since = time.monotonic()

    def step(self, at: str) -> None:
        """In its thread, before it does something. Raises Refused when it is to stop."""
        self._at = at
        if self.stopped.is_set():
            raise Refused(f"{self.what} was stopped", "", "nothing was changed")

    def words(self) -> str:
        """For the status bar."""
        if self.stopped.is_set():
            return f"Stopping {self.what} before it writes …"
        return f"{self._doing}, {time.monotonic() - self._since:.0f} s: {self._at} (esc stops it)"


class Console(Protocol):
    """What screens use of the app."""

    opening: Opening
    frames_wait: bool
    state: State
    ascii_only: bool
    rows_came: asyncio.Event
    under_way: list[Running]
    visited: Mapping[Path, str]
    tour: Tour | None

    @property
    def moved_keys(self) -> Moved:
        """The keys that the settings moved."""

    @property
    def screen(self) -> Screen[Any]:
        """The screen on top, a dialog included."""

    @property
    def main_screen(self) -> Screen[Any]:
        """The main screen, also while a dialog is over it."""

    @property
    def screen_stack(self) -> Sequence[Screen[Any]]:
        """The main screen and the dialogs over it."""

    def get_screen(self, screen: str) -> Screen[Any]:
        """Return a main screen by name."""

    def go(self, name: str, row_id: str | None = None) -> None:
        """Show a main screen, with the cursor on `row_id` when it is given."""

    def go_back(self) -> None:
        """Show the main screen that was shown before."""

    def do_elsewhere(self, name: str, action: str, row: str = "") -> Any:
        """Show a main screen and do an action there; `row`: on those whose id holds that."""

    def switch_to(self, known: Known, then: Callable[[], None] | None = None) -> None:
        """Go to another workspace; `then` is done once its first screen is there."""

    def still_on(self, opening: Opening) -> None:
        """Raise Refused where the console is on another workspace by now."""

    async def in_thread(self, work: Callable[[Workspace], Result]) -> Result:
        """Do `work` on the workspace in a thread. Raises errors of the tree only."""

    async def change(self, work: Callable[[Workspace], Operation | Sequence[Operation]]) -> list[Operation]:
        """Do `work` in a thread and show what it changed. Raises errors of the tree only."""

    async def do_undo(self) -> None:
        """Undo the newest change that was made in this console."""

    def context_for(self, screen: str) -> Context:
        """What actions on `screen` may know of the workspace."""

    def screen_shown(self, screen: Screen[Any]) -> None:
        """Bring a main screen up to date."""

    def release_keys(self) -> None:
        """The first rows are shown: keys count from now."""

    def wait_for_first_rows(self) -> None:
        """In a thread: wait until the first rows are painted."""

    def stop_running(self) -> bool:
        """Stop what was begun last of what runs beside the keys; False where nothing runs."""

    def say_busy(self, words: str) -> None:
        """Say in the status bar what is under way, until other words or none come."""

    def paint_anew(self) -> None:
        """Write all that is to be seen once more."""

    def toured(self, screen: str, action: str) -> bool:
        """Tell the tour that something was done; True when that was all that it did."""

    def begin_tour(self, tour: Tour | None) -> None:
        """Show a tour, or none."""


# The ways from one screen to another


def _opened(console: Console, name: str) -> Any:
    console.go(name)
    return console.get_screen(name)


def show_filtered(console: Console, name: str, query: str) -> None:
    """Show a list with a filter."""
    screen = _opened(console, name)
    screen.call_later(screen.filter_by, query)


def show_place(console: Console, screen: str, row: str, part: str = "") -> None:
    """Go to a screen, with the cursor on a row when one is named; a screen behind another opens as by its keys."""
    if row and screen == "trail" and part:
        show_record(console, part, row)
    else:
        console.go(screen, row or None)


def show_record(console: Console, kind: str, row: str) -> None:
    """Show a work record."""
    trail = _opened(console, "trail")
    trail.call_later(trail.show_record, kind, row)


def show_message(console: Console, key: str, index: int) -> None:
    """Show a message of a session."""
    screen = _opened(console, "sessions")
    screen.call_later(screen.show_message, key, index)


def show_turn(console: Console, session_key: str, number: int) -> None:
    """Show a turn of a session in its turn log."""
    screen = _opened(console, "wal")
    screen.call_later(screen.show_turn, session_key, number)


def show_last_turn(console: Console) -> None:
    """Show the turn that ran last."""
    screen = _opened(console, "injections")
    screen.call_later(screen.show_newest)


def show_turns_of(console: Console, field: str, key: str) -> None:
    """Show the turns that were given an item or a lesson (`field`), or that saved it."""
    show_filtered(console, "injections", f'{field}:"{key}"')


def ask_recall(console: Console, audience: Any, question: str | None = None) -> None:
    """Ask Recall as a chat or a person; without a question, the one that stands there."""
    screen = _opened(console, "recall")
    if question is None:
        screen.call_later(screen.ask_about, audience=audience)
    else:
        screen.call_later(screen.ask_as, audience, question)


def show_why_not(console: Console, item_id: str) -> None:
    """Ask Recall why an item was not given."""
    screen = _opened(console, "recall")
    screen.call_later(screen.why_not, item_id)


def show_blame(console: Console, file: str = "", text: str = "", commit: str = "") -> None:
    """Show who wrote the lines: of a file, with the cursor on the line of that text; or those of a commit."""
    screen = _opened(console, "blame")
    screen.call_later(screen.show_lines, file, text, commit[:8])


async def show_led_to(console: Console, session_key: str, index: int) -> None:
    """Show the lines of the memory files that a message of a session led to; says so when there is none."""
    lines = await console.in_thread(lambda ws: ws.dream.blames.led_to(session_key, index))
    if not lines:
        say(console.screen, "It led to no line of SOUL, USER or MEMORY")
        return
    screen = _opened(console, "blame")
    screen.call_later(screen.show_led_to, f"{session_key} {index}", lines)


def show_versions(console: Console, sha: str, file: str = "") -> None:
    """Show a memory file as of a commit; without a `file`, the one that was shown last."""
    if file in TRACKED_FILES:
        screen: Any = console.get_screen("versions")
        screen.begin_with(file)
    console.go("versions", sha)


def show_review(console: Console) -> None:
    """Show what a dry run of a Dream proposes; one is made when none was."""
    screen = _opened(console, "review")
    screen.call_later(screen.begin)
