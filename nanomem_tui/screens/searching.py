"""A dialog of one field and what it finds, in a thread, the best first; enter chooses.

Owns the field, the thread and the list. What there is to find, and where it leads, is the matter of who asks.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input
from textual.worker import get_current_worker

from nanomem_tui.core.errors import in_words
from nanomem_tui.widgets.choosing import PAGE_KEYS, ChoosingDialog
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.filter_bar import LineInput
from nanomem_tui.widgets.line_table import LineTable

BETWEEN = 0.1  # seconds between two paintings of what was found so far
PAUSE = 0.001  # seconds in which keys are answered while rows are looked through

Row = TypeVar("Row")
Spans = list[tuple[str, str]]


class Shown(NamedTuple, Generic[Row]):
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

        def __init__(self, query: str, found: Shown[Any], error: str = "") -> None:
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
    def find(self, query: str, stop: Callable[[], bool]) -> Iterator[Shown[Row]]:
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
                self.post_message(self.Results(query, Shown[Row]((), [], done=True), in_words(error).line()))

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
