"""Jump to anything by typing a part of it, in this workspace or in all of them, and switch between workspaces.

The search itself is in `review.find` and `workspaces`; this is the dialog and the way to a result.
"""

from __future__ import annotations

import asyncio
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar, cast

from textual import events, on, work
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input
from textual.worker import get_current_worker

from nanomem_tui.actions import SCREENS
from nanomem_tui.core.errors import shown_error
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.memory.filters import fold, parse, rank_matches, search
from nanomem_tui.review.find import Found, Place, Places
from nanomem_tui.screens.base.console import Console, show_place
from nanomem_tui.screens.base.editable_rows import format_time
from nanomem_tui.widgets.bars import LineInput, say
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.dialogs import PAGE_KEYS, ChoosingDialog
from nanomem_tui.widgets.table import LineTable
from nanomem_tui.widgets.text_view import Body, Document, Field, Preview
from nanomem_tui.workspaces import (
    FoundTogether,
    Hit,
    Known,
    Listed,
    Opened,
    Summary,
    Together,
    list_workspaces,
    summary,
)

if TYPE_CHECKING:
    from nanomem_tui.workspace import Workspace


# -- A dialog of one field and what it finds, in a thread, the best first; enter chooses ------------------------------

BETWEEN = 0.1  # seconds between two paintings of what was found so far
PAUSE = 0.001  # seconds in which keys are answered while rows are looked through

Row = TypeVar("Row")
Spans = list[tuple[str, str]]


class ResultsShown(NamedTuple, Generic[Row]):
    """What was found so far: the rows, what is said of them below the list, and whether that is all."""

    rows: Sequence[Row]
    said: Spans
    done: bool


class SearchingDialog(ChoosingDialog[Row]):
    """The result is the row chosen, or None. `^o` looks for the same elsewhere."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *PAGE_KEYS,
        Binding("ctrl+o", "elsewhere", "look elsewhere", show=False, priority=True),
    ]

    class Results(Message):
        """From the searching thread: what was found so far for `query`; `error` says why not all of it."""

        def __init__(self, query: str, found: ResultsShown[Any], error: str = "") -> None:
            super().__init__()
            self.query = query
            self.found = found
            self.error = error

    def __init__(self, title: str, elsewhere: tuple[str, Callable[[str], None]], asked: str) -> None:
        """`elsewhere`: what `^o` is called, and who looks there for what was typed; `asked` is typed already."""
        super().__init__(title, tall=True)
        self._name, self._elsewhere = elsewhere
        self._asked = asked
        self._all_of: str | None = None  # the words of which all that there is is shown
        self._chose = False  # whether the cursor was moved since the words were typed

    @abstractmethod
    def columns(self) -> list[Column[Row]]:
        """The columns of the list."""

    @abstractmethod
    def id_of(self, row: Row) -> str:
        """What tells a row from the others."""

    @abstractmethod
    def find(self, query: str, stop: Callable[[], bool]) -> Iterator[ResultsShown[Row]]:
        """What there is, more and more of it, until `stop`. Called in a thread."""

    def is_asked(self, query: str) -> bool:
        """Whether these words are looked for."""
        return True

    @property
    def rows_to_come(self) -> bool:
        """Whether something better may be found, and the cursor would go there."""
        return self._all_of != self._asked and not self._chose

    def inside(self) -> list[Widget]:
        """The field and the list."""
        table = LineTable(self.columns(), self.id_of)
        table.can_focus = False
        return [LineInput(self._asked, 'a part of it   kind:session   "exact"'), table]

    def keys(self) -> Spans:
        """How to choose."""
        keys = [(" enter", "key"), (" go there ", ""), (" ^o", "key"), (f" {self._name} ", "")]
        return [*keys, (" esc", "key"), (" back", "")]

    def on_mount(self) -> None:
        """What was typed already."""
        self._ask()

    def action_elsewhere(self) -> None:
        """Look for the same there."""
        self.dismiss(None)
        self._elsewhere(self._asked)

    def action_move(self, rows: int) -> None:
        """From now on the cursor stays on its row, whatever else is found."""
        self._chose = True
        super().action_move(rows)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        if event.value.strip() != self._asked:
            self._asked = event.value.strip()
            self._chose = False
            self._ask()

    def _ask(self) -> None:
        if self.is_asked(self._asked):
            self._search(self._asked)
        else:
            self.workers.cancel_group(self, "view")
            self.table.set_rows([], empty="Type what to look for.")
            self._all_of = self._asked

    @work(thread=True, exclusive=True, group="view", exit_on_error=False)
    def _search(self, query: str) -> None:
        worker = get_current_worker()

        def stop() -> bool:
            time.sleep(PAUSE)
            return worker.is_cancelled

        shown = 0.0
        try:
            for found in self.find(query, stop):
                if worker.is_cancelled:
                    return
                if found.done or time.monotonic() - shown > BETWEEN:
                    shown = time.monotonic()
                    self.post_message(self.Results(query, found))
        except Exception as error:  # noqa: BLE001 - said below the list; the dialog stays usable
            if not worker.is_cancelled:
                self.post_message(self.Results(query, ResultsShown[Row]((), [], done=True), shown_error(error).line()))

    @on(Results)
    def _results(self, event: Results) -> None:
        event.stop()
        if event.query != self._asked:
            return
        if event.found.done:
            self._all_of = event.query
        if event.error:
            self.say_keys([(f" {event.error}", "bad")])
            return
        found = event.found
        self.table.set_rows(found.rows, empty="Nothing found." if found.done else "Searching …")
        if not self._chose:
            self.table.move_cursor(0)
        self.say_keys([*self.keys(), *found.said])


class JumpScreen(SearchingDialog[Place]):
    """A field and what it finds, the best first; the result is the place chosen, or None."""

    def __init__(self, workspace: Callable[[], Workspace], everywhere: Callable[[str], None], asked: str = "") -> None:
        """`everywhere` looks for what was typed in all workspaces; `asked` is typed already."""
        super().__init__("Jump to anything", ("everywhere", everywhere), asked)
        self._places = Places(workspace, SCREENS)

    def columns(self) -> list[Column[Place]]:
        """What a place is, and its words."""
        return [
            Column("kind", "What", lambda place: place.part or place.kind, width=12, tone="accent"),
            Column("title", "Words", lambda place: place.title, min_width=24),
            Column("at", "When", lambda place: place.at[:10], width=10, priority=1, tone="dim"),
        ]

    def id_of(self, row: Place) -> str:
        """Kind and row."""
        return f"{row.kind} {row.part} {row.row or row.screen}"

    def find(self, query: str, stop: Callable[[], bool]) -> Iterator[ResultsShown[Place]]:
        """The screens, until something is typed."""
        for found in self._places.find(query or "kind:screen", stop=stop):
            yield ResultsShown(found.places, [(f"  {_counted(found)}", "dim")], found.done)


def _counted(found: Found) -> str:
    count = f"{found.total:,} found" if found.total <= len(found.places) else f"the best of {found.total:,}"
    if found.fuzzy and found.places:
        count = f"none found, {len(found.places):,} similar"
    if not found.done:
        count += ", searching …"
    return f"{count}; not in {found.left_out}" if found.left_out else count


def jump(screen: Any, asked: str = "") -> None:
    """Ask where to go, and go there."""
    console = cast("Console", screen.console)

    async def chosen(place: Place | None) -> None:
        if place is not None:  # None is never handed on
            show_place(console, place.screen, place.row, place.part)

    def everywhere(typed: str) -> None:

        search_everywhere(screen, typed)

    screen.ask(JumpScreen(console.opening.workspace, everywhere, asked), chosen)


# Several workspaces in one console: the dialog that goes to another one, and the search that looks in all of them.

ROWS_FOR_CONTEXT = 22  # lines of the terminal from which there is room for it
SHORTEST = 2  # letters of a question to every workspace
ADD = "`nanomem workspaces add PATH` adds one"


class WorkspacesScreen(ChoosingDialog[Summary]):
    """The workspaces that are known, and how each is once that is read; the result is the one chosen, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *PAGE_KEYS,
        Binding("ctrl+o", "choose", "choose", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    WorkspacesScreen #context { height: 9; border-top: solid $primary; padding: 0; display: none; }
    WorkspacesScreen.-context #context { display: block; }
    WorkspacesScreen.-ascii #context { border-top: ascii $primary; }
    """

    class Read(Message):
        """From the reading thread: how one workspace is."""

        def __init__(self, row: Summary) -> None:
            super().__init__()
            self.row = row

    def __init__(self, listed: Listed, here: Path, before: Path | None, opened: Opened) -> None:
        """`here`: the workspace that the console is on; `before`: the one that it came from."""
        super().__init__("Workspaces", tall=True)
        self._rows = {one.name: Summary(one, error=one.error) for one in listed.workspaces}
        self._read: set[str] = set()
        self._here, self._before, self._opened = here, before, opened
        self._typed = ""

    def inside(self) -> list[Widget]:
        """The field, the list, and all that is told of one."""
        columns: list[Column[Summary]] = [
            Column("name", "Name", lambda row: row.known.name, min_width=14, flex=2, tone="accent"),
            Column("agent", "Agent", lambda row: row.agent, width=12, priority=3),
            Column("now", "Now", self._now, width=8),
            Column("items", "Items", lambda row: self._count(row, row.items), width=7, align="right"),
            Column("inbox", "Inbox", lambda row: self._count(row, row.inbox), width=6, align="right", priority=2),
            Column("wrong", "Wrong", lambda row: str(row.problems or ""), width=5, align="right", priority=1),
            Column("place", "Folder", lambda row: str(row.known.folder), min_width=20, flex=3, priority=4, tone="dim"),
        ]
        table = LineTable(columns, lambda row: row.known.name, sign=self._sign)
        table.can_focus = False
        context = Preview(id="context")
        context.can_focus = False
        return [LineInput(placeholder="a part of its name, agent or folder"), table, context]

    def _sign(self, row: Summary) -> str:
        return "!" if row.error is not None else "•" if row.known.is_at(self._here) else ""

    def on_resize(self, event: events.Resize) -> None:
        """What is told of one is shown where there is room."""
        self.set_class(event.size.height >= ROWS_FOR_CONTEXT, "-context")

    @on(LineTable.RowHighlighted)
    def _highlighted(self, event: LineTable.RowHighlighted) -> None:
        event.stop()
        self._tell()

    def _tell(self) -> None:
        row = self.table.cursor_row
        read = row is not None and row.known.name in self._read
        self.query_one(Preview).show(_workspace_detail(row, read=read) if row is not None else Document())

    def _now(self, row: Summary) -> str:
        if row.error is not None:
            return "error"
        return "…" if row.known.name not in self._read else "alive" if row.running else "no agent"

    def _count(self, row: Summary, number: int | None) -> str:
        waits = row.known.name not in self._read and row.error is None
        return "…" if waits else "?" if number is None else f"{number:,}"

    def keys(self) -> list[tuple[str, str]]:
        """How to choose."""
        keys = [
            (" enter", "key"),
            (" go there ", ""),
            (" ↑ ↓", "key"),
            (" choose ", ""),
            (" esc", "key"),
            (" back", ""),
        ]
        return keys if len(self._rows) > 1 else [*keys, (f"   {ADD}", "dim")]

    def on_mount(self) -> None:
        """All of them, with the cursor on the one that the console came from."""
        self._list()
        away = next((name for name, row in self._rows.items() if not row.known.is_at(self._here)), "")
        back = [name for name, row in self._rows.items() if self._before and row.known.is_at(self._before)]
        self.table.move_to_id(back[0] if back else away)
        self._read_all()

    @work(thread=True, exclusive=True, group="view", exit_on_error=False)
    def _read_all(self) -> None:
        worker = get_current_worker()
        for row in list(self._rows.values()):
            if worker.is_cancelled:
                return
            self.post_message(self.Read(summary(row.known, self._opened)))

    @on(Read)
    def _one_read(self, event: Read) -> None:
        event.stop()
        self._rows[event.row.known.name] = event.row
        self._read.add(event.row.known.name)
        self._list()

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        if event.value != self._typed:
            self._typed = event.value
            self._list()
            self.table.move_cursor(0)

    def _list(self) -> None:
        rows = list(self._rows.values())
        texts = [fold(f"{row.known.name} {row.agent} {row.release} {row.known.folder}") for row in rows]
        found = [rows[index] for index in rank_matches(texts, search(texts, parse(self._typed, {})))]
        shown = sorted(found, key=self._away_from_name)
        self.table.set_rows(
            shown, empty="No workspace like that is known." if self._typed else f"None is known: {ADD}."
        )

    def _away_from_name(self, row: Summary) -> int:
        """What is found by its name stands before what is found by its agent or its folder."""
        typed, name = fold(self._typed.strip()), fold(row.known.name)
        return 0 if typed == name else 1 if name.startswith(typed) else 2 if typed in name else 3

    def action_choose(self) -> None:
        """The key that opened it, once more: to the row at the cursor."""
        row = self.table.cursor_row
        if row is not None:
            self.choose(row)


def _workspace_detail(row: Summary, *, read: bool) -> Document:
    """All that is known of one workspace."""
    home = row.known.found.home if row.known.found is not None else None
    fields = [Field("folder", str(row.known.folder)), *([Field("home", str(home))] if home else [])]
    if row.error is not None:
        return Document((Body(row.error.line(), "bad"), *fields))
    if not read:
        return Document((*fields, Body("Reading …", "dim")))
    numbers = ((row.items, "item"), (row.lessons, "lesson"), (row.sessions, "session"))
    counts = [f"? {what}s" if number is None else counted(number, what) for number, what in numbers]
    saved = f"last checkpoint {format_time(row.saved_at)}" if row.saved_at else "no checkpoint yet"
    waiting = f"{row.dirty:,} unsaved, " if row.dirty else ""
    runs = f"runs ({row.what})" if row.running else "does not run"
    wrong = [Field("wrong", f"{counted(row.problems, 'problem')}: 9 shows them there")] if row.problems else []
    return Document((
        Field("agent", f"{row.agent}, {row.release}, {runs}"), *fields,
        Field("holds", f"{', '.join(counts)}; {row.inbox or 0:,} in the inbox"),
        Field("saved", f"{waiting}{saved}"), *wrong,
    ))  # fmt: skip


async def choose_workspace(screen: Any) -> None:
    """Ask which workspace to go to, and go there."""
    console = cast("Console", screen.console)
    here = console.opening.paths.workspace
    others = [place for place in console.visited if place != here]

    async def chosen(row: Summary | None) -> None:
        if row is not None:  # None is never handed on
            go_to(screen, row.known)

    listed = await asyncio.to_thread(list_workspaces, console.visited)
    for problem in listed.problems:
        say(screen, problem.text(), "warning")
    screen.ask(WorkspacesScreen(listed, here, others[-1] if others else None, _opened(console)), chosen)


def go_to(screen: Any, wanted: Known, then: Callable[[], None] | None = None) -> None:
    """Go to a workspace, and do `then` there; at once where the console is on it."""
    console = cast("Console", screen.console)
    if not wanted.is_at(console.opening.paths.workspace):
        console.switch_to(wanted, then)
    elif then is not None:
        then()
    else:
        say(screen, f"This is {one_line(wanted.name, 40)}")


def _opened(console: Console) -> Opened:
    return {console.opening.paths.workspace: console.opening.workspace}


class EverywhereScreen(SearchingDialog[Hit]):
    """A field and what it finds in every workspace, the best first; the result is the hit chosen, or None."""

    def __init__(self, together: Together, here: Callable[[str], None], asked: str) -> None:
        """`here` looks for what was typed in this workspace alone; `asked` is typed already."""
        super().__init__("Jump to anything in all workspaces", ("only here", here), asked)
        self._together = together

    def columns(self) -> list[Column[Hit]]:
        """Where it is, what, and its words."""
        return [
            Column("workspace", "Workspace", lambda hit: hit.known.name, width=16, tone="accent"),
            Column("kind", "What", lambda hit: hit.place.part or hit.place.kind, width=10),
            Column("title", "Words", lambda hit: hit.place.title, min_width=24),
            Column("at", "When", lambda hit: hit.place.at[:10], width=10, priority=1, tone="dim"),
        ]

    def id_of(self, row: Hit) -> str:
        """Workspace, kind and row."""
        place = row.place
        return f"{row.known.folder} {place.kind} {place.part} {place.row or place.screen}"

    def is_asked(self, query: str) -> bool:
        """Not a single letter of every workspace."""
        return len(query) >= SHORTEST or not query.isascii()

    def find(self, query: str, stop: Callable[[], bool]) -> Iterator[ResultsShown[Hit]]:
        """What the workspaces have, and which of them could not be read."""
        for found in self._together.find(query, stop=stop):
            names = ", ".join(found.left_out)
            left_out = [(f", not in {one_line(names, 40)}", "warn")] if names else []
            yield ResultsShown(found.hits, [(f"  {_workspaces_counted(found)}", "dim"), *left_out], found.done)

    def on_unmount(self) -> None:
        """Let go of the workspaces that were read."""
        self.workers.cancel_group(self, "view")
        self._together.close()


def _workspaces_counted(found: FoundTogether) -> str:
    count = f"{found.total:,} found"
    if found.fuzzy and found.hits:
        count = f"none found, {len(found.hits):,} similar"
    return count if found.done else f"{count}, searching …"


def search_everywhere(screen: Any, typed: str) -> None:
    """Ask what to look for in every workspace, and go to what is chosen, wherever that is."""
    console = cast("Console", screen.console)
    here, visited = console.opening.paths.workspace, dict(console.visited)

    def this_one_first() -> list[Known]:
        return sorted(list_workspaces(visited).workspaces, key=lambda one: not one.is_at(here))

    async def chosen(hit: Hit | None) -> None:
        if hit is not None:  # None is never handed on
            place = hit.place
            go_to(screen, hit.known, lambda: show_place(console, place.screen, place.row, place.part))

    together = Together(this_one_first, _opened(console))
    screen.ask(EverywhereScreen(together, lambda text: jump(screen, text), typed), chosen)
