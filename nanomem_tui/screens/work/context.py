"""The Context screen, behind Tiers: what an agent would be given for a task, from every tier, and what was left out.

The search runs in threads: no key waits for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from textual import on
from textual.app import ComposeResult

from nanomem_tui.core.text import cell_width, counted, one_line
from nanomem_tui.memory.scopes import Audience
from nanomem_tui.screens.base.editable_rows import format_time
from nanomem_tui.screens.recall.answer import audience_words
from nanomem_tui.screens.recall.recall import MARKED, AskBar, AskLine, AskScreen, marked
from nanomem_tui.screens.recall.recall import METER as RECALL_METER
from nanomem_tui.store.work.kinds import KINDS
from nanomem_tui.tiers.context import Context
from nanomem_tui.tiers.context_fitting import TIERS, USUAL_TOKENS, ContextChunk
from nanomem_tui.widgets.bars import LineBar, say
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.plots import bars, meter
from nanomem_tui.widgets.text_view import Block, Body, Document, Field, Heading, Span, Spans
from nanomem_tui.widgets.theme import UNICODE, Glyphs, glyphs

if TYPE_CHECKING:
    from nanomem_tui.workspace import Workspace


# -- What the Context screen shows, as values: what is asked, the answer, and its rows --------------------------------

RULE = "rule"
"""The id of the row between what is given and what is left out."""
BUDGETS = (50, 100, 200, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000, 512_000, 1_000_000)
"""The budgets that keys lead through."""


class Asked(NamedTuple):
    """What a person wants to know: the task, of which tiers, in how many tokens, for whom."""

    text: str = ""
    tiers: tuple[str, ...] = TIERS
    max_tokens: int = 4_000
    audience: Audience = Audience()


class Answer(NamedTuple):
    """What the assembly said (None: no task yet), and the block that a model would be given."""

    asked: Asked
    context: Context | None = None
    block: str = ""


class ContextRow(NamedTuple):
    """A row of the list: a chunk that is given, one that was left out, or the rule between them."""

    answer: Answer
    found: ContextChunk | None = None
    rank: int = 0

    @property
    def id(self) -> str:
        """The source of it with its id, which one answer has once."""
        return f"{self.found.source} {self.found.id}" if self.found is not None else RULE

    @property
    def chunk(self) -> ContextChunk | None:
        """The chunk, where the row is one that is given."""
        return self.found if self.found is not None and not self.found.why else None

    @property
    def cut(self) -> ContextChunk | None:
        """What was left out, where the row is that."""
        return self.found if self.found is not None and self.found.why else None

    @property
    def text(self) -> str:
        """What the list says of it."""
        if self.found is None:
            return rule_of(self.answer)
        return f"{self.found.why}: {self.found.content}" if self.found.why else self.found.content


def answer(ws: Workspace, asked: Asked) -> Answer:
    """Ask; in a thread. Raises BadInput for somebody that cannot be, and the store's errors."""
    if not asked.text.strip():
        return Answer(asked)
    found = ws.context.assemble(asked.text, asked.max_tokens, asked.tiers, asked.audience)
    return Answer(asked, found, ws.context.block(found))


def rows_of(answer: Answer) -> list[ContextRow]:
    """What is given, the rule, and what was left out; nothing where nothing was asked."""
    if answer.context is None:
        return []
    rows = [ContextRow(answer, chunk, rank) for rank, chunk in enumerate(answer.context.chunks, 1)]
    return [*rows, ContextRow(answer), *(ContextRow(answer, one) for one in answer.context.cut)]


def rule_of(answer: Answer) -> str:
    """What is given in all, and how much was left out: short, for a narrow list."""
    context = answer.context
    if context is None:
        return ""
    if not context.chunks:
        return context.notes[0] if context.notes else context.nothing
    left = f"{len(context.cut):,} left out below" if context.cut else "nothing left out"
    return f"{counted(context.total_tokens, 'token')}, {left}"


def other_budget(tokens: int, step: int) -> int:
    """The next budget, or for a `step` of -1 the one before."""
    if step > 0:
        return next((budget for budget in BUDGETS if budget > tokens), BUDGETS[-1])
    return next((budget for budget in reversed(BUDGETS) if budget < tokens), BUDGETS[0])


# The lines above the Context screen: the task, told at each key; the tiers, and how full the budget of tokens is.

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


BAR = 6  # cells of a relevance
LEADS = frozenset({"item", "lesson", *KINDS})  # kinds of what is known that have a screen


class ContextScreen(AskScreen[ContextRow]):
    """Ask for context as an agent does."""

    SCREEN = "context"
    BAR = TaskBar
    EMPTY = "Type / and a task: what an agent would be given for it, and what was left out."
    HELP = (
        "What is to be known for a task: nothing is written by asking. / types the task, > and < change the budget of "
        "tokens, ] chooses a tier, = asks it or not, A chooses who asks. Above the rule is what a model gets, below it "
        "what was left out, and why. enter goes to what a chunk is made from. Signs: / what was shortened."
    )

    def __init__(self) -> None:
        super().__init__()
        self._asked = Asked(max_tokens=USUAL_TOKENS)
        self._tier = TIERS[0]

    # The frame

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
            Column("tokens", "Tokens", lambda row: rule(row, 6, f"{row.chunk.tokens:,}" if row.chunk else ""), width=6,
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

    def sign(self, row: ContextRow) -> str:
        """A chunk that was shortened."""
        return "-" if row.found is None else "/" if row.chunk is not None and row.chunk.whole else ""

    def facts(self, row: ContextRow) -> frozenset[str]:
        """Whether enter in the detail leads nowhere: on the rule, and on what no screen shows."""
        leads = row.found is not None and (row.found.tier == "operational" or row.found.kind in LEADS)
        return frozenset() if leads or self._pane == "list" else frozenset({"nothing to open"})

    def dimmed(self, row: ContextRow) -> bool:
        """What the model does not get."""
        return row.chunk is None

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
        return document(row, glyphs(self))

    def copy_text(self) -> str:
        """The chunk, or the block."""
        row = self.table.cursor_row
        return "" if row is None else self.search_text(row) if row.found else row.answer.block

    def _say_totals(self) -> None:
        rows = self.table.rows
        given, cut = sum(row.chunk is not None for row in rows), sum(row.cut is not None for row in rows)
        self.say_given(self._asked.text, given, f"{cut} left out")

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

    def do_back(self) -> None:
        """To the list; then without selection, without the task, and to the tiers."""
        if self._pane == "detail" or self._zoomed or self.table.selected or not self._asked.text:
            super().do_back()
        else:
            self.query_one(TaskBar).set_text("")

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
            trail: Any = self.console.get_screen("trail")
            trail.show_record(kind, id)
            self.console.go("trail")
        else:
            return False
        return True


# What the Context screen tells of one row: the chunk, its relevance in parts, the budget by tier, the model's block.

HOW = "relevance = match × tier × (1 + 0.15 recency + 0.15 importance) / 1.3"
PLOT = 40
"""Cells of the plot of tokens by tier."""


def document(row: ContextRow, signs: Glyphs = UNICODE) -> Document:
    """All there is to tell of a row."""
    blocks: list[Block] = []
    if row.found is None:
        blocks.append(Body(rule_of(row.answer)))
    else:
        blocks += _found(row, row.found, signs)
    if row.answer.context is not None:
        blocks += _answer_blocks(row.answer, row.answer.context, signs)
    return Document(tuple(blocks), copy=row.found.content if row.found is not None else row.answer.block)


def _found(row: ContextRow, found: ContextChunk, signs: Glyphs) -> Iterator[Block]:
    for line in found.content[:MARKED].split("\n"):
        yield Spans(tuple(marked(line, found.parts.get("terms", ()))), 2)
    if len(found.content) > MARKED:
        yield Body(f"… {len(found.content) - MARKED:,} more characters", "dim")
    if found.why:
        yield Body(f"Left out: {found.why}.", "warn")
    elif found.whole:
        yield Body(f"Given: number {row.rank}, {found.tokens:,} of its {counted(found.whole, 'token')}.", "warn")
    else:
        yield Body(f"Given: number {row.rank}, {counted(found.tokens, 'token')}.", "good")
    yield Heading(f"Relevance {found.relevance:.4f}")
    parts = [(name, value) for name, value in found.parts.items() if isinstance(value, float)]
    lines = [f"{name:<11}{value:>7.4f} {meter(value, RECALL_METER, signs)}" for name, value in parts]
    yield Body("\n".join(lines), keep=True)
    yield Body(HOW if signs.eighths else HOW.replace("×", "x"), "dim")
    yield Field("source", found.source)
    if found.at and not found.why:
        yield Field("when", format_time(found.at))


def _answer_blocks(answer: Answer, context: Context, signs: Glyphs) -> Iterator[Block]:
    """What does not depend on the row: the task as it was read, the budget, the block."""
    yield Heading("The task")
    yield Field("words", ", ".join(context.task.written.values()) or "none that say anything")
    if context.task.names:
        yield Field("names", ", ".join(context.task.names))
    for note in context.notes:
        yield Field("note", note, "warn")
    yield Heading(f"The budget: {context.total_tokens:,} of {counted(context.max_tokens, 'token')}")
    by_tier = {tier: sum(one.tokens for one in context.chunks if one.tier == tier) for tier in context.tiers}
    yield Body("\n".join(bars([(tier, float(many)) for tier, many in by_tier.items()], PLOT, signs)), keep=True)
    yield Field("counted by", context.counted_by)
    yield Heading(f"The block that a model gets ({len(answer.block):,} characters)")
    yield Body(answer.block) if answer.block else Body("None: there is nothing to tell it.", "dim")
