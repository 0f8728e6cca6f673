"""The Context screen, behind Tiers: what an agent would be given for a task, out of every tier, and what was left out.

Wires the task, the tiers and the budget to the assembly, which searches in threads: no key waits for it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from textual import on
from textual.app import ComposeResult

from nanomem_tui.screens.context_bar import TaskBar
from nanomem_tui.screens.context_rows import Answer, Asked, ContextRow, answer, other_budget, rows_of
from nanomem_tui.screens.recall_bar import AskBar
from nanomem_tui.screens.recall_rows import audience_named, audience_words
from nanomem_tui.screens.workspace_screen import WorkspaceScreen
from nanomem_tui.store.work.kinds import KINDS
from nanomem_tui.tiers.context_fitting import TIERS
from nanomem_tui.widgets.bars import TitleBar
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.look import glyphs
from nanomem_tui.widgets.plots import meter
from nanomem_tui.widgets.toast import say

if TYPE_CHECKING:
    from nanomem_tui.screens.recall_pick import Asker
    from nanomem_tui.screens.tiers_trail import TrailScreen
    from nanomem_tui.widgets.document import Document

BAR = 6  # cells of a relevance
LEADS = frozenset({"item", "lesson", *KINDS})  # kinds of what is known that have a screen


class ContextScreen(WorkspaceScreen[ContextRow]):
    """Ask for context as an agent does."""

    SCREEN = "context"
    BEHIND = "tiers"
    FLASHES = False  # another task brings other rows: nothing went away
    EMPTY = "Type / and a task: what an agent would be given for it, and what was left out."
    HELP = (
        "What is to be known for a task: nothing is written by asking. / types the task, > and < change the budget of "
        "tokens, ] chooses a tier, = asks it or not, A chooses who asks. Above the rule is what a model gets, below it "
        "what was left out, and why. enter goes to what a chunk is made from. Signs: / what was shortened."
    )

    def __init__(self) -> None:
        super().__init__()
        self._asked = Asked()
        self._tier = TIERS[0]
        self._one_at_a_time = threading.Lock()

    # The frame

    def compose(self) -> ComposeResult:
        """The task, the tiers and the budget stand above the panes."""
        self._asked = self._asked._replace(max_tokens=self.console.opening.loaded.settings.context_max_tokens)
        parts = iter(super().compose())
        yield next(parts)
        yield TaskBar()
        yield from parts

    def on_mount(self) -> None:
        """Show what is asked."""
        self._show_asked(None)

    # The list

    def columns(self) -> Sequence[Column[ContextRow]]:
        """Relevance in a number and a bar, tokens, from where, what."""
        signs = glyphs(self)

        def rule(row: ContextRow, width: int, text: str) -> str:
            return text if row.found is not None else signs.rule * width

        def bar(row: ContextRow) -> str:
            return meter(row.found.relevance, BAR, signs) if row.found is not None else ""

        return (
            Column("rank", "#", lambda row: rule(row, 2, str(row.rank or "")), width=2, priority=3, align="right",
                   tone="dim"),
            Column("relevance", "Relev.", lambda row: rule(row, 6, f"{row.found.relevance:.3f}" if row.found else ""),
                   width=6, align="right"),
            Column("bar", "", lambda row: rule(row, BAR, bar(row)), width=BAR, priority=2, tone="accent"),
            Column("tokens", "Tokens", lambda row: rule(row, 6, f"{row.given.tokens:,}" if row.given else ""), width=6,
                   align="right"),
            Column("tier", "Tier", lambda row: rule(row, 11, row.found.tier if row.found else ""), width=11,
                   priority=4, tone="dim"),
            Column("text", "What is known", lambda row: row.text, min_width=28),
        )  # fmt: skip

    def row_id(self, row: ContextRow) -> str:
        """The source."""
        return row.id

    def search_text(self, row: ContextRow) -> str:
        """What is known."""
        return row.found.content if row.found is not None else row.text

    def field(self, row: ContextRow, name: str) -> Any:
        """There is no filter here: the task is typed in its place."""
        return None

    def sign(self, row: ContextRow) -> str:
        """A chunk that was shortened."""
        return "-" if row.found is None else "/" if row.given is not None and row.given.whole else ""

    def facts(self, row: ContextRow) -> frozenset[str]:
        """Whether enter in the detail leads nowhere: on the rule, and on what no screen shows."""
        leads = row.found is not None and (row.found.tier == "operational" or row.found.kind in LEADS)
        return frozenset() if leads or self._pane == "list" else frozenset({"nothing to open"})

    def dimmed(self, row: ContextRow) -> bool:
        """What the model does not get."""
        return row.given is None

    def load(self) -> Iterable[Sequence[ContextRow]]:
        """Ask; a task that was overtaken by the next key is not asked any more."""
        turn, asked = self._load_turn, self._asked
        with self._one_at_a_time:
            if turn != self._load_turn:
                return
            found = answer(self.ws, asked)
        self.app.call_from_thread(self._answered, turn, found)
        yield rows_of(found)

    def _answered(self, turn: int, found: Answer) -> None:
        if turn == self._load_turn and self.is_mounted:
            self._show_asked(found)

    def detail(self, row: ContextRow) -> Document:
        """The relevance in its parts, the budget, and the block."""
        from nanomem_tui.screens.context_detail import document

        return document(row, glyphs(self))

    def copy_text(self) -> str:
        """The chunk, or the block."""
        row = self.table.cursor_row
        return "" if row is None else self.search_text(row) if row.found else row.answer.block

    def _say_totals(self) -> None:
        rows = self.table.rows
        given, cut = sum(row.given is not None for row in rows), sum(row.cut is not None for row in rows)
        parts = [f"{given} given", f"{cut} left out"] if self._asked.text.strip() else []
        if self.table.selected:
            parts.append(f"{len(self.table.selected)} selected")
        self.query_one(TitleBar).set_right(" · ".join(parts))
        self.refresh_context()

    # What is asked

    def ask_about(self, **changes: Any) -> None:
        """Ask something else: fields of `Asked`. The list follows without waiting."""
        asked = self._asked._replace(**changes)
        if asked != self._asked:
            self._from_top = asked.text != self._asked.text
            self._asked = asked
            self.reload()

    def _show_asked(self, found: Answer | None) -> None:
        context = found.context if found is not None else None
        self.query_one(TaskBar).tell(self._asked, self._tier, context)

    @on(AskBar.MessageChanged)
    def _task_changed(self, event: AskBar.MessageChanged) -> None:
        self.ask_about(text=event.text)

    @on(AskBar.Left)
    def _task_left(self) -> None:
        self.show_pane("list")

    def filter_by(self, query: str) -> None:
        """Ask for `query` as a task."""
        self.query_one(TaskBar).set_text(query)

    def do_filter(self) -> None:
        """Type the task."""
        if self._pane == "detail":
            self.show_pane("list")
        self.query_one(TaskBar).open()

    def do_back(self) -> None:
        """To the list; then without selection, without the task, and to the tiers."""
        if self._pane == "detail" or self._zoomed or self.table.selected or not self._asked.text:
            super().do_back()
        else:
            self.query_one(TaskBar).set_text("")

    def do_asker(self) -> None:
        """Choose who asks."""
        from nanomem_tui.screens.recall_pick import asker_screen

        async def chosen(asker: Asker | None) -> None:
            if asker is not None:
                self.ask_about(audience=asker.audience)
                say(self, f"Asked by {audience_words(asker.audience)}")

        self.ask(asker_screen(lambda: self.ws, audience_named), chosen)

    def do_more_weight(self, step: int = 1) -> None:
        """A larger budget."""
        budget = other_budget(self._asked.max_tokens, step)
        if budget == self._asked.max_tokens:
            say(self, f"{budget:,} tokens is the {'largest' if step > 0 else 'smallest'} budget", "warning")
        self.ask_about(max_tokens=budget)

    def do_less_weight(self) -> None:
        """A smaller budget."""
        self.do_more_weight(-1)

    def do_next_weight(self, step: int = 1) -> None:
        """To the next tier."""
        self._tier = TIERS[(TIERS.index(self._tier) + step) % len(TIERS)]
        row = next(iter(self.table.rows), None)
        self._show_asked(row.answer if row is not None else None)

    def do_previous_weight(self) -> None:
        """To the tier before."""
        self.do_next_weight(-1)

    def do_toggle_tier(self) -> None:
        """Ask the tier, or not; one is asked at least."""
        tiers = tuple(tier for tier in TIERS if (tier in self._asked.tiers) != (tier == self._tier))
        if tiers:
            self.ask_about(tiers=tiers)
        else:
            say(self, f"{self._tier} is the only tier that is asked: ask another one first", "warning")

    # Elsewhere

    def open_row(self, row: ContextRow) -> None:
        """Enter: to what the chunk is made from; on the rule to the block."""
        found = row.found
        if found is None or not self._go_to(found.tier, found.kind, found.id):
            self.show_pane("detail")

    def do_open(self) -> None:
        """Enter in the detail: there too."""
        row = self.table.cursor_row
        if row is not None and row.found is not None:
            self._go_to(row.found.tier, row.found.kind, row.found.id)

    def _go_to(self, tier: str, kind: str, id: str) -> bool:
        """Go to the screen of a thing; False where there is none for it."""
        if (tier, kind) == ("longterm", "metric"):
            kind = "metric-hour"
        if kind in ("item", "lesson"):
            self.console.go(f"{kind}s", id)
        elif tier == "operational":
            self.console.go("tiers", kind)
        elif kind in KINDS:
            cast("TrailScreen", self.console.get_screen("trail")).show_record(kind, id)
            self.console.go("trail")
        else:
            return False
        return True
