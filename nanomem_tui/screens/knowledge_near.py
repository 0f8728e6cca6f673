"""Search by meaning on the Knowledge screen: ``~`` before the words of a filter brings the nearest facts first.

Owns what is asked and what was found for it; it is looked for in a thread, so that no key waits.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from textual import on, work
from textual.message import Message
from textual.worker import get_current_worker

from nanomem_tui.core.errors import in_words
from nanomem_tui.core.text import one_line
from nanomem_tui.memory.filters import Filter, parse
from nanomem_tui.screens.knowledge_list import FactList
from nanomem_tui.screens.knowledge_tree import Entry, fact_in
from nanomem_tui.screens.nearness import Near, near_words
from nanomem_tui.widgets.bars import TitleBar
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.filter_bar import FilterBar, LineInput
from nanomem_tui.widgets.toast import say

NEAREST = 50  # facts that are shown
ROOM = 44  # characters of a note that are seen beside the filter
REST = 0.15  # seconds without a key before a search begins
MEANING = "~"


class NearFacts(FactList):
    """Facts, or those that are nearest to some words."""

    class Nearest(Message):
        """From the searching thread: what is nearest in meaning to what was asked."""

        def __init__(self, asked: str, near: Near | Exception) -> None:
            super().__init__()
            self.asked = asked
            self.near = near

    def __init__(self) -> None:
        super().__init__()
        self._asked = ""  # the words that something near is looked for
        self._looks = False
        self._near: Near | None = None  # what is shown; until more is found, what was found before
        self._far: Mapping[str, float] = {}

    @property
    def _is_flat(self) -> bool:
        return self._near is not None or super()._is_flat

    def columns(self) -> Sequence[Column[Entry]]:
        """How far each is, where that is the order."""
        if self._near is None:
            return super().columns()
        far = Column[Entry]("far", "Far", lambda row: f"{self._far[fact_in(row).id]:.2f}", width=4, tone="accent")
        return (far, *super().columns())

    def _say_totals(self) -> None:
        super()._say_totals()
        if self._looks:
            self.query_one(FilterBar).say("looking …")
        elif self._near is not None:
            near, total = self._near, f"of {len(self.listing.rows):,}"
            far = sum(not self._is_near(away) for _, away in near.found)
            said = f"{len(near.found) - far} near{f', {far} far' if far else ''} {total}"
            if near.by == "words":
                said = f"{len(near.found)} nearest {total}, by words"
            self.query_one(TitleBar).set_right(said)
            self.query_one(FilterBar).say(near.fix if near.fix and len(near.note) > ROOM else near.note, "warn")

    def _is_near(self, away: float) -> bool:
        """Nearer than what recall takes for near. Words are only found where they are alike."""
        near = self._near
        return near is None or near.by == "words" or away < self.ws.settings.recall_max_distance

    def dimmed(self, row: Entry) -> bool:
        """Also what is far from what was asked."""
        return super().dimmed(row) or not self._is_near(self._far.get(row.id, 0.0))

    def do_by_meaning(self) -> None:
        """Type what is looked for."""
        self.do_filter()
        line = self.query_one(FilterBar).query_one(LineInput)
        if not line.value.startswith(MEANING):
            line.value = f"{MEANING}{line.value}"
        line.cursor_position = len(line.value)

    def asked_for(self, query: str) -> None:
        """A filter; behind ~ words whose nearest facts are wanted, with fields that the facts must have."""
        typed = query[1:].strip() if query.startswith(MEANING) else ""
        wanted = parse(typed, self.FILTER_FIELDS)
        if wanted.words or wanted.phrases:
            if typed != self._asked:
                self._asked, self._looks = typed, True
                self._say_totals()
                self._look_for(typed)
            return
        plain = query.removeprefix(MEANING)
        if not self._asked:
            super().asked_for(plain)
            return
        self.workers.cancel_group(self, "view")
        self._asked, self._looks, self._near = "", False, None
        self.outline.set_columns(self.columns())
        self.listing.set_query(plain)
        self._make_view()

    @work(thread=True, exclusive=True, group="view", exit_on_error=False)
    def _look_for(self, asked: str) -> None:
        worker = get_current_worker()
        time.sleep(REST)
        if worker.is_cancelled:
            return
        try:
            found: Near | Exception = self._found(parse(asked, self.FILTER_FIELDS))
        except Exception as error:  # noqa: BLE001 - said beside the filter; the list stays usable
            found = error
        if not worker.is_cancelled:
            self.post_message(self.Nearest(asked, found))

    def _found(self, wanted: Filter) -> Near:
        passes = wanted.predicate(self.field)
        facts = [fact for fact in self.ws.facts.all() if passes is None or passes(fact)]
        return near_words(self.ws, " ".join(wanted.words + wanted.phrases), facts, NEAREST)

    @on(Nearest)
    def _nearest_found(self, event: Nearest) -> None:
        event.stop()
        if event.asked != self._asked:
            return
        self._looks = False
        if isinstance(event.near, Exception):
            error = in_words(event.near)
            self._near = Near(by="words", note=error.line())
        else:
            self._near = event.near
        self._far = {fact.id: far for fact, far in self._near.found}
        self._from_top = True
        self.outline.set_columns(self.columns())
        self._make_view()

    def _make_view(self) -> None:
        if self._near is None:
            super()._make_view()
            return
        rows = {row.id: row for row in self.listing.rows}
        found = [rows[fact.id] for fact, _ in self._near.found if fact.id in rows]
        asked = f"“{one_line(self._asked, 60)}”"
        empty = f"Nothing is near {asked}."
        if self._near.by == "words":
            empty = f"No fact has words like {asked}, and by meaning nothing was searched: {self._near.note}"
        self.table.set_rows(self.arranged(found), self._changed, empty, from_top=self._from_top)
        self._from_top, self._changed = False, frozenset()
        self._say_totals()
        self.console.rows_came.set()

    def do_sort(self) -> None:
        """By the next column, in one list; after the last the tree again. What is found by meaning keeps its order."""
        if self._near is not None:
            say(self, "The nearest stand first; esc leaves the search by meaning", "warning")
        else:
            super().do_sort()

    def _go_to_wanted(self) -> None:
        if self._near is not None and all(row.id != self._wanted_row for row in self.table.rows):
            self.filter_by("")
        else:
            super()._go_to_wanted()
