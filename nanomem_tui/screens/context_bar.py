"""The lines above the Context screen: the task, told at each key; the tiers, and how full the budget of tokens is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import ComposeResult

from nanomem_tui.core.text import cell_width, one_line
from nanomem_tui.screens.context_rows import Asked
from nanomem_tui.screens.recall_bar import AskBar, AskLine
from nanomem_tui.screens.recall_rows import audience_words
from nanomem_tui.tiers.context_fitting import TIERS
from nanomem_tui.widgets.bars import LineBar
from nanomem_tui.widgets.document import Span
from nanomem_tui.widgets.look import glyphs
from nanomem_tui.widgets.plots import meter

if TYPE_CHECKING:
    from nanomem_tui.tiers.context import Context

METER = (24, 12, 8)
"""Cells of the bar of the budget: as many as there is room for."""
SHORT = {"operational": "now", "working": "work", "longterm": "long", "knowledge": "know"}
"""The tiers where there is no room for their names."""


class TiersBar(LineBar):
    """Each tier, on or off, the one that the keys turn in brackets; and who asks."""

    def __init__(self) -> None:
        super().__init__(id="asked-tiers")
        self._asked, self._tier = Asked(), TIERS[0]

    def show(self, asked: Asked, tier: str) -> None:
        """Show which tiers are asked; `tier` is the one that is turned."""
        self._asked, self._tier = asked, tier
        self.fit()

    def fit(self) -> None:
        """In as many words as there is room for."""
        parts: list[Span] = []
        for names in ({}, SHORT):
            parts = [(" of ", "dim")]
            for tier in TIERS:
                on = tier in self._asked.tiers
                text = f"{'+' if on else '-'}{names.get(tier, tier)}"
                chosen = tier == self._tier
                parts.append((f"[{text}]" if chosen else f" {text} ", "key" if on else "dim"))
            if sum(cell_width(text) for text, _ in parts) + 16 <= self.size.width:
                break
        room = max(self.size.width - sum(cell_width(text) for text, _ in parts) - 6, 8)
        self.set_parts([*parts, ("  as ", "dim"), (one_line(audience_words(self._asked.audience), room), "")])


class BudgetBar(LineBar):
    """How much of the budget is used, as a bar and in numbers."""

    def __init__(self) -> None:
        super().__init__(id="budget")
        self._most = 0
        self._answer: Context | None = None

    def show(self, most: int, context: Context | None) -> None:
        """Show a budget of `most` tokens, and what of it an answer takes; None: nothing was asked."""
        self._most, self._answer = most, context
        self.fit()

    def fit(self) -> None:
        """The longest bar that there is room for; what counted the tokens, where there is room for that too."""
        used = self._answer.total_tokens if self._answer is not None else 0
        numbers = f" {used:,} of {self._most:,} tokens"
        by = f"  by {self._answer.counted_by}" if self._answer is not None else ""
        if METER[-1] + len(numbers) + len(by) + 1 > self.size.width:
            by = ""
        cells = next((one for one in METER if one + len(numbers) + len(by) + 1 <= self.size.width), METER[-1])
        bar = meter(used / self._most if self._most else 0.0, cells, glyphs(self))
        self.set_parts([(" ", ""), (bar, "good"), (numbers, "key"), (by, "dim")])


class TaskBar(AskBar):
    """The task, the tiers and the budget; typed in as on Recall."""

    def compose(self) -> ComposeResult:
        """The field, and the lines below it; a task replies to nothing."""
        yield AskLine("Task", "/ and what is to be done, as an agent would say it", id="message")
        yield AskLine("", "", id="reply")
        yield TiersBar()
        yield BudgetBar()

    def tell(self, asked: Asked, tier: str, context: Context | None) -> None:
        """Show what is asked, and what of the budget the answer takes."""
        self.query_one(TiersBar).show(asked, tier)
        self.query_one(BudgetBar).show(asked.max_tokens, context)
