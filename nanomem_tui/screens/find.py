"""Search in everything that was said: transcripts, summaries, daily notes. Results come as they are found.

Owns the dialog and the thread that searches. It goes nowhere by itself: its result is the chosen place.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on, work
from textual.binding import BindingType
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input
from textual.worker import get_current_worker

from nanomem_tui.errors import NanomemError
from nanomem_tui.memory.matching import Range, matcher
from nanomem_tui.widgets.choosing import PAGE_KEYS, ChoosingDialog
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.filter_bar import LineInput
from nanomem_tui.widgets.line_table import LineTable

if TYPE_CHECKING:
    from nanomem_tui.app import NanomemApp
    from nanomem_tui.screens.sessions import SessionsScreen
    from nanomem_tui.workspace import Workspace

LIMIT = 500
PAGE = 25  # results that are shown together, so that many do not cost a repaint each
BEFORE = 4  # characters that are shown before a hit
REST = 0.15  # seconds without a key before a search begins


@dataclass(frozen=True, slots=True)
class Found:
    """One place. `kind` is "session", "archive" or "notes"; `key` and `index` name the row and the message there."""

    kind: str
    key: str
    index: int
    where: str
    at: str
    text: str

    @property
    def id(self) -> str:
        """A name that no other result has."""
        return f"{self.kind} {self.key} {self.index}"


def search_everything(ws: Workspace, query: str, limit: int = LIMIT) -> Iterator[Found]:
    """What holds every word of `query`, as it is found: messages, then summaries, then lines of notes."""
    wanted = matcher(query)
    for hit in ws.sessions.hits(query, limit):
        at = hit.timestamp[:16].replace("T", " ")
        text = f"{hit.role}: {_from_hit(hit.text, hit.ranges)}"
        yield Found("session", hit.session_key, hit.index, hit.session_key, at, text)
    for entry in ws.history.search(query, limit):
        key = f"{entry.cursor}:{entry.line}"
        text = _from_hit(*wanted.excerpt(entry.content))
        yield Found("archive", key, 0, f"archive #{entry.cursor}", entry.timestamp, text)
    for name, line, text in ws.notes.search(query, limit):
        yield Found("notes", name, line, f"note {name}", "", text)


def _from_hit(text: str, ranges: Sequence[Range]) -> str:
    """`text` from a little before its first hit, so that a narrow column shows the hit."""
    start = max(ranges[0][0] - BEFORE, 0) if ranges else 0
    return f"…{text[start:].lstrip('…')}" if start else text


def show_found(console: NanomemApp, found: Found) -> None:
    """Go to what was found: a message, a summary or a note."""
    if found.kind != "session":
        console.go(found.kind, found.key)
    else:
        show_message(console, found.key, found.index)


def show_message(console: NanomemApp, key: str, index: int) -> None:
    """Go to a message of a session."""
    console.go("sessions")
    screen = cast("SessionsScreen", console.get_screen("sessions"))
    screen.call_later(screen.show_message, key, index)


class FindScreen(ChoosingDialog[Found]):
    """A field and the list of what was found; the result is the place chosen, or None."""

    BINDINGS: ClassVar[list[BindingType]] = PAGE_KEYS

    class Results(Message):
        """From the searching thread: what was found so far for `query`."""

        def __init__(self, query: str, found: list[Found], done: bool, error: str = "") -> None:
            super().__init__()
            self.query = query
            self.found = found
            self.done = done
            self.error = error

    def __init__(self, query: str = "") -> None:
        super().__init__("Find in all transcripts, summaries and notes", tall=True)
        self._first_query = query
        self._asked = self._shown = ""
        self._done = True

    def inside(self) -> list[Widget]:
        """The field and the list."""
        columns: list[Column[Found]] = [
            Column("where", "Where", lambda found: found.where, width=20, tone="accent"),
            Column("at", "When", lambda found: found.at, width=16, priority=1, tone="dim"),
            Column("text", "What was said", lambda found: found.text, min_width=20),
        ]
        table = LineTable(columns, lambda found: found.id)
        table.can_focus = False
        return [LineInput(self._first_query, 'words, "an exact phrase", -without'), table]

    def keys(self) -> list[tuple[str, str]]:
        """How to choose."""
        enter = [(" enter", "key"), (" go there ", "")]
        return [*enter, (" ↑ ↓", "key"), (" choose ", ""), (" esc", "key"), (" back", "")]

    def on_mount(self) -> None:
        """Nothing is asked yet."""
        self.table.set_rows([], empty="Type what to look for.")

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        if event.value.strip() == self._asked:
            return
        self._asked = event.value.strip()
        self._done = not self._asked
        if self._asked:
            self._search(self._asked)
        else:
            self.workers.cancel_group(self, "view")
            self.table.set_rows([], empty="Type what to look for.")

    @work(thread=True, exclusive=True, group="view", exit_on_error=False)
    def _search(self, query: str) -> None:
        worker = get_current_worker()
        time.sleep(REST)
        found: list[Found] = []
        try:
            ws = cast("NanomemApp", self.app).ws
            for one in () if worker.is_cancelled else search_everything(ws, query):
                if worker.is_cancelled:
                    return
                found.append(one)
                if len(found) % PAGE == 1:
                    self.post_message(self.Results(query, list(found), False))
            self.post_message(self.Results(query, found, True))
        except (NanomemError, OSError) as error:
            said = error.line() if isinstance(error, NanomemError) else str(error)
            self.post_message(self.Results(query, found, True, said))

    @on(Results)
    def _results(self, event: Results) -> None:
        event.stop()
        if event.query != self._asked:
            return
        self._done = event.done
        self.table.set_rows(event.found, empty="Nothing found." if event.done else "Searching …")
        if self._shown != event.query:  # another search begins at its first result
            self._shown = event.query
            self.table.move_cursor(0)
        count = f" {len(event.found):,} found"
        if event.error:
            self.say_keys([(f" {event.error}", "bad")])
        else:
            self.say_keys([*self.keys(), (count if event.done else f"{count}, searching …", "dim")])
