"""Search transcripts, summaries and daily notes: a dialog, and the base of the screens that open it.

Results come as they are found: what holds every word, then what is nearest to the question.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar, cast

from textual import events, on, work
from textual.binding import BindingType
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input
from textual.worker import get_current_worker

from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.text import one_line
from nanomem_tui.memory.filters import Matcher, Neighbour, Range, matcher
from nanomem_tui.memory.recall.conversations import ConversationHit, nearest_wanted
from nanomem_tui.screens.base.console import Console, show_message
from nanomem_tui.screens.base.workspace_screen import WorkspaceScreen
from nanomem_tui.widgets.bars import LineInput
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.dialogs import PAGE_KEYS, ChoosingDialog
from nanomem_tui.widgets.table import LineTable
from nanomem_tui.widgets.text_view import Block, Body, Document, Preview

if TYPE_CHECKING:
    from nanomem_tui.workspace import Workspace

Row = TypeVar("Row")

LIMIT = 500
PAGE = 25  # results that are shown together, so that many do not cost a repaint each
BEFORE = 4  # characters that are shown before a hit
REST = 0.15  # seconds without a key before a search begins
NEAREST = 20  # passages that are shown where nothing holds every word
PAUSE = 0.001  # seconds in which keys are answered while the index is made
ROWS_FOR_CONTEXT = 22  # lines of the screen
KINDS = {"sessions": "session", "history": "archive", "notes": "notes"}


@dataclass(frozen=True, slots=True)
class Found:
    """One place. `kind` is "session", "archive" or "notes"; `key` and `index` name the row and the message there.

    `named` is its id in its source, `whole` its text, `before` and `after` what stands around it. `near`: it does not
    hold all that was asked for, but is among the nearest.
    """

    kind: str
    key: str
    index: int
    where: str
    at: str
    text: str
    named: str
    whole: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    near: bool = False

    @property
    def id(self) -> str:
        """A name that no other result has."""
        return f"{self.kind} {self.key} {self.index}"

    def around(self, width: int) -> Document:
        """Itself between what stands before and after it, of which each has one line of so many cells."""
        before = [Body(one_line(line, width), "dim", indent=2) for line in self.before]
        after = [Body(one_line(line, width), "dim", indent=2) for line in self.after]
        blocks: list[Block] = [*before, Body(self.whole), *after]
        return Document(tuple(blocks))


def search_everything(ws: Workspace, query: str, stop: Callable[[], bool], limit: int = LIMIT) -> Iterator[Found]:
    """What holds every word of `query`, as it is found: messages, then summaries, then lines of notes."""
    wanted = matcher(query)
    for hit in ws.sessions.hits(query, limit, stop):
        text = f"{hit.role}: {_from_hit(hit.text, hit.ranges)}"
        whole, around = f"{hit.role}: {hit.text}", (_neighbour_texts(hit.before), _neighbour_texts(hit.after))
        named = f"{hit.session_key}#{hit.index}"
        yield Found(
            "session", hit.session_key, hit.index, hit.session_key, _minute(hit.timestamp), text, named, whole, *around
        )
    for entry in ws.history.search(query, limit):
        key = f"{entry.cursor}:{entry.line}"
        excerpt, ranges = wanted.excerpt(entry.content)
        before, after = ws.history.neighbours(entry)
        around = tuple(one.content for one in before), tuple(one.content for one in after)
        where, at = f"archive #{entry.cursor}", entry.timestamp
        yield Found("archive", key, 0, where, at, _from_hit(excerpt, ranges), str(entry.cursor), excerpt, *around)
    for name, line, text in ws.notes.search(query, limit):
        beside = ws.notes.neighbours(name, line)
        around = tuple(one.text for one in beside[0]), tuple(one.text for one in beside[1])
        yield Found("notes", name, line, f"note {name}", "", text, f"{name}:{line}", text, *around)


def nearest(ws: Workspace, query: str, found: Sequence[Found], stop: Callable[[], bool]) -> tuple[list[Found], str]:
    """What is nearest to a question beside what was found already, and in words what was not looked at."""
    wanted = nearest_wanted(matcher(query), len(found))
    limit = NEAREST if wanted is None else wanted
    recalled = ws.conversations.recall(query, limit=limit, without={one.named for one in found}, stop=stop)
    return [_near(told) for told in recalled.hits], ", ".join(recalled.left_out)


def _near(told: ConversationHit) -> Found:
    excerpt = Matcher(tuple(told.parts["terms"])).excerpt(told.text)
    role = f"{told.role}: " if told.role else ""
    kind = KINDS[told.source]
    key, index, where = told.key, told.number, told.key
    if kind == "archive":
        key, index, where = ":".join(told.place.split(":")[:2]), 0, f"archive #{told.number}"
    elif kind == "notes":
        where = f"note {told.key}"
    text, whole = f"~ {role}{_from_hit(*excerpt)}", f"{role}{told.text}"
    around = (_neighbour_texts(told.before), _neighbour_texts(told.after))
    return Found(kind, key, index, where, _minute(told.at), text, told.id, whole, *around, near=True)


def _neighbour_texts(neighbours: Iterable[Neighbour]) -> tuple[str, ...]:
    return tuple(f"{one.role}: {one.text}" if one.role else one.text for one in neighbours)


def _minute(timestamp: str) -> str:
    return timestamp[:16].replace("T", " ")


def _from_hit(text: str, ranges: Sequence[Range]) -> str:
    """`text` from a little before its first hit, so that a narrow column shows the hit."""
    start = max(ranges[0][0] - BEFORE, 0) if ranges else 0
    return f"…{text[start:].lstrip('…')}" if start else text


def show_found(console: Console, found: Found) -> None:
    """Go to what was found: a message, a summary or a note."""
    if found.kind != "session":
        console.go(found.kind, found.key)
    else:
        show_message(console, found.key, found.index)


class FindScreen(ChoosingDialog[Found]):
    """A field, the list of what was found, and what stands around one; the result is the place chosen, or None."""

    BINDINGS: ClassVar[list[BindingType]] = PAGE_KEYS
    DEFAULT_CSS = """
    FindScreen #context { height: 40%; max-height: 12; border-top: solid $primary; padding: 0; display: none; }
    FindScreen.-context #context { display: block; }
    FindScreen.-ascii #context { border-top: ascii $primary; }
    """

    class Results(Message):
        """From the searching thread: what was found so far for `query`."""

        def __init__(self, query: str, found: list[Found], done: bool, error: str = "", left_out: str = "") -> None:
            super().__init__()
            self.left_out = left_out
            self.query = query
            self.found = found
            self.done = done
            self.error = error

    def __init__(self, query: str = "") -> None:
        super().__init__("Find in all transcripts, summaries and notes", tall=True)
        self._first_query = query
        self._asked = self._shown = ""
        self._done = True

    @property
    def rows_to_come(self) -> bool:
        """Whether the first result of what was typed is not known yet."""
        return not self._done and (self._shown != self._asked or not self.table.rows)

    def inside(self) -> list[Widget]:
        """The field and the list."""
        columns: list[Column[Found]] = [
            Column("where", "Where", lambda found: found.where, width=20, tone="accent"),
            Column("at", "When", lambda found: found.at, width=16, priority=1, tone="dim"),
            Column("text", "What was said", lambda found: found.text, min_width=20),
        ]
        table = LineTable(columns, lambda found: found.id)
        table.can_focus = False
        context = Preview(id="context")
        context.can_focus = False
        return [LineInput(self._first_query, 'words or a question, "an exact phrase", -without'), table, context]

    def keys(self) -> list[tuple[str, str]]:
        """How to choose."""
        enter = [(" enter", "key"), (" go there ", "")]
        return [*enter, (" ↑ ↓", "key"), (" choose ", ""), (" esc", "key"), (" back", "")]

    def on_mount(self) -> None:
        """Nothing is asked yet."""
        self.table.set_rows([], empty="Type what to look for.")

    def on_resize(self, event: events.Resize) -> None:
        """What stands around a result is shown where there is room."""
        self.set_class(event.size.height >= ROWS_FOR_CONTEXT, "-context")

    @on(LineTable.RowHighlighted)
    def _highlighted(self, event: LineTable.RowHighlighted) -> None:
        event.stop()
        row = self.table.cursor_row
        context = self.query_one(Preview)
        context.show(row.around(max(context.size.width - 5, 20)) if row is not None else Document())

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

        def stop() -> bool:
            time.sleep(PAUSE)
            return worker.is_cancelled

        found: list[Found] = []
        try:
            ws = cast("Console", self.app).opening.workspace()
            for one in () if worker.is_cancelled else search_everything(ws, query, lambda: worker.is_cancelled):
                if worker.is_cancelled:
                    return
                found.append(one)
                if len(found) % PAGE == 1:
                    self.post_message(self.Results(query, list(found), False))
            if worker.is_cancelled:
                return
            self.post_message(self.Results(query, list(found), False))
            near, left_out = nearest(ws, query, found, stop)
            if not worker.is_cancelled:
                self.post_message(self.Results(query, found + near, True, left_out=left_out))
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
        near = sum(one.near for one in event.found)
        count = f" {len(event.found) - near:,} found"
        if near:
            count = f"{count if near < len(event.found) else ' none found'}, {near:,} near it (~)"
        if event.left_out:
            count = f"{count}, but not in {event.left_out}"
        if event.error:
            self.say_keys([(f" {event.error}", "bad")])
        else:
            self.say_keys([*self.keys(), (count if event.done else f"{count}, searching …", "dim")])


# What the screens behind Sessions share: the way to the next list, and the search in everything that was said.


class FoundScreen(WorkspaceScreen[Row], Generic[Row]):
    """A list of things that were said, one of three."""

    def do_search_all(self) -> None:
        """Search every transcript, the archive and the notes."""
        self.ask(FindScreen(), self._found)

    async def _found(self, found: Found | None) -> None:
        if found is not None:  # None is never handed on
            show_found(self.console, found)
